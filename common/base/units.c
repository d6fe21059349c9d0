/* SPDX-License-Identifier: MIT */
/* units.c - sizes, durations, fractions and moments, as people write and read them */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/units.h"

static const int64_t AMOUNT_END = INT64_C(1) << 62;

enum { BILLION = 1000 * 1000 * 1000, DECIMALS = 9, CLOCK_FIELD_MAX = BILLION };
enum { MS_PER_S = 1000, MS_PER_MIN = 60 * MS_PER_S, MS_PER_H = 60 * MS_PER_MIN };
enum { MS_PER_DAY = 24 * MS_PER_H, MS_PER_WEEK = 7 * MS_PER_DAY };

struct decimal {
    int64_t whole;
    int64_t billionths;
};

/* Reads the digits at *text; false when there are none or too many. */
static bool read_integer(const char **text, int64_t max, int64_t *number)
{
    const char *begin = *text;

    for (*number = 0; **text >= '0' && **text <= '9'; ++*text) {
        int digit = **text - '0';

        if (*number > (max - digit) / 10)
            return false;
        *number = 10 * *number + digit;
    }
    return *text > begin;
}

/* Reads "12", "1.5" or ".5".  A number with more digits than fit is refused, not rounded. */
static bool read_decimal(const char **text, struct decimal *d)
{
    const char *point;

    *d = (struct decimal){ 0 };
    if (**text != '.' && !read_integer(text, AMOUNT_END, &d->whole))
        return false;
    if (**text != '.')
        return true;
    point = (*text)++;
    if (!read_integer(text, BILLION - 1, &d->billionths))
        return false;
    for (ptrdiff_t n = *text - point - 1; n < DECIMALS; n++)
        d->billionths *= 10;
    return *text - point - 1 <= DECIMALS;
}

/* A fraction of the smallest unit is a mistake; of others it is rounded down. */
static bool scale(const struct decimal *d, int64_t factor, int64_t *amount)
{
    int64_t fraction =
        d->billionths * (factor / BILLION) + d->billionths * (factor % BILLION) / BILLION;

    if (factor == 1 && d->billionths > 0)
        return false;
    return !__builtin_mul_overflow(d->whole, factor, amount) &&
           !__builtin_add_overflow(*amount, fraction, amount) && *amount < AMOUNT_END;
}

/* Bytes in one of "", "B", "k", "kB", "KiB", "Ki", ...; 0 for any other name. */
static int64_t size_unit(const char *name)
{
    static const char prefixes[] = "kmgtpe";
    size_t n = strlen(name);
    bool binary;
    const char *prefix;
    int64_t factor = 1;

    if (n > 0 && tolower((unsigned char)name[n - 1]) == 'b')
        n--;
    binary = n == 2 && name[1] == 'i';
    if (n == 0)
        return 1;
    if (n > 1 && !binary)
        return 0;
    prefix = memchr(prefixes, tolower((unsigned char)name[0]), sizeof prefixes - 1);
    if (prefix == NULL)
        return 0;
    for (const char *p = prefixes; p <= prefix; p++)
        factor *= binary ? 1024 : 1000;
    return factor;
}

int units_parse_size(const char *text, int64_t *bytes, struct err *e)
{
    const char *at = text;
    struct decimal d;
    int64_t factor, amount;

    if (!read_decimal(&at, &d))
        goto fail;
    at += strspn(at, " ");
    factor = size_unit(at);
    if (factor == 0 || !scale(&d, factor, &amount))
        goto fail;
    *bytes = amount;
    return 0;
fail:
    return err_set(e, ERR_USAGE, "\"%s\" is no size; write it like 2GiB, 1.5TiB or 500M", text);
}

/* [DAYS-]HOURS:MINUTES:SECONDS as Slurm writes it; with days the last fields may be missing. */
static bool read_clock(const char *text, int64_t *ms)
{
    const char *dash = strchr(text, '-');
    int64_t days = 0, fields[3] = { 0 };
    int n = 0;

    if (dash != NULL && (!read_integer(&text, CLOCK_FIELD_MAX, &days) || text++ != dash))
        return false;
    do {
        if (n == 3 || !read_integer(&text, CLOCK_FIELD_MAX, &fields[n++]))
            return false;
    } while (*text++ == ':');
    if (text[-1] != '\0' || (dash == NULL && n < 3) || fields[1] >= 60 || fields[2] >= 60)
        return false;
    *ms = days * MS_PER_DAY + fields[0] * MS_PER_H + fields[1] * MS_PER_MIN + fields[2] * MS_PER_S;
    return true;
}

static const struct duration_unit {
    const char *name;
    int64_t ms;
} duration_units[] = {
    { "ms", 1 },       { "s", MS_PER_S },   { "m", MS_PER_MIN },  { "min", MS_PER_MIN },
    { "h", MS_PER_H }, { "d", MS_PER_DAY }, { "w", MS_PER_WEEK },
};

/* Reads a unit's name and gives its ms; 0 when it is not a unit. */
static int64_t read_duration_unit(const char **text)
{
    size_t n = 0;

    while (isalpha((unsigned char)(*text)[n]))
        n++;
    for (size_t i = 0; i < sizeof duration_units / sizeof duration_units[0]; i++) {
        const struct duration_unit *unit = &duration_units[i];

        if (strlen(unit->name) == n && strncasecmp(unit->name, *text, n) == 0) {
            *text += n;
            return unit->ms;
        }
    }
    return 0;
}

