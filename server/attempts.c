/* SPDX-License-Identifier: MIT */
/* attempts.c - transitions of attempts, and the jobs and sweeps that follow from them */

#include "server/attempts.h"

/* ---- sweeps: counters gathered over many jobs ---- */

struct sweep_row {
    enum sweep_state state;
    int64_t by_state[JOB_STATE_COUNT];
    int64_t ended_at;
};

static int sweep_load(struct server *sv, int64_t sweep, struct sweep_row *row, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_COUNTS, "i", sweep);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        row->state = (enum sweep_state)stmt_int(s, 0);
        for (int i = 0; i < JOB_STATE_COUNT; i++)
            row->by_state[i] = stmt_int(s, 1 + i);
        row->ended_at = stmt_int(s, 8);
    }
    stmt_end(s);
    return rc == 0 ? err_set(e, ERR_INTERNAL, "sweep %lld is not in the database", (long long)sweep)
                   : rc;
}

/* Open and paused are said by people; the rest follows from the counts. */
static void sweep_derive(struct sweep_row *row, int64_t now_ms)
{
    const int64_t *n = row->by_state;
    bool is_over = n[JOB_QUEUED] + n[JOB_STAGING] + n[JOB_RUNNING] + n[JOB_PUBLISHING] == 0;

    if (row->state == SWEEP_OPEN || (row->state == SWEEP_PAUSED && !is_over))
        return;
    if (!is_over)
        row->state = SWEEP_RUNNING;
    else if (n[JOB_FAILED] > 0)
        row->state = SWEEP_FAILED;
    else
        row->state = n[JOB_CANCELLED] > 0 ? SWEEP_CANCELLED : SWEEP_DONE;
    if (!is_over)
        row->ended_at = 0;
    else if (row->ended_at == 0)
        row->ended_at = now_ms;
}

int tally_flush(struct server *sv, struct tally *t, struct err *e)
{
    struct sweep_row row = { 0 };
    const int64_t *n = row.by_state;
    int64_t sweep = t->sweep;
    int64_t version;
    int rc;

    if (sweep == 0)
        return 0;
    if (sweep_load(sv, sweep, &row, e) < 0 || (version = turn_next_version(sv, e)) < 0)
        return -1;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        row.by_state[i] += t->by_state[i];
    sweep_derive(&row, turn_now_ms(sv));
    rc = db_run(sv->db, e, SQL_SWEEP_UPDATE, "iiiiiiiiiiiiii", sweep, n[JOB_QUEUED], n[JOB_STAGING],
                n[JOB_RUNNING], n[JOB_PUBLISHING], n[JOB_DONE], n[JOB_FAILED], n[JOB_CANCELLED],
                (int64_t)row.state, row.ended_at, t->ready, t->ran_jobs, t->ran_ms, version);
    if (rc < 0)
        return -1;
    if (t->ready > 0)
        turn_want_schedule(sv);
    turn_touch_sweep(sv, sweep);
    *t = (struct tally){ 0 };
    return 0;
}

/* The tally for this sweep; another one's is written first. */
static int tally_turn_to(struct server *sv, struct tally *t, int64_t sweep, struct err *e)
{
    if (t->sweep != sweep && tally_flush(sv, t, e) < 0)
        return -1;
    t->sweep = sweep;
    return 0;
}

/* ---- jobs ---- */

struct job_row {
    int64_t id;
    int64_t sweep;
    int64_t no;
    enum job_state state;
    bool cancelled;
    int64_t attempts;
    int64_t losses;
    int64_t forgiven; /* attempts up to this one do not count as failures */
    bool is_ready;    /* it stands in the queue */
    int64_t attempt;  /* the newest, or the one that published */
};

static int job_load(struct server *sv, int64_t id, struct job_row *job, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_LOAD, "i", id);
    int rc = stmt_step(s, e);

    if (rc > 0)
        *job = (struct job_row){ .id = id,
                                 .sweep = stmt_int(s, 0),
                                 .no = stmt_int(s, 1),
                                 .state = (enum job_state)stmt_int(s, 2),
                                 .cancelled = stmt_int(s, 3) != 0,
                                 .attempts = stmt_int(s, 4),
                                 .losses = stmt_int(s, 5),
                                 .forgiven = stmt_int(s, 6),
                                 .is_ready = stmt_int(s, 7) != 0,
                                 .attempt = stmt_int(s, 8) };
    stmt_end(s);
    return rc == 0 ? err_set(e, ERR_INTERNAL, "job %lld is not in the database", (long long)id)
                   : rc;
}

