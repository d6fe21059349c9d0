/* SPDX-License-Identifier: MIT */
/* json.c - fuzz: untrusted JSON; a value that was read, written and read again must be equal */
#include <stdint.h>
#include <stdlib.h>

#include "common/data/json.h"
#include "common/data/param_digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(struct arena *a, const struct value *v,
                             void (*add)(struct buf *out, const struct value *v))
{
    struct buf b = { 0 };
    struct value again;

    add(&b, v);
    if (json_read(buf_text(&b), b.n, a, &again, NULL) < 0 || !value_equal(v, &again))
        abort();
    buf_free(&b);
}

/* The canonical form is its own canonical form. */
static void check_canon(struct arena *a, const struct value *v)
{
    struct buf once = { 0 }, twice = { 0 };
    struct value again;

    param_digest_add(&once, v);
    if (json_read(buf_text(&once), once.n, a, &again, NULL) < 0)
        abort();
    param_digest_add(&twice, &again);
    if (once.n != twice.n || value_compare_keys(buf_bytes(&once), buf_bytes(&twice)) != 0)
        abort();
    buf_free(&once);
    buf_free(&twice);
}

/* What is read exactly is what json_read reads, and is so when it was written. */
static void check_exact(struct arena *a, const char *text, size_t n, const struct value *v)
{
    struct buf b = { 0 };
    struct value again;
    size_t offset;

    if (json_read_exact(text, n, a, &again, &offset, NULL) < 0) {
        if (offset > n)
            abort();
        return;
    }
    if (!value_equal(v, &again))
        abort();
    json_add_value(&b, v);
    if (json_read_exact(buf_text(&b), b.n, a, &again, &offset, NULL) < 0 || !value_equal(v, &again))
        abort();
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create();
    struct value v;

    if (json_read((const char *)data, size, a, &v, NULL) == 0) {
        check_round_trip(a, &v, json_add_value);
        check_round_trip(a, &v, json_add_pretty);
        check_canon(a, &v);
        check_exact(a, (const char *)data, size, &v);
    }
    arena_destroy(a);
    return 0;
}
