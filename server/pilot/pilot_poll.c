/* SPDX-License-Identifier: MIT */
/* pilot_poll.c - asks Slurm about pilots whose workers are not connected, and judges its answers */
/* One squeue asks for all pilots, and one sacct for those that squeue does not know any more. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/inbox/inbox.h"
#include "server/pilot/pilots_internal.h"
#include "server/queue/attempts.h"
#include "server/queue/lease.h"

enum { LOOK_AT_ONCE = 500 };

struct look {
    struct pilots *p;
    struct arena *arena;
    const struct pilot_row **rows; /* rows that this look asks about */
    size_t n;
    bool is_by_name;      /* the rows have no id yet */
    char mark[TOKEN_HEX]; /* the beginning of each row that squeue prints */
    bool has_answer;
    enum slurm_said squeue, sacct;
    struct slurm_answer jobs, ended;
    bool has_changed; /* a pilot is not as it was */
};

static void look_free(struct look *l)
{
    arena_destroy(l->arena);
    free(l);
}

void look_drop(struct pilots *p)
{
    if (p->look != NULL)
        look_free(p->look);
    p->look = NULL;
}

/* ---- choice of rows ---- */

/* Whether the pilot's worker is heard; about a silent one Slurm may know more. */
static bool is_heard(struct server *sv, const struct pilot_row *row)
{
    const struct conn *c = row->worker == 0 ? NULL : conn_of_worker(sv, row->worker);

    return c != NULL && !lease_is_silent(sv, c);
}

bool look_is_wanted(struct pilots *p, const struct pilot_row *row)
{
    return row->was_asked && !submission_has(p, row) && !is_heard(p->sv, row);
}

/* Adds the rows with ids in this range, as long as there is room. */
static void choose_between(struct look *l, int64_t above, int64_t up_to)
{
    const struct pilot_rows *all = &l->p->rows;

    for (size_t i = 0; i < all->n && l->n < LOOK_AT_ONCE; i++) {
        const struct pilot_row *row = &all->items[i];

        if (row->id > above && row->id <= up_to && look_is_wanted(l->p, row) &&
            (row->slurm_id == 0) == l->is_by_name)
            l->rows[l->n++] = row;
    }
}

/* ---- the row's job in Slurm ---- */

static bool is_task(const struct pilot_row *row, const char *tasks)
{
    return row->tasks <= 1 || (tasks != NULL && slurm_set_has(tasks, row->task));
}

static const struct slurm_job *job_of(const struct look *l, const struct pilot_row *row)
{
    for (size_t i = 0; i < l->jobs.n; i++) {
        const struct slurm_job *job = &l->jobs.jobs[i];

        if (is_task(row, job->tasks) && job->array_id == row->slurm_id)
            return job;
    }
    return NULL;
}

bool look_is_other(const struct pilot_row *row, const struct slurm_job *job)
{
    const char *ours = row->comment;
    size_t n = strcspn(ours, " ") + (strchr(ours, ' ') != NULL); /* "ludwig ", and behind it */
    size_t n_id = n + strcspn(ours + n, " ");                    /* the id of the server */

    /* Sites write comments of their own into jobs: such a comment says nothing about the owner. */
    return strcmp(job->name, row->name) != 0 ||
           (job->comment != NULL && strncmp(job->comment, ours, n) == 0 &&
            (strncmp(job->comment, ours, n_id) != 0 ||
             strcspn(job->comment + n, " ") != n_id - n)) ||
           (row->submitted_s > 0 && job->submitted_s > 0 && job->submitted_s != row->submitted_s);
}

const struct slurm_job *look_for_submitted(const struct slurm_answer *jobs,
                                           const struct pilot_row *row)
{
    for (size_t i = 0; i < jobs->n; i++)
        if (!look_is_other(row, &jobs->jobs[i]) && strcmp(jobs->jobs[i].user, row->user) == 0)
            return &jobs->jobs[i];
    return NULL;
}

