/* SPDX-License-Identifier: MIT */
/* yaml_scalar.c - the value of unquoted text, by the core schema of YAML 1.2 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/yaml_scalar.h"

static bool is_one_of(const char *s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(s, *words) == 0)
            return true;
    return false;
}

static const char *skip_sign(const char *s)
{
    return *s == '+' || *s == '-' ? s + 1 : s;
}

static const char *skip_digits(const char *s)
{
    return s + strspn(s, "0123456789");
}

static bool is_decimal(const char *s)
{
    const char *digits = skip_sign(s);
    const char *end = skip_digits(digits);

    return end > digits && *end == '\0';
}

static bool is_based(const char *s, const char *prefix, const char *digits)
{
    return strncmp(s, prefix, 2) == 0 && s[2] != '\0' && s[2 + strspn(s + 2, digits)] == '\0';
}

static bool is_float(const char *s)
{
    const char *whole = skip_sign(s);
    const char *at = skip_digits(whole);
    bool has_digits = at > whole;

    if (*at == '.') {
        const char *fraction = at + 1;

        at = skip_digits(fraction);
        has_digits = has_digits || at > fraction;
    }
    if (*at == 'e' || *at == 'E') {
        const char *exponent = skip_sign(at + 1);

        at = skip_digits(exponent);
        has_digits = has_digits && at > exponent;
    }
    return has_digits && *at == '\0';
}

enum number { NO_NUMBER, NUMBER, NUMBER_TOO_LARGE };

static enum number read_int(const char *s, int base, struct value *v)
{
    char *end;

    errno = 0;
    *v = value_int(strtoll(s, &end, base));
    return errno == ERANGE ? NUMBER_TOO_LARGE : NUMBER;
}

static enum number read_float(const char *s, struct value *v)
{
    *v = value_float(strtod(s, NULL));
    return isinf(v->f) ? NUMBER_TOO_LARGE : NUMBER;
}

static enum number read_special(const char *s, struct value *v)
{
    static const char *const infinities[] = { ".inf", ".Inf", ".INF", NULL };
    static const char *const nans[] = { ".nan", ".NaN", ".NAN", NULL };

    if (is_one_of(skip_sign(s), infinities))
        *v = value_float(*s == '-' ? (double)-INFINITY : (double)INFINITY);
    else if (is_one_of(s, nans))
        *v = value_float((double)NAN);
    else
        return NO_NUMBER;
    return NUMBER;
}

static enum number read_number(const char *s, struct value *v)
{
    if (is_decimal(s))
        return read_int(s, 10, v);
    if (is_based(s, "0o", "01234567"))
        return read_int(s + 2, 8, v);
    if (is_based(s, "0x", "0123456789abcdefABCDEF"))
        return read_int(s + 2, 16, v);
    if (is_float(s))
        return read_float(s, v);
    return read_special(s, v);
}

bool yaml_scalar_read(const char *s, size_t n, struct value *v)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const truths[] = { "true", "True", "TRUE", NULL };
    static const char *const lies[] = { "false", "False", "FALSE", NULL };

    if (is_one_of(s, nulls))
        *v = value_null();
    else if (is_one_of(s, truths))
        *v = value_bool(true);
    else if (is_one_of(s, lies))
        *v = value_bool(false);
    else {
        enum number number = read_number(s, v);

        if (number != NO_NUMBER)
            return number != NUMBER_TOO_LARGE;
        *v = value_strn(s, n);
    }
    return true;
}
