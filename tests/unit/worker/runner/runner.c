/* SPDX-License-Identifier: MIT */
/* runner.c - tests of a runner, and of what it does when its agent dies */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/file.h>
#include <sys/un.h>

#include "tests/unit/worker_child.h"
#include "worker/node/unix_socket.h"
#include "worker/runner/runner.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct runner_site {
    struct site site;
    char *folder;
    struct agent agent;
};

static int lock_folder(const char *folder)
{
    char *path = mem_printf("%s/lock", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    free(path);
    assert_true(fd >= 0);
    return fd;
}

static void open_runner(struct runner_site *r, const char *folder_name)
{
    struct note_hello hello;
    struct err e = { 0 };
    char *argv[3];
    int lock_fd, listen_fd, dir_fd;

    site_open(&r->site, NULL);
    r->folder = mem_printf("%s/%s", r->site.top, folder_name);
    assert_int_equal(io_make_dirs(r->folder, 0700, &e), 0);
    lock_fd = lock_folder(r->folder);
    assert_int_equal(flock(lock_fd, LOCK_EX | LOCK_NB), 0);
    argv[0] = mem_strdup(CHILD_RUNNER);
    argv[1] = r->site.scratch.path;
    dir_fd = io_open_dir(r->folder, &e);
    listen_fd = unix_socket_listen_at(dir_fd, "sock", &e);
    assert_true(listen_fd >= 0);
    argv[2] = mem_strdup("0:0:-1:-1:-1");
    r->agent = agent_start(runner_main, 3, argv, lock_fd, listen_fd);
    free(argv[0]);
    free(argv[2]);
    close(dir_fd);
    close(listen_fd);
    close(lock_fd);
    agent_hear(&r->agent, NOTE_HELLO, &hello);
    assert_int_equal(hello.pid, r->agent.pid);
    assert_true(token_is_zero(&hello.token));
}

static void close_runner(struct runner_site *r)
{
    free(r->folder);
    site_close(&r->site);
}

static bool is_locked(const struct runner_site *r)
{
    int fd = lock_folder(r->folder);
    bool locked = flock(fd, LOCK_EX | LOCK_NB) < 0;

    close(fd);
    return locked;
}

static void tell_run(struct runner_site *r, char digit, const char *command)
{
    struct order_run run = { .order = site_order(&r->site, digit, command) };

    agent_tell(&r->agent, ORDER_RUN, &run);
}

static struct token token_of(struct runner_site *r, char digit)
{
    return site_order(&r->site, digit, "").assignment.token;
}

/* As the next agent does. */
static struct wire connect_to(struct runner_site *r)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct err e = { 0 };
    struct wire w;
    int dir_fd = io_open_dir(r->folder, &e);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/sock", dir_fd);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    close(dir_fd);
    wire_init(&w, fd, &orders);
    return w;
}

static int event_of(struct runner_site *r, const char *hex)
{
    struct outcome x;
    struct err e = { 0 };

    if (scratch_read(r->site.scratch.ended_fd,
                     arena_printf(r->site.arena, "%s/%s", hex, JOB_OUTCOME), &outcome_schema,
                     r->site.arena, &x, &e) < 0)
        fail_msg("%s", e.text);
    return x.event;
}

static void wait_for_file(struct runner_site *r, const char *path)
{
    int64_t until_ms = units_monotonic_ms() + CHILD_LONGEST_MS;

    while (!site_has(&r->site, path)) {
        assert_true(units_monotonic_ms() < until_ms);
        (void)poll(NULL, 0, 5);
    }
}

