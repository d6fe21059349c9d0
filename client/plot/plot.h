/* SPDX-License-Identifier: MIT */
/*
 * plot.h - a sweep on the cells of a terminal: ludwig plot
 *
 * Curves of the configurations with the best one's band, the best value so far, importance, and a strip
 * for each parameter, in as many rows as there are.
 */
#ifndef LUDWIG_CLIENT_PLOT_PLOT_H
#define LUDWIG_CLIENT_PLOT_PLOT_H

#include "client/plot/canvas.h"
#include "client/results/gather.h"

struct plot_size {
    size_t columns, rows; /* fewer than 20 rows are not enough, and so many are taken */
    bool has_braille;
    enum colours colours;
};

/* Appends what there is of the metric.  The aggregate is sorted by it, the best first, and the first
 * configuration has a finite mean. */
void plot_add(struct buf *out, struct gathered *g, size_t metric, const struct plot_size *size);

#endif
