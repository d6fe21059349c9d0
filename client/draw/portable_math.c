/* SPDX-License-Identifier: MIT */
/* portable_math.c - mathematical functions with the same results on every machine */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/draw/portable_math.h"

/* x87 registers hold more than a double: compile with -msse2 -mfpmath=sse there. */
static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1, "doubles must be computed as doubles");

enum { DIGITS = 15, TEXT_BYTES = 32 };

/* ---- numbers with a fixed point ---- */

/*
 * limb[0] to limb[2] stand behind the point, the least digits first; limb[3] stands before it.
 * Below zero is two's complement.
 */
enum { LIMBS = 4, LIMB_BITS = 64, FRACTION_BITS = 192 };
struct fixed {
    uint64_t limb[LIMBS];
};
typedef unsigned __int128 wide;

static const struct fixed ln_2 = { { 0x40f343267298b62d, 0xc9e3b39803f2f6af, 0xb17217f7d1cf79ab,
                                     0 } };
static const struct fixed ln_10 = { { 0x8a3fb3e76977e43a, 0xa95b58ae0b4c28a3, 0x4d763776aaa2b05b,
                                      2 } };
static const struct fixed one_by_ln_2 = { { 0xd6aef551bad2b4b1, 0x7d0ffda0d23a7d11,
                                            0x71547652b82fe177, 1 } };
static const struct fixed zero = { { 0 } };
static const struct fixed one = { { 0, 0, 0, 1 } };

static bool is_negative(const struct fixed *x)
{
    return x->limb[LIMBS - 1] >> (LIMB_BITS - 1) != 0;
}

static bool is_zero(const struct fixed *x)
{
    return (x->limb[0] | x->limb[1] | x->limb[2] | x->limb[3]) == 0;
}

static struct fixed add_fixed(struct fixed x, const struct fixed *y)
{
    wide carry = 0;

    for (int i = 0; i < LIMBS; i++) {
        carry += (wide)x.limb[i] + y->limb[i];
        x.limb[i] = (uint64_t)carry;
        carry >>= LIMB_BITS;
    }
    return x;
}

static struct fixed subtract(struct fixed x, const struct fixed *y)
{
    wide carry = 1;

    for (int i = 0; i < LIMBS; i++) {
        carry += (wide)x.limb[i] + ~y->limb[i];
        x.limb[i] = (uint64_t)carry;
        carry >>= LIMB_BITS;
    }
    return x;
}

/* x and y are not below zero, and the product, which is cut off behind its last digit, is below
 * 2^63. */
static struct fixed multiply(const struct fixed *x, const struct fixed *y)
{
    uint64_t all[2 * LIMBS] = { 0 };
    struct fixed product;

    for (int i = 0; i < LIMBS; i++) {
        wide carry = 0;

        for (int k = 0; k < LIMBS; k++) {
            carry += (wide)x->limb[i] * y->limb[k] + all[i + k];
            all[i + k] = (uint64_t)carry;
            carry >>= LIMB_BITS;
        }
        all[i + LIMBS] = (uint64_t)carry;
    }
    memcpy(product.limb, all + LIMBS - 1, sizeof product.limb);
    return product;
}

/* x is not below zero.  Half a limb at a time is faster than wide division. */
static struct fixed divide_by(struct fixed x, uint32_t divisor)
{
    uint64_t rest = 0;

    for (int i = LIMBS - 1; i >= 0; i--) {
        uint64_t high = rest << 32 | x.limb[i] >> 32;
        uint64_t low = high % divisor << 32 | (x.limb[i] & UINT32_MAX);

        x.limb[i] = high / divisor << 32 | low / divisor;
        rest = low % divisor;
    }
    return x;
}

/* x / y for 0 <= x < y, neither with the highest digit set: a digit at a time. */
static struct fixed divide(struct fixed x, const struct fixed *y)
{
    struct fixed quotient = zero;

    for (int i = FRACTION_BITS - 1; i >= 0; i--) {
        struct fixed rest;

        x = add_fixed(x, &x);
        rest = subtract(x, y);
        if (is_negative(&rest))
            continue;
        x = rest;
        quotient.limb[i / LIMB_BITS] |= UINT64_C(1) << i % LIMB_BITS;
    }
    return quotient;
}

