/* SPDX-License-Identifier: MIT */
/* keys.c - what each key does in `ludwig watch` */
#include "client/watch/keys.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/utf8.h"

enum { PAGE_ROWS = 10, CONTROL_C = 3, CONTROL_H = 8, CONTROL_U = 21, CONTROL_W = 23, DELETE = 127 };

static void focus_on(struct watch_model *m, enum watch_pane pane)
{
    m->focus = pane;
    if (pane >= PANE_CURVES)
        m->lower = pane;
}

static size_t moved(size_t at, int64_t by)
{
    return by < 0 && at < (size_t)-by ? 0 : (size_t)((int64_t)at + by);
}

/* Moves in the pane that has the focus by rows, and in the grid of jobs also by cells. */
static void move_by(struct watch_model *m, int64_t rows, int64_t cells)
{
    int64_t each = (int64_t)m->jobs_per_cell;

    if (m->focus == PANE_SWEEPS)
        model_choose_sweep(m, moved(m->sweep, rows));
    else if (m->focus == PANE_LOG)
        m->log_back = moved(m->log_back, -rows);
    else if (m->focus == PANE_NODES)
        m->first_node = moved(m->first_node, rows);
    else
        model_move(m, (rows * (int64_t)m->cells_per_row + cells) * each);
    if (m->log_back > m->n_lines)
        m->log_back = m->n_lines;
    if (m->first_node >= m->nodes.nodes.n)
        m->first_node = m->nodes.nodes.n > 0 ? m->nodes.nodes.n - 1 : 0;
}

static void on_row(struct watch_model *m, int key)
{
    move_by(m, key == KEYS_UP || key == 'k' ? -1 : 1, 0);
}

static void on_cell(struct watch_model *m, int key)
{
    move_by(m, 0, key == KEYS_LEFT || key == 'h' ? -1 : 1);
}

static void on_page(struct watch_model *m, int key)
{
    move_by(m, key == KEYS_PAGE_UP ? -PAGE_ROWS : PAGE_ROWS, 0);
}

static void on_end_of_pane(struct watch_model *m, int key)
{
    bool is_first = key == 'g' || key == KEYS_HOME;
    int64_t by = is_first ? INT32_MIN : INT32_MAX;

    if (m->focus == PANE_SWEEPS)
        model_choose_sweep(m, is_first || m->n_sweeps == 0 ? 0 : m->n_sweeps - 1);
    else if (m->focus == PANE_JOBS || m->focus == PANE_CURVES)
        model_move(m, by);
    else
        move_by(m, by, 0);
}

static void on_next_pane(struct watch_model *m, int key)
{
    int step = key == KEYS_BACK_TAB ? PANE_COUNT - 1 : 1;

    focus_on(m, (enum watch_pane)(((int)m->focus + step) % PANE_COUNT));
}

static void on_digit(struct watch_model *m, int key)
{
    focus_on(m, (enum watch_pane)(key - '1'));
}

static void on_enter(struct watch_model *m, int key)
{
    (void)key;
    focus_on(m, m->focus == PANE_SWEEPS ? PANE_JOBS : m->focus == PANE_JOBS ? PANE_LOG : PANE_JOBS);
}

static void on_failed(struct watch_model *m, int key)
{
    model_find_failed(m, key == 'f' ? 1 : -1);
}

static void on_filter(struct watch_model *m, int key)
{
    (void)key;
    m->is_typing = true;
    m->n_input = m->filter != NULL ? strlen(m->filter) : 0;
    if (m->n_input > WATCH_INPUT_BYTES)
        m->n_input = 0;
    if (m->n_input > 0)
        memcpy(m->input, m->filter, m->n_input);
    m->input[m->n_input] = '\0';
}

static void on_mark(struct watch_model *m, int key)
{
    (void)key;
    model_mark(m);
}

static void on_mark_all(struct watch_model *m, int key)
{
    const struct watch_sweep *s = model_chosen(m);

    (void)key;
    if (s != NULL)
        model_mark_all(m, model_n_marked(s) == 0);
}

static void on_escape(struct watch_model *m, int key)
{
    const struct watch_sweep *s = model_chosen(m);

    (void)key;
    if (s != NULL && model_n_marked(s) > 0)
        model_mark_all(m, false);
    else if (m->filter != NULL)
        model_set_filter(m, "");
    m->log_back = 0;
}

static void on_pin(struct watch_model *m, int key)
{
    (void)key;
    model_pin(m);
}

static void on_measure(struct watch_model *m, int key)
{
    struct arena *a = arena_create();
    const struct list metrics = model_metrics(m, a);
    const char *now = model_metric(m, a), *const *names = metrics.items;
    size_t i = 0;

    while (i < metrics.n && strcmp(names[i], now) != 0)
        i++;
    if (metrics.n > 0) {
        i = (i + (key == 'm' ? 1 : metrics.n - 1)) % metrics.n;
        free(m->metric);
        m->metric = mem_strdup(names[i]);
    }
    arena_destroy(a);
}

static void on_zoom(struct watch_model *m, int key)
{
    (void)key;
    m->is_zoomed = !m->is_zoomed;
}

static void on_cancel(struct watch_model *m, int key)
{
    (void)key;
    model_ask(m, MSG_CANCEL);
}

static void on_pause(struct watch_model *m, int key)
{
    (void)key;
    model_ask(m, MSG_PAUSE);
}