/* Looks at all attempts of the job; the one that published is the one that counts. */
static int job_gather(struct server *sv, struct job_row *job, struct job_evidence *evidence,
                      struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_ATTEMPTS, "i", job->id);
    int rc;

    *evidence = (struct job_evidence){ .cancelled = job->cancelled };
    while ((rc = stmt_step(s, e)) == 1) {
        enum attempt_state state = (enum attempt_state)stmt_int(s, 0);
        bool counts = stmt_int(s, 1) > job->forgiven;

        if (state == ATTEMPT_DONE) {
            evidence->any_done = true;
            job->attempt = stmt_int(s, 2);
        } else if (attempt_is_live(state)) {
            if (!evidence->any_live || state > evidence->live)
                evidence->live = state;
            evidence->any_live = true;
        }
        evidence->failed |= state == ATTEMPT_FAILED && counts;
    }
    if (job->losses > JOB_LOSSES_MAX)
        evidence->failed = true;
    return rc;
}

int job_refresh(struct server *sv, int64_t id, struct tally *t, struct err *e)
{
    struct job_evidence evidence;
    struct job_row job;
    enum job_state state;
    bool is_ready;
    int64_t version;
    const char *reason = NULL;

    if (job_load(sv, id, &job, e) < 0 || job_gather(sv, &job, &evidence, e) < 0)
        return -1;
    state = job_state_of(&evidence);
    is_ready = state == JOB_QUEUED && !evidence.any_live;
    if (tally_turn_to(sv, t, job.sweep, e) < 0 || (version = turn_next_version(sv, e)) < 0)
        return -1;
    if (state == JOB_FAILED && job.losses > JOB_LOSSES_MAX)
        reason = "its attempts were lost too often: does it take its node along?";
    t->by_state[job.state]--;
    t->by_state[state]++;
    t->ready += is_ready - job.is_ready;
    return db_run(sv->db, e, SQL_JOB_UPDATE, "iiIiiIs", id, (int64_t)state,
                  is_ready ? job.no : SCHEMA_NONE, version,
                  job_is_ended(state) ? turn_now_ms(sv) : (int64_t)0, job.attempt, reason) < 0
               ? -1
               : 0;
}

void attempt_stop(struct server *sv, int64_t worker, const struct token *token)
{
    struct conn *c = conn_of_worker(sv, worker);
    struct token_entry entry = { *token };
    struct msg_stop_attempts order = { { &entry, 1 } };

    if (c != NULL)
        turn_send(sv, c->number, MSG_STOP_ATTEMPTS, &order);
}

/* Orders every live attempt of the job stopped but this one (0: all). */
static int stop_rivals(struct server *sv, int64_t job, int64_t except, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_RIVALS, "ii", job, except);
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        struct token token;

        stmt_token(s, 1, &token);
        attempt_stop(sv, stmt_int(s, 2), &token);
    }
    return rc;
}

int job_cancel(struct server *sv, int64_t id, struct tally *t, struct err *e)
{
    struct job_row job;

    if (job_load(sv, id, &job, e) < 0)
        return -1;
    if (job_is_ended(job.state))
        return 0;
    if (db_run(sv->db, e, SQL_JOB_CANCEL, "i", id) < 0 || stop_rivals(sv, id, 0, e) < 0 ||
        job_refresh(sv, id, t, e) < 0)
        return -1;
    return 1;
}

int job_retry(struct server *sv, int64_t id, struct tally *t, struct err *e)
{
    struct job_row job;

    if (job_load(sv, id, &job, e) < 0)
        return -1;
    if (job.state != JOB_FAILED && job.state != JOB_CANCELLED)
        return 0;
    if (db_run(sv->db, e, SQL_JOB_FORGIVE, "i", id) < 0 || job_refresh(sv, id, t, e) < 0)
        return -1;
    return 1;
}

/* ---- attempts ---- */

