/* SPDX-License-Identifier: MIT */
/* attempts.c - transitions of attempts, recalls, and the jobs and sweeps that follow */

#include "server/queue/attempts.h"

#include <math.h>
#include <string.h>
#include <stdlib.h>

#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/queue/fit.h"
#include "server/queue/hold_notes.h"
#include "server/queue/retry.h"
#include "server/queue/rows.h"
#include "server/queue/subscribe.h"

enum { RECALL_AT_ONCE = 10000 }; /* attempts in one message */

/* Sends recalls.  marked: a statement that marks attempts and returns their tokens; c: their
 * worker's connection, NULL: the worker is away, and is asked when it is back. */
static int send_marked(struct server *sv, const struct conn *c, struct stmt *marked, struct err *e)
{
    struct token_entry *tokens = NULL;
    size_t n = 0, capacity = 0;
    int rc;

    do {
        rc = stmt_step(marked, e);
        if (rc == 1) {
            mem_grow((void **)&tokens, &capacity, n, sizeof *tokens);
            stmt_token(marked, 0, &tokens[n++].token);
        }
        if (n > 0 && (rc != 1 || n == RECALL_AT_ONCE)) {
            struct msg_recall body = { { tokens, n } };

            if (c != NULL)
                conn_send(sv, c->number, MSG_RECALL, &body);
            n = 0;
        }
    } while (rc == 1);
    free(tokens);
    return rc;
}

int recall_of_sweep(struct server *sv, int64_t sweep, struct err *e)
{
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c->worker != 0 &&
            send_marked(sv, c, db_ask(sv->db, SQL_RECALL_OF_SWEEP, "ii", c->worker, sweep), e) < 0)
            return -1;
    return 0;
}

int recall_of_worker(struct server *sv, int64_t worker, struct err *e)
{
    return send_marked(sv, conn_of_worker(sv, worker),
                       db_ask(sv->db, SQL_RECALL_OF_WORKER, "i", worker), e);
}

int recall_of_user(struct server *sv, int64_t worker, int64_t uid, struct err *e)
{
    return send_marked(sv, conn_of_worker(sv, worker),
                       db_ask(sv->db, SQL_RECALL_OF_USER, "ii", worker, uid), e);
}

int recall_of_job(struct server *sv, int64_t job, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_UNSTARTED_OF_JOB, "i", job);
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        int64_t worker = stmt_int(s, 0);
        struct stmt *marked =
            db_ask(sv->db, SQL_RECALL_OF_PROCESS, "iii", worker, stmt_int(s, 1), stmt_int(s, 2));

        if (send_marked(sv, conn_of_worker(sv, worker), marked, e) < 0) {
            stmt_end(s);
            return -1;
        }
    }
    return rc;
}

int recall_some(struct server *sv, int64_t worker, int64_t sweep, struct grown grown,
                int64_t processes, struct err *e)
{
    return send_marked(sv, conn_of_worker(sv, worker),
                       db_ask(sv->db, SQL_RECALL_SOME, "iiiii", worker, sweep, processes,
                              grown.memory_bytes, grown.time_ms),
                       e);
}

int recall_unwanted(struct server *sv, int64_t worker, struct err *e)
{
    return recall_at_registration(sv, conn_of_worker(sv, worker), worker, e);
}

int recall_at_registration(struct server *sv, const struct conn *c, int64_t worker, struct err *e)
{
    return send_marked(sv, c, db_ask(sv->db, SQL_RECALL_UNWANTED, "i", worker), e);
}

/* ---- sweeps: counters gathered over many jobs ---- */

struct sweep_row {
    enum sweep_state state;
    bool is_advised; /* its advisor may give more jobs */
    int64_t resumes; /* enum sweep_resuming */
    bool tells;      /* its owner is notified of its events */
    int64_t by_state[JOB_STATE_COUNT];
    int64_t ended_at;
};

static bool have_all_ended(const struct sweep_row *row)
{
    bool have = true;

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        have = have && (row->by_state[i] == 0 || job_is_ended((enum job_state)i));
    return have;
}

