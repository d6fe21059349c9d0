/* SPDX-License-Identifier: MIT */
/*
 * plan_check.h - checks that method, zip, when, exclude and include fit the parameters and each
 * other
 */
#ifndef LUDWIG_CLIENT_SPEC_PLAN_CHECK_H
#define LUDWIG_CLIENT_SPEC_PLAN_CHECK_H

#include "client/spec/plan.h"

/*
 * Finds errors that only show when all is known, the command line too: names that are no
 * parameters, lists of unequal length in a zip, conditions in a circle, sampled forms in a grid,
 * samples: without a method.  Adds all errors to r, each with its place; -1 if there was one.
 */
int plan_check(const struct plan *p, struct yaml_keys_reader *r);

/* Keys that could not be read, with an error already. */
enum plan_refused { PLAN_METHOD = 1, PLAN_SAMPLES = 2 };
/* The same for a file that was read with errors: skips the checks that need the refused keys, and
 * refused entries of params:, zip:, when:, exclude: and include:. */
int plan_check_rest(const struct plan *p, unsigned refused, struct yaml_keys_reader *r);

#endif
