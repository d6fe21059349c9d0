/* SPDX-License-Identifier: MIT */
/* publish.c - tests of results on their way to the share, from each state in between */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/proto/layout.h"
#include "tests/unit/worker_publish.h"
#include "worker/saved/jobjson.h"

#define LOGFILE     "share/demo/logs/7/param_003_20261121-101500_num0.log"
#define TEMP_A      RUNS "/.20261121-101500_num0." HEX_A
#define TEMP_FAILED "share/demo/failed/param_003/.20261121-101500_num0.a1." HEX_A

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
    assert_string_equal(site_read(&s, FAILED "/metrics.jsonl"),
                        METRICS "{\"loss\": 0.5, \"step\": 0}\n");
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

static void saved_was_moved(struct site *s)
{
    struct err e = { 0 };
    char *runs = mem_printf("%s/" RUNS, s->top);

    assert_int_equal(io_make_dirs(runs, 0755, &e), 0);
    assert_int_equal(renameat(s->scratch.ended_fd, HEX_A "/" JOB_SAVE, s->top_fd, TEMP_A), 0);
    site_write(s->top_fd, TEMP_A "/metrics.jsonl", "{\"accura");
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

static void put_a_file_for_save(struct site *s)
{
    int fd = s->scratch.ended_fd;
    struct err e = { 0 };

    assert_int_equal(io_remove_tree_at(fd, HEX_A "/" JOB_SAVE, &e), 0);
    site_write(fd, HEX_A "/" JOB_SAVE, "the model");
}

static void it_was_put_aside(struct site *s)
{
    int fd = s->scratch.ended_fd;

    put_a_file_for_save(s);
    assert_int_equal(renameat(fd, HEX_A "/" JOB_SAVE, fd, HEX_A "/" JOB_SAVE ".aside"), 0);
}

static void its_folder_was_made(struct site *s)
{
    it_was_put_aside(s);
    assert_int_equal(mkdirat(s->scratch.ended_fd, HEX_A "/" JOB_SAVE, 0700), 0);
}

static void a_file_in_the_place_of_the_folder_is_published(void **state)
{
    static void (*const befores[])(struct site *) = { put_a_file_for_save, it_was_put_aside,
                                                      its_folder_was_made };
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof befores / sizeof befores[0]; i++) {
        site_open(&s, NULL);
        end_attempt(&s, 'a', EV_DONE);
        befores[i](&s);
        (void)must_publish(&s, 'a');
        assert_true(site_has(&s, FINAL "/" JOB_SAVE));
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

static void a_file_of_its_own_gets_another_name(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    end_attempt(&s, 'a', EV_DONE);
    site_write(s.scratch.ended_fd, HEX_A "/" JOB_SAVE "/metrics.jsonl", "its own");
    assert_int_equal(must_publish(&s, 'a').report.metrics.n, 2);
    assert_string_equal(site_read(&s, FINAL "/metrics.jsonl"), METRICS);
    assert_string_equal(site_read(&s, FINAL "/metrics~2.jsonl"), "its own");
    assert_non_null(strstr(site_read(&s, FINAL "/job.json"), "\"was\": \"metrics.jsonl\""));
    site_close(&s);
}

/* Whatever ended the first; its series in CSV files goes on, too. */
static void what_was_reported_goes_on_over_attempts(void **state)
{
    static const int events[] = { EV_FAIL, EV_CANCEL, EV_LOSE, EV_STOP };
    static const char series[] = "{\"loss\": 0.5, \"step\": 0}\n";
    static const char first[] = "share/demo/logs/7/param_003_20261121-101500_num0.metrics.jsonl";
    static const char third[] = "share/demo/logs/7/param_003_20261121-101500_num0.a3.metrics.jsonl";
    struct site s;

    (void)state;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        const struct metric *metric;
        const char *once, *twice, *all;
        struct publish_item item;

        site_open(&s, NULL);
        once = arena_printf(s.arena, "%s%s", METRICS, series);
        twice = arena_printf(s.arena, "%s{\"accuracy\": 0.1, \"step\": 4}\n%s", once, series);
        all = arena_printf(s.arena, "%s%s%s", twice, METRICS, series);
        end_attempt(&s, 'a', events[i]);
        (void)must_publish(&s, 'a');
        assert_string_equal(site_read(&s, first), once);
        /* The second was recalled, or lost with its node before it reported. */
        end_attempt_number(&s, 'b', 3, events[i]);
        site_write(s.scratch.ended_fd, HEX_B "/" JOB_METRICS, "{\"accuracy\": 0.1, \"step\": 4}");
        (void)must_publish(&s, 'b');
        assert_string_equal(site_read(&s, third), twice);
        end_attempt_number(&s, 'c', 4, EV_DONE);
        item = must_publish(&s, 'c');
        assert_string_equal(site_read(&s, FINAL "/metrics.jsonl"), all);
        assert_false(site_has(&s, first) || site_has(&s, third));
        assert_int_equal(item.report.metrics.n, 2);
        metric = item.report.metrics.items;
        assert_true(metric->value == 0.9 && metric->min == 0.5 && metric->max == 0.9);
        site_close(&s);
    }
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
        cmocka_unit_test(a_file_in_the_place_of_the_folder_is_published),
        cmocka_unit_test(a_loser_that_removed_its_copy_still_knows_it_lost),
        cmocka_unit_test(a_share_that_is_away_costs_nothing),
        cmocka_unit_test(one_that_fails_does_not_hold_up_the_others),
        cmocka_unit_test(what_is_gone_from_scratch_is_lost),
        cmocka_unit_test(a_folder_that_is_no_result_is_not_overwritten),
        cmocka_unit_test(giving_way_is_gone_on_from),
        cmocka_unit_test(a_failed_one_whose_name_is_taken_stays_aside),
        cmocka_unit_test(what_a_container_left_keeps_no_loser_waiting),
        cmocka_unit_test(whatever_a_job_makes_of_its_folder_is_published),
        cmocka_unit_test(a_file_of_its_own_gets_another_name),
        cmocka_unit_test(what_was_reported_goes_on_over_attempts),
        cmocka_unit_test(nothing_reported_is_no_series),
        cmocka_unit_test(the_series_of_a_job_without_a_folder_is_published),
        cmocka_unit_test(what_was_published_can_be_withdrawn),
        cmocka_unit_test(a_withdrawal_is_gone_on_with),
    };

    umask(0); /* as the publisher has it */
    return SITE_EITHER_WAY(tests);
}
