/* SPDX-License-Identifier: MIT */
/* outbox.c - tests of worker/agent/outbox.c and the table of attempts */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker/agent/outbox.h"
#include "worker/agent/server_link.h"

struct world {
    uv_loop_t loop;
    struct outbox box;
    struct attempts attempts;
    struct report batch[REPORTS_MAX]; /* the last one sent */
    size_t n;
    int64_t seq;
    int n_batches;
    int n_settled;
    int n_unwanted;
    enum verdict last_verdict;
};

static int64_t on_send(void *context, const struct msg_report *m)
{
    struct world *w = context;

    w->n = m->reports.n;
    memcpy(w->batch, m->reports.items, w->n * sizeof w->batch[0]);
    w->n_batches++;
    return ++w->seq;
}

static void on_settled(void *context, struct attempt *a, enum verdict verdict)
{
    struct world *w = context;

    w->n_settled++;
    w->last_verdict = verdict;
    attempts_remove(&w->attempts, a);
}

static void on_unwanted(void *context, struct attempt *a)
{
    struct world *w = context;

    (void)a;
    w->n_unwanted++;
}

static int setup(void **state)
{
    static const struct outbox_events events = { on_send, on_settled, on_unwanted };
    struct world *w = mem_alloc(sizeof *w);

    uv_loop_init(&w->loop);
    attempts_init(&w->attempts);
    outbox_init(&w->box, &w->loop, &events, w);
    outbox_connected(&w->box);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    outbox_close(&w->box);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    uv_loop_close(&w->loop);
    attempts_free(&w->attempts);
    free(w);
    return 0;
}

static struct attempt *add(struct world *w)
{
    struct order o = { .server_id = "s" };

    token_make(&o.assignment.token);
    return attempts_add(&w->attempts, arena_create(), &o, NULL, PHASE_NEW);
}

static void decide(struct world *w, struct attempt *a, enum attempt_event event)
{
    struct report *r = arena_alloc(a->arena, sizeof *r);

    r->event = (int)event;
    r->at = 1;
    outbox_outcome(&w->box, a, r);
}

/* As if the loop had waited: what is due then is due now. */
static void let_time_pass(struct world *w)
{
    uint64_t until = uv_now(&w->loop) + OUTBOX_HINT_DELAY_MS + 1;

    while (uv_now(&w->loop) < until)
        uv_update_time(&w->loop);
}

static void answer(struct world *w, enum verdict verdict)
{
    struct verdict_entry entries[REPORTS_MAX];
    struct msg_verdicts m = { { entries, w->n } };

    for (size_t i = 0; i < w->n; i++)
        entries[i] = (struct verdict_entry){ w->batch[i].token, w->batch[i].seq, (int)verdict };
    outbox_answered(&w->box, w->seq, &m, &w->attempts);
}

static void a_short_job_is_told_by_its_outcome_alone(void **state)
{
    struct world *w = *state;
    struct attempt *a = add(w);

    outbox_hint(&w->box, a, EV_RUN, 1);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 0);
    outbox_hint(&w->box, a, EV_END, 2);
    decide(w, a, EV_DONE);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 1);
    assert_int_equal(w->n, 1);
    assert_int_equal(w->batch[0].event, EV_DONE);
    answer(w, VERDICT_TAKEN);
    assert_int_equal(w->n_settled, 1);
    let_time_pass(w);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 1);
}

static void each_report_names_the_gpus(void **state)
{
    struct world *w = *state;
    struct attempt *a = add(w);

    a->gpu_ids = "0,2";
    outbox_hint(&w->box, a, EV_RUN, 1);
    let_time_pass(w);
    outbox_pump(&w->box);
    assert_string_equal(w->batch[0].gpu_ids, "0,2");
    answer(w, VERDICT_TAKEN);
    decide(w, a, EV_DONE);
    outbox_pump(&w->box);
    assert_string_equal(w->batch[0].gpu_ids, "0,2");
}

static void why_it_is_not_published_yet_is_told_once(void **state)
{
    struct world *w = *state;
    struct attempt *a = add(w);

    outbox_hint(&w->box, a, EV_END, 1);
    let_time_pass(w);
    outbox_pump(&w->box);
    assert_null(w->batch[0].reason);
    answer(w, VERDICT_TAKEN);
    for (int i = 0; i < 2; i++)
        outbox_delayed(&w->box, a, "the share is full");
    let_time_pass(w);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 2);
    assert_int_equal(w->batch[0].event, EV_END);
    assert_string_equal(w->batch[0].reason, "the share is full");
    answer(w, VERDICT_KNOWN);
    outbox_delayed(&w->box, a, "the share is full");
    let_time_pass(w);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 2);
    decide(w, a, EV_DONE);
    outbox_pump(&w->box);
    assert_null(w->batch[0].reason);
}

