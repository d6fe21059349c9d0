/* SPDX-License-Identifier: MIT */
/* cmd_results.c - ludwig results */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/export/mlflow.h"
#include "client/export/optuna.h"
#include "client/export/tensorboard.h"
#include "client/importance/importance.h"
#include "client/page/page.h"
#include "client/query/jobinfo.h"
#include "client/query/live.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/results/published.h"
#include "client/results/ranked.h"
#include "client/results/results_out.h"
#include "client/results/series.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "client/term/where.h"
#include "common/base/hash_table.h"
#include "common/base/path.h"
#include "common/base/suggest.h"
#include "common/proto/layout.h"
#include "common/proto/metric_line.h"

enum { JOBS_SHOWN = 8 }; /* jobs named in a line */

struct options {
    bool csv, json, importance;
    struct measures_said measures;
    const char *series, *where, *by, *html, *optuna, *tensorboard, *mlflow;
    int64_t top;
};

#define AT(member) offsetof(struct options, member)

static const struct opt options[] = {
    { "metric", 'm', OPT_STRS, "METRIC,...", AT(measures.shown), 0, 0,
      "only these measures, with median, quartiles and the best value each job reported" },
    { "sort", 's', OPT_STR, "METRIC", AT(measures.sort), 0, 0,
      "best mean of this measure first; default: the one that results: in the sweep names" },
    { "goal", 0, OPT_STR, "max|min", AT(measures.goal), 0, 0,
      "whether large or small values of that measure are good" },
    { "by", 0, OPT_STR, "PARAMETER,...", AT(by), 0, 0,
      "a row for each value of this parameter, over all configurations that have it, instead of one "
      "for each configuration" },
    { "top", 'n', OPT_INT, "N", AT(top), 1, INT64_MAX, "only the best N configurations" },
    { "where", 0, OPT_STR, "TEST", AT(where), 0, 0,
      "only configurations, or jobs, for which TEST holds, as 'lr > 0.01 and accuracy >= 0.9'" },
    { "series", 0, OPT_STR, "METRIC", AT(series), 0, 0,
      "print every value that each job reported of this measure, as CSV or with --json" },
    { "importance", 0, OPT_FLAG, NULL, AT(importance), 0, 0,
      "which parameters tell the best configurations from the others, in a table or with --json" },
    { "html", 0, OPT_STR, "FILE", AT(html), 0, 0,
      "write one file to look at in a browser, with plots, the table and the jobs; - is standard output" },
    { "optuna", 0, OPT_STR, "FILE", AT(optuna), 0, 0,
      "write a study in the journal format of Optuna, for optuna-dashboard; - is standard output" },
    { "tensorboard", 0, OPT_STR, "DIR", AT(tensorboard), 0, 0,
      "write event files of TensorBoard into a new folder: a run for each job, with its series and "
      "parameters" },
    { "mlflow", 0, OPT_STR, "DIR", AT(mlflow), 0, 0,
      "write a file store of MLflow into a new folder: a run for each job, with its series and "
      "parameters" },
    { "csv", 0, OPT_FLAG, NULL, AT(csv), 0, 0, "print CSV" },
    { "json", 0, OPT_FLAG, NULL, AT(json), 0, 0, "print JSON" },
    { 0 },
};

/* One run of the command. */
struct results {
    const struct options *options;
    struct arena *arena;
    struct session session;
    struct list sweeps;      /* struct target, whole; of one project */
    int64_t sweep;           /* the one that is being asked for */
    struct hash_table *seen; /* jobs seen so far: a result that two sweeps share counts once */
    struct sweep_info info;  /* of the first, with the jobs of all */
    struct aggregate aggregate;
    size_t n_configs; /* before any was left out */
    bool has_own;     /* there are jobs of this sweep, not only of earlier ones */
    bool has_stopped; /* jobs that were stopped have left files */
    struct results_view view;
    struct where *where;         /* NULL: all */
    bool picks_jobs;             /* where tests jobs, not configurations */
    struct gathered gathered;    /* for the forms of other programs */
    struct published *published; /* results read from the share; NULL: the server gives them */
    struct share_dir *drive;     /* the share, for published */
    struct live *live;           /* what running jobs have reported */
    const char **live_params;
    size_t n_live;
    size_t n_left_out;    /* jobs of whose reports some was not taken */
    const char *left_out; /* the first of them, and what */
};

