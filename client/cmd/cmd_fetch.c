/* SPDX-License-Identifier: MIT */
/* cmd_fetch.c - ludwig fetch */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/share/download.h"
#include "client/share/unpack.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"

/* How many jobs' files are asked for ahead while those of one job are written. */
enum { AHEAD = 64 };

struct options {
    bool logs, failed, source, all_links;
};

static const struct opt options[] = {
    { "logs", 0, OPT_FLAG, NULL, offsetof(struct options, logs), 0, 0,
      "also copy what the jobs printed, in all attempts" },
    { "failed", 0, OPT_FLAG, NULL, offsetof(struct options, failed), 0, 0,
      "also copy what failed attempts left, and what jobs saved that were stopped early" },
    { "source", 0, OPT_FLAG, NULL, offsetof(struct options, source), 0, 0,
      "also unpack the source as it was submitted, into DIR/source" },
    { "all-links", 0, OPT_FLAG, NULL, offsetof(struct options, all_links), 0, 0,
      "also copy symlinks that may lead out of DIR" },
    { 0 },
};

/* One run of the command. */
struct fetch {
    const struct options *options;
    struct session *session;
    struct arena *arena;
    int64_t sweep;
    char *project;
    size_t n_prefix; /* bytes of "PROJECT/", which is dropped from paths */
    const char *to;
    struct download *copy;
    char *param2val[2];    /* the last one copied, and the last one asked for ahead */
    struct target *reused; /* jobs of earlier sweeps whose results this sweep reuses */
    size_t n_reused, reused_capacity;
    int64_t n_jobs, n_expected, n_missing, n_unread;
    struct status_line line;
};

/* ---- progress ---- */

static void show_progress(void *context)
{
    struct fetch *f = context;
    struct buf line = { 0 };

    if (!status_line_is_due(&f->line, units_monotonic_ms()))
        return;
    buf_printf(&line, "fetch: %" PRId64 " of %" PRId64 " jobs, ", f->n_jobs, f->n_expected);
    units_add_size(&line, download_counts(f->copy)->bytes);
    status_line_show(&f->line, &line);
}

static void note_unread(void *context, const struct err *why)
{
    struct fetch *f = context;

    status_line_clear(&f->line);
    output_note("note: not copied: %s", why->text);
}

/* ---- results ---- */

/* Asks for the path ahead, or copies it.  Returns 1, 0 when it is missing, -1 with e set.  Paths of
 * other projects are refused. */
static int fetch_path(struct fetch *f, const char *path, bool is_ahead, struct err *e)
{
    bool is_own = strncmp(path, f->project, f->n_prefix - 1) == 0 && path[f->n_prefix - 1] == '/';

    if (is_own && is_ahead)
        download_ahead(f->copy, path, f->n_prefix);
    if (is_ahead)
        return 0;
    return is_own ? download_path(f->copy, path, f->n_prefix, e)
                  : err_set(e, ERR_PROTOCOL, "%s is not below the project %s", path, f->project);
}

/* Fetches a run, and once the param2val that it shares with other runs.  Returns 1, 0 when the run
 * is missing, -1 with e set. */
static int fetch_run(struct fetch *f, const char *run_path, bool is_ahead, struct err *e)
{
    int found = fetch_path(f, run_path, is_ahead, e), result = 0;
    char *dir = path_dirname(run_path), *param2val = path_join(dir, LAYOUT_PARAM2VAL);
    char **last = &f->param2val[is_ahead];

    if (found >= 0 && (*last == NULL || strcmp(*last, param2val) != 0))
        result = fetch_path(f, param2val, is_ahead, e);
    free(dir);
    free(*last);
    *last = param2val;
    return result < 0 ? -1 : found;
}

static bool has_run(const struct job_result *r)
{
    return job_has_published((enum job_state)r->state) && r->run_path != NULL;
}

/* Remembers jobs of earlier sweeps, whose logs lie with those of their own sweep. */
static int take_result(struct fetch *f, const struct job_result *r, struct err *e)
{
    int64_t n_unread = download_counts(f->copy)->unread;
    const struct target *t;
    struct list targets;
    int found = fetch_run(f, r->run_path, false, e);

    if (found < 0)
        return -1;
    if (found == 0 && f->n_missing++ == 0) {
        status_line_clear(&f->line);
        output_note("note: the results of job %s are not at %s any more", r->job, r->run_path);
    } else if (found > 0 && download_counts(f->copy)->unread == n_unread) {
        f->n_jobs++;
    }
    if (f->options->logs && selector_parse(r->job, f->arena, &targets, NULL) == 0) {
        t = targets.items;
        mem_grow((void **)&f->reused, &f->reused_capacity, f->n_reused, sizeof *f->reused);
        if (t->sweep != f->sweep)
            f->reused[f->n_reused++] = *t;
    }
    show_progress(f);
    return 0;
}

