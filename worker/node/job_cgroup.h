/* SPDX-License-Identifier: MIT */
/*
 * job_cgroup.h - a control group for a runner and all that it starts, so that the kernel can end them all
 * at once, and its jobs when they take more memory than they asked for
 *
 * Also those that have cleared their environment and that nobody of us is an ancestor of any more.
 * It takes version 2, Linux 5.14 (cgroup.kill), and a group of our own in which we may make others:
 * systemd's Delegate=yes.  Elsewhere there is none, and reap.c finds what it can.
 *
 * A limit takes more: that nobody is in the group which is divided.  So we have to be in one below
 * it, which systemd does with DelegateSubgroup=, and a pilot by itself.  Then there are three:
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

/* Where a new one may be, as nobody else calls it; the caller frees.  NULL: nowhere.  Noted down
 * before it is made, it is found again whichever process dies. */
char *job_cgroup_name(void);
/* Makes it, for a runner that will be this user's.  limit_fd: its jobs' limit, which the caller
 * closes; -1: they have none.  false: there can be none. */
bool job_cgroup_make(const char *path, uid_t uid, int *limit_fd);
/* Puts the process, which has started none yet, into it. */
bool job_cgroup_put(const char *path, pid_t pid);
/* Kills all that is in it; true: it is gone, false: not yet, to be asked again. */
bool job_cgroup_end(const char *path);

/* Leaves the group in which this process is alone for one below, so that what it starts from now on can
 * have limits; returns it, which the caller frees.  NULL: that cannot be, and nothing has changed. */
char *job_cgroup_divide_own(void);
/* The opposite, at the end: all that it has started and that is still there is killed, which is waited
 * for, two seconds at most. */
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

/* root: what lies below / , "" but for tests. */
void job_cgroup_find_own(struct own_cgroup *g, const char *root, enum own_cgroup_wish wish);
void job_cgroup_free_own(struct own_cgroup *g);

#endif
