/* SPDX-License-Identifier: MIT */
/* main.c - ludwig: submits sweeps, shows them, fetches their results */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/commands.h"
#include "client/pack/share_pack.h"

/*
 * Opens those of descriptors 0, 1 and 2 that are closed: the next file or socket would get one, and
 * output would go there.  /dev/null is read-only, so that writing to it stays an error.
 */
static int fill_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && (errno != EBADF || open("/dev/null", O_RDONLY) != fd))
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    struct opt_words words = { argv + (argc > 0), argc > 0 ? (size_t)argc - 1 : 0 };

    /* A pipe or a server that went away becomes an error of the write, with its own message. */
    signal(SIGPIPE, SIG_IGN);
    /* So does a file that may not grow (ulimit -f). */
    signal(SIGXFSZ, SIG_IGN);
    /* The parent process may have SIGCHLD ignored, and then waitpid would not tell a child's
     * end. */
    signal(SIGCHLD, SIG_DFL);
    if (fill_standard() < 0)
        return EXIT_FAILED;
    if (argc > 1 && strcmp(argv[1], SHARE_PACK_OPTION) == 0)
        return share_pack_main(argc, argv);
    return cli_main(&words);
}
