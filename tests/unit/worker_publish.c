/* SPDX-License-Identifier: MIT */
/* worker_publish.c - tests of results on their way to the share, from each state in between */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>

#include "common/json.h"
#include "common/layout.h"
#include "tests/unit/worker_site.h"
#include "worker/jobjson.h"
#include "worker/publish.h"

#define RUNS        "share/demo/runs/param_003"
#define FINAL       RUNS "/20261121-101500_num0"
#define FAILED      "share/demo/failed/param_003/20261121-101500_num0.a1"
#define LOGFILE     "share/demo/logs/7/param_003_20261121-101500_num0.log"
#define HEX_A       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B       "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define TEMP_A      RUNS "/.20261121-101500_num0." HEX_A
#define TEMP_FAILED "share/demo/failed/param_003/.20261121-101500_num0.a1." HEX_A
#define METRICS     "{\"accuracy\": 0.5}\n{\"accuracy\": 0.9, \"step\": 4}\n"

/* An attempt as its runner leaves it. */
static void end_attempt_number(struct site *s, char digit, int64_t attempt, int event)
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

static void end_attempt(struct site *s, char digit, int event)
{
    end_attempt_number(s, digit, 1, event);
}

static struct publish_item publish(struct site *s, char digit)
{
    struct order o = site_order(s, digit, "");
    struct publish_item item = { .token = o.assignment.token };

    publish_group(&s->scratch, s->access, "host", &item, 1, s->arena);
    return item;
}

static struct publish_item must_publish(struct site *s, char digit)
{
    struct publish_item item = publish(s, digit);

    if (item.error.kind != ERR_NONE)
        fail_msg("%s", item.error.text);
    return item;
}

static void must_lie_there(struct site *s, const char *hex)
{
    struct token token;
    char found[TOKEN_HEX];
    struct err e = { 0 };

    assert_string_equal(site_read(s, FINAL "/model"), hex);
    assert_int_equal(jobjson_read_token(s->dir, FINAL, &token, &e), 1);
    token_hex(&token, found);
    assert_string_equal(found, hex);
    assert_string_equal(site_read(s, RUNS "/param2val.yaml"), "lr: 0.1\n");
    assert_string_equal(site_read(s, LOGFILE), "it said this\n");
    assert_string_equal(site_read(s, FINAL "/metrics.jsonl"), METRICS);
    assert_int_equal(site_count(arena_printf(s->arena, "%s/" RUNS, s->top)), 6);
}

static void must_have_moved(struct site *s, const char *hex)
{
    assert_false(faccessat(s->scratch.ended_fd, hex, F_OK, 0) == 0);
    assert_true(
        faccessat(s->scratch.published_fd, arena_printf(s->arena, "%s/report", hex), F_OK, 0) == 0);
}

static void what_is_done_lies_under_runs(void **state)
{
    struct site s;
    struct publish_item item;
    struct stat st;
    const struct metric *metrics;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    item = must_publish(&s, 'a');
    must_lie_there(&s, HEX_A);
    must_have_moved(&s, HEX_A);
    assert_int_equal(item.report.event, EV_DONE);
    assert_string_equal(item.report.run_path, &FINAL[strlen("share/")]);
    assert_int_equal(item.report.started_at, 1000);
    assert_int_equal(item.report.cpu_ms, 1500);
    assert_int_equal(item.report.metrics.n, 2);
    metrics = item.report.metrics.items;
    assert_string_equal(metrics[0].name, "accuracy");
    assert_string_equal(metrics[1].name, "loss");
    assert_int_equal(fstatat(s.top_fd, FINAL, &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(fstatat(s.top_fd, FINAL "/model", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    site_close(&s);
}

static void what_failed_lies_under_failed(void **state)
{
    struct site s;
    struct publish_item item;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    item = must_publish(&s, 'a');
    assert_int_equal(item.report.event, EV_FAIL);
    assert_string_equal(item.report.reason, "exit code 3");
    assert_int_equal(item.report.exit_code, 3);
    assert_int_equal(item.report.cause, CAUSE_FAILED);
    assert_string_equal(site_read(&s, FAILED "/metrics.jsonl"), METRICS);
    assert_non_null(strstr(site_read(&s, FAILED "/job.json"), "\"cause\": \"failed\""));
    assert_string_equal(site_read(&s, FAILED "/model"), HEX_A);
    assert_false(site_has(&s, "share/demo/runs"));
    must_have_moved(&s, HEX_A);
    site_close(&s);
}

static void what_was_cancelled_leaves_only_its_log(void **state)
{
    static const int events[] = { EV_CANCEL, EV_LOSE };
    struct site s;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', events[i]);
        assert_int_equal(must_publish(&s, 'a').report.event, events[i]);
        assert_false(site_has(&s, "share/demo/runs") || site_has(&s, "share/demo/failed"));
        assert_int_equal(site_has(&s, LOGFILE), events[i] == EV_CANCEL);
        must_have_moved(&s, HEX_A);
        site_close(&s);
    }
}

static void what_was_cancelled_takes_what_it_brought_away_again(void **state)
{
    static const char *const temporaries[] = { TEMP_A, TEMP_FAILED };
    struct site s;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *path;

        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_CANCEL);
        path = mem_printf("%s/%s", s.top, temporaries[i]);
        assert_int_equal(io_make_dirs(path, 0755, NULL), 0);
        assert_int_equal(must_publish(&s, 'a').report.event, EV_CANCEL);
        assert_false(site_has(&s, temporaries[i]));
        free(path);
        site_close(&s);
    }
}

static void the_second_attempt_is_superseded(void **state)
{
    static const char *const bases[] = { NULL, "/dev/shm" };
    struct site s;
    struct publish_item item;
    char winner[TOKEN_HEX];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        site_open(&s, bases[i]);
        end_attempt(&s, 'a', EV_DONE);
        end_attempt(&s, 'b', EV_DONE);
        (void)must_publish(&s, 'a');
        item = must_publish(&s, 'b');
        assert_int_equal(item.report.event, EV_SUPERSEDE);
        token_hex(&item.report.winner, winner);
        assert_string_equal(winner, HEX_A);
        must_lie_there(&s, HEX_A);
        must_have_moved(&s, HEX_B);
        site_close(&s);
    }
}

