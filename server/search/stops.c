/* SPDX-License-Identifier: MIT */
/* stops.c - tells a sweep's stop rule or race what jobs report, and carries out the answers */

#include "server/search/stops.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/queue/attempts.h"
#include "server/queue/rows.h"
#include "server/search/race.h"
#include "server/search/stop_rule.h"

enum { ROWS_AT_ONCE = 500 };

/* A sweep with `stop:` or a race whose record is in memory. */
struct watched {
    int64_t sweep;
    struct stop_record *record; /* of `stop:` */
    struct race *race;          /* NULL: there is none */
    int64_t race_reps;          /* replications that each configuration gets in any case */
    int64_t n_reused;           /* how many results of earlier sweeps the sweep has */
    int64_t n_reused_told;      /* how many of these are in the race */
    int64_t n_reused_seen;      /* n_reused when reading them began */
    int64_t reused_at;          /* job row up to which they were read */
    bool is_loaded;  /* the record has all rows of stop_event, the race what was dropped */
    int64_t seq;     /* seq of the last row */
    int64_t told;    /* ends of jobs up to this version are in the record */
    bool is_over;    /* the sweep is over */
    bool resumes;    /* stopped jobs may go on */
    int64_t n_freed; /* ended jobs for which no stopped job was taken up yet */
    char *metric, *step;
};

struct stops {
    struct watched *items;
    size_t n, capacity;
};

static int look_at_sweep(struct server *sv, int64_t sweep, struct err *e);

/* ---- records ---- */

static struct watched *find_watched(const struct stops *x, int64_t sweep)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->items[i].sweep == sweep)
            return &x->items[i];
    return NULL;
}

static void forget_watched(struct stops *x, struct watched *s)
{
    stop_record_free(s->record);
    race_free(s->race);
    free(s->metric);
    free(s->step);
    *s = x->items[--x->n];
}

static struct stop_spec spec_of(const struct stop_policy *p, const char *metric, int goal)
{
    return (struct stop_spec){ .rule = (enum stop_rule)(
                                   p->rule == NULL ? 0 : stop_rule_by_word(p->rule)),
                               .is_max = goal == GOAL_MAX,
                               .can_resume = p->resume,
                               .metric = metric,
                               .step = p->step,
                               .first = p->first,
                               .eta = p->eta,
                               .max_step = p->max_step,
                               .patience = p->patience,
                               .min_delta = p->min_delta,
                               .has_threshold = p->has_threshold,
                               .threshold = p->threshold };
}

/* Finds the sweep's record, or begins it: 1, 0 when the sweep stops nothing, -1. */
static int watch_sweep(struct server *sv, int64_t sweep, struct watched **found, struct err *e)
{
    struct stops *x = sv->stops;
    struct stmt *s = db_ask(sv->db, SQL_STOP_SWEEP, "i", sweep);
    struct arena *a = arena_create();
    struct stop_policy policy = { 0 };
    int rc = stmt_step(s, e);
    bool is_stopping = rc == 1 && !stmt_is_null(s, 0) && !stmt_is_null(s, 1);

    *found = find_watched(x, sweep);
    if (is_stopping && *found == NULL) {
        const char *metric = stmt_text(s, 1);
        struct stop_spec spec;

        rc = schema_read(&stop_policy_schema, stmt_bytes(s, 0), a, &policy, e) < 0 ? -1 : 1;
        if (rc == 1) {
            struct race_spec raced = { .is_max = stmt_enum(s, 2, GOAL_COUNT) == GOAL_MAX,
                                       .max = stmt_int(s, 5),
                                       .race = policy.race,
                                       .best = policy.best };

            spec = spec_of(&policy, metric, stmt_enum(s, 2, GOAL_COUNT));
            mem_grow((void **)&x->items, &x->capacity, x->n, sizeof *x->items);
            *found = &x->items[x->n++];
            **found =
                (struct watched){ .sweep = sweep,
                                  .record = stop_record_new(&spec),
                                  .race = policy.race > 0 ? race_new(&raced) : NULL,
                                  .race_reps = policy.race,
                                  /* the race needs all ends, from the first on */
                                  .told = policy.race > 0 ? 0 : stmt_int(s, 4),
                                  .resumes = policy.resume,
                                  .metric = mem_strdup(metric),
                                  .step = mem_strdup(policy.step != NULL ? policy.step : "step") };
        }
    }
    if (is_stopping && rc == 1) {
        int state = stmt_enum(s, 3, SWEEP_STATE_COUNT);

        (*found)->is_over = state != SWEEP_RUNNING && state != SWEEP_PAUSED;
        (*found)->n_reused = stmt_int(s, 6);
    }
    stmt_end(s);
    arena_destroy(a);
    return rc < 0 ? -1 : is_stopping;
}

