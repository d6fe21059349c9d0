/* SPDX-License-Identifier: MIT */
/* screen.c - lines of a terminal that are painted anew */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/term/output.h"
#include "client/term/screen.h"

enum { ROWS_USUAL = 24 };

bool screen_is_there(void)
{
    const char *term = getenv("TERM");

    return output_is_terminal(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

static size_t count_rows(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
        return ROWS_USUAL;
    return size.ws_row;
}

int screen_paint(struct screen *s, struct buf *text, struct err *e)
{
    size_t n = 0, n_max = count_rows() - 1;
    const char *at = buf_text(text);
    struct buf out = { 0 };

    if (s->n_lines > 0)
        buf_printf(&out, "\033[%zuA\r", s->n_lines);
    for (; *at != '\0' && n < n_max; n++) {
        size_t length = strcspn(at, "\n");

        buf_add(&out, at, length);
        buf_add_str(&out, "\033[K\n");
        at += length + (at[length] == '\n');
    }
    buf_add_str(&out, "\033[J");
    s->n_lines = n;
    buf_clear(text);
    return output_write(&out, e);
}
