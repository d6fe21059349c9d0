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
#include "server/queue/pilot_rows.h"

/* What a sweep needs of a worker. */
struct fit_wanted {
    int64_t sweep;
    uid_t uid;
    const char *user;
    struct bytes nodes;
    struct pilot_need need;
    int64_t cpus_milli, gpus_milli, memory_bytes; /* of a process */
    bool is_secret; /* it passes variables of a shell, which only some workers may be given */
};

/* By the accounts that they run as, by the nodes or pools that the sweep names, and by the users whom
 * the workers refuse: a pilot serves its owner's sweeps that name its pool, any other worker those that
 * have its node in their list.  A worker whose messages others may read gets no sweep with passed
 * variables.  pools may be empty where c is no pilot. */
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
/* All are tried again. */
void fit_forget_lacks(struct server *sv, int64_t sweep);

/* Whether a worker that is connected may run the sweep's jobs and is not known to lack anything. */
int fit_is_there(struct server *sv, int64_t sweep, bool *is_there, struct err *e);

#endif
