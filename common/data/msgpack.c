/* SPDX-License-Identifier: MIT */
/* msgpack.c - msgpack to and from values; the one file that sees msgpack-c */
#include <string.h>

#include <msgpack.h>

#include "common/data/msgpack.h"

/* The write callback of a packer.  buf_add cannot fail. */
static int add_bytes(void *out, const char *bytes, size_t n)
{
    buf_add(out, bytes, n);
    return 0;
}

static msgpack_packer packer_for(struct buf *out)
{
    return (msgpack_packer){ .data = out, .callback = add_bytes };
}

void mp_add_null(struct buf *out)
{
    msgpack_packer p = packer_for(out);

    msgpack_pack_nil(&p);
}

void mp_add_bool(struct buf *out, bool b)
{
    msgpack_packer p = packer_for(out);

    if (b)
        msgpack_pack_true(&p);
    else
        msgpack_pack_false(&p);
}

void mp_add_int(struct buf *out, int64_t i)
{
    msgpack_packer p = packer_for(out);

    msgpack_pack_int64(&p, i);
}

void mp_add_float(struct buf *out, double f)
{
    msgpack_packer p = packer_for(out);

    msgpack_pack_double(&p, f);
}

void mp_add_str(struct buf *out, const char *s, size_t n)
{
    msgpack_packer p = packer_for(out);

    msgpack_pack_str(&p, n);
    buf_add(out, s, n);
}

void mp_add_bin(struct buf *out, const void *bytes, size_t n)
{
    msgpack_packer p = packer_for(out);

    msgpack_pack_bin(&p, n);
    buf_add(out, bytes, n);
}

void mp_add_list(struct buf *out, size_t n)
{
    msgpack_packer p = packer_for(out);

    msgpack_pack_array(&p, n);
}

void mp_add_map(struct buf *out, size_t n)
{
    msgpack_packer p = packer_for(out);

    msgpack_pack_map(&p, n);
}

void mp_add_value(struct buf *out, const struct value *v)
{
    switch (v->type) {
    case VALUE_NULL: mp_add_null(out); break;
    case VALUE_BOOL: mp_add_bool(out, v->b); break;
    case VALUE_INT: mp_add_int(out, v->i); break;
    case VALUE_FLOAT: mp_add_float(out, v->f); break;
    case VALUE_STR: mp_add_str(out, v->str.s, v->str.n); break;
    case VALUE_BIN: mp_add_bin(out, v->str.s, v->str.n); break;
    case VALUE_LIST:
        mp_add_list(out, v->list.n);
        for (size_t i = 0; i < v->list.n; i++)
            mp_add_value(out, &v->list.items[i]);
        break;
    case VALUE_MAP:
        mp_add_map(out, v->map.n);
        for (size_t i = 0; i < v->map.n; i++) {
            mp_add_value(out, &v->map.members[i].key);
            mp_add_value(out, &v->map.members[i].value);
        }
        break;
    }
}

/*
 * Reading uses msgpack-c's parser as a template around the callbacks below, as bindings to other
 * languages do.  msgpack_unpack_next would allocate whatever an array's head promises before a
 * single item of it was seen.  Here the head is checked against the bytes that can still come,
 * and values go straight into the arena.  Without an arena nothing is built, only skipped.
 */
struct reader {
    struct arena *arena;
    size_t n_bytes;
    size_t promised; /* values that all heads so far announce; each needs a byte */
    const char *problem;
};

/* A value, and while it is a container under construction, how many items it will have. */
struct building {
    struct value value;
    size_t n;
};

static int finish_value(struct building *b, struct value v)
{
    *b = (struct building){ .value = v };
    return 0;
}

static int refuse_bytes(struct reader *r, const char *problem)
{
    r->problem = problem;
    return -1;
}

static struct building read_root(struct reader *r)
{
    (void)r;
    return (struct building){ .value = value_null() };
}

