/* SPDX-License-Identifier: MIT */
/* suggest.h - "did you mean": the nearest known word */
#ifndef LUDWIG_COMMON_BASE_SUGGEST_H
#define LUDWIG_COMMON_BASE_SUGGEST_H

#include <stddef.h>

struct suggest {
    const char *word; /* the unknown word */
    const char *best; /* nearest candidate so far, NULL when none is near */
    size_t distance;
};

void suggest_try(struct suggest *s, const char *candidate);
/* Damerau-Levenshtein distance (optimal string alignment). */
size_t suggest_distance(const char *x, const char *y);

#endif
