/* SPDX-License-Identifier: MIT */
/*
 * process_usage.h - what the processes below this one have used so far
 */
#ifndef LUDWIG_WORKER_BASE_PROCESS_USAGE_H
#define LUDWIG_WORKER_BASE_PROCESS_USAGE_H

#include <stdint.h>

struct process_usage {
    int64_t cpu_ms;        /* with those that they waited for */
    int64_t max_rss_bytes; /* of the largest of them, ever */
};

/* What cannot be read counts nothing. */
void process_usage_look(struct process_usage *u);

#endif
