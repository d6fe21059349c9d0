/* SPDX-License-Identifier: MIT */
/* slurmargs.c - tests of what Slurm's commands get, with texts of users who mean no good */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/proto/sbatch.h"
#include "server/slurm/slurmargs.h"
#include "server/slurm/slurmread.h"

/* All arguments in one line; "refused" when there are none. */
static char *sbatch_line(const struct pilot_request *r)
{
    struct arena *a = arena_create();
    struct err e = { 0 };
    char **args = slurm_sbatch_args(r, a, &e);
    struct buf line = { 0 };

    for (size_t i = 0; args != NULL && args[i] != NULL; i++)
        buf_printf(&line, "%s%s", i > 0 ? " " : "", args[i]);
    if (args == NULL) {
        assert_int_equal(e.kind, ERR_USAGE);
        buf_add_str(&line, "refused");
    }
    arena_destroy(a);
    return buf_take(&line);
}

static struct pilot_request request_of(const struct slurm_pool *pool)
{
    return (struct pilot_request){ .pool = pool,
                                   .name = "ludwig-7",
                                   .comment = "ludwig 0123 4",
                                   .folder = "/",
                                   .log = "/share/p/logs/pilot.log",
                                   .cpus = 1,
                                   .n = 1 };
}

static void test_a_small_pilot(void **state)
{
    const struct slurm_pool pool = { .partition = "short" };
    struct pilot_request r = request_of(&pool);
    char *line = sbatch_line(&r);

    (void)state;
    assert_string_equal(
        line, "sbatch --propagate=NONE --partition=short --nodes=1 --ntasks=1 --cpus-per-task=1 "
              "--job-name=ludwig-7 --comment=ludwig 0123 4 --chdir=/ "
              "--output=/share/p/logs/pilot.log --input=/dev/null "
              "--open-mode=append --no-requeue --parsable");
    free(line);
}

static void test_all_that_a_pool_can_say(void **state)
{
    static const char *const nodes[] = { "clippy", "hal[1-3]" };
    static const char *const extra[] = { "--reservation=lab", "--exclusive" };
    const struct slurm_pool pool = { "overcap",
                                     "kira-lab",
                                     "short",
                                     "a40|rtx_6000",
                                     NULL,
                                     { (void *)(uintptr_t)nodes, 2 },
                                     { (void *)(uintptr_t)extra, 2 },
                                     0 };
    struct pilot_request r = request_of(&pool);
    char *line;

    (void)state;
    r.cpus = 8;
    r.memory_bytes = ((int64_t)4 << 30) + 1;
    r.time_ms = 90001;
    r.gpus = 2;
    r.n = 10;
    r.signal = "B:USR1@60";
    r.log = "/share/100%/pilot.log";
    line = sbatch_line(&r);
    assert_string_equal(
        line,
        "sbatch --propagate=NONE --reservation=lab --exclusive --partition=overcap --account=kira-lab "
        "--qos=short --constraint=a40|rtx_6000 --exclude=clippy,hal[1-3] --nodes=1 "
        "--ntasks=1 --cpus-per-task=8 --mem=4097M --time=2 --gres=gpu:2 --array=0-9 "
        "--job-name=ludwig-7 --comment=ludwig 0123 4 --chdir=/ "
        "--output=/share/100%%/pilot_%a.log --signal=B:USR1@60 --input=/dev/null "
        "--open-mode=append --no-requeue --parsable");
    free(line);
}

static void test_a_gres_of_its_own_counts_instead_of_gpus(void **state)
{
    const struct slurm_pool pool = { .partition = "short", .gres = "gpu:a40:1" };
    struct pilot_request r = request_of(&pool);
    char *line;

    (void)state;
    r.gpus = 4;
    line = sbatch_line(&r);
    assert_non_null(strstr(line, " --gres=gpu:a40:1 "));
    assert_null(strstr(line, "gpu:4"));
    free(line);
}

/* A value stays the value of its option, whatever it looks like. */
static const char *const hostile_values[] = {
    "a b",       "a --uid=0", "a' --uid=0 '", "a\"; touch x", "$(touch x)",
    "`touch x`", "a;touch x", "a|touch x",    "a\\",          "*",
    "~root",     "a=b",       "--",           "%s%n",
};

static void test_values_stay_values(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof hostile_values / sizeof *hostile_values; i++) {
        const char *text = hostile_values[i];
        const struct slurm_pool pool = { .partition = "short", .account = text };
        struct pilot_request r = request_of(&pool);
        char **args = slurm_sbatch_args(&r, a, NULL);
        char *expected = arena_printf(a, "--account=%s", text);
        int n = 0;

        if (text[0] == '-') {
            assert_null(args);
            continue;
        }
        assert_non_null(args);
        assert_string_equal(args[0], "sbatch");
        for (size_t k = 1; args[k] != NULL; k++) {
            n += strcmp(args[k], expected) == 0;
            assert_true(strncmp(args[k], "--", 2) == 0);
            assert_int_not_equal(strncmp(args[k], "--uid", 5), 0);
        }
        assert_int_equal(n, 1);
    }
    arena_destroy(a);
}

