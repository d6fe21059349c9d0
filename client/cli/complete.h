/* SPDX-License-Identifier: MIT */
/*
 * complete.h - which words may come next on a command line
 *
 * The hidden command `ludwig complete -- WORD...` answers this for the scripts that
 * `ludwig completion SHELL` prints.  The last WORD, which may be empty, stands at the cursor.
 * Each line of the answer is a word, perhaps with a tab and what the word means behind it; the
 * shell picks those that begin as the last WORD does.  A line ":files", ":folders" or ":yaml"
 * asks the shell to complete names of files by itself.
 *
 * Answers come from the tables of commands and options: what an option or argument is called
 * there ("NODE", "all|params|none", "SWEEP.yaml") says what it may be.
 */
#ifndef LUDWIG_CLIENT_CLI_COMPLETE_H
#define LUDWIG_CLIENT_CLI_COMPLETE_H

#include "client/term/command.h"

/* Appends the lines for the words behind "--". */
void complete_add_answers(struct buf *out, const struct opt_words *words);

#endif
