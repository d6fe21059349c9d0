/* SPDX-License-Identifier: MIT */
/* child_start.c - starts our program with exactly the descriptors a child needs; begins a child */

#include "worker/base/child_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "worker/base/process_tree.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1u << 2)
#endif

/* Above every number a child gets, so that no copy lands on one that is yet to be copied. */
enum { FIRST_SAFE_FD = 16 };

bool owner_is(const struct owner *o, const char *name)
{
    if (o->name == NULL || name == NULL)
        return o->name == name;
    return strcmp(o->name, name) == 0;
}

void owner_clear(struct owner *o)
{
    for (char **entry = o->env; entry != NULL && *entry != NULL; entry++)
        free(*entry);
    free(o->env);
    free(o->rights);
    free(o->scratch);
    *o = (struct owner){ .name = o->name };
}

struct move {
    int from; /* 0 or -1: nothing */
    int to;
    int copy;
};

enum { ARGS_MAX = sizeof((struct child *)NULL)->args / sizeof(char *) };

static int spawn_self(const struct child *c, const struct move *moves, size_t n, pid_t *pid)
{
    const char *argv[ARGS_MAX + 4];
    char **env = c->owner == NULL || c->owner->env == NULL ? environ : c->owner->env;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    size_t n_args = 0;
    int rc = posix_spawn_file_actions_init(&files);

    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attr);
    if (rc != 0) {
        posix_spawn_file_actions_destroy(&files);
        return rc;
    }
    argv[n_args++] = "ludwig-worker";
    if (c->owner != NULL && c->owner->rights != NULL) {
        argv[n_args++] = CHILD_AS;
        argv[n_args++] = c->owner->rights;
    }
    for (size_t i = 0; i < ARGS_MAX && c->args[i] != NULL; i++)
        argv[n_args++] = c->args[i];
    argv[n_args] = NULL;
    rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (moves[i].copy >= 0)
            rc = posix_spawn_file_actions_adddup2(&files, moves[i].copy, moves[i].to);
    /* The loop's signal handlers and masks are not for children. */
    sigemptyset(&none);
    sigfillset(&all);
    if (rc == 0)
        rc = posix_spawnattr_setsigmask(&attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(&attr, &all);
    if (rc == 0)
        rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                 POSIX_SPAWN_SETSIGDEF);
    if (rc == 0)
        rc = posix_spawn(pid, "/proc/self/exe", &files, &attr, (char *const *)(void *)argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* ---- our own children ---- */

static struct {
    pid_t *pids;
    size_t n, capacity;
    bool is_kept;
} own;

static void know(pid_t pid)
{
    mem_grow((void **)&own.pids, &own.capacity, own.n, sizeof *own.pids);
    own.pids[own.n++] = pid;
}

void child_know_own(void)
{
    size_t n;
    struct process_tree_process *all = process_tree_children(&n);

    own.is_kept = true;
    for (size_t i = 0; i < n; i++)
        know(all[i].pid);
    free(all);
}

bool child_is_own(pid_t pid)
{
    size_t i = 0;

    while (i < own.n && own.pids[i] != pid)
        i++;
    return i < own.n;
}

void child_forget(pid_t pid)
{
    for (size_t i = 0; i < own.n; i++)
        if (own.pids[i] == pid)
            own.pids[i--] = own.pids[--own.n];
}

/* ---- start ---- */

int child_start(const struct child *c, pid_t *pid, struct err *e)
{
    struct move moves[] = { { c->channel_fd, CHILD_CHANNEL_FD, -1 },
                            { c->lock_fd, CHILD_LOCK_FD, -1 },
                            { c->listen_fd, CHILD_LISTEN_FD, -1 },
                            { c->limit_fd, CHILD_LIMIT_FD, -1 } };
    size_t n = sizeof moves / sizeof moves[0];
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        if (moves[i].from > 0) {
            moves[i].copy = fcntl(moves[i].from, F_DUPFD_CLOEXEC, FIRST_SAFE_FD);
            rc = moves[i].copy < 0 ? err_sys(e, "copy a descriptor") : 0;
        }
    if (rc == 0) {
        errno = spawn_self(c, moves, n, pid);
        rc = errno == 0 ? 0 : err_sys(e, "start %s", c->args[0] + 2);
        if (rc == 0 && own.is_kept)
            know(*pid);
    }
    for (size_t i = 0; i < n; i++)
        if (moves[i].copy >= 0)
            close(moves[i].copy);
    return rc;
}

int child_lock(int dir_fd, const char *name, int *lock_fd, struct err *e)
{
    int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_sys(e, "open %s", name);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            err_set(e, ERR_BUSY, "%s is held by another process", name);
        else
            err_sys(e, "lock %s", name);
        close(fd);
        return -1;
    }
    *lock_fd = fd;
    return 0;
}

bool child_lock_is_held(int dir_fd, const char *name)
{
    struct err e = { 0 };
    int fd;

    if (child_lock(dir_fd, name, &fd, &e) == 0)
        close(fd);
    return e.kind == ERR_BUSY;
}

/*
 * Blocked, not ignored: resetting them for a child of ours is one system call
 * then.  To end a child, close its connection or send SIGKILL.
 */
static const int blocked[] = { SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };

int child_begin(struct err *e)
{
    sigset_t set;

    for (int i = 1; i < NSIG; i++)
        if (i != SIGKILL && i != SIGSTOP)
            (void)signal(i, SIG_DFL); /* the C library's own cannot be set */
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++)
        sigaddset(&set, blocked[i]);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
        return err_sys(e, "block signals");
    if (syscall(SYS_close_range, CHILD_CHANNEL_FD, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
        return 0;
    for (int fd = CHILD_CHANNEL_FD; fd <= CHILD_LIMIT_FD; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 && errno != EBADF)
            return err_sys(e, "descriptor %d", fd);
    return 0;
}

int child_fail(const char *child, const struct err *e)
{
    log_event(LOG_ERROR, child, "error", "%s", e->text, NULL);
    return 1;
}
