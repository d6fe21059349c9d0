/* SPDX-License-Identifier: MIT */
/* send_queue.c - tests of what waits between the thread that packs and the one that sends */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/pack/send_queue.h"
#include "common/base/mem.h"

enum { MIB = 1024 * 1024, FILE_BYTES = 8 * 1024, N_SMALL = 20000, N_LARGE = 30, FOREVER = 1 << 30 };

/* What a thread puts in, and what comes out. */
struct flow {
    struct send_queue *q;
    size_t n_small, n_large;     /* files that are put in, into slots 0 and 1 */
    const struct err *ends_with; /* or NULL */
    uint64_t in[PACK_SLOTS];     /* bytes of the part */
    bool was_stopped;            /* as the thread was told */
    uint64_t out[PACK_SLOTS];
    bool is_open[PACK_SLOTS];
    size_t n_ended, n_objects, n_touched;
    uint64_t files_out, file_bytes_out;
    uint64_t fails_at; /* byte of the first part; 0: nowhere */
};

static uint8_t byte_at(unsigned slot, uint64_t at)
{
    return (uint8_t)((at * 2654435761u >> 16) + slot * 77);
}

static int add_file(struct flow *f, unsigned slot, size_t n)
{
    uint8_t *bytes = mem_alloc(n);
    struct err e = { 0 };
    int result;

    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(slot, f->in[slot] + i);
    result = send_queue_add(
        f->q, &(struct send_record){ .kind = SEND_PART_WRITE, .slot = slot, .bytes = { bytes, n } },
        &e);
    f->in[slot] += n;
    free(bytes);
    return result < 0 ? -1 : send_queue_progress(f->q, 1, n, &e);
}

static int end_part(struct flow *f, unsigned slot)
{
    const struct send_record r = { .kind = SEND_PART_END,
                                   .slot = slot,
                                   .part = { .stored_bytes = f->in[slot] },
                                   .bytes = { (const uint8_t *)"list", 4 } };

    return send_queue_add(f->q, &r, NULL);
}

static int begin_part(struct send_queue *q, unsigned slot)
{
    return send_queue_add(q, &(struct send_record){ .kind = SEND_PART_BEGIN, .slot = slot }, NULL);
}

static void *fill(void *context)
{
    static const struct send_record touch = { .kind = SEND_TOUCH,
                                              .bytes = { (const uint8_t *)"parts/x", 8 } };
    static const struct send_record manifest = { .kind = SEND_OBJECT,
                                                 .object = PACK_MANIFEST,
                                                 .bytes = { (const uint8_t *)"content", 7 } };
    struct flow *f = context;
    int result = 0;

    if (begin_part(f->q, 0) < 0 || begin_part(f->q, 1) < 0)
        result = -1;
    for (size_t i = 0; i < f->n_small && result == 0; i++)
        result = add_file(f, 0, FILE_BYTES);
    for (size_t i = 0; i < f->n_large && result == 0; i++)
        result = add_file(f, 1, 3 * MIB);
    if (result == 0 && f->ends_with == NULL &&
        (end_part(f, 0) < 0 || end_part(f, 1) < 0 || send_queue_add(f->q, &touch, NULL) < 0 ||
         send_queue_add(f->q, &manifest, NULL) < 0))
        result = -1;
    f->was_stopped = result < 0;
    send_queue_end(f->q, f->ends_with);
    return NULL;
}

static int take_bytes(struct flow *f, const struct send_record *r, struct err *e)
{
    assert_true(f->is_open[r->slot]);
    if (f->fails_at > 0 && f->out[0] >= f->fails_at)
        return err_set(e, ERR_NO_SPACE, "full");
    for (size_t i = 0; i < r->bytes.n; i++)
        if (r->bytes.data[i] != byte_at(r->slot, f->out[r->slot] + i))
            fail_msg("slot %u, byte %ju", r->slot, (uintmax_t)(f->out[r->slot] + i));
    f->out[r->slot] += r->bytes.n;
    return 0;
}