/* Derives the state from the counts; only open and paused are set by users' requests. */
static void sweep_derive(struct sweep_row *row, int64_t now_ms)
{
    const int64_t *n = row->by_state;
    bool may_grow = row->is_advised || (row->resumes == RESUMES_SOME && n[JOB_STOPPED] > 0);
    bool is_over = !may_grow && have_all_ended(row);

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

/* When all jobs have ended, has the stop rule decide whether a stopped one goes on; when a settled
 * sweep runs again, the rule will be asked anew. */
static int ask_for_stopped(struct server *sv, int64_t sweep, struct sweep_row *row, struct err *e)
{
    bool have_ended = have_all_ended(row);

    if (row->resumes == RESUMES_SOME && have_ended && row->by_state[JOB_STOPPED] > 0 &&
        sv->note_search != NULL)
        sv->note_search(sv, sweep, true);
    if (row->resumes != RESUMES_SETTLED || have_ended)
        return 0;
    row->resumes = RESUMES_SOME;
    return db_run(sv->db, e, SQL_STOP_SETTLE, "ii", sweep, row->resumes) < 0 ? -1 : 0;
}

int tally_flush(struct server *sv, struct tally *t, struct err *e)
{
    struct sweep_row row = { 0 };
    int64_t sweep = t->sweep;
    struct stmt *s;
    int rc;

    if (sweep == 0)
        return 0;
    s = db_ask(sv->db, SQL_SWEEP_COUNTS, "i", sweep);
    rc = stmt_step(s, e);
    if (rc <= 0)
        return rc < 0 ? -1
                      : err_set(e, ERR_INTERNAL, "sweep %lld is not in the database",
                                (long long)sweep);
    row.state = (enum sweep_state)stmt_enum(s, 0, SWEEP_STATE_COUNT);
    row.ended_at = stmt_int(s, 1);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        row.by_state[i] = stmt_int(s, 2 + i) + t->by_state[i];
    row.is_advised = advised_goes_on(stmt_int(s, 2 + JOB_STATE_COUNT));
    row.resumes = stmt_int(s, 3 + JOB_STATE_COUNT);
    row.tells = stmt_int(s, 4 + JOB_STATE_COUNT) != 0;
    stmt_end(s);
    if (ask_for_stopped(sv, sweep, &row, e) < 0)
        return -1;
    if (row.tells) /* a trigger notes what happened when the row changes */
        turn_add_work(sv->turn, sv->look_at_notices, 0);
    if (row.is_advised)
        turn_add_work(sv->turn, sv->look_at_advice, sweep);
    sweep_derive(&row, turn_now_ms(sv));
    if (db_run(sv->db, e, SQL_SWEEP_UPDATE, "iiiiiiiiiiiffiic", sweep, (int64_t)row.state,
               row.ended_at, t->ready, t->ran_jobs, t->ran_ms, t->spent_attempts, t->spent_ms,
               t->spent_cpu_ms, turn_next_version(sv), t->spent_limit_ms, t->asked_gib_ms,
               t->used_gib_ms, t->peak_rss_bytes, t->longest_ms, row.by_state) < 0)
        return -1;
    if (t->ready > 0)
        turn_want_schedule(sv);
    else if (t->ready < 0)
        turn_want_pilots(sv);
    subscribe_touch(sv, sweep);
    *t = (struct tally){ 0 };
    return 0;
}

int tally_turn_to(struct server *sv, struct tally *t, int64_t sweep, struct err *e)
{
    if (t->sweep != sweep && tally_flush(sv, t, e) < 0)
        return -1;
    t->sweep = sweep;
    return 0;
}

/* Moves the sweep from state `from` to `to`.  Returns how many queued jobs that paused or resumed,
 * not counting jobs paused singly; 0 also if the sweep was in another state. */
static int64_t sweep_turn(struct server *sv, int64_t sweep, enum sweep_state from,
                          enum sweep_state to, struct err *e)
{
    int64_t waiting = 0;
    int n = db_run(sv->db, e, SQL_SWEEP_TURN, "iiii", sweep, (int64_t)from, (int64_t)to,
                   turn_next_version(sv));

    if (n <= 0)
        return n;
    subscribe_touch(sv, sweep);
    if (sv->look_at_advice != NULL)
        turn_add_work(sv->turn, sv->look_at_advice, sweep);
    if (to == SWEEP_RUNNING)
        turn_want_schedule(sv);
    else
        turn_want_pilots(sv);
    if (to == SWEEP_PAUSED && recall_of_sweep(sv, sweep, e) < 0)
        return -1;
    return db_get(sv->db, e, SQL_SWEEP_WAITING, "i>i", sweep, &waiting) < 0 ? -1 : waiting;
}

int64_t sweep_pause(struct server *sv, int64_t sweep, struct err *e)
{
    return sweep_turn(sv, sweep, SWEEP_RUNNING, SWEEP_PAUSED, e);
}

int64_t sweep_resume(struct server *sv, int64_t sweep, struct err *e)
{
    return sweep_turn(sv, sweep, SWEEP_PAUSED, SWEEP_RUNNING, e);
}

/* ---- jobs ---- */

struct job_row {
    int64_t id;
    int64_t sweep;
    int64_t no;
    enum job_state state;
    unsigned cancelled; /* enum job_cancelling; 0: not cancelled */
    bool is_paused;
    bool has_hold;    /* the guard holds it */
    int64_t rank;     /* in the queue: rows.h */
    int64_t stop;     /* enum job_stopping; 0: nothing was decided */
    int64_t forgiven; /* attempts up to this number do not count any more */
    bool is_ready;    /* it stands in the queue */
    int64_t attempt;  /* the newest attempt, or the one that published or made the job fail */
    int64_t follows;  /* the job of another sweep whose result it waits for; 0: none */
    bool is_followed_there;
    enum job_state followed; /* state of that job, if is_followed_there */
};

static int job_load(struct server *sv, int64_t id, struct job_row *job, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_LOAD, "i", id);
    int rc = stmt_step(s, e);

    if (rc > 0)
        *job = (struct job_row){ .id = id,
                                 .sweep = stmt_int(s, 0),
                                 .no = stmt_int(s, 1),
                                 .state = (enum job_state)stmt_enum(s, 2, JOB_STATE_COUNT),
                                 .cancelled = (unsigned)stmt_int(s, 3),
                                 .is_paused = stmt_int(s, 4) != 0,
                                 .has_hold = stmt_int(s, 10) != 0,
                                 .rank = stmt_int(s, 11),
                                 .stop = stmt_int(s, 12),
                                 .forgiven = stmt_int(s, 5),
                                 .is_ready = stmt_int(s, 6) != 0,
                                 .attempt = stmt_int(s, 7),
                                 .follows = stmt_int(s, 8),
                                 .is_followed_there = !stmt_is_null(s, 9) };
    if (rc > 0 && job->is_followed_there)
        job->followed = (enum job_state)stmt_enum(s, 9, JOB_STATE_COUNT);
    stmt_end(s);
    return rc == 0 ? err_set(e, ERR_INTERNAL, "job %lld is not in the database", (long long)id)
                   : rc;
}