static void a_long_job_is_told_when_it_starts_and_when_it_ends(void **state)
{
    struct world *w = *state;
    struct attempt *a = add(w);
    int64_t first_seq;

    outbox_hint(&w->box, a, EV_STAGE, 1);
    outbox_hint(&w->box, a, EV_RUN, 2);
    let_time_pass(w);
    outbox_pump(&w->box);
    assert_int_equal(w->n, 1);
    assert_int_equal(w->batch[0].event, EV_RUN);
    first_seq = w->batch[0].seq;
    answer(w, VERDICT_TAKEN);
    decide(w, a, EV_FAIL);
    outbox_pump(&w->box);
    assert_int_equal(w->batch[0].event, EV_FAIL);
    assert_true(w->batch[0].seq > first_seq);
}

static void one_batch_is_on_its_way_at_a_time(void **state)
{
    struct world *w = *state;
    struct attempt *a = add(w), *b = add(w);

    decide(w, a, EV_DONE);
    outbox_pump(&w->box);
    decide(w, b, EV_DONE);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 1);
    answer(w, VERDICT_TAKEN);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 2);
    answer(w, VERDICT_KNOWN);
    assert_int_equal(w->n_settled, 2);
    assert_int_equal(w->attempts.n, 0);
}

static void a_batch_has_a_largest_size(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < REPORTS_MAX + 3; i++)
        decide(w, add(w), EV_DONE);
    outbox_pump(&w->box);
    assert_int_equal(w->n, REPORTS_MAX);
    answer(w, VERDICT_TAKEN);
    outbox_pump(&w->box);
    assert_int_equal(w->n, 3);
}

static void what_happens_while_a_report_travels_is_told_next(void **state)
{
    struct world *w = *state;
    struct attempt *a = add(w);

    outbox_hint(&w->box, a, EV_RUN, 1);
    let_time_pass(w);
    outbox_pump(&w->box);
    decide(w, a, EV_DONE);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 1);
    answer(w, VERDICT_TAKEN);
    assert_int_equal(w->n_settled, 0);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 2);
    assert_int_equal(w->batch[0].event, EV_DONE);
    answer(w, VERDICT_TAKEN);
    assert_int_equal(w->n_settled, 1);
}

static void an_outcome_survives_a_lost_connection(void **state)
{
    struct world *w = *state;
    struct attempt *a = add(w);

    decide(w, a, EV_DONE);
    outbox_pump(&w->box);
    outbox_disconnected(&w->box);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 1);
    answer(w, VERDICT_TAKEN);
    assert_int_equal(w->n_settled, 0);
    outbox_connected(&w->box);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 2);
    answer(w, VERDICT_TAKEN);
    assert_int_equal(w->n_settled, 1);
}

static void a_refused_batch_is_sent_again_later(void **state)
{
    struct world *w = *state;

    decide(w, add(w), EV_DONE);
    outbox_pump(&w->box);
    outbox_refused(&w->box, w->seq);
    outbox_pump(&w->box);
    assert_int_equal(w->n_batches, 1);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(w->n_batches, 2);
    answer(w, VERDICT_TAKEN);
    assert_int_equal(w->n_settled, 1);
}

static void what_the_answer_leaves_out_is_sent_again(void **state)
{
    struct world *w = *state;
    struct msg_verdicts none = { { NULL, 0 } };

    decide(w, add(w), EV_DONE);
    outbox_pump(&w->box);
    outbox_answered(&w->box, w->seq, &none, &w->attempts);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(w->n_batches, 2);
    assert_int_equal(w->n, 1);
}

static void ludwigd_can_stop_a_running_one_by_its_answer(void **state)
{
    static const struct {
        enum verdict verdict;
        int unwanted;
    } cases[] = { { VERDICT_TAKEN, 0 },
                  { VERDICT_KNOWN, 0 },
                  { VERDICT_SUPERSEDED, 1 },
                  { VERDICT_WITHDRAW, 1 } };
    struct world *w = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        w->n_unwanted = 0;
        outbox_hint(&w->box, add(w), EV_RUN, 1);
        let_time_pass(w);
        outbox_pump(&w->box);
        answer(w, cases[i].verdict);
        assert_int_equal(w->n_unwanted, cases[i].unwanted);
    }
}