/* The option that names what is written for other programs; NULL: none. */
static const char *written_form(const struct options *o)
{
    return o->html != NULL          ? "html"
           : o->optuna != NULL      ? "optuna"
           : o->tensorboard != NULL ? "tensorboard"
           : o->mlflow != NULL      ? "mlflow"
                                    : NULL;
}

static bool writes_file(const struct options *o)
{
    return written_form(o) != NULL;
}

/* ---- asking ---- */

/* Notes a job that is done and reported something that was not taken. */
static void note_left_out(struct results *r, const struct job_result *job)
{
    static const char words[] = METRICS_LEFT_OUT;

    if (!job_has_published((enum job_state)job->state) || job->reason == NULL ||
        strncmp(job->reason, words, sizeof words - 1) != 0)
        return;
    if (r->n_left_out++ == 0)
        r->left_out = arena_printf(r->arena, "job %s: %s", job->job, job->reason);
}

static int take_results(void *context, const struct job_result *results, size_t n, struct err *e)
{
    struct results *r = context;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        char *end; /* of the sweep's number in "7.13" */
        struct digest job;

        if (r->picks_jobs && !ranked_matches_job(r->where, &results[i]))
            continue;
        digest_of(results[i].job, strlen(results[i].job), &job);
        if (!hash_table_add(r->seen, &job, 0))
            continue;
        r->has_own = r->has_own || (strtoll(results[i].job, &end, 10) == r->sweep && *end == '.');
        r->has_stopped |= results[i].state == JOB_STOPPED && results[i].run_path != NULL;
        aggregate_add(&r->aggregate, &results[i]);
        note_left_out(r, &results[i]);
        if (writes_file(r->options))
            gather_job(&r->gathered, &results[i]);
        if (results[i].metrics_path == NULL || results[i].metrics.n > 0 || r->n_live == LIVE_MAX)
            continue;
        r->live[r->n_live].path = arena_strdup(r->arena, results[i].metrics_path);
        r->live_params[r->n_live++] = arena_strdup(r->arena, results[i].param_name);
    }
    return 0;
}

/* Adds what running jobs have reported so far, if the share can be read. */
static void add_live(struct results *r)
{
    struct share_dir *fs = r->n_live > 0 ? session_open_drive(&r->session, NULL) : NULL;

    if (fs == NULL)
        return;
    live_read(fs, r->live, r->n_live, r->arena);
    for (size_t i = 0; i < r->n_live; i++)
        aggregate_add_live(&r->aggregate, r->live_params[i], &r->live[i].metrics);
    share_close(fs);
}

/* ---- preparing ---- */

/* Puts configurations that have the same values of the parameters of --by together. */
static int group(struct results *r, struct err *e)
{
    struct aggregate *g = &r->aggregate;
    struct list names = opt_split(r->arena, r->options->by);

    for (size_t i = 0; i < names.n; i++) {
        const char *name = ((const char *const *)names.items)[i];
        struct suggest nearest = { .word = name };
        size_t k = 0;

        while (k < g->n && value_get(&g->configs[k].params, name) == NULL) {
            for (size_t p = 0; p < g->configs[k].params.map.n; p++)
                suggest_try(&nearest, g->configs[k].params.map.members[p].key.str.s);
            k++;
        }
        if (k == g->n && g->n > 0)
            return err_set(e, ERR_USAGE, "--by: no configuration has a parameter '%s'%s%s%s", name,
                           nearest.best != NULL ? " (did you mean '" : "",
                           nearest.best != NULL ? nearest.best : "",
                           nearest.best != NULL ? "'?)" : "");
    }
    aggregate_group(g, &names);
    aggregate_finish(g);
    r->view.varying = names;
    return 0;
}