/* SQLite keeps a NaN as NULL. */
static double float_or_nan(struct stmt *s, int column)
{
    return stmt_is_null(s, column) ? (double)NAN : stmt_float(s, column);
}

/* Adds the kept events to the record: 1 when there are more, 0, -1. */
static int load_record(struct server *sv, struct watched *x, struct err *e)
{
    int rc = 0, n = ROWS_AT_ONCE;

    while (!x->is_loaded && rc >= 0) {
        struct stmt *s =
            db_ask(sv->db, SQL_STOP_EVENTS, "iii", x->sweep, x->seq, (int64_t)ROWS_AT_ONCE);

        for (n = 0; (rc = stmt_step(s, e)) == 1; n++) {
            struct stop_event event = { .kind = (enum stop_event_kind)stmt_int(s, 1),
                                        .job = stmt_int(s, 2),
                                        .config = stmt_int(s, 3),
                                        .rep = stmt_int(s, 4),
                                        .step = stmt_int(s, 5),
                                        .value = float_or_nan(s, 6) };
            struct stop_answer unused;

            x->seq = stmt_int(s, 0);
            stop_record_add(x->record, &event, &unused);
        }
        x->is_loaded = rc == 0 && n < ROWS_AT_ONCE;
        if (!x->is_loaded && rc >= 0 && turn_is_full(sv))
            return 1;
    }
    return rc;
}

/* ---- adding ---- */

struct undo {
    struct server *sv;
    int64_t sweep;
};

static void keep_added(struct server *sv, void *undo)
{
    (void)sv;
    free(undo);
}

/* The turn failed: drops the record, which has events that are no rows, to read it again. */
static void undo_added(void *context)
{
    struct undo *u = context;
    struct watched *x = find_watched(u->sv->stops, u->sweep);

    if (x != NULL)
        forget_watched(u->sv->stops, x);
    free(u);
}

/* Call it before a handler or turn work adds events. */
static void begin_adding(struct server *sv, int64_t sweep)
{
    struct undo *u = mem_alloc(sizeof *u);

    *u = (struct undo){ sv, sweep };
    turn_after_with(sv, keep_added, undo_added, u);
}

static int add_event(struct server *sv, struct watched *x, const struct stop_event *event,
                     struct stop_answer *answer, struct err *e)
{
    stop_record_add(x->record, event, answer);
    if (answer->keep == STOP_KEEP_NO)
        return 0;
    if (answer->keep == STOP_KEEP_REPLACE &&
        db_run(sv->db, e, SQL_STOP_EVENT_DROP, "ii", event->job, (int64_t)STOP_EVENT_VALUE) < 0)
        return -1;
    return db_run(sv->db, e, SQL_STOP_EVENT_ADD, "iiiiiiif", x->sweep, ++x->seq,
                  (int64_t)event->kind, event->job, event->config, event->rep, event->step,
                  event->value) < 0
               ? -1
               : 0;
}

/* ---- ends, and what users overrule ---- */

/* Reads what a job that ended well reported last: 1, 0 when it never reported the metric, -1. */
static int read_last(struct server *sv, const struct watched *x, int64_t attempt,
                     struct stop_event *event, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_STOP_METRIC, "is", attempt, x->metric);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        event->value = float_or_nan(s, 0);
        event->step = stmt_is_null(s, 1) ? stmt_int(s, 2) : stmt_int(s, 1);
    }
    stmt_end(s);
    if (rc != 1 || strcmp(x->step, "step") == 0)
        return rc;
    s = db_ask(sv->db, SQL_STOP_METRIC, "is", attempt, x->step);
    rc = stmt_step(s, e);
    if (rc == 1 && stmt_float(s, 0) >= 0 && stmt_float(s, 0) < 0x1p53)
        event->step = (int64_t)stmt_float(s, 0);
    stmt_end(s);
    return rc < 0 ? -1 : 1;
}

