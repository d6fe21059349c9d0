/* SPDX-License-Identifier: MIT */
/* table.c - aligned columns for people */
#include <stdarg.h>
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
    size_t n;
    enum tone tone;
};

/* A column that may be left out. */
struct extra {
    size_t column;
    size_t shrunk_max; /* when lines do not fit although the columns that shrink take only that */
};

struct table {
    struct column *columns;
    size_t *widths;
    bool *is_out; /* left out */
    size_t n;
    struct extra *may_go; /* the first to go at the end */
    size_t n_may_go;
    size_t width;
    bool colour;
    bool has_head; /* it was printed */
    struct cell *cells;
    size_t n_cells, capacity;
};

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
        t->columns[i] = columns[i];
        t->columns[i].head = mem_strdup(columns[i].head);
        t->widths[i] = safe_text_width(columns[i].head, strlen(columns[i].head));
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
        (struct extra){ column, need == NEED_ROOM ? SHRUNK_MIN : COMFORTABLE };
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
    struct buf harmless = { 0 };
    struct cell cell = { .tone = tone };

    safe_text_add_harmless(&harmless, text != NULL ? text : "", text != NULL ? strlen(text) : 0,
                           "");
    cell.n = harmless.n;
    cell.text = mem_strdup(buf_text(&harmless));
    buf_free(&harmless);
    mem_grow((void **)&t->cells, &t->capacity, t->n_cells, sizeof *t->cells);
    t->cells[t->n_cells++] = cell;
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

size_t table_rows(const struct table *t)
{
    return t->n_cells / t->n;
}

/* Of a line in which the columns that shrink take at most so much. */
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

/* The widest column that may still lose a character, or n. */
static size_t widest(const struct table *t)
{
    size_t found = t->n;

    for (size_t i = 0; i < t->n; i++)
        if (t->columns[i].shrinks && !t->is_out[i] && t->widths[i] > SHRUNK_MIN &&
            (found == t->n || t->widths[i] > t->widths[found]))
            found = i;
    return found;
}

static void fit_widths(struct table *t)
{
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t width = safe_text_width(t->cells[i].text, t->cells[i].n);

        if (width > t->widths[i % t->n])
            t->widths[i % t->n] = width;
    }
    while (!t->has_head && t->n_may_go > 0 &&
           line_width(t, t->may_go[t->n_may_go - 1].shrunk_max) > t->width)
        t->is_out[t->may_go[--t->n_may_go].column] = true;
    for (size_t i = 0; line_width(t, SIZE_MAX) > t->width && (i = widest(t)) < t->n;)
        t->widths[i]--;
}

static void add_blanks(struct buf *out, size_t n)
{
    buf_printf(out, "%*s", (int)n, "");
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
                     const char *text, size_t n)
{
    size_t width = t->widths[column], taken = safe_text_width(text, n);
    bool is_right = t->columns[column].right;

    if (t->is_out[column])
        return;
    if (is_right && taken < width)
        add_blanks(out, width - taken);
    if (taken > width) {
        add_toned(t, out, tone, text, safe_text_fitting(text, n, width - 1));
        buf_add_str(out, "…");
    } else {
        add_toned(t, out, tone, text, n);
    }
    if (!is_right && taken < width)
        add_blanks(out, width - taken);
    add_blanks(out, GAP);
}

static void end_line(struct buf *out)
{
    while (out->n > 0 && out->bytes[out->n - 1] == ' ')
        out->n--;
    buf_add_char(out, '\n');
}

/* A table whose heads are all empty has no line of them. */
static void add_head(struct table *t, struct buf *out)
{
    bool has_any = false;

    t->has_head = true;
    for (size_t i = 0; i < t->n; i++)
        has_any = has_any || t->columns[i].head[0] != '\0';
    for (size_t i = 0; i < t->n && has_any; i++)
        add_cell(t, out, i, TONE_STRONG, t->columns[i].head, strlen(t->columns[i].head));
    if (has_any)
        end_line(out);
}

void table_flush(struct table *t, struct buf *out)
{
    fit_widths(t);
    if (!t->has_head)
        add_head(t, out);
    for (size_t i = 0; i < t->n_cells; i++) {
        const struct cell *c = &t->cells[i];

        add_cell(t, out, i % t->n, c->tone, c->text, c->n);
        if (i % t->n == t->n - 1)
            end_line(out);
    }
    forget_cells(t);
}
