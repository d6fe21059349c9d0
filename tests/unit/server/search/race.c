/* SPDX-License-Identifier: MIT */
/* race.c - tests of racing over replications */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "server/search/race.h"

enum { CONFIGS = 12, REPS = 5 };

static uint64_t next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* What replication rep of a configuration comes to: 10 for each configuration, 1 for each rep, and some noise. */
static double outcome(int64_t config, int64_t rep)
{
    uint64_t random = (uint64_t)(config * 100 + rep);

    next(&random);
    return (double)config * 10 + (double)rep + (double)(next(&random) % 100) / 100;
}

/* The replications of CONFIGS configurations as the queue gives them: breadth first. */
struct queue {
    int64_t max, n_started[CONFIGS + 1];
};

/* The next replication of a configuration that is not out; 0: there is none. */
static int64_t next_in(struct queue *q, struct race *r, int64_t *rep)
{
    int64_t found = 0;
    char reason[RACE_REASON_BYTES];

    for (int64_t config = 1; config <= CONFIGS; config++)
        if (q->n_started[config] < q->max &&
            (found == 0 || q->n_started[config] < q->n_started[found]) &&
            !race_is_out(r, config, reason))
            found = config;
    if (found != 0)
        *rep = q->n_started[found]++;
    return found;
}

static void what_is_clearly_behind_gets_no_more(void **state)
{
    static const struct {
        const char *what;
        struct race_spec spec;
        int64_t n_out, n_runs; /* configurations that are out at the end; replications in all */
    } cases[] = {
        { "all but the best, after three each",
          { .is_max = true, .max = 5, .race = 3 },
          CONFIGS - 1,
          3 * CONFIGS + 2 },
        { "the same for small values", { .max = 5, .race = 3 }, CONFIGS - 1, 3 * CONFIGS + 2 },
        { "three are looked for",
          { .is_max = true, .max = 5, .race = 3, .best = 3 },
          CONFIGS - 3,
          3 * CONFIGS + 6 },
        { "none before race", { .is_max = true, .max = 5, .race = 5 }, CONFIGS - 1, 5 * CONFIGS },
        { "more are looked for than there are",
          { .is_max = true, .max = 5, .race = 2, .best = 20 },
          0,
          5 * CONFIGS },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct race *r = race_new(&cases[i].spec);
        struct queue q = { .max = cases[i].spec.max };
        int64_t config, rep, n_out = 0, n_runs = 0;

        while ((config = next_in(&q, r, &rep)) != 0) {
            n_runs++;
            race_end(r, config, rep, outcome(config, rep));
        }
        for (config = 1; config <= CONFIGS; config++) {
            char reason[RACE_REASON_BYTES];
            bool is_out = race_is_out(r, config, reason);

            n_out += is_out;
            assert_int_equal(is_out, strstr(reason, "it is behind number ") == reason);
        }
        if (n_out != cases[i].n_out || n_runs != cases[i].n_runs)
            fail_msg("%s: %d out after %d", cases[i].what, (int)n_out, (int)n_runs);
        race_free(r);
    }
}

static void one_replication_is_enough_when_the_others_show_the_noise(void **state)
{
    struct race *r = race_new(&(struct race_spec){ .is_max = true, .max = 5, .race = 1 });
    struct queue q = { .max = 5 };
    int64_t config, rep, n_runs = 0, n_second = 0;

    (void)state;
    while ((config = next_in(&q, r, &rep)) != 0) {
        n_runs++;
        n_second += rep == 1;
        race_end(r, config, rep, -outcome(config, rep));
    }
    /* five pairs tell the noise; then the best alone goes on, to its fifth */
    assert_int_equal(n_second, 6);
    assert_int_equal(n_runs, CONFIGS + n_second + 3);
    race_free(r);
}

static void what_is_close_stays(void **state)
{
    struct race *r = race_new(&(struct race_spec){ .is_max = true, .max = 5, .race = 3 });
    char reason[RACE_REASON_BYTES];

    (void)state;
    /* the noise is 1, and so is the distance of the best two */
    for (int64_t rep = 0; rep < 3; rep++)
        for (int64_t config = 1; config <= CONFIGS; config++)
            race_end(r, config, rep,
                     config == 1   ? 101 + (double)(rep % 2)
                     : config == 2 ? 101 - (double)(rep % 2)
                                   : (double)(rep * config % 3));
    assert_false(race_is_out(r, 1, reason));
    assert_false(race_is_out(r, 2, reason));
    assert_true(race_is_out(r, 3, reason));
    race_free(r);
}

static void failures_and_nan_lose(void **state)
{
    struct race *r = race_new(&(struct race_spec){ .is_max = true, .max = 5, .race = 3 });
    char reason[RACE_REASON_BYTES];

    (void)state;
    for (int64_t rep = 0; rep < 3; rep++)
        for (int64_t config = 1; config <= CONFIGS; config++)
            race_end(r, config, rep,
                     config == CONFIGS && rep == 1 ? (double)NAN
                     : config == 1 && rep == 0     ? HUGE_VAL
                                                   : outcome(config, rep));
    assert_true(race_is_out(r, CONFIGS, reason));
    assert_true(race_is_out(r, 1, reason));
    assert_false(race_is_out(r, CONFIGS - 1, reason));
    race_free(r);
}

