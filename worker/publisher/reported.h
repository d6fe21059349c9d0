/* SPDX-License-Identifier: MIT */
/*
 * reported.h - all that a job has reported, over its attempts, as one file on the share
 *
 * Beside an attempt's log lies a file with all that the job has reported up to this attempt: first
 * what earlier attempts reported, then its own lines, as they came; if it did not get done, also
 * the CSV series that it saved, as lines.  The file is there while the attempt runs (shiplog.h), and
 * stays until the job is done; the next attempt begins with the newest one there is.
 *
 * An attempt that was believed lost may still run beside the next one: each has a file of its own.
 */
#ifndef LUDWIG_WORKER_PUBLISHER_REPORTED_H
#define LUDWIG_WORKER_PUBLISHER_REPORTED_H

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/share/share.h"

/* Brings what earlier attempts reported into JOB_EARLIER in the attempt's folder, once: what lies
 * there stays.  logs: the folder on the share of the attempt's log, log_name; NULL: there is none. */
int reported_bring(int folder_fd, const struct share_dir *logs, const char *log_name,
                   int64_t attempt, struct err *e);

enum { REPORTED_EARLIER, REPORTED_LINES, REPORTED_SERIES, REPORTED_PARTS };

/* The parts of an attempt's file, each open, or -1: there is none. */
struct reported {
    int fds[REPORTED_PARTS];
    int64_t sizes[REPORTED_PARTS]; /* when they were opened */
};

/* Opens what lies in the attempt's folder.  series: lines of its CSV series, or NULL. */
int reported_open(struct reported *r, int folder_fd, const struct buf *series, struct err *e);
void reported_close(struct reported *r);
int64_t reported_size(const struct reported *r); /* 0: the job has reported nothing */
/* Ships all parts, see share_ship. */
int reported_ship(const struct reported *r, const struct share_dir *to, const char *name,
                  mode_t mode, struct err *e);
/* The digest of the file that reported_ship makes. */
int reported_digest(const struct reported *r, struct digest *d, struct err *e);

/* Removes the files of this attempt and of those before it, as the job is done. */
void reported_remove(const struct share_dir *logs, const char *log_name, int64_t attempt);

#endif