static int take_results(void *context, const struct job_result *results, size_t n, struct err *e)
{
    struct fetch *f = context;
    size_t n_ahead = 0;

    for (size_t i = 0; i < n; i++) {
        for (; n_ahead < n && n_ahead < i + AHEAD; n_ahead++)
            if (has_run(&results[n_ahead]))
                (void)fetch_run(f, results[n_ahead].run_path, true, NULL);
        if (has_run(&results[i]) && take_result(f, &results[i], e) < 0)
            return -1;
    }
    return 0;
}

/* ---- logs and failed runs ---- */

/* Fetches the logs of all attempts of a job, and with_failed also their failed/ and stopped/
 * folders; some attempts left nothing. */
static int fetch_attempts(struct fetch *f, int64_t sweep, const struct job_info *j,
                          bool with_failed, bool is_ahead, struct err *e)
{
    struct buf path = { 0 };
    int result = jobinfo_check_names(j, e);

    for (int64_t attempt = 1; attempt <= j->attempt && result >= 0; attempt++) {
        buf_clear(&path);
        layout_log(&path, f->project, sweep, j->param_name, j->job_name, attempt);
        if (f->options->logs)
            result = fetch_path(f, buf_text(&path), is_ahead, e);
        buf_clear(&path);
        layout_failed(&path, f->project, j->param_name, j->job_name, attempt);
        if (result >= 0 && with_failed)
            result = fetch_path(f, buf_text(&path), is_ahead, e);
        buf_clear(&path);
        layout_stopped(&path, f->project, j->param_name, j->job_name, attempt);
        if (result >= 0 && with_failed)
            result = fetch_path(f, buf_text(&path), is_ahead, e);
    }
    buf_free(&path);
    if (!is_ahead)
        show_progress(f);
    return result < 0 ? -1 : 0;
}

