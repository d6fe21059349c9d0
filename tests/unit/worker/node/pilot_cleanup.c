/* SPDX-License-Identifier: MIT */
/* pilot_cleanup.c - tests of what is removed of pilots that were killed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/worker_site.h"
#include "worker/base/child_start.h"
#include "worker/node/pilot_cleanup.h"

static char *path_of(struct site *s, const char *name)
{
    return arena_printf(s->arena, "%s/%s", s->top, name);
}

static void make(struct site *s, const char *path)
{
    assert_int_equal(io_make_dirs(path_of(s, path), 0700, NULL), 0);
}

static void clean(struct site *s)
{
    pilot_cleanup_remove(path_of(s, "ludwig-me-here-slurm-"));
}

static void what_nobody_holds_is_removed_and_nothing_else(void **state)
{
    static const struct {
        const char *name;
        bool stays;
    } cases[] = {
        { "ludwig-me-here-slurm-17", false },
        { "ludwig-me-here-slurm-17_3", false },
        { "ludwig-me-here-slurm-18.gone", false },
        { "ludwig-me-here-slurm-", true },
        { "ludwig-me-here-slurm-17.old", true },
        { "ludwig-me-here-slurm-x", true },
        { "ludwig-me-here", true },
        { "ludwig-me-there-slurm-17", true },
        { "ludwig-you-here-slurm-17", true },
    };
    struct site s;

    (void)state;
    site_open(&s, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        make(&s, arena_printf(s.arena, "%s/run/0123/work", cases[i].name));
    clean(&s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (site_has(&s, cases[i].name) != cases[i].stays)
            fail_msg("%s %s", cases[i].name, cases[i].stays ? "is gone" : "is there");
    assert_false(site_has(&s, "ludwig-me-here-slurm-17.gone"));
    site_close(&s);
}

static void a_living_pilots_folder_stays(void **state)
{
    struct err e = { 0 };
    struct site s;
    int claim;

    (void)state;
    site_open(&s, NULL);
    claim = pilot_cleanup_claim(path_of(&s, "ludwig-me-here-slurm-1"), &e);
    assert_true(claim >= 0);
    clean(&s);
    assert_true(site_has(&s, "ludwig-me-here-slurm-1"));
    close(claim);
    clean(&s);
    assert_false(site_has(&s, "ludwig-me-here-slurm-1"));
    site_close(&s);
}

/* Of an agent, of a runner. */
static void where_anything_lives_nothing_is_removed(void **state)
{
    static const char *const locks[] = { "server.lock", "server/agent.lock",
                                         "server/runner.3/lock" };
    struct err e = { 0 };
    struct site s;

    (void)state;
    site_open(&s, NULL);
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; i++) {
        int dir_fd, lock_fd;

        make(&s, "ludwig-me-here-slurm-1/server/runner.3");
        dir_fd = io_open_dir(path_of(&s, "ludwig-me-here-slurm-1"), &e);
        assert_int_equal(child_lock(dir_fd, locks[i], &lock_fd, &e), 0);
        clean(&s);
        assert_true(site_has(&s, "ludwig-me-here-slurm-1"));
        close(lock_fd);
        close(dir_fd);
        clean(&s);
        assert_false(site_has(&s, "ludwig-me-here-slurm-1"));
    }
    site_close(&s);
}

static void start_cleaners(struct site *s, pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            clean(s);
            _exit(0);
        }
    }
}

static void wait_for_cleaners(const pid_t *pids, size_t n)
{
    int status;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
}

/* Whichever comes first: what was claimed is there.  Several pilots that begin at once have a process
 * each that removes, and may look at the same folder. */
static void a_folder_that_is_claimed_while_it_is_removed_is_there(void **state)
{
    enum { CLEANERS = 4, ROUNDS = 200 };
    struct err e = { 0 };
    struct site s;

    (void)state;
    site_open(&s, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pids[CLEANERS];
        int claim;

        make(&s, "ludwig-me-here-slurm-1/run/0123/work");
        start_cleaners(&s, pids, 1 + (size_t)i % CLEANERS);
        claim = pilot_cleanup_claim(path_of(&s, "ludwig-me-here-slurm-1"), &e);
        assert_true(claim >= 0);
        wait_for_cleaners(pids, 1 + (size_t)i % CLEANERS);
        assert_true(site_has(&s, "ludwig-me-here-slurm-1/pilot.lock"));
        close(claim);
    }
    site_close(&s);
}

/* What it leads to is not ours to judge. */
static void a_link_is_left_alone(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    make(&s, "elsewhere/run");
    assert_int_equal(symlinkat("elsewhere", s.top_fd, "ludwig-me-here-slurm-1"), 0);
    clean(&s);
    assert_true(site_has(&s, "elsewhere/run"));
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_holds_is_removed_and_nothing_else),
        cmocka_unit_test(a_living_pilots_folder_stays),
        cmocka_unit_test(where_anything_lives_nothing_is_removed),
        cmocka_unit_test(a_folder_that_is_claimed_while_it_is_removed_is_there),
        cmocka_unit_test(a_link_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
