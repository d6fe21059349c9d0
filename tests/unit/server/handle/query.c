/* SPDX-License-Identifier: MIT */
/* query.c - what is told of sweeps, jobs, results and nodes, and to whom */
#include "tests/unit/server_fixture.h"
#include "tests/unit/skip.h"

#include <math.h>

static const struct sweep_info *sweep_at(const struct msg_sweep_page *page, size_t i)
{
    return (const struct sweep_info *)page->sweeps.items + i;
}

static const struct job_info *job_at(const struct msg_job_page *page, size_t i)
{
    assert_true(i < page->jobs.n);
    return (const struct job_info *)page->jobs.items + i;
}

static void sweeps_come_newest_first_and_page_by_page(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_get_sweeps get = { .limit = 2 };
    struct msg_sweep_page page;

    (void)state;
    for (int i = 0; i < 3; i++)
        submit_all(p, submit_of("demo", 1), i, i);
    peer_ask(p, MSG_GET_SWEEPS, &get, &page);
    assert_int_equal(page.sweeps.n, 2);
    assert_true(page.more);
    assert_int_equal(sweep_at(&page, 0)->sweep, 3);
    get.before = sweep_at(&page, 1)->sweep;
    peer_ask(p, MSG_GET_SWEEPS, &get, &page);
    assert_int_equal(page.sweeps.n, 1);
    assert_false(page.more);
    assert_int_equal(sweep_at(&page, 0)->sweep, 1);
    peer_close(p);
    fixture_close(f);
}

static void a_sweep_tells_what_it_is(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 2);
    struct msg_get_sweeps get = { 0 };
    const struct sweep_info *info;
    struct msg_sweep_page page;

    (void)state;
    s.begin.name = "first try";
    s.begin.priority = -7;
    get.sweep = submit_all(p, s, 1, 3).sweep;
    peer_ask(p, MSG_GET_SWEEPS, &get, &page);
    info = sweep_at(&page, 0);
    assert_string_equal(info->project, "demo");
    assert_string_equal(info->name, "first try");
    assert_int_equal(info->priority, -7);
    assert_int_equal(info->configs, 3);
    assert_int_equal(info->reps, 2);
    assert_int_equal(info->jobs.queued, 6);
    assert_int_equal(info->state, SWEEP_RUNNING);
    assert_true(info->submitted_at > 0);
    get.sweep = 99;
    peer_refused(p, MSG_GET_SWEEPS, &get, ERR_NOT_FOUND);
    peer_close(p);
    fixture_close(f);
}

static void pages_of_jobs_hold_each_once(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_get_jobs get = { .limit = 7 };
    struct msg_job_page page;
    size_t n = 0;

    (void)state;
    get.sweep = submit_all(p, submit_of("demo", 1), 1, 30).sweep;
    do {
        peer_ask(p, MSG_GET_JOBS, &get, &page);
        for (size_t i = 0; i < page.jobs.n; i++)
            assert_int_equal(atoi(strchr(job_at(&page, i)->job, '.') + 1), ++n);
        get.after = page.next;
    } while (page.next != 0);
    assert_int_equal(n, 30);
    peer_close(p);
    fixture_close(f);
}

static void jobs_can_be_asked_for_by_number_and_by_state(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    const char *cancelled = "cancelled";
    const char *wrong = "cancled";
    struct target target = { .first = 4, .last = 6 };
    struct msg_cancel cancel = { .targets = { &target, 1 } };
    struct msg_get_jobs get = { .limit = 100 };
    struct msg_job_page page;

    (void)state;
    get.sweep = target.sweep = submit_all(p, submit_of("demo", 1), 1, 9).sweep;
    peer_ask(p, MSG_CANCEL, &cancel, NULL);
    get.states = (struct list){ &cancelled, 1 };
    peer_ask(p, MSG_GET_JOBS, &get, &page);
    assert_int_equal(page.jobs.n, 3);
    assert_int_equal(page.next, 0);
    get.states = (struct list){ 0 };
    get.after = 4;
    get.last = 5;
    peer_ask(p, MSG_GET_JOBS, &get, &page);
    assert_int_equal(page.jobs.n, 1);
    assert_int_equal(job_at(&page, 0)->state, JOB_CANCELLED);
    get.states = (struct list){ &wrong, 1 };
    assert_non_null(strstr(peer_refused(p, MSG_GET_JOBS, &get, ERR_USAGE), "'cancelled'"));
    peer_close(p);
    fixture_close(f);
}

