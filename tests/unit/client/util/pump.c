/* SPDX-License-Identifier: MIT */
/* pump.c - tests of copying both ways at once */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/util/pump.h"

enum { MUCH = 1000 * 1000 };

struct site {
    int in[2], out[2]; /* as pipe(2) gives them */
    int socket, peer;
};

static struct site site_open(void)
{
    struct site s;
    int ends[2];

    assert_int_equal(pipe(s.in), 0);
    assert_int_equal(pipe(s.out), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    s.socket = ends[0];
    s.peer = ends[1];
    (void)signal(SIGPIPE, SIG_IGN);
    return s;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void site_close(struct site *s)
{
    int *all[] = { &s->in[0], &s->in[1], &s->out[0], &s->out[1], &s->socket, &s->peer };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        close_one(all[i]);
}

static int run(const struct site *s, struct bytes first, struct err *e)
{
    const struct pump_ends ends = { s->in[0], s->out[1], s->socket, first };

    return pump_run(&ends, e);
}

static void send_text(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void must_read(int fd, const char *text)
{
    char got[100] = "";

    assert_true(read(fd, got, sizeof got - 1) >= 0);
    assert_string_equal(got, text);
}

static void both_ways_are_copied_until_the_peer_ends(void **state)
{
    struct site s = site_open();

    (void)state;
    send_text(s.peer, "answer");
    assert_int_equal(shutdown(s.peer, SHUT_WR), 0);
    send_text(s.in[1], "question");
    assert_int_equal(run(&s, (struct bytes){ (const uint8_t *)"a ", 2 }, NULL), 0);
    must_read(s.out[0], "answer");
    must_read(s.peer, "a question");
    site_close(&s);
}

static void the_end_of_the_input_is_passed_on(void **state)
{
    struct site s = site_open();
    pid_t pid;

    (void)state;
    close_one(&s.in[1]);
    pid = fork();
    if (pid == 0) {
        char c;

        close(s.socket);
        _exit(read(s.peer, &c, 1) == 0 && write(s.peer, "bye", 3) == 3 ? 0 : 1);
    }
    close_one(&s.peer);
    assert_int_equal(run(&s, (struct bytes){ 0 }, NULL), 0);
    must_read(s.out[0], "bye");
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    site_close(&s);
}

static void a_peer_that_does_not_listen_is_heard_to_the_end(void **state)
{
    struct site s = site_open();

    (void)state;
    send_text(s.peer, "no, because");
    close_one(&s.peer);
    send_text(s.in[1], "one more thing");
    assert_int_equal(run(&s, (struct bytes){ 0 }, NULL), 0);
    must_read(s.out[0], "no, because");
    site_close(&s);
}

/* Reads all that comes, and leaves with whether that was as much. */
_Noreturn static void be_slow_peer(int fd, size_t n_bytes)
{
    static char bytes[4096];
    size_t n = 0;
    ssize_t got;

    if (write(fd, "hello", 5) != 5)
        _exit(2);
    usleep(100 * 1000);
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        n += (size_t)got;
    _exit(n == n_bytes ? 0 : 1);
}

static void what_was_said_arrives_though_nobody_reads_the_answer(void **state)
{
    struct site s = site_open();
    struct buf much = { 0 };
    struct err e = { 0 };
    int status;
    pid_t pid;

    (void)state;
    memset(buf_reserve(&much, MUCH), 'x', MUCH);
    buf_added(&much, MUCH);
    close_one(&s.out[0]);
    pid = fork();
    if (pid == 0) {
        close(s.socket);
        be_slow_peer(s.peer, MUCH);
    }
    close_one(&s.peer);
    assert_int_equal(run(&s, buf_bytes(&much), &e), -1);
    assert_int_equal(e.kind, ERR_UNREACHABLE);
    close_one(&s.socket);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    buf_free(&much);
    site_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_are_copied_until_the_peer_ends),
        cmocka_unit_test(the_end_of_the_input_is_passed_on),
        cmocka_unit_test(a_peer_that_does_not_listen_is_heard_to_the_end),
        cmocka_unit_test(what_was_said_arrives_though_nobody_reads_the_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
