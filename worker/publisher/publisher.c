/* SPDX-License-Identifier: MIT */
/* publisher.c - ships logs, publishes results and keeps checkpoints, for one user */

#include "worker/publisher/publisher.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/base/child_start.h"
#include "common/base/crash_point.h"
#include "worker/base/scratch.h"
#include "worker/publisher/checkpoint_copy.h"
#include "worker/publisher/publish.h"
#include "worker/publisher/shiplog.h"
#include "worker/share/sftplink.h"

/* Spare folders are removed when no order has come for this long. */
#define SPARES_KEPT_MS 1000

/* An attempt that is to be published or withdrawn. */
struct task {
    struct token token;
    bool is_withdrawal;
    int64_t not_before_ms;
    int64_t pause_ms; /* after the last failure; 0: not tried yet */
    char *error;      /* what the agent was told last, or NULL */
};

struct publisher {
    struct scratch scratch;
    struct sftplink *sftp;
    struct shares *access;
    struct wire wire;
    struct shiplog *shiplog;
    struct checkpoint_copies *keeper;
    struct arena *arena;    /* for one turn */
    size_t n_spares;        /* spare folders, at most */
    int64_t spares_kept_ms; /* monotonic: when to remove them */
    struct buf notes;       /* notes that are not sent yet */
    pthread_mutex_t sending;
    int64_t grew_seq; /* numbers notes of the thread that ships logs */
    struct task *tasks;
    size_t n_tasks;
    size_t capacity;
    char host[HOST_NAME_MAX + 1];
};

/* ---- notes ---- */

static void note(struct publisher *p, int type, const void *body)
{
    struct err e = { 0 };

    if (message_add(&p->notes, &orders, type, ++p->wire.seq, 0, NULL, body, &e) < 0)
        log_event(LOG_ERROR, "note-not-sent", "error", "%s", e.text, NULL);
}

/* Sends and clears frames.  An agent that is gone shows at the next read. */
static void send_now(struct publisher *p, struct buf *frames)
{
    pthread_mutex_lock(&p->sending);
    if (frames->n > 0)
        (void)io_write_all(p->wire.fd, frames->bytes, frames->n);
    pthread_mutex_unlock(&p->sending);
    buf_clear(frames);
}

/* Called on the thread that ships logs: a large result that is being published holds nothing up. */
static void on_grew(void *context, const struct token *token, int64_t size_bytes)
{
    struct note_grew grew = { *token, size_bytes };
    struct publisher *p = context;
    struct buf frame = { 0 };

    if (message_add(&frame, &orders, NOTE_GREW, ++p->grew_seq, 0, NULL, &grew, NULL) == 0)
        send_now(p, &frame);
    buf_free(&frame);
}

/* ---- tasks ---- */

static struct task *find_task(struct publisher *p, const struct token *token)
{
    for (size_t i = 0; i < p->n_tasks; i++)
        if (token_equal(&p->tasks[i].token, token))
            return &p->tasks[i];
    return NULL;
}

static void remove_task(struct publisher *p, struct task *t)
{
    free(t->error);
    p->n_tasks--;
    memmove(t, t + 1, (size_t)(p->tasks + p->n_tasks - t) * sizeof *t);
}

/* Adds a task; one that waits for the share is tried again now. */
static void add_task(struct publisher *p, const struct token *token, bool is_withdrawal)
{
    struct task *t = find_task(p, token);

    if (t == NULL) {
        mem_grow((void **)&p->tasks, &p->capacity, p->n_tasks, sizeof *p->tasks);
        t = &p->tasks[p->n_tasks++];
        *t = (struct task){ .token = *token };
    }
    t->is_withdrawal = is_withdrawal;
    t->not_before_ms = 0;
}

/* Puts a failed task off; returns whether the agent does not know this error yet. */
static bool put_off(struct task *t, const struct err *e)
{
    bool is_new = t->error == NULL || strcmp(t->error, e->text) != 0;

    t->pause_ms = sftplink_pause_ms(t->pause_ms);
    t->not_before_ms = units_monotonic_ms() + t->pause_ms;
    if (is_new) {
        free(t->error);
        t->error = mem_strdup(e->text);
    }
    return is_new;
}

