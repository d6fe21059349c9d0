/* SPDX-License-Identifier: MIT */
/* mux_facts.c - the ways' names and meanings */
#include "common/ssh/mux_facts.h"

#define X(constant, name, meaning) [constant] = name,
const char *const way_names[WAY_COUNT] = { WAYS(X) };
#undef X
#define X(constant, name, meaning) [constant] = meaning,
const char *const way_meanings[WAY_COUNT] = { WAYS(X) };
#undef X
