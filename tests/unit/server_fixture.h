/* SPDX-License-Identifier: MIT */
/*
 * server_fixture.h - runs a whole ludwigd in the test's process, and peers that talk to it
 *
 * ludwigd has a temporary folder with its share and its state.  A peer is one end of a socket pair;
 * ludwigd's event loop runs only while a peer waits, or in fixture_turn and
 * fixture_settle.  A request or reply that goes wrong fails the test.
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

enum { FIXTURE_WAIT_MS = 60000 }; /* longest wait for a reply */

struct fixture {
    struct server sv;
    char *dir;
    struct arena *arena; /* the bodies of all received messages */
};

struct peer {
    struct fixture *f;
    struct wire wire;
    struct conn *conn; /* the server's end; freed when the connection is closed */
    int64_t asked;     /* seq of the last message sent */
};

/* For struct user_names_how: a uid without an account on this machine is called "userUID". */
static inline char *fixture_user_name(uid_t uid)
{
    char *name = identity_user_name(uid);

    if (name[0] != '#')
        return name;
    free(name);
    return mem_printf("user%u", uid);
}

/* Starts the server on f->dir, also again after server_close. */
static inline void fixture_start(struct fixture *f)
{
    struct user_names_how names = names_usual;
    struct err e = { 0 };

    f->sv = (struct server){ 0 };
    f->sv.conf.arena = arena_create();
    f->sv.conf.share = arena_printf(f->sv.conf.arena, "%s/share", f->dir);
    f->sv.conf.state = arena_printf(f->sv.conf.arena, "%s/state", f->dir);
    f->sv.conf.lease_ms = 600000;
    f->sv.conf.avoid_for_ms = 60000;
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

/* Runs the event loop once, without waiting. */
static inline void fixture_turn(struct fixture *f)
{
    uv_run(&f->sv.loop, UV_RUN_NOWAIT);
}

/* Runs the event loop until it has nothing to do at once: 50 turns at least, 5000 at most. */
static inline void fixture_settle(struct fixture *f)
{
    for (int i = 0; i < 50 || (i < 5000 && uv_backend_timeout(&f->sv.loop) == 0); i++)
        fixture_turn(f);
}

/* Waits until the server's thread has looked up the user name of the connection (NULL: returns at
 * once). */
static inline void wait_for_name(struct fixture *f, const struct conn *c)
{
    int64_t until_ms = units_monotonic_ms() + FIXTURE_WAIT_MS;

    while (c != NULL && c->user == NULL) {
        assert_true(units_monotonic_ms() < until_ms);
        fixture_turn(f);
    }
}

/* Connects a peer that the server takes for a process of this uid; free it with peer_close.  The
 * server's end is NULL if the server did not let the peer in. */
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

/* Lets the server read until a small message can be sent without waiting. */
static inline void peer_make_room(struct peer *p)
{
    struct pollfd fd = { .fd = p->wire.fd, .events = POLLOUT };

    while (poll(&fd, 1, 0) == 0)
        fixture_turn(p->f);
}

/* Sends a request with this id (NULL: none); returns the message's seq. */
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

/* Sends a request, with a new id if its type changes something; returns the message's seq. */
static inline int64_t peer_send(struct peer *p, int type, const void *body)
{
    struct token id;

    token_make(&id);
    return peer_send_as(p, type, proto.messages[type].flags & CHANGES ? &id : NULL, body);
}

/* Reads a message that has arrived, without running the event loop.  Returns 1 with *m set, 0 if
 * the connection has ended, 2 if no whole message is there. */
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

/* Waits for the next message; returns its type, or -1 if the server has closed the connection.  The
 * body is decoded into *to unless that is NULL, and lives in the fixture's arena. */
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

/* Decodes the message's body into *to; its strings live in the fixture's arena. */
static inline void read_body(struct peer *p, const struct envelope *m, void *to)
{
    struct err e = { 0 };

    if (message_body(&proto, m, p->f->arena, to, &e) < 0)
        fail_msg("%s", e.text);
}

/* Waits for the next message, which must have this type; decodes its body into *to unless NULL. */
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

/* Sends a request and waits for its reply, which must have the type that the protocol says. */
static inline void peer_ask(struct peer *p, int type, const void *body, void *answer)
{
    peer_send(p, type, body);
    peer_expect(p, proto.messages[type].reply, answer);
}

/* Sends a request that must be refused with this kind of error; returns the error's text, which
 * lives in the fixture's arena. */
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

/* Connects a client of another user, called "userUID". */
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

/* Connects and registers a worker of this uid on the node; own_jobs_only: it takes only the jobs of
 * its own user. */
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

/* Sends one report and waits for its verdict. */
static inline void worker_report(struct peer *p, struct report r)
{
    struct msg_report report = { .reports = { &r, 1 } };
    int64_t re = peer_send(p, MSG_REPORT, &report);
    struct envelope m;

    /* Other messages, such as a hand with new jobs, may come before the reply. */
    do
        assert_true(peer_receive_any(p, &m) >= 0);
    while (m.re != re);
    assert_int_equal(m.type, MSG_VERDICTS);
}

/* Waits for the next hand and reports this outcome for each of its jobs; returns their number. */
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
    int64_t sent;        /* configurations */
    int64_t index;       /* of the next chunk */
    struct digest chain; /* of all chunks sent, see chain_after */
};

/* Returns a submit to the project: command `true`, 1 CPU, reps replications. */
static inline struct submit submit_of(const char *project, int64_t reps)
{
    struct submit s = { .begin = { .project = project, .reps = reps } };

    s.begin.work.command = "true";
    s.begin.work.resources.cpus_milli = 1000;
    s.begin.guard.off = true; /* many failed jobs must not make the server hold the rest */
    return s;
}

static inline void submit_begin(struct peer *p, struct submit *s)
{
    struct msg_submit_open open;

    peer_ask(p, MSG_SUBMIT_BEGIN, &s->begin, &open);
    s->sweep = open.sweep;
}

/* Appends the configurations {"x": first} ... {"x": last} as a msgpack list. */
static inline void add_configs(struct buf *out, int64_t first, int64_t last)
{
    mp_add_list(out, (size_t)(last - first + 1));
    for (int64_t x = first; x <= last; x++) {
        mp_add_map(out, 1);
        mp_add_str(out, "x", 1);
        mp_add_int(out, x);
    }
}

/* Returns SHA-256 of the digest before and the chunk's bytes, as the protocol wants it. */
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

/* Sends a chunk of n configurations. */
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

/* Sends a chunk with the configurations {"x": first} ... {"x": last}. */
static inline void submit_chunk(struct peer *p, struct submit *s, int64_t first, int64_t last)
{
    struct buf configs = { 0 };

    add_configs(&configs, first, last);
    submit_bytes(p, s, buf_bytes(&configs), last - first + 1);
    buf_free(&configs);
}

/* Returns the message that ends the submit. */
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

/* Submits the configurations {"x": first} ... {"x": last} in one chunk, from begin to end. */
static inline struct msg_submitted submit_all(struct peer *p, struct submit s, int64_t first,
                                              int64_t last)
{
    submit_begin(p, &s);
    submit_chunk(p, &s, first, last);
    return submit_end(p, &s);
}

#endif
