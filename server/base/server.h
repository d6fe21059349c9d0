/* SPDX-License-Identifier: MIT */
/* server.h - the parts of ludwigd; a pointer is passed everywhere, as nothing is global */
#ifndef LUDWIG_SERVER_BASE_SERVER_H
#define LUDWIG_SERVER_BASE_SERVER_H

#include <uv.h>

#include "server/base/conf.h"
#include "server/db/db.h"

struct avoided_nodes;
struct advice;
struct backup;
struct conns;
struct hold_notes;
struct holds;
struct inbox;
struct jails;
struct leases;
struct listeners;
struct node_guard;
struct user_names;
struct param_index;
struct peeks;
struct share_packs;
struct pilots;
struct sshd;
struct stops;
struct turn;

struct server {
    uv_loop_t loop;
    struct conf conf;
    struct db *db;
    struct turn *turn;
    struct conns *conns;
    struct leases *leases;
    struct hold_notes *hold_notes;
    struct holds *holds;
    struct node_guard *node_guard;
    struct avoided_nodes *avoided; /* NULL: none yet; fit.h */
    struct stops *stops;
    struct advice *advice;
    struct notices *notices;
    struct param_index *params;
    struct share_packs *packings;
    struct peeks *peeks;

    struct pilots *pilots;
    struct listeners *listeners;
    struct user_names *names;
    struct jails *jails; /* NULL: no users' folders are followed */
    struct inbox *inbox;
    struct sshd *sshd;        /* NULL: none */
    struct backup *backup;    /* the backup under way; NULL: none */
    uv_timer_t last_call;     /* while leaving: ludwigd ends then even if a peer reads nothing */
    const char *server_id;    /* 16 hex digits, made with the database */
    struct token incarnation; /* made anew at each start of ludwigd */
    /* Functions of rooms that the callers may not use by name; NULL until their room sets them. */
    /* server_leave of lifecycle.c. */
    void (*leave)(struct server *sv, const char *why);
    /* stops_note: tells that a job of the sweep ended, or (at_once) a user overruled a decision. */
    void (*note_search)(struct server *sv, int64_t sweep, bool at_once);
    /* Turn work of advice.c: run after an event that the sweep's advisor may have to be told. */
    int (*look_at_advice)(struct server *sv, int64_t sweep, struct err *e);
    /* Turn work of notices.c: run after an event of which a user may have to be notified. */
    int (*look_at_notices)(struct server *sv, int64_t unused, struct err *e);
    /* Of pilots.c: sets the most memory and time that one job in the pool can have, if known. */
    int (*most_of_pool)(struct server *sv, int64_t pool, int64_t *memory_bytes, int64_t *time_ms,
                        struct err *e);
    gid_t share_gid;   /* of share_group; (gid_t)-1: none */
    int state_lock_fd; /* the locked state folder; -1: not open */
    bool
        is_reading; /* serves one reading program: no pilots and no inbox; set before server_open */
    bool is_leaving; /* server_leave was called */
};

#endif
