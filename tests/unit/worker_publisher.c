/* SPDX-License-Identifier: MIT */
/* worker_publisher.c - tests of the child that publishes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_child.h"
#include "worker/publisher.h"

struct publisher_site {
    struct site site;
    struct agent agent;
};

static void start_publisher(struct publisher_site *p)
{
    char *argv[2];

    argv[0] = mem_strdup(CHILD_PUBLISHER);
    argv[1] = p->site.scratch.path;
    p->agent = agent_start(publisher_main, 2, argv, -1);
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
    struct order_publish order = { token }; /* they are all alike */

    agent_tell(&p->agent, type, &order);
}

static struct note_published hear_published(struct publisher_site *p)
{
    struct note_published note;

    agent_hear(&p->agent, NOTE_PUBLISHED, &note);
    return note;
}

static void attempts_are_published_and_discarded(void **state)
{
    struct publisher_site p;
    struct token a, b;
    struct note_discarded discarded;
    int64_t until_ms = units_monotonic_ms() + CHILD_LONGEST_MS;

    (void)state;
    site_open(&p.site, NULL);
    start_publisher(&p);
    a = end_attempt(&p, 'a', 1);
    b = end_attempt(&p, 'b', 2);
    tell(&p, ORDER_PUBLISH, a);
    tell(&p, ORDER_PUBLISH, a); /* asked twice, told once */
    tell(&p, ORDER_PUBLISH, b);
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
    while (site_count(p.site.scratch.path) > 6) { /* spare folders go a little later */
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
    assert_int_equal(site_count(p.site.scratch.path), 6);
    free(dir);
    site_close(&p.site);
}

static void what_cannot_be_removed_holds_up_nobody(void **state)
{
    struct publisher_site p;
    struct note_discarded discarded;
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
        cmocka_unit_test(a_half_removed_attempt_is_removed_at_its_start),
        cmocka_unit_test(what_cannot_be_removed_holds_up_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
