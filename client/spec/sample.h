/* SPDX-License-Identifier: MIT */
/*
 * sample.h - the values that methods random and sobol draw
 *
 * A draw is a function of the seed, the parameter's name and the number of the
 * configuration: what other parameters there are does not change it (of sobol's
 * points, only which coordinate it is).  Distributions are sampled by their inverse, so that
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
    uint32_t shift; /* of all of sobol's points: each seed has its own */
    const struct param *param;
    double log_low, log_high; /* of a PARAM_LOG_UNIFORM */
};

/* Draws are made for name, which need not be that of param.  dimension is for sobol: each sampler of
 * the plan has another one. */
void sampler_init(struct sampler *s, const struct plan *plan, const struct param *param,
                  const char *name, unsigned dimension);
/* From 0 to below n, equally likely; n == 0 stands for 2^64.  index: below 2^48, for sobol 2^32. */
uint64_t sampler_below(const struct sampler *s, uint64_t index, uint64_t n);
/* In (0, 1): neither end occurs. */
double sampler_unit(const struct sampler *s, uint64_t index);

/* A value of its param. */
struct value sampler_draw(const struct sampler *s, uint64_t index);

/* The one in the middle: half of all draws are below it.  Of lists the first. */
struct value sample_middle(const struct param *param);

/* The x below which a standard normal variable is with probability p, 0 < p < 1. */
double sample_normal(double p);

#endif