/* How a job's attempts ended. */
struct history {
    struct job_evidence evidence;
    struct arena *arena; /* holds the texts in tried; NULL while tried is empty */
    struct tried *tried; /* attempts that went wrong since the job was last forgiven */
    size_t n, capacity;
    enum attempt_state last; /* state of the last attempt that has ended since; ATTEMPT_NO: none */
};

/* Sets goes_elsewhere of attempts that did not begin because their node lacks something; of the
 * last attempt only if another worker can run the job. */
static int find_elsewhere(struct server *sv, const struct job_row *job, struct history *h,
                          struct err *e)
{
    struct grown asks = { 0 };
    bool is_there = true;

    for (size_t i = h->n; i > 0; i--) {
        struct tried *t = &h->tried[i - 1];

        if (t->cause != CAUSE_ENVIRONMENT)
            continue;
        if (i == h->n && (db_get(sv->db, e, SQL_JOB_ASKS, "i>ii", job->id, &asks.memory_bytes,
                                 &asks.time_ms) < 0 ||
                          fit_is_there(sv, job->sweep, asks, &is_there, e) < 0))
            return -1;
        t->goes_elsewhere = i < h->n || is_there;
    }
    return 0;
}

/* Reads all attempts of the job; one that published decides its state.  Of a lost batch only the
 * first attempt that had not ended costs a try: the others had not begun. */
static int job_gather(struct server *sv, struct job_row *job, struct history *h, struct err *e)
{
    struct job_evidence *evidence = &h->evidence;
    struct stmt *s = db_ask(sv->db, SQL_JOB_ATTEMPTS, "i", job->id);
    int rc;

    h->last = ATTEMPT_NO;
    *evidence =
        (struct job_evidence){ .cancelled = job->cancelled == CANCEL_NOW,
                               .drained = job->cancelled == CANCEL_DRAIN,
                               .held = job->has_hold,
                               .stopped = job->stop == STOP_DECIDED || job->stop == STOP_RACED };
    while ((rc = stmt_step(s, e)) == 1) {
        enum attempt_state state = (enum attempt_state)stmt_enum(s, 0, ATTEMPT_STATE_COUNT);

        if (attempt_has_published(state)) {
            evidence->any_done = true;
            evidence->done = state;
            job->attempt = stmt_int(s, 2);
            continue;
        }
        if (attempt_is_live(state)) {
            if (!evidence->any_live || state > evidence->live)
                evidence->live = state;
            evidence->any_live = true;
            continue;
        }
        if (stmt_int(s, 1) <= job->forgiven)
            continue;
        h->last = state;
        if (state == ATTEMPT_STOPPED && !evidence->any_done)
            job->attempt = stmt_int(s, 2);
        if (!attempt_went_wrong(state) || stmt_int(s, 7) != 0 || stmt_int(s, 3) == CAUSE_GPU)
            continue; /* it costs no try */
        if (h->arena == NULL)
            h->arena = arena_create();
        mem_grow((void **)&h->tried, &h->capacity, h->n, sizeof *h->tried);
        h->tried[h->n++] = (struct tried){
            .attempt = stmt_int(s, 2),
            .state = state,
            .cause = (enum cause)stmt_enum(s, 3, CAUSE_COUNT),
            .exit_code = stmt_int(s, 4),
            .signal = stmt_int(s, 5),
            .reason = stmt_is_null(s, 6) ? NULL : arena_strdup(h->arena, stmt_text(s, 6))
        };
    }
    evidence->stopped |= h->last == ATTEMPT_STOPPED;
    return rc < 0 ? -1 : find_elsewhere(sv, job, h, e);
}

