/* SPDX-License-Identifier: MIT */
/* mux.c - tests of both ends of a mux's control socket */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/connect/mux.h"
#include "common/connect/mux_proto.h"
#include "tests/unit/doc.h"

struct pair {
    struct mux_link mux, caller;
    struct arena *arena;
};

static int begin(void **state)
{
    static struct pair p;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(io_set_nonblocking(ends[i], NULL), 0);
    mux_link_init(&p.mux, ends[0]);
    mux_link_init(&p.caller, ends[1]);
    p.arena = arena_create();
    *state = &p;
    return 0;
}

static int end(void **state)
{
    struct pair *p = *state;

    mux_link_close(&p->mux);
    mux_link_close(&p->caller);
    arena_destroy(p->arena);
    return 0;
}

/* A pipe, so that what comes out at the other end can be told from others. */
static int give_pipe(struct pair *p, enum way way)
{
    struct mux_given given = { .way = (int)way };
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(mux_link_send(&p->mux, MUX_GIVEN, &given, ends[1], NULL), 0);
    close(ends[1]);
    return ends[0];
}

static void descriptors_come_with_their_messages_in_order(void **state)
{
    struct pair *p = *state;
    int pipes[3];

    for (int i = 0; i < 3; i++)
        pipes[i] = give_pipe(p, (enum way)i);
    for (int i = 0; i < 3; i++) {
        struct mux_given given;
        struct envelope m;
        char c = 0;
        int fd;

        assert_int_equal(mux_link_receive(&p->caller, p->arena, &m, NULL), 1);
        assert_int_equal(message_body(&mux_protocol, &m, p->arena, &given, NULL), 0);
        assert_int_equal(given.way, i);
        fd = mux_link_take_fd(&p->caller);
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(write(fd, &"abc"[i], 1), 1);
        assert_int_equal(read(pipes[i], &c, 1), 1);
        assert_int_equal(c, "abc"[i]);
        close(fd);
        close(pipes[i]);
    }
    assert_int_equal(mux_link_take_fd(&p->caller), -1);
}

static void a_large_message_without_a_descriptor_between_two_with_one(void **state)
{
    struct pair *p = *state;
    char text[20000];
    struct mux_error error = { .kind = ERR_DENIED, .text = text };
    struct envelope m;
    int first, last;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    first = give_pipe(p, WAY_BRIDGE);
    assert_int_equal(mux_link_send(&p->mux, MUX_REFUSED, &error, -1, NULL), 0);
    last = give_pipe(p, WAY_INBOX);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mux_link_receive(&p->caller, p->arena, &m, NULL), 1);
        assert_int_equal(m.type, i == 1 ? MUX_REFUSED : MUX_GIVEN);
    }
    for (int i = 0; i < 2; i++)
        close(mux_link_take_fd(&p->caller));
    close(first);
    close(last);
}

static void descriptors_that_nobody_took_are_closed(void **state)
{
    struct pair *p = *state;
    int end_of_pipe = give_pipe(p, WAY_UNIX);
    struct envelope m;
    char c;

    assert_int_equal(mux_link_receive(&p->caller, p->arena, &m, NULL), 1);
    mux_link_close(&p->caller);
    assert_int_equal(read(end_of_pipe, &c, 1), 0);
    close(end_of_pipe);
}

