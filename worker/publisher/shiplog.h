/* SPDX-License-Identifier: MIT */
/*
 * shiplog.h - brings what jobs print to the share within a second
 *
 * A thread of its own, so that logs go on while a large result is copied.  It sleeps
 * until inotify says that a log grew; logs that do not grow cost nothing.  The log
 * on the share is as long as what has been shipped: that is all there is to remember.
 *
 * What jobs report is shipped beside their logs in the same way (reported.h); the thread looks for
 * it every 2 s while there are jobs.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_SHIPLOG_H
#define LUDWIG_WORKER_PUBLISHER_SHIPLOG_H

#include <sys/types.h>

#include "common/base/digest.h"
#include "common/share/share.h"
#include "worker/base/child_protocol.h"

struct shiplog;

/* Called on the shipping thread with a log's length on the share. */
typedef void (*shiplog_grew_fn)(void *context, const struct token *token, int64_t size_bytes);

/* Starts the shipping thread.  log_fd and run_fd: the folders log/ and run/ on scratch, which stay
 * the caller's.  source is asked from that thread; grew may be NULL. */
struct shiplog *shiplog_create(int log_fd, int run_fd, const struct share_source *source,
                               shiplog_grew_fn grew, void *context, struct err *e);
void shiplog_destroy(struct shiplog *s); /* NULL is fine */

/* Ships the attempt's log from now on.  Asking twice is fine. */
void shiplog_watch(struct shiplog *s, const struct order_watch *order);
/* Calls grew with the length of a watched log on the share, now and each time it has grown
 * there. */
void shiplog_tell(struct shiplog *s, const struct token *token, bool on);
/* is_done: what the job reported is removed from beside its log, as its result has it. */
void shiplog_forget(struct shiplog *s, const struct token *token, bool is_done);

/* Ships what is missing, at once.  max_bytes: the log's limit, behind which only the line is shipped
 * that says so (scratch_log_end); 0: it has none.  Two threads may do so at the same time: both
 * write the same bytes at the same place.  A missing log is an empty one. */
int shiplog_ship(int log_fd, const char *name, int64_t max_bytes, const struct share_dir *to,
                 const char *to_name, mode_t mode, struct err *e);

#endif