/* Lets the job ask for more memory or time if its last attempt ran out and retry: grow says so. */
static int job_grow(struct server *sv, const struct job_row *job, const struct history *h,
                    const struct retry *policy, struct grown sweep, struct retry_verdict *v,
                    struct err *e)
{
    struct grown *had = arena_alloc(h->arena, h->n * sizeof *had);
    struct grown asks = { 0 }, now, most = { 0 };

    for (size_t i = 0; i < h->n; i++) {
        if (db_get(sv->db, e, SQL_ATTEMPT_ASKED, "i>ii", h->tried[i].attempt, &had[i].memory_bytes,
                   &had[i].time_ms) < 0)
            return -1;
        had[i] = grown_or(had[i], sweep);
    }
    if (db_get(sv->db, e, SQL_JOB_ASKS, "i>ii", job->id, &asks.memory_bytes, &asks.time_ms) < 0 ||
        fit_most(sv, job->sweep, &most, e) < 0)
        return -1;
    now = grown_or(asks, sweep);
    retry_grow(v, policy, h->tried, had, h->n, now, most);
    if (v->answer != RETRY_AGAIN || grown_equal(v->growth.asks, now))
        return 0;
    if (db_run(sv->db, e, SQL_JOB_GROW, "iii", job->id, v->growth.asks.memory_bytes,
               v->growth.asks.time_ms) < 0)
        return -1;
    return db_run(sv->db, e, SQL_SWEEP_GROW, "i", job->sweep) < 0 ? -1 : 0;
}

/* Decides whether the job is tried again, if an attempt went wrong and nothing else decides. */
static int job_weigh(struct server *sv, struct job_row *job, struct history *h, struct buf *reason,
                     struct err *e)
{
    struct retry policy = { 0 };
    struct retry_verdict v;
    struct grown sweep;
    struct stmt *s;
    int rc;

    if (h->n == 0 || h->evidence.cancelled || h->evidence.any_done || h->evidence.any_live)
        return 0;
    if (h->evidence.drained) {
        h->evidence.failed = h->last == ATTEMPT_FAILED;
        if (h->evidence.failed)
            job->attempt = h->tried[h->n - 1].attempt;
        return 0;
    }
    s = db_ask(sv->db, SQL_SWEEP_RETRY, "i", job->sweep);
    rc = stmt_step(s, e);
    sweep = (struct grown){ stmt_int(s, 2), stmt_int(s, 1) };
    if (rc == 1 && !stmt_is_null(s, 0))
        rc = schema_read(&retry_schema, stmt_bytes(s, 0), h->arena, &policy, e);
    stmt_end(s);
    if (rc < 0)
        return -1;
    v = retry_judge(&policy, sweep.time_ms > 0, h->tried, h->n);
    if (v.answer == RETRY_AGAIN && retry_grows(&policy) &&
        job_grow(sv, job, h, &policy, sweep, &v, e) < 0)
        return -1;
    h->evidence.failed = v.answer > RETRY_AGAIN;
    if (h->evidence.failed)
        job->attempt = v.by->attempt;
    retry_add_reason(&v, reason);
    return 0;
}

/* ---- jobs that wait for the same job of another sweep ---- */

/* Settles the jobs that follow a job which has just ended or been held.  If that job is done or
 * stopped they take its result.  Else the first follower is queued itself, and the others, and the
 * held job, follow it; not one whose submit is not complete, as that may be removed. */
static int settle_followers(struct server *sv, int64_t job, enum job_state became, struct tally *t,
                            struct err *e)
{
    int64_t follower, state, next = 0;
    int rc;

