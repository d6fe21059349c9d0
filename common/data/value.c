/* SPDX-License-Identifier: MIT */
/* value.c - typed values: made, looked up, copied, compared, written as text */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/value.h"

const char *value_type_name(enum value_type type)
{
    static const char *const names[] = {
        [VALUE_NULL] = "nothing",   [VALUE_BOOL] = "true or false", [VALUE_INT] = "a whole number",
        [VALUE_FLOAT] = "a number", [VALUE_STR] = "text",           [VALUE_BIN] = "bytes",
        [VALUE_LIST] = "a list",    [VALUE_MAP] = "a map",
    };

    return names[type];
}

struct value value_null(void)
{
    return (struct value){ .type = VALUE_NULL };
}

struct value value_bool(bool b)
{
    return (struct value){ .type = VALUE_BOOL, .b = b };
}

struct value value_int(int64_t i)
{
    return (struct value){ .type = VALUE_INT, .i = i };
}

struct value value_float(double f)
{
    return (struct value){ .type = VALUE_FLOAT, .f = f };
}

struct value value_str(const char *s)
{
    return value_strn(s, strlen(s));
}

struct value value_strn(const char *s, size_t n)
{
    return (struct value){ .type = VALUE_STR, .str = { s, n } };
}

struct member value_member(const char *key, struct value v)
{
    return (struct member){ value_str(key), v };
}

struct value value_list(struct value *items, size_t n)
{
    return (struct value){ .type = VALUE_LIST, .list = { items, n } };
}

struct value value_map(struct arena *a, const struct member *members, size_t n)
{
    struct value v = { .type = VALUE_MAP, .map = { .n = n } };

    v.map.members = arena_alloc(a, n * sizeof *members);
    if (n > 0)
        memcpy(v.map.members, members, n * sizeof *members);
    return v;
}

static bool same_text(const struct value *x, const char *s, size_t n)
{
    return x->str.n == n && memcmp(x->str.s, s, n) == 0;
}

const struct value *value_get(const struct value *map, const char *key)
{
    size_t n = strlen(key);

    if (map->type != VALUE_MAP)
        return NULL;
    for (size_t i = 0; i < map->map.n; i++)
        if (same_text(&map->map.members[i].key, key, n))
            return &map->map.members[i].value;
    return NULL;
}

struct value value_copy(struct arena *a, const struct value *v)
{
    struct value copy = *v;

    if (v->type == VALUE_STR || v->type == VALUE_BIN) {
        copy.str.s = arena_strndup(a, v->str.s, v->str.n);
    } else if (v->type == VALUE_LIST) {
        copy.list.items = arena_alloc(a, v->list.n * sizeof(struct value));
        for (size_t i = 0; i < v->list.n; i++)
            copy.list.items[i] = value_copy(a, &v->list.items[i]);
    } else if (v->type == VALUE_MAP) {
        copy.map.members = arena_alloc(a, v->map.n * sizeof(struct member));
        for (size_t i = 0; i < v->map.n; i++) {
            copy.map.members[i].key = value_copy(a, &v->map.members[i].key);
            copy.map.members[i].value = value_copy(a, &v->map.members[i].value);
        }
    }
    return copy;
}

/* Finds the key, first at index i: maps are mostly in the same order. */
static const struct value *get_near(const struct value *map, const struct value *key, size_t i)
{
    for (size_t k = 0; k < map->map.n; k++) {
        const struct member *m = &map->map.members[(i + k) % map->map.n];

        if (same_text(&m->key, key->str.s, key->str.n))
            return &m->value;
    }
    return NULL;
}

bool value_equal(const struct value *x, const struct value *y)
{
    bool is_same = x->type == y->type;

    if (!is_same)
        return false;
    switch (x->type) {
    case VALUE_NULL: break;
    case VALUE_BOOL: return x->b == y->b;
    case VALUE_INT: return x->i == y->i;
    case VALUE_FLOAT:
        return isnan(x->f) || isnan(y->f) ? isnan(x->f) && isnan(y->f)
                                          : x->f == y->f && signbit(x->f) == signbit(y->f);
    case VALUE_STR:
    case VALUE_BIN: return same_text(x, y->str.s, y->str.n);
    case VALUE_LIST:
        is_same = x->list.n == y->list.n;
        for (size_t i = 0; is_same && i < x->list.n; i++)
            is_same = value_equal(&x->list.items[i], &y->list.items[i]);
        break;
    case VALUE_MAP:
        is_same = x->map.n == y->map.n;
        for (size_t i = 0; is_same && i < x->map.n; i++) {
            const struct value *other = get_near(y, &x->map.members[i].key, i);

            is_same = other != NULL && value_equal(&x->map.members[i].value, other);
        }
        break;
    }
    return is_same;
}

size_t value_depth(const struct value *v)
{
    size_t n = v->type == VALUE_LIST ? v->list.n : v->type == VALUE_MAP ? v->map.n : 0;
    size_t deepest = 0;

    for (size_t i = 0; i < n; i++) {
        size_t depth =
            value_depth(v->type == VALUE_LIST ? &v->list.items[i] : &v->map.members[i].value);

        deepest = depth > deepest ? depth : deepest;
    }
    return v->type == VALUE_LIST || v->type == VALUE_MAP ? deepest + 1 : 0;
}

