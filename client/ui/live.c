/* SPDX-License-Identifier: MIT */
/* live.c - answers the requests of the live page: sweeps, changes of jobs, nodes, logs, actions */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/page/page.h"
#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/results/gather.h"
#include "client/session/subscription.h"
#include "client/share/logfile.h"
#include "client/ui/action.h"
#include "client/ui/live.h"
#include "client/ui/log_piece.h"
#include "common/base/quote.h"
#include "common/base/units.h"

enum {
    WATCHED_MAX = 20,           /* sweeps watched at a time */
    FORGOTTEN_AFTER_MS = 60000, /* a sweep that no page requests for so long may be dropped */
    CHANGES_MAX = 40000,        /* changes that are kept; a page that lacks older ones reloads */
    TELL_EVERY_MS = 200,        /* least time between two wakings of waiting pages */
    TAKE_AT_ONCE = 100,         /* most messages of the server that are taken in one live_step */
    GATHER_EVERY_MS = 2000,     /* least time between gatherings if jobs have ended */
    GATHER_SHARE = 5,           /* the pause after a gathering is this times its duration */
    RUNNING_EVERY_MS = 10000,   /* least time between gatherings if jobs only run */
    RETRY_MS = 2000,            /* pause before a lost connection is opened again */
    PATIENCE_MS = 1500,         /* how long that may take; no request is answered meanwhile */
    LISTED_MAX = 200,           /* sweeps listed */
    LIST_EVERY_MS = 1000        /* how long a list of sweeps is used */
};

/* A sweep that a page shows.  Each version of its data has a number, from 1 on. */
struct watched {
    int64_t sweep, cursor;
    bool with_jobs;      /* the user may see its jobs */
    int64_t asked_at_ms; /* when a page last requested it */
    struct buf info;     /* struct sweep_info in JSON */
    int64_t told;        /* number of the change that set info */
    int64_t running;     /* how many jobs run */
    bool has_news;       /* a job has ended since data was gathered */
    int64_t wanted, had; /* numbers: of the newest version to request, of the version in data */
    struct buf data;     /* the results in JSON */
    int64_t data_after;  /* number of the last change when data was gathered */
    int64_t gathered_at_ms, took_ms;
};

/* A job's new state; live.text has it as JSON. */
struct change {
    int64_t number, sweep;
    size_t offset, n; /* of the JSON in live.text */
};

struct live {
    struct session *session;
    struct rpc push; /* carries the subscription */
    bool is_subscribed;
    struct subscription sub;
    struct err lost;     /* if not is_subscribed: why */
    int64_t retry_at_ms; /* when to subscribe again */
    const int64_t *chosen;
    size_t n_chosen;
    struct watched watched[WATCHED_MAX];
    size_t n;
    struct change *changes; /* the oldest first */
    size_t n_changes, changes_capacity;
    struct buf text;
    int64_t number, oldest; /* numbers of the last change, and of the last one that was dropped */
    bool is_news;           /* there is news, and waiting pages were not woken for it */
    int64_t told_at_ms;
    struct buf page, list; /* the HTML, and the list of sweeps in JSON */
    int64_t listed_at_ms;  /* when list was made; 0: make it anew */
    struct share_dir *fs;  /* for logs; NULL: not open */
};

/* ---- the subscription ---- */

static void drop_watched(struct live *l, size_t i)
{
    buf_free(&l->watched[i].info);
    buf_free(&l->watched[i].data);
    memmove(&l->watched[i], &l->watched[i + 1], (--l->n - i) * sizeof *l->watched);
}

static void end_subscription(struct live *l)
{
    if (!l->is_subscribed)
        return;
    for (size_t i = 0; i < l->sub.n; i++)
        for (size_t k = 0; k < l->n; k++)
            if (l->watched[k].sweep == l->sub.requests[i].sweep)
                l->watched[k].cursor = l->sub.requests[i].cursor;
    subscription_end(&l->sub);
    l->is_subscribed = false;
}

/* Subscribes to all watched sweeps, on a new connection, which ends the subscription before.
 * Returns 0, or -1 with e set. */