/* Fetches everything, computes, leaves out, sorts. */
static int prepare_results(struct results *r, struct err *e)
{
    const struct options *o = r->options;
    struct aggregate *g = &r->aggregate;
    struct results_view *v = &r->view;

    v->aggregate = g;
    r->live = arena_alloc(r->arena, LIVE_MAX * sizeof *r->live);
    r->live_params = arena_alloc(r->arena, LIVE_MAX * sizeof *r->live_params);
    if (r->published != NULL && published_results(r->published, r->drive, take_results, r, e) < 0)
        return -1;
    for (size_t i = 0; i < r->sweeps.n && r->published == NULL; i++) {
        r->sweep = ((const struct target *)r->sweeps.items)[i].sweep;
        if (pages_results(&r->session.rpc, r->sweep, take_results, r, e) < 0)
            return -1;
    }
    if (r->picks_jobs && where_check_names(r->where, e) < 0)
        return -1;
    add_live(r);
    if (measures_rank(g, &o->measures, &r->info.ranking, r->arena, &v->ranked_by, e) < 0)
        return -1;
    if (v->ranked_by < 0 && o->top != OPT_UNSET && g->n_metrics > 0)
        return err_set(e, ERR_USAGE, "--top: the best by which measure? (--sort names it)");
    aggregate_finish(g);
    r->n_configs = g->n;
    /* From all configurations, also if one is listed; a CSV file may be joined with others. */
    v->varying = o->csv ? aggregate_params(g) : aggregate_varying(g);
    if (measures_choose(v, &o->measures, r->arena, e) < 0)
        return -1;
    if (r->where != NULL && !r->picks_jobs && ranked_leave_out(g, r->where, e) < 0)
        return -1;
    if (o->by != NULL && group(r, e) < 0)
        return -1;
    v->is_grouped = o->by != NULL;
    r->n_configs = o->by != NULL ? g->n : r->n_configs;
    v->n = o->top != OPT_UNSET && (size_t)o->top < g->n ? (size_t)o->top : g->n;
    v->best = -1;
    if (v->ranked_by < 0 && o->top != OPT_UNSET)
        output_note(
            "note: no job has reported a measure to rank by; these come first in the sweep");
    if (v->ranked_by < 0)
        return 0;
    /* Only a measure that was named says in which order configurations are listed. */
    if (o->measures.sort != NULL || o->top != OPT_UNSET ||
        (r->info.ranking.metric != NULL && o->by == NULL))
        aggregate_sort(g, (size_t)v->ranked_by);
    v->best = aggregate_best(g, (size_t)v->ranked_by);
    return 0;
}

/* ---- the table and the lines below ---- */

static void add_ranking(struct buf *out, const struct results *r)
{
    const struct results_view *v = &r->view;
    const struct aggregate *g = &r->aggregate;
    const char *said = r->info.ranking.metric, *first = NULL;
    bool has_live = false;
    size_t n = 0;

    if (said != NULL && aggregate_find_metric(g, said) < 0 && g->n_metrics > 0)
        buf_printf(out, "no job has reported %s, which results: names\n", said);
    /* "best: jobs 1.7, 1.8 (ludwig logs 1.7)" */
    if (v->best >= 0) {
        const struct config_result *c = &g->configs[v->best];
        bool is_lowest = aggregate_goal(g, (size_t)v->ranked_by) == GOAL_MIN;
        bool is_known = aggregate_goal_is_known(g, (size_t)v->ranked_by);

        buf_printf(out, "* best by mean %s (%s%s)\n", g->metrics[v->ranked_by],
                   is_lowest ? "lowest" : "highest",
                   is_known ? "" : "; if small values are good: --goal min");
        buf_printf(out, "best: job%s ", c->n_done == 1 ? "" : "s");
        for (size_t i = 0; i < c->n_jobs; i++) {
            if (!c->jobs[i].done || n++ >= JOBS_SHOWN)
                continue;
            buf_printf(out, "%s%s", first == NULL ? "" : ", ", c->jobs[i].job);
            first = first == NULL ? c->jobs[i].job : first;
        }
        if (n > JOBS_SHOWN)
            buf_printf(out, " and %zu more", n - JOBS_SHOWN);
        buf_printf(out, " (ludwig logs %s)\n", first);
    }
    if (v->n < r->n_configs)
        buf_printf(out, "%zu of %zu %s\n", v->n, r->n_configs,
                   v->is_grouped ? "values" : "configurations");
    for (size_t i = 0; i < v->n; i++)
        for (size_t k = 0; k < v->n_metrics; k++)
            has_live = has_live || aggregate_live(&g->configs[i], v->metrics[k]) != NULL;
    if (has_live)
        buf_add_str(out,
                    "~ the last value, and @ its step, of jobs that are not done; not ranked\n");
    if (g->n_metrics == 0)
        buf_add_str(out, "no job has reported a measure (see ludwig help report)\n");
    if (r->n_left_out == 1)
        buf_printf(out, "%s\n", r->left_out);
    else if (r->n_left_out > 1)
        buf_printf(out, "%zu jobs reported lines that are no measures; %s\n", r->n_left_out,
                   r->left_out);
}

