/* SPDX-License-Identifier: MIT */
/*
 * plot.h - draws a sweep on the cells of a terminal or as a picture (`ludwig plot`)
 *
 * The plot shows the configurations' curves with a band around the best one, the best value so far
 * over time, the importance of parameters, and a strip for each parameter.
 */
#ifndef LUDWIG_CLIENT_PLOT_PLOT_H
#define LUDWIG_CLIENT_PLOT_PLOT_H

#include "client/plot/canvas.h"
#include "client/plot/picture.h"
#include "client/results/gather.h"

struct plot_size {
    size_t columns, rows; /* of cells; the plot has at least 20 rows */
    bool has_braille;
    enum colours colours;
};

/* Appends the plot of the metric with this index.  g's aggregate must be sorted by the metric, the
 * best first, and the first configuration must have a finite mean. */
void plot_add(struct buf *out, struct gathered *g, size_t metric, const struct plot_size *size);
/* Appends the content of a picture file with the plot at 120 x 50 cells; same conditions.  Returns
 * 0, or -1 with e set. */
int plot_add_picture(struct buf *out, struct gathered *g, size_t metric, enum picture_form form,
                     struct err *e);

#endif
