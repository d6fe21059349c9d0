/* SPDX-License-Identifier: MIT */
/* main.c - ludwig: submit sweeps, look at them, fetch what came of them */
#include <signal.h>

#include "client/cli.h"

int main(int argc, char **argv)
{
    struct opt_words words = { argv + (argc > 0), argc > 0 ? (size_t)argc - 1 : 0 };

    /* A pipe or a server that went away is an error of the write, with a word about it. */
    signal(SIGPIPE, SIG_IGN);
    return cli_main(&words);
}