/* Whether a stopped job can go on from its checkpoint, and no user forbade it: 1, 0, -1. */
static int may_resume(struct server *sv, int64_t job, struct err *e)
{
    int64_t one;

    return db_get(sv->db, e, SQL_STOP_MAY_RESUME, "i>i", job, &one);
}

/* Tells the rule which jobs have ended: 1 when there are more, 0, -1. */
static int tell_ends(struct server *sv, struct watched *x, struct err *e)
{
    int64_t version = 0, attempt, state;
    struct stop_event event = { .step = 0 };
    struct stop_answer unused;
    bool is_new = false;
    int rc;

    while ((rc = db_get(sv->db, e, SQL_STOP_ENDS, "iii>iiiiii", x->sweep, x->told, (int64_t)1,
                        &version, &event.job, &event.config, &event.rep, &state, &attempt)) == 1) {
        if (!is_new)
            begin_adding(sv, x->sweep);
        is_new = true;
        event.kind = STOP_EVENT_GONE;
        if (x->resumes && state == JOB_STOPPED) {
            int may = may_resume(sv, event.job, e);

            if (may < 0)
                return -1;
            event.kind = may == 1 ? STOP_EVENT_READY : STOP_EVENT_GONE;
        } else if (state == JOB_DONE && attempt != SCHEMA_NONE) {
            int found = read_last(sv, x, attempt, &event, e);

            if (found < 0)
                return -1;
            event.kind = found == 1 ? STOP_EVENT_ENDED : STOP_EVENT_GONE;
        }
        if (event.kind != STOP_EVENT_ENDED) {
            event.step = 0;
            event.value = 0;
        }
        if (add_event(sv, x, &event, &unused, e) < 0)
            return -1;
        x->told = version;
        x->n_freed++;
        if (turn_is_full(sv))
            break;
    }
    if (rc >= 0 && is_new && db_run(sv->db, e, SQL_STOP_TOLD, "ii", x->sweep, x->told) < 0)
        return -1;
    return rc;
}

static int tell_overruled(struct server *sv, struct watched *x, struct err *e)
{
    struct stop_event event = { .kind = STOP_EVENT_EXEMPT };
    struct stop_answer unused;
    int rc;

    while ((rc = db_get(sv->db, e, SQL_STOP_OVERRULED, "i>iii", x->sweep, &event.job, &event.config,
                        &event.rep)) == 1) {
        begin_adding(sv, x->sweep);
        if (add_event(sv, x, &event, &unused, e) < 0 ||
            db_run(sv->db, e, SQL_JOB_SET_STOP, "ii", event.job, (int64_t)STOP_EXEMPT) < 0)
            return -1;
    }
    return rc;
}

/* Brings the record up to date with the rows: 1 when there is more, 0, -1. */
static int catch_up(struct server *sv, struct watched *x, struct err *e)
{
    int rc = load_record(sv, x, e);

    if (rc == 0)
        rc = tell_ends(sv, x, e);
    return rc == 0 ? tell_overruled(sv, x, e) : rc;
}

/* ---- stopped jobs that go on ---- */

static int queue_again(struct server *sv, int64_t job, const char *reason, struct tally *t,
                       struct err *e)
{
    log_event(LOG_INFO, "stop-resumed", "job-row", "%lld", (long long)job, "why", "%s", reason,
              NULL);
    if (db_run(sv->db, e, SQL_STOP_RESUME, "ii", job, (int64_t)QUEUE_RESUMED) < 0 ||
        db_run(sv->db, e, SQL_STOP_SAY_RESUMED, "is", job, reason) < 0)
        return -1;
    return job_refresh(sv, job, t, e);
}

int stops_resume(struct server *sv, int64_t job, const char *reason, struct tally *t, struct err *e)
{
    int may = may_resume(sv, job, e);

    return may == 1 && queue_again(sv, job, reason, t, e) < 0 ? -1 : may;
}

