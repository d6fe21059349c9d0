/* SPDX-License-Identifier: MIT */
/* worker_job.c - tests of real processes: how a job is started, what it sees, how all of it ends */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/units.h"
#include "tests/unit/worker_site.h"
#include "worker/cache.h"
#include "worker/child.h"
#include "worker/job.h"
#include "worker/tree.h"

enum { LONGEST_MS = 20 * 1000 };

struct run {
    struct site site;
    struct spares spares;
    struct jobenv_user user;
    struct job_site job_site;
    struct job job;
    sigset_t before;
};

static void open_run(struct run *r)
{
    sigset_t child;

    *r = (struct run){ .spares = { NULL, 0 } };
    site_open(&r->site, NULL);
    jobenv_find_user(r->site.scratch.path, r->site.arena, &r->user);
    r->job_site = (struct job_site){ &r->site.scratch, &r->spares, &r->user,
                                     open("/dev/null", O_RDONLY | O_CLOEXEC) };
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &r->before);
}

static void close_run(struct run *r)
{
    close(r->job_site.null_fd);
    spares_free(&r->spares);
    sigprocmask(SIG_SETMASK, &r->before, NULL);
    site_close(&r->site);
}

static void start_order(struct run *r, const struct order *o)
{
    job_start(&r->job, &r->job_site, o, r->site.arena);
}

static void start(struct run *r, const char *command)
{
    struct order o = site_order(&r->site, 'a', command);

    start_order(r, &o);
}

/* One turn of what the runner does all the time. */
static void turn(struct run *r)
{
    int wait_ms = job_wait_ms(&r->job);

    (void)poll(NULL, 0, wait_ms < 0 || wait_ms > 5 ? 5 : wait_ms);
    job_reap(&r->job);
    job_tick(&r->job);
}