static void a_page_of_large_configurations_is_short(void **state)
{
    enum { N = 20, LARGE = 40000 };
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    char *text = mem_alloc(LARGE + 1);
    struct msg_get_jobs get = { .limit = 100 };
    struct msg_job_page page;
    size_t n = 0;

    (void)state;
    memset(text, 'x', LARGE);
    submit_begin(p, &s);
    for (int i = 0; i < N; i++) {
        struct buf one = { 0 };

        mp_add_list(&one, 1);
        mp_add_map(&one, 2);
        mp_add_str(&one, "x", 1);
        mp_add_int(&one, i);
        mp_add_str(&one, "text", 4);
        mp_add_str(&one, text, LARGE);
        submit_bytes(p, &s, buf_bytes(&one), 1);
        buf_free(&one);
    }
    get.sweep = submit_end(p, &s).sweep;
    do {
        peer_ask(p, MSG_GET_JOBS, &get, &page);
        assert_true(page.jobs.n > 0 && page.jobs.n < N);
        n += page.jobs.n;
        get.after = page.next;
    } while (page.next != 0);
    assert_int_equal(n, N);
    free(text);
    peer_close(p);
    fixture_close(f);
}

static void a_done_job_tells_where_its_results_lie(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct msg_get_jobs get = { .limit = 1 };
    const struct job_info *job;
    struct msg_job_page page;
    char *path;

    (void)state;
    get.sweep = submit_all(p, submit_of("demo", 1), 1, 1).sweep;
    worker_do_hand(w, report_done());
    peer_ask(p, MSG_GET_JOBS, &get, &page);
    job = job_at(&page, 0);
    assert_int_equal(job->state, JOB_DONE);
    assert_int_equal(job->attempt, 1);
    assert_int_equal(job->exit_code, 0);
    assert_true(job->signal == SCHEMA_NONE);
    assert_string_equal(job->node, "n1");
    assert_int_equal(job->started_at, 1000);
    path = mem_printf("demo/runs/param_001/%s", job->job_name);
    assert_string_equal(job->run_path, path);
    free(path);
    path = mem_printf("demo/logs/1/param_001_%s.log", job->job_name);
    assert_string_equal(job->log_path, path);
    free(path);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_failed_job_tells_why_and_where_its_files_lie(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct msg_get_jobs get = { .limit = 1 };
    const struct job_info *job;
    struct msg_job_page page;

    (void)state;
    get.sweep = submit_all(p, submit_of("demo", 1), 1, 1).sweep;
    worker_do_hand(w, report_failed(3));
    peer_ask(p, MSG_GET_JOBS, &get, &page);
    job = job_at(&page, 0);
    assert_int_equal(job->state, JOB_FAILED);
    assert_int_equal(job->exit_code, 3);
    assert_string_equal(job->reason, "exit");
    assert_int_equal(strncmp(job->run_path, "demo/failed/param_001/", 22), 0);
    assert_string_equal(job->run_path + strlen(job->run_path) - 3, ".a1");
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_job_that_waits_tells_no_place(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_get_jobs get = { .limit = 1 };
    const struct job_info *job;
    struct msg_job_page page;

    (void)state;
    get.sweep = submit_all(p, submit_of("demo", 1), 1, 1).sweep;
    peer_ask(p, MSG_GET_JOBS, &get, &page);
    job = job_at(&page, 0);
    assert_null(job->node);
    assert_null(job->run_path);
    assert_null(job->log_path);
    assert_true(job->exit_code == SCHEMA_NONE);
    peer_close(p);
    fixture_close(f);
}

static struct report done_with(struct metric *metrics, size_t n)
{
    struct report r = report_done();

    r.metrics = (struct list){ metrics, n };
    return r;
}

static void check_metrics(const struct list *metrics)
{
    const struct metric *m = metrics->items;

    if (m == NULL || metrics->n != 2) {
        fail_msg("%zu metrics", metrics->n);
        return;
    }
    assert_string_equal(m[0].name, "accuracy");
    assert_true(m[0].value == 0.5);
    assert_int_equal(m[0].step, 7);
    assert_true(isnan(m[1].value));
}

static void results_are_the_sweeps_own_and_then_those_it_reused(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct metric metrics[] = { { .name = "accuracy", .value = 0.5, .step = 7 },
                                { .name = "loss", .value = (double)NAN, .step = SCHEMA_NONE } };
    struct msg_get_results get = { .limit = 3 };
    struct job_result first = { 0 };
    struct msg_result_page page;
    size_t own = 0;
    size_t reused = 0;

    (void)state;
    submit_all(p, submit_of("demo", 1), 1, 4);
    for (size_t n = 0; n < 4;)
        n += worker_do_hand(w, done_with(metrics, 2));
    get.sweep = submit_all(p, submit_of("demo", 2), 1, 4).sweep;
    do {
        const struct job_result *r;

        peer_ask(p, MSG_GET_RESULTS, &get, &page);
        r = page.results.items;
        for (size_t i = 0; i < page.results.n; i++) {
            if (r[i].job[0] == '1' && reused == 0)
                first = r[i];
            own += r[i].job[0] == '2';
            reused += r[i].job[0] == '1';
        }
        get.after = page.next;
    } while (page.next != 0);
    assert_int_equal(own, 4);
    assert_int_equal(reused, 4);
    check_metrics(&first.metrics);
    assert_int_equal(first.state, JOB_DONE);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void others_see_that_it_exists_but_neither_jobs_nor_results(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = stranger_connect(f, 1);
    struct msg_get_sweeps sweeps = { 0 };
    struct msg_get_results results = { 0 };
    struct msg_get_jobs jobs = { 0 };
    struct msg_sweep_page page;

    (void)state;
    jobs.sweep = results.sweep = submit_all(p, submit_of("demo", 1), 1, 1).sweep;
    peer_ask(other, MSG_GET_SWEEPS, &sweeps, &page);
    assert_int_equal(page.sweeps.n, 1);
    peer_refused(other, MSG_GET_JOBS, &jobs, ERR_DENIED);
    peer_refused(other, MSG_GET_RESULTS, &results, ERR_DENIED);
    other->conn->is_admin = true;
    peer_ask(other, MSG_GET_JOBS, &jobs, NULL);
    peer_ask(other, MSG_GET_RESULTS, &results, NULL);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void nodes_are_up_while_connected_and_lost_afterwards(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct msg_get_nodes get = { 0 };
    const struct node_info *node;
    struct msg_node_page page;

    (void)state;
    peer_ask(p, MSG_GET_NODES, &get, &page);
    node = page.nodes.items;
    assert_int_equal(page.nodes.n, 1);
    assert_string_equal(node->node, "n1");
    assert_string_equal(node->state, "up");
    assert_true(node->cpus == (double)WORKER_CPUS);
    /* It has been up for long: as if it had registered in 1970. */
    assert_int_equal(db_run(f->sv.db, NULL, SQL_WORKER_SEEN, "ii", w->conn->worker, INT64_C(1)), 1);
    peer_close(w);
    fixture_settle(f);
    peer_ask(p, MSG_GET_NODES, &get, &page);
    assert_int_equal(page.nodes.n, 1);
    node = page.nodes.items;
    assert_string_equal(node->state, "lost");
    peer_close(p);
    fixture_close(f);
}

/* ---- cancel and retry, as seen from outside ---- */

static int64_t change(struct peer *p, int type, int64_t sweep, int64_t first, int64_t last)
{
    struct target target = { sweep, first, last };
    struct msg_cancel cancel = { .targets = { &target, 1 } };
    struct msg_retry retry = { .targets = { &target, 1 } };
    struct msg_changed changed;

    peer_ask(p, type, type == MSG_CANCEL ? (void *)&cancel : (void *)&retry, &changed);
    return changed.jobs;
}

static void what_was_cancelled_can_be_retried(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    int64_t sweep = submit_all(p, submit_of("demo", 1), 1, 10).sweep;

    (void)state;
    assert_int_equal(change(p, MSG_CANCEL, sweep, 2, 4), 3);
    assert_int_equal(change(p, MSG_CANCEL, sweep, 0, 0), 7);
    assert_int_equal(change(p, MSG_RETRY, sweep, 1, 5), 5);
    assert_int_equal(change(p, MSG_RETRY, sweep, 0, 0), 5);
    assert_int_equal(change(p, MSG_RETRY, sweep, 0, 0), 0);
    peer_close(p);
    fixture_close(f);
}

static void others_may_change_nothing(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = stranger_connect(f, 1);
    struct target target = { 0 };
    struct msg_cancel cancel = { .targets = { &target, 1 } };
    struct msg_retry retry = { .targets = { &target, 1 } };
    struct msg_pause pause = { { &target, 1 } };
    struct msg_resume resume = { { &target, 1 } };

    (void)state;
    target.sweep = submit_all(p, submit_of("demo", 1), 1, 1).sweep;
    peer_refused(other, MSG_CANCEL, &cancel, ERR_DENIED);
    peer_refused(other, MSG_RETRY, &retry, ERR_DENIED);
    peer_refused(other, MSG_PAUSE, &pause, ERR_DENIED);
    peer_refused(other, MSG_RESUME, &resume, ERR_DENIED);
    target.sweep = 99;
    peer_refused(p, MSG_CANCEL, &cancel, ERR_NOT_FOUND);
    target = (struct target){ 1, 5, 2 };
    peer_refused(p, MSG_CANCEL, &cancel, ERR_USAGE);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

/* ---- what a submit would find ---- */

static struct msg_previewed preview(struct peer *p, struct msg_preview ask, int64_t first,
                                    int64_t last)
{
    struct buf configs = { 0 };
    struct msg_previewed found;

    add_configs(&configs, first, last);
    ask.configs = buf_bytes(&configs);
    peer_ask(p, MSG_PREVIEW, &ask, &found);
    buf_free(&configs);
    return found;
}

static void a_preview_counts_what_is_done_and_changes_nothing(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct submit s = submit_of("demo", 2);
    struct msg_preview ask = { .project = "demo", .reps = 3 };
    struct msg_previewed found;

    (void)state;
    assert_int_equal(preview(p, ask, 1, 5).reused, 0);
    submit_all(p, s, 1, 4);
    jobspec_digest(&s.begin.work, &ask.work);
    found = preview(p, ask, 3, 9);
    assert_int_equal(found.followed, 4);
    assert_int_equal(found.followed_first, 1);
    assert_int_equal(found.followed_last, 1);
    assert_int_equal(found.unfinished, 1);
    for (size_t n = 0; n < 8;)
        n += worker_do_hand(w, report_done());
    found = preview(p, ask, 3, 9);
    assert_int_equal(found.reused, 4);
    assert_int_equal(found.followed, 0);
    assert_true(found.is_own);
    assert_non_null(found.owner);
    assert_int_equal(found.ran_jobs, 8);
    assert_int_equal(found.ran_ms, 8000);
    ask.reps = 1;
    assert_int_equal(preview(p, ask, 3, 9).reused, 2);
    ask.work.bytes[0] ^= 1;
    assert_int_equal(preview(p, ask, 3, 9).reused, 0);
    ask.reuse = REUSE_PARAMS;
    assert_int_equal(preview(p, ask, 3, 9).reused, 2);
    ask.reuse = REUSE_NONE;
    assert_int_equal(preview(p, ask, 3, 9).reused, 0);
    assert_int_equal(submit_all(p, s, 4, 5).reused, 2);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_preview_of_too_many_is_refused(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_preview ask = { .project = "demo", .reps = 1, .reuse = REUSE_PARAMS };
    struct buf configs = { 0 };

    (void)state;
    submit_all(p, submit_of("demo", 1), 1, 2);
    add_configs(&configs, 1, CONFIGS_PER_CHUNK_MAX + 1);
    ask.configs = buf_bytes(&configs);
    peer_refused(p, MSG_PREVIEW, &ask, ERR_PROTOCOL);
    buf_free(&configs);
    assert_int_equal(preview(p, ask, 1, CONFIGS_PER_CHUNK_MAX).reused, 0);
    peer_close(p);
    fixture_close(f);
}

static void a_preview_of_anothers_project_is_of_ones_own(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = stranger_connect(f, 1);
    struct msg_preview ask = { .project = "demo", .reps = 1, .reuse = REUSE_PARAMS };
    struct msg_previewed found;

    (void)state;
    submit_all(p, submit_of("demo", 1), 1, 4);
    found = preview(other, ask, 1, 4);
    assert_string_equal(found.project, "demo.user1");
    assert_null(found.owner);
    assert_true(found.is_own);
    assert_int_equal(found.ran_jobs, 0);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

/* ---- what was used ---- */

static const struct usage_info *usage_at(const struct msg_usage_page *page, size_t i)
{
    assert_true(i < page->rows.n);
    return (const struct usage_info *)page->rows.items + i;
}

static void usage_counts_failures_too_and_not_twice(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct submit s = submit_of("demo", 1);
    struct report hour = report_failed(3);
    struct msg_get_usage ask = { 0 };
    struct msg_usage_page page;

    (void)state;
    s.begin.work.resources.cpus_milli = 2000;
    submit_all(p, s, 1, 2);
    hour.ended_at = hour.started_at + 3600 * 1000;
    hour.cpu_ms = 1800 * 1000;
    assert_int_equal(worker_do_hand(w, hour), 2);
    peer_ask(p, MSG_GET_USAGE, &ask, &page);
    assert_int_equal(page.rows.n, 1);
    assert_false(page.more);
    assert_int_equal(usage_at(&page, 0)->attempts, 2);
    assert_float_equal(usage_at(&page, 0)->hours, 2.0, 1e-9);
    assert_float_equal(usage_at(&page, 0)->cpu_hours, 4.0, 1e-9);
    assert_float_equal(usage_at(&page, 0)->gpu_hours, 0.0, 1e-9);
    assert_float_equal(usage_at(&page, 0)->busy_cpu_hours, 1.0, 1e-9);
    ask.since = INT64_C(1) << 50;
    peer_ask(p, MSG_GET_USAGE, &ask, &page);
    assert_int_equal(page.rows.n, 0);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void what_was_asked_for_and_what_was_used_is_told(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct submit s = submit_of("demo", 1);
    struct report hour = report_failed(3);
    struct msg_get_usage ask = { 0 };
    struct msg_get_jobs get = { .sweep = 1, .limit = 5 };
    struct msg_get_results results = { .sweep = 1, .limit = 5 };
    struct msg_submitted submitted;
    struct msg_result_page found;
    struct msg_usage_page page;
    struct msg_job_page jobs;

    (void)state;
    s.begin.work.resources.memory_bytes = INT64_C(8) << 30;
    s.begin.work.resources.time_ms = INT64_C(4) * 3600 * 1000;
    submitted = submit_all(p, s, 1, 2);
    assert_int_equal(submitted.max_rss_bytes, 0);
    peer_ask(p, MSG_GET_JOBS, &get, &jobs);
    assert_true(job_at(&jobs, 0)->max_rss_bytes == SCHEMA_NONE);
    assert_true(isnan(job_at(&jobs, 0)->cpu_seconds));
    hour.ended_at = hour.started_at + 3600 * 1000;
    hour.cpu_ms = 1500;
    hour.max_rss_bytes = INT64_C(2) << 30;
    assert_int_equal(worker_do_hand(w, hour), 2);
    peer_ask(p, MSG_GET_USAGE, &ask, &page);
    assert_float_equal(usage_at(&page, 0)->ended_hours, 2.0, 1e-9);
    assert_float_equal(usage_at(&page, 0)->memory_gib_hours, 16.0, 1e-9);
    assert_float_equal(usage_at(&page, 0)->used_memory_gib_hours, 4.0, 1e-9);
    assert_float_equal(usage_at(&page, 0)->limit_hours, 8.0, 1e-9);
    assert_float_equal(usage_at(&page, 0)->max_hours, 1.0, 1e-9);
    assert_int_equal(usage_at(&page, 0)->max_rss_bytes, hour.max_rss_bytes);
    peer_ask(p, MSG_GET_JOBS, &get, &jobs);
    assert_int_equal(job_at(&jobs, 0)->max_rss_bytes, hour.max_rss_bytes);
    assert_float_equal(job_at(&jobs, 0)->cpu_seconds, 1.5, 1e-9);
    peer_ask(p, MSG_GET_RESULTS, &results, &found);
    assert_int_equal(((const struct job_result *)found.results.items)->max_rss_bytes,
                     hour.max_rss_bytes);
    s.begin.reuse = REUSE_NONE;
    submitted = submit_all(p, s, 1, 2);
    assert_int_equal(submitted.ran_jobs, 0); /* they failed */
    assert_int_equal(submitted.max_rss_bytes, hour.max_rss_bytes);
    assert_int_equal(submitted.longest_ms, 3600 * 1000);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

/* ---- why ---- */

static bool is_said(const struct msg_why *why, const char *text)
{
    const char *const *lines = why->lines.items;

    for (size_t i = 0; i < why->lines.n; i++)
        if (strstr(lines[i], text) != NULL)
            return true;
    return false;
}

static void a_job_that_waits_is_told_what_for(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    struct msg_ask_why ask = { .job = 2 };
    struct target target = { 0 };
    struct msg_pause pause = { { &target, 1 } };
    struct msg_why why;
    struct peer *w;

    (void)state;
    s.begin.work.resources.cpus_milli = (WORKER_CPUS + 1) * 1000;
    ask.sweep = target.sweep = submit_all(p, s, 1, 3).sweep;
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(is_said(&why, "no worker is connected"));
    assert_true(is_said(&why, "1 job of its sweep comes before it"));
    w = worker_connect(f);
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(is_said(&why, "n1: it needs 65 cpus, and there are 64"));
    peer_ask(p, MSG_PAUSE, &pause, NULL);
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(is_said(&why, "is paused"));
    ask.job = 9;
    peer_refused(p, MSG_ASK_WHY, &ask, ERR_NOT_FOUND);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_job_that_a_limit_of_its_user_keeps_waiting_is_told_so(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct msg_ask_why ask = { .job = 2 };
    struct msg_why why;

    (void)state;
    f->sv.conf.jobs_per_user = 1;
    ask.sweep = submit_all(p, submit_of("demo", 1), 1, 2).sweep;
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(
        is_said(&why, " already has 1 running job, the limit per user (limits: jobs_per_user"));
    assert_true(is_said(&why, "n1: there is room, but for that limit"));
    assert_false(is_said(&why, "about to be handed out"));
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

/* The other one's needs the whole machine. */
static void a_job_whose_user_has_more_than_another_is_told_so(void **state)
{
    struct submit large = submit_of("others", 1);
    struct msg_ask_why ask = { .job = WORKER_CPUS + 1 };
    struct peer *p, *w, *other;
    const char *service; /* its worker runs everybody's jobs */
    struct fixture *f;
    struct msg_why why;

    (void)state;
    if (geteuid() != 0)
        skip_because("takes root"); /* the other one's project cannot be made */
    f = fixture_open();
    p = client_connect(f);
    w = worker_connect(f);
    other = peer_connect_as(f, geteuid() + 1);
    peer_hello(other, "ludwig");
    service = w->conn->user;
    f->sv.conf.worker_users = (struct list){ &service, 1 };
    ask.sweep = submit_all(p, submit_of("demo", 1), 1, WORKER_CPUS + 1).sweep;
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(is_said(&why, "n1: it is busy, 64 of 64 cpus are taken"));
    assert_false(is_said(&why, "share: "));
    large.begin.work.resources.cpus_milli = 1000 * (int64_t)WORKER_CPUS;
    large.sweep = submit_all(other, large, 1, 1).sweep;
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(is_said(&why, " waits as well, and has 0.0 % of the machines to "));
    ask = (struct msg_ask_why){ .sweep = large.sweep, .job = 1 };
    peer_ask(other, MSG_ASK_WHY, &ask, &why);
    assert_false(is_said(&why, "share: "));
    f->sv.conf.worker_users = (struct list){ 0 };
    peer_close(w);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void a_job_whose_data_are_on_their_way_is_told_so(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f), *w = worker_connect(f);
    struct msg_ask_why ask = { .job = 1 };
    struct msg_why why;

    (void)state;
    ask.sweep = submit_all(p, submit_of("demo", 1), 1, 1).sweep;
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(is_said(&why, "it was given to n1 and waits for a slot there"));
    assert_int_equal(worker_do_hand(w, (struct report){ .event = EV_STAGE, .signal = SCHEMA_NONE }),
                     1);
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(is_said(&why, "its data are being brought to n1"));
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_job_that_waits_for_other_nodes_is_told_so(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct submit s = submit_of("demo", 1);
    struct msg_ask_why ask = { .job = 1 };
    const char *norman = "norman";
    struct msg_why why;

    (void)state;
    s.begin.nodes = (struct list){ &norman, 1 };
    ask.sweep = submit_all(p, s, 1, 1).sweep;
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_true(is_said(&why, "n1: it is not in the sweep's list of nodes"));
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_submit_that_nobody_can_run_is_told_so(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct submit s = submit_of("demo", 1);
    const char *norman = "norman";
    struct peer *w;

    (void)state;
    s.begin.work.resources.gpus_milli = 1000;
    assert_null(submit_all(p, s, 1, 3).note);
    w = worker_connect(f);
    assert_string_equal(submit_all(p, s, 4, 5).note, "n1: it needs 1 GPUs, and there are 0");
    s.begin.work.resources.gpus_milli = 0;
    assert_null(submit_all(p, s, 6, 7).note);
    s.begin.nodes = (struct list){ &norman, 1 };
    assert_string_equal(submit_all(p, s, 8, 9).note, "n1: it is not in the sweep's list of nodes");
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_failed_job_is_told_its_reason(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *w = worker_connect(f);
    struct msg_ask_why ask = { .job = 1 };
    struct report oom = report_failed(137);
    struct msg_why why;

    (void)state;
    oom.cause = CAUSE_OOM;
    oom.reason = "out of memory";
    ask.sweep = submit_all(p, submit_of("demo", 1), 1, 1).sweep;
    worker_do_hand(w, oom);
    peer_ask(p, MSG_ASK_WHY, &ask, &why);
    assert_string_equal(why.job.cause, "oom");
    assert_true(is_said(&why, "it failed: out of memory"));
    assert_true(is_said(&why, "ludwig retry 1.1"));
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_preview_counts_what_is_done_and_changes_nothing),
        cmocka_unit_test(a_preview_of_too_many_is_refused),
        cmocka_unit_test(a_preview_of_anothers_project_is_of_ones_own),
        cmocka_unit_test(usage_counts_failures_too_and_not_twice),
        cmocka_unit_test(what_was_asked_for_and_what_was_used_is_told),
        cmocka_unit_test(a_job_that_waits_is_told_what_for),
        cmocka_unit_test(a_job_that_a_limit_of_its_user_keeps_waiting_is_told_so),
        cmocka_unit_test(a_job_whose_user_has_more_than_another_is_told_so),
        cmocka_unit_test(a_job_whose_data_are_on_their_way_is_told_so),
        cmocka_unit_test(a_job_that_waits_for_other_nodes_is_told_so),
        cmocka_unit_test(a_submit_that_nobody_can_run_is_told_so),
        cmocka_unit_test(a_failed_job_is_told_its_reason),
        cmocka_unit_test(sweeps_come_newest_first_and_page_by_page),
        cmocka_unit_test(a_sweep_tells_what_it_is),
        cmocka_unit_test(pages_of_jobs_hold_each_once),
        cmocka_unit_test(jobs_can_be_asked_for_by_number_and_by_state),
        cmocka_unit_test(a_page_of_large_configurations_is_short),
        cmocka_unit_test(a_done_job_tells_where_its_results_lie),
        cmocka_unit_test(a_failed_job_tells_why_and_where_its_files_lie),
        cmocka_unit_test(a_job_that_waits_tells_no_place),
        cmocka_unit_test(results_are_the_sweeps_own_and_then_those_it_reused),
        cmocka_unit_test(others_see_that_it_exists_but_neither_jobs_nor_results),
        cmocka_unit_test(nodes_are_up_while_connected_and_lost_afterwards),
        cmocka_unit_test(what_was_cancelled_can_be_retried),
        cmocka_unit_test(others_may_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
