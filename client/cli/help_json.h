/* SPDX-License-Identifier: MIT */
/*
 * help_json.h - the tables of commands, options and exit codes as JSON, for programs
 */
#ifndef LUDWIG_CLIENT_CLI_HELP_JSON_H
#define LUDWIG_CLIENT_CLI_HELP_JSON_H

#include "client/term/command.h"

struct help_option {
    const char *name, *letter; /* with their dashes; letter may be NULL */
    const char *value, *type;  /* the value's name or NULL, and "flag", "integer" or "string" */
    int64_t min, max;          /* of an integer, else SCHEMA_NONE */
    bool value_optional;       /* only --name=value has one */
    bool repeats;
    const char *help;
};

struct help_command {
    const char *name, *group, *usage, *help, *more; /* more may be NULL */
    int64_t min_args, max_args;                     /* max_args: SCHEMA_NONE: any number */
    bool json;                                      /* the command takes --json */
    struct list options;                            /* of struct help_option */
};

struct help_exit {
    int64_t code;
    const char *meaning;
};

struct help_answer {
    const char *version;
    struct list commands;       /* of struct help_command */
    struct list common_options; /* of struct help_option, of every command */
    struct list exit_codes;     /* of struct help_exit */
};

extern const struct schema help_answer_schema, help_command_schema, help_option_schema,
    help_exit_schema;

/* Describes all commands, or only one; what *to points to lies in the arena or is constant. */
void help_describe(struct help_answer *to, const struct command *only, struct arena *a);

#endif
