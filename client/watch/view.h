/* SPDX-License-Identifier: MIT */
/*
 * view.h - draws the model of `ludwig watch` on the cells of a terminal
 *
 * A large terminal (from VIEW_WIDE_COLUMNS x VIEW_WIDE_ROWS on) shows all panes; a smaller one
 * shows sweeps, jobs and one other pane below them.
 */
#ifndef LUDWIG_CLIENT_WATCH_VIEW_H
#define LUDWIG_CLIENT_WATCH_VIEW_H

#include "client/plot/canvas.h"
#include "client/watch/model.h"

enum {
    VIEW_COLUMNS_LEAST = 40,
    VIEW_ROWS_LEAST = 12,
    VIEW_WIDE_COLUMNS = 120,
    VIEW_WIDE_ROWS = 30
};

struct view_look {
    size_t columns, rows; /* of the terminal and the canvas */
    bool has_utf8;
    int64_t now_ms;  /* now, since 1970 */
    int64_t tick_ms; /* now, by the monotonic clock */
};

/* Draws the model on c and sets where the cursor should stand.  Sets m->jobs_per_cell and
 * m->cells_per_row by the grid of jobs that it drew. */
void view_draw(struct watch_model *m, struct canvas *c, const struct view_look *look,
               size_t *cursor_column, size_t *cursor_row);

#endif
