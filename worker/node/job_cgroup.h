/* SPDX-License-Identifier: MIT */
/*
 * job_cgroup.h - a control group for a runner and all that it starts, so that the kernel can end
 * them all at once, and its jobs when they take more memory than they asked for
 *
 * So processes end that cleared their environment and no longer descend from us.  This needs
 * control groups of version 2, Linux 5.14 (cgroup.kill), and a group of our own in which we may
 * make others: systemd's Delegate=yes.  Elsewhere process_tree_kill_marked() kills what it finds.
 *
 * A limit of memory or processes needs more: no process may be in a group that divides its memory
 * among groups below.  So our process has to be in a group below ours, where systemd's
 * DelegateSubgroup= puts it, and a pilot itself.  Then a runner gets three groups:
 *
 *     ludwig-TOKEN            the cage
 *     ludwig-TOKEN/runner     the runner, and jobs that did not say how much memory they need
 *     ludwig-TOKEN/jobs       the others, see oom.h
 *
 * No function here waits, except job_cgroup_undivide.
 */
#ifndef LUDWIG_WORKER_NODE_JOB_CGROUP_H
#define LUDWIG_WORKER_NODE_JOB_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Returns the path for a new group, with an unused name; the caller frees it.  NULL: no group can
 * be made.  Record the path before making the group, so that it is found after a crash. */
char *job_cgroup_name(void);
/* Whether such a group can be made here: makes one and removes it. */
bool job_cgroup_is_possible(void);
/* Makes the group, for a runner of the user uid.  *limit_fd: memory.max of its jobs, which the
 * caller closes; -1: they can have no limit.  false: no group can be made. */
bool job_cgroup_make(const char *path, uid_t uid, int *limit_fd);
/* Puts a runner into the group, before it starts any process. */
bool job_cgroup_put(const char *path, pid_t pid);
/* Kills all processes in the group.  true: the group is gone; false: not yet, call it again. */
bool job_cgroup_end(const char *path);

/* Moves this process from the group in which it is alone into one below, so that processes started
 * from now on can have limits.  Returns the group that it left, which the caller frees; NULL: that
 * is impossible, and nothing has changed. */
char *job_cgroup_divide_own(void);
/* Undoes job_cgroup_divide_own: kills every process left in the group and waits up to 2 s. */
void job_cgroup_undivide(const char *folder);

/* The group that this process is in. */
struct own_cgroup {
    char *folder; /* its folder in the mounted hierarchy; NULL: not known */
    size_t top;   /* length of the mount point, with which folder begins */
    bool is_v2;
};

enum own_cgroup_wish {
    OWN_CGROUP_OF_MEMORY, /* of version 1 if that controls memory, else of version 2 */
    OWN_CGROUP_V2
};

/* Finds our group; job_cgroup_free_own frees it.  root: "", or in tests a folder instead of /. */
void job_cgroup_find_own(struct own_cgroup *g, const char *root, enum own_cgroup_wish wish);
void job_cgroup_free_own(struct own_cgroup *g);

#endif
