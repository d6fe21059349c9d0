/* SPDX-License-Identifier: MIT */
/* file_conn.c - one connection made of files: what came is passed on, what is answered is put out */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "server/conn/conn.h"
#include "server/inbox/inbox_internal.h"

enum {
    READ_BYTES = 64 * 1024,
    DOWN_MAX_BYTES = 1024 * 1024, /* read of ludwigd's answers, and in no file yet */
    /* An acknowledgement waits for an answer to travel with, unless much waits for it. */
    ACK_MAX_MS = 20,
    ACK_MAX_BYTES = 1024 * 1024,
    ACK_MAX_PARCELS = 8,
    AFTER_END_MS = 30 * 1000, /* for the client to read the last words */
    PUTS_MAX = 8              /* in one visit */
};

struct file_conn {
    struct inbox *in;
    struct box *box;
    struct file_conn *next;
    struct token token;
    uv_poll_t *poll; /* of our end of the socket pair; frees itself */
    int fd;
    int events; /* that are waited for */

    /* Theirs: up to which they are read, passed on, and acknowledged. */
    int64_t read, passed, told;
    size_t sizes[PARCEL_WINDOW]; /* what is left of those read and not passed on, by seq */
    size_t untold_bytes;
    struct buf up; /* read and not passed on */
    bool has_up_end, is_shut;

    /* Ours: put, safely in the outbox, acknowledged, removed. */
    int64_t put, there, acked, dropped;
    size_t put_sizes[PARCEL_WINDOW];
    size_t unacked_bytes;
    struct buf down; /* answered and not put */
    bool has_down_end, has_put_end;

    uint64_t heard_ms; /* when the client last put something */
    uint64_t ack_ms;   /* when an acknowledgement goes alone; 0: none is owed */
    uint64_t over_ms;  /* when its traces are removed; 0: it lives */
    bool wants_reset, has_put_reset, is_buried;
};

/* ---- its end ---- */

static void free_poll(uv_handle_t *handle)
{
    free(handle);
}

static void let_go(struct file_conn *v)
{
    if (v->poll == NULL)
        return;
    uv_close((uv_handle_t *)v->poll, free_poll);
    close(v->fd);
    v->poll = NULL;
    v->fd = -1;
}

/* linger: how long its answers are kept for the client to find. */
static void end(struct file_conn *v, uint64_t linger_ms)
{
    if (v->over_ms != 0)
        return;
    let_go(v);
    buf_free(&v->up);
    buf_free(&v->down);
    v->ack_ms = 0;
    v->over_ms = inbox_now(v->in) + linger_ms;
    v->box->n_over++;
}

static void reset(struct file_conn *v, const char *why)
{
    char hex[TOKEN_HEX];

    if (v->over_ms != 0)
        return;
    token_hex(&v->token, hex);
    hex[8] = '\0'; /* enough to tell it from others */
    log_event(LOG_INFO, "inbox-reset", "uid", "%lld", (long long)v->box->uid, "conn", "%s", hex,
              "why", "%s", why, NULL);
    v->wants_reset = true;
    end(v, PARCEL_STALE_MS);
    inbox_queue(v->box);
}

/* ---- towards the dispatcher ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void wait_for_events(struct file_conn *v)
{
    int events = (v->has_down_end || v->down.n > DOWN_MAX_BYTES ? 0 : UV_READABLE) |
                 (v->up.n > 0 ? UV_WRITABLE : 0);

    if (v->poll == NULL || events == v->events)
        return;
    v->events = events;
    if (events == 0)
        uv_poll_stop(v->poll);
    else
        uv_poll_start(v->poll, events, on_poll);
}

static void owe_ack(struct file_conn *v)
{
    if (v->ack_ms == 0)
        v->ack_ms = inbox_now(v->in) + ACK_MAX_MS;
    if (v->passed - v->told >= ACK_MAX_PARCELS || v->untold_bytes >= ACK_MAX_BYTES) {
        v->ack_ms = inbox_now(v->in);
        inbox_queue(v->box);
    }
}

/* n bytes of what was read are passed on; parcels without data are, when those before them are. */
static void count_passed(struct file_conn *v, size_t n)
{
    v->untold_bytes += n;
    while (v->passed < v->read) {
        size_t *size = &v->sizes[v->passed % PARCEL_WINDOW];

        if (*size > n) {
            *size -= n;
            break;
        }
        n -= *size;
        v->passed++;
    }
    if (v->passed > v->told)
        owe_ack(v);
}

