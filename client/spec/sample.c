/* SPDX-License-Identifier: MIT */
/* sample.c - draws values for methods random and sobol */
#include <math.h>
#include <string.h>

#include "client/draw/portable_math.h"
#include "client/spec/sample.h"
#include "common/base/digest.h"

/* The index from which sobol's shift is drawn: no configuration has this number. */
static const uint64_t NO_INDEX = (UINT64_C(1) << 48) - 1;

void sampler_init(struct sampler *s, const struct plan *plan, const struct param *param,
                  const char *name, unsigned dimension)
{
    struct digest d;
    uint64_t stream = 0;

    digest_of(name, strlen(name), &d);
    for (int i = 0; i < 8; i++)
        stream = stream << 8 | d.bytes[i];
    *s = (struct sampler){ .method = (enum method)plan->method,
                           .philox = { (uint64_t)plan->seed, stream },
                           .param = param };
    if (s->method == METHOD_SOBOL) {
        sobol_init(&s->sobol, dimension);
        s->shift = (uint32_t)(philox_bits(&s->philox, NO_INDEX, 0) >> 32);
    }
    if (param->form == PARAM_LOG_UNIFORM) {
        s->log_low = portable_log(param->low);
        s->log_high = portable_log(param->high);
    } else if (param->form == PARAM_LOG_INT) {
        s->log_low = portable_log((double)param->first - 0.5);
        s->log_high = portable_log((double)param->last + 0.5);
    }
}

/* Returns the middle of the point's cell, one of 2^32 in [0, 1), in units of 2^-33. */
static uint64_t sobol_middle(const struct sampler *s, uint64_t index)
{
    return (uint64_t)(sobol_at(&s->sobol, (uint32_t)index) ^ s->shift) << 1 | 1;
}

uint64_t sampler_below(const struct sampler *s, uint64_t index, uint64_t n)
{
    if (s->method == METHOD_RANDOM)
        return philox_below(&s->philox, index, n);
    if (n == 0)
        return sobol_middle(s, index) << 31;
    return philox_multiply_high(sobol_middle(s, index) << 31, n);
}

double sampler_unit(const struct sampler *s, uint64_t index)
{
    if (s->method == METHOD_RANDOM)
        return philox_unit(&s->philox, index);
    return (double)sobol_middle(s, index) * 0x1p-33;
}

/*
 * sample_normal is PPND16, exact to about 1 part in 10^16, of M. J. Wichura, "Algorithm AS 241: The
 * percentage points of the normal distribution", Applied Statistics 37 (1988), 477-484.
 */
static double polynomial(const double c[8], double x)
{
    double sum = c[7];

    for (int i = 6; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

double sample_normal(double p)
{
    /* Coefficients for the centre, the region beside it, and the tails. */
    static const double a[8] = { 3.3871328727963666080e0,  1.3314166789178437745e+2,
                                 1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                 3.3430575583588128105e+4, 2.5090809287301226727e+3 };
    static const double b[8] = { 1.0,
                                 4.2313330701600911252e+1,
                                 6.8718700749205790830e+2,
                                 5.3941960214247511077e+3,
                                 2.1213794301586595867e+4,
                                 3.9307895800092710610e+4,
                                 2.8729085735721942674e+4,
                                 5.2264952788528545610e+3 };
    static const double c[8] = { 1.42343711074968357734e0,  4.63033784615654529590e0,
                                 5.76949722146069140550e0,  3.64784832476320460504e0,
                                 1.27045825245236838258e0,  2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4 };
    static const double d[8] = { 1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9 };
    static const double e[8] = { 6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7 };
    static const double f[8] = { 1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15 };
    double q = p - 0.5, r, x;

    if (q >= -0.425 && q <= 0.425) {
        r = 0.180625 - q * q;
        return q * polynomial(a, r) / polynomial(b, r);
    }
    r = sqrt(-portable_log(q < 0 ? p : 1 - p));
    x = r <= 5.0 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                 : polynomial(e, r - 5.0) / polynomial(f, r - 5.0);
    return q < 0 ? -x : x;
}

static double between(double low, double high, double unit)
{
    return low * (1 - unit) + high * unit;
}

/* Without round: draws are rounded as before that key existed, so that old files draw the same. */
static double rounded_of(const struct param *p, double x)
{
    return p->digits == 0 ? portable_round(x) : portable_round_to(x, p->digits);
}

/* Returns x rounded, but not rounded out of the parameter's range. */
static struct value clamped(const struct param *p, double x)
{
    double rounded = rounded_of(p, x);

    return value_float(rounded < p->low ? p->low : rounded > p->high ? p->high : rounded);
}

/* The nearest whole number in the range. */
static struct value whole(const struct param *p, double x)
{
    int64_t n = (int64_t)floor(x + 0.5);

    return value_int(n < p->first ? p->first : n > p->last ? p->last : n);
}

struct value sampler_draw(const struct sampler *s, uint64_t index)
{
    const struct param *p = s->param;
    double unit = sampler_unit(s, index);
    uint64_t n;

    switch (p->form) {
    case PARAM_UNIFORM: return clamped(p, between(p->low, p->high, unit));
    case PARAM_LOG_UNIFORM: return clamped(p, portable_exp(between(s->log_low, s->log_high, unit)));
    case PARAM_INT_UNIFORM:
        n = (uint64_t)p->last - (uint64_t)p->first + 1;
        return value_int((int64_t)((uint64_t)p->first + sampler_below(s, index, n)));
    case PARAM_LOG_INT: return whole(p, portable_exp(between(s->log_low, s->log_high, unit)));
    case PARAM_NORMAL: return value_float(rounded_of(p, p->low + p->high * sample_normal(unit)));
    default: return p->values[sampler_below(s, index, p->n)];
    }
}

struct value sample_middle(const struct param *p)
{
    uint64_t span;

    switch (p->form) {
    case PARAM_UNIFORM: return clamped(p, between(p->low, p->high, 0.5));
    case PARAM_LOG_UNIFORM: return clamped(p, sqrt(p->low) * sqrt(p->high));
    case PARAM_INT_UNIFORM:
        span = (uint64_t)p->last - (uint64_t)p->first;
        return value_int((int64_t)((uint64_t)p->first + span / 2));
    case PARAM_LOG_INT: return whole(p, sqrt((double)p->first - 0.5) * sqrt((double)p->last + 0.5));
    case PARAM_NORMAL: return value_float(rounded_of(p, p->low));
    default: return p->values[0];
    }
}
