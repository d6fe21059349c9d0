/* SPDX-License-Identifier: MIT */
/* sweep_send.c - tests of chunks, and of a sweep whose connection breaks on its way */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/submit/sweep_send.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/msgpack.h"
#include "tests/unit/client_expand.h"

/* A server that takes each sweep. */
struct scene {
    char folder[32];
    char *socket, *list;
    pid_t server;
    struct rpc rpc;
    struct points points;
    struct arena *arena;
};

/* ---- the server ---- */

static void answer(struct wire *w, const struct envelope *m, int64_t *sweep, int64_t *chunk)
{
    struct msg_welcome welcome = { .version = PROTO_VERSION, .server_id = "id" };
    struct msg_submit_open open = { .sweep = *sweep + 1 };
    struct msg_submit_taken taken = { .index = *chunk };
    struct msg_submitted done = { .sweep = *sweep, .project = "p", .configs = *chunk };
    int type = proto.messages[m->type].reply;

    *chunk = m->type == MSG_SUBMIT_BEGIN ? 0 : *chunk + (m->type == MSG_SUBMIT_CHUNK);
    *sweep += m->type == MSG_SUBMIT_BEGIN;
    if (type == MSG_WELCOME)
        (void)wire_send(w, type, m->seq, NULL, &welcome, NULL);
    else if (type == MSG_SUBMIT_OPEN)
        (void)wire_send(w, type, m->seq, NULL, &open, NULL);
    else if (type == MSG_SUBMIT_TAKEN)
        (void)wire_send(w, type, m->seq, NULL, &taken, NULL);
    else
        (void)wire_send(w, type, m->seq, NULL, &done, NULL);
}

/* One connection after the other, until it is killed. */
static _Noreturn void serve(int listening)
{
    int64_t sweep = 0, chunk = 0;

    for (;;) {
        struct envelope m;
        struct wire w;

        wire_init(&w, accept(listening, NULL, NULL), &proto);
        while (wire_receive(&w, &m, NULL) == 1)
            answer(&w, &m, &sweep, &chunk);
        wire_close(&w);
    }
}

static int listen_at(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(at.sun_path, path, strlen(path) + 1);
    if (fd < 0 || bind(fd, (struct sockaddr *)(void *)&at, sizeof at) < 0 || listen(fd, 8) < 0)
        return -1;
    return fd;
}

static int begin(void **state)
{
    static const char list[] = "{\"a\": 1}\n";
    struct scene *s = mem_alloc(sizeof *s);
    struct param2vals_wanted wanted = { .points_max = 9 };
    struct endpoint to;
    int fd;

    signal(SIGPIPE, SIG_IGN);
    s->arena = arena_create();
    *state = s;
    strcpy(s->folder, "/tmp/submit-XXXXXX");
    if (mkdtemp(s->folder) == NULL)
        return -1;
    s->socket = path_join(s->folder, "socket");
    s->list = path_join(s->folder, "list");
    fd = listen_at(s->socket);
    if (fd < 0 || io_replace_file(s->list, list, strlen(list), 0600, NULL) < 0)
        return -1;
    s->server = fork();
    if (s->server == 0)
        serve(fd);
    close(fd);
    wanted.path = s->list;
    s->points.list = param2vals_read(&wanted, NULL);
    to = (struct endpoint){ .kind = ENDPOINT_UNIX, .text = s->socket, .path = s->socket };
    return s->server < 0 || s->points.list == NULL ? -1 : rpc_open(&s->rpc, &to, NULL, NULL);
}

static int end(void **state)
{
    struct scene *s = *state;
    int result;

    rpc_close(&s->rpc);
    arena_destroy(s->arena);
    kill(s->server, SIGKILL);
    waitpid(s->server, NULL, 0);
    points_free(&s->points);
    result = io_remove_tree(s->folder, NULL);
    free(s->socket);
    free(s->list);
    free(s);
    return result;
}

/* ---- the client ---- */

static struct sweep_open *open_sweep(struct scene *s)
{
    const struct msg_submit_begin begin = { .project = "p", .reps = 1, .work.command = "x" };
    struct err e = { 0 };
    struct sweep_asked *asked = sweep_send_begin(&s->rpc, &begin, s->arena, &e);
    struct sweep_open *open = asked == NULL ? NULL : sweep_send_opened(asked, &e);

    if (open == NULL)
        fail_msg("%s", e.text);
    return open;
}

