/* SPDX-License-Identifier: MIT */
/* portable_math.c - tests of computed numbers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/draw/philox.h"
#include "client/draw/portable_math.h"

struct function_case {
    double x, result;
};

/* The results are from Python's decimal module with 80 digits, rounded to doubles. */
static const struct function_case exponentials[] = {
    { 0x1.0000000000000p+0, 0x1.5bf0a8b145769p+1 },
    { -0x1.0000000000000p+0, 0x1.78b56362cef38p-2 },
    { 0x1.999999999999ap-4, 0x1.1aec7b35a00d4p+0 },
    { -0x1.4400000000000p+4, 0x1.b93de1e27ca3bp-30 },
    { 0x1.62ccccccccccdp+6, 0x1.f4705bbffae5cp+127 },
    { -0x1.5e40000000000p+9, 0x1.4ff475c68ca02p-1011 },
    { 0x1.62d999999999ap+9, 0x1.d75ae7a50ee14p+1023 },
    { 0x1.b7cdfd9d7bdbbp-34, 0x1.000000006df38p+0 },
    /* Of these glibc 2.36 gives the neighbour. */
    { 0x1.4a3caeeb773ccp+3, 0x1.d9e9d2b097bb5p+14 },
    { 0x1.99e872c66ee78p+1, 0x1.8977541803813p+4 },
};

static const struct function_case logarithms[] = {
    { 0x1.0000000000000p+0, 0 },
    { 0x1.0000000000000p+1, 0x1.62e42fefa39efp-1 },
    { 0x1.4000000000000p+3, 0x1.26bb1bbb55516p+1 },
    { 0x1.4f8b588e368f1p-17, -0x1.7069e2aa2aa5bp+3 },
    { 0x1.999999999999ap-4, -0x1.26bb1bbb55515p+1 },
    { 0x1.0000000000001p+0, 0x1.fffffffffffffp-53 },
    { 0x1.7e43c8800759cp+996, 0x1.5963447f87fb5p+9 },
    { 0x0.0000000000001p-1022, -0x1.74385446d71c3p+9 },
    { 0x1.fffffffffffffp-1, -0x1.0000000000000p-53 },
};

static const struct function_case powers_of_ten[] = {
    { -3, 0.001 },
    { 0, 1 },
    { 22, 1e22 },
    { -2.5, 0x1.9e7c6e43390b7p-9 },
    { 0.3, 0x1.fec982d5bb8afp+0 },
    { -0.1, 0x1.96b230bcdc434p-1 },
    { 300.5, 0x1.2e34f399a87bcp+998 },
    { -310, 1e-310 },
    { -400, 0 },
    { 400, (double)INFINITY },
    { -0x1.3aa31885d4865p+4, 0x1.98b269b369b61p-66 },
    { -0x1.837d0c1b94040p+3, 0x1.b5fb1fca55d94p-41 },
};

static void check_function(double (*function)(double), const struct function_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (function(cases[i].x) != cases[i].result)
            fail_msg("of %a: %a instead of %a", cases[i].x, function(cases[i].x), cases[i].result);
}

#define CHECK_FUNCTION(function, cases) \
    check_function(function, cases, sizeof cases / sizeof cases[0])

static void functions_are_correctly_rounded(void **state)
{
    (void)state;
    CHECK_FUNCTION(portable_exp, exponentials);
    CHECK_FUNCTION(portable_log, logarithms);
    CHECK_FUNCTION(portable_exp10, powers_of_ten);
}