/* Queues the job that the rule named before all that have not begun; or tells that it cannot. */
static int resume(struct server *sv, struct watched *x, int64_t job, const char *reason,
                  struct tally *t, struct err *e)
{
    int may = may_resume(sv, job, e);
    struct stop_event event = { .kind = may == 1 ? STOP_EVENT_RESUMED : STOP_EVENT_GONE,
                                .job = job };
    struct stop_answer unused;

    if (may < 0 || db_get(sv->db, e, SQL_STOP_JOB, "i>ii", job, &event.config, &event.rep) < 0 ||
        add_event(sv, x, &event, &unused, e) < 0)
        return -1;
    if (may == 0)
        return 0;
    x->n_freed -= x->n_freed > 0;
    return queue_again(sv, job, reason, t, e);
}

/* Takes stopped jobs up again: one for each job that ended, and all that the rule names while no
 * other job is ready.  If all jobs have ended and the rule names none, the sweep is settled.  1
 * when more is left, 0, -1. */
static int take_up(struct server *sv, struct watched *x, struct err *e)
{
    char reason[STOP_REASON_BYTES];
    int64_t job = 0, n_ready = 0, waits = 0;
    struct tally t = { .sweep = x->sweep };
    int rc = db_get(sv->db, e, SQL_STOP_READY, "i>ii", x->sweep, &n_ready, &waits);
    bool is_new = false;

    while (rc >= 0 && (n_ready == 0 || x->n_freed > 0)) {
        job = stop_record_next(x->record, reason);
        if (job == 0)
            break;
        if (!is_new)
            begin_adding(sv, x->sweep);
        is_new = true;
        rc = resume(sv, x, job, reason, &t, e);
        if (rc >= 0 && turn_is_full(sv))
            return tally_flush(sv, &t, e) < 0 ? -1 : 1;
    }
    if (rc < 0)
        return -1;
    x->n_freed = 0;
    /* If some jobs have not ended, tally_flush takes this back. */
    if (waits != 0 && n_ready == 0 &&
        db_run(sv->db, e, SQL_STOP_SETTLE, "ii", x->sweep, (int64_t)RESUMES_SETTLED) < 0)
        return -1;
    if (tally_flush(sv, &t, e) < 0 ||
        db_get(sv->db, e, SQL_STOP_READY, "i>ii", x->sweep, &n_ready, &waits) < 0)
        return -1;
    x->is_over = waits == 0;
    return 0;
}

/* ---- the race ---- */

static int add_outcome(struct server *sv, struct watched *x, int64_t config, int64_t rep,
                       int64_t attempt, struct err *e)
{
    struct stop_event event = { .value = (double)NAN };
    int rc = attempt == SCHEMA_NONE ? 0 : read_last(sv, x, attempt, &event, e);

    race_end(x->race, config, rep, rc == 1 ? event.value : (double)NAN);
    return rc < 0 ? -1 : 0;
}

/* Adds the results of earlier sweeps that this one reuses; if one was added since, all are read
 * again. 1 when there are more, 0, -1. */
static int read_reused(struct server *sv, struct watched *x, struct err *e)
{
    int rc = 0, n = ROWS_AT_ONCE;

    if (x->n_reused_told == x->n_reused)
        return 0;
    if (x->n_reused_seen != x->n_reused)
        x->reused_at = 0;
    x->n_reused_seen = x->n_reused;
    while (rc >= 0 && n == ROWS_AT_ONCE) {
        struct stmt *s =
            db_ask(sv->db, SQL_RACE_REUSED, "iii", x->sweep, x->reused_at, (int64_t)ROWS_AT_ONCE);

        for (n = 0; (rc = stmt_step(s, e)) == 1; n++) {
            x->reused_at = stmt_int(s, 3);
            if (add_outcome(sv, x, stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2), e) < 0) {
                rc = -1;
                break;
            }
        }
        stmt_end(s);
        if (rc >= 0 && n == ROWS_AT_ONCE && turn_is_full(sv))
            return 1;
    }
    if (rc >= 0)
        x->n_reused_told = x->n_reused;
    return rc;
}