static void two_in_one_group_leave_one_result(void **state)
{
    struct site s;
    struct publish_item items[2] = { 0 };

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'b', EV_DONE);
    end_attempt(&s, 'a', EV_DONE);
    items[0].token = site_order(&s, 'a', "").assignment.token;
    items[1].token = site_order(&s, 'b', "").assignment.token;
    publish_group(&s.scratch, s.access, "host", items, 2, s.arena);
    assert_int_equal(items[0].report.event, EV_DONE);
    assert_int_equal(items[1].report.event, EV_SUPERSEDE);
    must_lie_there(&s, HEX_A);
    site_close(&s);
}

/* ---- from each state a publisher may be killed in ---- */

static void nothing_yet(struct site *s)
{
    (void)s;
}

static void the_series_was_added(struct site *s)
{
    int fd = s->scratch.ended_fd;

    assert_int_equal(
        linkat(fd, HEX_A "/" JOB_METRICS, fd, HEX_A "/" JOB_SAVE "/" LAYOUT_METRICS, 0), 0);
}

static void saved_was_moved(struct site *s)
{
    struct err e = { 0 };
    char *runs = mem_printf("%s/" RUNS, s->top);

    assert_int_equal(io_make_dirs(runs, 0755, &e), 0);
    the_series_was_added(s);
    assert_int_equal(renameat(s->scratch.ended_fd, HEX_A "/" JOB_SAVE, s->top_fd, TEMP_A), 0);
    free(runs);
}

static void job_json_was_begun(struct site *s)
{
    saved_was_moved(s);
    site_write(s->top_fd, TEMP_A "/job.json", "{\n  \"tok");
}

static void a_copy_was_begun(struct site *s)
{
    struct err e = { 0 };
    char *copy = mem_printf("%s/" TEMP_A, s->top);

    assert_int_equal(io_make_dirs(copy, 0755, &e), 0);
    site_write(s->top_fd, TEMP_A "/model", "half");
    free(copy);
}

static void it_was_published(struct site *s)
{
    (void)must_publish(s, 'a');
}

static void it_was_published_but_not_moved(struct site *s)
{
    (void)must_publish(s, 'a');
    assert_int_equal(renameat(s->scratch.published_fd, HEX_A, s->scratch.ended_fd, HEX_A), 0);
}

static void it_was_published_but_not_reported(struct site *s)
{
    it_was_published_but_not_moved(s);
    assert_int_equal(unlinkat(s->scratch.ended_fd, HEX_A "/" JOB_REPORT, 0), 0);
}

static void half_a_log_was_shipped(struct site *s)
{
    struct err e = { 0 };
    char *logs = mem_printf("%s/share/demo/logs/7", s->top);

    assert_int_equal(io_make_dirs(logs, 0755, &e), 0);
    site_write(s->top_fd, LOGFILE, "it said");
    free(logs);
}