    while ((rc = db_get(sv->db, e, SQL_FOLLOWER_NEXT, "i>ii", job, &follower, &state)) == 1) {
        if (state == JOB_HELD && !job_is_reused(became)) {
            if (db_run(sv->db, e, SQL_JOB_FOLLOW, "iI", follower, SCHEMA_NONE) < 0)
                return -1;
            continue;
        }
        if (!job_is_reused(became) &&
            db_run(sv->db, e, SQL_FOLLOWERS_TURN, "ii", job, follower) < 0)
            return -1;
        if (job_refresh(sv, follower, t, e) < 0)
            return -1;
        next = next == 0 ? follower : next;
    }
    if (rc == 0 && next != 0 && became == JOB_HELD)
        rc = db_run(sv->db, e, SQL_JOB_FOLLOW, "iI", job, next);
    return rc < 0 ? -1 : 0;
}

/* The followed job is done: its follower's sweep reuses the result, as one known at submit. */
static int follower_reuses(struct server *sv, const struct job_row *job, struct tally *t,
                           struct err *e)
{
    t->by_state[job->state]--;
    if (db_run(sv->db, e, SQL_FOLLOWER_ENDS, "i", job->id) < 0 ||
        db_run(sv->db, e, SQL_REUSED_ADD, "ii", job->sweep, job->follows) < 0)
        return -1;
    return db_run(sv->db, e, SQL_SWEEP_REUSES, "i", job->sweep) < 0 ? -1 : 0;
}

int job_refresh(struct server *sv, int64_t id, struct tally *t, struct err *e)
{
    struct history h = { 0 };
    struct buf reason = { 0 };
    struct job_row job;
    enum job_state state;
    bool is_ready;
    int rc = -1;

    if (job_load(sv, id, &job, e) < 0 || job_gather(sv, &job, &h, e) < 0 ||
        job_weigh(sv, &job, &h, &reason, e) < 0 || tally_turn_to(sv, t, job.sweep, e) < 0)
        goto out;
    state = job_state_of(&h.evidence);
    if ((state == JOB_QUEUED || state == JOB_HELD) && job.follows != 0 && job.is_followed_there &&
        job_is_reused(job.followed)) {
        rc = follower_reuses(sv, &job, t, e);
        goto out;
    }
    if (!job.is_followed_there || !job_goes_on(job.followed))
        job.follows = 0;
    is_ready = state == JOB_QUEUED && !h.evidence.any_live && !job.is_paused && job.follows == 0;
    t->by_state[job.state]--;
    t->by_state[state]++;
    t->ready += is_ready - job.is_ready;
    rc = db_run(sv->db, e, SQL_JOB_UPDATE, "iiIiiIsI", job.id, (int64_t)state,
                is_ready ? queue_place(job.no, job.rank) : SCHEMA_NONE, turn_next_version(sv),
                job_is_ended(state) ? turn_now_ms(sv) : (int64_t)0, job.attempt,
                reason.n > 0 ? buf_text(&reason) : NULL,
                job.follows != 0 ? job.follows : SCHEMA_NONE);
    if (rc >= 0 && !job_goes_on(state) && job_goes_on(job.state))
        rc = settle_followers(sv, job.id, state, t, e);
    if (rc >= 0 && job_is_ended(state))
        hold_notes_end(sv, job.sweep, state);
    if (rc >= 0 && job_is_ended(state) && sv->note_search != NULL)
        sv->note_search(sv, job.sweep, false);
out:
    buf_free(&reason);
    free(h.tried);
    arena_destroy(h.arena);
    return rc < 0 ? -1 : 0;
}

/* Orders workers to stop attempts; found: a statement that gives their ids, tokens, workers. */
static int stop_found(struct server *sv, struct stmt *found, struct err *e)
{
    int rc;

    while ((rc = stmt_step(found, e)) == 1) {
        struct conn *c = conn_of_worker(sv, stmt_int(found, 2));
        struct token_entry entry;

        stmt_token(found, 1, &entry.token);
        if (c != NULL)
            conn_send(sv, c->number, MSG_STOP_ATTEMPTS,
                      &(struct msg_stop_attempts){ { &entry, 1 } });
    }
    return rc;
}

int attempts_stop_rivals(struct server *sv, int64_t job, int64_t except, struct err *e)
{
    return stop_found(sv, db_ask(sv->db, SQL_RIVALS, "ii", job, except), e);
}

int attempts_stop_unwanted(struct server *sv, int64_t worker, struct err *e)
{
    return stop_found(sv, db_ask(sv->db, SQL_UNWANTED_LIVE, "i", worker), e);
}

