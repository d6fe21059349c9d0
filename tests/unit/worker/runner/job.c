/* SPDX-License-Identifier: MIT */
/* job.c - tests of real processes: how a job is started, what it sees, how all of it ends */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_run.h"

static const char *printed(struct run *r)
{
    return site_read(&r->site, "scratch/log/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

static void must_see(struct run *r, const char *line)
{
    const char *text = printed(r);
    size_t n = strlen(line);

    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, n) == 0 && at[n] == '\n')
            return;
    }
    fail_msg("no line %s in\n%s", line, text);
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

#define TRACEBACK "Traceback (most recent call last):\n  File \"f.py\", line 1"

static void the_end_of_the_process_is_the_outcome(void **state)
{
    static const struct {
        const char *command;
        int event, cause, exit_code, signal;
        const char *reason;
    } cases[] = {
        { "/bin/true", EV_DONE, CAUSE_NONE, 0, -1, NULL },
        { "exit 0", EV_DONE, CAUSE_NONE, 0, -1, NULL },
        { "exit 3", EV_FAIL, CAUSE_FAILED, 3, -1, "exit code 3" },
        { "exit 137", EV_FAIL, CAUSE_FAILED, 137, -1, "exit code 137" },
        { "echo mine >../trouble; exit 1", EV_FAIL, CAUSE_FAILED, 1, -1, "exit code 1" },
        { "kill -SEGV $$", EV_FAIL, CAUSE_SIGNAL, -1, 11,
          "killed by signal 11 (Segmentation fault)" },
        { "kill -KILL $$", EV_FAIL, CAUSE_SIGNAL, -1, 9, "killed by signal 9 (Killed)" },
        { "no-such-program", EV_FAIL, CAUSE_FAILED, 127, -1,
          "exit code 127: sh: 1: no-such-program: not found" },
        { "/bin", EV_FAIL, CAUSE_FAILED, 126, -1, "exit code 126: sh: 1: /bin: Permission denied" },
        /* what it printed last tells of an error */
        { "echo 'ValueError: no'; echo; exit 1", EV_FAIL, CAUSE_FAILED, 1, -1,
          "exit code 1: ValueError: no" },
        { "echo 'Error: old'; seq 9; exit 1", EV_FAIL, CAUSE_FAILED, 1, -1,
          "exit code 1; last line: 9" },
        { "printf 'a 1\\rb error \\033[31mred\\033[0m\\t\\377.'; exit 1", EV_FAIL, CAUSE_FAILED, 1,
          -1, "exit code 1: b error red ?." },
        { "echo epoch 3; exit 1", EV_FAIL, CAUSE_FAILED, 1, -1, "exit code 1; last line: epoch 3" },
        /* the line below the last traceback, also if more is said after it */
        { "echo '" TRACEBACK "\n f()\nStopIteration'; seq 9; exit 1", EV_FAIL, CAUSE_FAILED, 1, -1,
          "exit code 1: StopIteration" },
        { "echo '" TRACEBACK "\n f()\nKeyError: 1\n\nDuring that:\n\n" TRACEBACK
          "\n  g()\nValueError: 2\nsrun: error: task 0'; exit 1",
          EV_FAIL, CAUSE_FAILED, 1, -1, "exit code 1: ValueError: 2" },
        { "echo '" TRACEBACK "\n f()\nKeyError: 1'; seq 41; exit 1", EV_FAIL, CAUSE_FAILED, 1, -1,
          "exit code 1; last line: 41" },
        { "echo 'a.c:3: Assertion failed'; kill -ABRT $$", EV_FAIL, CAUSE_SIGNAL, -1, 6,
          "killed by signal 6 (Aborted): a.c:3: Assertion failed" },
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
        assert_int_equal(x.cause, cases[i].cause);
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

static void a_line_of_setup_that_fails_ends_the_job_before_the_command(void **state)
{
    static const struct {
        const char *setup, *command;
        const char *printed; /* all of it; NULL: the line that says why */
        int event;
        const char *reason;
    } cases[] = {
        { "false", "echo it ran", NULL, EV_FAIL,
          "setup: false ended it with exit code 1, so the command was not run" },
        { "true\nno-such-program 2>&-\ntrue", "echo it ran", NULL, EV_FAIL,
          "setup: no-such-program 2>&- ended it with exit code 127, so the command was not run" },
        { "exit 0", "echo it ran", NULL, EV_FAIL,
          "setup: exit 0 ended it with exit code 0, so the command was not run" },
        { "false || true", "echo it ran", "it ran\n", EV_DONE, NULL },
        { "set +e\nfalse", "echo it ran", "it ran\n", EV_DONE, NULL },
        { "A=1", "false\necho it ran $A $#", "it ran 1 0\n", EV_DONE, NULL },
        { "set -e", "false\necho it ran", "", EV_FAIL, "exit code 1" },
        { "trap 'echo over' EXIT", "echo it ran", "it ran\nover\n", EV_DONE, NULL },
        { "trap 'echo over' EXIT\nfalse", "echo it ran", "over\n", EV_FAIL,
          "exit code 1; last line: over" },
        { "true", "exit 3", "", EV_FAIL, "exit code 3" },
    };
    struct run r;
    struct order o;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_run(&r);
        o = site_order(&r.site, 'a', cases[i].command);
        o.work.work.setup = cases[i].setup;
        start_order(&r, &o);
        end(&r);
        assert_int_equal(r.job.outcome.event, cases[i].event);
        if (cases[i].reason != NULL)
            assert_string_equal(r.job.outcome.reason, cases[i].reason);
        assert_string_equal(printed(&r),
                            cases[i].printed != NULL
                                ? cases[i].printed
                                : arena_printf(r.site.arena, "ludwig: %s\n", cases[i].reason));
        close_run(&r);
    }
}

/* ---- its environment ---- */

/* One in the folder venv of the site: a program "here", and python3 as a link to that. */
static struct environment make_environment(struct run *r, const char *python)
{
    static const char *paths[1];
    static struct env_entry variables[1];

    assert_int_equal(mkdirat(r->site.top_fd, "venv", 0755), 0);
    assert_int_equal(mkdirat(r->site.top_fd, "venv/bin", 0755), 0);
    site_write(r->site.top_fd, "venv/bin/here", "#!/bin/sh\necho in $VIRTUAL_ENV: $*\n");
    assert_int_equal(fchmodat(r->site.top_fd, "venv/bin/here", 0755, 0), 0);
    assert_int_equal(symlinkat(python, r->site.top_fd, "venv/bin/python3"), 0);
    paths[0] = arena_printf(r->site.arena, "%s/venv/bin", r->site.top);
    variables[0] =
        (struct env_entry){ "VIRTUAL_ENV", arena_printf(r->site.arena, "%s/venv", r->site.top) };
    return (struct environment){ .path = variables[0].value,
                                 .kind = "venv",
                                 .was_active = true,
                                 .paths = { paths, 1 },
                                 .variables = { variables, 1 } };
}

static void its_programs_come_first_and_its_variables_are_set(void **state)
{
    static const char *const commands[] = { "here 1 2", "A=3; here 1 2", "exec here '1' 2" };
    struct run r;
    struct order o;

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        open_run(&r);
        o = site_order(&r.site, 'a', commands[i]);
        o.work.work.environment = make_environment(&r, "here");
        start_order(&r, &o);
        end(&r);
        assert_string_equal(printed(&r),
                            arena_printf(r.site.arena, "in %s/venv: 1 2\n", r.site.top));
        assert_int_equal(r.job.outcome.event, EV_DONE);
        close_run(&r);
    }
}

