/* SPDX-License-Identifier: MIT */
/* states.c - tests of the life of an attempt, and of docs/internals/states.md against the table */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/io.h"
#include "common/proto/states.h"
#include "tests/unit/doc.h"

static void test_an_outcome_ends_an_attempt_from_every_live_state(void **state)
{
    (void)state;
    for (int s = ATTEMPT_ASSIGNED; s <= ATTEMPT_PUBLISHING; s++) {
        assert_true(attempt_is_live((enum attempt_state)s));
        assert_int_equal(attempt_next((enum attempt_state)s, EV_DONE), ATTEMPT_DONE);
        assert_int_equal(attempt_next((enum attempt_state)s, EV_FAIL), ATTEMPT_FAILED);
        assert_int_equal(attempt_next((enum attempt_state)s, EV_CANCEL), ATTEMPT_CANCELLED);
        assert_int_equal(attempt_next((enum attempt_state)s, EV_LOSE), ATTEMPT_LOST);
        assert_int_equal(attempt_next((enum attempt_state)s, EV_RECALL), ATTEMPT_RECALLED);
        assert_int_equal(attempt_next((enum attempt_state)s, EV_WITHDRAW), ATTEMPT_WITHDRAWN);
    }
}

static void test_an_attempt_never_goes_backwards(void **state)
{
    (void)state;
    assert_int_equal(attempt_next(ATTEMPT_RUNNING, EV_STAGE), ATTEMPT_NO);
    assert_int_equal(attempt_next(ATTEMPT_PUBLISHING, EV_RUN), ATTEMPT_NO);
    assert_int_equal(attempt_next(ATTEMPT_DONE, EV_FAIL), ATTEMPT_NO);
    assert_int_equal(attempt_next(ATTEMPT_FAILED, EV_DONE), ATTEMPT_NO);
}

static void test_the_share_has_the_last_word_on_a_lost_attempt(void **state)
{
    (void)state;
    assert_int_equal(attempt_next(ATTEMPT_LOST, EV_DONE), ATTEMPT_DONE);
    assert_int_equal(attempt_next(ATTEMPT_RECALLED, EV_DONE), ATTEMPT_DONE);
    assert_int_equal(attempt_next(ATTEMPT_LOST, EV_FAIL), ATTEMPT_NO);
    assert_int_equal(attempt_next(ATTEMPT_LOST, EV_RETURN), ATTEMPT_RUNNING);
}

/* A process that works through several jobs may end before it gets to the last. */
static void test_what_was_counted_as_running_can_be_given_back(void **state)
{
    (void)state;
    assert_int_equal(attempt_next(ATTEMPT_RUNNING, EV_RECALL), ATTEMPT_RECALLED);
    assert_int_equal(attempt_next(ATTEMPT_RECALLED, EV_RUN), ATTEMPT_NO);
}

static void test_a_state_knows_the_event_that_made_it(void **state)
{
    (void)state;
    assert_true(attempt_was_made(ATTEMPT_DONE, EV_DONE));
    assert_false(attempt_was_made(ATTEMPT_DONE, EV_FAIL));
    assert_true(attempt_was_made(ATTEMPT_RUNNING, EV_RUN));
    assert_false(attempt_was_made(ATTEMPT_ASSIGNED, EV_STAGE));
}

static void test_a_job_is_what_its_attempts_make_of_it(void **state)
{
    static const struct {
        struct job_evidence evidence;
        enum job_state expected;
    } cases[] = {
        { { 0 }, JOB_QUEUED },
        { { .any_live = true, .live = ATTEMPT_ASSIGNED }, JOB_QUEUED },
        { { .any_live = true, .live = ATTEMPT_STAGING }, JOB_STAGING },
        { { .any_live = true, .live = ATTEMPT_RUNNING }, JOB_RUNNING },
        { { .any_live = true, .live = ATTEMPT_PUBLISHING }, JOB_PUBLISHING },
        { { .any_live = true, .live = ATTEMPT_RUNNING, .failed = true }, JOB_RUNNING },
        { { .failed = true }, JOB_FAILED },
        { { .any_done = true, .done = ATTEMPT_DONE, .any_live = true, .live = ATTEMPT_RUNNING },
          JOB_DONE },
        { { .any_done = true, .done = ATTEMPT_DONE, .failed = true }, JOB_DONE },
        { { .cancelled = true, .any_live = true, .live = ATTEMPT_RUNNING }, JOB_CANCELLED },
        { { .cancelled = true, .any_done = true, .done = ATTEMPT_DONE }, JOB_CANCELLED },
        { { .drained = true }, JOB_CANCELLED },
        { { .drained = true, .any_live = true, .live = ATTEMPT_RUNNING }, JOB_RUNNING },
        { { .drained = true, .any_done = true, .done = ATTEMPT_DONE }, JOB_DONE },
        { { .drained = true, .failed = true }, JOB_FAILED },
        { { .drained = true, .cancelled = true, .any_done = true, .done = ATTEMPT_DONE },
          JOB_CANCELLED },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(job_state_of(&cases[i].evidence), cases[i].expected);
}

/* One row of the document's table: "| running | | | publishing | done | ... |". */
static void add_row(struct buf *out, enum attempt_state from)
{
    buf_printf(out, "| %s |", attempt_state_names[from]);
    for (int ev = 0; ev < ATTEMPT_EVENT_COUNT; ev++) {
        enum attempt_state to = attempt_next(from, (enum attempt_event)ev);

        buf_printf(out, " %s |", to == ATTEMPT_NO ? "-" : attempt_state_names[to]);
    }
    buf_add_char(out, '\n');
}

static void test_the_document_shows_the_table(void **state)
{
    struct buf row = { 0 };

    (void)state;
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++) {
        buf_clear(&row);
        add_row(&row, (enum attempt_state)s);
        doc_must_contain("docs/internals/states.md", buf_text(&row));
    }
    buf_free(&row);
}

static void test_the_document_names_every_state_event_cause_and_verdict(void **state)
{
#define X(name, number, text, ...) doc_must_contain("docs/internals/states.md", "`" text "`");
    ATTEMPT_STATES(X)
#undef X
#define X(name, text, meaning) \
    doc_must_contain("docs/internals/states.md", "| `" text "` | " meaning " |\n");
    ATTEMPT_EVENTS(X)
    VERDICTS(X)
#undef X
#define X(name, number, text, meaning) \
    doc_must_contain("docs/internals/states.md", "| `" text "` | " meaning " |\n");
    CAUSES(X)
#undef X
#define X(constant, number, name, flags, look, when) \
    doc_must_contain("docs/internals/states.md", "| `" #name "` | " when " |\n");
    JOB_STATES(X)
#undef X
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_outcome_ends_an_attempt_from_every_live_state),
        cmocka_unit_test(test_an_attempt_never_goes_backwards),
        cmocka_unit_test(test_the_share_has_the_last_word_on_a_lost_attempt),
        cmocka_unit_test(test_what_was_counted_as_running_can_be_given_back),
        cmocka_unit_test(test_a_state_knows_the_event_that_made_it),
        cmocka_unit_test(test_a_job_is_what_its_attempts_make_of_it),
        cmocka_unit_test(test_the_document_shows_the_table),
        cmocka_unit_test(test_the_document_names_every_state_event_cause_and_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
