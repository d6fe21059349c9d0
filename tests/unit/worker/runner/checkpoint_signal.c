/* SPDX-License-Identifier: MIT */
/* checkpoint_signal.c - tests of asking processes by a signal: who is asked, and who is not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/base/process_tree.h"
#include "worker/runner/checkpoint_signal.h"

enum { LONGEST_MS = 60 * 1000 };

static void signals_are_known_by_name(void **state)
{
    (void)state;
    assert_int_equal(checkpoint_signal_number("SIGUSR1"), SIGUSR1);
    assert_int_equal(checkpoint_signal_number("USR2"), SIGUSR2);
    assert_int_equal(checkpoint_signal_number("SIGTERM"), SIGTERM);
    assert_int_equal(checkpoint_signal_number("PWR"), SIGPWR);
    assert_int_equal(checkpoint_signal_number("SIG"), 0);
    assert_int_equal(checkpoint_signal_number(""), 0);
    assert_int_equal(checkpoint_signal_number("SIGUSR"), 0);
}

static void a_process_catches_what_its_status_says(void **state)
{
    static const char status[] = "Name:\tpython3\nSigQ:\t0/1\nSigPnd:\t0000000000000000\n"
                                 "SigBlk:\t0000000000000800\nSigIgn:\t0000000001001000\n"
                                 "SigCgt:\t8000000100000200\nCapInh:\t0000000000000200\n";

    (void)state;
    assert_true(checkpoint_signal_catches(status, SIGUSR1)); /* 10: caught */
    assert_false(
        checkpoint_signal_catches(status, SIGUSR2)); /* 12: blocked, which a newborn has all */
    assert_false(checkpoint_signal_catches(status, SIGTERM)); /* 15 */
    assert_false(checkpoint_signal_catches(status, SIGPIPE)); /* 13: ignored */
    assert_true(checkpoint_signal_catches(status, 33));
    assert_true(checkpoint_signal_catches(status, 64));
    assert_false(checkpoint_signal_catches("", SIGUSR1));
    assert_false(checkpoint_signal_catches("Name:\tx\n", SIGUSR1));
}

/* ---- real processes ---- */

struct run {
    char folder[32];
    pid_t pid;
};

static void start(struct run *r, const char *script)
{
    struct err e = { 0 };

    assert_int_equal(process_tree_become_reaper(&e), 0);
    strcpy(r->folder, "/tmp/ludwig.XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    r->pid = fork();
    assert_true(r->pid >= 0);
    if (r->pid == 0) {
        if (chdir(r->folder) < 0)
            _exit(1);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(1);
    }
}

static bool is_there(const struct run *r, const char *name)
{
    char *path = mem_printf("%s/%s", r->folder, name);
    bool is = access(path, F_OK) == 0;

    free(path);
    return is;
}

static void wait_for(const struct run *r, const char *name)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;

    while (!is_there(r, name)) {
        if (units_monotonic_ms() > until_ms)
            fail_msg("no %s came", name);
        (void)poll(NULL, 0, 5);
    }
}

static void end(struct run *r)
{
    struct err e = { 0 };

    while (process_tree_signal(SIGKILL) > 0)
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    while (waitpid(-1, NULL, 0) > 0)
        ;
    assert_int_equal(io_remove_tree(r->folder, &e), 0);
}

/* Says ready.NAME; makes told.NAME when it is told. */
#define CATCHER                                                                          \
    "cat >catcher.py <<'END'\nimport os, signal, sys, time\nname = sys.argv[1]\n"        \
    "def told(*_): open('told.' + name + ('' if os.getpid() == me else '.heir'), 'w')\n" \
    "me = os.getpid()\nsignal.signal(signal.SIGUSR1, told)\n"                            \
    "if len(sys.argv) > 2: os.fork()\n"                                                  \
    "open('ready.' + name + ('' if os.getpid() == me else '.heir'), 'w')\n"              \
    "for _ in range(6000): time.sleep(0.01)\nEND\n"

static void who_catches_it_is_asked_and_shells_live(void **state)
{
    struct run r;

    (void)state;
    start(&r, CATCHER "(setsid python3 catcher.py b &); python3 catcher.py a; touch over");
    wait_for(&r, "ready.a");
    wait_for(&r, "ready.b");
    assert_int_equal(checkpoint_signal_ask(SIGUSR1, 0), 2);
    wait_for(&r, "told.a");
    wait_for(&r, "told.b");
    assert_int_equal(waitpid(r.pid, NULL, WNOHANG), 0);
    assert_false(is_there(&r, "over"));
    end(&r);
}

static void nobody_is_asked_who_would_die_of_it(void **state)
{
    struct run r;

    (void)state;
    start(&r, "trap 'touch told' USR2; touch ready; while :; do sleep 0.01; done");
    wait_for(&r, "ready");
    assert_int_equal(checkpoint_signal_ask(SIGUSR1, 0), 0);
    assert_int_equal(checkpoint_signal_ask(SIGKILL, 0), 0);
    assert_int_equal(waitpid(r.pid, NULL, WNOHANG), 0);
    assert_int_equal(checkpoint_signal_ask(SIGUSR2, 0), 1);
    wait_for(&r, "told");
    end(&r);
}

static void heirs_of_a_handler_are_not_asked_beside_who_made_it(void **state)
{
    struct run r;

    (void)state;
    start(&r, CATCHER "python3 catcher.py a fork; true");
    wait_for(&r, "ready.a");
    wait_for(&r, "ready.a.heir");
    assert_int_equal(checkpoint_signal_ask(SIGUSR1, 0), 1);
    wait_for(&r, "told.a");
    assert_false(is_there(&r, "told.a.heir"));
    end(&r);
}

/* As the runtime of a container, which passes it on to the shell inside. */
static void one_process_can_be_left_out(void **state)
{
    struct run r;

    (void)state;
    start(&r,
          CATCHER "trap 'touch told.shell' USR1; python3 catcher.py a & touch ready; wait; wait");
    wait_for(&r, "ready");
    wait_for(&r, "ready.a");
    assert_int_equal(checkpoint_signal_ask(SIGUSR1, r.pid), 1);
    wait_for(&r, "told.a");
    assert_false(is_there(&r, "told.shell"));
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_are_known_by_name),
        cmocka_unit_test(a_process_catches_what_its_status_says),
        cmocka_unit_test(who_catches_it_is_asked_and_shells_live),
        cmocka_unit_test(nobody_is_asked_who_would_die_of_it),
        cmocka_unit_test(heirs_of_a_handler_are_not_asked_beside_who_made_it),
        cmocka_unit_test(one_process_can_be_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
