/* SPDX-License-Identifier: MIT */
/*
 * inbox_dir.h - the folders of inbox and outbox, and checks whether their files can be trusted
 *
 * All functions may block: call them where that does no harm.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_DIR_H
#define LUDWIG_SERVER_INBOX_INBOX_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/connect/file_request.h"

struct inbox_dir {
    int in_fd, out_fd;
    bool is_root;
    bool is_network; /* others may write there without our kernel's knowing */
    uid_t self;
};

/* Makes the folders below share/.ludwig where they are missing.  -1 with e set when others could
 * change them, or the file system does not record who made a file. */
int inbox_dir_open(struct inbox_dir *d, const char *share, struct err *e);
void inbox_dir_close(struct inbox_dir *d);

/* Returns the descriptor of a user's folder; -1 with ERR_NOT_FOUND, or ERR_DENIED for one that
 * cannot be trusted.  Nothing behind a link or on another file system is opened. */
int inbox_dir_open_box(const struct inbox_dir *d, uid_t uid, struct err *e);
/* Appends a file of that folder: 1; 0 when there is none of that name; -1 with e set when it may be
 * another user's, or is larger than a request. */
int inbox_dir_read(int box_fd, uid_t uid, const char *name, struct buf *out, struct err *e);
/* Whether ludwigd may remove files in that user's folder. */
bool inbox_dir_may_remove(const struct inbox_dir *d, uid_t uid);

/* Writes a file into the outbox that this user can read. */
int inbox_dir_put(const struct inbox_dir *d, uid_t uid, const char *name, struct bytes content,
                  struct err *e);
void inbox_dir_drop(const struct inbox_dir *d, const char *name);
/* Removes all that an earlier ludwigd has left in the outbox. */
void inbox_dir_clear_outbox(const struct inbox_dir *d);

/* Makes the folder of a user, if we may, and a link to it by the user's name. */
void inbox_dir_make_box(const struct inbox_dir *d, uid_t uid, gid_t gid, const char *user);

/* ---- users and folders ---- */

enum { INBOX_USERS_MAX = 20000 };

struct inbox_scan {
    uid_t min_uid;
    bool makes_all; /* folders for all users the system lists */
    uid_t *met;     /* users who have connected: folders for them, too */
    size_t n_met, met_capacity;
    uid_t *known; /* folders that need no look, sorted */
    size_t n_known, known_capacity;
    uid_t *found; /* out: the other folders that there are now */
    size_t n_found, found_capacity;
};

/* May take long, where users are looked up over a network. */
void inbox_scan_run(struct inbox_scan *s, const struct inbox_dir *d);
void inbox_scan_free(struct inbox_scan *s);

#endif
