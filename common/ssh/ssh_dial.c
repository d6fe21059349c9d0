/* SPDX-License-Identifier: MIT */
/* ssh_dial.c - a byte stream to sshd, directly or through a ProxyCommand */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/units.h"
#include "common/ssh/ssh.h"

enum {
    CONNECT_MAX_MS = 10 * 1000, /* one address, where there are several */
    IDLE_S = 20,
    PROBE_EVERY_S = 10,
    PROBES = 4,
    UNANSWERED_MAX_MS = 60 * 1000,
    GREETING_BYTES = 1024,
    LOOK_EVERY_MS = 10,
    STILL_MS = 500,
    FIRST_PAUSE_MS = 200,
    LONGEST_PAUSE_MS = 3000,
    PORT_BYTES = 12
};

#ifndef __linux__
extern char **environ;
#endif

/* Rests, unless nobody waits for us any more. */
static int pause_for(int64_t ms, const struct ssh_patience *p, struct err *e)
{
    struct ssh_patience rest = { units_monotonic_ms() + ms, p->watch_fd };
    struct err why = { 0 };

    if (ssh_wait(-1, 0, &rest, &why) < 0 && why.kind == ERR_BUSY)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

char *ssh_dial_name(const struct ssh_conf *c, const char *address)
{
    const char *host = c->host;

    if (address == NULL || address[0] == '\0' || strcmp(address, host) == 0)
        return mem_printf("%s port %d", host, c->port);
    return mem_printf("%s (%s) port %d", host, address, c->port);
}

/* ---- TCP ---- */

/* A peer that is gone is noticed within a minute, and no packet waits for another. */
static void set_options(int fd)
{
    const struct {
        int level, name, value;
    } options[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_NODELAY, 1 },
#ifdef TCP_KEEPIDLE
        { IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S },
#elif defined TCP_KEEPALIVE
        { IPPROTO_TCP, TCP_KEEPALIVE, IDLE_S },
#endif
        { IPPROTO_TCP, TCP_KEEPINTVL, PROBE_EVERY_S },
        { IPPROTO_TCP, TCP_KEEPCNT, PROBES },
#ifdef TCP_USER_TIMEOUT
        { IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MAX_MS },
#endif
    };

    /* None is indispensable. */
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof options[i].value);
}

static int open_socket(const struct addrinfo *at, struct err *e)
{
    int fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol);

    if (fd < 0)
        return err_sys(e, "socket");
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || io_set_nonblocking(fd, e) < 0) {
        close(fd);
        return -1;
    }
    set_options(fd);
    return fd;
}

/* 0, or errno; ETIMEDOUT also when patience ended. */
static int finish_connect(int fd, const struct ssh_patience *p, struct err *e)
{
    struct err why = { 0 };
    int number = 0;
    socklen_t n = sizeof number;

    if (ssh_wait(fd, POLLOUT, p, &why) < 0) {
        if (why.kind == ERR_BUSY)
            return ETIMEDOUT;
        err_set(e, why.kind, "%s", why.text);
        return ECANCELED;
    }
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &n) < 0 ? errno : number;
}

static int refuse_connect(const struct ssh_conf *c, const char *address, int number, struct err *e)
{
    char *name = ssh_dial_name(c, address);

    if (number == ECONNREFUSED)
        err_set(e, ERR_UNREACHABLE, "%s: connection refused; does sshd run there, at this port?",
                name);
    else if (number == ETIMEDOUT)
        err_set(e, ERR_UNREACHABLE,
                "%s: no answer; is the host up, and does a firewall let you through?", name);
    else
        err_set(e, ERR_UNREACHABLE, "%s: %s", name, strerror(number));
    free(name);
    return -1;
}

static int connect_one(const struct ssh_conf *c, const struct addrinfo *at,
                       const struct ssh_patience *p, struct ssh_dialed *d, struct err *e)
{
    char address[NI_MAXHOST] = "";
    int fd = open_socket(at, e), number = 0;
    int64_t began_ms = units_monotonic_ms();

    if (fd < 0)
        return -1;
    if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof address, NULL, 0,
                    NI_NUMERICHOST) != 0)
        address[0] = '\0';
    if (connect(fd, at->ai_addr, at->ai_addrlen) < 0)
        number = errno == EINPROGRESS || errno == EINTR ? finish_connect(fd, p, e) : errno;
    if (number == 0) {
        d->fd = fd;
        d->address = mem_strdup(address);
        d->round_trip_ms = units_monotonic_ms() - began_ms;
        return 0;
    }
    close(fd);
    return number == ECANCELED ? -1 : refuse_connect(c, address, number, e);
}

