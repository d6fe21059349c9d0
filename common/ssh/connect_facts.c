/* SPDX-License-Identifier: MIT */
/* connect_facts.c - the ways' names and meanings */
#include "common/ssh/connect_facts.h"

#define X(constant, name, meaning) [constant] = name,
const char *const way_names[WAY_COUNT] = { WAYS(X) };
#undef X
#define X(constant, name, meaning) [constant] = meaning,
const char *const way_meanings[WAY_COUNT] = { WAYS(X) };
#undef X
