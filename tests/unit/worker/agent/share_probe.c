/* SPDX-License-Identifier: MIT */
/* share_probe.c - tests of the child that says whether the share is mounted here */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_child.h"
#include "worker/agent/share_probe.h"

static bool ask(const char *path, const char *server_id)
{
    char *argv[] = { CHILD_SHARE, mem_strdup(path), mem_strdup(server_id) };
    struct agent ag = agent_start(share_probe_main, 3, argv, -1, -1);
    struct note_share note;

    agent_hear(&ag, NOTE_SHARE, &note);
    assert_int_equal(agent_leave(&ag), 0);
    free(argv[1]);
    free(argv[2]);
    return note.is_here;
}

static void it_is_here_if_its_id_names_the_server(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    assert_true(ask(s.share_path, "server"));
    assert_false(ask(s.share_path, "another"));
    assert_false(ask(s.top, "server"));
    assert_false(ask("/nothing/at/all", "server"));
    site_write(s.top_fd, "share/.ludwig/id", "{\"v\":1,\"server\":\"ser");
    assert_false(ask(s.share_path, "server"));
    site_close(&s);
}

/* ---- asked by an event loop ---- */

struct answer {
    bool is_there;
    bool is_here;
};

static void on_answer(void *context, bool is_here)
{
    struct answer *a = context;

    assert_false(a->is_there);
    *a = (struct answer){ true, is_here };
}

/* The program that would be the child is this test, which knows no such part. */
static void a_child_that_ends_without_an_answer_sees_nothing(void **state)
{
    uv_loop_t loop;
    struct share_probe x;
    struct answer a = { false, true };

    (void)state;
    uv_loop_init(&loop);
    share_probe_init(&x, &loop, on_answer, &a);
    share_probe_start(&x, "/nothing", "server");
    while (!a.is_there)
        uv_run(&loop, UV_RUN_ONCE);
    assert_false(a.is_here);
    assert_int_equal(waitpid(x.pid, NULL, 0), x.pid);
    assert_true(share_probe_reaped(&x, x.pid));
    share_probe_close(&x);
    share_probe_close(&x);
    uv_close((uv_handle_t *)&x.timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Of this test as a child. */
static bool is_child(int argc, char **argv)
{
    return argc == 4 && strcmp(argv[1], CHILD_SHARE) == 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_here_if_its_id_names_the_server),
        cmocka_unit_test(a_child_that_ends_without_an_answer_sees_nothing),
    };

    return is_child(argc, argv) ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
