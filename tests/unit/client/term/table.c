/* SPDX-License-Identifier: MIT */
/* table.c - tests of aligned columns, harmless text, and what is shown of a sweep */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/sweepview.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"

static const struct column columns[] = { { "N", true, false },
                                         { "NAME", false, true },
                                         { "STATE", false, false } };

static void columns_are_aligned(void **state)
{
    struct table *t = table_create(columns, 3, SIZE_MAX, false);
    struct buf out = { 0 };

    (void)state;
    table_printf(t, TONE_PLAIN, "%d", 7);
    table_add(t, TONE_PLAIN, "ünï");
    table_add(t, TONE_GOOD, "done");
    table_add(t, TONE_PLAIN, "1234");
    table_add(t, TONE_PLAIN, NULL);
    table_add(t, TONE_BAD, "failed");
    table_flush(t, &out);
    assert_string_equal(buf_text(&out), "   N  NAME  STATE\n"
                                        "   7  ünï   done\n"
                                        "1234        failed\n");
    table_destroy(t);
    buf_free(&out);
}

static void later_parts_keep_the_widths_and_have_no_head(void **state)
{
    struct table *t = table_create(columns, 3, SIZE_MAX, false);
    struct buf out = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        table_add(t, TONE_PLAIN, "1");
        table_add(t, TONE_PLAIN, i == 0 ? "longer name" : "x");
        table_add(t, TONE_PLAIN, "up");
        buf_clear(&out);
        table_flush(t, &out);
    }
    assert_string_equal(buf_text(&out), "1  x            up\n");
    table_destroy(t);
    buf_free(&out);
}

static void a_narrow_terminal_shrinks_what_may_shrink(void **state)
{
    struct table *t = table_create(columns, 3, 24, false);
    struct buf out = { 0 };

    (void)state;
    table_add(t, TONE_PLAIN, "1");
    table_add(t, TONE_PLAIN, "a name that is far too long");
    table_add(t, TONE_PLAIN, "done");
    table_flush(t, &out);
    assert_string_equal(buf_text(&out), "N  NAME            STATE\n"
                                        "1  a name that i…  done\n");
    table_destroy(t);
    buf_free(&out);
}

static void what_may_be_left_out_is_before_columns_get_narrow(void **state)
{
    static const struct {
        size_t width;
        const char *head;
    } cases[] = {
        { SIZE_MAX, "JOB  NAME                    REASON                  NODE" },
        { 56, "JOB  NAME                  REASON                 NODE" },
        { 50, "JOB  NAME               REASON              NODE" },
        { 44, "JOB  NAME                REASON" },
        { 40, "JOB  NAME              REASON" },
        { 36, "JOB  NAME            REASON" },
        { 24, "JOB  NAME      REASON" },
        { 22, "JOB  NAME" },
        { 20, "JOB  NAME" },
    };
    static const struct column four[] = { { "JOB", false, false },
                                          { "NAME", false, true },
                                          { "REASON", false, true },
                                          { "NODE", false, false } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct table *t = table_create(four, 4, cases[i].width, false);
        struct buf out = { 0 };

        table_may_leave_out(t, 2, NEED_ROOM);
        table_may_leave_out(t, 3, NEED_COMFORT);
        for (int row = 0; row < 2; row++) {
            table_add(t, TONE_PLAIN, "7.1");
            table_add(t, TONE_PLAIN, "twenty-two characters!");
            table_add(t, TONE_PLAIN, "twenty-two characters?");
            table_add(t, TONE_PLAIN, "norman");
        }
        table_flush(t, &out);
        assert_memory_equal(buf_text(&out), cases[i].head, strlen(cases[i].head));
        assert_int_equal(buf_text(&out)[strlen(cases[i].head)], '\n');
        for (const char *line = buf_text(&out); *line != '\0'; line = strchr(line, '\n') + 1)
            assert_true(safe_text_width(line, strcspn(line, "\n")) <= cases[i].width);
        table_destroy(t);
        buf_free(&out);
    }
}