static void a_job_is_not_begun_where_its_environment_is_not(void **state)
{
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    o = site_order(&r.site, 'a', "echo it ran");
    o.work.work.environment = make_environment(&r, "/no/such/python3.11");
    start_order(&r, &o);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_FAIL);
    assert_int_equal(r.job.outcome.cause, CAUSE_ENVIRONMENT);
    assert_non_null(strstr(r.job.outcome.reason, " needs an interpreter that "));
    assert_non_null(strstr(r.job.outcome.reason, " does not have: /no/such/python3.11"));
    close_run(&r);

    open_run(&r);
    o = site_order(&r.site, 'a', "echo it ran");
    o.work.work.environment = make_environment(&r, "here");
    o.work.work.environment.path = "/no/such/venv";
    start_order(&r, &o);
    end(&r);
    assert_int_equal(r.job.outcome.cause, CAUSE_ENVIRONMENT);
    assert_ptr_equal(strstr(r.job.outcome.reason,
                            "the environment /no/such/venv was active when you submitted; "),
                     r.job.outcome.reason);
    assert_null(strstr(printed(&r), "it ran"));
    close_run(&r);
}

/* As an old version of Modules: a function of the shell that always ends well. */
static void modules_are_loaded_before_setup(void **state)
{
    static const char init[] = "module() {\n"
                               "case $2 in\n"
                               "cuda/*) LOADEDMODULES=${LOADEDMODULES:+$LOADEDMODULES:}$2\n"
                               "PATH=/of/cuda:$PATH ;;\n"
                               "*) echo \"no $2\" >&2 ;;\n"
                               "esac\n"
                               "}\n";
    const char *modules[] = { "cuda/12.4", "gcc/1" }, *begin;
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    assert_int_equal(mkdirat(r.site.top_fd, "init", 0755), 0);
    site_write(r.site.top_fd, "init/sh", init);
    assert_int_equal(setenv("MODULESHOME", r.site.top, 1), 0);
    o = site_order(&r.site, 'a', "echo $A; echo $PATH");
    o.work.work.environment = make_environment(&r, "here");
    o.work.work.environment.modules = (struct list){ modules, 1 };
    o.work.work.setup = "A=$LOADEDMODULES";
    start_order(&r, &o);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_DONE);
    begin = arena_printf(r.site.arena, "cuda/12.4\n%s/venv/bin:/of/cuda:", r.site.top);
    assert_int_equal(strncmp(printed(&r), begin, strlen(begin)), 0);
    close_run(&r);

    open_run(&r);
    assert_int_equal(mkdirat(r.site.top_fd, "init", 0755), 0);
    site_write(r.site.top_fd, "init/sh", init);
    assert_int_equal(setenv("MODULESHOME", r.site.top, 1), 0);
    o = site_order(&r.site, 'a', "echo it ran");
    o.work.work.environment.modules = (struct list){ modules, 2 };
    start_order(&r, &o);
    end(&r);
    assert_int_equal(r.job.outcome.cause, CAUSE_ENVIRONMENT);
    assert_non_null(strstr(r.job.outcome.reason, " could not load the module gcc/1"));
    assert_non_null(strstr(printed(&r), "no gcc/1\n"));
    assert_null(strstr(printed(&r), "it ran"));
    assert_int_equal(unsetenv("MODULESHOME"), 0);
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
    assert_int_equal(r.job.outcome.cause, CAUSE_FAILED);
    assert_non_null(strstr(r.job.outcome.reason, "nothing"));
    close_run(&r);

    open_run(&r);
    o = site_order(&r.site, 'a', "/bin/true");
    digest_of("x", 1, &o.work.work.source.tree); /* is in no cache */
    start_order(&r, &o);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_LOSE);
    assert_int_equal(r.job.outcome.cause, CAUSE_NONE);
    assert_non_null(strstr(r.job.outcome.reason, "source"));
    close_run(&r);
}

