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
#include <stdint.h>

#include "common/base/buf.h"

enum colours { COLOURS_NONE, COLOURS_16, COLOURS_256, COLOURS_TRUE };

/* Returns which colours the terminal on fd has, by COLORTERM and TERM. */
enum colours colours_of(int fd);

/* Inks to draw with.  INK_RAMP is the first of INK_RAMP_STEPS inks for ranks, the worst first. */
enum { INK_RAMP_STEPS = 16 };
enum ink {
    INK_PLAIN,
    INK_DIM,
    INK_STRONG,
    INK_RAMP,
    INK_GOOD = INK_RAMP + INK_RAMP_STEPS,
    INK_BAD,
    INK_BUSY,
    INK_WARN,
    INK_COUNT,
    INK_REVERSE = 64 /* added to another ink: text and background change colours */
};
/* Returns the ink of the ramp for a rank between 0, the worst, and 1, the best; INK_DIM for NAN. */
int ink_of_rank(double rank);

/* A rectangle of cells: its upper left cell and its size. */
struct area {
    size_t column, row, columns, rows;
};

struct canvas;
struct canvas *canvas_create(size_t columns, size_t rows, bool has_braille);
void canvas_destroy(struct canvas *c);
struct shapes;
/* From now on records each drawing in shapes, too (picture.h).  shapes must outlive the canvas. */
void canvas_record(struct canvas *c, struct shapes *shapes);

/* Draws a dot.  This function and the next ones draw nothing outside the area. */
void canvas_dot(struct canvas *c, const struct area *area, double x, double y, int ink);
/* Draws a spot, which is easier to see: four dots in braille, else one. */
void canvas_spot(struct canvas *c, const struct area *area, double x, double y, int ink);
/* Draws the part of a line that lies in the area. */
void canvas_line(struct canvas *c, const struct area *area, const double from[2],
                 const double to[2], int ink);
/* Records lines at the area's left and bottom edges; on the cells there is no room for them. */
void canvas_axes(struct canvas *c, const struct area *area);
/* Fills the band between two vertical edges; from and to hold x, the lower y and the upper y. */
void canvas_band(struct canvas *c, const struct area *area, const double from[3],
                 const double to[3], int ink);
/* Returns how many columns a character takes: 2 for East Asian wide ones and emoji, 0 for combining
 * marks, else 1. */
size_t canvas_columns_of(uint32_t c);
/* Writes text from this column on.  Makes it harmless and cuts it after `columns` columns or at the
 * canvas' edge; without braille, question marks replace characters that are not ASCII.  Returns how
 * many columns the text took. */
size_t canvas_text(struct canvas *c, size_t column, size_t row, size_t columns, int ink,
                   const char *text);
/* Returns how many bytes of harmless text fit into so many columns. */
size_t canvas_fitting(const char *text, size_t n, size_t columns);
/* As canvas_text, but the text ends before column end. */
void canvas_text_before(struct canvas *c, size_t end, size_t row, size_t columns, int ink,
                        const char *text);
/* Shows these cells in reverse (INK_REVERSE). */
void canvas_reverse(struct canvas *c, size_t column, size_t row, size_t columns);
/* Moves the content of the area up by so many rows; the lowest rows become empty. */
void canvas_scroll(struct canvas *c, const struct area *area, size_t rows);
/* Draws a bar that is so many columns long. */
void canvas_bar(struct canvas *c, size_t column, size_t row, size_t columns, int ink);

/* Appends the cell's character, nothing for the right half of a wide one.  Returns its ink. */
int canvas_cell(struct buf *out, const struct canvas *c, size_t column, size_t row);
/* Sets colour to red, green and blue of an ink of the ramp. */
void canvas_ramp_colour(int ink, uint8_t colour[3]);
/* Appends all rows as lines of text with the terminal's colour sequences; blanks at the ends of
 * lines are left out. */
void canvas_add(struct buf *out, const struct canvas *c, enum colours colours);

#endif