int job_cancel(struct server *sv, int64_t id, unsigned how, struct tally *t, struct err *e)
{
    struct job_row job;
    bool is_left;

    if (job_load(sv, id, &job, e) < 0)
        return -1;
    is_left = how == CANCEL_DRAIN && (job.state == JOB_RUNNING || job.state == JOB_PUBLISHING);
    if (job.state == JOB_STOPPED)
        return db_run(sv->db, e, SQL_JOB_STAYS, "i", id);
    if (job_is_ended(job.state) || (is_left && job.cancelled == CANCEL_DRAIN))
        return 0;
    if (db_run(sv->db, e, SQL_JOB_CANCEL, "ii", id,
               (int64_t)(is_left ? CANCEL_DRAIN : CANCEL_NOW)) < 0 ||
        (!is_left && attempts_stop_rivals(sv, id, 0, e) < 0) || job_refresh(sv, id, t, e) < 0)
        return -1;
    return 1;
}

int job_retry(struct server *sv, int64_t id, unsigned states, struct tally *t, struct err *e)
{
    struct job_row job;

    if (job_load(sv, id, &job, e) < 0)
        return -1;
    if (!job_runs_again(job.state) || (states >> job.state & 1) == 0)
        return 0;
    fit_forget_lacks(sv, job.sweep);
    if (sv->note_search != NULL) /* this may overrule a stop, or reopen a race that was over */
        sv->note_search(sv, job.sweep, true);
    if (db_run(sv->db, e, SQL_JOB_FORGIVE, "i", id) < 0 || job_refresh(sv, id, t, e) < 0)
        return -1;
    return 1;
}

int job_pause(struct server *sv, int64_t id, unsigned is_paused, struct tally *t, struct err *e)
{
    struct job_row job;
    bool is_over;

    if (job_load(sv, id, &job, e) < 0)
        return -1;
    is_over = job_is_ended(job.state);
    if (is_paused != 0 ? job.is_paused || is_over : !job.is_paused && !job.has_hold)
        return 0;
    if (db_run(sv->db, e, SQL_JOB_PAUSE, "ii", id, (int64_t)is_paused) < 0)
        return -1;
    if (is_over)
        return 0;
    if (is_paused == 0 && job.has_hold)
        hold_notes_resumed(sv, job.sweep);
    if ((is_paused != 0 && recall_of_job(sv, id, e) < 0) || job_refresh(sv, id, t, e) < 0)
        return -1;
    return 1;
}

int job_order(struct server *sv, int64_t id, unsigned rank, struct tally *t, struct err *e)
{
    struct job_row job;

    if (job_load(sv, id, &job, e) < 0)
        return -1;
    if (job_is_ended(job.state) || job.rank == (int)rank)
        return 0;
    if (db_run(sv->db, e, SQL_JOB_ORDER, "ii", id, (int64_t)(int)rank) < 0)
        return -1;
    if (job.is_ready && job_refresh(sv, id, t, e) < 0)
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
    bool is_proven;     /* a rival's report, not its own worker, proved that it published */
    bool job_cancelled; /* with CANCEL_NOW: a published result has to be withdrawn */
    int64_t sweep;
    int64_t started_at;
    int64_t ended_at;
    int64_t cpu_ms;
    int64_t max_rss_bytes;
    int64_t memory_bytes, time_ms; /* what it asked for */
};

/* Reads an attempt's row: 1, 0 when there is no such attempt, -1. */
static int attempt_row(struct stmt *s, struct attempt_row *a, struct err *e)
{
    int rc = stmt_step(s, e);
    enum attempt_state state;

    if (rc <= 0)
        return rc;
    state = (enum attempt_state)stmt_enum(s, 3, ATTEMPT_STATE_COUNT);
    *a = (struct attempt_row){ .id = stmt_int(s, 0),
                               .job = stmt_int(s, 1),
                               .no = stmt_int(s, 2),
                               .state = state,
                               .seq = stmt_int(s, 4),
                               .worker = stmt_int(s, 5),
                               .is_proven = attempt_has_published(state) && stmt_is_null(s, 6),
                               .job_cancelled = stmt_int(s, 7) == CANCEL_NOW,
                               .sweep = stmt_int(s, 8),
                               .started_at = stmt_int(s, 9),
                               .ended_at = stmt_int(s, 10),
                               .cpu_ms = stmt_int(s, 11),
                               .max_rss_bytes = stmt_int(s, 12),
                               .memory_bytes = stmt_int(s, 13),
                               .time_ms = stmt_int(s, 14) };
    stmt_end(s);
    return rc;
}

static enum cause cause_of(const struct report *r)
{
    if (r->event != EV_FAIL && r->event != EV_LOSE)
        return CAUSE_NONE;
    if (r->cause != CAUSE_NONE)
        return (enum cause)r->cause;
    if (r->event == EV_LOSE)
        return CAUSE_NODE_LOST;
    return r->signal != SCHEMA_NONE ? CAUSE_SIGNAL : CAUSE_FAILED;
}

