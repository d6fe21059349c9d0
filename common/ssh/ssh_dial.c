/* SPDX-License-Identifier: MIT */
/* ssh_dial.c - a byte stream to sshd, directly or through a ProxyCommand, and waiting for sshd */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/units.h"
#include "common/proto/unixsocket.h"
#include "common/ssh/ssh_internal.h"

enum {
    CONNECT_MAX_MS = 10 * 1000, /* for each of several addresses but the last */
    IDLE_S = 20,
    PROBE_EVERY_S = 10,
    PROBES = 4,
    UNANSWERED_MAX_MS = 60 * 1000,
    GREETING_BYTES = 1024,
    LOOK_EVERY_MS = 10,
    STILL_MS = 500,
    FIRST_PAUSE_MS = 200,
    LONGEST_PAUSE_MS = 3000,
    STEP_MAX_MS = 60 * 1000 /* a server may ask others in a log-in, and pause after an error */
};

/* ---- waiting ---- */

int ssh_wait(int fd, short events, const struct ssh_patience *p, struct err *e)
{
    for (;;) {
        struct pollfd fds[] = { { .fd = fd, .events = events }, { .fd = p->watch_fd } };
        int64_t left_ms = p->deadline_ms - units_monotonic_ms();
        int n = poll(fds, 2, left_ms > 0 ? (int)left_ms : 0);

        if (n < 0 && errno != EINTR)
            return err_sys(e, "poll");
        if (n > 0 && fds[1].revents != 0)
            return err_set(e, ERR_FAILED, "given up");
        if (n > 0)
            return 0;
        if (left_ms <= 0)
            return err_set(e, ERR_BUSY, "time is up");
    }
}

struct ssh_patience ssh_patience_of(const struct ssh *s)
{
    return (struct ssh_patience){ units_monotonic_ms() + STEP_MAX_MS, s->plan.watch_fd };
}

bool ssh_may_write(const struct ssh *s)
{
    return (ssh_get_poll_flags(s->session) & SSH_WRITE_PENDING) == 0;
}

short ssh_poll_events(const struct ssh *s)
{
    return (short)(ssh_may_write(s) ? POLLIN : POLLIN | POLLOUT);
}

int ssh_wait_again(struct ssh *s, const struct ssh_patience *p, struct err *e)
{
    return ssh_wait(ssh_get_fd(s->session), ssh_poll_events(s), p, e);
}

const char *ssh_words(const struct ssh *s)
{
    const char *words = ssh_get_error(s->session), *colon;

    /* "Received SSH_MSG_DISCONNECT: 2:Too many authentication failures" */
    colon = strstr(words, "SSH_MSG_DISCONNECT: ");
    if (colon != NULL && (colon = strchr(colon + 20, ':')) != NULL)
        words = colon + 1;
    return words[0] != '\0' ? words : "no reason given";
}

/* Waits for ms; returns -1 when the caller gives up meanwhile. */
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

int ssh_dial_wrap(const struct ssh_conf *c, const char *address, struct err *e)
{
    char *name = ssh_dial_name(c, address);

    err_wrap(e, "%s", name);
    free(name);
    return -1;
}

/* ---- TCP ---- */

static int open_socket(const struct addrinfo *at, struct err *e)
{
    /* A lost peer is noticed within a minute, and no packet waits for another. */
    static const struct {
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
    int fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol);

    if (fd < 0)
        return err_sys(e, "socket");
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || io_set_nonblocking(fd, e) < 0) {
        close(fd);
        return -1;
    }
    /* Errors are ignored, as no option is indispensable. */
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof options[i].value);
    return fd;
}