static int read_nil(struct reader *r, struct building *b)
{
    (void)r;
    return finish_value(b, value_null());
}

static int read_true(struct reader *r, struct building *b)
{
    (void)r;
    return finish_value(b, value_bool(true));
}

static int read_false(struct reader *r, struct building *b)
{
    (void)r;
    return finish_value(b, value_bool(false));
}

static int read_int64(struct reader *r, int64_t i, struct building *b)
{
    (void)r;
    return finish_value(b, value_int(i));
}

static int read_uint64(struct reader *r, uint64_t u, struct building *b)
{
    if (u > INT64_MAX)
        return refuse_bytes(r, "an integer is beyond 64 bits with sign");
    return finish_value(b, value_int((int64_t)u));
}

static int read_double(struct reader *r, double f, struct building *b)
{
    (void)r;
    return finish_value(b, value_float(f));
}

static int read_text(struct reader *r, enum value_type type, const char *s, size_t n,
                     struct building *b)
{
    struct value v = { .type = type, .str = { "", n } };

    if (r->arena != NULL && n > 0)
        v.str.s = arena_strndup(r->arena, s, n);
    return finish_value(b, v);
}

static int read_str(struct reader *r, const char *all, const char *s, unsigned n,
                    struct building *b)
{
    (void)all;
    return read_text(r, VALUE_STR, s, n, b);
}

static int read_bin(struct reader *r, const char *all, const char *s, unsigned n,
                    struct building *b)
{
    (void)all;
    return read_text(r, VALUE_BIN, s, n, b);
}

static int read_ext(struct reader *r, const char *all, const char *s, unsigned n,
                    struct building *b)
{
    (void)all;
    (void)s;
    (void)n;
    (void)b;
    return refuse_bytes(r, "an extension type");
}

static int promise(struct reader *r, size_t n)
{
    r->promised += n;
    if (r->promised >= r->n_bytes)
        return refuse_bytes(r, "more items announced than there are bytes");
    if (r->arena != NULL && r->promised > MP_VALUES_MAX)
        return refuse_bytes(r, "too many values for one message");
    return 0;
}

static int read_array(struct reader *r, size_t n, struct building *b)
{
    if (promise(r, n) < 0)
        return -1;
    *b = (struct building){ .value = { .type = VALUE_LIST }, .n = n };
    if (r->arena != NULL && n > 0)
        b->value.list.items = arena_alloc(r->arena, n * sizeof(struct value));
    return 0;
}

static int read_array_item(struct reader *r, struct building *b, struct building item)
{
    if (r->arena != NULL)
        b->value.list.items[b->value.list.n++] = item.value;
    return 0;
}

static int read_map(struct reader *r, size_t n, struct building *b)
{
    if (promise(r, 2 * n) < 0)
        return -1;
    *b = (struct building){ .value = { .type = VALUE_MAP }, .n = n };
    if (r->arena != NULL && n > 0)
        b->value.map.members = arena_alloc(r->arena, n * sizeof(struct member));
    return 0;
}

static struct bytes member_key(const void *items, size_t i)
{
    const struct member *m = items;

    return (struct bytes){ (const uint8_t *)m[i].key.str.s, m[i].key.str.n };
}

static int read_map_item(struct reader *r, struct building *b, struct building key,
                         struct building item)
{
    struct value *map = &b->value;

    if (key.value.type != VALUE_STR)
        return refuse_bytes(r, "a map key is not a string");
    if (r->arena == NULL)
        return 0;
    map->map.members[map->map.n++] = (struct member){ key.value, item.value };
    if (map->map.n == b->n && value_find_repeated(map->map.members, b->n, member_key) < b->n)
        return refuse_bytes(r, "a map key appears twice");
    return 0;
}

#define read_uint8  read_int64
#define read_uint16 read_int64
#define read_uint32 read_int64
#define read_int8   read_int64
#define read_int16  read_int64
#define read_int32  read_int64
#define read_float  read_double

