/* SPDX-License-Identifier: MIT */
/* turn.c - who may say what, and that a turn is taken whole or not at all */
#include "tests/unit/server_fixture.h"

#include <sys/resource.h>

#include "server/base/turn.h"
#include "server/loop/dispatch.h"
#include "server/loop/turn_run.h"

/* ---- who may say what ---- */

static void expect_cut_off(struct peer *p, const char *says)
{
    struct msg_error error;
    struct envelope m;

    peer_expect(p, MSG_ERROR, &error);
    assert_int_equal(error.kind, ERR_PROTOCOL);
    if (strstr(error.text, says) == NULL)
        fail_msg("expected '%s': %s", says, error.text);
    assert_int_equal(peer_receive_any(p, &m), -1);
}

static void a_hello_is_answered_with_who_one_is(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = peer_connect(f);
    struct msg_hello hello = { .version = PROTO_VERSION, .program = "ludwig" };
    struct msg_welcome welcome;

    (void)state;
    peer_ask(p, MSG_HELLO, &hello, &welcome);
    assert_int_equal(welcome.version, PROTO_VERSION);
    assert_int_equal(welcome.uid, geteuid());
    assert_true(welcome.admin);
    assert_string_equal(welcome.share, f->sv.conf.share);
    assert_int_equal(strlen(welcome.server_id), 16);
    peer_close(p);
    fixture_close(f);
}

static void another_version_is_told_both_and_cut_off(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = peer_connect(f);
    struct msg_hello hello = { .version = 99, .program = "ludwig" };

    (void)state;
    peer_send(p, MSG_HELLO, &hello);
    expect_cut_off(p, "version 1 of the protocol, and your ludwig version 99");
    peer_close(p);
    fixture_close(f);
}

static void whoever_breaks_the_rules_is_told_and_cut_off(void **state)
{
    enum { BEFORE_HELLO, HELLO_TWICE, OTHERS_MESSAGE, SERVERS_MESSAGE, STRANGE_PROGRAM, N };
    static const char *const says[N] = { "say hello before get_nodes", "hello was said already",
                                         "took is not yours to send", "ok is not yours to send",
                                         "'netcat' is no program" };

    (void)state;
    for (int i = 0; i < N; i++) {
        struct fixture *f = fixture_open();
        struct peer *p =
            i == BEFORE_HELLO || i == STRANGE_PROGRAM ? peer_connect(f) : client_connect(f);
        struct msg_hello hello = { .version = PROTO_VERSION,
                                   .program = i == STRANGE_PROGRAM ? "netcat" : "ludwig" };
        struct msg_get_nodes nodes = { 0 };
        struct msg_took took = { 1 };
        struct msg_ok ok = { true };

        switch (i) {
        case BEFORE_HELLO: peer_send(p, MSG_GET_NODES, &nodes); break;
        case OTHERS_MESSAGE: peer_send(p, MSG_TOOK, &took); break;
        case SERVERS_MESSAGE: peer_send(p, MSG_OK, &ok); break;
        default: peer_send(p, MSG_HELLO, &hello); break;
        }
        expect_cut_off(p, says[i]);
        peer_close(p);
        fixture_close(f);
    }
}

static void send_raw(struct peer *p, const void *bytes, size_t n)
{
    assert_int_equal(io_write_all(p->wire.fd, bytes, n), 0);
}