/* Writes the new state; when the attempt has ended also all that is known about its end. */
static int attempt_save(struct server *sv, const struct attempt_row *after, const struct report *r,
                        struct err *e)
{
    const struct metric *m = r->metrics.items;
    int64_t state = after->state;

    if (attempt_is_live(after->state))
        return db_run(sv->db, e, SQL_ATTEMPT_STATE, "iiii", after->id, state, r->seq,
                      r->event == EV_RUN ? r->at : r->started_at);
    if (db_run(sv->db, e, SQL_ATTEMPT_END, "iiiiiIIssiiii", after->id, state, r->seq,
               after->started_at, after->ended_at, r->exit_code, r->signal, r->reason, r->run_path,
               after->max_rss_bytes, after->cpu_ms, (int64_t)cause_of(r),
               (int64_t)r->has_checkpoint) < 0)
        return -1;
    for (size_t i = 0; i < r->metrics.n; i++)
        if (db_run(sv->db, e, SQL_METRIC_SET, "isfIffi", after->id, m[i].name, m[i].value,
                   m[i].step, m[i].min, m[i].max, m[i].n) < 0)
            return -1;
    return 0;
}

/* Adds what the attempt spent, by its row, to the sweep's account; sign -1 subtracts it.  A live or
 * recalled attempt, or one that never ran, has spent nothing. */
static void tally_spent(struct tally *t, const struct attempt_row *a, int sign)
{
    const double gib = 1 << 30;
    int64_t ms = a->ended_at > a->started_at ? a->ended_at - a->started_at : 0;

    if (attempt_is_live(a->state) || a->state == ATTEMPT_RECALLED || a->started_at == 0)
        return;
    t->spent_attempts += sign;
    t->spent_ms += sign * ms;
    t->spent_cpu_ms += sign * a->cpu_ms;
    t->spent_limit_ms += sign * a->time_ms;
    t->asked_gib_ms += (double)a->memory_bytes / gib * (double)(sign * ms);
    t->used_gib_ms += (double)a->max_rss_bytes / gib * (double)(sign * ms);
    if (a->max_rss_bytes > t->peak_rss_bytes)
        t->peak_rss_bytes = a->max_rss_bytes;
    if (ms > t->longest_ms)
        t->longest_ms = ms;
}

