/* SPDX-License-Identifier: MIT */
/*
 * minimal.h - what --minimal leaves of a plan
 */
#ifndef LUDWIG_CLIENT_SPEC_MINIMAL_H
#define LUDWIG_CLIENT_SPEC_MINIMAL_H

#include "client/spec/plan.h"

/* Only the first value of each parameter is left (of sampled ones, the middle), and of
 * the rest only what the conditions say. */
void minimal_take_first(struct plan *p, struct arena *a);

#endif
