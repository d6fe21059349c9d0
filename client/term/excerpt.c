/* SPDX-License-Identifier: MIT */
/* excerpt.c - sorts error messages by their place in a file, and adds the file's lines to them */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/term/excerpt.h"
#include "client/term/safe_text.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"

enum { SHOWN_COLUMNS = 100 };

struct place {
    unsigned line, column;
};

/* Whether the error begins with "FILE:LINE:COLUMN: "; if so, sets *at. */
static bool read_place(const char *error, const char *file, struct place *at)
{
    size_t n = strlen(file);

    return strncmp(error, file, n) == 0 &&
           sscanf(error + n, ":%9u:%9u: ", &at->line, &at->column) == 2 && at->line > 0 &&
           at->column > 0;
}

/* ---- sorting ---- */

struct error {
    const char *text;
    size_t n;
    struct place at;
    size_t number; /* index before sorting, which keeps the order of errors at one place */
};

static int compare_errors(const void *left, const void *right)
{
    const struct error *x = left, *y = right;

    if (x->at.line != y->at.line)
        return x->at.line < y->at.line ? -1 : 1;
    if (x->at.column != y->at.column)
        return x->at.column < y->at.column ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void excerpt_sort(struct buf *errors, const char *file)
{
    struct error *lines = NULL;
    size_t n = 0, capacity = 0;
    struct buf sorted = { 0 };

    for (const char *at = buf_text(errors); *at != '\0';) {
        mem_grow((void **)&lines, &capacity, n, sizeof *lines);
        lines[n] = (struct error){ .text = at, .n = strcspn(at, "\n"), .number = n };
        if (!read_place(at, file, &lines[n].at))
            lines[n].at = (struct place){ (unsigned)-1, (unsigned)-1 };
        at += lines[n].n + (at[lines[n].n] == '\n');
        n++;
    }
    if (n > 1)
        qsort(lines, n, sizeof *lines, compare_errors);
    for (size_t i = 0; i < n; i++)
        buf_printf(&sorted, "%s%.*s", i > 0 ? "\n" : "", (int)lines[i].n, lines[i].text);
    free(lines);
    buf_free(errors);
    *errors = sorted;
}

/* ---- lines of the file ---- */

/* Adds the line of text at this place, and below it a line with ^ under the column. */
static void add_excerpt(struct buf *out, const char *text, struct place at)
{
    char *number = mem_printf("%5u", at.line);
    size_t n;

    for (unsigned line = at.line; line > 1 && text != NULL; line--) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    n = text != NULL && at.column <= SHOWN_COLUMNS ? strcspn(text, "\r\n") : 0;
    if (n > 0) {
        buf_printf(out, "%s | ", number);
        safe_text_add_harmless(out, text, safe_text_fitting(text, n, SHOWN_COLUMNS), "\t");
        buf_printf(out, "\n%*s | ", (int)strlen(number), "");
        /* Tabs are repeated, so that they take as many columns as in the line above. */
        for (size_t i = 0; i < safe_text_fitting(text, n, at.column - 1); i++)
            if (utf8_begins(text[i]))
                buf_add_char(out, text[i] == '\t' ? '\t' : ' ');
        buf_add_str(out, "^\n");
    }
    free(number);
}

void excerpt_add(struct err *e, const char *file, const char *text)
{
    struct buf out = { 0 }, excerpt = { 0 };
    const char *line = e != NULL ? e->text : "";
    struct place at;

    while (*line != '\0') {
        size_t n = strcspn(line, "\n");

        buf_printf(&out, "%.*s\n", (int)n, line);
        buf_clear(&excerpt);
        if (read_place(line, file, &at))
            add_excerpt(&excerpt, text, at);
        line += n + (line[n] == '\n');
        /* Add the excerpt only if all errors that follow still fit into e. */
        if (out.n + excerpt.n + strlen(line) < ERR_TEXT_BYTES)
            buf_add(&out, excerpt.bytes, excerpt.n);
    }
    if (out.n > 0)
        err_set(e, e->kind, "%.*s", (int)(out.n - 1), buf_text(&out));
    buf_free(&excerpt);
    buf_free(&out);
}
