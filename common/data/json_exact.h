/* SPDX-License-Identifier: MIT */
/*
 * json_exact.h - what JSON text says that no value can hold
 *
 * json-c takes the last of several members of one name, ends a name at a NUL, and takes the nearest
 * double for a number that is too large.
 */
#ifndef LUDWIG_COMMON_DATA_JSON_EXACT_H
#define LUDWIG_COMMON_DATA_JSON_EXACT_H

#include "common/base/err.h"
#include "common/base/mem.h"

/* text is JSON that json_read takes; *offset is where what is refused stands, in bytes. */
int json_check_exact(const char *text, size_t n, struct arena *a, size_t *offset, struct err *e);

#endif
