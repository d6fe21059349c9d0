/* SPDX-License-Identifier: MIT */
/* send_queue.c - tests of what waits until it can be sent */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "client/pack/send_queue.h"
#include "common/base/mem.h"
#include "tests/unit/disk.h"

enum { MIB = 1024 * 1024, FILE_BYTES = 8 * 1024 };

/* What comes out, and what was put in. */
struct flow {
    struct send_queue *b;
    uint64_t in[PACK_SLOTS], out[PACK_SLOTS]; /* bytes of the part */
    bool is_open[PACK_SLOTS];
    size_t n_ended;
    uint64_t files_in, files_out, file_bytes_out;
    uint64_t meanwhile_from;  /* from that byte of the first part on, */
    size_t meanwhile;         /* so many files are added while it is delivered, */
    size_t meanwhile_at_once; /* so many at a time */
    bool fails;               /* there */
};

static uint8_t byte_at(unsigned slot, uint64_t at)
{
    return (uint8_t)((at * 2654435761u >> 16) + slot * 77);
}

static void add_file(struct flow *f, unsigned slot, size_t n)
{
    uint8_t *bytes = mem_alloc(n);

    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(slot, f->in[slot] + i);
    send_queue_part_write(f->b, slot, (struct bytes){ bytes, n });
    f->in[slot] += n;
    free(bytes);
    send_queue_file(f->b, n);
    f->files_in++;
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

    (void)e;
    assert_true(f->is_open[slot]);
    if (f->fails && f->out[0] >= f->meanwhile_from)
        return -1;
    for (size_t i = 0;
         i < f->meanwhile_at_once && f->meanwhile > 0 && f->out[0] >= f->meanwhile_from; i++) {
        f->meanwhile--;
        add_file(f, slot, FILE_BYTES);
    }
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

static void on_files(void *context, uint64_t n, uint64_t bytes)
{
    struct flow *f = context;

    f->files_out += n;
    f->file_bytes_out += bytes;
    assert_in_range(f->file_bytes_out, 0, f->out[0] + f->out[1]);
}

static void end_part(struct flow *f, unsigned slot)
{
    const struct pack_part part = { .stored_bytes = f->in[slot] };

    send_queue_part_end(f->b, slot, &part, (struct bytes){ (const uint8_t *)"list", 4 });
}

static struct send_queue_sink sink_of(struct flow *f)
{
    return (struct send_queue_sink){
        .to = { .context = f, .part_begin = on_begin, .part_write = on_write, .part_end = on_end },
        .files = on_files
    };
}

static void deliver(struct flow *f)
{
    const struct send_queue_sink sink = sink_of(f);

    assert_int_equal(send_queue_deliver(f->b, &sink, NULL), 0);
    assert_int_equal(f->out[0], f->in[0]);
    assert_int_equal(f->out[1], f->in[1]);
    assert_int_equal(f->files_out, f->files_in);
    assert_int_equal(f->file_bytes_out, f->in[0] + f->in[1]);
}

/* Small files in one part, and some large ones in the other. */
static void fill(struct flow *f)
{
    send_queue_part_begin(f->b, 0);
    send_queue_part_begin(f->b, 1);
    while (send_queue_room(f->b) > 0) {
        bool is_large = f->files_in % 1000 == 999;

        add_file(f, is_large, is_large ? 3 * MIB : FILE_BYTES);
    }
}

static void more_than_memory_may_have_comes_out_in_order(void **state)
{
    struct flow f = { .b = send_queue_create() };

    (void)state;
    fill(&f);
    assert_in_range(f.in[0] + f.in[1], SEND_QUEUE_SPILL_BYTES + SEND_QUEUE_MAX_BYTES / 2,
                    SEND_QUEUE_SPILL_BYTES + SEND_QUEUE_MAX_BYTES + 4 * MIB);
    end_part(&f, 0);
    end_part(&f, 1);
    deliver(&f);
    assert_int_equal(f.n_ended, 2);
    assert_in_range(send_queue_room(f.b), SEND_QUEUE_MAX_BYTES / 2, SEND_QUEUE_MAX_BYTES);
    send_queue_destroy(f.b);
}

static void begin_with_much(struct flow *f)
{
    send_queue_part_begin(f->b, 0);
    while (f->in[0] < SEND_QUEUE_MAX_BYTES + 10 * MIB)
        add_file(f, 0, FILE_BYTES);
}

/* Some of it goes to memory, and some to the disk while what lies there is handed on. */
static void what_is_added_while_it_is_delivered_comes_last(void **state)
{
    struct flow f = { .b = send_queue_create(),
                      .meanwhile_from = SEND_QUEUE_MAX_BYTES + 2 * MIB,
                      .meanwhile = 6000,
                      .meanwhile_at_once = 4000 };

    (void)state;
    begin_with_much(&f);
    deliver(&f);
    assert_int_equal(f.meanwhile, 0);
    end_part(&f, 0);
    deliver(&f);
    assert_int_equal(f.n_ended, 1);
    send_queue_destroy(f.b);
}

static void an_error_in_the_midst_is_told(void **state)
{
    struct flow f = { .b = send_queue_create(),
                      .meanwhile_from = SEND_QUEUE_MAX_BYTES + 2 * MIB,
                      .fails = true };
    const struct send_queue_sink sink = sink_of(&f);

    (void)state;
    begin_with_much(&f);
    assert_int_equal(send_queue_deliver(f.b, &sink, NULL), -1);
    assert_in_range(f.out[0], f.meanwhile_from, f.in[0] - MIB);
    send_queue_destroy(f.b);
}

static void without_a_disk_memory_has_to_do(void **state)
{
    struct flow f = { 0 };

    (void)state;
    assert_int_equal(setenv("TMPDIR", "/dev/null", 1), 0);
    f.b = send_queue_create();
    fill(&f);
    use_disk(NULL);
    assert_in_range(f.in[0] + f.in[1], SEND_QUEUE_MAX_BYTES / 2, SEND_QUEUE_MAX_BYTES + 4 * MIB);
    end_part(&f, 0);
    end_part(&f, 1);
    deliver(&f);
    assert_int_equal(f.n_ended, 2);
    send_queue_destroy(f.b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_memory_may_have_comes_out_in_order),
        cmocka_unit_test(what_is_added_while_it_is_delivered_comes_last),
        cmocka_unit_test(an_error_in_the_midst_is_told),
        cmocka_unit_test(without_a_disk_memory_has_to_do),
    };

    return cmocka_run_group_tests(tests, use_disk, NULL);
}
