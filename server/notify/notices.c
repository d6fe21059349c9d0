/* SPDX-License-Identifier: MIT */
/* notices.c - finds stalled sweeps, hands notifications to workers, and takes the reports */

#include "server/notify/notices.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/quote.h"
#include "common/base/units.h"
#include "common/data/msgpack.h"
#include "common/proto/envvars.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/permission.h"
#include "server/queue/fit.h"
#include "server/queue/subscribe.h"
#include "server/queue/worker_rows.h"

enum {
    RUN_MAX_MS = 2 * 60 * 1000,     /* time limit of the command, or of the program that sends */
    REPORT_MAX_MS = 20 * 60 * 1000, /* time until the worker's report: it may have to stage first */
    TRIES_MAX = 10,
    PAUSE_MS = 5000, /* after the first failure; then four times the last pause, up to */
    PAUSE_MAX_MS = 60 * 60 * 1000,
    NOBODY_MS = 5000,  /* pause while no worker can take a notification, or after an error */
    AT_ONCE = 32,      /* notifications handed out in one turn */
    LOOK_MIN_MS = 250, /* bounds of the pause between two looks for stalled sweeps, */
    LOOK_MAX_MS = 60 * 1000,
    REST_TIMES = 20 /* which is also this many times as long as the last look took */
};

struct notices {
    struct server *sv;
    uv_timer_t *timer; /* freed when it is closed */
    /* A look for stalled sweeps, which may take many turns, as users may have very many sweeps. */
    int64_t *looked_at; /* ids of the sweeps; NULL: there is no look under way */
    size_t n_looked_at, at;
    int64_t look_ms;                 /* the pause before the next look */
    uint64_t took_ns, rest_until_ns; /* time that the look took; no other look before then */
};

/* Shell commands that the worker runs.  Standard output goes where errors do: into the log. */
static const char run_command[] =
    "printf '%s\\n' \"$LUDWIG_TEXT\" | /bin/sh -c \"$LUDWIG_NOTIFY\" >&2";
static const char mail_command[] =
    "PATH=$PATH:/usr/sbin:/usr/lib\n"
    "if ! command -v sendmail >/dev/null; then\n"
    "    echo \"error: $(uname -n) has no sendmail program to mail with\" >&2\n"
    "    exit 127\n"
    "fi\n"
    "printf '%s\\n' \"$LUDWIG_NOTIFY\" | sendmail -t -i >&2\n";
/* curl reads its configuration from a pipe, as everybody on the node sees a command's arguments. */
static const char url_command[] =
    "if ! command -v curl >/dev/null; then\n"
    "    echo \"error: $(uname -n) has no curl to send it with\" >&2\n"
    "    exit 127\n"
    "fi\n"
    "printf '%s\\n' \"$LUDWIG_NOTIFY\" | curl --config - >&2\n";

/* ---- one notice ---- */

struct notice {
    int64_t id, sweep, tries, worker;
    int64_t counts[6]; /* jobs, done, failed, stopped, cancelled, held */
    enum notify_event event;
    enum sweep_state state;
    bool is_out; /* a worker was given it */
    struct token token;
    struct notify notify;
    const char *name, *project, *reason;
};

/* Reads a notice: 1, 0 if there is no such row any more, -1 with e set. */
static int notice_read(struct server *sv, int64_t id, struct arena *a, struct notice *n,
                       struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_NOTICE_GET, "i", id);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        *n = (struct notice){ .id = id,
                              .sweep = stmt_int(s, 0),
                              .event = (enum notify_event)stmt_enum(s, 1, NOTIFY_EVENT_COUNT),
                              .state = (enum sweep_state)stmt_enum(s, 2, SWEEP_STATE_COUNT),
                              .tries = stmt_int(s, 3),
                              .is_out = !stmt_is_null(s, 4),
                              .worker = stmt_int(s, 5),
                              .name = stmt_copy(s, 7, a),
                              .reason = stmt_copy(s, 14, a),
                              .project = stmt_copy(s, 15, a) };
        if (n->is_out)
            stmt_token(s, 4, &n->token);
        for (int i = 0; i < 6; i++)
            n->counts[i] = stmt_int(s, 8 + i);
        if (schema_read(&notify_schema, stmt_bytes(s, 6), a, &n->notify, e) < 0)
            rc = -1;
    }
    stmt_end(s);
    return rc;
}

