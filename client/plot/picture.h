/* SPDX-License-Identifier: MIT */
/*
 * picture.h - makes an SVG, PNG or PDF file of the shapes that a canvas recorded
 *
 * A canvas records shapes (canvas_record) with the coordinates that it was given, not as dots of
 * cells, so that the picture is sharp at any size.  Letters are as wide as cells: PNG and PDF use
 * the program's own font (font.h), with Latin, Greek and Cyrillic letters; SVG uses the viewer's
 * font, scaled to that width.  The same shapes give the same bytes.
 */
#ifndef LUDWIG_CLIENT_PLOT_PICTURE_H
#define LUDWIG_CLIENT_PLOT_PICTURE_H

#include "client/plot/canvas.h"
#include "common/base/err.h"

enum picture_form { PICTURE_SVG, PICTURE_PNG, PICTURE_PDF, PICTURE_FORM_COUNT };

/* Returns the form for the ending of the file's name; PICTURE_FORM_COUNT for an unknown ending. */
enum picture_form picture_form_of(const char *path);

enum shape_kind { SHAPE_LINE, SHAPE_DOT, SHAPE_SPOT, SHAPE_BAR, SHAPE_BAND, SHAPE_TEXT };

/* A recorded shape; x and y count cells from the canvas' left and top. */
struct shape {
    enum shape_kind kind;
    int ink;
    double x, y;
    double to_x, to_y;  /* a line's or band's other end, a bar's other corner */
    double low, to_low; /* a band's lower edge at x and at to_x */
    char *text;         /* harmless UTF-8, which shapes_free frees; NULL: none */
};

struct shapes {
    struct shape *items;
    size_t n, capacity;
};

void shapes_free(struct shapes *s);
/* Appends the whole file, for a canvas of so many cells.  Returns 0, or -1 with e set. */
int picture_add(struct buf *out, const struct shapes *s, size_t columns, size_t rows,
                enum picture_form form, struct err *e);

#endif
