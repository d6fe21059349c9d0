/* SPDX-License-Identifier: MIT */
/*
 * route_child.h - the SFTP work of a mux, done by a child, as the mux itself may not wait
 */
#ifndef LUDWIG_COMMON_CONNECT_ROUTE_CHILD_H
#define LUDWIG_COMMON_CONNECT_ROUTE_CHILD_H

#include <sys/types.h>

#include "common/data/schema.h"

/* A child writes its verdict into a pipe: a byte, 1 (success) or 0, then words, then the end of
 * file. */
struct route_child {
    int verdict_fd; /* -1: there is no child */
    pid_t pid;      /* of a child whose verdict is not whole yet; 0 later: the child runs on */
    struct buf said;
};

/* Starts a child that carries a stream by store-and-forward and gives the stream's other end in
 * *stream_fd; the verdict says whether the child could begin. */
int route_child_courier(struct route_child *c, int sftp_fd, const char *share, const char *user,
                        int *stream_fd, struct err *e);
/* Starts a child whose verdict says what lies at these paths (const char *), of which one should be
 * ludwigd's socket. */
int route_child_explain(struct route_child *c, int sftp_fd, const struct list *paths,
                        struct err *e);
/* Returns 1 when the child succeeded, 0 when its verdict has not come, -1 when it failed, for the
 * reason that route_child_words gives. */
int route_child_step(struct route_child *c);
const char *route_child_words(const struct route_child *c);
/* Kills a child whose verdict is not whole yet. */
void route_child_close(struct route_child *c);

#endif
