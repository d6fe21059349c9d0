/* SPDX-License-Identifier: MIT */
/*
 * canvas.h - draws dots, lines and text on the cells of a terminal
 *
 * A cell shows 2 x 4 dots by a braille character or, without UTF-8, 1 x 2 dots by an ASCII
 * character.  Coordinates x and y within an area are fractions of its width and height, from 0 at
 * the left and bottom to 1.  Columns and rows of cells count from 0 at the left and top.
 */
#ifndef LUDWIG_CLIENT_PLOT_CANVAS_H
#define LUDWIG_CLIENT_PLOT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"

enum colours { COLOURS_NONE, COLOURS_16, COLOURS_256, COLOURS_TRUE };

/* Returns which colours the terminal on fd has, by COLORTERM and TERM. */
enum colours colours_of(int fd);

/* What is drawn with: plain, or a step of the ramp from the worst to the best. */
enum ink { INK_PLAIN, INK_DIM, INK_STRONG, INK_RAMP };
enum { INK_RAMP_STEPS = 16 };
/* rank: 0 is the worst, 1 the best; NAN: INK_DIM. */
int ink_of_rank(double rank);

/* A rectangle of cells: its upper left cell and its size. */
struct area {
    size_t column, row, columns, rows;
};

struct canvas;
struct canvas *canvas_create(size_t columns, size_t rows, bool has_braille);
void canvas_destroy(struct canvas *c);

/* Draws a dot.  This function and the next ones draw nothing outside the area. */
void canvas_dot(struct canvas *c, const struct area *area, double x, double y, int ink);
/* Draws a spot, which is easier to see: four dots in braille, else one. */
void canvas_spot(struct canvas *c, const struct area *area, double x, double y, int ink);
/* Draws the part of a line that lies in the area. */
void canvas_line(struct canvas *c, const struct area *area, const double from[2],
                 const double to[2], int ink);
/* Text is made harmless, and cut at so many columns or the canvas' end. */
void canvas_text(struct canvas *c, size_t column, size_t row, size_t columns, int ink,
                 const char *text);
/* The same, so that it ends before that column. */
void canvas_text_before(struct canvas *c, size_t end, size_t row, size_t columns, int ink,
                        const char *text);
/* A bar of so many columns. */
void canvas_bar(struct canvas *c, size_t column, size_t row, size_t columns, int ink);

/* Appends the rows, without blanks at their ends. */
void canvas_add(struct buf *out, const struct canvas *c, enum colours colours);

#endif
