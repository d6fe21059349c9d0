/* SPDX-License-Identifier: MIT */
/* child_start.c - posix_spawn of ourselves with exactly the descriptors a child needs */

#include "worker/base/child_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

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
    int from; /* -1: nothing */
    int to;
    int copy;
};

static int copy_up(struct move *moves, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (moves[i].from < 0)
            continue;
        moves[i].copy = fcntl(moves[i].from, F_DUPFD_CLOEXEC, FIRST_SAFE_FD);
        if (moves[i].copy < 0)
            return err_sys(e, "copy a descriptor");
    }
    return 0;
}

static void close_copies(const struct move *moves, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (moves[i].copy >= 0)
            close(moves[i].copy);
}

static int plan_files(posix_spawn_file_actions_t *files, const struct move *moves, size_t n)
{
    int rc = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    for (size_t i = 0; rc == 0 && i < n; i++)
        if (moves[i].copy >= 0)
            rc = posix_spawn_file_actions_adddup2(files, moves[i].copy, moves[i].to);
    return rc;
}

/* The loop's signal handlers and masks are not for children. */
static int plan_signals(posix_spawnattr_t *attr)
{
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    rc = posix_spawnattr_setsigmask(attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attr, &all);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF);
    return rc;
}

enum { ARGS_MAX = sizeof((struct child *)NULL)->args / sizeof(char *) };

static void list_args(const struct child *c, const char **argv)
{
    size_t n = 0;

    argv[n++] = "ludwig-worker";
    if (c->owner != NULL && c->owner->rights != NULL) {
        argv[n++] = CHILD_AS;
        argv[n++] = c->owner->rights;
    }
    for (size_t i = 0; i < ARGS_MAX && c->args[i] != NULL; i++)
        argv[n++] = c->args[i];
    argv[n] = NULL;
}

static int spawn(const struct child *c, const struct move *moves, size_t n, pid_t *pid)
{
    const char *argv[ARGS_MAX + 4];
    char **env = c->owner == NULL || c->owner->env == NULL ? environ : c->owner->env;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&files);

    if (rc != 0)
        return rc;
    list_args(c, argv);
    rc = posix_spawnattr_init(&attr);
    if (rc == 0) {
        rc = plan_files(&files, moves, n);
        if (rc == 0)
            rc = plan_signals(&attr);
        if (rc == 0)
            rc =
                posix_spawn(pid, "/proc/self/exe", &files, &attr, (char *const *)(void *)argv, env);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

int child_start(const struct child *c, pid_t *pid, struct err *e)
{
    struct move moves[] = { { c->stdout_fd, STDOUT_FILENO, -1 },
                            { c->channel_fd, CHILD_CHANNEL_FD, -1 },
                            { c->lock_fd, CHILD_LOCK_FD, -1 },
                            { c->listen_fd, CHILD_LISTEN_FD, -1 },
                            { c->limit_fd > 0 ? c->limit_fd : -1, CHILD_LIMIT_FD, -1 } };
    size_t n = sizeof moves / sizeof moves[0];
    int rc = copy_up(moves, n, e);

    if (rc == 0) {
        rc = spawn(c, moves, n, pid);
        if (rc != 0) {
            errno = rc;
            rc = err_sys(e, "start %s", c->args[0] + 2);
        }
    }
    close_copies(moves, n);
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
