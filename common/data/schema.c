/* SPDX-License-Identifier: MIT */
/* schema.c - walks a struct by its table: to msgpack, from msgpack, to JSON */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/quote.h"
#include "common/base/units.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/schema.h"

enum { STRS_ITEM_MAX_BYTES = 4096 };

static const void *member_of(const struct field *f, const void *structure)
{
    return (const char *)structure + f->offset;
}

static void *place_of(const struct field *f, void *structure)
{
    return (char *)structure + f->offset;
}

/* ---- out ---- */

static bool all_zero(const void *bytes, size_t n)
{
    const char *b = bytes;

    return n == 0 || (b[0] == 0 && memcmp(b, b + 1, n - 1) == 0);
}

static size_t count_present(const struct schema *s, const void *from);

/* Whether the field holds the value that it has when it is absent. */
static bool is_absent(const struct field *f, const void *at)
{
    switch (f->type) {
    case FIELD_BOOL: return !*(const bool *)at;
    case FIELD_INT: return *(const int64_t *)at == (f->flags & FIELD_NULLABLE ? SCHEMA_NONE : 0);
    case FIELD_FLOAT:
        return f->flags & FIELD_NULLABLE ? isnan(*(const double *)at) : *(const double *)at == 0;
    case FIELD_STR: return *(const char *const *)at == NULL;
    case FIELD_BYTES: return ((const struct bytes *)at)->n == 0;
    case FIELD_TOKEN: return all_zero(at, sizeof(struct token));
    case FIELD_DIGEST: return all_zero(at, sizeof(struct digest));
    case FIELD_ENUM: return *(const int *)at == 0;
    case FIELD_VALUE: return ((const struct value *)at)->type == VALUE_NULL;
    case FIELD_STRUCT: return count_present(f->of, at) == 0;
    case FIELD_LIST:
    case FIELD_STRS: return ((const struct list *)at)->n == 0;
    }
    return false;
}

static bool is_sent(const struct field *f, const void *from)
{
    return f->flags & FIELD_REQUIRED || !is_absent(f, member_of(f, from));
}

static size_t count_present(const struct schema *s, const void *from)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_fields; i++)
        n += is_sent(&s->fields[i], from);
    return n;
}

/* The size of a list's item, which is a struct or a text. */
static size_t item_bytes(const struct field *f)
{
    return f->type == FIELD_STRS ? sizeof(const char *) : f->of->size;
}

static const void *item_of(const struct field *f, const struct list *list, size_t i)
{
    return (const char *)list->items + i * item_bytes(f);
}

static void encode_str(const char *s, struct buf *out)
{
    if (s == NULL)
        s = "";
    mp_add_str(out, s, strlen(s));
}

static void encode_field(const struct field *f, const void *at, struct buf *out)
{
    const struct bytes *bytes = at;
    const struct list *list = at;

    switch (f->type) {
    case FIELD_BOOL: mp_add_bool(out, *(const bool *)at); break;
    case FIELD_INT: mp_add_int(out, *(const int64_t *)at); break;
    case FIELD_FLOAT: mp_add_float(out, *(const double *)at); break;
    case FIELD_STR: encode_str(*(const char *const *)at, out); break;
    case FIELD_BYTES: mp_add_bin(out, bytes->data, bytes->n); break;
    case FIELD_TOKEN: mp_add_bin(out, at, TOKEN_BYTES); break;
    case FIELD_DIGEST: mp_add_bin(out, at, DIGEST_BYTES); break;
    case FIELD_ENUM: encode_str(f->names[*(const int *)at], out); break;
    case FIELD_VALUE: mp_add_value(out, at); break;
    case FIELD_STRUCT: schema_encode(f->of, at, out); break;
    case FIELD_LIST:
    case FIELD_STRS:
        mp_add_list(out, list->n);
        for (size_t i = 0; i < list->n; i++)
            if (f->type == FIELD_STRS)
                encode_str(*(const char *const *)item_of(f, list, i), out);
            else
                schema_encode(f->of, item_of(f, list, i), out);
        break;
    }
}

