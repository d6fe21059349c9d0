/* SPDX-License-Identifier: MIT */
/* units.h - sizes, durations, fractions and moments, as people write and read them */
#ifndef LUDWIG_COMMON_BASE_UNITS_H
#define LUDWIG_COMMON_BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/* "2GiB", "500M" (10^6), "1.5TiB", "4096".  Not negative, below 2^62. */
int units_parse_size(const char *text, int64_t *bytes, struct err *e);
/* Whether text is a number other than 0 alone, for which people have two readings. */
bool units_lacks_unit(const char *text);
/* "1.5h", "2h", "10min", "10m", "60s", "500ms", "1d", "1h30m", "2-12:00:00", "01:30:00", "0". */
int units_parse_duration(const char *text, int64_t *ms, struct err *e);
/* "0.5" -> 500 */
int units_parse_milli(const char *text, int64_t *milli, struct err *e);

void units_add_size(struct buf *out, int64_t bytes);    /* "1.5 GiB" */
void units_add_duration(struct buf *out, int64_t ms);   /* "350 ms", "12 s", "1 h 05 min" */
void units_add_milli(struct buf *out, int64_t milli);   /* 1500 -> "1.5", 2000 -> "2" */
void units_add_time_utc(struct buf *out, int64_t ms);   /* RFC 3339: 2026-11-21T10:15:00Z */
void units_add_time_local(struct buf *out, int64_t ms); /* "2026-11-21 10:15:00" */

int64_t units_now_ms(void);       /* wall clock, since 1970 */
int64_t units_monotonic_ms(void); /* for time-outs */
/* Nanoseconds since 1970.  A time after 2262 wraps to another number, always the same. */
int64_t units_ns(const struct timespec *t);

#endif
