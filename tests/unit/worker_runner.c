/* SPDX-License-Identifier: MIT */
/* worker_runner.c - tests of a runner, and of what it does when its agent dies */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/file.h>
#include <sys/un.h>

#include "tests/unit/worker_child.h"
#include "worker/runner.h"

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
    int lock_fd;

    site_open(&r->site, NULL);
    r->folder = mem_printf("%s/%s", r->site.top, folder_name);
    assert_int_equal(io_make_dirs(r->folder, 0700, &e), 0);
    lock_fd = lock_folder(r->folder);
    assert_int_equal(flock(lock_fd, LOCK_EX | LOCK_NB), 0);
    argv[0] = mem_strdup(CHILD_RUNNER);
    argv[1] = r->folder;
    argv[2] = r->site.scratch.path;
    r->agent = agent_start(runner_main, 3, argv, lock_fd);
    free(argv[0]);
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
    struct order_run run = { site_order(&r->site, digit, command) };

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
    struct order_publish publish;

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
