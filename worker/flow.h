/* SPDX-License-Identifier: MIT */
/*
 * flow.h - the way of an attempt through the agent
 */
#ifndef LUDWIG_WORKER_FLOW_H
#define LUDWIG_WORKER_FLOW_H

#include "worker/agent.h"

/* What cannot start here for longer than this goes back, so that others get it. */
enum { FLOW_PATIENCE_MS = 5 * 1000 };

/* A new one, or one found again that never started: gets its data brought, then queues. */
void flow_admit(struct agent *ag, struct attempt *a);
/* Starts what fits. */
void flow_fill(struct agent *ag);
/* Its folder lies in ended/: publish it. */
void flow_ended(struct agent *ag, struct attempt *a);
/* Its runner is gone without an outcome: its processes are killed, then it is reported lost. */
void flow_orphaned(struct agent *ag, struct attempt *a);
/* The same for a batch of which nobody is left but perhaps its process. */
void flow_orphaned_process(struct agent *ag, struct batch *b);
/* Its report lies in published/; report is copied. */
void flow_published(struct agent *ag, struct attempt *a, const struct report *report);
/* Its job was published already, by the attempt winner. */
void flow_found(struct agent *ag, struct attempt *a, const struct token *winner);
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
/* Discards what ludwigd has acknowledged, once the registry says that it is gone. */
void flow_discard_settled(struct agent *ag);

extern const struct outbox_events flow_outbox_events;

/* flow_stage.c - what has to happen before a slot: data in the cache, its checkpoint on scratch, a
 * look at the share */
void flow_stage(struct agent *ag, struct attempt *a);
bool flow_is_staged(struct agent *ag, const struct batch *b);
void flow_unstage(struct agent *ag, const struct attempt *a);
void flow_on_staging_timer(uv_timer_t *timer);
extern const struct service_events flow_stager_events;

/* flow_publish.c - orders to the publisher, and what it says */
void flow_watch(struct agent *ag, const struct attempt *a);
/* Unless it ends within a moment: then all of its log goes with its result. */
void flow_watch_soon(struct agent *ag, struct attempt *a);
/* What lies on scratch and belongs to nobody. */
void flow_add_leftover(struct agent *ag, const struct token *token);
void flow_discard_leftovers(struct agent *ag);
/* By its phase: publish, withdraw or discard. */
void flow_order_publisher(struct agent *ag, const struct attempt *a);
extern const struct service_events flow_publisher_events;

/* flow_pause.c - a machine on which nothing can be started takes nothing for a while */
void flow_start_failed(struct agent *ag, const char *why);
void flow_start_succeeded(struct agent *ag);
/* After a failure, one try at a time. */
bool flow_may_try(const struct agent *ag);
/* It takes long enough that others should get the work. */
bool flow_is_closed(const struct agent *ag);

/* strangers.c - what agents left that worked for a ludwigd that is gone */
void strangers_look(struct agent *ag);
void strangers_free(struct agent *ag);

/* adopt.c - what an earlier agent left */
void adopt_begin(struct agent *ag);
/* Decides by the folders on scratch what became of a batch that no runner has. */
void adopt_resolve(struct agent *ag, struct batch *b);
void adopt_on_timer(uv_timer_t *timer);
extern const struct runner_events adopt_runner_events;
/* A runner that died between writing the outcome and moving the folder had nothing else to do. */
bool adopt_move_to_ended(struct agent *ag, const char *hex);
/* Ends an attempt as its runner would, if it left a checkpoint: it lies in ended/ then. */
bool adopt_end_for_runner(struct agent *ag, const struct attempt *a, enum attempt_event event,
                          const char *reason);
int adopt_read_order(int dir_fd, const char *hex, struct arena *a, struct order *order);
/* The lists of the order say on which processors and GPUs it runs. */
void adopt_take_slots(struct agent *ag, struct slot_item *s, const struct order *order);
/* Makes sure that nothing a power failure may have torn is published. */
void adopt_spoil(struct agent *ag, const struct attempt *a);

#endif
