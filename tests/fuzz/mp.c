/* SPDX-License-Identifier: MIT */
/* mp.c - fuzz: untrusted msgpack; a value decoded, encoded and decoded again must be equal */
#include <stdint.h>
#include <stdlib.h>

#include "common/data/msgpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct count {
    struct arena *arena;
    size_t n;
    size_t n_bad; /* items that do not decode, for example with a key that is a number */
};

static int take_item(void *context, struct bytes item, struct err *e)
{
    struct count *count = context;
    struct value v;

    count->n++;
    count->n_bad += mp_read(item.data, item.n, count->arena, &v, e) < 0;
    return 0;
}

static void check_round_trip(struct arena *a, const struct value *v)
{
    struct buf b = { 0 };
    struct value again;

    mp_add_value(&b, v);
    if (mp_read(b.bytes, b.n, a, &again, NULL) < 0 || !value_equal(v, &again))
        abort();
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create();
    struct count count = { .arena = a };
    struct value v;
    int walked = mp_each_item(data, size, take_item, &count, NULL);

    if (mp_read(data, size, a, &v, NULL) == 0) {
        if (v.type == VALUE_LIST && (walked != 0 || count.n != v.list.n || count.n_bad > 0))
            abort();
        check_round_trip(a, &v);
    }
    arena_destroy(a);
    return 0;
}