static void a_column_that_was_left_out_stays_out(void **state)
{
    struct table *t = table_create(columns, 3, 20, false);
    struct buf out = { 0 };

    (void)state;
    table_may_leave_out(t, 1, NEED_COMFORT);
    table_add(t, TONE_PLAIN, "1");
    table_add(t, TONE_PLAIN, "a name that is too long");
    table_add(t, TONE_PLAIN, "done");
    table_flush(t, &out);
    table_add(t, TONE_PLAIN, "2");
    table_add(t, TONE_PLAIN, "x");
    table_add(t, TONE_PLAIN, "up");
    table_flush(t, &out);
    assert_string_equal(buf_text(&out), "N  STATE\n1  done\n2  up\n");
    table_destroy(t);
    buf_free(&out);
}

static void without_heads_there_is_no_head(void **state)
{
    static const struct column bare[] = { { "", false, false }, { "", false, true } };
    struct table *t = table_create(bare, 2, SIZE_MAX, true);
    struct buf out = { 0 };

    (void)state;
    table_add(t, TONE_PLAIN, "state");
    table_add(t, TONE_PLAIN, "done");
    table_flush(t, &out);
    assert_string_equal(buf_text(&out), "state  done\n");
    table_destroy(t);
    buf_free(&out);
}

static void colours_do_not_disturb_the_columns(void **state)
{
    struct table *t = table_create(columns, 3, SIZE_MAX, true);
    struct buf out = { 0 };

    (void)state;
    table_add(t, TONE_GOOD, "1");
    table_add(t, TONE_PLAIN, "x");
    table_add(t, TONE_PLAIN, "y");
    table_flush(t, &out);
    assert_non_null(strstr(buf_text(&out), "\033[32m1\033[0m  x     y\n"));
    table_destroy(t);
    buf_free(&out);
}

static void a_cell_cannot_break_out(void **state)
{
    struct table *t = table_create(columns, 3, SIZE_MAX, false);
    struct buf out = { 0 };

    (void)state;
    table_add(t, TONE_PLAIN, "1");
    table_add(t, TONE_PLAIN, "a\033[2Jb\nc\td");
    table_add(t, TONE_PLAIN, "y");
    table_flush(t, &out);
    assert_string_equal(buf_text(&out), "N  NAME           STATE\n"
                                        "1  a^[[2Jb^Jc^Id  y\n");
    table_destroy(t);
    buf_free(&out);
}

