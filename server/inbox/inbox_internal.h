/* SPDX-License-Identifier: MIT */
/*
 * inbox_internal.h - what the files of the inbox share
 *
 * box: a user's folder.  vconn: a connection made of files.  round: a visit to a box by a thread
 * of libuv's pool; one at a time.  scan: a look for users and folders, in the rounds' place.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_INTERNAL_H
#define LUDWIG_SERVER_INBOX_INBOX_INTERNAL_H

#include <uv.h>

#include "server/inbox/inbox.h"
#include "server/inbox/inbox_scan.h"
#include "server/inbox/inbox_visit.h"

enum {
    INBOX_BUSY_EVERY_MS = 1000,      /* where nothing is told: how often is looked */
    INBOX_UNWATCHED_EVERY_MS = 5000, /* of folders that the kernel has no more watches for */
    INBOX_IDLE_EVERY_MS = 30 * 1000, /* while nobody is connected, and has not been lately */
    INBOX_LATELY_MS = 2 * 60 * 1000,
    INBOX_USERS_EVERY_MS = 5000, /* at most: all users are listed, maybe over a network */
    INBOX_MET_MAX = 64,
    INBOX_DEAD_MAX = 128,    /* connections of a user that are not begun again */
    INBOX_OVER_MAX = 64,     /* ended ones whose answers lie there for a while */
    INBOX_REST_MAX_MS = 1000 /* for a user whose folder brings nothing but work */
};

struct file_conn;

struct stranger {
    struct token token;
    uint64_t since_ms;
};

struct box {
    struct inbox *in;
    uid_t uid;
    int wd; /* -1: nothing tells of what comes */
    struct box *next_queued, *next_active;
    bool is_queued, is_active;
    bool wants_list;
    struct err refused; /* what was last said that cannot be believed */
    struct file_conn *vconns;
    size_t n_vconns, n_over;
    struct token *dead; /* the last INBOX_DEAD_MAX, in a ring */
    size_t n_dead;      /* that there ever were */
    struct stranger strangers[ROUND_STRANGE_MAX];
    size_t n_strangers;
    uint64_t rest_ms; /* it is not visited before */
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
    struct round round;
    struct box *visited; /* by the round under way */
    struct inbox_scan scan;
    bool wants_users, wants_boxes;
    uint64_t scan_ms;   /* not before */
    uint64_t users_ms;  /* nor are all users listed before */
    bool has_missed;    /* the kernel could not keep all that it had to tell */
    uint64_t missed_ms; /* that is not looked after before */
    uid_t *met;         /* to be made a folder for */
    size_t n_met, met_capacity;
    struct inbox_errand *errand; /* NULL: nobody works */
    uv_sem_t done;               /* its work is, whether or not the loop has heard */
    bool is_ending;
    uv_timer_t *timer;
    uint64_t listed_ms, busy_ms; /* when all were looked at, when somebody was connected */
};

struct box *inbox_find(const struct inbox *in, uid_t uid);
struct box *inbox_add_box(struct inbox *in, uid_t uid);
/* It shall be visited. */
void inbox_queue(struct box *b);
/* It has connections or strangers to be looked after. */
void inbox_activate(struct box *b);
/* Starts what is to be done next, unless something is under way; sets the timer. */
void inbox_pump(struct inbox *in);
uint64_t inbox_now(const struct inbox *in);

/* ---- inboxwatch.c ---- */

struct inbox_watch *inbox_watch_create(struct inbox *in, struct err *e);
void inbox_watch_destroy(struct inbox_watch *w); /* NULL is fine */
void inbox_watch_add(struct inbox_watch *w, struct box *b);

/* ---- vconn.c ---- */

/* Begins one and connects it; never NULL. */
struct file_conn *file_conn_open(struct box *b, const struct token *token);
/* One that is not known: it is told so. */
void file_conn_refuse(struct box *b, const struct token *token);
struct file_conn *file_conn_find(const struct box *b, const struct token *token);
bool box_has_dead(const struct box *b, const struct token *token);

/* What came of a visit. */
void file_conn_take(struct file_conn *v, const struct round_conn *c);
void file_conn_took_put(struct file_conn *v, const struct round_put *p);
/* What is to be done in the next. */
void file_conn_fill(struct file_conn *v, struct round *r);
/* Looks at the clock: 0, or when to look again. */
uint64_t file_conn_tick(struct file_conn *v);
struct file_conn *file_conn_next(struct file_conn *v);
void file_conn_make_known(const struct file_conn *v, struct round *r);
/* Frees those whose last traces the round has removed. */
void file_conn_bury(struct box *b);

/* The end of ludwigd: says goodbye at once, in this thread, and frees it. */
void file_conn_part(struct file_conn *v);

#endif
