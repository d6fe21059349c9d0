/* SPDX-License-Identifier: MIT */
/* pack_part_write.c - pieces become parts, one after the other, in one slot of a sink */
#include <stdlib.h>

#include <zstd.h>

#include "common/base/mem.h"
#include "common/pack/pack_list.h"
#include "common/pack/pack_part_write.h"
#include "common/pack/pack_tar.h"

enum {
    TRIAL_BYTES = 128 * 1024, /* whether it shrinks is tried with so much of a part */
    TRIAL_GAIN = 32,          /* it does, if 1 in so many bytes is saved */
    LEVEL = 1,
    THREADS = 2,             /* that compress while files are read, */
    JOB_BYTES = 1024 * 1024, /* each so much at once: of that several are in memory */
    OUT_BYTES = 256 * 1024
};

struct part_writer {
    const struct pack_sink *sink;
    unsigned slot;
    bool is_tar;
    /* of the current part */
    struct pack_list list;
    size_t capacity;
    uint64_t raw_bytes;
    bool decided;      /* how it is stored */
    struct buf trial;  /* its first bytes, until that is decided */
    struct buf header; /* of the tar's current entry */
    ZSTD_CCtx *zstd;
    uint8_t *out;
    size_t n_out;
};

struct part_writer *part_writer_create(const struct pack_sink *sink, unsigned slot, bool is_tar)
{
    struct part_writer *w = mem_alloc(sizeof *w);

    *w = (struct part_writer){ .sink = sink, .slot = slot, .is_tar = is_tar };
    w->out = mem_resize(NULL, OUT_BYTES, 1);
    return w;
}

void part_writer_destroy(struct part_writer *w)
{
    if (w == NULL)
        return;
    free(w->list.pieces);
    buf_free(&w->trial);
    buf_free(&w->header);
    ZSTD_freeCCtx(w->zstd);
    free(w->out);
    free(w);
}

uint32_t part_writer_count(const struct part_writer *w)
{
    return w->list.n;
}

bool part_writer_has_room(const struct part_writer *w, size_t size)
{
    uint64_t more = w->is_tar ? TAR_LONG_NAME_MAX + tar_entry_bytes(size) + TAR_END_BYTES : size;
    uint64_t most = w->sink->part_bytes > 0 ? w->sink->part_bytes : PACK_PART_BYTES;

    return w->list.n < PACK_PIECES_MAX && w->raw_bytes + more <= most;
}

/* ---- to the sink ---- */

static int store(struct part_writer *w, const void *bytes, size_t n, struct err *e)
{
    w->list.part.stored_bytes += n;
    return w->sink->part_write(w->sink->context, w->slot, (struct bytes){ bytes, n }, e);
}

static int store_out(struct part_writer *w, struct err *e)
{
    size_t n = w->n_out;

    w->n_out = 0;
    return n > 0 ? store(w, w->out, n, e) : 0;
}

/* ---- compressing ---- */

/* At the end of the frame with ZSTD_e_end. */
static int compress(struct part_writer *w, const void *bytes, size_t n, ZSTD_EndDirective how,
                    struct err *e)
{
    ZSTD_inBuffer in = { bytes, n, 0 };
    size_t left;

    do {
        ZSTD_outBuffer out = { w->out, OUT_BYTES, w->n_out };

        left = ZSTD_compressStream2(w->zstd, &out, &in, how);
        if (ZSTD_isError(left))
            return err_set(e, ERR_INTERNAL, "zstd: %s", ZSTD_getErrorName(left));
        w->n_out = out.pos;
        if (w->n_out == OUT_BYTES && store_out(w, e) < 0)
            return -1;
    } while (how == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return 0;
}

static bool shrinks(const struct buf *bytes)
{
    size_t room = ZSTD_compressBound(bytes->n);
    void *out = mem_resize(NULL, room, 1);
    size_t n = ZSTD_compress(out, room, bytes->bytes, bytes->n, LEVEL);

    free(out);
    return !ZSTD_isError(n) && n <= bytes->n - bytes->n / TRIAL_GAIN;
}

static int begin_frame(struct part_writer *w, int level, struct err *e)
{
    if (w->zstd == NULL)
        w->zstd = ZSTD_createCCtx();
    if (w->zstd == NULL ||
        ZSTD_isError(ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_and_parameters)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1)))
        return err_set(e, ERR_INTERNAL, "zstd does not work here");
    return 0;
}

/* The bytes do not depend on how many there are, nor on which is faster.  They start with the first
 * call, be it for nothing: where the library has none, or a limit forbids them, this one compresses. */
