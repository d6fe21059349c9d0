/* SPDX-License-Identifier: MIT */
/*
 * inbox_internal.h - what the files of the inbox share
 *
 * box: the folder of a user.  file_conn: a connection made of files.  visit: work in a box that a
 * thread of libuv's pool does; there is one at a time.  scan: a look for users and folders, which
 * takes the place of a visit.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_INTERNAL_H
#define LUDWIG_SERVER_INBOX_INBOX_INTERNAL_H

#include <uv.h>

#include "server/inbox/inbox.h"
#include "server/inbox/inbox_dir.h"

enum {
    INBOX_BUSY_EVERY_MS = 1000, /* how often folders are listed that the kernel cannot watch, */
    INBOX_UNWATCHED_EVERY_MS = 5000, /* folders that it has no more watches for, */
    INBOX_IDLE_EVERY_MS = 30 * 1000, /* and those while no client was connected for a while: */
    INBOX_LATELY_MS = 2 * 60 * 1000,
    INBOX_USERS_EVERY_MS = 5000, /* at most: all users are listed, maybe over a network */
    INBOX_MET_MAX = 64,
    INBOX_DEAD_MAX = 128,    /* connections of a user that are not begun again */
    INBOX_OVER_MAX = 64,     /* ended ones whose replies are kept for a while */
    INBOX_REST_MAX_MS = 1000 /* for a user whose folder causes nothing but work */
};

/* ---- inbox_visit.c ---- */

/* One visit to a user's inbox: the loop fills it in, a thread carries it out (visit_run), the loop
 * takes its results. */

enum {
    VISIT_BYTES_MAX = 4 * 1024 * 1024, /* about what is read in one visit */
    VISIT_NEW_MAX = 16,                /* connections that are begun */
    VISIT_LIST_MAX = 4096,             /* names that are looked at */
    VISIT_STALE_MAX = 512              /* old files that are removed */
};

/* A connection whose next requests are looked for. */
struct visit_conn {
    struct token token;
    void *owner;  /* NULL: found in this visit */
    int64_t next; /* number of the first request that is not read yet */
    size_t room;  /* how many may be read, FILE_REQUEST_AHEAD at most */
    struct file_request got[FILE_REQUEST_AHEAD];
    size_t n_got;
    bool is_bad; /* the next file cannot be taken: see why */
    struct err why;
};

/* A reply to be written. */
struct visit_put {
    char name[FILE_REQUEST_NAME_BYTES];
    struct buf content;
    void *owner;
    bool has_failed;
};

/* A file to be removed. */
struct visit_drop {
    char name[FILE_REQUEST_NAME_BYTES];
};

struct visit {
    const struct inbox_dir *dirs;
    const char *server_id;
    struct token incarnation;
    uid_t uid;

    struct visit_conn *conns;
    size_t n_conns, conns_capacity;
    struct visit_put *puts;
    size_t n_puts, puts_capacity;
    struct visit_drop *out_drops, *in_drops;
    size_t n_out_drops, out_drops_capacity, n_in_drops, in_drops_capacity;

    bool lists;          /* looks for connections that are not known */
    struct token *known; /* connections that are not new, whether they live or not */
    size_t n_known, known_capacity;

    /* Results. */
    struct arena *arena; /* holds the requests that were read */
    struct err error;    /* why the folder cannot be trusted */
    struct err put_error;
    bool has_more; /* the visit stopped before all was read */
};

struct visit_conn *visit_add_conn(struct visit *v, const struct token *token, void *owner,
                                  int64_t next, size_t room);
struct visit_put *visit_add_put(struct visit *v, void *owner);
char *visit_add_out_drop(struct visit *v); /* FILE_REQUEST_NAME_BYTES to write a name to */
char *visit_add_in_drop(struct visit *v);
void visit_add_known(struct visit *v, const struct token *token);

void visit_run(struct visit *v);
void visit_clear(struct visit *v); /* for the next one; keeps memory */
void visit_free(struct visit *v);

/* ---- file_conn.c, inbox.c ---- */

struct file_conn;

struct box {
    struct inbox *in;
    uid_t uid;
    int wd; /* -1: the kernel does not watch the folder */
    struct box *next_queued, *next_active;
    bool is_queued, is_active;
    bool wants_list;
    struct err refused; /* the last reason that was logged; kind ERR_NONE: the folder is trusted */
    struct file_conn *conns;
    size_t n_conns, n_over;
    bool is_full;       /* too much of its requests and replies waits: no request is read */
    struct token *dead; /* the last INBOX_DEAD_MAX connections that are gone, in a ring */
    size_t n_dead;      /* how many there ever were */
    uint64_t rest_ms;   /* no visit before this time */
    uint64_t pause_ms;
};

struct inbox {
    struct server *sv;
    struct inbox_dir dirs;
    enum inbox_kind kind;
    char *why_none, *path;
    struct box **boxes; /* by uid */
    size_t n_boxes, capacity;
    size_t n_unwatched;
    struct box *first_queued, *last_queued, *active;
    struct inbox_watch *watch; /* NULL: INBOX_LISTED */
    struct visit visit;
    struct box *visited; /* by the visit under way; NULL: it is a scan */
    struct inbox_scan scan;
    bool wants_users, wants_boxes;
    uint64_t scan_ms;   /* no scan before this time */
    uint64_t users_ms;  /* no listing of all users before this time */
    bool has_missed;    /* the kernel lost events */
    uint64_t missed_ms; /* no listing for lost events before this time */
    uid_t *met;         /* users who are to get a folder */
    size_t n_met, met_capacity;
    uv_work_t work;
    bool is_working; /* work is under way */
    bool is_ending;
    uv_timer_t *timer;
    uv_timer_cb on_timer;
    uint64_t listed_ms, busy_ms; /* when all were listed, when a client was connected */
};

/* Queues the box for a visit. */
void inbox_queue(struct box *b);
/* Does what is due once the events of this turn of the loop were heard. */
void inbox_wake(struct inbox *in);
uint64_t inbox_now(const struct inbox *in);

/* Begins a connection; never NULL. */
struct file_conn *file_conn_open(struct box *b, const struct token *token);
/* Tells the client why its first request cannot be taken. */
void file_conn_refuse(struct box *b, const struct token *token, const char *why);
struct file_conn *file_conn_find(const struct box *b, const struct token *token);

/* Adds to a visit what is to be done for the connection. */
void file_conn_prepare(struct file_conn *c, struct visit *v);
/* Takes the visit's results. */
void file_conn_take(struct file_conn *c, const struct visit_conn *got);
void file_conn_took_put(struct file_conn *c, const struct visit_put *put);
/* Does what is due by the clock; returns when to call it again. */
uint64_t file_conn_tick(struct file_conn *c);
struct file_conn *file_conn_next(struct file_conn *c);
/* Of requests that were not passed on yet, and for replies. */
size_t file_conn_waiting_bytes(const struct file_conn *c);
/* Frees connections whose last files the visit has removed. */
void file_conn_bury(struct box *b);

/* At the end of ludwigd: puts the last replies at once, in this thread, and frees the
 * connection. */
void file_conn_part(struct file_conn *c);

#endif
