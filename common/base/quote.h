/* SPDX-License-Identifier: MIT */
/* quote.h - text in double quotes, as in JSON and the log */
#ifndef LUDWIG_COMMON_BASE_QUOTE_H
#define LUDWIG_COMMON_BASE_QUOTE_H

#include "common/base/buf.h"

/* Adds the n bytes of s in double quotes, escaped as JSON (RFC 8259) asks.  Bytes that are no UTF-8
 * become U+FFFD, and characters that a terminal or YAML could misread are escaped, too. */
void quote_add(struct buf *out, const char *s, size_t n);

#endif