struct attempt_row {
    int64_t id;
    int64_t job;
    int64_t no;
    enum attempt_state state;
    int64_t seq;
    int64_t worker;
    bool is_proven; /* known to be done by what lies on the share, not by its worker */
    bool job_cancelled;
    int64_t sweep;
};

/* 1, or 0 when there is no such attempt. */
static int attempt_row(struct stmt *s, struct attempt_row *a, struct err *e)
{
    int rc = stmt_step(s, e);

    if (rc > 0)
        *a =
            (struct attempt_row){ .id = stmt_int(s, 0),
                                  .job = stmt_int(s, 1),
                                  .no = stmt_int(s, 2),
                                  .state = (enum attempt_state)stmt_int(s, 3),
                                  .seq = stmt_int(s, 4),
                                  .worker = stmt_int(s, 5),
                                  .is_proven = stmt_int(s, 3) == ATTEMPT_DONE && stmt_is_null(s, 6),
                                  .job_cancelled = stmt_int(s, 7) != 0,
                                  .sweep = stmt_int(s, 8) };
    stmt_end(s);
    return rc;
}

static int metrics_save(struct server *sv, int64_t attempt, const struct list *metrics,
                        struct err *e)
{
    const struct metric *m = metrics->items;

    for (size_t i = 0; i < metrics->n; i++)
        if (db_run(sv->db, e, SQL_METRIC_SET, "isfI", attempt, m[i].name, m[i].value, m[i].step) <
            0)
            return -1;
    return 0;
}

/* Writes the new state, and with an outcome all that is known about it. */
static int attempt_save(struct server *sv, const struct attempt_row *a, enum attempt_state state,
                        const struct report *r, struct err *e)
{
    if (attempt_is_live(state))
        return db_run(sv->db, e, SQL_ATTEMPT_STATE, "iiii", a->id, (int64_t)state, r->seq,
                      r->event == EV_RUN ? r->at : r->started_at);
    if (db_run(sv->db, e, SQL_ATTEMPT_END, "iiiiiIIssii", a->id, (int64_t)state, r->seq,
               r->started_at, r->ended_at != 0 ? r->ended_at : turn_now_ms(sv), r->exit_code,
               r->signal, r->reason, r->run_path, r->max_rss_bytes, r->cpu_ms) < 0)
        return -1;
    return metrics_save(sv, a->id, &r->metrics, e);
}

/* The verdict when the table does not list the event for the attempt's state. */
static enum verdict verdict_of_refused(const struct attempt_row *a)
{
    bool counts = attempt_is_live(a->state) || a->state == ATTEMPT_DONE ||
                  a->state == ATTEMPT_FAILED || a->state == ATTEMPT_WITHDRAWN;

    return counts ? VERDICT_KNOWN : VERDICT_SUPERSEDED;
}

/* What else follows from an event that was accepted. */
static int attempt_follow(struct server *sv, const struct attempt_row *a, const struct report *r,
                          struct tally *t, struct err *e)
{
    switch ((enum attempt_event)r->event) {
    case EV_DONE:
        if (tally_turn_to(sv, t, a->sweep, e) < 0)
            return -1;
        if (r->exit_code != SCHEMA_NONE) {
            t->ran_jobs++;
            t->ran_ms += r->ended_at > r->started_at ? r->ended_at - r->started_at : 1;
        }
        turn_want_schedule(sv);
        return stop_rivals(sv, a->job, a->id, e);
    case EV_SUPERSEDE:
    case EV_LOSE: turn_want_schedule(sv); return db_run(sv->db, e, SQL_JOB_LOSS, "i", a->job);
    default:
        if (!attempt_is_live(attempt_next(a->state, (enum attempt_event)r->event)))
            turn_want_schedule(sv);
        return 0;
    }
}

static int attempt_accept(struct server *sv, const struct attempt_row *a, const struct report *r,
                          enum attempt_state next, struct tally *t, struct err *e)
{
    if (attempt_save(sv, a, next, r, e) < 0 || attempt_follow(sv, a, r, t, e) < 0)
        return -1;
    return job_refresh(sv, a->job, t, e);
}

/*
 * A report that names who published before it proves that one done, should it never say so.
 * 1: so it was; 0: it proves nothing about an attempt that is known here; -1.
 */
