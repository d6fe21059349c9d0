/* SPDX-License-Identifier: MIT */
/*
 * msgpack.h - values and single items to and from msgpack; only msgpack.c uses msgpack-c
 *
 * Reading is strict: string map keys, each once, at most MP_DEPTH_MAX deep, no
 * ext types, nothing behind the value; integers beyond int64 are refused.
 */
#ifndef LUDWIG_COMMON_DATA_MSGPACK_H
#define LUDWIG_COMMON_DATA_MSGPACK_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/value.h"

enum {
    MP_DEPTH_MAX = 32,
    MP_VALUES_MAX = 1000 * 1000 /* in one message, of which a byte may become a struct of many */
};

void mp_add_value(struct buf *out, const struct value *v);

void mp_add_null(struct buf *out);
void mp_add_bool(struct buf *out, bool b);
void mp_add_int(struct buf *out, int64_t i);
void mp_add_float(struct buf *out, double f);
void mp_add_str(struct buf *out, const char *s, size_t n);
void mp_add_bin(struct buf *out, const void *bytes, size_t n);
void mp_add_list(struct buf *out, size_t n); /* n values must follow */
void mp_add_map(struct buf *out, size_t n);  /* n times key, value must follow */

/* Decodes one value that fills the bytes exactly.  Strings are copied into a. */
int mp_read(const void *bytes, size_t n, struct arena *a, struct value *v, struct err *e);

/* Goes through the items of a msgpack array without decoding them. */
struct mp_items {
    struct bytes all;
    size_t at, n_left;
};

int mp_items_begin(struct mp_items *items, const void *bytes, size_t n, struct err *e);
/* Returns 1 with the next item's bytes, 0 at the end, -1 with e set. */
int mp_items_next(struct mp_items *items, struct bytes *item, struct err *e);

/* Calls each with the bytes of every item in order; stops when it returns other than 0, and returns
 * that. */
int mp_each_item(const void *bytes, size_t n,
                 int (*each)(void *context, struct bytes item, struct err *e), void *context,
                 struct err *e);

#endif
