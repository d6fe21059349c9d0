/* SPDX-License-Identifier: MIT */
/* pack_part.c - turns pieces into the bytes of a part, and these into checked pieces */

#include "common/pack/pack_part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "common/base/mem.h"
#include "common/pack/pack_tar.h"

enum {
    TRIAL_BYTES = 128 * 1024, /* so much of a part's beginning is compressed as a trial */
    TRIAL_GAIN = 32,          /* the part is compressed if that saves 1 in this many bytes */
    LEVEL = 1,
    THREADS = 2,             /* they compress while files are read */
    JOB_BYTES = 1024 * 1024, /* compressed at once by a thread; memory holds several of them */
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
    bool decided;      /* whether the form is chosen */
    struct buf trial;  /* the part's first bytes, until its form is chosen */
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

/* Compresses bytes into the sink; ZSTD_e_end ends the frame. */
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

/* Begins a frame that zstd's threads compress; the result does not depend on their number or speed.
 * zstd starts them in its first call, here an empty one; if it cannot, this thread compresses. */
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

static int add_stored(struct part_writer *w, const void *bytes, size_t n, struct err *e)
{
    return w->list.part.form == PACK_RAW ? store(w, bytes, n, e)
                                         : compress(w, bytes, n, ZSTD_e_continue, e);
}

static int decide(struct part_writer *w, struct err *e)
{
    size_t n = w->trial.n, room = ZSTD_compressBound(n);
    void *out = mem_resize(NULL, room, 1);
    size_t packed = ZSTD_compress(out, room, w->trial.bytes, n, LEVEL);
    bool shrinks = !ZSTD_isError(packed) && packed <= n - n / TRIAL_GAIN;
    int result = 0;

    free(out);
    w->decided = true;
    w->list.part.form = w->is_tar ? PACK_TAR : shrinks ? PACK_ZST : PACK_RAW;
    if (w->list.part.form != PACK_RAW)
        result = shrinks && n == TRIAL_BYTES
                     ? begin_frame_beside(w, e)
                     : begin_frame(w, shrinks ? LEVEL : ZSTD_minCLevel(), e);
    return result < 0 ? -1 : add_stored(w, w->trial.bytes, n, e);
}

/* Adds bytes to the part, before compression. */
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

static int add_zeros(struct part_writer *w, size_t n, struct err *e)
{
    static const uint8_t zeros[TAR_END_BYTES];

    return add_raw(w, zeros, n, e);
}

int part_writer_add(struct part_writer *w, const struct part_piece *piece, struct err *e)
{
    size_t n = piece->content.n;

    if (w->list.n == 0) {
        w->list = (struct pack_list){ .pieces = w->list.pieces };
        w->raw_bytes = 0;
        w->decided = false;
        buf_clear(&w->trial);
        w->n_out = 0;
        if (w->sink->part_begin(w->sink->context, w->slot, e) < 0)
            return -1;
    }
    mem_grow((void **)&w->list.pieces, &w->capacity, w->list.n, sizeof *w->list.pieces);
    w->list.pieces[w->list.n++] = (struct pack_piece){ piece->digest, (uint32_t)n };
    buf_clear(&w->header);
    if (w->is_tar)
        tar_add_header(&w->header, piece->path[0] != '\0' ? piece->path : "file", piece->executable,
                       n);
    if (add_raw(w, w->header.bytes, w->header.n, e) < 0 ||
        add_raw(w, piece->content.data, n, e) < 0)
        return -1;
    return w->is_tar ? add_zeros(w, tar_padding(n), e) : 0;
}

int part_writer_end(struct part_writer *w, struct pack_part *part, size_t *list_bytes,
                    struct err *e)
{
    struct buf list = { 0 };
    int result;