static void pass_on(struct file_conn *v)
{
    size_t passed = 0;

    while (v->up.n > passed) {
        ssize_t n =
            send(v->fd, v->up.bytes + passed, v->up.n - passed, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            passed = v->up.n; /* the dispatcher has closed it: nobody wants it any more */
        if (n <= 0)
            break;
        passed += (size_t)n;
    }
    buf_drop_front(&v->up, passed);
    count_passed(v, passed);
    if (v->has_up_end && v->up.n == 0 && !v->is_shut) {
        v->is_shut = true;
        (void)shutdown(v->fd, SHUT_WR);
    }
}

static void take_answers(struct file_conn *v)
{
    while (!v->has_down_end && v->down.n <= DOWN_MAX_BYTES) {
        ssize_t n = recv(v->fd, buf_reserve(&v->down, READ_BYTES), READ_BYTES, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            v->has_down_end = true;
        else
            buf_added(&v->down, (size_t)n);
    }
    if (v->down.n > 0 || v->has_down_end)
        inbox_queue(v->box);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct file_conn *v = poll->data;

    if (status < 0 || (events & UV_READABLE) != 0)
        take_answers(v);
    if ((events & UV_WRITABLE) != 0)
        pass_on(v);
    wait_for_events(v);
    inbox_pump(v->in);
}

/* ---- beginning ---- */

static struct file_conn *add(struct box *b, const struct token *token)
{
    struct file_conn *v = mem_alloc(sizeof *v), **at = &b->vconns;

    v->in = b->in;
    v->box = b;
    v->token = *token;
    v->fd = -1;
    v->heard_ms = inbox_now(b->in);
    while (*at != NULL)
        at = &(*at)->next; /* the oldest first */
    *at = v;
    b->n_vconns++;
    inbox_activate(b);
    return v;
}

static int connect_it(struct file_conn *v, struct err *e)
{
    int ends[2], rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return err_sys(e, "socketpair");
    /* Who is turned away reads why. */
    if (conn_add_as(v->in->sv, ends[0], v->box->uid, e) == NULL)
        log_event(LOG_WARN, "turned-away", "why", "%s", e->text, NULL);
    v->fd = ends[1];
    v->poll = mem_alloc(sizeof *v->poll);
    rc = uv_poll_init(&v->in->sv->loop, v->poll, v->fd);
    if (rc < 0) {
        free(v->poll);
        v->poll = NULL;
        close(v->fd);
        return err_set(e, ERR_FAILED, "inbox: %s", uv_strerror(rc));
    }
    v->poll->data = v;
    wait_for_events(v);
    return 0;
}

struct file_conn *file_conn_open(struct box *b, const struct token *token)
{
    struct file_conn *v = add(b, token);
    struct err e = { 0 };

    if (connect_it(v, &e) < 0)
        reset(v, e.text);
    return v;
}

void file_conn_refuse(struct box *b, const struct token *token)
{
    reset(add(b, token), "it is of no connection known here");
}

struct file_conn *file_conn_find(const struct box *b, const struct token *token)
{
    struct file_conn *v = b->vconns;

    while (v != NULL && !token_equal(&v->token, token))
        v = v->next;
    return v;
}

struct file_conn *file_conn_next(struct file_conn *v)
{
    return v->next;
}

void file_conn_make_known(const struct file_conn *v, struct round *r)
{
    round_add_known(r, &v->token);
}

/* ---- after a visit ---- */

static int take_ack(struct file_conn *v, int64_t ack)
{
    if (ack < v->acked || ack > v->there)
        return -1;
    for (; v->acked < ack; v->acked++)
        v->unacked_bytes -= v->put_sizes[v->acked % PARCEL_WINDOW];
    return 0;
}

static void take_one(struct file_conn *v, const struct parcel *p)
{
    if (take_ack(v, p->ack) < 0) {
        reset(v, "it acknowledges what it cannot have got");
        return;
    }
    v->sizes[v->read % PARCEL_WINDOW] = p->data.n;
    v->read++;
    buf_add(&v->up, p->data.data, p->data.n);
    v->has_up_end = p->end == PARCEL_END;
}

void file_conn_take(struct file_conn *v, const struct round_conn *c)
{
    if (v->over_ms != 0)
        return;
    if (c->n_got > 0)
        v->heard_ms = inbox_now(v->in);
    for (size_t i = 0; i < c->n_got && !v->has_up_end && v->over_ms == 0; i++)
        take_one(v, &c->got[i]);
    if (c->is_bad && !v->has_up_end)
        reset(v, c->why.text);
    if (v->over_ms != 0)
        return;
    pass_on(v);
    wait_for_events(v);
}

void file_conn_took_put(struct file_conn *v, const struct round_put *p)
{
    if (v->over_ms != 0)
        return;
    if (p->has_failed)
        reset(v, "an answer could not be written");
    else
        v->there++;
    if (v->has_put_end && v->there == v->put)
        end(v, AFTER_END_MS);
}

/* ---- before a visit ---- */

static void add_put(struct file_conn *v, struct round *r, size_t n, int end_of_it)
{
    struct round_put *put = round_add_put(r, v);
    struct parcel p = { .v = PARCEL_VERSION,
                        .server = r->server_id,
                        .incarnation = r->incarnation,
                        .conn = v->token,
                        .seq = v->put,
                        .ack = v->passed,
                        .data = { v->down.bytes, n },
                        .end = end_of_it };

    parcel_outbox_name(put->name, v->box->uid, &v->token, v->put);
    parcel_encode(&p, &put->content);
    buf_drop_front(&v->down, n);
    v->put_sizes[v->put % PARCEL_WINDOW] = n;
    v->unacked_bytes += n;
    v->put++;
    v->told = v->passed;
    v->untold_bytes = 0;
    v->ack_ms = 0;
    v->has_put_end = end_of_it == PARCEL_END;
}

static bool has_window(const struct file_conn *v)
{
    return v->put - v->acked < PARCEL_WINDOW - PARCEL_RESERVE &&
           v->unacked_bytes < PARCEL_WINDOW_BYTES;
}

static void add_puts(struct file_conn *v, struct round *r)
{
    for (int i = 0; i < PUTS_MAX && !v->has_put_end && has_window(v); i++) {
        size_t n = v->down.n < PARCEL_DATA_MAX ? v->down.n : PARCEL_DATA_MAX;
        bool is_last = v->has_down_end && n == v->down.n;

        if (n == 0 && !is_last)
            break;
        add_put(v, r, n, is_last ? PARCEL_END : PARCEL_GOES_ON);
    }
    if (v->ack_ms != 0 && v->ack_ms <= inbox_now(v->in) && !v->has_put_end &&
        v->put - v->acked < PARCEL_WINDOW)
        add_put(v, r, 0, PARCEL_GOES_ON);
    wait_for_events(v);
}

static void add_reset(struct file_conn *v, struct round *r)
{
    struct round_put *put = round_add_put(r, v);
    struct parcel p = { .v = PARCEL_VERSION,
                        .server = r->server_id,
                        .incarnation = r->incarnation,
                        .conn = v->token,
                        .end = PARCEL_RESET };

    parcel_outbox_name(put->name, v->box->uid, &v->token, -1);
    parcel_encode(&p, &put->content);
    v->has_put_reset = true;
}

/* All it may have left, in both folders. */
static void add_burial(struct file_conn *v, struct round *r)
{
    int64_t first = v->read > PARCEL_WINDOW ? v->read - PARCEL_WINDOW : 0;

    for (; v->dropped < v->put; v->dropped++)
        parcel_outbox_name(round_add_out_drop(r), v->box->uid, &v->token, v->dropped);
    if (v->has_put_reset)
        parcel_outbox_name(round_add_out_drop(r), v->box->uid, &v->token, -1);
    for (int64_t seq = first; seq < v->read + PARCEL_WINDOW; seq++)
        parcel_inbox_name(round_add_in_drop(r), &v->token, seq);
    v->is_buried = true;
}

void file_conn_fill(struct file_conn *v, struct round *r)
{
    if (v->over_ms == 0) {
        size_t behind = (size_t)(v->read - v->passed);

        add_puts(v, r);
        for (; v->dropped < v->acked; v->dropped++)
            parcel_outbox_name(round_add_out_drop(r), v->box->uid, &v->token, v->dropped);
        if (!v->has_up_end && behind < PARCEL_WINDOW && v->up.n <= PARCEL_WINDOW_BYTES)
            round_add_conn(r, &v->token, v, v->read, PARCEL_WINDOW - behind);
    } else if (v->over_ms <= inbox_now(v->in) || v->box->n_over > INBOX_OVER_MAX) {
        add_burial(v, r);
        v->box->n_over--;
    } else if (v->wants_reset && !v->has_put_reset) {
        add_reset(v, r);
    }
}

/* ---- the clock ---- */

uint64_t file_conn_tick(struct file_conn *v)
{
    uint64_t now = inbox_now(v->in), next = v->over_ms;

    if (v->over_ms == 0) {
        next = v->heard_ms + PARCEL_SILENCE_MAX_MS;
        if (next <= now)
            reset(v, "it has been silent for too long");
        if (v->ack_ms != 0 && v->ack_ms < next)
            next = v->ack_ms;
    }
    if (next <= now)
        inbox_queue(v->box);
    return next;
}

static void remember_dead(struct box *b, const struct token *token)
{
    if (b->dead == NULL)
        b->dead = mem_alloc(INBOX_DEAD_MAX * sizeof *b->dead);
    b->dead[b->n_dead++ % INBOX_DEAD_MAX] = *token;
}

bool box_has_dead(const struct box *b, const struct token *token)
{
    size_t n = b->n_dead < INBOX_DEAD_MAX ? b->n_dead : INBOX_DEAD_MAX;

    for (size_t i = 0; i < n; i++)
        if (token_equal(&b->dead[i], token))
            return true;
    return false;
}

void file_conn_bury(struct box *b)
{
    struct file_conn **at = &b->vconns;

    while (*at != NULL) {
        struct file_conn *v = *at;

        if (!v->is_buried) {
            at = &v->next;
            continue;
        }
        *at = v->next;
        b->n_vconns--;
        remember_dead(b, &v->token);
        free(v);
    }
}

/* ---- the end of ludwigd ---- */

/* Beyond the window too: there will be no other moment. */
void file_conn_part(struct file_conn *v)
{
    struct round r = { .dirs = &v->in->dirs,
                       .server_id = v->in->sv->server_id,
                       .incarnation = v->in->sv->incarnation,
                       .uid = v->box->uid };

    if (v->over_ms == 0) {
        v->has_down_end = false;
        take_answers(v);
        while (v->down.n > PARCEL_DATA_MAX)
            add_put(v, &r, PARCEL_DATA_MAX, PARCEL_GOES_ON);
        if (!v->has_put_end)
            add_put(v, &r, v->down.n, PARCEL_END);
        let_go(v);
    }
    for (size_t i = 0; i < r.n_puts; i++)
        (void)inbox_dir_put(r.dirs, r.uid, r.puts[i].name, buf_bytes(&r.puts[i].content), NULL);
    round_free(&r);
    buf_free(&v->up);
    buf_free(&v->down);
    free(v);
}