/* ---- memory ---- */

static void a_kill_near_the_memory_it_asked_for_is_likely_for_lack_of_it(void **state)
{
    static const struct {
        int64_t memory_bytes;
        bool is_likely;
    } cases[] = { { 64 << 20, true }, { INT64_C(4) << 30, false } };
    struct run r;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct order o;

        open_run(&r);
        o = site_order(&r.site, 'a',
                       "python3 -c 'import os; b = b\"x\" * (70 << 20); os.kill(os.getpid(), 9)'");
        o.work.work.resources.memory_bytes = cases[i].memory_bytes;
        start_order(&r, &o);
        end(&r);
        assert_int_equal(r.job.outcome.event, EV_FAIL);
        assert_int_equal(r.job.outcome.cause, cases[i].is_likely ? CAUSE_OOM : CAUSE_SIGNAL);
        /* "likely", unless the runner saw it above its memory and killed it first */
        assert_int_equal(strstr(r.job.outcome.reason, "out of memory: it used ") != NULL,
                         cases[i].is_likely);
        close_run(&r);
    }
}

/* A machine that is made up, where the job itself says that the kernel ended something. */
static void count_kills_in(struct run *r, const char *group)
{
    struct err e = { 0 };

    assert_int_equal(io_make_dirs_at(r->site.top_fd, "proc/self", 0755, &e), 0);
    assert_int_equal(io_make_dirs_at(r->site.top_fd, group, 0755, &e), 0);
    site_write(r->site.top_fd, "proc/self/cgroup", arena_printf(r->site.arena, "0::/%s\n", group));
    site_write(r->site.top_fd, "proc/self/mountinfo", "1 1 0:1 / / rw - cgroup2 cgroup2 rw\n");
    site_write(r->site.top_fd, arena_printf(r->site.arena, "%s/memory.max", group), "1073741824");
    site_write(r->site.top_fd, arena_printf(r->site.arena, "%s/memory.events", group),
               "oom_kill 3\n");
    oom_close(&r->oom);
    oom_open(&r->oom, r->site.top);
}

static void what_the_kernel_counted_is_told_with_the_jobs_own_kill(void **state)
{
    static const struct {
        int kills, cause;
        const char *end;
        const char *beginning; /* of the reason */
    } cases[] = {
        { 4, CAUSE_OOM, "kill -KILL $$", "out of memory: the kernel ended it (peak " },
        { 4, CAUSE_OOM, "exit 137", "out of memory: the kernel ended it (peak " },
        { 4, CAUSE_SIGNAL, "kill -SEGV $$", "killed by signal 11 " },
        { 4, CAUSE_FAILED, "exit 1", "exit code 1; memory ran out meanwhile" },
        { 3, CAUSE_SIGNAL, "kill -KILL $$", "killed by signal 9 (Killed)" },
    };
    struct run r;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_run(&r);
        count_kills_in(&r, "cg");
        run_command(&r, arena_printf(r.site.arena, "echo oom_kill %d >%s/cg/memory.events; %s",
                                     cases[i].kills, r.site.top, cases[i].end));
        assert_int_equal(r.job.outcome.cause, cases[i].cause);
        assert_int_equal(
            strncmp(r.job.outcome.reason, cases[i].beginning, strlen(cases[i].beginning)), 0);
        close_run(&r);
    }
}

