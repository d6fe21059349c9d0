/* SPDX-License-Identifier: MIT */
/*
 * download.h - copies files and folders from the shared drive to this machine
 *
 * A file gets its name when it is whole, and keeps its holes.  An existing file with the same size
 * and time is left as it is.  Links are copied as links, and never followed, on either side; those
 * that may lead out of the target folder are left out, as a program that reads the copy would
 * follow them to other files of this machine.
 */
#ifndef LUDWIG_CLIENT_SHARE_DOWNLOAD_H
#define LUDWIG_CLIENT_SHARE_DOWNLOAD_H

#include "common/share/share.h"

struct download;

struct download_counts {
    int64_t copied; /* files and links */
    int64_t there;  /* files and links that needed no copying */
    int64_t odd;    /* entries of other types: not copied */
    int64_t astray; /* links that lead, or may lead, out of the target folder: not copied */
    int64_t unread; /* files, links and folders that could not be read: not copied */
    int64_t bytes;  /* copied */
};

/* Opens the target folder, made if need be; one copy at a time may write there (ERR_BUSY). */
struct download *download_open(struct share_dir *fs, const char *to, struct err *e);
void download_close(struct download *c); /* NULL is fine */
/* Also copies links that lead, or may lead, out of the target folder. */
void download_all_links(struct download *c);
/* tick is called now and then while bytes flow; unread with the reason for each entry that cannot
 * be read, after which the rest is copied.  Either may be NULL. */
void download_watch(struct download *c, void (*tick)(void *context),
                    void (*unread)(void *context, const struct err *why), void *context);

/* Puts a file with this text into the folder, unless that contains anything but this file and the
 * names in own (ended by NULL). */
int download_mark(struct download *c, const char *name, const char *text, const char *const *own,
                  struct err *e);

/* Copies the path on the share to the same path without its first n bytes.  Returns 1; 0 if the
 * path does not exist; -1 with e set, as when the copy cannot be written. */
int download_path(struct download *c, const char *path, size_t n, struct err *e);

/* Announces that download_path will copy the path soon: see share_ahead.  n is always the same. */
void download_ahead(struct download *c, const char *path, size_t n);

const struct download_counts *download_counts(const struct download *c);

#endif
