/* SPDX-License-Identifier: MIT */
/*
 * inbox_internal.h - structs and functions for the files of server/inbox alone
 *
 * box: the folder of a user.  file_conn: a connection made of files.  visit: work in a box, done by
 * a thread of libuv's pool.  scan: a look for users and folders, done likewise; there is one visit
 * or scan at a time.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_INTERNAL_H
#define LUDWIG_SERVER_INBOX_INBOX_INTERNAL_H

#include <uv.h>

#include "server/inbox/inbox.h"
#include "server/inbox/inbox_dir.h"

enum {
    /* How often unwatched folders are listed: */
    INBOX_BUSY_EVERY_MS = 1000,      /* until INBOX_LATELY_MS after a client was connected; */
    INBOX_UNWATCHED_EVERY_MS = 5000, /* else, if only they lack a watch (there were no more); */
    INBOX_IDLE_EVERY_MS = 30 * 1000, /* else, where the kernel can watch no folder. */
    INBOX_LATELY_MS = 2 * 60 * 1000,
    INBOX_USERS_EVERY_MS = 5000, /* how often all users may be listed, perhaps over a network */
    INBOX_MET_MAX = 64,
    INBOX_DEAD_MAX = 128,    /* closed connections of a user that are remembered, not begun again */
    INBOX_OVER_MAX = 64,     /* ended connections of a user whose replies are kept for a while */
    INBOX_REST_MAX_MS = 1000 /* longest rest of a box after visits that moved nothing */
};

/* ---- inbox_visit.c ---- */

/* One visit to a user's inbox: the loop fills it in, a thread carries it out (visit_run), the loop
 * takes its results. */

enum {
    VISIT_BYTES_MAX = 4 * 1024 * 1024, /* bytes of requests after which a visit stops reading */
    VISIT_NEW_MAX = 16,                /* connections begun in one visit */
    VISIT_LIST_MAX = 4096,             /* names looked at in one visit */
    VISIT_STALE_MAX = 512              /* old files removed in one visit */
};

/* A connection whose next requests are looked for. */
struct visit_conn {
    struct token token;
    void *owner;  /* its struct file_conn; NULL: it was found in this visit */
    int64_t next; /* number of the first request that is not read yet */
    size_t room;  /* how many requests may be read, FILE_REQUEST_AHEAD at most */
    struct file_request got[FILE_REQUEST_AHEAD]; /* out: the requests that were read */
    size_t n_got;
    bool is_bad; /* out: the next request cannot be taken; why says the reason */
    struct err why;
};

/* A reply to be written. */
struct visit_put {
    char name[FILE_REQUEST_NAME_BYTES];
    struct buf content;
    void *owner;     /* the reply's struct file_conn */
    bool has_failed; /* out */
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

    bool lists;          /* lists the folder to find new connections */
    struct token *known; /* connections that are not new, live or dead */
    size_t n_known, known_capacity;

    /* Results. */
    struct arena *arena;  /* holds the requests that were read */
    struct err error;     /* why the folder could not be opened or trusted */
    struct err put_error; /* of the last reply that could not be written */
    bool has_more;        /* the visit stopped before all was read */
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
    bool is_queued, is_active; /* waits for a visit; is in the list of boxes with connections */
    bool wants_list;           /* the next visit lists the folder */
    struct err refused; /* the last reason that was logged; kind ERR_NONE: the folder is trusted */
    struct file_conn *conns; /* a list, the oldest first */
    size_t n_conns, n_over;  /* of all connections; of those that have ended */
    bool is_full;       /* too many bytes of its requests and replies wait: no request is read */
    struct token *dead; /* the last INBOX_DEAD_MAX connections that are gone, in a ring */
    size_t n_dead;      /* how many there ever were */
    uint64_t rest_ms;   /* no visit before this time by the loop's clock */
    uint64_t pause_ms;  /* the last rest; doubled after each useless visit */
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
    struct box *visited; /* the box of the visit under way; NULL: a scan is, or nothing */
    struct inbox_scan scan;
    bool wants_users, wants_boxes; /* a scan is wanted that lists all users, or only folders */
    uint64_t scan_ms;              /* no scan before this time */
    uint64_t users_ms;             /* no listing of all users before this time */
    bool has_missed;               /* the kernel lost events */
    uint64_t missed_ms;            /* no listing for lost events before this time */
    uid_t *met;                    /* users who are to get a folder */
    size_t n_met, met_capacity;
    uv_work_t work;
    bool is_working; /* a visit or scan is under way */
    bool is_ending;
    uv_timer_t *timer;
    uv_timer_cb on_timer;
    uint64_t listed_ms, busy_ms; /* when unwatched folders were listed, a client was connected */
};

/* Queues the box for a visit. */
void inbox_queue(struct box *b);
/* Has on_timer run once the events of this round of the loop are handled. */
void inbox_wake(struct inbox *in);
uint64_t inbox_now(const struct inbox *in); /* by the loop's clock */

/* Begins a connection; never NULL. */
struct file_conn *file_conn_open(struct box *b, const struct token *token);
/* Begins a connection only to tell the client why its first request cannot be taken. */
void file_conn_refuse(struct box *b, const struct token *token, const char *why);
struct file_conn *file_conn_find(const struct box *b, const struct token *token);

/* Adds the connection's replies, removals and next requests to a visit. */
void file_conn_prepare(struct file_conn *c, struct visit *v);
/* Takes the requests that the visit has read, and whether it has written a reply. */
void file_conn_take(struct file_conn *c, const struct visit_conn *got);
void file_conn_took_put(struct file_conn *c, const struct visit_put *put);
/* Gives up a silent client, queues visits that are due; returns when to call it again. */
uint64_t file_conn_tick(struct file_conn *c);
struct file_conn *file_conn_next(struct file_conn *c);
/* Bytes of requests that were not passed on to the dispatcher yet, and bytes for replies. */
size_t file_conn_waiting_bytes(const struct file_conn *c);
/* Frees connections whose last files the visit has removed. */
void file_conn_bury(struct box *b);

/* At the end of ludwigd: writes the last replies at once, on this thread, and frees the connection,
 * but does not take it off its box's list. */
void file_conn_part(struct file_conn *c);

#endif
