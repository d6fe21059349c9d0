/* SPDX-License-Identifier: MIT */
/*
 * json.h - JSON text to and from values (json-c reads, this room writes)
 */
#ifndef LUDWIG_COMMON_DATA_JSON_H
#define LUDWIG_COMMON_DATA_JSON_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/value.h"

/* Compact, one line, UTF-8 kept as it is; floats as value_add_float, except that
 * nan and infinities become NaN, Infinity, -Infinity (as Python writes and reads them).
 * Bytes that are not UTF-8 become U+FFFD; BIN is written in hex. */
void json_add_value(struct buf *out, const struct value *v);
/* The same over several lines, indented by two spaces, for files that people open. */
void json_add_pretty(struct buf *out, const struct value *v);

/* Appends v as text for a person or a placeholder: strings without quotes, the rest as JSON. */
void json_add_text(struct buf *out, const struct value *v);

/* Reads one JSON text.  Also takes NaN and Infinity.  Depth at most 32. */
int json_read(const char *text, size_t n, struct arena *a, struct value *v, struct err *e);
/*
 * The same for text whose values must stay as written: refuses numbers that are too large, and
 * names that an object has twice or that contain a NUL, all of which json_read changes.  e says
 * what is wrong but not where: *offset is the place, in bytes.
 */
int json_read_exact(const char *text, size_t n, struct arena *a, struct value *v, size_t *offset,
                    struct err *e);

#endif
