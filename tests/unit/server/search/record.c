/* SPDX-License-Identifier: MIT */
/* record.c - tests of what follows from the record of an advisor */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "server/search/record.h"

enum { LINES_MAX = 12 };

#define SPACE  "d{\"type\": \"space\"}"
#define ASK(n) ("d{\"type\": \"ask\", \"n\": " #n "}")
#define GIVEN(re, by, points) \
    ("d{\"type\": \"given\", \"re\": " #re ", \"by\": \"" by "\", \"points\": [" points "]}")
#define GIVE(re) ("u{\"type\": \"give\", \"re\": " #re ", \"points\": [{\"params\": {}}]}")
#define TELL     "d{\"type\": \"tell\", \"id\": 1}"
#define STATE(n) ("u{\"type\": \"state\", \"blob\": \"x\", \"upto\": " #n "}")
#define REFUSED  "d{\"type\": \"refused\", \"why\": \"no\"}"
#define FAILED   "n{\"type\": \"failed\", \"why\": \"exit code 1\"}"
#define PAUSED   "n{\"type\": \"paused\"}"
#define RESUMED  "n{\"type\": \"resumed\"}"
#define END      "d{\"type\": \"end\"}"
#define POINT    "{\"id\": 1}"

static void fold(struct record *r, const char *const *lines)
{
    *r = (struct record){ 0 };
    for (int i = 0; i < LINES_MAX && lines[i] != NULL; i++) {
        enum advice_dir dir = lines[i][0] == 'd'   ? ADVICE_DOWN
                              : lines[i][0] == 'u' ? ADVICE_UP
                                                   : ADVICE_NOTE;

        record_add(r, &(struct advice_line){ i + 1, (int)dir, lines[i] + 1 });
    }
}

/* With 4 slots, 4 more points ahead, a budget of 20 and a patience of 60 s. */
static const struct {
    const char *what;
    const char *lines[LINES_MAX];
    struct record_now now;
    enum record_step step;
    int64_t n;
    int64_t after_ms;
    bool falls_back;
} cases[] = {
    { "all places are asked for at first",
      { SPACE },
      { true, 0, 4, 0, false, 20, true },
      RECORD_ASK,
      8,
      -1,
      false },
    { "without a worker there is a place for one, and one ahead",
      { SPACE },
      { true, 0, 0, 0, false, 20, true },
      RECORD_ASK,
      2,
      -1,
      false },
    { "what runs and waits is not asked for",
      { SPACE },
      { true, 7, 4, 0, false, 20, true },
      RECORD_ASK,
      1,
      -1,
      false },
    { "when all places are taken nothing is",
      { SPACE },
      { true, 8, 4, 0, false, 20, true },
      RECORD_NOTHING,
      0,
      -1,
      false },
    { "an answer is waited for",
      { SPACE, ASK(8) },
      { true, 0, 4, 20000, false, 20, true },
      RECORD_NOTHING,
      0,
      40000,
      false },
    { "but not for longer than patience",
      { SPACE, ASK(8) },
      { true, 0, 4, 60000, false, 20, true },
      RECORD_STAND_IN,
      8,
      -1,
      false },
    { "which there may be fewer of",
      { SPACE, ASK(8) },
      { true, 0, 4, 60000, false, 5, true },
      RECORD_STAND_IN,
      5,
      -1,
      false },
    { "or none: then it is waited for",
      { SPACE, ASK(8) },
      { true, 0, 4, 60000, false, 0, true },
      RECORD_NOTHING,
      0,
      -1,
      false },
    { "after its answer it is asked for the rest",
      { SPACE, ASK(8), GIVE(2), GIVEN(2, "advisor", POINT) },
      { true, 1, 4, 0, false, 20, true },
      RECORD_ASK,
      7,
      -1,
      false },
    { "a give alone answers nothing",
      { SPACE, ASK(8), GIVE(2) },
      { true, 0, 4, 20000, false, 20, true },
      RECORD_NOTHING,
      0,
      40000,
      false },
    { "a late answer does not count",
      { SPACE, ASK(1), GIVEN(2, "late", POINT), GIVE(2), ASK(7) },
      { true, 1, 4, 1000, false, 20, true },
      RECORD_NOTHING,
      0,
      59000,
      false },
    { "one that waits is asked after the next end",
      { SPACE, ASK(1),
        "d{\"type\": \"given\", \"re\": 2, \"by\": \"advisor\", \"points\": [], \"wait\": true}" },
      { true, 3, 4, 0, false, 20, true },
      RECORD_NOTHING,
      0,
      -1,
      false },
    { "which has come",
      { SPACE, ASK(1),
        "d{\"type\": \"given\", \"re\": 2, \"by\": \"advisor\", \"points\": [], \"wait\": true}",
        TELL },
      { true, 2, 4, 0, false, 20, true },
      RECORD_ASK,
      6,
      -1,
      false },
    { "or when nothing runs",
      { SPACE, ASK(1),
        "d{\"type\": \"given\", \"re\": 2, \"by\": \"advisor\", \"points\": [], \"wait\": true}" },
      { true, 0, 4, 0, false, 20, true },
      RECORD_ASK,
      8,
      -1,
      false },
    { "one that is done is not asked",
      { SPACE, ASK(1),
        "d{\"type\": \"given\", \"re\": 2, \"by\": \"advisor\", \"points\": [], \"done\": true}" },
      { true, 1, 4, 0, false, 20, true },
      RECORD_NOTHING,
      0,
      -1,
      false },
    { "and the search ends with its last job",
      { SPACE, ASK(1),
        "d{\"type\": \"given\", \"re\": 2, \"by\": \"advisor\", \"points\": [], \"done\": true}" },
      { true, 0, 4, 0, false, 20, true },
      RECORD_END,
      0,
      -1,
      false },
    { "with the hours of the budget as well",
      { SPACE },
      { true, 1, 4, 0, true, 20, true },
      RECORD_NOTHING,
      0,
      -1,
      false },
    { "which ends it",
      { SPACE, ASK(4) },
      { true, 0, 4, 0, true, 20, true },
      RECORD_END,
      0,
      -1,
      false },
    { "a paused sweep is left alone",
      { SPACE, ASK(8) },
      { false, 0, 4, 90000, false, 20, true },
      RECORD_NOTHING,
      0,
      -1,
      false },
    { "so is one that has ended",
      { SPACE, END },
      { true, 0, 4, 0, false, 20, true },
      RECORD_NOTHING,
      0,
      -1,
      false },
    { "two failures do nothing",
      { SPACE, ASK(8), FAILED, REFUSED },
      { true, 0, 4, 0, false, 20, true },
      RECORD_NOTHING,
      0,
      60000,
      false },
    { "three pause the sweep",
      { SPACE, ASK(8), FAILED, REFUSED, FAILED },
      { true, 0, 4, 0, false, 20, true },
      RECORD_PAUSE,
      0,
      -1,
      false },
    { "unless an answer came between",
      { SPACE, ASK(8), FAILED, FAILED, GIVEN(2, "advisor", POINT), FAILED },
      { true, 1, 4, 0, false, 20, true },
      RECORD_ASK,
      7,
      -1,
      false },
    { "which a random one is not",
      { SPACE, ASK(8), FAILED, FAILED, GIVEN(2, "late", POINT), FAILED },
      { true, 1, 4, 0, false, 20, true },
      RECORD_PAUSE,
      0,
      -1,
      false },
    { "a resumed one begins anew",
      { SPACE, ASK(8), FAILED, FAILED, FAILED, PAUSED },
      { true, 0, 4, 0, false, 20, true },
      RECORD_RESUME,
      0,
      -1,
      false },
    { "with its question",
      { SPACE, ASK(8), FAILED, FAILED, FAILED, PAUSED, RESUMED },
      { true, 0, 4, 0, false, 20, true },
      RECORD_NOTHING,
      0,
      60000,
      false },
    { "with a fallback nothing is waited for",
      { SPACE, ASK(8), FAILED, FAILED, FAILED },
      { true, 0, 4, 0, false, 20, true },
      RECORD_STAND_IN,
      8,
      -1,
      true },
    { "nor asked",
      { SPACE, FAILED, FAILED, FAILED },
      { true, 6, 4, 0, false, 20, true },
      RECORD_STAND_IN,
      2,
      -1,
      true },
    { "until all are used",
      { SPACE, FAILED, FAILED, FAILED },
      { true, 0, 4, 0, false, 0, true },
      RECORD_END,
      0,
      -1,
      true },
};

static void test_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct search s = { .configs = 20,
                                  .patience_ms = 60000,
                                  .falls_back = cases[i].falls_back };
        struct record_next next;
        struct record r;

        fold(&r, cases[i].lines);
        next = record_next(&r, &s, &cases[i].now);
        if (next.step != cases[i].step || next.n != cases[i].n ||
            next.after_ms != cases[i].after_ms)
            fail_msg("%s: step %d, n %lld, after %lld ms", cases[i].what, (int)next.step,
                     (long long)next.n, (long long)next.after_ms);
    }
}