static int subscribe(struct live *l, struct err *e)
{
    struct msg_subscribe what[WATCHED_MAX];

    end_subscription(l);
    for (size_t i = 0; i < l->n; i++)
        what[i] = (struct msg_subscribe){ .sweep = l->watched[i].sweep,
                                          .cursor = l->watched[i].cursor,
                                          .jobs = l->watched[i].with_jobs };
    l->push.patience_ms = PATIENCE_MS;
    if (rpc_reopen(&l->push, e) < 0 || subscription_begin_all(&l->sub, &l->push, what, l->n, e) < 0)
        return -1;
    l->push.patience_ms = PATIENCE_MS;
    l->is_subscribed = true;
    err_clear(&l->lost);
    return 0;
}

/* Subscribes again after the connection was lost.  Drops sweeps that were removed, because the
 * server refuses a subscription that names one of them. */
static void subscribe_again(struct live *l)
{
    struct err why = { 0 };

    l->retry_at_ms = units_monotonic_ms() + RETRY_MS;
    for (size_t i = l->n; i-- > 0;) {
        struct sweep_info info;

        if (pages_sweep(&l->session->rpc, l->watched[i].sweep, &info, &why) < 0 &&
            why.kind == ERR_NOT_FOUND)
            drop_watched(l, i);
        if (why.kind == ERR_UNREACHABLE) /* requests for other sweeps would fail, too */
            break;
        err_clear(&why);
    }
    if (why.kind == ERR_UNREACHABLE || subscribe(l, &why) < 0)
        l->lost = why;
    l->is_news = true;
}

/* Returns the watched sweep with this number; begins to watch it if needed, and then drops sweeps
 * that no page has requested for long.  Returns NULL with e set on error. */
static struct watched *watch(struct live *l, int64_t sweep, struct err *e)
{
    int64_t now_ms = units_monotonic_ms();
    const struct msg_welcome *me = &l->session->rpc.welcome;
    struct sweep_info info;
    size_t oldest = 0;

    for (size_t i = 0; i < l->n; i++) {
        oldest = l->watched[i].asked_at_ms < l->watched[oldest].asked_at_ms ? i : oldest;
        if (l->watched[i].sweep == sweep) {
            l->watched[i].asked_at_ms = now_ms;
            return &l->watched[i];
        }
    }
    if (pages_sweep(&l->session->rpc, sweep, &info, e) < 0)
        return NULL;
    for (size_t i = l->n; i-- > 0;)
        if (now_ms - l->watched[i].asked_at_ms > FORGOTTEN_AFTER_MS ||
            (i == oldest && l->n == WATCHED_MAX))
            drop_watched(l, i);
    l->watched[l->n] = (struct watched){
        .sweep = sweep,
        .cursor = -1,
        .with_jobs = me->admin || (info.user != NULL && pages_is_of(info.user, me->user)),
        .asked_at_ms = now_ms,
        .running = info.jobs.running,
        .wanted = 1,
    };
    schema_add_json(&sweep_info_schema, &info, &l->watched[l->n++].info);
    if (subscribe(l, e) < 0) {
        end_subscription(l);
        drop_watched(l, l->n - 1);
        return NULL;
    }
    return &l->watched[l->n - 1];
}

/* ---- changes ---- */

/* Drops the older half of the changes. */
static void shorten(struct live *l)
{
    size_t gone = l->n_changes / 2, bytes = l->changes[gone].offset;

    l->oldest = l->changes[gone - 1].number;
    l->n_changes -= gone;
    memmove(l->changes, l->changes + gone, l->n_changes * sizeof *l->changes);
    buf_drop_front(&l->text, bytes);
    for (size_t i = 0; i < l->n_changes; i++)
        l->changes[i].offset -= bytes;
}

