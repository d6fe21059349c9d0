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
#include "server/inbox/inbox_visit.h"

enum {
    INBOX_BUSY_EVERY_MS = 1000, /* how often folders are listed that the kernel cannot watch, */
    INBOX_UNWATCHED_EVERY_MS = 5000, /* folders that it has no more watches for, */
    INBOX_IDLE_EVERY_MS = 30 * 1000, /* and those while no client was connected for a while: */
    INBOX_LATELY_MS = 2 * 60 * 1000,
    INBOX_USERS_EVERY_MS = 5000, /* at most: all users are listed, maybe over a network */
    INBOX_MET_MAX = 64,
    INBOX_DEAD_MAX = 128,    /* connections of a user that are not begun again */
    INBOX_OVER_MAX = 64,     /* ended ones whose replies are kept for a while */
    INBOX_REST_MAX_MS = 1000 /* for a user whose folder brings nothing but work */
};

struct file_conn;

struct box {
    struct inbox *in;
    uid_t uid;
    int wd; /* -1: the kernel tells nothing of it */
    struct box *next_queued, *next_active;
    bool is_queued, is_active;
    bool wants_list;
    struct err refused; /* the last reason that was logged; kind ERR_NONE: it is believed */
    struct file_conn *conns;
    size_t n_conns, n_over;
    struct token *dead; /* the last INBOX_DEAD_MAX connections that are gone, in a ring */
    size_t n_dead;      /* that there ever were */
    uint64_t rest_ms;   /* it is not visited before */
    uint64_t pause_ms;
};

struct inbox_errand {
    uv_work_t work;
    void (*run)(struct inbox *in);   /* in the thread */
    void (*after)(struct inbox *in); /* on the loop */
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
    struct box *visited; /* by the visit under way */
    struct inbox_scan scan;
    bool wants_users, wants_boxes;
    uint64_t scan_ms;   /* not before */
    uint64_t users_ms;  /* nor are all users listed before */
    bool has_missed;    /* the kernel could not keep all that it had to tell */
    uint64_t missed_ms; /* that is not made up for before */
    uid_t *met;         /* to be made a folder for */
    size_t n_met, met_capacity;
    struct inbox_errand errand;
    bool is_working; /* the errand is under way */
    bool is_ending;
    uv_timer_t *timer;
    uv_timer_cb on_timer;
    uint64_t listed_ms, busy_ms; /* when all were listed, when a client was connected */
};

/* ---- inbox_box.c ---- */

struct box *box_find(const struct inbox *in, uid_t uid);
struct box *box_add(struct inbox *in, uid_t uid);
void box_remember_dead(struct box *b, const struct token *token);
bool box_has_dead(const struct box *b, const struct token *token);
/* It shall be visited. */
void inbox_queue(struct box *b);
/* It has connections to be looked after. */
void inbox_activate(struct box *b);
/* The first in the queue that need not rest, or NULL; *next, if it is 0 or later: when the first of
 * the others may be visited. */
struct box *inbox_take_queued(struct inbox *in, uint64_t *next);
/* What is due is done once the events of this turn of the loop were heard. */
void inbox_wake(struct inbox *in);
uint64_t inbox_now(const struct inbox *in);

/* ---- inbox_watch.c ---- */

struct inbox_watch *inbox_watch_create(struct inbox *in, struct err *e);
void inbox_watch_destroy(struct inbox_watch *w); /* NULL is fine */
void inbox_watch_add(struct inbox_watch *w, struct box *b);

/* ---- file_conn.c ---- */

/* Begins a connection; never NULL. */
struct file_conn *file_conn_open(struct box *b, const struct token *token);
/* Tells the client of a first request that cannot be taken why that is. */
void file_conn_refuse(struct box *b, const struct token *token, const char *why);
struct file_conn *file_conn_find(const struct box *b, const struct token *token);

/* Says what is to be done for it in a visit. */
void file_conn_prepare(struct file_conn *c, struct visit *v);
/* What came of that. */
void file_conn_take(struct file_conn *c, const struct visit_conn *got);
void file_conn_took_put(struct file_conn *c, const struct visit_put *put);
/* Looks at the clock; when to look again. */
uint64_t file_conn_tick(struct file_conn *c);
struct file_conn *file_conn_next(struct file_conn *c);
/* Frees those whose last files the visit has removed. */
void file_conn_bury(struct box *b);

/* The end of ludwigd: puts the last replies at once, in this thread, and frees it. */
void file_conn_part(struct file_conn *c);

#endif
