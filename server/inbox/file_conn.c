/* SPDX-License-Identifier: MIT */
/* file_conn.c - a connection made of files: requests are passed on, answers become replies */
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
    UP_MAX_BYTES = FILE_REQUEST_MAX_BYTES,
    DOWN_MAX_BYTES = FILE_REQUEST_DATA_MAX, /* read from the dispatcher, and in no reply yet */
    AFTER_END_MS = 30 * 1000,               /* time for the client to read the last reply */
    AFTER_FAILURE_MS = 10 * 60 * 1000       /* the same after give_up: it may have been suspended */
};

struct file_conn {
    struct inbox *in;
    struct box *box;
    struct file_conn *next;
    struct token token;
    uv_poll_t *poll; /* of fd; freed when closed; NULL: the connection has ended */
    int fd;          /* the inbox's end of the socket pair */
    int events;      /* for which poll waits */

    int64_t n_read;    /* requests read */
    int64_t n_replied; /* replies made; at most FILE_REQUEST_AHEAD fewer than requests read */
    int64_t n_dropped; /* replies removed again */
    struct buf up;     /* bytes of requests that the dispatcher has not taken yet */
    struct buf down;   /* bytes from the dispatcher that are in no reply yet */
    bool has_up_end, is_shut, has_down_end; /* client has ended; passed on; dispatcher has ended */
    bool has_last;                          /* the last reply is made */

    uint64_t
        since_ms; /* when a request was read last, or the last one that was held was replied to */
    uint64_t over_ms; /* the connection has ended, and its files are removed then; 0: it lives */
    char *why;        /* why the connection was given up; NULL: it was not */
    bool is_buried;
};

/* ---- the whole inbox ---- */

uint64_t inbox_now(const struct inbox *in)
{
    return uv_now(&in->sv->loop);
}

void inbox_wake(struct inbox *in)
{
    uv_timer_start(in->timer, in->on_timer, 0, 0);
}

void inbox_queue(struct box *b)
{
    struct inbox *in = b->in;

    if (b->is_queued)
        return;
    b->is_queued = true;
    b->next_queued = NULL;
    if (in->last_queued != NULL)
        in->last_queued->next_queued = b;
    else
        in->first_queued = b;
    in->last_queued = b;
}

/* ---- end ---- */

static void free_poll(uv_handle_t *handle)
{
    free(handle);
}

static void disconnect(struct file_conn *c)
{
    if (c->poll == NULL)
        return;
    uv_close((uv_handle_t *)c->poll, free_poll);
    close(c->fd);
    c->poll = NULL;
    c->fd = -1;
}

static void end_conn(struct file_conn *c, uint64_t linger_ms)
{
    if (c->over_ms != 0)
        return;
    disconnect(c);
    buf_free(&c->up);
    buf_free(&c->down);
    c->over_ms = inbox_now(c->in) + linger_ms;
    c->box->n_over++;
}

static struct log_brake turned_away, gave_up;

/* Ends a connection after a failure; the client finds the reason as the reply to its next request.
 * */
static void give_up(struct file_conn *c, const char *why)
{
    char hex[TOKEN_HEX];

    if (c->over_ms != 0)
        return;
    token_hex(&c->token, hex);
    hex[8] = '\0'; /* enough to tell it from others */
    if (log_may(&gave_up, "inbox-gave-up"))
        log_event(LOG_INFO, "inbox-gave-up", "uid", "%lld", (long long)c->box->uid, "conn", "%s",
                  hex, "why", "%s", why, NULL);
    c->why = mem_strdup(why);
    end_conn(c, AFTER_FAILURE_MS);
    inbox_queue(c->box);
}

/* ---- towards the dispatcher ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void wait_for_events(struct file_conn *c)
{
    int events = (c->has_down_end || c->down.n >= DOWN_MAX_BYTES ? 0 : UV_READABLE) |
                 (c->up.n > 0 ? UV_WRITABLE : 0);
    int rc;

    if (c->poll == NULL || events == c->events)
        return;
    c->events = events;
    rc = events == 0 ? uv_poll_stop(c->poll) : uv_poll_start(c->poll, events, on_poll);
    if (rc < 0)
        give_up(c, uv_strerror(rc));
}

static void pass_on(struct file_conn *c)
{
    size_t passed = 0;

    while (c->up.n > passed) {
        ssize_t n =
            send(c->fd, c->up.bytes + passed, c->up.n - passed, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            passed = c->up.n; /* the dispatcher has closed the connection and reads nothing more */
        if (n <= 0)
            break;
        passed += (size_t)n;
    }
    buf_drop_front(&c->up, passed);
    if (c->has_up_end && c->up.n == 0 && !c->is_shut) {
        c->is_shut = true;
        (void)shutdown(c->fd, SHUT_WR); /* fails where the dispatcher has closed the connection */
    }
}