static void take_changes(struct live *l, const struct msg_changes *news)
{
    const struct job_info *jobs = news->jobs.items;
    struct watched *w = l->watched;

    while (w < l->watched + l->n && w->sweep != news->sweep.sweep)
        w++;
    if (w == l->watched + l->n)
        return;
    l->number++;
    l->is_news = true;
    w->told = l->number;
    w->running = news->sweep.jobs.running;
    buf_clear(&w->info);
    schema_add_json(&sweep_info_schema, &news->sweep, &w->info);
    for (size_t i = 0; i < news->jobs.n; i++) {
        struct change change = { l->number, w->sweep, l->text.n, 0 };
        struct job_info job = jobs[i];

        w->has_news = w->has_news || job_is_ended((enum job_state)job.state);
        job.params = value_null(); /* the page has the parameters in its data */
        schema_add_json(&job_info_schema, &job, &l->text);
        change.n = l->text.n - change.offset;
        mem_grow((void **)&l->changes, &l->changes_capacity, l->n_changes, sizeof change);
        l->changes[l->n_changes++] = change;
    }
    if (l->n_changes > CHANGES_MAX)
        shorten(l);
}

bool live_step(struct live *l)
{
    int64_t now_ms = units_monotonic_ms();
    struct msg_changes news;

    if (!l->is_subscribed && now_ms >= l->retry_at_ms)
        subscribe_again(l);
    for (int i = 0; i < TAKE_AT_ONCE && l->is_subscribed; i++) {
        enum event event = subscription_wait(&l->sub, 0, &news, &l->lost);

        if (event == EVENT_CHANGES) {
            take_changes(l, &news);
            continue;
        }
        if (event == EVENT_ERROR) {
            end_subscription(l);
            l->retry_at_ms = now_ms + RETRY_MS;
            l->is_news = true;
        }
        break;
    }
    for (size_t i = 0; i < l->n; i++) {
        struct watched *w = &l->watched[i];
        int64_t rest_ms = GATHER_SHARE * w->took_ms, since_ms = now_ms - w->gathered_at_ms;
        int64_t every_ms = w->has_news ? GATHER_EVERY_MS : RUNNING_EVERY_MS;

        if (w->wanted > w->had || since_ms < rest_ms || since_ms < every_ms ||
            (!w->has_news && w->running == 0))
            continue;
        w->wanted++;
        l->is_news = true;
    }
    if (!l->is_news || now_ms < l->told_at_ms + TELL_EVERY_MS)
        return false;
    l->is_news = false;
    l->told_at_ms = now_ms;
    return true;
}

int live_fd(const struct live *l)
{
    return l->is_subscribed ? l->push.wire.fd : -1;
}

int live_patience_ms(struct live *l)
{
    if (l->is_subscribed && wire_is_ready(&l->push.wire))
        return 0;
    return l->is_news ? TELL_EVERY_MS / 2 : 1000;
}

/* ---- results ---- */

static int gather(struct live *l, struct watched *w, struct err *e)
{
    const struct measures_said said = { 0 };
    struct aggregate aggregate;
    struct gathered g = { .arena = arena_create(),
                          .aggregate = &aggregate,
                          .wants_live = true,
                          .wants_triage = true,
                          .is_quiet = true };
    int64_t begun_ms = units_monotonic_ms(), wanted = w->wanted;
    int result;

    w->has_news = false;
    aggregate_init(&aggregate);
    result = gather_sweep(&g, l->session, w->sweep, &said, e);
    if (result == 0)
        result = gather_learn(&g, l->session, e);
    if (result == 0) {
        buf_clear(&w->data);
        page_add_data(&w->data, &g);
        w->had = wanted;
        w->data_after = l->number;
    }
    gather_free(&g);
    aggregate_free(&aggregate);
    arena_destroy(g.arena);
    w->gathered_at_ms = units_monotonic_ms();
    w->took_ms = w->gathered_at_ms - begun_ms;
    return result;
}

/* ---- replies ---- */

/* GET /data?sweep=7: replies with the sweep's results, gathered anew if needed. */
static int add_data(struct live *l, const struct http_question *q, struct http_answer *a,
                    struct err *e)
{
    struct watched *w;
    int64_t sweep;

    if (!http_number(q, "sweep", 1, 0, &sweep) || sweep == 0)
        return err_set(e, ERR_USAGE, "data: of which sweep?");
    w = watch(l, sweep, e);
    if (w == NULL || ((w->had < w->wanted || w->data_after < l->oldest) && gather(l, w, e) < 0))
        return -1;
    buf_add(&a->body, w->data.bytes, w->data.n);
    http_add_number(a, "Ludwig-After", w->data_after);
    http_add_number(a, "Ludwig-Data", w->had);
    return 0;
}

