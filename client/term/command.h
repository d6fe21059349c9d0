/* SPDX-License-Identifier: MIT */
/*
 * command.h - a command is one file and one row
 *
 * Usage, help, option parsing and completion all read the row.
 */
#ifndef LUDWIG_CLIENT_TERM_COMMAND_H
#define LUDWIG_CLIENT_TERM_COMMAND_H

#include <stdbool.h>

#include "client/term/opt.h"

/* One run of the program. */
struct cli {
    struct arena *arena; /* lasts until the program ends */
    const struct command *command;
    const char *server;     /* --server, or NULL */
    struct opt_words given; /* all words behind its name */
    struct opt_words args;  /* those that are no options */
    const void *options;    /* the struct that the command's rows filled */
};

struct command {
    const char *name;
    const char *args; /* for the usage line */
    const char *help; /* one line */
    const char *more; /* further text of --help, or NULL */
    size_t min_args, max_args;
    const struct opt *options; /* ended by a row without a name; NULL: none */
    size_t options_size;
    int (*run)(struct cli *cli, struct err *e); /* an exit code, or -1 with e set */
};

#define ARGS_ANY SIZE_MAX

/* Options of every command. */
struct common_options {
    const char *server;
    bool help;
    bool version;
};

#endif
