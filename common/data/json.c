/* SPDX-License-Identifier: MIT */
/* json.c - JSON: written by us, read by json-c */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/base/mem.h"
#include "common/base/quote.h"
#include "common/base/utf8.h"
#include "common/data/json.h"
#include "common/data/json_exact.h"

enum { JSON_DEPTH_MAX = 32 };

/* ---- out ---- */

static void add_hex(struct buf *out, const struct value *v)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < v->str.n; i++)
        buf_printf(out, "%02x", (unsigned)(uint8_t)v->str.s[i]);
    buf_add_char(out, '"');
}

static void add_float(struct buf *out, double f)
{
    if (isnan(f))
        buf_add_str(out, "NaN");
    else if (isinf(f))
        buf_add_str(out, f < 0 ? "-Infinity" : "Infinity");
    else
        value_add_float(out, f);
}

/* indent < 0: all on one line */
static void add_break(struct buf *out, int indent)
{
    if (indent < 0)
        return;
    buf_add_char(out, '\n');
    for (int i = 0; i < indent; i++)
        buf_add_char(out, ' ');
}

static void add_value(struct buf *out, const struct value *v, int indent);

static int deeper(int indent)
{
    return indent < 0 ? indent : indent + 2;
}

static void add_list(struct buf *out, const struct value *v, int indent)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < v->list.n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        add_break(out, deeper(indent));
        add_value(out, &v->list.items[i], deeper(indent));
    }
    if (v->list.n > 0)
        add_break(out, indent);
    buf_add_char(out, ']');
}

static void add_map(struct buf *out, const struct value *v, int indent)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < v->map.n; i++) {
        const struct member *m = &v->map.members[i];

        if (i > 0)
            buf_add_char(out, ',');
        add_break(out, deeper(indent));
        quote_add(out, m->key.str.s, m->key.str.n);
        buf_add_str(out, indent < 0 ? ":" : ": ");
        add_value(out, &m->value, deeper(indent));
    }
    if (v->map.n > 0)
        add_break(out, indent);
    buf_add_char(out, '}');
}

static void add_value(struct buf *out, const struct value *v, int indent)
{
    switch (v->type) {
    case VALUE_NULL: buf_add_str(out, "null"); break;
    case VALUE_BOOL: buf_add_str(out, v->b ? "true" : "false"); break;
    case VALUE_INT: buf_printf(out, "%" PRId64, v->i); break;
    case VALUE_FLOAT: add_float(out, v->f); break;
    case VALUE_STR: quote_add(out, v->str.s, v->str.n); break;
    case VALUE_BIN: add_hex(out, v); break;
    case VALUE_LIST: add_list(out, v, indent); break;
    case VALUE_MAP: add_map(out, v, indent); break;
    }
}

void json_add_value(struct buf *out, const struct value *v)
{
    add_value(out, v, -1);
}

void json_add_pretty(struct buf *out, const struct value *v)
{
    add_value(out, v, 0);
    buf_add_char(out, '\n');
}

/* ---- in ---- */

static int convert(struct json_object *from, int depth, struct arena *a, struct value *v,
                   struct err *e);

/* json-c keeps what int64 cannot hold as an unsigned integer. */
static struct value convert_int(struct json_object *from)
{
    uint64_t u = json_object_get_uint64(from);

    return u > INT64_MAX ? value_float((double)u) : value_int(json_object_get_int64(from));
}

static struct value convert_str(struct json_object *from, struct arena *a)
{
    size_t n = (size_t)json_object_get_string_len(from);

    return value_strn(arena_strndup(a, json_object_get_string(from), n), n);
}

static int convert_list(struct json_object *from, int depth, struct arena *a, struct value *v,
                        struct err *e)
{
    size_t n = json_object_array_length(from);

    *v = (struct value){ .type = VALUE_LIST, .list = { .n = n } };
    v->list.items = arena_alloc(a, n * sizeof(struct value));
    for (size_t i = 0; i < n; i++)
        if (convert(json_object_array_get_idx(from, i), depth, a, &v->list.items[i], e) < 0)
            return -1;
    return 0;
}

static int convert_map(struct json_object *from, int depth, struct arena *a, struct value *v,
                       struct err *e)
{
    size_t n = (size_t)json_object_object_length(from);
    struct member *m = arena_alloc(a, n * sizeof *m);

    *v = (struct value){ .type = VALUE_MAP, .map = { m, n } };
    json_object_object_foreach(from, key, item)
    {
        m->key = value_str(arena_strdup(a, key));
        if (convert(item, depth, a, &m->value, e) < 0)
            return -1;
        m++;
    }
    return 0;
}

static int convert(struct json_object *from, int depth, struct arena *a, struct value *v,
                   struct err *e)
{
    enum json_type type = json_object_get_type(from);

    if ((type == json_type_array || type == json_type_object) && depth >= JSON_DEPTH_MAX)
        return err_set(e, ERR_USAGE, "nested too deep");
    switch (type) {
    case json_type_null: *v = value_null(); return 0;
    case json_type_boolean: *v = value_bool(json_object_get_boolean(from)); return 0;
    case json_type_int: *v = convert_int(from); return 0;
    case json_type_double: *v = value_float(json_object_get_double(from)); return 0;
    case json_type_string: *v = convert_str(from, a); return 0;
    case json_type_array: return convert_list(from, depth + 1, a, v, e);
    case json_type_object: return convert_map(from, depth + 1, a, v, e);
    }
    return err_set(e, ERR_INTERNAL, "JSON: a type of number %d", (int)type);
}

