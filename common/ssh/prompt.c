/* SPDX-License-Identifier: MIT */
/* prompt.c - asks the user on the terminal */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/ssh/prompt.h"

enum { ANSWER_MAX_BYTES = 4096 };

/* Signals that end or stop a process at a terminal. */
static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU };
enum { N_WATCHED = sizeof watched / sizeof watched[0] };

static volatile sig_atomic_t caught; /* global, as a handler has no context */

static void on_signal(int number)
{
    caught = number;
}

/* Reads a line, without its end.  Gives its length; -1: interrupted, or at the end of the input. */
static ssize_t read_line(int fd, char *line)
{
    sigset_t blocked, before;
    size_t n = 0;

    sigemptyset(&blocked);
    for (size_t i = 0; i < N_WATCHED; i++)
        sigaddset(&blocked, watched[i]);
    for (;;) {
        ssize_t got = -1;
        fd_set fds;
        char c;

        /* Waits for a key.  A signal that comes just before pselect(2) ends it, too. */
        FD_ZERO(&fds);
        FD_SET(fd, &fds);
        if (sigprocmask(SIG_BLOCK, &blocked, &before) == 0) {
            if (caught == 0)
                (void)pselect(fd + 1, &fds, NULL, NULL, NULL, &before);
            (void)sigprocmask(SIG_SETMASK, &before, NULL);
        }
        if (caught == 0)
            got = read(fd, &c, 1);

        if (got == 1 && (c == '\n' || c == '\r'))
            return (ssize_t)n;
        if (got == 1 && n < ANSWER_MAX_BYTES)
            line[n++] = c;
        else if (got == 0 || caught != 0 || (got < 0 && errno != EINTR))
            return -1;
    }
}

static ssize_t ask_once(int fd, const char *text, bool echo, char *line)
{
    struct sigaction action = { .sa_handler = on_signal }; /* no SA_RESTART: read(2) ends */
    struct sigaction before[N_WATCHED];
    struct termios plain, quiet;
    ssize_t n = -1;

    if (tcgetattr(fd, &plain) < 0)
        return -1;
    quiet = plain;
    quiet.c_lflag |= ICANON | ISIG;
    if (!echo)
        quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
    caught = 0;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_WATCHED; i++) {
        sigaction(watched[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(watched[i], &action, NULL);
    }
    if (tcsetattr(fd, TCSAFLUSH, &quiet) == 0 && io_write_all(fd, text, strlen(text)) == 0) {
        n = read_line(fd, line);
        if (!echo)
            (void)io_write_all(fd, "\n", 1);
    }
    while (tcsetattr(fd, TCSAFLUSH, &plain) < 0 && errno == EINTR && caught != SIGTTOU)
        ;
    for (size_t i = 0; i < N_WATCHED; i++)
        sigaction(watched[i], &before[i], NULL);
    return n;
}

char *prompt_ask(const char *text, bool echo, struct err *e)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC), number;
    char *line;
    ssize_t n;

    if (fd < 0) {
        err_set(e, ERR_DENIED, "there is no terminal to ask on");
        return NULL;
    }
    line = mem_alloc(ANSWER_MAX_BYTES + 1);
    do {
        n = ask_once(fd, text, echo, line);
        number = caught;
        if (number != 0)
            (void)raise(number);
        /* A process that was stopped asks again when it is continued. */
    } while (n < 0 && (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU));
    close(fd);
    if (n >= 0) {
        line[n] = '\0';
        return line;
    }
    prompt_wipe(line);
    err_set(e, ERR_DENIED, "the question on the terminal was not answered");
    return NULL;
}

bool prompt_is_welcome(void)
{
    return isatty(STDIN_FILENO) || isatty(STDERR_FILENO);
}

void prompt_wipe(char *secret)
{
    if (secret == NULL)
        return;
    for (volatile char *p = secret; *p != '\0'; p++)
        *p = '\0';
    free(secret);
}
