/* SPDX-License-Identifier: MIT */
/* courier.c - a connection made of files: whether it can be, and the process that carries it */
#include "common/connect/courier.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fds.h"
#include "common/connect/courier_parts.h"

/* ---- before the first byte ---- */

static int check_id(struct courier *c, const struct shareid *id, struct err *e)
{
    if (id->incarnation == NULL || token_parse(id->incarnation, &c->incarnation) < 0)
        return err_set(e, ERR_UNREACHABLE, "ludwigd on %s was stopped", id->host);
    if (id->inbox == INBOX_NONE)
        return err_set(e, ERR_DENIED, "ludwigd on %s takes nothing from its inbox%s%s", id->host,
                       id->why != NULL ? ": " : "", id->why != NULL ? id->why : "");
    c->server = mem_strdup(id->server);
    c->host = mem_strdup(id->host);
    c->patience_ms = id->inbox == INBOX_WATCHED ? PATIENCE_WATCHED_MS : PATIENCE_LISTED_MS;
    return 0;
}

static int read_id(struct courier *c, struct err *e)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct shareid id;
    int rc = c->post->way->read_id(c->post, &text, e);

    if (rc < 0 && e != NULL && e->kind == ERR_NOT_FOUND)
        err_wrap(e, "no ludwigd has made this folder its share");
    if (rc == 0)
        rc = shareid_decode(&id, buf_bytes(&text), a, e);
    if (rc == 0)
        rc = check_id(c, &id, e);
    buf_free(&text);
    arena_destroy(a);
    return rc;
}

struct courier *courier_create(struct post *p, struct err *e)
{
    struct courier *c = mem_alloc(sizeof *c);

    c->post = p;
    if (read_id(c, e) == 0 && p->way->find_inbox(p, e) == 0)
        return c;
    courier_close(c);
    return NULL;
}

void courier_close(struct courier *c)
{
    if (c == NULL)
        return;
    c->post->way->close(c->post);
    free(c->server);
    free(c->host);
    free(c);
}

/* ---- the process ---- */

static void be_silent(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < 3 && fd >= 0; i++)
        (void)dup2(fd, i);
    if (fd > 2)
        close(fd);
}

/* Ctrl-C at the terminal ends the command; this one ends when it sees that. */
static void leave_terminal(void)
{
    sigset_t none;

    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        if (i != SIGKILL && i != SIGSTOP)
            (void)signal(i, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
}

/* Twice, so that nobody has to wait for it. */
static void live(struct courier *c, int fd)
{
    pid_t pid = fork();
    struct err e = { 0 };

    if (pid != 0)
        _exit(pid < 0 ? 1 : 0);
    leave_terminal();
    be_silent();
    fds_close_all_but((const int[]){ fd, c->post->fd }, 2);
    _exit(courier_run(c, fd, &e) < 0 ? 1 : 0);
}

static int make_pair(int ends[2], struct err *e)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return err_sys(e, "socketpair");
    for (int i = 0; i < 2; i++)
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return 0;
}

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 0; /* somebody else waits for all children */
    return status;
}

int courier_start(struct courier *c, struct err *e)
{
    int ends[2] = { -1, -1 };
    pid_t pid;

    if (make_pair(ends, e) < 0) {
        courier_close(c);
        return -1;
    }
    pid = fork();
    if (pid == 0)
        live(c, ends[1]);
    if (pid < 0)
        err_sys(e, "fork");
    else if (wait_for(pid) != 0)
        pid = err_set(e, ERR_FAILED, "the courier could not be started: fork failed");
    courier_close(c);
    close(ends[1]);
    if (pid > 0)
        return ends[0];
    close(ends[0]);
    return -1;
}