static int refuse(enum json_tokener_error error, struct err *e)
{
    const char *what = error == json_tokener_continue          ? "it ends too early"
                       : error == json_tokener_error_parse_eof ? "it ends too early"
                       : error == json_tokener_success         ? "something follows the value"
                                                               : json_tokener_error_desc(error);

    return err_set(e, ERR_USAGE, "%s", what);
}

/* *end is where it ended, or what is wrong stands. */
static int tokenize(const char *text, size_t n, int flags, struct json_object **root, size_t *end,
                    struct err *e)
{
    int depth = JSON_DEPTH_MAX + 1; /* json-c counts scalars as a level */
    struct json_tokener *tokener = json_tokener_new_ex(depth);
    enum json_tokener_error error;

    if (tokener == NULL)
        return err_set(e, ERR_INTERNAL, "json_tokener_new_ex: out of memory");
    json_tokener_set_flags(tokener, flags);
    *root = json_tokener_parse_ex(tokener, text, (int)n);
    *end = json_tokener_get_parse_end(tokener);
    /* A number could still go on: tell json-c that it doesn't. */
    if (json_tokener_get_error(tokener) == json_tokener_continue)
        *root = json_tokener_parse_ex(tokener, "", 1);
    error = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    if (error == json_tokener_success && *end == n)
        return 0;
    json_object_put(*root);
    return refuse(error, e);
}

/* NULL when the text has nothing but ASCII. */
static char *with_letters_for_non_ascii(const char *text, size_t n)
{
    char *copy = NULL;

    for (size_t i = 0; i < n; i++)
        if ((uint8_t)text[i] >= 0x80) {
            if (copy == NULL)
                copy = mem_copy(text, n);
            copy[i] = 'x';
        }
    return copy;
}

/*
 * A strict json-c 0.18 refuses all but ASCII in strings.  So it judges the grammar with letters
 * in their place, and reads the text itself without being strict.
 */
static int parse(const char *text, size_t n, struct json_object **root, size_t *end, struct err *e)
{
    char *ascii = with_letters_for_non_ascii(text, n);
    int answer;

    if (ascii == NULL)
        return tokenize(text, n, JSON_TOKENER_STRICT, root, end, e);
    answer = tokenize(ascii, n, JSON_TOKENER_STRICT, root, end, e);
    free(ascii);
    if (answer < 0)
        return -1;
    json_object_put(*root);
    return tokenize(text, n, 0, root, end, e);
}

/* A whole number that neither int64 nor uint64 can hold. */
static bool is_too_large(const char *digits, size_t n, bool negative)
{
    enum { DIGITS_MAX = 20 };
    char number[1 + DIGITS_MAX + 1];

    if (n > DIGITS_MAX)
        return true;
    snprintf(number, sizeof number, "%s%.*s", negative ? "-" : "", (int)n, digits);
    errno = 0;
    if (negative)
        strtoll(number, NULL, 10);
    else
        strtoull(number, NULL, 10);
    return errno == ERANGE;
}

static size_t skip(const char *text, size_t n, size_t i, const char *set)
{
    while (i < n && text[i] != '\0' && strchr(set, text[i]) != NULL)
        i++;
    return i;
}

static size_t skip_string(const char *text, size_t n, size_t i)
{
    for (i++; i < n && text[i] != '"'; i++)
        if (text[i] == '\\')
            i++;
    return i + 1;
}

/* json-c reads a whole number that is too large as the largest one.  Returns where one is, or n. */
static size_t find_too_large(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n) {
        size_t end = skip(text, n, i, "0123456789");

        if (end == i) {
            i = text[i] == '"' ? skip_string(text, n, i) : i + 1;
            continue;
        }
        if (skip(text, n, end, ".eE") == end &&
            is_too_large(text + i, end - i, i > 0 && text[i - 1] == '-'))
            return i;
        i = skip(text, n, end, "0123456789.eE+-");
    }
    return n;
}

/* NOWHERE: what is wrong has no place. */
static const size_t NOWHERE = SIZE_MAX;

static int read_at(const char *text, size_t n, struct arena *a, struct value *v, size_t *offset,
                   struct err *e)
{
    struct json_object *root;
    int answer;

    *offset = NOWHERE;
    if (n >= INT_MAX)
        return err_set(e, ERR_USAGE, "%zu bytes are too many", n);
    *offset = find_too_large(text, n);
    if (*offset < n)
        return err_set(e, ERR_USAGE, "too large for a whole number");
    *offset = utf8_valid(text, n); /* json-c takes characters that Unicode does not have */
    if (*offset < n)
        return err_set(e, ERR_USAGE, "this is no UTF-8 text");
    if (parse(text, n, &root, offset, e) < 0)
        return -1;
    *offset = NOWHERE;
    answer = convert(root, 0, a, v, e);
    json_object_put(root);
    return answer;
}

int json_read(const char *text, size_t n, struct arena *a, struct value *v, struct err *e)
{
    size_t offset;

    if (read_at(text, n, a, v, &offset, e) == 0)
        return 0;
    if (offset == NOWHERE)
        return err_wrap(e, "JSON");
    return err_wrap(e, "JSON, byte %zu", offset);
}

int json_read_exact(const char *text, size_t n, struct arena *a, struct value *v, size_t *offset,
                    struct err *e)
{
    int answer = read_at(text, n, a, v, offset, e);

    if (answer == 0)
        return json_check_exact(text, n, a, offset, e);
    if (*offset == NOWHERE)
        *offset = 0;
    return answer;
}

void json_add_text(struct buf *out, const struct value *v)
{
    if (v->type == VALUE_STR)
        buf_add(out, v->str.s, v->str.n);
    else
        json_add_value(out, v);
}
