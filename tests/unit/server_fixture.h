/* SPDX-License-Identifier: MIT */
/*
 * server_fixture.h - a whole ludwigd in the test's process, on a folder of its own
 *
 * Peers are socket pairs.  The loop runs whenever a peer waits for an answer.
 */
#ifndef LUDWIG_TESTS_SERVER_FIXTURE_H
#define LUDWIG_TESTS_SERVER_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/data/msgpack.h"
#include "server/base/turn.h"
#include "server/base/turn_internal.h"
#include "server/conn/conn.h"
#include "server/conn/user_names.h"
#include "server/loop/lifecycle.h"

enum { FIXTURE_WAIT_MS = 60000 };

struct fixture {
    struct server sv;
    char *dir;
    struct arena *arena; /* of the answers received */
};

struct peer {
    struct fixture *f;
    struct wire wire;
    struct conn *conn; /* as the server sees it; gone once it is closed */
    int64_t asked;     /* seq of the last request */
};

/* Strangers have accounts here. */
static inline char *fixture_user_name(uid_t uid)
{
    char *name = identity_user_name(uid);

    if (name[0] != '#')
        return name;
    free(name);
    return mem_printf("user%u", uid);
}

static inline void fixture_start(struct fixture *f)
{
    struct user_names_how names = names_usual;
    struct err e = { 0 };

    f->sv = (struct server){ 0 };
    f->sv.conf.arena = arena_create();
    f->sv.conf.share = arena_printf(f->sv.conf.arena, "%s/share", f->dir);
    f->sv.conf.state = arena_printf(f->sv.conf.arena, "%s/state", f->dir);
    f->sv.conf.lease_ms = 600000;
    if (server_open(&f->sv, &e) < 0)
        fail_msg("%s", e.text);
    f->sv.turn->ns_max = UINT64_MAX; /* tests must not depend on the speed of the machine */
    user_names_destroy(f->sv.names);
    names.find = fixture_user_name;
    f->sv.names = user_names_create(&f->sv, &names, conns_named);
    if (server_listen(&f->sv, &e) < 0)
        fail_msg("%s", e.text);
}

static inline struct fixture *fixture_open(void)
{
    struct fixture *f = mem_alloc(sizeof *f);
    char template[] = "/tmp/ludwig-unit-XXXXXX";

    signal(SIGPIPE, SIG_IGN);
    log_set_level((enum log_level)(LOG_ERROR + 1));
    assert_non_null(mkdtemp(template));
    f->dir = mem_strdup(template);
    f->arena = arena_create();
    fixture_start(f);
    return f;
}

static inline void fixture_close(struct fixture *f)
{
    server_close(&f->sv);
    assert_int_equal(io_remove_tree(f->dir, NULL), 0);
    arena_destroy(f->arena);
    free(f->dir);
    free(f);
}

static inline void fixture_turn(struct fixture *f)
{
    uv_run(&f->sv.loop, UV_RUN_NOWAIT);
}

/* Runs the loop until nothing is left to do but wait. */
static inline void fixture_settle(struct fixture *f)
{
    for (int i = 0; i < 50; i++)
        fixture_turn(f);
}

/* The machine is asked for its name on a thread. */
static inline void wait_for_name(struct fixture *f, const struct conn *c)
{
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    while (c != NULL && c->user == NULL) {
        assert_true(units_monotonic_ms() < until_ms);
        fixture_turn(f);
    }
}

static inline struct peer *peer_connect_as(struct fixture *f, uid_t uid)
{
    struct peer *p = mem_alloc(sizeof *p);
    struct err e = { 0 };
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(io_set_nonblocking(fds[0], NULL), 0);
    p->f = f;
    p->conn = uid == geteuid() ? conn_add(&f->sv, fds[0], 0, NULL, &e)
                               : conn_add_as(&f->sv, fds[0], uid, &e);
    wire_init(&p->wire, fds[1], &proto);
    wait_for_name(f, p->conn);
    return p;
}

static inline struct peer *peer_connect(struct fixture *f)
{
    return peer_connect_as(f, geteuid());
}

static inline void peer_close(struct peer *p)
{
    wire_close(&p->wire);
    fixture_settle(p->f);
    free(p);
}

/* Lets the server read until there is room for a small message. */
static inline void peer_make_room(struct peer *p)
{
    struct pollfd fd = { .fd = p->wire.fd, .events = POLLOUT };

    while (poll(&fd, 1, 0) == 0)
        fixture_turn(p->f);
}

static inline int64_t peer_send_as(struct peer *p, int type, const struct token *id,
                                   const void *body)
{
    struct err e = { 0 };

    peer_make_room(p);
    p->asked = wire_send(&p->wire, type, 0, id, body, &e);
    if (p->asked < 0)
        fail_msg("%s", e.text);
    return p->asked;
}

