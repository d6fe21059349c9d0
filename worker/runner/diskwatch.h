/* SPDX-License-Identifier: MIT */
/*
 * diskwatch.h - watches how much a job's files take on scratch
 *
 * No kernel limits what one job writes where all share a file system.  So what its folder and its log
 * take is added up every second, more rarely where that takes long.  What counts is disk: holes
 * take none, and a file with two names counts twice.
 */
#ifndef LUDWIG_WORKER_RUNNER_DISKWATCH_H
#define LUDWIG_WORKER_RUNNER_DISKWATCH_H

#include <stdint.h>

#include "worker/base/scratch.h"

struct diskwatch {
    int64_t limit_bytes; /* 0: the job is not watched */
    int64_t next_ms;     /* monotonic: when to look again */
};

void diskwatch_begin(struct diskwatch *w, int64_t limit_bytes);
/* For poll(2), -1: never. */
int diskwatch_wait_ms(const struct diskwatch *w);
/* If it is due: how much the attempt in run/HEX takes, when that is too much; else 0. */
int64_t diskwatch_look(struct diskwatch *w, const struct scratch *s, const char *hex);

#endif
