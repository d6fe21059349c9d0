/* SPDX-License-Identifier: MIT */
/* chan.c - tests of channels on a loop and of the blocking end, over a socket pair */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/proto/chan.h"
#include "common/proto/proto.h"

struct end {
    uv_loop_t loop;
    struct chan *chan;
    struct wire peer;
    struct arena *arena;
    int n_messages;
    int n_growing;
    int n_drained;
    int n_closed;
    int take; /* messages to pull at a time */
    struct err why;
};

static void on_readable(void *context, struct chan *c)
{
    struct end *end = context;
    struct envelope m;
    struct err e = { 0 };

    for (int i = 0; i < end->take && chan_next(c, end->arena, &m, &e) == 1; i++)
        end->n_messages++;
    if (e.kind != ERR_NONE)
        end->why = e;
}

static void on_drained(void *context, struct chan *c)
{
    (void)c;
    ((struct end *)context)->n_drained++;
}

static void on_growing(void *context, struct chan *c)
{
    (void)c;
    ((struct end *)context)->n_growing++;
}

static void on_closed(void *context, struct chan *c, const struct err *why)
{
    struct end *end = context;

    (void)c;
    end->n_closed++;
    end->why = *why;
}

static int set_up(void **state)
{
    static const struct chan_events events = { on_readable, on_drained, on_closed, on_growing };
    struct end *end = mem_alloc(sizeof *end);
    int fds[2];

    signal(SIGPIPE, SIG_IGN);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -1;
    uv_loop_init(&end->loop);
    end->arena = arena_create();
    end->take = 1000;
    end->chan = chan_create(&end->loop, fds[0], &proto, &events, end, 1 << 20, NULL);
    wire_init(&end->peer, fds[1], &proto);
    *state = end;
    return end->chan == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    struct end *end = *state;

    chan_destroy(end->chan);
    uv_run(&end->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&end->loop), 0);
    wire_close(&end->peer);
    arena_destroy(end->arena);
    free(end);
    return 0;
}

/* Turns of the loop until nothing happens any more. */
static void run(struct end *end)
{
    for (int i = 0; i < 50; i++)
        uv_run(&end->loop, UV_RUN_NOWAIT);
}

static void test_messages_arrive_whole_and_are_answered(void **state)
{
    struct end *end = *state;
    struct msg_get_nodes ask = { 5 };
    struct msg_ok ok = { true };
    struct envelope m;
    int64_t seq = wire_send(&end->peer, MSG_GET_NODES, 0, NULL, &ask, NULL);

    run(end);
    assert_int_equal(end->n_messages, 1);
    assert_int_equal(chan_send(end->chan, MSG_OK, seq, NULL, &ok, NULL), 1);
    assert_int_equal(wire_receive(&end->peer, &m, NULL), 1);
    assert_int_equal(m.type, MSG_OK);
    assert_int_equal(m.re, seq);
}

static void test_a_frame_in_pieces_waits_for_its_last_byte(void **state)
{
    struct end *end = *state;
    struct msg_get_nodes ask = { 5 };
    struct buf frame = { 0 };

    message_add(&frame, &proto, MSG_GET_NODES, 1, 0, NULL, &ask, NULL);
    for (size_t i = 0; i < frame.n; i++) {
        run(end);
        assert_int_equal(end->n_messages, 0);
        assert_int_equal(end->n_growing, i);
        assert_int_equal(chan_input_bytes(end->chan), i);
        assert_int_equal(write(end->peer.fd, frame.bytes + i, 1), 1);
    }
    run(end);
    assert_int_equal(end->n_messages, 1);
    assert_int_equal(chan_input_bytes(end->chan), 0);
    buf_free(&frame);
}

static void test_the_end_is_told_once_and_not_inside_a_call(void **state)
{
    struct end *end = *state;
    struct msg_ok ok = { true };

    close(end->peer.fd);
    end->peer.fd = -1;
    chan_send(end->chan, MSG_OK, 1, NULL, &ok, NULL);
    assert_int_equal(end->n_closed, 0);
    run(end);
    assert_int_equal(end->n_closed, 1);
    assert_int_equal(chan_send(end->chan, MSG_OK, 1, NULL, &ok, NULL), -1);
}

