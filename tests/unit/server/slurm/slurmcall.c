/* SPDX-License-Identifier: MIT */
/* slurmcall.c - tests of running commands, and of how many run */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/account.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "server/slurm/slurmcall.h"
#include "tests/unit/skip.h"

struct heard {
    int n, exit_code;
    bool is_late, is_too_long;
    char *out, *said;
};

static void on_done(void *context, struct slurm_result *result)
{
    struct heard *h = context;

    h->n++;
    h->exit_code = result->exit_code;
    h->is_late = result->is_late;
    h->is_too_long = result->is_too_long;
    h->out = mem_strdup(buf_text(&result->out));
    h->said = mem_strdup(buf_text(&result->said));
}

static void heard_free(struct heard *h)
{
    free(h->out);
    free(h->said);
}

enum { LIMIT_BYTES = 1 << 20 };

/* A shell's script, until all of it is gone. */
static struct heard run_shell(const char *script, const char *input, const char *rights,
                              uint64_t timeout_ms)
{
    char *args[] = { "sh", "-c", (char *)(uintptr_t)script, NULL };
    char *env[] = { "PATH=/usr/bin:/bin", "ONLY=this", NULL };
    struct slurm_command command = { .args = args,
                                     .env = env,
                                     .rights = rights,
                                     .input = input,
                                     .timeout_ms = timeout_ms,
                                     .output_max_bytes = LIMIT_BYTES };
    struct heard h = { .n = 0 };
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_non_null(slurm_call_begin(&loop, &command, on_done, &h, NULL));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(h.n, 1);
    return h;
}

static void test_it_says_what_it_was_given(void **state)
{
    struct heard h = run_shell("cat; echo sorry >&2; exit 3", "#!/bin/sh\n", NULL, 60000);

    (void)state;
    assert_int_equal(h.exit_code, 3);
    assert_string_equal(h.out, "#!/bin/sh\n");
    assert_string_equal(h.said, "sorry\n");
    assert_false(h.is_late || h.is_too_long);
    heard_free(&h);
}

static void test_its_environment_is_the_one_given(void **state)
{
    struct heard h;

    (void)state;
    assert_int_equal(setenv("LEAK", "secret", 1), 0);
    h = run_shell("echo \"$ONLY $LEAK\"; pwd", NULL, NULL, 60000);
    assert_string_equal(h.out, "this \n/\n");
    heard_free(&h);
}

static void test_without_input_there_is_nothing_to_read(void **state)
{
    struct heard h = run_shell("cat; echo end", NULL, NULL, 60000);

    (void)state;
    assert_string_equal(h.out, "end\n");
    heard_free(&h);
}

static void test_what_takes_no_input_does_no_harm(void **state)
{
    char *input = mem_alloc(LIMIT_BYTES + 1);
    struct heard h;

    (void)state;
    memset(input, 'x', LIMIT_BYTES);
    signal(SIGPIPE, SIG_IGN);
    h = run_shell("exec 0<&-; echo refused >&2; exit 1", input, NULL, 60000);
    assert_int_equal(h.exit_code, 1);
    assert_string_equal(h.said, "refused\n");
    heard_free(&h);
    free(input);
}

/* All of them have the pipe open: it ends with the last one. */
static void test_one_that_hangs_is_killed_with_its_children(void **state)
{
    char folder[] = "/tmp/ludwig-slurmcall-XXXXXX";
    char *fifo, *script, byte;
    struct heard h;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(folder));
    fifo = path_join(folder, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    script = mem_printf("exec 3>%s; sleep 1000 & sleep 1000", fifo);
    h = run_shell(script, NULL, NULL, 500);
    assert_true(h.is_late);
    assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
    assert_int_equal(read(fd, &byte, 1), 0);
    close(fd);
    heard_free(&h);
    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(rmdir(folder), 0);
    free(script);
    free(fifo);
}

static void test_one_that_says_too_much_is_killed(void **state)
{
    struct heard h = run_shell("exec yes", NULL, NULL, 60000);

    (void)state;
    assert_true(h.is_too_long);
    assert_false(h.is_late);
    heard_free(&h);
    h = run_shell("yes >&2 & sleep 0.2; kill $!; echo done", NULL, NULL, 60000);
    assert_string_equal(h.out, "done\n");
    assert_true(strlen(h.said) <= SLURM_CALL_SAYS_MAX_BYTES);
    heard_free(&h);
}

static void test_what_outlives_it_is_not_waited_for(void **state)
{
    struct heard h;
    pid_t sleeper;

    (void)state;
    /* A shell that did not end in time gets more. */
    for (uint64_t timeout_ms = 300;; timeout_ms *= 10) {
        h = run_shell("sleep 1000 & echo $!", NULL, NULL, timeout_ms);
        if (!h.is_late || timeout_ms > 60000)
            break;
        heard_free(&h);
    }
    assert_false(h.is_late);
    assert_int_equal(h.exit_code, 0);
    sleeper = (pid_t)strtol(h.out, NULL, 10);
    assert_true(sleeper > 0);
    assert_int_equal(kill(sleeper, SIGKILL), 0); /* it was still there */
    heard_free(&h);
}

