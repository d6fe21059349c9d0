/* SPDX-License-Identifier: MIT */
/* batch.c - tests of several jobs to one process: how they are handed out and come back */

#include "tests/unit/server_player.h"

#include "server/queue/attempts.h"
#include "server/queue/retry.h"

enum { CPUS = 4 };

/* n jobs of one processor each, so many to a process; the worker joins. */
static struct scene *scene_of(int64_t n, int64_t batch)
{
    struct scene *s = scene_open();
    struct submit submit = submit_of("p", 1);

    submit.begin.work.batch = batch;
    s->sweep = submit_all(s->client, submit, 1, n).sweep;
    join(s->f, &s->w, "n1", CPUS);
    return s;
}

static void scene_close(struct scene *s)
{
    tear_down((void *[]){ s });
}

static bool is_same_process(const struct player *w, size_t i, size_t k)
{
    return token_equal(&w->hand[i].batch, &w->hand[k].batch);
}

/* From first on there are processes of these sizes, and that is all. */
static void expect_processes(const struct player *w, size_t first, const size_t *sizes, size_t n)
{
    size_t at = first;

    for (size_t i = 0; i < n; i++) {
        assert_true(at + sizes[i] <= w->n_hand);
        assert_false(token_is_zero(&w->hand[at].batch));
        for (size_t k = 0; k < w->n_hand; k++) {
            assert_false(token_equal(&w->hand[at].batch, &w->hand[k].token));
            if (is_same_process(w, at, k) != (k >= at && k < at + sizes[i]))
                fail_msg("jobs %zu and %zu", at, k);
        }
        at += sizes[i];
    }
    assert_int_equal(at, w->n_hand);
}

static void jobs_are_grouped_in_their_order_and_the_last_group_may_be_smaller(void **state)
{
    struct scene *s = scene_of(8, 3);

    (void)state;
    assert_int_equal(s->w.n_hand, 8);
    expect_processes(&s->w, 0, (size_t[]){ 3, 3, 2 }, 3);
    for (int i = 0; i < 8; i++)
        assert_int_equal(s->w.hand[i].job, i + 1);
    scene_close(s);
}

static void a_single_job_left_over_has_a_process_like_the_others(void **state)
{
    struct scene *s = scene_of(4, 3);

    (void)state;
    expect_processes(&s->w, 0, (size_t[]){ 3, 1 }, 2);
    scene_close(s);
}

static void without_batch_every_job_has_its_own_process(void **state)
{
    (void)state;
    for (int64_t batch = 0; batch <= 1; batch++) {
        struct scene *s = scene_of(2, batch);

        assert_int_equal(s->w.n_hand, 2);
        assert_true(token_is_zero(&s->w.hand[0].batch));
        assert_true(token_is_zero(&s->w.hand[1].batch));
        scene_close(s);
    }
}

static void it_is_the_processes_that_take_up_room(void **state)
{
    struct scene *s = scene_of(20, 3);

    (void)state;
    expect_processes(&s->w, 0, (size_t[]){ 3, 3, 3, 3 }, CPUS);
    for (int i = 0; i < 2; i++) /* a process in the middle of its work makes no room */
        report(&s->w,
               (struct report){ .token = s->w.hand[i].token, .event = EV_FAIL, .exit_code = 1 });
    assert_int_equal(s->w.n_hand, 3 * CPUS);
    report(&s->w, (struct report){ .token = s->w.hand[2].token, .event = EV_FAIL, .exit_code = 1 });
    assert_int_equal(s->w.n_hand, 3 * CPUS + 3);
    assert_true(is_same_process(&s->w, 12, 14));
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.failed, 3);
    scene_close(s);
}

/* The first process ends after so many milliseconds for each of its jobs. */
static void how_long_a_process_takes_decides_how_much_is_sent_ahead(void **state)
{
    static const struct {
        int64_t batch, each_ms;
        size_t least, most; /* jobs sent ahead */
    } cases[] = {
        { 2, 100, 20, 40 },  /* processes of 200 ms */
        { 10, 30, 70, 100 }, /* of 300 ms: their jobs alone would be ten times as many */
        { 10, 100, 0, 0 },   /* of a second */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene *s = scene_of(1000, cases[i].batch);
        size_t n = (size_t)cases[i].batch;

        assert_int_equal(s->w.n_hand, CPUS * n);
        for (size_t k = 0; k < n; k++)
            report(&s->w, (struct report){ .token = s->w.hand[k].token,
                                           .event = EV_DONE,
                                           .started_at = 1000,
                                           .ended_at = 1000 + cases[i].each_ms });
        assert_in_range(s->w.n_hand - (CPUS + 1) * n, cases[i].least, cases[i].most);
        scene_close(s);
    }
}