static void who_was_cancelled_was_not_out_of_memory(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    count_kills_in(&r, "cg");
    start(&r, arena_printf(r.site.arena,
                           "trap '' TERM; echo oom_kill 9 >%s/cg/memory.events; echo ready; "
                           "while :; do sleep 0.05; done",
                           r.site.top));
    wait_for(&r, "ready");
    job_cancel(&r.job, 100);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_CANCEL);
    assert_int_equal(r.job.outcome.cause, CAUSE_NONE);
    assert_string_equal(r.job.outcome.reason, "cancelled");
    close_run(&r);
}

/* ---- containers ---- */

static void add_runtime(struct run *r)
{
    assert_int_equal(mkdirat(r->site.top_fd, "programs", 0755), 0);
    site_write(r->site.top_fd, "programs/apptainer",
               "#!/bin/sh\nfor i; do echo \"[$i]\"; done\necho LR=$APPTAINERENV_LR\n"
               "while [ \"$1\" != /images/a.sif ]; do shift; done; shift; \"$@\"\n");
    assert_int_equal(fchmodat(r->site.top_fd, "programs/apptainer", 0755, 0), 0);
}

static void its_command_runs_in_its_image(void **state)
{
    struct env_entry own[2] = { { "LR", "1" }, { "PATH", NULL } };
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    add_runtime(&r);
    own[1].value = arena_printf(r.site.arena, "%s/programs:/usr/bin:/bin", r.site.top);
    o = site_order(&r.site, 'a', "echo $A {lr}; pwd; exit 3");
    o.work.work.setup = "A=prepared";
    o.work.work.container = "/images/a.sif";
    o.work.work.env = (struct list){ own, 2 };
    start_order(&r, &o);
    end(&r);
    must_see(&r, "[exec]");
    must_see(&r, arena_printf(r.site.arena, "[%s/demo:%s/demo]", r.site.share, r.site.share));
    must_see(&r, arena_printf(r.site.arena, "[%s/run:%s/run]", r.site.scratch.path,
                              r.site.scratch.path));
    must_see(&r, "LR=1");
    must_see(&r, "prepared 0.1");
    must_see(&r, arena_printf(r.site.arena, "%s/run/%s/work", r.site.scratch.path, r.job.hex));
    assert_int_equal(r.job.outcome.exit_code, 3);
    close_run(&r);
}

static void without_a_runtime_a_job_with_an_image_fails(void **state)
{
    struct env_entry own = { "PATH", "/nowhere" };
    struct run r;
    struct order o;

    (void)state;
    open_run(&r);
    o = site_order(&r.site, 'a', "/bin/true");
    o.work.work.container = "/images/a.sif";
    o.work.work.env = (struct list){ &own, 1 };
    start_order(&r, &o);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_FAIL);
    assert_int_equal(r.job.outcome.cause, CAUSE_FAILED);
    assert_non_null(strstr(r.job.outcome.reason, "neither apptainer nor singularity is in PATH"));
    /* By its order it can be published. */
    assert_true(site_has(&r.site, "scratch/ended/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/order"));
    close_run(&r);
}

/* ---- what it sees ---- */