static void text_of_others_is_made_harmless(void **state)
{
    static const struct {
        const char *text;
        const char *keep;
        const char *harmless;
    } cases[] = {
        { "plain", "", "plain" },
        { "tab\tline\n", "\n\t", "tab\tline\n" },
        { "tab\tline\n", "", "tab^Iline^J" },
        { "\033]0;title\007", "\n", "^[]0;title^G" },
        { "\x7f", "", "^?" },
        { "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "",
          "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "\xc2\x9b"
          "2J",
          "", "\\xc2\\x9b2J" },
        { "\x9b"
          "2J",
          "", "\\x9b2J" },
        { "\xff\xc0\x80", "", "\\xff\\xc0\\x80" },
        { "\xe2\x82", "", "\\xe2\\x82" },
        { "\xed\xa0\x80", "", "\\xed\\xa0\\x80" },
        { "\xe2\x80\xae"
          "evil",
          "", "\\xe2\\x80\\xaeevil" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        safe_text_add_harmless(&out, cases[i].text, strlen(cases[i].text), cases[i].keep);
        assert_string_equal(buf_text(&out), cases[i].harmless);
        buf_free(&out);
    }
    {
        struct buf out = { 0 };

        safe_text_add_harmless(&out, "a\0b", 3, "\n");
        assert_string_equal(buf_text(&out), "a^@b");
        buf_free(&out);
    }
}

static void a_character_is_not_torn_apart(void **state)
{
    static const struct {
        const char *text;
        size_t whole;
    } cases[] = {
        { "abc", 3 },      { "ab\xc3", 2 },           { "ab\xc3\xa9", 4 },
        { "\xe2\x82", 0 }, { "x\xf0\x9f\x98", 1 },    { "x\xf0\x9f\x98\x80", 5 },
        { "", 0 },         { "\x80\x80\x80\x80", 4 }, { "\x80", 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(safe_text_whole(cases[i].text, strlen(cases[i].text)), cases[i].whole);
    assert_int_equal(safe_text_width("n\xc3\xa9\xe2\x82\xac", 6), 3);
    assert_int_equal(safe_text_fitting("n\xc3\xa9\xe2\x82\xac", 6, 2), 3);
    assert_int_equal(safe_text_fitting("abc", 3, 0), 0);
    assert_int_equal(safe_text_fitting("abc", 3, 9), 3);
}

static void the_progress_line_tells_how_far_it_is(void **state)
{
    struct sweep_info s = { .sweep = 7,
                            .state = SWEEP_RUNNING,
                            .jobs = { .queued = 8, .running = 2, .done = 13, .failed = 1 } };
    struct progress p = { .ended_before = 4, .began_at_ms = 1000 };
    struct buf out = { 0 };

    (void)state;
    progress_add_line(&out, &p, &s, 31000, 79);
    assert_string_equal(buf_text(&out), "sweep 7 13/24 done, 2 running, 1 failed, about 30 s left");
    buf_clear(&out);
    progress_add_line(&out, &p, &s, 31000, 120);
    assert_string_equal(buf_text(&out), "sweep 7 [##############..........] 13/24 done, 2 running, "
                                        "1 failed, about 30 s left");
    buf_clear(&out);
    progress_add_line(&out, &p, &s, 31000, 20);
    assert_string_equal(buf_text(&out), "sweep 7 13/24 done, ");
    buf_clear(&out);
    p.ended_before = 14;
    progress_add_line(&out, &p, &s, 31000, 79);
    assert_string_equal(buf_text(&out), "sweep 7 13/24 done, 2 running, 1 failed");
    buf_free(&out);
}

/* ---- sweeps ---- */

static void moments_are_told_by_how_long_they_are_ago(void **state)
{
    static const struct {
        int64_t ago_ms;
        const char *text;
    } cases[] = {
        { -5000, "now" },
        { 0, "now" },
        { 999, "now" },
        { 1000, "1 s ago" },
        { 59999, "59 s ago" },
        { 60000, "1 min ago" },
        { 3599999, "59 min ago" },
        { 3600000, "1 h ago" },
        { INT64_C(86399999), "23 h ago" },
        { INT64_C(86400000), "1 d ago" },
        { INT64_C(7) * 86400000 - 1, "6 d ago" },
    };
    const int64_t now_ms = INT64_C(1795256100000); /* 2026-11-21 10:15 UTC */
    struct buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&out);
        jobinfo_add_ago(&out, now_ms - cases[i].ago_ms, now_ms);
        assert_string_equal(buf_text(&out), cases[i].text);
    }
    buf_clear(&out);
    jobinfo_add_ago(&out, now_ms - INT64_C(8) * 86400000, now_ms);
    assert_int_equal(out.n, strlen("2026-11-13"));
    assert_memory_equal(buf_text(&out), "2026-11-1", 9);
    buf_free(&out);
}

static const struct sweep_info running = {
    .sweep = 7,
    .project = "word2vec",
    .name = "first\033[2J",
    .user = "alice",
    .state = SWEEP_RUNNING,
    .configs = 16,
    .reps = 2,
    .reused = 4,
    .jobs = { .queued = 8, .staging = 1, .running = 2, .publishing = 1, .done = 12, .failed = 4 },
    .submitted_at = INT64_C(1795256100000),
    .mean_ms = 30000,
};

static void a_view_of_a_sweep_tells_all_about_it(void **state)
{
    struct reason reasons[] = { { "exit code 1\033[1m", "7.3", 2, "2 of 2 with x=\033" },
                                { "it ran out of memory", "7.5", 1, NULL },
                                { "", "7.6", 1, NULL },
                                { "another", "7.8", 1, NULL } };
    struct failures f = { .reasons = reasons, .n = 4, .jobs = 6, .is_complete = true };
    struct buf out = { 0 };
    const char *text;

    (void)state;
    sweepview_add(&out, &running, &f, NULL, running.submitted_at + 125000, SIZE_MAX, false);
    text = buf_text(&out);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "sweep      7 first^[[2J in project word2vec, by alice\n"));
    assert_non_null(strstr(text, "state      running\nsubmitted  2 min ago ("));
    assert_null(strstr(text, "ended"));
    assert_non_null(strstr(text, "jobs       32: 16 configurations x 2, 4 of them done before\n"));
    assert_non_null(strstr(text,
                           "           16 done, 2 running, 1 staging, 1 publishing, 8 queued, "
                           "4 failed\n"));
    /* 8 more by 4 at a time, and half of what those take: 30 s x 2.5 */
    assert_non_null(strstr(text, "progress   [###############.........] 62 %, about 1 min 15 s "
                                 "left\n"));
    assert_non_null(strstr(text, "failed     2 x exit code 1^[[1m (first: 7.3)\n"
                                 "             2 of 2 with x=^[\n"
                                 "           1 x it ran out of memory (7.5)\n"
                                 "           1 x for no reason that is known (7.6)\n"
                                 "           2 x something else\n"
                                 "           `ludwig why 7.3` tells more, `ludwig triage 7` what "
                                 "they have in common\n"));
    buf_free(&out);
}