static void what_waits_counts_as_processes_when_room_is_shared(void **state)
{
    struct scene *s = scene_open();
    struct submit one_process = submit_of("p", 1);
    size_t n_of_it = 0;

    (void)state;
    one_process.begin.work.batch = 4;
    s->sweep = submit_all(s->client, one_process, 1, 4).sweep;
    submit_all(s->client, submit_of("p", 1), 11, 20);
    join(s->f, &s->w, "n1", CPUS);
    for (size_t i = 0; i < s->w.n_hand; i++)
        n_of_it += s->w.hand[i].sweep == s->sweep;
    assert_int_equal(n_of_it, 4);
    assert_int_equal(s->w.n_hand - n_of_it, CPUS - 1);
    scene_close(s);
}

static void a_hand_is_never_larger_than_a_message_may_be(void **state)
{
    struct scene *s = scene_of(1000, 300);

    (void)state;
    assert_int_equal(s->w.n_hand, 1000);
    assert_int_equal(s->w.n_hands, 4);
    expect_processes(&s->w, 0, (size_t[]){ 300, 300, 300, 100 }, 4);
    scene_close(s);
}

/* 40 of 150 kB: more than a hand carries, so that the hand ends within a process. */
static void large_configurations_make_smaller_groups(void **state)
{
    enum { CONFIGS = 40, TEXT_BYTES = 150 * 1000, BATCH = 20 };
    struct scene *s = scene_open();
    struct submit big = submit_of("big", 1);
    char *text = mem_alloc(TEXT_BYTES);

    (void)state;
    memset(text, 'x', TEXT_BYTES);
    big.begin.work.batch = BATCH;
    submit_begin(s->client, &big);
    for (int64_t i = 0; i < CONFIGS; i++) {
        struct buf configs = { 0 };

        mp_add_list(&configs, 1);
        mp_add_map(&configs, 2);
        mp_add_str(&configs, "i", 1);
        mp_add_int(&configs, i);
        mp_add_str(&configs, "text", 4);
        mp_add_str(&configs, text, TEXT_BYTES);
        submit_bytes(s->client, &big, buf_bytes(&configs), 1);
        buf_free(&configs);
    }
    submit_end(s->client, &big);
    join(s->f, &s->w, "n1", CPUS);
    for (int i = 0; i < 1000 && s->w.n_hand < CONFIGS; i++)
        listen_to(&s->w);
    assert_int_equal(s->w.n_hand, CONFIGS);
    expect_processes(&s->w, 0, (size_t[]){ 20, 8, 12 }, 3);
    free(text);
    scene_close(s);
}

/* Every time its process ends before it is reached: that is no loss, and no first run. */
static void what_a_process_did_not_get_to_runs_again(void **state)
{
    struct scene *s = scene_of(2, 2);

    (void)state;
    for (size_t i = 0; i < 2 * JOB_LOSSES_MAX; i++) {
        size_t at = i == 0 ? 1 : i + 1;

        assert_int_equal(s->w.n_hand, at + 1);
        assert_int_equal(s->w.hand[at].job, 2);
        assert_int_equal(s->w.hand[at].restart, 0);
        tell(&s->w, &s->w.hand[at], EV_RUN);
        if (i == 0)
            tell(&s->w, &s->w.hand[0], EV_FAIL);
        assert_int_equal(tell(&s->w, &s->w.hand[at], EV_RECALL), VERDICT_TAKEN);
        assert_int_equal(job_of(s->client, s->sweep, 2).state, JOB_QUEUED);
    }
    tell(&s->w, &s->w.hand[s->w.n_hand - 1], EV_DONE);
    assert_int_equal(job_of(s->client, s->sweep, 2).state, JOB_DONE);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_FAILED);
    scene_close(s);
}

static void what_was_not_reached_has_spent_nothing(void **state)
{
    struct scene *s = scene_of(2, 2);
    struct msg_get_usage ask = { .before = s->sweep + 1, .limit = 1 };
    struct msg_usage_page page;

    (void)state;
    tell(&s->w, &s->w.hand[0], EV_RUN);
    tell(&s->w, &s->w.hand[1], EV_RUN);
    tell(&s->w, &s->w.hand[0], EV_DONE);
    tell(&s->w, &s->w.hand[1], EV_RECALL);
    peer_ask(s->client, MSG_GET_USAGE, &ask, &page);
    assert_int_equal(((const struct usage_info *)page.rows.items)->attempts, 1);
    scene_close(s);
}