static void end(struct run *r)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;
    struct err e = { 0 };

    while (r->job.phase != PHASE_OVER) {
        assert_true(units_monotonic_ms() < until_ms);
        turn(r);
    }
    if (job_save(&r->job, &r->site.scratch, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void run_command(struct run *r, const char *command)
{
    start(r, command);
    end(r);
}

static const char *printed(struct run *r)
{
    return site_read(&r->site, "scratch/log/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

/* Until the job has printed this. */
static void wait_for(struct run *r, const char *text)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS;

    while (strstr(printed(r), text) == NULL) {
        assert_true(units_monotonic_ms() < until_ms);
        turn(r);
    }
}

/* ---- outcomes ---- */

static void the_end_of_the_process_is_the_outcome(void **state)
{
    static const struct {
        const char *command;
        int event, exit_code, signal;
        const char *reason;
    } cases[] = {
        { "/bin/true", EV_DONE, 0, -1, NULL },
        { "exit 0", EV_DONE, 0, -1, NULL },
        { "exit 3", EV_FAIL, 3, -1, "exit code 3" },
        { "kill -SEGV $$", EV_FAIL, -1, 11, "killed by signal 11 (Segmentation fault)" },
        { "no-such-program", EV_FAIL, 127, -1, "exit code 127" },
        { "no-such-program a", EV_FAIL, 127, -1, "exit code 127" },
        { "/bin", EV_FAIL, 126, -1, "exit code 126" },
    };
    struct run r;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome x;
        struct err e = { 0 };

        open_run(&r);
        run_command(&r, cases[i].command);
        if (scratch_read(r.site.scratch.ended_fd, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/outcome",
                         &outcome_schema, r.site.arena, &x, &e) < 0)
            fail_msg("%s", e.text);
        assert_int_equal(x.event, cases[i].event);
        assert_true(x.exit_code == (cases[i].exit_code < 0 ? SCHEMA_NONE : cases[i].exit_code));
        assert_true(x.signal == (cases[i].signal < 0 ? SCHEMA_NONE : cases[i].signal));
        assert_int_equal(x.reason == NULL, cases[i].reason == NULL);
        if (x.reason != NULL)
            assert_string_equal(x.reason, cases[i].reason);
        assert_true(x.started_at > 0 && x.ended_at >= x.started_at);
        assert_true(x.max_rss_bytes > 100 * 1024);
        close_run(&r);
    }
}

static void what_it_used_is_counted(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    run_command(&r, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    assert_true(r.job.outcome.cpu_ms > 10);
    close_run(&r);
}

static void a_script_without_a_first_line_is_run_by_the_shell(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    site_write(r.site.top_fd, "script", "echo it ran as $1\n");
    assert_int_equal(fchmodat(r.site.top_fd, "script", 0755, 0), 0);
    run_command(&r, arena_printf(r.site.arena, "%s/script 'a script'", r.site.top));
    assert_string_equal(printed(&r), "it ran as a script\n");
    close_run(&r);
}

static void setup_comes_before_the_command(void **state)
{
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    o = site_order(&r.site, 'a', "echo $A {lr}");
    o.work.work.setup = "A=prepared";
    start_order(&r, &o);
    end(&r);
    assert_string_equal(printed(&r), "prepared 0.1\n");
    close_run(&r);
}

static void what_the_job_got_wrong_fails_and_what_the_machine_lacks_is_lost(void **state)
{
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    run_command(&r, "train {nothing}");
    assert_int_equal(r.job.outcome.event, EV_FAIL);
    assert_non_null(strstr(r.job.outcome.reason, "nothing"));
    close_run(&r);

    open_run(&r);
    o = site_order(&r.site, 'a', "/bin/true");
    digest_of("x", 1, &o.work.work.source); /* is in no cache */
    start_order(&r, &o);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_LOSE);
    assert_non_null(strstr(r.job.outcome.reason, "source"));
    close_run(&r);
}

/* ---- what it sees ---- */

static void it_runs_in_its_own_copy_of_the_source(void **state)
{
    struct run r;
    struct order o;
    struct err e = { 0 };
    char hex[DIGEST_HEX];

    (void)state;
    open_run(&r);
    assert_int_equal(mkdirat(r.site.top_fd, "source", 0755), 0);
    site_write(r.site.top_fd, "source/run.sh",
               "#!/bin/sh\necho more >>data; cat data; ls $LUDWIG_DATA\n");
    site_write(r.site.top_fd, "source/data", "once\n");
    assert_int_equal(fchmodat(r.site.top_fd, "source/run.sh", 0755, 0), 0);
    o = site_order(&r.site, 'a', "./run.sh");
    digest_of("x", 1, &o.work.work.source);
    assert_int_equal(
        cache_add(r.site.scratch.cache_fd, &o.work.work.source, r.site.top_fd, "source", &e), 0);
    o.work.work.data =
        (struct list){ &(struct data_entry){ .name = "corpora", .digest = o.work.work.source }, 1 };
    start_order(&r, &o);
    end(&r);
    assert_string_equal(printed(&r), "once\nmore\ncorpora\n");
    digest_hex(&o.work.work.source, hex);
    assert_string_equal(
        site_read(&r.site, arena_printf(r.site.arena, "scratch/cache/%s/data", hex)), "once\n");
    assert_false(site_has(&r.site, "scratch/ended/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/work"));
    close_run(&r);
}

static void must_see(struct run *r, const char *line)
{
    const char *text = printed(r);
    const char *at = strstr(text, line);

    if (at == NULL || (at > text && at[-1] != '\n') || at[strlen(line)] != '\n')
        fail_msg("no line %s in\n%s", line, text);
}

static void its_environment_is_made_for_it(void **state)
{
    static const char *const lines[] = {
        "LUDWIG_JOB=7.13",
        "LUDWIG_SWEEP=7",
        "LUDWIG_PROJECT=demo",
        "LUDWIG_REP=0",
        "LUDWIG_SEED=99",
        "LUDWIG_RESTART=0",
        "OMP_NUM_THREADS=2",
        "MKL_NUM_THREADS=2",
        "OPENBLAS_NUM_THREADS=1",
        "NUMEXPR_NUM_THREADS=2",
        "PYTHONUNBUFFERED=1",
        "CUDA_VISIBLE_DEVICES=",
        "LUDWIG_PARAM_NAME=param_003",
        "LUDWIG_JOB_NAME=20261121-101500_num0",
        "LUDWIG_ATTEMPT=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "OWN=1 2",
        "LC_NUMERIC=C",
    };
    static const char *const paths[] = { "LUDWIG_PARAM2VAL", "LUDWIG_SAVE_PATH", "TMPDIR", "PWD" };
    struct env_entry own[] = { { "OWN", "1 2" }, { "OPENBLAS_NUM_THREADS", "1" } };
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    setenv("LC_NUMERIC", "C", 1);
    setenv("SECRET_OF_THE_AGENT", "1", 1);
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    o = site_order(&r.site, 'a',
                   "env; for i in \"$LUDWIG_PARAM2VAL\" \"$LUDWIG_SAVE_PATH\" "
                   "\"$TMPDIR\" \"$PWD\"; do [ -e \"$i\" ] && echo there $i; done; "
                   "umask; cat");
    o.work.work.env = (struct list){ own, 2 };
    start_order(&r, &o);
    end(&r);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        must_see(&r, lines[i]);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_non_null(strstr(printed(&r), arena_printf(r.site.arena, "\n%s=/", paths[i])));
    must_see(&r,
             arena_printf(r.site.arena, "there %s/run/%s/save", r.site.scratch.path, r.job.hex));
    must_see(&r, arena_printf(r.site.arena, "LUDWIG_PROJECT_PATH=%s/demo", r.site.share));
    assert_null(strstr(printed(&r), "SECRET"));
    assert_null(strstr(printed(&r), "CUDA_DEVICE_ORDER"));
    close_run(&r);
}

static void gpus_are_named_and_slurms_are_left_alone(void **state)
{
    static const struct {
        bool in_slurm;
        size_t n_gpus;
        const char *devices, *order, *slurm;
    } cases[] = {
        { false, 0, "", NULL, NULL },
        { false, 2, "GPU-1,3", "PCI_BUS_ID", NULL },
        { true, 0, "5,6", NULL, "42" },
        { true, 1, "GPU-1", "PCI_BUS_ID", "42" },
    };
    struct gpu_entry gpus[] = { { "GPU-1" }, { "3" } };
    struct run r;

    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "5,6", 1);
    setenv("SLURM_JOB_ID", "42", 1);
    open_run(&r);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct order o = site_order(&r.site, 'a', "x");
        char **env;

        o.in_slurm = cases[i].in_slurm;
        o.gpus = (struct list){ gpus, cases[i].n_gpus };
        env = jobenv_make(&o, &r.user, "/job", r.site.arena);
        assert_string_equal(jobenv_get(env, "CUDA_VISIBLE_DEVICES"), cases[i].devices);
        assert_int_equal(jobenv_get(env, "CUDA_DEVICE_ORDER") == NULL, cases[i].order == NULL);
        assert_int_equal(jobenv_get(env, "SLURM_JOB_ID") == NULL, cases[i].slurm == NULL);
    }
    close_run(&r);
}

