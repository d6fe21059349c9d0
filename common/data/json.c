/* SPDX-License-Identifier: MIT */
/* json.c - JSON: written by us, read by json-c */

#include "common/data/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/quote.h"
#include "common/base/utf8.h"

/* A name as it means, and where it stands. */
struct name {
    struct bytes text;
    size_t offset;
};

struct scan {
    const char *text;
    size_t n, at;
    struct arena *arena;
    struct name *names; /* of all objects that are open, the outermost first */
    size_t n_names, capacity;
    size_t *begins; /* of each list or object that is open: so many names stood before it */
    size_t n_open, open_capacity;
    size_t *offset;
};

static int refuse_at(struct scan *s, size_t offset, const char *what, struct err *e)
{
    *s->offset = offset;
    return err_set(e, ERR_USAGE, "%s", what);
}

/* ---- names ---- */

static size_t string_end(const struct scan *s)
{
    size_t i = s->at + 1;

    while (i < s->n && s->text[i] != '"')
        i += s->text[i] == '\\' ? 2 : 1;
    return i + 1;
}

static bool is_name(const struct scan *s, size_t end)
{
    while (end < s->n && strchr(" \t\r\n", s->text[end]) != NULL)
        end++;
    return end < s->n && s->text[end] == ':';
}

/* One with escapes is read, so that "a" and "\u0061" are the same. */
static struct bytes read_name(const struct scan *s, size_t end)
{
    const char *text = s->text + s->at;
    size_t n = end - s->at;
    struct value v;

    if (memchr(text, '\\', n) == NULL || json_read(text, n, s->arena, &v, NULL) < 0)
        return (struct bytes){ (const uint8_t *)text + 1, n - 2 };
    return (struct bytes){ (const uint8_t *)v.str.s, v.str.n };
}

static int add_name(struct scan *s, size_t end, struct err *e)
{
    struct bytes text = read_name(s, end);

    if (memchr(text.data, '\0', text.n) != NULL)
        return refuse_at(s, s->at, "a NUL character in a name", e);
    mem_grow((void **)&s->names, &s->capacity, s->n_names, sizeof *s->names);
    s->names[s->n_names++] = (struct name){ text, s->at };
    return 0;
}

static int scan_string(struct scan *s, struct err *e)
{
    size_t end = string_end(s);
    int result = is_name(s, end) ? add_name(s, end, e) : 0;

    s->at = end;
    return result;
}

static struct bytes text_of(const void *names, size_t i)
{
    return ((const struct name *)names)[i].text;
}

static void open_braces(struct scan *s)
{
    mem_grow((void **)&s->begins, &s->open_capacity, s->n_open, sizeof *s->begins);
    s->begins[s->n_open++] = s->n_names;
    s->at++;
}

static int close_braces(struct scan *s, struct err *e)
{
    size_t first, n, repeated;

    if (s->n_open == 0)
        return refuse_at(s, s->at, "nothing is open here", e);
    first = s->begins[--s->n_open];
    n = s->n_names - first;
    repeated = n == 0 ? 0 : value_find_repeated(s->names + first, n, text_of);
    if (repeated < n)
        return refuse_at(s, s->names[first + repeated].offset,
                         "this name stands twice between the same braces", e);
    s->n_names = first;
    s->at++;
    return 0;
}

/* ---- numbers ---- */

static int scan_number(struct scan *s, struct err *e)
{
    size_t begin = s->at, n = strspn(s->text + begin, "-+.eE0123456789");
    bool is_whole = strcspn(s->text + begin, ".eE") >= n;

    s->at += n;
    errno = 0;
    if (is_whole && strtoll(s->text + begin, NULL, 10) != 0 && errno == ERANGE)
        return refuse_at(s, begin, "too large for a whole number", e);
    if (!is_whole && isinf(strtod(s->text + begin, NULL)))
        return refuse_at(s, begin, "too large for a number", e);
    return 0;
}

/* -Infinity begins with none. */
static bool begins_number(const char *text)
{
    const char *digit = text + (*text == '-');

    return *digit >= '0' && *digit <= '9';
}