static void it_runs_in_its_own_copy_of_the_source(void **state)
{
    struct run r;
    struct order o;
    char hex[DIGEST_HEX];

    (void)state;
    open_run(&r);
    assert_int_equal(mkdirat(r.site.top_fd, "source", 0755), 0);
    site_write(r.site.top_fd, "source/run.sh",
               "#!/bin/sh\necho more >>data; cat data; ls $LUDWIG_DATA\n");
    site_write(r.site.top_fd, "source/data", "once\n");
    o = site_order(&r.site, 'a', "./run.sh");
    digest_of("x", 1, &o.work.work.source.tree);
    digest_hex(&o.work.work.source.tree, hex);
    assert_int_equal(fchmodat(r.site.top_fd, "source/run.sh", 0555, 0), 0);
    assert_int_equal(fchmodat(r.site.top_fd, "source/data", 0444, 0), 0);
    assert_int_equal(renameat(r.site.top_fd, "source", r.site.scratch.cache_fd, hex), 0);
    o.work.work.data =
        (struct list){ &(struct data_entry){ .name = "corpora", .set = o.work.work.source }, 1 };
    start_order(&r, &o);
    end(&r);
    assert_string_equal(printed(&r), "once\nmore\ncorpora\n");
    assert_string_equal(
        site_read(&r.site, arena_printf(r.site.arena, "scratch/cache/%s/data", hex)), "once\n");
    assert_false(site_has(&r.site, "scratch/ended/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/work"));
    close_run(&r);
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

static void what_is_run_for_another_is_open_to_the_group(void **state)
{
    static const struct {
        bool for_another;
        const char *says;
    } cases[] = { { false, "0027" }, { true, "0007" } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run r;
        struct order o;

        open_run(&r);
        o = site_order(&r.site, 'a', "umask");
        o.for_another = cases[i].for_another;
        start_order(&r, &o);
        end(&r);
        must_see(&r, cases[i].says);
        close_run(&r);
    }
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

    (void)state;
    open_run(&r);
    start(&r, arena_printf(r.site.arena, "%s; sleep 1000", daemonize));
    wait_for(&r, "ready");
    job_cancel(&r.job, LONGEST_MS);
    wait_for(&r, "told");
    assert_int_equal(r.job.phase, JOB_PHASE_ENDING);
    job_cancel(&r.job, 0);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_CANCEL);
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

/* ---- its checkpoint ---- */

/* Saves and ends by itself when it is asked to, and says what else it is told. */
static const char saver[] =
    "import os, signal, sys, time\n"
    "def save(*_):\n"
    "    time.sleep(0.2)\n"
    "    open(os.environ['LUDWIG_CHECKPOINT'] + '/state', 'w').write('state')\n"
    "    print('saved', flush=True)\n"
    "    if sys.argv[1] == 'ends': sys.exit(0)\n"
    "def finish(*_):\n"
    "    print('saved', flush=True)\n"
    "    sys.exit(0)\n"
    "def term(*_):\n"
    "    print('terminated', flush=True)\n"
    "    sys.exit(7)\n"
    "signal.signal(signal.SIGUSR1, finish if sys.argv[1] == 'finishes' else save)\n"
    "signal.signal(signal.SIGTERM, term)\n"
    "print('ready', flush=True)\n"
    "while True: time.sleep(0.01)\n";

/* A shell runs it, which does not catch the signal; time_ms 0: no limit. */
static void start_saver(struct run *r, const char *how, int64_t time_ms, int64_t grace_ms)
{
    struct order o = site_order(
        &r->site, 'a',
        arena_printf(r->site.arena, "python3 %s/saver.py %s; exit $?", r->site.top, how));

    site_write(r->site.top_fd, "saver.py", saver);
    o.work.work.checkpoint.signal = "SIGUSR1";
    o.work.work.checkpoint.grace_ms = grace_ms;
    o.work.work.resources.time_ms = time_ms;
    start_order(r, &o);
    wait_for(r, "ready");
}

static bool has_saved(struct run *r)
{
    return site_has(&r->site, "scratch/ended/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/checkpoint/state");
}

static void over_its_time_it_may_save_its_state_first(void **state)
{
    static const struct {
        const char *how;
        bool is_terminated;
    } cases[] = { { "ends", false }, { "goes-on", true } };
    struct run r;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_run(&r);
        start_saver(&r, cases[i].how, 3600 * 1000, LONGEST_MS);
        r.job.deadline_ms = units_monotonic_ms();
        wait_for(&r, "saved");
        if (cases[i].is_terminated)
            r.job.deadline_ms = units_monotonic_ms();
        end(&r);
        assert_true(has_saved(&r));
        assert_int_equal(r.job.outcome.event, EV_FAIL);
        assert_int_equal(r.job.outcome.cause, CAUSE_TIMEOUT);
        assert_string_equal(r.job.outcome.reason, "time limit of 1 h reached");
        assert_int_equal(strstr(printed(&r), "terminated") != NULL, cases[i].is_terminated);
        close_run(&r);
    }
}

static void who_catches_no_signal_is_ended_at_once(void **state)
{
    struct run r;
    struct order o;
    int64_t begin_ms = units_monotonic_ms();

    (void)state;
    open_run(&r);
    o = site_order(&r.site, 'a', "trap 'echo told; exit 0' TERM; echo ready; sleep 1000 & wait");
    o.work.work.checkpoint.signal = "SIGUSR1";
    o.work.work.checkpoint.grace_ms = 10 * LONGEST_MS;
    o.work.work.resources.time_ms = 3600 * 1000;
    start_order(&r, &o);
    wait_for(&r, "ready");
    r.job.deadline_ms = units_monotonic_ms();
    end(&r);
    assert_true(units_monotonic_ms() - begin_ms < LONGEST_MS);
    assert_string_equal(printed(&r), "ready\ntold\n");
    assert_int_equal(r.job.outcome.cause, CAUSE_TIMEOUT);
    close_run(&r);
}

static void who_is_cancelled_is_not_asked_to_save(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start_saver(&r, "goes-on", 0, LONGEST_MS);
    job_cancel(&r.job, LONGEST_MS);
    end(&r);
    assert_false(has_saved(&r));
    assert_non_null(strstr(printed(&r), "terminated"));
    assert_int_equal(r.job.outcome.event, EV_CANCEL);
    close_run(&r);
}

static void cancelled_while_it_saves_it_is_ended(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start_saver(&r, "goes-on", 0, 10 * LONGEST_MS);
    job_preempt(&r.job, CAUSE_PREEMPTED, NULL, SCHEMA_NONE);
    assert_int_equal(r.job.phase, JOB_PHASE_CHECKPOINT);
    job_preempt(&r.job, CAUSE_PREEMPTED, NULL, SCHEMA_NONE); /* says nothing new */
    assert_int_equal(r.job.phase, JOB_PHASE_CHECKPOINT);
    job_cancel(&r.job, LONGEST_MS);
    end(&r);
    assert_non_null(strstr(printed(&r), "terminated"));
    assert_int_equal(r.job.outcome.event, EV_CANCEL);
    close_run(&r);
}

