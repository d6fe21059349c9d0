/* SPDX-License-Identifier: MIT */
/*
 * sharefs_ahead.h - answers of an SFTP server that were asked for before they are needed
 *
 * Each is handed out once; those that find no answer on its way ask the server themselves.
 */
#ifndef LUDWIG_CLIENT_SHARE_SHAREFS_AHEAD_H
#define LUDWIG_CLIENT_SHARE_SHAREFS_AHEAD_H

#include "client/share/sharefs.h"
#include "common/sftp/sftp.h"

struct sharefs_aheads;

struct sharefs_aheads *sharefs_aheads_create(struct sftp *s, const char *root);
/* Waits for what is on its way. */
void sharefs_aheads_free(struct sharefs_aheads *h);

/* wanted may be NULL: all are.  It is called from within other calls too, with context. */
void sharefs_aheads_begin(struct sharefs_aheads *h, const char *path, sharefs_wanted *wanted,
                          void *context);

/* Nobody will want it. */
void sharefs_aheads_forget(struct sharefs_aheads *h, const char *path);

/* Wait for an answer on its way: 1 with it, 0: none is, -1 with e set: it is an error. */
int sharefs_aheads_stat(struct sharefs_aheads *h, const char *path, struct sftp_attrs *attrs,
                        struct err *e);
int sharefs_aheads_list(struct sharefs_aheads *h, const char *path, struct arena *a,
                        struct list *entries /* struct sftp_entry */, struct err *e);
/* Of a file what is in it, of a link where it points. */
int sharefs_aheads_content(struct sharefs_aheads *h, const char *path, struct buf *content,
                           struct err *e);

struct sharefs_entry sharefs_entry_of(const char *name, const struct sftp_attrs *attrs);

#endif
