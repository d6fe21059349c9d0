/* SPDX-License-Identifier: MIT */
/*
 * copy.h - files and folders from the shared drive to this machine
 *
 * A file gets its name when it is whole.  What is there already with the same size and time is
 * left as it is.  Links are made anew as they are, and never followed, on either side.
 */
#ifndef LUDWIG_CLIENT_SHARE_COPY_H
#define LUDWIG_CLIENT_SHARE_COPY_H

#include "client/share/sharefs.h"

struct copy;

struct copy_counts {
    int64_t copied; /* files and links */
    int64_t there;  /* that needed no copying */
    int64_t odd;    /* that are neither: not copied */
    int64_t unread; /* files, links and folders that could not be read: not copied */
    int64_t bytes;  /* that were copied */
};

/* Called now and then while bytes flow. */
typedef void (*copy_tick_fn)(void *context);

/* to: a folder, made if need be; one copy at a time may write there (ERR_BUSY). */
struct copy *copy_open(struct sharefs *fs, const char *to, struct err *e);
void copy_close(struct copy *c); /* NULL is fine */
void copy_on_tick(struct copy *c, copy_tick_fn tick, void *context);

/* Called with the reason for each that cannot be read; the rest is copied all the same. */
typedef void (*copy_unread_fn)(void *context, const struct err *why);
void copy_on_unread(struct copy *c, copy_unread_fn on_unread, void *context);

/* Puts a file there that says what the folder is, unless anything is in it but that file and what
 * own names (ended by NULL). */
int copy_mark(struct copy *c, const char *name, const char *text, const char *const *own,
              struct err *e);

/* Copies what is at the path on the share to the same path without its first n bytes.  1; 0 when
 * there is nothing; -1 when it cannot be written. */
int copy_path(struct copy *c, const char *path, size_t n, struct err *e);

/* The same will be copied soon: see sharefs_ahead.  n is always the same. */
void copy_ahead(struct copy *c, const char *path, size_t n);

const struct copy_counts *copy_counts(const struct copy *c);

#endif
