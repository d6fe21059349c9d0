/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - shows a canvas on the whole screen of a terminal, reads keys, takes signals
 *
 * It uses ncurses.  The terminal is restored at the end, also if the program crashes.  Only one
 * terminal may be open at a time.
 */
#ifndef LUDWIG_CLIENT_WATCH_TERMINAL_H
#define LUDWIG_CLIENT_WATCH_TERMINAL_H

#include "client/plot/canvas.h"
#include "common/base/err.h"

/* Whether stdin is a terminal, and stdout one whose cursor can be moved. */
bool terminal_is_there(void);
int terminal_open(struct err *e); /* returns 0, or -1 with e set */
void terminal_close(void);        /* does nothing if no terminal is open */

void terminal_size(size_t *columns, size_t *rows);
/* Shows the canvas, which has the terminal's size, and the cursor in this column and row. */
void terminal_show(const struct canvas *c, size_t column, size_t row);
/* Returns the next key: a character's code point or one of enum watch_special (keys.h).  Does not
 * wait: returns -1 if no key was pressed. */
int terminal_key(void);

/* Returns a descriptor that is readable when a signal has come; then call terminal_take_signals. */
int terminal_signal_fd(void);
/* Handles the signals that came: stops the program after Ctrl-Z, takes over a new size of the
 * terminal.  Returns the number of a signal that should end the program (SIGINT, SIGTERM or
 * SIGHUP), or 0. */
int terminal_take_signals(void);

#endif