/* Has the notice tried again at next_at; 0: never.  why: the reason that users see. */
static int put_off(struct server *sv, const struct notice *n, int64_t next_at, int64_t tries,
                   const char *why, struct err *e)
{
    if (n->reason == NULL || strcmp(n->reason, why) != 0)
        subscribe_touch(sv, n->sweep);
    turn_add_work(sv->turn, sv->look_at_notices, 0);
    return db_run(sv->db, e, SQL_NOTICE_AGAIN, "iiis", n->id, next_at, tries, why) < 0 ? -1 : 0;
}

/* Records that a try failed.  is_lost: it is not known whether the notification was delivered. */
static int failed(struct server *sv, const struct notice *n, bool is_lost, const char *why,
                  struct err *e)
{
    int64_t tries = n->tries + 1, pause_ms = PAUSE_MS;
    struct buf text = { 0 };
    int rc;

    for (int64_t i = 1; i < tries && !is_lost && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 4;
    if (pause_ms > PAUSE_MAX_MS)
        pause_ms = PAUSE_MAX_MS;
    buf_printf(&text, "that the sweep has %s was not told", notify_event_names[n->event]);
    if (tries < TRIES_MAX) {
        buf_printf(&text, " (try %" PRId64 " of %d; the next one after ", tries, TRIES_MAX);
        units_add_duration(&text, pause_ms);
        buf_printf(&text, "): %.600s", why);
    } else {
        buf_printf(&text, ", after %d tries: %.600s", TRIES_MAX, why);
    }
    log_event(LOG_WARN, "not-notified", "sweep", "%lld", (long long)n->sweep, "event", "%s",
              notify_event_names[n->event], "tries", "%lld", (long long)tries, "why", "%s", why,
              NULL);
    rc = put_off(sv, n, tries < TRIES_MAX ? turn_now_ms(sv) + pause_ms : 0, tries, buf_text(&text),
                 e);
    buf_free(&text);
    return rc;
}

/* ---- what is told ---- */

static void add_text(struct buf *out, const struct notice *n)
{
    static const char *const words[] = { "done", "failed", "stopped early", "cancelled", "held" };

    buf_printf(out, "sweep %" PRId64, n->sweep);
    if (n->name != NULL && n->name[0] != '\0')
        buf_printf(out, " (%s)", n->name);
    buf_printf(out, " of project %s ", n->project);
    if (n->event == NOTIFY_ENDED)
        buf_printf(out, "has ended and is %s:", sweep_state_names[n->state]);
    else if (n->event == NOTIFY_FAILED)
        buf_add_str(out, "has a job that failed:");
    else
        buf_printf(
            out, "has stalled, as none of its jobs can run (`ludwig why %" PRId64 "`):", n->sweep);
    buf_printf(out, " of %" PRId64 " job%s", n->counts[0], n->counts[0] == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (n->counts[i + 1] > 0 || i == 0)
            buf_printf(out, ", %" PRId64 " %s", n->counts[i + 1], words[i]);
}

/* Retries have the same Message-ID, so that a mail that came twice all the same is shown once. */
static void add_mail(struct buf *out, const struct server *sv, const struct notice *n,
                     const char *text)
{
    buf_printf(out,
               "To: %s\nSubject: ludwig: sweep %" PRId64 " of %s has %s\nAuto-Submitted: "
               "auto-generated\nMessage-ID: <ludwig.%" PRId64 "@%s.invalid>\nMIME-Version: 1.0\n"
               "Content-Type: text/plain; charset=utf-8\n\n%s\n",
               n->notify.mail, n->sweep, n->project, notify_event_names[n->event], n->id,
               sv->server_id, text);
}

/* Options of curl; within quotes it knows \\, \", \t, \n, \r and \v. */
static void add_option(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s = \"", name);
    for (; *value != '\0'; value++)
        buf_printf(out, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
    buf_add_str(out, "\"\n");
}

static void add_request(struct buf *out, const struct notice *n, const char *text)
{
    struct buf body = { 0 };

    buf_add_str(&body, "{\"text\": ");
    quote_add(&body, text, strlen(text));
    buf_add_char(&body, '}');
    buf_add_str(out, "fail\nsilent\nshow-error\nmax-time = 60\n");
    add_option(out, "proto", "=http,https");
    add_option(out, "output", "/dev/null");
    add_option(out, "header", "Content-Type: application/json");
    add_option(out, "data-binary", buf_text(&body));
    add_option(out, "url", n->notify.url);
    buf_free(&body);
}

static const struct env_entry *environment_of(const struct server *sv, const struct notice *n,
                                              const struct list *own, struct arena *a)
{
    struct env_entry *entries = arena_alloc(a, (own->n + NOTIFY_ENVVAR_COUNT) * sizeof *entries);
    const char *values[NOTIFY_ENVVAR_COUNT];
    struct buf text = { 0 }, what = { 0 };

    add_text(&text, n);
    if (n->notify.run != NULL)
        buf_add_str(&what, n->notify.run);
    else if (n->notify.mail != NULL)
        add_mail(&what, sv, n, buf_text(&text));
    else
        add_request(&what, n, buf_text(&text));
    values[ENV_EVENT] = notify_event_names[n->event];
    values[ENV_STATE] = sweep_state_names[n->state];
    for (int i = 0; i < 6; i++)
        values[ENV_N_JOBS + i] = arena_printf(a, "%" PRId64, n->counts[i]);
    values[ENV_TEXT] = buf_to_arena(&text, a);
    values[ENV_NOTIFY] = buf_to_arena(&what, a);
    if (own->n > 0)
        memcpy(entries, own->items, own->n * sizeof *entries);
    for (size_t i = 0; i < NOTIFY_ENVVAR_COUNT; i++)
        entries[own->n + i] = (struct env_entry){ notify_envvars[i].name, values[i] };
    return entries;
}

/* ---- handing it to a worker ---- */

/* The worker to deliver the notice: one that may run the sweep's jobs and is no pilot, else such a
 * pilot, else any other worker that may run jobs of the owner.  NULL: there is none, or e is set.
 * */
static struct conn *find_worker(struct server *sv, const struct notice *n, struct err *e)
{
    struct arena *a = arena_create();
    struct sweep_pools pools = { 0 };
    struct fit_wanted w;
    struct conn *best = NULL;
    int best_rank = 3, rc = fit_wanted_read(sv, n->sweep, a, &w, &pools, e);

    w.need = (struct pilot_need){ RUN_MAX_MS, 0 };
    w.disk_bytes = 0;
    w.is_secret |= n->notify.url != NULL;
    for (struct conn *c = conn_after(sv, 0); rc >= 0 && c != NULL; c = conn_after(sv, c->number)) {
        struct stmt *s;
        int rank = 3;

        if (c->worker == 0 || c->is_retiring || c->registering != 0 ||
            (n->notify.run != NULL && fit_lack(c, n->sweep) != NULL))
            continue;
        s = db_ask(sv->db, SQL_SCHED_WORKER, "i", c->worker);
        rc = stmt_step(s, e);
        if (rc == 1 && stmt_int(s, 0) > 0) { /* it is not drained */
            if (fit_may_run(sv, c, stmt_text(s, 3), &w, &pools))
                rank = c->pilot != 0;
            else if (may_run(sv, c, w.uid) && conn_refusal(c, w.user) == NULL &&
                     !(w.is_secret && c->is_open))
                rank = 2;
        }
        stmt_end(s);
        if (rank < best_rank) {
            best_rank = rank;
            best = c;
        }
    }
    arena_destroy(a);
    return rc < 0 ? NULL : best;
}

/* Makes the attempt's work of the sweep's.  A command of the owner's gets the sweep's source, and
 * of its data the environment and the container; a mail or a message to a URL gets none of these.
 * */
static void make_work(struct jobspec *work, const struct server *sv, const struct notice *n,
                      struct arena *a)
{
    const struct data_entry *data = work->data.items;
    struct data_entry *kept = arena_alloc(a, (work->data.n + 1) * sizeof *kept);
    struct list env = work->env;
    struct jobspec all = *work;

    *work = (struct jobspec){
        .command = n->notify.run != NULL    ? run_command
                   : n->notify.mail != NULL ? mail_command
                                            : url_command,
        .resources = { .disk_bytes = all.resources.disk_bytes, .time_ms = RUN_MAX_MS },
        .batch = 1,
        .log = all.log,
    };
    if (n->notify.run != NULL) {
        work->setup = all.setup;
        work->container = all.container;
        work->environment = all.environment;
        work->source = all.source;
        work->data.items = kept;
        for (size_t i = 0; i < all.data.n; i++)
            if ((all.container != NULL && strcmp(data[i].name, all.container) == 0) ||
                (all.environment.data != NULL && strcmp(data[i].name, all.environment.data) == 0))
                kept[work->data.n++] = data[i];
    } else {
        env.n = 0;
    }
    work->env.items = (void *)(uintptr_t)environment_of(sv, n, &env, a);
    work->env.n = env.n + NOTIFY_ENVVAR_COUNT;
}

static int hand(struct server *sv, const struct notice *n, struct conn *c, struct arena *a,
                struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_WORK, "i", n->sweep);
    struct sweep_work w = { .sweep = n->sweep };
    struct assignment is = { .sweep = n->sweep,
                             .attempt = n->tries + 1,
                             .param_name = "notify",
                             .advises = true,
                             .notifies = true };
    struct buf no_params = { 0 };
    int rc = stmt_step(s, e);

    if (rc == 1) {
        w.project = stmt_copy(s, 0, a);
        w.user = stmt_copy(s, 1, a);
        rc = schema_read(&work_schema, stmt_bytes(s, 2), a, &w.work, e) < 0 ? -1 : 1;
    }
    stmt_end(s);
    if (rc != 1)
        return rc;
    make_work(&w.work, sv, n, a);
    token_make(&is.token);
    is.job_name = arena_printf(a, "%s_%" PRId64 "_%" PRId64, notify_event_names[n->event], n->id,
                               n->tries + 1);
    mp_add_map(&no_params, 0);
    is.params = buf_bytes(&no_params);
    conn_send(sv, c->number, MSG_HAND, &(struct msg_hand){ ++c->hand_seq, { &w, 1 }, { &is, 1 } });
    buf_free(&no_params);
    if (worker_row_used(sv, c->worker, e) < 0)
        return -1;
    return db_run(sv->db, e, SQL_NOTICE_HAND, "itii", n->id, &is.token, c->worker,
                  turn_now_ms(sv) + REPORT_MAX_MS) < 0
               ? -1
               : 0;
}

static int deliver(struct server *sv, int64_t id, struct arena *a, struct err *e)
{
    struct notice n;
    struct conn *c;
    int rc = notice_read(sv, id, a, &n, e);

    if (rc != 1)
        return rc;
    if (n.is_out) {
        struct token_entry stop = { n.token };

        c = conn_of_worker(sv, n.worker);
        if (c != NULL)
            conn_send(sv, c->number, MSG_STOP_ATTEMPTS,
                      &(struct msg_stop_attempts){ { &stop, 1 } });
        return failed(sv, &n, true, "its worker has not said what became of it", e);
    }
    c = find_worker(sv, &n, e);
    if (c != NULL)
        return hand(sv, &n, c, a, e);
    return put_off(sv, &n, turn_now_ms(sv) + NOBODY_MS, n.tries,
                   arena_printf(a,
                                "that the sweep has %s is told as soon as there is a worker that "
                                "may run jobs of its owner",
                                notify_event_names[n.event]),
                   e);
}

/* Reads the first column of all rows; the caller frees *ids, which is NULL if there are none. */
static int read_ids(struct stmt *s, int64_t **ids, size_t *n, struct err *e)
{
    size_t capacity = 0;
    int rc;

    *ids = NULL;
    *n = 0;
    while ((rc = stmt_step(s, e)) == 1) {
        mem_grow((void **)ids, &capacity, *n, sizeof **ids);
        (*ids)[(*n)++] = stmt_int(s, 0);
    }
    return rc;
}

/* ---- reports ---- */

static int find_id(struct server *sv, int64_t worker, const struct token *token, int64_t *id,
                   struct err *e)
{
    return db_get(sv->db, e, SQL_NOTICE_OF_TOKEN, "ti>i", token, worker, id);
}

int notices_have(struct server *sv, int64_t worker, const struct token *token, struct err *e)
{
    int64_t id;

    return find_id(sv, worker, token, &id, e);
}

int notices_take_report(struct server *sv, const struct conn *c, const struct report *r,
                        struct err *e)
{
    struct arena *a;
    struct notice n;
    int64_t id;
    int rc = find_id(sv, c->worker, &r->token, &id, e);

