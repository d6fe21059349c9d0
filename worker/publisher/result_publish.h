/* SPDX-License-Identifier: MIT */
/*
 * result_publish.h - the steps of a result from scratch to the share
 *
 *   prepare   read order and outcome; ship the log's rest; bring what it saved, with a
 *             job.json, beside the final name; bring its checkpoint, if it came to nothing
 *   (the group is synced)
 *   fence     rename onto the final name; whose token lies there then is the verdict
 *   (the folders are synced)
 *   finish    write the report, move the attempt to published/
 *
 * Each step may have been done before, by a publisher that was killed: what lies on
 * scratch and on the share says so, and nothing else does.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_RESULT_PUBLISH_H
#define LUDWIG_WORKER_PUBLISHER_RESULT_PUBLISH_H

#include "worker/publisher/result.h"

int result_prepare(struct result *r, struct publish_group *g, const char *host, struct err *e);
/* Whether all of it is durable. */
int result_check_synced(const struct result *r, const struct publish_group *g, struct err *e);
int result_fence(struct result *r, struct publish_group *g, struct err *e);
int result_finish(struct result *r, struct publish_group *g, struct err *e);
void result_free(struct result *r); /* what is not in the group's arena */

#endif