static void a_sweep_goes_from_step_to_step(void **state)
{
    struct scene *s = *state;

    for (int64_t sweep = 1; sweep < 3; sweep++) {
        struct sweep_open *open = open_sweep(s);
        struct err e = { 0 };
        struct sweep_sent *sent = sweep_send_points(open, &s->points, 1, true, NULL, &e);
        struct sweep_taken *taken;
        struct list reused, none = { 0 };
        struct msg_submitted done;

        assert_int_equal(sweep_send_number(open), sweep);
        taken = sent == NULL ? NULL : sweep_send_taken(sent, &reused, &e);
        if (taken == NULL || sweep_send_end(taken, NULL, &none, &done, &e) < 0)
            fail_msg("%s", e.text);
        assert_int_equal(done.sweep, sweep);
        assert_int_equal(done.configs, 1);
    }
}

/* Where the files go over the connection, too, and made it anew. */
static void a_sweep_ends_with_its_connection(void **state)
{
    struct scene *s = *state;
    struct sweep_open *open = open_sweep(s);
    struct sweep_sent *sent;
    struct list reused;
    struct err e = { 0 };

    assert_int_equal(rpc_reopen(&s->rpc, NULL), 0);
    assert_null(sweep_send_points(open, &s->points, 1, true, NULL, &e));
    assert_int_equal(e.kind, ERR_UNREACHABLE);
    err_clear(&e);
    open = open_sweep(s);
    assert_int_equal(sweep_send_number(open), 2);
    sent = sweep_send_points(open, &s->points, 1, true, NULL, &e);
    assert_non_null(sent);
    assert_int_equal(rpc_reopen(&s->rpc, NULL), 0);
    assert_null(sweep_send_taken(sent, &reused, &e));
    assert_int_equal(e.kind, ERR_UNREACHABLE);
}

static void points_that_are_missing_are_told(void **state)
{
    struct scene *s = *state;
    struct sweep_open *open = open_sweep(s);
    struct err e = { 0 };

    assert_null(sweep_send_points(open, &s->points, 2, true, NULL, &e));
    assert_int_equal(e.kind, ERR_INTERNAL);
    assert_string_equal(e.text, "1 configurations are missing");
}

/* ---- chunks ---- */

static int count_item(void *context, struct bytes item, struct err *e)
{
    (void)e;
    assert_true(item.n > 0);
    ++*(int64_t *)context;
    return 0;
}

static void chunks_hold_every_configuration_once(void **state)
{
    struct arena *a = arena_create();
    struct points points = { .expand =
                                 expand_from("params: {p: {range: [1, 3000]}, q: [0, 1, 2]}", a) };
    struct buf left_over = { 0 }, chunk = { 0 };
    int64_t n, total = 0;

    (void)state;
    while ((n = sweep_send_fill_chunk(&points, 1024, &left_over, &chunk)) > 0) {
        int64_t items = 0;

        assert_int_equal(mp_each_item(chunk.bytes, chunk.n, count_item, &items, NULL), 0);
        assert_int_equal(items, n);
        assert_in_range(n, 1, 1024);
        total += n;
    }
    assert_int_equal(total, 9000);
    assert_int_equal(chunk.n, 0);
    buf_free(&chunk);
    buf_free(&left_over);
    points_free(&points);
    arena_destroy(a);
}

static void large_configurations_make_chunks_shorter(void **state)
{
    char *text = mem_alloc(100 * 1024);
    struct value values[7];
    struct param one = { .name = "p", .form = PARAM_LIST, .values = values, .n = 7 };
    struct plan plan = { .params = { &one, 1 } };
    struct buf left_over = { 0 }, chunk = { 0 };
    struct points points = { 0 };

    (void)state;
    memset(text, 'x', 100 * 1024);
    for (int i = 0; i < 7; i++)
        values[i] = value_strn(text, i == 6 ? 1 : 100 * 1024);
    points.expand = expand_create(&plan, "f", POINTS_MAX, NULL);
    assert_int_equal(sweep_send_fill_chunk(&points, 1024, &left_over, &chunk), 2);
    assert_in_range(chunk.n, 1, SWEEP_SEND_CHUNK_BYTES + 16);
    assert_int_equal(sweep_send_fill_chunk(&points, 1024, &left_over, &chunk), 2);
    assert_int_equal(sweep_send_fill_chunk(&points, 1, &left_over, &chunk), 1);
    assert_int_equal(sweep_send_fill_chunk(&points, 1024, &left_over, &chunk), 2);
    assert_int_equal(sweep_send_fill_chunk(&points, 1024, &left_over, &chunk), 0);
    buf_free(&chunk);
    buf_free(&left_over);
    points_free(&points);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sweep_goes_from_step_to_step, begin, end),
        cmocka_unit_test_setup_teardown(a_sweep_ends_with_its_connection, begin, end),
        cmocka_unit_test_setup_teardown(points_that_are_missing_are_told, begin, end),
        cmocka_unit_test(chunks_hold_every_configuration_once),
        cmocka_unit_test(large_configurations_make_chunks_shorter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