static void it_runs_one_job_after_the_other_and_leaves_with_its_agent(void **state)
{
    struct runner_site r;
    struct note_started started;
    struct note_ended ended;
    struct token a;

    (void)state;
    open_runner(&r, "runner");
    a = token_of(&r, 'a');
    for (int i = 0; i < 3; i++) {
        tell_run(&r, 'a', "/bin/true");
        agent_hear(&r.agent, NOTE_STARTED, &started);
        assert_true(token_equal(&started.token, &a) && started.at > 0);
        agent_hear(&r.agent, NOTE_ENDED, &ended);
        assert_true(token_equal(&ended.token, &a));
        assert_int_equal(event_of(&r, HEX_A), EV_DONE);
        assert_int_equal(io_remove_tree_at(r.site.scratch.ended_fd, HEX_A, NULL), 0);
    }
    assert_true(is_locked(&r));
    assert_int_equal(agent_leave(&r.agent), 0);
    assert_false(is_locked(&r));
    close_runner(&r);
}

static void it_stops_a_job_when_told(void **state)
{
    struct runner_site r;
    struct note_started started;
    struct note_ended ended;
    struct order_stop stop = { .grace_ms = CHILD_LONGEST_MS };

    (void)state;
    open_runner(&r, "runner");
    tell_run(&r, 'a', "sleep 1000");
    agent_hear(&r.agent, NOTE_STARTED, &started);
    stop.token = token_of(&r, 'b'); /* not this one */
    agent_tell(&r.agent, ORDER_STOP, &stop);
    stop.token = token_of(&r, 'a');
    agent_tell(&r.agent, ORDER_STOP, &stop);
    agent_hear(&r.agent, NOTE_ENDED, &ended);
    assert_int_equal(event_of(&r, HEX_A), EV_CANCEL);
    assert_int_equal(agent_leave(&r.agent), 0);
    close_runner(&r);
}

static void a_job_outlives_its_agent(void **state)
{
    struct runner_site r;
    struct note_started started;

    (void)state;
    open_runner(&r, "runner");
    tell_run(&r, 'a', "sleep 0.3; echo done >$LUDWIG_SAVE_PATH/x");
    agent_hear(&r.agent, NOTE_STARTED, &started);
    assert_int_equal(agent_leave(&r.agent), 0);
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    assert_string_equal(site_read(&r.site, "scratch/ended/" HEX_A "/save/x"), "done\n");
    close_runner(&r);
}

/* In a folder whose path no socket's address would hold. */
static void the_next_agent_takes_it_over(void **state)
{
    struct runner_site r;
    struct note_started started;
    struct note_hello hello;
    struct note_ended ended;
    struct token a;
    struct wire next;
    char folder[151];

    (void)state;
    memset(folder, 'f', 150);
    folder[150] = '\0';
    open_runner(&r, folder);
    a = token_of(&r, 'a');
    tell_run(&r, 'a', "while ! [ -e ../../../go ]; do sleep 0.01; done");
    agent_hear(&r.agent, NOTE_STARTED, &started);
    next = connect_to(&r);
    wire_close(&r.agent.wire);
    wire_hear(&next, NOTE_HELLO, &hello);
    assert_true(token_equal(&hello.token, &a));
    assert_int_equal(hello.started_at, started.at);
    site_write(r.site.top_fd, "scratch/go", "");
    wire_hear(&next, NOTE_ENDED, &ended);
    wire_close(&r.agent.wire);
    r.agent.wire = next;
    tell_run(&r, 'b', "/bin/true");
    agent_hear(&r.agent, NOTE_STARTED, &started);
    agent_hear(&r.agent, NOTE_ENDED, &ended);
    assert_int_equal(agent_leave(&r.agent), 0);
    close_runner(&r);
}

static void an_order_of_a_dead_agent_is_obeyed(void **state)
{
    struct runner_site r;
    struct note_hello hello;
    struct note_ended ended;
    struct token a;
    struct wire next;

    (void)state;
    open_runner(&r, "runner");
    a = token_of(&r, 'a');
    assert_int_equal(kill(r.agent.pid, SIGSTOP), 0);
    tell_run(&r, 'a', "sleep 0.2");
    next = connect_to(&r);
    wire_close(&r.agent.wire);
    assert_int_equal(kill(r.agent.pid, SIGCONT), 0);
    wire_hear(&next, NOTE_HELLO, &hello);
    assert_true(token_equal(&hello.token, &a));
    wire_hear(&next, NOTE_ENDED, &ended);
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    r.agent.wire = next;
    assert_int_equal(agent_leave(&r.agent), 0);
    close_runner(&r);
}