    if ((w->is_tar && add_zeros(w, TAR_END_BYTES, e) < 0) || (!w->decided && decide(w, e) < 0))
        return -1;
    if (w->list.part.form != PACK_RAW && compress(w, NULL, 0, ZSTD_e_end, e) < 0)
        return -1;
    if (store_out(w, e) < 0)
        return -1;
    pack_list_encode(&w->list, &list);
    *part = w->list.part;
    *list_bytes = list.n;
    result = w->sink->part_end(w->sink->context, w->slot, part, buf_bytes(&list), e);
    w->list.n = 0;
    buf_free(&list);
    return result;
}

enum { IN_BYTES = 256 * 1024, WINDOW_LOG_MAX = 23 };

struct part_reader {
    const struct pack_list *list;
    part_read_fn read;
    void *context;
    uint32_t next;       /* index of the next piece */
    uint64_t taken;      /* stored bytes read so far */
    uint8_t *in;         /* stored bytes, IN_BYTES of them */
    ZSTD_inBuffer stock; /* the bytes of in that are not unpacked yet */
    ZSTD_DCtx *zstd;
    bool frame_ended;
    struct buf piece;
};

struct part_reader *part_reader_create(void)
{
    struct part_reader *r = mem_alloc(sizeof *r);

    r->in = mem_resize(NULL, IN_BYTES, 1);
    return r;
}

void part_reader_destroy(struct part_reader *r)
{
    if (r == NULL)
        return;
    free(r->in);
    ZSTD_freeDCtx(r->zstd);
    buf_free(&r->piece);
    free(r);
}

void part_begin(struct part_reader *r, const struct pack_list *list, part_read_fn read,
                void *context)
{
    *r = (struct part_reader){ .list = list,
                               .read = read,
                               .context = context,
                               .in = r->in,
                               .stock = { r->in, 0, 0 },
                               .zstd = r->zstd,
                               .piece = r->piece };
    if (r->zstd != NULL)
        ZSTD_DCtx_reset(r->zstd, ZSTD_reset_session_only);
}

/* Sets e to an error that names the part, and returns -1. */
static int refuse_part(const struct part_reader *r, struct err *e, const char *what)
{
    char hex[DIGEST_HEX];

    digest_hex(&r->list->part.list, hex);
    if (r->list->part.form == PACK_IN_PLACE)
        return err_set(e, ERR_PROTOCOL, "%s, piece %" PRIu32 ": %s", r->list->path, r->next, what);
    return err_set(e, ERR_PROTOCOL, "part %s.%s is damaged, at piece %" PRIu32 ": %s", hex,
                   pack_form_names[r->list->part.form], r->next, what);
}

/* ---- stored bytes ---- */

/* Reads up to n stored bytes; gives their number, 0 at the end, or -1.  Reads at most one byte more
 * than the part should have, to find a part that is too long. */
static ssize_t take_stored(struct part_reader *r, void *bytes, size_t n, struct err *e)
{
    uint64_t left = r->list->part.stored_bytes - r->taken;
    ssize_t got;

    if (r->list->part.form == PACK_IN_PLACE && left < n)
        n = (size_t)left; /* a file in place may be longer than its part */
    else if (left + 1 < n)
        n = (size_t)left + 1;
    if (n == 0)
        return 0;
    got = r->read(r->context, bytes, n, e);
    if (got < 0)
        return -1;
    if ((uint64_t)got > left)
        return refuse_part(r, e, "more bytes than were declared");
    r->taken += (uint64_t)got;
    return got;
}

/* Unpacks until out is full, or the frame has ended. */
static int unpack_some(struct part_reader *r, ZSTD_outBuffer *out, struct err *e)
{
    if (r->zstd == NULL) {
        r->zstd = ZSTD_createDCtx();
        if (r->zstd == NULL ||
            ZSTD_isError(ZSTD_DCtx_setParameter(r->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
            return err_set(e, ERR_INTERNAL, "zstd does not work here");
    }
    while (!r->frame_ended && out->pos < out->size) {
        size_t before = out->pos, left;
        ssize_t more = 1;

        if (r->stock.pos == r->stock.size) {
            more = take_stored(r, r->in, IN_BYTES, e);
            if (more < 0)
                return -1;
            if (more > 0)
                r->stock = (ZSTD_inBuffer){ r->in, (size_t)more, 0 };
        }
        /* zstd may give more from its own buffer without new bytes. */
        left = ZSTD_decompressStream(r->zstd, out, &r->stock);
        if (ZSTD_isError(left))
            return refuse_part(r, e, ZSTD_getErrorName(left));
        r->frame_ended = left == 0;
        if (more == 0 && out->pos == before && !r->frame_ended)
            return refuse_part(r, e, "it ends too early");
    }
    return 0;
}

static bool is_packed(const struct part_reader *r)
{
    return r->list->part.form == PACK_TAR || r->list->part.form == PACK_ZST;
}

static int read_bytes(struct part_reader *r, uint8_t *bytes, size_t n, struct err *e)
{
    ZSTD_outBuffer out = { bytes, n, 0 };

    if (is_packed(r)) {
        if (unpack_some(r, &out, e) < 0)
            return -1;
        return out.pos == n ? 0 : refuse_part(r, e, "it unpacks to too few bytes");
    }
    while (n > 0) {
        ssize_t got = take_stored(r, bytes, n, e);

        if (got < 0)
            return -1;
        if (got == 0)
            return refuse_part(r, e, "it ends too early");
        bytes += got;
        n -= (size_t)got;
    }
    return 0;
}

/* ---- tar ---- */

static int read_zeros(struct part_reader *r, size_t n, struct err *e)
{
    static const uint8_t zeros[TAR_END_BYTES];
    uint8_t bytes[TAR_END_BYTES];

    if (n > 0 && read_bytes(r, bytes, n, e) < 0)
        return -1;
    return memcmp(bytes, zeros, n) == 0 ? 0 : refuse_part(r, e, "no zeros where they belong");
}

static int read_header(struct part_reader *r, char *type, uint64_t *size, struct err *e)
{
    uint8_t header[TAR_BLOCK_BYTES];
    struct err why = { 0 };

    if (read_bytes(r, header, sizeof header, e) < 0)
        return -1;
    return tar_read_header(header, type, size, &why) < 0 ? refuse_part(r, e, why.text) : 0;
}

static int enter_tar_entry(struct part_reader *r, uint32_t piece_size, struct err *e)
{
    uint8_t name[TAR_LONG_NAME_MAX];
    uint64_t size;
    char type;

    if (read_header(r, &type, &size, e) < 0)
        return -1;
    if (type == 'x') {
        if (size > sizeof name)
            return refuse_part(r, e, "a name that is too long");
        if (read_bytes(r, name, (size_t)size, e) < 0 || read_zeros(r, tar_padding(size), e) < 0 ||
            read_header(r, &type, &size, e) < 0)
            return -1;
    }
    if (type != '0' || size != piece_size)
        return refuse_part(r, e, "its header is not that of such a piece");
    return 0;
}

/* ---- pieces ---- */

static int read_end(struct part_reader *r, struct err *e)
{
    uint8_t byte;
    ZSTD_outBuffer out = { &byte, 1, 0 };
    ssize_t got;

    if (r->list->part.form == PACK_TAR && read_zeros(r, TAR_END_BYTES, e) < 0)
        return -1;
    /* The frame ends with a checksum, which comes after the last byte was unpacked. */
    if (is_packed(r) && unpack_some(r, &out, e) < 0)
        return -1;
    got = out.pos > 0 || r->stock.pos < r->stock.size ? 1 : take_stored(r, &byte, 1, e);
    if (got != 0)
        return got < 0 ? -1 : refuse_part(r, e, "something follows its end");
    if (r->taken != r->list->part.stored_bytes)
        return refuse_part(r, e, "fewer bytes than were declared");
    return 0;
}

int part_next(struct part_reader *r, struct bytes *content, struct err *e)
{
    bool is_tar = r->list->part.form == PACK_TAR;
    const struct pack_piece *piece;
    struct digest digest;

    if (r->next == r->list->n)
        return read_end(r, e);
    piece = &r->list->pieces[r->next];
    if (is_tar && enter_tar_entry(r, piece->size, e) < 0)
        return -1;
    buf_clear(&r->piece);
    if (read_bytes(r, buf_reserve(&r->piece, piece->size), piece->size, e) < 0)
        return -1;
    buf_added(&r->piece, piece->size);
    if (is_tar && read_zeros(r, tar_padding(piece->size), e) < 0)
        return -1;
    if (content != NULL) {
        digest_of(r->piece.bytes, piece->size, &digest);
        if (!digest_equal(&digest, &piece->digest))
            return refuse_part(r, e, "its content is not what it was");
        *content = buf_bytes(&r->piece);
    }
    r->next++;
    return 1;
}