static struct slurm_seen seen_of(const struct look *l, const struct pilot_row *row,
                                 const struct slurm_job **job)
{
    const struct slurm_ended *ended = NULL;
    struct slurm_seen seen = { .squeue = l->squeue,
                               .sacct = l->sacct,
                               .has_accounting = l->p->site.config.has_accounting };

    *job = job_of(l, row);
    if (is_heard(l->p->sv, row))
        seen.worker = WORKER_THERE;
    else if (row->worker != 0 && lease_is_running(l->p->sv, row->worker))
        seen.worker = WORKER_AWAY;
    if (*job != NULL) {
        seen.squeue = SLURM_SAYS;
        seen.state = (*job)->state;
        seen.reason = (*job)->reason;
        seen.is_other = look_is_other(row, *job);
    }
    for (size_t i = 0; i < l->ended.n; i++) /* a job that was requeued has several */
        if (l->ended.ended[i].array_id == row->slurm_id && is_task(row, l->ended.ended[i].tasks))
            ended = &l->ended.ended[i];
    if (ended != NULL) {
        seen.sacct = SLURM_SAYS;
        seen.ended = ended->state;
        seen.signal = ended->signal;
        seen.is_other_ended = strcmp(ended->name, row->name) != 0 ||
                              (row->submitted_s > 0 && ended->submitted_s > 0 &&
                               ended->submitted_s != row->submitted_s);
    }
    return seen;
}

/* ---- results, in a turn ---- */

static int end_pilot(struct look *l, const struct pilot_row *row, const struct slurm_meaning *m,
                     const char *words, struct err *e)
{
    struct pilots *p = l->p;
    const char *why = arena_printf(l->arena, "its pilot, Slurm's job %s, %s",
                                   pilot_row_job(row, l->arena), words);

    log_event(LOG_INFO, "pilot-ended", "job", "%s", pilot_row_job(row, l->arena), "user", "%s",
              row->user, "slurm", "%s", slurm_state_name(m->state), NULL);
    if (pilot_row_end(p->sv, row->id, words, e) < 0)
        return -1;
    if (row->worker != 0 && m->jobs == JOBS_BACK) {
        struct conn *c = conn_of_worker(p->sv, row->worker);

        if (attempts_lose_all(p->sv, row->worker, m->cause, why, e) < 0)
            return -1;
        if (c != NULL)
            conn_close(p->sv, c, why);
    }
    if (row->worker == 0) /* the pilot died before its worker came */
        words = arena_printf(l->arena,
                             "%s (Slurm's job %s; its log: %s on the share, if its node "
                             "sees that)",
                             words, pilot_row_job(row, l->arena), pilot_row_log(row, l->arena));
    if (m->next == NEXT_LATER || row->worker == 0)
        pilots_back_off(p, row->pool, true, words);
    return 0;
}

/* A pilot that has run and waits has nothing left of that run, or the lease would still run. */
static int keep(struct look *l, const struct pilot_row *row, const struct slurm_meaning *m,
                const struct slurm_job *job, const char *words, struct err *e)
{
    int64_t submitted_s = job == NULL ? row->submitted_s : job->submitted_s;

    if (m->phase == PILOT_STARTS || m->phase == PILOT_RUNS)
        inbox_expect(l->p->sv->inbox);
    l->has_changed |= m->phase != row->phase;
    if (row->worker != 0 && m->state == SLURM_PENDING &&
        (pilot_row_count_time(l->p->sv, row->id, e) < 0 ||
         db_run(l->p->sv->db, e, SQL_PILOT_WAITS_AGAIN, "i", row->id) < 0))
        return -1;
    return db_run(l->p->sv->db, e, SQL_PILOT_SEEN, "iisi", row->id, (int64_t)m->phase, words,
                  submitted_s) < 0
               ? -1
               : 0;
}

/* A pilot submitted without an answer was found: so was its array.  Tasks that squeue does not know
 * any more are looked at again, by their id. */