static int read_dropped(struct server *sv, struct watched *x, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_RACED, "i", x->sweep);
    int rc;

    while ((rc = stmt_step(s, e)) == 1)
        race_known(x->race, stmt_int(s, 0), true);
    x->is_loaded = rc == 0;
    return rc;
}

/* Brings the race up to date with the jobs' rows: 1 when there is more, 0, -1. */
static int fill_race(struct server *sv, struct watched *x, struct err *e)
{
    int64_t version = 0, job, config, rep, state, attempt;
    int rc = x->is_loaded ? 0 : read_dropped(sv, x, e);

    begin_adding(sv, x->sweep);
    if (rc == 0)
        rc = read_reused(sv, x, e);
    if (rc != 0)
        return rc;
    while ((rc = db_get(sv->db, e, SQL_STOP_ENDS, "iii>iiiiii", x->sweep, x->told, (int64_t)1,
                        &version, &job, &config, &rep, &state, &attempt)) == 1) {
        if ((state == JOB_DONE || state == JOB_FAILED) &&
            add_outcome(sv, x, config, rep, state == JOB_DONE ? attempt : SCHEMA_NONE, e) < 0)
            return -1;
        x->told = version;
        if (turn_is_full(sv))
            break;
    }
    return rc;
}

/* Stops the jobs of a configuration that is out and has not begun them, also those that a worker
 * was handed ahead and gives back; or queues them again. */
static int carry_out_race(struct server *sv, const struct watched *x, int64_t config, bool is_out,
                          struct tally *t, struct err *e)
{
    char reason[RACE_REASON_BYTES];
    int64_t job;
    int rc;

    (void)race_is_out(x->race, config, reason);
    for (;;) {
        rc = is_out ? db_get(sv->db, e, SQL_RACE_DROP_NEXT, "iii>i", x->sweep, config, x->race_reps,
                             &job)
                    : db_get(sv->db, e, SQL_RACE_TAKE_NEXT, "ii>i", x->sweep, config, &job);
        if (rc <= 0)
            break;
        if (db_run(sv->db, e, SQL_JOB_SET_STOP, "ii", job,
                   is_out ? (int64_t)STOP_RACED : (int64_t)0) < 0 ||
            (is_out ? db_run(sv->db, e, SQL_RACE_SAY, "is", job, reason)
                    : db_run(sv->db, e, SQL_RACE_UNSAY, "i", job)) < 0 ||
            (is_out && recall_of_job(sv, job, e) < 0) || job_refresh(sv, job, t, e) < 0)
            return -1;
        log_event(LOG_INFO, is_out ? "race-out" : "race-in", "sweep", "%lld", (long long)x->sweep,
                  "job-row", "%lld", (long long)job, "why", "%s", reason, NULL);
    }
    return rc;
}

/* Brings the race up to date and carries out its changes: 1 when more is left, 0, -1. */
static int judge_race(struct server *sv, struct watched *x, struct err *e)
{
    struct tally t = { 0 };
    int64_t config;
    bool is_out;
    int rc = fill_race(sv, x, e);

    while (rc == 0 && !x->is_over && (config = race_next_change(x->race, &is_out)) != 0) {
        rc = carry_out_race(sv, x, config, is_out, &t, e);
        if (rc == 0 && turn_is_full(sv))
            rc = 1;
    }
    return tally_flush(sv, &t, e) < 0 ? -1 : rc;
}

/* Turn work: run after a job of the sweep ended or a user overruled a decision; tells the rule or
 * race and carries out its answers. */
static int look_at_sweep(struct server *sv, int64_t sweep, struct err *e)
{
    struct watched *x;
    int rc = watch_sweep(sv, sweep, &x, e);

    if (rc != 1)
        return rc;
    rc = x->race != NULL ? judge_race(sv, x, e) : catch_up(sv, x, e);
    if (rc == 0 && x->resumes && !x->is_over)
        rc = take_up(sv, x, e);
    if (rc == 0 && x->is_over)
        forget_watched(sv->stops, x);
    return rc;
}