static void a_killed_publisher_is_gone_on_from(void **state)
{
    static void (*const befores[])(struct site *) = {
        nothing_yet,
        the_series_was_added,
        saved_was_moved,
        job_json_was_begun,
        a_copy_was_begun,
        it_was_published,
        it_was_published_but_not_moved,
        it_was_published_but_not_reported,
        half_a_log_was_shipped,
    };
    static const char *const bases[] = { NULL, "/dev/shm" };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof befores / sizeof befores[0]; i++)
        for (size_t k = 0; k < 2; k++) {
            struct publish_item item;

            if ((k == 1 || site_is_over_sftp) &&
                (befores[i] == saved_was_moved || befores[i] == job_json_was_begun))
                continue; /* only where a rename is possible */
            site_open(&s, bases[k]);
            end_attempt(&s, 'a', EV_DONE);
            befores[i](&s);
            item = must_publish(&s, 'a');
            assert_int_equal(item.report.event, EV_DONE);
            assert_int_equal(item.report.metrics.n, 2);
            must_lie_there(&s, HEX_A);
            must_have_moved(&s, HEX_A);
            site_close(&s);
        }
}

static void a_loser_that_removed_its_copy_still_knows_it_lost(void **state)
{
    struct site s;
    struct publish_item item;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'b', EV_DONE);
    end_attempt(&s, 'a', EV_DONE);
    (void)must_publish(&s, 'a');
    (void)must_publish(&s, 'b');
    assert_int_equal(renameat(s.scratch.published_fd, HEX_B, s.scratch.ended_fd, HEX_B), 0);
    item = must_publish(&s, 'b');
    assert_int_equal(item.report.event, EV_SUPERSEDE);
    must_lie_there(&s, HEX_A);
    site_close(&s);
}

/* ---- what goes wrong ---- */

static void a_share_that_is_away_costs_nothing(void **state)
{
    struct site s;
    struct publish_item item;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    assert_int_equal(renameat(s.top_fd, "share/demo", s.top_fd, "away"), 0);
    item = publish(&s, 'a');
    assert_int_equal(item.error.kind, ERR_NOT_FOUND);
    assert_false(site_has(&s, "share/demo")); /* nothing is made below a mount point */
    assert_int_equal(renameat(s.top_fd, "away", s.top_fd, "share/demo"), 0);
    (void)must_publish(&s, 'a');
    must_lie_there(&s, HEX_A);
    site_close(&s);
}

static void one_that_fails_does_not_hold_up_the_others(void **state)
{
    struct site s;
    struct publish_item items[2] = { 0 };

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    end_attempt(&s, 'b', EV_FAIL);
    site_write(s.top_fd, "share/demo/runs", "a file where a folder should be");
    items[0].token = site_order(&s, 'a', "").assignment.token;
    items[1].token = site_order(&s, 'b', "").assignment.token;
    publish_group(&s.scratch, s.access, "host", items, 2, s.arena);
    assert_int_not_equal(items[0].error.kind, ERR_NONE);
    assert_int_equal(items[1].error.kind, ERR_NONE);
    assert_string_equal(site_read(&s, FAILED "/model"), HEX_B);
    assert_int_equal(unlinkat(s.top_fd, "share/demo/runs", 0), 0);
    (void)must_publish(&s, 'a');
    must_lie_there(&s, HEX_A);
    site_close(&s);
}

static void what_is_gone_from_scratch_is_lost(void **state)
{
    static const char *const gone[] = { HEX_A, HEX_A "/" JOB_OUTCOME, HEX_A "/" JOB_ORDER };
    struct site s;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct publish_item item;

        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_DONE);
        assert_int_equal(io_remove_tree_at(s.scratch.ended_fd, gone[i], NULL), 0);
        item = must_publish(&s, 'a');
        assert_int_equal(item.report.event, EV_LOSE);
        assert_non_null(strstr(item.report.reason, "its files on scratch are gone"));
        must_have_moved(&s, HEX_A);
        site_close(&s);
    }
}

static void put_in_the_way(struct site *s, const char *folder)
{
    struct err e = { 0 };
    char *path = mem_printf("%s/%s", s->top, folder);

    assert_int_equal(io_make_dirs(path, 0755, &e), 0);
    site_write(s->top_fd, arena_printf(s->arena, "%s/precious", folder), "data");
    free(path);
}

static void job_json_is_nonsense(struct site *s)
{
    site_write(s->top_fd, FINAL "/job.json", "{}");
}

