/* SPDX-License-Identifier: MIT */
/* table.c - prints a table with aligned columns */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"
#include "common/base/mem.h"

enum { GAP = 2, SHRUNK_MIN = 8, COMFORTABLE = 16 };

struct cell {
    char *text;
    enum tone tone;
};

/* A column that may be left out. */
struct extra {
    size_t column;
    size_t shrunk_max; /* left out if lines do not fit with shrinking columns cut to this width */
    bool goes_along;   /* left out together with the column before it in may_go */
};

struct table {
    struct column *columns;
    size_t *widths; /* of each column */
    bool *is_out;   /* whether each column is left out */
    size_t n;
    struct extra *may_go; /* columns that may be left out, the last one first */
    size_t n_may_go;
    size_t width;
    bool colour;
    bool has_head; /* the head was printed */
    struct cell *cells;
    size_t n_cells, capacity;
};

static char *harmless(const char *text)
{
    struct buf out = { 0 };

    if (text != NULL)
        safe_text_add_harmless(&out, text, strlen(text), "");
    return buf_take(&out);
}

struct table *table_create(const struct column *columns, size_t n, size_t width, bool colour)
{
    struct table *t = mem_alloc(sizeof *t);

    *t = (struct table){ .columns = mem_resize(NULL, n, sizeof *columns),
                         .widths = mem_alloc(n * sizeof *t->widths),
                         .is_out = mem_alloc(n * sizeof *t->is_out),
                         .may_go = mem_alloc(n * sizeof *t->may_go),
                         .n = n,
                         .width = width,
                         .colour = colour };
    for (size_t i = 0; i < n; i++) {
        char *head = harmless(columns[i].head);

        t->columns[i] = columns[i];
        t->columns[i].head = head;
        t->widths[i] = safe_text_width(head, strlen(head));
    }
    return t;
}

struct table *table_for_stdout(const struct column *columns, size_t n)
{
    return table_create(columns, n, output_columns(STDOUT_FILENO),
                        output_has_colour(STDOUT_FILENO));
}

void table_may_leave_out(struct table *t, size_t column, enum table_need need)
{
    t->may_go[t->n_may_go++] =
        (struct extra){ column, need == NEED_ROOM ? SHRUNK_MIN : COMFORTABLE, false };
}

void table_leave_out_too(struct table *t, size_t column)
{
    t->may_go[t->n_may_go] = (struct extra){ column, t->may_go[t->n_may_go - 1].shrunk_max, true };
    t->n_may_go++;
}

static void forget_cells(struct table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i].text);
    t->n_cells = 0;
}

void table_destroy(struct table *t)
{
    if (t == NULL)
        return;
    forget_cells(t);
    free(t->cells);
    for (size_t i = 0; i < t->n; i++)
        free((char *)t->columns[i].head);
    free(t->columns);
    free(t->widths);
    free(t->is_out);
    free(t->may_go);
    free(t);
}

void table_add(struct table *t, enum tone tone, const char *text)
{
    mem_grow((void **)&t->cells, &t->capacity, t->n_cells, sizeof *t->cells);
    t->cells[t->n_cells++] = (struct cell){ harmless(text), tone };
}

void table_add_buf(struct table *t, enum tone tone, struct buf *text)
{
    table_add(t, tone, buf_text(text));
    buf_free(text);
}

void table_printf(struct table *t, enum tone tone, const char *format, ...)
{
    va_list ap;
    char *text;

    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    table_add(t, tone, text);
    free(text);
}

/* Returns the width of a line if columns that may shrink are at most shrunk_max wide. */
static size_t line_width(const struct table *t, size_t shrunk_max)
{
    size_t total = 0;

    for (size_t i = 0; i < t->n; i++) {
        bool is_shrunk = t->columns[i].shrinks && t->widths[i] > shrunk_max;

        if (!t->is_out[i])
            total += GAP + (is_shrunk ? shrunk_max : t->widths[i]);
    }
    return total - GAP;
}

void table_fit(struct table *t)
{
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t width = safe_text_width(t->cells[i].text, strlen(t->cells[i].text));

        if (width > t->widths[i % t->n])
            t->widths[i % t->n] = width;
    }
    while (!t->has_head && t->n_may_go > 0 &&
           line_width(t, t->may_go[t->n_may_go - 1].shrunk_max) > t->width)
        do
            t->is_out[t->may_go[--t->n_may_go].column] = true;
        while (t->may_go[t->n_may_go].goes_along);
}

bool table_leaves_out(const struct table *t, size_t column)
{
    return t->is_out[column];
}

static void add_toned(const struct table *t, struct buf *out, enum tone tone, const char *text,
                      size_t n)
{
    static const char *const codes[] = { [TONE_STRONG] = "1",
                                         [TONE_GOOD] = "32",
                                         [TONE_BAD] = "31",
                                         [TONE_BUSY] = "36",
                                         [TONE_DIM] = "2" };

    if (!t->colour || tone == TONE_PLAIN || n == 0) {
        buf_add(out, text, n);
        return;
    }
    buf_printf(out, "\033[%sm", codes[tone]);
    buf_add(out, text, n);
    buf_add_str(out, "\033[0m");
}

static void add_cell(const struct table *t, struct buf *out, size_t column, enum tone tone,
                     const char *text)
{
    size_t n = strlen(text), width = t->widths[column], taken = safe_text_width(text, n);
    int blanks = taken < width ? (int)(width - taken) : 0;
    bool is_right = t->columns[column].right;

    if (!t->is_out[column]) {
        buf_printf(out, "%*s", is_right ? blanks : 0, "");
        add_toned(t, out, tone, text, taken > width ? safe_text_fitting(text, n, width - 1) : n);
        buf_printf(out, "%s%*s", taken > width ? "…" : "", GAP + (is_right ? 0 : blanks), "");
    }
    if (column == t->n - 1) {
        while (out->n > 0 && out->bytes[out->n - 1] == ' ')
            out->n--;
        buf_add_char(out, '\n');
    }
}

void table_flush(struct table *t, struct buf *out)
{
    bool has_heads = false;

    table_fit(t);
    /* Cut the widest column that may shrink by one character, until lines fit. */
    for (size_t widest = 0; widest < t->n && line_width(t, SIZE_MAX) > t->width;) {
        widest = t->n;
        for (size_t i = 0; i < t->n; i++)
            if (t->columns[i].shrinks && !t->is_out[i] && t->widths[i] > SHRUNK_MIN &&
                (widest == t->n || t->widths[i] > t->widths[widest]))
                widest = i;
        if (widest < t->n)
            t->widths[widest]--;
    }
    for (size_t i = 0; i < t->n && !t->has_head; i++)
        has_heads = has_heads || t->columns[i].head[0] != '\0';
    for (size_t i = 0; i < t->n && has_heads; i++)
        add_cell(t, out, i, TONE_STRONG, t->columns[i].head);
    t->has_head = true;
    for (size_t i = 0, column = 0; i < t->n_cells; i++) {
        add_cell(t, out, column, t->cells[i].tone, t->cells[i].text);
        column = column + 1 < t->n ? column + 1 : 0;
    }
    forget_cells(t);
}

int table_print(struct table *t, struct err *e)
{
    struct buf out = { 0 };

    table_flush(t, &out);
    return output_write(&out, e);
}
