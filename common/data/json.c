/* SPDX-License-Identifier: MIT */
/* json.c - JSON text to and from values; json-c reads it */

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

/* ---- text that json-c would change ---- */

/* A member's name, its escapes resolved, and its offset in the text. */
struct name {
    struct bytes text;
    size_t offset;
};
struct scan {
    const char *text; /* with a NUL behind it, where numbers end */
    size_t n, at;
    bool is_exact; /* also looks at names, and at numbers that json-c rounds */
    struct arena *arena;
    struct name *names; /* of all objects that are open, the outermost first */
    size_t n_names, capacity;
    size_t *begins; /* n_names at the beginning of each list or object that is open */
    size_t n_open, open_capacity;
    size_t *offset;
};

static int refuse_at(struct scan *s, size_t offset, const char *what, struct err *e)
{
    *s->offset = offset;
    return err_set(e, ERR_USAGE, "%s", what);
}

/* Resolves escapes, so that the names "a" and "\u0061" are the same. */
static struct bytes read_name(const struct scan *s, size_t begin)
{
    const char *text = s->text + begin;
    size_t n = s->at - begin;
    struct value v;

    if (memchr(text, '\\', n) == NULL || json_read(text, n, s->arena, &v, NULL) < 0)
        return (struct bytes){ (const uint8_t *)text + 1, n - 2 };
    return (struct bytes){ (const uint8_t *)v.str.s, v.str.n };
}

static int scan_string(struct scan *s, struct err *e)
{
    size_t begin = s->at, end;
    struct bytes name;

    for (s->at++; s->at < s->n && s->text[s->at] != '"'; s->at++)
        s->at += s->text[s->at] == '\\';
    end = ++s->at;
    while (end < s->n && strchr(" \t\r\n", s->text[end]) != NULL)
        end++;
    if (!s->is_exact || end >= s->n || s->text[end] != ':')
        return 0;
    name = read_name(s, begin);
    if (memchr(name.data, '\0', name.n) != NULL)
        return refuse_at(s, begin, "a NUL character in a name", e);
    mem_grow((void **)&s->names, &s->capacity, s->n_names, sizeof *s->names);
    s->names[s->n_names++] = (struct name){ name, begin };
    return 0;
}

static struct bytes text_of(const void *names, size_t i)
{
    return ((const struct name *)names)[i].text;
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

/* json-c reads a whole number that is too large as the largest one, and a float as infinity. */
static int scan_number(struct scan *s, struct err *e)
{
    const char *text = s->text + s->at;
    bool is_negative = *text == '-';
    size_t n = strspn(text, "-+.eE0123456789");
    bool is_whole = strspn(text, "-+0123456789") == n, is_too_large;

    errno = 0;
    is_too_large = is_whole && strtoll(text, NULL, 10) != 0 && errno == ERANGE;
    if (is_too_large && !s->is_exact && !is_negative) { /* below 2^64 the number becomes a float */
        errno = 0;
        is_too_large = strtoull(text, NULL, 10) != 0 && errno == ERANGE;
    }
    if (is_too_large)
        return refuse_at(s, s->at + (is_negative && !s->is_exact), "too large for a whole number",
                         e);
    if (s->is_exact && !is_whole && isinf(strtod(text, NULL)))
        return refuse_at(s, s->at, "too large for a number", e);
    s->at += n;
    return 0;
}

/* Refuses text that json-c would change: a number that is too large becomes the nearest one that
 * fits; with is_exact also members of one name, of which the last wins, and names with a NUL, which
 * end there.  *offset is the refused place, in bytes. */
static int check_text(const char *text, size_t n, bool is_exact, struct arena *a, size_t *offset,
                      struct err *e)
{
    struct scan s = { .text = text, .n = n, .is_exact = is_exact, .arena = a, .offset = offset };
    int result = 0;