static void what_is_no_message_ends_the_connection(void **state)
{
    static const struct {
        const char *what;
        const char *bytes;
        size_t n;
    } cases[] = {
        { "a frame larger than any", "\xff\xff\xff\xff", 4 },
        { "no msgpack", "\0\0\0\1\xc1", 5 },
        { "no map", "\0\0\0\1\x07", 5 },
        { "a map of something else", "\0\0\0\4\x81\xa1x\x01", 8 },
        { "something behind the map", "\0\0\0\2\x80\x80", 6 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = fixture_open();
        struct peer *p = client_connect(f);
        struct envelope m;
        int first, second;

        send_raw(p, cases[i].bytes, cases[i].n);
        first = peer_receive_any(p, &m);
        second = peer_receive_any(p, &m);
        if (first != MSG_ERROR || second != -1)
            fail_msg("%s", cases[i].what);
        peer_close(p);
        fixture_close(f);
    }
}

/* A frame with these in its envelope; body_bytes is msgpack. */
static void send_message(struct peer *p, const char *type, const char *body, size_t n)
{
    struct buf out = { 0 };
    size_t mark = frame_begin(&out);

    mp_add_map(&out, 3);
    mp_add_str(&out, "type", 4);
    mp_add_str(&out, type, strlen(type));
    mp_add_str(&out, "seq", 3);
    mp_add_int(&out, ++p->wire.seq);
    mp_add_str(&out, "body", 4);
    buf_add(&out, body, n);
    assert_int_equal(frame_end(&out, mark, NULL), 0);
    send_raw(p, out.bytes, out.n);
    buf_free(&out);
}

static void an_unknown_message_is_answered_and_no_more(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_get_nodes nodes = { 0 };
    struct envelope m;

    (void)state;
    send_message(p, "of_the_future", "\x80", 1);
    assert_int_equal(peer_receive_any(p, &m), MSG_ERROR);
    assert_int_equal(m.re, p->wire.seq);
    peer_ask(p, MSG_GET_NODES, &nodes, NULL);
    peer_close(p);
    fixture_close(f);
}

static void a_body_that_does_not_fit_its_table_ends_the_connection(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);

    (void)state;
    send_message(p, "get_jobs", "\x81\xa5sweep\xa1x", 9); /* {"sweep": "x"} */
    expect_cut_off(p, "sweep");
    peer_close(p);
    fixture_close(f);
}

static void a_changing_request_needs_an_id(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_cancel cancel = { 0 };

    (void)state;
    peer_send_as(p, MSG_CANCEL, NULL, &cancel);
    expect_cut_off(p, "needs a request id");
    peer_close(p);
    fixture_close(f);
}

/* ---- asked twice ---- */

static struct msg_cancel cancel_of(struct target *target)
{
    return (struct msg_cancel){ .targets = { target, 1 } };
}

static int64_t cancel_as(struct peer *p, const struct token *id, int64_t sweep)
{
    struct target target = { .sweep = sweep };
    struct msg_cancel cancel = cancel_of(&target);
    struct msg_changed changed;

    peer_send_as(p, MSG_CANCEL, id, &cancel);
    peer_expect(p, MSG_CHANGED, &changed);
    return changed.jobs;
}

static void a_request_asked_twice_is_answered_as_it_was_then(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct token id, other;

    (void)state;
    token_make(&id);
    token_make(&other);
    assert_int_equal(cancel_as(p, &id, done.sweep), 5);
    assert_int_equal(cancel_as(p, &id, done.sweep), 5);
    assert_int_equal(cancel_as(p, &other, done.sweep), 0);
    peer_close(p);
    fixture_close(f);
}

static void an_answer_survives_ludwigd(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct token id;

    (void)state;
    token_make(&id);
    cancel_as(p, &id, done.sweep);
    peer_close(p);
    server_close(&f->sv);
    fixture_start(f);
    p = client_connect(f);
    assert_int_equal(cancel_as(p, &id, done.sweep), 5);
    peer_close(p);
    fixture_close(f);
}

