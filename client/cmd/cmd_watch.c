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
#include "client/session/session.h"
#include "client/session/subscription.h"
#include "client/session/sweep_wait.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "common/base/units.h"

enum {
    WATCHED_MAX = 50,     /* a server allows somewhat more */
    PAINT_EVERY_MS = 100, /* at most, however much changes */
    RECENT_MAX = 5,
    RUNNING_SHOWN = 5,
    TICK_MS = 1000 /* how long jobs have run is told anew */
};

/* A job that runs, of the sweeps that are watched. */
struct runs {
    char *job, *node;
    int64_t started_at;
};

/* Jobs that ended while we looked, as lines; the newest last. */
struct recent {
    char *lines[RECENT_MAX];
    size_t n;
};

struct watched {
    struct sweep_info info; /* user NULL: nothing is known of it yet */
    struct buf line;        /* printed last */
};

struct watch {
    struct rpc *rpc;
    struct arena *arena;
    struct watched *sweeps;
    size_t n;
    struct recent recent;
    struct runs *running; /* those that run longest first */
    size_t n_running, running_capacity;
    bool has_screen; /* else lines are printed */
    struct screen screen;
    bool is_stale; /* what is on the screen */
    int64_t painted_at_ms;
};

/* ---- what is known ---- */

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

/* Its numbers change; its names do not, and are kept once. */
static void keep(struct watch *w, struct sweep_info *s, const struct sweep_info *news)
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
    s->ranking.metric = s->refused = NULL;
}

static char *line_of(const struct job_info *j)
{
    struct buf text = { 0 };

    buf_printf(&text, "%s %s", j->job, job_state_names[j->state]);
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
    safe_text_clean(&text, "");
    return buf_take(&text);
}

/* Owns line.  A job that has ended may be told twice. */
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

/* ---- what runs: on a terminal, where there is room for it ---- */

static void drop_running(struct watch *w, size_t i)
{
    free(w->running[i].job);
    free(w->running[i].node);
    memmove(&w->running[i], &w->running[i + 1], (--w->n_running - i) * sizeof *w->running);
}

/* A job may be told twice. */
static void note_running(struct watch *w, const struct job_info *j)
{
    size_t i = 0;

    while (i < w->n_running && strcmp(w->running[i].job, j->job) != 0)
        i++;
    if (i < w->n_running)
        drop_running(w, i);
    if (j->state != JOB_RUNNING)
        return;
    mem_grow((void **)&w->running, &w->running_capacity, w->n_running, sizeof *w->running);
    for (i = w->n_running++; i > 0 && w->running[i - 1].started_at > j->started_at; i--)
        w->running[i] = w->running[i - 1];
    w->running[i] = (struct runs){ mem_strdup(j->job), mem_strdup(j->node != NULL ? j->node : ""),
                                   j->started_at };
}

/*
 * The jobs that ran before we looked, of which one page is enough to show the first few.  what then
 * tells of every change after this moment.
 */
static int read_running(struct watch *w, struct msg_subscribe *what, struct err *e)
{
    const struct msg_subscribe summary = { .sweep = what->sweep, .cursor = -1 };
    const char *running = job_state_names[JOB_RUNNING];
    struct msg_get_jobs request = { .sweep = what->sweep,
                                    .limit = PAGE_MAX,
                                    .states = { &running, 1 } };
    struct msg_changes now;
    struct msg_job_page page;

    if (rpc_call(w->rpc, MSG_SUBSCRIBE, &summary, &now, e) < 0)
        return -1;
    what->cursor = now.cursor;
    /* The subscription would go on telling. */
    if (rpc_reopen(w->rpc, e) < 0 || rpc_call(w->rpc, MSG_GET_JOBS, &request, &page, e) < 0)
        return -1;
    for (size_t i = 0; i < page.jobs.n; i++)
        note_running(w, &((const struct job_info *)page.jobs.items)[i]);
    return 0;
}

/* ---- on a terminal ---- */

/* Running ones first, then the newest. */
static int compare(const void *x, const void *y)
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