static void its_death_is_the_jobs(void **state)
{
    struct runner_site r;
    struct note_started started;
    int64_t until_ms = units_monotonic_ms() + CHILD_LONGEST_MS;
    pid_t job;

    (void)state;
    open_runner(&r, "runner");
    tell_run(&r, 'a',
             "echo $$ >../../../pid.new; mv ../../../pid.new ../../../pid; exec sleep 1000");
    agent_hear(&r.agent, NOTE_STARTED, &started);
    wait_for_file(&r, "scratch/pid");
    job = (pid_t)atoi(site_read(&r.site, "scratch/pid"));
    assert_int_equal(kill(r.agent.pid, SIGKILL), 0);
    (void)agent_wait(&r.agent);
    while (kill(job, 0) == 0) {
        assert_true(units_monotonic_ms() < until_ms);
        (void)poll(NULL, 0, 5);
    }
    assert_false(is_locked(&r));
    assert_true(site_has(&r.site, "scratch/run/" HEX_A));
    wire_close(&r.agent.wire);
    close_runner(&r);
}

static void nonsense_ends_the_connection_but_not_the_job(void **state)
{
    struct runner_site r;
    struct note_started started;
    struct token_entry publish;

    (void)state;
    open_runner(&r, "runner");
    tell_run(&r, 'a', "sleep 0.2");
    agent_hear(&r.agent, NOTE_STARTED, &started);
    publish.token = token_of(&r, 'a');
    agent_tell(&r.agent, ORDER_PUBLISH, &publish);
    assert_int_equal(agent_wait(&r.agent), 0);
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    wire_close(&r.agent.wire);
    close_runner(&r);
}

/* ---- batches: jobs 7.1, 7.2 and 7.3 are a, b and c; their process is f ---- */

#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HEX_C "cccccccccccccccccccccccccccccccc"
#define HEX_F "ffffffffffffffffffffffffffffffff"

static const char *const mate_hex[] = { HEX_A, HEX_B, HEX_C };
enum { MATES = 3 };

/* What the commands use: r reports, taken waits until a job was published, gate for a file. */
#define REPORT                                                                  \
    "r() { echo \"{\\\"job\\\": \\\"7.$1\\\", $2}\" >>\"$LUDWIG_METRICS\"; }; " \
    "taken() { while [ -e ../../$1/order ]; do sleep 0.01; done; }; "           \
    "gate() { while ! [ -e ../../../$1 ]; do sleep 0.01; done; }; "
#define DONE(job) "r " job " '\"done\": true'; "

static void tell_batch_of(struct runner_site *r, size_t n, const char *command, int64_t time_ms)
{
    struct order_run run = { .order = site_order(&r->site, 'a', command) };
    struct assignment mates[MATES - 1];

    assert_int_equal(token_parse(HEX_F, &run.order.assignment.batch), 0);
    run.order.assignment.job = 1;
    run.order.work.work.resources.time_ms = time_ms;
    for (size_t i = 1; i < n; i++) {
        mates[i - 1] = run.order.assignment;
        mates[i - 1].job = (int64_t)i + 1;
        assert_int_equal(token_parse(mate_hex[i], &mates[i - 1].token), 0);
    }
    run.mates = (struct list){ mates, n - 1 };
    agent_tell(&r->agent, ORDER_RUN, &run);
}

static void hear_started(struct runner_site *r, char digit)
{
    struct note_started started;
    struct token token = token_of(r, digit);

    agent_hear(&r->agent, NOTE_STARTED, &started);
    assert_true(token_equal(&started.token, &token) && started.at > 0);
}

