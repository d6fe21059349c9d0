/* SPDX-License-Identifier: MIT */
/*
 * view_pane.h - functions for all panes of `ludwig watch`: text, and signs and colours of states
 *
 * Each pane draws in an area of the canvas.  Rows and columns count from the area's upper left
 * corner; text is cut off at its edges.
 */
#ifndef LUDWIG_CLIENT_WATCH_VIEW_PANE_H
#define LUDWIG_CLIENT_WATCH_VIEW_PANE_H

#include "client/watch/view.h"
#include "common/base/buf.h"

struct view {
    struct watch_model *m;
    struct canvas *c;
    const struct view_look *look;
    struct arena *arena;
    size_t cursor_column, cursor_row;
};

/* Writes text in this ink; returns how many columns it took. */
size_t view_put(const struct view *v, const struct area *a, size_t row, size_t column, int ink,
                const char *text);
/* Writes text and frees it; returns the column behind the text. */
size_t view_put_buf(const struct view *v, const struct area *a, size_t row, size_t column, int ink,
                    struct buf *text);
/* Writes a pane's first row, "─[3] 3 curves of accuracy ───"; in reverse if it has the focus. */
void view_put_title(const struct view *v, const struct area *a, enum watch_pane pane,
                    const char *text);
/* Appends the value with five digits, from 1e6 on with three. */
void view_add_number(struct buf *out, double value);
/* Returns the sweep's name or, if it has none, its project. */
const char *view_sweep_name(const struct sweep_info *s);

/* state: enum job_state. */
int view_ink_of_state(int state, bool is_paused);
/* Returns the sign of a job state.  A state without a sign gets the first letter of its name, for
 * which letter gives the room. */
const char *view_sign_of_state(const struct view *v, int state, bool is_paused, char letter[2]);

/* ---- the two large panes ---- */

void view_draw_jobs(struct view *v, const struct area *a);
/* Returns how many rows the pane of jobs needs, but at most `most`. */
size_t view_jobs_rows(struct view *v, size_t columns, size_t most);

void view_draw_curves(struct view *v, const struct area *a);

#endif
