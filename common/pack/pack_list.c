/* SPDX-License-Identifier: MIT */
/* pack_list.c - what a part holds, to and from bytes */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/data/schema.h"
#include "common/pack/pack_bytes.h"
#include "common/pack/pack_list.h"
#include "common/pack/pack_path.h"
#include "common/pack/pack_tar.h"

struct stored_list {
    int64_t v;
    int form;
    int64_t stored_bytes;
    struct bytes digests, sizes;
    struct bytes path;
    int64_t offset;
};

static const struct field fields[] = {
    FIELD(struct stored_list, v, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD_NAMED(struct stored_list, form, FIELD_REQUIRED, pack_form_names, PACK_FORM_COUNT),
    FIELD(struct stored_list, stored_bytes, FIELD_INT, FIELD_REQUIRED, PACK_BYTES_MAX),
    FIELD(struct stored_list, digests, FIELD_BYTES, FIELD_REQUIRED, DIGEST_BYTES *PACK_PIECES_MAX),
    FIELD(struct stored_list, sizes, FIELD_BYTES, FIELD_REQUIRED, 4 * PACK_PIECES_MAX),
    FIELD(struct stored_list, path, FIELD_BYTES, 0, PACK_PATH_MAX),
    FIELD(struct stored_list, offset, FIELD_INT, 0, PACK_BYTES_MAX),
};

static const struct schema schema = SCHEMA(struct stored_list, "list", fields);

/* ---- out ---- */

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
        pack_add_number(&sizes, l->pieces[i].size, 4);
    }
    s.digests = buf_bytes(&digests);
    s.sizes = buf_bytes(&sizes);
    if (l->path != NULL)
        s.path = (struct bytes){ (const uint8_t *)l->path, strlen(l->path) };
    schema_encode(&schema, &s, out);
    digest_of(out->bytes + begin, out->n - begin, &l->part.list);
    buf_free(&digests);
    buf_free(&sizes);
}

/* ---- in ---- */

static int check_path(const struct stored_list *s, struct arena *a, const char **path,
                      struct err *e)
{
    if (pack_is_stored((enum pack_form)s->form) == (s->path.n > 0))
        return err_set(e, ERR_PROTOCOL, "list: a path, or none, where that cannot be");
    if (s->path.n == 0)
        return 0;
    *path = arena_strndup(a, (const char *)s->path.data, s->path.n);
    return pack_path_check(*path, s->path.n, e);
}

static int take_pieces(const struct stored_list *s, struct pack_list *l, uint64_t *sum,
                       uint64_t *framed, struct err *e)
{
    *sum = *framed = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        uint64_t size = pack_number_at(s->sizes.data, i, 4);

        if (size < 1 || size > PACK_PIECE_BYTES)
            return err_set(e, ERR_PROTOCOL, "list: a piece of %" PRIu64 " bytes", size);
        memcpy(l->pieces[i].digest.bytes, s->digests.data + (size_t)i * DIGEST_BYTES, DIGEST_BYTES);
        l->pieces[i].size = (uint32_t)size;
        *sum += size;
        *framed += l->part.form == PACK_TAR ? tar_entry_bytes(size) : size;
    }
    return 0;
}

static int check_sizes(const struct pack_list *l, uint64_t sum, uint64_t framed, struct err *e)
{
    uint64_t stored = l->part.stored_bytes;

    if (!pack_is_stored(l->part.form) || l->part.form == PACK_RAW) {
        if (stored != sum)
            return err_set(e, ERR_PROTOCOL, "list: its sizes do not add up");
    } else if (stored > PACK_STORED_BYTES_MAX) {
        return err_set(e, ERR_PROTOCOL, "list: a part of %" PRIu64 " bytes", stored);
    }
    if (l->part.form != PACK_IN_PLACE && framed > PACK_PART_BYTES)
        return err_set(e, ERR_PROTOCOL, "list: more pieces than go into a part");
    return 0;
}

static int take(const struct stored_list *s, struct arena *a, struct pack_list *l, struct err *e)
{
    const char *path = NULL;
    uint64_t sum, framed;

    if (s->v != PACK_VERSION)
        return err_set(e, ERR_PROTOCOL, "list: version %" PRId64 ", and only %d is known here",
                       s->v, PACK_VERSION);
    if (s->digests.n % DIGEST_BYTES != 0 || s->sizes.n % 4 != 0 || s->digests.n == 0 ||
        s->digests.n / DIGEST_BYTES != s->sizes.n / 4)
        return err_set(e, ERR_PROTOCOL, "list: not as many sizes as digests");
    if (check_path(s, a, &path, e) < 0)
        return err_wrap(e, "list");
    l->part.form = (enum pack_form)s->form;
    l->part.stored_bytes = (uint64_t)s->stored_bytes;
    l->path = path != NULL ? mem_strdup(path) : NULL;
    l->offset = (uint64_t)s->offset;
    l->n = (uint32_t)(s->sizes.n / 4);
    l->pieces = mem_resize(NULL, l->n, sizeof *l->pieces);
    if (take_pieces(s, l, &sum, &framed, e) < 0)
        return -1;
    return check_sizes(l, sum, framed, e);
}

struct pack_list *pack_list_decode(const struct digest *name, struct bytes stored, struct err *e)
{
    struct pack_list *l = mem_alloc(sizeof *l);
    struct arena *a = arena_create();
    struct stored_list s;
    int result = pack_check_digest(name, stored, PACK_LIST, e);

    if (result == 0)
        result = schema_read(&schema, stored, a, &s, e);
    if (result == 0)
        result = take(&s, a, l, e);
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
