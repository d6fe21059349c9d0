/* SPDX-License-Identifier: MIT */
/* param_test.c - applies tests of parameters to configurations, and writes them for --where */

#include "common/proto/param_test.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "common/data/json.h"
#include "common/data/param_digest.h"

const char *const param_test_fields[] = { "job",
                                          "param_name",
                                          "job_name",
                                          "rep",
                                          "state",
                                          "attempt",
                                          "node",
                                          "partition",
                                          "exit_code",
                                          "signal",
                                          "cause",
                                          "reason",
                                          "max_rss_bytes",
                                          "cpu_seconds",
                                          "memory_bytes",
                                          "time_ms",
                                          "gpu_memory_bytes",
                                          "gpu_percent",
                                          "gpu_ids",
                                          NULL };

/* ---- applying a test ---- */

bool param_number(const struct value *v, double *x)
{
    if (v->type != VALUE_INT && v->type != VALUE_FLOAT)
        return false;
    *x = v->type == VALUE_INT ? (double)v->i : v->f;
    return !isnan(*x);
}

bool param_test_holds(const struct param_test *t, const struct value *params)
{
    const struct value *v = value_get(params, t->name);
    double x, limit;

    if (v == NULL)
        return false;
    if (t->op == PARAM_IS)
        return param_equal(v, &t->value);
    if (!param_number(v, &x) || !param_number(&t->value, &limit))
        return false;
    return t->op == PARAM_AT_LEAST ? x >= limit : x <= limit;
}

/* ---- writing ---- */

/* Whether --where, which reads words as YAML does, takes this word for a text without quotes. */
static bool is_plain_word(const char *s, size_t n)
{
    static const char *const read_otherwise[] = { "true", "false", "null", "yes", "no", "on", "off",
                                                  "y",    "n",     "not",  "and", "or", "in" };

    if (n == 0 || (!isalpha((unsigned char)s[0]) && s[0] != '_'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && strchr("_-./", s[i]) == NULL)
            return false;
    for (size_t i = 0; i < sizeof read_otherwise / sizeof read_otherwise[0]; i++)
        if (strlen(read_otherwise[i]) == n && strncasecmp(read_otherwise[i], s, n) == 0)
            return false;
    return true;
}

static void add_word(struct buf *out, const char *s, size_t n)
{
    if (is_plain_word(s, n)) {
        buf_add(out, s, n);
        return;
    }
    buf_add_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, s[i]);
    }
    buf_add_char(out, '"');
}

static void add_name(struct buf *out, const char *name)
{
    struct buf prefixed = { 0 };

    for (size_t i = 0; param_test_fields[i] != NULL; i++)
        if (strcmp(param_test_fields[i], name) == 0)
            buf_add_str(&prefixed, "params.");
    buf_add_str(&prefixed, name);
    add_word(out, buf_text(&prefixed), prefixed.n);
    buf_free(&prefixed);
}

void param_test_add(struct buf *out, const struct param_test *t)
{
    static const char *const ops[] = { "=", " >= ", " <= " };
    struct buf text = { 0 };

    add_name(out, t->name);
    buf_add_str(out, ops[t->op]);
    switch (t->value.type) {
    case VALUE_STR: add_word(out, t->value.str.s, t->value.str.n); break;
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_BIN:
        json_add_text(&text, &t->value);
        add_word(out, buf_text(&text), text.n);
        break;
    default: json_add_text(out, &t->value); break;
    }
    buf_free(&text);
}

void param_test_add_word(struct buf *out, const char *text)
{
    buf_add_char(out, '\'');
    for (; *text != '\0'; text++)
        if (*text == '\'')
            buf_add_str(out, "'\\''");
        else
            buf_add_char(out, *text);
    buf_add_char(out, '\'');
}