/* sv->note_search: attempts.c, which calls it, lies in a room below this one. */
static void stops_note(struct server *sv, int64_t sweep, bool at_once)
{
    if (at_once || find_watched(sv->stops, sweep) != NULL)
        turn_add_work(sv->turn, look_at_sweep, sweep);
}

/* ---- values ---- */

int reporter_find(struct server *sv, int64_t worker, const struct token *token, struct reporter *r,
                  struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_STOP_OF_ATTEMPT, "t", token);
    int rc = stmt_step(s, e);

    *r = (struct reporter){ .token = *token };
    if (rc == 1 && stmt_int(s, 1) == worker)
        *r = (struct reporter){ .token = *token,
                                .is_known = true,
                                .job = stmt_int(s, 0),
                                .sweep = stmt_int(s, 2),
                                .config = stmt_int(s, 3),
                                .rep = stmt_int(s, 4),
                                .state = (enum job_state)stmt_enum(s, 5, JOB_STATE_COUNT),
                                .stop = stmt_int(s, 6) };
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* Orders the connected workers to end the live attempts of the job. */
static int tell_workers(struct server *sv, int64_t job, const char *reason, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_STOP_LIVE, "i", job);
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        const struct conn *c = conn_of_worker(sv, stmt_int(s, 1));
        struct msg_stop_early body = { .reason = reason };

        stmt_token(s, 0, &body.token);
        if (c != NULL)
            conn_send(sv, c->number, MSG_STOP_EARLY, &body);
    }
    return rc;
}

int stops_end_early(struct server *sv, int64_t job, const char *reason, struct tally *t,
                    struct err *e)
{
    log_event(LOG_INFO, "stop-early", "job-row", "%lld", (long long)job, "why", "%s", reason, NULL);
    if (db_run(sv->db, e, SQL_JOB_SET_STOP, "ii", job, (int64_t)STOP_DECIDED) < 0 ||
        db_run(sv->db, e, SQL_STOP_SAY, "is", job, reason) < 0 || job_refresh(sv, job, t, e) < 0)
        return -1;
    return tell_workers(sv, job, reason, e);
}

/* Carries out the answer to a value.  A decision that was told before was perhaps lost with a
 * connection: it is told again, after the last of the attempt's values in a message. */
static int carry_out(struct server *sv, struct reporter *r, const struct stop_event *event,
                     const struct stop_answer *answer, bool is_last, struct tally *t, struct err *e)
{
    bool is_new = r->stop == 0;

    if (is_new && answer->reason[0] != '\0' &&
        db_run(sv->db, e, SQL_MEASURED_SAY, "isi", r->job, answer->reason, event->step) < 0)
        return -1;
    if (!answer->stop || job_is_ended(r->state) || r->stop > STOP_DECIDED)
        return 0;
    if (is_new) {
        r->stop = STOP_DECIDED;
        if (db_run(sv->db, e, SQL_JOB_SET_STOP, "ii", r->job, r->stop) < 0 ||
            job_refresh(sv, r->job, t, e) < 0)
            return -1;
        log_event(LOG_INFO, "stop-early", "sweep", "%lld", (long long)r->sweep, "job-row", "%lld",
                  (long long)r->job, "why", "%s", answer->reason, NULL);
    }
    return is_new || is_last ? tell_workers(sv, r->job, answer->reason, e) : 0;
}

static int take_value(struct server *sv, struct watched *x, struct reporter *r,
                      const struct measured *v, bool is_last, struct tally *t, struct err *e)
{
    struct stop_event event = { .kind = STOP_EVENT_VALUE,
                                .job = r->job,
                                .config = r->config,
                                .rep = r->rep,
                                .step = v->step,
                                .value = v->value };
    struct stop_answer answer;

    if (add_event(sv, x, &event, &answer, e) < 0)
        return -1;
    if (x->resumes && answer.keep != STOP_KEEP_NO)
        turn_add_work(sv->turn, look_at_sweep, x->sweep);
    if ((is_last || answer.reason[0] != '\0') &&
        db_run(sv->db, e, SQL_MEASURED_SET, "iif", r->job, v->step, v->value) < 0)
        return -1;
    return carry_out(sv, r, &event, &answer, is_last, t, e);
}