static void anothers_request_id_is_nobodys_business(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = stranger_connect(f, 1);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct target target = { .sweep = done.sweep };
    struct msg_cancel cancel = cancel_of(&target);
    struct msg_error error;
    struct token id;

    (void)state;
    token_make(&id);
    cancel_as(p, &id, done.sweep);
    peer_send_as(other, MSG_CANCEL, &id, &cancel);
    peer_expect(other, MSG_ERROR, &error);
    assert_int_equal(error.kind, ERR_DENIED);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void a_request_id_is_for_one_kind_of_request(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct target target = { .sweep = done.sweep };
    struct msg_retry retry = { .targets = { &target, 1 } };
    struct msg_error error;
    struct token id;

    (void)state;
    token_make(&id);
    cancel_as(p, &id, done.sweep);
    peer_send_as(p, MSG_RETRY, &id, &retry);
    peer_expect(p, MSG_ERROR, &error);
    assert_int_equal(error.kind, ERR_PROTOCOL);
    peer_close(p);
    fixture_close(f);
}

static struct token newer_id;

/* As a newer ludwigd may have left them: a kept answer and a job of kinds that are not known here. */
static int make_newer(struct server *sv, int64_t job, struct err *e)
{
    struct bytes answer = { (const uint8_t *)"x", 1 };

    token_make(&newer_id);
    return db_run(sv->db, e, SQL_REQUEST_KEEP, "tiiib", &newer_id, (int64_t)geteuid(),
                  turn_now_ms(sv), (int64_t)100000000, answer) < 0 ||
                   db_run(sv->db, e, SQL_JOB_UPDATE, "iiIiiIsI", job, (int64_t)100000000,
                          SCHEMA_NONE, (int64_t)1, (int64_t)0, (int64_t)0, NULL, SCHEMA_NONE) < 0
               ? -1
               : 0;
}

static void numbers_of_a_newer_ludwigd_are_refused(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct target target = { .sweep = done.sweep };
    struct msg_retry retry = { .targets = { &target, 1 } };
    struct msg_get_jobs get = { .sweep = done.sweep };
    struct msg_get_sweeps sweeps = { 0 };
    struct msg_sweep_page page;
    struct msg_error error;

    (void)state;
    turn_add_work(f->sv.turn, make_newer, 1);
    peer_ask(p, MSG_GET_SWEEPS, &sweeps, &page);
    peer_ask(p, MSG_GET_SWEEPS, &sweeps, &page);
    peer_send_as(p, MSG_RETRY, &newer_id, &retry);
    peer_expect(p, MSG_ERROR, &error);
    assert_int_equal(error.kind, ERR_PROTOCOL);
    assert_non_null(strstr(error.text, "newer ludwigd"));
    assert_non_null(strstr(peer_refused(p, MSG_GET_JOBS, &get, ERR_INTERNAL), "newer ludwigd"));
    assert_non_null(strstr(peer_refused(p, MSG_RETRY, &retry, ERR_INTERNAL), "newer ludwigd"));
    peer_ask(p, MSG_GET_SWEEPS, &sweeps, &page);
    assert_int_equal(page.sweeps.n, 1);
    peer_close(p);
    fixture_close(f);
}

static int make_old(struct server *sv, int64_t n, struct err *e)
{
    struct bytes answer = { (const uint8_t *)"x", 1 };
    struct token id;

    for (int64_t i = 0; i < n; i++) {
        token_make(&id);
        if (db_run(sv->db, e, SQL_REQUEST_KEEP, "tiiib", &id, (int64_t)1,
                   turn_now_ms(sv) - REQUESTS_KEPT_MS - 1000, (int64_t)MSG_CANCEL, answer) < 0)
            return -1;
    }
    return 0;
}

static void old_answers_are_forgotten_and_new_ones_kept(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct token id;

    (void)state;
    token_make(&id);
    cancel_as(p, &id, done.sweep);
    turn_add_work(f->sv.turn, make_old, 2500);
    fixture_settle(f);
    turn_add_work(f->sv.turn, dispatch_forget_requests, 0);
    fixture_settle(f);
    assert_int_equal(db_run(f->sv.db, NULL, SQL_REQUESTS_FORGET, "ii",
                            turn_now_ms(&f->sv) - REQUESTS_KEPT_MS, (int64_t)10000),
                     0);
    assert_int_equal(cancel_as(p, &id, done.sweep), 5);
    peer_close(p);
    fixture_close(f);
}

static int make_many(struct server *sv, int64_t n, struct err *e)
{
    struct bytes answer = { (const uint8_t *)"x", 1 };
    struct token id;

    for (int64_t i = 0; i < n; i++) {
        token_make(&id);
        if (db_run(sv->db, e, SQL_REQUEST_KEEP, "tiiib", &id, (int64_t)geteuid(),
                   turn_now_ms(sv) - 1000, (int64_t)MSG_CANCEL, answer) < 0)
            return -1;
    }
    return 0;
}

static void of_one_user_the_newest_answers_are_kept(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 5);
    struct token first, id;

    (void)state;
    turn_add_work(f->sv.turn, make_many, REQUESTS_KEPT);
    fixture_settle(f);
    token_make(&first);
    assert_int_equal(cancel_as(p, &first, done.sweep), 5);
    /* It is looked for those that are too many now and then. */
    for (int i = 0; i < 1000; i++) {
        token_make(&id);
        cancel_as(p, &id, done.sweep);
    }
    fixture_settle(f);
    assert_in_range(db_run(f->sv.db, NULL, SQL_REQUESTS_FORGET, "ii", turn_now_ms(&f->sv) + 1000,
                           (int64_t)2 * REQUESTS_KEPT),
                    REQUESTS_KEPT, REQUESTS_KEPT + 10);
    peer_close(p);
    fixture_close(f);
}

