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

/* What one run of the program is about. */
struct cli {
    struct arena *arena; /* lasts until the program ends */
    const struct command *command;
    const char *server; /* --server, or NULL */
    struct opt_words args;
    const void *options; /* the struct that the command's rows filled */
};

struct command {
    const char *name;
    const char *args; /* for the usage line */
    const char *help; /* one line */
    const char *more; /* what else --help says, or NULL */
    size_t min_args, max_args;
    const struct opt *options; /* ended by a row without a name; NULL: none */
    size_t options_size;
    int (*run)(struct cli *cli, struct err *e); /* an exit code, or -1 with e set */
};

#define ARGS_ANY SIZE_MAX

/* Those of every command. */
struct common_options {
    const char *server;
    bool help;
    bool version;
};
extern const struct opt common_options[];

extern const struct command *const commands[]; /* ended by NULL */

const struct command *command_find(const char *name, struct err *e);
void command_add_help(struct buf *out, const struct command *c);
void command_add_overview(struct buf *out); /* what `ludwig help` says */

extern const struct command cmd_submit, cmd_status, cmd_watch, cmd_jobs, cmd_why, cmd_logs,
    cmd_results, cmd_fetch, cmd_cancel, cmd_pause, cmd_resume, cmd_retry, cmd_nodes, cmd_drain,
    cmd_undrain, cmd_usage, cmd_data, cmd_report, cmd_bridge, cmd_up, cmd_down, cmd_invite,
    cmd_doctor, cmd_completion, cmd_version, cmd_help;

#endif
