/* SPDX-License-Identifier: MIT */
/*
 * store_sftp.h - the packs of a project on an SFTP server, for the files that make that up
 *
 * store_sftp_look.c reads, store_sftp_prepare.c makes folders, store_sftp.c sends, and store_sftp_name.c
 * gives what was sent its name.
 */
#ifndef LUDWIG_CLIENT_SHARE_STORE_SFTP_H
#define LUDWIG_CLIENT_SHARE_STORE_SFTP_H

#include "client/share/store_way.h"
#include "common/sftp/sftp_folder.h"
#include "common/sftp/sftp_stripe.h"

enum { SMALL_MAX = 4 };

/* A file that has no final name yet. */
struct item {
    struct sftp_store *store;
    enum store_folder folder;
    char *temporary, *final; /* on the server */
    uint8_t *content;        /* of a small one */
    uint64_t bytes;
    struct sftp_stripe *ending; /* which brings it; or NULL */
    bool is_whole;              /* and on the server's disk */
    bool is_last;
    struct item *next;
};

/* A file that is being written: a part, or something small. */
struct slot {
    struct sftp_stripe *stripe; /* NULL: none */
    char *temporary;
    uint64_t bytes;
};

struct sftp_store {
    struct store store;
    char *packs; /* on the server */
    struct upload_modes modes;
    struct sftp_lanes lanes;                          /* the first is the drive's own */
    bool is_lane_settled[SHARE_CONNECTION_LANES_MAX]; /* it has joined, or will not */
    size_t wanted_lanes;
    unsigned coming_parts; /* that are not begun yet, at least */
    struct slot slots[PACK_SLOTS], spare;
    char *left_over;              /* the spare's file that goes, or NULL */
    struct sftp_lanes first_lane; /* that alone */
    struct slot small[SMALL_MAX]; /* files for what comes, such as the manifest, so that it need not
                                     wait for its own */
    struct item *first, **end;    /* in the order of their renames */
    size_t n_busy;                /* operations, and parts that are ending */
    size_t n_unsettled;           /* renames, and what is touched */
    size_t n_syncing;
    size_t n_making;                                 /* folders */
    struct sftp_folder *folders[STORE_FOLDER_COUNT]; /* to be synced; NULL: the server cannot */
    bool is_dirty[STORE_FOLDER_COUNT]; /* a rename in it was asked for, and no sync behind that */
    bool is_there[STORE_FOLDER_COUNT];
    struct sftp_attrs project;
    struct err project_why; /* ERR_NONE: it is there */
    bool has_told;          /* what follows */
    int64_t uid, now_s;
    bool is_ending;       /* nothing more will be added */
    struct err why;       /* the first error of what goes on behind */
    struct err later_why; /* the same of what may have failed because a folder could not be made */
};

struct sftp_store *sftp_store_of(struct store *store);
/* That which all but parts goes by. */
struct sftp *sftp_store_lane(const struct sftp_store *s);
/* On the server, of what lies below the packs; "" is the packs' folder.  The caller frees it. */
char *sftp_store_path(const struct sftp_store *s, const char *below);

/* Where something is until it has its name; folder: one of store_folder_names.  The caller frees it. */
char *sftp_store_temporary(const struct sftp_store *s, const char *folder);
/* Until nothing is under way; the first error. */
int sftp_store_wait_until_idle(struct sftp_store *s, struct err *e);

/* The first error of what goes on behind is kept, and told by whatever is called next. */
void sftp_store_note(struct sftp_store *s, const struct err *error);
int sftp_store_check(const struct sftp_store *s, struct err *e);

/* ---- names ---- */

/* Puts a file into the queue for its name, which is path below the packs.  Takes temporary. */
struct item *sftp_store_add(struct sftp_store *s, const char *path, char *temporary);
/* It has been sent and is on the server's disk, or could not be; it was counted in n_busy. */
void sftp_store_whole(struct item *it, const struct err *error);
/* Renames and syncs what can be. */
void sftp_store_advance(struct sftp_store *s);
/* Asks for it to be taken away; goes on. */
void sftp_store_remove_temporary(struct sftp_store *s, const char *path);
/* So that they can be synced. */
void sftp_store_open_folders(struct sftp_store *s);
/* What has no name yet is removed from the server as far as that is there. */
void sftp_store_drop_items(struct sftp_store *s);

/* ---- before something is sent: as struct store_way says ---- */

/* sftp_store_list was called. */
int sftp_store_prepare(struct store *store, struct err *e);
int sftp_store_touch(struct store *store, const char *path, struct err *e);
int sftp_store_tell(struct store *store, int64_t *uid, int64_t *now_s);

/* ---- looking: as struct store_way says ---- */

int sftp_store_list(struct store *store, struct arena *a, struct list entries[STORE_FOLDER_COUNT],
                    struct err *e);
int sftp_store_fetch(struct store *store, const char *path, size_t max_bytes, store_got *got,
                     void *context, struct err *e);
int sftp_store_fetch_all(struct store *store, struct err *e);
int sftp_store_remove(struct store *store, const char *path, struct err *e);
int sftp_store_mtime(struct store *store, const char *path, int64_t *mtime_s, struct err *e);

#endif