    while (result == 0 && s.at < n) {
        char c = text[s.at], digit = c == '-' ? text[s.at + 1] : c; /* -Infinity is no number */

        if (c == '"') {
            result = scan_string(&s, e);
        } else if (digit >= '0' && digit <= '9') {
            result = scan_number(&s, e);
        } else if (is_exact && (c == '{' || c == '[')) {
            mem_grow((void **)&s.begins, &s.open_capacity, s.n_open, sizeof *s.begins);
            s.begins[s.n_open++] = s.n_names;
            s.at++;
        } else if (is_exact && (c == '}' || c == ']')) {
            result = close_braces(&s, e);
        } else {
            s.at++;
        }
    }
    free(s.names);
    free(s.begins);
    return result;
}

enum { JSON_DEPTH_MAX = 32 };

/* ---- out ---- */

/* Begins a new line, unless indent is negative. */
static void add_break(struct buf *out, int indent)
{
    if (indent >= 0)
        buf_printf(out, "\n%*s", indent, "");
}

static void add_value(struct buf *out, const struct value *v, int indent)
{
    bool is_map = v->type == VALUE_MAP;
    size_t n = is_map ? v->map.n : v->list.n;
    int deeper = indent < 0 ? indent : indent + 2;

    switch (v->type) {
    case VALUE_NULL: buf_add_str(out, "null"); return;
    case VALUE_BOOL: buf_add_str(out, v->b ? "true" : "false"); return;
    case VALUE_INT: buf_printf(out, "%" PRId64, v->i); return;
    case VALUE_FLOAT:
        if (isfinite(v->f))
            value_add_float(out, v->f);
        else
            buf_add_str(out, isnan(v->f) ? "NaN" : v->f < 0 ? "-Infinity" : "Infinity");
        return;
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
                   struct err *e)
{
    enum json_type type = json_object_get_type(from);
    struct member *m;
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
    case json_type_array:
        n = json_object_array_length(from);
        *v = (struct value){ .type = VALUE_LIST, .list = { .n = n } };
        v->list.items = arena_alloc(a, n * sizeof(struct value));
        for (size_t i = 0; i < n; i++)
            if (convert(json_object_array_get_idx(from, i), depth + 1, a, &v->list.items[i], e) < 0)
                return -1;
        return 0;
    case json_type_object:
        n = (size_t)json_object_object_length(from);
        m = arena_alloc(a, n * sizeof *m);
        *v = (struct value){ .type = VALUE_MAP, .map = { m, n } };
        json_object_object_foreach(from, key, item)
        {
            m->key = value_str(arena_strdup(a, key));
            if (convert(item, depth + 1, a, &m->value, e) < 0)
                return -1;
            m++;
        }
        return 0;
    }
    return err_set(e, ERR_INTERNAL, "JSON: a type of number %d", (int)type);
}

/* *end is the end of the value, or the place of the error. */
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
    /* json-c waits for more digits of a number until it is told of the end. */
    if (json_tokener_get_error(tokener) == json_tokener_continue)
        *root = json_tokener_parse_ex(tokener, "", 1);
    error = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    if (error == json_tokener_success && *end == n)
        return 0;
    json_object_put(*root);
    return err_set(e, ERR_USAGE, "%s",
                   error == json_tokener_continue || error == json_tokener_error_parse_eof
                       ? "it ends too early"
                   : error == json_tokener_success ? "something follows the value"
                                                   : json_tokener_error_desc(error));
}

/*
 * A strict json-c 0.18 refuses all but ASCII in strings.  So it first checks the grammar of a copy
 * with letters in their place, and then reads the text itself without being strict.
 */
static int parse_text(const char *text, size_t n, struct json_object **root, size_t *end,
                      struct err *e)
{
    char *ascii = mem_copy(text, n);
    bool is_ascii = true;
    int answer;

    for (size_t i = 0; i < n; i++)
        if ((uint8_t)ascii[i] >= 0x80) {
            ascii[i] = 'x';
            is_ascii = false;
        }
    answer = tokenize(ascii, n, JSON_TOKENER_STRICT, root, end, e);
    free(ascii);
    if (answer < 0 || is_ascii)
        return answer;
    json_object_put(*root);
    return tokenize(text, n, 0, root, end, e);
}

/* The offset of an error that has no place in the text. */
static const size_t NOWHERE = SIZE_MAX;

static int read_at(const char *text, size_t n, bool is_exact, struct arena *a, struct value *v,
                   size_t *offset, struct err *e)
{
    struct json_object *root;
    char *copy;
    int answer;

    *offset = NOWHERE;
    if (n >= INT_MAX)
        return err_set(e, ERR_USAGE, "%zu bytes are too many", n);
    copy = mem_copy(text, n); /* ends in a NUL */
    answer = check_text(copy, n, false, a, offset, e);
    if (answer == 0) {
        *offset = utf8_valid(text, n); /* json-c takes characters that Unicode does not have */
        if (*offset < n)
            answer = err_set(e, ERR_USAGE, "this is no UTF-8 text");
    }
    if (answer == 0)
        answer = parse_text(copy, n, &root, offset, e);
    if (answer == 0) {
        *offset = NOWHERE;
        answer = convert(root, 0, a, v, e);
        json_object_put(root);
    }
    if (answer == 0 && is_exact)
        answer = check_text(copy, n, true, a, offset, e);
    free(copy);
    return answer;
}

int json_read(const char *text, size_t n, struct arena *a, struct value *v, struct err *e)
{
    size_t offset;

    if (read_at(text, n, false, a, v, &offset, e) == 0)
        return 0;
    if (offset == NOWHERE)
        return err_wrap(e, "JSON");
    return err_wrap(e, "JSON, byte %zu", offset);
}

int json_read_exact(const char *text, size_t n, struct arena *a, struct value *v, size_t *offset,
                    struct err *e)
{
    int answer = read_at(text, n, true, a, v, offset, e);

    if (answer < 0 && *offset == NOWHERE)
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
