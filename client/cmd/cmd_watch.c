/* SPDX-License-Identifier: MIT */
/* cmd_watch.c - ludwig watch */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/query/sweepview.h"
#include "client/query/live.h"
#include "client/results/ranked.h"
#include "client/session/session.h"
#include "client/session/subscription.h"
#include "client/session/sweep_wait.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "common/base/units.h"

enum {
    WATCHED_MAX = 50,     /* a server allows some more */
    PAINT_EVERY_MS = 100, /* at most, however much changes */
    RECENT_MAX = 5,
    RUNNING_SHOWN = 5,
    TICK_MS = 1000,       /* how long jobs have run is told anew, */
    LIVE_EVERY_MS = 5000, /* and what they have reported */
    BEST_EVERY_MS = 3000, /* the best so far is asked for, at most, */
    BEST_JOBS_MAX = 2000  /* of a sweep whose results are quickly here */
};

/* A job that runs, or whose results wait to be published, of the sweeps that are watched. */
struct runs {
    char *job, *node, *params;
    char *reason; /* why it is not published yet; NULL: it runs */
    int64_t started_at;
    char *metrics_path; /* NULL: none */
    char *live;         /* what it has reported, in words; NULL: nothing is known */
};

/* Lines of jobs that ended during the watch, the newest last. */
struct recent {
    char *lines[RECENT_MAX];
    size_t n;
};

struct watched {
    struct sweep_info info; /* user NULL: not known yet */
    struct buf line;        /* the last line printed */
};

struct watch {
    struct session *session;
    struct rpc *rpc;
    struct arena *arena;
    struct share_dir *fs; /* NULL: not opened yet, or it cannot be seen */
    int64_t live_at_ms;   /* when it was read last what runs has reported; 0: never */
    struct watched *sweeps;
    size_t n;
    struct recent recent;
    struct runs *running; /* running jobs, the longest first */
    size_t n_running, running_capacity;
    bool has_screen; /* false: lines are printed */
    struct screen screen;
    bool is_stale; /* the screen needs painting */
    int64_t painted_at_ms;
    struct rpc questions; /* a second connection, as the first one carries the subscription */
    bool has_questions;
    char *best; /* a line about the best configuration so far; NULL: none is known */
    int64_t best_done, best_at_ms; /* of so many jobs, asked for then */
};

/* ---- state ---- */

static bool is_known(const struct sweep_info *s)
{
    return s->user != NULL;
}

static bool are_all(const struct watch *w, bool (*is_so)(const struct sweep_info *))
{
    for (size_t i = 0; i < w->n; i++)
        if (!is_known(&w->sweeps[i].info) || !is_so(&w->sweeps[i].info))
            return false;
    return true;
}

static const char *keep_text(struct arena *a, const char *text)
{
    return text != NULL ? arena_strdup(a, text) : "";
}

/* Takes the sweep's numbers; its names do not change, and are copied once. */
static void keep_info(struct watch *w, struct sweep_info *s, const struct sweep_info *news)
{
    struct sweep_info names = *s;

    if (!is_known(s)) {
        names.project = keep_text(w->arena, news->project);
        names.name = keep_text(w->arena, news->name);
        names.user = keep_text(w->arena, news->user);
    }
    *s = *news;
    s->project = names.project;
    s->name = names.name;
    s->user = names.user;
    s->ranking.metric = s->refused = s->note = s->tags = NULL;
    if (news->held != NULL)
        s->held = names.held != NULL && strcmp(names.held, news->held) == 0
                      ? names.held
                      : arena_strdup(w->arena, news->held);
}

static char *line_of(const struct job_info *j)
{
    struct buf text = { 0 }, params = { 0 };

    buf_printf(&text, "%s %s", j->job, job_state_names[j->state]);
    jobinfo_add_params(&params, &j->params);
    if (j->node != NULL && j->node[0] != '\0')
        buf_printf(&text, " on %s", j->node);
    if (j->started_at != 0) {
        buf_add_str(&text, " after ");
        jobinfo_add_time(&text, j, units_now_ms());
    }
    if (j->state == JOB_FAILED) {
        buf_add_str(&text, ": ");
        jobinfo_add_reason(&text, j);
    }
    if (params.n > 0)
        buf_printf(&text, "  %s", buf_text(&params));
    buf_free(&params);
    safe_text_clean(&text, "");
    return buf_take(&text);
}

