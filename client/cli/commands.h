/* SPDX-License-Identifier: MIT */
/*
 * commands.h - the table of commands, and what help says about them
 */
#ifndef LUDWIG_CLIENT_CLI_COMMANDS_H
#define LUDWIG_CLIENT_CLI_COMMANDS_H

#include "client/term/command.h"

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
