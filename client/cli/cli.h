/* SPDX-License-Identifier: MIT */
/*
 * cli.h - from the command line to an exit code
 */
#ifndef LUDWIG_CLIENT_CLI_CLI_H
#define LUDWIG_CLIENT_CLI_CLI_H

#include "client/term/command.h"

/* Runs the command that words (without the program's name) ask for; says what went wrong. */
int cli_main(const struct opt_words *words);

#endif
