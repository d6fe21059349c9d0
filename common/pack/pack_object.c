/* SPDX-License-Identifier: MIT */
/* pack_object.c - lists and manifests, to bytes and from bytes that are not trusted */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/schema.h"
#include "common/pack/pack_object.h"
#include "common/pack/pack_tar.h"

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

/* Numbers are little-endian, of width bytes. */
static void add_number(struct buf *out, uint64_t number, size_t width)
{
    uint8_t *to = buf_reserve(out, width);

    for (size_t i = 0; i < width; i++)
        to[i] = (uint8_t)(number >> (8 * i));
    buf_added(out, width);
}

static uint64_t number_at(const uint8_t *numbers, size_t i, size_t width)
{
    uint64_t number = 0;

    for (size_t k = width; k > 0; k--)
        number = number << 8 | numbers[i * width + k - 1];
    return number;
}

/* ---- lists ---- */

struct stored_list {
    int64_t v;
    int form;
    int64_t stored_bytes;
    struct bytes digests, sizes;
    struct bytes path;
    int64_t offset;
};

static const struct field list_fields[] = {
    FIELD(struct stored_list, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD_NAMED(struct stored_list, form, FIELD_REQUIRED, pack_form_names, PACK_FORM_COUNT),
    FIELD(struct stored_list, stored_bytes, FIELD_INT, FIELD_REQUIRED, PACK_BYTES_MAX),
    FIELD(struct stored_list, digests, FIELD_BYTES, FIELD_REQUIRED, DIGEST_BYTES *PACK_PIECES_MAX),
    FIELD(struct stored_list, sizes, FIELD_BYTES, FIELD_REQUIRED, 4 * PACK_PIECES_MAX),
    FIELD(struct stored_list, path, FIELD_BYTES, 0, PACK_PATH_MAX),
    FIELD(struct stored_list, offset, FIELD_INT, 0, PACK_BYTES_MAX),
};

static const struct schema list_schema = SCHEMA(struct stored_list, "list", list_fields);

void pack_list_encode(struct pack_list *l, struct buf *out)
{
    struct buf digests = { 0 }, sizes = { 0 };
    struct stored_list s = { .v = PACK_VERSION,
                             .form = (int)l->part.form,
                             .stored_bytes = (int64_t)l->part.stored_bytes,
                             .offset = (int64_t)l->offset };
    size_t begin = out->n;

    for (uint32_t i = 0; i < l->n; i++) {
        buf_add(&digests, l->pieces[i].digest.bytes, DIGEST_BYTES);
        add_number(&sizes, l->pieces[i].size, 4);
    }
    s.digests = buf_bytes(&digests);
    s.sizes = buf_bytes(&sizes);
    if (l->path != NULL)
        s.path = (struct bytes){ (const uint8_t *)l->path, strlen(l->path) };
    schema_encode(&list_schema, &s, out);
    digest_of(out->bytes + begin, out->n - begin, &l->part.list);
    buf_free(&digests);
    buf_free(&sizes);
}

static int take_list(const struct stored_list *s, struct arena *a, struct pack_list *l,
                     struct err *e)
{
    bool is_stored = pack_is_stored((enum pack_form)s->form);
    uint64_t sum = 0, framed = 0, stored = (uint64_t)s->stored_bytes;

    if (s->v != PACK_VERSION)
        return err_set(e, ERR_PROTOCOL, "list: version %" PRId64 ", and only %d is known here",
                       s->v, PACK_VERSION);
    if (s->digests.n % DIGEST_BYTES != 0 || s->sizes.n % 4 != 0 || s->digests.n == 0 ||
        s->digests.n / DIGEST_BYTES != s->sizes.n / 4)
        return err_set(e, ERR_PROTOCOL, "list: not as many sizes as digests");
    if (is_stored == (s->path.n > 0))
        return err_set(e, ERR_PROTOCOL, "list: a path, or none, where that cannot be");
    if (s->path.n > 0) {
        const char *path = arena_strndup(a, (const char *)s->path.data, s->path.n);

        if (pack_path_check(path, s->path.n, e) < 0)
            return err_wrap(e, "list");
        l->path = mem_strdup(path);
    }
    l->part.form = (enum pack_form)s->form;
    l->part.stored_bytes = stored;
    l->offset = (uint64_t)s->offset;
    l->n = (uint32_t)(s->sizes.n / 4);
    l->pieces = mem_resize(NULL, l->n, sizeof *l->pieces);
    for (uint32_t i = 0; i < l->n; i++) {
        uint64_t size = number_at(s->sizes.data, i, 4);

        if (size < 1 || size > PACK_PIECE_BYTES)
            return err_set(e, ERR_PROTOCOL, "list: a piece of %" PRIu64 " bytes", size);
        memcpy(l->pieces[i].digest.bytes, s->digests.data + (size_t)i * DIGEST_BYTES, DIGEST_BYTES);
        l->pieces[i].size = (uint32_t)size;
        sum += size;
        framed += l->part.form == PACK_TAR ? tar_entry_bytes(size) : size;
    }
    if ((!is_stored || l->part.form == PACK_RAW) && stored != sum)
        return err_set(e, ERR_PROTOCOL, "list: its sizes do not add up");
    if (is_stored && l->part.form != PACK_RAW && stored > PACK_STORED_BYTES_MAX)
        return err_set(e, ERR_PROTOCOL, "list: a part of %" PRIu64 " bytes", stored);
    if (l->part.form != PACK_IN_PLACE && framed > PACK_PART_BYTES)
        return err_set(e, ERR_PROTOCOL, "list: more pieces than go into a part");
    return 0;
}

struct pack_list *pack_list_decode(const struct digest *name, struct bytes stored, struct err *e)
{
    struct pack_list *l = mem_alloc(sizeof *l);
    struct arena *a = arena_create();
    struct stored_list s;
    int result = pack_check_digest(name, stored, PACK_LIST, e);

    if (result == 0)
        result = schema_read(&list_schema, stored, a, &s, e);
    if (result == 0)
        result = take_list(&s, a, l, e);
    l->part.list = *name;
    arena_destroy(a);
    if (result == 0)
        return l;
    pack_list_destroy(l);
    return NULL;
}

void pack_list_destroy(struct pack_list *l)
{
    if (l == NULL)
        return;
    free((void *)(uintptr_t)l->path);
    free(l->pieces);
    free(l);
}

/* ---- manifests ---- */

enum { BYTES_WIDTH = 8 };

struct stored_manifest {
    int64_t v;
    struct digest tree;
    int64_t folders, files, links, bytes, hole_bytes;
    struct bytes lists, forms, stored_bytes; /* of parts */
    struct list blocks;
};

static const struct field row_fields[] = {
    FIELD(struct manifest_block, name, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct manifest_block, first, FIELD_BYTES, FIELD_REQUIRED, PACK_PATH_MAX),
    FIELD(struct manifest_block, entries, FIELD_INT, FIELD_REQUIRED, INT32_MAX),
};

static const struct schema row_schema = SCHEMA(struct manifest_block, "block", row_fields);

#define COUNT(member) \
    FIELD(struct stored_manifest, member, FIELD_INT, FIELD_REQUIRED, PACK_BYTES_MAX)
#define COLUMN(member, width) \
    FIELD(struct stored_manifest, member, FIELD_BYTES, FIELD_REQUIRED, (width)*PACK_PARTS_MAX)

static const struct field manifest_fields[] = {
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
    FIELD_OF(struct stored_manifest, blocks, FIELD_LIST, FIELD_REQUIRED, PACK_BLOCKS_MAX,
             &row_schema),
};

static const struct schema manifest_schema =
    SCHEMA(struct stored_manifest, "manifest", manifest_fields);

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
        add_number(&stored_bytes, m->parts[i].stored_bytes, BYTES_WIDTH);
    }
    s.lists = buf_bytes(&lists);
    s.forms = buf_bytes(&forms);
    s.stored_bytes = buf_bytes(&stored_bytes);
    schema_encode(&manifest_schema, &s, out);
    buf_free(&lists);
    buf_free(&forms);
    buf_free(&stored_bytes);
}