/* Owns line.  The server may tell the same end twice. */
static void remember(struct recent *r, char *line)
{
    bool was_told = false;

    for (size_t i = 0; i < r->n; i++)
        was_told = was_told || strcmp(r->lines[i], line) == 0;
    if (!was_told && r->n == RECENT_MAX) {
        free(r->lines[0]);
        memmove(r->lines, r->lines + 1, --r->n * sizeof *r->lines);
    }
    if (was_told)
        free(line);
    else
        r->lines[r->n++] = line;
}

/* ---- running jobs, on a terminal ---- */

static void drop_running(struct watch *w, size_t i)
{
    free(w->running[i].job);
    free(w->running[i].node);
    free(w->running[i].metrics_path);
    free(w->running[i].live);
    free(w->running[i].params);
    free(w->running[i].reason);
    memmove(&w->running[i], &w->running[i + 1], (--w->n_running - i) * sizeof *w->running);
}

/* The server may tell the same job twice. */
static void note_running(struct watch *w, const struct job_info *j)
{
    bool is_delayed = j->state == JOB_PUBLISHING && j->reason != NULL;
    struct buf params = { 0 };
    size_t i = 0;

    while (i < w->n_running && strcmp(w->running[i].job, j->job) != 0)
        i++;
    if (i < w->n_running)
        drop_running(w, i);
    if (j->state != JOB_RUNNING && !is_delayed)
        return;
    jobinfo_add_params(&params, &j->params);
    mem_grow((void **)&w->running, &w->running_capacity, w->n_running, sizeof *w->running);
    for (i = w->n_running++; i > 0 && w->running[i - 1].started_at > j->started_at; i--)
        w->running[i] = w->running[i - 1];
    w->running[i] =
        (struct runs){ .job = mem_strdup(j->job),
                       .node = mem_strdup(j->node != NULL ? j->node : ""),
                       .params = mem_strdup(buf_text(&params)),
                       .reason = is_delayed ? mem_strdup(j->reason) : NULL,
                       .metrics_path = j->metrics_path != NULL ? mem_strdup(j->metrics_path) : NULL,
                       .started_at = j->started_at };
    buf_free(&params);
}

/*
 * Reads the jobs that run already; one page is enough for the few shown.  Sets the cursor of what
 * to this moment, so that a subscription gets every later change.
 */
static int read_running(struct watch *w, struct msg_subscribe *what, struct err *e)
{
    const struct msg_subscribe summary = { .sweep = what->sweep, .cursor = -1 };
    const char *states[] = { job_state_names[JOB_RUNNING], job_state_names[JOB_PUBLISHING] };
    struct msg_get_jobs request = { .sweep = what->sweep,
                                    .limit = PAGE_MAX,
                                    .states = { states, 2 } };
    struct msg_changes now;
    struct msg_job_page page;

    if (rpc_call(w->rpc, MSG_SUBSCRIBE, &summary, &now, e) < 0)
        return -1;
    what->cursor = now.cursor;
    /* A new connection ends the subscription. */
    if (rpc_reopen(w->rpc, e) < 0 || rpc_call(w->rpc, MSG_GET_JOBS, &request, &page, e) < 0)
        return -1;
    for (size_t i = 0; i < page.jobs.n; i++)
        note_running(w, &((const struct job_info *)page.jobs.items)[i]);
    return 0;
}

/* ---- on a terminal ---- */

/* Orders running sweeps first, then by number, the newest first. */
static int compare_sweeps(const void *x, const void *y)
{
    const struct sweep_info *a = &((const struct watched *)x)->info;
    const struct sweep_info *b = &((const struct watched *)y)->info;

    if ((a->state == SWEEP_RUNNING) != (b->state == SWEEP_RUNNING))
        return a->state == SWEEP_RUNNING ? -1 : 1;
    return a->sweep > b->sweep ? -1 : a->sweep < b->sweep;
}

static void add_cut(struct buf *out, const char *line, size_t columns)
{
    buf_add(out, line, safe_text_fitting(line, strlen(line), columns));
    buf_add_char(out, '\n');
}

