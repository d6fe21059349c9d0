/* SPDX-License-Identifier: MIT */
/*
 * sbatch.h - what of a user's text sbatch may be given
 *
 * The client refuses what is wrong in a sweep file, where it can say in which line; ludwigd does not
 * rely on that.  Each option is one argument, "--name=value": an option whose value is left out would
 * take the argument behind it, so only those that take none may stand without.
 */
#ifndef LUDWIG_COMMON_PROTO_SBATCH_H
#define LUDWIG_COMMON_PROTO_SBATCH_H

#include <stdbool.h>

#include "common/base/err.h"

/* A further option of sbatch, as extra: has them; e says what is wrong with it. */
int sbatch_check_extra(const char *option, struct err *e);

/* One word for a value: not empty, no dash at its beginning, no control characters. */
bool sbatch_is_word(const char *text);
/* One partition: such a word, without what separates several. */
bool sbatch_is_partition(const char *name);

#endif