static void add_running(struct buf *out, const struct watch *w, size_t columns)
{
    int64_t now_ms = units_now_ms();

    for (size_t i = 0; i < w->n_running && i < RUNNING_SHOWN; i++) {
        const struct runs *r = &w->running[i];
        struct buf line = { 0 };

        buf_printf(&line, "%s running", r->job);
        if (r->node[0] != '\0')
            buf_printf(&line, " on %s", r->node);
        if (r->started_at != 0 && now_ms >= r->started_at) {
            buf_add_str(&line, " for ");
            units_add_duration(&line, (now_ms - r->started_at) / 1000 * 1000);
        }
        safe_text_clean(&line, "");
        add_cut(out, buf_text(&line), columns);
        buf_free(&line);
    }
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

        qsort(w->sweeps, w->n, sizeof *w->sweeps, compare);
        for (size_t i = 0; i < w->n; i++)
            sweepview_add_row(t, &w->sweeps[i].info, units_now_ms());
        table_flush(t, &text);
        table_destroy(t);
    }
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

/* How long a change may still wait to be painted together with others, or what runs to be told
 * anew; -1: there is neither. */
static int patience_ms(const struct watch *w)
{
    int64_t every_ms = w->is_stale ? PAINT_EVERY_MS : TICK_MS;
    int64_t left_ms = w->painted_at_ms + every_ms - units_monotonic_ms();

    if (!w->is_stale && (!w->has_screen || w->n_running == 0))
        return -1;
    return left_ms < 0 ? 0 : (int)left_ms;
}

/* ---- changes ---- */

/* Every failure, and on a terminal every end. */
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
    keep(w, &watched->info, s);
    for (size_t i = 0; i < changes->jobs.n; i++)
        if (take_job(w, &jobs[i], e) < 0)
            return -1;
    w->is_stale = w->has_screen;
    if (w->has_screen)
        return 0;
    buf_printf(&line, "sweep %" PRId64 " %s: ", s->sweep, sweep_state_names[s->state]);
    sweepview_add_counts(&line, s);
    buf_add_char(&line, '\n');
    /* What is told again, as after a lost connection, is printed once. */
    if (strcmp(buf_text(&line), buf_text(&watched->line)) == 0) {
        buf_free(&line);
        return 0;
    }
    buf_clear(&watched->line);
    buf_add(&watched->line, line.bytes, line.n);
    return output_write(&line, e);
}

/* Until all are over: 1, or 0 when the user has seen enough. */
static int follow(struct watch *w, struct subscription *sub, struct err *e)
{
    struct msg_changes changes;

    while (!are_all(w, progress_is_over)) {
        enum event event = subscription_wait(sub, patience_ms(w), &changes, e);

        if (event == EVENT_ERROR || (event == EVENT_CHANGES && take_changes(w, &changes, e) < 0))
            return -1;
        if (event == EVENT_INTERRUPT)
            return 0;
        if (patience_ms(w) == 0 && are_all(w, is_known) && paint(w, NULL, e) < 0)
            return -1;
    }
    return 1;
}

/* ---- beginning and end ---- */

/* Who may not see a sweep's jobs is told its numbers. */
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
    result = follow(w, &sub, e);
    subscription_end(&sub);
    if (result < 0)
        return -1;
    if (result == 0) {
        output_note("the jobs go on");
        return EXIT_INTERRUPTED;
    }
    /* The last picture tells why jobs failed.  Anything may still lie in the old connection. */
    if (w->has_screen && w->n == 1 &&
        (rpc_reopen(w->rpc, e) < 0 ||
         failures_read(w->rpc, w->sweeps[0].info.sweep, &failures, e) < 0))
        return -1;
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
        output_note("none of your sweeps goes on any more");
    else if (result == 0)
        result = watch(&w, e);
    for (size_t i = 0; i < w.recent.n; i++)
        free(w.recent.lines[i]);
    while (w.n_running > 0)
        drop_running(&w, 0);
    free(w.running);
    for (size_t i = 0; i < w.n; i++)
        buf_free(&w.sweeps[i].line);
    session_close(&s);
    return result;
}

const struct command cmd_watch = {
    .name = "watch",
    .args = "[SWEEP]... [OPTION]...",
    .help = "show how far sweeps are until they are over",
    .more = "SWEEP is a number or last; without one: all of your sweeps that are not over.\n"
            "Ctrl-C ends the view, not the jobs. Ends as `submit --wait` does, with 1 if a\n"
            "job failed or was cancelled. Where stdout is no terminal, a change is a line.\n",
    .max_args = ARGS_ANY,
    .run = watch_sweeps,
};
