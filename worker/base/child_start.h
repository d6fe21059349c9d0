/* SPDX-License-Identifier: MIT */
/*
 * child_start.h - start our own program again, as one of its other parts
 */
#ifndef LUDWIG_WORKER_BASE_CHILD_START_H
#define LUDWIG_WORKER_BASE_CHILD_START_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/err.h"

/* How the parts of ludwig-worker are called; main.c dispatches on the same names. */
#define CHILD_RUNNER    "--runner"    /* SCRATCH */
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
#define CHILD_MUX         "--mux" /* ADDRESS: keeps an SSH session; see common/connect/mux.h */

/* Stands before the part's name: the child takes these rights first, see privileges.h. */
#define CHILD_AS "--as"

/* The user that a child works for. */
struct owner {
    char *name;    /* NULL: the user that we run as */
    char *rights;  /* that the child takes; NULL: it keeps ours */
    char **env;    /* its environment, ended by NULL; NULL: ours */
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
    const struct owner *owner; /* NULL: ourselves */
    const char *args[6];       /* behind the program's name; NULL ends */
    int channel_fd, lock_fd;   /* 0 and -1: none, as for those below */
    int listen_fd;             /* or another descriptor for CHILD_LISTEN_FD */
    int limit_fd;
};

/*
 * Runs the very file this process runs, whatever lies under its name by now, in a session of its
 * own, stdin /dev/null, stdout and stderr ours, nothing else inherited.  A child with its owner's
 * rights begins as root, so that it needs no right to the file; and no process of that user can
 * reach it, or its parent's memory, before it has taken them. The descriptors stay the caller's to
 * close.
 */
int child_start(const struct child *c, pid_t *pid, struct err *e);

/*
 * For the agent, to which jobs leave children when their runner dies: from now on this process knows
 * which children are its own, those that are there already and those that child_start starts.
 */
void child_know_own(void);
bool child_is_own(pid_t pid);
/* The child has been waited for. */
void child_forget(pid_t pid);

/* 0, or -1 with ERR_BUSY while another process holds the lock, which is a file in dir_fd. */
int child_lock(int dir_fd, const char *name, int *lock_fd, struct err *e);
/* Whether a process holds the lock; takes it for a moment to find that out. */
bool child_lock_is_held(int dir_fd, const char *name);

/* ---- in the child ---- */

/* Sets default signals; blocks SIGPIPE, SIGCHLD and those that a terminal or a service manager
 * sends to all; keeps the descriptors it got from being handed on. */
int child_begin(struct err *e);

/* Says on stderr why this child cannot go on, and returns its exit code. */
int child_fail(const char *child, const struct err *e);

#endif
