/* SPDX-License-Identifier: MIT */
/*
 * disk_room.h - room on scratch that is promised to jobs which asked for it (resources: {disk})
 *
 * A job that asks for disk starts when the free space suffices for it and for what running jobs
 * were promised and have not taken yet.  No kernel reserves that room, so runners say how much
 * their jobs have taken; when less is free than is still promised, the job that asked for none and
 * whose files take most is ended.  Data are staged into what is left.
 *
 * Inside Slurm nothing is promised: there Slurm looks after a node's disk.
 */
#ifndef LUDWIG_WORKER_FLOW_DISK_ROOM_H
#define LUDWIG_WORKER_FLOW_DISK_ROOM_H

#include "worker/agent/agent.h"

/* For slots_asking.has_room.  A batch for which there can be no room here goes back to ludwigd; if
 * unused trees are in the way, the stagers are asked to remove them. */
bool disk_room_fits(const struct slot_item *item);

/* Takes a runner's note how much its job has taken; may end a job to free room. */
void disk_room_said(struct agent *ag, struct runner *r, const struct note_disk *note);

/* Returns how many bytes on the user's file system are promised to jobs and not yet taken. */
int64_t disk_room_promised(const struct user *u);

/* Returns how many bytes all jobs here may be promised together, running ones included; 0: not
 * known. */
int64_t disk_room_total(const struct agent *ag);

/* Starts a timer that registers anew when that has changed so much that ludwigd must know. */
void disk_room_start(struct agent *ag);

#endif
