/* SPDX-License-Identifier: MIT */
/*
 * sbatch.h - checks a user's text before it becomes an argument of sbatch
 *
 * The client checks the texts of a sweep file, so that it can name the wrong line; ludwigd checks
 * them again.  Each option is one argument, "--name=value": an option without its value would take
 * the next argument, so only options that take no value may stand without one.
 */
#ifndef LUDWIG_COMMON_PROTO_SBATCH_H
#define LUDWIG_COMMON_PROTO_SBATCH_H

#include <stdbool.h>

#include "common/base/err.h"

/* Checks a further option of sbatch from extra:; -1 with e set when it is refused. */
int sbatch_check_extra(const char *option, struct err *e);

/* Whether text can be a value: not empty, no dash at its beginning, no control characters. */
bool sbatch_is_word(const char *text);
/* Whether name can be a single partition: sbatch_is_word, and without commas, blanks and quotes. */
bool sbatch_is_partition(const char *name);

#endif
