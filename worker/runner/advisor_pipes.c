/* SPDX-License-Identifier: MIT */
/* advisor_pipes.c - standard input and output of a sweep's advisor, line by line */

#include "worker/runner/advisor_pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/proto/search.h"

enum { READ_BYTES = 64 * 1024 };

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void advisor_pipes_close(struct advisor_pipes *p)
{
    close_end(&p->to_fd);
    close_end(&p->from_fd);
    buf_free(&p->to);
    buf_free(&p->from);
    p->is_skipping = false;
}

/* Only our end does not block. */
static int open_pipe(int *read_fd, int *write_fd, int *ours, struct err *e)
{
    int ends[2], flags;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(e, "make a pipe");
    *read_fd = ends[0];
    *write_fd = ends[1];
    flags = fcntl(*ours, F_GETFL);
    if (flags < 0 || fcntl(*ours, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_sys(e, "make a pipe");
    return 0;
}

int advisor_pipes_open(struct advisor_pipes *p, int *in_fd, int *out_fd, struct err *e)
{
    *p = (struct advisor_pipes){ .to_fd = -1, .from_fd = -1 };
    *in_fd = *out_fd = -1;
    if (open_pipe(in_fd, &p->to_fd, &p->to_fd, e) == 0 &&
        open_pipe(&p->from_fd, out_fd, &p->from_fd, e) == 0)
        return 0;
    close_end(in_fd);
    close_end(out_fd);
    advisor_pipes_close(p);
    return -1;
}

void advisor_pipes_pass(struct advisor_pipes *p, const char *text)
{
    if (p->to_fd >= 0)
        buf_add_str(&p->to, text);
}

bool advisor_pipes_write(struct advisor_pipes *p)
{
    while (p->to_fd >= 0 && p->to.n > 0) {
        ssize_t n = write(p->to_fd, p->to.bytes, p->to.n);

        if (n > 0) {
            buf_drop_front(&p->to, (size_t)n);
        } else if (n < 0 && errno == EAGAIN) {
            return false;
        } else if (n == 0 || errno != EINTR) { /* it has closed its input */
            buf_clear(&p->to);
            close_end(&p->to_fd);
            return false;
        }
    }
    return p->to_fd >= 0;
}

/* Takes the whole lines of what came. */
static void take_lines(struct advisor_pipes *p, void (*take)(void *context, const char *line),
                       void *context)
{
    size_t at = 0;

    for (;;) {
        uint8_t *line = p->from.bytes + at;
        uint8_t *nl = p->from.n > at ? memchr(line, '\n', p->from.n - at) : NULL;
        size_t n;

        if (nl == NULL)
            break;
        n = (size_t)(nl - line);
        *nl = '\0';
        at += n + 1;
        if (p->is_skipping) {
            p->is_skipping = false;
            continue;
        }
        take(context,
             n > ADVICE_LINE_MAX_BYTES || memchr(line, '\0', n) != NULL ? "" : (const char *)line);
    }
    buf_drop_front(&p->from, at);
    if (p->from.n > ADVICE_LINE_MAX_BYTES) {
        if (!p->is_skipping)
            take(context, "");
        p->is_skipping = true;
        buf_clear(&p->from);
    }
}

void advisor_pipes_read(struct advisor_pipes *p, void (*take)(void *context, const char *line),
                        void *context)
{
    uint8_t bytes[READ_BYTES];
    ssize_t n = 0;

    while (p->from_fd >= 0 && (n = read(p->from_fd, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        buf_add(&p->from, bytes, (size_t)n);
        take_lines(p, take, context);
        if ((size_t)n < sizeof bytes)
            return;
    }
    close_end(&p->from_fd);
}