static void hear_ended(struct runner_site *r, char digit)
{
    struct note_ended ended;
    struct token token = token_of(r, digit);
    char hex[TOKEN_HEX];

    agent_hear(&r->agent, NOTE_ENDED, &ended);
    token_hex(&ended.token, hex);
    if (!token_equal(&ended.token, &token))
        fail_msg("%s ended, not %c", hex, digit);
}

/* A letter for each. */
static void hear_all_ended(struct runner_site *r, const char *digits)
{
    for (; *digits != '\0'; digits++)
        hear_ended(r, *digits);
}

static void tell_batch(struct runner_site *r, const char *command)
{
    tell_batch_of(r, MATES, command, 0);
    hear_started(r, 'f');
}

static void tell_stop(struct runner_site *r, char digit)
{
    struct order_stop order = { .token = token_of(r, digit), .grace_ms = CHILD_LONGEST_MS };

    agent_tell(&r->agent, ORDER_STOP, &order);
}

static struct outcome outcome_of(struct runner_site *r, const char *hex)
{
    struct outcome x;
    struct err e = { 0 };

    if (scratch_read(r->site.scratch.ended_fd,
                     arena_printf(r->site.arena, "%s/%s", hex, JOB_OUTCOME), &outcome_schema,
                     r->site.arena, &x, &e) < 0)
        fail_msg("%s", e.text);
    return x;
}

static void open_gate(struct runner_site *r, const char *path)
{
    site_write(r->site.top_fd, path, "");
}

static const char *log_of(struct runner_site *r, const char *hex)
{
    return site_read(&r->site, arena_printf(r->site.arena, "scratch/log/%s", hex));
}

static void leave(struct runner_site *r)
{
    assert_int_equal(agent_leave(&r->agent), 0);
    close_runner(r);
}

static void each_job_ends_when_it_is_reported(void **state)
{
    struct runner_site r;
    struct outcome a, b, c;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT
               "echo begin; echo saved >../../" HEX_A "/save/x; r 1 '\"acc\": 0.5'; "
               "echo a; " DONE(
                   "1") "taken " HEX_A "; echo b; gate b; "
                        "r 3 '\"acc\": 0.7'; r 1 '\"acc\": 9'; r 2 '\"failed\": \"no data\"'; "
                        "taken " HEX_B "; echo c; r 3 '\"acc\": 0.8, \"done\": true'; echo end");
    hear_ended(&r, 'a');
    assert_false(site_has(&r.site, "scratch/ended/" HEX_B));
    assert_string_equal(log_of(&r, HEX_A), "begin\na\n");
    assert_string_equal(site_read(&r.site, "scratch/ended/" HEX_A "/save/x"), "saved\n");
    open_gate(&r, "scratch/b");
    hear_all_ended(&r, "bcf");
    a = outcome_of(&r, HEX_A);
    b = outcome_of(&r, HEX_B);
    c = outcome_of(&r, HEX_C);
    assert_int_equal(a.event, EV_DONE);
    assert_int_equal(a.exit_code, 0);
    assert_null(a.reason);
    assert_int_equal(b.event, EV_FAIL);
    assert_int_equal(b.cause, CAUSE_FAILED);
    assert_true(b.exit_code == SCHEMA_NONE);
    assert_string_equal(b.reason, "no data");
    assert_int_equal(c.event, EV_DONE);
    /* One after the other. */
    assert_true(a.started_at > 0 && a.ended_at >= a.started_at);
    assert_true(b.started_at == a.ended_at && c.started_at == b.ended_at);
    assert_string_equal(log_of(&r, HEX_B), "b\n");
    assert_string_equal(log_of(&r, HEX_C), "c\nend\n");
    assert_string_equal(site_read(&r.site, "scratch/ended/" HEX_A "/metrics"), "{\"acc\":0.5}\n");
    assert_false(site_has(&r.site, "scratch/ended/" HEX_B "/metrics"));
    assert_string_equal(site_read(&r.site, "scratch/ended/" HEX_C "/metrics"),
                        "{\"acc\":0.7}\n{\"acc\":0.8}\n");
    leave(&r);
}

