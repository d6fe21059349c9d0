/* SPDX-License-Identifier: MIT */
/* child_main.c - what all children of the agent begin with */

#include "worker/base/child_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/log.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1u << 2)
#endif

/*
 * Blocked, not ignored: what a child of ours is started with is one system call
 * then.  Who wants a child gone closes its connection or sends SIGKILL.
 */
static const int blocked[] = { SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };

static int block_signals(struct err *e)
{
    sigset_t set;

    for (int i = 1; i < NSIG; i++)
        if (i != SIGKILL && i != SIGSTOP)
            (void)signal(i, SIG_DFL); /* the C library's own cannot be set */
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++)
        sigaddset(&set, blocked[i]);
    return sigprocmask(SIG_SETMASK, &set, NULL) < 0 ? err_sys(e, "block signals") : 0;
}

static int keep_descriptors(struct err *e)
{
    if (syscall(SYS_close_range, CHILD_CHANNEL_FD, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
        return 0;
    for (int fd = CHILD_CHANNEL_FD; fd <= CHILD_LIMIT_FD; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 && errno != EBADF)
            return err_sys(e, "descriptor %d", fd);
    return 0;
}

int child_begin(struct err *e)
{
    return block_signals(e) < 0 ? -1 : keep_descriptors(e);
}

int child_main_fail(const char *child, const struct err *e)
{
    log_event(LOG_ERROR, child, "error", "%s", e->text, NULL);
    return 1;
}