/* ---- one fails, the others do not ---- */

static int64_t count_in_state(struct peer *p, int64_t sweep, const char *name)
{
    struct msg_get_jobs get = { .sweep = sweep, .limit = PAGE_MAX, .states = { &name, 1 } };
    struct msg_job_page page;

    peer_ask(p, MSG_GET_JOBS, &get, &page);
    return (int64_t)page.jobs.n;
}

static void what_fails_leaves_nothing_and_the_others_go_through(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 10);
    struct target half[2] = { { done.sweep, 1, 3 }, { 999, 0, 0 } };
    struct target whole = { done.sweep, 8, 8 };
    struct msg_cancel bad = { .targets = { half, 2 } };
    struct msg_cancel good = cancel_of(&whole);
    struct msg_changed changed;
    struct msg_error error;

    (void)state;
    peer_send(p, MSG_CANCEL, &bad);
    peer_send(other, MSG_CANCEL, &good); /* both lie there when the turn begins */
    peer_expect(p, MSG_ERROR, &error);
    assert_int_equal(error.kind, ERR_NOT_FOUND);
    peer_expect(other, MSG_CHANGED, &changed);
    assert_int_equal(changed.jobs, 1);
    assert_int_equal(count_in_state(p, done.sweep, "cancelled"), 1);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

struct counts {
    int ran;
    int effects;
    int answer;
};

/* Tests have one, so that work, which is given a number, finds it. */
static struct counts counts;

static void count_effect(struct server *sv, int64_t unused)
{
    (void)sv, (void)unused;
    counts.effects++;
}

static int count_work(struct server *sv, int64_t key, struct err *e)
{
    counts.ran++;
    turn_after(sv, count_effect, 0);
    if (db_run(sv->db, e, SQL_META_SET, "si", "test", key) < 0)
        return -1;
    if (counts.answer < 0)
        return err_set(e, ERR_FAILED, "on purpose");
    return counts.answer > 0 && counts.ran < counts.answer;
}

static int64_t meta_test(struct fixture *f)
{
    int64_t value = 0;

    db_get(f->sv.db, NULL, SQL_META_GET, "s>i", "test", &value);
    return value;
}

static void work_runs_once_with_its_effects(void **state)
{
    struct fixture *f = fixture_open();

    (void)state;
    counts = (struct counts){ 0 };
    turn_add_work(f->sv.turn, count_work, 7);
    turn_add_work(f->sv.turn, count_work, 7);
    fixture_settle(f);
    assert_int_equal(counts.ran, 1);
    assert_int_equal(counts.effects, 1);
    assert_int_equal(meta_test(f), 7);
    fixture_close(f);
}

static void work_that_is_not_done_is_called_again(void **state)
{
    struct fixture *f = fixture_open();

    (void)state;
    counts = (struct counts){ .answer = 4 };
    turn_add_work(f->sv.turn, count_work, 7);
    fixture_settle(f);
    assert_int_equal(counts.ran, 4);
    fixture_close(f);
}

