/* SPDX-License-Identifier: MIT */
/* stop_rule.c - tests of early stopping */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "server/search/stop_rule.h"

#define MAX .is_max = true

/*
 * Events as text, separated by spaces: "7:3=0.5" job 7 reports 0.5 at step 3, "7:9!0.5" it ends by itself there,
 * "7+" it is resumed, "7^" ready for that, "7*" exempt, "7-" gone, "7?" stop_record_next must give it, "0?" none.  The configuration is
 * the job's number without its last digit, if it has two or more ("71" and "72" are replications of one).
 * Answers: '.' go, 'X' stop; for '?' the last digit of the job.
 */
static void play(struct stop_record *r, const char *events, char *answers)
{
    for (; *events != '\0'; events += strcspn(events, " "), events += *events == ' ') {
        static const char kinds[] = "=!-*+^?";
        struct stop_event e = { 0 };
        struct stop_answer answer;
        char *end, reason[STOP_REASON_BYTES];

        e.job = strtoll(events, &end, 10);
        e.config = e.job < 10 ? e.job : e.job / 10;
        if (*end == ':')
            e.step = strtoll(end + 1, &end, 10);
        e.kind = (enum stop_event_kind)(strchr(kinds, *end) - kinds + 1);
        if (*end == '?') {
            *answers++ = (char)('0' + stop_record_next(r, reason) % 10);
            continue;
        }
        e.value = strtod(end + 1, NULL);
        stop_record_add(r, &e, &answer);
        *answers++ = answer.stop ? 'X' : '.';
    }
    *answers = '\0';
}

