/* SPDX-License-Identifier: MIT */
/*
 * raster.h - draws lines, areas and letters on pixels with FreeType, and makes a PNG with libpng
 */
#ifndef LUDWIG_CLIENT_PLOT_RASTER_H
#define LUDWIG_CLIENT_PLOT_RASTER_H

#include <stdbool.h>

#include "client/plot/font.h"

/* x and y count points (1/72 inch) from the left and from the bottom. */
struct raster;
struct raster *raster_create(const struct font *font, double width, double height);
void raster_destroy(struct raster *r);

/* Sets the colour of the shapes that are drawn next. */
void raster_colour(struct raster *r, const uint8_t rgb[3]);
/* Draws a line with round ends, width points wide; a dot if from equals to. */
void raster_line(struct raster *r, const double from[2], const double to[2], double width);
/* Fills the quadrangle with four corners, given as x, y, x, y ... */
void raster_fill(struct raster *r, const double corners[8]);
/* Draws a glyph with its origin at x, y; size: of the font, in points. */
void raster_glyph(struct raster *r, double x, double y, double size, FT_UInt glyph, bool is_bold);
/* Appends the whole PNG file.  Returns 0, or -1 with e set. */
int raster_add_png(struct buf *out, const struct raster *r, struct err *e);

#endif