static int show_table(const struct results *r, struct err *e)
{
    const struct job_counts *c = &r->info.jobs;
    const char *project = session_shown_path(&r->session, r->session.arena, r->info.project);
    int64_t left = progress_jobs(c) - progress_ended(c);
    struct buf out = { 0 }, below = { 0 };

    if (r->view.n > 0)
        results_add_table(&out, &r->view, output_columns(STDOUT_FILENO),
                          output_has_colour(STDOUT_FILENO));
    else
        buf_printf(&out, "no configuration%s\n", r->where != NULL ? " matches" : "");
    buf_add_char(&out, '\n');
    add_ranking(&below, r);
    if (left > 0)
        buf_printf(&below, "%" PRId64 " job%s not over yet\n", left, left == 1 ? " is" : "s are");
    if (c->failed > 0)
        buf_printf(&below, "%" PRId64 " job%s failed (`ludwig jobs %" PRId64 " --state failed`)\n",
                   c->failed, c->failed == 1 ? "" : "s", r->info.sweep);
    if (c->stopped > 0)
        buf_printf(&below,
                   "%" PRId64 " job%s stopped early (`ludwig jobs %" PRId64 " --state stopped`)\n",
                   c->stopped, c->stopped == 1 ? " was" : "s were", r->info.sweep);
    buf_printf(&below, "results  %s/runs/\n", project);
    for (size_t i = 0; i < r->sweeps.n && r->has_own; i++)
        buf_printf(&below, "%-9s%s/logs/%" PRId64 "/\n", i == 0 ? "logs" : "", project,
                   ((const struct target *)r->sweeps.items)[i].sweep);
    if (c->failed > 0)
        buf_printf(&below, "failed   %s/failed/\n", project);
    if (r->has_stopped)
        buf_printf(&below, "stopped  %s/stopped/\n", project);
    if (!session_sees_drive(&r->session))
        buf_printf(&below,
                   "These are on the shared drive; `ludwig fetch %" PRId64 "` copies them here.\n",
                   r->info.sweep);
    safe_text_add_harmless(&out, buf_text(&below), below.n, "\n");
    buf_free(&below);
    return output_write(&out, e);
}

/* ---- importance, and files for other programs ---- */

static int show_importance(struct results *r, struct err *e)
{
    const struct results_view *v = &r->view;
    struct importance found;
    struct buf out = { 0 };

    if (v->ranked_by < 0)
        return err_set(e, v->n_metrics > 0 ? ERR_USAGE : ERR_FAILED, "--importance: %s",
                       v->n_metrics > 0 ? "for which measure? (--sort names it)"
                                        : "no job has reported a measure (see ludwig help report)");
    if (importance_of(&found, v->aggregate, (size_t)v->ranked_by, r->arena, e) < 0)
        return -1;
    if (r->options->json)
        return output_write_json(&importance_schema, &found, e);
    importance_add_text(&out, &found, output_columns(STDOUT_FILENO),
                        output_has_colour(STDOUT_FILENO));
    return output_write(&out, e);
}

/* Writes the file of --html or --optuna, with the configurations that the table would show. */
static int write_file(struct results *r, struct err *e)
{
    const struct options *o = r->options;
    struct results_view *v = &r->view;
    bool *keep = mem_resize(NULL, v->aggregate->n, sizeof *keep);

    for (size_t i = 0; i < v->aggregate->n; i++)
        keep[i] = i < v->n;
    aggregate_keep(v->aggregate, keep);
    free(keep);
    r->gathered.aggregate = v->aggregate;
    r->gathered.ranked_by = v->ranked_by;
    r->gathered.wants_triage = r->gathered.wants_nodes = o->html != NULL;
    if (gather_learn(&r->gathered, &r->session, e) < 0)
        return -1;
    if (o->html != NULL)
        return page_write(&r->gathered, o->html, e);
    if (o->optuna != NULL)
        return optuna_write(&r->gathered, o->optuna, e);
    for (size_t i = 0; i < r->gathered.notes.n; i++)
        output_note("note: %s", ((const char *const *)r->gathered.notes.items)[i]);
    return o->tensorboard != NULL ? tensorboard_write(&r->gathered, o->tensorboard, e)
                                  : mlflow_write(&r->gathered, o->mlflow, e);
}

/* ---- the command ---- */

