/* SPDX-License-Identifier: MIT */
/*
 * plan_check.h - whether method, zip, when, exclude and include fit to the parameters and each other
 */
#ifndef LUDWIG_CLIENT_SPEC_PLAN_CHECK_H
#define LUDWIG_CLIENT_SPEC_PLAN_CHECK_H

#include "client/spec/plan.h"

/*
 * What only shows when all is known, the command line too: names that are no parameters, lists of
 * unequal length in a zip, conditions in a circle, sampled forms in a grid, samples: without a
 * method.  Adds all errors to r, each with its place; -1 if there was one.
 */
int plan_check(const struct plan *p, struct yaml_keys_reader *r);

/* What could not be read, and was told. */
enum plan_refused { PLAN_METHOD = 1, PLAN_SAMPLES = 2 };
/* The same for what goes without those, after a file was read with errors: what of params:, zip:,
 * when:, exclude: and include: was refused is passed over. */
int plan_check_rest(const struct plan *p, unsigned refused, struct yaml_keys_reader *r);

#endif
