/* SPDX-License-Identifier: MIT */
/* portable_math.c - computed numbers that are the same on every machine */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpfr.h>

#include "client/draw/portable_math.h"

/* x87 registers hold more than a double: compile with -msse2 -mfpmath=sse there. */
static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1, "doubles must be computed as doubles");

enum { DIGITS = 15, TEXT_BYTES = 32 };

typedef int (*function_fn)(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding);

static double apply(function_fn function, double x)
{
    double result;
    mpfr_t n;

    mpfr_init2(n, DBL_MANT_DIG);
    mpfr_set_d(n, x, MPFR_RNDN);
    function(n, n, MPFR_RNDN);
    result = mpfr_get_d(n, MPFR_RNDN);
    mpfr_clear(n);
    return result;
}

double portable_exp(double x)
{
    return apply(mpfr_exp, x);
}

double portable_exp10(double x)
{
    return apply(mpfr_exp10, x);
}

double portable_log(double x)
{
    return apply(mpfr_log, x);
}

/* Steps in so many bits that ten million of them leave those of a double alone: each is one
 * multiplication, where a power takes fifty times as long. */
void portable_logspace(double first, double last, size_t n,
                       void (*each)(void *context, size_t i, double x), void *context)
{
    enum { BITS = 256 };
    mpfr_t power, step;

    mpfr_init2(power, BITS);
    mpfr_init2(step, BITS);
    mpfr_set_d(power, first, MPFR_RNDN);
    mpfr_set_d(step, last, MPFR_RNDN);
    mpfr_sub(step, step, power, MPFR_RNDN);
    mpfr_div_ui(step, step, n > 1 ? (unsigned long)(n - 1) : 1, MPFR_RNDN);
    mpfr_exp10(step, step, MPFR_RNDN);
    mpfr_exp10(power, power, MPFR_RNDN);
    for (size_t i = 0; i < n; i++) {
        each(context, i, portable_round(mpfr_get_d(power, MPFR_RNDN)));
        mpfr_mul(power, power, step, MPFR_RNDN);
    }
    mpfr_clear(power);
    mpfr_clear(step);
}

/* ---- rounding ---- */

/* Writes x with that many digits and returns its decimal exponent.  printf and strtod round
 * correctly. */
static int write_digits(char text[TEXT_BYTES], double x, int digits)
{
    snprintf(text, TEXT_BYTES, "%.*e", digits - 1, x);
    return (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

static double read_digits(const char *text)
{
    double x = strtod(text, NULL);

    return x == 0 ? 0 : x;
}

/* Halves with so few digits that products of them are exact. */
static void split(double x, double *high, double *low)
{
    double c = 0x1.0000002p27 * x;

    *high = c - (c - x);
    *low = x - *high;
}

/* What product, which is x * y, lost by being rounded: exact.  T. J. Dekker, "A floating-point
 * technique for extending the available precision", Numer. Math. 18 (1971). */
static double lost_of(double product, double x, double y)
{
    double x_high, x_low, y_high, y_low;

    split(x, &x_high, &x_low);
    split(y, &y_high, &y_low);
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
}

/*
 * The same without the detour through text, which takes thirty times as long, for the sizes that people
 * use.  As powers of ten up to 10^22 and whole numbers below 2^53 are exact, the one division
 * rounds as strtod would (W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990).
 */
static bool round_quickly(double x, double *rounded)
{
    static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    static const double digits_min = 1e14, digits_end = 1e15;
    double size = fabs(x), product, lost, above_half;
    int64_t digits;
    int k = 0;

    if (!(size >= digits_min / 1e22 && size < digits_end))
        return false;
    while (size * powers[k] < digits_min)
        k++;
    product = size * powers[k];
    lost = lost_of(product, size, powers[k]);
    if (product == digits_min && lost < 0)
        return false;
    digits = (int64_t)product;
    above_half = product - (double)digits - 0.5;
    digits += above_half > -lost || (above_half == -lost && digits % 2 == 1);
    *rounded = copysign((double)digits / powers[k], x);
    return true;
}

double portable_round(double x)
{
    char text[TEXT_BYTES];
    double rounded;

    if (!isfinite(x))
        return x;
    if (round_quickly(x, &rounded))
        return rounded;
    write_digits(text, x, DIGITS);
    return read_digits(text);
}

double portable_round_beside(double x, double scale)
{
    char text[TEXT_BYTES];
    int lost;

    if (!isfinite(x) || !isfinite(scale) || fabs(x) >= fabs(scale))
        return portable_round(x);
    lost = write_digits(text, scale, DIGITS);
    lost -= write_digits(text, x, DIGITS);
    if (lost <= 0)
        return read_digits(text);
    if (lost >= DIGITS)
        return 0;
    write_digits(text, x, DIGITS - lost);
    return read_digits(text);
}