static void job_json_is_a_folder(struct site *s)
{
    assert_int_equal(mkdirat(s->top_fd, FINAL "/job.json", 0755), 0);
}

static void a_file_is_in_the_way(struct site *s)
{
    assert_int_equal(io_remove_tree_at(s->top_fd, FINAL, NULL), 0);
    site_write(s->top_fd, FINAL, "data");
}

static void a_folder_that_is_no_result_is_not_overwritten(void **state)
{
    static void (*const what_it_is[])(struct site *) = { nothing_yet, job_json_is_nonsense,
                                                         job_json_is_a_folder,
                                                         a_file_is_in_the_way };
    static const char *const bases[] = { NULL, "/dev/shm" };
    struct site s;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        struct publish_item item;

        site_open(&s, bases[i / 4]);
        end_attempt(&s, 'a', EV_DONE);
        put_in_the_way(&s, FINAL);
        what_it_is[i % 4](&s);
        assert_int_equal(publish(&s, 'a').error.kind, ERR_EXISTS);
        item = must_publish(&s, 'a');
        assert_int_equal(item.report.event, EV_FAIL);
        assert_non_null(strstr(item.report.reason, &FINAL[strlen("share/")]));
        assert_string_equal(item.report.run_path, &FAILED[strlen("share/")]);
        assert_string_equal(site_read(&s, FAILED "/model"), HEX_A);
        assert_non_null(strstr(site_read(&s, FAILED "/job.json"), "is no result"));
        assert_string_equal(site_read(&s, i % 4 == 3 ? FINAL : FINAL "/precious"), "data");
        assert_false(site_has(&s, TEMP_A));
        must_have_moved(&s, HEX_A);
        site_close(&s);
    }
}

static void giving_way_is_gone_on_from(void **state)
{
    static const char outcome[] = HEX_A "/" JOB_OUTCOME;
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    put_in_the_way(&s, FINAL);
    assert_int_equal(linkat(s.scratch.ended_fd, outcome, s.top_fd, "outcome", 0), 0);
    assert_int_equal(publish(&s, 'a').error.kind, ERR_EXISTS);
    /* As if it had been killed before it wrote down what became of it. */
    assert_int_equal(renameat(s.top_fd, "outcome", s.scratch.ended_fd, outcome), 0);
    assert_int_equal(publish(&s, 'a').error.kind, ERR_EXISTS);
    assert_int_equal(must_publish(&s, 'a').report.event, EV_FAIL);
    assert_string_equal(site_read(&s, FAILED "/model"), HEX_A);
    assert_false(site_has(&s, TEMP_A) || site_has(&s, TEMP_FAILED));
    site_close(&s);
}

static void a_failed_one_whose_name_is_taken_stays_aside(void **state)
{
    struct site s;
    struct publish_item item;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    put_in_the_way(&s, FAILED);
    item = must_publish(&s, 'a');
    assert_int_equal(item.report.event, EV_FAIL);
    assert_string_equal(item.report.run_path, &TEMP_FAILED[strlen("share/")]);
    assert_non_null(strstr(item.report.reason, "exit code 3; "));
    assert_string_equal(site_read(&s, FAILED "/precious"), "data");
    assert_string_equal(site_read(&s, TEMP_FAILED "/model"), HEX_A);
    must_have_moved(&s, HEX_A);
    site_close(&s);
}

static void what_a_container_left_keeps_no_loser_waiting(void **state)
{
    struct site s;

    (void)state;
    site_become_nobody();
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    end_attempt(&s, 'b', EV_DONE);
    site_add_foreign(s.scratch.ended_fd, HEX_B "/" JOB_SAVE "/out", 0755, "x");
    (void)must_publish(&s, 'a');
    assert_int_equal(must_publish(&s, 'b').report.event, EV_SUPERSEDE);
    assert_string_equal(site_read(&s, FINAL "/model"), HEX_A);
    site_become_root();
    site_close(&s);
}

static void whatever_a_job_makes_of_its_folder_is_published(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    assert_int_equal(io_remove_tree_at(s.scratch.ended_fd, HEX_A "/" JOB_SAVE, NULL), 0);
    (void)must_publish(&s, 'a');
    assert_true(site_has(&s, FINAL "/job.json"));
    site_close(&s);

    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    assert_int_equal(io_remove_tree_at(s.scratch.ended_fd, HEX_A "/" JOB_SAVE, NULL), 0);
    site_write(s.scratch.ended_fd, HEX_A "/" JOB_SAVE, "a file");
    (void)must_publish(&s, 'a');
    assert_string_equal(site_read(&s, FINAL "/save"), "a file");
    site_close(&s);
}