static void test_a_command_that_is_not_there(void **state)
{
    char *args[] = { "no-such-command-at-all", NULL };
    char *env[] = { "PATH=/usr/bin:/bin", NULL };
    struct slurm_command command = { .args = args, .env = env, .timeout_ms = 1000 };
    struct heard h = { .n = 0 };
    struct err e = { 0 };
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_null(slurm_call_begin(&loop, &command, on_done, &h, &e));
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(h.n, 0);
}

static void test_nobody_hears_of_one_that_was_dropped(void **state)
{
    char *args[] = { "sleep", "1000", NULL };
    char *env[] = { "PATH=/usr/bin:/bin", NULL };
    struct slurm_command command = { .args = args, .env = env, .timeout_ms = 60000 };
    struct heard h = { .n = 0 };
    struct slurm_call *c;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    c = slurm_call_begin(&loop, &command, on_done, &h, NULL);
    assert_non_null(c);
    slurm_call_drop(c);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(h.n, 0);
}

/* Such as one that waits for a file server that is away. */
static pid_t immortal; /* -1: the next one that is to be killed; 0: none */

/* In the place of libc's. */
int kill(pid_t pid, int sig)
{
    if (immortal == -1)
        immortal = pid;
    return immortal == pid ? 0 : (int)syscall(SYS_kill, pid, sig);
}

static void await_it(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_ref(handle);
}

static void test_one_that_does_not_die_keeps_nobody(void **state)
{
    char *args[] = { "sleep", "1000", NULL };
    char *env[] = { "PATH=/usr/bin:/bin", NULL };
    struct slurm_command command = { .args = args, .env = env, .timeout_ms = 60000 };
    struct heard h = { .n = 0 };
    uv_loop_t loop;
    pid_t group;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    immortal = -1;
    slurm_call_drop(slurm_call_begin(&loop, &command, on_done, &h, NULL));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), UV_EBUSY);
    group = immortal;
    immortal = 0;
    assert_int_equal(kill(group, SIGKILL), 0);
    uv_walk(&loop, await_it, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(h.n, 0);
}

/* The way ludwigd takes: this program becomes another user and then the command. */
static void test_it_runs_as_its_user(void **state)
{
    gid_t groups[] = { 2345, 3456 };
    struct account a = { .uid = 1234, .gid = 2345, .groups = groups, .n_groups = 2 };
    char *rights;
    const char *preloaded = getenv("LD_PRELOAD");
    struct heard h;

    (void)state;
    /* /proc/self/exe is another program under valgrind. */
    if (geteuid() != 0 || (preloaded != NULL && strstr(preloaded, "vgpreload") != NULL))
        skip_because("takes root, and no valgrind");
    rights = account_rights(&a);
    h = run_shell("id -u; id -g; id -G; cat /proc/self/status | grep CapEff", NULL, rights, 60000);
    assert_string_equal(h.said, "");
    assert_string_equal(h.out, "1234\n2345\n2345 3456\nCapEff:\t0000000000000000\n");
    heard_free(&h);
    h = run_shell("echo no", NULL, "somebody", 60000);
    assert_int_equal(h.exit_code, 127);
    assert_non_null(strstr(h.said, "nobody's rights"));
    heard_free(&h);
    free(rights);
}

/* ---- how many ---- */

enum { BEGIN_MS = 1234567, MINUTE_MS = 60000 };

static struct slurm_budget begin_budget(void)
{
    struct slurm_budget b;

    slurm_budget_begin(&b, BEGIN_MS);
    return b;
}

static int take_all(struct slurm_budget *b, int64_t now_ms)
{
    int n = 0;

    while (slurm_budget_take(b, now_ms))
        n++;
    return n;
}

static void test_thirty_at_once_and_one_a_second(void **state)
{
    struct slurm_budget b = begin_budget();

    (void)state;
    assert_int_equal(slurm_budget_wait_ms(&b, 1, BEGIN_MS), 0);
    assert_int_equal(take_all(&b, BEGIN_MS), 30);
    assert_int_equal(slurm_budget_wait_ms(&b, 1, BEGIN_MS), 1000);
    assert_int_equal(slurm_budget_wait_ms(&b, 1, BEGIN_MS + 400), 600);
    assert_int_equal(take_all(&b, BEGIN_MS + 999), 0);
    assert_int_equal(take_all(&b, BEGIN_MS + 1000), 1);
    assert_int_equal(take_all(&b, BEGIN_MS + 4500), 3);
    assert_int_equal(take_all(&b, BEGIN_MS + 5000), 1);
    assert_int_equal(take_all(&b, BEGIN_MS + MINUTE_MS * 1000), 30);
}

