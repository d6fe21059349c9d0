/* SPDX-License-Identifier: MIT */
/*
 * prompt.h - ask the user on the terminal, whatever stdin and stdout are
 */
#ifndef LUDWIG_COMMON_SSH_PROMPT_H
#define LUDWIG_COMMON_SSH_PROMPT_H

#include <stdbool.h>

#include "common/base/err.h"

/*
 * Shows text and waits for a line, which the caller wipes (prompt_wipe) and frees.  Without echo it
 * is not shown; the terminal is as before in any case, also when a signal ends or stops us.  NULL
 * with e set: there is no terminal, or the user gave up (Ctrl-D).
 */
char *prompt_ask(const char *text, bool echo, struct err *e);

/* Somebody sits there: a shell that completes a word, or a script in the background, shows so by
 * having redirected both standard input and standard error. */
bool prompt_is_welcome(void);

void prompt_wipe(char *secret); /* overwrites and frees; NULL is fine */

#endif