    if (rc != 1 || r->event == EV_STAGE || r->event == EV_RUN || r->event == EV_END)
        return rc;
    a = arena_create();
    rc = notice_read(sv, id, a, &n, e);
    if (rc == 1 && (r->event == EV_CANCEL || r->event == EV_DONE) && r->exit_code == 0) {
        log_event(LOG_INFO, "notified", "sweep", "%lld", (long long)n.sweep, "event", "%s",
                  notify_event_names[n.event], NULL);
        rc = db_run(sv->db, e, SQL_NOTICE_DONE, "ii", id, turn_now_ms(sv)) < 0 ? -1 : 1;
        subscribe_touch(sv, n.sweep);
    } else if (rc == 1 && r->event == EV_RECALL) { /* it was not begun */
        rc = put_off(sv, &n, turn_now_ms(sv) + NOBODY_MS, n.tries,
                     r->reason != NULL ? r->reason : "its worker gave it back", e);
    } else if (rc == 1) {
        const char *why = r->reason != NULL ? r->reason : attempt_event_names[r->event];
        struct conn *worker = conn_of_worker(sv, c->worker);

        if (r->cause == CAUSE_ENVIRONMENT && worker != NULL)
            fit_note_lack(worker, n.sweep, why);
        rc = failed(sv, &n, r->event == EV_LOSE, why, e);
    }
    arena_destroy(a);
    return rc < 0 ? -1 : 1;
}

/* Each item of held begins with its token. */
static int compare_tokens(const void *x, const void *y)
{
    return memcmp(x, y, TOKEN_BYTES);
}

int notices_settle(struct server *sv, int64_t worker, const struct list *held, struct err *e)
{
    struct arena *a = arena_create();
    struct notice n;
    int64_t *ids;
    size_t n_ids;
    int rc = read_ids(db_ask(sv->db, SQL_NOTICES_OF_WORKER, "i", worker), &ids, &n_ids, e);

    for (size_t i = 0; rc >= 0 && i < n_ids; i++) {
        rc = notice_read(sv, ids[i], a, &n, e);
        if (rc == 1 && (held->n == 0 || bsearch(&n.token, held->items, held->n, sizeof(struct held),
                                                compare_tokens) == NULL))
            rc = failed(sv, &n, true, "it never arrived, or its worker has forgotten it", e);
    }
    free(ids);
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}

/* ---- stalled sweeps ---- */

/* Sets *is to whether nothing of the sweep goes on now, *after_ms to how long that has to last, and
 * *since to the moment since when it was so at the last look, which the sweep's row has. */
static int is_stalled(struct server *sv, int64_t sweep, bool *is, int64_t *after_ms, int64_t *since,
                      struct err *e)
{
    struct arena *a = arena_create();
    struct notify notify = { 0 };
    struct stmt *s = db_ask(sv->db, SQL_STALL_GET, "i", sweep);
    bool may_run_some = false, is_there = false;
    int rc = stmt_step(s, e);