static int find_submitted(struct look *l, const struct pilot_row *row, struct err *e)
{
    const struct slurm_job *job = look_for_submitted(&l->jobs, row);

    l->has_changed = true;
    if (job == NULL) {
        log_event(LOG_WARN, "pilot-not-submitted", "name", "%s", row->name, NULL);
        return db_run(l->p->sv->db, e, SQL_PILOTS_DROP, "t", &row->token) < 0 ? -1 : 0;
    }
    log_event(LOG_INFO, "pilot-found", "name", "%s", row->name, "job", "%lld",
              (long long)job->array_id, NULL);
    pilots_submitted(l->p, row->pool);
    return db_run(l->p->sv->db, e, SQL_PILOTS_SUBMITTED, "ti", &row->token, job->array_id) < 0 ? -1
                                                                                               : 0;
}

static int take_one(struct look *l, const struct pilot_row *row, struct err *e)
{
    const struct slurm_job *job;
    struct slurm_seen seen;
    struct slurm_meaning m;
    const char *words;

    if (l->is_by_name)
        return find_submitted(l, row, e);
    seen = seen_of(l, row, &job);
    m = slurm_judge(&seen);
    words = m.words;
    if (m.state == SLURM_PENDING && job != NULL && job->reason != NULL)
        /* "waits for resources: others come first (Priority)" */
        words = arena_printf(l->arena, "%s (%.*s)", words, REASON_MAX_BYTES - 200, job->reason);
    if (seen.worker == WORKER_THERE)
        return 0;
    switch (m.phase) {
    case PILOT_UNCLEAR: return 0;
    case PILOT_ENDED: return end_pilot(l, row, &m, words, e);
    case PILOT_NEVER: /* the pilot cannot begin as it is */
        pilots_cancel(l->p, row, pilot_row_job(row, l->arena));
        if (pool_refuse(l->p->sv, row,
                        arena_printf(l->arena, "Slurm has taken job %s, and will not start it: %s",
                                     pilot_row_job(row, l->arena), words),
                        e) < 0)
            return -1;
        return pilot_row_end(l->p->sv, row->id, words, e);
    case PILOT_STUCK:
        pilots_cancel(l->p, row, pilot_row_job(row, l->arena));
        return end_pilot(l, row, &m, words, e);
    default: return keep(l, row, &m, job, words, e);
    }
}

static void settle_look(struct server *sv, int64_t unused)
{
    struct pilots *p = sv->pilots;
    struct look *l = p->look;

    (void)unused;
    if (l == NULL)
        return;
    p->look = NULL;
    if (l->has_changed)
        p->look_every_ms = 0;
    if (l->is_by_name && l->has_answer)
        pilots_look_in(p, 0);
    if (l->has_answer)
        pilots_away(p, NULL);
    turn_want_schedule(sv);
    look_free(l);
    pilots_next(p);
}

static int settle_only(struct server *sv, int64_t unused, struct err *e)
{
    (void)e;
    turn_after(sv, settle_look, unused);
    return 0;
}

/* A pilot may have ended since it was looked at: then its row is left alone.  A change that cannot
 * be written is seen again at the next look. */
static int take_all(struct server *sv, int64_t unused, struct err *e)
{
    struct look *l = sv->pilots->look;

    if (l == NULL)
        return 0;
    for (size_t i = 0; i < l->n && l->has_answer; i++)
        if (take_one(l, l->rows[i], e) < 0) {
            turn_add_work(sv->turn, settle_only, unused);
            return -1;
        }
    return settle_only(sv, unused, e);
}

static void take_look(struct look *l)
{
    turn_add_work(l->p->sv->turn, take_all, 0);
}

/* ---- asking ---- */

static void on_ended(void *context, struct slurm_result *result)
{
    struct look *l = context;
    struct err e = { 0 };

    l->p->call = NULL;
    if (slurm_failure_of(result) == SLURM_WELL &&
        slurm_read(SLURM_ENDED, buf_text(&result->out), result->out.n, l->arena, &l->ended, &e) ==
            0)
        l->sacct = SLURM_HAS_NONE;
    take_look(l);
}