static void test_budget(void **state)
{
    static const char *const lines[LINES_MAX] = { SPACE, ASK(2),
                                                  GIVEN(2, "advisor", POINT ", " POINT) };
    const struct record_now now = { true, 2, 4, 0, false, 20, true };
    struct search s = { .configs = 5, .patience_ms = 60000 };
    struct record_next next;
    struct record r;

    (void)state;
    fold(&r, lines);
    next = record_next(&r, &s, &now);
    assert_int_equal(next.step, RECORD_ASK);
    assert_int_equal(next.n, 3); /* of 8 places 2 are taken, but 3 are left of the budget */
    s.configs = 2;
    next = record_next(&r, &s, &now);
    assert_int_equal(next.step, RECORD_NOTHING);
    s.ahead = 1;
    s.configs = 0;
    next = record_next(&r, &s, &now);
    assert_int_equal(next.n, 3); /* 4 run and 1 waits */
}

/* An advisor that resumes stopped jobs is asked for nothing new when the budget is used up. */
static void one_that_resumes_is_asked_beyond_the_budget(void **state)
{
#define WANTS "u{\"type\": \"hello\", \"wants\": [\"steps\", \"resume\"]}"
#define WAITS(re) \
    ("d{\"type\": \"given\", \"re\": " #re ", \"by\": \"advisor\", \"wait\": true, \"points\": []}")
#define DONE(re) \
    ("d{\"type\": \"given\", \"re\": " #re ", \"by\": \"advisor\", \"done\": true, \"points\": []}")
    static const struct {
        const char *lines[LINES_MAX];
        int64_t outstanding, waited_ms;
        bool is_spent;
        enum record_step step;
    } given[] = {
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT) }, 1, 0, false, RECORD_ASK },
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT) }, 0, 0, false, RECORD_ASK },
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT) }, 0, 0, true, RECORD_END },
        { { SPACE, ASK(1), GIVEN(2, "advisor", POINT) }, 0, 0, false, RECORD_END },
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT), ASK(0) },
          0,
          0,
          false,
          RECORD_NOTHING },
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT), ASK(0) },
          0,
          60000,
          false,
          RECORD_END },
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT), ASK(0) },
          1,
          60000,
          false,
          RECORD_NOTHING },
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT), ASK(0), WAITS(5) },
          1,
          0,
          false,
          RECORD_NOTHING },
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT), ASK(0), WAITS(5), TELL },
          0,
          0,
          false,
          RECORD_ASK },
        { { SPACE, WANTS, ASK(1), GIVEN(3, "advisor", POINT), ASK(0), DONE(5) },
          0,
          0,
          false,
          RECORD_END },
    };
    const struct search s = { .configs = 1, .patience_ms = 60000 };

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        const struct record_now now = {
            true, given[i].outstanding, 4, given[i].waited_ms, given[i].is_spent, 20, true
        };
        struct record_next next;
        struct record r;

        fold(&r, given[i].lines);
        next = record_next(&r, &s, &now);
        if (next.step != given[i].step || next.n != 0)
            fail_msg("case %zu: step %d, n %lld", i, (int)next.step, (long long)next.n);
    }
}

