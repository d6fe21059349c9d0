/* SPDX-License-Identifier: MIT */
/* conn.c - connections, in the order of their numbers */
#include "server/conn/conn.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/proto/proto.h"
#include "server/base/identity.h"
#include "server/base/server.h"
#include "server/base/turn.h"
#include "server/conn/conn_user.h"
#include "server/conn/user_names.h"

enum { LOOK_EVERY_MS = 500 };

struct conns {
    struct server *sv;
    struct conn **items; /* by number, which only grows */
    size_t n, capacity;
    struct conn **dead; /* closed connections, which callers up the stack may still look at */
    size_t n_dead, dead_capacity;
    int64_t last_number;
    struct conn_users *users;
    uv_timer_t *clock; /* runs while on_clock may have to cut a peer off; freed when closed */
    uv_timer_t *rest;  /* ends when the first user may make another change; freed when closed */
    const struct conns_events *events;
};

/* ---- finding ---- */

/* The index of the first connection with a larger number. */
static size_t index_after(const struct conns *l, int64_t number)
{
    size_t low = 0;
    size_t high = l->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->items[middle]->number > number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct conn *conn_after(struct server *sv, int64_t number)
{
    size_t i = index_after(sv->conns, number);

    return i < sv->conns->n ? sv->conns->items[i] : NULL;
}

struct conn *conn_find(struct server *sv, int64_t number)
{
    struct conn *c = conn_after(sv, number - 1);

    return c != NULL && c->number == number ? c : NULL;
}

struct conn *conn_of_worker(struct server *sv, int64_t worker)
{
    struct conns *l = sv->conns;

    for (size_t i = 0; i < l->n; i++)
        if (l->items[i]->worker == worker && worker != 0)
            return l->items[i];
    return NULL;
}

size_t conn_count(struct server *sv)
{
    return sv->conns->n;
}

bool conn_has_room(const struct conn *c)
{
    return !c->is_ending && chan_queued_bytes(c->chan) + c->pending_bytes <= CONN_PUSH_MARK;
}

/* ---- turns ---- */

/* How long the connection has to wait, as its user has made too many changes. */
static uint64_t rests_ms(const struct conn *c)
{
    if (c->is_preferred || c->unfinished != NULL)
        return 0;
    return conn_user_rests_ms(c->shared, c->sv->conf.changes_per_second, uv_now(&c->sv->loop));
}

static bool has_something_to_do(const struct conn *c)
{
    return c->user != NULL && !c->is_waiting && (c->unfinished != NULL || chan_has_next(c->chan)) &&
           conn_has_room(c);
}

bool conn_is_ready(const struct conn *c)
{
    return has_something_to_do(c) && rests_ms(c) == 0;
}

static bool goes_before(const struct conn *c, const struct conn *other)
{
    int64_t own = c->has_own_turn ? c->served : c->shared->served;
    int64_t its = other->has_own_turn ? other->served : other->shared->served;

    return own != its ? own < its : c->served < other->served;
}

struct conn *conn_next(struct server *sv)
{
    struct conns *l = sv->conns;
    struct conn *next = NULL;

    for (size_t i = 0; i < l->n; i++)
        if ((next == NULL || goes_before(l->items[i], next)) && conn_is_ready(l->items[i]))
            next = l->items[i];
    if (next == NULL)
        return NULL;
    next->served = conn_users_next(l->users);
    if (!next->has_own_turn)
        next->shared->served = next->served;
    return next;
}

void conn_changes(struct conn *c)
{
    if (!c->is_preferred && c->sv->conf.changes_per_second > 0)
        conn_user_changes(c->shared, c->sv->conf.changes_per_second, uv_now(&c->sv->loop));
}

static void on_rested(uv_timer_t *timer)
{
    struct conns *l = timer->data;

    turn_wake(l->sv->turn);
}

/* ---- callbacks of channels ---- */

static void on_readable(void *context, struct chan *chan)
{
    struct conn *c = context;

    (void)chan;
    turn_wake(c->sv->turn);
}

static void on_closed(void *context, struct chan *chan, const struct err *why)
{
    struct conn *c = context;

    (void)chan;
    conn_close(c->sv, c, why->kind == ERR_NONE ? "the end" : why->text);
}

static void on_growing(void *context, struct chan *chan);

static const struct chan_events chan_events = { on_readable, on_readable, on_closed, on_growing };

/* Tells a peer why, and ends the connection. */
static void cut_off(struct conn *c, const struct err *why)
{
    struct msg_error body = { (int)why->kind, why->text };

    (void)chan_send(c->chan, MSG_ERROR, 0, NULL, &body, NULL); /* fails where the peer is gone */
    conn_end(c);
}

/* ---- memory: bytes that wait on all connections of a user ---- */

static void count_waiting(struct conn *c)
{
    size_t n = chan_input_bytes(c->chan) + chan_queued_bytes(c->chan) + c->unfinished_bytes;

    c->shared->waiting_bytes += n;
    c->shared->waiting_bytes -= c->waiting_bytes;
    c->waiting_bytes = n;
}

/* Whether to cut it off, as its user is over the limit: one that holds little is not the reason. */
static bool takes_too_much(const struct conn *c)
{
    int64_t most = c->sv->conf.buffered_bytes;

    return most > 0 && !c->is_preferred && !c->is_ending && c->waiting_bytes > CONN_HELLO_MAX &&
           c->shared->waiting_bytes > (size_t)most;
}

static void refuse_more(struct conn *c)
{
    static struct log_brake limit;
    struct err e = { 0 };

    if (log_may(&limit, "too-much-waits"))
        log_event(LOG_WARN, "too-much-waits", "uid", "%lld", (long long)c->uid, "conn", "%lld",
                  (long long)c->number, NULL);
    if (chan_queued_bytes(c->chan) > CONN_HELLO_MAX) { /* the peer would not read why */
        conn_close(c->sv, c, "its user does not read what was asked for");
        return;
    }
    err_set(&e, ERR_BUSY,
            "%zu MiB of your messages wait, and one user may have %" PRId64
            " MiB (limits: buffered in ludwigd.yaml); send fewer at once, or ask an admin for more",
            c->shared->waiting_bytes >> 20, c->sv->conf.buffered_bytes >> 20);
    cut_off(c, &e);
    count_waiting(c);
}

static void on_growing(void *context, struct chan *chan)
{
    struct conn *c = context;

    (void)chan;
    count_waiting(c);
    if (takes_too_much(c))
        refuse_more(c);
}

/* ---- the clock: peers that do not say hello, or do not read why they are cut off ---- */

/* Whether no hello came in time.  A message that waits to be handled counts as said. */
static bool is_silent(const struct conn *c, uint64_t now)
{
    return !c->greeted && !c->is_ending && c->user != NULL && c->hello_by_ms <= now &&
           c->unfinished == NULL && !chan_has_next(c->chan);
}

static void on_clock(uv_timer_t *timer)
{
    static struct log_brake limit;
    struct conns *l = timer->data;
    uint64_t now = uv_now(&l->sv->loop);
    bool any_left = false;
    struct conn *c;

    for (c = conn_after(l->sv, 0); c != NULL; c = conn_after(l->sv, c->number)) {
        struct err e = { 0 };

        if (c->is_finished && c->ends_ms <= now) {
            conn_close(l->sv, c, "it does not read");
            continue;
        }
        any_left |= c->is_finished || !c->greeted;
        if (!is_silent(c, now))
            continue;
        /* If ludwigd itself stood still, the peer's hello may lie in the socket. */
        if (!c->is_overdue) {
            c->is_overdue = true;
            continue;
        }
        if (log_may(&limit, "no-hello"))
            log_event(LOG_WARN, "no-hello", "uid", "%lld", (long long)c->uid, "after_s", "%d",
                      CONN_HELLO_MS / 1000, NULL);
        err_set(&e, ERR_PROTOCOL, "no hello came within %d s; connect again", CONN_HELLO_MS / 1000);
        cut_off(c, &e);
    }
    if (!any_left)
        uv_timer_stop(timer);
}

static void start_clock(struct conns *l)
{
    if (!uv_is_active((uv_handle_t *)l->clock))
        uv_timer_start(l->clock, on_clock, LOOK_EVERY_MS, LOOK_EVERY_MS);
}

/* ---- new connections ---- */

/* Tells a peer why it is not let in, if its socket takes that at once; closes fd.  Returns NULL. */
static struct conn *turn_away(int fd, const struct err *why)
{
    struct msg_error refusal = { (int)why->kind, why->text };
    struct buf out = { 0 };

    if (message_add(&out, &proto, MSG_ERROR, 1, 0, NULL, &refusal, NULL) == 0 &&
        send(fd, out.bytes, out.n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_event(LOG_DEBUG, "not-told", "why", "%s", why->text, NULL);
    buf_free(&out);
    close(fd);
    return NULL;
}

static bool needs_no_account(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

/* Checks that there is a place for a connection, or for c, which took one before its name was
 * known and is not counted.  ERR_BUSY: there is none. */
static int find_place(const struct conns *l, const struct conn *c, uid_t uid, bool is_preferred,
                      bool is_named, struct err *e)
{
    size_t n_all = 0, n_own = 0, n_ordinary = 0;
    size_t max = CONN_MAX - CONN_RESERVED + (is_named ? 0 : CONN_UNNAMED_MAX);

    for (size_t i = 0; i < l->n; i++) {
        n_all += l->items[i] != c;
        n_own += l->items[i] != c && l->items[i]->uid == uid;
        n_ordinary += l->items[i] != c && !l->items[i]->is_preferred;
    }
    if (n_all >= CONN_MAX || (!is_preferred && n_ordinary >= max))
        return err_set(e, ERR_BUSY,
                       "ludwigd has %zu connections already (it takes %d, %d of them for root,"
                       " admins and worker_users alone); try later",
                       n_all, CONN_MAX, CONN_RESERVED);
    if (n_own >= CONN_PER_UID_MAX)
        return err_set(e, ERR_BUSY, "you have %d connections already; close some, or try later",
                       CONN_PER_UID_MAX);
    return 0;
}

static void set_name(struct conn *c, const char *name)
{
    const struct conf *conf = &c->sv->conf;
    struct err e = { 0 };

    c->user = mem_strdup(name);
    c->is_admin = identity_is_admin(conf, c->uid, name);
    c->is_preferred = c->is_admin || identity_is_worker_user(conf, name);
    c->hello_by_ms = uv_now(&c->sv->loop) + CONN_HELLO_MS;
    log_event(LOG_DEBUG, "connected", "conn", "%lld", (long long)c->number, "user", "%s", name,
              NULL);
    if (name[0] == '#' && !needs_no_account(c->uid))
        err_set(&e, ERR_DENIED,
                "uid %u has no account on ludwigd's machine, or its directory of users does not"
                " answer; ludwigd serves accounts alone (`getent passwd %u` must know it)",
                c->uid, c->uid);
    else if (find_place(c->sv->conns, c, c->uid, c->is_preferred, true, &e) == 0)
        return;
    cut_off(c, &e);
}

void conns_named(struct server *sv, uid_t uid, const char *name)
{
    struct conns *l = sv->conns;

    for (size_t i = 0; i < l->n; i++)
        if (l->items[i]->user == NULL && l->items[i]->uid == uid)
            set_name(l->items[i], name);
    turn_wake(sv->turn);
}

struct conn *conn_add_as(struct server *sv, int fd, uid_t uid, struct err *e)
{
    struct conns *l = sv->conns;
    const char *name;
    struct conn *c;
    int rc = 0;

    if (!identity_is_known(uid))
        rc = err_set(e, ERR_DENIED, "the kernel cannot say who you are (uid %u)", uid);
    else if (sv->is_leaving)
        rc = err_set(e, ERR_UNREACHABLE, "ludwigd is being stopped");
    else
        rc = find_place(l, NULL, uid, needs_no_account(uid), false, e);
    if (rc < 0)
        return turn_away(fd, e);
    c = mem_alloc(sizeof *c);
    c->chan = chan_create(&sv->loop, fd, &proto, &chan_events, c, CONN_QUEUED_MAX, e);
    if (c->chan == NULL) {
        free(c);
        return NULL;
    }
    chan_limit_frames(c->chan, CONN_HELLO_MAX);
    c->sv = sv;
    c->uid = uid;
    c->is_preferred = needs_no_account(uid);
    c->shared = conn_users_join(l->users, uid, sv->conf.changes_per_second, uv_now(&sv->loop));
    c->number = ++l->last_number;
    mem_grow((void **)&l->items, &l->capacity, l->n, sizeof(struct conn *));
    l->items[l->n++] = c;
    name = user_names_get(sv->names, uid);
    if (name != NULL)
        set_name(c, name);
    start_clock(l);
    return c;
}

struct conn *conn_add(struct server *sv, int fd, uid_t only, const char *only_name, struct err *e)
{
    struct groups groups = { 0 };
    struct ucred peer = { 0 };
    socklen_t n = sizeof peer;
    struct conn *c;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0) {
        err_sys(e, "ask the kernel who connected");
        return turn_away(fd, e);
    }
    if (only_name != NULL && peer.uid != only) {
        err_set(e, ERR_DENIED, "this socket is for %s alone", only_name);
        return turn_away(fd, e);
    }
    c = conn_add_as(sv, fd, peer.uid, e);
    sv->conns->events->met(sv, peer.uid);
    if (c != NULL && identity_peer_groups(fd, peer.gid, &groups) == 0) {
        c->groups = groups;
        c->has_groups = true;
    }
    return c;
}

/* ---- closing ---- */

void conn_close(struct server *sv, struct conn *c, const char *why)
{
    struct conns *l = sv->conns;

    if (conn_find(sv, c->number) != c)
        return;
    log_event(LOG_DEBUG, "closed", "conn", "%lld", (long long)c->number, "user", "%s", c->user,
              "why", "%s", why, NULL);
    for (size_t i = index_after(l, c->number); i < l->n; i++)
        l->items[i - 1] = l->items[i];
    l->n--;
    c->shared->waiting_bytes -= c->waiting_bytes;
    conn_users_leave(c->shared);
    mem_grow((void **)&l->dead, &l->dead_capacity, l->n_dead, sizeof(struct conn *));
    l->dead[l->n_dead++] = c;
    chan_destroy(c->chan);
    l->events->closed(sv, c);
    turn_wake(sv->turn);
}

void conns_bury(struct server *sv)
{
    struct conns *l = sv->conns;

    while (l->n_dead > 0) {
        struct conn *c = l->dead[--l->n_dead];

        free(c->known_as);
        free(c->groups.items);
        free(c->user);
        arena_destroy(c->claims);
        free(c->gpu_use);
        cached_trees_free(&c->holdings);
        for (size_t i = 0; i < c->n_lacks; i++)
            free(c->lacks[i].what);
        free(c->lacks);
        free(c);
    }
}

void conn_end(struct conn *c)
{
    c->is_ending = true;
    chan_drop_input(c->chan);
    turn_wake(c->sv->turn);
}

void conn_end_all(struct server *sv)
{
    for (size_t i = 0; i < sv->conns->n; i++)
        conn_end(sv->conns->items[i]);
}

void conns_settle(struct server *sv)
{
    struct conns *l = sv->conns;
    uint64_t rest_ms = UINT64_MAX;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        uint64_t own_rest_ms = has_something_to_do(c) ? rests_ms(c) : 0;

        c->pending_bytes = 0;
        if (own_rest_ms > 0 && own_rest_ms < rest_ms)
            rest_ms = own_rest_ms;
        count_waiting(c);
        if (takes_too_much(c))
            refuse_more(c);
        if (!c->is_ending || c->is_finished)
            continue;
        c->is_finished = true;
        c->ends_ms = uv_now(&sv->loop) + CONN_LINGER_MS;
        chan_finish(c->chan);
        start_clock(l);
    }
    if (rest_ms < UINT64_MAX)
        uv_timer_start(l->rest, on_rested, rest_ms, 0);
}

/* ---- messages to the peer ---- */

/* A message that is sent once the turn is committed. */
struct promised {
    int64_t conn;
    int type;
    int64_t re;
    struct buf body;
};

static void drop_promised(void *context)
{
    struct promised *m = context;

    buf_free(&m->body);
    free(m);
}

static void send_promised(struct server *sv, void *context)
{
    const struct promised *m = context;
    struct conn *c = conn_find(sv, m->conn);
    struct err e = { 0 };

    if (c != NULL && chan_send_encoded(c->chan, m->type, m->re, buf_bytes(&m->body), &e) < 0) {
        /* The commit promised this message: a peer that missed it has to connect anew. */
        log_event(LOG_DEBUG, "not-sent", "conn", "%lld", (long long)m->conn, "message", "%s",
                  proto.messages[m->type].name, "why", "%s", e.text, NULL);
        conn_end(c);
    }
    drop_promised(context);
}

void conn_answer(struct conn *c, int type, int64_t re, struct buf *body)
{
    struct promised *m = mem_alloc(sizeof *m);

    *m = (struct promised){ c->number, type, re, *body };
    *body = (struct buf){ 0 };
    c->pending_bytes += m->body.n;
    turn_after_with(c->sv, send_promised, drop_promised, m);
}

void conn_send(struct server *sv, int64_t conn, int type, const void *body)
{
    struct conn *c = conn_find(sv, conn);
    struct buf encoded = { 0 };

    if (c == NULL)
        return;
    schema_encode(proto.messages[type].schema, body, &encoded);
    conn_answer(c, type, 0, &encoded);
}

void conn_retire(struct server *sv, struct conn *c, const char *reason)
{
    struct msg_retire m = { reason };

    if (c->is_retiring)
        return;
    c->is_retiring = true;
    conn_send(sv, c->number, MSG_RETIRE, &m);
}

/* ---- all connections ---- */

struct conns *conns_create(struct server *sv, const struct conns_events *events)
{
    struct conns *l = mem_alloc(sizeof *l);

    l->sv = sv;
    l->events = events;
    l->clock = mem_alloc(sizeof *l->clock);
    uv_timer_init(&sv->loop, l->clock);
    l->rest = mem_alloc(sizeof *l->rest);
    uv_timer_init(&sv->loop, l->rest);
    l->clock->data = l->rest->data = l;
    l->users = conn_users_create();
    return l;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void conns_destroy(struct conns *l)
{
    if (l == NULL)
        return;
    while (l->n > 0)
        conn_close(l->sv, l->items[l->n - 1], "ludwigd ends");
    conns_bury(l->sv);
    uv_close((uv_handle_t *)l->clock, free_handle);
    uv_close((uv_handle_t *)l->rest, free_handle);
    conn_users_destroy(l->users);
    free(l->items);
    free(l->dead);
    free(l);
}

/* ---- a worker's registration ---- */

static struct list copy_texts(const struct list *texts, struct arena *a)
{
    const char *const *items = texts->items;
    const char **own = arena_alloc(a, texts->n * sizeof *own);

    for (size_t i = 0; i < texts->n; i++)
        own[i] = arena_strdup(a, items[i]);
    return (struct list){ own, texts->n };
}

void conn_keep_claims(struct conn *c, const struct msg_register *r)
{
    const struct refusal *refused = r->refused.items;
    struct arena *a = arena_create();
    struct refusal *own_refused = arena_alloc(a, r->refused.n * sizeof *own_refused);

    for (size_t i = 0; i < r->refused.n; i++)
        own_refused[i] = (struct refusal){ arena_strdup(a, refused[i].user),
                                           arena_strdup(a, refused[i].reason) };
    arena_destroy(c->claims);
    c->claims = a;
    c->gpu_models = copy_texts(&r->gpu_models, a);
    c->gpus_unused = copy_texts(&r->gpus_unused, a);
    c->refused = (struct list){ own_refused, r->refused.n };
    c->boot_id = arena_strdup(a, r->boot_id);
}

const char *conn_refusal(const struct conn *c, const char *user)
{
    const struct refusal *all = c->refused.items;

    for (size_t i = 0; i < c->refused.n; i++)
        if (all[i].user[0] == '\0' || strcmp(all[i].user, user) == 0)
            return all[i].reason;
    return NULL;
}
