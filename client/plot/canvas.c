/* SPDX-License-Identifier: MIT */
/* canvas.c - dots, lines and text on the cells of a terminal */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/plot/canvas.h"
#include "client/plot/picture.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"

enum { CHARACTER_BYTES = 8 };

struct cell {
    uint8_t dots; /* bit row * dots_x + column: the cell has this dot */
    uint8_t ink;
    bool is_covered;            /* the wide character in the cell before covers this one */
    char text[CHARACTER_BYTES]; /* shown instead of dots, unless empty */
};

struct canvas {
    size_t columns, rows;
    size_t dots_x, dots_y; /* columns and rows of dots in a cell */
    struct cell *cells;
    struct shapes *shapes; /* NULL: it does not record */
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

void canvas_ramp_colour(int ink, uint8_t colour[3])
{
    for (int i = 0; i < 3; i++)
        colour[i] = mixed(ink - INK_RAMP, i);
}

static void add_ink(struct buf *out, int whole, enum colours colours)
{
    static const char *const sixteen[] = { "35", "34", "36", "32", "33" };
    static const char *const of_states[] = { "32", "31", "36", "33" };
    int ink = whole & ~INK_REVERSE, step = ink - INK_RAMP;

    if (ink >= INK_GOOD)
        buf_printf(out, "\033[0;%sm", of_states[ink - INK_GOOD]);
    else if (ink == INK_PLAIN)
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
    if ((whole & INK_REVERSE) != 0)
        buf_add_str(out, "\033[7m");
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

void canvas_record(struct canvas *c, struct shapes *shapes)
{
    c->shapes = shapes;
}

static double x_in(const struct area *a, double margin, double x)
{
    return (double)a->column + margin + x * ((double)a->columns - 2 * margin);
}

static double y_in(const struct area *a, double margin, double y)
{
    return (double)a->row + margin + (1 - y) * ((double)a->rows - 2 * margin);
}

/* Records a shape in fractions of the area, owns its text; a margin keeps dots off text around. */
static void record(struct canvas *c, const struct area *a, const struct shape *shape)
{
    struct shapes *s = c->shapes;
    double margin = shape->kind == SHAPE_TEXT || shape->kind == SHAPE_BAR ? 0 : 0.3;

    if (s == NULL) {
        free(shape->text);
        return;
    }
    mem_grow((void **)&s->items, &s->capacity, s->n, sizeof *s->items);
    s->items[s->n] = *shape;
    s->items[s->n].x = x_in(a, margin, shape->x);
    s->items[s->n].y = y_in(a, margin, shape->y);
    s->items[s->n].to_x = x_in(a, margin, shape->to_x);
    s->items[s->n].to_y = y_in(a, margin, shape->to_y);
    s->items[s->n].low = y_in(a, margin, shape->low);
    s->items[s->n++].to_low = y_in(a, margin, shape->to_low);
}

static bool is_inside(double x, double y)
{
    return x >= 0 && x <= 1 && y >= 0 && y <= 1;
}

/* Records the part of a line that lies in the area. */
static void record_line(struct canvas *c, const struct area *a, double x0, double y0, double x1,
                        double y1, int ink)
{
    const double steps[] = { x0 - x1, x1 - x0, y0 - y1, y1 - y0 };
    const double rooms[] = { x0, 1 - x0, y0, 1 - y0 };
    double from = 0, to = 1;

    for (size_t i = 0; i < 4; i++) { /* left, right, bottom, top (Liang and Barsky) */
        double part = rooms[i] / steps[i];

        if (steps[i] == 0 && rooms[i] < 0)
            return;
        if (steps[i] < 0)
            from = fmax(from, part);
        else if (steps[i] > 0)
            to = fmin(to, part);
    }
    if (from <= to)
        record(c, a,
               &(struct shape){ .kind = SHAPE_LINE,
                                .ink = ink,
                                .x = x0 + from * (x1 - x0),
                                .y = y0 + from * (y1 - y0),
                                .to_x = x0 + to * (x1 - x0),
                                .to_y = y0 + to * (y1 - y0) });
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
    if (is_inside(x, y))
        record(c, area, &(struct shape){ .kind = SHAPE_DOT, .ink = ink, .x = x, .y = y });
    set_dots(c, area, x, y, 1, ink);
}

void canvas_spot(struct canvas *c, const struct area *area, double x, double y, int ink)
{
    if (is_inside(x, y))
        record(c, area, &(struct shape){ .kind = SHAPE_SPOT, .ink = ink, .x = x, .y = y });
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
    record_line(c, area, x0, y0, x1, y1, ink);
    n = (size_t)ceil(fmax(fabs(x1 - x0) * (double)(area->columns * c->dots_x),
                          fabs(y1 - y0) * (double)(area->rows * c->dots_y))) +
        1;
    for (size_t i = 0; i <= n; i++) {
        double part = (double)i / (double)n;

        set_dots(c, area, x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, 1, ink);
    }
}

void canvas_axes(struct canvas *c, const struct area *area)
{
    struct shape axis = { .kind = SHAPE_LINE, .ink = INK_DIM, .to_x = 1 };

    record(c, area, &axis);
    axis.to_x = 0;
    axis.to_y = 1;
    record(c, area, &axis);
}

/* Draws the band as dots on cells: 9 between the edges at either end. */
void canvas_band(struct canvas *c, const struct area *area, const double from[3],
                 const double to[3], int ink)
{
    enum { STEPS = 8 };
    struct shape band = { .kind = SHAPE_BAND, .ink = ink, .x = from[0], .to_x = to[0] };

    band.low = fmin(1, fmax(0, from[1]));
    band.y = fmin(1, fmax(0, from[2]));
    band.to_low = fmin(1, fmax(0, to[1]));
    band.to_y = fmin(1, fmax(0, to[2]));
    record(c, area, &band);
    for (int i = 0; i <= STEPS; i++) {
        set_dots(c, area, from[0], from[1] + (from[2] - from[1]) * i / STEPS, 1, INK_DIM);
        set_dots(c, area, to[0], to[1] + (to[2] - to[1]) * i / STEPS, 1, INK_DIM);
    }
}

size_t canvas_columns_of(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        size_t columns;
    } ranges[] = {
        { 0x0300, 0x036f, 0 },   { 0x1100, 0x115f, 2 },   { 0x200b, 0x200f, 0 },
        { 0x2028, 0x202f, 0 },   { 0x2060, 0x206f, 0 },   { 0x20d0, 0x20ff, 0 },
        { 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },   { 0xac00, 0xd7a3, 2 },
        { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },   { 0xfe30, 0xfe6f, 2 },
        { 0xfeff, 0xfeff, 0 },   { 0xff01, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },
        { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 },
        { 0x20000, 0x3fffd, 2 }, { 0xe0000, 0xe0fff, 0 },
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}

size_t canvas_fitting(const char *text, size_t n, size_t columns)
{
    size_t at = 0, used = 0;

    while (at < n) {
        uint32_t code = '?';
        size_t length = utf8_next(text + at, n - at, &code);

        used += canvas_columns_of(code);
        if (used > columns)
            break;
        at += length == 0 ? 1 : length;
    }
    return at;
}

size_t canvas_text(struct canvas *c, size_t column, size_t row, size_t columns, int ink,
                   const char *text)
{
    size_t begin = column, end, n;
    struct buf clean = { 0 };
    const char *at;

    if (column >= c->columns || row >= c->rows)
        return 0;
    end = columns < c->columns - column ? column + columns : c->columns;
    safe_text_add_harmless(&clean, text, strlen(text), "");
    at = buf_text(&clean);
    if (c->shapes != NULL)
        record(
            c, &(struct area){ column, row, 1, 1 },
            &(struct shape){ .kind = SHAPE_TEXT,
                             .ink = ink,
                             .y = 1,
                             .text = mem_strndup(at, canvas_fitting(at, clean.n, end - column)) });
    for (size_t left = clean.n; left > 0; left -= n, at += n) {
        bool is_foreign;
        uint32_t code = '?';
        size_t width;

        n = utf8_next(at, left, &code);
        n = n == 0 ? 1 : n;
        is_foreign = n > 1 && c->dots_x == 1;
        width = canvas_columns_of(code);
        if (width == 0)
            continue;
        if (column + width > end)
            break;
        for (size_t i = 0; i < width; i++, column++) {
            struct cell *cell = cell_at(c, column, row);

            *cell = (struct cell){ .ink = (uint8_t)ink, .is_covered = i > 0 && !is_foreign };
            if (is_foreign || i == 0)
                memcpy(cell->text, is_foreign ? "?" : at, is_foreign ? 1 : n);
        }
    }
    buf_free(&clean);
    return column - begin;
}

void canvas_reverse(struct canvas *c, size_t column, size_t row, size_t columns)
{
    for (size_t i = 0; i < columns; i++) {
        struct cell *cell = cell_at(c, column + i, row);

        if (cell != NULL)
            cell->ink = (uint8_t)(cell->ink | INK_REVERSE);
    }
}

void canvas_scroll(struct canvas *c, const struct area *area, size_t rows)
{
    for (size_t row = 0; row < area->rows; row++)
        for (size_t i = 0; i < area->columns; i++) {
            struct cell *to = cell_at(c, area->column + i, area->row + row);
            const struct cell *from = cell_at(c, area->column + i, area->row + row + rows);

            if (to != NULL)
                *to = from != NULL && row + rows < area->rows ? *from : (struct cell){ 0 };
        }
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
    const struct shape bar = { .kind = SHAPE_BAR, .ink = ink, .y = 0.8, .to_x = 1, .to_y = 0.2 };
    struct shapes *shapes = c->shapes;

    record(c, &(struct area){ column, row, columns, 1 }, &bar);
    c->shapes = NULL; /* in a file the bar is no text */
    for (size_t i = 0; i < columns; i++)
        canvas_text(c, column + i, row, 1, ink, c->dots_x == 2 ? "█" : "#");
    c->shapes = shapes;
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
    if (cell->is_covered)
        return;
    if (cell->text[0] != '\0')
        buf_add_str(out, cell->text);
    else if (cell->dots == 0)
        buf_add_char(out, ' ');
    else if (c->dots_x == 2)
        add_braille(out, cell->dots);
    else
        buf_add_char(out, " '.:"[cell->dots & 3]);
}

int canvas_cell(struct buf *out, const struct canvas *c, size_t column, size_t row)
{
    const struct cell *cell = cell_at(c, column, row);

    if (cell == NULL)
        return INK_PLAIN;
    add_cell(out, c, cell);
    return cell->ink;
}

static bool is_blank(const struct cell *cell)
{
    return cell->dots == 0 && (cell->ink & INK_REVERSE) == 0 && !cell->is_covered &&
           (cell->text[0] == '\0' || cell->text[0] == ' ');
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