static void work_that_fails_leaves_neither_rows_nor_effects(void **state)
{
    struct fixture *f = fixture_open();

    (void)state;
    counts = (struct counts){ .answer = -1 };
    turn_add_work(f->sv.turn, count_work, 7);
    fixture_settle(f);
    assert_int_equal(counts.ran, 1);
    assert_int_equal(counts.effects, 0);
    assert_int_equal(meta_test(f), 0);
    fixture_close(f);
}

/* ---- the commit fails ---- */

/* As on a full disk: no file may grow any more. */
static void set_disk_full(bool is_full)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = is_full ? 512 : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void when_the_commit_fails_every_asker_is_told_and_nothing_happened(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 10);
    struct target targets[2] = { { done.sweep, 1, 3 }, { done.sweep, 4, 6 } };
    struct msg_cancel first = cancel_of(&targets[0]);
    struct msg_cancel second = cancel_of(&targets[1]);
    struct msg_error error;
    struct token id;

    (void)state;
    token_make(&id);
    set_disk_full(true);
    peer_send_as(p, MSG_CANCEL, &id, &first);
    peer_send(other, MSG_CANCEL, &second);
    peer_expect(p, MSG_ERROR, &error);
    assert_int_equal(error.kind, ERR_NO_SPACE);
    peer_expect(other, MSG_ERROR, &error);
    assert_int_equal(error.kind, ERR_NO_SPACE);
    set_disk_full(false);
    assert_int_equal(count_in_state(p, done.sweep, "cancelled"), 0);
    peer_send_as(p, MSG_CANCEL, &id, &first); /* the same request again, now that there is room */
    peer_expect(p, MSG_CHANGED, NULL);
    assert_int_equal(count_in_state(p, done.sweep, "cancelled"), 3);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void work_is_done_again_after_a_commit_that_failed(void **state)
{
    struct fixture *f = fixture_open();
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    (void)state;
    counts = (struct counts){ 0 };
    fixture_settle(f);
    set_disk_full(true);
    turn_add_work(f->sv.turn, count_work, 7);
    fixture_settle(f);
    assert_int_equal(counts.ran, 1); /* and not again and again while the disk is full */
    assert_int_equal(counts.effects, 0);
    assert_int_equal(meta_test(f), 0);
    set_disk_full(false);
    while (counts.effects == 0 && units_monotonic_ms() < until_ms)
        fixture_turn(f);
    assert_int_equal(counts.ran, 2);
    assert_int_equal(meta_test(f), 7);
    fixture_close(f);
}

/* ---- fair, and bounded ---- */

/* Each of the many takes a while: there is no failed job among thousands. */
static void whoever_asks_much_does_not_keep_others_waiting(void **state)
{
    enum { MANY = 100 };
    struct fixture *f = fixture_open();
    struct peer *greedy = client_connect(f);
    struct peer *modest = client_connect(f);
    struct submit s = submit_of("demo", 4);
    const char *failed = "failed";
    struct msg_get_jobs get = { .states = { &failed, 1 } };
    struct msg_get_nodes nodes = { 0 };
    struct envelope m;
    int answered = 0;

    (void)state;
    f->sv.turn->ns_max = (uint64_t)TURN_MS_MAX * TURN_NS_PER_MS; /* as in ludwigd */
    submit_begin(greedy, &s);
    submit_chunk(greedy, &s, 1, 1000);
    get.sweep = submit_end(greedy, &s).sweep;
    for (int i = 0; i < MANY; i++)
        peer_send(greedy, MSG_GET_JOBS, &get);
    peer_send(modest, MSG_GET_NODES, &nodes);
    while (peer_look(modest, &m) == 2)
        fixture_turn(f);
    while (peer_look(greedy, &m) == 1)
        answered++;
    assert_true(answered < MANY / 2);
    peer_close(modest);
    peer_close(greedy);
    fixture_close(f);
}