int stops_take(struct server *sv, int64_t worker, const struct list *values, size_t *done,
               struct err *e)
{
    const struct measured *v = values->items;
    struct reporter r = { .is_known = false };
    struct watched *x = NULL, *found;
    struct tally t = { 0 };
    int rc = 0, is_watched;

    for (size_t first = *done; rc == 0 && *done < values->n; ++*done) {
        size_t i = *done;

        if (i > first && turn_is_full(sv)) {
            rc = 1;
            break;
        }
        if (i == first || !token_equal(&v[i].token, &r.token)) {
            rc = reporter_find(sv, worker, &v[i].token, &r, e);
            x = NULL;
            is_watched = rc == 0 && r.is_known ? watch_sweep(sv, r.sweep, &found, e) : 0;
            if (is_watched < 0)
                return -1;
            if (is_watched == 1 && found->race == NULL) {
                x = found;
                rc = catch_up(sv, x, e);
                if (rc != 0)
                    break; /* the same value comes again */
                begin_adding(sv, r.sweep);
            }
        }
        if (rc == 0 && x != NULL)
            rc =
                take_value(sv, x, &r, &v[i],
                           i + 1 == values->n || !token_equal(&v[i].token, &v[i + 1].token), &t, e);
        if (rc < 0)
            return -1;
    }
    return tally_flush(sv, &t, e) < 0 ? -1 : rc;
}

int stops_tell_worker(struct server *sv, int64_t worker, struct err *e)
{
    const struct conn *c = conn_of_worker(sv, worker);
    struct stmt *s = db_ask(sv->db, SQL_STOP_LIVE_OF_WORKER, "i", worker);
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        struct msg_stop_early body = { .reason = stmt_text(s, 1) };

        stmt_token(s, 0, &body.token);
        if (c != NULL)
            conn_send(sv, c->number, MSG_STOP_EARLY, &body);
    }
    return rc;
}

/* ---- submits ---- */

int stops_check(const struct stop_policy *policy, const struct ranking *ranking, int64_t reps,
                int64_t batch, struct err *e)
{
    struct stop_spec spec = spec_of(policy, ranking->metric, ranking->goal);
    struct race_spec race = { .max = reps, .race = policy->race, .best = policy->best };

    if (policy->race > 0 && policy->rule != NULL)
        return err_set(e, ERR_USAGE, "stop: and reps: race: exclude each other");
    if (policy->race > 0 && ranking->metric == NULL)
        return err_set(e, ERR_USAGE,
                       "reps: race: needs results: metric: to compare configurations by");
    if (policy->race > 0)
        return race_spec_check(&race, e);
    if (policy->rule == NULL)
        return 0;
    if (spec.rule == 0)
        return err_set(e, ERR_USAGE, "stop: rule: '%s' is none", policy->rule);
    if (ranking->metric == NULL)
        return err_set(e, ERR_USAGE, "stop: needs results: metric: to compare jobs by");
    if (batch > 1)
        return err_set(e, ERR_USAGE,
                       "stop: jobs of a batch share a process, and cannot be ended "
                       "one by one: leave stop: or batch: away");
    return stop_spec_check(&spec, e);
}

struct live_policy stops_live(const struct stop_policy *policy, const struct guard_policy *guard,
                              const struct ranking *ranking)
{
    bool is_asked = ranking->metric != NULL && (policy->rule != NULL || guard->nan);

    return (struct live_policy){ .metric = is_asked ? ranking->metric : NULL,
                                 .step = is_asked ? policy->step : NULL,
                                 .tells = is_asked && policy->rule != NULL,
                                 .ends_nan = is_asked && guard->nan };
}

/* ---- beginning and end ---- */

struct stops *stops_create(struct server *sv)
{
    sv->note_search = stops_note;
    return mem_alloc(sizeof(struct stops));
}

void stops_destroy(struct stops *x)
{
    if (x == NULL)
        return;
    while (x->n > 0)
        forget_watched(x, &x->items[x->n - 1]);
    free(x->items);
    free(x);
}

int stops_load(struct server *sv, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_STOP_SWEEPS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1)
        turn_add_work(sv->turn, look_at_sweep, stmt_int(s, 0));
    return rc;
}
