/* SPDX-License-Identifier: MIT */
/*
 * sample.h - draws values for methods random and sobol
 *
 * A draw is a function of the seed, the parameter's name and the number of the
 * configuration; other parameters do not change it (with sobol they may change its
 * coordinate).  Distributions are sampled by their inverse, so that
 * sobol's even points stay even.
 */
#ifndef LUDWIG_CLIENT_SPEC_SAMPLE_H
#define LUDWIG_CLIENT_SPEC_SAMPLE_H

#include "client/draw/philox.h"
#include "client/draw/sobol.h"
#include "client/spec/plan.h"

/* Draws for one parameter, or for a group of them that move together. */
struct sampler {
    enum method method; /* random or sobol */
    struct philox philox;
    struct sobol sobol;
    uint32_t shift; /* of sobol's points, by the seed */
    const struct param *param;
    double log_low, log_high; /* of a PARAM_LOG_UNIFORM */
};

/* Draws are made for name, which may differ from param's.  dimension, for sobol, differs for each
 * sampler of the plan. */
void sampler_init(struct sampler *s, const struct plan *plan, const struct param *param,
                  const char *name, unsigned dimension);
/* A number from 0 to n - 1, equally likely; n 0 means 2^64.  index: below 2^48, for sobol 2^32. */
uint64_t sampler_below(const struct sampler *s, uint64_t index, uint64_t n);
/* A number in (0, 1), without the ends. */
double sampler_unit(const struct sampler *s, uint64_t index);

/* A value of its param. */
struct value sampler_draw(const struct sampler *s, uint64_t index);

/* The median of the draws; of a list its first value. */
struct value sample_middle(const struct param *param);

/* The quantile of the standard normal distribution at p, 0 < p < 1. */
double sample_normal(double p);

#endif
