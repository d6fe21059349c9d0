/* SPDX-License-Identifier: MIT */
/* flow_publish.h - orders to the publisher, and logs of attempts while they run */
#ifndef LUDWIG_WORKER_FLOW_FLOW_PUBLISH_H
#define LUDWIG_WORKER_FLOW_FLOW_PUBLISH_H

#include "worker/flow/phases.h"

extern const struct service_events flow_publish_events; /* of the publisher */

/* Has the publisher publish, withdraw or discard the attempt, according to its phase. */
void flow_publish_order(const struct attempt *a);
/* Has settled attempts discarded.  To be called once the registry records that they are gone:
 * otherwise a later agent would take one for an attempt that never started. */
void flow_publish_discard_settled(struct agent *ag);

/* Has the attempt's log copied to the share while it grows, */
void flow_publish_watch(const struct attempt *a);
/* or in 200 ms, if it still runs then; otherwise the log goes to the share with the result. */
void flow_publish_watch_soon(struct agent *ag, struct attempt *a);
/* Takes ludwigd's order to tell, or to stop telling, how long a log on the share is. */
void flow_publish_follow(struct agent *ag, const struct msg_follow_log *order);
/* The connection is gone: stops telling of all logs; ludwigd asks again over the next one. */
void flow_publish_follow_none(struct agent *ag);

#endif
