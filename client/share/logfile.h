/* SPDX-License-Identifier: MIT */
/*
 * logfile.h - copies a job's log to stdout
 */
#ifndef LUDWIG_CLIENT_SHARE_LOGFILE_H
#define LUDWIG_CLIENT_SHARE_LOGFILE_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/proto/proto.h"
#include "common/share/share.h"

struct logfile {
    struct share_input *file; /* NULL: not open */
    int64_t offset;           /* bytes read */
    bool harmless;            /* control characters are written out: for a terminal */
    struct buf rest;          /* the beginning of a character that is not whole yet */
};

/* Returns the path of an attempt's log, beside the log in info; the caller frees it. */
char *logfile_path(const struct job_info *info, int64_t sweep, int64_t attempt);

/* Opens the file; returns 1, 0 when it does not exist yet, or -1 with e set. */
int logfile_open(struct logfile *l, struct share_dir *fs, const char *path, bool harmless,
                 struct err *e);
/* Opens the file anew and goes on at the offset, as a network file system may keep an old length
 * for an open file.  A file that was removed stays open. */
int logfile_reopen(struct logfile *l, struct share_dir *fs, const char *path, struct err *e);
/* Closes the file; logfile_reopen goes on at the offset. */
void logfile_pause(struct logfile *l);
void logfile_close(struct logfile *l); /* a log that is not open is fine */
/* Moves to the beginning of the last n lines. */
int logfile_seek_lines(struct logfile *l, int64_t n, struct err *e);
/* Writes all new bytes to stdout. */
int logfile_copy(struct logfile *l, struct err *e);
/* Writes a character that never became whole; call it at the end of the log. */
int logfile_finish(struct logfile *l, struct err *e);

#endif
