/* SPDX-License-Identifier: MIT */
/*
 * screen.h - lines of a terminal that are painted anew
 */
#ifndef LUDWIG_CLIENT_TERM_SCREEN_H
#define LUDWIG_CLIENT_TERM_SCREEN_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/* Zero-initialised: nothing is painted yet. */
struct screen {
    size_t n_lines; /* painted, above the cursor */
};

/* stdout is a terminal whose cursor can be moved. */
bool screen_is_there(void);
/* Puts whole lines, each no wider than the terminal, in the place of those painted before; as many
 * of the first ones as the terminal has room for.  Empties text. */
int screen_paint(struct screen *s, struct buf *text, struct err *e);

#endif