static int connect_one(const struct ssh_conf *c, const struct addrinfo *at,
                       const struct ssh_patience *p, struct ssh_dialed *d, struct err *e)
{
    char address[NI_MAXHOST] = "";
    int64_t began_ms = units_monotonic_ms();
    int fd = open_socket(at, e), number = 0;
    struct err why = { 0 };
    socklen_t n = sizeof number;

    if (fd < 0)
        return -1;
    if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof address, NULL, 0,
                    NI_NUMERICHOST) != 0)
        address[0] = '\0';
    if (connect(fd, at->ai_addr, at->ai_addrlen) < 0) {
        number = errno;
        if (number == EINPROGRESS || number == EINTR) {
            if (ssh_wait(fd, POLLOUT, p, &why) < 0)
                number = ETIMEDOUT;
            else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &n) < 0)
                number = errno;
        }
    }
    if (number == 0) {
        d->fd = fd;
        d->address = mem_strdup(address);
        d->round_trip_ms = units_monotonic_ms() - began_ms;
        return 0;
    }
    close(fd);
    if (why.kind != ERR_NONE && why.kind != ERR_BUSY)
        return err_set(e, why.kind, "%s", why.text);
    if (number == ECONNREFUSED)
        err_set(e, ERR_UNREACHABLE, "connection refused; does sshd run there, at this port?");
    else if (number == ETIMEDOUT)
        err_set(e, ERR_UNREACHABLE,
                "no answer; is the host up, and does a firewall let you through?");
    else
        err_set(e, ERR_UNREACHABLE, "%s", strerror(number));
    return ssh_dial_wrap(c, address, e);
}

static int connect_tcp(const struct ssh_conf *c, const struct ssh_patience *p, struct ssh_dialed *d,
                       struct err *e)
{
    struct addrinfo wanted = { .ai_family = c->family, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    char *port = mem_printf("%d", c->port);
    int rc = getaddrinfo(c->host, port, &wanted, &list);

