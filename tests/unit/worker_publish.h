/* SPDX-License-Identifier: MIT */
/*
 * worker_publish.h - makes attempts that have ended, as a runner leaves them, and publishes them
 *
 * Include after cmocka.h.
 */
#ifndef LUDWIG_TESTS_UNIT_WORKER_PUBLISH_H
#define LUDWIG_TESTS_UNIT_WORKER_PUBLISH_H

#include "tests/unit/worker_site.h"
#include "worker/publisher/publish.h"

#define RUNS    "share/demo/runs/param_003"
#define FINAL   RUNS "/20261121-101500_num0"
#define FAILED  "share/demo/failed/param_003/20261121-101500_num0.a1"
#define HEX_A   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B   "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define METRICS "{\"accuracy\": 0.5}\n{\"accuracy\": 0.9, \"step\": 4}\n"

/* Makes an attempt that has ended, as its runner leaves it: its folder in ended/ with order,
 * outcome, metrics and saved files, and its log.  Its token is the digit 32 times; event: how it
 * ended (EV_FAIL: with exit code 3). */
static inline void end_attempt_number(struct site *s, char digit, int64_t attempt, int event)
{
    struct order o = site_order(s, digit, "train {lr}");
    struct outcome x = { .event = event,
                         .exit_code = 0,
                         .signal = SCHEMA_NONE,
                         .started_at = 1000,
                         .ended_at = 61000,
                         .max_rss_bytes = 4096,
                         .cpu_ms = 1500 };
    struct err e = { 0 };
    char hex[TOKEN_HEX];
    char *dir;
    int fd;

    if (event == EV_FAIL) {
        x.exit_code = 3;
        x.cause = CAUSE_FAILED;
        x.reason = "exit code 3";
    }
    o.assignment.attempt = attempt;
    token_hex(&o.assignment.token, hex);
    dir = mem_printf("%s/ended/%s", s->scratch.path, hex);
    assert_int_equal(io_make_dirs(dir, 0700, &e), 0);
    fd = io_open_dir(dir, &e);
    assert_int_equal(scratch_write(fd, JOB_ORDER, &order_schema, &o, &e), 0);
    assert_int_equal(scratch_write(fd, JOB_OUTCOME, &outcome_schema, &x, &e), 0);
    assert_int_equal(mkdirat(fd, JOB_SAVE, 0700), 0);
    site_write(fd, JOB_SAVE "/model", hex);
    site_write(fd, JOB_SAVE "/loss.csv", ",0\n0,0.5\n");
    site_write(fd, JOB_METRICS, METRICS);
    site_write(s->scratch.log_fd, hex, "it said this\n");
    close(fd);
    free(dir);
}

static inline void end_attempt(struct site *s, char digit, int event)
{
    end_attempt_number(s, digit, 1, event);
}

/* Publishes the attempt whose token is this digit 32 times. */
static inline struct publish_item publish(struct site *s, char digit)
{
    struct order o = site_order(s, digit, "");
    struct publish_item item = { .token = o.assignment.token };

    publish_group(&s->scratch, s->access, "host", &item, 1, s->arena);
    return item;
}

static inline struct publish_item must_publish(struct site *s, char digit)
{
    struct publish_item item = publish(s, digit);

    if (item.error.kind != ERR_NONE)
        fail_msg("%s", item.error.text);
    return item;
}

/* Checks that the attempt's folder has moved from ended/ to published/. */
static inline void must_have_moved(struct site *s, const char *hex)
{
    assert_false(faccessat(s->scratch.ended_fd, hex, F_OK, 0) == 0);
    assert_true(
        faccessat(s->scratch.published_fd, arena_printf(s->arena, "%s/report", hex), F_OK, 0) == 0);
}

/* ---- states in which a publisher may have been killed ---- */

static inline void nothing_yet(struct site *s)
{
    (void)s;
}

static inline void it_was_published_but_not_moved(struct site *s)
{
    (void)must_publish(s, 'a');
    assert_int_equal(renameat(s->scratch.published_fd, HEX_A, s->scratch.ended_fd, HEX_A), 0);
}

static inline void it_was_published_but_not_reported(struct site *s)
{
    it_was_published_but_not_moved(s);
    assert_int_equal(unlinkat(s->scratch.ended_fd, HEX_A "/" JOB_REPORT, 0), 0);
}

#endif
