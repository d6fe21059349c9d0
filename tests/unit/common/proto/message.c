/* SPDX-License-Identifier: MIT */
/* message.c - whole messages over a byte stream */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/proto/message.h"

static void add_frame(struct buf *out, const void *bytes, size_t n)
{
    size_t mark = frame_begin(out);
    struct err e = { 0 };

    buf_add(out, bytes, n);
    assert_int_equal(frame_end(out, mark, &e), 0);
}

static void a_frame_is_its_length_in_four_bytes_and_its_content(void **state)
{
    struct buf out = { 0 };

    (void)state;
    buf_add_str(&out, "before");
    add_frame(&out, "abc", 3);
    assert_int_equal(out.n, 13);
    assert_memory_equal(out.bytes, "before\0\0\0\3abc", 13);
    buf_free(&out);
}

static void fill(struct buf *content, size_t n, size_t seed)
{
    buf_clear(content);
    for (size_t i = 0; i < n; i++)
        buf_add_char(content, (char)(i * 31 + seed));
}

static size_t nth_size(size_t i)
{
    return i % 7 == 6 ? 3000 + i : i * i % 97;
}

/* Takes all whole frames and checks that they are the next ones. */
static size_t take_frames(struct frame_reader *r, size_t first, struct buf *expected)
{
    struct bytes frame;
    struct err e = { 0 };
    int more;

    while ((more = frame_next(r, &frame, &e)) == 1) {
        fill(expected, nth_size(first), first);
        assert_int_equal(frame.n, expected->n);
        assert_memory_equal(frame.data, expected->bytes, frame.n);
        first++;
    }
    assert_int_equal(more, 0);
    return first;
}

static void frames_come_out_whole_however_the_stream_was_cut(void **state)
{
    enum { FRAMES = 60 };
    struct buf stream = { 0 }, content = { 0 };

    (void)state;
    for (size_t i = 0; i < FRAMES; i++) {
        fill(&content, nth_size(i), i);
        add_frame(&stream, content.bytes, content.n);
    }
    for (size_t piece = 1; piece < stream.n; piece += piece < 70 ? 1 : piece / 3) {
        struct frame_reader r = { 0 };
        size_t taken = 0;

        for (size_t at = 0; at < stream.n; at += piece) {
            size_t n = stream.n - at < piece ? stream.n - at : piece;

            frame_feed(&r, stream.bytes + at, n);
            taken = take_frames(&r, taken, &content);
        }
        assert_int_equal(taken, FRAMES);
        frame_reader_free(&r);
    }
    buf_free(&stream);
    buf_free(&content);
}

static void a_frame_lies_in_the_reader_without_being_copied(void **state)
{
    struct frame_reader r = { 0 };
    struct bytes frame;

    (void)state;
    frame_feed(&r, "\0\0\0\2ab\0\0\0\0", 10);
    assert_int_equal(frame_next(&r, &frame, NULL), 1);
    assert_ptr_equal(frame.data, r.in.bytes + 4);
    assert_int_equal(frame_next(&r, &frame, NULL), 1);
    assert_int_equal(frame.n, 0);
    assert_int_equal(frame_next(&r, &frame, NULL), 0);
    frame_reader_free(&r);
}

static void half_a_frame_is_none_yet(void **state)
{
    struct frame_reader r = { 0 };
    struct bytes frame;

    (void)state;
    assert_int_equal(frame_next(&r, &frame, NULL), 0);
    frame_feed(&r, "\0\0\0", 3);
    assert_int_equal(frame_next(&r, &frame, NULL), 0);
    frame_feed(&r, "\2a", 2);
    assert_int_equal(frame_next(&r, &frame, NULL), 0);
    frame_feed(&r, "b", 1);
    assert_int_equal(frame_next(&r, &frame, NULL), 1);
    frame_reader_free(&r);
}