#define MSGPACK_EMBED_STACK_SIZE       MP_DEPTH_MAX
#define msgpack_unpack_struct(name)    struct parser##name
#define msgpack_unpack_func(ret, name) static inline ret parser##name
#define msgpack_unpack_callback(name)  read##name
#define msgpack_unpack_object          struct building
#define msgpack_unpack_user            struct reader

#include <msgpack/unpack_define.h>
#include <msgpack/unpack_template.h>

/* Parses one value from *offset on and moves *offset behind it. */
static int parse_value(struct bytes from, size_t *offset, struct arena *a, struct value *v,
                       struct err *e)
{
    struct parser_context parser; /* msgpack-c initialises the members that it uses */
    int answer;

    parser_init(&parser);
    parser.user = (struct reader){ .arena = a, .n_bytes = from.n };
    answer = parser_execute(&parser, (const char *)from.data, from.n, offset);
    if (answer == 1) {
        *v = parser_data(&parser).value;
        return 0;
    }
    if (answer == 0)
        parser.user.problem = "it ends too early";
    else if (answer == MSGPACK_UNPACK_NOMEM_ERROR)
        parser.user.problem = "nested too deep";
    else if (parser.user.problem == NULL)
        parser.user.problem = "a byte that begins no value";
    return err_set(e, ERR_PROTOCOL, "msgpack, byte %zu: %s", *offset, parser.user.problem);
}

int mp_read(const void *bytes, size_t n, struct arena *a, struct value *v, struct err *e)
{
    size_t end = 0;

    if (parse_value((struct bytes){ bytes, n }, &end, a, v, e) < 0)
        return -1;
    if (end != n)
        return err_set(e, ERR_PROTOCOL, "msgpack, byte %zu: something follows the value", end);
    return 0;
}

int mp_items_begin(struct mp_items *items, const void *bytes, size_t n, struct err *e)
{
    enum { FIXARRAY = 0x90, FIXARRAY_MASK = 0xf0, ARRAY16 = 0xdc, ARRAY32 = 0xdd };
    struct bytes all = { bytes, n };
    unsigned first = n > 0 ? all.data[0] : 0;
    size_t n_more = first == ARRAY16 ? 2 : first == ARRAY32 ? 4 : 0;
    size_t n_items = n_more == 0 ? first & ~(unsigned)FIXARRAY_MASK : 0;

    if (n_more == 0 && (first & FIXARRAY_MASK) != FIXARRAY)
        return err_set(e, ERR_PROTOCOL, "msgpack: expected a list");
    if (n < 1 + n_more)
        return err_set(e, ERR_PROTOCOL, "msgpack, byte %zu: it ends too early", n);
    for (size_t i = 1; i <= n_more; i++)
        n_items = n_items << 8 | all.data[i];
    *items = (struct mp_items){ .all = all, .at = 1 + n_more, .n_left = n_items };
    return 0;
}

int mp_items_next(struct mp_items *items, struct bytes *item, struct err *e)
{
    size_t begin = items->at;
    struct value skipped;

    if (items->n_left == 0 && begin != items->all.n)
        return err_set(e, ERR_PROTOCOL, "msgpack, byte %zu: something follows the list", begin);
    if (items->n_left == 0)
        return 0;
    if (parse_value(items->all, &items->at, NULL, &skipped, e) < 0)
        return -1;
    *item = (struct bytes){ items->all.data + begin, items->at - begin };
    items->n_left--;
    return 1;
}

int mp_each_item(const void *bytes, size_t n,
                 int (*each)(void *context, struct bytes item, struct err *e), void *context,
                 struct err *e)
{
    struct mp_items items;
    struct bytes item;
    int answer = 0, rc = mp_items_begin(&items, bytes, n, e);

    while (rc >= 0 && answer == 0 && (rc = mp_items_next(&items, &item, e)) == 1)
        answer = each(context, item, e);
    return rc < 0 ? -1 : answer;
}
