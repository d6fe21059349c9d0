/* SPDX-License-Identifier: MIT */
/* probes.c - tests of the child that says whether the share is mounted here */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_child.h"
#include "worker/agent/probes.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_here_if_its_id_names_the_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
