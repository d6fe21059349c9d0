/* SPDX-License-Identifier: MIT */
/* inbox.c - whose folder is visited when, and what follows from a visit */
#include "server/inbox/inbox.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/proto/layout.h"
#include "server/inbox/inbox_internal.h"

enum { SCAN_EVERY_MS = 500, STRANGE_MS = 1000 };

enum inbox_kind inbox_kind(const struct inbox *in)
{
    return in->kind;
}

const char *inbox_why_none(const struct inbox *in)
{
    return in->why_none;
}

/* ---- work elsewhere ---- */

static void run_errand(uv_work_t *work)
{
    struct inbox *in = work->data;

    in->errand.run(in);
}

static void after_errand(uv_work_t *work, int status)
{
    struct inbox *in = work->data;

    (void)status; /* it is never cancelled */
    uv_update_time(&in->sv->loop);
    in->is_working = false;
    if (in->is_ending)
        return;
    in->errand.after(in);
    inbox_wake(in);
}

static void send_errand(struct inbox *in, void (*run)(struct inbox *in),
                        void (*after)(struct inbox *in))
{
    in->errand = (struct inbox_errand){ { .data = in }, run, after };
    in->is_working = uv_queue_work(&in->sv->loop, &in->errand.work, run_errand, after_errand) == 0;
}

/* ---- a visit ---- */

static void run_visit(struct inbox *in)
{
    visit_run(&in->visit);
}

/* What may not be believed: the folder, or the first file that no connection is told of. */
static const struct err *refusal_of(const struct visit *v)
{
    if (v->error.kind != ERR_NONE)
        return &v->error;
    for (size_t i = 0; i < v->n_conns; i++) {
        const struct visit_conn *c = &v->conns[i];

        if (c->owner == NULL && c->n_got == 0 && c->is_bad && c->why.kind != ERR_PROTOCOL)
            return &c->why;
    }
    return &v->error;
}

/* Once, until the reason changes; only a listing of the folder can tell that it is over. */
static void log_refusal(struct box *b, const struct visit *v)
{
    const struct err *why = refusal_of(v);
    bool is_refused = why->kind != ERR_NONE && why->kind != ERR_NOT_FOUND;

    if (!is_refused && !v->lists)
        return;
    if (is_refused && strcmp(b->refused.text, why->text) != 0)
        log_event(LOG_WARN, "inbox-refused", "uid", "%lld", (long long)b->uid, "why", "%s",
                  why->text, NULL);
    if (is_refused)
        b->refused = *why;
    else
        err_clear(&b->refused);
}

/* A file that may not be believed begins nothing: it is looked at again.  One that its user made,
 * and that says something else, is answered. */
static void take_found(struct box *b, const struct visit_conn *c)
{
    if (c->n_got > 0)
        file_conn_take(file_conn_open(b, &c->token), c);
    else if (c->is_bad && c->why.kind == ERR_PROTOCOL)
        file_conn_refuse(b, &c->token, c->why.text);
}

static void after_visit(struct inbox *in)
{
    struct visit *v = &in->visit;
    struct box *b = in->visited;
    bool was_of_use = v->n_puts + v->n_out_drops > 0;

    in->visited = NULL;
    log_refusal(b, v);
    if (v->put_error.kind != ERR_NONE)
        log_event(LOG_ERROR, "outbox", "error", "%s", v->put_error.text, NULL);
    for (size_t i = 0; i < v->n_puts; i++)
        file_conn_took_put(v->puts[i].owner, &v->puts[i]);
    for (size_t i = 0; i < v->n_conns; i++) {
        was_of_use |= v->conns[i].n_got > 0;
        if (v->conns[i].owner != NULL)
            file_conn_take(v->conns[i].owner, &v->conns[i]);
        else
            take_found(b, &v->conns[i]);
    }
    file_conn_bury(b);
    b->pause_ms = was_of_use ? 0 : b->pause_ms == 0 ? 1 : 2 * b->pause_ms;
    if (b->pause_ms > INBOX_REST_MAX_MS)
        b->pause_ms = INBOX_REST_MAX_MS;
    b->rest_ms = inbox_now(in) + b->pause_ms;
    if (v->has_more) {
        b->wants_list |= v->lists;
        inbox_queue(b);
    }
    visit_clear(v);
}

static void start_visit(struct inbox *in, struct box *b)
{
    struct visit *v = &in->visit;

    in->visited = b;
    v->uid = b->uid;
    v->lists = b->wants_list;
    b->wants_list = false;
    for (struct file_conn *c = b->conns; c != NULL; c = file_conn_next(c))
        file_conn_prepare(c, v);
    for (size_t i = 0; v->lists && i < b->n_dead && i < INBOX_DEAD_MAX; i++)
        visit_add_known(v, &b->dead[i]);
    send_errand(in, run_visit, after_visit);
}