    free(port);
    if (rc == EAI_AGAIN)
        return err_set(e, ERR_UNREACHABLE,
                       "host '%s' cannot be looked up now (%s); is the network up?", c->host,
                       gai_strerror(rc));
    if (rc != 0)
        return err_set(e, ERR_UNREACHABLE,
                       "host '%s' was not found (%s); check its name, or HostName in ~/.ssh/config",
                       c->host, gai_strerror(rc));
    rc = -1;
    for (const struct addrinfo *at = list; rc < 0 && at != NULL; at = at->ai_next) {
        int64_t until_ms = units_monotonic_ms() + CONNECT_MAX_MS;
        struct ssh_patience one = *p;

        if (at->ai_next != NULL && until_ms < one.deadline_ms)
            one.deadline_ms = until_ms;
        rc = connect_one(c, at, &one, d, e);
        if (rc < 0 && e != NULL && e->kind == ERR_FAILED)
            break;
    }
    freeaddrinfo(list);
    return rc;
}

/* ---- ProxyCommand ---- */

static int start_proxy(const struct ssh_conf *c, struct ssh_dialed *d, struct err *e)
{
    char *command = mem_printf("exec %s", c->proxy_command);
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    int ends[2], rc = unixsocket_pair(ends, e);

    if (rc < 0)
        goto out;
    rc = ssh_spawn(argv, (const int[]){ ends[1], ends[1], -1 }, &d->proxy);
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

/* ---- greeting ---- */

/* Sets e to why the connection is of no use: ERR_BUSY when another try may succeed.  said: the text
 * that came instead of a greeting; has_ended: the other side has closed the connection. */
static int say_dropped(const struct ssh_conf *c, struct ssh_dialed *d, const char *said,
                       bool has_ended, struct err *e)
{
    int status = 0;

    if (d->proxy > 0 && has_ended) {
        /* The proxy has closed its output, so it is about to end. */
        while (waitpid(d->proxy, &status, 0) < 0 && errno == EINTR)
            ;
        d->proxy = 0;
        return err_set(e, ERR_UNREACHABLE,
                       "the ProxyCommand ended before a server answered (exit status %d): %s",
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                       c->proxy_command);
    }
    /* OpenSSH 9.8 and newer give the same text for both causes (sshd.c, drop_connection). */
    if (strstr(said, "Not allowed at this time") != NULL)
        err_set(e, ERR_BUSY,
                "sshd lets nobody in at this time: too many log in at once (MaxStartups in "
                "sshd_config), or logins from this machine have failed (PerSourcePenalties)");
    else if (said[0] != '\0' && strstr(said, "MaxStartups") == NULL)
        err_set(e, ERR_UNREACHABLE, "not an SSH server: it says '%s'", said);
    else
        err_set(e, ERR_BUSY,
                "the connection is dropped as soon as it is made; too many log in at once "
                "(MaxStartups in sshd_config), or a firewall or hosts.deny forbids it");
    return ssh_dial_wrap(c, d->address, e);
}

/* Waits for the server's greeting and leaves it unread for libssh.  Text that is no greeting and
 * does not go on for STILL_MS is refused. */
static int await_greeting(const struct ssh_conf *c, const struct ssh_patience *p,
                          struct ssh_dialed *d, struct err *e)
{
    char said[GREETING_BYTES + 1] = "";
    struct err why = { 0 };
    ssize_t n = 0, before;
    int still_ms = 0;

    do {
        if (ssh_wait(d->fd, POLLIN, p, &why) < 0)
            goto silent;
        before = n;
        n = recv(d->fd, said, GREETING_BYTES, MSG_PEEK);
        if (n <= 0)
            break;
        said[n] = '\0';
        if (strncmp(said, "SSH-", 4) == 0 || strstr(said, "\nSSH-") != NULL)
            return 0;
        still_ms = n == before ? still_ms + LOOK_EVERY_MS : 0;
        if (pause_for(LOOK_EVERY_MS, p, e) < 0)
            return -1;
    } while (n < GREETING_BYTES && still_ms < STILL_MS);
    /* The message shows the first line, without control characters. */
    said[strcspn(said, "\r\n")] = '\0';
    for (char *at = said; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
            *at = '?';
    if (strlen(said) > 60)
        memcpy(said + 57, "...", sizeof "...");
    return say_dropped(c, d, said, n <= 0, e);
silent:
    if (why.kind != ERR_BUSY)
        return err_set(e, why.kind, "%s", why.text);
    err_set(e, ERR_UNREACHABLE, "connected, but nothing was said; is that an SSH server?");
    return ssh_dial_wrap(c, d->address, e);
}

static void hang_up(struct ssh_dialed *d)
{
    if (d->fd >= 0)
        close(d->fd);
    if (d->proxy > 0)
        kill(d->proxy, SIGTERM);
    free(d->address); /* NOLINT(clang-analyzer-unix.Malloc): each try makes it anew */
    d->address = NULL;
    d->fd = -1;
    d->proxy = 0;
}

static int dial_once(const struct ssh_conf *c, const struct ssh_patience *all, struct ssh_dialed *d,
                     struct err *e)
{
    int64_t deadline_ms = units_monotonic_ms() + c->connect_ms;
    struct ssh_patience p = *all;
    int rc;

    /* The user's ConnectTimeout is for each try. */
    if (c->connect_ms > 0 && deadline_ms < p.deadline_ms)
        p.deadline_ms = deadline_ms;
    *d = (struct ssh_dialed){ .fd = -1, .round_trip_ms = SCHEMA_NONE };
    rc = c->proxy_command != NULL ? start_proxy(c, d, e) : connect_tcp(c, &p, d, e);
    if (rc == 0)
        rc = await_greeting(c, &p, d, e);
    if (rc == 0)
        return 0;
    hang_up(d);
    return -1;
}

int ssh_dial(const struct ssh_conf *c, const struct ssh_patience *p, struct ssh_dialed *d,
             struct err *e)
{
    struct err why = { 0 };

    for (int64_t pause_ms = FIRST_PAUSE_MS; dial_once(c, p, d, &why) < 0;) {
        struct token random;
        int64_t rest_ms;

        /* The pause is random, so that clients dropped together do not come back together. */
        token_make(&random);
        rest_ms = pause_ms / 2 + random.bytes[0] * pause_ms / 256;
        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
        if (why.kind != ERR_BUSY || units_monotonic_ms() + rest_ms >= p->deadline_ms)
            return err_set(e, why.kind == ERR_BUSY ? ERR_UNREACHABLE : why.kind, "%s", why.text);
        if (pause_for(rest_ms, p, e) < 0)
            return -1;
    }
    return 0;
}
