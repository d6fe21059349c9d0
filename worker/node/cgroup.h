/* SPDX-License-Identifier: MIT */
/*
 * cgroup.h - the control group that this process is in
 */
#ifndef LUDWIG_WORKER_NODE_CGROUP_H
#define LUDWIG_WORKER_NODE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

struct cgroup {
    char *folder; /* where it is mounted; NULL: none is known */
    size_t top;   /* the folder's first bytes that are the mount point */
    bool is_v2;
};

enum cgroup_wish {
    CGROUP_OF_MEMORY, /* version 1 where that has the memory, else version 2 */
    CGROUP_V2
};

/* root: what lies below / , "" but for tests. */
void cgroup_find(struct cgroup *g, const char *root, enum cgroup_wish wish);
void cgroup_free(struct cgroup *g);

#endif