static void a_reader_that_does_not_read_cannot_make_the_server_grow(void **state)
{
    enum { MANY = 2000 };
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct msg_submitted done = submit_all(p, submit_of("demo", 1), 1, 1000);
    struct msg_get_jobs get = { .sweep = done.sweep, .limit = PAGE_MAX };
    struct envelope m;
    int answered = 0;

    (void)state;
    for (int i = 0; i < MANY; i++)
        peer_send(p, MSG_GET_JOBS, &get);
    fixture_settle(f);
    assert_true(chan_queued_bytes(p->conn->chan) > CONN_PUSH_MARK);
    assert_true(chan_queued_bytes(p->conn->chan) < 4 * CONN_PUSH_MARK);
    for (; answered < MANY; answered++) /* and it goes on where it stopped */
        assert_int_equal(peer_receive_any(p, &m), MSG_JOB_PAGE);
    peer_close(p);
    fixture_close(f);
}

static void one_user_cannot_take_all_connections(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *peers[CONN_PER_UID_MAX];
    struct peer *late;
    struct msg_error error;
    struct envelope m;

    (void)state;
    for (int i = 0; i < CONN_PER_UID_MAX; i++)
        peers[i] = peer_connect(f);
    late = peer_connect(f);
    assert_null(late->conn);
    assert_int_equal(peer_receive(late, &m, &error), MSG_ERROR);
    assert_int_equal(error.kind, ERR_BUSY);
    assert_int_equal(peer_receive_any(late, &m), -1);
    peer_close(peers[0]);
    peers[0] = client_connect(f);
    for (int i = 0; i < CONN_PER_UID_MAX; i++)
        wire_close(&peers[i]->wire);
    fixture_settle(f);
    assert_int_equal(conn_count(&f->sv), 0);
    for (int i = 0; i < CONN_PER_UID_MAX; i++)
        free(peers[i]);
    peer_close(late);
    fixture_close(f);
}

static void a_long_change_takes_several_turns_and_others_have_theirs(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct submit s = submit_of("demo", 4);
    struct target target = { 0 };
    struct msg_cancel cancel = cancel_of(&target);
    struct msg_get_nodes nodes = { 0 };
    struct msg_changed changed;
    struct envelope m;
    int between = 0;

    (void)state;
    f->sv.turn->ns_max = (uint64_t)TURN_MS_MAX * TURN_NS_PER_MS; /* as in ludwigd */
    submit_begin(p, &s);
    for (int i = 0; i < 4; i++)
        submit_chunk(p, &s, 1000 * i + 1, 1000 * i + 1000);
    target.sweep = submit_end(p, &s).sweep;
    peer_send(p, MSG_CANCEL, &cancel);
    while (peer_look(p, &m) == 2) {
        peer_ask(other, MSG_GET_NODES, &nodes, NULL);
        between++;
    }
    read_body(p, &m, &changed);
    assert_int_equal(changed.jobs, 16000);
    assert_true(between > 3);
    peer_close(other);
    peer_close(p);
    fixture_close(f);
}

static void who_leaves_in_the_middle_of_a_long_change_harms_nobody(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *p = client_connect(f);
    struct peer *other = client_connect(f);
    struct submit s = submit_of("demo", 4);
    struct target target = { 0 };
    struct msg_cancel cancel = cancel_of(&target);
    struct msg_get_nodes nodes = { 0 };

    (void)state;
    f->sv.turn->ns_max = (uint64_t)TURN_MS_MAX * TURN_NS_PER_MS; /* as in ludwigd */
    submit_begin(p, &s);
    for (int i = 0; i < 4; i++)
        submit_chunk(p, &s, 1000 * i + 1, 1000 * i + 1000);
    target.sweep = submit_end(p, &s).sweep;
    peer_send(p, MSG_CANCEL, &cancel);
    peer_ask(other, MSG_GET_NODES, &nodes, NULL);
    assert_non_null(p->conn->unfinished);
    peer_close(p);
    peer_ask(other, MSG_GET_NODES, &nodes, NULL);
    peer_close(other);
    fixture_close(f);
}

