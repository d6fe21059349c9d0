/* SPDX-License-Identifier: MIT */
/*
 * prompt.h - asks the user on the terminal, even where stdin and stdout are redirected
 */
#ifndef LUDWIG_COMMON_SSH_PROMPT_H
#define LUDWIG_COMMON_SSH_PROMPT_H

#include <stdbool.h>

#include "common/base/err.h"

/*
 * Shows text and waits for a line, which the caller wipes and frees (prompt_wipe).  Without echo
 * the line is not shown; the terminal's mode is restored in any case, also when a signal ends or
 * stops the process.  NULL with e set: there is no terminal, or the user gave up (Ctrl-D).
 */
char *prompt_ask(const char *text, bool echo, struct err *e);

/* Whether a user is likely at the terminal: completion in a shell and scripts in the background
 * redirect both standard input and standard error. */
bool prompt_is_welcome(void);

void prompt_wipe(char *secret); /* overwrites and frees; NULL is fine */

#endif