/* The line of a view that begins with a name, or "". */
static const char *line_of(const struct sweep_info *s, const struct queue *q, const char *name)
{
    static char kept[200];
    struct buf out = { 0 };
    const char *at;

    sweepview_add(&out, s, NULL, q, s->submitted_at, SIZE_MAX, false);
    at = buf_text(&out);
    kept[0] = '\0';
    while (*at != '\0' && strncmp(at, name, strlen(name)) != 0)
        at = strchr(at, '\n') + 1;
    snprintf(kept, sizeof kept, "%.*s", (int)strcspn(at, "\n"), at);
    buf_free(&out);
    return kept;
}

static void what_waits_is_told(void **state)
{
    char first[] = "7.1", paused[] = "7.5";
    struct queue q = { .first = first, .is_complete = true };
    struct sweep_info s = running;

    (void)state;
    assert_string_equal(line_of(&s, &q, "waiting"), "");
    s.jobs.staging = s.jobs.running = s.jobs.publishing = 0;
    assert_string_equal(line_of(&s, &q, "waiting"), "waiting    `ludwig why 7.1` says what for");
    assert_string_equal(line_of(&s, &q, "paused"), "");
    q = (struct queue){ .paused = paused, .n_paused = 1, .is_complete = true };
    assert_string_equal(line_of(&s, &q, "waiting"), "");
    assert_string_equal(line_of(&s, &q, "paused"),
                        "paused     1 of the jobs that wait (ludwig resume 7.5)");
    q.n_paused = 3;
    assert_string_equal(line_of(&s, &q, "paused"),
                        "paused     3 of the jobs that wait (ludwig resume 7)");
    q.is_complete = false;
    assert_string_equal(line_of(&s, &q, "paused"),
                        "paused     at least 3 of the jobs that wait (ludwig resume 7)");
    s.state = SWEEP_PAUSED;
    assert_string_equal(line_of(&s, &q, "paused"), "");
    assert_string_equal(line_of(&s, &q, "state"), "state      paused (ludwig resume 7)");
}