static const struct {
    const char *what;
    struct slurm_pool pool;
} refused[] = {
    { "no partition", { .partition = NULL } },
    { "an empty partition", { .partition = "" } },
    { "several partitions", { .partition = "short,long" } },
    { "an option as a partition", { .partition = "--uid=0" } },
    { "a line break", { .partition = "short", .account = "a\n#SBATCH --uid=0" } },
    { "an empty account", { .partition = "short", .account = "" } },
    { "an option as a QOS", { .partition = "short", .qos = "-H" } },
    { "a control character", { .partition = "short", .constraint = "a\x1b[2J" } },
    { "an option as a gres", { .partition = "short", .gres = "--wrap=x" } },
};

static void test_what_is_no_value_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct pilot_request r = request_of(&refused[i].pool);
        char *line = sbatch_line(&r);

        if (strcmp(line, "refused") != 0)
            fail_msg("%s: %s", refused[i].what, line);
        free(line);
    }
}

static const struct {
    const char *option;
    bool is_allowed;
} extras[] = {
    { "--reservation=lab", true },
    { "--reservation=", true },
    { "--mem=1G", true },
    { "--exclusive", true },
    { "--exclusive=user", true },
    { "--licenses=a b", true },
    { "--nice", true },
    { "", false },
    { "-", false },
    { "--", false },
    { "--=x", false },
    { "-N2", false },
    { "x", false },
    { "/bin/sh", false },
    { "--reservation lab", false },
    { "--reservation", false }, /* would take the option behind it */
    { "--reserv", false },
    { "--comment=a\nb", false },
    { "--uid=0", false },
    { "--ui=0", false },
    { "--u=0", false },
    { "--gid=0", false },
    { "--wrap=x", false },
    { "--wr=x", false },
    { "--output=/etc/passwd", false },
    { "--out=/etc/passwd", false },
    { "--export=NONE", false },
    { "--exp", false },
    { "--array=0-99", false },
    { "--parsable", false },
    { "--wait", false },
    { "--chdir=/", false },
};

static void test_extra_options(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        const char *option = extras[i].option;
        const struct slurm_pool pool = { .partition = "short",
                                         .extra = { (void *)(uintptr_t)&option, 1 } };
        struct pilot_request r = request_of(&pool);
        char *line = sbatch_line(&r);
        struct err e = { 0 };

        if ((strcmp(line, "refused") != 0) != extras[i].is_allowed)
            fail_msg("%s: %s", option, line);
        assert_int_equal(sbatch_check_extra(option, &e), extras[i].is_allowed ? 0 : -1);
        free(line);
    }
}

static void test_the_longest_lists_have_room(void **state)
{
    enum { N = 100 };
    const char *options[N];
    const struct slurm_pool pool = { .partition = "short", .extra = { options, N } };
    struct pilot_request r = request_of(&pool);
    struct arena *a = arena_create();
    char **args;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < N; i++)
        options[i] = "--licenses=matlab";
    args = slurm_sbatch_args(&r, a, NULL);
    assert_non_null(args);
    while (args[n] != NULL)
        n++;
    assert_true(n > N);
    assert_string_equal(args[n - 1], "--parsable");
    arena_destroy(a);
}

static void test_jobs_are_asked_for_at_once(void **state)
{
    static const char *const jobs[] = { "17", "18_3" };
    struct arena *a = arena_create();
    char **args = slurm_squeue_args(false, jobs, 2, a);

    (void)state;
    assert_string_equal(args[0], "squeue");
    assert_string_equal(args[3], "--jobs=17,18_3");
    assert_null(args[4]);
    args = slurm_squeue_env((char *const[]){ "A=1", NULL }, "mark", a);
    assert_string_equal(args[0], "A=1");
    assert_string_equal(args[1], "SQUEUE_FORMAT=mark" SLURM_JOBS_FORMAT);
    assert_null(args[2]);
    args = slurm_sacct_args(jobs, 2, (const char *const[]){ "ludwig-7-a", "ludwig-8-b" }, 2, a);
    assert_string_equal(args[7], "--name=ludwig-7-a,ludwig-8-b");
    assert_string_equal(args[8], "--jobs=17,18_3");
    assert_null(args[9]);
    args = slurm_scancel_args(NULL, jobs, 2, a);
    assert_string_equal(args[1], "17");
    assert_string_equal(args[2], "18_3");
    assert_null(args[3]);
    args = slurm_scancel_args("alice", jobs, 2, a);
    assert_string_equal(args[1], "--user=alice");
    assert_string_equal(args[2], "17");
    assert_string_equal(args[3], "18_3");
    assert_null(args[4]);
    arena_destroy(a);
}

