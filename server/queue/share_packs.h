/* SPDX-License-Identifier: MIT */
/*
 * share_packs.h - has workers pack `share:` data that lie on the share already
 *
 * Packings are in memory only; docs/internals/states.md has their states.  An asker is a client's
 * connection that waits for news of a packing.
 */
#ifndef LUDWIG_SERVER_QUEUE_SHARE_PACKS_H
#define LUDWIG_SERVER_QUEUE_SHARE_PACKS_H

#include "server/base/server.h"
#include "server/conn/conn.h"

/* So many ended packings are kept, as their askers may not have heard of the end yet. */
enum { SHARE_PACKS_KEPT_MAX = 100, SHARE_PACKS_OF_USER_MAX = 100 };

struct packing {
    int64_t number;
    int64_t version; /* number of the last change that askers are told */
    struct token token;
    uid_t uid;
    char *user, *project, *path;
    enum packing_state state;
    bool is_stuck;   /* PACKING_WAITING: no connected worker can do it */
    bool has_failed; /* PACKING_DONE: it failed, for the reason why */
    char *why;
    int64_t conn; /* PACKING_RUNNING: the worker's connection */
    char *node;
    int64_t files, bytes;
    struct dataset set;
};

struct share_packs *share_packs_create(void);
void share_packs_destroy(struct share_packs *all); /* NULL is fine */

/* NULL when there is no such packing, or none any more.  A pointer lasts until the next join. */
struct packing *share_packs_find(struct share_packs *all, int64_t number);
/* The user's packing of that path that is not over, or a new one; NULL with e set on error. */
struct packing *share_packs_join(struct server *sv, const struct conn *c, const char *project,
                                 const char *path, struct err *e);
/* Turn work: gives waiting packings to workers. */
int share_packs_give(struct server *sv, int64_t unused, struct err *e);
/* Takes a worker's news of a packing; ignored unless this connection was given the packing. */
void share_packs_take(struct server *sv, const struct conn *c, const struct msg_packed *m);
/* A worker's connection is gone: its packings wait for another worker. */
void share_packs_left(struct server *sv, const struct conn *c);

#endif
