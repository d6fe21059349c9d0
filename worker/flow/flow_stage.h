/* SPDX-License-Identifier: MIT */
/*
 * flow_stage.h - what an attempt needs before a slot: its data in the cache, its checkpoint on
 * scratch, and a look whether its job was published before
 *
 * Data of jobs that may come next are brought while the slots are busy.  Whether data were changed
 * is known without a look at them: the stager watches the folders of trees that jobs use with an
 * inotify descriptor that we have, too, which is read before anything is started.
 *
 * After a failure to start, a user's attempts are tried one at a time, later each time.
 */
#ifndef LUDWIG_WORKER_FLOW_FLOW_STAGE_H
#define LUDWIG_WORKER_FLOW_FLOW_STAGE_H

#include "worker/flow/phases.h"

/* An attempt that cannot start here for longer than this goes back for other workers. */
enum { FLOW_PATIENCE_MS = 5 * 1000 };

extern const struct service_events flow_stage_events; /* of the stager */

/* EFFECT_ADMIT */
void flow_stage_admit(struct agent *ag, struct attempt *a);
/* Posts EVENT_READY or EVENT_UNREADY to the batch's members, as far as that is news to them. */
void flow_stage_check(struct agent *ag, const struct batch *b);
/* The same for all batches of the user, when no event is left: an EVENT_UNREADY that is not taken yet
 * would hide that the last tree has come. */
void flow_stage_check_soon(struct user *u);
/* Carries these checks out; false: there were none. */
bool flow_stage_check_due(struct agent *ag);

/* The descriptor that tells of changes.  It counts as the user's. */
void flow_stage_init_guard(struct user *u, uid_t uid);
/* Takes notice of changes until now. */
void flow_stage_look(struct user *u);
/* The data of this attempt may be damaged. */
void flow_stage_doubt(const struct attempt *a);
/* The attempt needs its data no more. */
void flow_stage_leave(const struct attempt *a);

/* Has data of jobs that may come next brought; of one user only, as one job comes next. */
void flow_stage_expect(struct agent *ag, const struct msg_expect *m);
void flow_stage_expect_none(struct user *u);

/* ludwigd is told from the beginning which trees lie in this user's cache. */
void flow_stage_tell_cached(struct user *u);
/* Sends ludwigd the news of the caches. */
void flow_stage_send_news(struct agent *ag);

void flow_stage_start_failed(struct user *u, const char *why);
void flow_stage_start_succeeded(struct user *u);
bool flow_stage_may_try(const struct user *u);
/* Whether the pause is so long that other workers should get the work. */
bool flow_stage_is_long_paused(const struct user *u);

#endif
