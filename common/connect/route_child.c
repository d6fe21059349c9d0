/* SPDX-License-Identifier: MIT */
/* route_child.c - the SFTP work of a mux, done by a child */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/connect/courier.h"
#include "common/connect/route_child.h"
#include "common/proto/unixsocket.h"
#include "common/sftp/sftp.h"

enum { SAID_MAX_BYTES = 8192 };

/* ---- in the child ---- */

static void send_verdict(int fd, bool is_well, const char *words)
{
    char verdict = is_well ? 1 : 0;

    /* A write fails only when the mux is gone, and then no one needs the verdict. */
    if (io_write_all(fd, &verdict, 1) == 0)
        (void)io_write_all(fd, words, strlen(words));
    close(fd);
}

static void explain_paths(int sftp_fd, const struct list *paths, int verdict_fd)
{
    const char *const *items = paths->items;
    struct err e = { 0 };
    struct sftp *s = sftp_open(sftp_fd, &e);
    struct buf out = { 0 };

    if (s == NULL) {
        send_verdict(verdict_fd, false, e.text);
        return;
    }
    for (size_t i = 0; out.n == 0 && i < paths->n; i++) {
        struct sftp_attrs attrs;

        e.kind = ERR_NONE;
        if (sftp_lstat(s, items[i], &attrs, &e) < 0) {
            if (e.kind != ERR_NOT_FOUND)
                buf_printf(&out, "%s cannot be looked at: %s", items[i], e.text);
        } else if ((attrs.has & SFTP_MODE) != 0 && !S_ISSOCK(attrs.mode)) {
            buf_printf(&out, "%s is no socket", items[i]);
        } else if ((attrs.has & SFTP_MODE) != 0 && (attrs.mode & 0222) != 0222) {
            buf_printf(&out,
                       "%s has mode %04o, uid %u and gid %u: this account may not use it, or "
                       "nobody listens there",
                       items[i], (unsigned)attrs.mode & 07777u, attrs.uid, attrs.gid);
        } else {
            buf_printf(&out, "%s is there, but sshd did not connect to it: does ludwigd run?",
                       items[i]);
        }
    }
    if (out.n == 0) {
        buf_add_str(&out, "there is no socket at ");
        for (size_t i = 0; i < paths->n; i++)
            buf_printf(&out, "%s%s", i == 0 ? "" : " or ", items[i]);
    }
    send_verdict(verdict_fd, true, buf_text(&out));
    sftp_close(s);
}

static void carry(int sftp_fd, const char *share, const char *user, int stream_fd, int verdict_fd)
{
    struct err e = { 0 };
    struct courier *c = courier_over_sftp(sftp_fd, share, user, &e);

    send_verdict(verdict_fd, c != NULL, c != NULL ? "" : e.text);
    if (c != NULL)
        (void)courier_run(c, stream_fd, NULL); /* the other end sees an error as the end */
}

/* ---- in the mux ---- */

/* Forks; returns 0 in the child, which has closed all descriptors but those in keep. */
static pid_t fork_child(struct route_child *c, const int *keep, size_t n, int *verdict_fd,
                        struct err *e)
{
    int ends[2], all[4] = { 0 };
    pid_t pid;

    if (pipe(ends) < 0)
        return err_sys(e, "pipe");
    for (int i = 0; i < 2; i++)
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    if (io_set_nonblocking(ends[0], e) < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        memcpy(all, keep, n * sizeof *keep);
        all[n] = ends[1];
        io_close_all_but(all, n + 1);
        *verdict_fd = ends[1];
        return 0;
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_sys(e, "fork");
    }
    *c = (struct route_child){ .verdict_fd = ends[0], .pid = pid };
    return pid;
}

int route_child_explain(struct route_child *c, int sftp_fd, const struct list *paths, struct err *e)
{
    int verdict_fd = -1;
    pid_t pid = fork_child(c, &sftp_fd, 1, &verdict_fd, e);

    if (pid == 0) {
        explain_paths(sftp_fd, paths, verdict_fd);
        _exit(0);
    }
    return pid < 0 ? -1 : 0;
}

int route_child_courier(struct route_child *c, int sftp_fd, const char *share, const char *user,
                        int *stream_fd, struct err *e)
{
    int ends[2], keep[2], verdict_fd = -1;
    pid_t pid;

    if (unixsocket_pair(ends, e) < 0)
        return -1;
    keep[0] = sftp_fd;
    keep[1] = ends[1];
    pid = fork_child(c, keep, 2, &verdict_fd, e);
    if (pid == 0) {
        carry(sftp_fd, share, user, ends[1], verdict_fd);
        _exit(0);
    }
    close(ends[1]);
    if (pid > 0)
        *stream_fd = ends[0];
    else
        close(ends[0]);
    return pid < 0 ? -1 : 0;
}

int route_child_step(struct route_child *c)
{
    uint8_t *to = buf_reserve(&c->said, SAID_MAX_BYTES);
    ssize_t n = read(c->verdict_fd, to, SAID_MAX_BYTES);

    if (n > 0)
        buf_added(&c->said, (size_t)n);
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return 0;
    c->pid = 0;
    return c->said.n > 0 && c->said.bytes[0] == 1 ? 1 : -1;
}

const char *route_child_words(const struct route_child *c)
{
    return c->said.n > 1 ? buf_text(&c->said) + 1 : "it ended without a word";
}

void route_child_close(struct route_child *c)
{
    struct pollfd p = { .fd = c->verdict_fd };

    /* A child that has closed its end may be gone, and its pid another process's. */
    if (c->pid > 0 && poll(&p, 1, 0) == 0)
        (void)kill(c->pid, SIGKILL);
    c->pid = 0;
    if (c->verdict_fd >= 0)
        close(c->verdict_fd);
    buf_free(&c->said);
    c->verdict_fd = -1;
}