static int take_record(struct flow *f, const struct send_record *r, struct err *e)
{
    f->files_out += r->files;
    f->file_bytes_out += r->file_bytes;
    switch (r->kind) {
    case SEND_PART_BEGIN:
        assert_false(f->is_open[r->slot]);
        f->is_open[r->slot] = true;
        break;
    case SEND_PART_WRITE: return take_bytes(f, r, e);
    case SEND_PART_END:
        assert_true(f->is_open[r->slot]);
        assert_int_equal(f->out[r->slot], r->part.stored_bytes);
        assert_int_equal(r->bytes.n, 4);
        assert_memory_equal(r->bytes.data, "list", 4);
        f->is_open[r->slot] = false;
        f->n_ended++;
        break;
    case SEND_OBJECT:
        assert_int_equal(r->object, PACK_MANIFEST);
        assert_true(digest_is_zero(&r->name));
        assert_int_equal(r->bytes.n, 7);
        assert_memory_equal(r->bytes.data, "content", 7);
        assert_int_equal(f->n_touched, 1);
        f->n_objects++;
        break;
    case SEND_TOUCH:
        assert_string_equal(r->bytes.data, "parts/x");
        assert_int_equal(f->n_ended, 2);
        f->n_touched++;
        break;
    case SEND_PROGRESS: break;
    }
    return 0;
}

static int run_flow(struct flow *f, struct err *e)
{
    struct send_record *r;
    pthread_t thread;
    int result = 0;

    f->q = send_queue_create();
    assert_null(send_queue_take(f->q, false));
    assert_int_equal(pthread_create(&thread, NULL, fill, f), 0);
    while (result == 0 && (r = send_queue_take(f->q, true)) != NULL) {
        result = take_record(f, r, e);
        free(r);
    }
    if (result == 0)
        result = send_queue_check(f->q, e);
    send_queue_stop(f->q);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return result;
}

static void more_than_it_holds_comes_out_in_order(void **state)
{
    struct flow f = { .n_small = N_SMALL, .n_large = N_LARGE };
    struct err e = { 0 };

    (void)state;
    if (run_flow(&f, &e) < 0)
        fail_msg("%s", e.text);
    assert_true(f.in[0] + f.in[1] > 8 * (uint64_t)SEND_QUEUE_MAX_BYTES);
    assert_int_equal(f.out[0], f.in[0]);
    assert_int_equal(f.out[1], f.in[1]);
    assert_int_equal(f.n_ended, 2);
    assert_int_equal(f.n_objects, 1);
    assert_int_equal(f.files_out, N_SMALL + N_LARGE);
    assert_int_equal(f.file_bytes_out, f.in[0] + f.in[1]);
    assert_false(f.was_stopped);
    send_queue_destroy(f.q);
}

static void an_error_of_the_sender_ends_the_packing(void **state)
{
    struct flow f = { .n_small = FOREVER, .fails_at = 3 * MIB };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(run_flow(&f, &e), -1);
    assert_int_equal(e.kind, ERR_NO_SPACE);
    assert_string_equal(e.text, "full");
    assert_true(f.was_stopped);
    /* It never held more than it may. */
    assert_true(f.in[0] <= f.out[0] + SEND_QUEUE_MAX_BYTES + 2 * FILE_BYTES);
    send_queue_destroy(f.q);
}

static void an_error_of_the_packing_is_told_behind_what_came_before(void **state)
{
    const struct err why = { .kind = ERR_FAILED, .text = "it was changed" };
    struct flow f = { .n_small = N_SMALL / 4, .ends_with = &why };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(run_flow(&f, &e), -1);
    assert_int_equal(e.kind, ERR_FAILED);
    assert_string_equal(e.text, "it was changed");
    assert_int_equal(f.out[0], f.in[0]);
    assert_int_equal(f.n_ended, 0);
    send_queue_destroy(f.q);
}

static void what_nobody_takes_is_freed(void **state)
{
    struct send_queue *q = send_queue_create();
    struct err e = { 0 };

    (void)state;
    assert_int_equal(send_queue_progress(q, 1, 2, &e), 0);
    assert_int_equal(begin_part(q, 0), 0);
    send_queue_stop(q);
    assert_int_equal(begin_part(q, 1), -1);
    send_queue_destroy(q);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_it_holds_comes_out_in_order),
        cmocka_unit_test(an_error_of_the_sender_ends_the_packing),
        cmocka_unit_test(an_error_of_the_packing_is_told_behind_what_came_before),
        cmocka_unit_test(what_nobody_takes_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