static int winner_found(struct server *sv, const struct attempt_row *loser, const struct report *r,
                        struct tally *t, struct err *e)
{
    struct report proof = {
        .event = EV_DONE, .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE, .run_path = r->run_path
    };
    struct attempt_row winner;
    enum attempt_state next;
    int rc = attempt_row(db_ask(sv->db, SQL_ATTEMPT_BY_TOKEN, "t", &r->winner), &winner, e);

    if (rc <= 0 || winner.job != loser->job)
        return rc < 0 ? -1 : 0;
    next = attempt_next(winner.state, EV_DONE);
    if (next != ATTEMPT_NO && !winner.job_cancelled &&
        attempt_accept(sv, &winner, &proof, next, t, e) < 0)
        return -1;
    return 1;
}

/*
 * Another attempt had published.  If nobody here knows that one (the database is older than the
 * share), the result that lies there is this job's all the same.
 */
static int supersede(struct server *sv, const struct attempt_row *a, const struct report *r,
                     enum attempt_state next, struct tally *t, struct err *e)
{
    struct report found = *r;
    int rc = token_is_zero(&r->winner) ? 1 : winner_found(sv, a, r, t, e);

    if (rc < 0)
        return -1;
    if (rc > 0)
        return attempt_accept(sv, a, r, next, t, e);
    found.event = EV_DONE;
    found.reason = "its result lay there already, from an attempt that this server does not know";
    return attempt_accept(sv, a, &found, ATTEMPT_DONE, t, e);
}

/* It published although its job had been cancelled: the result has to go again. */
static int withdraw(struct server *sv, const struct attempt_row *a, const struct report *r,
                    struct tally *t, enum verdict *verdict, struct err *e)
{
    *verdict = VERDICT_WITHDRAW;
    if (!attempt_is_live(a->state))
        return 0;
    return attempt_accept(sv, a, r, ATTEMPT_CANCELLED, t, e);
}

int attempt_report(struct server *sv, int64_t worker, const struct report *r, enum verdict *verdict,
                   struct tally *t, struct err *e)
{
    enum attempt_event event = (enum attempt_event)r->event;
    struct attempt_row a;
    enum attempt_state next;
    int rc = attempt_row(db_ask(sv->db, SQL_ATTEMPT_BY_TOKEN, "t", &r->token), &a, e);

    if (rc < 0)
        return -1;
    *verdict = VERDICT_SUPERSEDED;
    if (rc == 0 || a.worker != worker)
        return 0;
    if (event == EV_DONE && a.job_cancelled && a.state != ATTEMPT_WITHDRAWN)
        return withdraw(sv, &a, r, t, verdict, e);
    if (event == EV_DONE && a.is_proven && r->exit_code != SCHEMA_NONE) {
        *verdict = VERDICT_TAKEN;
        return attempt_accept(sv, &a, r, ATTEMPT_DONE, t, e);
    }
    *verdict = VERDICT_KNOWN;
    if (attempt_was_made(a.state, event))
        return 0;
    next = attempt_next(a.state, event);
    if (next == ATTEMPT_NO || event == EV_RETURN) {
        *verdict = verdict_of_refused(&a);
        return 0;
    }
    *verdict = VERDICT_TAKEN;
    if (event == EV_SUPERSEDE)
        return supersede(sv, &a, r, next, t, e);
    return attempt_accept(sv, &a, r, next, t, e);
}

int attempt_find(struct server *sv, int64_t attempt, enum attempt_event event, const char *reason,
                 struct tally *t, struct err *e)
{
    struct report found = { .event = (int)event,
                            .at = turn_now_ms(sv),
                            .exit_code = SCHEMA_NONE,
                            .signal = SCHEMA_NONE,
                            .reason = reason };
    struct attempt_row a;
    enum attempt_state next;
    int rc = attempt_row(db_ask(sv->db, SQL_ATTEMPT_BY_ID, "i", attempt), &a, e);

    if (rc <= 0)
        return rc;
    next = attempt_next(a.state, event);
    if (next == ATTEMPT_NO)
        return err_set(e, ERR_INTERNAL, "an attempt that is %s cannot %s",
                       attempt_state_names[a.state], attempt_event_names[event]);
    return attempt_accept(sv, &a, &found, next, t, e);
}