static void test_a_peer_that_does_not_read_is_cut_off(void **state)
{
    struct end *end = *state;
    char *text = mem_alloc(2001);
    struct msg_error big = { ERR_FAILED, text };
    int sent = 0;

    memset(text, 'x', 2000);
    while (sent < 10000 && chan_send(end->chan, MSG_ERROR, 1, NULL, &big, NULL) > 0)
        sent++;
    run(end);
    assert_int_equal(end->n_closed, 1);
    assert_int_equal(end->why.kind, ERR_BUSY);
    assert_in_range(sent, 400, 1000);
    free(text);
}

static void test_what_was_queued_goes_out_before_a_finished_channel_ends(void **state)
{
    struct end *end = *state;
    struct msg_error message = { ERR_FAILED, "good bye" };
    struct envelope m;

    for (int i = 0; i < 100; i++)
        chan_send(end->chan, MSG_ERROR, 1, NULL, &message, NULL);
    chan_finish(end->chan);
    run(end);
    assert_int_equal(end->n_closed, 1);
    assert_int_equal(end->why.kind, ERR_NONE);
    chan_destroy(end->chan);
    end->chan = NULL;
    run(end);
    for (int i = 0; i < 100; i++)
        assert_int_equal(wire_receive(&end->peer, &m, NULL), 1);
    assert_int_equal(wire_receive(&end->peer, &m, NULL), 0);
}

static void test_a_peer_that_says_too_much_has_to_wait(void **state)
{
    struct end *end = *state;
    char text[2001] = { 0 };
    struct msg_error big = { ERR_FAILED, text };
    struct buf frames = { 0 };
    size_t sent = 0;

    memset(text, 'x', 2000);
    end->take = 0;
    for (int i = 0; i < 2000; i++)
        message_add(&frames, &proto, MSG_ERROR, i + 1, 0, NULL, &big, NULL);
    while (sent < frames.n) {
        ssize_t n = send(end->peer.fd, frames.bytes + sent, frames.n - sent, MSG_DONTWAIT);

        run(end);
        if (n < 0)
            break;
        sent += (size_t)n;
    }
    assert_true(sent < frames.n);
    assert_true(sent < 1 << 21);
    buf_free(&frames);
}

static void test_input_that_is_dropped_is_read_and_forgotten(void **state)
{
    static const char zeroes[64 * 1024];
    struct end *end = *state;
    struct msg_get_nodes ask = { 5 };
    struct msg_ok ok = { true };
    struct envelope m;

    wire_send(&end->peer, MSG_GET_NODES, 0, NULL, &ask, NULL);
    end->take = 0;
    run(end);
    assert_true(chan_has_next(end->chan));
    chan_drop_input(end->chan);
    assert_false(chan_has_next(end->chan));
    for (int i = 0; i < 100; i++) {
        assert_int_equal(write(end->peer.fd, zeroes, sizeof zeroes), sizeof zeroes);
        run(end);
        assert_int_equal(chan_input_bytes(end->chan), 0);
    }
    chan_send(end->chan, MSG_OK, 1, NULL, &ok, NULL);
    assert_int_equal(wire_receive(&end->peer, &m, NULL), 1);
    assert_int_equal(end->n_messages, 0);
}

static void test_nonsense_is_an_error_for_the_one_who_pulls(void **state)
{
    struct end *end = *state;

    assert_int_equal(write(end->peer.fd, "\0\0\0\3abc", 7), 7);
    run(end);
    assert_int_equal(end->n_messages, 0);
    assert_int_equal(end->why.kind, ERR_PROTOCOL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_messages_arrive_whole_and_are_answered),
        TEST(test_a_frame_in_pieces_waits_for_its_last_byte),
        TEST(test_the_end_is_told_once_and_not_inside_a_call),
        TEST(test_a_peer_that_does_not_read_is_cut_off),
        TEST(test_what_was_queued_goes_out_before_a_finished_channel_ends),
        TEST(test_a_peer_that_says_too_much_has_to_wait),
        TEST(test_input_that_is_dropped_is_read_and_forgotten),
        TEST(test_nonsense_is_an_error_for_the_one_who_pulls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