/* ---- the end ---- */

static void only_an_admin_stops_ludwigd(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *stranger = stranger_connect(f, 1);
    struct peer *p = client_connect(f);
    struct msg_shutdown request = { false };
    struct msg_ok ok;
    struct envelope m;

    (void)state;
    peer_refused(stranger, MSG_SHUTDOWN, &request, ERR_DENIED);
    assert_false(f->sv.is_leaving);
    peer_ask(p, MSG_SHUTDOWN, &request, &ok);
    assert_true(f->sv.is_leaving);
    server_run(&f->sv); /* comes back */
    assert_int_equal(peer_receive_any(p, &m), -1);
    peer_close(stranger);
    peer_close(p);
    fixture_close(f);
}

static void workers_are_sent_away_when_asked(void **state)
{
    struct fixture *f = fixture_open();
    struct peer *w = worker_connect(f);
    struct peer *p = client_connect(f);
    struct msg_shutdown request = { true };
    struct envelope m;

    (void)state;
    peer_ask(p, MSG_SHUTDOWN, &request, NULL);
    assert_int_equal(peer_receive_any(w, &m), MSG_LEAVE);
    server_run(&f->sv);
    peer_close(w);
    peer_close(p);
    fixture_close(f);
}

static void a_damaged_counter_is_refused_before_it_overflows(void **state)
{
    struct fixture *f = fixture_open();
    struct err e = { 0 };

    (void)state;
    assert_int_equal(db_run(f->sv.db, NULL, SQL_META_SET, "si", "version", INT64_MAX), 1);
    assert_null(turn_create(&f->sv, &e));
    assert_non_null(strstr(e.text, "the database is damaged"));
    fixture_close(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_is_answered_with_who_one_is),
        cmocka_unit_test(another_version_is_told_both_and_cut_off),
        cmocka_unit_test(whoever_breaks_the_rules_is_told_and_cut_off),
        cmocka_unit_test(what_is_no_message_ends_the_connection),
        cmocka_unit_test(an_unknown_message_is_answered_and_no_more),
        cmocka_unit_test(a_body_that_does_not_fit_its_table_ends_the_connection),
        cmocka_unit_test(a_changing_request_needs_an_id),
        cmocka_unit_test(a_request_asked_twice_is_answered_as_it_was_then),
        cmocka_unit_test(an_answer_survives_ludwigd),
        cmocka_unit_test(anothers_request_id_is_nobodys_business),
        cmocka_unit_test(a_request_id_is_for_one_kind_of_request),
        cmocka_unit_test(numbers_of_a_newer_ludwigd_are_refused),
        cmocka_unit_test(old_answers_are_forgotten_and_new_ones_kept),
        cmocka_unit_test(of_one_user_the_newest_answers_are_kept),
        cmocka_unit_test(what_fails_leaves_nothing_and_the_others_go_through),
        cmocka_unit_test(work_runs_once_with_its_effects),
        cmocka_unit_test(work_that_is_not_done_is_called_again),
        cmocka_unit_test(work_that_fails_leaves_neither_rows_nor_effects),
        cmocka_unit_test(when_the_commit_fails_every_asker_is_told_and_nothing_happened),
        cmocka_unit_test(work_is_done_again_after_a_commit_that_failed),
        cmocka_unit_test(whoever_asks_much_does_not_keep_others_waiting),
        cmocka_unit_test(a_reader_that_does_not_read_cannot_make_the_server_grow),
        cmocka_unit_test(one_user_cannot_take_all_connections),
        cmocka_unit_test(a_long_change_takes_several_turns_and_others_have_theirs),
        cmocka_unit_test(who_leaves_in_the_middle_of_a_long_change_harms_nobody),
        cmocka_unit_test(only_an_admin_stops_ludwigd),
        cmocka_unit_test(workers_are_sent_away_when_asked),
        cmocka_unit_test(a_damaged_counter_is_refused_before_it_overflows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
