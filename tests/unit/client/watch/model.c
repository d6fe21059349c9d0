/* SPDX-License-Identifier: MIT */
/* model.c - tests of what `ludwig watch` knows and shows, its keys and its help */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/watch/keys.h"
#include "client/watch/model.h"
#include "client/watch/view.h"
#include "tests/unit/man.h"

/* A sweep of so many jobs: every fifth has failed, the last ten wait, and the one before them runs. */
static struct watch_sweep *fill(struct watch_model *m, int64_t sweep, int64_t n)
{
    struct watch_sweep *s = model_sweep(m, sweep);
    struct sweep_info info = {
        .sweep = sweep, .user = "alice", .project = "digits", .state = SWEEP_RUNNING
    };
    struct arena *a = arena_create();

    for (int64_t i = 1; i <= n; i++) {
        struct member members[] = { { value_str("x"), value_int(i) } };
        struct job_info job = { .job = arena_printf(a, "%" PRId64 ".%" PRId64, sweep, i),
                                .state = i > n - 10    ? JOB_QUEUED
                                         : i == n - 10 ? JOB_RUNNING
                                         : i % 5 == 0  ? JOB_FAILED
                                                       : JOB_DONE,
                                .exit_code = SCHEMA_NONE,
                                .signal = SCHEMA_NONE,
                                .params = { .type = VALUE_MAP, .map = { members, 1 } } };

        info.jobs.of[job.state]++;
        model_take_job(m, s, &job);
        arena_reset(a);
    }
    model_take_sweep(s, &info);
    s->may_see = s->is_whole = true;
    s->is_stale = true;
    arena_destroy(a);
    model_settle(m);
    return s;
}

static void press(struct watch_model *m, const char *keys)
{
    for (; *keys != '\0'; keys++)
        keys_press(m, *keys);
}

static char *drawn(struct watch_model *m, size_t columns, size_t rows, bool has_utf8)
{
    const struct view_look look = { .columns = columns, .rows = rows, .has_utf8 = has_utf8 };
    struct canvas *c = canvas_create(columns, rows, has_utf8);
    struct buf out = { 0 };
    size_t column, row;

    view_draw(m, c, &look, &column, &row);
    assert_true(column < columns && row < rows);
    canvas_add(&out, c, COLOURS_NONE);
    canvas_destroy(c);
    return buf_take(&out);
}

static void assert_shows(struct watch_model *m, const char *wanted)
{
    char *text = drawn(m, 80, 24, true);

    if (strstr(text, wanted) == NULL)
        fail_msg("'%s' is not shown in\n%s", wanted, text);
    free(text);
}

static void the_cursor_begins_at_what_runs_and_moves(void **state)
{
    struct watch_model m;
    struct watch_sweep *s;

    (void)state;
    model_init(&m);
    s = fill(&m, 7, 100);
    assert_int_equal(s->cursor, 90);
    press(&m, "g");
    assert_int_equal(s->cursor, 1);
    press(&m, "llh");
    assert_int_equal(s->cursor, 2);
    press(&m, "f");
    assert_int_equal(s->cursor, 5);
    press(&m, "F");
    assert_int_equal(s->cursor, 85); /* from the first one on from the end */
    press(&m, "G");
    assert_int_equal(s->cursor, 100);
    press(&m, "l");
    assert_int_equal(s->cursor, 100);
    model_free(&m);
}

static void a_filter_leaves_jobs_out_and_a_mistake_changes_nothing(void **state)
{
    struct watch_model m;
    struct watch_sweep *s;

    (void)state;
    model_init(&m);
    s = fill(&m, 7, 100);
    press(&m, "/state = failed and x > 50\n");
    model_settle(&m);
    assert_int_equal(s->n_shown, 7);
    assert_int_equal(s->shown[0], 55);
    press(&m, "/");
    assert_string_equal(m.input, "state = failed and x > 50");
    press(&m, "\025x >\n");
    assert_string_equal(m.filter, "state = failed and x > 50");
    assert_true(m.is_notice_bad);
    keys_press(&m, KEYS_ESCAPE);
    model_settle(&m);
    assert_int_equal(s->n_shown, 100);
    /* Letters of several bytes go as one. */
    press(&m, "/");
    keys_press(&m, 0xe4);
    keys_press(&m, 0x72d7);
    assert_string_equal(m.input, "\xc3\xa4\xe7\x8b\x97");
    keys_press(&m, KEYS_BACKSPACE);
    assert_string_equal(m.input, "\xc3\xa4");
    model_free(&m);
}

