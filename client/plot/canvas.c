/* SPDX-License-Identifier: MIT */
/* canvas.c - dots, lines and text on the cells of a terminal */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/plot/canvas.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/mem.h"

enum { CHARACTER_BYTES = 8 };

struct cell {
    uint8_t dots; /* bit row * dots_x + column: the cell has this dot */
    uint8_t ink;
    char text[CHARACTER_BYTES]; /* in the place of dots, if there is any */
};

struct canvas {
    size_t columns, rows;
    size_t dots_x, dots_y; /* columns and rows of dots in a cell */
    struct cell *cells;
};

/* ---- colours ---- */

enum colours colours_of(int fd)
{
    const char *able = getenv("COLORTERM"), *term = getenv("TERM");

    if (!output_has_colour(fd))
        return COLOURS_NONE;
    if (able != NULL && (strcmp(able, "truecolor") == 0 || strcmp(able, "24bit") == 0))
        return COLOURS_TRUE;
    return term != NULL && strstr(term, "256color") != NULL ? COLOURS_256 : COLOURS_16;
}

int ink_of_rank(double rank)
{
    if (isnan(rank))
        return INK_DIM;
    return INK_RAMP + (int)lround(fmin(1, fmax(0, rank)) * (INK_RAMP_STEPS - 1));
}

/* From violet by blue and green to yellow: readable on dark, on light, and by the colour-blind. */
static const uint8_t ramp[][3] = {
    { 122, 110, 160 }, { 80, 120, 185 }, { 40, 150, 170 }, { 60, 175, 110 }, { 205, 170, 0 },
};
enum { N_RAMP = sizeof ramp / sizeof ramp[0] };

static uint8_t mixed(int step, int channel)
{
    double place = (double)step / (INK_RAMP_STEPS - 1) * (N_RAMP - 1);
    int k = place >= N_RAMP - 1 ? N_RAMP - 2 : (int)place;
    double part = place - k;

    return (uint8_t)lround(ramp[k][channel] * (1 - part) + ramp[k + 1][channel] * part);
}

static void add_ink(struct buf *out, int ink, enum colours colours)
{
    static const char *const sixteen[] = { "35", "34", "36", "32", "33" };
    int step = ink - INK_RAMP;

    if (ink == INK_PLAIN)
        buf_add_str(out, "\033[0m");
    else if (ink == INK_DIM)
        buf_add_str(out, "\033[0;2m");
    else if (ink == INK_STRONG)
        buf_add_str(out, "\033[0;1m");
    else if (colours == COLOURS_TRUE)
        buf_printf(out, "\033[0;38;2;%d;%d;%dm", mixed(step, 0), mixed(step, 1), mixed(step, 2));
    else if (colours == COLOURS_256) /* a cube of 6 x 6 x 6 */
        buf_printf(out, "\033[0;38;5;%dm",
                   16 + 36 * (mixed(step, 0) / 43) + 6 * (mixed(step, 1) / 43) +
                       mixed(step, 2) / 43);
    else
        buf_printf(out, "\033[0;%sm", sixteen[step * N_RAMP / INK_RAMP_STEPS]);
}

/* ---- cells ---- */

struct canvas *canvas_create(size_t columns, size_t rows, bool has_braille)
{
    struct canvas *c = mem_alloc(sizeof *c);

    *c = (struct canvas){ .columns = columns,
                          .rows = rows,
                          .dots_x = has_braille ? 2 : 1,
                          .dots_y = has_braille ? 4 : 2,
                          .cells = mem_alloc(columns * rows * sizeof *c->cells) };
    return c;
}

void canvas_destroy(struct canvas *c)
{
    if (c != NULL)
        free(c->cells);
    free(c);
}

static struct cell *cell_at(const struct canvas *c, size_t column, size_t row)
{
    return column < c->columns && row < c->rows ? &c->cells[row * c->columns + column] : NULL;
}

/* Sets the dot in this column and row of the area's dots. */
static void set_dot(struct canvas *c, const struct area *area, size_t x, size_t y, int ink)
{
    struct cell *cell = cell_at(c, area->column + x / c->dots_x, area->row + y / c->dots_y);

    if (cell == NULL || x >= area->columns * c->dots_x || y >= area->rows * c->dots_y)
        return;
    cell->dots = (uint8_t)(cell->dots | 1u << (y % c->dots_y * c->dots_x + x % c->dots_x));
    cell->ink = (uint8_t)ink;
}

static void set_dots(struct canvas *c, const struct area *area, double x, double y, size_t side,
                     int ink)
{
    size_t width = area->columns * c->dots_x, height = area->rows * c->dots_y, dot_x, dot_y;

    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1) || width < side || height < side)
        return;
    dot_x = (size_t)lround(x * (double)(width - side));
    dot_y = (size_t)lround((1 - y) * (double)(height - side));
    for (size_t i = 0; i < side * side; i++)
        set_dot(c, area, dot_x + i % side, dot_y + i / side, ink);
}

