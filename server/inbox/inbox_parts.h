/* SPDX-License-Identifier: MIT */
/*
 * inbox_parts.h - what the files of the inbox share
 *
 * box: a user's folder.  vconn: a connection made of files.  round: a visit to a box by a thread
 * of libuv's pool; one at a time.  scan: a look for users and folders, in the rounds' place.
 */
#ifndef LUDWIG_SERVER_INBOX_INBOX_PARTS_H
#define LUDWIG_SERVER_INBOX_INBOX_PARTS_H

#include <uv.h>

#include "server/inbox/inbox.h"
#include "server/inbox/inboxround.h"
#include "server/inbox/inboxscan.h"

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

struct vconn;

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
    struct vconn *vconns;
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
    struct inboxdir dirs;
    enum inbox_kind kind;
    char *why_none, *path;
    struct box **boxes; /* by uid */
    size_t n_boxes, capacity;
    size_t n_unwatched;
    struct box *first_queued, *last_queued, *active;
    struct inboxwatch *watch; /* NULL: INBOX_LISTED */
    struct round round;
    struct box *visited; /* by the round under way */
    struct inboxscan scan;
    bool wants_users, wants_boxes;
    uint64_t scan_ms;   /* not before */
    uint64_t users_ms;  /* nor are all users listed before */
    bool has_missed;    /* the kernel could not keep all that it had to tell */
    uint64_t missed_ms; /* that is not looked after before */
    uid_t *met;         /* to be made a folder for */
    size_t n_met, met_capacity;
    struct errand *errand; /* NULL: nobody works */
    uv_sem_t done;         /* its work is, whether or not the loop has heard */
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

struct inboxwatch *inboxwatch_create(struct inbox *in, struct err *e);
void inboxwatch_destroy(struct inboxwatch *w); /* NULL is fine */
void inboxwatch_add(struct inboxwatch *w, struct box *b);

/* ---- vconn.c ---- */

/* Begins one and connects it; never NULL. */
struct vconn *vconn_open(struct box *b, const struct token *token);
/* One that is not known: it is told so. */
void vconn_refuse(struct box *b, const struct token *token);
struct vconn *vconn_find(const struct box *b, const struct token *token);
bool box_has_dead(const struct box *b, const struct token *token);

/* What came of a visit. */
void vconn_take(struct vconn *v, const struct round_conn *c);
void vconn_took_put(struct vconn *v, const struct round_put *p);
/* What is to be done in the next. */
void vconn_fill(struct vconn *v, struct round *r);
/* Looks at the clock: 0, or when to look again. */
uint64_t vconn_tick(struct vconn *v);
struct vconn *vconn_next(struct vconn *v);
void vconn_make_known(const struct vconn *v, struct round *r);
/* Frees those whose last traces the round has removed. */
void vconn_bury(struct box *b);

/* The end of ludwigd: says goodbye at once, in this thread, and frees it. */
void vconn_part(struct vconn *v);

#endif
