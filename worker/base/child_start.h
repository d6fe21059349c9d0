/* SPDX-License-Identifier: MIT */
/*
 * child_start.h - starts ludwig-worker again, as one of its other parts
 */
#ifndef LUDWIG_WORKER_BASE_CHILD_START_H
#define LUDWIG_WORKER_BASE_CHILD_START_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/err.h"

/* First argument of each part of ludwig-worker, by which main.c dispatches, and those after it. */
#define CHILD_RUNNER    "--runner"    /* SCRATCH CONFINEMENT; see confine.h */
#define CHILD_STAGER    "--stager"    /* SCRATCH ADDRESS */
#define CHILD_PUBLISHER "--publisher" /* SCRATCH ADDRESS */
#define CHILD_JANITOR   "--janitor"   /* SCRATCH */
#define CHILD_PACKER    "--packer"    /* SCRATCH */
#define CHILD_ACCOUNT   "--account"   /* NAME MIN_UID PATTERN HOST */
#define CHILD_GPUS      "--gpus"      /* see probes.h */
#define CHILD_SHARE     "--share"     /* PATH SERVER_ID; see probes.h */
#define CHILD_LEFTOVERS "--leftovers" /* SCRATCH RUNTIME ADDRESS: see pilot_cleanup.h */
/* TREE PATH BASE JOB SHELL WORD...: becomes a job, see staged_env.h */
#define CHILD_ENVIRONMENT "--environment"
#define CHILD_PEEK        "--peek" /* SCRATCH; see peek.h */
#define CHILD_MUX         "--mux"  /* ADDRESS: keeps an SSH session; see common/connect/mux.h */

/* "--as RIGHTS" before the part's name: the child takes these rights first (account_become()). */
#define CHILD_AS "--as"

/* The user that a child works for. */
struct owner {
    char *name;    /* NULL: the user that we run as */
    char *rights;  /* the child takes them; NULL: it keeps ours */
    char **env;    /* the child's environment, ended by NULL; NULL: ours */
    char *scratch; /* absolute; NULL: not known yet */
};

bool owner_is(const struct owner *o, const char *name);
/* Frees all but the name. */
void owner_clear(struct owner *o);

/* The child's descriptors. */
enum {
    CHILD_CHANNEL_FD = 3,
    CHILD_LOCK_FD = 4,
    CHILD_LISTEN_FD = 5,
    CHILD_GUARD_FD = 5, /* of a stager: see flow_stage.h */
    CHILD_LIMIT_FD = 6  /* of a runner: see oom.h */
};

struct child {
    const struct owner *owner; /* NULL: the child works for our own user */
    const char *args[6];       /* arguments after the program's name; NULL ends them */
    int channel_fd, lock_fd;   /* 0 or -1: none, as for the two below */
    int listen_fd;             /* becomes CHILD_LISTEN_FD, or CHILD_GUARD_FD of a stager */
    int limit_fd;
};

/*
 * Starts a child in a session of its own, from the very file that this process runs, whatever lies
 * under its name by now.  The child's stdin is /dev/null, stdout and stderr are ours; it inherits
 * only the descriptors in *c, which the caller still closes.  A child that takes its owner's rights
 * begins as root: it needs no right to the file, and no process of that user can reach it, or its
 * parent's memory, before it has taken them.
 */
int child_start(const struct child *c, pid_t *pid, struct err *e);

/*
 * For the agent, which becomes the parent of a job's processes when their runner dies: from now on
 * child_is_own knows our own children, those of this moment and those that child_start starts.
 */
void child_know_own(void);
bool child_is_own(pid_t pid);
/* To be called when the child has been waited for, as its number may be used again. */
void child_forget(pid_t pid);

/* Locks the file name in dir_fd until *lock_fd and its copies are closed; makes the file if need
 * be.  -1 with ERR_BUSY while another process holds the lock. */
int child_lock(int dir_fd, const char *name, int *lock_fd, struct err *e);
/* Returns whether a process holds the lock; takes the lock for a moment to find that out. */
bool child_lock_is_held(int dir_fd, const char *name);

/* ---- in the child ---- */

/* Sets signals to their defaults; blocks SIGPIPE, SIGCHLD and those that a terminal or a service
 * manager sends to all processes; makes the inherited descriptors close-on-exec. */
int child_begin(struct err *e);

/* Logs why this child cannot go on, and returns its exit code. */
int child_fail(const char *child, const struct err *e);

#endif
