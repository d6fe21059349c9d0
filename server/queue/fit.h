/* SPDX-License-Identifier: MIT */
/*
 * fit.h - which workers may run a sweep's jobs, and which of them lack what the sweep needs
 *
 * ludwigd learns that a node lacks something (the sweep's environment, a module) when a job was
 * tried there.  It keeps this with the worker's connection: a worker that connects anew is tried
 * again, and `ludwig retry` makes ludwigd try all workers again.  Nodes that a user's jobs avoid
 * (node_guard.h) are kept by name.
 */
#ifndef LUDWIG_SERVER_QUEUE_FIT_H
#define LUDWIG_SERVER_QUEUE_FIT_H

#include "server/conn/conn.h"
#include "server/queue/retry.h"
#include "server/queue/pilot_rows.h"

/* What a sweep needs of a worker. */
struct fit_wanted {
    int64_t sweep;
    uid_t uid;
    const char *user;
    struct bytes nodes;
    struct pilot_need need;
    int64_t cpus_milli, gpus_milli, memory_bytes, disk_bytes; /* for one process */
    bool is_secret; /* the sweep passes variables of the submitter's shell to its jobs */
};

/* Sets memory and time to what the sweep's grown jobs ask for; changes nothing for zeros. */
void fit_take_grown(struct fit_wanted *w, struct grown grown);

/* Whether the worker of c, on this node, may run the sweep's jobs.  A pilot serves its owner's
 * sweeps that name its pool, while it has time left for a job; any other worker serves the users
 * whose jobs its account may run, in sweeps whose node list has its node.  No worker gets jobs of a
 * user it refuses, jobs with passed variables where others can read its messages (c->is_open), or
 * jobs that ask for more scratch than it offers.  pools: the sweep's; only read if c is a pilot. */
bool fit_may_run(struct server *sv, const struct conn *c, const char *node,
                 const struct fit_wanted *w, const struct sweep_pools *pools);

/* Whether a user started this worker for that user's jobs alone, and it is not a pilot. */
bool fit_is_private(const struct server *sv, const struct conn *c);

/* Whether a worker with these resources could hold one process; memory_bytes 0: not known. */
bool fit_has_room(const struct fit_wanted *w, int64_t cpus_milli, int64_t gpus_milli,
                  int64_t memory_bytes);

/* Records that the worker's node lacks something, so that a job of the sweep could not begin. */
void fit_note_lack(struct conn *c, int64_t sweep, const char *lack);
/* What the worker's node lacks for the sweep, in words; NULL: nothing as far as is known. */
const char *fit_lack(const struct conn *c, int64_t sweep);
/* Whether the worker should get none of the sweep's jobs while another worker can run them, as its
 * node lacks something or the user's jobs avoid the node. */
bool fit_is_unwanted(struct server *sv, const struct conn *c, const char *node,
                     const struct fit_wanted *w);
/* Forgets what all workers lack for the sweep, so that they are tried again. */
void fit_forget_lacks(struct server *sv, int64_t sweep);

/* Makes the user's jobs avoid the node until until_ms, as long as other nodes can run them;
 * replaces an earlier time and reason.  fit_trust ends it.  Texts are copied. */
void fit_avoid(struct server *sv, const char *node, int64_t uid, const char *why, int64_t until_ms);
void fit_trust(struct server *sv, const char *node, int64_t uid);
/* Why the user's jobs avoid the node, NULL: they do not; *until_ms (may be NULL): until when. */
const char *fit_avoided(struct server *sv, const char *node, int64_t uid, int64_t *until_ms);
/* How many of the user's processes the node may get now.  An avoided node whose time is over gets
 * one, for a trial, no more in the same turn, and is avoided for trial_ms more unless the trial's
 * end decides sooner; any other node: INT64_MAX. */
int64_t fit_take_trial(struct server *sv, const char *node, int64_t uid, int64_t trial_ms);
/* Milliseconds until the first avoided node may be tried again; 0: no node waits for that. */
int64_t fit_next_trial_ms(const struct server *sv);
/* Names of the nodes that the user's jobs avoid, const char *, in the arena. */
struct list fit_avoided_nodes(struct server *sv, int64_t uid, struct arena *a);
void fit_forget_avoided(struct server *sv);

/* Reads what the sweep needs into the arena.  Returns 1, 0 when there is no such sweep, -1. */
int fit_wanted_read(struct server *sv, int64_t sweep, struct arena *a, struct fit_wanted *w,
                    struct sweep_pools *pools, struct err *e);
/* Whether a connected worker may run the sweep's jobs that ask for `grown`, has room for one, lacks
 * nothing as far as is known, and is not avoided. */
int fit_is_there(struct server *sv, int64_t sweep, struct grown grown, bool *is_there,
                 struct err *e);
/* The most memory and time that a job of the sweep can get from its pools and from workers that are
 * connected or were within the last day; 0: no limit, or not known. */
int fit_most(struct server *sv, int64_t sweep, struct grown *most, struct err *e);

#endif
