/* SPDX-License-Identifier: MIT */
/* log.c - a structured log on stderr, one event a line */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/quote.h"
#include "common/base/units.h"

static const char *const level_names[] = { "debug", "info", "warn", "error" };
enum { N_LEVELS = sizeof level_names / sizeof level_names[0] };

/* The level is global, as the process's stderr is. */
static enum log_level lowest_level = LOG_INFO;

void log_set_level(enum log_level level)
{
    lowest_level = level;
}

int log_parse_level(const char *name)
{
    for (int i = 0; i < N_LEVELS; i++)
        if (strcmp(level_names[i], name) == 0)
            return i;
    return -1;
}

static bool is_bare(const char *s)
{
    if (*s == '\0')
        return false;
    for (; *s != '\0'; s++)
        if ((unsigned char)*s <= ' ' || *s == '"' || *s == 0x7f)
            return false;
    return true;
}

static void add_str(struct buf *line, const char *s)
{
    if (s == NULL)
        s = "";
    if (is_bare(s))
        buf_add_str(line, s);
    else
        quote_add(line, s, strlen(s));
}

/* Adds "KEY=VALUE" for each pair; an unknown format ends the line, as its argument has no size. */
static void add_pairs(struct buf *line, va_list ap)
{
    const char *key;

    while ((key = va_arg(ap, const char *)) != NULL) {
        const char *format = va_arg(ap, const char *);

        buf_printf(line, " %s=", key);
        if (strcmp(format, "%s") == 0)
            add_str(line, va_arg(ap, const char *));
        else if (strcmp(format, "%d") == 0)
            buf_printf(line, "%d", va_arg(ap, int));
        else if (strcmp(format, "%lld") == 0)
            buf_printf(line, "%lld", va_arg(ap, long long));
        else if (strcmp(format, "%zu") == 0)
            buf_printf(line, "%zu", va_arg(ap, size_t));
        else if (strcmp(format, "%g") == 0)
            buf_printf(line, "%g", va_arg(ap, double));
        else
            break;
    }
}

void log_event(enum log_level level, const char *event, ...)
{
    struct buf line = { 0 };
    char text[sizeof "2026-11-21T10:15:00"] = "";
    struct timespec now;
    struct tm utc;
    va_list ap;

    if (level < lowest_level)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    buf_printf(&line, "%s.%03ldZ %s %s", text, now.tv_nsec / 1000000, level_names[level], event);
    va_start(ap, event);
    add_pairs(&line, ap);
    va_end(ap);
    buf_add_char(&line, '\n');
    /* A daemon whose log cannot be written goes on working. */
    (void)io_write_all(STDERR_FILENO, line.bytes, line.n);
    buf_free(&line);
}

bool log_may(struct log_brake *l, const char *event)
{
    int64_t now_ms = units_monotonic_ms();

    if (now_ms >= l->until_ms) {
        l->until_ms = now_ms + 60 * 1000;
        l->n = 0;
    }
    if (l->n == LOG_LIMIT_PER_MINUTE) {
        l->left_out++;
        return false;
    }
    l->n++;
    if (l->left_out > 0)
        log_event(LOG_WARN, "lines-left-out", "event", "%s", event, "lines", "%lld", l->left_out,
                  NULL);
    l->left_out = 0;
    return true;
}