static void take_what_is_said(struct file_conn *c, size_t max_bytes)
{
    while (!c->has_down_end && c->down.n < max_bytes) {
        size_t room = max_bytes - c->down.n < READ_BYTES ? max_bytes - c->down.n : READ_BYTES;
        ssize_t n = recv(c->fd, buf_reserve(&c->down, room), room, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            c->has_down_end = true;
        else
            buf_added(&c->down, (size_t)n);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct file_conn *c = poll->data;

    if (status < 0 || (events & UV_READABLE) != 0) {
        take_what_is_said(c, DOWN_MAX_BYTES);
        inbox_queue(c->box);
    }
    if ((events & UV_WRITABLE) != 0) {
        pass_on(c);
        inbox_queue(c->box); /* there may be room for another request */
    }
    wait_for_events(c);
    inbox_wake(c->in);
}

/* ---- beginning ---- */

static struct file_conn *add_conn(struct box *b, const struct token *token)
{
    struct file_conn *c = mem_alloc(sizeof *c), **at = &b->conns;

    c->in = b->in;
    c->box = b;
    c->token = *token;
    c->fd = -1;
    c->since_ms = inbox_now(b->in);
    while (*at != NULL)
        at = &(*at)->next; /* the oldest first */
    *at = c;
    b->n_conns++;
    if (!b->is_active) {
        b->is_active = true;
        b->next_active = b->in->active;
        b->in->active = b;
    }
    return c;
}

struct file_conn *file_conn_open(struct box *b, const struct token *token)
{
    struct file_conn *c = add_conn(b, token);
    struct err e = { 0 };
    struct conn *conn;
    int ends[2], rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
        err_sys(&e, "socketpair");
        give_up(c, e.text);
        return c;
    }
    /* A client that is turned away reads why. */
    conn = conn_add_as(c->in->sv, ends[0], b->uid, &e);
    if (conn != NULL) /* files that we cannot give away are readable */
        conn->is_open = !inbox_dir_may_remove(&b->in->dirs, b->uid);
    else if (log_may(&turned_away, "turned-away"))
        log_event(LOG_WARN, "turned-away", "why", "%s", e.text, NULL);
    c->fd = ends[1];
    c->poll = mem_alloc(sizeof *c->poll);
    rc = uv_poll_init(&c->in->sv->loop, c->poll, c->fd);
    if (rc < 0) {
        free(c->poll);
        c->poll = NULL;
        close(c->fd);
        err_set(&e, ERR_FAILED, "inbox: %s", uv_strerror(rc));
        give_up(c, e.text);
        return c;
    }
    c->poll->data = c;
    wait_for_events(c);
    return c;
}

void file_conn_refuse(struct box *b, const struct token *token, const char *why)
{
    give_up(add_conn(b, token), why);
}

struct file_conn *file_conn_find(const struct box *b, const struct token *token)
{
    struct file_conn *c = b->conns;

    while (c != NULL && !token_equal(&c->token, token))
        c = c->next;
    return c;
}

struct file_conn *file_conn_next(struct file_conn *c)
{
    return c->next;
}

size_t file_conn_waiting_bytes(const struct file_conn *c)
{
    return c->up.n + c->down.n;
}

/* ---- a visit ---- */

/* Whether the first of the held requests (read, not replied to) is to be replied to now. */
static bool has_to_reply(const struct file_conn *c)
{
    int64_t n_held = c->n_read - c->n_replied;

    return n_held > 0 && !c->has_last &&
           (c->down.n > 0 || c->has_down_end || n_held == FILE_REQUEST_AHEAD ||
            inbox_now(c->in) - c->since_ms >= FILE_REQUEST_HOLD_MS);
}

void file_conn_take(struct file_conn *c, const struct visit_conn *got)
{
    if (c->over_ms != 0)
        return;
    for (size_t i = 0; i < got->n_got; i++) {
        if (!c->has_up_end) /* later requests only ask for more */
            buf_add(&c->up, got->got[i].data.data, got->got[i].data.n);
        c->has_up_end |= got->got[i].is_end;
        c->n_read++;
        c->since_ms = inbox_now(c->in);
    }
    if (got->is_bad) {
        give_up(c, got->why.text);
        return;
    }
    pass_on(c);
    wait_for_events(c);
    if (has_to_reply(c)) /* the dispatcher may have said something before the request came */
        inbox_queue(c->box);
}

void file_conn_took_put(struct file_conn *c, const struct visit_put *put)
{
    if (put->has_failed)
        give_up(c, "a reply could not be written");
    else if (c->has_last)
        end_conn(c, AFTER_END_MS);
}

static void add_reply(struct file_conn *c, struct visit *v)
{
    struct visit_put *put = visit_add_put(v, c);
    size_t n = c->down.n < FILE_REQUEST_DATA_MAX ? c->down.n : FILE_REQUEST_DATA_MAX;
    struct file_reply reply = { .v = FILE_REQUEST_VERSION,
                                .server = v->server_id,
                                .conn = c->token,
                                .no = c->n_replied,
                                .data = { c->down.bytes, n },
                                .is_end = c->why != NULL || (c->has_down_end && n == c->down.n),
                                .why = c->why };

    file_request_reply_name(put->name, c->box->uid, &c->token, c->n_replied);
    file_request_encode_reply(&reply, &put->content);
    buf_drop_front(&c->down, n);
    c->n_replied++;
    c->has_last = reply.is_end;
    if (c->n_replied >= c->n_read)
        c->since_ms = inbox_now(c->in);
}

/* Adds to the visit the removal of the connection's files in both folders. */
static void add_burial(struct file_conn *c, struct visit *v)
{
    int64_t first = c->n_replied > FILE_REQUEST_AHEAD ? c->n_replied - FILE_REQUEST_AHEAD : 0;

    for (; c->n_dropped < c->n_replied; c->n_dropped++)
        file_request_reply_name(visit_add_out_drop(v), c->box->uid, &c->token, c->n_dropped);
    for (int64_t no = first; no < c->n_read + FILE_REQUEST_AHEAD; no++)
        file_request_name(visit_add_in_drop(v), &c->token, no);
    c->is_buried = true;
    c->box->n_over--;
}

void file_conn_prepare(struct file_conn *c, struct visit *v)
{
    if (c->over_ms != 0) {
        if (c->why != NULL && !c->has_last)
            add_reply(c, v);
        else if (c->over_ms <= inbox_now(c->in) || c->box->n_over > INBOX_OVER_MAX)
            add_burial(c, v);
    } else {
        while (has_to_reply(c))
            add_reply(c, v);
        for (; c->n_dropped + FILE_REQUEST_AHEAD < c->n_read; c->n_dropped++)
            file_request_reply_name(visit_add_out_drop(v), c->box->uid, &c->token, c->n_dropped);
        if (!c->has_last && c->up.n <= UP_MAX_BYTES && !c->box->is_full)
            visit_add_conn(v, &c->token, c, c->n_read,
                           (size_t)(FILE_REQUEST_AHEAD - (c->n_read - c->n_replied)));
        wait_for_events(c);
    }
    if (v->lists)
        visit_add_known(v, &c->token);
}

void file_conn_bury(struct box *b)
{
    struct file_conn **at = &b->conns;

    while (*at != NULL) {
        struct file_conn *c = *at;

        if (!c->is_buried) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        b->n_conns--;
        if (b->dead == NULL)
            b->dead = mem_alloc(INBOX_DEAD_MAX * sizeof *b->dead);
        b->dead[b->n_dead++ % INBOX_DEAD_MAX] = c->token;
        free(c->why);
        free(c);
    }
}

/* ---- the clock ---- */

uint64_t file_conn_tick(struct file_conn *c)
{
    uint64_t now = inbox_now(c->in), next = c->over_ms;

    if (c->over_ms == 0) {
        bool is_held = c->n_read > c->n_replied;

        next = c->since_ms + (is_held ? FILE_REQUEST_HOLD_MS : FILE_REQUEST_SILENCE_MS);
        if (next <= now && !is_held)
            give_up(c, "its client was silent for too long");
    }
    if (next <= now)
        inbox_queue(c->box);
    return next;
}

/* ---- end of ludwigd ---- */

void file_conn_part(struct file_conn *c)
{
    struct visit v = { .dirs = &c->in->dirs, .server_id = c->in->sv->server_id };

    if (c->over_ms == 0) {
        take_what_is_said(c, SIZE_MAX);
        c->has_down_end = true;
        while (!c->has_last)
            add_reply(c, &v);
        disconnect(c);
    }
    for (size_t i = 0; i < v.n_puts; i++)
        (void)inbox_dir_put(v.dirs, c->box->uid, v.puts[i].name, buf_bytes(&v.puts[i].content),
                            NULL);
    visit_free(&v);
    buf_free(&c->up);
    buf_free(&c->down);
    free(c->why);
    free(c);
}
