/* SPDX-License-Identifier: MIT */
/*
 * logfile.h - a job's log on its way to stdout
 */
#ifndef LUDWIG_CLIENT_SHARE_LOGFILE_H
#define LUDWIG_CLIENT_SHARE_LOGFILE_H

#include <stdbool.h>

#include "common/share/share.h"
#include "common/base/buf.h"

struct logfile {
    struct share_input *file; /* NULL: not open */
    int64_t offset;           /* how far it was read */
    bool harmless;            /* control characters are written out: for a terminal */
    struct buf rest;          /* the beginning of a character whose end is not there yet */
};

/* 1, or 0 when the file is not there yet, or -1. */
int logfile_open(struct logfile *l, struct share_dir *fs, const char *path, bool harmless,
                 struct err *e);
/* Opens an open one anew, to go on from where it was read to: a network file system may have kept
 * an older length for those that had it open.  One that is gone stays open. */
int logfile_reopen(struct logfile *l, struct share_dir *fs, const char *path, struct err *e);
/* Closes the file; logfile_reopen goes on from where it was read to. */
void logfile_pause(struct logfile *l);
void logfile_close(struct logfile *l); /* also one that is not open */
/* Moves to where the last n lines begin. */
int logfile_seek_lines(struct logfile *l, int64_t n, struct err *e);
/* Writes all there is now to stdout; the next call goes on from there. */
int logfile_copy(struct logfile *l, struct err *e);
/* Nothing follows: a character whose end never came is written too. */
int logfile_finish(struct logfile *l, struct err *e);

#endif