static int take_jobs(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct fetch *f = context;
    size_t n_ahead = 0;

    for (size_t i = 0; i < n; i++) {
        for (; n_ahead < n && n_ahead < i + AHEAD; n_ahead++)
            (void)fetch_attempts(f, f->sweep, &jobs[n_ahead], f->options->failed, true, NULL);
        if (fetch_attempts(f, f->sweep, &jobs[i], f->options->failed, false, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the source ---- */

/* A source that is there already may have been changed by hand: it stays. */
static int fetch_source(struct fetch *f, const struct share_dir *fs, struct err *e)
{
    struct msg_get_work request = { f->sweep };
    struct msg_got_work reply;
    struct pack_totals totals;
    struct err why = { 0 };
    char *to;
    int result;

    if (rpc_call(&f->session->rpc, MSG_GET_WORK, &request, &reply, e) < 0)
        return -1;
    if (digest_is_zero(&reply.work.work.source.id)) {
        output_note("note: sweep %" PRId64 " has no source", f->sweep);
        return 0;
    }
    to = path_join(f->to, "source");
    result = unpack_tree(fs, f->project, &reply.work.work.source.id, to, &totals, &why);
    if (result == 0)
        output_note("%s: the source, %" PRId64 " file%s", to, totals.files,
                    totals.files == 1 ? "" : "s");
    else if (why.kind == ERR_EXISTS)
        output_note("note: %s is there already, and was left as it is", to);
    else
        err_set(e, why.kind, "the source: %s", why.text);
    free(to);
    return result == 0 || why.kind == ERR_EXISTS ? 0 : -1;
}

/* ---- the command ---- */

static int copy_all(struct fetch *f, struct err *e)
{
    static const struct job_filter all = { 0 };
    /* A folder with other files in it is not marked, as it may be the source itself. */
    static const char *const own[] = { "runs", "logs", "failed", "stopped", "source", NULL };
    static const char text[] = "Results that `ludwig fetch` copied: no part of a sweep's source.\n";
    const struct download_counts *c = download_counts(f->copy);
    struct rpc *rpc = &f->session->rpc;
    struct target sweep = { .sweep = f->sweep };
    struct list targets = { &sweep, 1 };
    struct job_info job;
    struct buf out = { 0 };
    int result = download_mark(f->copy, LAYOUT_FETCHED, text, own, e);

    if (result < 0)
        return -1;
    result = pages_results(rpc, f->sweep, take_results, f, e);
    if (result == 0 && (f->options->logs || f->options->failed))
        result = pages_jobs(rpc, &targets, &all, take_jobs, f, e);
    for (size_t i = 0; i < f->n_reused && result == 0; i++) {
        struct err why = { 0 };

        if (pages_job(rpc, &f->reused[i], &job, &why) == 0)
            result = fetch_attempts(f, f->reused[i].sweep, &job, false, false, e);
        else if (why.kind != ERR_NOT_FOUND)
            result = err_set(e, why.kind, "%s", why.text);
    }
    status_line_clear(&f->line);
    if (result < 0)
        return -1;
    buf_printf(&out, "%" PRId64 " job%s in %s: %" PRId64 " file%s copied (", f->n_jobs,
               f->n_jobs == 1 ? "" : "s", f->to, c->copied, c->copied == 1 ? "" : "s");
    units_add_size(&out, c->bytes);
    buf_printf(&out, "), %" PRId64 " there already", c->there);
    if (c->astray > 0)
        buf_printf(&out, ", %" PRId64 " link%s out of it left out (--all-links copies %s)",
                   c->astray, c->astray == 1 ? "" : "s", c->astray == 1 ? "it" : "them");
    if (c->odd > 0)
        buf_printf(&out, ", %" PRId64 " that are no files left out", c->odd);
    if (c->unread > 0)
        buf_printf(&out, ", %" PRId64 " could not be read", c->unread);
    if (f->n_missing > 0)
        buf_printf(&out, ", %" PRId64 " job%s missing", f->n_missing, f->n_missing == 1 ? "" : "s");
    safe_text_clean(&out, "");
    buf_add_char(&out, '\n');
    return output_write(&out, e);
}

static int fetch_to(struct fetch *f, const char *to, struct err *e)
{
    struct sweep_info info;
    struct share_dir *fs;
    char *usual;
    int result = -1;

    if (pages_sweep(&f->session->rpc, f->sweep, &info, e) < 0)
        return -1;
    f->project = mem_strdup(info.project != NULL ? info.project : "");
    f->n_prefix = strlen(f->project) + 1;
    f->n_expected = progress_done(&info.jobs) + info.reused;
    if (!path_is_inside(f->project))
        return err_set(e, ERR_PROTOCOL, "'%s' is no project", f->project);
    usual = mem_printf("%s-%" PRId64, path_basename(f->project), f->sweep);
    f->to = to != NULL ? to : usual;
    fs = session_open_drive(f->session, e);
    if (fs != NULL)
        f->copy = download_open(fs, f->to, e);
    if (f->copy != NULL) {
        if (f->options->all_links)
            download_all_links(f->copy);
        download_watch(f->copy, show_progress, note_unread, f);
        result = copy_all(f, e);
        f->n_unread = download_counts(f->copy)->unread;
        if (result == 0 && f->options->source)
            result = fetch_source(f, fs, e);
    }
    download_close(f->copy);
    share_close(fs);
    free(usual);
    return result;
}

static int fetch_sweep(struct cli *cli, struct err *e)
{
    struct session s;
    struct fetch f = { .options = cli->options, .session = &s, .arena = cli->arena };
    struct opt_words selector = { cli->args.words, cli->args.n > 0 };
    int result;

    selector = selector_words_or_last(&selector);
    if (selector_check(&selector, e) < 0 || session_read(cli, &s, e) < 0)
        return -1;
    result = selector_sweep(&s.rpc, selector.words[0], &f.sweep, e);
    if (result == 0)
        result = fetch_to(&f, cli->args.n > 1 ? cli->args.words[1] : NULL, e);
    free(f.reused);
    free(f.param2val[0]);
    free(f.param2val[1]);
    free(f.project);
    session_close(&s);
    if (result < 0)
        return -1;
    return f.n_missing > 0 || f.n_unread > 0 ? EXIT_FAILED : EXIT_WELL;
}

const struct command cmd_fetch = {
    .name = "fetch",
    .args = "[SWEEP] [DIR] [OPTION]...",
    .help = "copy the results of a sweep from the shared drive",
    .more = "Below DIR (the default is PROJECT-SWEEP) they lie as on the share:\n"
            "runs/param_003/JOB/, and with --logs and --failed also logs/ and failed/.\n"
            "--source unpacks the source as it was submitted into DIR/source.\n"
            "Files that are there already with the same size and time are not copied again,\n"
            "so that a fetch that was interrupted goes on. Results that the sweep took over\n"
            "from earlier ones come too. Files that cannot be read are named and left out;\n"
            "the exit code is then 1. A file " LAYOUT_FETCHED " in DIR says what it is.\n"
            "The default SWEEP is last.\n"
            "\n"
            "  ludwig fetch last\n"
            "  ludwig fetch 7 results --logs --failed\n",
    .max_args = 2,
    .options = options,
    .options_size = sizeof(struct options),
    .run = fetch_sweep,
};