static void test_passed(void **state)
{
    static const char *const lines[LINES_MAX] = { SPACE, ASK(1),   GIVEN(2, "advisor", POINT),
                                                  TELL,  STATE(3), ASK(1) };
    static const bool fresh[] = { true, false, true, true, false, true };
    static const bool with_state[] = { false, false, false, true, false, true };
    struct record r;

    (void)state;
    fold(&r, lines);
    assert_int_equal(r.state, 5);
    assert_int_equal(r.upto, 3);
    for (int n = 0; n < 2; n++, r.state = r.upto = 0)
        for (int i = 0; i < 6; i++) {
            const struct advice_line line = { i + 1, lines[i][0] == 'u' ? ADVICE_UP : ADVICE_DOWN,
                                              lines[i] + 1 };

            if (record_is_passed(&r, &line) != (n == 0 ? with_state[i] : fresh[i]))
                fail_msg("line %d, %s a state", i + 1, n == 0 ? "with" : "without");
        }
}

static const struct {
    const char *line, *error; /* NULL: none */
} lines[] = {
    { "{\"type\": \"give\", \"re\": 3, \"points\": [{\"params\": {\"x\": 1}}]}", NULL },
    { "{\"type\": \"give\", \"re\": 3, \"points\": [], \"done\": true}", NULL },
    { "{\"type\": \"give\", \"re\": 3, \"wait\": true}", NULL },
    { "{\"type\": \"hello\", \"more\": [1]}", NULL },
    { "{\"type\": \"say\", \"text\": \"hm\"}", NULL },
    { "{\"type\": \"state\", \"blob\": \"x\", \"upto\": 1}", NULL },
    { "{\"type\": \"stop\", \"ids\": [1]}", NULL },
    { "", "no JSON" },
    { "epoch 3 done", "no JSON: 'epoch 3 done'" },
    { "[1]", "a JSON object" },
    { "{\"type\": \"think\"}", "of type 'think'" },
    { "{\"re\": 1}", "of type ''" },
    { "{\"type\": \"give\", \"points\": [{}]}", "needs re" },
    { "{\"type\": \"give\", \"re\": 3}", "has points" },
    { "{\"type\": \"give\", \"re\": 3, \"points\": {}}", "expected a list" },
    { "{\"type\": \"give\", \"re\": 3, \"points\": [1]}", "found a whole number" },
    { "{\"type\": \"state\", \"blob\": \"x\"}", "upto" },
    { "{\"type\": \"stop\", \"ids\": [\"x\"]}", "a stop needs ids" },
    { "{\"type\": \"resume\", \"re\": 9, \"ids\": [3], \"why\": \"good\"}", NULL },
    { "{\"type\": \"resume\", \"ids\": [3]}", "a resume needs re" },
    { "{\"type\": \"resume\"}", "a resume needs ids" },
    { "{\"type\": \"say\", \"text\": [[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]}",
      "nested" },
};