static void assert_order(struct watch_model *m, enum msg_type type, size_t n,
                         const struct target *targets)
{
    assert_int_equal(m->order.type, type);
    assert_int_equal(m->order.n, n);
    assert_memory_equal(m->order.targets, targets, n * sizeof *targets);
    free(m->order.targets);
    m->order = (struct watch_order){ 0 };
}

static void a_change_is_asked_about_and_concerns_what_is_selected(void **state)
{
    struct watch_model m;

    (void)state;
    model_init(&m);
    fill(&m, 7, 100);
    press(&m, "c");
    assert_string_equal(m.question, "Cancel job 7.90?");
    press(&m, "n");
    assert_int_equal(m.order.type, 0);
    press(&m, "cy");
    assert_order(&m, MSG_CANCEL, 1, (const struct target[]){ { 7, 90, 90 } });
    /* Of those that are selected, those that it concerns. */
    press(&m, "ac");
    assert_string_equal(m.question, "Cancel 11 jobs of sweep 7?");
    press(&m, "y");
    assert_order(&m, MSG_CANCEL, 1, (const struct target[]){ { 7, 90, 100 } });
    press(&m, "g f ");
    press(&m, "f ");
    press(&m, "r");
    assert_string_equal(m.question, "Retry 2 jobs of sweep 7?");
    press(&m, "y");
    assert_order(&m, MSG_RETRY, 2, (const struct target[]){ { 7, 5, 5 }, { 7, 10, 10 } });
    press(&m, "gu");
    assert_null(m.question);
    assert_string_equal(m.notice, "nothing to resume: none of these jobs is paused or held");
    press(&m, "1s");
    assert_string_equal(m.question, "Pause sweep 7: 10 jobs?");
    press(&m, "Y");
    assert_order(&m, MSG_PAUSE, 1, (const struct target[]){ { 7, 0, 0 } });
    model_free(&m);
}

static void a_grid_of_many_jobs_has_cells_for_several(void **state)
{
    struct watch_model m;
    struct watch_sweep *s;
    char *text;

    (void)state;
    model_init(&m);
    s = fill(&m, 7, 100000);
    text = drawn(&m, 80, 24, true);
    assert_true(m.jobs_per_cell > 100);
    free(text);
    press(&m, "g ");
    assert_int_equal(model_n_marked(s), m.jobs_per_cell);
    press(&m, "jl");
    assert_int_equal(s->cursor, (int64_t)(m.jobs_per_cell * (m.cells_per_row + 1)) + 1);
    press(&m, "z");
    text = drawn(&m, 80, 24, true);
    assert_int_equal(m.jobs_per_cell, 1);
    free(text);
    model_free(&m);
}

static const char *line_at(const struct watch_model *m, size_t i)
{
    return m->lines[(m->first_line + i) % WATCH_LOG_LINES];
}

static void a_log_is_lines_without_what_moves_the_cursor(void **state)
{
    struct watch_model m;
    char *text;

    (void)state;
    model_init(&m);
    model_begin_log(&m, "logs/1", 7, 1);
    model_add_log(&m, "a\nb", 3);
    model_add_log(&m, "c\n10%\r20%", 9);
    model_add_log(&m, "\r30%\r\n\033[31mred\033[0m\n", 19);
    assert_int_equal(m.n_lines, 4);
    assert_string_equal(line_at(&m, 1), "bc");
    assert_string_equal(line_at(&m, 2), "30%\r");
    assert_string_equal(line_at(&m, 3), "red");
    /* What is long is cut, and what is old goes. */
    for (int i = 0; i < 100; i++)
        model_add_log(
            &m,
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "xxxxxxxxxxxxxxxxxxxx",
            100);
    assert_in_range(strlen(line_at(&m, 4)), WATCH_LINE_BYTES, WATCH_LINE_BYTES + 100);
    for (int i = 0; i < 2 * WATCH_LOG_LINES; i++)
        model_add_log(&m, "\n\0z\033]0;t\a\n", 10);
    assert_int_equal(m.n_lines, WATCH_LOG_LINES);
    assert_string_equal(line_at(&m, WATCH_LOG_LINES - 1), " z\033]0;t\a");
    fill(&m, 7, 20);
    press(&m, "4");
    text = drawn(&m, 80, 24, true);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\a'));
    assert_non_null(strstr(text, "^[]0;t^G"));
    free(text);
    model_free(&m);
}

