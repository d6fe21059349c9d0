/* SPDX-License-Identifier: MIT */
/* nodes.c - tests of what is told of machines, and of users whom they refuse */

#include "tests/unit/server_player.h"

#include <math.h>

/* ---- how busy they are ---- */

static struct node_info node_of(struct scene *s, int64_t *asked)
{
    struct msg_get_nodes get = { .limit = 1 };
    struct msg_node_page page;

    peer_ask(s->client, MSG_GET_NODES, &get, &page);
    assert_int_equal(page.nodes.n, 1);
    *asked = page.asked;
    return *(const struct node_info *)page.nodes.items;
}

static void say_load(struct scene *s, int64_t load_milli)
{
    struct msg_load load = { .load_milli = load_milli };

    peer_send(s->w.peer, MSG_LOAD, &load);
    fixture_settle(s->f);
}

static void test_a_node_is_asked_how_busy_it_is_when_somebody_looks(void **state)
{
    struct scene *s = *state;
    struct msg_ask_load order;
    int64_t asked;

    assert_true(isnan(node_of(s, &asked).load));
    assert_int_equal(asked, 1);
    peer_expect(s->w.peer, MSG_ASK_LOAD, &order);
    assert_true(order.now);
    node_of(s, &asked);
    assert_int_equal(asked, 1); /* it has not answered yet, and is not asked again */
    say_load(s, 1500);
    assert_true(fabs(node_of(s, &asked).load - 1.5) < 1e-9);
    assert_int_equal(asked, 0);
    listen_to(&s->w); /* nothing more came */
}

static void test_one_that_does_not_know_is_not_waited_for(void **state)
{
    struct scene *s = *state;
    int64_t asked;

    node_of(s, &asked);
    say_load(s, SCHEMA_NONE);
    assert_true(isnan(node_of(s, &asked).load));
    assert_int_equal(asked, 0);
}

/* Their driver may take its time: the load is told before, and the use of earlier stays meanwhile. */
static void test_what_gpus_do_may_follow_the_load(void **state)
{
    struct scene *s = *state;
    struct gpu_use use[] = { { 87, 1 << 30, INT64_C(48) << 30 }, { SCHEMA_NONE, SCHEMA_NONE, 7 } };
    struct msg_load load = { .load_milli = 1500, .asks_gpus = true };
    struct node_info node;
    int64_t asked;

    node_of(s, &asked);
    peer_send(s->w.peer, MSG_LOAD, &load);
    fixture_settle(s->f);
    node = node_of(s, &asked);
    assert_true(fabs(node.load - 1.5) < 1e-9);
    assert_int_equal(node.gpu_use.n, 0);
    assert_int_equal(asked, 1);
    load = (struct msg_load){ .load_milli = 1500, .gpu_use = { use, 2 } };
    peer_send(s->w.peer, MSG_LOAD, &load);
    fixture_settle(s->f);
    for (int i = 0; i < 2; i++) {
        node = node_of(s, &asked);
        assert_int_equal(asked, i); /* the second time it asks its GPUs again */
        assert_int_equal(node.gpu_use.n, 2);
        assert_int_equal(((const struct gpu_use *)node.gpu_use.items)[0].percent, 87);
        assert_int_equal(((const struct gpu_use *)node.gpu_use.items)[1].percent, SCHEMA_NONE);
        assert_int_equal(((const struct gpu_use *)node.gpu_use.items)[1].memory_bytes, 7);
        load = (struct msg_load){ .load_milli = 1500, .asks_gpus = true };
        peer_send(s->w.peer, MSG_LOAD, &load);
        fixture_settle(s->f);
    }
}

static void test_only_a_registered_worker_says_how_busy_it_is(void **state)
{
    struct scene *s = *state;
    struct msg_load load = { .load_milli = 1500 };

    peer_refused(s->client, MSG_LOAD, &load, ERR_PROTOCOL);
}

/* ---- what runs there ---- */

static void test_a_node_lists_the_jobs_that_run_there_and_whose_they_are(void **state)
{
    struct scene *s = *state;
    struct node_info node;
    int64_t asked;

    assert_int_equal(node_of(s, &asked).jobs.n, 0); /* assigned is not running */
    tell(&s->w, s->w.hand, EV_RUN);
    node = node_of(s, &asked);
    assert_int_equal(node.running, 1);
    assert_int_equal(node.jobs.n, 1);
    assert_string_equal(((const char *const *)node.jobs.items)[0], "1.1");
    assert_int_equal(node.users.n, 1);
    assert_string_equal(((const char *const *)node.users.items)[0],
                        sweep_of(s->client, s->sweep).user);
    tell(&s->w, s->w.hand, EV_DONE);
    assert_int_equal(node_of(s, &asked).jobs.n, 0);
}

static void test_gpus_are_listed_with_their_models_and_how_many_are_free(void **state)
{
    const char *models[] = { "NVIDIA A40", "NVIDIA A40" };
    struct scene *s = *state;
    struct submit submit = submit_of("gpus", 1);
    struct node_info node;
    int64_t asked;

    tell(&s->w, s->w.hand, EV_DONE);
    leave(s);
    s->w.n_hand = 0;
    s->w.reg.gpus = 2;
    s->w.reg.gpu_models = (struct list){ models, 2 };
    join(s->f, &s->w, "n1", 4);
    node = node_of(s, &asked);
    assert_int_equal(node.gpus, 2);
    assert_true(fabs(node.gpus_free - 2) < 1e-9);
    assert_int_equal(node.gpu_models.n, 2);
    assert_string_equal(((const char *const *)node.gpu_models.items)[1], "NVIDIA A40");
    submit.begin.work.resources.gpus_milli = 500;
    submit_all(s->client, submit, 1, 1);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 1);
    assert_true(fabs(node_of(s, &asked).gpus_free - 1.5) < 1e-9);
}

