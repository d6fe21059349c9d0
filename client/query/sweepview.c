/* SPDX-License-Identifier: MIT */
/* sweepview.c - shows one sweep, or a row for each in a table */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/sweepview.h"
#include "client/query/triage.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "common/base/units.h"

enum { LOOKED_AT_MAX = 5000 /* jobs of one state */, BAR_NEEDS = 60 };

/* ---- failures ---- */

struct looking {
    struct triage *triage;
    int64_t n;
};

static int take_ended(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct looking *l = context;

    (void)e;
    for (size_t i = 0; i < n && l->n < LOOKED_AT_MAX; i++, l->n++)
        triage_add(l->triage, &jobs[i]);
    return l->n == LOOKED_AT_MAX;
}

/* Adds jobs in that state: 1 when these are all, 0 when LOOKED_AT_MAX were not all, -1 on error. */
static int look_at(struct rpc *rpc, int64_t sweep, enum job_state state, struct looking *l,
                   struct err *e)
{
    const char *name = job_state_names[state];
    struct target whole = { .sweep = sweep };
    struct list targets = { &whole, 1 };
    struct job_filter filter = { .states = { &name, 1 } };

    l->n = 0;
    if (pages_jobs(rpc, &targets, &filter, take_ended, l, e) < 0)
        return -1;
    return l->n < LOOKED_AT_MAX;
}

static void keep_reasons(struct failures *f, const struct list *groups, bool is_sure)
{
    const struct triage_group *g = groups->items;

    f->n = groups->n;
    f->reasons = mem_alloc(f->n * sizeof *f->reasons);
    for (size_t i = 0; i < f->n; i++) {
        const struct triage_reason *reasons = g[i].reasons.items;
        struct buf text = { 0 };

        f->reasons[i] =
            (struct reason){ mem_strdup(g[i].example), mem_strdup(g[i].first), g[i].failed, NULL };
        f->jobs += g[i].failed;
        if (!is_sure || g[i].reasons.n == 0 || !reasons[0].is_sure)
            continue;
        triage_add_reason(&text, &reasons[0]);
        f->reasons[i].explained = buf_take(&text);
    }
}

int failures_read(struct rpc *rpc, int64_t sweep, struct failures *f, struct err *e)
{
    struct looking l = { .triage = triage_create() };
    struct err why = { 0 };
    int all_failed = look_at(rpc, sweep, JOB_FAILED, &l, &why), all_done = 0;
    struct list groups;

    *f = (struct failures){ .is_complete = true };
    if (all_failed == 1 && l.n > 0)
        all_done = look_at(rpc, sweep, JOB_DONE, &l, &why);
    if (all_failed >= 0 && all_done >= 0) {
        groups = triage_judge(l.triage);
        keep_reasons(f, &groups, all_failed == 1 && all_done == 1);
        f->is_complete = all_failed == 1;
    }
    triage_destroy(l.triage);
    if (all_failed >= 0 && all_done >= 0)
        return 0;
    return why.kind == ERR_DENIED ? 0 : err_set(e, why.kind, "%s", why.text);
}

static void add_reason(struct buf *out, const struct reason *r)
{
    buf_printf(out, "%" PRId64 " x %s (%s%s)", r->n,
               r->text[0] != '\0' ? r->text : "for no reason that is known",
               r->n > 1 ? "first: " : "", r->job);
}

void failures_add(struct buf *out, const struct failures *f)
{
    for (size_t i = 0; i < f->n && i < REASONS_SHOWN; i++) {
        struct buf line = { 0 };

        add_reason(&line, &f->reasons[i]);
        safe_text_clean(&line, "");
        buf_printf(out, "%s  %s", i > 0 ? "\n" : "", buf_text(&line));
        if (f->reasons[i].explained != NULL) {
            buf_clear(&line);
            buf_add_str(&line, f->reasons[i].explained);
            safe_text_clean(&line, "");
            buf_printf(out, "\n    %s", buf_text(&line));
        }
        buf_free(&line);
    }
}

void failures_free(struct failures *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->reasons[i].text);
        free(f->reasons[i].job);
        free(f->reasons[i].explained);
    }
    free(f->reasons);
    *f = (struct failures){ 0 };
}

/* ---- waiting jobs ---- */

