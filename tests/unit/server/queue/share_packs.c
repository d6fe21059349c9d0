/* SPDX-License-Identifier: MIT */
/* share_packs.c - tests of the packing of what lies on the share: who does it, who waits */

#include "tests/unit/server_player.h"

/* Two clients of one user, who share a project, and what a worker was told. */
struct stage {
    struct fixture *f;
    struct peer *first, *second;
};

static int open_stage(void **state)
{
    struct stage *s = mem_alloc(sizeof *s);

    s->f = fixture_open();
    s->first = client_connect(s->f);
    s->second = client_connect(s->f);
    *state = s;
    return 0;
}

static int close_stage(void **state)
{
    struct stage *s = *state;

    peer_close(s->first);
    peer_close(s->second);
    fixture_close(s->f);
    free(s);
    return 0;
}

static struct msg_share_packed ask(struct peer *p, const char *path)
{
    struct msg_pack_share request = { .project = "p", .path = path };
    struct msg_share_packed answer;

    peer_ask(p, MSG_PACK_SHARE, &request, &answer);
    return answer;
}

/* Asks to be told when there is more to say. */
static void wait_for_news(struct peer *p, const char *path, const struct msg_share_packed *last)
{
    struct msg_pack_share request = { "p", path, last->pass, last->seen };
    struct envelope m;

    peer_send(p, MSG_PACK_SHARE, &request);
    fixture_settle(p->f);
    assert_int_equal(peer_look(p, &m), 2);
}

static struct msg_share_packed news(struct peer *p)
{
    struct msg_share_packed answer;

    peer_expect(p, MSG_SHARE_PACKED, &answer);
    return answer;
}

static struct msg_pack order(struct peer *worker)
{
    struct msg_pack pack;

    peer_expect(worker, MSG_PACK, &pack);
    return pack;
}

static struct dataset some_set(void)
{
    struct dataset set = { .files = 3, .bytes = 300 };

    digest_of("tree", 4, &set.tree);
    digest_of("id", 2, &set.id);
    return set;
}

static void say(struct peer *worker, struct msg_packed m)
{
    peer_send(worker, MSG_PACKED, &m);
    fixture_settle(worker->f);
}

static void say_done(struct peer *worker, const struct token *token)
{
    say(worker, (struct msg_packed){ .token = *token, .is_over = true, .set = some_set() });
}

static void a_worker_packs_it_and_the_asker_hears_how_far_it_is(void **state)
{
    struct stage *s = *state;
    struct peer *worker = worker_connect(s->f);
    struct msg_share_packed got = ask(s->first, "datasets/cats");
    struct msg_pack pack = order(worker);

    assert_string_equal(pack.project, "p");
    assert_string_equal(pack.path, "datasets/cats");
    assert_string_equal(pack.user, s->first->conn->user);
    got = ask(s->first, "datasets/cats");
    assert_int_equal(got.state, PACKING_RUNNING);
    assert_string_equal(got.node, "n1");
    wait_for_news(s->first, "datasets/cats", &got);
    say(worker, (struct msg_packed){ .token = pack.token, .files = 2, .bytes = 200 });
    got = news(s->first);
    assert_int_equal(got.state, PACKING_RUNNING);
    assert_int_equal(got.bytes, 200);
    wait_for_news(s->first, "datasets/cats", &got);
    say_done(worker, &pack.token);
    got = news(s->first);
    assert_int_equal(got.state, PACKING_DONE);
    assert_int_equal(got.set.bytes, 300);
    peer_close(worker);
}

static void who_names_it_meanwhile_waits_for_the_same_pass(void **state)
{
    struct stage *s = *state;
    struct peer *worker = worker_connect(s->f);
    struct msg_share_packed first = ask(s->first, "cats"), second, other;
    struct msg_pack pack = order(worker);
    struct envelope m;

    first = ask(s->first, "cats");
    second = ask(s->second, "cats");
    assert_int_equal(first.pass, second.pass);
    other = ask(s->second, "dogs");
    assert_int_not_equal(other.pass, second.pass);
    order(worker);
    wait_for_news(s->first, "cats", &first);
    wait_for_news(s->second, "cats", &second);
    say_done(worker, &pack.token);
    assert_int_equal(news(s->first).state, PACKING_DONE);
    assert_int_equal(news(s->second).state, PACKING_DONE);
    fixture_settle(s->f);
    assert_int_equal(peer_look(worker, &m), 2);                   /* it was told once */
    assert_int_not_equal(ask(s->first, "cats").pass, first.pass); /* it may have changed since */
    peer_close(worker);
}

static void without_a_worker_that_sees_the_share_it_waits(void **state)
{
    struct stage *s = *state;
    struct peer *blind = worker_connect_as(s->f, geteuid(), true), *worker;
    struct msg_share_packed got = ask(s->first, "cats");
    struct envelope m;

    fixture_settle(s->f);
    got = ask(s->first, "cats");
    assert_int_equal(got.state, PACKING_WAITING);
    assert_non_null(strstr(got.reason, "no worker that has the share mounted"));
    assert_int_equal(peer_look(blind, &m), 2);
    wait_for_news(s->first, "cats", &got);
    worker = worker_connect(s->f);
    order(worker);
    assert_int_equal(news(s->first).state, PACKING_RUNNING);
    peer_close(blind);
    peer_close(worker);
}