static void test_a_script_has_one_command(void **state)
{
    static const char *const program[] = { "/home/a b/ludwig-worker", "--config", "it's; rm\n-rf",
                                           NULL };
    struct buf script = { 0 };

    (void)state;
    slurm_add_script(&script, program);
    assert_string_equal(
        buf_text(&script),
        "#!/bin/sh\nexec '/home/a b/ludwig-worker' '--config' 'it'\\''s; rm\n-rf'\n");
    buf_free(&script);
}

static void test_the_environment_is_made_from_nothing(void **state)
{
    static const char *const expected[] = {
        "LC_ALL=C",          "PATH=/usr/bin",        "HOME=/home/alice",
        "USER=alice",        "LOGNAME=alice",        "SHELL=/bin/bash",
        "SLURM_CONF=/etc/x", "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0",
    };
    enum { OF_A_JOB = 7 };
    const struct slurm_user alice = { "alice", "/home/alice", "/bin/bash" };
    struct arena *a = arena_create();
    char **env;

    (void)state;
    assert_int_equal(setenv("SBATCH_ACCOUNT", "root", 1), 0);
    env = slurm_env(&alice, "/usr/bin", "/etc/x", true, a);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(env[i], expected[i]);
    assert_null(env[sizeof expected / sizeof *expected]);
    env = slurm_env(&alice, "/usr/bin", "/etc/x", false, a);
    for (size_t i = 0; i < OF_A_JOB; i++)
        assert_string_equal(env[i], expected[i]);
    assert_null(env[OF_A_JOB]);
    arena_destroy(a);
}

/* For tests/functional/slurm_commands.sh: each argument, and a NUL behind it. */
static int print_args(char *const *args)
{
    for (; args != NULL && *args != NULL; args++)
        if (fwrite(*args, strlen(*args) + 1, 1, stdout) != 1)
            return 1;
    return args == NULL;
}

/* LOG PARTITION ACCOUNT QOS CONSTRAINT N [EXTRA...] */
static int print_sbatch(int argc, char **argv, struct arena *a)
{
    static const char *const exclude[] = { "node2" };
    const struct slurm_pool pool = { argv[1],
                                     argv[2],
                                     argv[3],
                                     argv[4],
                                     NULL,
                                     { (void *)(uintptr_t)exclude, 1 },
                                     { argv + 6, (size_t)argc - 6 },
                                     0 };
    struct pilot_request r = { .pool = &pool,
                               .name = "ludwig pilot",
                               .comment = "ludwig 0123 4",
                               .folder = "/",
                               .log = argv[0],
                               .signal = "B:USR1@60",
                               .cpus = 2,
                               .memory_bytes = (100 << 20) + 1,
                               .time_ms = 90001,
                               .gpus = 3,
                               .n = atoi(argv[5]) };

    return print_args(slurm_sbatch_args(&r, a, NULL));
}

static int print_some(int argc, char **argv)
{
    const char *const *jobs = (const char *const *)(void *)(argv + 2);
    size_t n = (size_t)argc - 2;
    struct arena *a = arena_create();
    int answer = 2;

    if (strcmp(argv[1], "sbatch") == 0 && argc >= 8)
        answer = print_sbatch(argc - 2, argv + 2, a);
    else if (strcmp(argv[1], "squeue") == 0) /* a word "env" comes before */
        answer = print_args(slurm_squeue_env((char *const[]){ "env", NULL }, "", a)) |
                 print_args(slurm_squeue_args(false, jobs, n, a));
    else if (strcmp(argv[1], "sacct") == 0)
        answer =
            print_args(slurm_sacct_args(jobs, n, (const char *const[]){ "ludwig pilot" }, 1, a));
    else if (strcmp(argv[1], "scancel") == 0)
        answer = print_args(slurm_scancel_args(NULL, jobs, n, a));
    arena_destroy(a);
    return answer;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_pilot),
        cmocka_unit_test(test_all_that_a_pool_can_say),
        cmocka_unit_test(test_a_gres_of_its_own_counts_instead_of_gpus),
        cmocka_unit_test(test_values_stay_values),
        cmocka_unit_test(test_what_is_no_value_is_refused),
        cmocka_unit_test(test_extra_options),
        cmocka_unit_test(test_the_longest_lists_have_room),
        cmocka_unit_test(test_jobs_are_asked_for_at_once),
        cmocka_unit_test(test_a_script_has_one_command),
        cmocka_unit_test(test_the_environment_is_made_from_nothing),
    };

    if (argc > 2 && strcmp(argv[1], "--print") == 0)
        return print_some(argc - 1, argv + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