/* ---- the series ---- */

static void its_own_series_stays(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    site_write(s.scratch.ended_fd, HEX_A "/" JOB_SAVE "/metrics.jsonl", "its own");
    assert_int_equal(must_publish(&s, 'a').report.metrics.n, 2);
    assert_string_equal(site_read(&s, FINAL "/metrics.jsonl"), "its own");
    site_close(&s);
}

static void nothing_reported_is_no_series(void **state)
{
    static const char metrics[] = HEX_A "/" JOB_METRICS;
    struct site s;

    (void)state;
    for (int i = 0; i < 3; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_DONE);
        assert_int_equal(unlinkat(s.scratch.ended_fd, metrics, 0), 0);
        if (i == 1)
            site_write(s.scratch.ended_fd, metrics, "");
        if (i == 2)
            assert_int_equal(symlinkat("order", s.scratch.ended_fd, metrics), 0);
        (void)must_publish(&s, 'a');
        assert_false(site_has(&s, FINAL "/metrics.jsonl"));
        site_close(&s);
    }
}

static void the_series_of_a_job_without_a_folder_is_published(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    assert_int_equal(io_remove_tree_at(s.scratch.ended_fd, HEX_A "/" JOB_SAVE, NULL), 0);
    (void)must_publish(&s, 'a');
    assert_string_equal(site_read(&s, FINAL "/metrics.jsonl"), METRICS);
    assert_non_null(strstr(site_read(&s, FINAL "/job.json"), "metrics.jsonl"));
    site_close(&s);
}

/* ---- checkpoints ---- */

#define KEPT    "share/demo/.ludwig/checkpoints/param_003"
#define KEPT_A1 KEPT "/20261121-101500_num0.a1"
#define KEPT_A2 KEPT "/20261121-101500_num0.a2"

static void leave_checkpoint(struct site *s, const char *hex, const char *text)
{
    int fd = s->scratch.ended_fd;

    assert_int_equal(mkdirat(fd, arena_printf(s->arena, "%s/checkpoint", hex), 0750), 0);
    assert_int_equal(mkdirat(fd, arena_printf(s->arena, "%s/checkpoint/deep", hex), 0750), 0);
    site_write(fd, arena_printf(s->arena, "%s/checkpoint/deep/state", hex), text);
}

/* The files, the folder they are in, and the index; nothing hidden beside them. */
static void must_be_kept(struct site *s, const char *kept, const char *text)
{
    assert_string_equal(site_read(s, arena_printf(s->arena, "%s/deep/state", kept)), text);
    assert_true(site_has(s, arena_printf(s->arena, "%s/.checkpoint", kept)));
    assert_int_equal(site_count(arena_printf(s->arena, "%s/" KEPT, s->top)), 4);
}

static void what_came_to_nothing_leaves_its_checkpoint(void **state)
{
    static const int events[] = { EV_FAIL, EV_CANCEL, EV_LOSE };
    static const char *const bases[] = { NULL, "/dev/shm" };
    struct site s;

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        site_open(&s, bases[i / 3]);
        end_attempt(&s, 'a', events[i % 3]);
        leave_checkpoint(&s, HEX_A, "step 3");
        assert_int_equal(must_publish(&s, 'a').report.event, events[i % 3]);
        must_be_kept(&s, KEPT_A1, "step 3");
        must_have_moved(&s, HEX_A);
        site_close(&s);
    }
}

static void an_empty_checkpoint_is_none(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    assert_int_equal(mkdirat(s.scratch.ended_fd, HEX_A "/checkpoint", 0750), 0);
    (void)must_publish(&s, 'a');
    assert_false(site_has(&s, "share/demo/.ludwig"));
    site_close(&s);
}

static void the_newest_checkpoint_alone_stays(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    leave_checkpoint(&s, HEX_A, "step 3");
    (void)must_publish(&s, 'a');
    end_attempt_number(&s, 'b', 2, EV_FAIL);
    leave_checkpoint(&s, HEX_B, "step 17");
    (void)must_publish(&s, 'b');
    must_be_kept(&s, KEPT_A2, "step 17");
    site_close(&s);
}

