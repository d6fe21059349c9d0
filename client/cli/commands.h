/* SPDX-License-Identifier: MIT */
/*
 * commands.h - the table of commands, and running, help and completion of commands
 */
#ifndef LUDWIG_CLIENT_CLI_COMMANDS_H
#define LUDWIG_CLIENT_CLI_COMMANDS_H

#include "client/term/command.h"

extern const struct opt common_options[];

extern const struct command *const commands[]; /* ended by NULL */

/* Runs the command in words (without the program's name), prints its error, and returns the exit
 * code. */
int cli_main(const struct opt_words *words);

const struct command *command_find(const char *name, struct err *e);
/* Returns the heading in `ludwig help` that the command stands below. */
const char *command_group(const struct command *c);
/* Adds the output of `ludwig help` for a command or, for NULL, for all. */
void command_add_help(struct buf *out, const struct command *c);
/* Prints that output; returns an exit code, or -1 with e set. */
int command_print_help(const struct command *c, struct err *e);

/*
 * Appends the words that may come next on a command line.  The hidden command `ludwig complete --
 * WORD...` prints them for the scripts of `ludwig completion SHELL`.  The last WORD, which may be
 * empty, stands at the cursor.  Each line of the answer is a word, perhaps with a tab and its
 * meaning behind it; the shell picks the words that begin like the last WORD.  A line ":files",
 * ":folders" or ":yaml" asks the shell to complete names of files by itself.
 *
 * Answers come from the tables of commands and options, where the name of an option's value or of
 * an argument ("NODE", "all|params|none", "SWEEP.yaml") says what it may be.
 */
void complete_add_answers(struct buf *out, const struct opt_words *words);

extern const struct command cmd_submit, cmd_init, cmd_status, cmd_watch, cmd_jobs, cmd_why,
    cmd_triage, cmd_logs, cmd_results, cmd_plot, cmd_best, cmd_compare, cmd_diff, cmd_fetch,
    cmd_cancel, cmd_pause, cmd_resume, cmd_retry, cmd_label, cmd_rm, cmd_nodes, cmd_drain,
    cmd_undrain, cmd_usage, cmd_data, cmd_report, cmd_bridge, cmd_reproduce, cmd_peek, cmd_debug,
    cmd_replay, cmd_order, cmd_limit, cmd_up, cmd_down, cmd_invite, cmd_doctor, cmd_completion,
    cmd_version, cmd_help, cmd_ui;

#endif
