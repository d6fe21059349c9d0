/* SPDX-License-Identifier: MIT */
/* flow_publish.h - orders to the publisher, and logs of attempts while they run */
#ifndef LUDWIG_WORKER_FLOW_FLOW_PUBLISH_H
#define LUDWIG_WORKER_FLOW_FLOW_PUBLISH_H

#include "worker/flow/phases.h"

extern const struct service_events flow_publish_events; /* of the publisher */

/* Has the attempt published, withdrawn or discarded, as its phase says. */
void flow_publish_order(const struct attempt *a);
/* Discards what ludwigd has acknowledged.  To be called when the registry says that it is gone:
 * otherwise a later agent would take it for an attempt that never started. */
void flow_publish_discard_settled(struct agent *ag);

/* The attempt's log is to be on the share while it grows, */
void flow_publish_watch(const struct attempt *a);
/* unless it ends within a moment: then all of its log goes with its result. */
void flow_publish_watch_soon(struct agent *ag, struct attempt *a);
/* ludwigd wants to be told how long a log is on the share, or does not any more. */
void flow_publish_follow(struct agent *ag, const struct msg_follow_log *order);
/* The connection is gone; ludwigd asks again over the next one. */
void flow_publish_follow_none(struct agent *ag);

#endif