/* Asks for the sweeps.  They must be of one project: configurations of another have the same names. */
static int learn_sweeps(struct results *r, struct err *e)
{
    const struct target *items = r->sweeps.items;
    struct sweep_info *info = &r->info, another;
    struct sweep_info *kept = arena_alloc(r->arena, r->sweeps.n * sizeof *kept);

    r->gathered.sweeps = (struct list){ kept, r->sweeps.n };
    for (size_t i = 0; i < r->sweeps.n; i++) {
        if (pages_sweep(&r->session.rpc, items[i].sweep, i == 0 ? info : &another, e) < 0)
            return -1;
        kept[i] = *(const struct sweep_info *)schema_copy(&sweep_info_schema,
                                                          i == 0 ? info : &another, r->arena);
        if (i == 0) {
            info->name = info->user = info->refused = info->note = info->tags = NULL;
            info->project = arena_strdup(r->arena, info->project != NULL ? info->project : "");
            if (info->ranking.metric != NULL)
                info->ranking.metric = arena_strdup(r->arena, info->ranking.metric);
            continue;
        }
        if (another.project == NULL || strcmp(another.project, info->project) != 0)
            return err_set(e, ERR_USAGE,
                           "sweeps %" PRId64 " and %" PRId64
                           " are of the projects %s and %s, whose "
                           "configurations are not the same",
                           info->sweep, another.sweep, info->project,
                           another.project != NULL ? another.project : "?");
        for (int k = 0; k < JOB_STATE_COUNT; k++)
            info->jobs.of[k] += another.jobs.of[k];
    }
    return 0;
}

static int print_results(struct results *r, struct err *e)
{
    const struct options *o = r->options;

    if (r->published == NULL && learn_sweeps(r, e) < 0)
        return -1;
    if (o->series != NULL && r->sweeps.n > 1)
        return err_set(e, ERR_USAGE, "--series takes one sweep");
    if (o->series != NULL)
        return results_series_show(&r->session, r->info.sweep,
                                   &(struct results_series){ o->series, r->where, o->json }, e);
    if (prepare_results(r, e) < 0)
        return -1;
    if (writes_file(o))
        return write_file(r, e);
    if (o->importance)
        return show_importance(r, e);
    if (o->json)
        return results_write_json(&r->view, e);
    return o->csv ? results_write_csv(&r->view, e) : show_table(r, e);
}

/* Options that do not go together. */
static int check_together(const struct options *o, struct err *e)
{
    const bool is_ranked = o->measures.sort != NULL || o->measures.goal != NULL;
    const int n_forms = o->csv + o->json + (o->html != NULL) + (o->optuna != NULL) +
                        (o->tensorboard != NULL) + (o->mlflow != NULL);

    if (n_forms > 1)
        return err_set(e, ERR_USAGE,
                       "one of --json, --csv, --html, --optuna, --tensorboard and --mlflow");
    if (o->series != NULL && (is_ranked || o->top != OPT_UNSET))
        return err_set(e, ERR_USAGE,
                       "--series prints all jobs in their order: without --sort, "
                       "--goal and --top");
    if (o->series != NULL && o->by != NULL)
        return err_set(e, ERR_USAGE, "--series prints each job's values: without --by");
    if (o->series != NULL && o->measures.shown.n > 0)
        return err_set(e, ERR_USAGE, "--series names the measure itself: without --metric");
    if (o->series != NULL && (o->importance || writes_file(o)))
        return err_set(e, ERR_USAGE, "--series prints values: without --importance%s%s",
                       writes_file(o) ? " and --" : "", writes_file(o) ? written_form(o) : "");
    if (o->importance && (o->by != NULL || o->top != OPT_UNSET || o->csv || writes_file(o)))
        return err_set(e, ERR_USAGE,
                       "--importance compares all configurations, as a table or with --json: "
                       "without --by, --top, --csv, --html (a page has it), --optuna, "
                       "--tensorboard and --mlflow");
    if (writes_file(o) && o->by != NULL)
        return err_set(e, ERR_USAGE, "--%s has each configuration: without --by", written_form(o));
    return 0;
}

/* Called when the server is out of reach, as e says: reads results from a mounted share. */
static int without_server(struct results *r, const struct opt_words *words, struct err *e)
{
    struct target *target = arena_alloc(r->arena, sizeof *target);
    struct err gone = *e, why = { 0 };

    if (words->n != 1 || r->options->series != NULL || writes_file(r->options))
        return -1;
    r->drive = session_without_server(&r->session, NULL);
    if (r->drive == NULL)
        return -1;
    r->published = arena_alloc(r->arena, sizeof *r->published);
    if (published_find(r->published, r->drive, words->words[0], r->arena, &why) < 0)
        return err_set(e, ERR_UNREACHABLE, "%s (and in %s: %s)", gone.text, r->session.share,
                       why.text);
    output_note("note: %s", gone.text);
    output_note("note: this is what lies in %s, without jobs that wait or run%s",
                session_shown_path(&r->session, r->arena, r->published->project),
                r->published->sweep != 0 ? " and those it reused" : "");
    *target = (struct target){ .sweep = r->published->sweep };
    r->sweep = target->sweep;
    r->sweeps = (struct list){ target, target->sweep != 0 };
    r->info.sweep = target->sweep;
    r->info.project = r->published->project;
    r->info.ranking = r->published->ranking;
    return 0;
}