static void a_checkpoint_that_did_not_change_is_not_copied_again(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    leave_checkpoint(&s, HEX_A, "step 3");
    (void)must_publish(&s, 'a');
    end_attempt_number(&s, 'b', 2, EV_FAIL);
    assert_int_equal(renameat(s.scratch.published_fd, HEX_A "/checkpoint", s.scratch.ended_fd,
                              HEX_B "/checkpoint"),
                     0);
    (void)must_publish(&s, 'b');
    must_be_kept(&s, KEPT_A1, "step 3");
    site_close(&s);
}

static void a_job_that_is_done_needs_no_checkpoint(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_FAIL);
    leave_checkpoint(&s, HEX_A, "step 3");
    (void)must_publish(&s, 'a');
    end_attempt_number(&s, 'b', 2, EV_DONE);
    leave_checkpoint(&s, HEX_B, "step 19");
    assert_int_equal(must_publish(&s, 'b').report.event, EV_DONE);
    assert_false(site_has(&s, KEPT));
    site_close(&s);
}

static void checkpoints_of_other_jobs_stay(void **state)
{
    struct site s;
    struct err e = { 0 };
    char *other;

    (void)state;
    site_open(&s, NULL);
    other = mem_printf("%s/" KEPT "/20261121-101500_num01.a1", s.top);
    assert_int_equal(io_make_dirs(other, 0755, &e), 0);
    end_attempt_number(&s, 'b', 2, EV_DONE);
    (void)must_publish(&s, 'b');
    assert_true(site_has(&s, KEPT "/20261121-101500_num01.a1"));
    free(other);
    site_close(&s);
}

/* Whatever its attempts do that nobody waits for any more. */
static void a_job_with_a_result_keeps_no_checkpoint(void **state)
{
    static const int events[] = { EV_DONE, EV_FAIL, EV_CANCEL, EV_LOSE };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_FAIL);
        leave_checkpoint(&s, HEX_A, "step 3");
        (void)must_publish(&s, 'a');
        end_attempt_number(&s, 'c', 3, EV_DONE);
        assert_int_equal(must_publish(&s, 'c').report.event, EV_DONE);
        end_attempt_number(&s, 'b', 2, events[i]);
        leave_checkpoint(&s, HEX_B, "step 15");
        assert_int_equal(must_publish(&s, 'b').report.event,
                         events[i] == EV_DONE ? EV_SUPERSEDE : events[i]);
        assert_false(site_has(&s, KEPT));
        site_close(&s);
    }
}

static void a_checkpoint_waits_for_the_share(void **state)
{
    static const int events[] = { EV_FAIL, EV_CANCEL, EV_LOSE };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', events[i]);
        leave_checkpoint(&s, HEX_A, "step 3");
        assert_int_equal(renameat(s.top_fd, "share/demo", s.top_fd, "away"), 0);
        assert_int_equal(publish(&s, 'a').error.kind, ERR_NOT_FOUND);
        assert_int_equal(renameat(s.top_fd, "away", s.top_fd, "share/demo"), 0);
        assert_int_equal(must_publish(&s, 'a').report.event, events[i]);
        must_be_kept(&s, KEPT_A1, "step 3");
        site_close(&s);
    }
}

static void a_project_that_takes_no_checkpoints_holds_up_nobody(void **state)
{
    struct site s;

    (void)state;
    site_become_nobody();
    site_open(&s, NULL);
    site_add_foreign(s.top_fd, "share/demo/.ludwig", 0755, "x");
    end_attempt(&s, 'a', EV_FAIL);
    leave_checkpoint(&s, HEX_A, "step 3");
    assert_int_equal(must_publish(&s, 'a').report.event, EV_FAIL);
    assert_string_equal(site_read(&s, FAILED "/model"), HEX_A);
    site_become_root();
    site_close(&s);
}

/* ---- from each state a publisher may be killed in, with a checkpoint ---- */

#define TEMP_KEPT KEPT "/.20261121-101500_num0.a1." HEX_A

static void its_copy_was_begun(struct site *s)
{
    struct err e = { 0 };
    char *copy = mem_printf("%s/" TEMP_KEPT "/deep", s->top);

    assert_int_equal(io_make_dirs(copy, 0755, &e), 0);
    site_write(s->top_fd, TEMP_KEPT "/deep/state", "st");
    site_write(s->top_fd, TEMP_KEPT "/stale", "of another try");
    free(copy);
}

static void an_older_one_was_being_removed(struct site *s)
{
    struct err e = { 0 };
    char *old = mem_printf("%s/" KEPT "/.20261121-101500_num0.a1.4." HEX_A "/deep", s->top);

    assert_int_equal(io_make_dirs(old, 0755, &e), 0);
    free(old);
}

