/* SPDX-License-Identifier: MIT */
/* send_queue.c - what was packed and is not sent yet */
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "client/pack/send_queue.h"
#include "client/util/spill.h"
#include "common/base/mem.h"

enum {
    RETURNED_BYTES = 128 * 1024, /* what is as large goes back to the system when it is freed */
    PIECES_MAX = 128 * 1024,
    FILE_BYTES = 48, /* what a file that was packed takes elsewhere, until all are */
    RESERVE_BYTES = 4 * 1024 * 1024, /* for what is known of that which is on the disk */
    RUN_BYTES = 1024 * 1024,         /* so much of that is one record */
    PIECE_BYTES = 256 * 1024,        /* it is handed on in such pieces */
    SPARES_MAX = 8,
    SPARE_FROM_BYTES = 64 * 1024,
    SPARE_MAX_BYTES = 256 * 1024 /* what was compressed comes in no more */
};

enum record_kind { PART_BEGIN, PART_WRITE, PART_SPILLED, PART_END, OBJECT, FILES };

struct record {
    struct record *next;
    enum record_kind kind;
    unsigned slot;
    struct pack_part part;
    enum pack_object object;
    struct digest name;
    uint64_t files, file_bytes; /* these are packed with it */
    uint64_t at;                /* PART_SPILLED: in the spill */
    size_t n, capacity;
    uint8_t bytes[];
};

struct send_queue {
    struct record *first, *last;
    struct record *spares; /* new memory costs more than what it is filled with */
    size_t n_spares;
    uint64_t bytes; /* in memory */
    struct spill *spill;
    uint64_t spilled_bytes; /* of that what waits */
    uint8_t *piece;         /* of what comes from there */
    uint64_t n_files;       /* ever */
    struct digest *pieces;
    size_t n_pieces, capacity;
};

/* By itself the C library keeps what was freed in the midst of other things, as soon as some of it
 * was as large as these. */
static void give_back_what_is_freed(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, RETURNED_BYTES);
#endif
}

struct send_queue *send_queue_create(void)
{
    struct send_queue *b = mem_alloc(sizeof *b);

    give_back_what_is_freed();
    *b = (struct send_queue){ .spill = spill_create(SEND_QUEUE_SPILL_BYTES) };
    return b;
}