int value_compare_keys(struct bytes x, struct bytes y)
{
    size_t n = x.n < y.n ? x.n : y.n;
    int order = n == 0 ? 0 : memcmp(x.data, y.data, n);

    return order != 0 ? order : (x.n > y.n) - (x.n < y.n);
}

struct placed_key {
    struct bytes key;
    size_t i;
};

static int compare_placed(const void *left, const void *right)
{
    const struct placed_key *x = left, *y = right;
    int order = value_compare_keys(x->key, y->key);

    return order != 0 ? order : (x->i > y->i) - (x->i < y->i);
}

size_t value_find_repeated(const void *items, size_t n, value_key_fn key_of)
{
    enum { FEW = 24 }; /* comparing each with each needs no memory */
    struct placed_key *placed;
    size_t first = n;

    for (size_t i = 1; n <= FEW && i < n; i++) {
        struct bytes key = key_of(items, i);

        for (size_t k = 0; k < i; k++) {
            struct bytes earlier = key_of(items, k);

            if (earlier.n == key.n && value_compare_keys(earlier, key) == 0)
                return i;
        }
    }
    if (n <= FEW)
        return n;
    placed = mem_resize(NULL, n, sizeof *placed);
    for (size_t i = 0; i < n; i++)
        placed[i] = (struct placed_key){ key_of(items, i), i };
    qsort(placed, n, sizeof *placed, compare_placed);
    for (size_t i = 1; i < n; i++)
        if (value_compare_keys(placed[i - 1].key, placed[i].key) == 0 && placed[i].i < first)
            first = placed[i].i;
    free(placed);
    return first;
}

enum { DIGITS_SURE = 15, DIGITS_MAX = 17 };

/* A number as 0.DIGITS times ten to the power of "point". */
struct decimal {
    char digits[DIGITS_MAX + 1];
    int n;
    int point;
};

/* Rounds f, positive and finite, to n digits; returns whether the decimal reads back as f. */
static bool decimal_round(struct decimal *d, double f, int n)
{
    char text[32];
    char *e;

    snprintf(text, sizeof text, "%.*e", n - 1, f);
    e = strchr(text, 'e');
    d->digits[0] = text[0];
    if (n > 1)
        memcpy(d->digits + 1, text + 2, (size_t)n - 1);
    d->digits[n] = '\0';
    d->n = n;
    d->point = 1 + (int)strtol(e + 1, NULL, 10);
    return strtod(text, NULL) == f;
}

/*
 * Above a power of two the doubles lie further apart than below it.  There the second nearest
 * decimal of 16 digits may read back as f where the nearest does not.
 */
static void decimal_shortest(struct decimal *d, double f)
{
    int n = f < DBL_MIN ? 1 : DIGITS_SURE; /* subnormals have few digits to tell apart */
    uint64_t next;
    char text[48];

    while (n < DIGITS_MAX && !decimal_round(d, f, n)) {
        if (n == DIGITS_MAX - 1) {
            next = strtoull(d->digits, NULL, 10) + 1;
            snprintf(text, sizeof text, "%" PRIu64 "e%d", next, d->point - d->n);
            if (strtod(text, NULL) == f) {
                snprintf(d->digits, sizeof d->digits, "%" PRIu64, next);
                break;
            }
        }
        n++;
    }
    if (n == DIGITS_MAX)
        decimal_round(d, f, DIGITS_MAX);
    while (d->n > 1 && d->digits[d->n - 1] == '0')
        d->n--;
}

static void add_zeros(struct buf *out, int n)
{
    while (n-- > 0)
        buf_add_char(out, '0');
}

void value_add_float(struct buf *out, double f)
{
    struct decimal d;
    int whole;

    if (isnan(f)) {
        buf_add_str(out, "nan");
        return;
    }
    if (signbit(f))
        buf_add_char(out, '-');
    if (isinf(f) || f == 0) {
        buf_add_str(out, f == 0 ? "0.0" : "inf");
        return;
    }
    decimal_shortest(&d, fabs(f));
    if (d.point > -4 && d.point <= 16) {
        whole = d.point < 0 ? 0 : d.point < d.n ? d.point : d.n;
        buf_add(out, d.digits, (size_t)whole);
        add_zeros(out, whole == 0 ? 1 : d.point - whole);
        buf_add_char(out, '.');
        add_zeros(out, -d.point);
        buf_add(out, d.digits + whole, (size_t)(d.n - whole));
        if (whole == d.n)
            buf_add_char(out, '0');
    } else {
        buf_add_char(out, d.digits[0]);
        if (d.n > 1)
            buf_printf(out, ".%.*s", d.n - 1, d.digits + 1);
        buf_printf(out, "e%c%02d", d.point < 1 ? '-' : '+', abs(d.point - 1));
    }
}