static void a_reason_too_long_for_the_wire_is_cut_between_characters(void **state)
{
    static const struct {
        const char *letter;
        size_t n_letters, n_bytes;
    } cases[] = { { "x", 3, 3 },
                  { "x", REASON_MAX_BYTES, REASON_MAX_BYTES },
                  { "x", REASON_MAX_BYTES + 1, REASON_MAX_BYTES },
                  { "\xe2\x82\xac", 400, REASON_MAX_BYTES - 1 },
                  { "\xc3\xa9", 600, REASON_MAX_BYTES } };
    struct world *w = *state;
    struct attempt *a = add(w);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf text = { 0 };

        for (size_t k = 0; k < cases[i].n_letters; k++)
            buf_add_str(&text, cases[i].letter);
        assert_int_equal(strlen(outbox_report(a, EV_LOSE, buf_text(&text))->reason),
                         cases[i].n_bytes);
        buf_free(&text);
    }
    assert_null(outbox_report(a, EV_LOSE, NULL)->reason);
}

static void the_table_finds_each_attempt_by_its_token(void **state)
{
    enum { MANY = 2000 };
    struct world *w = *state;
    struct attempt **all = mem_alloc(MANY * sizeof(struct attempt *));
    struct order again;

    for (int i = 0; i < MANY; i++)
        all[i] = add(w);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(attempts_find(&w->attempts, &all[i]->token), all[i]);
    again = all[7]->order;
    assert_null(attempts_add(&w->attempts, arena_create(), &again, NULL, PHASE_NEW));
    for (int i = 0; i < MANY; i += 2) {
        struct token t = all[i]->token;

        attempts_remove(&w->attempts, all[i]);
        assert_null(attempts_find(&w->attempts, &t));
    }
    assert_int_equal(w->attempts.n, MANY / 2);
    assert_ptr_equal(attempts_find(&w->attempts, &all[1]->token), all[1]);
    free(all);
}

static void the_back_off_doubles_up_to_its_limit(void **state)
{
    static const struct {
        unsigned failures;
        bool is_quick;
        double random;
        uint64_t ms;
    } cases[] = {
        { 0, false, 1, 100 },  { 0, false, 0, 50 },       { 1, false, 1, 200 },
        { 5, false, 1, 3200 }, { 30, false, 1, 30000 },   { 1000, false, 0, 15000 },
        { 30, true, 1, 2000 }, { 100000, true, 0, 1000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(
            server_link_delay_ms(cases[i].failures, cases[i].is_quick, cases[i].random),
            cases[i].ms);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* As large as reports can be: many measures with long names, and the longest reason. */
static void large_reports_go_in_several_messages(void **state)
{
    enum { MANY = 40 };
    struct world *w = *state;
    char name[256] = "", reason[REASON_MAX_BYTES + 1] = "";
    size_t n_sent = 0;

    memset(name, 'm', sizeof name - 1);
    memset(reason, 'r', sizeof reason - 1);
    for (int i = 0; i < MANY; i++) {
        struct attempt *a = add(w);
        struct metric *metrics = arena_alloc(a->arena, METRICS_MAX * sizeof *metrics);
        struct report *r = outbox_report(a, EV_FAIL, reason);

        for (int k = 0; k < METRICS_MAX; k++)
            metrics[k] = (struct metric){ .name = arena_strdup(a->arena, name), .value = 1e-300 };
        r->metrics = (struct list){ metrics, METRICS_MAX };
        outbox_outcome(&w->box, a, r);
    }
    while (n_sent < MANY) {
        struct msg_report m = { .reports = { w->batch, 0 } };
        struct buf out = { 0 };

        outbox_pump(&w->box);
        m.reports.n = w->n;
        n_sent += w->n;
        schema_encode(proto.messages[MSG_REPORT].schema, &m, &out);
        assert_true(out.n < SMALL_FRAME_MAX_BYTES - 1024);
        buf_free(&out);
        answer(w, VERDICT_TAKEN);
    }
    assert_true(w->n_batches > 1);
    assert_int_equal(w->n_settled, MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_short_job_is_told_by_its_outcome_alone),
        TEST(a_long_job_is_told_when_it_starts_and_when_it_ends),
        TEST(each_report_names_the_gpus),
        TEST(why_it_is_not_published_yet_is_told_once),
        TEST(one_batch_is_on_its_way_at_a_time),
        TEST(a_batch_has_a_largest_size),
        TEST(large_reports_go_in_several_messages),
        TEST(what_happens_while_a_report_travels_is_told_next),
        TEST(an_outcome_survives_a_lost_connection),
        TEST(a_refused_batch_is_sent_again_later),
        TEST(what_the_answer_leaves_out_is_sent_again),
        TEST(ludwigd_can_stop_a_running_one_by_its_answer),
        TEST(a_reason_too_long_for_the_wire_is_cut_between_characters),
        TEST(the_table_finds_each_attempt_by_its_token),
        cmocka_unit_test(the_back_off_doubles_up_to_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