#define UNREPORTED                                                     \
    "the process ended without reporting any job: call `ludwig report" \
    " --job JOB --done`"
#define NOT_YET "its process ended before it came to this job"

struct end_case {
    const char *command;
    struct {
        int event, exit_code, signal;
        const char *reason;
    } jobs[MATES];
};

static const struct end_case ends[] = {
    { "true",
      { { EV_FAIL, 0, -1, UNREPORTED },
        { EV_FAIL, 0, -1, UNREPORTED },
        { EV_FAIL, 0, -1, UNREPORTED } } },
    { "exit 3",
      { { EV_FAIL, 3, -1, "exit code 3" },
        { EV_RECALL, -1, -1, NOT_YET },
        { EV_RECALL, -1, -1, NOT_YET } } },
    { REPORT DONE("1"),
      { { EV_DONE, 0, -1, NULL },
        { EV_FAIL, 0, -1, "the process ended without reporting this job" },
        { EV_RECALL, -1, -1, NOT_YET } } },
    { REPORT DONE("1") "exit 3",
      { { EV_DONE, 0, -1, NULL },
        { EV_FAIL, 3, -1, "exit code 3" },
        { EV_RECALL, -1, -1, NOT_YET } } },
    { REPORT DONE("1") "kill -SEGV $$",
      { { EV_DONE, 0, -1, NULL },
        { EV_FAIL, -1, 11, "killed by signal 11 (Segmentation fault)" },
        { EV_RECALL, -1, -1, NOT_YET } } },
    { REPORT DONE("3") DONE("2") "exit 5",
      { { EV_FAIL, 5, -1, "exit code 5" }, { EV_DONE, 0, -1, NULL }, { EV_DONE, 0, -1, NULL } } },
    { REPORT DONE("1") DONE("2") DONE("3") "exit 9",
      { { EV_DONE, 0, -1, NULL }, { EV_DONE, 0, -1, NULL }, { EV_DONE, 0, -1, NULL } } },
    { REPORT "r 1 '\"failed\": true'; " DONE("1") DONE("2") "r 2 '\"failed\": true'; " DONE("3"),
      { { EV_FAIL, -1, -1, "its process reported it failed" },
        { EV_DONE, 0, -1, NULL },
        { EV_DONE, 0, -1, NULL } } },
    { REPORT "echo nonsense >$LUDWIG_METRICS; r 4 '\"done\": true'; "
             "printf '{\"job\": \"7.1\", \"done\": true}' >>$LUDWIG_METRICS; exit 2",
      { { EV_DONE, 0, -1, NULL },
        { EV_FAIL, 2, -1, "exit code 2" },
        { EV_RECALL, -1, -1, NOT_YET } } },
    { "no-such-program",
      { { EV_FAIL, 127, -1, "exit code 127: sh: 1: no-such-program: not found" },
        { EV_RECALL, -1, -1, NOT_YET },
        { EV_RECALL, -1, -1, NOT_YET } } },
};

static void check_end(struct runner_site *r, const struct end_case *c, size_t job)
{
    struct outcome x = outcome_of(r, mate_hex[job]);
    int exit_code = x.exit_code == SCHEMA_NONE ? -1 : (int)x.exit_code;
    int signal = x.signal == SCHEMA_NONE ? -1 : (int)x.signal;
    const char *reason = x.reason == NULL ? "" : x.reason;
    const char *wanted = c->jobs[job].reason == NULL ? "" : c->jobs[job].reason;

    if (x.event != c->jobs[job].event || exit_code != c->jobs[job].exit_code ||
        signal != c->jobs[job].signal || strcmp(reason, wanted) != 0)
        fail_msg("%s: job %zu: event %d, exit code %d, signal %d, %s", c->command, job + 1, x.event,
                 exit_code, signal, reason);
    assert_int_equal(x.cause != CAUSE_NONE, x.event == EV_FAIL);
    assert_int_equal(x.started_at > 0, x.event != EV_RECALL);
}