/* Of those that are shown. */
static void read_live(struct watch *w)
{
    struct live live[RUNNING_SHOWN] = { 0 };
    struct runs *of[RUNNING_SHOWN];
    int64_t now_ms = units_monotonic_ms();
    struct arena *a;
    size_t n = 0;

    if (w->live_at_ms != 0 && now_ms - w->live_at_ms < LIVE_EVERY_MS)
        return;
    for (size_t i = 0; i < w->n_running && i < RUNNING_SHOWN; i++)
        if (w->running[i].metrics_path != NULL) {
            live[n].path = w->running[i].metrics_path;
            of[n++] = &w->running[i];
        }
    if (n == 0)
        return;
    if (w->fs == NULL)
        w->fs = session_open_drive(w->session, NULL);
    w->live_at_ms = now_ms;
    if (w->fs == NULL)
        return;
    a = arena_create();
    live_read(w->fs, live, n, a);
    for (size_t i = 0; i < n; i++) {
        struct buf words = { 0 };

        live_add_words(&words, &live[i].metrics);
        free(of[i]->live);
        of[i]->live = words.n > 0 ? buf_take(&words) : NULL;
    }
    arena_destroy(a);
}

static void add_running(struct buf *out, const struct watch *w, size_t columns)
{
    int64_t now_ms = units_now_ms();

    for (size_t i = 0; i < w->n_running && i < RUNNING_SHOWN; i++) {
        const struct runs *r = &w->running[i];
        struct buf line = { 0 };

        buf_printf(&line, "%s %s", r->job, r->reason != NULL ? "publishing" : "running");
        if (r->node[0] != '\0')
            buf_printf(&line, " on %s", r->node);
        if (r->reason != NULL) {
            buf_printf(&line, ", not yet: %s", r->reason);
        } else if (r->started_at != 0 && now_ms >= r->started_at) {
            buf_add_str(&line, " for ");
            units_add_duration(&line, (now_ms - r->started_at) / 1000 * 1000);
        }
        if (r->live != NULL)
            buf_printf(&line, ": %s", r->live);
        if (r->params[0] != '\0')
            buf_printf(&line, "  %s", r->params);
        safe_text_clean(&line, "");
        add_cut(out, buf_text(&line), columns);
        buf_free(&line);
    }
}

/* The best configuration of the jobs that are done; nothing where there is none, or it may not be seen. */
static void learn_best(struct watch *w)
{
    const struct sweep_info *s = &w->sweeps[0].info;
    const struct measures_said said = { 0 };
    int64_t now_ms = units_monotonic_ms(), done = progress_done(&s->jobs);
    struct aggregate g;
    int ranked_by = -1;

    if (w->n != 1 || done == w->best_done || progress_jobs(&s->jobs) > BEST_JOBS_MAX ||
        now_ms < w->best_at_ms + BEST_EVERY_MS)
        return;
    if (!w->has_questions && rpc_open(&w->questions, &w->rpc->to, w->rpc->user_label, NULL) < 0)
        return;
    w->has_questions = true;
    w->best_done = done;
    w->best_at_ms = now_ms;
    aggregate_init(&g);
    if (ranked_read(&w->questions, s->sweep, &said, w->arena, &g, &ranked_by, NULL) == 0) {
        const struct config_result *c = &g.configs[0];
        struct buf line = { 0 };

        buf_printf(&line, "best so far: %s  %s %.6g  ", c->param_name, g.metrics[ranked_by],
                   aggregate_measure(c, (size_t)ranked_by)->last.mean);
        jobinfo_add_params(&line, &c->params);
        safe_text_clean(&line, "");
        free(w->best);
        w->best = buf_take(&line);
    }
    aggregate_free(&g);
}

