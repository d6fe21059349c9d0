/* SPDX-License-Identifier: MIT */
/*
 * inbox_dir.h - the folders of inbox and outbox, and checks whether their files can be trusted
 *
 * Functions that use files may block: call them on a thread, or while the loop does not run.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_DIR_H
#define LUDWIG_SERVER_INBOX_INBOX_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/connect/file_request.h"

struct inbox_dir {
    int in_fd, out_fd; /* inbox and outbox */
    bool is_root;      /* ludwigd runs as root */
    bool is_network;   /* other machines may write there unnoticed by this kernel */
    uid_t self;        /* ludwigd's uid */
};

/* Opens the folders below share/.ludwig, and makes missing ones.  -1 with e set also if others
 * could change them, or the file system does not record who made a file. */
int inbox_dir_open(struct inbox_dir *d, const char *share, struct err *e);
void inbox_dir_close(struct inbox_dir *d);

/* Returns the descriptor of a user's folder; -1 with ERR_NOT_FOUND, or ERR_DENIED for a folder that
 * cannot be trusted.  Links and mounts in its place are not followed. */
int inbox_dir_open_box(const struct inbox_dir *d, uid_t uid, struct err *e);
/* Appends a file of that folder to out: returns 1, 0 if there is no file of that name, or -1 with
 * ERR_DENIED if it may be another user's or is larger than a request, ERR_BUSY if it is just being
 * renamed: then look again. */
int inbox_dir_read(int box_fd, uid_t uid, const char *name, struct buf *out, struct err *e);
/* Whether ludwigd may remove files in that user's folder. */
bool inbox_dir_may_remove(const struct inbox_dir *d, uid_t uid);

/* Writes a file into the outbox that this user can read. */
int inbox_dir_put(const struct inbox_dir *d, uid_t uid, const char *name, struct bytes content,
                  struct err *e);
void inbox_dir_drop(const struct inbox_dir *d, const char *name); /* removes it again */
/* Removes all files that an earlier ludwigd has left in the outbox. */
void inbox_dir_clear_outbox(const struct inbox_dir *d);

/* Makes the folder of a user, if ludwigd may, and a link to it by the user's name. */
void inbox_dir_make_box(const struct inbox_dir *d, uid_t uid, gid_t gid, const char *user);

/* ---- users and folders ---- */

enum { INBOX_USERS_MAX = 20000 };

/* A look for users, who get folders, and for folders. */
struct inbox_scan {
    uid_t min_uid;
    bool makes_all; /* makes folders for all users that the system lists */
    uid_t *met;     /* users who have connected, and get folders in any case */
    size_t n_met, met_capacity;
    uid_t *known; /* uids of folders that are not to be found again, sorted */
    size_t n_known, known_capacity;
    uid_t *found; /* out: uids of the other folders */
    size_t n_found, found_capacity;
};

/* Carries out the scan; takes long if users are looked up over a network. */
void inbox_scan_run(struct inbox_scan *s, const struct inbox_dir *d);
void inbox_scan_free(struct inbox_scan *s);

#endif