/* ---- publishing ---- */

static bool is_due(const struct task *t, bool is_withdrawal)
{
    return t->is_withdrawal == is_withdrawal && t->not_before_ms <= units_monotonic_ms();
}

static void publish_due(struct publisher *p)
{
    struct publish_item *items = NULL;
    size_t n = 0;

    for (size_t i = 0; i < p->n_tasks && n < PUBLISH_GROUP_MAX; i++)
        if (is_due(&p->tasks[i], false)) {
            if (items == NULL)
                items = arena_alloc(p->arena, PUBLISH_GROUP_MAX * sizeof *items);
            items[n++].token = p->tasks[i].token;
        }
    if (n == 0)
        return;
    publish_group(&p->scratch, p->access, p->host, items, n, p->arena);
    for (size_t i = 0; i < n; i++) {
        const struct publish_item *item = &items[i];
        struct note_published published = { .report = item->report };
        struct task *t = find_task(p, &item->token);

        if (item->error.kind == ERR_NONE) {
            shiplog_forget(p->shiplog, &item->token,
                           event_is_publication((enum attempt_event)item->report.event) ||
                               item->report.event == EV_SUPERSEDE);
            note(p, NOTE_PUBLISHED, &published);
            remove_task(p, t);
        } else if (put_off(t, &item->error)) {
            published.report = (struct report){ .token = item->token, .event = EV_END };
            published.report.exit_code = published.report.signal = SCHEMA_NONE;
            published.error = item->error.text;
            note(p, NOTE_PUBLISHED, &published);
        }
    }
}

static void withdraw_due(struct publisher *p)
{
    for (size_t i = p->n_tasks; i-- > 0;) {
        struct task *t = &p->tasks[i];
        struct token_entry withdrawn = { .token = t->token };
        struct err e = { 0 };

        if (!is_due(t, true))
            continue;
        if (publish_withdraw(&p->scratch, p->access, &t->token, p->arena, &e) == 0) {
            note(p, NOTE_WITHDRAWN, &withdrawn);
            remove_task(p, t);
        } else if (put_off(t, &e)) {
            log_event(LOG_WARN, "not-withdrawn", "error", "%s", e.text, NULL);
        }
    }
}

/* ---- orders ---- */

static int take_order(struct publisher *p, const struct envelope *m, struct err *e)
{
    static const int types[] = { ORDER_WATCH, ORDER_PUBLISH, ORDER_WITHDRAW, ORDER_DISCARD, -1 };
    union {
        struct order_watch watch;
        struct token_entry publish;
        struct token_entry withdraw;
        struct token_entry discard;
    } body;
    struct token_entry discarded;
    struct err why = { 0 };
    char hex[TOKEN_HEX];
    struct task *t;

    if (child_order_body(&p->wire, m, types, &body, e) < 0)
        return -1;
    if (m->type == ORDER_WATCH) {
        shiplog_watch(p->shiplog, &body.watch);
        shiplog_tell(p->shiplog, &body.watch.token, body.watch.tells);
        checkpoint_copies_watch(p->keeper, &body.watch.token, body.watch.every_ms);
    } else if (m->type == ORDER_PUBLISH) {
        checkpoint_copies_forget(p->keeper, &body.publish.token);
        add_task(p, &body.publish.token, false);
    } else if (m->type == ORDER_WITHDRAW) {
        add_task(p, &body.withdraw.token, true);
    } else {
        const struct token *token = &body.discard.token;

        t = find_task(p, token);
        if (t != NULL)
            remove_task(p, t);
        shiplog_forget(p->shiplog, token, false);
        checkpoint_copies_forget(p->keeper, token);
        token_hex(token, hex);
        /* The site wipes some day what cannot be removed; we do not wait for that. */
        if (scratch_keep_spare(&p->scratch, hex, &p->n_spares)
                ? scratch_discard_checkpoint(&p->scratch, token, &why) < 0
                : scratch_discard(&p->scratch, token, &why) < 0)
            log_event(LOG_WARN, "not-discarded", "error", "%s", why.text, NULL);
        CRASH_POINT(discard_ended);
        discarded = (struct token_entry){ .token = *token };
        note(p, NOTE_DISCARDED, &discarded);
    }
    return 0;
}