static void test_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        struct said said;
        int rc = record_read(lines[i].line, a, &said, &e);

        if ((rc == 0) != (lines[i].error == NULL) ||
            (rc < 0 && strstr(e.text, lines[i].error) == NULL))
            fail_msg("%s: %s", lines[i].line, rc == 0 ? "was taken" : e.text);
        arena_destroy(a);
    }
}

static void values_of_jobs_that_run_are_told_to_an_advisor_that_wants_them(void **state)
{
    static const char *const plain[] = { SPACE, "u{\"type\": \"hello\", \"wants\": \"steps\"}",
                                         NULL };
    static const char *const wants[] = { SPACE, "u{\"type\": \"hello\", \"wants\": [1, \"steps\"]}",
                                         "d{\"type\": \"step\", \"id\": 1}", NULL };
    struct arena *a = arena_create();
    struct record r;
    struct said said;

    (void)state;
    fold(&r, plain);
    assert_false(r.wants_steps);
    fold(&r, wants);
    assert_true(r.wants_steps);
    assert_int_equal(r.step_bytes, strlen(wants[2]) - 1);
    assert_int_equal(record_read(wants[1] + 1, a, &said, NULL), 0);
    assert_true(said.wants_steps);
    assert_int_equal(record_read(plain[1] + 1, a, &said, NULL), 0);
    assert_false(said.wants_steps);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_jobs_that_run_are_told_to_an_advisor_that_wants_them),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(one_that_resumes_is_asked_beyond_the_budget),
        cmocka_unit_test(test_passed),
        cmocka_unit_test(test_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