static void who_is_preempted_saves_and_is_lost(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start_saver(&r, "ends", 0, LONGEST_MS);
    job_preempt(&r.job, CAUSE_PREEMPTED, NULL, SCHEMA_NONE);
    end(&r);
    assert_true(has_saved(&r));
    assert_int_equal(r.job.outcome.event, EV_LOSE);
    assert_int_equal(r.job.outcome.cause, CAUSE_PREEMPTED);
    assert_string_equal(r.job.outcome.reason, "preempted");
    close_run(&r);
}

/* What it saved long before does not count. */
static void who_is_asked_and_comes_to_its_end_without_saving_is_done(void **state)
{
    static const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    static const char kept[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/checkpoint/state";
    struct run r;

    (void)state;
    for (int is_old = 0; is_old < 2; is_old++) {
        open_run(&r);
        start_saver(&r, "finishes", 0, LONGEST_MS);
        site_write(r.site.scratch.run_fd, kept, "state");
        if (is_old)
            assert_int_equal(utimensat(r.site.scratch.run_fd, kept, long_ago, 0), 0);
        job_preempt(&r.job, CAUSE_PREEMPTED, NULL, SCHEMA_NONE);
        end(&r);
        assert_int_equal(r.job.outcome.event, is_old ? EV_DONE : EV_LOSE);
        close_run(&r);
    }
}

static void who_is_preempted_and_comes_to_its_end_is_done(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start(&r, "trap 'exit 0' TERM; echo ready; sleep 1000 & wait");
    wait_for(&r, "ready");
    job_preempt(&r.job, CAUSE_PREEMPTED, "a reason", SCHEMA_NONE);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_DONE);
    close_run(&r);
}

/* What it is asked by does not end it, and there is little time. */
static void who_is_preempted_is_gone_within_its_budget(void **state)
{
    enum { BUDGET_MS = 900 };
    struct run r;
    int64_t begin_ms;

    (void)state;
    open_run(&r);
    start_saver(&r, "deaf", 0, 10 * LONGEST_MS);
    begin_ms = units_monotonic_ms();
    job_preempt(&r.job, CAUSE_PREEMPTED, "a reason", BUDGET_MS);
    end(&r);
    assert_true(units_monotonic_ms() - begin_ms < LONGEST_MS);
    assert_int_equal(r.job.outcome.cause, CAUSE_PREEMPTED);
    assert_string_equal(r.job.outcome.reason, "a reason");
    close_run(&r);
}

static void who_is_stopped_early_saves_and_is_stopped(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start_saver(&r, "ends", 0, LONGEST_MS);
    job_stop_early(&r.job, "worse than the others");
    assert_int_equal(r.job.phase, JOB_PHASE_CHECKPOINT);
    job_stop_early(&r.job, "said again");
    end(&r);
    assert_true(has_saved(&r));
    assert_int_equal(r.job.outcome.event, EV_STOP);
    assert_int_equal(r.job.outcome.cause, CAUSE_NONE);
    assert_string_equal(r.job.outcome.reason, "worse than the others");
    close_run(&r);
}

/* Without checkpoint: exit code 0 may well be how it says that it has saved. */
static void who_is_stopped_early_by_sigterm_is_stopped_whatever_it_ends_with(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start(&r, "trap 'exit 0' TERM; echo ready; sleep 1000 & wait");
    wait_for(&r, "ready");
    job_stop_early(&r.job, "worse");
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_STOP);
    close_run(&r);
}

static void who_comes_to_its_end_before_it_is_stopped_is_done(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start(&r, "true");
    end(&r);
    job_stop_early(&r.job, "too late");
    job_end_nan(&r.job, "too late");
    assert_int_equal(r.job.outcome.event, EV_DONE);
    close_run(&r);
    /* asked, and not told to end: it did not save */
    open_run(&r);
    start_saver(&r, "finishes", 0, LONGEST_MS);
    job_stop_early(&r.job, "worse");
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_DONE);
    assert_null(r.job.outcome.reason);
    close_run(&r);
}

static void who_has_a_nan_has_failed_by_it(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start(&r, "trap 'exit 0' TERM; echo ready; sleep 1000 & wait");
    wait_for(&r, "ready");
    job_end_nan(&r.job, "loss was nan at step 3");
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_FAIL);
    assert_int_equal(r.job.outcome.cause, CAUSE_NAN);
    assert_string_equal(r.job.outcome.reason, "loss was nan at step 3");
    close_run(&r);
}

static void fail_in_slurm(struct run *r, bool in_slurm)
{
    struct order o = site_order(&r->site, 'a', "exit 3");

    o.in_slurm = in_slurm;
    start_order(r, &o);
    while (r->job.phase != JOB_PHASE_OVER && r->job.phase != JOB_PHASE_UNCLEAR)
        turn(r);
}