static int begin_frame_beside(struct part_writer *w, struct err *e)
{
    ZSTD_inBuffer nothing = { NULL, 0, 0 };
    ZSTD_outBuffer out = { w->out, OUT_BYTES, 0 };

    if (begin_frame(w, LEVEL, e) < 0)
        return -1;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_nbWorkers, THREADS)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_jobSize, JOB_BYTES)) ||
        ZSTD_isError(ZSTD_compressStream2(w->zstd, &out, &nothing, ZSTD_e_continue)))
        return begin_frame(w, LEVEL, e);
    w->n_out = out.pos;
    return 0;
}

static int begin_compressing(struct part_writer *w, bool shrinks_well, bool goes_on, struct err *e)
{
    if (shrinks_well && goes_on)
        return begin_frame_beside(w, e);
    return begin_frame(w, shrinks_well ? LEVEL : ZSTD_minCLevel(), e);
}

static int add_stored(struct part_writer *w, const void *bytes, size_t n, struct err *e)
{
    return w->list.part.form == PACK_RAW ? store(w, bytes, n, e)
                                         : compress(w, bytes, n, ZSTD_e_continue, e);
}

static int decide(struct part_writer *w, struct err *e)
{
    bool small = shrinks(&w->trial), goes_on = w->trial.n == TRIAL_BYTES;

    w->decided = true;
    w->list.part.form = w->is_tar ? PACK_TAR : small ? PACK_ZST : PACK_RAW;
    if (w->list.part.form != PACK_RAW && begin_compressing(w, small, goes_on, e) < 0)
        return -1;
    return add_stored(w, w->trial.bytes, w->trial.n, e);
}

/* What the part has before it is compressed. */
static int add_raw(struct part_writer *w, const uint8_t *bytes, size_t n, struct err *e)
{
    w->raw_bytes += n;
    if (!w->decided) {
        size_t room = TRIAL_BYTES - w->trial.n, some = n < room ? n : room;

        buf_add(&w->trial, bytes, some);
        if (w->trial.n < TRIAL_BYTES)
            return 0;
        if (decide(w, e) < 0)
            return -1;
        bytes += some;
        n -= some;
    }
    return n > 0 ? add_stored(w, bytes, n, e) : 0;
}

/* ---- pieces ---- */

static int begin(struct part_writer *w, struct err *e)
{
    struct pack_piece *pieces = w->list.pieces;

    w->list = (struct pack_list){ .pieces = pieces };
    w->raw_bytes = 0;
    w->decided = false;
    buf_clear(&w->trial);
    w->n_out = 0;
    return w->sink->part_begin(w->sink->context, w->slot, e);
}

static int add_zeros(struct part_writer *w, size_t n, struct err *e)
{
    static const uint8_t zeros[TAR_END_BYTES];

    return add_raw(w, zeros, n, e);
}

static int add_tar_entry(struct part_writer *w, const struct part_piece *piece, struct err *e)
{
    const char *path = piece->path[0] != '\0' ? piece->path : "file";

    buf_clear(&w->header);
    tar_add_header(&w->header, path, piece->executable, piece->content.n);
    if (add_raw(w, w->header.bytes, w->header.n, e) < 0 ||
        add_raw(w, piece->content.data, piece->content.n, e) < 0)
        return -1;
    return add_zeros(w, tar_padding(piece->content.n), e);
}

int part_writer_add(struct part_writer *w, const struct part_piece *piece, struct err *e)
{
    if (w->list.n == 0 && begin(w, e) < 0)
        return -1;
    mem_grow((void **)&w->list.pieces, &w->capacity, w->list.n, sizeof *w->list.pieces);
    w->list.pieces[w->list.n++] = (struct pack_piece){ piece->digest, (uint32_t)piece->content.n };
    if (w->is_tar)
        return add_tar_entry(w, piece, e);
    return add_raw(w, piece->content.data, piece->content.n, e);
}

static int end_bytes(struct part_writer *w, struct err *e)
{
    if (w->is_tar && add_zeros(w, TAR_END_BYTES, e) < 0)
        return -1;
    if (!w->decided && decide(w, e) < 0)
        return -1;
    if (w->list.part.form != PACK_RAW && compress(w, NULL, 0, ZSTD_e_end, e) < 0)
        return -1;
    return store_out(w, e);
}

int part_writer_end(struct part_writer *w, struct pack_part *part, size_t *list_bytes,
                    struct err *e)
{
    struct buf list = { 0 };
    int result;

    if (end_bytes(w, e) < 0)
        return -1;
    pack_list_encode(&w->list, &list);
    *part = w->list.part;
    *list_bytes = list.n;
    result = w->sink->part_end(w->sink->context, w->slot, part, buf_bytes(&list), e);
    w->list.n = 0;
    buf_free(&list);
    return result;
}
