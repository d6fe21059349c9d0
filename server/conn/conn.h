/* SPDX-License-Identifier: MIT */
/*
 * conn.h - who is connected: a channel, the identity the kernel gave it, its limits
 */
#ifndef LUDWIG_SERVER_CONN_CONN_H
#define LUDWIG_SERVER_CONN_CONN_H

#include <sys/types.h>

#include "common/proto/chan.h"
#include "server/base/identity.h"
#include "server/conn/cached_trees.h"

enum {
    CONN_MAX = 1000,                   /* connections at once; the next is told "busy" and closed */
    CONN_PER_UID_MAX = 250,            /* of one user */
    CONN_HELLO_MAX = 64 * 1024,        /* a frame of somebody who has not said hello */
    CONN_CLIENT_MAX = 4 * 1024 * 1024, /* of a client; workers may fill a frame */
    CONN_PUSH_MARK = 256 * 1024, /* no more requests are taken, and nothing is pushed, while more
                                    than this waits for the peer to read */
    /* An answer begun below the mark still fits, whatever its size; beyond that a peer is cut off. */
    CONN_QUEUED_MAX = 4 * 1024 * 1024 + FRAME_MAX_BYTES,
    CONN_LINGER_MS = 5000 /* for a peer that was told why it is cut off to read it */
};

struct server;
struct subscription;
struct unfinished;

struct conn {
    struct server *sv;
    int64_t number; /* never used twice while ludwigd runs */
    struct chan *chan;
    uid_t uid;
    char *user;           /* NULL until it is looked up: till then nothing is taken from it */
    char *known_as;       /* "lab/alice" for one of those who share an account; NULL: as user */
    struct groups groups; /* as the kernel says; else looked up once they are needed */
    bool has_groups;
    bool is_admin;
    bool greeted;             /* hello was answered */
    unsigned role;            /* FROM_CLIENT or FROM_WORKER, 0 before hello */
    int64_t worker;           /* its row in the table of workers, 0: none registered */
    int64_t registering;      /* what it becomes once the turn is committed */
    bool own_jobs_only;       /* the worker cannot publish others' */
    bool is_retiring;         /* it gets no more jobs, */
    bool gives_back;          /* and those that it has are ended */
    int64_t pilot;            /* its row; 0: it is none */
    int64_t pool;             /* that it is a pilot of */
    bool takes_one;           /* of that one a job is all that it does */
    int64_t pilot_job;        /* Slurm's, where its row does not have it; else 0 */
    int64_t pilot_time_ms;    /* that it had from the beginning; 0: not known */
    int64_t pilot_ends_at_ms; /* by our clock; 0: not known */
    int64_t hand_seq;
    uint64_t heard_ms;            /* of the loop's clock: when its last message was taken */
    struct arena *claims;         /* of a worker, what it said when it registered; NULL: nothing */
    struct list refused;          /* struct refusal: users whose jobs cannot run there */
    struct list gpu_models;       /* const char * */
    const char *boot_id;          /* of the machine it runs on */
    struct cached_trees holdings; /* which trees it has told it holds */
    int64_t expected_sweep;       /* whose data it was told to expect last; 0: none */
    int64_t load_milli;           /* of its machine; SCHEMA_NONE: it does not know */
    int64_t load_at_ms;           /* when it said so; 0: never */
    int64_t load_asked_ms;        /* when it was asked last; 0: never */
    bool has_submits;             /* it may have opened sweeps that it did not end */
    int64_t awaited_pass;         /* it waits for news of this one; 0: of none */
    bool is_waiting;              /* its unfinished request, for something that is done elsewhere */
    bool is_ending;       /* nothing is taken from it any more; closed once it has read all */
    bool is_finished;     /* the channel was told so */
    uint64_t ends_ms;     /* of the loop's clock: when a finished one is closed all the same */
    size_t pending_bytes; /* answers of this turn, not yet given to the channel */
    struct unfinished *unfinished;      /* its request that goes on in later turns: dispatch.c */
    struct subscription *subscriptions; /* list: subscribe.c */
};

/* What others do when somebody comes or goes. */
struct conns_events {
    /* The kernel has said who connects, whether or not there is room. */
    void (*met)(struct server *sv, uid_t uid);
    void (*closed)(struct server *sv, struct conn *c);
};

struct conns *conns_create(struct server *sv, const struct conns_events *events);
/* What user_names_create wants: those who waited for that are heard. */
void conns_named(struct server *sv, uid_t uid, const char *name);
void conns_destroy(struct conns *l); /* closes what is left; NULL is fine */

/* Takes a connected socket; the kernel says whose it is.  With only_name it is for that one user
 * alone.  When there are too many, or it is for another, the peer is told so and closed, and NULL
 * is returned with e set.  Owns fd, also when it fails. */
struct conn *conn_add(struct server *sv, int fd, uid_t only, const char *only_name, struct err *e);
/* The same for one whose uid was established in another way: the kernel is not asked. */
struct conn *conn_add_as(struct server *sv, int fd, uid_t uid, struct err *e);

struct conn *conn_find(struct server *sv, int64_t number); /* NULL when it is gone */
struct conn *conn_of_worker(struct server *sv, int64_t worker);
/* The one with the next higher number, or NULL: for walking over all, also while some close. */
struct conn *conn_after(struct server *sv, int64_t number);
size_t conn_count(struct server *sv);

struct msg_register;
/* Keeps a copy of what a worker says of itself that no table holds. */
void conn_keep_claims(struct conn *c, const struct msg_register *r);
/* Why no jobs of this user can run on its machine; NULL: they can, as far as it knows. */
const char *conn_refusal(const struct conn *c, const char *user);

/* In a turn: a message to a connection (by number, so that one that closed meanwhile does no harm),
 * once the turn is committed.  The body is encoded at once and need not last. */
void conn_send(struct server *sv, int64_t conn, int type, const void *body);
/* The same, as the answer to a message; takes the encoded body over. */
void conn_answer(struct conn *c, int type, int64_t re, struct buf *body);

/* There is something to do for it, and room for the answer. */
bool conn_is_ready(const struct conn *c);
/* Room for pushes. */
bool conn_has_room(const struct conn *c);

/* Closes at once; the struct lasts until the next turn begins. */
void conn_close(struct server *sv, struct conn *c, const char *why);
/* Takes nothing more from it, and closes it when what it was told has been read. */
void conn_end(struct conn *c);
void conn_end_all(struct server *sv);

/* For the turn. */
void conns_bury(struct server *sv);   /* at its beginning */
void conns_settle(struct server *sv); /* at its end */

#endif