static void it_has_a_session_default_signals_and_no_descriptors_of_ours(void **state)
{
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    o = site_order(
        &r.site, 'a',
        "ls -l /proc/self/fd | grep -c -v -e total -e /proc/; "
        "grep -E '^SigBlk|^Cpus_allowed_list' /proc/self/status; "
        /* 32 and 33 are the C library's own, which it lets nobody set. */
        "echo ignored: $((0x$(sed -n 's/^SigIgn:.//p' /proc/self/status) & 0x7fffffff)); "
        "[ $$ = $(ps -o sid= -p $$) ] && echo own session; readlink /proc/self/fd/0");
    o.cpus = (struct list){ &(struct number){ 0 }, 1 };
    start_order(&r, &o);
    end(&r);
    must_see(&r, "3");
    must_see(&r, "SigBlk:\t0000000000000000");
    must_see(&r, "ignored: 0");
    must_see(&r, "Cpus_allowed_list:\t0");
    must_see(&r, "own session");
    must_see(&r, "/dev/null");
    close_run(&r);
}

/* ---- how all of it ends ---- */

static const char daemonize[] =
    "(setsid sh -c 'trap \"echo told\" TERM; echo ready; while :; do sleep 0.05; done' & ) ";

static void what_it_daemonized_is_killed_when_it_is_cancelled(void **state)
{
    struct run r;
    int64_t begin_ms;

    (void)state;
    open_run(&r);
    start(&r, arena_printf(r.site.arena, "%s; sleep 1000", daemonize));
    wait_for(&r, "ready");
    begin_ms = units_monotonic_ms();
    job_cancel(&r.job, 300);
    end(&r);
    assert_true(units_monotonic_ms() - begin_ms >= 290);
    assert_int_equal(r.job.outcome.event, EV_CANCEL);
    assert_non_null(strstr(printed(&r), "told"));
    close_run(&r);
}

