/* SPDX-License-Identifier: MIT */
/*
 * memwatch.h - does a job use more memory than it asked for?
 *
 * For where that takes others along: the jobs of a pilot share what Slurm gave it.  What counts is
 * memory that only ending them frees, theirs alone or shared among them, not the files that they
 * have mapped.
 */
#ifndef LUDWIG_WORKER_RUNNER_MEMWATCH_H
#define LUDWIG_WORKER_RUNNER_MEMWATCH_H

#include <stdint.h>

struct memwatch {
    int64_t limit_bytes; /* 0: the job is not watched */
    int64_t bytes;       /* that were used when it was looked at last */
    int64_t next_ms;     /* monotonic: when to look again */
};

void memwatch_begin(struct memwatch *w, int64_t limit_bytes);
/* For poll(2), -1: never. */
int memwatch_wait_ms(const struct memwatch *w);
/* If it is due: how much all our descendants use together, when that is too much; else 0. */
int64_t memwatch_look(struct memwatch *w);

/* Until it is looked at again: a second, or less when it is near its limit or grows so fast that it may
 * reach it by then. */
int memwatch_pause_ms(int64_t bytes, int64_t before_bytes, int64_t limit_bytes);

/* "RssAnon" and "RssShmem" of /proc/PID/status, or "Pss_Anon" and "Pss_Shmem" of
 * /proc/PID/smaps_rollup, added up; -1: they are not there. */
int64_t memwatch_parse(const char *text, const char *anon, const char *shmem);

#endif