/* |x| < 2^63; digits behind the last are cut off. */
static struct fixed fixed_of(double x)
{
    struct fixed f = zero;
    int exponent;
    uint64_t digits = (uint64_t)ldexp(frexp(fabs(x), &exponent), DBL_MANT_DIG);
    int place = FRACTION_BITS + exponent - DBL_MANT_DIG; /* of the last digit */

    for (int i = 0; i < DBL_MANT_DIG; i++)
        if (place + i >= 0 && (digits >> i & 1) != 0)
            f.limb[(place + i) / LIMB_BITS] |= UINT64_C(1) << (place + i) % LIMB_BITS;
    return x < 0 ? subtract(zero, &f) : f;
}

/* The double nearest to x * 2^exponent, the even one of two; x is not below zero. */
static double nearest_double(const struct fixed *x, int exponent)
{
    int top = LIMBS - 1, n_zeros, n_digits = DBL_MANT_DIG;
    uint64_t digits, half;
    bool has_rest = false, is_up;

    while (top > 0 && x->limb[top] == 0)
        top--;
    digits = x->limb[top];
    if (digits == 0)
        return 0;
    n_zeros = __builtin_clzll(digits);
    digits <<= n_zeros;
    if (top > 0 && n_zeros > 0) {
        digits |= x->limb[top - 1] >> (LIMB_BITS - n_zeros);
        has_rest = x->limb[top - 1] << n_zeros != 0;
    } else if (top > 0) {
        has_rest = x->limb[top - 1] != 0;
    }
    for (int i = 0; i < top - 1; i++)
        has_rest = has_rest || x->limb[i] != 0;
    exponent +=
        (top + 1) * LIMB_BITS - n_zeros - FRACTION_BITS; /* of the place above the first digit */
    if (exponent < DBL_MIN_EXP)
        n_digits -= DBL_MIN_EXP - exponent;
    if (n_digits < 1)
        return n_digits == 0 && (digits > UINT64_C(1) << 63 || has_rest) ? 0x1p-1074 : 0;
    half = UINT64_C(1) << (LIMB_BITS - n_digits - 1);
    has_rest = has_rest || (digits & (half - 1)) != 0;
    is_up = (digits & half) != 0 && (has_rest || (digits & half << 1) != 0);
    digits = (digits >> (LIMB_BITS - n_digits)) + is_up;
    return ldexp((double)digits, exponent - n_digits);
}

/* ---- exp and log ---- */

/* A power: 1 <= f <= 2, times 2^exponent. */
struct power {
    struct fixed f;
    int exponent;
};

/*
 * e to the power of x, |x| < 2^20: x is a multiple of log 2 and r, 0 <= r <= log 2; exp(r) - 1 is
 * the sum of r^n / n!, for a 256th of r, and doubled eight times by u -> u * (2 + u).
 */
static struct power exp_of(struct fixed x)
{
    enum { DOUBLINGS = 8 };
    bool is_below_one = is_negative(&x);
    struct fixed n = zero, r, term, u = zero;
    struct power p;

    if (is_below_one)
        x = subtract(zero, &x);
    n.limb[LIMBS - 1] = multiply(&x, &one_by_ln_2).limb[LIMBS - 1];
    p.exponent = (int)n.limb[LIMBS - 1];
    r = multiply(&n, &ln_2);
    r = subtract(x, &r);
    if (is_below_one) {
        r = subtract(ln_2, &r);
        p.exponent = -p.exponent - 1;
    }
    if (is_negative(&r)) /* because of digits that were cut off */
        r = zero;
    r = divide_by(r, 1 << DOUBLINGS);
    term = r;
    for (uint32_t i = 2; !is_zero(&term); i++) {
        u = add_fixed(u, &term);
        term = multiply(&term, &r);
        term = divide_by(term, i);
    }
    for (int i = 0; i < DOUBLINGS; i++) {
        struct fixed square = multiply(&u, &u);

        u = add_fixed(add_fixed(u, &u), &square);
    }
    p.f = add_fixed(u, &one);
    return p;
}

double portable_exp(double x)
{
    struct power p = exp_of(fixed_of(fmin(fmax(x, -1000), 1000)));

    return nearest_double(&p.f, p.exponent);
}