/* Whether these look like ids that drivers give, which people see in tables; a worker may lie. */
static bool are_gpu_ids(const char *ids)
{
    return ids != NULL &&
           strspn(ids, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-/.:,") ==
               strlen(ids);
}

/* Records which GPUs the attempt has, their memory and their load, each as far as it is known. */
static int attempt_gpus(struct server *sv, const struct attempt_row *a, const struct report *r,
                        struct err *e)
{
    int64_t ms = a->ended_at > a->started_at ? a->ended_at - a->started_at : 0;
    bool has_percent = r->gpu_busy_looks > 0;
    int n;

    if (are_gpu_ids(r->gpu_ids) &&
        db_run(sv->db, e, SQL_ATTEMPT_GPU_IDS, "is", a->id, r->gpu_ids) < 0)
        return -1;
    if (r->gpu_looks == 0 && !has_percent)
        return 0;
    n = db_run(sv->db, e, SQL_ATTEMPT_GPUS, "iIf", a->id,
               r->gpu_looks > 0 ? r->gpu_memory_bytes : SCHEMA_NONE,
               has_percent ? r->gpu_percent : (double)NAN);
    if (n <= 0)
        return n;
    return db_run(sv->db, e, SQL_SWEEP_GPUS, "iiif", a->sweep, r->gpu_memory_bytes,
                  has_percent ? ms : (int64_t)0, r->gpu_percent) < 0
               ? -1
               : 0;
}

/* Moves the attempt to `next`, and refreshes its job.  Keeps times and sizes known before. */
static int attempt_accept(struct server *sv, const struct attempt_row *a, const struct report *r,
                          enum attempt_state next, struct tally *t, struct err *e)
{
    struct attempt_row after = *a;

    after.state = next;
    if (r->started_at > a->started_at)
        after.started_at = r->started_at;
    if (r->cpu_ms > a->cpu_ms)
        after.cpu_ms = r->cpu_ms;
    if (r->max_rss_bytes > a->max_rss_bytes)
        after.max_rss_bytes = r->max_rss_bytes;
    if (r->ended_at != 0)
        after.ended_at = r->ended_at;
    else if (attempt_is_live(a->state))
        after.ended_at = turn_now_ms(sv);
    if (cause_of(r) == CAUSE_ENVIRONMENT && conn_of_worker(sv, a->worker) != NULL)
        fit_note_lack(conn_of_worker(sv, a->worker), a->sweep,
                      r->reason != NULL ? r->reason : cause_names[CAUSE_ENVIRONMENT]);
    if (attempt_save(sv, &after, r, e) < 0 || attempt_gpus(sv, &after, r, e) < 0 ||
        tally_turn_to(sv, t, a->sweep, e) < 0)
        return -1;
    hold_notes_attempt(sv, a->id, next);
    tally_spent(t, a, -1);
    tally_spent(t, &after, 1);
    if (event_is_publication((enum attempt_event)r->event)) {
        if (r->exit_code != SCHEMA_NONE) {
            t->ran_jobs++;
            t->ran_ms += r->ended_at > r->started_at ? r->ended_at - r->started_at : 1;
        }
        turn_want_schedule(sv);
        if (attempts_stop_rivals(sv, a->job, a->id, e) < 0)
            return -1;
    } else {
        enum attempt_state follows = attempt_next(a->state, (enum attempt_event)r->event);

        if (!attempt_is_live(follows) || follows == ATTEMPT_PUBLISHING)
            turn_want_schedule(sv);
    }
    return job_refresh(sv, a->job, t, e);
}

/* A report names the winner, an attempt that had published before: marks that attempt done, as its
 * own report may never come.  Returns 1, 0 when the winner is no known attempt of the job, -1. */
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

/* Another attempt had published.  If the database does not know it (the database is older than the
 * share), the result on the share is this job's all the same: the attempt counts as done. */
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

/* Records why the attempt's results are not published yet, and tells subscribers. */
static int attempt_delayed(struct server *sv, const struct attempt_row *a, const struct report *r,
                           struct err *e)
{
    if (db_run(sv->db, e, SQL_ATTEMPT_DELAYED, "iis", a->id, r->seq, r->reason) < 0 ||
        db_run(sv->db, e, SQL_JOB_DELAYED, "ii", a->job, turn_next_version(sv)) < 0)
        return -1;
    subscribe_touch(sv, a->sweep);
    return 0;
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
    if (event_is_publication(event) && a.job_cancelled && a.state != ATTEMPT_WITHDRAWN) {
        /* The attempt published although its job had been cancelled: the result has to go again. */
        *verdict = VERDICT_WITHDRAW;
        return attempt_is_live(a.state) ? attempt_accept(sv, &a, r, ATTEMPT_CANCELLED, t, e) : 0;
    }
    if (event_is_publication(event) && a.is_proven && r->exit_code != SCHEMA_NONE) {
        *verdict = VERDICT_TAKEN;
        return attempt_accept(sv, &a, r, attempt_next(ATTEMPT_PUBLISHING, event), t, e);
    }
    *verdict = VERDICT_KNOWN;
    if (event == EV_END && a.state == ATTEMPT_PUBLISHING && r->reason != NULL)
        return attempt_delayed(sv, &a, r, e);
    if (attempt_was_made(a.state, event))
        return 0;
    next = attempt_next(a.state, event);
    if (next == ATTEMPT_NO || event == EV_RETURN) {
        if (!attempt_is_live(a.state) && !attempt_has_published(a.state) &&
            a.state != ATTEMPT_FAILED && a.state != ATTEMPT_STOPPED && a.state != ATTEMPT_WITHDRAWN)
            *verdict = VERDICT_SUPERSEDED;
        return 0;
    }
    *verdict = VERDICT_TAKEN;
    if (event == EV_SUPERSEDE)
        return supersede(sv, &a, r, next, t, e);
    if (attempt_accept(sv, &a, r, next, t, e) < 0)
        return -1;
    return event == EV_END && r->reason != NULL ? attempt_delayed(sv, &a, r, e) : 0;
}

int attempt_find(struct server *sv, int64_t attempt, enum attempt_event event, enum cause cause,
                 const char *reason, struct tally *t, struct err *e)
{
    struct report found = { .event = (int)event,
                            .at = turn_now_ms(sv),
                            .exit_code = SCHEMA_NONE,
                            .signal = SCHEMA_NONE,
                            .cause = (int)cause,
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

int attempts_lose_all(struct server *sv, int64_t worker, enum cause cause, const char *reason,
                      struct err *e)
{
    struct tally t = { 0 };
    int64_t attempt, state;
    int rc;

    while ((rc = db_get(sv->db, e, SQL_LIVE_OF_WORKER, "i>ii", worker, &attempt, &state)) == 1)
        if (attempt_find(sv, attempt, state == ATTEMPT_ASSIGNED ? EV_RECALL : EV_LOSE,
                         state == ATTEMPT_ASSIGNED ? CAUSE_NONE : cause, reason, &t, e) < 0)
            return -1;
    return rc < 0 ? -1 : tally_flush(sv, &t, e);
}
