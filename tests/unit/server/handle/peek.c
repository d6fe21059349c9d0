/* SPDX-License-Identifier: MIT */
/* peek.c - tests of questions about running jobs' files: who may ask, and who must answer */

#include "tests/unit/server_player.h"

/* A job runs on a worker that knows the question; or on one that does not. */
static int set_up_with(void **state, bool reads_saved)
{
    struct scene *s = scene_open();

    s->sweep = submit_all(s->client, submit_of("p", 1), 1, 1).sweep;
    s->w.reg.reads_saved = reads_saved;
    join(s->f, &s->w, "n1", 4);
    *state = s;
    return 0;
}

static int set_up_new(void **state)
{
    return set_up_with(state, true);
}

static int set_up_old(void **state)
{
    return set_up_with(state, false);
}

static struct msg_get_saved question(const struct scene *s, const char *path)
{
    return (struct msg_get_saved){ s->sweep, 1, { .path = path, .offset = 3, .max_bytes = 100 } };
}

static void ask(struct scene *s, const char *path)
{
    struct msg_get_saved request = question(s, path);

    peer_send(s->client, MSG_GET_SAVED, &request);
    fixture_settle(s->f);
}

static struct msg_read_saved order_to(struct scene *s)
{
    struct msg_read_saved order;

    peer_expect(s->w.peer, MSG_READ_SAVED, &order);
    return order;
}

static void answer(struct peer *worker, int64_t number, const char *content)
{
    struct msg_saved_read m = { number,
                                { .type = PEEK_FILE,
                                  .size_bytes = 10,
                                  .content = { (const uint8_t *)content, strlen(content) } } };

    peer_send(worker, MSG_SAVED_READ, &m);
    fixture_settle(worker->f);
}

static void no_answer_yet(struct peer *p)
{
    struct envelope m;

    fixture_settle(p->f);
    assert_int_equal(peer_look(p, &m), 2);
}

static const char *error_of(struct peer *p, enum err_kind kind)
{
    struct msg_error error;

    peer_expect(p, MSG_ERROR, &error);
    assert_int_equal(error.kind, (int)kind);
    return error.text;
}

static void the_worker_is_asked_and_its_answer_handed_on(void **state)
{
    struct scene *s = *state;
    struct msg_read_saved order;
    struct msg_saved saved;

    tell(&s->w, &s->w.hand[0], EV_RUN);
    ask(s, "a/b");
    order = order_to(s);
    assert_true(token_equal(&order.token, &s->w.hand[0].token));
    assert_string_equal(order.at.path, "a/b");
    assert_int_equal(order.at.offset, 3);
    assert_int_equal(order.at.max_bytes, 100);
    no_answer_yet(s->client);
    answer(s->w.peer, order.number, "hello");
    peer_expect(s->client, MSG_SAVED, &saved);
    assert_string_equal(saved.node, "n1");
    assert_int_equal(saved.attempt, 1);
    assert_int_equal(saved.found.size_bytes, 10);
    assert_int_equal(saved.found.content.n, 5);
    assert_memory_equal(saved.found.content.data, "hello", 5);
    /* The same answer once more is dropped, and the next question is another one. */
    answer(s->w.peer, order.number, "again");
    ask(s, NULL);
    assert_int_not_equal(order_to(s).number, order.number);
}

static void what_is_wrong_with_the_path_is_an_error(void **state)
{
    struct scene *s = *state;
    struct msg_saved_read m = { .found = { .error_kind = ERR_DENIED, .error = "a is a symlink" } };

    tell(&s->w, &s->w.hand[0], EV_RUN);
    ask(s, "a");
    m.number = order_to(s).number;
    peer_send(s->w.peer, MSG_SAVED_READ, &m);
    assert_string_equal(error_of(s->client, ERR_DENIED), "job 1.1: a is a symlink");
}