static int read_delayed(struct rpc *rpc, const struct sweep_info *s, struct queue *q, struct err *e)
{
    const char *publishing = job_state_names[JOB_PUBLISHING];
    struct msg_get_jobs request = { .sweep = s->sweep,
                                    .limit = PAGE_MAX,
                                    .states = { &publishing, 1 } };
    struct msg_job_page page;
    struct err why = { 0 };

    if (s->jobs.publishing == 0)
        return 0;
    if (rpc_call(rpc, MSG_GET_JOBS, &request, &page, &why) < 0)
        return why.kind == ERR_DENIED ? 0 : err_set(e, why.kind, "%s", why.text);
    for (size_t i = 0; i < page.jobs.n; i++) {
        const struct job_info *j = (const struct job_info *)page.jobs.items + i;

        if (j->reason == NULL || j->reason[0] == '\0' || q->n_delayed++ > 0)
            continue;
        q->delayed = mem_strdup(j->job);
        q->delayed_why = mem_strdup(j->reason);
    }
    return 0;
}

int queue_read(struct rpc *rpc, const struct sweep_info *s, struct queue *q, struct err *e)
{
    const char *queued = job_state_names[JOB_QUEUED];
    struct msg_get_jobs request = { .sweep = s->sweep,
                                    .limit = PAGE_MAX,
                                    .states = { &queued, 1 } };
    struct msg_job_page page;
    struct err why = { 0 };

    *q = (struct queue){ .is_complete = true };
    if (read_delayed(rpc, s, q, e) < 0)
        return -1;
    if (s->jobs.queued == 0)
        return 0;
    if (rpc_call(rpc, MSG_GET_JOBS, &request, &page, &why) < 0)
        return why.kind == ERR_DENIED ? 0 : err_set(e, why.kind, "%s", why.text);
    for (size_t i = 0; i < page.jobs.n; i++) {
        const struct job_info *j = (const struct job_info *)page.jobs.items + i;
        bool is_paused = jobinfo_is_paused(j);
        char **first = is_paused ? &q->paused : &q->first;

        q->n_paused += is_paused;
        /* A queued job that has a node is about to start, and is not named as waiting. */
        if (*first == NULL && (is_paused || j->node == NULL || j->node[0] == '\0'))
            *first = mem_strdup(j->job);
    }
    q->is_complete = page.next == 0;
    return 0;
}

void queue_free(struct queue *q)
{
    free(q->first);
    free(q->paused);
    free(q->delayed);
    free(q->delayed_why);
    *q = (struct queue){ 0 };
}

/* ---- table of sweeps ---- */

enum { SWEEP, PROJECT, NAME, USER, STATE, DONE, RUNNING, QUEUED, FAILED, SUBMITTED, N_COLUMNS };

static const struct column columns[N_COLUMNS] = {
    { "SWEEP", true, false },      { "PROJECT", false, true }, { "NAME", false, true },
    { "USER", false, true },       { "STATE", false, false },  { "DONE", true, false },
    { "RUNNING", true, false },    { "QUEUED", true, false },  { "FAILED", true, false },
    { "SUBMITTED", false, false },
};

struct table *sweepview_table(size_t width, bool colour)
{
    static const size_t may_go[] = { RUNNING, SUBMITTED, QUEUED, USER, NAME };
    struct table *t = table_create(columns, N_COLUMNS, width, colour);

    table_may_leave_out(t, FAILED, NEED_ROOM);
    table_may_leave_out(t, PROJECT, NEED_ROOM);
    for (size_t i = 0; i < sizeof may_go / sizeof may_go[0]; i++)
        table_may_leave_out(t, may_go[i], NEED_COMFORT);
    return t;
}

enum tone sweepview_tone(int state)
{
    switch (state) {
    case SWEEP_DONE: return TONE_GOOD;
    case SWEEP_FAILED:
    case SWEEP_HELD: return TONE_BAD;
    case SWEEP_RUNNING: return TONE_BUSY;
    default: return TONE_DIM;
    }
}

/* Jobs that have begun and are not over. */
static int64_t count_started(const struct job_counts *c)
{
    return progress_jobs(c) - progress_ended(c) - c->queued - c->held;
}

void sweepview_add_row(struct table *t, const struct sweep_info *s, int64_t now_ms)
{
    const struct job_counts *c = &s->jobs;
    struct buf time = { 0 }, stopped = { 0 };

    table_printf(t, TONE_PLAIN, "%" PRId64, s->sweep);
    table_add(t, TONE_PLAIN, s->project);
    table_add(t, TONE_PLAIN, s->name);
    table_add(t, TONE_PLAIN, s->user);
    table_add(t, sweepview_tone(s->state), sweep_state_names[s->state]);
    if (c->stopped > 0)
        buf_printf(&stopped, " (%" PRId64 " stopped)", c->stopped);
    table_printf(t, TONE_PLAIN, "%" PRId64 "/%" PRId64 "%s",
                 progress_done(c) + c->stopped + s->reused, progress_jobs(c) + s->reused,
                 buf_text(&stopped));
    buf_free(&stopped);
    table_printf(t, TONE_PLAIN, "%" PRId64, count_started(c));
    table_printf(t, TONE_PLAIN, "%" PRId64, c->queued);
    table_printf(t, c->failed > 0 ? TONE_BAD : TONE_PLAIN, "%" PRId64, c->failed);
    jobinfo_add_ago(&time, s->submitted_at, now_ms);
    table_add_buf(t, TONE_DIM, &time);
}

