/* SPDX-License-Identifier: MIT */
/* manifest.c - fuzz: untrusted manifests, blocks and lists; the entries read must be valid */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "common/pack/pack_block.h"
#include "common/pack/pack_object.h"
#include "common/pack/pack_read.h"

static void compress(struct bytes from, struct buf *out)
{
    size_t room = ZSTD_compressBound(from.n);

    buf_added(out, ZSTD_compress(buf_reserve(out, room), room, from.data, from.n, 3));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok)
{
    if (!ok)
        abort();
}

/* The first byte says what the rest is.  Names are digests, which no fuzzer guesses: whatever is
 * asked for gets the name that it was asked by. */
enum { IS_MANIFEST, IS_BLOCK, IS_BODY, IS_LIST, IS_TREE, WHATS };

/* ---- objects alone ---- */

static void check_manifest(struct bytes stored)
{
    struct arena *a = arena_create();
    struct pack_manifest m, again;
    struct digest id;
    struct buf out = { 0 };

    digest_of(stored.data, stored.n, &id);
    if (manifest_decode(&id, stored, a, &m, NULL) == 0) {
        need(m.n_parts <= PACK_PARTS_MAX && m.n_blocks <= PACK_BLOCKS_MAX);
        need(m.totals.bytes >= m.totals.hole_bytes && m.totals.hole_bytes >= 0);
        manifest_encode(&m, &out);
        digest_of(out.bytes, out.n, &id);
        need(manifest_decode(&id, buf_bytes(&out), a, &again, NULL) == 0);
        need(again.n_parts == m.n_parts && again.n_blocks == m.n_blocks);
    }
    buf_free(&out);
    arena_destroy(a);
}

static void check_block(struct bytes stored)
{
    struct block_reader b = { 0 };
    struct pack_entry entry;
    struct digest name;

    digest_of(stored.data, stored.n, &name);
    if (block_open(&b, &name, stored, NULL) == 0)
        while (block_next(&b, &entry, NULL) == 1) {
            need(strlen(entry.path) <= PACK_PATH_MAX && entry.kind < PACK_KIND_COUNT);
            need(entry.kind < PACK_SYMLINK || entry.target[0] != '\0');
            for (size_t i = 0; i < entry.n_runs; i++)
                need(entry.runs[i].part == PACK_HOLE || entry.runs[i].part < b.n_lists);
        }
    block_close(&b);
}

static void add_block(struct buf *out, struct bytes body, const struct digest *list)
{
    struct stored_block s = { .v = PACK_VERSION,
                              .lists = { list->bytes, DIGEST_BYTES },
                              .body_bytes = (int64_t)body.n };
    struct buf packed = { 0 };

    compress(body, &packed);
    s.body = buf_bytes(&packed);
    schema_encode(&block_schema, &s, out);
    buf_free(&packed);
}

static void check_body(struct bytes body)
{
    struct buf stored = { 0 };

    add_block(&stored, body, &(struct digest){ 0 });
    check_block(buf_bytes(&stored));
    buf_free(&stored);
}

static void check_list(struct bytes stored)
{
    struct digest name;
    struct pack_list *l;

    digest_of(stored.data, stored.n, &name);
    l = pack_list_decode(&name, stored, NULL);
    if (l == NULL)
        return;
    need(l->n > 0 && l->n <= PACK_PIECES_MAX);
    for (uint32_t i = 0; i < l->n; i++)
        need(l->pieces[i].size > 0 && l->pieces[i].size <= PACK_PIECE_BYTES);
    need(pack_is_stored(l->part.form) == (l->path == NULL));
    pack_list_destroy(l);
}

/* ---- a tree whose one block has these entries ---- */

struct tree {
    struct buf manifest, block, list;
};

static int fetch(void *context, enum pack_object kind, const struct digest *name, size_t max_bytes,
                 struct buf *out, struct err *e)
{
    struct tree *t = context;
    struct buf *b = kind == PACK_MANIFEST ? &t->manifest
                    : kind == PACK_BLOCK  ? &t->block
                                          : &t->list;

    (void)name;
    (void)max_bytes;
    (void)e;
    buf_add(out, b->bytes, b->n);
    return 0;
}

static struct pack_part make_list(struct tree *t)
{
    struct pack_piece pieces[3] = { { .size = PACK_PIECE_BYTES },
                                    { .size = PACK_PIECE_BYTES },
                                    { .size = 5 } };
    struct pack_list l = { .part = { .form = PACK_ZST, .stored_bytes = 9 },
                           .pieces = pieces,
                           .n = 3 };

    pack_list_encode(&l, &t->list);
    return l.part;
}

static int64_t count_entries(struct bytes block, const struct digest *name)
{
    struct block_reader b = { 0 };
    int64_t n = block_open(&b, name, block, NULL) == 0 ? (int64_t)b.n : 0;

    block_close(&b);
    return n;
}

/* A path that breaks no rule, in order, and in a folder if in any. */
static void check_path(const char *path, const char *last)
{
    need(path[0] != '/' && strstr(path, "//") == NULL);
    need(strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL && strcmp(path, "..") != 0);
    need(last == NULL || pack_path_compare(last, path) < 0);
}

static void read_tree(struct tree *t, const struct digest *id)
{
    struct pack_source source = { t, fetch };
    struct pack_reader *r = pack_open(&source, id, NULL);
    struct pack_entry entry;
    char *last = NULL;

    need(r != NULL);
    while (pack_next(r, &entry, NULL) == 1) {
        check_path(entry.path, last);
        free(last);
        last = mem_strdup(entry.path);
    }
    free(last);
    pack_close(r);
}

static void check_tree(struct bytes body)
{
    struct tree t = { 0 };
    struct pack_part part = make_list(&t);
    /* what most bodies begin with: an array, an entry, keeps nothing, a path */
    struct manifest_block row = { .first = { body.data + (body.n > 5 ? 5 : 0),
                                             body.n > 5 && body.data[4] < body.n - 5 ? body.data[4]
                                                                                     : 0 } };
    struct pack_manifest m = { .totals = { 100, 100, 100, (int64_t)1 << 50, 0 },
                               .parts = &part,
                               .n_parts = 1,
                               .blocks = &row,
                               .n_blocks = 1 };
    struct digest id;

    add_block(&t.block, body, &part.list);
    digest_of(t.block.bytes, t.block.n, &row.name);
    row.entries = count_entries(buf_bytes(&t.block), &row.name);
    manifest_encode(&m, &t.manifest);
    digest_of(t.manifest.bytes, t.manifest.n, &id);
    if (row.first.n <= PACK_PATH_MAX && row.entries <= INT32_MAX)
        read_tree(&t, &id);
    buf_free(&t.manifest);
    buf_free(&t.block);
    buf_free(&t.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[WHATS])(struct bytes) = {
        [IS_MANIFEST] = check_manifest, [IS_BLOCK] = check_block, [IS_BODY] = check_body,
        [IS_LIST] = check_list,         [IS_TREE] = check_tree,
    };

    if (size > 0)
        checks[data[0] % WHATS]((struct bytes){ data + 1, size - 1 });
    return 0;
}
