/* SPDX-License-Identifier: MIT */
/*
 * children.h - start our own program again, as one of its other parts
 */
#ifndef LUDWIG_WORKER_CHILDREN_H
#define LUDWIG_WORKER_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

/* How the parts of ludwig-worker are called; main.c dispatches on the same names. */
#define CHILD_RUNNER    "--runner"    /* SCRATCH */
#define CHILD_STAGER    "--stager"    /* SCRATCH ADDRESS */
#define CHILD_PUBLISHER "--publisher" /* SCRATCH ADDRESS */
#define CHILD_CLERK     "--clerk"     /* SCRATCH */
#define CHILD_GPUS      "--gpus"      /* prints what there is; see gpu.h */
#define CHILD_SHARE     "--share"     /* PATH SERVER_ID; see share_ask.h */
#define CHILD_MUX       "--mux"       /* ADDRESS: keeps an SSH session; see common/mux.h */

/* Who a child works for. */
struct owner {
    char *name;    /* NULL: whoever we are */
    char *scratch; /* absolute */
};

bool owner_is(const struct owner *o, const char *name);

/* What the child finds at which descriptor. */
enum { CHILD_CHANNEL_FD = 3, CHILD_LOCK_FD = 4, CHILD_LISTEN_FD = 5 };

struct child {
    const char *args[4]; /* behind the program's name; NULL ends */
    int stdout_fd;       /* -1: ours */
    int channel_fd;      /* -1: none */
    int lock_fd;         /* -1: none */
    int listen_fd;       /* -1: none */
};

/*
 * Runs the very file this process runs, whatever lies under its name by now, in a
 * session of its own, stdin /dev/null, stderr ours, nothing else inherited.
 * The descriptors stay the caller's to close.
 */
int child_start(const struct child *c, pid_t *pid, struct err *e);

/* 0, or -1 with ERR_BUSY while another process holds the lock, which is a file in dir_fd. */
int child_lock(int dir_fd, const char *name, int *lock_fd, struct err *e);

#endif