static void a_promise_of_too_much_is_refused_and_stays_refused(void **state)
{
    static const struct {
        size_t max_bytes;
        const char *head;
        int result;
    } cases[] = {
        { 0, "\1\0\0\0", 0 }, { 0, "\1\0\0\1", -1 }, { 0, "\xff\xff\xff\xff", -1 },
        { 5, "\0\0\0\5", 0 }, { 5, "\0\0\0\6", -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct frame_reader r = { .max_bytes = cases[i].max_bytes };
        struct err e = { 0 };
        struct bytes frame;

        frame_feed(&r, cases[i].head, 4);
        assert_int_equal(frame_next(&r, &frame, &e), cases[i].result);
        assert_int_equal(e.kind, cases[i].result < 0 ? ERR_PROTOCOL : ERR_NONE);
        frame_feed(&r, "abcd", 4);
        assert_int_equal(frame_next(&r, &frame, &e), cases[i].result);
        frame_reader_free(&r);
    }
}

static void memory_grows_with_what_came_not_with_what_was_promised(void **state)
{
    struct frame_reader r = { 0 };
    struct bytes frame;

    (void)state;
    frame_feed(&r, "\1\0\0\0only a little", 17);
    assert_int_equal(frame_next(&r, &frame, NULL), 0);
    assert_in_range(r.in.capacity, 17, 1024);
    frame_reader_free(&r);
}

static void a_reader_that_has_nothing_left_gives_large_memory_back(void **state)
{
    struct frame_reader r = { 0 };
    struct buf stream = { 0 }, content = { 0 };
    struct bytes frame;

    (void)state;
    fill(&content, 1000000, 1);
    add_frame(&stream, content.bytes, content.n);
    frame_feed(&r, stream.bytes, stream.n);
    assert_int_equal(frame_next(&r, &frame, NULL), 1);
    assert_memory_equal(frame.data, content.bytes, content.n);
    assert_int_equal(frame_next(&r, &frame, NULL), 0);
    assert_in_range(r.in.capacity, 0, 100000);
    frame_reader_free(&r);
    buf_free(&stream);
    buf_free(&content);
}

/* Frames that are taken one by one while others keep coming: memory must not
 * grow with all that ever came, nor each frame move all that wait behind it. */
static void many_small_frames_cost_neither_memory_nor_time(void **state)
{
    enum { WAITING = 10000, ROUNDS = 400000, BYTES = 8 };
    struct frame_reader r = { 0 };
    struct bytes frame;
    size_t moved_bytes = 0;

    (void)state;
    for (size_t i = 0; i < WAITING + ROUNDS; i++) {
        size_t used = r.used;

        frame_feed(&r, "\0\0\0\4abcd", BYTES);
        if (used > 0 && r.used == 0)
            moved_bytes += r.in.n - BYTES;
        if (i < WAITING)
            continue;
        assert_int_equal(frame_next(&r, &frame, NULL), 1);
        assert_memory_equal(frame.data, "abcd", 4);
    }
    assert_in_range(r.in.capacity, WAITING * BYTES, 6 * WAITING * BYTES);
    assert_in_range(moved_bytes, 1, (WAITING + ROUNDS) * BYTES);
    frame_reader_free(&r);
}

static void a_message_too_long_for_a_frame_is_taken_back(void **state)
{
    struct buf out = { 0 };
    struct err e = { 0 };
    size_t mark;

    (void)state;
    add_frame(&out, "abc", 3);
    mark = frame_begin(&out);
    memset(buf_reserve(&out, FRAME_MAX_BYTES + 1), 0, FRAME_MAX_BYTES + 1);
    buf_added(&out, FRAME_MAX_BYTES + 1);
    assert_int_equal(frame_end(&out, mark, &e), -1);
    assert_int_equal(e.kind, ERR_PROTOCOL);
    assert_int_equal(out.n, 7);
    assert_int_equal(out.bytes[7], 0);
    mark = frame_begin(&out);
    buf_added(&out, FRAME_MAX_BYTES);
    assert_int_equal(frame_end(&out, mark, &e), 0);
    assert_memory_equal(out.bytes + mark, "\1\0\0\0", 4);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_its_length_in_four_bytes_and_its_content),
        cmocka_unit_test(frames_come_out_whole_however_the_stream_was_cut),
        cmocka_unit_test(a_frame_lies_in_the_reader_without_being_copied),
        cmocka_unit_test(half_a_frame_is_none_yet),
        cmocka_unit_test(a_promise_of_too_much_is_refused_and_stays_refused),
        cmocka_unit_test(memory_grows_with_what_came_not_with_what_was_promised),
        cmocka_unit_test(a_reader_that_has_nothing_left_gives_large_memory_back),
        cmocka_unit_test(many_small_frames_cost_neither_memory_nor_time),
        cmocka_unit_test(a_message_too_long_for_a_frame_is_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