static int refuse_name(const struct ssh_conf *c, int rc, struct err *e)
{
    if (rc == EAI_AGAIN)
        return err_set(e, ERR_UNREACHABLE,
                       "host '%s' cannot be looked up now (%s); is the network up?", c->host,
                       gai_strerror(rc));
    return err_set(e, ERR_UNREACHABLE,
                   "host '%s' was not found (%s); check its name, or HostName in ~/.ssh/config",
                   c->host, gai_strerror(rc));
}

static int connect_any(const struct ssh_conf *c, const struct addrinfo *list,
                       const struct ssh_patience *p, struct ssh_dialed *d, struct err *e)
{
    int rc = -1;

    for (const struct addrinfo *at = list; rc < 0 && at != NULL; at = at->ai_next) {
        int64_t until_ms = units_monotonic_ms() + CONNECT_MAX_MS;
        struct ssh_patience one = *p;

        if (at->ai_next != NULL && until_ms < one.deadline_ms)
            one.deadline_ms = until_ms;
        rc = connect_one(c, at, &one, d, e);
        if (rc < 0 && e != NULL && e->kind == ERR_FAILED)
            break;
    }
    return rc;
}

static int connect_tcp(const struct ssh_conf *c, const struct ssh_patience *p, struct ssh_dialed *d,
                       struct err *e)
{
    struct addrinfo wanted = { .ai_family = c->family, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    char *port = mem_printf("%d", c->port);
    int rc = getaddrinfo(c->host, port, &wanted, &list);