static void a_sweep_that_was_cancelled_has_not_come_to_its_end(void **state)
{
    struct sweep_info s = { .sweep = 7,
                            .state = SWEEP_CANCELLED,
                            .jobs = { .done = 2, .failed = 1, .cancelled = 5 } };

    (void)state;
    assert_string_equal(line_of(&s, NULL, "progress"),
                        "progress   [#########...............] 37 %, then cancelled");
    s.state = SWEEP_FAILED;
    assert_string_equal(line_of(&s, NULL, "progress"),
                        "progress   [########################] 100 %");
}

static void a_view_of_a_sweep_fits_into_narrow_terminals(void **state)
{
    struct reason reasons[] = { { "a reason that takes quite some room on its line", "7.3", 4,
                                  "and what they have in common does as well" } };
    struct failures f = { .reasons = reasons, .n = 1, .jobs = 4, .is_complete = true };

    (void)state;
    for (size_t width = 40; width <= 200; width += 40) {
        struct buf out = { 0 };

        sweepview_add(&out, &running, &f, NULL, running.submitted_at + 1000, width, false);
        for (const char *line = buf_text(&out); *line != '\0'; line = strchr(line, '\n') + 1)
            assert_true(safe_text_width(line, strcspn(line, "\n")) <= width);
        buf_free(&out);
    }
}

static void a_row_of_a_sweep_fits_into_narrow_terminals(void **state)
{
    static const size_t widths[] = { 40, 80, 200 };

    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct table *t = sweepview_table(widths[i], false);
        struct buf out = { 0 };

        sweepview_add_row(t, &running, running.submitted_at + 1000);
        table_flush(t, &out);
        for (const char *line = buf_text(&out); *line != '\0'; line = strchr(line, '\n') + 1)
            assert_true(safe_text_width(line, strcspn(line, "\n")) <= widths[i]);
        assert_non_null(strstr(buf_text(&out), "16/32"));
        assert_non_null(strstr(buf_text(&out), "FAILED"));
        table_destroy(t);
        buf_free(&out);
    }
}

static void the_time_left_is_known_only_while_something_runs(void **state)
{
    struct sweep_info s = running;

    (void)state;
    assert_int_equal(sweepview_left_ms(&s), 75000);
    s.jobs.queued = 0;
    assert_int_equal(sweepview_left_ms(&s), 15000);
    s.mean_ms = 1;
    assert_int_equal(sweepview_left_ms(&s), 1000);
    s.mean_ms = 0;
    assert_int_equal(sweepview_left_ms(&s), 0);
    s = running;
    s.state = SWEEP_PAUSED;
    assert_int_equal(sweepview_left_ms(&s), 0);
    s = running;
    s.jobs.staging = s.jobs.running = s.jobs.publishing = 0;
    assert_int_equal(sweepview_left_ms(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(later_parts_keep_the_widths_and_have_no_head),
        cmocka_unit_test(a_narrow_terminal_shrinks_what_may_shrink),
        cmocka_unit_test(what_may_be_left_out_is_before_columns_get_narrow),
        cmocka_unit_test(a_column_that_was_left_out_stays_out),
        cmocka_unit_test(without_heads_there_is_no_head),
        cmocka_unit_test(colours_do_not_disturb_the_columns),
        cmocka_unit_test(a_cell_cannot_break_out),
        cmocka_unit_test(text_of_others_is_made_harmless),
        cmocka_unit_test(a_character_is_not_torn_apart),
        cmocka_unit_test(the_progress_line_tells_how_far_it_is),
        cmocka_unit_test(moments_are_told_by_how_long_they_are_ago),
        cmocka_unit_test(a_view_of_a_sweep_tells_all_about_it),
        cmocka_unit_test(what_waits_is_told),
        cmocka_unit_test(a_sweep_that_was_cancelled_has_not_come_to_its_end),
        cmocka_unit_test(a_view_of_a_sweep_fits_into_narrow_terminals),
        cmocka_unit_test(a_row_of_a_sweep_fits_into_narrow_terminals),
        cmocka_unit_test(the_time_left_is_known_only_while_something_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
