/* SPDX-License-Identifier: MIT */
/* server.h - the parts of ludwigd; a pointer is passed everywhere, as nothing is global */
#ifndef LUDWIG_SERVER_BASE_SERVER_H
#define LUDWIG_SERVER_BASE_SERVER_H

#include <uv.h>

#include "server/base/conf.h"
#include "server/db/db.h"

struct backup;
struct conns;
struct hold_notes;
struct holds;
struct inbox;
struct jails;
struct leases;
struct listeners;
struct user_names;
struct param_index;
struct share_packs;
struct pilots;
struct sshd;
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
    struct param_index *params;
    struct share_packs *passes;

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
    gid_t share_gid; /* of share_group; (gid_t)-1: none */
    int state_lock_fd;
    bool is_leaving;
};

#endif
