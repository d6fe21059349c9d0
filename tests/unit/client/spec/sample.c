/* SPDX-License-Identifier: MIT */
/* sample.c - tests of what random and sobol draw */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <stdio.h>
#include <math.h>

#include "client/spec/sample.h"

/* scipy.special.ndtri of SciPy 1.10.1 */
static void the_inverse_of_the_normal_distribution_is_known(void **state)
{
    static const struct {
        double p, x;
    } cases[] = {
        { 0.5, 0.0 },
        { 0.075, -1.4395314709384563 },
        { 0.925, 1.4395314709384563 },
        { 0.0749, -1.4402382675279635 },
        { 0.1, -1.2815515655446004 },
        { 0.01, -2.3263478740408408 },
        { 0.99, 2.3263478740408408 },
        { 0.975, 1.959963984540054 },
        { 0.3, -0.5244005127080409 },
        { 0.6, 0.2533471031357997 },
        { 1e-05, -4.264890793922825 },
        { 0.99999, 4.264890793923841 },
        { 1e-10, -6.361340902404056 },
        { 0x1p-33, -6.3379577545537895 },
        { 0x1p-53, -8.209536151601387 },
        { 1 - 0x1p-53, 8.209536151601387 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double x = sample_normal(cases[i].p);

        if (fabs(x - cases[i].x) > 1e-15 * (1 + fabs(cases[i].x)))
            fail_msg("of %.17g: %.17g instead of %.17g", cases[i].p, x, cases[i].x);
    }
}

static struct sampler sampler_of(int method, const struct param *param)
{
    const struct plan plan = { .method = method, .seed = 42 };
    struct sampler s;

    sampler_init(&s, &plan, param, param->name, 3);
    return s;
}

static const struct param distributions[] = {
    { .name = "u", .form = PARAM_UNIFORM, .low = -2, .high = 6 },
    { .name = "l", .form = PARAM_LOG_UNIFORM, .low = 1e-4, .high = 1 },
    { .name = "i", .form = PARAM_INT_UNIFORM, .first = -10, .last = 20 },
    { .name = "n", .form = PARAM_NORMAL, .low = 5, .high = 3 },
};

/* On a scale on which it is evenly or normally distributed. */
static double linear(const struct param *p, const struct value *v)
{
    if (p->form == PARAM_LOG_UNIFORM)
        return log10(v->f);
    return v->type == VALUE_INT ? (double)v->i : v->f;
}

static void check_moments(const struct sampler *s, double mean, double deviation)
{
    enum { N = 20000 };
    double sum = 0, squares = 0;

    for (uint64_t i = 0; i < N; i++) {
        struct value v = sampler_draw(s, i);
        double x = linear(s->param, &v);

        sum += x;
        squares += (x - mean) * (x - mean);
    }
    if (fabs(sum / N - mean) > 0.03 * deviation)
        fail_msg("%s: the mean is %g", s->param->name, sum / N);
    if (fabs(sqrt(squares / N) - deviation) > 0.02 * deviation)
        fail_msg("%s: the standard deviation is %g", s->param->name, sqrt(squares / N));
}

static void distributions_have_their_means_and_deviations(void **state)
{
    static const double moments[][2] = {
        { 2, 8 / 3.4641016151377544 },
        { -2, 4 / 3.4641016151377544 },
        { 5, 8.9442719099991592 }, /* sqrt((31^2 - 1) / 12) */
        { 5, 3 },
    };

    (void)state;
    for (int method = METHOD_RANDOM; method <= METHOD_SOBOL; method++)
        for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
            struct sampler s = sampler_of(method, &distributions[i]);

            check_moments(&s, moments[i][0], moments[i][1]);
        }
}

