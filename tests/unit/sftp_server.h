/* SPDX-License-Identifier: MIT */
/*
 * sftp_server.h - starts OpenSSH's sftp-server at the other end of a socket pair
 */
#ifndef LUDWIG_TESTS_UNIT_SFTP_SERVER_H
#define LUDWIG_TESTS_UNIT_SFTP_SERVER_H

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/mem.h"

enum { SFTP_SERVERS_MAX = 1000 };

struct sftp_server {
    pid_t pids[SFTP_SERVERS_MAX]; /* one for each connection */
    atomic_size_t n;              /* several threads may connect at once */
    bool is_away;                 /* connecting fails */
};

/* Returns the path of the program; NULL if this machine has none. */
static inline const char *sftp_server_program(void)
{
    static const char *const places[] = { "/usr/lib/openssh/sftp-server",
                                          "/usr/libexec/openssh/sftp-server",
                                          "/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server" };

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* In a new process: becomes an sftp-server that serves fd. */
static inline void sftp_server_run(int fd)
{
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    umask(027); /* modes of files must not depend on the server's umask */
    execl(sftp_server_program(), "sftp-server", (char *)NULL);
    _exit(127);
}

/* The connect of struct share_source, with a struct sftp_server as context: starts a process for
 * the connection.  Several threads may call it at once. */
static inline int sftp_server_connect(void *context, struct err *e)
{
    struct sftp_server *s = context;
    size_t i;
    pid_t pid;
    int ends[2];

    if (s->is_away)
        return err_set(e, ERR_UNREACHABLE, "the server is away");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(e, "socket pair");
    pid = fork();
    if (pid < 0 || s->n >= SFTP_SERVERS_MAX) /* no thread of cmocka's may be here: no assertion */
        abort();
    if (pid == 0)
        sftp_server_run(ends[1]);
    close(ends[1]);
    i = atomic_fetch_add(&s->n, 1);
    s->pids[i] = pid;
    return ends[0];
}

/* Kills all processes of the server, which breaks all its connections. */
static inline void sftp_server_kill(struct sftp_server *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->pids[i] <= 0) /* kill() would end other processes */
            continue;
        kill(s->pids[i], SIGKILL);
        waitpid(s->pids[i], NULL, 0);
    }
    s->n = 0;
}

#endif