static void on_resume(struct watch_model *m, int key)
{
    (void)key;
    model_ask(m, MSG_RESUME);
}

static void on_retry(struct watch_model *m, int key)
{
    (void)key;
    model_ask(m, MSG_RETRY);
}

static void on_help(struct watch_model *m, int key)
{
    (void)key;
    m->has_help = true;
}

static void on_quit(struct watch_model *m, int key)
{
    (void)key;
    m->wants_end = true;
}

const struct watch_key watch_keys[] = {
    { "Up, Down",
      { KEYS_UP, KEYS_DOWN, 'k', 'j' },
      on_row,
      "a row up or down; in the log: back or on" },
    { "Left, Right",
      { KEYS_LEFT, KEYS_RIGHT, 'h', 'l' },
      on_cell,
      "to the job before, or the next one" },
    { "PgUp, PgDn", { KEYS_PAGE_UP, KEYS_PAGE_DOWN }, on_page, "ten rows up or down" },
    { "g, G",
      { 'g', 'G', KEYS_HOME, KEYS_END },
      on_end_of_pane,
      "to the first one; G: to the last, so that the log follows" },
    { "Tab",
      { '\t', KEYS_BACK_TAB },
      on_next_pane,
      "to the next pane; Shift-Tab: to the one before" },
    { "1 to 5",
      { '1', '2', '3', '4', '5' },
      on_digit,
      "to sweeps, jobs, curves, the log, or nodes and pilots" },
    { "Enter", { '\r', '\n' }, on_enter, "from a sweep to its jobs, from a job to its log" },
    { "f, F", { 'f', 'F' }, on_failed, "to the next job that failed; F: the one before" },
    { "/", { '/' }, on_filter, "show only jobs for which a test holds, as: lr > 0.01" },
    { "Space", { ' ' }, on_mark, "select the job, or no longer" },
    { "a", { 'a' }, on_mark_all, "select all jobs that are shown, or none" },
    { "Esc", { KEYS_ESCAPE }, on_escape, "select none; then: show all jobs" },
    { "p", { 'p' }, on_pin, "pin the job: its curve stays" },
    { "m, M", { 'm', 'M' }, on_measure, "draw the next measure; M: the one before" },
    { "z", { 'z' }, on_zoom, "a cell for each job, or all jobs in sight" },
    { "c", { 'c' }, on_cancel, "cancel the selected jobs, the job, or the sweep" },
    { "s", { 's' }, on_pause, "pause (stop giving out) them" },
    { "u", { 'u' }, on_resume, "resume them" },
    { "r", { 'r' }, on_retry, "retry those that failed or were cancelled" },
    { "?", { '?' }, on_help, "this help" },
    { "q", { 'q', CONTROL_C }, on_quit, "end the view; the jobs go on" },
    { 0 },
};

/* ---- typing ---- */

static void drop_character(struct watch_model *m)
{
    while (m->n_input > 0 && !utf8_begins(m->input[m->n_input - 1]))
        m->n_input--;
    m->n_input -= m->n_input > 0;
}

static void type(struct watch_model *m, int key)
{
    if (key == '\r' || key == '\n' || key == KEYS_ESCAPE || key == CONTROL_C) {
        m->is_typing = false;
        if (key == '\r' || key == '\n')
            model_set_filter(m, m->input);
        return;
    }
    if (key == KEYS_BACKSPACE || key == CONTROL_H || key == DELETE) {
        drop_character(m);
    } else if (key == CONTROL_U) {
        m->n_input = 0;
    } else if (key == CONTROL_W) {
        while (m->n_input > 0 && m->input[m->n_input - 1] == ' ')
            m->n_input--;
        while (m->n_input > 0 && m->input[m->n_input - 1] != ' ')
            m->n_input--;
    } else if (key >= ' ' && key < KEYS_UP) {
        char bytes[4];
        size_t n = 0;

        if (key < 0x80) {
            bytes[n++] = (char)key;
        } else if (key < 0x800) {
            bytes[n++] = (char)(0xc0 | key >> 6);
        } else {
            if (key < 0x10000) {
                bytes[n++] = (char)(0xe0 | key >> 12);
            } else {
                bytes[n++] = (char)(0xf0 | key >> 18);
                bytes[n++] = (char)(0x80 | (key >> 12 & 0x3f));
            }
            bytes[n++] = (char)(0x80 | (key >> 6 & 0x3f));
        }
        if (key >= 0x80)
            bytes[n++] = (char)(0x80 | (key & 0x3f));
        if (m->n_input + n <= WATCH_INPUT_BYTES) {
            memcpy(m->input + m->n_input, bytes, n);
            m->n_input += n;
        }
    }
    m->input[m->n_input] = '\0';
}

void keys_press(struct watch_model *m, int key)
{
    m->key_at_ms = units_monotonic_ms();
    if (m->question != NULL) {
        model_answer(m, key == 'y' || key == 'Y');
        return;
    }
    if (m->is_typing) {
        type(m, key);
        return;
    }
    if (m->has_help) {
        m->has_help = false;
        return;
    }
    for (const struct watch_key *row = watch_keys; row->shown != NULL; row++)
        for (size_t i = 0; i < sizeof row->keys / sizeof row->keys[0]; i++)
            if (row->keys[i] != 0 && row->keys[i] == key) {
                row->act(m, key);
                return;
            }
}
