/* SPDX-License-Identifier: MIT */
/* pack_manifest.c - what names the blocks and parts of a dataset, to and from bytes */
#include <inttypes.h>
#include <string.h>

#include "common/pack/pack_bytes.h"
#include "common/pack/pack_manifest.h"

enum { BYTES_WIDTH = 8 };

struct stored_manifest {
    int64_t v;
    struct digest tree;
    int64_t folders, files, links, bytes, hole_bytes;
    struct bytes lists, forms, stored_bytes; /* of parts */
    struct list blocks;
};

static const struct field block_fields[] = {
    FIELD(struct manifest_block, name, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct manifest_block, first, FIELD_BYTES, FIELD_REQUIRED, PACK_PATH_MAX),
    FIELD(struct manifest_block, entries, FIELD_INT, FIELD_REQUIRED, INT32_MAX),
};

static const struct schema block = SCHEMA(struct manifest_block, "block", block_fields);

#define COUNT(member) \
    FIELD(struct stored_manifest, member, FIELD_INT, FIELD_REQUIRED, PACK_BYTES_MAX)
#define COLUMN(member, width) \
    FIELD(struct stored_manifest, member, FIELD_BYTES, FIELD_REQUIRED, (width)*PACK_PARTS_MAX)

static const struct field fields[] = {
    FIELD(struct stored_manifest, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct stored_manifest, tree, FIELD_DIGEST, FIELD_REQUIRED, 0),
    COUNT(folders),
    COUNT(files),
    COUNT(links),
    COUNT(bytes),
    COUNT(hole_bytes),
    COLUMN(lists, DIGEST_BYTES),
    COLUMN(forms, 1),
    COLUMN(stored_bytes, BYTES_WIDTH),
    FIELD_OF(struct stored_manifest, blocks, FIELD_LIST, FIELD_REQUIRED, PACK_BLOCKS_MAX, &block),
};

static const struct schema schema = SCHEMA(struct stored_manifest, "manifest", fields);

/* ---- out ---- */

void manifest_encode(const struct pack_manifest *m, struct buf *out)
{
    struct buf lists = { 0 }, forms = { 0 }, stored_bytes = { 0 };
    struct stored_manifest s = { .v = PACK_VERSION,
                                 .tree = m->tree,
                                 .folders = m->totals.folders,
                                 .files = m->totals.files,
                                 .links = m->totals.links,
                                 .bytes = m->totals.bytes,
                                 .hole_bytes = m->totals.hole_bytes,
                                 .blocks = { (void *)(uintptr_t)m->blocks, m->n_blocks } };

    for (size_t i = 0; i < m->n_parts; i++) {
        buf_add(&lists, m->parts[i].list.bytes, DIGEST_BYTES);
        buf_add_char(&forms, (char)m->parts[i].form);
        pack_add_number(&stored_bytes, m->parts[i].stored_bytes, BYTES_WIDTH);
    }
    s.lists = buf_bytes(&lists);
    s.forms = buf_bytes(&forms);
    s.stored_bytes = buf_bytes(&stored_bytes);
    schema_encode(&schema, &s, out);
    buf_free(&lists);
    buf_free(&forms);
    buf_free(&stored_bytes);
}

/* ---- in ---- */

static int take_part(const struct stored_manifest *s, size_t i, struct pack_part *part,
                     struct err *e)
{
    memcpy(part->list.bytes, s->lists.data + i * DIGEST_BYTES, DIGEST_BYTES);
    part->stored_bytes = pack_number_at(s->stored_bytes.data, i, BYTES_WIDTH);
    if (s->forms.data[i] >= PACK_FORM_COUNT)
        return err_set(e, ERR_PROTOCOL, "manifest: a part of an unknown form");
    part->form = (enum pack_form)s->forms.data[i];
    if (part->stored_bytes >
        (part->form == PACK_IN_PLACE ? PACK_BYTES_MAX : (uint64_t)PACK_STORED_BYTES_MAX))
        return err_set(e, ERR_PROTOCOL, "manifest: a part of %" PRIu64 " bytes",
                       part->stored_bytes);
    return 0;
}

static int take_parts(const struct stored_manifest *s, struct arena *a, struct pack_manifest *m,
                      struct err *e)
{
    size_t n = s->forms.n;
    struct pack_part *parts;

    if (s->lists.n != n * DIGEST_BYTES || s->stored_bytes.n != n * BYTES_WIDTH)
        return err_set(e, ERR_PROTOCOL, "manifest: not as much said of some parts as of others");
    parts = arena_alloc(a, n * sizeof *parts);
    for (size_t i = 0; i < n; i++)
        if (take_part(s, i, &parts[i], e) < 0)
            return -1;
    m->parts = parts;
    m->n_parts = n;
    return 0;
}

int manifest_decode(const struct digest *id, struct bytes stored, struct arena *a,
                    struct pack_manifest *m, struct err *e)
{
    struct stored_manifest s;

    if (pack_check_digest(id, stored, PACK_MANIFEST, e) < 0 ||
        schema_read(&schema, stored, a, &s, e) < 0)
        return -1;
    if (s.v != PACK_VERSION)
        return err_set(e, ERR_PROTOCOL, "manifest: version %" PRId64 ", and only %d is known here",
                       s.v, PACK_VERSION);
    *m = (struct pack_manifest){
        .tree = s.tree,
        .totals = { s.folders, s.files, s.links, s.bytes, s.hole_bytes },
        .blocks = s.blocks.items,
        .n_blocks = s.blocks.n,
    };
    if (m->totals.hole_bytes > m->totals.bytes)
        return err_set(e, ERR_PROTOCOL, "manifest: more holes than bytes");
    return take_parts(&s, a, m, e);
}