static void an_older_one_still_lies_there(struct site *s)
{
    struct err e = { 0 };
    char *old = mem_printf("%s/" KEPT_A1 ".4/deep", s->top);

    assert_int_equal(io_make_dirs(old, 0755, &e), 0);
    free(old);
}

static void a_torn_one_has_its_name(struct site *s)
{
    struct err e = { 0 };
    char *torn = mem_printf("%s/" KEPT_A1 "/deep", s->top);

    assert_int_equal(io_make_dirs(torn, 0755, &e), 0);
    free(torn);
}

static void a_checkpoint_is_gone_on_with(void **state)
{
    static void (*const befores[])(struct site *) = {
        nothing_yet,
        its_copy_was_begun,
        an_older_one_was_being_removed,
        an_older_one_still_lies_there,
        a_torn_one_has_its_name,
        it_was_published_but_not_moved,
        it_was_published_but_not_reported,
    };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof befores / sizeof befores[0]; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_FAIL);
        leave_checkpoint(&s, HEX_A, "step 3");
        befores[i](&s);
        assert_int_equal(must_publish(&s, 'a').report.event, EV_FAIL);
        must_be_kept(&s, KEPT_A1, "step 3");
        must_have_moved(&s, HEX_A);
        site_close(&s);
    }
}

/* ---- taking back ---- */

static void withdraw(struct site *s, char digit)
{
    struct order o = site_order(s, digit, "");
    struct err e = { 0 };

    if (publish_withdraw(&s->scratch, s->access, &o.assignment.token, s->arena, &e) < 0)
        fail_msg("%s", e.text);
}

static void must_be_withdrawn(struct site *s, const char *hex)
{
    const char *path = arena_printf(s->arena, "%s/%s", hex, JOB_REPORT);
    struct report report;
    struct err e = { 0 };

    if (scratch_read(s->scratch.published_fd, path, &report_schema, s->arena, &report, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(report.event, EV_WITHDRAW);
    assert_int_equal(report.started_at, 1000);
    assert_null(report.run_path);
}

static void what_was_published_can_be_withdrawn(void **state)
{
    struct site s;
    struct err e = { 0 };

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    end_attempt(&s, 'b', EV_DONE);
    (void)must_publish(&s, 'a');
    (void)must_publish(&s, 'b');
    withdraw(&s, 'b');
    must_lie_there(&s, HEX_A); /* not its own */
    withdraw(&s, 'a');
    assert_false(site_has(&s, FINAL));
    must_be_withdrawn(&s, HEX_A); /* until ludwigd knows, whatever agent tells it */
    assert_int_equal(publish(&s, 'a').report.event, EV_WITHDRAW);
    for (size_t i = 0; i < 2; i++) {
        char digit = "ab"[i];
        struct order o = site_order(&s, digit, "");

        assert_int_equal(scratch_discard(&s.scratch, &o.assignment.token, &e), 0);
        withdraw(&s, digit); /* by an agent that did not hear it */
    }
    assert_int_equal(site_count(s.scratch.path), SITE_FOLDERS);
    site_close(&s);
}

static void it_was_renamed(struct site *s)
{
    assert_int_equal(renameat(s->top_fd, FINAL, s->top_fd, TEMP_A), 0);
}

static void it_was_removed(struct site *s)
{
    assert_int_equal(io_remove_tree_at(s->top_fd, FINAL, NULL), 0);
}

static void its_report_was_begun(struct site *s)
{
    it_was_removed(s);
    site_write(s->scratch.published_fd, HEX_A "/" JOB_REPORT ".new", "x");
}

static void it_was_withdrawn(struct site *s)
{
    withdraw(s, 'a');
}

static void a_withdrawal_is_gone_on_with(void **state)
{
    static void (*const befores[])(struct site *) = { it_was_renamed, it_was_removed,
                                                      its_report_was_begun, it_was_withdrawn };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof befores / sizeof befores[0]; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_DONE);
        (void)must_publish(&s, 'a');
        befores[i](&s);
        withdraw(&s, 'a');
        must_be_withdrawn(&s, HEX_A);
        assert_false(site_has(&s, FINAL) || site_has(&s, TEMP_A));
        site_close(&s);
    }
}

