/* SPDX-License-Identifier: MIT */
/* publisher.c - tests of the child that publishes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_child.h"
#include "worker/publisher/publisher.h"

/* How often checkpoints are copied. */
enum { EVERY_MS = 10 };

struct publisher_site {
    struct site site;
    struct agent agent;
};

static void start_publisher(struct publisher_site *p)
{
    char *argv[3];

    argv[0] = mem_strdup(CHILD_PUBLISHER);
    argv[1] = p->site.scratch.path;
    argv[2] = "";
    p->agent = agent_start(publisher_main, 3, argv, -1, -1);
    free(argv[0]);
}

static struct token end_attempt(struct publisher_site *p, char digit, int64_t job)
{
    struct order o = site_order(&p->site, digit, "x");
    struct outcome x = { .event = EV_DONE, .exit_code = 0, .signal = SCHEMA_NONE };
    struct err e = { 0 };
    char hex[TOKEN_HEX];
    char *dir;
    int fd;

    o.work.work.checkpoint.every_ms = EVERY_MS;
    o.assignment.job = job;
    o.assignment.job_name = arena_printf(p->site.arena, "num%d", (int)job);
    token_hex(&o.assignment.token, hex);
    dir = mem_printf("%s/ended/%s", p->site.scratch.path, hex);
    assert_int_equal(io_make_dirs(dir, 0700, &e), 0);
    fd = io_open_dir(dir, &e);
    assert_int_equal(scratch_write(fd, JOB_ORDER, &order_schema, &o, &e), 0);
    assert_int_equal(scratch_write(fd, JOB_OUTCOME, &outcome_schema, &x, &e), 0);
    assert_int_equal(mkdirat(fd, JOB_SAVE, 0700), 0);
    close(fd);
    free(dir);
    return o.assignment.token;
}

static void tell(struct publisher_site *p, int type, struct token token)
{
    struct token_entry order = { token }; /* they are all alike */

    agent_tell(&p->agent, type, &order);
}

static struct note_published hear_published(struct publisher_site *p)
{
    struct note_published note;

    agent_hear(&p->agent, NOTE_PUBLISHED, &note);
    return note;
}

