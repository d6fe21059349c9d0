/* SPDX-License-Identifier: MIT */
/*
 * flow_stage.h - gets what an attempt needs before it waits for a slot: its data in the cache, its
 * checkpoint on scratch, and the answer whether its job was published before
 *
 * Data of jobs that may come next are brought while the slots are busy.  The stager watches the
 * folders of trees that jobs use with an inotify descriptor that the agent has, too: it is read
 * before anything is started, so that data need not be looked at to know that they are unchanged.
 *
 * After a failure to start, a user's attempts are tried one at a time, later each time.
 */
#ifndef LUDWIG_WORKER_FLOW_FLOW_STAGE_H
#define LUDWIG_WORKER_FLOW_FLOW_STAGE_H

#include "worker/flow/phases.h"

/* An attempt goes back to ludwigd when the delay before the next try to stage or start it exceeds
 * this.  Delays double from RETRY_AT_FIRST_MS on, so that this happens after some 7 s. */
enum { FLOW_PATIENCE_MS = 5 * 1000 };

extern const struct service_events flow_stage_events; /* of the stager */

/* The effect ADMIT: asks for what the attempt needs, or posts EVENT_RECALL. */
void flow_stage_admit(struct agent *ag, struct attempt *a);
/* Posts EVENT_READY or EVENT_UNREADY to the batch's members, as far as that is news to them. */
void flow_stage_check(struct agent *ag, const struct batch *b);
/* Does so for all batches of the user once no event is left: an EVENT_UNREADY that is not taken yet
 * would hide that the last tree has come. */
void flow_stage_check_soon(struct user *u);
/* Carries out the checks that are due; false: there were none. */
bool flow_stage_check_due(struct agent *ag);

/* Opens the descriptor that tells of changes, which the kernel counts as the user's (uid). */
void flow_stage_init_guard(struct user *u, uid_t uid);
/* Reads the changes so far; after any, the user's trees are checked by the stager. */
void flow_stage_look(struct user *u);
/* Has the attempt's data checked, as they may be damaged. */
void flow_stage_doubt(const struct attempt *a);
/* Releases the attempt's data if no other attempt needs them. */
void flow_stage_leave(const struct attempt *a);

/* Has the data of a job that may come next brought; an order for one user ends those of others. */
void flow_stage_expect(struct agent *ag, const struct msg_expect *m);
void flow_stage_expect_none(struct user *u);

/* Has ludwigd told from the beginning which trees lie in this user's cache. */
void flow_stage_tell_cached(struct user *u);
/* Sends ludwigd the news of the caches. */
void flow_stage_send_news(struct agent *ag);

void flow_stage_start_failed(struct user *u, const char *why);
void flow_stage_start_succeeded(struct user *u);
bool flow_stage_may_try(const struct user *u);
/* Whether the pause is so long that other workers should get the work. */
bool flow_stage_is_long_paused(const struct user *u);

#endif
