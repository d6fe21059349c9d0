/* SPDX-License-Identifier: MIT */
/*
 * completion.h - scripts by which shells complete ludwig's words
 *
 * Made from the tables of commands and options: what an option or argument is called there
 * ("NODE", "all|params|none", "SWEEP.yaml") says what it may be.
 */
#ifndef LUDWIG_CLIENT_CLI_COMPLETION_H
#define LUDWIG_CLIENT_CLI_COMPLETION_H

#include <stdbool.h>

#include "client/term/command.h"

enum complete {
    COMPLETE_NOTHING,
    COMPLETE_WORDS, /* of a list */
    COMPLETE_COMMANDS,
    COMPLETE_YAML,  /* files */
    COMPLETE_FILES, /* whatever is in them */
    COMPLETE_FOLDERS,
    COMPLETE_SWEEPS,  /* those below the server is asked for */
    COMPLETE_JOBS,    /* of a sweep whose number and point are there already */
    COMPLETE_TARGETS, /* sweeps or jobs */
    COMPLETE_NODES,
    COMPLETE_KINDS
};

struct completion {
    enum complete kind;
    bool is_list;             /* several with commas between */
    const char *const *words; /* of COMPLETE_WORDS */
    size_t n;
};

/* What follows the option; lists live in a.  command NULL: an option of all commands. */
struct completion completion_of_option(const struct command *c, const struct opt *row,
                                       struct arena *a);
/* Of the i-th argument, from 0. */
struct completion completion_of_argument(const struct command *c, size_t i, struct arena *a);
/* How many arguments are told apart; those behind are as the last one, when it repeats. */
size_t completion_n_arguments(const struct command *c, bool *repeats);

/* The first clause of a help text, for a menu. */
void completion_add_brief(struct buf *out, const char *help);
bool completion_takes_next(const struct opt *row); /* its value may be the next word */

/* completion_bash.c, completion_zsh.c, completion_fish.c */
void completion_add_bash(struct buf *out, struct arena *a);
void completion_add_zsh(struct buf *out, struct arena *a);
void completion_add_fish(struct buf *out, struct arena *a);

/* A shell, and what makes its script. */
struct completion_shell {
    const char *name;
    void (*add)(struct buf *out, struct arena *a);
};
extern const struct completion_shell completion_shells[]; /* ended by one without a name */

#endif
