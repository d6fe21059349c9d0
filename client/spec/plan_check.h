/* SPDX-License-Identifier: MIT */
/*
 * plan_check.h - checks that method, zip, when, exclude and include fit the parameters and each
 * other
 */
#ifndef LUDWIG_CLIENT_SPEC_PLAN_CHECK_H
#define LUDWIG_CLIENT_SPEC_PLAN_CHECK_H

#include "client/spec/plan.h"

/*
 * Finds errors that only show once file and command line were read: names that are no
 * parameters, lists of unequal length in a zip, conditions in a circle, distributions in a grid,
 * samples: without a method.  Adds each error with its place to r; returns -1 if there was one.
 */
int plan_check(const struct plan *p, struct yaml_keys_reader *r);

/* Bits: method: or samples: was refused with an error when the file was read. */
enum plan_refused { PLAN_METHOD = 1, PLAN_SAMPLES = 2 };
/* Like plan_check, for a file that has errors already: skips the checks that need the refused keys,
 * and refused entries of params:, zip:, when:, exclude: and include:. */
int plan_check_rest(const struct plan *p, unsigned refused, struct yaml_keys_reader *r);

#endif
