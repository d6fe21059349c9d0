/* SPDX-License-Identifier: MIT */
/*
 * share_packs.h - the packing of data that lie on the share already: its workers and its askers
 *
 * In memory only; docs/internals/states.md has the states.
 */
#ifndef LUDWIG_SERVER_QUEUE_SHARE_PACKS_H
#define LUDWIG_SERVER_QUEUE_SHARE_PACKS_H

#include "server/base/server.h"
#include "server/conn/conn.h"

/* Passes that are over are kept: their askers may not have heard of it yet. */
enum { SHARE_PACKS_KEPT_MAX = 100, SHARE_PACKS_OF_USER_MAX = 100 };

struct pass {
    int64_t number;
    int64_t version; /* counts the changes that askers are told */
    struct token token;
    uid_t uid;
    char *user, *project, *path;
    enum pass_state state;
    bool is_stuck;   /* WAITING: no worker could do it */
    bool has_failed; /* DONE: why */
    char *why;
    int64_t conn; /* RUNNING: the worker's */
    char *node;
    int64_t files, bytes;
    struct dataset set;
};

struct share_packs *share_packs_create(void);
void share_packs_destroy(struct share_packs *all); /* NULL is fine */

/* NULL: the pass is over and forgotten, or was never there. */
struct pass *share_packs_find(struct share_packs *all, int64_t number);
/* The asker's pass over that path that is not over, or a new one; NULL with e set. */
struct pass *share_packs_join(struct server *sv, const struct conn *c, const char *project,
                              const char *path, struct err *e);
/* Work for a turn: gives waiting passes to workers. */
int share_packs_give(struct server *sv, int64_t unused, struct err *e);
/* Takes in what a worker says of its pass; a pass of another worker is left alone. */
void share_packs_take(struct server *sv, const struct conn *c, const struct msg_packed *m);
/* A worker's connection is gone: its passes go to other workers. */
void share_packs_left(struct server *sv, const struct conn *c);

#endif
