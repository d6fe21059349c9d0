/* SPDX-License-Identifier: MIT */
/* sftp_test_child.c - for tests: an SFTP server of this machine instead of one behind SSH */
#include "client/session/sftp_test_child.h"

#ifdef LUDWIG_TEST_HOOKS

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *command(void)
{
    return getenv("LUDWIG_TEST_SFTP");
}

bool sftp_test_child_is_wanted(void)
{
    return command() != NULL;
}

int sftp_test_child_start(struct err *e)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(e, "socketpair");
    pid = fork();
    if (pid == 0) {
        if (dup2(ends[1], STDIN_FILENO) >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
            execl("/bin/sh", "sh", "-c", command(), (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (pid > 0)
        return ends[0];
    err_sys(e, "fork");
    close(ends[0]);
    return -1;
}

#else

bool sftp_test_child_is_wanted(void)
{
    return false;
}

int sftp_test_child_start(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "this build has no such server");
}

#endif