/* It does nothing until it is let go, and then finds all that has come meanwhile. */
static void hold(const struct publisher_site *p)
{
    int status;

    assert_int_equal(kill(p->agent.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(p->agent.pid, &status, WUNTRACED), p->agent.pid);
    assert_true(WIFSTOPPED(status));
}

static void let_go(const struct publisher_site *p)
{
    assert_int_equal(kill(p->agent.pid, SIGCONT), 0);
}

static void attempts_are_published_and_discarded(void **state)
{
    struct publisher_site p;
    struct token a, b;
    struct token_entry discarded;
    int64_t until_ms = units_monotonic_ms() + CHILD_LONGEST_MS;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    a = end_attempt(&p, 'a', 1);
    b = end_attempt(&p, 'b', 2);
    hold(&p);
    tell(&p, ORDER_PUBLISH, a);
    tell(&p, ORDER_PUBLISH, a); /* asked twice, told once */
    tell(&p, ORDER_PUBLISH, b);
    let_go(&p);
    for (int i = 0; i < 2; i++) {
        struct note_published note = hear_published(&p);

        assert_null(note.error);
        assert_int_equal(note.report.event, EV_DONE);
    }
    assert_true(site_has(&p.site, "share/demo/runs/param_003/num1/job.json"));
    assert_true(site_has(&p.site, "share/demo/runs/param_003/num2/job.json"));
    tell(&p, ORDER_PUBLISH, a); /* by an agent that did not hear it */
    assert_int_equal(hear_published(&p).report.event, EV_DONE);
    tell(&p, ORDER_DISCARD, a);
    agent_hear(&p.agent, NOTE_DISCARDED, &discarded);
    tell(&p, ORDER_WITHDRAW, b);
    agent_hear(&p.agent, NOTE_WITHDRAWN, &discarded);
    assert_false(site_has(&p.site, "share/demo/runs/param_003/num2"));
    tell(&p, ORDER_WITHDRAW, b); /* by an agent that did not hear it */
    agent_hear(&p.agent, NOTE_WITHDRAWN, &discarded);
    tell(&p, ORDER_DISCARD, b);
    agent_hear(&p.agent, NOTE_DISCARDED, &discarded);
    while (site_count(p.site.scratch.path) > SITE_FOLDERS) { /* spare folders go a little later */
        assert_true(units_monotonic_ms() < until_ms);
        (void)poll(NULL, 0, 20);
    }
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

static void it_tries_again_while_the_share_is_away(void **state)
{
    struct publisher_site p;
    struct token a;
    struct note_published note;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    a = end_attempt(&p, 'a', 1);
    assert_int_equal(renameat(p.site.top_fd, "share/demo", p.site.top_fd, "away"), 0);
    tell(&p, ORDER_PUBLISH, a);
    note = hear_published(&p);
    assert_non_null(note.error);
    assert_true(token_equal(&note.report.token, &a));
    assert_int_equal(renameat(p.site.top_fd, "away", p.site.top_fd, "share/demo"), 0);
    assert_null(hear_published(&p).error);
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

static void it_ships_the_logs_it_watches(void **state)
{
    struct publisher_site p;
    struct order_watch watch = { .log_path = "demo/logs/7/x.log" };
    int64_t until_ms = units_monotonic_ms() + CHILD_LONGEST_MS;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    watch.token = site_order(&p.site, 'a', "").assignment.token;
    watch.share = p.site.share;
    agent_tell(&p.agent, ORDER_WATCH, &watch);
    site_write(p.site.scratch.log_fd, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x\n");
    while (!site_has(&p.site, "share/demo/logs/7/x.log")) {
        assert_true(units_monotonic_ms() < until_ms);
        (void)poll(NULL, 0, 20);
    }
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

static void it_tells_how_long_a_log_is_that_somebody_follows(void **state)
{
    struct publisher_site p;
    struct order_watch watch = { .log_path = "demo/logs/7/x.log" };
    struct note_grew grew;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    watch.token = site_order(&p.site, 'a', "").assignment.token;
    watch.share = p.site.share;
    agent_tell(&p.agent, ORDER_WATCH, &watch);
    site_write(p.site.scratch.log_fd, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abc\n");
    watch.tells = true;
    agent_tell(&p.agent, ORDER_WATCH, &watch);
    agent_hear(&p.agent, NOTE_GREW, &grew);
    assert_true(token_equal(&grew.token, &watch.token));
    assert_int_equal(grew.size_bytes, 4);
    assert_string_equal(site_read(&p.site, "share/demo/logs/7/x.log"), "abc\n");
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

/* ---- checkpoints ---- */

#define KEPT "share/demo/.ludwig/checkpoints/param_003"

static void wait_for(struct publisher_site *p, const char *path, bool is_there)
{
    int64_t until_ms = units_monotonic_ms() + CHILD_LONGEST_MS;

    while (site_has(&p->site, path) != is_there) {
        if (units_monotonic_ms() >= until_ms)
            fail_msg("%s", path);
        (void)poll(NULL, 0, 5);
    }
}

/* Its checkpoint is to be copied every few milliseconds. */
static struct token run_attempt(struct publisher_site *p, char digit, int64_t job)
{
    struct order_watch watch = { .log_path = "demo/logs/7/x.log", .every_ms = EVERY_MS };
    char hex[TOKEN_HEX];

    watch.token = end_attempt(p, digit, job);
    watch.share = p->site.share;
    token_hex(&watch.token, hex);
    assert_int_equal(renameat(p->site.scratch.ended_fd, hex, p->site.scratch.run_fd, hex), 0);
    assert_int_equal(
        mkdirat(p->site.scratch.run_fd, arena_printf(p->site.arena, "%s/checkpoint", hex), 0750),
        0);
    agent_tell(&p->agent, ORDER_WATCH, &watch);
    return watch.token;
}

static void end_run(struct publisher_site *p, const struct token *token, int event)
{
    struct outcome x = { .event = event, .exit_code = 3, .signal = SCHEMA_NONE };
    struct err e = { 0 };
    char hex[TOKEN_HEX];

    token_hex(token, hex);
    assert_int_equal(scratch_replace(p->site.scratch.run_fd,
                                     arena_printf(p->site.arena, "%s/" JOB_OUTCOME, hex),
                                     &outcome_schema, &x, &e),
                     0);
    assert_int_equal(renameat(p->site.scratch.run_fd, hex, p->site.scratch.ended_fd, hex), 0);
    tell(p, ORDER_PUBLISH, *token);
}

#define STATE_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/checkpoint/state"
#define NEW_A   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/new"

/* At once, as jobs should. */
static void save_state(struct publisher_site *p, const char *text)
{
    int fd = p->site.scratch.run_fd;

    site_write(fd, NEW_A, text);
    assert_int_equal(renameat(fd, NEW_A, fd, STATE_A), 0);
}

static void the_checkpoint_of_a_running_job_is_copied(void **state)
{
    struct publisher_site p;
    struct token_entry discarded;
    struct token a;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    a = run_attempt(&p, 'a', 1);
    save_state(&p, "1");
    wait_for(&p, KEPT "/num1.a1.1/.checkpoint", true);
    assert_string_equal(site_read(&p.site, KEPT "/num1.a1.1/state"), "1");
    save_state(&p, "two");
    wait_for(&p, KEPT "/num1.a1.2/.checkpoint", true);
    assert_string_equal(site_read(&p.site, KEPT "/num1.a1.2/state"), "two");
    wait_for(&p, KEPT "/num1.a1.1", false);
    end_run(&p, &a, EV_FAIL);
    assert_int_equal(hear_published(&p).report.event, EV_FAIL);
    /* Nothing changed meanwhile, so that there was nothing to copy. */
    assert_int_equal(site_count(arena_printf(p.site.arena, "%s/" KEPT, p.site.top)), 3);
    assert_string_equal(site_read(&p.site, KEPT "/num1.a1.2/state"), "two");
    tell(&p, ORDER_DISCARD, a);
    agent_hear(&p.agent, NOTE_DISCARDED, &discarded);
    assert_int_equal(agent_leave(&p.agent), 0);
    assert_int_equal(site_count(p.site.scratch.path), SITE_FOLDERS);
    site_close(&p.site);
}

static void the_last_copy_takes_the_place_of_those_before(void **state)
{
    struct publisher_site p;
    struct token a;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    a = run_attempt(&p, 'a', 1);
    save_state(&p, "1");
    wait_for(&p, KEPT "/num1.a1.1", true);
    hold(&p); /* so that it is the end that finds the change */
    site_write(p.site.scratch.run_fd, STATE_A, "last");
    end_run(&p, &a, EV_FAIL);
    let_go(&p);
    assert_int_equal(hear_published(&p).report.event, EV_FAIL);
    assert_int_equal(site_count(arena_printf(p.site.arena, "%s/" KEPT, p.site.top)), 3);
    assert_string_equal(site_read(&p.site, KEPT "/num1.a1/state"), "last");
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

static void of_a_job_that_is_done_no_copy_is_left(void **state)
{
    struct publisher_site p;
    struct token a;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    a = run_attempt(&p, 'a', 1);
    save_state(&p, "1");
    wait_for(&p, KEPT "/num1.a1.1", true);
    end_run(&p, &a, EV_DONE);
    assert_int_equal(hear_published(&p).report.event, EV_DONE);
    assert_false(site_has(&p.site, KEPT));
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

static void a_publisher_that_was_killed_is_gone_on_from(void **state)
{
    struct order_watch watch = { .log_path = "demo/logs/7/x.log", .every_ms = EVERY_MS };
    struct publisher_site p;
    int status;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    watch.token = run_attempt(&p, 'a', 1);
    save_state(&p, "1");
    wait_for(&p, KEPT "/num1.a1.1", true);
    kill(p.agent.pid, SIGKILL);
    assert_int_equal(waitpid(p.agent.pid, &status, 0), p.agent.pid);
    wire_close(&p.agent.wire);
    save_state(&p, "two");
    start_publisher(&p);
    watch.share = p.site.share;
    agent_tell(&p.agent, ORDER_WATCH, &watch);
    wait_for(&p, KEPT "/num1.a1.2", true);
    assert_string_equal(site_read(&p.site, KEPT "/num1.a1.2/state"), "two");
    wait_for(&p, KEPT "/num1.a1.1", false);
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

static void while_the_share_is_away_copies_wait(void **state)
{
    struct publisher_site p;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    assert_int_equal(renameat(p.site.top_fd, "share/demo", p.site.top_fd, "away"), 0);
    (void)run_attempt(&p, 'a', 1);
    save_state(&p, "1");
    tell(&p, ORDER_PUBLISH, end_attempt(&p, 'b', 2)); /* others are served meanwhile */
    assert_non_null(hear_published(&p).error);
    assert_false(site_has(&p.site, "share/demo"));
    assert_int_equal(renameat(p.site.top_fd, "away", p.site.top_fd, "share/demo"), 0);
    assert_null(hear_published(&p).error);
    wait_for(&p, KEPT "/num1.a1.1", true);
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

static void a_checkpoint_that_nobody_came_for_is_discarded(void **state)
{
    struct publisher_site p;
    struct token_entry discarded;
    struct token a;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    a = site_order(&p.site, 'a', "").assignment.token;
    assert_int_equal(
        mkdirat(p.site.scratch.checkpoints_fd, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0700), 0);
    assert_int_equal(
        mkdirat(p.site.scratch.checkpoints_fd, ".aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0700), 0);
    tell(&p, ORDER_DISCARD, a);
    agent_hear(&p.agent, NOTE_DISCARDED, &discarded);
    assert_int_equal(site_count(p.site.scratch.path), SITE_FOLDERS);
    assert_int_equal(agent_leave(&p.agent), 0);
    site_close(&p.site);
}

static void a_half_removed_attempt_is_removed_at_its_start(void **state)
{
    struct publisher_site p;
    struct err e = { 0 };
    char *dir;

    (void)state;
    site_open(&p.site, NULL);
    dir = mem_printf("%s/published/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/x", p.site.scratch.path);
    assert_int_equal(io_make_dirs(dir, 0700, &e), 0);
    start_publisher(&p);
    assert_int_equal(agent_leave(&p.agent), 0);
    assert_int_equal(site_count(p.site.scratch.path), SITE_FOLDERS);
    free(dir);
    site_close(&p.site);
}

static void what_cannot_be_removed_holds_up_nobody(void **state)
{
    struct publisher_site p;
    struct token_entry discarded;
    struct token b;
    char *half;

    (void)state;
    site_become_nobody();
    site_open(&p.site, NULL);
    half = mem_printf("%s/published/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", p.site.scratch.path);
    assert_int_equal(mkdir(half, 0700), 0);
    site_add_foreign(AT_FDCWD, arena_printf(p.site.arena, "%s/x", half), 0755, "file");
    start_publisher(&p);
    b = end_attempt(&p, 'b', 2);
    tell(&p, ORDER_PUBLISH, b);
    assert_null(hear_published(&p).error);
    site_add_foreign(p.site.scratch.published_fd, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/x", 0755, "f");
    tell(&p, ORDER_DISCARD, b);
    agent_hear(&p.agent, NOTE_DISCARDED, &discarded);
    assert_int_equal(agent_leave(&p.agent), 0);
    site_become_root();
    free(half);
    site_close(&p.site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_are_published_and_discarded),
        cmocka_unit_test(it_tries_again_while_the_share_is_away),
        cmocka_unit_test(it_ships_the_logs_it_watches),
        cmocka_unit_test(it_tells_how_long_a_log_is_that_somebody_follows),
        cmocka_unit_test(the_checkpoint_of_a_running_job_is_copied),
        cmocka_unit_test(the_last_copy_takes_the_place_of_those_before),
        cmocka_unit_test(of_a_job_that_is_done_no_copy_is_left),
        cmocka_unit_test(a_publisher_that_was_killed_is_gone_on_from),
        cmocka_unit_test(while_the_share_is_away_copies_wait),
        cmocka_unit_test(a_checkpoint_that_nobody_came_for_is_discarded),
        cmocka_unit_test(a_half_removed_attempt_is_removed_at_its_start),
        cmocka_unit_test(what_cannot_be_removed_holds_up_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