/* f: why jobs failed, in the last picture; else NULL. */
static int paint(struct watch *w, const struct failures *f, struct err *e)
{
    size_t columns = output_columns(STDOUT_FILENO);
    bool colour = output_has_colour(STDOUT_FILENO);
    struct buf text = { 0 };
    int result;

    if (w->n == 1) {
        sweepview_add(&text, &w->sweeps[0].info, f, NULL, units_now_ms(), columns, colour);
    } else {
        struct table *t = sweepview_table(columns, colour);

        qsort(w->sweeps, w->n, sizeof *w->sweeps, compare_sweeps);
        for (size_t i = 0; i < w->n; i++)
            sweepview_add_row(t, &w->sweeps[i].info, units_now_ms());
        table_flush(t, &text);
        table_destroy(t);
    }
    if (w->best != NULL)
        add_cut(&text, w->best, columns);
    if (f == NULL)
        read_live(w);
    if (f == NULL)
        add_running(&text, w, columns);
    for (size_t i = 0; i < w->recent.n && f == NULL; i++)
        add_cut(&text, w->recent.lines[i], columns);
    result = screen_paint(&w->screen, &text, e);
    buf_free(&text);
    w->is_stale = false;
    w->painted_at_ms = units_monotonic_ms();
    return result;
}

/* Time until the screen is due: a change waits to be painted together with others, and running
 * times are painted every TICK_MS; -1: nothing is due. */
static int patience_ms(const struct watch *w)
{
    int64_t every_ms = w->is_stale ? PAINT_EVERY_MS : TICK_MS;
    int64_t left_ms = w->painted_at_ms + every_ms - units_monotonic_ms();

    if (!w->is_stale && (!w->has_screen || w->n_running == 0))
        return -1;
    return left_ms < 0 ? 0 : (int)left_ms;
}

/* ---- changes ---- */

/* Shows a job's failure and, on a terminal, any end. */
static int take_job(struct watch *w, const struct job_info *j, struct err *e)
{
    struct buf out = { 0 };
    char *line;

    if (w->has_screen)
        note_running(w, j);
    if (!job_is_ended((enum job_state)j->state) || (!w->has_screen && j->state != JOB_FAILED))
        return 0;
    line = line_of(j);
    if (w->has_screen) {
        remember(&w->recent, line);
        return 0;
    }
    buf_printf(&out, "%s\n", line);
    free(line);
    return output_write(&out, e);
}

static int take_changes(struct watch *w, const struct msg_changes *changes, struct err *e)
{
    const struct job_info *jobs = changes->jobs.items;
    const struct sweep_info *s = &changes->sweep;
    struct watched *watched = w->sweeps;
    struct buf line = { 0 };

    while (watched < w->sweeps + w->n && watched->info.sweep != s->sweep)
        watched++;
    if (watched == w->sweeps + w->n)
        return err_set(e, ERR_PROTOCOL,
                       "the server told of sweep %" PRId64 ", which is not watched", s->sweep);
    keep_info(w, &watched->info, s);
    for (size_t i = 0; i < changes->jobs.n; i++)
        if (take_job(w, &jobs[i], e) < 0)
            return -1;
    w->is_stale = w->has_screen;
    if (w->has_screen)
        return 0;
    buf_printf(&line, "sweep %" PRId64 " %s: ", s->sweep, sweep_state_names[s->state]);
    sweepview_add_counts(&line, s);
    buf_add_char(&line, '\n');
    /* A repeated line, as after a lost connection, is printed once. */
    if (strcmp(buf_text(&line), buf_text(&watched->line)) == 0) {
        buf_free(&line);
        return 0;
    }
    buf_clear(&watched->line);
    buf_add(&watched->line, line.bytes, line.n);
    return output_write(&line, e);
}

/* Watches until all sweeps are over or held; returns 1 then, 0 after Ctrl-C, -1 with e set. */
static int follow_sweeps(struct watch *w, struct subscription *sub, struct err *e)
{
    struct msg_changes changes;

    while (!are_all(w, progress_has_stopped)) {
        enum event event = subscription_wait(sub, patience_ms(w), &changes, e);

        if (event == EVENT_ERROR || (event == EVENT_CHANGES && take_changes(w, &changes, e) < 0))
            return -1;
        if (event == EVENT_INTERRUPT)
            return 0;
        if (patience_ms(w) != 0 || !are_all(w, is_known))
            continue;
        if (w->has_screen)
            learn_best(w);
        if (paint(w, NULL, e) < 0)
            return -1;
    }
    return 1;
}

/* ---- beginning and end ---- */