static int show_results(struct cli *cli, struct err *e)
{
    struct results r = { .options = cli->options, .arena = cli->arena };
    const struct opt_words words = selector_words_or_last(&cli->args);
    const struct options *o = r.options;
    struct err wrong = { 0 };
    int result;

    if (check_together(o, e) < 0 ||
        (o->where != NULL && (r.where = where_parse(o->where, cli->arena, e)) == NULL))
        return -1;
    r.picks_jobs = o->where != NULL && o->series == NULL && ranked_is_of_jobs(r.where);
    if (r.picks_jobs && jobinfo_parse_where(o->where, cli->arena, &r.where, e) < 0)
        return -1;
    /* Without a server, a project's name will do. */
    if (selector_check(&words, &wrong) < 0 &&
        (words.n != 1 || !layout_is_project_name(words.words[0])))
        return err_set(e, wrong.kind, "%s", wrong.text);
    result = session_read(cli, &r.session, e);
    if (result < 0 && (e->kind != ERR_UNREACHABLE || without_server(&r, &words, e) < 0)) {
        if (wrong.kind != ERR_NONE && r.drive == NULL)
            err_set(e, wrong.kind, "%s", wrong.text);
        share_close(r.drive);
        return -1;
    }
    r.gathered.arena = cli->arena;
    aggregate_init(&r.aggregate);
    r.seen = hash_table_create(SIZE_MAX);
    if (r.published != NULL)
        result = 0;
    else if (wrong.kind != ERR_NONE)
        result = err_set(e, wrong.kind, "%s; `ludwig status --project %s` lists a project's sweeps",
                         wrong.text, words.words[0]);
    else
        result = selector_sweeps(&r.session.rpc, &words, cli->arena, &r.sweeps, e);
    if (result == 0 && r.sweeps.n == 0 && r.published == NULL)
        result = err_set(e, ERR_NOT_FOUND,
                         "none of your sweeps goes on any more (name those that are over)");
    if (result == 0)
        result = print_results(&r, e);
    hash_table_destroy(r.seen);
    gather_free(&r.gathered);
    aggregate_free(&r.aggregate);
    if (r.published == NULL)
        session_close(&r.session);
    share_close(r.drive);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_results = {
    .name = "results",
    .args = "[SWEEP]... [OPTION]...",
    .help = "show what the jobs of a sweep measured, for each configuration",
    .more = "For each metric: the mean of the last value that each job reported and, from\n"
            "two jobs on, the standard deviation over the replications; \"best\" is the same\n"
            "for the best value of each job. Quartiles are interpolated linearly, as by\n"
            "numpy's quantile. N is the number of jobs that are done; NOTES describes the\n"
            "others. If the last value of a job is nan or infinite, the mean is nan and\n"
            "ranks last.\n"
            "SWEEP is a number or last, the default. Several of one project are shown\n"
            "together. When the server is out of reach, what lies on the drive is read, if\n"
            "that is mounted here; then SWEEP may be a project's name, too.\n"
            "TEST knows parameters, measures (their means), n, failed, cancelled, stopped,\n"
            "left, reason and param_name of a configuration. With --series, or if it names\n"
            "job, rep or state, it chooses jobs instead, and knows parameters, measures\n"
            "(their last values), job, rep, state, reason and param_name: 'rep < 3'.\n"
            "\n"
            "  ludwig results last --sort accuracy --top 5\n"
            "  ludwig results 7 --metric accuracy,loss --where 'lr < 0.1'\n"
            "  ludwig results 7 --by lr\n"
            "  ludwig results 7 --importance\n"
            "  ludwig results 7 --html sweep.html\n"
            "  ludwig results 7 --optuna study.log && optuna-dashboard study.log\n"
            "  ludwig results 7 --tensorboard runs && tensorboard --logdir runs\n"
            "  ludwig results 7 --mlflow mlruns && mlflow ui --backend-store-uri mlruns\n"
            "  ludwig results 7 --csv > table.csv\n"
            "  ludwig results 7 --series accuracy > curves.csv\n",
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = show_results,
};