/* ---- all of it ---- */

static int scan_next(struct scan *s, struct err *e)
{
    char c = s->text[s->at];

    if (c == '{' || c == '[')
        open_braces(s);
    else if (c == '}' || c == ']')
        return close_braces(s, e);
    else if (c == '"')
        return scan_string(s, e);
    else if (begins_number(s->text + s->at))
        return scan_number(s, e);
    else
        s->at++;
    return 0;
}

/* What JSON text says that no value can hold: json-c takes the last of several members of one name,
 * ends a name at a NUL, and takes the nearest double for a number that is too large.  *offset is
 * where what is refused stands, in bytes. */
static int check_exact(const char *text, size_t n, struct arena *a, size_t *offset, struct err *e)
{
    struct scan s = { .n = n, .arena = a, .offset = offset };
    char *copy = mem_copy(text, n); /* with a NUL, where numbers end */
    int result = 0;

    s.text = copy;
    while (result == 0 && s.at < n)
        result = scan_next(&s, e);
    free(copy);
    free(s.names);
    free(s.begins);
    return result;
}

enum { JSON_DEPTH_MAX = 32 };

/* ---- out ---- */

static void add_float(struct buf *out, double f)
{
    if (isnan(f))
        buf_add_str(out, "NaN");
    else if (isinf(f))
        buf_add_str(out, f < 0 ? "-Infinity" : "Infinity");
    else
        value_add_float(out, f);
}

/* A new line; indent < 0: all stays on one line. */
static void add_break(struct buf *out, int indent)
{
    if (indent >= 0)
        buf_printf(out, "\n%*s", indent, "");
}

/* A list, or a map: that has names before its values. */
static void add_value(struct buf *out, const struct value *v, int indent)
{
    bool is_map = v->type == VALUE_MAP;
    size_t n = is_map ? v->map.n : v->list.n;
    int deeper = indent < 0 ? indent : indent + 2;

    switch (v->type) {
    case VALUE_NULL: buf_add_str(out, "null"); return;
    case VALUE_BOOL: buf_add_str(out, v->b ? "true" : "false"); return;
    case VALUE_INT: buf_printf(out, "%" PRId64, v->i); return;
    case VALUE_FLOAT: add_float(out, v->f); return;
    case VALUE_STR: quote_add(out, v->str.s, v->str.n); return;
    case VALUE_BIN:
        buf_add_char(out, '"');
        for (size_t i = 0; i < v->str.n; i++)
            buf_printf(out, "%02x", (unsigned)(uint8_t)v->str.s[i]);
        buf_add_char(out, '"');
        return;
    case VALUE_LIST:
    case VALUE_MAP: break;
    }
    buf_add_char(out, is_map ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        add_break(out, deeper);
        if (is_map) {
            quote_add(out, v->map.members[i].key.str.s, v->map.members[i].key.str.n);
            buf_add_str(out, indent < 0 ? ":" : ": ");
        }
        add_value(out, is_map ? &v->map.members[i].value : &v->list.items[i], deeper);
    }
    if (n > 0)
        add_break(out, indent);
    buf_add_char(out, is_map ? '}' : ']');
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
    uint64_t u;
    size_t n;

    if ((type == json_type_array || type == json_type_object) && depth >= JSON_DEPTH_MAX)
        return err_set(e, ERR_USAGE, "nested too deep");
    switch (type) {
    case json_type_null: *v = value_null(); return 0;
    case json_type_boolean: *v = value_bool(json_object_get_boolean(from)); return 0;
    case json_type_int: /* json-c keeps what int64 cannot hold as an unsigned integer */
        u = json_object_get_uint64(from);
        *v = u > INT64_MAX ? value_float((double)u) : value_int(json_object_get_int64(from));
        return 0;
    case json_type_double: *v = value_float(json_object_get_double(from)); return 0;
    case json_type_string:
        n = (size_t)json_object_get_string_len(from);
        *v = value_strn(arena_strndup(a, json_object_get_string(from), n), n);
        return 0;
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
        return check_exact(text, n, a, offset, e);
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
