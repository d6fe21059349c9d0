/* SPDX-License-Identifier: MIT */
/*
 * job_cgroup.h - a control group for a runner and all that it starts, so that the kernel can end
 * them all at once, and its jobs when they take more memory than they asked for
 *
 * The kernel also ends processes that cleared their environment and no longer descend from us.  It
 * takes version 2, Linux 5.14 (cgroup.kill), and a group of our own in which we may make others:
 * systemd's Delegate=yes.  Elsewhere there is none, and process_tree_kill_marked() finds what it
 * can.
 *
 * A limit of memory, or of processes, takes more: no process may be in the group that is divided.
 * So we have to be in one below it, which systemd does with DelegateSubgroup=, and a pilot by
 * itself.  Then there are three:
 *
 *     ludwig-TOKEN            the cage
 *     ludwig-TOKEN/runner     the runner, and jobs that did not say how much memory they need
 *     ludwig-TOKEN/jobs       the others, see oom.h
 *
 * Nothing here waits but job_cgroup_undivide.
 */
#ifndef LUDWIG_WORKER_NODE_JOB_CGROUP_H
#define LUDWIG_WORKER_NODE_JOB_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A path for a new group, with an unused name; the caller frees it.  NULL: no group can be made.
 * Record the path before making the group, so that it is found after a crash. */
char *job_cgroup_name(void);
/* Whether such a group can be made: makes one, and removes it. */
bool job_cgroup_is_possible(void);
/* Makes the group, for a runner of this user.  limit_fd: its jobs' limit, which the caller closes;
 * -1: they have none.  false: no group can be made. */
bool job_cgroup_make(const char *path, uid_t uid, int *limit_fd);
/* Puts the process, which has started none yet, into the group. */
bool job_cgroup_put(const char *path, pid_t pid);
/* Kills all processes in the group; true: the group is gone, false: not yet, to be asked again. */
bool job_cgroup_end(const char *path);

/* Leaves the group in which this process is alone for one below, so that processes started from now
 * on can have limits; returns the left group, which the caller frees.  NULL: that cannot be, and
 * nothing has changed. */
char *job_cgroup_divide_own(void);
/* Undoes job_cgroup_divide_own: kills every process left in the group and waits up to 2 s. */
void job_cgroup_undivide(const char *folder);

/* The group that this process is in. */
struct own_cgroup {
    char *folder; /* where it is mounted; NULL: none is known */
    size_t top;   /* the folder's first bytes that are the mount point */
    bool is_v2;
};

enum own_cgroup_wish {
    OWN_CGROUP_OF_MEMORY, /* version 1 where that has the memory, else version 2 */
    OWN_CGROUP_V2
};

/* root: "", or in tests a folder that stands for /. */
void job_cgroup_find_own(struct own_cgroup *g, const char *root, enum own_cgroup_wish wish);
void job_cgroup_free_own(struct own_cgroup *g);

#endif