static void free_all(struct record *r)
{
    struct record *next;

    for (; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
}

void send_queue_destroy(struct send_queue *b)
{
    if (b == NULL)
        return;
    free_all(b->first);
    free_all(b->spares);
    spill_destroy(b->spill);
    free(b->piece);
    free(b->pieces);
    free(b);
}

static uint64_t memory_room(const struct send_queue *b)
{
    uint64_t taken = b->bytes + b->n_files * FILE_BYTES + b->n_pieces * sizeof *b->pieces;
    bool is_full = taken >= SEND_QUEUE_MAX_BYTES || b->n_pieces >= PIECES_MAX;

    return is_full ? 0 : SEND_QUEUE_MAX_BYTES - taken;
}

uint64_t send_queue_room(const struct send_queue *b)
{
    uint64_t in_memory = memory_room(b), room = in_memory + spill_room(b->spill);

    if (in_memory == 0)
        return 0;
    return room < SEND_QUEUE_MAX_BYTES ? room : SEND_QUEUE_MAX_BYTES;
}

/* ---- in ---- */

static struct record *take_spare(struct send_queue *b, size_t n)
{
    struct record *r = b->spares;

    if (r == NULL || n < SPARE_FROM_BYTES || n > r->capacity)
        return NULL;
    b->spares = r->next;
    b->n_spares--;
    return r;
}

static void give_back(struct send_queue *b, struct record *r)
{
    if (r->capacity < SPARE_FROM_BYTES || r->capacity > SPARE_MAX_BYTES ||
        b->n_spares == SPARES_MAX) {
        free(r);
        return;
    }
    r->next = b->spares;
    b->spares = r;
    b->n_spares++;
}

static struct record *add_empty(struct send_queue *b, enum record_kind kind, size_t capacity)
{
    struct record *r = take_spare(b, capacity);

    if (r != NULL)
        capacity = r->capacity;
    else
        r = mem_resize(NULL, 1, sizeof *r + capacity);
    *r = (struct record){ .kind = kind, .capacity = capacity };
    if (b->last != NULL)
        b->last->next = r;
    else
        b->first = r;
    b->last = r;
    b->bytes += sizeof *r + capacity;
    return r;
}

static struct record *add(struct send_queue *b, enum record_kind kind, struct bytes bytes)
{
    struct record *r = add_empty(b, kind, bytes.n);

    r->n = bytes.n;
    if (bytes.n > 0)
        memcpy(r->bytes, bytes.data, bytes.n);
    return r;
}

/* What it keeps lies one behind the other. */
static bool goes_on(const struct record *r, unsigned slot)
{
    return r != NULL && r->kind == PART_SPILLED && r->slot == slot && r->n < RUN_BYTES;
}

static bool spill(struct send_queue *b, unsigned slot, struct bytes bytes)
{
    struct record *r = b->last;
    uint64_t at;

    if (!spill_keep(b->spill, bytes, &at))
        return false;
    if (!goes_on(r, slot)) {
        r = add_empty(b, PART_SPILLED, 0);
        r->slot = slot;
        r->at = at;
    }
    r->n += bytes.n;
    b->spilled_bytes += bytes.n;
    return true;
}

void send_queue_part_begin(struct send_queue *b, unsigned slot)
{
    add(b, PART_BEGIN, (struct bytes){ 0 })->slot = slot;
}

void send_queue_part_write(struct send_queue *b, unsigned slot, struct bytes bytes)
{
    if (memory_room(b) >= RESERVE_BYTES + bytes.n || !spill(b, slot, bytes))
        add(b, PART_WRITE, bytes)->slot = slot;
}

void send_queue_part_end(struct send_queue *b, unsigned slot, const struct pack_part *part,
                         struct bytes list)
{
    struct record *r = add(b, PART_END, list);

    r->slot = slot;
    r->part = *part;
}

void send_queue_object(struct send_queue *b, enum pack_object kind, const struct digest *name,
                       struct bytes bytes)
{
    struct record *r = add(b, OBJECT, bytes);

    r->object = kind;
    r->name = *name;
}

void send_queue_file(struct send_queue *b, uint64_t bytes)
{
    struct record *r = b->last;

    if (r == NULL)
        r = add(b, FILES, (struct bytes){ 0 });
    b->n_files++;
    r->files++;
    r->file_bytes += bytes;
}

/* ---- out ---- */

static struct record *take(struct send_queue *b)
{
    struct record *r = b->first;

    b->first = r->next;
    if (b->first == NULL)
        b->last = NULL;
    b->bytes -= sizeof *r + r->capacity;
    return r;
}

static int hand_on_spilled(struct send_queue *b, const struct record *r, const struct pack_sink *to,
                           struct err *e)
{
    int result = 0;

    if (b->piece == NULL)
        b->piece = mem_alloc(PIECE_BYTES);
    for (size_t done = 0, n; result == 0 && done < r->n; done += n) {
        n = r->n - done < PIECE_BYTES ? r->n - done : PIECE_BYTES;
        result = spill_read(b->spill, r->at + done, b->piece, n, e);
        if (result == 0)
            result = to->part_write(to->context, r->slot, (struct bytes){ b->piece, n }, e);
    }
    b->spilled_bytes -= r->n;
    if (b->spilled_bytes == 0)
        spill_clear(b->spill);
    return result;
}

static int hand_on(struct send_queue *b, const struct record *r, const struct pack_sink *to,
                   struct err *e)
{
    struct bytes bytes = { r->bytes, r->n };

    switch (r->kind) {
    case PART_BEGIN: return to->part_begin(to->context, r->slot, e);
    case PART_WRITE: return to->part_write(to->context, r->slot, bytes, e);
    case PART_SPILLED: return hand_on_spilled(b, r, to, e);
    case PART_END: return to->part_end(to->context, r->slot, &r->part, bytes, e);
    case OBJECT: return to->object(to->context, r->object, &r->name, bytes, e);
    case FILES: break;
    }
    return 0;
}

int send_queue_deliver(struct send_queue *b, const struct send_queue_sink *sink, struct err *e)
{
    int result = 0;

    while (result == 0 && b->first != NULL) {
        struct record *r = take(b);

        result = hand_on(b, r, &sink->to, e);
        if (result == 0 && r->files > 0)
            sink->files(sink->to.context, r->files, r->file_bytes);
        give_back(b, r);
    }
    return result;
}

/* ---- before it is known what is on the share ---- */

void send_queue_note_piece(struct send_queue *b, const struct digest *piece)
{
    mem_grow((void **)&b->pieces, &b->capacity, b->n_pieces, sizeof *b->pieces);
    b->pieces[b->n_pieces++] = *piece;
}

const struct digest *send_queue_pieces(const struct send_queue *b, size_t *n)
{
    *n = b->n_pieces;
    return b->pieces;
}

void send_queue_forget_pieces(struct send_queue *b)
{
    free(b->pieces);
    b->pieces = NULL;
    b->n_pieces = b->capacity = 0;
}

int send_queue_each_list(const struct send_queue *b,
                         int (*visit)(void *context, const struct pack_part *part,
                                      struct bytes list, struct err *e),
                         void *context, struct err *e)
{
    for (const struct record *r = b->first; r != NULL; r = r->next)
        if (r->kind == PART_END &&
            visit(context, &r->part, (struct bytes){ r->bytes, r->n }, e) < 0)
            return -1;
    return 0;
}