/* Slurm has told it to end before its runner heard of that. */
static void what_fails_just_before_it_is_preempted_was_preempted(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    fail_in_slurm(&r, true);
    assert_int_equal(r.job.phase, JOB_PHASE_UNCLEAR);
    job_preempt(&r.job, CAUSE_PREEMPTED, NULL, SCHEMA_NONE);
    assert_int_equal(r.job.phase, JOB_PHASE_OVER);
    assert_int_equal(r.job.outcome.event, EV_LOSE);
    assert_int_equal(r.job.outcome.cause, CAUSE_PREEMPTED);
    close_run(&r);
}

static void what_fails_in_slurm_without_being_told_has_failed(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    fail_in_slurm(&r, true);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_FAIL);
    assert_int_equal(r.job.outcome.exit_code, 3);
    close_run(&r);
    open_run(&r);
    fail_in_slurm(&r, false);
    assert_int_equal(r.job.phase, JOB_PHASE_OVER);
    close_run(&r);
}

/* Until it was looked at how much it uses now. */
static void wait_for_look(struct run *r)
{
    int64_t until_ms = units_monotonic_ms() + LONGEST_MS, next_ms = r->job.memwatch.next_ms;

    while (r->job.memwatch.next_ms == next_ms) {
        assert_true(units_monotonic_ms() < until_ms);
        turn(r);
    }
}

/* Where the kernel does not limit it, inside Slurm or not. */
static void who_uses_more_memory_than_it_asked_for_is_ended(void **state)
{
    static const struct {
        const char *program;
        bool in_slurm, is_ended;
    } cases[] = {
        { "x = bytearray(300 << 20)", true, true },
        { "x = bytearray(300 << 20)", false, true },
        /* shared with its child */
        { "x = bytearray(100 << 20); r, w = os.pipe(); os.fork() or os.write(w, b'x'); "
          "os.read(r, 1) and os.write(w, b'x')",
          true, false },
        /* and files do not count */
        { "f = open('f', 'w+b'); f.truncate(300 << 20); m = mmap.mmap(f.fileno(), 0); "
          "n = sum(m[i] for i in range(0, 300 << 20, 4096))",
          true, false },
    };
    struct run r;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *command;
        struct order o;

        open_run(&r);
        command =
            mem_printf("exec python3 -c \"import mmap, os, time; %s; print('ready', flush=True)\n"
                       "while not os.path.exists('%s/go'): time.sleep(0.01)\"",
                       cases[i].program, r.site.top);
        o = site_order(&r.site, 'a', command);
        o.in_slurm = cases[i].in_slurm;
        o.work.work.resources.memory_bytes = 150 << 20;
        start_order(&r, &o);
        if (!cases[i].is_ended) {
            wait_for(&r, "ready");
            if (cases[i].in_slurm)
                wait_for_look(&r);
            site_write(r.site.top_fd, "go", "");
        }
        end(&r);
        assert_int_equal(r.job.outcome.event, cases[i].is_ended ? EV_FAIL : EV_DONE);
        if (cases[i].is_ended) {
            assert_int_equal(r.job.outcome.cause, CAUSE_OOM);
            /* how much depends on when it was looked at */
            assert_non_null(strstr(r.job.outcome.reason, "out of memory: it used "));
            assert_non_null(strstr(r.job.outcome.reason, " of 150 MiB"));
        }
        close_run(&r);
        free(command);
    }
}

static void who_has_ended_before_it_was_preempted_keeps_its_outcome(void **state)
{
    struct run r;

    (void)state;
    open_run(&r);
    start(&r, "(setsid sh -c 'echo ready; exec sleep 1000' & ); exit 0");
    wait_for(&r, "ready");
    while (r.job.phase == JOB_PHASE_RUNNING)
        turn(&r);
    assert_int_equal(r.job.phase, JOB_PHASE_LEFTOVERS);
    job_preempt(&r.job, CAUSE_PREEMPTED, NULL, SCHEMA_NONE);
    assert_int_equal(r.job.phase, JOB_PHASE_ENDING);
    end(&r);
    assert_int_equal(r.job.outcome.event, EV_DONE);
    close_run(&r);
}

/* What it left behind does not use up the time it had to save. */
static void its_grace_ends_with_its_main_process(void **state)
{
    struct run r;
    int64_t begin_ms;

    (void)state;
    open_run(&r);
    start_saver(&r, "ends & (setsid sleep 1000 &); wait", 0, 10 * LONGEST_MS);
    begin_ms = units_monotonic_ms();
    job_preempt(&r.job, CAUSE_PREEMPTED, NULL, SCHEMA_NONE);
    end(&r);
    assert_true(units_monotonic_ms() - begin_ms < LONGEST_MS);
    assert_true(has_saved(&r));
    close_run(&r);
}

