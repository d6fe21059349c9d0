/* SPDX-License-Identifier: MIT */
/* job_cgroup.c - tests of control groups that the kernel empties at once */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "tests/unit/skip.h"
#include "worker/base/job_spawn.h"
#include "worker/node/job_cgroup.h"

enum { TRIES = 12000, N_GRANDCHILDREN = 20 };

/* Where all of version 2 is mounted; NULL: nowhere. */
static const char *find_mount(void)
{
    static const char *const usual[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        char *path = mem_printf("%s/cgroup.controllers", usual[i]);
        bool is = access(path, F_OK) == 0;

        free(path);
        if (is)
            return usual[i];
    }
    return NULL;
}

static bool enter(const char *group)
{
    char *path = mem_printf("%s/cgroup.procs", group);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_in = fd >= 0 && write(fd, "0", 1) == 1;

    if (fd >= 0)
        close(fd);
    free(path);
    return is_in;
}

/* A group in which we may make others, as systemd would give us one; skips the test where there can
 * be none. */
static char *make_group(void)
{
    const char *mount = find_mount();
    char *group = mount == NULL ? NULL : mem_printf("%s/lw-test.%lld", mount, (long long)getpid());

    if (group != NULL && mkdir(group, 0755) == 0)
        return group;
    free(group);
    skip_because("takes a cgroup v2 in which groups can be made");
    return NULL;
}

/* Its exit status is that of the body, which runs in the group. */
static int run_in(const char *group, int (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(enter(group) ? body() : 99);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* As the agent does. */
static char *put_into_one(pid_t pid)
{
    char *path = job_cgroup_name();
    int limit_fd = -1;

    if (path != NULL && job_cgroup_make(path, geteuid(), &limit_fd)) {
        if (limit_fd >= 0)
            close(limit_fd);
        if (job_cgroup_put(path, pid))
            return path;
        (void)job_cgroup_end(path);
    }
    free(path);
    return NULL;
}

/* ---- bodies ---- */

/* Daemons that nothing leads to: forked twice, with sessions of their own. */
_Noreturn static void be_runner(int start_fd, int alive_fd)
{
    char c;

    if (read(start_fd, &c, 1) == 1)
        for (int i = 0; i < N_GRANDCHILDREN; i++)
            if (fork() == 0) {
                if (setsid() < 0 || fork() != 0)
                    _exit(0);
                (void)!write(alive_fd, "x", 1);
                sleep(60);
                _exit(0);
            }
    _exit(0);
}

static int wait_until_ended(const char *path)
{
    for (int i = 0; i < TRIES; i++) {
        if (job_cgroup_end(path))
            return access(path, F_OK) < 0 && errno == ENOENT ? 0 : 3;
        usleep(5000);
    }
    return 4;
}

static int end_daemons(void)
{
    int start[2], alive[2];
    char bytes[N_GRANDCHILDREN], *path;
    pid_t pid;

    if (pipe(start) < 0 || pipe(alive) < 0)
        return 1;
    pid = fork();
    if (pid == 0) {
        close(alive[0]);
        be_runner(start[0], alive[1]);
    }
    path = put_into_one(pid);
    close(alive[1]);
    if (path == NULL || write(start[1], "x", 1) != 1)
        return 2;
    if (io_read_all(alive[0], bytes, sizeof bytes) != (ssize_t)sizeof bytes)
        return 5;
    (void)waitpid(pid, NULL, 0);
    if (wait_until_ended(path) != 0)
        return 6;
    free(path);
    /* Nobody holds the pipe open any more. */
    return io_read_all(alive[0], bytes, 1) == 0 ? 0 : 7;
}

static int end_empty(void)
{
    pid_t pid = fork();
    char *path;
    int rc;

    if (pid == 0) {
        pause();
        _exit(0);
    }
    path = put_into_one(pid);
    if (path == NULL)
        return 2;
    rc = wait_until_ended(path);
    if (rc == 0 && !job_cgroup_end(path))
        rc = 8; /* one that is gone is gone */
    free(path);
    (void)waitpid(pid, NULL, 0);
    return rc;
}

static int make_for_nobody(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    (void)waitpid(pid, NULL, 0);
    return put_into_one(pid) == NULL ? 0 : 1;
}

/* In a new group below ours; -1 with *is_jobs_fault, or its wait status. */
static int run_below(const char *shell, bool *is_jobs_fault, struct err *e)
{
    static char *const words[] = { "sh", "-c", "grep -q '^0::.*/below$' /proc/self/cgroup", NULL };
    static char *const env[] = { NULL };
    static const struct list cpus = { NULL, 0 };
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), status = -1;
    char *cage = job_cgroup_name(), *group = mem_printf("%s/../below", cage);
    struct job_spawn s = { .shell = shell, .shell_words = words, .env = env, .cpus = &cpus };
    pid_t pid;

    s.in_fd = s.log_fd = null_fd;
    s.work_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s.has_group = mkdir(cage, 0755) == 0 && mkdir(group, 0755) == 0;
    s.group_fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid = job_spawn(&s, is_jobs_fault, e);
    if (pid >= 0 && waitpid(pid, &status, 0) != pid)
        status = -1;
    (void)rmdir(group);
    (void)rmdir(cage);
    free(group);
    free(cage);
    return status;
}

static int start_in_group(void)
{
    struct err e = { 0 };
    bool is_jobs_fault;

    return job_spawn_knows_groups() ? run_below("/bin/sh", &is_jobs_fault, &e) : 0;
}

static int fail_in_group(void)
{
    struct err e = { 0 };
    bool is_jobs_fault = false;

    if (!job_spawn_knows_groups())
        return 0;
    if (run_below("/no/shell", &is_jobs_fault, &e) >= 0)
        return 1;
    return is_jobs_fault && strstr(e.text, "/no/shell") != NULL ? 0 : 2;
}

/* ---- tests ---- */

static void run_all(int (*body)(void))
{
    char *group = make_group();
    int status = run_in(group, body);

    assert_int_equal(status, 0);
    assert_int_equal(rmdir(group), 0); /* nothing is left in it */
    free(group);
}

static void all_that_a_runner_started_ends_with_it(void **state)
{
    (void)state;
    run_all(end_daemons);
}

static void a_cage_goes_with_whoever_is_in_it(void **state)
{
    (void)state;
    run_all(end_empty);
}

static void a_process_that_is_gone_gets_none(void **state)
{
    (void)state;
    run_all(make_for_nobody);
}

static void a_job_begins_in_the_group_that_it_is_to_be_in(void **state)
{
    (void)state;
    run_all(start_in_group);
}

static void what_keeps_it_from_that_is_said(void **state)
{
    (void)state;
    run_all(fail_in_group);
}

static void a_cage_that_is_not_there_is_gone(void **state)
{
    (void)state;
    assert_true(job_cgroup_end("/nowhere/at/all"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_a_runner_started_ends_with_it),
        cmocka_unit_test(a_cage_goes_with_whoever_is_in_it),
        cmocka_unit_test(a_process_that_is_gone_gets_none),
        cmocka_unit_test(a_job_begins_in_the_group_that_it_is_to_be_in),
        cmocka_unit_test(what_keeps_it_from_that_is_said),
        cmocka_unit_test(a_cage_that_is_not_there_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