void canvas_dot(struct canvas *c, const struct area *area, double x, double y, int ink)
{
    set_dots(c, area, x, y, 1, ink);
}

void canvas_spot(struct canvas *c, const struct area *area, double x, double y, int ink)
{
    set_dots(c, area, x, y, c->dots_x, ink);
}

/* Sets dots in steps of at most one dot; cuts off what is far outside, to bound their number. */
void canvas_line(struct canvas *c, const struct area *area, const double from[2],
                 const double to[2], int ink)
{
    static const double beyond = 8;
    double x0 = from[0], x1 = to[0], y0, y1;
    size_t n;

    if (!isfinite(from[0]) || !isfinite(from[1]) || !isfinite(to[0]) || !isfinite(to[1]))
        return;
    y0 = fmin(beyond, fmax(-beyond, from[1]));
    y1 = fmin(beyond, fmax(-beyond, to[1]));
    n = (size_t)ceil(fmax(fabs(x1 - x0) * (double)(area->columns * c->dots_x),
                          fabs(y1 - y0) * (double)(area->rows * c->dots_y))) +
        1;
    for (size_t i = 0; i <= n; i++) {
        double part = (double)i / (double)n;

        canvas_dot(c, area, x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, ink);
    }
}

void canvas_text(struct canvas *c, size_t column, size_t row, size_t columns, int ink,
                 const char *text)
{
    struct buf clean = { 0 };
    const char *at;
    size_t n;

    safe_text_add_harmless(&clean, text, strlen(text), "");
    clean.n = safe_text_fitting(buf_text(&clean), clean.n, columns);
    at = buf_text(&clean);
    for (size_t left = clean.n; left > 0; left -= n, at += n, column++) {
        struct cell *cell = cell_at(c, column, row);

        n = safe_text_fitting(at, left, 1);
        if (n == 0)
            n = 1;
        if (cell == NULL || n >= CHARACTER_BYTES)
            continue;
        memcpy(cell->text, at, n);
        cell->text[n] = '\0';
        cell->ink = (uint8_t)ink;
    }
    buf_free(&clean);
}

void canvas_text_before(struct canvas *c, size_t end, size_t row, size_t columns, int ink,
                        const char *text)
{
    size_t width = safe_text_width(text, strlen(text));

    width = width < columns ? width : columns;
    width = width < end ? width : end;
    canvas_text(c, end - width, row, width, ink, text);
}

void canvas_bar(struct canvas *c, size_t column, size_t row, size_t columns, int ink)
{
    for (size_t i = 0; i < columns; i++)
        canvas_text(c, column + i, row, 1, ink, c->dots_x == 2 ? "█" : "#");
}

/* ---- out ---- */

/* Braille numbers its dots in this order: 1 4 / 2 5 / 3 6 / 7 8. */
static void add_braille(struct buf *out, unsigned dots)
{
    static const unsigned bits[] = { 0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80 };
    unsigned character = 0x2800;

    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
        character += (dots >> i & 1) * bits[i];
    buf_add_char(out, (char)(0xe0 | character >> 12));
    buf_add_char(out, (char)(0x80 | (character >> 6 & 0x3f)));
    buf_add_char(out, (char)(0x80 | (character & 0x3f)));
}

static void add_cell(struct buf *out, const struct canvas *c, const struct cell *cell)
{
    if (cell->text[0] != '\0')
        buf_add_str(out, cell->text);
    else if (cell->dots == 0)
        buf_add_char(out, ' ');
    else if (c->dots_x == 2)
        add_braille(out, cell->dots);
    else
        buf_add_char(out, " '.:"[cell->dots & 3]);
}

static bool is_blank(const struct cell *cell)
{
    return cell->dots == 0 && (cell->text[0] == '\0' || cell->text[0] == ' ');
}

void canvas_add(struct buf *out, const struct canvas *c, enum colours colours)
{
    for (size_t row = 0; row < c->rows; row++) {
        const struct cell *cells = c->cells + row * c->columns;
        size_t n = c->columns;
        int ink = INK_PLAIN;

        while (n > 0 && is_blank(&cells[n - 1]))
            n--;
        for (size_t i = 0; i < n; i++) {
            if (colours != COLOURS_NONE && !is_blank(&cells[i]) && cells[i].ink != ink) {
                ink = cells[i].ink;
                add_ink(out, ink, colours);
            }
            add_cell(out, c, &cells[i]);
        }
        buf_add_str(out, ink != INK_PLAIN ? "\033[0m\n" : "\n");
    }
}