/* ---- one sweep ---- */

void sweepview_add_counts(struct buf *out, const struct sweep_info *s)
{
    buf_printf(out, "%" PRId64 " done", s->jobs.done + s->reused);
    /* By rank: running jobs, jobs under way, waiting jobs, jobs that are over. */
    for (int rank = 0; rank <= 3; rank++)
        for (int i = 0; i < JOB_STATE_COUNT; i++) {
            int its = i == JOB_RUNNING                   ? 0
                      : i == JOB_QUEUED || i == JOB_HELD ? 2
                      : job_is_ended((enum job_state)i)  ? 3
                                                         : 1;

            if (i != JOB_DONE && its == rank && s->jobs.of[i] > 0)
                buf_printf(out, ", %" PRId64 " %s", s->jobs.of[i], job_state_names[i]);
        }
}

int64_t sweepview_left_ms(const struct sweep_info *s)
{
    int64_t started = count_started(&s->jobs);
    double left_ms;

    if (s->state != SWEEP_RUNNING || s->mean_ms == 0 || started == 0)
        return 0;
    /* Running jobs are half done on average. */
    left_ms = (double)s->mean_ms * ((double)s->jobs.queued / (double)started + 0.5);
    return left_ms > 1e12 ? 0 : left_ms < 1000 ? 1000 : (int64_t)left_ms;
}

/* Adds a line of the view: a name, or "" for a further line, and its text, which is freed. */
static void add_line(struct table *t, const char *name, enum tone tone, struct buf *text)
{
    table_add(t, TONE_DIM, name);
    table_add_buf(t, tone, text);
}

/* Returns "optimizer=lion failed 3 of 3: ..." for "held: optimizer=lion failed 3 of 3: ...". */
static const char *without_word(const char *held)
{
    static const char word[] = "held: ";

    return strncmp(held, word, sizeof word - 1) == 0 ? held + sizeof word - 1 : held;
}

static void add_description(struct table *t, const struct sweep_info *s, int64_t now_ms)
{
    struct buf text = { 0 };

    buf_printf(&text, "%" PRId64, s->sweep);
    if (s->name != NULL && s->name[0] != '\0')
        buf_printf(&text, " %s", s->name);
    buf_printf(&text, " in project %s, by %s", s->project != NULL ? s->project : "?",
               s->user != NULL ? s->user : "?");
    add_line(t, "sweep", TONE_STRONG, &text);
    buf_add_str(&text, sweep_state_names[s->state]);
    if (s->state == SWEEP_PAUSED)
        buf_printf(&text, " (ludwig resume %" PRId64 ")", s->sweep);
    add_line(t, "state", sweepview_tone(s->state), &text);
    if (s->refused != NULL) {
        buf_add_str(&text, s->refused);
        add_line(t, "Slurm", TONE_BAD, &text);
    }
    if (s->held != NULL && s->jobs.held > 0) {
        buf_printf(&text, "%" PRId64 " job%s: %s", s->jobs.held, s->jobs.held == 1 ? "" : "s",
                   without_word(s->held));
        add_line(t, "held", TONE_BAD, &text);
    }
    if (s->advisor != NULL) {
        buf_add_str(&text, s->advisor);
        add_line(t, "advisor", TONE_PLAIN, &text);
    }
    if (s->notice != NULL) {
        buf_add_str(&text, s->notice);
        add_line(t, "notify", TONE_BAD, &text);
    }
    if (s->tags != NULL) {
        buf_add_str(&text, s->tags);
        add_line(t, "tags", TONE_PLAIN, &text);
    }
    if (s->note != NULL) {
        buf_add_str(&text, s->note);
        add_line(t, "note", TONE_PLAIN, &text);
    }
    jobinfo_add_ago(&text, s->submitted_at, now_ms);
    buf_add_str(&text, " (");
    units_add_time_local(&text, s->submitted_at);
    buf_add_char(&text, ')');
    add_line(t, "submitted", TONE_PLAIN, &text);
    if (s->ended_at != 0) {
        jobinfo_add_ago(&text, s->ended_at, now_ms);
        buf_add_str(&text, ", after ");
        units_add_duration(&text, s->ended_at - s->submitted_at);
        add_line(t, "ended", TONE_PLAIN, &text);
    }
    buf_printf(&text, "%" PRId64 ": %" PRId64 " configuration%s x %" PRId64,
               progress_jobs(&s->jobs) + s->reused, s->configs, s->configs == 1 ? "" : "s",
               s->reps);
    if (s->reused > 0)
        buf_printf(&text, ", %" PRId64 " of them done before", s->reused);
    add_line(t, "jobs", TONE_PLAIN, &text);
    sweepview_add_counts(&text, s);
    add_line(t, "", TONE_PLAIN, &text);
}

