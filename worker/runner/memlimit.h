/* SPDX-License-Identifier: MIT */
/*
 * memlimit.h - the group in which the kernel ends a job that takes more memory than it asked for
 *
 * A runner has one for its jobs, one after the other; see cage.h.  The kernel counts what they read
 * and write as well, but gives that up before it ends anybody, unless it lies in memory alone
 * (/dev/shm).
 */
#ifndef LUDWIG_WORKER_RUNNER_MEMLIMIT_H
#define LUDWIG_WORKER_RUNNER_MEMLIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/runner/oom.h"

struct memlimit {
    int max_fd;     /* memory.max of the group; -1: there is none */
    int group_fd;   /* its folder */
    struct oom oom; /* what the kernel counts there */
    int64_t bytes;  /* as it was set last; 0: never */
};

/* fd: what the agent has handed on, if it has. */
void memlimit_open(struct memlimit *m, int fd);
void memlimit_close(struct memlimit *m);

/* While nobody is in it.  true: who is started in group_fd has so much. */
bool memlimit_set(struct memlimit *m, int64_t bytes);

#endif