/* GET /changes?sweep=7&after=123&data=4&lost=0: waits for a change after number 123, data newer
 * than number 4, or the loss of the connection to the server (lost=1: its return). */
static int add_changes(struct live *l, const struct http_question *q, struct http_answer *a,
                       struct err *e)
{
    int64_t sweep, after, data, was_lost;
    struct watched *w;
    bool is_first = true;

    if (!http_number(q, "sweep", 1, 0, &sweep) || sweep == 0 ||
        !http_number(q, "after", 0, 0, &after) || !http_number(q, "data", 0, 0, &data) ||
        !http_number(q, "lost", 0, 0, &was_lost))
        return err_set(e, ERR_USAGE, "changes: of which sweep?");
    w = watch(l, sweep, e);
    if (w == NULL)
        return -1;
    buf_printf(&a->body, "{\"v\":1,\"after\":%" PRId64 ",\"data\":%" PRId64 ",\"lost\":", l->number,
               w->wanted);
    if (l->is_subscribed)
        buf_add_str(&a->body, "null");
    else
        quote_add(&a->body, l->lost.text, strlen(l->lost.text));
    buf_printf(&a->body, ",\"reset\":%s,\"sweep\":", after < l->oldest ? "true" : "false");
    buf_add(&a->body, w->info.bytes, w->info.n);
    buf_add_str(&a->body, ",\"jobs\":[");
    for (size_t i = 0; i < l->n_changes && after >= l->oldest; i++) {
        const struct change *change = &l->changes[i];

        if (change->number <= after || change->sweep != sweep)
            continue;
        if (!is_first)
            buf_add_char(&a->body, ',');
        is_first = false;
        buf_add(&a->body, l->text.bytes + change->offset, change->n);
    }
    buf_add_str(&a->body, "]}");
    a->waits = after >= l->oldest && w->told <= after && w->wanted <= data &&
               (was_lost != 0) == !l->is_subscribed;
    return 0;
}

struct listing {
    struct buf *out;
    size_t n;
};

static int take_sweeps(void *context, const struct msg_sweep_page *page, struct err *e)
{
    const struct sweep_info *sweeps = page->sweeps.items;
    struct listing *list = context;

    (void)e;
    for (size_t i = 0; i < page->sweeps.n && list->n < LISTED_MAX; i++) {
        if (list->n++ > 0)
            buf_add_char(list->out, ',');
        schema_add_json(&sweep_info_schema, &sweeps[i], list->out);
    }
    return list->n < LISTED_MAX ? 0 : 1;
}

/* Lists sweeps in l->list as `ludwig status --json` does: the chosen ones, else the user's own, the
 * newest first. */
static int list_sweeps(struct live *l, struct err *e)
{
    const struct sweep_filter own = { .user = l->session->rpc.welcome.user };
    const struct msg_get_sweeps any = { .limit = 1 };
    struct listing list = { .out = &l->list };
    struct msg_sweep_page page;

    buf_clear(&l->list);
    if (rpc_call(&l->session->rpc, MSG_GET_SWEEPS, &any, &page, e) < 0)
        return -1;
    buf_printf(&l->list,
               "{\"v\":1,\"pilots_waiting\":%" PRId64 ",\"pilots_running\":%" PRId64
               ",\"slurm_calls\":",
               page.pilots_waiting, page.pilots_running);
    if (page.slurm_calls == SCHEMA_NONE)
        buf_add_str(&l->list, "null");
    else
        buf_printf(&l->list, "%" PRId64, page.slurm_calls);
    buf_add_str(&l->list, ",\"sweeps\":[");
    if (l->n_chosen == 0 && pages_sweeps(&l->session->rpc, &own, take_sweeps, &list, e) < 0)
        return -1;
    for (size_t i = l->n_chosen; i-- > 0;) {
        struct err why = { 0 };
        struct sweep_info info;

        page.sweeps = (struct list){ &info, 1 };
        if (pages_sweep(&l->session->rpc, l->chosen[i], &info, &why) == 0)
            (void)take_sweeps(&list, &page, NULL);
        else if (why.kind != ERR_NOT_FOUND)
            return err_set(e, why.kind, "%s", why.text);
    }
    buf_add_str(&l->list, "]}");
    l->listed_at_ms = units_monotonic_ms();
    return 0;
}