static void others_may_not_ask_and_nobody_else_may_answer(void **state)
{
    struct scene *s = *state;
    struct peer *other = peer_connect_as(s->f, 12345);
    struct msg_get_saved request = question(s, "a");
    struct player second = { .uid = 0 };
    struct msg_read_saved order;
    struct msg_saved saved;

    peer_hello(other, "ludwig");
    tell(&s->w, &s->w.hand[0], EV_RUN);
    assert_non_null(strstr(peer_refused(other, MSG_GET_SAVED, &request, ERR_DENIED),
                           "you may see only how far it is"));
    peer_refused(s->client, MSG_SAVED_READ, &(struct msg_saved_read){ .number = 1 }, ERR_PROTOCOL);
    peer_close(s->client);
    s->client = client_connect(s->f);
    join(s->f, &second, "n2", 1);
    ask(s, "a");
    order = order_to(s);
    answer(second.peer, order.number, "forged");
    no_answer_yet(s->client);
    answer(s->w.peer, order.number, "true");
    peer_expect(s->client, MSG_SAVED, &saved);
    assert_memory_equal(saved.found.content.data, "true", 4);
    peer_close(second.peer);
    peer_close(other);
}

static void a_job_that_does_not_run_has_nothing(void **state)
{
    struct scene *s = *state;
    struct msg_get_saved request = question(s, NULL);

    assert_string_equal(peer_refused(s->client, MSG_GET_SAVED, &request, ERR_NOT_FOUND),
                        "job 1.1 is queued: it has written nothing yet");
    tell(&s->w, &s->w.hand[0], EV_RUN);
    tell(&s->w, &s->w.hand[0], EV_DONE);
    assert_string_equal(peer_refused(s->client, MSG_GET_SAVED, &request, ERR_NOT_FOUND),
                        "job 1.1 has ended meanwhile, and is done: ask again");
    request.job = 2;
    assert_string_equal(peer_refused(s->client, MSG_GET_SAVED, &request, ERR_NOT_FOUND),
                        "there is no job 1.2");
    request.sweep = 9;
    assert_string_equal(peer_refused(s->client, MSG_GET_SAVED, &request, ERR_NOT_FOUND),
                        "there is no sweep 9");
}

static void a_worker_that_goes_answers_by_going(void **state)
{
    struct scene *s = *state;
    struct msg_get_saved request = question(s, NULL);

    tell(&s->w, &s->w.hand[0], EV_RUN);
    ask(s, NULL);
    order_to(s);
    leave(s);
    assert_non_null(strstr(error_of(s->client, ERR_FAILED), "lost its connection"));
    assert_non_null(strstr(peer_refused(s->client, MSG_GET_SAVED, &request, ERR_FAILED),
                           "n1, where job 1.1 runs, is not connected now"));
}

static void an_asker_that_goes_is_forgotten(void **state)
{
    struct scene *s = *state;
    struct msg_read_saved order;

    tell(&s->w, &s->w.hand[0], EV_RUN);
    ask(s, "a");
    order = order_to(s);
    peer_close(s->client);
    s->client = client_connect(s->f);
    answer(s->w.peer, order.number, "late");
    no_answer_yet(s->client);
}

static void an_old_worker_is_not_asked(void **state)
{
    struct scene *s = *state;
    struct msg_get_saved request = question(s, NULL);

    tell(&s->w, &s->w.hand[0], EV_RUN);
    assert_non_null(strstr(peer_refused(s->client, MSG_GET_SAVED, &request, ERR_FAILED),
                           "the worker on n1 is of an older version"));
    no_answer_yet(s->w.peer);
}

static void a_sweeps_work_is_told(void **state)
{
    struct scene *s = *state;
    struct msg_get_work request = { s->sweep };
    struct msg_got_work got;

    peer_ask(s->client, MSG_GET_WORK, &request, &got);
    assert_int_equal(got.work.sweep, s->sweep);
    assert_string_equal(got.work.project, "p");
    assert_string_equal(got.work.work.command, "true");
    request.sweep = 9;
    peer_refused(s->client, MSG_GET_WORK, &request, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_worker_is_asked_and_its_answer_handed_on, set_up_new,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_with_the_path_is_an_error, set_up_new,
                                        tear_down),
        cmocka_unit_test_setup_teardown(others_may_not_ask_and_nobody_else_may_answer, set_up_new,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_does_not_run_has_nothing, set_up_new, tear_down),
        cmocka_unit_test_setup_teardown(a_worker_that_goes_answers_by_going, set_up_new, tear_down),
        cmocka_unit_test_setup_teardown(an_asker_that_goes_is_forgotten, set_up_new, tear_down),
        cmocka_unit_test_setup_teardown(an_old_worker_is_not_asked, set_up_old, tear_down),
        cmocka_unit_test_setup_teardown(a_sweeps_work_is_told, set_up_new, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
