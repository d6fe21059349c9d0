/* SPDX-License-Identifier: MIT */
/* holds.c - holds of jobs: made, carried out, tried and lifted */

#include "server/queue/holds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/data/msgpack.h"
#include "common/proto/failure.h"
#include "server/base/turn.h"
#include "server/queue/attempts.h"
#include "server/queue/guard.h"
#include "server/queue/hold_notes.h"
#include "server/queue/subscribe.h"

enum {
    OUTCOMES_AT_ONCE = 500,
    RUNNING_MAX = 5000, /* running jobs that are looked at */
    TRYABLE_MAX = 1000,
    LOOK_AGAIN_MIN_MS = 1000
};

/* A sweep in which a job failed or is held. */
struct watched {
    int64_t sweep;
    struct guard *guard;
    int64_t from;       /* failures up to this version do not count */
    int64_t cursor;     /* the version of the last end that the guard knows */
    bool has_failure;   /* a failure is not judged yet */
    bool has_success;   /* a success is not written to the holds yet */
    int64_t running_at; /* when to look at running jobs, by the loop's clock; 0: not */
};

struct holds {
    struct server *sv;
    struct watched *items;
    size_t n, capacity;
    uv_timer_t *timer; /* for running_at; freed when it is closed */
};

static int look(struct server *sv, int64_t sweep, struct err *e);
static int carry_out(struct server *sv, int64_t sweep, struct err *e);
static int settle_resumed(struct server *sv, int64_t sweep, struct err *e);

static const struct hold_work hold_work = { look, carry_out, settle_resumed };

/* ---- what is watched ---- */

static struct watched *find_watched(const struct holds *h, int64_t sweep)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->items[i].sweep == sweep)
            return &h->items[i];
    return NULL;
}

static void forget(struct holds *h, struct watched *w)
{
    hold_notes_unwatch(h->sv->hold_notes, w->sweep);
    guard_destroy(w->guard);
    *w = h->items[--h->n];
}

/* Finds or begins the watching of a sweep: 1, 0 when the sweep is over or has no guard, -1. */
static int watch(struct holds *h, int64_t sweep, struct watched **found, struct err *e)
{
    int64_t failures, from, state;
    struct watched *w = find_watched(h, sweep);
    int rc = db_get(h->sv->db, e, SQL_GUARD_SWEEP, "i>iii", sweep, &failures, &from, &state);

    if (rc < 0)
        return -1;
    if (rc == 0 || failures == 0 || (state != SWEEP_RUNNING && state != SWEEP_PAUSED)) {
        if (w != NULL)
            forget(h, w);
        return 0;
    }
    if (w == NULL) {
        mem_grow((void **)&h->items, &h->capacity, h->n, sizeof *h->items);
        w = &h->items[h->n++];
        *w = (struct watched){ .sweep = sweep, .guard = guard_create(failures), .from = from };
        hold_notes_watch(h->sv->hold_notes, sweep);
    }
    if (from > w->from) {
        guard_forget_failures(w->guard);
        w->from = from;
    }
    *found = w;
    return 1;
}

/* ---- outcomes ---- */

static void add_outcome(struct watched *w, struct stmt *s, const struct value *params)
{
    struct guard_outcome x = { .config = stmt_int(s, 1), .params = params };
    struct failure f = { .cause = CAUSE_NONE };
    struct buf cause = { 0 }, words = { 0 };

    if (stmt_int(s, 3) == JOB_FAILED) {
        f = (struct failure){ stmt_is_null(s, 4) ? CAUSE_NONE
                                                 : (enum cause)stmt_enum(s, 4, CAUSE_COUNT),
                              stmt_int(s, 5), stmt_int(s, 6), stmt_text(s, 7) };
        if (!failure_is_own(f.cause) || w->cursor <= w->from)
            return;
        failure_add_name(&cause, &f);
        failure_add_words(&words, &f);
        x.cause = buf_text(&cause);
        x.words = buf_text(&words);
        if (!stmt_is_null(s, 8) && stmt_int(s, 8) > 0 && stmt_int(s, 9) > stmt_int(s, 8))
            x.ran_ms = stmt_int(s, 9) - stmt_int(s, 8);
    }
    w->has_failure |= x.cause != NULL;
    w->has_success |= x.cause == NULL;
    guard_add(w->guard, &x);
    buf_free(&cause);
    buf_free(&words);
}

