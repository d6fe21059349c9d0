/* SPDX-License-Identifier: MIT */
/*
 * log.h - a structured log on stderr, one event a line
 *
 *   2026-11-21T10:15:00.123Z info submit sweep=7 user=alice jobs=24
 *
 * Values with blanks, quotes or control characters are written as JSON strings,
 * so that a line is always one line and can be split again.  Only the daemons log.
 */
#ifndef LUDWIG_COMMON_BASE_LOG_H
#define LUDWIG_COMMON_BASE_LOG_H

#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level level); /* at start LOG_INFO */
int log_parse_level(const char *name);    /* -1 when unknown */

/*
 * log_event(LOG_INFO, "submit", "sweep", "%lld", 7LL, "user", "%s", name, NULL):
 * key, format, one argument, repeated; NULL ends.  Formats: %s, %d, %lld (long long), %zu, %g.
 */
void log_event(enum log_level level, const char *event, ...) __attribute__((sentinel));

#endif