static void draws_stay_within_their_bounds(void **state)
{
    static const struct param narrow[] = {
        { .name = "u",
          .form = PARAM_UNIFORM,
          .low = 0.12345678901234567,
          .high = 0.1234567890123457 },
        { .name = "d",
          .form = PARAM_UNIFORM,
          .low = 0.12345678901234512,
          .high = 0.12345678901234514 },
        { .name = "l", .form = PARAM_LOG_UNIFORM, .low = 5e-324, .high = 1e-323 },
        { .name = "m", .form = PARAM_LOG_UNIFORM, .low = 1.7e308, .high = 1.7976931348623157e308 },
        { .name = "w",
          .form = PARAM_UNIFORM,
          .low = -1.7976931348623157e308,
          .high = 1.7976931348623157e308 },
        { .name = "c", .form = PARAM_UNIFORM, .low = 3, .high = 3 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) {
        struct sampler s = sampler_of(METHOD_RANDOM, &narrow[i]);

        for (uint64_t k = 0; k < 1000; k++) {
            double x = sampler_draw(&s, k).f;

            assert_true(x >= narrow[i].low && x <= narrow[i].high);
        }
    }
}

/* log2(k + 1/2) - log2(k - 1/2) of the range's octaves fall on k. */
static void whole_numbers_are_even_on_a_logarithmic_scale(void **state)
{
    static const struct param width = {
        .name = "w", .form = PARAM_LOG_INT, .first = 1, .last = 64
    };
    static const struct param one = { .name = "w", .form = PARAM_LOG_INT, .first = 7, .last = 7 };
    static const struct param wide = {
        .name = "w", .form = PARAM_LOG_INT, .first = 1, .last = INT64_C(1000000000000000)
    };
    enum { N = 20000 };

    (void)state;
    for (int method = METHOD_RANDOM; method <= METHOD_SOBOL; method++) {
        struct sampler s = sampler_of(method, &width), t = sampler_of(method, &one),
                       u = sampler_of(method, &wide);
        int counts[65] = { 0 };

        for (uint64_t i = 0; i < N; i++) {
            struct value v = sampler_draw(&s, i);

            assert_int_equal(v.type, VALUE_INT);
            assert_in_range(v.i, 1, 64);
            counts[v.i]++;
            assert_int_equal(sampler_draw(&t, i).i, 7);
            assert_in_range(sampler_draw(&u, i).i, wide.first, wide.last);
        }
        assert_true(counts[64] > 0);
        for (int k = 1; k <= 8; k++) {
            double share = (log2(k + 0.5) - log2(k - 0.5)) / (log2(64.5) - log2(0.5));

            if (fabs(counts[k] / (double)N - share) > 0.01)
                fail_msg("%d was drawn %d times", k, counts[k]);
        }
    }
    assert_int_equal(sample_middle(&width).i, 6); /* sqrt(1/2 * 64.5) = 5.7 */
}

static void draws_are_rounded_to_so_many_digits(void **state)
{
    const struct param whole = { .name = "x", .form = PARAM_LOG_UNIFORM, .low = 1e-5, .high = 0.1 };
    struct param rounded = whole;
    struct sampler s = sampler_of(METHOD_RANDOM, &whole), t;

    (void)state;
    rounded.digits = 3;
    t = sampler_of(METHOD_RANDOM, &rounded);
    for (uint64_t k = 0; k < 1000; k++) {
        char text[40];

        snprintf(text, sizeof text, "%.2e", sampler_draw(&s, k).f);
        assert_true(sampler_draw(&t, k).f == strtod(text, NULL));
    }
}

static void whole_numbers_reach_both_ends(void **state)
{
    static const struct param dice = {
        .name = "x", .form = PARAM_INT_UNIFORM, .first = 1, .last = 6
    };
    static const struct param all = {
        .name = "x", .form = PARAM_INT_UNIFORM, .first = INT64_MIN, .last = INT64_MAX
    };

    (void)state;
    for (int method = METHOD_RANDOM; method <= METHOD_SOBOL; method++) {
        struct sampler s = sampler_of(method, &dice), t = sampler_of(method, &all);
        int faces[7] = { 0 }, n_negative = 0;

        for (uint64_t i = 0; i < 6000; i++) {
            int64_t n = sampler_draw(&s, i).i;

            assert_in_range(n, 1, 6);
            faces[n]++;
            n_negative += sampler_draw(&t, i).i < 0;
        }
        for (int i = 1; i <= 6; i++)
            assert_in_range(faces[i], 900, 1100);
        assert_in_range(n_negative, 2850, 3150);
    }
}

static void a_list_is_drawn_from_evenly(void **state)
{
    struct value values[5];
    const struct param choice = { .name = "x", .form = PARAM_CHOICE, .values = values, .n = 5 };

    (void)state;
    for (int i = 0; i < 5; i++)
        values[i] = value_int(i);
    for (int method = METHOD_RANDOM; method <= METHOD_SOBOL; method++) {
        struct sampler s = sampler_of(method, &choice);
        int64_t counts[5] = { 0 };

        for (uint64_t i = 0; i < 5000; i++)
            counts[sampler_draw(&s, i).i]++;
        for (int i = 0; i < 5; i++)
            assert_in_range(counts[i], 900, 1100);
    }
}

/* Of 2^k points of sobol, each 2^k-th of the range holds one, whatever the seed. */
static void sobol_stays_even_under_every_seed(void **state)
{
    static const struct param p = { .form = PARAM_UNIFORM, .low = 0, .high = 64 };

    (void)state;
    for (int64_t seed = 0; seed < 20; seed++) {
        const struct plan plan = { .method = METHOD_SOBOL, .seed = seed };
        bool is_taken[64] = { false };
        struct sampler s;

        sampler_init(&s, &plan, &p, "x", (unsigned)seed);
        for (uint64_t i = 0; i < 64; i++) {
            int cell = (int)sampler_draw(&s, i).f;

            assert_in_range(cell, 0, 63);
            assert_false(is_taken[cell]);
            is_taken[cell] = true;
        }
    }
}

static void seeds_and_names_draw_differently(void **state)
{
    (void)state;
    for (int method = METHOD_RANDOM; method <= METHOD_SOBOL; method++) {
        const struct plan one = { .method = method, .seed = 1 };
        const struct plan two = { .method = method, .seed = 2 };
        struct sampler s[3];

        sampler_init(&s[0], &one, &distributions[0], "a", 0);
        sampler_init(&s[1], &two, &distributions[0], "a", 0);
        sampler_init(&s[2], &one, &distributions[0], "b", 0);
        assert_true(sampler_unit(&s[0], 5) != sampler_unit(&s[1], 5));
        assert_true(sampler_unit(&s[0], 5) != sampler_unit(&s[2], 5));
        assert_true(sampler_unit(&s[0], 5) == sampler_unit(&s[0], 5));
    }
}

static void the_middle_is_the_median(void **state)
{
    struct value values[] = { value_str("first"), value_str("second") };
    const struct param list = { .form = PARAM_LIST, .values = values, .n = 2 };
    const struct param powers = { .form = PARAM_LOG_UNIFORM, .low = 1e-5, .high = 1e-1 };
    const struct param wide = { .form = PARAM_INT_UNIFORM, .first = INT64_MIN, .last = INT64_MAX };

    (void)state;
    assert_true(sample_middle(&distributions[0]).f == 2);
    assert_true(sample_middle(&powers).f == 0.001);
    assert_int_equal(sample_middle(&distributions[2]).i, 5);
    assert_int_equal(sample_middle(&wide).i, -1);
    assert_true(sample_middle(&distributions[3]).f == 5);
    assert_string_equal(sample_middle(&list).str.s, "first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_inverse_of_the_normal_distribution_is_known),
        cmocka_unit_test(distributions_have_their_means_and_deviations),
        cmocka_unit_test(draws_stay_within_their_bounds),
        cmocka_unit_test(whole_numbers_are_even_on_a_logarithmic_scale),
        cmocka_unit_test(draws_are_rounded_to_so_many_digits),
        cmocka_unit_test(whole_numbers_reach_both_ends),
        cmocka_unit_test(a_list_is_drawn_from_evenly),
        cmocka_unit_test(sobol_stays_even_under_every_seed),
        cmocka_unit_test(seeds_and_names_draw_differently),
        cmocka_unit_test(the_middle_is_the_median),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