static void test_several_at_once_wait_for_as_many_as_there_can_be(void **state)
{
    const struct slurm_config small = { .rpc_bucket = 8,
                                        .rpc_refill = 2,
                                        .rpc_refill_period_s = 1 };
    struct slurm_budget b = begin_budget();

    (void)state;
    assert_int_equal(slurm_budget_wait_ms(&b, 7, BEGIN_MS), 0);
    take_all(&b, BEGIN_MS);
    assert_int_equal(slurm_budget_wait_ms(&b, 7, BEGIN_MS + 400), 6600);
    assert_int_equal(slurm_budget_wait_ms(&b, 7, BEGIN_MS + 6999), 1);
    assert_int_equal(slurm_budget_wait_ms(&b, 7, BEGIN_MS + 7000), 0);
    slurm_budget_fit(&b, &small);
    take_all(&b, BEGIN_MS + 7000);
    assert_int_equal(slurm_budget_wait_ms(&b, 7, BEGIN_MS + 7000), 4000);
    assert_int_equal(take_all(&b, BEGIN_MS + 11000), 4);
}

static void test_a_clock_that_stands_still_gives_nothing(void **state)
{
    struct slurm_budget b = begin_budget();

    (void)state;
    take_all(&b, BEGIN_MS);
    assert_int_equal(take_all(&b, BEGIN_MS - 5000), 0);
    assert_int_equal(take_all(&b, BEGIN_MS), 0);
}

static const struct {
    int64_t bucket, refill, period_s; /* the site's */
    int64_t at_once, every_ms;        /* ours */
} sites[] = {
    { 0, 0, 0, 30, 1000 },                                        /* no limit */
    { 30, 2, 1, 15, 1000 },                                       /* Slurm's own figures */
    { 30, 1, 1, 15, 2000 },          { 1000, 1000, 1, 30, 1000 }, /* more than we want */
    { 1, 1, 10, 1, 20000 },          { 1, 0, 0, 1, 2000 },
    { 2, 1, INT64_MAX, 1, 7200000 }, { INT64_MAX, INT64_MAX, 1, 30, 1000 },
};

static void test_a_sites_limit_is_kept_by_half(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const struct slurm_config config = { .rpc_bucket = sites[i].bucket,
                                             .rpc_refill = sites[i].refill,
                                             .rpc_refill_period_s = sites[i].period_s };
        struct slurm_budget b = begin_budget();

        slurm_budget_fit(&b, &config);
        assert_int_equal(take_all(&b, BEGIN_MS), sites[i].at_once);
        assert_int_equal(slurm_budget_wait_ms(&b, 1, BEGIN_MS), sites[i].every_ms);
    }
}

static void test_the_last_hour_is_counted(void **state)
{
    struct slurm_budget b = begin_budget();

    (void)state;
    take_all(&b, BEGIN_MS);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS), 30);
    take_all(&b, BEGIN_MS + 30 * MINUTE_MS);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS + 58 * MINUTE_MS), 60);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS + 60 * MINUTE_MS), 30);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS + 91 * MINUTE_MS), 0);
    assert_int_equal(take_all(&b, BEGIN_MS + 10000 * MINUTE_MS), 30);
    assert_int_equal(slurm_budget_last_hour(&b, BEGIN_MS + 10000 * MINUTE_MS), 30);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_says_what_it_was_given),
        cmocka_unit_test(test_its_environment_is_the_one_given),
        cmocka_unit_test(test_without_input_there_is_nothing_to_read),
        cmocka_unit_test(test_what_takes_no_input_does_no_harm),
        cmocka_unit_test(test_one_that_hangs_is_killed_with_its_children),
        cmocka_unit_test(test_one_that_says_too_much_is_killed),
        cmocka_unit_test(test_what_outlives_it_is_not_waited_for),
        cmocka_unit_test(test_a_command_that_is_not_there),
        cmocka_unit_test(test_nobody_hears_of_one_that_was_dropped),
        cmocka_unit_test(test_one_that_does_not_die_keeps_nobody),
        cmocka_unit_test(test_it_runs_as_its_user),
        cmocka_unit_test(test_thirty_at_once_and_one_a_second),
        cmocka_unit_test(test_several_at_once_wait_for_as_many_as_there_can_be),
        cmocka_unit_test(test_a_clock_that_stands_still_gives_nothing),
        cmocka_unit_test(test_a_sites_limit_is_kept_by_half),
        cmocka_unit_test(test_the_last_hour_is_counted),
    };

    if (argc > 3 && strcmp(argv[1], SLURM_CALL_AS) == 0)
        return slurm_call_become(argv + 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
