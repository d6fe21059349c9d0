/* SPDX-License-Identifier: MIT */
/*
 * command.h - struct command, which describes a command of `ludwig`, and struct cli, one run of it
 *
 * The usage line, --help, option parsing and shell completion all use struct command.
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
    struct opt_words given; /* all words behind the command's name */
    struct opt_words args;  /* the words in given that are not options or their values */
    const void *options;    /* the struct that the command's options filled */
};

struct command {
    const char *name;
    const char *args; /* the arguments in the usage line: "JOB..." */
    const char *help; /* what the command does, in one line */
    const char *more; /* further text of --help, or NULL */
    size_t min_args, max_args;
    const struct opt *options; /* ended by a row without a name; NULL: none */
    size_t options_size;
    int (*run)(struct cli *cli, struct err *e); /* an exit code, or -1 with e set */
};

#define ARGS_ANY SIZE_MAX

/* The options that every command has. */
struct common_options {
    const char *server;
    bool help;
    bool version;
};

#endif
