/* SPDX-License-Identifier: MIT */
/* conn.h - a connection of ludwigd's: its channel, its user as the kernel tells, its limits */
#ifndef LUDWIG_SERVER_CONN_CONN_H
#define LUDWIG_SERVER_CONN_CONN_H

#include <sys/types.h>

#include "common/proto/chan.h"
#include "server/base/identity.h"
#include "server/conn/cached_trees.h"

enum {
    CONN_MAX = 1000,        /* connections at once; a further peer is told "busy" and closed */
    CONN_PER_UID_MAX = 250, /* connections of one user */
    CONN_RESERVED = 100,    /* of CONN_MAX: for root, ludwigd's own user, admins and worker_users */
    CONN_UNNAMED_MAX = 50,  /* of these: for users whose names are still being looked up */
    CONN_HELLO_MS = 30 * 1000,   /* time for a peer to say hello: where a line loses packets, six
                                    tries of TCP, each after twice the time */
    CONN_HELLO_MAX = 64 * 1024,  /* bytes of a frame before hello */
    CONN_PUSH_MARK = 256 * 1024, /* while more bytes wait for the peer to read, its requests are not
                                    taken and nothing is pushed to it */
    /* Bytes that may wait for the peer, which is cut off beyond them: an answer that was begun
     * below the mark fits, whatever its size. */
    CONN_QUEUED_MAX = 4 * 1024 * 1024 + FRAME_MAX_BYTES,
    CONN_LINGER_MS = 5000 /* time for a peer to read why it is cut off */
};

struct conn_user;
struct server;
struct subscription;
struct unfinished;

/* A thing that a sweep needs and a worker's node lacks, see fit.h. */
struct lack {
    int64_t sweep;
    char *what; /* in words */
};

struct conn {
    struct server *sv;
    int64_t number; /* never used twice while ludwigd runs */
    struct chan *chan;
    uid_t uid;
    struct conn_user *shared; /* what all connections of the user have in common */
    char *user;               /* NULL while its name is looked up: no message is taken until then */
    char *known_as;           /* "lab/alice" for a person who shares an account; NULL: as user */
    struct groups groups;     /* the user's, from the kernel; else looked up when needed */
    bool has_groups;          /* groups is filled */
    bool is_admin;
    bool is_open;             /* made of files that others may read: nothing secret may be sent */
    bool greeted;             /* hello was answered */
    unsigned role;            /* FROM_CLIENT or FROM_WORKER, 0 before hello */
    int64_t worker;           /* row of the worker that the peer registered as; 0: none */
    int64_t registering;      /* the same until the turn that registers it is committed; 0: none */
    bool own_jobs_only;       /* the worker cannot publish other users' jobs */
    bool lacks_groups;        /* the worker can make no control groups for jobs */
    bool reads_saved;         /* the worker knows the message read_saved */
    bool is_one_account;      /* the worker runs all users' jobs as its own account */
    bool is_retiring;         /* the worker gets no more jobs */
    bool gives_back;          /* the retiring worker ends its jobs, which return to the queue */
    int64_t pilot;            /* row of the pilot that the worker is; 0: it is no pilot */
    int64_t pool;             /* row of the pilot's pool */
    bool takes_one;           /* the pilot takes one job in its life */
    int64_t pilot_job;        /* the pilot's Slurm job id if its row lacks it; else 0 */
    int64_t pilot_time_ms;    /* the pilot's time limit, from its beginning; 0: not known */
    int64_t pilot_ends_at_ms; /* when the pilot ends, by ludwigd's clock; 0: not known */
    int64_t disk_bytes;       /* scratch of the worker that jobs may ask for; 0: not known */
    int64_t hand_seq;         /* number of the last hand that the worker was sent */
    uint64_t heard_ms;        /* by the loop's clock: when its last message was taken */
    struct arena *claims;     /* memory of the next four, set by conn_keep_claims; NULL: none */
    struct list refused;      /* struct refusal: users whose jobs the worker cannot run */
    struct list gpu_models;   /* const char * */
    struct list gpus_unused;  /* const char * */
    const char *boot_id;      /* of the machine that the worker runs on */
    struct cached_trees holdings; /* trees in the worker's cache, as it told */
    int64_t expected_sweep;       /* whose data the worker was last told to expect; 0: none */
    struct lack *lacks;           /* what the worker's node lacks, in the order of discovery */
    size_t n_lacks, lacks_capacity;
    int64_t load_milli;      /* load of the worker's machine; SCHEMA_NONE: not known */
    int64_t load_at_ms;      /* when the worker told its load; 0: never */
    int64_t load_asked_ms;   /* when the worker was asked for it last; 0: never */
    struct gpu_use *gpu_use; /* use of each of the worker's GPUs, in the order of registration */
    size_t n_gpu_use;
    int64_t gpu_use_at_ms; /* when the worker told gpu_use; 0: never */
    bool asks_gpus;        /* the worker is asking its GPUs, and will tell gpu_use */
    bool has_submits;      /* the client may have opened sweeps that it did not end */
    int64_t awaited_pass;  /* number of the packing pass whose news it waits for; 0: none */
    int64_t awaited_peek;  /* number of its question that a worker has to answer; 0: none */
    bool is_preferred;     /* may take a reserved place; no limit of changes or waiting bytes */
    bool has_own_turn;     /* a worker that serves all users, and has turns besides its user's */
    bool is_waiting;       /* its unfinished request waits for a task on a thread, or a peer */
    bool is_ending;        /* no more messages are taken; closed once the peer has read all */
    bool is_finished;      /* the channel was told that nothing more will be sent */
    uint64_t ends_ms;      /* by the loop's clock: when a finished connection is closed anyway */
    uint64_t hello_by_ms;  /* by the loop's clock: when it is cut off unless it has said hello */
    bool is_overdue; /* hello_by_ms has passed; it is cut off if the next look finds no hello */
    int64_t served;  /* number of the serving in which it was served last */
    size_t pending_bytes;          /* answers of this turn, not yet given to the channel */
    size_t unfinished_bytes;       /* memory of its unfinished request */
    size_t waiting_bytes;          /* its part of shared->waiting_bytes */
    struct unfinished *unfinished; /* the request that later turns go on with, see dispatch.c */
    struct subscription *subscriptions; /* a list, see subscribe.c */
};

