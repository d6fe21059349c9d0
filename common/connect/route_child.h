/* SPDX-License-Identifier: MIT */
/*
 * route_child.h - what a mux lets a child do over SFTP, as the mux itself may not wait
 */
#ifndef LUDWIG_COMMON_CONNECT_ROUTE_CHILD_H
#define LUDWIG_COMMON_CONNECT_ROUTE_CHILD_H

#include <sys/types.h>

#include "common/data/schema.h"

/* A child's verdict comes through a pipe: one byte 1 (well) or 0, then words, until it closes it. */
struct route_child {
    int verdict_fd; /* -1: there is none */
    pid_t pid;      /* while it has not ended its verdict; 0: it goes its own way */
    struct buf said;
};

/* Carries a stream by store-and-forward, whose other end is *stream_fd; says whether it could
 * begin. */
int route_child_courier(struct route_child *c, int sftp_fd, const char *share, const char *user,
                        int *stream_fd, struct err *e);
/* Says what is at these paths, one of which should be ludwigd's socket (const char *). */
int route_child_explain(struct route_child *c, int sftp_fd, const struct list *paths,
                        struct err *e);
/* 1: well; 0: nothing yet; -1: it could not, for the reason in said (behind its first byte). */
int route_child_step(struct route_child *c);
const char *route_child_words(const struct route_child *c);
/* One that has not ended its verdict is killed. */
void route_child_close(struct route_child *c);

#endif
