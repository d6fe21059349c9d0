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
    size_t n_ended, n_objects, n_touched, n_empty;
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
    result = send_queue_part_write(f->q, slot, (struct bytes){ bytes, n }, &e);
    f->in[slot] += n;
    free(bytes);
    return result < 0 ? -1 : send_queue_progress(f->q, 1, n, &e);
}

static int end_part(struct flow *f, unsigned slot)
{
    const struct pack_part part = { .stored_bytes = f->in[slot] };

    return send_queue_part_end(f->q, slot, &part, (struct bytes){ (const uint8_t *)"list", 4 },
                               NULL);
}

static void *fill(void *context)
{
    struct flow *f = context;
    static const struct digest name;
    int result = 0;

    if (send_queue_part_begin(f->q, 0, NULL) < 0 || send_queue_part_begin(f->q, 1, NULL) < 0)
        result = -1;
    for (size_t i = 0; i < f->n_small && result == 0; i++)
        result = add_file(f, 0, FILE_BYTES);
    for (size_t i = 0; i < f->n_large && result == 0; i++)
        result = add_file(f, 1, 3 * MIB);
    if (result == 0 && f->ends_with == NULL &&
        (end_part(f, 0) < 0 || end_part(f, 1) < 0 || send_queue_touch(f->q, "parts/x", NULL) < 0 ||
         send_queue_object(f->q, PACK_MANIFEST, &name, (struct bytes){ name.bytes, 7 }, NULL) < 0))
        result = -1;
    f->was_stopped = result < 0;
    send_queue_end(f->q, f->ends_with);
    return NULL;
}

static int on_begin(void *context, unsigned slot, struct err *e)
{
    struct flow *f = context;

    (void)e;
    assert_false(f->is_open[slot]);
    f->is_open[slot] = true;
    return 0;
}

static int on_write(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    struct flow *f = context;

    assert_true(f->is_open[slot]);
    if (f->fails_at > 0 && f->out[0] >= f->fails_at)
        return err_set(e, ERR_NO_SPACE, "full");
    for (size_t i = 0; i < bytes.n; i++)
        if (bytes.data[i] != byte_at(slot, f->out[slot] + i))
            fail_msg("slot %u, byte %ju", slot, (uintmax_t)(f->out[slot] + i));
    f->out[slot] += bytes.n;
    return 0;
}

static int on_end(void *context, unsigned slot, const struct pack_part *part, struct bytes list,
                  struct err *e)
{
    struct flow *f = context;

    (void)e;
    assert_true(f->is_open[slot]);
    assert_int_equal(f->out[slot], part->stored_bytes);
    assert_int_equal(list.n, 4);
    assert_memory_equal(list.data, "list", 4);
    f->is_open[slot] = false;
    f->n_ended++;
    return 0;
}

static int on_object(void *context, enum pack_object kind, const struct digest *name,
                     struct bytes bytes, struct err *e)
{
    struct flow *f = context;

    (void)e;
    assert_int_equal(kind, PACK_MANIFEST);
    assert_true(digest_is_zero(name));
    assert_int_equal(bytes.n, 7);
    assert_int_equal(f->n_touched, 1);
    f->n_objects++;
    return 0;
}

static int on_touch(void *context, const char *path, struct err *e)
{
    struct flow *f = context;

    (void)e;
    assert_string_equal(path, "parts/x");
    assert_int_equal(f->n_ended, 2);
    f->n_touched++;
    return 0;
}

static void on_progress(void *context, uint64_t files, uint64_t bytes)
{
    struct flow *f = context;

    f->files_out += files;
    f->file_bytes_out += bytes;
}

static void on_empty(void *context)
{
    struct flow *f = context;

    f->n_empty++;
}

static int run_flow(struct flow *f, struct err *e)
{
    const struct send_queue_sink sink = { .to = { .context = f,
                                                  .part_begin = on_begin,
                                                  .part_write = on_write,
                                                  .part_end = on_end,
                                                  .object = on_object },
                                          .touch = on_touch,
                                          .progress = on_progress,
                                          .empty = on_empty };
    pthread_t thread;
    int result;

    f->q = send_queue_create();
    assert_int_equal(pthread_create(&thread, NULL, fill, f), 0);
    result = send_queue_deliver(f->q, &sink, e);
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
    assert_int_equal(send_queue_part_begin(q, 0, &e), 0);
    send_queue_stop(q);
    assert_int_equal(send_queue_part_begin(q, 1, &e), -1);
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