/* Callbacks for peers that come or go. */
struct conns_events {
    /* Called with a new peer's uid, which the kernel told, even if there is no room for it. */
    void (*met)(struct server *sv, uid_t uid);
    void (*closed)(struct server *sv, struct conn *c);
};

struct conns *conns_create(struct server *sv, const struct conns_events *events);
/* The callback for user_names_create: serves the connections that waited for the name. */
void conns_named(struct server *sv, uid_t uid, const char *name);
void conns_destroy(struct conns *l); /* closes all connections; NULL is fine */

/* Takes a connected socket over, also on failure; the kernel tells the peer's uid.  If only_name is
 * set, only the user with the uid `only` is let in.  A peer that is not let in, as it is another
 * user or there are too many connections, is told so and closed: NULL with e set. */
struct conn *conn_add(struct server *sv, int fd, uid_t only, const char *only_name, struct err *e);
/* The same for a peer whose uid is known already: the kernel is not asked. */
struct conn *conn_add_as(struct server *sv, int fd, uid_t uid, struct err *e);

struct conn *conn_find(struct server *sv, int64_t number);      /* NULL: it is closed */
struct conn *conn_of_worker(struct server *sv, int64_t worker); /* NULL: it is not connected */
/* The connection with the next higher number, or NULL: walks over all while some are closed. */
struct conn *conn_after(struct server *sv, int64_t number);
size_t conn_count(struct server *sv);

struct msg_register;
/* Copies the parts of a worker's registration that no table has into the connection. */
void conn_keep_claims(struct conn *c, const struct msg_register *r);
/* Why this user's jobs cannot run on the worker's machine; NULL: the worker named no reason. */
const char *conn_refusal(const struct conn *c, const char *user);

/* In a turn: sends a message once the turn is committed; nothing happens if the connection of that
 * number is closed by then.  The body is encoded at once and need not last. */
void conn_send(struct server *sv, int64_t conn, int type, const void *body);
/* In a turn: has the pilot's worker take no more jobs, and leave when those that it has are over.
 * */
void conn_retire(struct server *sv, struct conn *c, const char *reason);
/* As conn_send, for the answer to message re, already encoded; takes over what body holds. */
void conn_answer(struct conn *c, int type, int64_t re, struct buf *body);

/* Whether a request waits that may be handled now, and the peer has room for the answer. */
bool conn_is_ready(const struct conn *c);
/* The ready connection to serve next: of the user who was served longest ago, and of this user's
 * connections the one that was; a worker that serves all users counts as a user of its own.  NULL:
 * none is ready. */
struct conn *conn_next(struct server *sv);
/* Counts a change against its user's limit of changes a second. */
void conn_changes(struct conn *c);
/* Whether few enough bytes wait for the peer (CONN_PUSH_MARK) to push more. */
bool conn_has_room(const struct conn *c);

/* Closes at once; the struct lasts until the next turn begins. */
void conn_close(struct server *sv, struct conn *c, const char *why);
/* Takes no more messages, and closes the connection when the peer has read all that it was sent. */
void conn_end(struct conn *c);
void conn_end_all(struct server *sv);

/* Called at the beginning of a turn: frees closed connections. */
void conns_bury(struct server *sv);
/* Called at the end of a turn: finishes ending connections, cuts off users with too much waiting.
 * */
void conns_settle(struct server *sv);

#endif