static void add_failures(struct table *t, const struct sweep_info *s, const struct failures *f)
{
    struct buf text = { 0 };
    int64_t others = f->jobs;

    for (size_t i = 0; i < f->n && i < REASONS_SHOWN; i++) {
        add_reason(&text, &f->reasons[i]);
        add_line(t, i == 0 ? "failed" : "", TONE_BAD, &text);
        if (f->reasons[i].explained != NULL) {
            buf_printf(&text, "  %s", f->reasons[i].explained);
            add_line(t, "", TONE_PLAIN, &text);
        }
        others -= f->reasons[i].n;
    }
    if (others > 0)
        buf_printf(&text, "%" PRId64 " x something else", others);
    if (!f->is_complete)
        buf_printf(&text, "%sof the first %" PRId64 " that failed", text.n > 0 ? "; all this " : "",
                   f->jobs);
    if (text.n > 0)
        add_line(t, "", TONE_BAD, &text);
    buf_printf(&text,
               "`ludwig why %s` tells more, `ludwig triage %" PRId64 "` what they have in common",
               f->reasons[0].job, s->sweep);
    add_line(t, "", TONE_DIM, &text);
}

void sweepview_add(struct buf *out, const struct sweep_info *s, const struct failures *f,
                   const struct queue *q, int64_t now_ms, size_t width, bool colour)
{
    static const struct column lines[] = { { "", false, false }, { "", false, true } };
    struct table *t = table_create(lines, 2, width, colour);
    int64_t ended = progress_reached(s), jobs = progress_jobs(&s->jobs) + s->reused;
    int64_t left_ms = sweepview_left_ms(s);
    bool is_growing = s->advisor != NULL && !progress_is_over(s);
    struct buf text = { 0 };

    add_description(t, s, now_ms);
    if (is_growing) {
        buf_printf(&text, "%" PRId64 " of the %" PRId64 " jobs so far; more follow", ended, jobs);
        left_ms = 0;
    } else {
        if (width >= BAR_NEEDS)
            progress_add_bar(&text, ended, jobs);
        buf_printf(&text, "%" PRId64 " %%", jobs == 0 ? 100 : 100 * ended / jobs);
    }
    if (s->state == SWEEP_CANCELLED)
        buf_add_str(&text, ", then cancelled");
    if (left_ms > 0) {
        buf_add_str(&text, ", about ");
        units_add_duration(&text, left_ms / 1000 * 1000);
        buf_add_str(&text, " left");
    }
    add_line(t, "progress", TONE_PLAIN, &text);
    /* Paused jobs are mentioned unless the whole sweep is paused. */
    if (q != NULL && q->n_paused > 0 && s->state != SWEEP_PAUSED) {
        buf_printf(&text, "%s%" PRId64 " of the jobs that wait ", q->is_complete ? "" : "at least ",
                   q->n_paused);
        if (q->n_paused == 1 && q->is_complete)
            buf_printf(&text, "(ludwig resume %s)", q->paused);
        else
            buf_printf(&text, "(ludwig resume %" PRId64 ")", s->sweep);
        add_line(t, "paused", TONE_PLAIN, &text);
    }
    if (q != NULL && s->state == SWEEP_RUNNING && q->first != NULL &&
        count_started(&s->jobs) == 0) {
        buf_printf(&text, "`ludwig why %s` says what for", q->first);
        add_line(t, "waiting", TONE_PLAIN, &text);
    }
    if (q != NULL && q->n_delayed > 0) {
        buf_printf(&text,
                   "%" PRId64
                   " job%s ended, and the results are not on the shared drive yet: %s (%s)",
                   q->n_delayed, q->n_delayed == 1 ? " has" : "s have", q->delayed_why, q->delayed);
        add_line(t, "publishing", TONE_BAD, &text);
    }
    if (f != NULL && f->n > 0)
        add_failures(t, s, f);
    table_flush(t, out);
    table_destroy(t);
}