void schema_encode(const struct schema *s, const void *from, struct buf *out)
{
    mp_add_map(out, count_present(s, from));
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];
        const void *at = member_of(f, from);

        if (!is_sent(f, from))
            continue;
        encode_str(f->name, out);
        if (f->flags & FIELD_NULLABLE && is_absent(f, at))
            mp_add_null(out);
        else
            encode_field(f, at, out);
    }
}

/* ---- in ---- */

static void set_absent(const struct schema *s, void *to)
{
    memset(to, 0, s->size);
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];
        void *at = place_of(f, to);

        if (f->type == FIELD_STRUCT)
            set_absent(f->of, at);
        else if (f->type == FIELD_INT && f->flags & FIELD_NULLABLE)
            *(int64_t *)at = SCHEMA_NONE;
        else if (f->type == FIELD_FLOAT && f->flags & FIELD_NULLABLE)
            *(double *)at = (double)NAN;
    }
}

static int expected(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int expected(struct err *e, const char *format, ...)
{
    struct buf text = { 0 };
    va_list ap;

    va_start(ap, format);
    buf_vprintf(&text, format, ap);
    va_end(ap);
    err_set(e, ERR_PROTOCOL, "expected %s", buf_text(&text));
    buf_free(&text);
    return -1;
}

static int decode_str(int64_t max, const struct value *v, const char **to, struct err *e)
{
    if (v->type != VALUE_STR || v->str.n > (uint64_t)max ||
        memchr(v->str.s, '\0', v->str.n) != NULL)
        return expected(e, "text of at most %" PRId64 " bytes", max);
    *to = v->str.s;
    return 0;
}

static int decode_exact(const struct value *v, void *to, size_t n, struct err *e)
{
    if (v->type != VALUE_BIN || v->str.n != n)
        return expected(e, "%zu bytes", n);
    memcpy(to, v->str.s, n);
    return 0;
}

static bool says(const struct value *v, const char *name)
{
    return strlen(name) == v->str.n && memcmp(name, v->str.s, v->str.n) == 0;
}

static int decode_enum(const struct field *f, const struct value *v, int *to, struct err *e)
{
    struct buf names = { 0 };

    for (int i = 0; v->type == VALUE_STR && i < f->max; i++)
        if (says(v, f->names[i])) {
            *to = i;
            return 0;
        }
    for (int i = 0; i < f->max; i++)
        buf_printf(&names, "%s%s", i == 0 ? "" : i + 1 < f->max ? ", " : " or ", f->names[i]);
    expected(e, "%s", buf_text(&names));
    buf_free(&names);
    return -1;
}

static int decode_into(const struct schema *s, const struct value *map, struct arena *a, void *to,
                       struct err *e);

static int decode_list(const struct field *f, const struct value *v, struct arena *a,
                       struct list *to, struct err *e)
{
    bool are_strs = f->type == FIELD_STRS;
    char *items, *item;

    if (v->type != VALUE_LIST || v->list.n > (uint64_t)f->max)
        return expected(e, "a list of at most %" PRId64 " %s", f->max,
                        are_strs ? "texts" : "items");
    item = items = arena_alloc(a, v->list.n * item_bytes(f));
    for (size_t i = 0; i < v->list.n; i++, item += item_bytes(f)) {
        const struct value *from = &v->list.items[i];

        if ((are_strs ? decode_str(STRS_ITEM_MAX_BYTES, from, (const char **)(void *)item, e)
                      : decode_into(f->of, from, a, item, e)) < 0)
            return err_wrap(e, "item %zu", i);
    }
    *to = (struct list){ items, v->list.n };
    return 0;
}

static int decode_field(const struct field *f, const struct value *v, struct arena *a, void *at,
                        struct err *e)
{
    int64_t min = f->flags & FIELD_SIGNED ? -f->max : 0;

    switch (f->type) {
    case FIELD_BOOL:
        *(bool *)at = v->type == VALUE_BOOL && v->b;
        return v->type == VALUE_BOOL ? 0 : expected(e, "true or false");
    case FIELD_INT:
        if (v->type == VALUE_INT && v->i >= min && v->i <= f->max) {
            *(int64_t *)at = v->i;
            return 0;
        }
        return min < 0 ? expected(e, "a whole number from %" PRId64 " to %" PRId64, min, f->max)
                       : expected(e, "a whole number of at most %" PRId64, f->max);
    case FIELD_FLOAT:
        if (v->type != VALUE_INT && v->type != VALUE_FLOAT)
            return expected(e, "a number");
        *(double *)at = v->type == VALUE_INT ? (double)v->i : v->f;
        return 0;
    case FIELD_STR: return decode_str(f->max, v, at, e);
    case FIELD_BYTES:
        if (v->type != VALUE_BIN || v->str.n > (uint64_t)f->max)
            return expected(e, "at most %" PRId64 " bytes", f->max);
        *(struct bytes *)at = (struct bytes){ (const uint8_t *)v->str.s, v->str.n };
        return 0;
    case FIELD_TOKEN: return decode_exact(v, at, TOKEN_BYTES, e);
    case FIELD_DIGEST: return decode_exact(v, at, DIGEST_BYTES, e);
    case FIELD_ENUM: return decode_enum(f, v, at, e);
    case FIELD_VALUE: *(struct value *)at = *v; return 0;
    case FIELD_STRUCT: return decode_into(f->of, v, a, at, e);
    case FIELD_LIST:
    case FIELD_STRS: return decode_list(f, v, a, at, e);
    }
    return err_set(e, ERR_INTERNAL, "a field of type %d", f->type);
}

/* Finds the field's row, first from "next" on: peers mostly send fields in the table's order. */
static size_t find_field(const struct schema *s, const struct value *key, size_t next)
{
    for (size_t k = 0; k < s->n_fields; k++) {
        size_t i = next + k < s->n_fields ? next + k : next + k - s->n_fields;

        if (says(key, s->fields[i].name))
            return i;
    }
    return s->n_fields;
}

static int decode_into(const struct schema *s, const struct value *map, struct arena *a, void *to,
                       struct err *e)
{
    struct buf name = { 0 };
    uint64_t seen = 0;
    size_t next = 0;

    if (map->type != VALUE_MAP)
        return expected(e, "a map");
    if (s->n_fields > SCHEMA_FIELDS_MAX)
        return err_set(e, ERR_INTERNAL, "%s has too many fields", s->name);
    set_absent(s, to);
    for (size_t i = 0; i < map->map.n; i++) {
        const struct value *key = &map->map.members[i].key, *v = &map->map.members[i].value;
        size_t found = find_field(s, key, next);
        const struct field *f = &s->fields[found];

        if (found == s->n_fields && key->str.n > 0 && key->str.s[0] == '!') {
            quote_add(&name, key->str.s, key->str.n < 64 ? key->str.n : 64);
            err_set(e, ERR_PROTOCOL, "unknown field %s, which a reader must know", buf_text(&name));
            buf_free(&name);
            return -1;
        }
        if (found == s->n_fields)
            continue;
        /* A null says "absent", except where a null is a value of its own. */
        if ((v->type != VALUE_NULL ||
             (f->flags & FIELD_REQUIRED && !(f->flags & FIELD_NULLABLE))) &&
            decode_field(f, v, a, place_of(f, to), e) < 0)
            return err_wrap(e, "field \"%s\"", f->name);
        seen |= (uint64_t)1 << found;
        next = found + 1;
    }
    for (size_t i = 0; i < s->n_fields; i++)
        if (s->fields[i].flags & FIELD_REQUIRED && !(seen >> i & 1))
            return err_set(e, ERR_PROTOCOL, "field \"%s\" is missing", s->fields[i].name);
    return 0;
}

int schema_decode(const struct schema *s, const struct value *map, struct arena *a, void *to,
                  struct err *e)
{
    if (decode_into(s, map, a, to, e) < 0)
        return err_wrap(e, "%s", s->name);
    return 0;
}

int schema_read(const struct schema *s, struct bytes bytes, struct arena *a, void *to,
                struct err *e)
{
    struct value map;

    if (mp_read(bytes.data, bytes.n, a, &map, e) < 0)
        return err_wrap(e, "%s", s->name);
    return schema_decode(s, &map, a, to, e);
}

/* ---- copies ---- */

static const char *copy_str(struct arena *a, const char *text)
{
    return text == NULL ? NULL : arena_strdup(a, text);
}

/* Copies what the fields point to; numbers, tokens and digests came with the struct itself. */
static void copy_into(const struct schema *s, const void *from, struct arena *a, void *to)
{
    memcpy(to, from, s->size);
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];
        const void *at = member_of(f, from);
        void *place = place_of(f, to);
        const struct bytes *bytes = at;
        struct list *copy = place;

        if (f->type == FIELD_STR)
            *(const char **)place = copy_str(a, *(const char *const *)at);
        else if (f->type == FIELD_BYTES)
            *(struct bytes *)place = (struct bytes){
                (const uint8_t *)arena_strndup(a, (const char *)bytes->data, bytes->n), bytes->n
            };
        else if (f->type == FIELD_VALUE)
            *(struct value *)place = value_copy(a, at);
        else if (f->type == FIELD_STRUCT)
            copy_into(f->of, at, a, place);
        else if (f->type == FIELD_LIST || f->type == FIELD_STRS)
            copy->items = arena_alloc(a, copy->n * item_bytes(f));
        for (size_t k = 0; f->type == FIELD_STRS && k < copy->n; k++)
            ((const char **)copy->items)[k] = copy_str(a, *(const char *const *)item_of(f, at, k));
        for (size_t k = 0; f->type == FIELD_LIST && k < copy->n; k++)
            copy_into(f->of, item_of(f, at, k), a, (char *)copy->items + k * item_bytes(f));
    }
}