static void surplus_is_taken_back_by_processes_that_have_not_started(void **state)
{
    struct scene *s = scene_of(12, 3);
    struct err e = { 0 };

    (void)state;
    expect_processes(&s->w, 0, (size_t[]){ 3, 3, 3, 3 }, CPUS);
    tell(&s->w, &s->w.hand[9], EV_RUN); /* of the last process */
    assert_int_equal(
        recall_some(&s->f->sv, s->w.peer->conn->worker, s->sweep, (struct grown){ 0 }, 2, &e), 0);
    listen_to(&s->w);
    assert_int_equal(s->w.n_recalled, 6);
    for (size_t i = 0; i < 6; i++)
        assert_true(token_equal(&s->w.recalled[i], &s->w.hand[3 + i].token));
    /* They are on their way: once is enough. */
    assert_int_equal(
        recall_some(&s->f->sv, s->w.peer->conn->worker, s->sweep, (struct grown){ 0 }, 2, &e), 0);
    listen_to(&s->w);
    assert_int_equal(s->w.n_recalled, 9);
    scene_close(s);
}

static void pausing_a_job_takes_its_whole_process_back(void **state)
{
    struct scene *s = scene_of(6, 3);
    struct target target = { s->sweep, 2, 2 };
    struct msg_pause body = { .targets = { &target, 1 } };

    (void)state;
    peer_ask(s->client, MSG_PAUSE, &body, NULL);
    listen_to(&s->w);
    assert_int_equal(s->w.n_recalled, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(token_equal(&s->w.recalled[i], &s->w.hand[i].token));
    for (size_t i = 0; i < 3; i++)
        report(&s->w, (struct report){ .token = s->w.hand[i].token, .event = EV_RECALL });
    assert_int_equal(s->w.n_hand, 8);
    assert_int_equal(s->w.hand[6].job, 1);
    assert_int_equal(s->w.hand[7].job, 3);
    scene_close(s);
}

static void what_was_given_back_goes_out_in_smaller_groups(void **state)
{
    struct scene *s = scene_of(8, 8);

    (void)state;
    expect_processes(&s->w, 0, (size_t[]){ 8 }, 1);
    for (size_t i = 1; i < 8; i++)
        tell(&s->w, &s->w.hand[i], EV_RUN);
    tell(&s->w, &s->w.hand[0], EV_FAIL);
    leave(s); /* so that all the others are back when they are given out again */
    let_leases_end(s);
    join(s->f, &s->w, NULL, 0);
    expect_processes(&s->w, 8, (size_t[]){ 4, 3 }, 2);
    scene_close(s);
}

/* Its worker is lost so often that jobs that had begun each time would have failed. */
static void of_a_lost_process_only_the_job_it_was_at_pays(void **state)
{
    struct scene *s = scene_of(64, 64);

    (void)state;
    for (int i = 0; i <= JOB_LOSSES_MAX; i++) {
        for (size_t k = 0; k < s->w.n_hand; k++)
            assert_false(token_is_zero(&s->w.hand[k].batch));
        tell(&s->w, &s->w.hand[0], EV_RUN);
        leave(s);
        let_leases_end(s);
        s->w.n_hand = 0;
        join(s->f, &s->w, NULL, 0);
    }
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_FAILED);
    assert_int_equal(job_of(s->client, s->sweep, 2).state, JOB_QUEUED);
    assert_int_equal(sweep_of(s->client, s->sweep).jobs.failed, 1);
    scene_close(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_grouped_in_their_order_and_the_last_group_may_be_smaller),
        cmocka_unit_test(a_single_job_left_over_has_a_process_like_the_others),
        cmocka_unit_test(without_batch_every_job_has_its_own_process),
        cmocka_unit_test(it_is_the_processes_that_take_up_room),
        cmocka_unit_test(how_long_a_process_takes_decides_how_much_is_sent_ahead),
        cmocka_unit_test(what_waits_counts_as_processes_when_room_is_shared),
        cmocka_unit_test(a_hand_is_never_larger_than_a_message_may_be),
        cmocka_unit_test(large_configurations_make_smaller_groups),
        cmocka_unit_test(what_a_process_did_not_get_to_runs_again),
        cmocka_unit_test(what_was_not_reached_has_spent_nothing),
        cmocka_unit_test(surplus_is_taken_back_by_processes_that_have_not_started),
        cmocka_unit_test(pausing_a_job_takes_its_whole_process_back),
        cmocka_unit_test(what_was_given_back_goes_out_in_smaller_groups),
        cmocka_unit_test(of_a_lost_process_only_the_job_it_was_at_pays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
