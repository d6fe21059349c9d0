/* SPDX-License-Identifier: MIT */
/* part.c - fuzz: untrusted parts; the pieces read must be those of the list */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "common/base/mem.h"
#include "common/pack/pack_part.h"
#include "common/pack/pack_tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok)
{
    if (!ok)
        abort();
}

struct reading {
    const uint8_t *bytes;
    size_t n, at, most;
};

static ssize_t read_some(void *context, void *bytes, size_t n, struct err *e)
{
    struct reading *r = context;

    (void)e;
    if (n > r->most)
        n = r->most;
    if (n > r->n - r->at)
        n = r->n - r->at;
    if (n > 0)
        memcpy(bytes, r->bytes + r->at, n);
    r->at += n;
    return (ssize_t)n;
}

/* How many pieces came. */
static uint32_t read_part(const struct pack_list *l, const uint8_t *bytes, size_t n, size_t most,
                          bool wanted)
{
    struct part_reader *r = part_reader_create();
    struct reading reading = { bytes, n, 0, most };
    struct bytes content;
    struct digest digest;
    uint32_t came = 0;

    part_begin(r, l, read_some, &reading);
    while (part_next(r, wanted ? &content : NULL, NULL) == 1) {
        need(came < l->n);
        if (wanted) {
            need(content.n == l->pieces[came].size);
            digest_of(content.data, content.n, &digest);
            need(memcmp(&digest, &l->pieces[came].digest, sizeof digest) == 0);
        }
        came++;
    }
    part_reader_destroy(r);
    return came;
}

/* Four small pieces that a corpus can hold: of 1, 0x20, 0x200 and 3 bytes 'a'. */
enum { PIECES = 4 };

static void make_pieces(struct pack_piece pieces[PIECES])
{
    static const uint32_t sizes[PIECES] = { 1, 0x20, 0x200, 3 };
    uint8_t bytes[0x200];

    memset(bytes, 'a', sizeof bytes);
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i].size = sizes[i];
        digest_of(bytes, sizes[i], &pieces[i].digest);
    }
}

/* The bytes as they are stored, or packed first, so that what lies below is reached as well. */
static void pack(const uint8_t *bytes, size_t n, struct buf *out)
{
    size_t room = ZSTD_compressBound(n);

    buf_added(out, ZSTD_compress(buf_reserve(out, room), room, bytes, n, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum pack_form forms[] = { PACK_TAR, PACK_ZST, PACK_RAW, PACK_IN_PLACE };
    struct pack_piece pieces[PIECES];
    struct pack_list l = { .pieces = pieces, .n = PIECES, .path = "f" };
    struct buf packed = { 0 };
    size_t most;
    uint32_t came;

    if (size < 2)
        return 0;
    make_pieces(pieces);
    l.part.form = forms[data[0] & 3];
    buf_add(&packed, data + 2, size - 2);
    if (data[0] & 4) {
        buf_clear(&packed);
        pack(data + 2, size - 2, &packed);
    }
    l.part.stored_bytes = packed.n + (data[0] >> 3 & 3) - (data[0] >> 3 & 3 ? 1 : 0);
    /* How much of a damaged frame zstd unpacks depends on how much of it is there at once. */
    most = data[1] == UINT8_MAX ? SIZE_MAX : 1 + (size_t)data[1];
    came = read_part(&l, packed.bytes, packed.n, most, true);
    need(read_part(&l, packed.bytes, packed.n, most, false) >= came);
    buf_free(&packed);
    return 0;
}