/* Subscribes; a user who may not see a sweep's jobs gets its summary only. */
static int subscribe(struct watch *w, struct subscription *sub, struct err *e)
{
    struct msg_subscribe *what = arena_alloc(w->arena, w->n * sizeof *what);

    for (size_t i = 0; i < w->n; i++) {
        struct sweep_info info;

        if (pages_sweep(w->rpc, w->sweeps[i].info.sweep, &info, e) < 0)
            return -1;
        what[i] = (struct msg_subscribe){ .sweep = info.sweep,
                                          .cursor = -1,
                                          .jobs = w->rpc->welcome.admin ||
                                                  (info.user != NULL &&
                                                   pages_is_of(info.user, w->rpc->welcome.user)) };
        if (w->has_screen && what[i].jobs && read_running(w, &what[i], e) < 0)
            return -1;
    }
    return subscription_begin_all(sub, w->rpc, what, w->n, e);
}

/* An exit code, or -1. */
static int watch(struct watch *w, struct err *e)
{
    struct failures failures = { 0 };
    struct subscription sub;
    int result, code = EXIT_WELL;

    if (subscribe(w, &sub, e) < 0)
        return -1;
    result = follow_sweeps(w, &sub, e);
    subscription_end(&sub);
    if (result < 0)
        return -1;
    if (result == 0) {
        output_note("the jobs go on");
        return EXIT_INTERRUPTED;
    }
    /* The last picture shows why jobs failed.  The old connection may still hold pushes. */
    if (w->has_screen && w->n == 1 &&
        (rpc_reopen(w->rpc, e) < 0 ||
         failures_read(w->rpc, w->sweeps[0].info.sweep, &failures, e) < 0))
        return -1;
    w->best_at_ms = 0;
    if (w->has_screen)
        learn_best(w);
    result = w->has_screen ? paint(w, &failures, e) : 0;
    failures_free(&failures);
    for (size_t i = 0; i < w->n && result == 0; i++)
        if (sweep_wait_say_end(&w->sweeps[i].info) != EXIT_WELL)
            code = EXIT_FAILED;
    return result < 0 ? -1 : code;
}

static int watch_sweeps(struct cli *cli, struct err *e)
{
    char all[] = "all", *one = all; /* without words: all of one's own that are not over */
    struct opt_words words = cli->args.n > 0 ? cli->args : (struct opt_words){ &one, 1 };
    struct watch w = { .arena = cli->arena, .has_screen = screen_is_there() };
    struct list targets;
    struct session s;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    w.session = &s;
    w.rpc = &s.rpc;
    result = selector_sweeps(w.rpc, &words, w.arena, &targets, e);
    if (result == 0 && targets.n > WATCHED_MAX)
        result = err_set(e, ERR_USAGE, "%zu sweeps are too many to watch at once; name at most %d",
                         targets.n, WATCHED_MAX);
    if (result == 0) {
        w.n = targets.n;
        w.sweeps = arena_alloc(w.arena, w.n * sizeof *w.sweeps);
        for (size_t i = 0; i < w.n; i++)
            w.sweeps[i].info.sweep = ((const struct target *)targets.items)[i].sweep;
    }
    if (result == 0 && w.n == 0)
        output_note("you have no unfinished sweep");
    else if (result == 0)
        result = watch(&w, e);
    for (size_t i = 0; i < w.recent.n; i++)
        free(w.recent.lines[i]);
    while (w.n_running > 0)
        drop_running(&w, 0);
    free(w.running);
    free(w.best);
    if (w.has_questions)
        rpc_close(&w.questions);
    for (size_t i = 0; i < w.n; i++)
        buf_free(&w.sweeps[i].line);
    share_close(w.fs);
    session_close(&s);
    return result;
}

const struct command cmd_watch = {
    .name = "watch",
    .args = "[SWEEP]... [OPTION]...",
    .help = "show the progress of sweeps until they have ended",
    .more = "SWEEP is a number or last; the default is all your unfinished sweeps.\n"
            "Ctrl-C ends the view, not the jobs. The exit code is that of `submit --wait`: 1\n"
            "if a job failed or was cancelled. If stdout is no terminal, each change is\n"
            "printed as a line.\n",
    .max_args = ARGS_ANY,
    .run = watch_sweeps,
};