static void job_json_says_whose_it_is(void **state)
{
    static const struct {
        const char *key, *text;
    } cases[] = {
        { "token", "\"" HEX_A "\"" },
        { "server_id", "\"server\"" },
        { "job", "\"7.13\"" },
        { "attempt", "1" },
        { "project", "\"demo\"" },
        { "param_name", "\"param_003\"" },
        { "job_name", "\"20261121-101500_num0\"" },
        { "rep", "0" },
        { "seed", "99" },
        { "host", "\"host\"" },
        { "command", "\"train 0.1\"" },
        { "exit_code", "0" },
        { "signal", "null" },
        { "cause", "null" },
        { "reason", "null" },
        { "started_at", "\"1970-01-01T00:00:01Z\"" },
        { "ended_at", "\"1970-01-01T00:01:01Z\"" },
        { "max_rss_bytes", "4096" },
        { "cpu_seconds", "1.5" },
        { "git", "null" },
        { "metrics", "{\"accuracy\":0.9,\"loss\":0.5}" },
        { "metric_ranges", "{\"accuracy\":{\"min\":0.5,\"max\":0.9,\"n\":2,\"step\":4},"
                           "\"loss\":{\"min\":0.5,\"max\":0.5,\"n\":1,\"step\":0}}" },
    };
    struct site s;
    struct value v;
    const char *text;
    const struct value *files;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    (void)must_publish(&s, 'a');
    text = site_read(&s, FINAL "/job.json");
    assert_int_equal(json_read(text, strlen(text), s.arena, &v, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf found = { 0 };

        assert_non_null(value_get(&v, cases[i].key));
        json_add_value(&found, value_get(&v, cases[i].key));
        assert_string_equal(buf_text(&found), cases[i].text);
        buf_free(&found);
    }
    files = value_get(&v, "files");
    assert_int_equal(files->list.n, 3);
    assert_string_equal(value_get(&files->list.items[1], "path")->str.s, "metrics.jsonl");
    assert_int_equal(value_get(&files->list.items[1], "size")->i, strlen(METRICS));
    assert_string_equal(value_get(&files->list.items[2], "path")->str.s, "model");
    assert_int_equal(value_get(&files->list.items[2], "size")->i, 32);
    assert_string_equal(value_get(&files->list.items[2], "sha256")->str.s,
                        "3ba3f5f43b92602683c19aee62a20342b084dd5971ddd33808d81a328879a547");
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_done_lies_under_runs),
        cmocka_unit_test(what_failed_lies_under_failed),
        cmocka_unit_test(what_was_cancelled_leaves_only_its_log),
        cmocka_unit_test(what_was_cancelled_takes_what_it_brought_away_again),
        cmocka_unit_test(the_second_attempt_is_superseded),
        cmocka_unit_test(two_in_one_group_leave_one_result),
        cmocka_unit_test(a_killed_publisher_is_gone_on_from),
        cmocka_unit_test(a_loser_that_removed_its_copy_still_knows_it_lost),
        cmocka_unit_test(a_share_that_is_away_costs_nothing),
        cmocka_unit_test(one_that_fails_does_not_hold_up_the_others),
        cmocka_unit_test(what_is_gone_from_scratch_is_lost),
        cmocka_unit_test(a_folder_that_is_no_result_is_not_overwritten),
        cmocka_unit_test(giving_way_is_gone_on_from),
        cmocka_unit_test(a_failed_one_whose_name_is_taken_stays_aside),
        cmocka_unit_test(what_a_container_left_keeps_no_loser_waiting),
        cmocka_unit_test(whatever_a_job_makes_of_its_folder_is_published),
        cmocka_unit_test(its_own_series_stays),
        cmocka_unit_test(nothing_reported_is_no_series),
        cmocka_unit_test(the_series_of_a_job_without_a_folder_is_published),
        cmocka_unit_test(what_came_to_nothing_leaves_its_checkpoint),
        cmocka_unit_test(an_empty_checkpoint_is_none),
        cmocka_unit_test(the_newest_checkpoint_alone_stays),
        cmocka_unit_test(a_checkpoint_that_did_not_change_is_not_copied_again),
        cmocka_unit_test(a_job_that_is_done_needs_no_checkpoint),
        cmocka_unit_test(checkpoints_of_other_jobs_stay),
        cmocka_unit_test(a_job_with_a_result_keeps_no_checkpoint),
        cmocka_unit_test(a_checkpoint_waits_for_the_share),
        cmocka_unit_test(a_project_that_takes_no_checkpoints_holds_up_nobody),
        cmocka_unit_test(a_checkpoint_is_gone_on_with),
        cmocka_unit_test(what_was_published_can_be_withdrawn),
        cmocka_unit_test(a_withdrawal_is_gone_on_with),
        cmocka_unit_test(job_json_says_whose_it_is),
    };

    umask(0); /* as the publisher has it */
    return SITE_EITHER_WAY(tests);
}
