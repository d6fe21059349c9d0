/* SPDX-License-Identifier: MIT */
/* ssh_wait.c - wait for the server or for what libssh waits for, as long as patience lasts */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "common/base/units.h"
#include "common/ssh/ssh_internal.h"

/* Of authentication: servers may ask others, and may rest after an error. */
enum { STEP_MAX_MS = 60 * 1000 };

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

short ssh_poll_events(const struct ssh *s)
{
    bool has_more = (ssh_get_poll_flags(s->session) & SSH_WRITE_PENDING) != 0;

    return (short)(has_more ? POLLIN | POLLOUT : POLLIN);
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
