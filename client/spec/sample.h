/* SPDX-License-Identifier: MIT */
/*
 * sample.h - draws values for methods random and sobol
 *
 * A draw depends on the seed, the parameter's name and the number of the configuration alone; with
 * sobol other parameters may change its coordinate.  A distribution is sampled by the inverse of
 * its cumulative distribution, so that sobol's evenly spread points stay evenly spread.
 */
#ifndef LUDWIG_CLIENT_SPEC_SAMPLE_H
#define LUDWIG_CLIENT_SPEC_SAMPLE_H

#include "client/draw/philox.h"
#include "client/draw/sobol.h"
#include "client/spec/plan.h"

/* Draws values of one parameter, or places in the lists of a zip group. */
struct sampler {
    enum method method; /* random or sobol */
    struct philox philox;
    struct sobol sobol;
    uint32_t shift; /* XORed to sobol's points, so that the seed changes them */
    const struct param *param;
    double log_low, log_high; /* logarithms of the bounds of PARAM_LOG_UNIFORM, PARAM_LOG_INT */
};

/* The stream of draws follows from the plan's seed and name, which may differ from param's.
 * dimension: sobol's coordinate, another one for each sampler of the plan. */
void sampler_init(struct sampler *s, const struct plan *plan, const struct param *param,
                  const char *name, unsigned dimension);
/* Returns a number from 0 to n - 1, all equally likely; n 0 means 2^64.  index is the number of the
 * configuration, below 2^48, for sobol below 2^32. */
uint64_t sampler_below(const struct sampler *s, uint64_t index, uint64_t n);
/* Returns a number in (0, 1), without the ends. */
double sampler_unit(const struct sampler *s, uint64_t index);

/* Returns a value of the sampler's parameter. */
struct value sampler_draw(const struct sampler *s, uint64_t index);

/* Returns the median of the parameter's distribution; of a list its first value. */
struct value sample_middle(const struct param *param);

/* Returns the quantile of the standard normal distribution at p, 0 < p < 1. */
double sample_normal(double p);

#endif
