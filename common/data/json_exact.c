/* SPDX-License-Identifier: MIT */
/* json_exact.c - what JSON text says that no value can hold */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/json.h"
#include "common/data/json_exact.h"

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

static int refuse(struct scan *s, size_t offset, const char *what, struct err *e)
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
        return refuse(s, s->at, "a NUL character in a name", e);
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

static void begin(struct scan *s)
{
    mem_grow((void **)&s->begins, &s->open_capacity, s->n_open, sizeof *s->begins);
    s->begins[s->n_open++] = s->n_names;
    s->at++;
}

static int end(struct scan *s, struct err *e)
{
    size_t first, n, repeated;

    if (s->n_open == 0)
        return refuse(s, s->at, "nothing is open here", e);
    first = s->begins[--s->n_open];
    n = s->n_names - first;
    repeated = n == 0 ? 0 : value_find_repeated(s->names + first, n, text_of);
    if (repeated < n)
        return refuse(s, s->names[first + repeated].offset,
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
        return refuse(s, begin, "too large for a whole number", e);
    if (!is_whole && isinf(strtod(s->text + begin, NULL)))
        return refuse(s, begin, "too large for a number", e);
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
        begin(s);
    else if (c == '}' || c == ']')
        return end(s, e);
    else if (c == '"')
        return scan_string(s, e);
    else if (begins_number(s->text + s->at))
        return scan_number(s, e);
    else
        s->at++;
    return 0;
}

int json_check_exact(const char *text, size_t n, struct arena *a, size_t *offset, struct err *e)
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