static void curves_are_thinned_and_drawn_whatever_their_numbers(void **state)
{
    static const double odd[] = { 1e308, -1e308, (double)NAN, (double)INFINITY, 3 };
    struct watch_model m;
    struct watch_curve *c;

    (void)state;
    model_init(&m);
    fill(&m, 7, 20);
    c = &m.curves[0];
    model_begin_curve(c, 7, 10, "metrics.jsonl");
    for (int i = 0; i < 10 * WATCH_POINTS_MAX; i++)
        model_add_point(c, "loss!", 4, (double)NAN, i);
    assert_int_equal(c->n, 1);
    assert_in_range(c->series[0].n, WATCH_POINTS_MAX / 2, WATCH_POINTS_MAX);
    assert_true(c->series[0].last_x == 10 * WATCH_POINTS_MAX - 1);
    assert_shows(&m, "curves of loss ");
    assert_shows(&m, "a 7.10 5119");
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        model_add_point(c, "odd", 3, (double)i, odd[i]);
    press(&m, "m");
    assert_shows(&m, "curves of odd ");
    assert_shows(&m, "1e+308");
    model_free(&m);
}

static void every_size_and_locale_is_drawn(void **state)
{
    struct watch_model m;

    (void)state;
    model_init(&m);
    for (int64_t sweep = 1; sweep <= WATCH_SWEEPS_MAX; sweep++)
        fill(&m, sweep, 30);
    assert_null(model_sweep(&m, 99));
    for (size_t columns = 1; columns < 260; columns += 13)
        for (size_t rows = 1; rows < 80; rows += 3)
            for (int pane = '1'; pane <= '5'; pane++) {
                char keys[] = { (char)pane, columns % 2 == 0 ? '?' : 'j', '\0' };

                press(&m, keys);
                free(drawn(&m, columns, rows, rows % 2 == 0));
                m.has_help = false;
            }
    model_free(&m);
    /* Nothing is known yet. */
    model_init(&m);
    free(drawn(&m, 80, 24, true));
    press(&m, "kjhlgGfF amMzcsur");
    model_free(&m);
}

static void without_utf8_all_is_ascii(void **state)
{
    struct watch_model m;
    char *text;

    (void)state;
    model_init(&m);
    fill(&m, 7, 100);
    text = drawn(&m, 200, 60, false);
    for (const char *at = text; *at != '\0'; at++)
        assert_true(*at == '\n' || (*at >= ' ' && *at < 0x7f));
    free(text);
    model_free(&m);
}

static void the_keys_are_in_the_help_and_in_the_manual(void **state)
{
    char *page = man_read("ludwig.1"), *part = man_part(page, ".Ss ludwig watch", ".Ss ", ".Sh ");
    struct watch_model m;
    size_t n = 0;

    (void)state;
    model_init(&m);
    press(&m, "?");
    for (const struct watch_key *row = watch_keys; row->shown != NULL; row++, n++) {
        /* mdoc takes a bare ? for punctuation. */
        char *wanted = mem_printf(
            "\n.It Ic %s%s\n%c%s.\n", row->shown[0] == '?' ? "\\&" : "", row->shown,
            row->help[0] >= 'a' && row->help[0] <= 'z' ? row->help[0] - 32 : row->help[0],
            row->help + 1);

        assert_shows(&m, row->help);
        if (strstr(part, wanted) == NULL)
            fail_msg("ludwig.1, watch: lacks these lines:%s", wanted);
        free(wanted);
    }
    for (const char *at = part; (at = strstr(at, "\n.It Ic ")) != NULL; at++)
        n--;
    assert_int_equal(n, 0);
    free(part);
    free(page);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cursor_begins_at_what_runs_and_moves),
        cmocka_unit_test(a_filter_leaves_jobs_out_and_a_mistake_changes_nothing),
        cmocka_unit_test(a_change_is_asked_about_and_concerns_what_is_selected),
        cmocka_unit_test(a_grid_of_many_jobs_has_cells_for_several),
        cmocka_unit_test(a_log_is_lines_without_what_moves_the_cursor),
        cmocka_unit_test(curves_are_thinned_and_drawn_whatever_their_numbers),
        cmocka_unit_test(every_size_and_locale_is_drawn),
        cmocka_unit_test(without_utf8_all_is_ascii),
        cmocka_unit_test(the_keys_are_in_the_help_and_in_the_manual),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
