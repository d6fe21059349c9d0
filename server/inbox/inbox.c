/* SPDX-License-Identifier: MIT */
/* inbox.c - whose folder is visited when, and what follows from a visit */
#include "server/inbox/inbox.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/proto/layout.h"
#include "server/inbox/inbox_internal.h"

enum { SCAN_EVERY_MS = 500, STRANGE_MS = 1000 };

uint64_t inbox_now(const struct inbox *in)
{
    return uv_now(&in->sv->loop);
}

enum inbox_kind inbox_kind(const struct inbox *in)
{
    return in->kind;
}

const char *inbox_why_none(const struct inbox *in)
{
    return in->why_none;
}

/* ---- boxes ---- */

/* Where it is, or belongs. */
static size_t index_of(const struct inbox *in, uid_t uid)
{
    size_t low = 0, high = in->n_boxes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (in->boxes[middle]->uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct box *inbox_find(const struct inbox *in, uid_t uid)
{
    size_t i = index_of(in, uid);

    return i < in->n_boxes && in->boxes[i]->uid == uid ? in->boxes[i] : NULL;
}

struct box *inbox_add_box(struct inbox *in, uid_t uid)
{
    size_t i = index_of(in, uid);
    struct box *b = mem_alloc(sizeof *b);

    b->in = in;
    b->uid = uid;
    b->wd = -1;
    mem_grow((void **)&in->boxes, &in->capacity, in->n_boxes, sizeof(struct box *));
    memmove(in->boxes + i + 1, in->boxes + i, (in->n_boxes - i) * sizeof(struct box *));
    in->boxes[i] = b;
    in->n_boxes++;
    in->n_unwatched++;
    return b;
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

void inbox_activate(struct box *b)
{
    if (b->is_active)
        return;
    b->is_active = true;
    b->next_active = b->in->active;
    b->in->active = b;
}

/* The first in the queue that need not rest; *next: when the first of the others may. */
static struct box *take_from_queue(struct inbox *in, uint64_t *next)
{
    uint64_t now = inbox_now(in);
    struct box *before = NULL;

    for (struct box *b = in->first_queued; b != NULL; before = b, b = b->next_queued) {
        if (b->rest_ms > now) {
            if (*next == 0 || b->rest_ms < *next)
                *next = b->rest_ms;
            continue;
        }
        if (before != NULL)
            before->next_queued = b->next_queued;
        else
            in->first_queued = b->next_queued;
        if (in->last_queued == b)
            in->last_queued = before;
        b->is_queued = false;
        return b;
    }
    return NULL;
}

/* ---- work elsewhere ---- */

struct inbox_errand {
    uv_work_t work;
    struct inbox *in; /* NULL: it does not wait for it any more */
    void (*run)(struct inbox *in);
    void (*after)(struct inbox *in);
};

static void do_errand(uv_work_t *work)
{
    struct inbox_errand *errand = work->data;
    struct inbox *in = errand->in;

    errand->run(in);
    uv_sem_post(&in->done);
}

static void after_errand(uv_work_t *work, int status)
{
    struct inbox_errand *errand = work->data;
    struct inbox *in = errand->in;

    (void)status; /* nobody cancels it */
    if (in != NULL) {
        uv_sem_wait(&in->done);
        uv_update_time(&in->sv->loop);
        in->errand = NULL;
        errand->after(in);
        inbox_pump(in);
    }
    free(errand);
}

static void send_errand(struct inbox *in, void (*run)(struct inbox *in),
                        void (*after)(struct inbox *in))
{
    in->errand = mem_alloc(sizeof *in->errand);
    *in->errand = (struct inbox_errand){ .in = in, .run = run, .after = after };
    in->errand->work.data = in->errand;
    (void)uv_queue_work(&in->sv->loop, &in->errand->work, do_errand, after_errand);
}

/* ---- a visit ---- */

static void fill_round(struct box *b)
{
    struct round *r = &b->in->round;

    r->uid = b->uid;
    r->lists = b->wants_list;
    b->wants_list = false;
    for (struct file_conn *v = b->vconns; v != NULL; v = file_conn_next(v)) {
        file_conn_fill(v, r);
        if (r->lists)
            file_conn_make_known(v, r);
    }
    for (size_t i = 0; r->lists && i < b->n_dead && i < INBOX_DEAD_MAX; i++)
        round_add_known(r, &b->dead[i]);
}

static void do_round(struct inbox *in)
{
    round_run(&in->round);
}

/* What may not be believed: the folder, or the first of the files that nobody is told of. */
static const struct err *refusal_of(const struct round *r)
{
    if (r->error.kind != ERR_NONE)
        return &r->error;
    for (size_t i = 0; i < r->n_conns; i++) {
        const struct round_conn *c = &r->conns[i];

        if (c->owner == NULL && c->n_got == 0 && c->is_bad && c->why.kind != ERR_PROTOCOL)
            return &c->why;
    }
    return &r->error;
}

/* Once, until it is something else; only who lists the folder can tell that it is over. */
static void say_refused(struct box *b, const struct round *r)
{
    const struct err *why = refusal_of(r);
    bool is_refused = why->kind != ERR_NONE && why->kind != ERR_NOT_FOUND;

    if (!is_refused && !r->lists)
        return;
    if (is_refused && strcmp(b->refused.text, why->text) != 0)
        log_event(LOG_WARN, "inbox-refused", "uid", "%lld", (long long)b->uid, "why", "%s",
                  why->text, NULL);
    if (is_refused)
        b->refused = *why;
    else
        err_clear(&b->refused);
}

/* A parcel that was renamed into place before the one it follows is no stranger's: it is seen
 * again, with that one. */
static void look_at_stranger(struct box *b, const struct token *token, const struct stranger *old,
                             size_t n_old)
{
    uint64_t now = inbox_now(b->in), since = now;

    for (size_t i = 0; i < n_old; i++)
        if (token_equal(&old[i].token, token))
            since = old[i].since_ms;
    if (now - since >= STRANGE_MS)
        file_conn_refuse(b, token);
    else
        b->strangers[b->n_strangers++] = (struct stranger){ *token, since };
}

static void take_strangers(struct box *b, const struct round *r)
{
    struct stranger old[ROUND_STRANGE_MAX];
    size_t n_old = b->n_strangers;

    memcpy(old, b->strangers, sizeof old);
    b->n_strangers = 0;
    for (size_t i = 0; i < r->n_strange; i++)
        look_at_stranger(b, &r->strange[i], old, n_old);
    if (b->n_strangers > 0)
        inbox_activate(b);
}

/* True when there is more to say to its client than that it is not known. */
static bool take_conn(struct box *b, struct round_conn *c)
{
    struct file_conn *v = c->owner;

    if (v == NULL && c->n_got == 0) {
        if (c->is_bad && c->why.kind == ERR_PROTOCOL)
            file_conn_refuse(b, &c->token);
        return false;
    }
    if (v == NULL)
        v = file_conn_open(b, &c->token);
    file_conn_take(v, c);
    return c->n_got > 0;
}

static void take_round(struct box *b)
{
    struct round *r = &b->in->round;
    bool was_of_use = r->n_puts + r->n_out_drops > 0;

    say_refused(b, r);
    if (r->put_error.kind != ERR_NONE)
        log_event(LOG_ERROR, "outbox", "error", "%s", r->put_error.text, NULL);
    for (size_t i = 0; i < r->n_puts; i++)
        file_conn_took_put(r->puts[i].owner, &r->puts[i]);
    for (size_t i = 0; i < r->n_conns; i++)
        was_of_use |= take_conn(b, &r->conns[i]);
    if (r->lists)
        take_strangers(b, r);
    file_conn_bury(b);
    b->pause_ms = was_of_use ? 0 : b->pause_ms == 0 ? 1 : 2 * b->pause_ms;
    if (b->pause_ms > INBOX_REST_MAX_MS)
        b->pause_ms = INBOX_REST_MAX_MS;
    b->rest_ms = inbox_now(b->in) + b->pause_ms;
    if (r->has_more) {
        b->wants_list |= r->lists;
        inbox_queue(b);
    }
}

static void after_round(struct inbox *in)
{
    struct box *b = in->visited;

    in->visited = NULL;
    take_round(b);
    round_clear(&in->round);
}

static void visit(struct inbox *in, struct box *b)
{
    in->visited = b;
    fill_round(b);
    send_errand(in, do_round, after_round);
}

/* ---- a look for users and folders ---- */

static void do_scan(struct inbox *in)
{
    inbox_scan_run(&in->scan);
}

static void meet_box(struct inbox *in, uid_t uid)
{
    struct box *b = inbox_find(in, uid);

    if (b == NULL)
        b = inbox_add_box(in, uid);
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
    send_errand(in, do_scan, after_scan);
}

/* Several may come before there is a look for folders. */
static void note_met(struct inbox *in, uid_t uid)
{
    for (size_t i = 0; i < in->n_met; i++)
        if (in->met[i] == uid)
            return;
    if (in->n_met == INBOX_MET_MAX) {
        in->wants_users = true;
        return;
    }
    mem_grow((void **)&in->met, &in->met_capacity, in->n_met, sizeof *in->met);
    in->met[in->n_met++] = uid;
}

void inbox_meet(struct inbox *in, uid_t uid)
{
    if (in == NULL || in->kind == INBOX_NONE || !in->dirs.is_root || in->is_ending ||
        inbox_find(in, uid) != NULL || (int64_t)uid < in->sv->conf.min_uid)
        return;
    note_met(in, uid);
    in->wants_boxes = true;
    inbox_pump(in);
}

/* ---- the clock ---- */

static void sooner(uint64_t *next, uint64_t at)
{
    if (*next == 0 || at < *next)
        *next = at;
}

/* Boxes that have nothing to be looked after drop out. */
static uint64_t tick_boxes(struct inbox *in)
{
    uint64_t now = inbox_now(in), next = 0;
    struct box **at = &in->active;

    while (*at != NULL) {
        struct box *b = *at;

        if (b->n_vconns == 0 && b->n_strangers == 0) {
            b->is_active = false;
            *at = b->next_active;
            continue;
        }
        for (struct file_conn *v = b->vconns; v != NULL; v = file_conn_next(v)) {
            uint64_t due = file_conn_tick(v);

            if (due > now)
                sooner(&next, due);
        }
        for (size_t i = 0; i < b->n_strangers; i++) {
            uint64_t due = b->strangers[i].since_ms + STRANGE_MS;

            if (due > now) {
                sooner(&next, due);
            } else {
                b->wants_list = true;
                inbox_queue(b);
            }
        }
        if (b->n_vconns > 0)
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

/* Whoever makes the kernel lose events again and again does not make us list all folders each
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

static void on_timer(uv_timer_t *timer)
{
    inbox_pump(timer->data);
}

static void set_timer(struct inbox *in, uint64_t next)
{
    uint64_t now = inbox_now(in);

    if (next == 0)
        uv_timer_stop(in->timer);
    else
        uv_timer_start(in->timer, on_timer, next > now ? next - now : 1, 0);
}

void inbox_pump(struct inbox *in)
{
    uint64_t next;
    struct box *b = NULL;

    if (in->is_ending)
        return;
    next = tick_boxes(in);
    tick_listing(in, &next);
    tick_missed(in, &next);
    if (in->errand == NULL && tick_scan(in, &next))
        start_scan(in);
    if (in->errand == NULL)
        b = take_from_queue(in, &next);
    if (b != NULL)
        visit(in, b);
    set_timer(in, next);
}

void inbox_expect(struct inbox *in)
{
    if (in == NULL || in->kind != INBOX_LISTED || in->is_ending)
        return;
    in->busy_ms = inbox_now(in);
    set_timer(in, in->busy_ms);
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
    (void)uv_sem_init(&in->done, 0);
    in->path = mem_printf("%s/%s/inbox", sv->conf.share, LAYOUT_SERVER_DIR);
    in->timer = mem_alloc(sizeof *in->timer);
    uv_timer_init(&sv->loop, in->timer);
    in->timer->data = in;
    decide(in);
    if (in->kind == INBOX_NONE)
        return in;
    inbox_dir_clear_outbox(&in->dirs);
    in->round.dirs = in->scan.dirs = &in->dirs;
    in->round.server_id = sv->server_id;
    in->round.incarnation = sv->incarnation;
    in->scan.min_uid = (uid_t)sv->conf.min_uid;
    in->wants_users = true;
    in->listed_ms = inbox_now(in);
    inbox_pump(in);
    return in;
}

static void free_box(struct box *b)
{
    while (b->vconns != NULL) {
        struct file_conn *v = b->vconns;

        b->vconns = file_conn_next(v);
        file_conn_part(v);
    }
    free(b->dead);
    free(b);
}

void inbox_stop(struct inbox *in)
{
    if (in == NULL)
        return;
    in->is_ending = true;
    if (in->errand == NULL)
        return;
    uv_sem_wait(&in->done);
    in->errand->in = NULL;
    in->errand = NULL;
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
    uv_sem_destroy(&in->done);
    round_free(&in->round);
    inbox_scan_free(&in->scan);
    free(in->met);
    free(in->boxes);
    free(in->why_none);
    free(in->path);
    free(in);
}