/* ---- who sees them ---- */

static size_t seen_by(struct peer *p)
{
    struct msg_get_nodes get = { .limit = 100 };
    struct msg_node_page page;

    peer_ask(p, MSG_GET_NODES, &get, &page);
    return page.nodes.n;
}

static void test_a_worker_for_jobs_of_ones_own_is_shown_to_nobody_else(void **state)
{
    const char *service[] = { sweep_of(((struct scene *)*state)->client, 1).user };
    struct scene *s = *state;
    struct peer *stranger = stranger_connect(s->f, 1);
    int64_t asked;

    node_of(s, &asked);
    assert_int_equal(seen_by(stranger), 0);
    stranger->conn->is_admin = true;
    assert_int_equal(seen_by(stranger), 1);
    stranger->conn->is_admin = false;
    s->f->sv.conf.worker_users = (struct list){ service, 1 };
    assert_int_equal(seen_by(stranger), 1);
    s->f->sv.conf.worker_users = (struct list){ 0 };
    peer_close(stranger);
}

/* ---- whom they refuse ---- */

static const char *why_of(struct scene *s, int64_t sweep)
{
    struct msg_ask_why ask = { sweep, 1 };
    struct buf text = { 0 };
    const char *copy;
    struct msg_why why;

    peer_ask(s->client, MSG_ASK_WHY, &ask, &why);
    for (size_t i = 0; i < why.lines.n; i++)
        buf_printf(&text, "%s\n", ((const char *const *)why.lines.items)[i]);
    copy = arena_strdup(s->f->arena, buf_text(&text));
    buf_free(&text);
    return copy;
}

static void test_a_worker_is_given_no_jobs_of_those_it_refuses(void **state)
{
    struct scene *s = *state;
    struct refusal refusal = { sweep_of(s->client, s->sweep).user, "there is no such user here" };
    struct submit submit = submit_of("p", 1);
    struct msg_submitted submitted;

    tell(&s->w, s->w.hand, EV_DONE);
    leave(s);
    s->w.n_hand = 0;
    s->w.reg.refused = (struct list){ &refusal, 1 };
    join(s->f, &s->w, "n1", 4);
    submit.begin.reuse = REUSE_NONE;
    submitted = submit_all(s->client, submit, 1, 1);
    assert_non_null(strstr(submitted.note, "n1: there is no such user here"));
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 0);
    assert_non_null(strstr(why_of(s, submitted.sweep), "n1: there is no such user here"));
    assert_int_equal(job_of(s->client, submitted.sweep, 1).state, JOB_QUEUED);
    /* It says so on the same connection once that is over. */
    s->w.reg.refused = (struct list){ NULL, 0 };
    peer_send(s->w.peer, MSG_REGISTER, &s->w.reg);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 1);
}

static void test_it_is_given_those_of_others(void **state)
{
    struct scene *s = *state;
    struct refusal refusal = { "somebody-else", "there is no such user here" };
    struct submit submit = submit_of("p", 1);

    tell(&s->w, s->w.hand, EV_DONE);
    leave(s);
    s->w.n_hand = 0;
    s->w.reg.refused = (struct list){ &refusal, 1 };
    join(s->f, &s->w, "n1", 4);
    submit.begin.reuse = REUSE_NONE;
    assert_null(submit_all(s->client, submit, 1, 1).note);
    listen_to(&s->w);
    assert_int_equal(s->w.n_hand, 1);
}

/* In one turn it refuses, in the next it gives back what was on its way: it gets none of it again. */
static void test_what_it_gives_back_does_not_come_again(void **state)
{
    struct scene *s = *state;
    struct refusal refusal = { sweep_of(s->client, s->sweep).user, "there is no such user here" };

    s->w.reg.refused = (struct list){ &refusal, 1 };
    peer_send(s->w.peer, MSG_REGISTER, &s->w.reg);
    listen_to(&s->w);
    tell(&s->w, s->w.hand, EV_RECALL);
    assert_int_equal(s->w.n_hand, 1);
    assert_int_equal(job_of(s->client, s->sweep, 1).state, JOB_QUEUED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_worker_for_jobs_of_ones_own_is_shown_to_nobody_else),
        TEST(test_a_node_is_asked_how_busy_it_is_when_somebody_looks),
        TEST(test_one_that_does_not_know_is_not_waited_for),
        TEST(test_what_gpus_do_may_follow_the_load),
        TEST(test_only_a_registered_worker_says_how_busy_it_is),
        TEST(test_a_node_lists_the_jobs_that_run_there_and_whose_they_are),
        TEST(test_gpus_are_listed_with_their_models_and_how_many_are_free),
        TEST(test_a_worker_is_given_no_jobs_of_those_it_refuses),
        TEST(test_it_is_given_those_of_others),
        TEST(test_what_it_gives_back_does_not_come_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
