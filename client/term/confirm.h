/* SPDX-License-Identifier: MIT */
/*
 * confirm.h - ask before much is changed
 */
#ifndef LUDWIG_CLIENT_TERM_CONFIRM_H
#define LUDWIG_CLIENT_TERM_CONFIRM_H

#include <stdbool.h>

/* More jobs than these are changed only after a question. */
enum { CONFIRM_ABOVE = 100 };

/* Somebody sits there: both stdin and stderr are terminals.  Scripts are never asked. */
bool confirm_is_possible(void);
/* Asks "QUESTION [y/N] "; only y and yes are a yes. */
bool confirm_ask(const char *question);

#endif