/* ---- a look for users and folders ---- */

static void run_scan(struct inbox *in)
{
    inbox_scan_run(&in->scan, &in->dirs);
}

static void meet_box(struct inbox *in, uid_t uid)
{
    struct box *b = box_find(in, uid);

    if (b == NULL)
        b = box_add(in, uid);
    if (b->wd < 0 && in->watch != NULL)
        inbox_watch_add(in->watch, b);
    b->wants_list = true; /* what came before we watched */
    inbox_queue(b);
}

static void after_scan(struct inbox *in)
{
    in->scan_ms = inbox_now(in) + SCAN_EVERY_MS;
    for (size_t i = 0; i < in->scan.n_found; i++)
        meet_box(in, in->scan.found[i]);
}

static bool may_list_users(const struct inbox *in)
{
    return in->wants_users && in->users_ms <= inbox_now(in);
}

/* Folders that are watched, or visited in any case, are known. */
static void start_scan(struct inbox *in)
{
    struct inbox_scan *s = &in->scan;

    s->n_known = 0;
    for (size_t i = 0; i < in->n_boxes; i++)
        if (in->boxes[i]->wd >= 0 || in->watch == NULL) {
            mem_grow((void **)&s->known, &s->known_capacity, s->n_known, sizeof *s->known);
            s->known[s->n_known++] = in->boxes[i]->uid;
        }
    s->makes_all = may_list_users(in);
    s->n_met = 0;
    for (size_t i = 0; i < in->n_met; i++) {
        mem_grow((void **)&s->met, &s->met_capacity, s->n_met, sizeof *s->met);
        s->met[s->n_met++] = in->met[i];
    }
    in->n_met = 0;
    if (s->makes_all) {
        in->wants_users = false;
        in->users_ms = inbox_now(in) + INBOX_USERS_EVERY_MS;
    }
    in->wants_boxes = false;
    send_errand(in, run_scan, after_scan);
}

void inbox_meet(struct inbox *in, uid_t uid)
{
    if (in == NULL || in->kind == INBOX_NONE || !in->dirs.is_root || in->is_ending ||
        box_find(in, uid) != NULL || (int64_t)uid < in->sv->conf.min_uid)
        return;
    for (size_t i = 0; i < in->n_met; i++)
        if (in->met[i] == uid)
            return;
    if (in->n_met < INBOX_MET_MAX) {
        mem_grow((void **)&in->met, &in->met_capacity, in->n_met, sizeof *in->met);
        in->met[in->n_met++] = uid;
    } else {
        in->wants_users = true;
    }
    in->wants_boxes = true;
    inbox_wake(in);
}

/* ---- the clock ---- */

static void sooner(uint64_t *next, uint64_t at)
{
    if (*next == 0 || at < *next)
        *next = at;
}

/* Boxes without connections drop out. */
static uint64_t tick_boxes(struct inbox *in)
{
    uint64_t now = inbox_now(in), next = 0;
    struct box **at = &in->active;

    while (*at != NULL) {
        struct box *b = *at;

        if (b->n_conns == 0) {
            b->is_active = false;
            *at = b->next_active;
            continue;
        }
        for (struct file_conn *c = b->conns; c != NULL; c = file_conn_next(c)) {
            uint64_t due = file_conn_tick(c);

            if (due > now)
                sooner(&next, due);
        }
        in->busy_ms = now;
        at = &b->next_active;
    }
    return next;
}

static uint64_t listed_every(const struct inbox *in)
{
    if (in->busy_ms != 0 && inbox_now(in) - in->busy_ms < INBOX_LATELY_MS)
        return INBOX_BUSY_EVERY_MS;
    return in->watch != NULL ? INBOX_UNWATCHED_EVERY_MS : INBOX_IDLE_EVERY_MS;
}

/* Where nobody tells what comes. */
static void tick_listing(struct inbox *in, uint64_t *next)
{
    uint64_t now = inbox_now(in);
    uint64_t every = listed_every(in);

    if (in->n_unwatched == 0 && in->watch != NULL)
        return;
    if (in->listed_ms + every <= now) {
        for (size_t i = 0; i < in->n_boxes; i++)
            if (in->boxes[i]->wd < 0) {
                in->boxes[i]->wants_list = true;
                inbox_queue(in->boxes[i]);
            }
        in->wants_boxes |= in->watch == NULL && in->scan_ms + INBOX_IDLE_EVERY_MS <= now;
        in->listed_ms = now;
    }
    sooner(next, in->listed_ms + every);
}

