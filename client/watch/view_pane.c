/* SPDX-License-Identifier: MIT */
/* view_pane.c - puts text on panes of `ludwig watch`; signs and colours of job states */
#include "client/watch/view_pane.h"

#include <math.h>

#include "common/proto/states.h"

/* ---- text ---- */

size_t view_put(const struct view *v, const struct area *a, size_t row, size_t column, int ink,
                const char *text)
{
    if (row >= a->rows || column >= a->columns)
        return 0;
    return canvas_text(v->c, a->column + column, a->row + row, a->columns - column, ink, text);
}

size_t view_put_buf(const struct view *v, const struct area *a, size_t row, size_t column, int ink,
                    struct buf *text)
{
    column += view_put(v, a, row, column, ink, buf_text(text));
    buf_free(text);
    return column;
}

void view_put_title(const struct view *v, const struct area *a, enum watch_pane pane,
                    const char *text)
{
    bool has_focus = v->m->focus == pane;
    struct buf title = { 0 };

    for (size_t i = 0; i < a->columns; i++)
        view_put(v, a, 0, i, INK_DIM, v->look->has_utf8 ? "─" : "-");
    buf_printf(&title, "[%d] %s ", (int)pane + 1, text);
    view_put_buf(v, a, 0, 1, has_focus ? INK_STRONG | INK_REVERSE : INK_STRONG, &title);
}

void view_add_number(struct buf *out, double value)
{
    buf_printf(out, fabs(value) >= 1e6 ? "%.3g" : "%.5g", value);
}

const char *view_sweep_name(const struct sweep_info *s)
{
    return s->name != NULL && s->name[0] != '\0' ? s->name : s->project;
}

/* ---- states ---- */

int view_ink_of_state(int state, bool is_paused)
{
    static const int inks[] = { [JOB_LOOKS_PLAIN] = INK_BUSY,
                                [JOB_LOOKS_DIM] = INK_DIM,
                                [JOB_LOOKS_GOOD] = INK_GOOD,
                                [JOB_LOOKS_BAD] = INK_BAD };

    if (is_paused || state == JOB_HELD)
        return INK_WARN;
    return inks[job_look((enum job_state)state)];
}

const char *view_sign_of_state(const struct view *v, int state, bool is_paused, char letter[2])
{
    static const char *const signs[JOB_STATE_COUNT][2] = {
        [JOB_QUEUED] = { ".", "·" },     [JOB_STAGING] = { "v", "↓" }, [JOB_RUNNING] = { "o", "●" },
        [JOB_PUBLISHING] = { "^", "↑" }, [JOB_DONE] = { "#", "■" },    [JOB_FAILED] = { "x", "✗" },
        [JOB_CANCELLED] = { "-", "-" },  [JOB_HELD] = { "!", "!" },
    };
    const char *sign = signs[state][v->look->has_utf8];

    if (is_paused)
        return "=";
    if (sign != NULL)
        return sign;
    letter[0] = job_state_names[state][0];
    letter[1] = '\0';
    return letter;
}