    free(port);
    if (rc != 0)
        return refuse_name(c, rc, e);
    rc = connect_any(c, list, p, d, e);
    freeaddrinfo(list);
    return rc;
}

/* ---- ProxyCommand ---- */

static int spawn_shell(const char *command, int fd, pid_t *pid)
{
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    posix_spawn_file_actions_t files;
    int rc = posix_spawn_file_actions_init(&files);

    if (rc != 0)
        return rc;
    rc = posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawn(pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int start_proxy(const struct ssh_conf *c, struct ssh_dialed *d, struct err *e)
{
    char *command = mem_printf("exec %s", c->proxy_command);
    int ends[2], rc = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) {
        err_sys(e, "socket pair");
        goto out;
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    rc = spawn_shell(command, ends[1], &d->proxy);
    close(ends[1]);
    if (rc != 0) {
        errno = rc;
        rc = err_sys(e, "start the ProxyCommand");
        close(ends[0]);
    } else {
        d->fd = ends[0];
        d->address = mem_strdup("");
    }
out:
    free(command);
    return rc;
}

/* ---- the server's first words ---- */

static int say_proxy_ended(const struct ssh_conf *c, struct ssh_dialed *d, struct err *e)
{
    int status = 0;

    /* It has closed its output, so it is about to end. */
    while (waitpid(d->proxy, &status, 0) < 0 && errno == EINTR)
        ;
    d->proxy = 0;
    return err_set(
        e, ERR_UNREACHABLE, "the ProxyCommand ended before a server answered (exit status %d): %s",
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), c->proxy_command);
}

/* ERR_BUSY: worth another try. */
static int say_dropped(const struct ssh_conf *c, struct ssh_dialed *d, const char *said,
                       struct err *e)
{
    char *name;

    if (d->proxy > 0)
        return say_proxy_ended(c, d, e);
    name = ssh_dial_name(c, d->address);
    /* OpenSSH 9.8 and newer say the same for both (sshd.c, drop_connection). */
    if (strstr(said, "Not allowed at this time") != NULL)
        err_set(e, ERR_BUSY,
                "%s: sshd lets nobody in at this time: too many log in at once (MaxStartups in "
                "sshd_config), or logins from this machine have failed (PerSourcePenalties)",
                name);
    else if (said[0] != '\0' && strstr(said, "MaxStartups") == NULL)
        err_set(e, ERR_UNREACHABLE, "%s: not an SSH server: it says '%s'", name, said);
    else
        err_set(e, ERR_BUSY,
                "%s: the connection is dropped as soon as it is made; too many log in at once "
                "(MaxStartups in sshd_config), or a firewall or hosts.deny forbids it",
                name);
    free(name);
    return -1;
}

static int say_silent(const struct ssh_conf *c, const struct ssh_dialed *d, struct err *e)
{
    char *name = ssh_dial_name(c, d->address);

    err_set(e, ERR_UNREACHABLE, "%s: connected, but nothing was said; is that an SSH server?",
            name);
    free(name);
    return -1;
}

static bool begins_ssh(const char *said)
{
    return strncmp(said, "SSH-", 4) == 0 || strstr(said, "\nSSH-") != NULL;
}

/* The first line, without what a terminal would not show. */
static void tidy(char *said)
{
    said[strcspn(said, "\r\n")] = '\0';
    for (char *p = said; *p != '\0'; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
            *p = '?';
    if (strlen(said) > 60)
        memcpy(said + 57, "...", sizeof "...");
}

/* Looks without taking: libssh reads it again.  What is said once and not gone on with was all. */
static int await_greeting(const struct ssh_conf *c, const struct ssh_patience *p,
                          struct ssh_dialed *d, struct err *e)
{
    char said[GREETING_BYTES + 1] = "";
    struct err why = { 0 };
    ssize_t n = 0, before;
    int still_ms = 0;

    do {
        if (ssh_wait(d->fd, POLLIN, p, &why) < 0)
            return why.kind == ERR_BUSY ? say_silent(c, d, e)
                                        : err_set(e, why.kind, "%s", why.text);
        before = n;
        n = recv(d->fd, said, GREETING_BYTES, MSG_PEEK);
        if (n <= 0)
            break;
        said[n] = '\0';
        if (begins_ssh(said))
            return 0;
        still_ms = n == before ? still_ms + LOOK_EVERY_MS : 0;
        if (pause_for(LOOK_EVERY_MS, p, e) < 0)
            return -1;
    } while (n < GREETING_BYTES && still_ms < STILL_MS);
    tidy(said);
    return say_dropped(c, d, said, e);
}

static void hang_up(struct ssh_dialed *d)
{
    if (d->fd >= 0)
        close(d->fd);
    if (d->proxy > 0)
        kill(d->proxy, SIGTERM);
    free(d->address);
    d->address = NULL;
    d->fd = -1;
    d->proxy = 0;
}

/* What the user calls a time-out holds for each try. */
static struct ssh_patience patience_for_one(const struct ssh_conf *c, const struct ssh_patience *p)
{
    int64_t deadline_ms = units_monotonic_ms() + c->connect_ms;
    bool is_shorter = c->connect_ms > 0 && deadline_ms < p->deadline_ms;

    return (struct ssh_patience){ is_shorter ? deadline_ms : p->deadline_ms, p->watch_fd };
}

static int dial_once(const struct ssh_conf *c, const struct ssh_patience *all, struct ssh_dialed *d,
                     struct err *e)
{
    struct ssh_patience one = patience_for_one(c, all), *p = &one;
    int rc;

    d->fd = -1;
    d->proxy = 0;
    d->address = NULL;
    d->round_trip_ms = SCHEMA_NONE;
    rc = c->proxy_command != NULL ? start_proxy(c, d, e) : connect_tcp(c, p, d, e);
    if (rc == 0)
        rc = await_greeting(c, p, d, e);
    if (rc < 0)
        hang_up(d);
    return rc;
}

/* Those that were dropped together do not come back together. */
static int64_t jittered(int64_t ms)
{
    struct token random;

    token_make(&random);
    return ms / 2 + random.bytes[0] * ms / 256;
}

int ssh_dial(const struct ssh_conf *c, const struct ssh_patience *p, struct ssh_dialed *d,
             struct err *e)
{
    struct err why = { 0 };

    for (int64_t pause_ms = FIRST_PAUSE_MS; dial_once(c, p, d, &why) < 0;) {
        int64_t rest_ms = jittered(pause_ms);

        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
        if (why.kind != ERR_BUSY || units_monotonic_ms() + rest_ms >= p->deadline_ms)
            return err_set(e, why.kind == ERR_BUSY ? ERR_UNREACHABLE : why.kind, "%s", why.text);
        if (pause_for(rest_ms, p, e) < 0)
            return -1;
    }
    return 0;
}