static void leftovers_of_an_ended_job_end_too(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start(&r, "(setsid sh -c 'sleep 0.3; echo last words' & ); echo first");
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_DONE); /* in its own time */
    assert_string_equal(printed(&r), "first\nlast words\n");
    close_run(&r);

    open_run(&r);
    start(&r, "(setsid sleep 1000 & ); exit 3");
    end(&r); /* after two seconds, told to */
    assert_int_equal(r.job.outcome.exit_code, 3);
    close_run(&r);
}

static void its_time_is_limited(void **state)
{
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    o = site_order(&r.site, 'a', "trap 'exit 0' TERM; sleep 1000 & wait");
    o.work.work.resources.time_ms = 200;
    start_order(&r, &o);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_FAIL);
    assert_string_equal(r.job.outcome.reason, "time limit of 200 ms reached");
    close_run(&r);
}

static void a_stopped_process_is_ended_as_well(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start(&r, "echo ready; kill -STOP $$");
    wait_for(&r, "ready");
    job_cancel(&r.job, LONGEST_MS);
    end(&r);
    assert_int_equal(r.job.outcome.signal, SIGTERM);
    close_run(&r);
}

static void an_outcome_that_cannot_be_written_waits(void **state)
{
    struct run r;
    struct err e = { 0 };
    char *run_path;

    (void)state;
    open_run(&r);
    run_path = mem_printf("%s/run", r.site.scratch.path);
    start(&r, "echo x >>$LUDWIG_SAVE_PATH/file");
    while (r.job.phase != PHASE_OVER)
        turn(&r);
    assert_int_equal(io_remove_tree(run_path, &e), 0); /* somebody wiped scratch */
    assert_int_equal(job_save(&r.job, &r.site.scratch, &e), -1);
    assert_int_equal(scratch_reopen(&r.site.scratch, &e), 0);
    assert_int_equal(job_save(&r.job, &r.site.scratch, &e), 0);
    assert_true(site_has(&r.site, "scratch/ended/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/outcome"));
    free(run_path);
    close_run(&r);
}

static void what_cannot_be_removed_does_not_keep_back_the_outcome(void **state)
{
    static const char *const folders[] = { JOB_WORK, JOB_TMP };
    struct run r;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t count = 0;

        site_become_nobody();
        open_run(&r);
        start(&r, "/bin/true");
        while (r.job.phase != PHASE_OVER)
            turn(&r);
        site_add_foreign(r.site.scratch.run_fd,
                         arena_printf(r.site.arena, "%s/%s/left", r.job.hex, folders[i]), 0755,
                         "x");
        end(&r);
        assert_true(
            site_has(&r.site, arena_printf(r.site.arena, "scratch/ended/%s/outcome", r.job.hex)));
        assert_int_equal(
            renameat(r.site.scratch.ended_fd, r.job.hex, r.site.scratch.published_fd, r.job.hex),
            0);
        assert_false(spare_give(&r.site.scratch, r.job.hex, &count)); /* another job would see it */
        site_become_root();
        close_run(&r);
    }
}

/* ---- folders of earlier attempts ---- */

static void publish_and_give(struct run *r, const char *hex, size_t *count)
{
    assert_int_equal(renameat(r->site.scratch.ended_fd, hex, r->site.scratch.published_fd, hex), 0);
    site_write(r->site.scratch.published_fd, arena_printf(r->site.arena, "%s/report", hex), "r");
    assert_true(spare_give(&r->site.scratch, hex, count));
}

