/* SPDX-License-Identifier: MIT */
/* interrupt.c - makes a descriptor readable on Ctrl-C instead of ending the program */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "client/term/interrupt.h"
#include "common/base/io.h"

/* The pipe's write end; global, because a signal handler gets no context. */
static volatile sig_atomic_t write_fd = -1;

static void on_signal(int number)
{
    int saved = errno;

    (void)number;
    (void)!write((int)write_fd, "", 1);
    errno = saved;
}

static void handle(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int interrupt_open(struct err *e)
{
    int ends[2];

    if (pipe(ends) < 0)
        return err_sys(e, "pipe");
    for (int i = 0; i < 2; i++)
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) < 0 || io_set_nonblocking(ends[i], NULL) < 0) {
            err_sys(e, "pipe");
            close(ends[0]);
            close(ends[1]);
            return -1;
        }
    write_fd = ends[1];
    handle(on_signal);
    return ends[0];
}

void interrupt_close(int fd)
{
    handle(SIG_DFL);
    close((int)write_fd);
    write_fd = -1;
    close(fd);
}