static void the_end_of_the_process_decides_about_the_rest(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct runner_site r;
        struct note_ended ended;
        struct token f;

        open_runner(&r, "runner");
        f = token_of(&r, 'f');
        tell_batch(&r, ends[i].command);
        do
            agent_hear(&r.agent, NOTE_ENDED, &ended);
        while (!token_equal(&ended.token, &f));
        for (size_t job = 0; job < MATES; job++)
            check_end(&r, &ends[i], job);
        leave(&r);
    }
}

static void a_batch_that_cannot_start_ends_as_a_whole(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch_of(&r, MATES, "run --name {name}", 0);
    hear_all_ended(&r, "abcf");
    for (size_t job = 0; job < MATES; job++) {
        assert_int_equal(event_of(&r, mate_hex[job]), EV_FAIL);
        assert_true(site_has(/* it is published as a failed one */
                             &r.site, arena_printf(r.site.arena, "scratch/ended/%s/" JOB_ORDER,
                                                   mate_hex[job])));
    }
    tell_run(&r, 'd', "/bin/true"); /* it is idle again */
    hear_started(&r, 'd');
    hear_ended(&r, 'd');
    leave(&r);
}

static void the_process_sees_what_is_of_the_batch_and_nothing_of_one_job(void **state)
{
    static const char *const there[] = {
        "\nLUDWIG_ATTEMPT=" HEX_F "\n", "\nLUDWIG_SWEEP=7\n", "\nLUDWIG_PROJECT=demo\n",
        "\nLUDWIG_PROJECT_PATH=",       "\nLUDWIG_DATA=",     "/" HEX_F "/data\n",
        "/" HEX_F "/metrics\n",         "\nLUDWIG_CHUNK=",    "/" HEX_F "/chunk.msgpack\n",
    };
    static const char *const absent[] = {
        "\nLUDWIG_JOB=",       "\nLUDWIG_PARAM_NAME=", "\nLUDWIG_JOB_NAME=",
        "\nLUDWIG_REP=",       "\nLUDWIG_SEED=",       "\nLUDWIG_RESTART=",
        "\nLUDWIG_PARAM2VAL=", "\nLUDWIG_SAVE_PATH=",  "\nLUDWIG_CHECKPOINT=",
    };
    struct runner_site r;
    const char *env;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT "echo; env; " DONE("1") DONE("2") DONE("3"));
    hear_all_ended(&r, "abcf");
    env = log_of(&r, HEX_A);
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
        if (strstr(env, there[i]) == NULL)
            fail_msg("%s is not in: %s", there[i], env);
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        if (strstr(env, absent[i]) != NULL)
            fail_msg("%s is in: %s", absent[i], env);
    leave(&r);
}

static void the_time_limit_is_that_of_all_jobs_together(void **state)
{
    /* A busy machine may take two jobs' time for the first one: then each gets more. */
    static const struct {
        const char *command, *limit;
        int64_t time_ms;
    } cases[] = {
        { REPORT "sleep 2.5; " DONE("1") "exec sleep 1000", "6 s", 2000 },
        { REPORT "sleep 6.5; " DONE("1") "exec sleep 1000", "18 s", 6000 },
        { REPORT "sleep 15.5; " DONE("1") "exec sleep 1000", "45 s", 15000 },
    };
    struct runner_site r;
    struct outcome b;
    size_t i;

    (void)state;
    for (i = 0;; i++) {
        open_runner(&r, "runner");
        tell_batch_of(&r, MATES, cases[i].command, cases[i].time_ms);
        hear_started(&r, 'f');
        hear_all_ended(&r, "abcf");
        if (event_of(&r, HEX_A) == EV_DONE || i == sizeof cases / sizeof cases[0] - 1)
            break;
        leave(&r);
    }
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    b = outcome_of(&r, HEX_B);
    assert_int_equal(b.event, EV_FAIL);
    assert_int_equal(b.cause, CAUSE_TIMEOUT);
    assert_non_null(strstr(b.reason, cases[i].limit));
    assert_int_equal(event_of(&r, HEX_C), EV_RECALL);
    leave(&r);
}

