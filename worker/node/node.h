/* SPDX-License-Identifier: MIT */
/*
 * node.h - names and resources of this machine, or of the container that we are in
 */
#ifndef LUDWIG_WORKER_NODE_NODE_H
#define LUDWIG_WORKER_NODE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"

struct node {
    char *host;
    char *boot_id;
    unsigned *cpus;      /* processors of the affinity mask */
    unsigned *cpu_nodes; /* per processor: its NUMA node */
    size_t n_cpus;
    int64_t cpus_milli;   /* of the mask, or what the control group allows if less */
    int64_t memory_bytes; /* of the machine, or what the control group allows if less; 0: unknown */
};

/* The lowest limits of a control group and of those above it; INT64_MAX: none. */
struct node_limits {
    int64_t cpus_milli;
    int64_t memory_bytes;
};

/* Runs a shell command and adds what it prints to out; false: it failed. */
bool node_ask(const char *command, struct buf *out);

int node_look(struct node *n, struct err *e);
void node_free(struct node *n);

/* Reads the limits.  groups: text of /proc/self/cgroup; root: /sys/fs/cgroup (version 1 or 2). */
void node_read_limits(const char *groups, const char *root, struct node_limits *limits);
/* Returns "MemTotal" of the text of /proc/meminfo, in bytes; 0 if it has none. */
int64_t node_parse_meminfo(const char *text);

#endif
