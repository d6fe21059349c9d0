/* SPDX-License-Identifier: MIT */
/*
 * pilot_cleanup.h - removes the folders of killed pilots on this machine
 *
 * A pilot's folders are its own as long as its first process lives, which holds a lock in each; a
 * pilot that leaves removes them.  If it could not, the next worker of the same user here does, be
 * it a pilot or not: the pilot's jobs were lost and run again, and so do those that it did not
 * publish any more.  Locks alone say which pilots are alive.
 */
#ifndef LUDWIG_WORKER_NODE_PILOT_CLEANUP_H
#define LUDWIG_WORKER_NODE_PILOT_CLEANUP_H

#include "worker/base/folders.h"

/* Takes the folder, which it makes if need be, for as long as the returned descriptor is open.  -1
 * with e set: another process has the folder, or there are no locks on its file system. */
int pilot_cleanup_claim(const char *folder, struct err *e);

/* Removes the folders whose paths are the prefix and the id of a Slurm job, and that no process
 * holds: neither the pilot nor an agent or a runner of its, whose locks may lie two folders
 * deeper. */
void pilot_cleanup_remove(const char *prefix);

/* Does so for both prefixes in a process of its own, which is not waited for. */
void pilot_cleanup_start(const struct folders *p);
/* --leftovers SCRATCH RUNTIME: the two prefixes. */
int pilot_cleanup_main(int argc, char **argv);

#endif