static void decisions_are_those_of_the_rule(void **state)
{
    static const struct {
        const char *what;
        struct stop_spec spec;
        const char *events, *answers;
    } cases[] = {
        { "asha: the better half of those so far goes on, rounded up",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 3:1=2 4:1=5 5:1=4.5 6:1=4.2",
          ".XX..." },
        { "asha: the same for small values",
          { .rule = STOP_ASHA, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 3:1=2 4:1=5",
          "...X" },
        { "asha: the second rung takes a quarter of all, not half of those that got there",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:1=1 2:1=2 3:1=3 4:1=4 5:1=1 6:1=1 4:2=4 3:2=3",
          "....XX.X" },
        { "asha: no decision between rungs",
          { .rule = STOP_ASHA, MAX, .first = 4, .eta = 2 },
          "1:1=9 2:1=1 2:2=1 2:3=1 1:4=9 2:4=1",
          ".....X" },
        { "asha: equal values are equally good",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:1=1 2:1=1 3:1=1 4:1=1",
          "...." },
        { "asha: nan and inf lose",
          { .rule = STOP_ASHA, .first = 1, .eta = 2 },
          "1:1=1e300 2:1=nan 3:1=-inf 4:1=inf",
          ".XXX" },
        { "asha: nan loses also when large values are good",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:1=-1e300 2:1=nan 3:1=inf",
          ".XX" },
        { "asha: a repeat gets the first answer, and a stopped job stays stopped",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 2:1=9 2:2=9 1:1=0 3:1=3.5",
          ".XXX.." },
        { "asha: a second attempt counts once",
          { .rule = STOP_ASHA, MAX, .first = 2, .eta = 2 },
          "1:1=1 1:2=5 1:1=0 1:2=0 2:2=4 3:2=4.5",
          "....X." },
        { "asha: a rung that was jumped over is judged with the next value",
          { .rule = STOP_ASHA, MAX, .first = 2, .eta = 8 },
          "1:1=1 1:5=5 2:1=1 2:3=1 3:5=0",
          "...XX" },
        { "asha: what lies between two values counts for the rung between them",
          { .rule = STOP_ASHA, MAX, .first = 4, .eta = 8 },
          "1:2=2 1:6=6 2:4=3.9 3:4=4.1",
          "..X." },
        { "asha: nothing is stopped before the length is known, then from a tenth of it on",
          { .rule = STOP_ASHA, MAX },
          "1:1=9 2:1=1 2:5=1 1:20!9 2:6=1 3:1=1 3:2=0.5",
          "....X.X" },
        { "asha: max_step gives the length",
          { .rule = STOP_ASHA, MAX, .max_step = 20 },
          "1:1=9 2:1=1 1:2=9 2:2=1",
          "...X" },
        { "asha: a job at its end is not stopped",
          { .rule = STOP_ASHA, MAX, .first = 1, .max_step = 2 },
          "1:1=2 2:1=2 1:2=2 2:2=1",
          "...." },
        { "asha: the length is the median of those that ended",
          { .rule = STOP_ASHA, MAX, .eta = 8 },
          "1:1!1 2:1=1 2:100!1 3:1=9 3:100!9 4:9=0 4:10=0",
          "......X" },
        { "asha: a configuration is compared by the mean of its replications",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "11:1=4 12:1=8 21:1=5 22:1=9 31:1=6",
          "..X.." },
        { "asha: a step below zero is none",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:-5=1 1:1=1 2:-1=0 2:1=0",
          "...X" },
        { "median: what is worse than half of all, again and again",
          { .rule = STOP_MEDIAN, MAX, .first = 1 },
          "1:1=1 2:1=2 3:1=3 4:1=4 4:2=4 3:2=3 2:2=2 5:1=2.5 5:2=0",
          ".....XX.X" },
        { "median: not before first",
          { .rule = STOP_MEDIAN, MAX, .first = 3 },
          "1:1=9 2:1=1 1:3=9 2:3=1",
          "...X" },
        { "patience: steps without an improvement",
          { .rule = STOP_PATIENCE, MAX, .patience = 3 },
          "1:1=1 1:2=2 1:3=2 1:4=1 1:5=2 2:1=nan 2:3=nan 2:4=nan",
          "....X..X" },
        { "patience: a gain of min_delta is none",
          { .rule = STOP_PATIENCE, .patience = 2, .min_delta = 0.5 },
          "1:1=9 1:2=8.5 1:3=8.4 1:4=8.4 1:5=8",
          "....X" },
        { "patience: steps that another attempt repeats are no new ones",
          { .rule = STOP_PATIENCE, MAX, .patience = 2 },
          "1:5=1 1:1=0 1:2=0 1:4=0 1:5=1 1:6=2",
          "......" },
        { "threshold: from first on",
          { .rule = STOP_THRESHOLD, MAX, .first = 3, .has_threshold = true, .threshold = 0.5 },
          "1:1=0 1:2=0 1:3=0.5 1:4=0.4 2:9=nan 3:2=0.9 3:9=0.9",
          "...XX.." },
        { "threshold 0 of small values",
          { .rule = STOP_THRESHOLD, .has_threshold = true },
          "1:1=-1 1:2=0 1:3=0.1",
          "..X" },
        { "a user's wish ends a stop, and there is no other",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 2* 2:1=3 2:2=0 2:4=0",
          ".X...." },
        { "a job that ended by itself is not stopped",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 2:2!3 2:2=3",
          ".X.." },
        { "median: one that runs again is not counted among those that were stopped",
          { .rule = STOP_MEDIAN, MAX, .first = 1 },
          "1:1=4 2:1=3 2* 2:2=3 1:2=2",
          ".X..X" },
        { "median: one that was stopped counts where its other replication is, and beyond",
          { .rule = STOP_MEDIAN, MAX, .first = 1 },
          "21:1=5 11:1=1 12:1=9 12:2=9 31:1=9 31:2=9.5 41:1=9.9 41:2=9.9 41:3=9 31:3=1",
          ".X........" },
        { "without checkpoints no job goes on again",
          { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 2^ 3:1=1 4:1=1 0?",
          ".XXXX0" },
        { "with checkpoints the one goes on that is among the best by now",
          { .rule = STOP_ASHA, MAX, .can_resume = true, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 2^ 0? 3:1=1 3^ 2? 4:1=1 2? 2+ 0? 2:2=3 0?",
          ".XX0XX2X2.0.0" },
        { "of several the better one first",
          { .rule = STOP_ASHA, MAX, .can_resume = true, .first = 1, .eta = 2 },
          "1:1=9 2:1=9 3:1=7 3^ 4:1=8 4^ 5:1=1 6:1=1 7:1=1 4? 4+ 3? 3+ 0?",
          "..XXXXXXX4.3.0" },
        { "not before it has ended and left a checkpoint",
          { .rule = STOP_ASHA, MAX, .can_resume = true, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 3:1=1 4:1=1 0? 2^ 2? 2+ 0? 2:2=3 2:9!3 2^ 0?",
          ".XXX0X2.0...0" },
        { "not one that is gone",
          { .rule = STOP_ASHA, MAX, .can_resume = true, .first = 1, .eta = 2 },
          "1:1=4 2:1=3 2^ 2- 3:1=1 4:1=1 0?",
          ".XXXXX0" },
        { "one that is gone, is run again all the same and is stopped again may go on",
          { .rule = STOP_MEDIAN, MAX, .can_resume = true, .first = 1 },
          "1:1=4 2:1=4 1:2=4 2- 2:2=3 2^ 3:1=5 3:2=2 2?",
          "....XX.X2" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stop_record *r = stop_record_new(&cases[i].spec);
        char answers[100];

        assert_int_equal(stop_spec_check(&cases[i].spec, NULL), 0);
        play(r, cases[i].events, answers);
        if (strcmp(answers, cases[i].answers) != 0)
            fail_msg("%s: %s: %s, not %s", cases[i].what, cases[i].events, answers,
                     cases[i].answers);
        stop_record_free(r);
    }
}

static void a_spec_is_taken_or_refused_in_one_line(void **state)
{
    static const struct {
        struct stop_spec spec;
        const char *text; /* NULL: taken */
    } cases[] = {
        { { .rule = STOP_ASHA }, NULL },
        { { .rule = STOP_MEDIAN, .first = 3, .max_step = 9 }, NULL },
        { { .rule = STOP_PATIENCE, .patience = 3, .min_delta = 0.1 }, NULL },
        { { .rule = STOP_THRESHOLD, .has_threshold = true, .first = 2 }, NULL },
        { { .rule = 0 }, "stop: rule: must be asha, median, patience or threshold" },
        { { .rule = 9 }, "stop: rule: must be asha, median, patience or threshold" },
        { { .rule = STOP_ASHA, .first = -1 }, "stop: first: must be a positive number" },
        { { .rule = STOP_ASHA, .eta = 1 }, "stop: eta: must be at least 1.1" },
        { { .rule = STOP_ASHA, .eta = INFINITY }, "stop: eta: must be at least 1.1" },
        { { .rule = STOP_ASHA, .max_step = -3 }, "stop: max_step: must be a positive number" },
        { { .rule = STOP_ASHA, .patience = 3 }, "stop: patience: is no key of rule: asha" },
        { { .rule = STOP_MEDIAN, .eta = 3 }, "stop: eta: is no key of rule: median" },
        { { .rule = STOP_PATIENCE, .first = 3, .patience = 1 },
          "stop: first: is no key of rule: patience" },
        { { .rule = STOP_PATIENCE }, "stop: rule: patience needs patience:, a number of steps" },
        { { .rule = STOP_PATIENCE, .patience = -1 }, "stop: patience: must be a positive number" },
        { { .rule = STOP_THRESHOLD }, "stop: rule: threshold needs threshold:, a number" },
        { { .rule = STOP_THRESHOLD, .has_threshold = true, .threshold = NAN },
          "stop: threshold: must be a finite number" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = { 0 };
        int taken = stop_spec_check(&cases[i].spec, &e);

        assert_int_equal(taken, cases[i].text == NULL ? 0 : -1);
        if (cases[i].text != NULL)
            assert_string_equal(e.text, cases[i].text);
    }
}

static void words_and_numbers_of_rules_are_fixed(void **state)
{
    static const char *const rules[] = { NULL, "asha", "median", "patience", "threshold", NULL };

    (void)state;
    for (int i = 0; i < 6; i++) {
        const char *word = stop_rule_word((enum stop_rule)i);

        if (rules[i] == NULL) {
            assert_null(word);
            continue;
        }
        assert_string_equal(word, rules[i]);
        assert_int_equal(stop_rule_by_word(rules[i]), i);
    }
    assert_int_equal(stop_rule_by_word("hyperband"), 0);
    assert_int_equal(STOP_EVENT_VALUE, 1);
    assert_int_equal(STOP_EVENT_ENDED, 2);
    assert_int_equal(STOP_EVENT_GONE, 3);
    assert_int_equal(STOP_EVENT_EXEMPT, 4);
    assert_int_equal(STOP_EVENT_RESUMED, 5);
    assert_int_equal(STOP_EVENT_READY, 6);
}

static void spans_grow_by_a_sixth(void **state)
{
    static const int64_t cases[][2] = { { -3, 0 },  { 0, 0 },      { 1, 1 },      { 11, 11 },
                                        { 12, 12 }, { 13, 12 },    { 14, 14 },    { 20, 18 },
                                        { 21, 21 }, { 1000, 892 }, { 1040, 1040 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(stop_span(cases[i][0]), cases[i][1]);
    assert_true(stop_span(INT64_MAX) > INT64_MAX / 2);
}

static void reasons_have_the_numbers(void **state)
{
    static const struct {
        struct stop_spec spec;
        const char *events, *reason;
    } cases[] = {
        { { .rule = STOP_ASHA, MAX, .metric = "accuracy", .step = "epoch", .first = 1, .eta = 2 },
          "1:1=0.9 2:1=0.5",
          "accuracy 0.5 at epoch 1 is number 2 of 2 there; the best 1 go on" },
        { { .rule = STOP_MEDIAN, .metric = "loss", .first = 1 },
          "1:1=0.9 2:1=0.5 3:1=0.7",
          "loss 0.7 at step 1 is number 2 of 3 there; the best 2 go on" },
        { { .rule = STOP_PATIENCE, .metric = "loss", .patience = 3 },
          "1:1=0.9 1:4=0.95",
          "loss 0.95 at step 4: no better than 0.9 at step 1 for 3" },
        { { .rule = STOP_THRESHOLD, .has_threshold = true, .threshold = 2 },
          "1:1=3",
          "value 3 at step 1 is worse than the threshold 2" },
        { { .rule = STOP_ASHA, .first = 5 }, "1:1=3", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stop_record *r = stop_record_new(&cases[i].spec);
        struct stop_event again = { .kind = STOP_EVENT_VALUE, .step = 1 };
        struct stop_answer answer;
        char answers[100];

        play(r, cases[i].events, answers);
        /* the answer to a repeat has the reason of the decision */
        again.job = again.config = strtoll(strrchr(cases[i].events, ':') - 1, NULL, 10);
        stop_record_add(r, &again, &answer);
        assert_string_equal(answer.reason, cases[i].reason);
        assert_int_equal(answer.keep, STOP_KEEP_NO);
        stop_record_free(r);
    }
}

static void what_is_kept_is_little(void **state)
{
    static const struct {
        struct stop_spec spec;
        int64_t step;
        double value;
        enum stop_keep keep;
    } cases[] = {
        { { .rule = STOP_ASHA, MAX }, 14, 1, STOP_KEEP_ADD },
        { { .rule = STOP_ASHA, MAX }, 15, 2, STOP_KEEP_NO }, /* of the same span */
        { { .rule = STOP_ASHA, MAX }, 16, 2, STOP_KEEP_ADD },
        { { .rule = STOP_PATIENCE, MAX, .patience = 2 }, 1, 1, STOP_KEEP_REPLACE },
        { { .rule = STOP_PATIENCE, MAX, .patience = 2 }, 2, 2, STOP_KEEP_REPLACE },
        { { .rule = STOP_PATIENCE, MAX, .patience = 2 }, 3, 2, STOP_KEEP_NO },
        { { .rule = STOP_PATIENCE, MAX, .patience = 2 }, 4, 2, STOP_KEEP_ADD }, /* it stops */
        { { .rule = STOP_PATIENCE, MAX, .patience = 2 }, 4, 2, STOP_KEEP_NO },
        { { .rule = STOP_THRESHOLD, MAX, .has_threshold = true }, 1, 1, STOP_KEEP_NO },
        { { .rule = STOP_THRESHOLD, MAX, .has_threshold = true }, 2, -1, STOP_KEEP_ADD },
    };
    struct stop_record *r = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stop_event e = { .kind = STOP_EVENT_VALUE, .job = 1, .config = 1 };
        struct stop_answer answer;

        if (i == 0 || cases[i].spec.rule != cases[i - 1].spec.rule) {
            stop_record_free(r);
            r = stop_record_new(&cases[i].spec);
        }
        e.step = cases[i].step;
        e.value = cases[i].value;
        stop_record_add(r, &e, &answer);
        assert_int_equal(answer.keep, cases[i].keep);
    }
    stop_record_free(r);
}

static uint64_t next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* Ranks are counted by blocks; here they are counted one by one. */
static void ranks_of_thousands_are_right(void **state)
{
    enum { CONFIGS = 3000, REPS = 2 };
    const struct stop_spec spec = { .rule = STOP_ASHA, MAX, .first = 1, .eta = 2 };
    struct stop_record *r = stop_record_new(&spec);
    static double sums[CONFIGS];
    static int n[CONFIGS];
    uint64_t random = 1;

    (void)state;
    for (int i = 0; i < CONFIGS * REPS; i++) {
        int config = i % CONFIGS, above = 0, all = 0;
        struct stop_event e = { STOP_EVENT_VALUE, .job = i + 1, .config = config + 1, .step = 1 };
        struct stop_answer answer;

        e.value = (double)(next(&random) % 2000);
        sums[config] += e.value;
        n[config]++;
        for (int k = 0; k < CONFIGS; k++) {
            all += n[k] > 0;
            above += n[k] > 0 && sums[k] / n[k] > sums[config] / n[config];
        }
        stop_record_add(r, &e, &answer);
        assert_int_equal(answer.stop, above + 1 > (all + 1) / 2);
    }
    stop_record_free(r);
}

/* One record lives on; the other is made anew from the kept events every now and then. */
static void a_restart_changes_no_decision(void **state)
{
    static const struct stop_spec specs[] = {
        { .rule = STOP_ASHA, MAX },
        { .rule = STOP_ASHA, .can_resume = true, .first = 2, .eta = 3 },
        { .rule = STOP_ASHA, MAX, .can_resume = true, .max_step = 60 },
        { .rule = STOP_MEDIAN, MAX },
        { .rule = STOP_MEDIAN, .can_resume = true, .first = 4 },
        { .rule = STOP_PATIENCE, MAX, .patience = 5 },
        { .rule = STOP_THRESHOLD, .first = 3, .has_threshold = true, .threshold = 30 },
    };
    enum { EVENTS = 6000, JOBS = 80, STEPS = 60 };
    static struct stop_event kept[EVENTS];

    (void)state;
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        struct stop_record *lives = stop_record_new(&specs[s]), *anew = stop_record_new(&specs[s]);
        int64_t steps[JOBS] = { 0 };
        size_t n_kept = 0, n_stops = 0;
        uint64_t random = s;

        for (int i = 0; i < EVENTS; i++) {
            struct stop_event e = { .kind = STOP_EVENT_VALUE };
            struct stop_answer x, y;
            char reason_x[STOP_REASON_BYTES], reason_y[STOP_REASON_BYTES];
            uint64_t dice = next(&random) % 1000;
            int64_t job = (int64_t)(next(&random) % JOBS), again;

            e.job = job + 1;
            e.config = job / 2 + 1;
            e.rep = job % 2;
            steps[job] += 1 + (int64_t)(next(&random) % 3);
            if (dice < 50) /* another attempt begins */
                steps[job] = 1;
            if (steps[job] >= STEPS) {
                steps[job] = STEPS;
                e.kind = STOP_EVENT_ENDED;
            } else if (dice > 995) {
                e.kind = STOP_EVENT_EXEMPT;
            } else if (dice > 990) {
                e.kind = STOP_EVENT_GONE;
            } else if (dice > 700) {
                e.kind = STOP_EVENT_READY;
            }
            e.step = steps[job];
            e.value = dice % 50 == 7 ? (double)NAN : (double)(next(&random) % 100);
            again = stop_record_next(lives, reason_x);
            assert_int_equal(again, stop_record_next(anew, reason_y));
            assert_string_equal(reason_x, reason_y);
            if (again != 0 && dice % 3 == 0)
                e = (struct stop_event){ .kind = STOP_EVENT_RESUMED,
                                         .job = again,
                                         .config = (again - 1) / 2 + 1,
                                         .rep = (again - 1) % 2 };
            stop_record_add(lives, &e, &x);
            stop_record_add(anew, &e, &y);
            assert_int_equal(x.stop, y.stop);
            assert_int_equal(x.keep, y.keep);
            assert_int_equal(x.stopped_at, y.stopped_at);
            assert_int_equal(stop_record_length(lives), stop_record_length(anew));
            if (x.keep != STOP_KEEP_NO)
                assert_string_equal(x.reason, y.reason);
            n_stops += x.stop;
            if (x.keep == STOP_KEEP_REPLACE) {
                size_t n = 0;

                for (size_t k = 0; k < n_kept; k++)
                    if (kept[k].job != e.job || kept[k].kind != STOP_EVENT_VALUE)
                        kept[n++] = kept[k];
                n_kept = n;
            }
            if (x.keep != STOP_KEEP_NO)
                kept[n_kept++] = e;
            if (i % 37 == 0) {
                stop_record_free(anew);
                anew = stop_record_new(&specs[s]);
                for (size_t k = 0; k < n_kept; k++)
                    stop_record_add(anew, &kept[k], &y);
            }
        }
        assert_true(n_stops > 10);
        stop_record_free(lives);
        stop_record_free(anew);
    }
}

/* Sums of them were a nan, which the ranks did not find again: ludwigd read past its blocks. */
static void values_that_are_as_large_as_can_be_do_no_harm(void **state)
{
    static const struct {
        int job, config, step;
        double value;
    } events[] = {
        { 13, 4, 0, -1e308 },  { 10, 3, 3, NAN },    { 4, 1, 2, -1e308 },   { 9, 3, 2, -1e308 },
        { 7, 2, 3, 11 },       { 15, 5, 2, NAN },    { 3, 1, 0, -1e308 },   { 6, 2, 5, 3 },
        { 7, 2, 4, -7 },       { 14, 4, 3, 3 },      { 12, 4, 1, 1.7e308 }, { 9, 3, 5, 1.7e308 },
        { 3, 1, 5, 11 },       { 8, 2, 1, 5 },       { 2, 0, 2, -1e308 },   { 8, 2, 1, 5 },
        { 8, 2, 4, NAN },      { 1, 0, 4, -1e308 },  { 4, 1, 5, 1.7e308 },  { 9, 3, 0, 5 },
        { 5, 1, 0, NAN },      { 14, 4, 4, -1e308 }, { 12, 4, 3, -7 },      { 12, 4, 0, -1e308 },
        { 7, 2, 2, 1e308 },    { 3, 1, 3, 1.7e308 }, { 2, 0, 2, -7 },       { 7, 2, 2, NAN },
        { 14, 4, 5, 1.7e308 }, { 5, 1, 4, -1e308 },
    };
    struct stop_spec spec = { .rule = STOP_MEDIAN, MAX, .first = 1 };
    struct stop_record *r = stop_record_new(&spec);
    struct stop_answer answer;

    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        struct stop_event e = { .kind = STOP_EVENT_VALUE,
                                .job = events[i].job,
                                .config = events[i].config,
                                .step = events[i].step,
                                .value = events[i].value };

        stop_record_add(r, &e, &answer);
    }
    stop_record_free(r);
    /* Of two configurations the better one goes on, whatever their sums are. */
    r = stop_record_new(&spec);
    for (int i = 0; i < 8; i++) {
        struct stop_event e = { .kind = STOP_EVENT_VALUE,
                                .job = i + 1,
                                .config = i % 2,
                                .step = 1,
                                .value = i == 6       ? (double)NAN
                                         : i % 2 == 0 ? 1.7e308
                                                      : 1 };

        stop_record_add(r, &e, &answer);
    }
    assert_false(answer.stop);
    stop_record_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_those_of_the_rule),
        cmocka_unit_test(a_spec_is_taken_or_refused_in_one_line),
        cmocka_unit_test(words_and_numbers_of_rules_are_fixed),
        cmocka_unit_test(spans_grow_by_a_sixth),
        cmocka_unit_test(reasons_have_the_numbers),
        cmocka_unit_test(what_is_kept_is_little),
        cmocka_unit_test(ranks_of_thousands_are_right),
        cmocka_unit_test(a_restart_changes_no_decision),
        cmocka_unit_test(values_that_are_as_large_as_can_be_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