/* Adds the ends since the last call to the guard: 1 when there are more, 0, -1. */
static int add_outcomes(struct server *sv, struct watched *w, struct err *e)
{
    struct arena *a = arena_create();
    int rc = 1, n = OUTCOMES_AT_ONCE;

    while (rc >= 0 && n == OUTCOMES_AT_ONCE && !turn_is_full(sv)) {
        struct stmt *s = db_ask(sv->db, SQL_GUARD_OUTCOMES, "iii", w->sweep, w->cursor,
                                (int64_t)OUTCOMES_AT_ONCE);

        for (n = 0; (rc = stmt_step(s, e)) == 1; n++) {
            struct bytes bytes = stmt_bytes(s, 2);
            struct value params;

            arena_reset(a);
            w->cursor = stmt_int(s, 0);
            if (mp_read(bytes.data, bytes.n, a, &params, e) < 0) {
                rc = -1;
                break;
            }
            add_outcome(w, s, &params);
        }
        stmt_end(s);
    }
    arena_destroy(a);
    return rc < 0 ? -1 : n == OUTCOMES_AT_ONCE;
}

/* ---- rows ---- */

/* A row of HOLD_COLUMNS. */
struct hold_row {
    int64_t id, sweep;
    struct guard_hold hold;
    int64_t made_at, tried_at;
    bool has_success;
    bool is_lifted;
    int64_t next_no; /* number of the job to go on with; SCHEMA_NONE: it is carried out */
};

static void encode_test(struct buf *out, const struct guard_hold *h)
{
    if (h->is_whole)
        return;
    mp_add_list(out, 3);
    mp_add_str(out, h->test.name, strlen(h->test.name));
    mp_add_int(out, (int64_t)h->test.op);
    mp_add_value(out, &h->test.value);
}

static int decode_test(struct bytes bytes, struct arena *a, struct guard_hold *h, struct err *e)
{
    const uint8_t *kept = (const uint8_t *)arena_strndup(a, (const char *)bytes.data, bytes.n);
    struct value v;

    h->is_whole = bytes.n == 0;
    if (h->is_whole)
        return 0;
    if (mp_read(kept, bytes.n, a, &v, e) < 0)
        return -1;
    if (v.type != VALUE_LIST || v.list.n != 3 || v.list.items[0].type != VALUE_STR ||
        v.list.items[1].type != VALUE_INT || v.list.items[1].i < 0 ||
        v.list.items[1].i > PARAM_AT_MOST)
        return err_set(e, ERR_INTERNAL, "a hold's test cannot be read");
    h->test = (struct param_test){ arena_strdup(a, v.list.items[0].str.s),
                                   (enum param_op)v.list.items[1].i, v.list.items[2] };
    return 0;
}

static int read_row(struct stmt *s, struct arena *a, struct hold_row *row, struct err *e)
{
    *row = (struct hold_row){ .id = stmt_int(s, 0),
                              .sweep = stmt_int(s, 1),
                              .hold = { .cause = stmt_copy(s, 3, a),
                                        .words = stmt_copy(s, 4, a),
                                        .failed = stmt_int(s, 5),
                                        .ended = stmt_int(s, 6) },
                              .made_at = stmt_int(s, 7),
                              .tried_at = stmt_int(s, 8),
                              .has_success = stmt_int(s, 9) != 0,
                              .is_lifted = stmt_int(s, 10) != 0,
                              .next_no = stmt_int(s, 11) };
    return decode_test(stmt_bytes(s, 2), a, &row->hold, e);
}

/* The sweep's holds that are not lifted. */
struct active {
    struct hold_row *rows;
    size_t n, capacity;
    struct guard_hold *holds; /* the rows' holds, for guard_judge */
};