static void all_that_failed_are_equal(void **state)
{
    struct race *r = race_new(&(struct race_spec){ .max = 2, .race = 1 });
    struct queue q = { .max = 2 };
    int64_t config, rep, n_runs = 0;

    (void)state;
    while ((config = next_in(&q, r, &rep)) != 0) {
        n_runs++;
        race_end(r, config, rep, (double)NAN);
    }
    assert_int_equal(n_runs, 2 * CONFIGS);
    race_free(r);
}

/* The same outcomes in another order, some of them told twice: the same answers at every point. */
static void order_and_repeats_change_nothing(void **state)
{
    struct race_spec spec = { .is_max = true, .max = REPS, .race = 2 };

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct race *lives = race_new(&spec);
        struct queue q = { .max = REPS }, before;
        struct {
            int64_t config, rep;
            double value;
        } told[CONFIGS * REPS];
        size_t n = 0;
        int64_t config, rep;

        while (before = q, (config = next_in(&q, lives, &rep)) != 0) {
            struct race *anew = race_new(&spec);
            uint64_t random = seed + n;
            char x[RACE_REASON_BYTES], y[RACE_REASON_BYTES];
            int64_t other_rep;

            for (size_t i = n; i > 1; i--) {
                size_t k = next(&random) % i;

                told[CONFIGS * REPS - 1] = told[k];
                told[k] = told[i - 1];
                told[i - 1] = told[CONFIGS * REPS - 1];
            }
            for (size_t i = 0; i < n; i++) {
                race_end(anew, told[i].config, told[i].rep, told[i].value);
                race_end(anew, told[i / 2].config, told[i / 2].rep, 1e9);
            }
            assert_int_equal(next_in(&before, anew, &other_rep), config);
            assert_int_equal(other_rep, rep);
            for (int64_t c = 1; c <= CONFIGS; c++) {
                assert_int_equal(race_is_out(lives, c, x), race_is_out(anew, c, y));
                assert_string_equal(x, y);
            }
            race_free(anew);
            told[n].config = config;
            told[n].rep = rep;
            told[n].value = outcome(config, rep) + (double)(next(&random) % 400) / 10;
            race_end(lives, config, rep, told[n].value);
            if (++n == CONFIGS * REPS - 1)
                break;
        }
        assert_true(n > 2 * CONFIGS);
        race_free(lives);
    }
}

/* A job that had failed may be tried again, before or after ludwigd is. */
static void a_number_takes_the_place_of_a_failure(void **state)
{
    struct race_spec spec = { .is_max = true, .max = REPS, .race = 2 };
    struct race *retried = race_new(&spec), *anew = race_new(&spec);
    char x[RACE_REASON_BYTES], y[RACE_REASON_BYTES];
    size_t n_out = 0;

    (void)state;
    for (int64_t c = 1; c <= CONFIGS; c++)
        for (int64_t rep = 0; rep < 2; rep++) {
            race_end(retried, c, rep, (double)NAN);
            race_end(retried, c, rep, outcome(c, rep));
            race_end(retried, c, rep, (double)NAN);
            race_end(anew, c, rep, outcome(c, rep));
        }
    for (int64_t c = 1; c <= CONFIGS; c++) {
        n_out += race_is_out(anew, c, y);
        assert_int_equal(race_is_out(retried, c, x), race_is_out(anew, c, y));
        assert_string_equal(x, y);
    }
    assert_true(n_out > 0);
    race_free(retried);
    race_free(anew);
}

static void a_spec_is_taken_or_refused_in_one_line(void **state)
{
    static const struct {
        struct race_spec spec;
        const char *text;
    } cases[] = {
        { { .max = 10, .race = 3 }, NULL },
        { { .max = 1, .race = 1, .best = 5 }, NULL },
        { { .max = 0, .race = 1 }, "reps: max: must be 1 to 1000" },
        { { .max = 1001, .race = 1 }, "reps: max: must be 1 to 1000" },
        { { .max = 10, .race = 0 }, "reps: race: must be 1 to max, which is 10" },
        { { .max = 10, .race = 11 }, "reps: race: must be 1 to max, which is 10" },
        { { .max = 10, .race = 3, .best = -1 }, "reps: best: must be a positive number" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = { 0 };

        assert_int_equal(race_spec_check(&cases[i].spec, &e), cases[i].text == NULL ? 0 : -1);
        if (cases[i].text != NULL)
            assert_string_equal(e.text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_clearly_behind_gets_no_more),
        cmocka_unit_test(one_replication_is_enough_when_the_others_show_the_noise),
        cmocka_unit_test(what_is_close_stays),
        cmocka_unit_test(failures_and_nan_lose),
        cmocka_unit_test(all_that_failed_are_equal),
        cmocka_unit_test(order_and_repeats_change_nothing),
        cmocka_unit_test(a_number_takes_the_place_of_a_failure),
        cmocka_unit_test(a_spec_is_taken_or_refused_in_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
