/* SPDX-License-Identifier: MIT */
/* numbers.c - the numbers that lie in databases, as they were first given */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/proto/proto.h"

struct number {
    const char *name;
    int number;
};

#define ROW(constant, number, ...) { #constant, constant },
#define SAME(frozen, table)                                                                     \
    do {                                                                                        \
        static const struct number now[] = { table(ROW) };                                      \
                                                                                                \
        assert_same(frozen, sizeof frozen / sizeof frozen[0], now, sizeof now / sizeof now[0]); \
    } while (0)

/* Both have the same names with the same numbers, which are 0 to n - 1. */
static void assert_same(const struct number *frozen, size_t n, const struct number *now,
                        size_t n_now)
{
    for (size_t i = 0; i < n_now; i++) {
        int number = now[i].number;

        if (number < 0 || (size_t)number >= n)
            fail_msg("%s has the number %d: write it down in numbers.c", now[i].name, number);
        assert_string_equal(now[i].name, frozen[number].name);
    }
    for (size_t i = 0; i < n; i++)
        assert_int_equal(frozen[i].number, i);
    assert_int_equal(n, n_now);
}

static const struct number attempts[] = {
    { "ATTEMPT_ASSIGNED", 0 },   { "ATTEMPT_STAGING", 1 },    { "ATTEMPT_RUNNING", 2 },
    { "ATTEMPT_PUBLISHING", 3 }, { "ATTEMPT_DONE", 4 },       { "ATTEMPT_FAILED", 5 },
    { "ATTEMPT_CANCELLED", 6 },  { "ATTEMPT_SUPERSEDED", 7 }, { "ATTEMPT_LOST", 8 },
    { "ATTEMPT_RECALLED", 9 },   { "ATTEMPT_WITHDRAWN", 10 }, { "ATTEMPT_STOPPED", 11 },
};

static const struct number jobs[] = {
    { "JOB_QUEUED", 0 },     { "JOB_STAGING", 1 }, { "JOB_RUNNING", 2 },
    { "JOB_PUBLISHING", 3 }, { "JOB_DONE", 4 },    { "JOB_FAILED", 5 },
    { "JOB_CANCELLED", 6 },  { "JOB_HELD", 7 },    { "JOB_STOPPED", 8 },
};

static const struct number sweeps[] = {
    { "SWEEP_OPEN", 0 },   { "SWEEP_RUNNING", 1 },   { "SWEEP_PAUSED", 2 }, { "SWEEP_DONE", 3 },
    { "SWEEP_FAILED", 4 }, { "SWEEP_CANCELLED", 5 }, { "SWEEP_HELD", 6 },
};

static const struct number causes[] = {
    { "CAUSE_NONE", 0 },      { "CAUSE_FAILED", 1 },   { "CAUSE_SIGNAL", 2 },
    { "CAUSE_TIMEOUT", 3 },   { "CAUSE_OOM", 4 },      { "CAUSE_NODE_LOST", 5 },
    { "CAUSE_PREEMPTED", 6 }, { "CAUSE_WALLTIME", 7 }, { "CAUSE_ENVIRONMENT", 8 },
    { "CAUSE_NAN", 9 },       { "CAUSE_GPU", 10 },
};

static const struct number notify_events[] = {
    { "NOTIFY_ENDED", 0 },
    { "NOTIFY_FAILED", 1 },
    { "NOTIFY_STALLED", 2 },
};

