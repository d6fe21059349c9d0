/* SPDX-License-Identifier: MIT */
/*
 * server.h - what ludwigd is made of; passed everywhere, global nowhere
 */
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
    struct backup *backup;    /* that is being made; NULL: none */
    uv_timer_t last_call;     /* while leaving: when ludwigd ends although a peer does not read */
    const char *server_id;    /* made with the database, 16 hex digits */
    struct token incarnation; /* made at each start */
    /* server_leave, set by server_open: files below lifecycle.c cannot call it by name */
    void (*leave)(struct server *sv, const char *why);
    gid_t share_gid; /* of share_group; (gid_t)-1: none */
    int state_lock_fd;
    bool is_leaving;
};

#endif