/* A changing request gets a fresh id. */
static inline int64_t peer_send(struct peer *p, int type, const void *body)
{
    struct token id;

    token_make(&id);
    return peer_send_as(p, type, proto.messages[type].flags & CHANGES ? &id : NULL, body);
}

/* A whole message now, without running the loop any more?  As wire_poll: 1, 0 the end, 2 nothing. */
static inline int peer_look(struct peer *p, struct envelope *m)
{
    struct pollfd fd = { .fd = p->wire.fd, .events = POLLIN };
    struct err e = { 0 };
    int rc;

    if (!wire_is_ready(&p->wire) && poll(&fd, 1, 0) == 0)
        return 2;
    rc = wire_poll(&p->wire, m, &e);
    return rc < 0 ? 0 : rc;
}

/* The next message's type, its body in *to; -1 when the server closed. */
static inline int peer_receive(struct peer *p, struct envelope *m, void *to)
{
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;
    struct err e = { 0 };
    int rc;

    while ((rc = peer_look(p, m)) == 2) {
        if (units_monotonic_ms() > until_ms)
            fail_msg("no answer");
        fixture_turn(p->f);
    }
    if (rc == 0)
        return -1;
    m->body = value_copy(p->f->arena, &m->body);
    if (to != NULL && message_body(&proto, m, p->f->arena, to, &e) < 0)
        fail_msg("%s: %s", proto.messages[m->type].name, e.text);
    return m->type;
}

static inline int peer_receive_any(struct peer *p, struct envelope *m)
{
    return peer_receive(p, m, NULL);
}

static inline void read_body(struct peer *p, const struct envelope *m, void *to)
{
    struct err e = { 0 };

    if (message_body(&proto, m, p->f->arena, to, &e) < 0)
        fail_msg("%s", e.text);
}

/* The answer to what was asked last must be of that type. */
static inline void peer_expect(struct peer *p, int type, void *to)
{
    struct envelope m;
    int got = peer_receive_any(p, &m);
    struct msg_error error;

    if (got == MSG_ERROR && type != MSG_ERROR) {
        read_body(p, &m, &error);
        fail_msg("expected %s, got: %s", proto.messages[type].name, error.text);
    }
    assert_int_equal(got, type);
    if (to != NULL)
        read_body(p, &m, to);
}

static inline void peer_ask(struct peer *p, int type, const void *body, void *answer)
{
    peer_send(p, type, body);
    peer_expect(p, proto.messages[type].reply, answer);
}

/* Asks what must be refused; returns the refusal's text. */
static inline const char *peer_refused(struct peer *p, int type, const void *body,
                                       enum err_kind kind)
{
    struct msg_error error;

    peer_send(p, type, body);
    peer_expect(p, MSG_ERROR, &error);
    if ((int)kind != error.kind)
        fail_msg("expected %s, got %s: %s", err_kind_name(kind),
                 err_kind_name((enum err_kind)error.kind), error.text);
    return error.text;
}

static inline void peer_hello(struct peer *p, const char *program)
{
    struct msg_hello hello = { .version = PROTO_VERSION, .program = program };

    peer_ask(p, MSG_HELLO, &hello, NULL);
}

static inline struct peer *client_connect(struct fixture *f)
{
    struct peer *p = peer_connect(f);

    peer_hello(p, "ludwig");
    return p;
}

/* One who has no rights but her own. */
static inline struct peer *stranger_connect(struct fixture *f, uid_t uid)
{
    struct peer *p = peer_connect_as(f, uid);

    peer_hello(p, "ludwig");
    free(p->conn->user);
    p->conn->user = mem_printf("user%u", uid);
    return p;
}

/* ---- a worker ---- */

enum { WORKER_CPUS = 64 };

static inline struct peer *worker_connect_on(struct fixture *f, const char *node, uid_t uid,
                                             bool own_jobs_only)
{
    struct msg_register reg = { .boot_id = node,
                                .node = node,
                                .kind = "node",
                                .cpus_milli = WORKER_CPUS * 1000,
                                .memory_bytes = INT64_C(1) << 40,
                                .own_jobs_only = own_jobs_only };
    struct peer *p = peer_connect_as(f, uid);

    token_make(&reg.worker);
    token_make(&reg.incarnation);
    peer_hello(p, "ludwig-worker");
    peer_ask(p, MSG_REGISTER, &reg, NULL);
    return p;
}

static inline struct peer *worker_connect_as(struct fixture *f, uid_t uid, bool own_jobs_only)
{
    return worker_connect_on(f, "n1", uid, own_jobs_only);
}