static void a_spare_folder_shows_nothing_of_the_attempt_before(void **state)
{
    struct run r;
    struct order o;
    size_t count = 0;

    (void)state;
    open_run(&r);
    run_command(&r, "echo 1 >x; echo 1 >$TMPDIR/y; echo 1 >$LUDWIG_SAVE_PATH/z; echo 1 >../w; "
                    "ln ../param2val.json ../../../keep; ln -sf ../../../keep ../param2val.yaml; "
                    "mkdir ../data; chmod 000 ../param2val.msgpack; echo 1 >$LUDWIG_METRICS");
    publish_and_give(&r, r.job.hex, &count);
    assert_int_equal(count, 1);
    o = site_order(&r.site, 'b', "find .. | sort; cat ../param2val.json; cat ../param2val.yaml");
    buf_clear(&r.site.params);
    mp_add_map(&r.site.params, 1);
    mp_add_str(&r.site.params, "n", 1);
    mp_add_int(&r.site.params, 5);
    o.assignment.params = buf_bytes(&r.site.params);
    start_order(&r, &o);
    end(&r);
    assert_string_equal(site_read(&r.site, "scratch/log/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"),
                        "..\n../order\n../outcome.new\n../param2val.json\n../param2val.msgpack\n"
                        "../param2val.yaml\n../report\n../save\n../tmp\n../work\n"
                        "{\n  \"n\": 5\n}\nn: 5\n");
    assert_non_null(strstr(site_read(&r.site, "scratch/keep"), "0.1"));
    assert_int_equal(site_count(arena_printf(r.site.arena, "%s/spare", r.site.scratch.path)), 0);
    close_run(&r);
}

static void spare_folders_are_used_again_and_cleared(void **state)
{
    struct run r;
    struct stat first, second;
    size_t count = 0;

    (void)state;
    open_run(&r);
    run_command(&r, "/bin/true");
    assert_int_equal(fstatat(r.site.scratch.ended_fd, r.job.hex, &first, 0), 0);
    publish_and_give(&r, r.job.hex, &count);
    run_command(&r, "/bin/true");
    assert_int_equal(fstatat(r.site.scratch.ended_fd, r.job.hex, &second, 0), 0);
    assert_true(first.st_ino == second.st_ino);
    publish_and_give(&r, r.job.hex, &count);
    spare_clear(&r.site.scratch, &count);
    assert_int_equal(count, 0);
    assert_int_equal(site_count(r.site.scratch.path), 6);
    close_run(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_process_is_the_outcome),
        cmocka_unit_test(what_it_used_is_counted),
        cmocka_unit_test(a_script_without_a_first_line_is_run_by_the_shell),
        cmocka_unit_test(setup_comes_before_the_command),
        cmocka_unit_test(what_the_job_got_wrong_fails_and_what_the_machine_lacks_is_lost),
        cmocka_unit_test(it_runs_in_its_own_copy_of_the_source),
        cmocka_unit_test(its_environment_is_made_for_it),
        cmocka_unit_test(gpus_are_named_and_slurms_are_left_alone),
        cmocka_unit_test(it_has_a_session_default_signals_and_no_descriptors_of_ours),
        cmocka_unit_test(what_it_daemonized_is_killed_when_it_is_cancelled),
        cmocka_unit_test(leftovers_of_an_ended_job_end_too),
        cmocka_unit_test(its_time_is_limited),
        cmocka_unit_test(a_stopped_process_is_ended_as_well),
        cmocka_unit_test(an_outcome_that_cannot_be_written_waits),
        cmocka_unit_test(what_cannot_be_removed_does_not_keep_back_the_outcome),
        cmocka_unit_test(a_spare_folder_shows_nothing_of_the_attempt_before),
        cmocka_unit_test(spare_folders_are_used_again_and_cleared),
    };

    umask(027); /* as the runner has it */
    if (child_begin(NULL) < 0 || tree_become_reaper(NULL) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
