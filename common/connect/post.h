/* SPDX-License-Identifier: MIT */
/*
 * post.h - how a courier gets at the files of the inbox and the outbox
 */
#ifndef LUDWIG_COMMON_CONNECT_POST_H
#define LUDWIG_COMMON_CONNECT_POST_H

#include "common/connect/parcel.h"
#include "common/proto/shareid.h"

/* Below the share. */
#define POST_INBOX  ".ludwig/inbox"
#define POST_OUTBOX ".ludwig/outbox"
/* Below the inbox: a link to the folder of the user of that name. */
#define POST_OF_USER "@"

struct post_file {
    char name[PARCEL_NAME_BYTES];
    struct buf content;
    bool is_there; /* of one that was looked for */
};

enum { POST_FILES_MAX = PARCEL_WINDOW };

struct post_files {
    struct post_file items[POST_FILES_MAX];
    size_t n;
};

/* What is done at once, with as few round trips as the way allows. */
struct post_turn {
    struct post_files put;  /* into the user's inbox, whole or not at all */
    struct post_files get;  /* out of the outbox, if they are there */
    struct post_files drop; /* names to be removed from the inbox; a missing one is fine */
    bool wants_id;
    struct buf id; /* the share's id, when it could be read */
};

struct post;

struct post_way {
    /* Reads the share's id. */
    int (*read_id)(struct post *p, struct buf *out, struct err *e);
    /* Finds the user's inbox, looks whether ludwigd will trust it, and sets uid and file_mode. */
    int (*find_inbox)(struct post *p, struct err *e);
    int (*turn)(struct post *p, struct post_turn *t, struct err *e);
    /* Removes what couriers of this user that died have left; best effort. */
    void (*sweep)(struct post *p);
    void (*close)(struct post *p); /* frees p, too */
};

struct post {
    const struct post_way *way;
    uid_t uid;        /* of the user on the server */
    mode_t file_mode; /* of files in the inbox: as readable as that is */
    int fd;           /* the one descriptor it works with */
};

void post_turn_clear(struct post_turn *t); /* keeps the memory */
void post_turn_free(struct post_turn *t);
/* The next free place, or NULL. */
struct post_file *post_add(struct post_files *files);

/* Would ludwigd trust this folder?  0, or -1 with what is wrong; sets file_mode. */
int post_check_folder(struct post *p, const char *path, uid_t owner, mode_t mode, struct err *e);
/* "there is no inbox for you", and how one is made. */
int post_no_folder(const char *path, const char *user, struct err *e);

/* For a way to begin with: a courier that owns the post, or NULL with e set and it closed. */
struct courier *courier_create(struct post *p, struct err *e);

#endif
