/* SPDX-License-Identifier: MIT */
/*
 * download.h - files and folders from the shared drive to this machine
 *
 * A file gets its name when it is whole.  What is there already with the same size and time is
 * left as it is.  Links are made anew as they are, and never followed, on either side.
 */
#ifndef LUDWIG_CLIENT_SHARE_DOWNLOAD_H
#define LUDWIG_CLIENT_SHARE_DOWNLOAD_H

#include "common/share/share.h"

struct download;

struct download_counts {
    int64_t copied; /* files and links */
    int64_t there;  /* that needed no copying */
    int64_t odd;    /* that are neither: not copied */
    int64_t unread; /* files, links and folders that could not be read: not copied */
    int64_t bytes;  /* that were copied */
};

/* to: a folder, made if need be; one copy at a time may write there (ERR_BUSY). */
struct download *download_open(struct share_dir *fs, const char *to, struct err *e);
void download_close(struct download *c); /* NULL is fine */
/* tick is called now and then while bytes flow; unread with the reason for each that cannot be read: the
 * rest is copied all the same.  Either may be NULL. */
void download_watch(struct download *c, void (*tick)(void *context),
                    void (*unread)(void *context, const struct err *why), void *context);

/* Puts a file there that says what the folder is, unless anything is in it but that file and what
 * own names (ended by NULL). */
int download_mark(struct download *c, const char *name, const char *text, const char *const *own,
                  struct err *e);

/* Copies what is at the path on the share to the same path without its first n bytes.  1; 0 when
 * there is nothing; -1 when it cannot be written. */
int download_path(struct download *c, const char *path, size_t n, struct err *e);

/* The same will be copied soon: see share_ahead.  n is always the same. */
void download_ahead(struct download *c, const char *path, size_t n);

const struct download_counts *download_counts(const struct download *c);

#endif
