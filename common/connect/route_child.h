/* SPDX-License-Identifier: MIT */
/*
 * route_child.h - the SFTP work of a mux, done by a child, as the mux itself may not wait
 */
#ifndef LUDWIG_COMMON_CONNECT_ROUTE_CHILD_H
#define LUDWIG_COMMON_CONNECT_ROUTE_CHILD_H

#include <sys/types.h>

#include "common/data/schema.h"

/* A child's verdict comes through a pipe: a byte, 1 (well) or 0, then words, then the end of
 * file. */
struct route_child {
    int verdict_fd; /* -1: there is no child */
    pid_t pid;      /* of a child whose verdict is not whole yet; 0: it runs on by itself */
    struct buf said;
};

/* Starts a child that carries a stream by store-and-forward, whose other end is *stream_fd; the
 * verdict says whether it could begin. */
int route_child_courier(struct route_child *c, int sftp_fd, const char *share, const char *user,
                        int *stream_fd, struct err *e);
/* Starts a child whose verdict says what lies at these paths (const char *), of which one should be
 * ludwigd's socket. */
int route_child_explain(struct route_child *c, int sftp_fd, const struct list *paths,
                        struct err *e);
/* 1: well; 0: no verdict yet; -1: the child failed, for the reason in said (behind its first
 * byte). */
int route_child_step(struct route_child *c);
const char *route_child_words(const struct route_child *c);
/* Kills a child whose verdict is not whole yet. */
void route_child_close(struct route_child *c);

#endif
