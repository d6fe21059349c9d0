/* SPDX-License-Identifier: MIT */
/*
 * server.h - what ludwigd is made of; passed everywhere, global nowhere
 */
#ifndef LUDWIG_SERVER_SERVER_H
#define LUDWIG_SERVER_SERVER_H

#include <uv.h>

#include "server/conf.h"
#include "server/db.h"
#include "server/turn.h"

struct conns;
struct errand;
struct inbox;
struct jails;
struct leases;
struct listeners;
struct names;
struct params;
struct passes;
struct pilots;
struct sshd;

struct server {
    uv_loop_t loop;
    struct conf conf;
    struct db *db;
    struct turn *turn;
    struct conns *conns;
    struct leases *leases;
    struct params *params;
    struct passes *passes;
    struct pilots *pilots;
    struct listeners *listeners;
    struct names *names;
    struct jails *jails; /* NULL: none are followed */
    struct inbox *inbox;
    struct sshd *sshd;        /* NULL: none */
    uv_timer_t *last_call;    /* while leaving: when it goes although somebody does not read */
    char *server_id;          /* made with the database, 16 hex digits */
    struct token incarnation; /* made at each start */
    gid_t share_gid;          /* of share_group; (gid_t)-1: none */
    int state_lock_fd;
    bool is_leaving;
};

/*
 * A server without sockets: state folder, database, turn.  conf must be filled, and belongs to
 * sv from here on, also when it fails.  After a failure there is nothing to close.
 */
int server_open(struct server *sv, struct err *e);
/* Makes the share and the sockets. */
int server_listen(struct server *sv, struct err *e);
/* Runs until server_leave was called and all that was to be said has been read. */
void server_run(struct server *sv);
/* No new connections and requests; what was answered is flushed, but not for ever. */
void server_leave(struct server *sv, const char *why);
void server_close(struct server *sv);

/* What handlers get beside request and reply. */
struct ask {
    struct conn *conn;
    const struct envelope *envelope;
    struct arena *arena;   /* request and reply live here */
    int64_t progress[3];   /* zero at first; kept while the handler answers 1 */
    struct errand *errand; /* errand.h; NULL: none was begun */
};

enum { HANDLER_GOES_ON = 1, HANDLER_WAITS = 2 };

/*
 * Returns 0 with *reply filled, -1 with e set.  Reply types are as in the table of messages;
 * a message whose reply is -1 gets reply == NULL.  1: there is more to do; what was written
 * stays, and it is called again in a later turn, with the same request and progress (nothing else of
 * that connection is taken meanwhile).  2: the same, once its errand is done.  What it reads of its peer's it must check each time.
 */
typedef int (*handler_fn)(struct server *sv, struct ask *ask, const void *request, void *reply,
                          struct err *e);

#define HANDLER(name)                                                                       \
    int handle_##name(struct server *sv, struct ask *ask, const void *request, void *reply, \
                      struct err *e)

/* handle_hello.c */
HANDLER(hello);
/* project.c */
HANDLER(open_project);
/* handle_submit.c */
HANDLER(submit_begin);
HANDLER(submit_chunk);
HANDLER(submit_end);
/* handle_change.c */
HANDLER(cancel);
HANDLER(retry);
HANDLER(pause);
HANDLER(resume);
HANDLER(shutdown);
/* handle_drain.c */
HANDLER(drain);
/* handle_preview.c */
HANDLER(preview);
/* handle_why.c */
HANDLER(ask_why);
/* handle_query.c */
HANDLER(get_sweeps);
HANDLER(get_jobs);
HANDLER(get_results);
HANDLER(get_usage);
/* handle_data.c */
HANDLER(get_data);
/* handle_pack.c */
HANDLER(pack_share);
HANDLER(packed);
/* handle_nodes.c */
HANDLER(get_nodes);
/* subscribe.c */
HANDLER(subscribe);
/* subscribe_log.c */
HANDLER(log_grew);
/* handle_worker.c */
HANDLER(register);
HANDLER(took);
HANDLER(alive);
HANDLER(report);
HANDLER(load);
HANDLER(holds);
/* handle_pilot.c */
HANDLER(retiring);

#endif