/* One or more of NUMBER UNIT, from the largest unit to the smallest. */
static bool read_units(const char *text, int64_t *ms)
{
    int64_t last = INT64_MAX, unit, part;
    struct decimal d;

    *ms = 0;
    do {
        if (!read_decimal(&text, &d))
            return false;
        text += strspn(text, " ");
        unit = read_duration_unit(&text);
        if (unit == 0 || unit >= last || !scale(&d, unit, &part))
            return false;
        last = unit;
        *ms += part;
        text += strspn(text, " ");
    } while (*text != '\0' && *ms < AMOUNT_END);
    return *ms < AMOUNT_END;
}

bool units_lacks_unit(const char *text)
{
    size_t n = strspn(text, "0123456789.");

    return n > 0 && text[n] == '\0' && strspn(text, "0.") < n;
}

int units_parse_duration(const char *text, int64_t *ms, struct err *e)
{
    bool is_clock = strpbrk(text, ":-") != NULL;
    size_t n = strspn(text, "0123456789");
    int64_t duration = 0;

    if (units_lacks_unit(text))
        return err_set(e, ERR_USAGE, "%s lacks a unit: write %ss or %smin (Slurm means minutes)",
                       text, text, text);
    if (n > 0 && text[n] == ':' && text[n + 1 + strspn(text + n + 1, "0123456789")] == '\0')
        return err_set(e, ERR_USAGE,
                       "%s is minutes and seconds to some and hours and minutes to others: write "
                       "it like 30min, 4h or 00:30:00",
                       text);
    if (strspn(text, "0.") > 0 && text[strspn(text, "0.")] == '\0')
        text = "0s";
    if (is_clock ? !read_clock(text, &duration) : !read_units(text, &duration))
        return err_set(e, ERR_USAGE,
                       "\"%s\" is no duration; write it like 90s, 10min, 1h30m or 2-12:00:00",
                       text);
    *ms = duration;
    return 0;
}

int units_parse_milli(const char *text, int64_t *milli, struct err *e)
{
    const char *at = text;
    struct decimal d;
    int64_t amount;

    if (!read_decimal(&at, &d) || *at != '\0' || !scale(&d, 1000, &amount))
        return err_set(e, ERR_USAGE, "\"%s\" is no number; write it like 2 or 0.5", text);
    if (d.billionths % (BILLION / 1000) != 0)
        return err_set(e, ERR_USAGE, "\"%s\" has more than three decimals", text);
    *milli = amount;
    return 0;
}

/* Adds "-" for a negative number; gives the absolute value. */
static uint64_t add_sign(struct buf *out, int64_t number)
{
    if (number >= 0)
        return (uint64_t)number;
    buf_add_char(out, '-');
    return -(uint64_t)number;
}

void units_add_size(struct buf *out, int64_t bytes)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    uint64_t n = add_sign(out, bytes), unit = 1, tenths;
    size_t i = 0;

    if (n < 1024) {
        buf_printf(out, "%" PRIu64 " B", n);
        return;
    }
    do {
        unit *= 1024;
        tenths = n / unit * 10 + (n % unit * 10 + unit / 2) / unit;
        i++;
    } while (tenths >= 10240);
    buf_printf(out, "%" PRIu64, tenths / 10);
    if (tenths % 10 != 0)
        buf_printf(out, ".%" PRIu64, tenths % 10);
    buf_printf(out, " %s", names[i]);
}

void units_add_duration(struct buf *out, int64_t ms)
{
    static const struct {
        uint64_t end_ms, unit_ms, rest_ms;
        const char *unit, *rest;
    } steps[] = {
        { MS_PER_S, 1, 1, "ms", NULL },
        { MS_PER_MIN, MS_PER_S, 1, "s", NULL },
        { MS_PER_H, MS_PER_MIN, MS_PER_S, "min", "s" },
        { MS_PER_DAY, MS_PER_H, MS_PER_MIN, "h", "min" },
        { UINT64_MAX, MS_PER_DAY, MS_PER_H, "d", "h" },
    };
    uint64_t n = add_sign(out, ms), rest;
    size_t i = 0;

    while (n >= steps[i].end_ms)
        i++;
    buf_printf(out, "%" PRIu64 " %s", n / steps[i].unit_ms, steps[i].unit);
    rest = n % steps[i].unit_ms / steps[i].rest_ms;
    if (steps[i].rest != NULL && rest > 0)
        buf_printf(out, " %02" PRIu64 " %s", rest, steps[i].rest);
}

void units_add_milli(struct buf *out, int64_t milli)
{
    uint64_t n = add_sign(out, milli), rest = n % 1000;
    int width = 3;

    buf_printf(out, "%" PRIu64, n / 1000);
    if (rest == 0)
        return;
    for (; rest % 10 == 0; rest /= 10)
        width--;
    buf_printf(out, ".%0*" PRIu64, width, rest);
}

/* A moment that no calendar date can hold is written as its number. */
static void add_time(struct buf *out, int64_t ms, bool is_utc)
{
    time_t s = (time_t)(ms / MS_PER_S - (ms % MS_PER_S < 0));
    struct tm t;
    char text[64];
    size_t n = 0;

    if (is_utc && gmtime_r(&s, &t) != NULL)
        n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    else if (!is_utc && localtime_r(&s, &t) != NULL)
        n = strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &t);
    if (n > 0)
        buf_add(out, text, n);
    else
        buf_printf(out, "%" PRId64, ms);
}

void units_add_time_utc(struct buf *out, int64_t ms)
{
    add_time(out, ms, true);
}

void units_add_time_local(struct buf *out, int64_t ms)
{
    add_time(out, ms, false);
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now = { 0 };

    /* clock_gettime fails only for unknown clocks. */
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

int64_t units_now_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

int64_t units_monotonic_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

int64_t units_ns(const struct timespec *t)
{
    return (int64_t)((uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec);
}