int manifest_decode(const struct digest *id, struct bytes stored, struct arena *a,
                    struct pack_manifest *m, struct err *e)
{
    struct stored_manifest s;
    struct pack_part *parts;
    size_t n;

    if (pack_check_digest(id, stored, PACK_MANIFEST, e) < 0 ||
        schema_read(&manifest_schema, stored, a, &s, e) < 0)
        return -1;
    if (s.v != PACK_VERSION)
        return err_set(e, ERR_PROTOCOL, "manifest: version %" PRId64 ", and only %d is known here",
                       s.v, PACK_VERSION);
    *m = (struct pack_manifest){
        .tree = s.tree,
        .totals = { s.folders, s.files, s.links, s.bytes, s.hole_bytes },
        .n_parts = n = s.forms.n,
        .blocks = s.blocks.items,
        .n_blocks = s.blocks.n,
    };
    if (m->totals.hole_bytes > m->totals.bytes)
        return err_set(e, ERR_PROTOCOL, "manifest: more holes than bytes");
    if (s.lists.n != n * DIGEST_BYTES || s.stored_bytes.n != n * BYTES_WIDTH)
        return err_set(e, ERR_PROTOCOL, "manifest: not as much said of some parts as of others");
    m->parts = parts = arena_alloc(a, n * sizeof *parts);
    for (size_t i = 0; i < n; i++) {
        struct pack_part *part = &parts[i];

        memcpy(part->list.bytes, s.lists.data + i * DIGEST_BYTES, DIGEST_BYTES);
        part->stored_bytes = number_at(s.stored_bytes.data, i, BYTES_WIDTH);
        if (s.forms.data[i] >= PACK_FORM_COUNT)
            return err_set(e, ERR_PROTOCOL, "manifest: a part of an unknown form");
        part->form = (enum pack_form)s.forms.data[i];
        if (part->stored_bytes >
            (part->form == PACK_IN_PLACE ? PACK_BYTES_MAX : (uint64_t)PACK_STORED_BYTES_MAX))
            return err_set(e, ERR_PROTOCOL, "manifest: a part of %" PRIu64 " bytes",
                           part->stored_bytes);
    }
    return 0;
}