static void active_free(struct active *x)
{
    free(x->rows);
    free(x->holds);
    *x = (struct active){ 0 };
}

static int read_active(struct server *sv, int64_t sweep, struct arena *a, struct active *x,
                       struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_HOLDS_ACTIVE, "i", sweep);
    int rc;

    active_free(x);
    while ((rc = stmt_step(s, e)) == 1) {
        mem_grow((void **)&x->rows, &x->capacity, x->n, sizeof *x->rows);
        if (read_row(s, a, &x->rows[x->n++], e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    x->holds = mem_alloc(x->n * sizeof *x->holds);
    for (size_t i = 0; i < x->n; i++)
        x->holds[i] = x->rows[i].hold;
    return rc;
}

/* ---- carrying out ---- */

/* Another hold of the sweep that also holds the job; SCHEMA_NONE: none does. */
static int64_t other_hold(const struct active *x, int64_t except, const struct value *params)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->rows[i].id != except && guard_holds(&x->rows[i].hold, params))
            return x->rows[i].id;
    return SCHEMA_NONE;
}

static int set_hold(struct server *sv, int64_t job, int64_t hold, struct tally *t, struct err *e)
{
    if (db_run(sv->db, e, SQL_JOB_SET_HOLD, "iI", job, hold) < 0)
        return -1;
    return job_refresh(sv, job, t, e);
}

struct found_job {
    int64_t id, no, state;
    struct value params;
};

