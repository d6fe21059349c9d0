/* SPDX-License-Identifier: MIT */
/*
 * param_digest.h - the one canonical form of a configuration, and its digest
 *
 * Two param2vals are the same configuration when these digests are equal.
 * Version 1: JSON without spaces; keys sorted by bytes; numbers compare as
 * numbers, so a float with an integral value below 2^53 is written as that
 * integer (1.0 is 1, -0.0 is 0); nan and infinities as "NaN" etc. without quotes.
 * The digest is SHA-256 over "ludwig param2val 1\n" and that text.  A change
 * here needs a new version number and gives every configuration a new number.
 */
#ifndef LUDWIG_COMMON_DATA_PARAM_DIGEST_H
#define LUDWIG_COMMON_DATA_PARAM_DIGEST_H

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/data/value.h"

void param_digest_add(struct buf *out, const struct value *v);
/* Whether a configuration stays the same when its value v is replaced by w, as 1 by 1.0. */
bool param_equal(const struct value *v, const struct value *w);
void param_digest(const struct value *param2val, struct digest *d);

#endif