/* A user who makes the kernel lose events again and again does not make us list all folders each
 * time. */
static void tick_missed(struct inbox *in, uint64_t *next)
{
    uint64_t now = inbox_now(in);

    if (!in->has_missed)
        return;
    if (in->missed_ms > now) {
        sooner(next, in->missed_ms);
        return;
    }
    in->has_missed = false;
    in->missed_ms = now + INBOX_UNWATCHED_EVERY_MS;
    for (size_t i = 0; i < in->n_boxes; i++) {
        in->boxes[i]->wants_list = true;
        inbox_queue(in->boxes[i]);
    }
    in->wants_users = in->wants_boxes = true;
}

/* True when there is to be a look for users and folders now. */
static bool tick_scan(const struct inbox *in, uint64_t *next)
{
    uint64_t due = in->wants_boxes ? in->scan_ms : in->users_ms;

    if (!in->wants_boxes && !in->wants_users)
        return false;
    if (due < in->scan_ms)
        due = in->scan_ms;
    if (due > inbox_now(in))
        sooner(next, due);
    return due <= inbox_now(in);
}

/* Does what is due, unless something is under way, and sets the timer. */
static void on_timer(uv_timer_t *timer)
{
    struct inbox *in = timer->data;
    struct box *b = NULL;
    uint64_t now = inbox_now(in), next;

    if (in->is_ending)
        return;
    next = tick_boxes(in);
    tick_listing(in, &next);
    tick_missed(in, &next);
    if (!in->is_working && tick_scan(in, &next))
        start_scan(in);
    if (!in->is_working)
        b = inbox_take_queued(in, &next);
    if (b != NULL)
        start_visit(in, b);
    if (next != 0)
        uv_timer_start(in->timer, on_timer, next > now ? next - now : 1, 0);
}

void inbox_expect(struct inbox *in)
{
    if (in == NULL || in->kind != INBOX_LISTED || in->is_ending)
        return;
    in->busy_ms = inbox_now(in);
    inbox_wake(in);
}

/* ---- beginning and end ---- */

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void decide(struct inbox *in)
{
    struct err e = { 0 };

    if (inbox_dir_open(&in->dirs, in->sv->conf.share, &e) < 0) {
        in->kind = INBOX_NONE;
        in->why_none = mem_strdup(e.text);
        log_event(LOG_WARN, "no-inbox", "why", "%s", e.text, NULL);
        return;
    }
    in->kind = INBOX_LISTED;
    if (!in->dirs.is_network)
        in->watch = inbox_watch_create(in, &e);
    if (in->watch != NULL)
        in->kind = INBOX_WATCHED;
    else if (!in->dirs.is_network)
        log_event(LOG_WARN, "inbox-not-watched", "why", "%s", e.text, NULL);
}

struct inbox *inbox_create(struct server *sv)
{
    struct inbox *in = mem_alloc(sizeof *in);

    in->sv = sv;
    in->path = mem_printf("%s/%s/inbox", sv->conf.share, LAYOUT_SERVER_DIR);
    in->timer = mem_alloc(sizeof *in->timer);
    uv_timer_init(&sv->loop, in->timer);
    in->timer->data = in;
    in->on_timer = on_timer;
    decide(in);
    if (in->kind == INBOX_NONE)
        return in;
    inbox_dir_clear_outbox(&in->dirs);
    in->visit.dirs = &in->dirs;
    in->visit.server_id = sv->server_id;
    in->visit.incarnation = sv->incarnation;
    in->scan.min_uid = (uid_t)sv->conf.min_uid;
    in->wants_users = true;
    in->listed_ms = inbox_now(in);
    inbox_wake(in);
    return in;
}

static void free_box(struct box *b)
{
    while (b->conns != NULL) {
        struct file_conn *c = b->conns;

        b->conns = file_conn_next(c);
        file_conn_part(c);
    }
    free(b->dead);
    free(b);
}

void inbox_stop(struct inbox *in)
{
    if (in == NULL)
        return;
    in->is_ending = true;
    while (in->is_working)
        uv_run(&in->sv->loop, UV_RUN_ONCE);
}

void inbox_destroy(struct inbox *in)
{
    if (in == NULL)
        return;
    for (size_t i = 0; i < in->n_boxes; i++)
        free_box(in->boxes[i]);
    inbox_watch_destroy(in->watch);
    uv_close((uv_handle_t *)in->timer, free_handle);
    inbox_dir_close(&in->dirs);
    visit_free(&in->visit);
    inbox_scan_free(&in->scan);
    free(in->met);
    free(in->boxes);
    free(in->why_none);
    free(in->path);
    free(in);
}