static inline struct peer *worker_connect(struct fixture *f)
{
    return worker_connect_as(f, geteuid(), false);
}

static inline void worker_report(struct peer *p, struct report r)
{
    struct msg_report report = { .reports = { &r, 1 } };
    int64_t re = peer_send(p, MSG_REPORT, &report);
    struct envelope m;

    /* A hand may come in between. */
    do
        assert_true(peer_receive_any(p, &m) >= 0);
    while (m.re != re);
    assert_int_equal(m.type, MSG_VERDICTS);
}

/* Takes the next hand and lets each of its jobs end so; returns how many there were. */
static inline size_t worker_do_hand(struct peer *p, struct report outcome)
{
    const struct assignment *items;
    struct msg_hand hand;
    struct envelope m;

    do
        assert_true(peer_receive_any(p, &m) >= 0);
    while (m.type != MSG_HAND);
    read_body(p, &m, &hand);
    items = hand.assignments.items;
    for (size_t i = 0; i < hand.assignments.n; i++) {
        outcome.token = items[i].token;
        outcome.seq = 1;
        worker_report(p, outcome);
    }
    return hand.assignments.n;
}

static inline struct report report_done(void)
{
    return (struct report){
        .event = EV_DONE, .started_at = 1000, .ended_at = 2000, .signal = SCHEMA_NONE
    };
}

static inline struct report report_failed(int64_t exit_code)
{
    return (struct report){ .event = EV_FAIL,
                            .started_at = 1000,
                            .ended_at = 2000,
                            .exit_code = exit_code,
                            .signal = SCHEMA_NONE,
                            .reason = "exit" };
}

/* ---- a submit, step by step ---- */

struct submit {
    struct msg_submit_begin begin;
    int64_t sweep;
    int64_t sent;
    int64_t index;
    struct digest chain;
};

static inline struct submit submit_of(const char *project, int64_t reps)
{
    struct submit s = { .begin = { .project = project, .reps = reps } };

    s.begin.work.command = "true";
    s.begin.work.resources.cpus_milli = 1000;
    s.begin.guard.off = true; /* a test that fails many jobs does not expect one */
    return s;
}

static inline void submit_begin(struct peer *p, struct submit *s)
{
    struct msg_submit_open open;

    peer_ask(p, MSG_SUBMIT_BEGIN, &s->begin, &open);
    s->sweep = open.sweep;
}

/* Configurations {"x": first} ... {"x": last}. */
static inline void add_configs(struct buf *out, int64_t first, int64_t last)
{
    mp_add_list(out, (size_t)(last - first + 1));
    for (int64_t x = first; x <= last; x++) {
        mp_add_map(out, 1);
        mp_add_str(out, "x", 1);
        mp_add_int(out, x);
    }
}

static inline struct digest chain_after(const struct digest *before, struct bytes configs)
{
    struct hasher *h = hasher_create();
    struct digest after;

    hasher_add(h, before->bytes, DIGEST_BYTES);
    hasher_add(h, configs.data, configs.n);
    hasher_end(h, &after);
    hasher_destroy(h);
    return after;
}

static inline void submit_bytes(struct peer *p, struct submit *s, struct bytes configs, int64_t n)
{
    struct msg_submit_chunk chunk = { s->sweep, s->index, configs, { 0 } };
    struct msg_submit_taken taken;

    s->chain = chain_after(&s->chain, configs);
    peer_ask(p, MSG_SUBMIT_CHUNK, &chunk, &taken);
    assert_int_equal(taken.index, s->index);
    s->index++;
    s->sent += n;
}

static inline void submit_chunk(struct peer *p, struct submit *s, int64_t first, int64_t last)
{
    struct buf configs = { 0 };

    add_configs(&configs, first, last);
    submit_bytes(p, s, buf_bytes(&configs), last - first + 1);
    buf_free(&configs);
}

static inline struct msg_submit_end submit_ending(const struct submit *s)
{
    return (struct msg_submit_end){ .sweep = s->sweep, .configs = s->sent, .chain = s->chain };
}

static inline struct msg_submitted submit_end(struct peer *p, struct submit *s)
{
    struct msg_submit_end end = submit_ending(s);
    struct msg_submitted submitted;

    peer_ask(p, MSG_SUBMIT_END, &end, &submitted);
    return submitted;
}

/* All of it: {"x": first} ... {"x": last} in one chunk. */
static inline struct msg_submitted submit_all(struct peer *p, struct submit s, int64_t first,
                                              int64_t last)
{
    submit_begin(p, &s);
    submit_chunk(p, &s, first, last);
    return submit_end(p, &s);
}

#endif