/* Takes all orders that can be read, and waits for one until other work is due.  Returns 1, 0 when
 * the agent is gone, -1 with e set. */
static int read_orders(struct publisher *p, struct err *e)
{
    struct pollfd fd = { p->wire.fd, POLLIN, 0 };
    int64_t now_ms = units_monotonic_ms();
    int64_t first_ms = checkpoint_copies_wait_ms(p->keeper), rest_ms = shares_rest_ms(p->access);

    if (rest_ms >= 0 && (first_ms < 0 || rest_ms < first_ms))
        first_ms = rest_ms;
    for (size_t i = 0; i <= p->n_tasks; i++) {
        int64_t due_ms = i < p->n_tasks ? p->tasks[i].not_before_ms : p->spares_kept_ms;
        int64_t left_ms = due_ms > now_ms ? due_ms - now_ms : 0;

        if ((i < p->n_tasks || p->n_spares > 0) && (first_ms < 0 || left_ms < first_ms))
            first_ms = left_ms;
    }
    while (wire_is_ready(&p->wire) ||
           poll(&fd, 1, first_ms > INT_MAX ? INT_MAX : (int)first_ms) > 0) {
        struct envelope m;
        int rc = wire_poll(&p->wire, &m, e);

        if (rc <= 0)
            return rc;
        if (take_order(p, &m, e) < 0)
            return -1;
        first_ms = 0;
        p->spares_kept_ms = units_monotonic_ms() + SPARES_KEPT_MS;
    }
    return 1;
}

int publisher_main(int argc, char **argv)
{
    struct publisher p = { 0 };
    struct share_source source;
    struct err e = { 0 };
    int rc;

    if (argc != 3 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--publisher SCRATCH ADDRESS");
        return child_fail("publisher", &e);
    }
    umask(0); /* all modes are given as they shall be */
    if (child_begin(&e) < 0)
        return child_fail("publisher", &e);
    pthread_mutex_init(&p.sending, NULL);
    wire_init(&p.wire, CHILD_CHANNEL_FD, &orders);
    p.arena = arena_create();
    p.sftp = sftplink_create(argv[2]);
    source = sftplink_source(p.sftp);
    p.access = shares_create(&source);
    if (gethostname(p.host, sizeof p.host - 1) < 0)
        err_sys(&e, "host name");
    if (e.kind != ERR_NONE || scratch_open(&p.scratch, argv[1], &e) < 0)
        return child_fail("publisher", &e);
    scratch_sweep(&p.scratch);
    scratch_clear_spares(&p.scratch, &p.n_spares);
    p.keeper = checkpoint_copies_create(&p.scratch, p.access);
    p.shiplog = shiplog_create(p.scratch.log_fd, p.scratch.run_fd, &source, on_grew, &p, &e);
    if (p.shiplog == NULL)
        return child_fail("publisher", &e);
    while ((rc = read_orders(&p, &e)) > 0) {
        publish_due(&p);
        withdraw_due(&p);
        arena_reset(p.arena);
        send_now(&p, &p.notes);
        checkpoint_copies_turn(p.keeper);
        if (p.n_spares > 0 && units_monotonic_ms() >= p.spares_kept_ms)
            scratch_clear_spares(&p.scratch, &p.n_spares);
        shares_rest(p.access);
    }
    scratch_clear_spares(&p.scratch, &p.n_spares);
    shiplog_destroy(p.shiplog);
    checkpoint_copies_destroy(p.keeper);
    shares_destroy(p.access);
    sftplink_destroy(p.sftp);
    wire_close(&p.wire);
    scratch_close(&p.scratch);
    arena_destroy(p.arena);
    buf_free(&p.notes);
    pthread_mutex_destroy(&p.sending);
    free(p.tasks);
    return rc < 0 ? child_fail("publisher", &e) : 0;
}
