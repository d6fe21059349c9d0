/* SPDX-License-Identifier: MIT */
/* param_digest.c - the canonical form of a configuration; version 1 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/quote.h"
#include "common/data/json.h"
#include "common/data/param_digest.h"

static const char digest_prefix[] = "ludwig param2val 1\n";

static struct bytes key_of(const struct member *m)
{
    return (struct bytes){ (const uint8_t *)m->key.str.s, m->key.str.n };
}

static int compare_members(const void *left, const void *right)
{
    const struct member *const *x = left, *const *y = right;

    return value_compare_keys(key_of(*x), key_of(*y));
}

static void add_map(struct buf *out, const struct value *v)
{
    const struct member **sorted = mem_resize(NULL, v->map.n, sizeof *sorted);

    for (size_t i = 0; i < v->map.n; i++)
        sorted[i] = &v->map.members[i];
    qsort(sorted, v->map.n, sizeof *sorted, compare_members);
    for (size_t i = 0; i < v->map.n; i++) {
        buf_add_char(out, i == 0 ? '{' : ',');
        quote_add(out, sorted[i]->key.str.s, sorted[i]->key.str.n);
        buf_add_char(out, ':');
        param_digest_add(out, &sorted[i]->value);
    }
    buf_add_str(out, v->map.n == 0 ? "{}" : "}");
    free(sorted);
}

void param_digest_add(struct buf *out, const struct value *v)
{
    static const double whole_max = 9007199254740992.0; /* 2^53: below it each integer is exact */

    if (v->type == VALUE_FLOAT && v->f > -whole_max && v->f < whole_max &&
        (double)(int64_t)v->f == v->f) {
        buf_printf(out, "%" PRId64, (int64_t)v->f);
    } else if (v->type == VALUE_LIST) {
        for (size_t i = 0; i < v->list.n; i++) {
            buf_add_char(out, i == 0 ? '[' : ',');
            param_digest_add(out, &v->list.items[i]);
        }
        buf_add_str(out, v->list.n == 0 ? "[]" : "]");
    } else if (v->type == VALUE_MAP) {
        add_map(out, v);
    } else {
        json_add_value(out, v);
    }
}

bool param_equal(const struct value *v, const struct value *w)
{
    struct buf x = { 0 }, y = { 0 };
    bool is_same;

    param_digest_add(&x, v);
    param_digest_add(&y, w);
    is_same = strcmp(buf_text(&x), buf_text(&y)) == 0;
    buf_free(&x);
    buf_free(&y);
    return is_same;
}

void param_digest(const struct value *param2val, struct digest *d)
{
    struct buf text = { 0 };

    buf_add_str(&text, digest_prefix);
    param_digest_add(&text, param2val);
    digest_of(text.bytes, text.n, d);
    buf_free(&text);
}
