/* SPDX-License-Identifier: MIT */
/*
 * own_cgroup.h - the control group that this process is in
 */
#ifndef LUDWIG_WORKER_NODE_OWN_CGROUP_H
#define LUDWIG_WORKER_NODE_OWN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

struct own_cgroup {
    char *folder; /* where it is mounted; NULL: none is known */
    size_t top;   /* the folder's first bytes that are the mount point */
    bool is_v2;
};

enum own_cgroup_wish {
    OWN_CGROUP_OF_MEMORY, /* version 1 where that has the memory, else version 2 */
    OWN_CGROUP_V2
};

/* root: what lies below / , "" but for tests. */
void own_cgroup_find(struct own_cgroup *g, const char *root, enum own_cgroup_wish wish);
void own_cgroup_free(struct own_cgroup *g);

#endif
