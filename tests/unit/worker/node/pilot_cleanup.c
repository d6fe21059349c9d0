/* SPDX-License-Identifier: MIT */
/* pilot_cleanup.c - tests of what is removed of pilots that were killed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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

static const struct pilot_cleanup removing;

static void clean(struct site *s)
{
    pilot_cleanup_remove(path_of(s, "ludwig-me-here-slurm-"), &removing);
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

static int n_published, n_told;

static int publish_well(const char *folder, const char *address, struct err *e)
{
    (void)e;
    assert_string_equal(address, "ssh://here");
    assert_string_equal(strrchr(folder, '/'), "/ludwig-me-here-slurm-1");
    n_published++;
    return 0;
}

static int publish_never(const char *folder, const char *address, struct err *e)
{
    (void)folder, (void)address;
    return err_set(e, ERR_UNREACHABLE, "the share is away");
}

static void count_told(const char *folder)
{
    assert_string_equal(strrchr(folder, '/'), "/ludwig-me-here-slurm-1");
    n_told++;
}

static void what_cannot_be_published_stays_for_two_weeks(void **state)
{
    const struct pilot_cleanup looking = { .only_looks = true, .tell = count_told };
    const struct pilot_cleanup failing = { .publish = publish_never, .tell = count_told };
    const struct pilot_cleanup well = { .publish = publish_well,
                                        .address = "ssh://here",
                                        .tell = count_told };
    struct timespec old[2] = { { time(NULL) - 15 * 24 * 3600, 0 }, { 0, 0 } };
    struct site s;

    (void)state;
    old[1] = old[0];
    n_published = n_told = 0;
    site_open(&s, NULL);
    make(&s, "ludwig-me-here-slurm-1/ended/0123");
    pilot_cleanup_remove(path_of(&s, "ludwig-me-here-slurm-"), &looking);
    assert_int_equal(n_told, 1);
    pilot_cleanup_remove(path_of(&s, "ludwig-me-here-slurm-"), &failing);
    assert_int_equal(n_told, 1);
    assert_true(site_has(&s, "ludwig-me-here-slurm-1/ended/0123"));
    pilot_cleanup_remove(path_of(&s, "ludwig-me-here-slurm-"), &well);
    assert_int_equal(n_published, 1);
    assert_int_equal(n_told, 2);
    assert_false(site_has(&s, "ludwig-me-here-slurm-1"));
    /* The lock that is taken to look at it was there: its folder is as old as it was. */
    make(&s, "ludwig-me-here-slurm-1/ended/0123");
    close(openat(s.top_fd, "ludwig-me-here-slurm-1/pilot.lock", O_CREAT | O_WRONLY | O_CLOEXEC,
                 0600));
    assert_int_equal(utimensat(s.top_fd, "ludwig-me-here-slurm-1", old, 0), 0);
    pilot_cleanup_remove(path_of(&s, "ludwig-me-here-slurm-"), &failing);
    assert_false(site_has(&s, "ludwig-me-here-slurm-1"));
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
        cmocka_unit_test(what_cannot_be_published_stays_for_two_weeks),
        cmocka_unit_test(a_link_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
