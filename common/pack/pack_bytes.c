/* SPDX-License-Identifier: MIT */
/* pack_bytes.c - numbers, digests and compressed bytes in the objects of a pack */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "common/pack/pack_bytes.h"

/* Of names; fast enough, as there are few bytes of them. */
enum { LEVEL = 3 };

void pack_add_number(struct buf *out, uint64_t number, size_t width)
{
    uint8_t *to = buf_reserve(out, width);

    for (size_t i = 0; i < width; i++)
        to[i] = (uint8_t)(number >> (8 * i));
    buf_added(out, width);
}

uint64_t pack_number_at(const uint8_t *numbers, size_t i, size_t width)
{
    uint64_t number = 0;

    for (size_t k = width; k > 0; k--)
        number = number << 8 | numbers[i * width + k - 1];
    return number;
}

int pack_check_digest(const struct digest *name, struct bytes stored, enum pack_object kind,
                      struct err *e)
{
    struct digest digest;
    char hex[DIGEST_HEX];

    digest_hex(name, hex);
    if (stored.n > pack_object_max(kind))
        return err_set(e, ERR_PROTOCOL, "%s is larger than such things are", hex);
    digest_of(stored.data, stored.n, &digest);
    if (!digest_equal(&digest, name))
        return err_set(e, ERR_PROTOCOL, "%s is damaged: its content is not what its name says",
                       hex);
    return 0;
}

void pack_compress(struct bytes from, struct buf *out)
{
    size_t room = ZSTD_compressBound(from.n);
    size_t n = ZSTD_compress(buf_reserve(out, room), room, from.data, from.n, LEVEL);

    if (ZSTD_isError(n)) { /* with that room, memory alone can be missing */
        fprintf(stderr, "ludwig: zstd: %s\n", ZSTD_getErrorName(n));
        abort();
    }
    buf_added(out, n);
}

int pack_uncompress(struct bytes from, size_t size, struct buf *out, struct err *e)
{
    size_t n;

    if (from.n == 0 || ZSTD_findFrameCompressedSize(from.data, from.n) != from.n)
        return err_set(e, ERR_PROTOCOL, "zstd: not one whole frame");
    n = ZSTD_decompress(buf_reserve(out, size), size, from.data, from.n);
    if (ZSTD_isError(n))
        return err_set(e, ERR_PROTOCOL, "zstd: %s", ZSTD_getErrorName(n));
    if (n != size)
        return err_set(e, ERR_PROTOCOL, "zstd: %zu bytes where %zu were declared", n, size);
    buf_added(out, n);
    return 0;
}
