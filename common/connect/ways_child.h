/* SPDX-License-Identifier: MIT */
/*
 * ways_child.h - what a mux lets a child do over SFTP, as the mux itself may not wait
 */
#ifndef LUDWIG_COMMON_CONNECT_WAYS_CHILD_H
#define LUDWIG_COMMON_CONNECT_WAYS_CHILD_H

#include <sys/types.h>

#include "common/data/schema.h"

/* A child's verdict comes through a pipe: one byte 1 (well) or 0, then words, until it closes it. */
struct ways_child {
    int verdict_fd; /* -1: there is none */
    pid_t pid;      /* while it has not ended its verdict; 0: it goes its own way */
    struct buf said;
};

/* Carries a stream by store-and-forward, whose other end is *stream_fd; says whether it could
 * begin. */
int ways_child_courier(struct ways_child *c, int sftp_fd, const char *share, const char *user,
                       int *stream_fd, struct err *e);
/* Says what is at these paths, one of which should be ludwigd's socket (const char *). */
int ways_child_explain(struct ways_child *c, int sftp_fd, const struct list *paths, struct err *e);
/* 1: well; 0: nothing yet; -1: it could not, for the reason in said (behind its first byte). */
int ways_child_step(struct ways_child *c);
const char *ways_child_words(const struct ways_child *c);
/* One that has not ended its verdict is killed. */
void ways_child_close(struct ways_child *c);

#endif
