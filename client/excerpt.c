/* SPDX-License-Identifier: MIT */
/* excerpt.c - the line of a file that an error is about */
#include <stdio.h>
#include <string.h>

#include "client/excerpt.h"
#include "client/text.h"

enum { SHOWN_COLUMNS = 100 };

/* Line number line of text, without its end; NULL when there is none. */
static const char *find_line(const char *text, unsigned line, size_t *n)
{
    for (; line > 1; line--) {
        text = strchr(text, '\n');
        if (text == NULL)
            return NULL;
        text++;
    }
    *n = strcspn(text, "\r\n");
    return text;
}

static void add_excerpt(struct buf *out, const char *text, unsigned line, unsigned column)
{
    size_t n;
    const char *shown = find_line(text, line, &n);
    struct buf number = { 0 };

    if (shown == NULL || column > SHOWN_COLUMNS)
        return;
    buf_printf(&number, "%5u", line);
    buf_printf(out, "%s | ", buf_text(&number));
    text_add_harmless(out, shown, text_fitting(shown, n, SHOWN_COLUMNS), "\t");
    buf_printf(out, "\n%*s | ", (int)number.n, "");
    /* A tab takes as many columns in both lines. */
    for (size_t i = 0; i < text_fitting(shown, n, column - 1); i++)
        if (((unsigned char)shown[i] & 0xc0) != 0x80)
            buf_add_char(out, shown[i] == '\t' ? '\t' : ' ');
    buf_add_str(out, "^\n");
    buf_free(&number);
}

void excerpt_add(struct err *e, const char *file, const struct buf *text)
{
    struct buf out = { 0 };
    const char *line = e != NULL ? e->text : "";
    size_t n_file = strlen(file);

    while (*line != '\0') {
        size_t n = strcspn(line, "\n");
        unsigned at_line, at_column;

        buf_printf(&out, "%.*s\n", (int)n, line);
        if (strncmp(line, file, n_file) == 0 &&
            sscanf(line + n_file, ":%9u:%9u: ", &at_line, &at_column) == 2 && at_line > 0 &&
            at_column > 0)
            add_excerpt(&out, buf_text(text), at_line, at_column);
        line += n + (line[n] == '\n');
    }
    /* All mistakes matter more than the lines they are in. */
    if (out.n > 0 && out.n <= ERR_TEXT_BYTES)
        err_set(e, e->kind, "%.*s", (int)(out.n - 1), buf_text(&out));
    buf_free(&out);
}
