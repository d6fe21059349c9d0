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

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level level); /* at start LOG_INFO */
int log_parse_level(const char *name);    /* -1 when unknown */

/*
 * log_event(LOG_INFO, "submit", "sweep", "%lld", 7LL, "user", "%s", name, NULL):
 * key, format, one argument, repeated; NULL ends.  Formats: %s, %d, %lld (long long), %zu, %g.
 */
void log_event(enum log_level level, const char *event, ...) __attribute__((sentinel));

/* Of an event that anybody can cause as often as they like: a static struct, zero at first. */
enum { LOG_LIMIT_PER_MINUTE = 60 };
struct log_brake {
    int64_t until_ms; /* monotonic: the end of the minute */
    int n;            /* lines in it */
    long long left_out;
};
/* Whether one more may be written now.  How many were not is written with the next that may. */
bool log_may(struct log_brake *l, const char *event);

#endif