void *schema_copy(const struct schema *s, const void *from, struct arena *a)
{
    void *to = arena_alloc(a, s->size);

    copy_into(s, from, a, to);
    return to;
}

/* ---- for people ---- */

static void add_json_str(struct buf *out, const char *s)
{
    if (s == NULL)
        buf_add_str(out, "null");
    else
        quote_add(out, s, strlen(s));
}

static void add_json_bytes(struct buf *out, const void *bytes, size_t n)
{
    json_add_value(out, &(struct value){ .type = VALUE_BIN, .str = { bytes, n } });
}

static void add_json_field(struct buf *out, const struct field *f, const void *at)
{
    const struct bytes *bytes = at;
    const struct list *list = at;

    switch (f->type) {
    case FIELD_BOOL: buf_add_str(out, *(const bool *)at ? "true" : "false"); break;
    case FIELD_INT:
    case FIELD_FLOAT:
        if ((f->flags & FIELD_NULLABLE && is_absent(f, at)) ||
            (f->flags & FIELD_TIME_MS && *(const int64_t *)at == 0)) {
            buf_add_str(out, "null");
        } else if (f->flags & FIELD_TIME_MS) {
            buf_add_char(out, '"');
            units_add_time_utc(out, *(const int64_t *)at);
            buf_add_char(out, '"');
        } else if (f->type == FIELD_INT) {
            buf_printf(out, "%" PRId64, *(const int64_t *)at);
        } else {
            json_add_value(out, &(struct value){ .type = VALUE_FLOAT, .f = *(const double *)at });
        }
        break;
    case FIELD_STR: add_json_str(out, *(const char *const *)at); break;
    case FIELD_BYTES: add_json_bytes(out, bytes->data, bytes->n); break;
    case FIELD_TOKEN: add_json_bytes(out, at, TOKEN_BYTES); break;
    case FIELD_DIGEST: add_json_bytes(out, at, DIGEST_BYTES); break;
    case FIELD_ENUM: add_json_str(out, f->names[*(const int *)at]); break;
    case FIELD_VALUE: json_add_value(out, at); break;
    case FIELD_STRUCT: schema_add_json(f->of, at, out); break;
    case FIELD_LIST:
    case FIELD_STRS:
        buf_add_char(out, '[');
        for (size_t i = 0; i < list->n; i++) {
            if (i > 0)
                buf_add_char(out, ',');
            if (f->type == FIELD_STRS)
                add_json_str(out, *(const char *const *)item_of(f, list, i));
            else
                schema_add_json(f->of, item_of(f, list, i), out);
        }
        buf_add_char(out, ']');
        break;
    }
}

void schema_add_json(const struct schema *s, const void *from, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < s->n_fields; i++) {
        const struct field *f = &s->fields[i];

        if (i > 0)
            buf_add_char(out, ',');
        add_json_str(out, f->name);
        buf_add_char(out, ':');
        add_json_field(out, f, member_of(f, from));
    }
    buf_add_char(out, '}');
}