static void noise_in_the_last_digits_is_rounded_away(void **state)
{
    static const struct {
        double x, rounded;
    } cases[] = {
        { 3 * 0.1, 0.3 },
        { 0.1 + 0.2, 0.3 },
        { 1.0 / 3, 0.333333333333333 },
        { 2.0 / 3, 0.666666666666667 },
        { 123456789012345678.0, 123456789012346e3 },
        { -9.9999999999999995e-7, -1e-6 },
        { 1.2345678901234500e300, 1.23456789012345e300 },
        { 0.001, 0.001 },
        { 5e-324, 5e-324 },
        { 1, 1 },
        { (double)INFINITY, (double)INFINITY },
        { 1.7976931348623157e308, (double)INFINITY },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (portable_round(cases[i].x) != cases[i].rounded)
            fail_msg("%.17g became %.17g", cases[i].x, portable_round(cases[i].x));
    assert_false(signbit(portable_round(-0.0)));
    assert_true(isnan(portable_round((double)NAN)));
}

/* By text, as printf and strtod round. */
static double rounded_by_text(double x)
{
    char text[32];

    snprintf(text, sizeof text, "%.14e", x);
    return strtod(text, NULL);
}

static void check_rounding(double x)
{
    if (portable_round(x) != rounded_by_text(x) || portable_round(-x) != rounded_by_text(-x))
        fail_msg("%a became %a instead of %a", x, portable_round(x), rounded_by_text(x));
}

static double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Numbers of all sizes, and above all those near to where another digit begins or a tie is. */
static void rounding_is_as_correct_as_through_text(void **state)
{
    enum { EXPONENT_OF_2_TO_MINUS_40 = 983, EXPONENTS = 100 };
    const struct philox p = { 1, 2 };

    (void)state;
    for (uint64_t i = 0; i < 60000; i++) {
        uint64_t bits = philox_bits(&p, i, 0);
        uint64_t exponent = EXPONENT_OF_2_TO_MINUS_40 + philox_below(&p, i, EXPONENTS);

        check_rounding(double_of((bits >> 12) | exponent << 52));
        check_rounding((double)(bits >> 40) / 16777216); /* with exact ties */
        check_rounding((double)(bits % 1000000007) + 0.5);
        check_rounding((double)(100000000000000 + bits % 900000000000000) + 0.5); /* all ties */
    }
    for (int k = -30; k <= 30; k++) {
        char text[32];
        double x;

        snprintf(text, sizeof text, "1e%d", k);
        x = strtod(text, NULL);
        for (int ulps = -300; ulps <= 300; ulps++) {
            uint64_t bits;

            memcpy(&bits, &x, sizeof bits);
            check_rounding(double_of(bits + (uint64_t)ulps));
        }
    }
}

static void a_difference_is_known_as_far_as_what_it_was_made_of(void **state)
{
    static const struct {
        double x, scale, rounded;
    } cases[] = {
        { -0.3 + 3 * 0.1, 0.3, 0 },
        { 0.3 - 3 * 0.1, -0.3, 0 },
        { 0.501 - 0.499, 0.501, 0.002 },
        { 1.0 / 3, 1e-30, 0.333333333333333 },
        { 1.0 / 3, 1e3, 0.33333333333 },
        { 1e-14, 1, 1e-14 },
        { 1e-15, 1, 0 },
        { 0, 1, 0 },
        { 12.5, 12.5, 12.5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double rounded = portable_round_beside(cases[i].x, cases[i].scale);

        if (rounded != cases[i].rounded || signbit(rounded) != signbit(cases[i].rounded))
            fail_msg("%.17g beside %.17g became %.17g", cases[i].x, cases[i].scale, rounded);
    }
}

static void check_power(void *context, size_t i, double x)
{
    double expected = portable_round(portable_exp10((double)i / 1024));

    (void)context;
    if (x != expected)
        fail_msg("%zu: %.17g instead of %.17g", i, x, expected);
}

static void powers_stay_exact_over_many_steps(void **state)
{
    (void)state;
    portable_logspace(0, 64, 64 * 1024 + 1, check_power, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_correctly_rounded),
        cmocka_unit_test(noise_in_the_last_digits_is_rounded_away),
        cmocka_unit_test(rounding_is_as_correct_as_through_text),
        cmocka_unit_test(powers_stay_exact_over_many_steps),
        cmocka_unit_test(a_difference_is_known_as_far_as_what_it_was_made_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