static const struct number messages[] = {
    { "MSG_OK", 0 },           { "MSG_ERROR", 1 },          { "MSG_HELLO", 2 },
    { "MSG_WELCOME", 3 },      { "MSG_OPEN_PROJECT", 4 },   { "MSG_PROJECT_OPEN", 5 },
    { "MSG_SUBMIT_BEGIN", 6 }, { "MSG_SUBMIT_OPEN", 7 },    { "MSG_SUBMIT_CHUNK", 8 },
    { "MSG_SUBMIT_TAKEN", 9 }, { "MSG_SUBMIT_END", 10 },    { "MSG_SUBMITTED", 11 },
    { "MSG_CANCEL", 12 },      { "MSG_RETRY", 13 },         { "MSG_PAUSE", 14 },
    { "MSG_RESUME", 15 },      { "MSG_CHANGED", 16 },       { "MSG_DRAIN", 17 },
    { "MSG_DRAINED", 18 },     { "MSG_PREVIEW", 19 },       { "MSG_PREVIEWED", 20 },
    { "MSG_GET_SWEEPS", 21 },  { "MSG_SWEEP_PAGE", 22 },    { "MSG_GET_JOBS", 23 },
    { "MSG_JOB_PAGE", 24 },    { "MSG_GET_RESULTS", 25 },   { "MSG_RESULT_PAGE", 26 },
    { "MSG_GET_NODES", 27 },   { "MSG_NODE_PAGE", 28 },     { "MSG_GET_USAGE", 29 },
    { "MSG_USAGE_PAGE", 30 },  { "MSG_GET_DATA", 31 },      { "MSG_DATA_PAGE", 32 },
    { "MSG_PACK_SHARE", 33 },  { "MSG_SHARE_PACKED", 34 },  { "MSG_ASK_WHY", 35 },
    { "MSG_WHY", 36 },         { "MSG_SUBSCRIBE", 37 },     { "MSG_CHANGES", 38 },
    { "MSG_SHUTDOWN", 39 },    { "MSG_REGISTER", 40 },      { "MSG_REGISTERED", 41 },
    { "MSG_HAND", 42 },        { "MSG_TOOK", 43 },          { "MSG_REPORT", 44 },
    { "MSG_VERDICTS", 45 },    { "MSG_STOP_ATTEMPTS", 46 }, { "MSG_RECALL", 47 },
    { "MSG_FOLLOW_LOG", 48 },  { "MSG_LOG_GREW", 49 },      { "MSG_ASK_LOAD", 50 },
    { "MSG_LOAD", 51 },        { "MSG_HOLDS", 52 },         { "MSG_EXPECT", 53 },
    { "MSG_PACK", 54 },        { "MSG_PACKED", 55 },        { "MSG_LEAVE", 56 },
    { "MSG_RETIRE", 57 },      { "MSG_RETIRING", 58 },      { "MSG_ALIVE", 59 },
    { "MSG_REMOVE", 60 },      { "MSG_REMOVED", 61 },       { "MSG_LABEL", 62 },
    { "MSG_REPRODUCE", 63 },   { "MSG_REPRODUCED", 64 },    { "MSG_ORDER", 65 },
    { "MSG_SHRINK", 66 },      { "MSG_MEASURED", 67 },      { "MSG_STOP_EARLY", 68 },
    { "MSG_ADVISE", 69 },      { "MSG_ADVICE", 70 },        { "MSG_GET_ADVICE", 71 },
    { "MSG_ADVICE_PAGE", 72 }, { "MSG_GET_SAVED", 73 },     { "MSG_SAVED", 74 },
    { "MSG_READ_SAVED", 75 },  { "MSG_SAVED_READ", 76 },    { "MSG_GET_WORK", 77 },
    { "MSG_GOT_WORK", 78 },
};

static void test_states_keep_their_numbers(void **state)
{
    (void)state;
    SAME(attempts, ATTEMPT_STATES);
    SAME(jobs, JOB_STATES);
    SAME(sweeps, SWEEP_STATES);
}

static void test_causes_keep_their_numbers(void **state)
{
    (void)state;
    SAME(causes, CAUSES);
    SAME(notify_events, NOTIFY_EVENTS);
}

static void test_messages_keep_their_numbers(void **state)
{
    (void)state;
    SAME(messages, MESSAGES);
}

static void test_what_has_no_table_keeps_its_numbers(void **state)
{
    (void)state;
    assert_int_equal(REUSE_ALL, 0);
    assert_int_equal(REUSE_PARAMS, 1);
    assert_int_equal(REUSE_NONE, 2);
    assert_int_equal(GOAL_MAX, 0);
    assert_int_equal(GOAL_MIN, 1);
    assert_int_equal(CANCEL_NOW, 1);
    assert_int_equal(CANCEL_DRAIN, 2);
    assert_int_equal(STOP_DECIDED, 1);
    assert_int_equal(STOP_OVERRULED, 2);
    assert_int_equal(STOP_EXEMPT, 3);
}

static void test_the_live_states_are_the_first_ones(void **state)
{
    (void)state;
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++)
        assert_int_equal(attempt_is_live((enum attempt_state)s), s <= ATTEMPT_LAST_LIVE);
    /* so an index of the database has it, for good */
    assert_int_equal(ATTEMPT_LAST_LIVE, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_keep_their_numbers),
        cmocka_unit_test(test_causes_keep_their_numbers),
        cmocka_unit_test(test_messages_keep_their_numbers),
        cmocka_unit_test(test_what_has_no_table_keeps_its_numbers),
        cmocka_unit_test(test_the_live_states_are_the_first_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