    *is = false; /* also of a sweep that is gone */
    if (rc == 1) {
        int64_t ready = stmt_int(s, 2), held = stmt_int(s, 3), on_the_way = stmt_int(s, 4);
        bool is_paused = stmt_int(s, 5) != 0, is_advised = advised_goes_on(stmt_int(s, 6));

        *since = stmt_int(s, 0);
        rc = schema_read(&notify_schema, stmt_bytes(s, 1), a, &notify, e) < 0 ? -1 : 1;
        *after_ms = notify.after_ms > 0 ? notify.after_ms : NOTIFY_STALLED_MS;
        /* Users pause sweeps themselves, but for those that an advisor leaves. */
        *is = on_the_way == 0 && ready + held > 0 && (!is_paused || is_advised);
        may_run_some = !is_paused && ready > 0;
        is_there = stmt_int(s, 7) != 0; /* a pilot waits or runs */
    }
    stmt_end(s);
    if (rc == 1 && *is && may_run_some && !is_there &&
        fit_is_there(sv, sweep, (struct grown){ 0 }, &is_there, e) < 0)
        rc = -1;
    *is = *is && !(may_run_some && is_there);
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}

/* Looks at a turn's worth of sweeps.  0 with *look_ms, the pause before the next look, once all
 * were looked at; 1: there is more to do in a later turn; -1 with e set. */
static int watch_stalled(struct server *sv, int64_t *look_ms, struct err *e)
{
    struct notices *x = sv->notices;
    uint64_t began_ns = uv_hrtime();
    bool is_first = true;
    int rc = 0;

    if (x->looked_at == NULL && began_ns < x->rest_until_ns) {
        *look_ms = (int64_t)((x->rest_until_ns - began_ns) / 1000000) + 1;
        return 0;
    }
    if (x->looked_at == NULL) {
        x->at = 0;
        x->took_ns = 0;
        x->look_ms = INT64_MAX;
        rc = read_ids(db_ask(sv->db, SQL_STALLABLE, ""), &x->looked_at, &x->n_looked_at, e);
    }
    for (; rc >= 0 && x->at < x->n_looked_at && (is_first || !turn_is_full(sv)); is_first = false) {
        int64_t now_ms = turn_now_ms(sv), after_ms = LOOK_MAX_MS, since = 0, to, pause_ms;
        int64_t sweep = x->looked_at[x->at++];
        bool is = false;

        rc = is_stalled(sv, sweep, &is, &after_ms, &since, e);
        to = !is ? 0 : since > 0 && now_ms - since >= after_ms ? -1 : since == 0 ? now_ms : since;
        if (rc >= 0 && to != since)
            rc = db_run(sv->db, e, SQL_STALL_SET, "ii", sweep, to);
        pause_ms = after_ms / 8 < LOOK_MIN_MS   ? LOOK_MIN_MS
                   : after_ms / 8 > LOOK_MAX_MS ? LOOK_MAX_MS
                                                : after_ms / 8;
        if (pause_ms < x->look_ms)
            x->look_ms = pause_ms;
    }
    x->took_ns += uv_hrtime() - began_ns;
    if (rc >= 0 && x->at < x->n_looked_at)
        return 1;
    free(x->looked_at);
    x->looked_at = NULL;
    x->rest_until_ns = uv_hrtime() + REST_TIMES * x->took_ns;
    *look_ms = x->look_ms;
    return rc < 0 ? -1 : 0;
}

/* ---- what is next ---- */

static void on_timer(uv_timer_t *timer)
{
    struct notices *x = timer->data;

    turn_add_work(x->sv->turn, x->sv->look_at_notices, 0);
}

/* Turn work: looks for stalled sweeps, hands out notifications that are due, and sets the timer. */
static int look(struct server *sv, int64_t unused, struct err *e)
{
    struct arena *a = arena_create();
    int64_t wait_ms = INT64_MAX, next_at = SCHEMA_NONE, *ids = NULL;
    size_t n = 0;
    int more = watch_stalled(sv, &wait_ms, e), rc = more < 0 ? -1 : 0;

    (void)unused;
    if (rc == 0)
        rc = read_ids(db_ask(sv->db, SQL_NOTICES_DUE, "ii", turn_now_ms(sv), (int64_t)AT_ONCE),
                      &ids, &n, e);
    for (size_t i = 0; rc >= 0 && i < n && (i == 0 || !turn_is_full(sv)); i++)
        rc = deliver(sv, ids[i], a, e);
    free(ids);
    if (rc >= 0)
        rc = db_get(sv->db, e, SQL_NOTICE_NEXT, ">i", &next_at);
    if (rc < 0)
        wait_ms = NOBODY_MS;
    else if (next_at != SCHEMA_NONE && next_at - turn_now_ms(sv) < wait_ms)
        wait_ms = next_at > turn_now_ms(sv) ? next_at - turn_now_ms(sv) : 1;
    if (wait_ms == INT64_MAX)
        uv_timer_stop(sv->notices->timer);
    else
        uv_timer_start(sv->notices->timer, on_timer, (uint64_t)wait_ms, 0);
    arena_destroy(a);
    return rc < 0 ? -1 : more;
}

struct notices *notices_create(struct server *sv)
{
    struct notices *x = mem_alloc(sizeof *x);

    sv->look_at_notices = look;
    *x = (struct notices){ .sv = sv, .timer = mem_alloc(sizeof *x->timer) };
    x->timer->data = x;
    uv_timer_init(&sv->loop, x->timer);
    if (!sv->is_reading)
        turn_add_work(sv->turn, look, 0);
    return x;
}

static void on_closed(uv_handle_t *timer)
{
    free(timer);
}

void notices_destroy(struct notices *x)
{
    if (x == NULL)
        return;
    uv_close((uv_handle_t *)x->timer, on_closed);
    free(x->looked_at);
    free(x);
}
