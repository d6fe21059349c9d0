/* SPDX-License-Identifier: MIT */
/*
 * sftp_folder.h - a folder of a server that is synced again and again
 *
 * It stays open, so that a sync is one request, which the server obeys behind all that was asked on
 * the connection before.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_FOLDER_H
#define LUDWIG_COMMON_SFTP_SFTP_FOLDER_H

#include "common/sftp/sftp.h"

struct sftp_folder;

/* error: NULL when what was asked before the sync is on the server's disk. */
typedef void sftp_folder_done(void *context, const struct err *error);

/* Asks for it, and waits for nothing.  The server must be one that can sync. */
struct sftp_folder *sftp_folder_open(struct sftp *s, const char *path, sftp_folder_done *done,
                                     void *context);
/* done is called once for each, later; -1: it will not be, as the connection is broken. */
int sftp_folder_sync(struct sftp_folder *f, struct err *e);
/* done is called no more.  To be called before sftp_close; NULL is fine. */
void sftp_folder_close(struct sftp_folder *f);

#endif