static void one_whose_worker_is_gone_is_given_to_another(void **state)
{
    struct stage *s = *state;
    struct peer *worker = worker_connect(s->f), *other;
    struct msg_share_packed got = ask(s->first, "cats");
    struct msg_pack pack = order(worker), again;

    got = ask(s->first, "cats");
    wait_for_news(s->first, "cats", &got);
    peer_close(worker);
    got = news(s->first);
    assert_int_equal(got.state, PACKING_WAITING);
    wait_for_news(s->first, "cats", &got);
    other = worker_connect(s->f);
    again = order(other);
    assert_true(token_equal(&pack.token, &again.token));
    got = news(s->first);
    wait_for_news(s->first, "cats", &got);
    say_done(other, &again.token);
    assert_int_equal(news(s->first).state, PACKING_DONE);
    peer_close(other);
}

static void files_may_stay_if_no_other_machine_reads_them(void **state)
{
    static const struct {
        const char *node; /* of another worker */
        bool is_without_share, only_here;
    } cases[] = { { "n1", false, true }, { "n1", true, false }, { "n2", false, false } };
    struct stage *s = *state;
    struct peer *worker = worker_connect(s->f);
    struct msg_pack pack;

    ask(s->first, "cats");
    pack = order(worker);
    assert_true(pack.only_here);
    say_done(worker, &pack.token);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct peer *other =
            worker_connect_on(s->f, cases[i].node, geteuid(), cases[i].is_without_share);
        struct envelope m;

        ask(s->first, "cats");
        fixture_settle(s->f);
        pack = order(worker);
        assert_int_equal(peer_look(other, &m), 2);
        assert_int_equal(pack.only_here, cases[i].only_here);
        say_done(worker, &pack.token);
        peer_close(other);
    }
    /* It may come back. */
    ask(s->first, "cats");
    pack = order(worker);
    assert_false(pack.only_here);
    peer_close(worker);
}

static void what_goes_wrong_is_told(void **state)
{
    struct stage *s = *state;
    struct peer *worker = worker_connect(s->f);
    struct msg_share_packed got = ask(s->first, "cats");
    struct msg_pack pack = order(worker);
    struct msg_error error;

    got = ask(s->first, "cats");
    wait_for_news(s->first, "cats", &got);
    say(worker,
        (struct msg_packed){ .token = pack.token, .is_over = true, .error = "no such folder" });
    peer_expect(s->first, MSG_ERROR, &error);
    assert_string_equal(error.text, "share: cats, on n1: no such folder");
    assert_int_equal(ask(s->first, "cats").state, PACKING_WAITING); /* another try */
    peer_close(worker);
}

static void only_its_own_worker_ends_it(void **state)
{
    struct stage *s = *state;
    struct peer *worker = worker_connect(s->f), *other = worker_connect(s->f);
    struct msg_pack pack;
    struct envelope m;

    ask(s->first, "cats");
    fixture_settle(s->f);
    if (peer_look(worker, &m) != 1) {
        struct peer *swap = worker;

        worker = other;
        other = swap;
        assert_int_equal(peer_look(worker, &m), 1);
    }
    read_body(worker, &m, &pack);
    say_done(other, &pack.token);
    assert_int_equal(ask(s->first, "cats").state, PACKING_RUNNING);
    peer_close(worker);
    peer_close(other);
}

static void one_who_gives_up_does_no_harm(void **state)
{
    struct stage *s = *state;
    struct peer *worker = worker_connect(s->f), *third = client_connect(s->f);
    struct msg_share_packed got = ask(third, "cats");
    struct msg_pack pack = order(worker);

    got = ask(third, "cats");
    wait_for_news(third, "cats", &got);
    peer_close(third);
    say_done(worker, &pack.token);
    got = ask(s->first, "cats");
    assert_int_equal(order(worker).path != NULL, 1);
    peer_close(worker);
}

static void what_is_no_path_or_not_ones_own_is_refused(void **state)
{
    static const char *const paths[] = { "", "/etc", "../x", "a/../../b" };
    struct stage *s = *state;
    struct msg_pack_share request = { .project = "p" };
    struct msg_packed packed = { .is_over = true };

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        request.path = paths[i];
        peer_refused(s->first, MSG_PACK_SHARE, &request, ERR_USAGE);
    }
    request.path = "cats";
    request.project = "a/b";
    peer_refused(s->first, MSG_PACK_SHARE, &request, ERR_USAGE);
    peer_refused(s->first, MSG_PACKED, &packed, ERR_PROTOCOL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_worker_packs_it_and_the_asker_hears_how_far_it_is),
        TEST(who_names_it_meanwhile_waits_for_the_same_pass),
        TEST(without_a_worker_that_sees_the_share_it_waits),
        TEST(one_whose_worker_is_gone_is_given_to_another),
        TEST(files_may_stay_if_no_other_machine_reads_them),
        TEST(what_goes_wrong_is_told),
        TEST(only_its_own_worker_ends_it),
        TEST(one_who_gives_up_does_no_harm),
        TEST(what_is_no_path_or_not_ones_own_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
