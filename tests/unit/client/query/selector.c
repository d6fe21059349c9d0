/* SPDX-License-Identifier: MIT */
/* selector.c - tests of the words for sweeps and jobs, and of --state */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/query/selector.h"
#include "common/proto/states.h"

/* "7.1-5 7.9-9", a whole sweep as "7", last as "0", all as "-1" */
static char *text_of(const struct list *targets, struct arena *a)
{
    const struct target *items = targets->items;
    char *text = arena_strdup(a, "");

    for (size_t i = 0; i < targets->n; i++) {
        const char *blank = i > 0 ? " " : "";
        long long sweep = items[i].sweep, first = items[i].first, last = items[i].last;

        if (target_is_whole(&items[i]))
            text = arena_printf(a, "%s%s%lld", text, blank, sweep);
        else
            text = arena_printf(a, "%s%s%lld.%lld-%lld", text, blank, sweep, first, last);
    }
    return text;
}

static void sweeps_and_jobs_are_named_by_numbers(void **state)
{
    static const struct {
        const char *text, *targets;
    } cases[] = {
        { "7", "7" },
        { "7.13", "7.13-13" },
        { "7.1-40", "7.1-40" },
        { "7.5-5", "7.5-5" },
        { "7.1,5,9", "7.1-1 7.5-5 7.9-9" },
        { "7.1-5,9,20-30", "7.1-5 7.9-9 7.20-30" },
        { "7.1,2,3", "7.1-3" },
        { "7.1-5,3-9", "7.1-9" },
        { "7.9,1", "7.9-9 7.1-1" },
        { "last", "0" },
        { "last.3", "0.3-3" },
        { "last.3-9,11", "0.3-9 0.11-11" },
        { "all", "-1" },
        { "9007199254740992", "9007199254740992" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct list targets;

        assert_int_equal(selector_parse(cases[i].text, a, &targets, NULL), 0);
        assert_string_equal(text_of(&targets, a), cases[i].targets);
    }
    arena_destroy(a);
}

static void anything_else_is_refused_with_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        { "", "a sweep is a number" },
        { "0", "a sweep is a number" },
        { "07", "a sweep is a number" },
        { "-1", "a sweep is a number" },
        { ".1", "a sweep is a number" },
        { "x", "a sweep is a number" },
        { "9007199254740993", "a sweep is a number" },
        { "99999999999999999999999999", "a sweep is a number" },
        { "7.", "a job's number is missing" },
        { "last.", "a job's number is missing" },
        { "7..1", "a job's number is missing" },
        { "7.1,", "a job's number is missing" },
        { "7.,1", "a job's number is missing" },
        { "7.x", "a job's number is missing" },
        { "7.0", "jobs are counted from 1" },
        { "7.1,0", "jobs are counted from 1" },
        { "7.0-3", "jobs are counted from 1" },
        { "7.01", "jobs are counted from 1" },
        { "7.1-", "the number of the last job is missing" },
        { "7.1-0", "the number of the last job is missing" },
        { "7.1--2", "the number of the last job is missing" },
        { "7.5-3", "the last job of a range comes before its first" },
        { "7.9-1", "the last job of a range comes before its first" },
        { "7.1.2", "jobs are numbers and ranges with commas between" },
        { "7.1 ", "jobs are numbers and ranges with commas between" },
        { "7.1-3-5", "jobs are numbers and ranges with commas between" },
        { "7,8", "several sweeps are words of their own: 7 8" },
        { "7 ", "this is more than a sweep" },
        { "lastx", "this is more than a sweep" },
        { "all.3", "this is more than a sweep" },
        { "1e3", "this is more than a sweep" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *word = (char *)cases[i].text;
        struct opt_words words = { &word, 1 };
        struct err e = { 0 };

        assert_int_equal(selector_check(&words, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        if (strstr(e.text, cases[i].wrong) == NULL)
            fail_msg("%s: %s", cases[i].text, e.text);
        assert_non_null(strstr(e.text, "(write 7, 7.13, 7.1-40, 7.1,5,9, last or all)"));
    }
}

static void targets_are_put_in_order_and_taken_once(void **state)
{
    static const struct {
        const char *words, *targets;
    } cases[] = {
        { "7.9 7.1", "7.1-1 7.9-9" },
        { "7.1-5 7.4-8 7.9 7.11", "7.1-9 7.11-11" },
        { "7.3 7 7.5", "7" },
        { "8 7.5 7.4", "7.4-5 8" },
        { "7 7 7", "7" },
        { "7.1-100 7.50", "7.1-100" },
        { "7.5 8.6", "7.5-5 8.6-6" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct targets found = { .arena = a };
        struct list list;
        char *copy = arena_strdup(a, cases[i].words);

        for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
            assert_int_equal(selector_parse(word, a, &list, NULL), 0);
            for (size_t k = 0; k < list.n; k++)
                targets_add(&found, (struct target *)list.items + k);
        }
        targets_merge(&found);
        list = (struct list){ found.items, found.n };
        assert_string_equal(text_of(&list, a), cases[i].targets);
    }
    arena_destroy(a);
}

static void many_targets_stay_in_order(void **state)
{
    struct targets t = { .arena = arena_create() };

    (void)state;
    for (int64_t no = 10000; no > 0; no -= 2)
        targets_add(&t, &(struct target){ 7, no, no });
    targets_merge(&t);
    assert_int_equal(t.n, 5000);
    for (size_t i = 0; i < t.n; i++)
        assert_int_equal(t.items[i].first, 2 * (i + 1));
    arena_destroy(t.arena);
}

/* ---- --state ---- */

static int read_states(const struct opt_state *o, const char *text, unsigned *states, struct err *e)
{
    struct list words = { &text, 1 };

    return opt_state_read(o, &words, states, e);
}

static void states_stand_with_commas_or_one_at_a_time(void **state)
{
    const char *several[] = { "failed,done", "running" };
    struct list words = { several, 2 };
    struct arena *a = arena_create();
    struct list names;
    unsigned states;

    (void)state;
    assert_int_equal(opt_state_read(&stateopt_jobs, &words, &states, NULL), 0);
    assert_int_equal(states, 1u << JOB_FAILED | 1u << JOB_DONE | 1u << JOB_RUNNING);
    names = opt_state_names(&stateopt_jobs, states, a);
    assert_int_equal(names.n, 3);
    assert_string_equal(((const char **)names.items)[0], "running");
    assert_string_equal(((const char **)names.items)[2], "failed");
    assert_int_equal(opt_state_read(&stateopt_jobs, &(struct list){ 0 }, &states, NULL), 0);
    assert_int_equal(states, 0);
    assert_int_equal(opt_state_names(&stateopt_jobs, 0, a).n, 0);
    arena_destroy(a);
}

static void states_that_there_are_not_are_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "faild", "--state: no job is ever 'faild' (did you mean 'failed'?)" },
        { "failed,dnoe", "--state: no job is ever 'dnoe' (did you mean 'done'?)" },
        /* further states may follow */
        { "failed,", "--state: no job is ever '' (there are queued, staging, running, publishing, "
                     "done, failed, cancelled" },
        { "xyz", "--state: no job is ever 'xyz' (there are queued, staging, running, publishing, "
                 "done, failed, cancelled" },
    };
    struct err e = { 0 };
    unsigned states;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_states(&stateopt_jobs, cases[i].text, &states, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_memory_equal(e.text, cases[i].error, strlen(cases[i].error));
    }
    /* Sweeps that are still being submitted are nobody's business. */
    assert_int_equal(read_states(&stateopt_sweeps, "open", &states, &e), -1);
    assert_int_equal(read_states(&stateopt_sweeps, "paused", &states, &e), 0);
    assert_int_equal(states, 1u << SWEEP_PAUSED);
}

static void paused_is_told_to_be_no_state_of_a_job(void **state)
{
    const char *word = "paused";
    struct list words = { &word, 1 };
    struct err e = { 0 };
    unsigned states;

    (void)state;
    assert_int_equal(opt_state_read(&stateopt_jobs, &words, &states, &e), -1);
    assert_string_equal(e.text, "--state: " OPT_STATE_PAUSED);
    assert_int_equal(opt_state_read(&stateopt_sweeps, &words, &states, &e), 0);
    assert_int_equal(states, 1u << SWEEP_PAUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paused_is_told_to_be_no_state_of_a_job),
        cmocka_unit_test(sweeps_and_jobs_are_named_by_numbers),
        cmocka_unit_test(anything_else_is_refused_with_what_is_wrong),
        cmocka_unit_test(targets_are_put_in_order_and_taken_once),
        cmocka_unit_test(many_targets_stay_in_order),
        cmocka_unit_test(states_stand_with_commas_or_one_at_a_time),
        cmocka_unit_test(states_that_there_are_not_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
