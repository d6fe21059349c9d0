/* SPDX-License-Identifier: MIT */
/*
 * confine.h - takes from a runner, and so from all jobs that it starts, what jobs do not need
 *
 * This is done once, before the runner takes its first order: jobs inherit it and pay nothing.  A
 * runner of root's worker begins as root (child_start.h): confine_as_root then sets the login uid,
 * empties the capability bounding set, sets limits and mounts private folders.  confine_self does
 * the rest as the user, and all that the kernel permits for a worker that is not root.
 *
 * With private_tmp a runner has /tmp, /var/tmp, /dev/shm and System V IPC of its own, in memory.
 * They are emptied after each job and vanish with the runner's last process.  A user's scratch
 * folder that lies below one of the three stays visible at its path.
 */
#ifndef LUDWIG_WORKER_BASE_CONFINE_H
#define LUDWIG_WORKER_BASE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

enum { CONFINE_UNSET = -1 };

/* Settings of worker.yaml; CONFINE_UNSET: worker.yaml does not have the setting. */
struct confine {
    int64_t
        no_new_privs;    /* 0 or 1: no program gets rights by its set-user-ID bit or capabilities */
    int64_t private_tmp; /* 0 or 1 */
    int64_t core_bytes;  /* largest core dump; this and the next two are limits of setrlimit(2) */
    int64_t open_files;
    int64_t processes; /* of the user, on this machine */
};

/* Fills in unset members.  has_users: the worker serves several users, who are strangers to each
 * other: it confines jobs in all but open_files.  Else it confines them in nothing, as what the
 * jobs of one user can do to the machine that user can do anyway. */
void confine_fill(struct confine *c, bool has_users);

/* Returns *c as an argument for a runner, which the caller frees; confine_read reads it. */
char *confine_text(const struct confine *c);
int confine_read(const char *text, struct confine *c, struct err *e);

/* Confine this process, whose user has this scratch folder; the first while it is still root and
 * about to become uid.  Mounts that the machine refuses are logged; any other error returns -1. */
int confine_as_root(const struct confine *c, uid_t uid, const char *scratch, struct err *e);
int confine_self(const struct confine *c, const char *scratch, struct err *e);

/* Tells the kernel to end this process, or those that it starts, before others when the machine
 * runs out of memory.  Errors are ignored.  Makes only system calls. */
void confine_give_way(void);

/* For a child that is no runner, before or after it took a user's rights: limits its memory, which
 * depends on what jobs leave (names of files, say) and counts for none of them, to a quarter of the
 * machine's.  A child that needs more ends. */
void confine_helper(void);
/* Lifts that limit in a process that such a child starts for the user.  Makes only system calls. */
void confine_no_helper(void);

/* Removes what a job has left in this process's private /tmp, /var/tmp and /dev/shm, and System V
 * memory, queues and semaphores; nothing where these are shared with the machine. */
void confine_empty_tmp(void);

/* Returns how many bytes of memory these private folders and objects take; 0: they are shared. */
int64_t confine_tmp_bytes(void);

#endif
