/* SPDX-License-Identifier: MIT */
/*
 * result_copy.h - brings what an attempt saved beside its final name, with its job.json
 *
 * By a rename where scratch and share are one file system, else by a copy, also over SFTP.  In both
 * cases save/ on scratch is scanned first, where that is cheap (saved.h).
 */
#ifndef LUDWIG_WORKER_PUBLISHER_RESULT_COPY_H
#define LUDWIG_WORKER_PUBLISHER_RESULT_COPY_H

#include "worker/publisher/result.h"

/* Sets r->step to RESULT_PLACED; or to RESULT_DECIDED when its own result, or another
 * attempt's, lies under the final name already. */
int result_copy(struct result *r, struct publish_group *g, const char *host, struct err *e);

#endif
