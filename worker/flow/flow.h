/* SPDX-License-Identifier: MIT */
/*
 * flow.h - the way of an attempt through the agent
 */
#ifndef LUDWIG_WORKER_FLOW_FLOW_H
#define LUDWIG_WORKER_FLOW_FLOW_H

#include "worker/agent/agent.h"
#include "worker/agent/user.h"

/* What cannot start here for longer than this goes back, so that others get it. */
enum { FLOW_PATIENCE_MS = 5 * 1000 };

/* A new one, or one found again that never started: gets its data brought, then queues. */
void flow_admit(struct agent *ag, struct attempt *a);
/* Starts what fits. */
void flow_fill(struct agent *ag);
/* Its folder lies in ended/: publish it. */
void flow_ended(struct agent *ag, struct attempt *a);
/* Its report lies in published/; report is copied. */
void flow_published(struct agent *ag, struct attempt *a, const struct report *report);
/* Its job was published already, by the attempt winner. */
void flow_found(struct agent *ag, struct attempt *a, const struct token *winner);
/* Lost, as our place is taken away. */
void flow_preempted(struct agent *ag, struct attempt *a, enum cause cause, const char *reason);
/* An outcome that needs no publisher. */
void flow_decide(struct agent *ag, struct attempt *a, enum attempt_event event, const char *reason);

/* ludwigd wants nothing of it. */
void flow_stop(struct agent *ag, struct attempt *a);
/* ludwigd wants it back, if it has not started. */
void flow_recall(struct agent *ag, struct attempt *a, const char *reason);
/* Calls each for every attempt of the batch, after which it may be gone. */
void flow_each_member(struct agent *ag, struct batch *b,
                      void (*each)(struct agent *ag, struct attempt *a));
/* Queues it for a slot if all of it that waits is ready. */
void flow_enqueue(struct agent *ag, struct batch *b);
/* Nothing is left of it: no members, no process. */
void flow_end_if_over(struct agent *ag, struct batch *b);
/* Its process is gone: others may have what it had. */
void flow_process_over(struct agent *ag, struct batch *b);
/* What its process has, for the registry; lists live in arena. */
void flow_describe(const struct agent *ag, const struct batch *b, struct arena *arena,
                   struct given *g);
/* Discards what ludwigd has acknowledged, once the registry says that it is gone. */
void flow_discard_settled(struct agent *ag);

extern const struct outbox_events flow_outbox_events;

/* flow_stage.c - what has to happen before a slot: data in the cache, its checkpoint on scratch, a
 * look at the share */
void flow_stage(struct agent *ag, struct attempt *a);
bool flow_is_staged(const struct batch *b);
extern const struct service_events flow_stager_events;
/* Has it brought, or looked at. */
void flow_order_tree(struct user *u, struct tree *t);
/* Somebody waits for it, or runs with it. */
bool flow_is_leased(const struct user *u, const struct digest *tree);

/* flow_prefetch.c - data of jobs that may come next, which are brought while the slots are busy */
void flow_prefetch(struct agent *ag, const struct msg_expect *m);
void flow_prefetch_none(struct user *u);
/* To a new stager. */
void flow_prefetch_again(struct user *u);
/* The stager does nothing more for that order. */
void flow_take_expected(struct user *u, int64_t order_seq);

/* flow_user.c - what follows for attempts from who their user is */
extern const struct user_events flow_user_events;

/* flow_data_watch.c - data that jobs or a cleaner changed are found before the next job starts */
void flow_begin_guard(struct user *u);
/* Takes notice of what was changed until now. */
void flow_data_watch(struct user *u);
/* Whatever lies in the cache may have been changed; the data of this one may. */
void flow_doubt(struct user *u);
void flow_doubt_data(const struct attempt *a);
/* It needs them no more. */
void flow_leave_data(const struct attempt *a);

/* ludwigd is told from the beginning what lies in this user's cache, in everybody's. */
void flow_tell_cached(struct user *u);
void flow_tell_all_cached(struct agent *ag);
/* What it has not been told yet. */
void flow_send_news(struct agent *ag);

/* flow_publish.c - orders to the publisher, and what it says */
void flow_watch(const struct attempt *a);
/* ludwigd wants to be told how long its log is on the share, or does not any more. */
void flow_follow_log(struct agent *ag, const struct msg_follow_log *order);
/* The server is gone that wanted to be told: the next one says anew what it wants. */
void flow_follow_none(struct agent *ag);
/* Unless it ends within a moment: then all of its log goes with its result. */
void flow_watch_soon(struct agent *ag, struct attempt *a);
/* What lies on scratch and belongs to nobody. */
void flow_add_leftover(struct user *u, const struct token *token);
void flow_discard_leftovers(struct user *u);
/* By its phase: publish, withdraw or discard. */
void flow_order_publisher(const struct attempt *a);
extern const struct service_events flow_publisher_events;

/* flow_pack.c - what lies on the share already is packed for its owner */
void flow_pack(struct agent *ag, const struct msg_pack *m);
bool flow_has_passes(const struct user *u);
/* None can be made for this user. */
void flow_refuse_passes(struct user *u);
void flow_free_passes(struct agent *ag);
extern const struct service_events flow_packer_events;

/* flow_recover.c - attempts that no runner has, and what else lies on scratch */
/* Asks what became of the batch's attempts, and of its process. */
void flow_recover(struct agent *ag, struct batch *b);
/* The same where its process is known to have ended, */
void flow_recover_ended(struct agent *ag, struct batch *b);
/* and for those that its runner did not name: their process has started. */
void flow_recover_unnamed(struct agent *ag, struct batch *b);
/* Unless they have ended, their runner may be alive: it has not said anything yet. */
void flow_recover_mute(struct agent *ag, struct batch *b);
/* Its processes are killed, then it is reported lost. */
void flow_orphaned(struct agent *ag, struct attempt *a);
void flow_on_orphan_timer(uv_timer_t *timer);
/* Finds what lies on the user's scratch and belongs to nobody. */
void flow_survey(struct user *u);
extern const struct service_events flow_clerk_events;

/* flow_pause.c - where nothing can be started, nothing is taken for a while */
void flow_start_failed(struct user *u, const char *why);
void flow_start_succeeded(struct user *u);
/* After a failure, one try at a time. */
bool flow_may_try(const struct user *u);
/* It takes long enough that others should get the work. */
bool flow_is_closed(const struct user *u);

/* strangers.c - what agents left that worked for a ludwigd that is gone */
/* One of theirs, as the survey of the user's scratch lists it. */
void foreign_attempts_take(struct user *u, const struct note_remains *note);
/* One that no runner has, as was asked.  False: it is none of them. */
bool foreign_attempts_settled(struct user *u, const struct note_settled *note);
/* The survey begins; it is over. */
void foreign_attempts_begin(struct user *u);
void foreign_attempts_end(struct user *u);
void foreign_attempts_free(struct agent *ag);

/* adopt.c - what an earlier agent left */
void adopt_begin(struct agent *ag);
/* Something that was asked has been answered. */
void adopt_go_on(struct agent *ag);
void adopt_on_timer(uv_timer_t *timer);
extern const struct runner_events adopt_runner_events;
/* Its slot's lists say on which processors and GPUs it runs. */
void adopt_take_slots(struct agent *ag, struct batch *b);

#endif