static void one_job_can_be_stopped_and_the_others_go_on(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT "gate a; " DONE("1") "taken " HEX_A "; gate b; " DONE(
                       "2") "taken " HEX_B "; " DONE("3"));
    tell_stop(&r, 'b');
    open_gate(&r, "scratch/a");
    hear_ended(&r, 'a');
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    tell_stop(&r, 'a'); /* too late */
    open_gate(&r, "scratch/b");
    hear_all_ended(&r, "bcf");
    assert_int_equal(event_of(&r, HEX_B), EV_CANCEL); /* though it was done */
    assert_int_equal(event_of(&r, HEX_C), EV_DONE);
    leave(&r);
}

static void a_process_ends_when_nothing_it_has_left_is_wanted(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT DONE("2") "exec sleep 1000");
    hear_ended(&r, 'b');
    tell_stop(&r, 'a');
    tell_stop(&r, 'c');
    hear_all_ended(&r, "acf");
    assert_int_equal(event_of(&r, HEX_A), EV_CANCEL);
    assert_int_equal(event_of(&r, HEX_B), EV_DONE);
    assert_int_equal(event_of(&r, HEX_C), EV_CANCEL);
    leave(&r);
}

static void a_stopped_job_that_never_began_took_no_time(void **state)
{
    struct runner_site r;
    struct outcome a, b;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, "sleep 0.05; exec sleep 1000");
    for (const char *digit = "abc"; *digit != '\0'; digit++)
        tell_stop(&r, *digit);
    hear_all_ended(&r, "abcf");
    a = outcome_of(&r, HEX_A);
    b = outcome_of(&r, HEX_B);
    assert_true(a.started_at > 0 && a.started_at <= a.ended_at);
    assert_true(b.started_at > 0 && b.started_at == b.ended_at);
    leave(&r);
}

static void a_process_ends_when_its_last_wanted_job_is_reported(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT "gate a; " DONE("1") "exec sleep 1000");
    tell_stop(&r, 'b');
    tell_stop(&r, 'c');
    open_gate(&r, "scratch/a");
    hear_all_ended(&r, "abcf");
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    assert_int_equal(event_of(&r, HEX_B), EV_CANCEL);
    leave(&r);
}

static void a_process_that_dies_at_a_stopped_job_gives_the_others_back(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT "gate a; exit 3");
    tell_stop(&r, 'a');
    open_gate(&r, "scratch/a");
    hear_all_ended(&r, "abcf");
    assert_int_equal(event_of(&r, HEX_A), EV_CANCEL);
    assert_int_equal(event_of(&r, HEX_B), EV_RECALL);
    assert_int_equal(event_of(&r, HEX_C), EV_RECALL);
    leave(&r);
}

/* A new agent comes, and is told that these are left, each by its letter. */
static void change_agent(struct runner_site *r, const char *digits)
{
    struct wire next = connect_to(r);
    struct token f = token_of(r, 'f');
    const struct token_entry *mates;
    struct note_hello hello;

    wire_close(&r->agent.wire);
    r->agent.wire = next;
    agent_hear(&r->agent, NOTE_HELLO, &hello);
    assert_true(token_equal(&hello.token, &f));
    assert_true(hello.started_at > 0);
    assert_int_equal(hello.mates.n, strlen(digits));
    mates = hello.mates.items;
    for (size_t i = 0; i < hello.mates.n; i++) {
        struct token token = token_of(r, digits[i]);

        assert_true(token_equal(&mates[i].token, &token));
    }
}

