/* SPDX-License-Identifier: MIT */
/*
 * usage.h - what the processes below this one have used so far
 */
#ifndef LUDWIG_WORKER_BASE_USAGE_H
#define LUDWIG_WORKER_BASE_USAGE_H

#include <stdint.h>

struct usage {
    int64_t cpu_ms;        /* with those that they waited for */
    int64_t max_rss_bytes; /* of the largest of them, ever */
};

/* What cannot be read counts nothing. */
void usage_look(struct usage *u);

#endif