static void ask_accounting(struct look *l)
{
    const char **jobs = arena_alloc(l->arena, (l->n + 1) * sizeof *jobs);
    const char **names = arena_alloc(l->arena, (l->n + 1) * sizeof *names);
    struct slurm_command c = { .env = pilots_env(NULL, l->arena) };
    struct err e = { 0 };
    size_t n = 0, n_names = 0;

    for (size_t i = 0; i < l->n && l->p->site.config.has_accounting && !l->is_by_name; i++) {
        const struct slurm_job *job = job_of(l, l->rows[i]);

        if (job != NULL && !look_is_other(l->rows[i], job))
            continue;
        jobs[n++] = pilot_row_job(l->rows[i], l->arena);
        /* Rows of an array follow each other. */
        if (n_names == 0 || strcmp(names[n_names - 1], l->rows[i]->name) != 0)
            names[n_names++] = l->rows[i]->name;
    }
    c.args = slurm_sacct_args(jobs, n, names, n_names, l->arena);
    if (n == 0 || pilots_call(l->p, &c, on_ended, l, &e) < 0)
        take_look(l);
}

static void on_jobs(void *context, struct slurm_result *result)
{
    struct look *l = context;
    enum slurm_failure failure = slurm_failure_of(result);
    struct buf rows = { 0 };
    struct err e = { 0 };

    slurm_keep_marked(buf_text(&result->out), result->out.n, l->mark, &rows);
    l->p->call = NULL;
    l->p->looked_at_ms = units_monotonic_ms();
    if (failure == SLURM_NO_SUCH_JOB)
        l->squeue = SLURM_HAS_NONE;
    else if (failure == SLURM_WELL &&
             slurm_read(SLURM_JOBS, buf_text(&rows), rows.n, l->arena, &l->jobs, &e) == 0)
        l->squeue = SLURM_HAS_NONE;
    buf_free(&rows);
    l->has_answer = l->squeue != SLURM_SAID_NOTHING;
    if (l->has_answer) {
        ask_accounting(l);
        return;
    }
    pilots_away(l->p, e.kind != ERR_NONE ? e.text : slurm_failure_words(result, l->arena));
    pilots_look_in(l->p, PILOTS_LOOK_EVERY_MS);
    take_look(l);
}

void look_begin(struct pilots *p)
{
    struct look *l = mem_alloc(sizeof *l);
    struct slurm_command c = { 0 };
    struct err e = { 0 };
    struct token mark;
    const char **words;
    size_t n = 0;

    l->p = p;
    l->arena = arena_create();
    p->look = l;
    p->look_at_ms = 0; /* what is asked for from now on comes after it */
    /* Pilots whose submission was not answered come first, by themselves.  Where there are too many
     * for one look, the next look goes on where this one ended. */
    l->rows = arena_alloc(l->arena, LOOK_AT_ONCE * sizeof(struct pilot_row *));
    for (size_t i = 0; i < p->rows.n; i++)
        l->is_by_name |= look_is_wanted(p, &p->rows.items[i]) && p->rows.items[i].slurm_id == 0;
    choose_between(l, p->looked_to, INT64_MAX);
    choose_between(l, 0, p->looked_to);
    p->looked_to = l->n == LOOK_AT_ONCE ? l->rows[l->n - 1]->id : 0;

    /* Each name or base id once. */
    words = arena_alloc(l->arena, (l->n + 1) * sizeof *words);
    for (size_t i = 0; i < l->n; i++)
        if (i == 0 || !token_equal(&l->rows[i]->token, &l->rows[i - 1]->token))
            words[n++] = l->is_by_name ? l->rows[i]->name
                                       : arena_printf(l->arena, "%" PRId64, l->rows[i]->slurm_id);
    c.args = slurm_squeue_args(l->is_by_name, words, n, l->arena);
    token_make(&mark);
    token_hex(&mark, l->mark);
    c.env = slurm_squeue_env(pilots_env(NULL, l->arena), l->mark, l->arena);
    if (n > 0 && pilots_call(p, &c, on_jobs, l, &e) == 0)
        return;
    if (n > 0)
        pilots_away(p, e.text);
    take_look(l);
}