/* GET /sweeps: replies with the list of sweeps, which may be LIST_EVERY_MS old. */
static int add_sweeps(struct live *l, struct http_answer *a, struct err *e)
{
    if ((l->listed_at_ms == 0 || units_monotonic_ms() > l->listed_at_ms + LIST_EVERY_MS) &&
        list_sweeps(l, e) < 0) {
        l->listed_at_ms = 0;
        return -1;
    }
    buf_add(&a->body, l->list.bytes, l->list.n);
    return 0;
}

/* GET /nodes: replies as `ludwig nodes --json`.  The request makes the server ask workers for their
 * load, which the next reply contains. */
static int add_nodes(struct live *l, struct http_answer *a, struct err *e)
{
    const struct msg_get_nodes request = { .limit = PAGE_MAX };
    struct msg_node_page page;

    if (rpc_call(&l->session->rpc, MSG_GET_NODES, &request, &page, e) < 0)
        return -1;
    buf_printf(&a->body, "{\"v\":1,\"asked\":%" PRId64, page.asked);
    page_add_nodes(&a->body, &page);
    buf_add_char(&a->body, '}');
    return 0;
}

/* Reads the argument ?job=7.13. */
static int asked_job(struct live *l, const struct http_question *q, struct target *t, struct err *e)
{
    const char *job = http_argument(q, "job");

    if (job == NULL)
        return err_set(e, ERR_USAGE, "which job?");
    return selector_job(&l->session->rpc, job, t, e);
}

/* GET /why?job=7.13: replies as `ludwig why --json`. */
static int add_why(struct live *l, const struct http_question *q, struct http_answer *a,
                   struct err *e)
{
    struct msg_ask_why request;
    struct msg_why why;
    struct target t;

    if (asked_job(l, q, &t, e) < 0)
        return -1;
    request = (struct msg_ask_why){ t.sweep, t.first };
    if (rpc_call(&l->session->rpc, MSG_ASK_WHY, &request, &why, e) < 0)
        return -1;
    schema_add_json(proto.messages[MSG_WHY].schema, &why, &a->body);
    return 0;
}

/* As log_piece_read; opens the share if it is not open, and again if its connection has broken. */
static int read_log(struct live *l, const char *path, int64_t from, int64_t before,
                    struct log_piece *piece, struct buf *out, struct err *e)
{
    for (int tries = 0;; tries++) {
        struct err why = { 0 };
        int found = -1;

        if (l->fs == NULL)
            l->fs = session_open_drive(l->session, &why);
        if (l->fs != NULL)
            found = log_piece_read(l->fs, path, from, before, piece, out, &why);
        if (found >= 0)
            return found;
        share_close(l->fs);
        l->fs = NULL;
        buf_clear(out);
        if (tries > 0 || why.kind != ERR_UNREACHABLE)
            return err_set(e, why.kind, "%s", why.text);
    }
}

/* Replies that the log does not exist yet, with the text in the body, which the page shows.  The
 * status is 200: a browser would report a 404 in its console each time that the page tries again. */
static int absent_log(struct http_answer *a)
{
    a->type = "text/plain; charset=utf-8";
    http_add_number(a, "Ludwig-Absent", 1);
    return 0;
}

/* GET /log?job=7.13&attempt=1&from=0 (or before=OFFSET): replies with bytes of the log (see
 * log_piece_read); the headers Ludwig-Begin and Ludwig-End say which ones.  Without attempt: the
 * newest one. */
static int add_log(struct live *l, const struct http_question *q, struct http_answer *a,
                   struct err *e)
{
    int64_t attempt, from, before;
    struct log_piece piece;
    struct job_info info;
    struct target t;
    char *path;
    int found;

