/* SPDX-License-Identifier: MIT */
/*
 * yaml_scalar.h - the value of unquoted text, by the core schema of YAML 1.2
 */
#ifndef LUDWIG_COMMON_DATA_YAML_SCALAR_H
#define LUDWIG_COMMON_DATA_YAML_SCALAR_H

#include <stdbool.h>

#include "common/data/value.h"

/* Of the n bytes of s, behind which stands a NUL; text is not copied.  false: a number that is too large
 * to be one. */
bool yaml_scalar_read(const char *s, size_t n, struct value *v);

#endif