/* Reads *n, at most max, jobs of a statement: id, parameters, with has_no number and state. */
static int take_jobs(struct stmt *s, bool has_no, struct arena *a, struct found_job *jobs,
                     size_t max, size_t *n, struct err *e)
{
    int rc = 0;

    for (*n = 0; *n < max && (rc = stmt_step(s, e)) == 1; ++*n) {
        struct bytes bytes = stmt_bytes(s, has_no ? 2 : 1);
        const char *kept = arena_strndup(a, (const char *)bytes.data, bytes.n);

        jobs[*n] = (struct found_job){ .id = stmt_int(s, 0),
                                       .no = has_no ? stmt_int(s, 1) : 0,
                                       .state = has_no ? stmt_int(s, 3) : JOB_HELD };
        if (mp_read(kept, bytes.n, a, &jobs[*n].params, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

enum { CARRIED_AT_ONCE = 64 };

/* Holds the next jobs: 1 when there are more, 0, -1.  Running ones go on, without another try. */
static int hold_some(struct server *sv, struct hold_row *row, struct arena *a, struct tally *t,
                     struct err *e)
{
    struct found_job jobs[CARRIED_AT_ONCE];
    size_t n;

    if (take_jobs(db_ask(sv->db, SQL_HOLD_NEXT, "iii", row->sweep, row->next_no,
                         (int64_t)CARRIED_AT_ONCE),
                  true, a, jobs, CARRIED_AT_ONCE, &n, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        row->next_no = jobs[i].no + 1;
        if (!guard_holds(&row->hold, &jobs[i].params))
            continue;
        if (((jobs[i].state == JOB_QUEUED || jobs[i].state == JOB_STAGING) &&
             recall_of_job(sv, jobs[i].id, e) < 0) ||
            set_hold(sv, jobs[i].id, row->id, t, e) < 0)
            return -1;
    }
    return n == CARRIED_AT_ONCE;
}

/* Releases the next jobs, or hands them to another hold: 1 when there are more, 0, -1. */
static int release_some(struct server *sv, const struct hold_row *row, const struct active *others,
                        struct arena *a, struct tally *t, struct err *e)
{
    struct found_job jobs[CARRIED_AT_ONCE];
    size_t n;

    if (take_jobs(db_ask(sv->db, SQL_HOLD_JOBS, "ii", row->id, (int64_t)CARRIED_AT_ONCE), false, a,
                  jobs, CARRIED_AT_ONCE, &n, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (set_hold(sv, jobs[i].id, other_hold(others, row->id, &jobs[i].params), t, e) < 0)
            return -1;
    return n == CARRIED_AT_ONCE;
}

/* Carries out a hold, or its lifting, until the turn is full: 1 when more is left, 0, -1. */
static int carry_on(struct server *sv, struct hold_row *row, struct arena *a, struct err *e)
{
    struct active others = { 0 };
    struct tally t = { 0 };
    int rc = row->is_lifted && read_active(sv, row->sweep, a, &others, e) < 0 ? -1 : 1;

    for (bool is_first = true; rc == 1 && (is_first || !turn_is_full(sv)); is_first = false)
        rc = row->is_lifted ? release_some(sv, row, &others, a, &t, e)
                            : hold_some(sv, row, a, &t, e);
    if (rc >= 0 && (tally_flush(sv, &t, e) < 0 || db_run(sv->db, e, SQL_HOLD_AT, "iI", row->id,
                                                         rc == 1 ? row->next_no : SCHEMA_NONE) < 0))
        rc = -1;
    active_free(&others);
    return rc;
}

/* Turn work: carries out the decisions on the sweep. */
static int carry_out(struct server *sv, int64_t sweep, struct err *e)
{
    struct arena *a = arena_create();
    struct stmt *s = db_ask(sv->db, SQL_HOLD_AT_WORK, "i", sweep);
    int rc = stmt_step(s, e);
    bool is_any = rc == 1;
    struct hold_row row;

    if (is_any && read_row(s, a, &row, e) < 0)
        rc = -1;
    stmt_end(s);
    if (is_any && rc == 1)
        rc = carry_on(sv, &row, a, e) < 0 ? -1 : 1; /* there may be another one */
    arena_destroy(a);
    if (rc == 0) {
        turn_want_schedule(sv);
        turn_want_pilots(sv);
        turn_add_work(sv->turn, look, sweep);
    }
    return rc;
}

/* ---- making, lifting, trying ---- */

static int make(struct server *sv, int64_t sweep, const struct guard_hold *h, struct err *e)
{
    struct buf test = { 0 }, sentence = { 0 };
    int rc;

    encode_test(&test, h);
    guard_add_sentence(&sentence, h, sweep);
    rc = db_run(sv->db, e, SQL_HOLD_ADD, "ibssiisi", sweep, buf_bytes(&test), h->cause, h->words,
                h->failed, h->ended, buf_text(&sentence), turn_now_ms(sv));
    if (rc >= 0) {
        turn_add_work(sv->turn, carry_out, sweep);
        log_event(LOG_INFO, "hold", "sweep", "%lld", (long long)sweep, "why", "%s",
                  buf_text(&sentence), NULL);
    }
    buf_free(&test);
    buf_free(&sentence);
    return rc < 0 ? -1 : 0;
}

static int lift(struct server *sv, const struct hold_row *row, const char *why, struct err *e)
{
    if (db_run(sv->db, e, SQL_HOLD_LIFT, "iisI", row->id, turn_now_ms(sv), why, (int64_t)0) < 0)
        return -1;
    turn_add_work(sv->turn, carry_out, row->sweep);
    log_event(LOG_INFO, "hold-lifted", "sweep", "%lld", (long long)row->sweep, "why", "%s", why,
              NULL);
    return 0;
}

/* Lets one held job run, if possible a telling one (guard_is_telling): 1 when it did, 0, -1. */
static int try_one(struct server *sv, const struct watched *w, const struct hold_row *row,
                   bool only_telling, struct err *e)
{
    struct arena *a = arena_create();
    struct found_job *jobs = arena_alloc(a, TRYABLE_MAX * sizeof *jobs);
    struct tally t = { 0 };
    size_t n, i = 0;
    int rc = take_jobs(db_ask(sv->db, SQL_HOLD_TRYABLE, "ii", row->id, (int64_t)TRYABLE_MAX), false,
                       a, jobs, TRYABLE_MAX, &n, e);

    if (rc == 0 && !row->hold.is_whole && w != NULL)
        while (i < n && !guard_is_telling(w->guard, &row->hold, &jobs[i].params))
            i++;
    if (i == n && !only_telling)
        i = 0;
    if (rc == 0 && i < n) {
        rc = set_hold(sv, jobs[i].id, SCHEMA_NONE, &t, e) < 0 || tally_flush(sv, &t, e) < 0 ||
                     db_run(sv->db, e, SQL_HOLD_TRIED, "ii", row->id, turn_now_ms(sv)) < 0
                 ? -1
                 : 1;
        log_event(LOG_INFO, "hold-tried", "sweep", "%lld", (long long)row->sweep, NULL);
    }
    arena_destroy(a);
    return rc;
}

int holds_try_project(struct server *sv, int64_t project, const struct digest *work, struct err *e)
{
    struct arena *a = arena_create();
    struct active x = { 0 };
    struct stmt *s = db_ask(sv->db, SQL_HOLDS_OF_PROJECT, "id", project, work);
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        mem_grow((void **)&x.rows, &x.capacity, x.n, sizeof *x.rows);
        if (read_row(s, a, &x.rows[x.n++], e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    for (size_t i = 0; rc >= 0 && i < x.n; i++)
        rc = try_one(sv, find_watched(sv->holds, x.rows[i].sweep), &x.rows[i], false, e);
    active_free(&x);
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}

/* ---- looking ---- */

struct running {
    struct guard_running *items;
    size_t n, capacity;
};

static int read_running(struct server *sv, int64_t sweep, struct arena *a, struct running *r,
                        struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_GUARD_RUNNING, "ii", sweep, (int64_t)RUNNING_MAX);
    int rc;

    r->n = 0;
    while ((rc = stmt_step(s, e)) == 1) {
        struct bytes bytes = stmt_bytes(s, 0);
        const char *kept = arena_strndup(a, (const char *)bytes.data, bytes.n);
        struct value *params = arena_alloc(a, sizeof *params);

        if (mp_read(kept, bytes.n, a, params, e) < 0) {
            rc = -1;
            break;
        }
        mem_grow((void **)&r->items, &r->capacity, r->n, sizeof *r->items);
        r->items[r->n++] = (struct guard_running){ params, turn_now_ms(sv) - stmt_int(s, 1) };
    }
    stmt_end(s);
    return rc;
}

static int judge(struct server *sv, struct watched *w, const struct running *r, struct arena *a,
                 struct active *x, struct err *e)
{
    struct guard_hold found;

    while (guard_judge(w->guard, x->holds, x->n, a, &found)) {
        if (guard_is_outlived(w->guard, &found, r->items, r->n))
            continue;
        if (make(sv, w->sweep, &found, e) < 0 || read_active(sv, w->sweep, a, x, e) < 0)
            return -1;
    }
    return 0;
}

/* Sets *rest: whether only held jobs are left of the sweep. */
static int is_rest(struct server *sv, int64_t sweep, bool *rest, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_COUNTS, "i", sweep);
    int rc = stmt_step(s, e);
    struct job_counts counts = { 0 };

    for (int i = 0; rc == 1 && i < JOB_STATE_COUNT; i++)
        counts.of[i] = stmt_int(s, 2 + i);
    stmt_end(s);
    *rest = sweep_state_shown(SWEEP_RUNNING, &counts) == SWEEP_HELD;
    return rc < 0 ? -1 : 0;
}

static int review(struct server *sv, struct watched *w, struct hold_row *row,
                  const struct running *r, struct err *e)
{
    int64_t since = row->tried_at > 0 ? row->tried_at : row->made_at;
    int64_t failed = row->hold.failed;
    struct guard_now now = { .running = r->items,
                             .n_running = r->n,
                             .is_due = row->has_success &&
                                       turn_now_ms(sv) - since >= GUARD_TRY_AFTER_MS };
    struct guard_review v;
    int rc = 0;

    if (row->next_no != SCHEMA_NONE)
        return 0; /* reviewed once it is carried out */
    if (is_rest(sv, w->sweep, &now.is_rest, e) < 0)
        return -1;
    v = guard_review(w->guard, &row->hold, &now);
    if (v.answer == GUARD_LIFTS)
        return lift(sv, row, v.why, e);
    if (v.answer != GUARD_STAYS)
        rc = try_one(sv, w, row, v.answer == GUARD_TRIES_TELLING && v.is_sure, e);
    if (rc >= 0 && row->hold.failed != failed) {
        struct buf sentence = { 0 };

        guard_add_sentence(&sentence, &row->hold, w->sweep);
        rc = db_run(sv->db, e, SQL_HOLD_SAY, "iiis", row->id, row->hold.failed, row->hold.ended,
                    buf_text(&sentence));
        buf_free(&sentence);
    }
    return rc < 0 ? -1 : 0;
}

static void on_timer(uv_timer_t *timer)
{
    struct holds *h = timer->data;

    for (size_t i = 0; i < h->n; i++)
        if (h->items[i].running_at > 0 && h->items[i].running_at <= (int64_t)uv_now(timer->loop))
            turn_add_work(h->sv->turn, look, h->items[i].sweep);
}

/* The timer runs out when the first sweep is due. */
static void set_timer(struct holds *h)
{
    int64_t at = INT64_MAX, now = (int64_t)uv_now(&h->sv->loop);

    for (size_t i = 0; i < h->n; i++)
        if (h->items[i].running_at > 0 && h->items[i].running_at < at)
            at = h->items[i].running_at;
    if (at == INT64_MAX)
        uv_timer_stop(h->timer);
    else
        uv_timer_start(h->timer, on_timer, at > now ? (uint64_t)(at - now) : 0, 0);
}

/* Plans the next look for when the first running job of a held kind outlasts the failures. */
static void look_again(struct server *sv, struct watched *w, const struct active *x,
                       const struct running *r)
{
    int64_t in_ms = INT64_MAX;

    for (size_t i = 0; i < x->n; i++) {
        int64_t after_ms = guard_outlived_after_ms(w->guard, &x->holds[i]);

        for (size_t k = 0; k < r->n; k++) {
            int64_t left_ms = after_ms - r->items[k].for_ms;

            if (left_ms > 0 && left_ms < in_ms && guard_holds(&x->holds[i], r->items[k].params))
                in_ms = left_ms;
        }
    }
    w->running_at = 0;
    if (in_ms < INT64_MAX)
        w->running_at =
            (int64_t)uv_now(&sv->loop) + (in_ms < LOOK_AGAIN_MIN_MS ? LOOK_AGAIN_MIN_MS : in_ms);
    set_timer(sv->holds);
}

/* Makes, lifts and tries holds as the added ends ask for. */
static int decide(struct server *sv, struct watched *w, struct arena *a, struct active *x,
                  struct running *r, struct err *e)
{
    bool is_timed = w->running_at > 0 && w->running_at <= (int64_t)uv_now(&sv->loop);
    bool looks_at_running = w->has_failure || is_timed;

    if (read_active(sv, w->sweep, a, x, e) < 0)
        return -1;
    if (w->has_success && x->n > 0 && db_run(sv->db, e, SQL_HOLDS_HAVE_SUCCESS, "i", w->sweep) < 0)
        return -1;
    for (size_t i = 0; w->has_success && i < x->n; i++)
        x->rows[i].has_success = true;
    if (looks_at_running && read_running(sv, w->sweep, a, r, e) < 0)
        return -1;
    if (w->has_failure && judge(sv, w, r, a, x, e) < 0)
        return -1;
    w->has_failure = w->has_success = false;
    for (size_t i = 0; i < x->n; i++)
        if (review(sv, w, &x->rows[i], r, e) < 0)
            return -1;
    if (looks_at_running)
        look_again(sv, w, x, r);
    return 0;
}

/* Turn work: adds the sweep's ends to the guard, and carries on from its decisions. */
static int look(struct server *sv, int64_t sweep, struct err *e)
{
    struct active x = { 0 };
    struct running r = { 0 };
    struct watched *w = NULL;
    struct arena *a;
    int rc = watch(sv->holds, sweep, &w, e);

    if (rc <= 0)
        return rc;
    rc = add_outcomes(sv, w, e);
    if (rc != 0)
        return rc;
    a = arena_create();
    rc = decide(sv, w, a, &x, &r, e);
    if (x.n > 0)
        subscribe_touch(sv, sweep);
    active_free(&x);
    free(r.items);
    arena_destroy(a);
    return rc;
}

/* ---- a user's resume ---- */

/* Lifts holds whose jobs are all resumed (all: every hold); earlier failures count no more. */
static int end_holds(struct server *sv, int64_t sweep, bool all, struct err *e)
{
    struct arena *a = arena_create();
    struct active x = { 0 };
    int n_ended = 0, rc = read_active(sv, sweep, a, &x, e);

    for (size_t i = 0; rc >= 0 && i < x.n; i++) {
        struct found_job job;
        size_t n = 0;

        if (!all)
            rc = take_jobs(db_ask(sv->db, SQL_HOLD_JOBS, "ii", x.rows[i].id, (int64_t)1), false, a,
                           &job, 1, &n, e);
        if (rc < 0 || n > 0 || (!all && x.rows[i].next_no != SCHEMA_NONE))
            continue;
        rc = db_run(sv->db, e, SQL_HOLD_LIFT, "iisI", x.rows[i].id, turn_now_ms(sv), "resumed",
                    SCHEMA_NONE);
        n_ended++;
    }
    if (rc >= 0 && n_ended > 0)
        rc = db_run(sv->db, e, SQL_GUARD_FORGET, "ii", sweep, turn_version(sv));
    active_free(&x);
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}

static int settle_resumed(struct server *sv, int64_t sweep, struct err *e)
{
    return end_holds(sv, sweep, false, e);
}

int holds_end_all(struct server *sv, int64_t sweep, struct err *e)
{
    return end_holds(sv, sweep, true, e);
}

int holds_take_back(struct server *sv, int64_t sweep, int64_t since_ms, struct err *e)
{
    struct watched *w = find_watched(sv->holds, sweep);
    struct arena *a = arena_create();
    struct active x = { 0 };
    int rc = read_active(sv, sweep, a, &x, e);

    /* The look that follows reads the rest of the sweep's history anew. */
    if (w != NULL)
        forget(sv->holds, w);
    for (size_t i = 0; rc >= 0 && i < x.n; i++)
        if (x.rows[i].made_at >= since_ms)
            rc = lift(sv, &x.rows[i], "it was the node that its jobs failed on", e);
    turn_add_work(sv->turn, look, sweep);
    active_free(&x);
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}

/* ---- beginning and end ---- */

struct holds *holds_create(struct server *sv)
{
    struct holds *h = mem_alloc(sizeof *h);

    sv->hold_notes = hold_notes_create(&hold_work);
    h->sv = sv;
    h->timer = mem_alloc(sizeof *h->timer);
    h->timer->data = h;
    uv_timer_init(&sv->loop, h->timer);
    return h;
}

static void on_closed(uv_handle_t *timer)
{
    free(timer);
}

void holds_destroy(struct holds *h)
{
    if (h == NULL)
        return;
    while (h->n > 0)
        forget(h, &h->items[0]);
    uv_close((uv_handle_t *)h->timer, on_closed);
    hold_notes_destroy(h->sv->hold_notes);
    free(h->items);
    free(h);
}

int holds_load(struct server *sv, struct err *e)
{
    static const struct {
        enum sql_name found;
        turn_work_fn work;
    } left[] = { { SQL_HOLD_SWEEPS_AT_WORK, carry_out }, { SQL_HOLD_SWEEPS, look } };

    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        struct stmt *s = db_ask(sv->db, left[i].found, "");
        int rc;

        while ((rc = stmt_step(s, e)) == 1)
            turn_add_work(sv->turn, left[i].work, stmt_int(s, 0));
        if (rc < 0)
            return -1;
    }
    return 0;
}