static void the_next_agent_hears_which_jobs_are_left(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT DONE("2") "gate a; " DONE("1") DONE("3") "gate end");
    hear_ended(&r, 'b');
    change_agent(&r, "ac");
    open_gate(&r, "scratch/a");
    hear_all_ended(&r, "ac"); /* c does not wait for long for the end of its process */
    change_agent(&r, "");
    open_gate(&r, "scratch/end");
    hear_ended(&r, 'f');
    leave(&r);
}

static void a_batch_outlives_its_agent(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT "sleep 0.2; " DONE("1") "sleep 0.2; " DONE("2") "exit 4");
    assert_int_equal(agent_leave(&r.agent), 0);
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    assert_int_equal(event_of(&r, HEX_B), EV_DONE);
    assert_int_equal(event_of(&r, HEX_C), EV_FAIL);
    assert_false(is_locked(&r));
    close_runner(&r);
}

static void its_death_is_that_of_the_jobs_it_had_left(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch(&r, REPORT DONE("1") "exec sleep 1000");
    hear_ended(&r, 'a');
    assert_int_equal(kill(r.agent.pid, SIGKILL), 0);
    (void)agent_wait(&r.agent);
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    assert_true(site_has(&r.site, "scratch/run/" HEX_B "/order"));
    assert_false(site_has(&r.site, "scratch/run/" HEX_B "/outcome"));
    assert_true(site_has(&r.site, "scratch/run/" HEX_F "/order"));
    wire_close(&r.agent.wire);
    close_runner(&r);
}

static void a_batch_of_one_is_a_batch(void **state)
{
    struct runner_site r;

    (void)state;
    open_runner(&r, "runner");
    tell_batch_of(&r, 1, REPORT "test -s \"$LUDWIG_CHUNK\" && " DONE("1"), 0);
    hear_started(&r, 'f');
    hear_all_ended(&r, "af");
    assert_int_equal(event_of(&r, HEX_A), EV_DONE);
    leave(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_one_job_after_the_other_and_leaves_with_its_agent),
        cmocka_unit_test(it_stops_a_job_when_told),
        cmocka_unit_test(a_job_outlives_its_agent),
        cmocka_unit_test(the_next_agent_takes_it_over),
        cmocka_unit_test(an_order_of_a_dead_agent_is_obeyed),
        cmocka_unit_test(its_death_is_the_jobs),
        cmocka_unit_test(nonsense_ends_the_connection_but_not_the_job),
        cmocka_unit_test(each_job_ends_when_it_is_reported),
        cmocka_unit_test(the_end_of_the_process_decides_about_the_rest),
        cmocka_unit_test(a_batch_that_cannot_start_ends_as_a_whole),
        cmocka_unit_test(the_process_sees_what_is_of_the_batch_and_nothing_of_one_job),
        cmocka_unit_test(the_time_limit_is_that_of_all_jobs_together),
        cmocka_unit_test(one_job_can_be_stopped_and_the_others_go_on),
        cmocka_unit_test(a_process_ends_when_nothing_it_has_left_is_wanted),
        cmocka_unit_test(a_stopped_job_that_never_began_took_no_time),
        cmocka_unit_test(a_process_ends_when_its_last_wanted_job_is_reported),
        cmocka_unit_test(a_process_that_dies_at_a_stopped_job_gives_the_others_back),
        cmocka_unit_test(the_next_agent_hears_which_jobs_are_left),
        cmocka_unit_test(a_batch_outlives_its_agent),
        cmocka_unit_test(its_death_is_that_of_the_jobs_it_had_left),
        cmocka_unit_test(a_batch_of_one_is_a_batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