static void the_checkpoint_of_the_attempt_before_is_taken(void **state)
{
    static const struct {
        int64_t attempt;
        bool was_brought;
        const char *printed;
    } cases[] = {
        { 1, true, "" }, /* nobody brings one for a first attempt */
        { 2, false, "" },
        { 2, true, "state\n" },
    };
    static const char brought[] = "checkpoints/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct run r;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct order o;
        struct err e = { 0 };

        open_run(&r);
        o = site_order(&r.site, 'a', "ls $LUDWIG_CHECKPOINT; echo 1 >$LUDWIG_CHECKPOINT/new");
        o.assignment.attempt = cases[i].attempt;
        if (cases[i].was_brought) {
            assert_int_equal(io_make_dirs_at(r.site.scratch.fd, brought, 0750, &e), 0);
            site_write(r.site.scratch.fd, arena_printf(r.site.arena, "%s/state", brought), "s");
        }
        start_order(&r, &o);
        end(&r);
        assert_string_equal(printed(&r), cases[i].printed);
        assert_true(
            site_has(&r.site, "scratch/ended/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/checkpoint/new"));
        assert_int_equal(faccessat(r.site.scratch.fd, brought, F_OK, 0) == 0,
                         cases[i].was_brought && cases[i].attempt == 1);
        close_run(&r);
    }
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
    while (r.job.phase != JOB_PHASE_OVER)
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
        while (r.job.phase != JOB_PHASE_OVER)
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
        assert_false(
            scratch_keep_spare(&r.site.scratch, r.job.hex, &count)); /* another job would see it */
        site_become_root();
        close_run(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_process_is_the_outcome),
        cmocka_unit_test(what_it_used_is_counted),
        cmocka_unit_test(a_script_without_a_first_line_is_run_by_the_shell),
        cmocka_unit_test(setup_comes_before_the_command),
        cmocka_unit_test(a_line_of_setup_that_fails_ends_the_job_before_the_command),
        cmocka_unit_test(its_programs_come_first_and_its_variables_are_set),
        cmocka_unit_test(a_job_is_not_begun_where_its_environment_is_not),
        cmocka_unit_test(modules_are_loaded_before_setup),
        cmocka_unit_test(what_the_job_got_wrong_fails_and_what_the_machine_lacks_is_lost),
        cmocka_unit_test(a_kill_near_the_memory_it_asked_for_is_likely_for_lack_of_it),
        cmocka_unit_test(what_the_kernel_counted_is_told_with_the_jobs_own_kill),
        cmocka_unit_test(who_was_cancelled_was_not_out_of_memory),
        cmocka_unit_test(its_command_runs_in_its_image),
        cmocka_unit_test(without_a_runtime_a_job_with_an_image_fails),
        cmocka_unit_test(over_its_time_it_may_save_its_state_first),
        cmocka_unit_test(who_catches_no_signal_is_ended_at_once),
        cmocka_unit_test(who_is_cancelled_is_not_asked_to_save),
        cmocka_unit_test(cancelled_while_it_saves_it_is_ended),
        cmocka_unit_test(who_is_preempted_saves_and_is_lost),
        cmocka_unit_test(who_is_asked_and_comes_to_its_end_without_saving_is_done),
        cmocka_unit_test(who_is_preempted_and_comes_to_its_end_is_done),
        cmocka_unit_test(who_is_stopped_early_saves_and_is_stopped),
        cmocka_unit_test(who_is_stopped_early_by_sigterm_is_stopped_whatever_it_ends_with),
        cmocka_unit_test(who_comes_to_its_end_before_it_is_stopped_is_done),
        cmocka_unit_test(who_has_a_nan_has_failed_by_it),
        cmocka_unit_test(who_is_preempted_is_gone_within_its_budget),
        cmocka_unit_test(what_fails_just_before_it_is_preempted_was_preempted),
        cmocka_unit_test(what_fails_in_slurm_without_being_told_has_failed),
        cmocka_unit_test(who_uses_more_memory_than_it_asked_for_is_ended),
        cmocka_unit_test(who_has_ended_before_it_was_preempted_keeps_its_outcome),
        cmocka_unit_test(its_grace_ends_with_its_main_process),
        cmocka_unit_test(the_checkpoint_of_the_attempt_before_is_taken),
        cmocka_unit_test(it_runs_in_its_own_copy_of_the_source),
        cmocka_unit_test(its_environment_is_made_for_it),
        cmocka_unit_test(what_is_run_for_another_is_open_to_the_group),
        cmocka_unit_test(it_has_a_session_default_signals_and_no_descriptors_of_ours),
        cmocka_unit_test(what_it_daemonized_is_killed_when_it_is_cancelled),
        cmocka_unit_test(leftovers_of_an_ended_job_end_too),
        cmocka_unit_test(its_time_is_limited),
        cmocka_unit_test(a_stopped_process_is_ended_as_well),
        cmocka_unit_test(an_outcome_that_cannot_be_written_waits),
        cmocka_unit_test(what_cannot_be_removed_does_not_keep_back_the_outcome),
    };

    if (run_begin() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