/* Everything that may be open is. */
static size_t open_all(int *fds, size_t max)
{
    size_t n = 0;

    while (n < max && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    assert_true(n < max);
    return n;
}

static void a_descriptor_that_was_lost_is_not_taken_for_the_next(void **state)
{
    struct pair *p = *state;
    struct rlimit was;
    struct envelope m;
    int fds[64], pipes[2], fd;
    size_t n;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    pipes[0] = give_pipe(p, WAY_STREAM_LOCAL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 64, was.rlim_max }), 0);
    n = open_all(fds, sizeof fds / sizeof fds[0]);
    assert_int_equal(mux_link_receive(&p->caller, p->arena, &m, NULL), 1);
    while (n > 0)
        close(fds[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    pipes[1] = give_pipe(p, WAY_BRIDGE);
    assert_int_equal(mux_link_receive(&p->caller, p->arena, &m, NULL), 1);
    assert_int_equal(mux_link_take_fd(&p->caller), -1);
    fd = mux_link_take_fd(&p->caller);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(read(pipes[1], (char[1]){ 0 }, 1), 1);
    close(fd);
    close(pipes[0]);
    close(pipes[1]);
}

static void an_answer_carries_any_bytes(void **state)
{
    static const uint8_t secret[] = { 'a', 0xff, 0xc3, '\n', 'z' };
    struct pair *p = *state;
    struct mux_answer sent = { .text = { secret, sizeof secret } }, got;
    struct envelope m;

    assert_int_equal(mux_link_send(&p->caller, MUX_ANSWER, &sent, -1, NULL), 0);
    assert_int_equal(mux_link_receive(&p->mux, p->arena, &m, NULL), 1);
    assert_int_equal(message_body(&mux_protocol, &m, p->arena, &got, NULL), 0);
    assert_int_equal(got.text.n, sizeof secret);
    assert_memory_equal(got.text.data, secret, sizeof secret);
}

static void facts_come_across_whole(void **state)
{
    struct pair *p = *state;
    struct mux_refusal refusals[] = { { "stream-local", "sshd forbids it", "AllowTcpForwarding" },
                                      { "bridge", "no shell", NULL } };
    struct connect_facts sent = { .user = "alice",
                                  .host = "server",
                                  .port = 22,
                                  .address = "10.0.0.1",
                                  .proxy = "",
                                  .server_software = "",
                                  .host_key_type = "",
                                  .host_key_digest = "SHA256:x",
                                  .authentication = "key",
                                  .cipher = "",
                                  .connect_ms = 7,
                                  .way = "",
                                  .server_path = "",
                                  .refusals = { refusals, 2 } };
    struct connect_facts got = { 0 };
    struct envelope m;
    struct err e = { 0 };

    if (mux_link_send(&p->mux, MUX_FACTS, &sent, -1, &e) < 0 ||
        mux_link_receive(&p->caller, p->arena, &m, &e) != 1 ||
        message_body(&mux_protocol, &m, p->arena, &got, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(got.host_key_digest, "SHA256:x");
    assert_int_equal(got.refusals.n, 2);
    assert_null(((struct mux_refusal *)got.refusals.items)[1].remedy);
}

static void an_end_that_is_gone_is_out_of_reach(void **state)
{
    struct pair *p = *state;
    struct envelope m;
    struct err e = { 0 };

    assert_int_equal(mux_link_receive(&p->caller, p->arena, &m, NULL), 0);
    mux_link_close(&p->mux);
    assert_int_equal(mux_link_receive(&p->caller, p->arena, &m, &e), -1);
    assert_int_equal(e.kind, ERR_UNREACHABLE);
    assert_int_equal(mux_link_send(&p->caller, MUX_ASK_FACTS, NULL, -1, &e), -1);
    assert_int_equal(e.kind, ERR_UNREACHABLE);
}

/* What a mux that ends says of it is what its caller says, also when it is only asked later. */
static void the_reason_for_an_end_is_told_by_whatever_is_asked_next(void **state)
{
    struct pair *p = *state;
    struct mux_error error = { .kind = ERR_DENIED, .text = "the key was refused" };
    struct mux *m;
    struct err e = { 0 };
    int fd;

    m = mux_attach(p->caller.fd);
    p->caller.fd = -1;
    assert_int_equal(mux_take(m, &fd, NULL, &e), 0);
    assert_true(mux_is_alive(m));
    assert_int_equal(mux_link_send(&p->mux, MUX_ENDED, &error, -1, NULL), 0);
    mux_link_close(&p->mux);
    assert_int_equal(mux_ask_server(m, &e), -1);
    assert_int_equal(e.kind, ERR_DENIED);
    assert_string_equal(e.text, "the key was refused");
    assert_false(mux_is_alive(m));
    mux_close(m);
}

static const struct mux_ready ready = { .round_trip_ms = SCHEMA_NONE };

static void a_descriptor_that_was_asked_for_is_taken_without_waiting(void **state)
{
    struct pair *p = *state;
    struct mux *m = mux_attach(p->caller.fd);
    struct envelope asked;
    enum way way = WAY_UNIX;
    int fd = -1, other;

    p->caller.fd = -1;
    assert_int_equal(mux_ask_server(m, NULL), 0);
    assert_int_equal(mux_take(m, &fd, &way, NULL), 0);
    assert_int_equal(mux_link_receive(&p->mux, p->arena, &asked, NULL), 1);
    assert_int_equal(asked.type, MUX_ASK);
    assert_int_equal(mux_link_send(&p->mux, MUX_READY, &ready, -1, NULL), 0);
    other = give_pipe(p, WAY_STREAM_LOCAL);
    assert_int_equal(mux_take(m, &fd, &way, NULL), 1);
    assert_int_equal(way, WAY_STREAM_LOCAL);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    close(fd);
    close(other);
    mux_close(m);
}

static void what_is_known_of_the_server_shows_before_it_has_let_us_in(void **state)
{
    const struct mux_ready dialed = { 75, "hostname server" };
    struct pair *p = *state;
    struct mux *m = mux_attach(p->caller.fd);
    int fd = -1;

    p->caller.fd = -1;
    assert_int_equal(mux_round_trip_ms(m), SCHEMA_NONE);
    assert_null(mux_conf_said(m));
    assert_int_equal(mux_link_send(&p->mux, MUX_DIALED, &dialed, -1, NULL), 0);
    assert_int_equal(mux_take(m, &fd, NULL, NULL), 0);
    assert_int_equal(mux_round_trip_ms(m), 75);
    assert_string_equal(mux_conf_said(m), "hostname server");
    mux_close(m);
}

static void nothing_is_sent_in_the_place_of_a_body(void **state)
{
    struct pair *p = *state;
    struct err e = { 0 };

    assert_int_equal(mux_link_send(&p->mux, MUX_READY, NULL, -1, &e), -1);
    assert_int_equal(e.kind, ERR_PROTOCOL);
}

/* Who asks before it has connected finds "ready" and the answer side by side. */
static void a_descriptor_that_comes_right_behind_ready_is_not_waited_for(void **state)
{
    struct pair *p = *state;
    struct mux *m = mux_attach(p->caller.fd);
    struct err e = { 0 };
    int fd, other;

    p->caller.fd = -1;
    assert_int_equal(mux_link_send(&p->mux, MUX_READY, &ready, -1, NULL), 0);
    other = give_pipe(p, WAY_UNIX);
    alarm(60); /* rather than for ever */
    fd = mux_sftp(m, &e);
    alarm(0);
    assert_true(fd >= 0);
    close(fd);
    close(other);
    mux_close(m);
}

/* The mux dials again behind MUX_READY where the server ended the first session. */
static void a_server_that_is_dialed_again_is_not_waited_for_again(void **state)
{
    struct pair *p = *state;
    struct mux *m = mux_attach(p->caller.fd);
    int fd = -1;

    p->caller.fd = -1;
    assert_int_equal(mux_link_send(&p->mux, MUX_READY, &ready, -1, NULL), 0);
    assert_int_equal(mux_wait(m, NULL), 0);
    assert_int_equal(mux_link_send(&p->mux, MUX_DIALED, &ready, -1, NULL), 0);
    assert_int_equal(mux_take(m, &fd, NULL, NULL), 0);
    alarm(60); /* rather than for ever */
    assert_int_equal(mux_wait(m, NULL), 0);
    alarm(0);
    mux_close(m);
}

static void the_page_describes_every_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < mux_protocol.n; i++) {
        char *heading = mem_printf("### %s", mux_protocol.messages[i].name);

        doc_must_describe("docs/internals/ssh-child.md", heading, mux_protocol.messages[i].schema);
        free(heading);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_describes_every_message),
        TEST(descriptors_come_with_their_messages_in_order),
        TEST(a_large_message_without_a_descriptor_between_two_with_one),
        TEST(descriptors_that_nobody_took_are_closed),
        TEST(a_descriptor_that_was_lost_is_not_taken_for_the_next),
        TEST(an_answer_carries_any_bytes),
        TEST(facts_come_across_whole),
        TEST(an_end_that_is_gone_is_out_of_reach),
        TEST(the_reason_for_an_end_is_told_by_whatever_is_asked_next),
        TEST(what_is_known_of_the_server_shows_before_it_has_let_us_in),
        TEST(nothing_is_sent_in_the_place_of_a_body),
        TEST(a_descriptor_that_was_asked_for_is_taken_without_waiting),
        TEST(a_descriptor_that_comes_right_behind_ready_is_not_waited_for),
        TEST(a_server_that_is_dialed_again_is_not_waited_for_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
