/* SPDX-License-Identifier: MIT */
/*
 * digest_set.h - a few digests, each once
 *
 * Zero-initialised is empty, and with n = 0 it is empty again.
 */
#ifndef LUDWIG_COMMON_BASE_DIGEST_SET_H
#define LUDWIG_COMMON_BASE_DIGEST_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/digest.h"

struct digest_set {
    struct digest *items;
    size_t n, capacity;
};

bool digest_set_has(const struct digest_set *d, const struct digest *x);
void digest_set_add(struct digest_set *d, const struct digest *x);  /* nothing when it is there */
void digest_set_drop(struct digest_set *d, const struct digest *x); /* nothing when it is not */
void digest_set_free(struct digest_set *d);

#endif