    if (!http_number(q, "attempt", 1, OPT_UNSET, &attempt) ||
        !http_number(q, "from", -1, -1, &from) || !http_number(q, "before", -1, -1, &before))
        return err_set(e, ERR_USAGE, "log: attempt, from and before are whole numbers");
    if (asked_job(l, q, &t, e) < 0 || pages_job(&l->session->rpc, &t, &info, e) < 0)
        return -1;
    http_add_number(a, "Ludwig-Attempt", attempt != OPT_UNSET ? attempt : info.attempt);
    http_add_number(a, "Ludwig-Attempts", info.attempt);
    http_add_number(a, "Ludwig-State", info.state);
    if (info.follows != NULL) {
        buf_printf(&a->body, "job %s has no log: it waits for the result of job %s", info.job,
                   info.follows);
        return absent_log(a);
    }
    if (info.log_path == NULL || info.log_path[0] == '\0') {
        buf_printf(&a->body, "job %s is %s and has no log yet", info.job,
                   job_state_names[info.state]);
        return absent_log(a);
    }
    if (jobinfo_check_names(&info, e) < 0)
        return -1;
    path = logfile_path(&info, t.sweep, attempt != OPT_UNSET ? attempt : info.attempt);
    a->type = "application/octet-stream";
    found = read_log(l, path, from, before, &piece, &a->body, e);
    free(path);
    if (found < 0)
        return -1;
    if (found == 0) {
        buf_printf(&a->body, "job %" PRId64 ".%" PRId64 " has no log yet", t.sweep, t.first);
        return absent_log(a);
    }
    http_add_number(a, "Ludwig-Begin", piece.begin);
    http_add_number(a, "Ludwig-End", piece.end);
    http_add_number(a, "Ludwig-Size", piece.size);
    return 0;
}

/* POST /do: carries out an action (action.h). */
static int act(struct live *l, const struct http_question *q, struct http_answer *a, struct err *e)
{
    struct arena *arena = arena_create();
    struct action action;
    int result = action_read(q->body, arena, &action, e);

    if (result == 0)
        result = action_do(&l->session->rpc, &action, &a->body, e);
    arena_destroy(arena);
    l->listed_at_ms = 0;
    return result;
}

void live_answer(void *live, const struct http_question *q, struct http_answer *a)
{
    struct live *l = live;
    struct err e = { 0 };
    int result;

    if (strcmp(q->path, "/do") == 0 && q->is_change)
        result = act(l, q, a, &e);
    else if (q->is_change)
        result = err_set(&e, ERR_NOT_FOUND, "there is nothing to change at %s", q->path);
    else if (strcmp(q->path, "/") == 0) {
        a->type = "text/html; charset=utf-8";
        buf_add(&a->body, l->page.bytes, l->page.n);
        result = 0;
    } else if (strcmp(q->path, "/changes") == 0)
        result = add_changes(l, q, a, &e);
    else if (strcmp(q->path, "/data") == 0)
        result = add_data(l, q, a, &e);
    else if (strcmp(q->path, "/sweeps") == 0)
        result = add_sweeps(l, a, &e);
    else if (strcmp(q->path, "/nodes") == 0)
        result = add_nodes(l, a, &e);
    else if (strcmp(q->path, "/why") == 0)
        result = add_why(l, q, a, &e);
    else if (strcmp(q->path, "/log") == 0)
        result = add_log(l, q, a, &e);
    else
        result = err_set(&e, ERR_NOT_FOUND, "there is nothing at %s", q->path);
    if (result < 0)
        http_refuse(a, &e);
}

/* ---- beginning and end ---- */

struct live *live_open(struct session *session, const int64_t *chosen, size_t n, int interrupt_fd,
                       struct err *e)
{
    struct live *l = mem_alloc(sizeof *l);

    *l = (struct live){ .session = session, .chosen = chosen, .n_chosen = n };
    if (rpc_open(&l->push, &session->rpc.to, session->rpc.user_label, e) < 0) {
        free(l);
        return NULL;
    }
    session->rpc.interrupt_fd = l->push.interrupt_fd = interrupt_fd;
    session->rpc.patience_ms = PATIENCE_MS;
    page_add_live(&l->page);
    if (subscribe(l, e) == 0)
        return l;
    live_close(l);
    return NULL;
}

void live_close(struct live *l)
{
    if (l == NULL)
        return;
    end_subscription(l);
    rpc_close(&l->push);
    while (l->n > 0)
        drop_watched(l, l->n - 1);
    share_close(l->fs);
    buf_free(&l->page);
    buf_free(&l->list);
    buf_free(&l->text);
    free(l->changes);
    free(l);
}