/* x * log 10, |x| < 1000 */
static struct fixed times_ln_10(struct fixed x)
{
    if (!is_negative(&x))
        return multiply(&x, &ln_10);
    x = subtract(zero, &x);
    x = multiply(&x, &ln_10);
    return subtract(zero, &x);
}

double portable_exp10(double x)
{
    struct power p = exp_of(times_ln_10(fixed_of(fmin(fmax(x, -500), 500))));

    return nearest_double(&p.f, p.exponent);
}

/*
 * x is m * 2^exponent, m between the roots of 1/2 and 2; log m is twice the sum of s^n / n for odd
 * n, s = (m - 1) / (m + 1), whose sign is kept apart.
 */
double portable_log(double x)
{
    int exponent;
    double half = frexp(x, &exponent);
    bool is_below_one = half >= 0.7, is_negative_log;
    struct fixed m = fixed_of(is_below_one ? half : 2 * half), above, s, square, sum = zero, whole;

    exponent -= !is_below_one;
    above = add_fixed(m, &one);
    s = is_below_one ? subtract(one, &m) : subtract(m, &one);
    s = divide(s, &above);
    square = multiply(&s, &s);
    for (uint32_t i = 1; !is_zero(&s); i += 2) {
        struct fixed term = divide_by(s, i);

        sum = add_fixed(sum, &term);
        s = multiply(&s, &square);
    }
    sum = add_fixed(sum, &sum);
    whole = fixed_of(abs(exponent));
    whole = multiply(&whole, &ln_2);
    if (exponent < 0)
        whole = subtract(zero, &whole);
    whole = is_below_one ? subtract(whole, &sum) : add_fixed(whole, &sum);
    is_negative_log = is_negative(&whole);
    if (is_negative_log)
        whole = subtract(zero, &whole);
    return is_negative_log ? -nearest_double(&whole, 0) : nearest_double(&whole, 0);
}

/* Each number is one multiplication, where a power takes thirty times as long; ten million of them
 * lose 24 digits of 182. */
void portable_logspace(double first, double last, size_t n,
                       void (*each)(void *context, size_t i, double x), void *context)
{
    struct fixed begin = fixed_of(fmin(fmax(first, -500), 500));
    struct fixed span = subtract(fixed_of(fmin(fmax(last, -500), 500)), &begin);
    bool falls = is_negative(&span);
    struct power power, step;

    if (falls)
        span = subtract(zero, &span);
    if (n > 1)
        span = divide_by(span, (uint32_t)(n - 1));
    if (falls)
        span = subtract(zero, &span);
    power = exp_of(times_ln_10(begin));
    step = exp_of(times_ln_10(span));
    for (size_t i = 0; i < n; i++) {
        each(context, i, portable_round(nearest_double(&power.f, power.exponent)));
        power.f = multiply(&power.f, &step.f);
        power.exponent += step.exponent;
        if (power.f.limb[LIMBS - 1] >= 2) {
            power.f = divide_by(power.f, 2);
            power.exponent++;
        }
    }
}

/* ---- rounding ---- */

/* Writes x with so many digits and returns its decimal exponent.  printf and strtod round
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

/* Splits x into halves with so few digits that products of halves are exact. */
static void split_double(double x, double *high, double *low)
{
    double c = 0x1.0000002p27 * x;

    *high = c - (c - x);
    *low = x - *high;
}

/* The exact rounding error of product, which is x * y.  T.  J.  Dekker, "A floating-point technique
 * for extending the available precision", Numer.  Math. 18 (1971). */
static double lost_of(double product, double x, double y)
{
    double x_high, x_low, y_high, y_low;

    split_double(x, &x_high, &x_low);
    split_double(y, &y_high, &y_low);
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
}

/*
 * Rounds numbers of usual size without the detour through text, which takes thirty times as long.
 * As powers of ten up to 10^22 and whole numbers below 2^53 are exact, the one division rounds as
 * strtod would (W.  D.  Clinger, "How to read floating point numbers accurately", PLDI 1990).
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

double portable_round_to(double x, int digits)
{
    char text[TEXT_BYTES];

    if (!isfinite(x) || digits >= DIGITS)
        return portable_round(x);
    write_digits(text, x, digits);
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
