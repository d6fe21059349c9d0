/* SPDX-License-Identifier: MIT */
/* cmd_fetch.c - ludwig fetch */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/share/download.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/proto/layout.h"

/* Files of so many jobs are on their way while those of one are written. */
enum { SHOW_EVERY_MS = 100, AHEAD = 64 };

struct options {
    bool logs, failed;
};

static const struct opt options[] = {
    { "logs", 0, OPT_FLAG, NULL, offsetof(struct options, logs), 0, 0,
      "also what the jobs printed, all attempts of them" },
    { "failed", 0, OPT_FLAG, NULL, offsetof(struct options, failed), 0, 0,
      "also what failed attempts left" },
    { 0 },
};

/* One run of the command. */
struct fetch {
    const struct options *options;
    struct session *session;
    struct arena *arena;
    int64_t sweep;
    char *project;
    size_t n_prefix; /* bytes of "PROJECT/" before what is kept of a path */
    const char *to;
    struct download *copy;
    char *param2val;       /* the last one that was copied */
    char *param2val_ahead; /* the last one that was sent for */
    struct target *reused; /* jobs of earlier sweeps whose results this one took over */
    size_t n_reused, reused_capacity;
    int64_t n_jobs, n_expected, n_missing, n_unread;
    bool shows_progress, has_line;
    int64_t shown_at_ms;
};

/* ---- progress ---- */

static void write_line(struct buf *line)
{
    (void)!io_write_all(STDERR_FILENO, buf_text(line), line->n);
    buf_free(line);
}

static void show_progress(void *context)
{
    struct fetch *f = context;
    int64_t now_ms = units_monotonic_ms();
    struct buf line = { 0 };

    if (!f->shows_progress || now_ms - f->shown_at_ms < SHOW_EVERY_MS)
        return;
    f->shown_at_ms = now_ms;
    f->has_line = true;
    buf_printf(&line, "fetch: %" PRId64 " of %" PRId64 " jobs, ", f->n_jobs, f->n_expected);
    units_add_size(&line, download_counts(f->copy)->bytes);
    line.n = safe_text_fitting(buf_text(&line), line.n, output_columns(STDERR_FILENO) - 1);
    buf_add_str(&line, "\033[K\r");
    write_line(&line);
}

static void clear_progress(struct fetch *f)
{
    struct buf line = { 0 };

    if (!f->has_line)
        return;
    f->has_line = false;
    buf_add_str(&line, "\033[K");
    write_line(&line);
}

/* ---- results ---- */

static bool is_own(const struct fetch *f, const char *path)
{
    return strncmp(path, f->project, f->n_prefix - 1) == 0 && path[f->n_prefix - 1] == '/';
}

/* 1, 0 when it is not there, -1.  What other projects own has no place here. */
static int copy_own(struct fetch *f, const char *path, struct err *e)
{
    if (!is_own(f, path))
        return err_set(e, ERR_PROTOCOL, "%s is not below the project %s", path, f->project);
    return download_path(f->copy, path, f->n_prefix, e);
}

static void bring(struct fetch *f, const char *path)
{
    if (is_own(f, path))
        download_ahead(f->copy, path, f->n_prefix);
}

static char *param2val_path(const char *run_path)
{
    char *dir = path_dirname(run_path), *path = path_join(dir, LAYOUT_PARAM2VAL);

    free(dir);
    return path;
}

static void bring_result(struct fetch *f, const struct job_result *r)
{
    char *param2val;

    if (r->state != JOB_DONE || r->run_path == NULL)
        return;
    param2val = param2val_path(r->run_path);
    bring(f, r->run_path);
    if (f->param2val_ahead == NULL || strcmp(f->param2val_ahead, param2val) != 0)
        bring(f, param2val);
    free(f->param2val_ahead);
    f->param2val_ahead = param2val;
}

static void note_unread(void *context, const struct err *why)
{
    clear_progress(context);
    output_note("note: not copied: %s", why->text);
}

/* Jobs of earlier sweeps are kept for their logs, which lie with those of their own sweep. */
static int take_result(struct fetch *f, const struct job_result *r, struct err *e)
{
    int64_t n_unread = download_counts(f->copy)->unread;
    const struct target *t;
    struct list targets;
    char *param2val;
    int found, result = 0;

    if (r->state != JOB_DONE || r->run_path == NULL)
        return 0;
    found = copy_own(f, r->run_path, e);
    if (found < 0)
        return -1;
    param2val = param2val_path(r->run_path);
    if (f->param2val == NULL || strcmp(f->param2val, param2val) != 0)
        result = copy_own(f, param2val, e);
    free(f->param2val);
    f->param2val = param2val;
    if (result < 0)
        return -1;
    if (found == 0 && f->n_missing++ == 0) {
        clear_progress(f);
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

static int take_results(struct fetch *f, const struct list *page, struct err *e)
{
    const struct job_result *results = page->items;
    size_t n_ahead = 0;

    for (size_t i = 0; i < page->n; i++) {
        for (; n_ahead < page->n && n_ahead < i + AHEAD; n_ahead++)
            bring_result(f, &results[n_ahead]);
        if (take_result(f, &results[i], e) < 0)
            return -1;
    }
    return 0;
}

static int fetch_results(struct fetch *f, struct err *e)
{
    struct msg_get_results request = { .sweep = f->sweep, .limit = PAGE_MAX };
    struct msg_result_page page;

    do {
        if (rpc_call(&f->session->rpc, MSG_GET_RESULTS, &request, &page, e) < 0 ||
            take_results(f, &page.results, e) < 0)
            return -1;
        request.after = page.next;
    } while (page.next != 0);
    return 0;
}

/* ---- logs, and what failed ---- */

static int copy_log(struct fetch *f, int64_t sweep, const struct job_info *j, int64_t attempt,
                    struct err *e)
{
    struct buf path = { 0 };
    int result;

    layout_log(&path, f->project, sweep, j->param_name, j->job_name, attempt);
    result = copy_own(f, buf_text(&path), e);
    buf_free(&path);
    return result;
}

/* Not every attempt has come so far that it left something. */
static int take_job(struct fetch *f, const struct job_info *j, struct err *e)
{
    struct buf path = { 0 };
    int result = 0;

    for (int64_t attempt = 1; attempt <= j->attempt && result >= 0; attempt++) {
        if (f->options->logs)
            result = copy_log(f, f->sweep, j, attempt, e);
        if (result < 0 || !f->options->failed)
            continue;
        buf_clear(&path);
        layout_failed(&path, f->project, j->param_name, j->job_name, attempt);
        result = copy_own(f, buf_text(&path), e);
    }
    buf_free(&path);
    show_progress(f);
    return result < 0 ? -1 : 0;
}

static void bring_job(struct fetch *f, const struct job_info *j)
{
    struct buf path = { 0 };

    for (int64_t attempt = 1; attempt <= j->attempt; attempt++) {
        buf_clear(&path);
        if (f->options->logs) {
            layout_log(&path, f->project, f->sweep, j->param_name, j->job_name, attempt);
            bring(f, buf_text(&path));
        }
        buf_clear(&path);
        if (f->options->failed) {
            layout_failed(&path, f->project, j->param_name, j->job_name, attempt);
            bring(f, buf_text(&path));
        }
    }
    buf_free(&path);
}

static int take_jobs(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct fetch *f = context;
    size_t n_ahead = 0;

    for (size_t i = 0; i < n; i++) {
        for (; n_ahead < n && n_ahead < i + AHEAD; n_ahead++)
            bring_job(f, &jobs[n_ahead]);
        if (take_job(f, &jobs[i], e) < 0)
            return -1;
    }
    return 0;
}

static int fetch_attempts(struct fetch *f, struct err *e)
{
    static const struct job_filter all = { 0 };
    struct target sweep = { .sweep = f->sweep };
    struct list targets = { &sweep, 1 };

    return pages_jobs(&f->session->rpc, &targets, &all, take_jobs, f, e);
}

static int fetch_reused_logs(struct fetch *f, const struct target *t, struct err *e)
{
    struct msg_get_jobs request = {
        .sweep = t->sweep, .after = t->first - 1, .last = t->first, .limit = 1
    };
    struct msg_job_page page;
    const struct job_info *job;

    if (rpc_call(&f->session->rpc, MSG_GET_JOBS, &request, &page, e) < 0)
        return -1;
    job = page.jobs.items;
    for (int64_t attempt = 1; page.jobs.n > 0 && attempt <= job->attempt; attempt++)
        if (copy_log(f, t->sweep, job, attempt, e) < 0)
            return -1;
    show_progress(f);
    return 0;
}

/* ---- the command ---- */

static int find_sweep(struct fetch *f, struct err *e)
{
    struct sweep_info info;

    if (pages_sweep(&f->session->rpc, f->sweep, &info, e) < 0)
        return -1;
    f->project = mem_strdup(info.project != NULL ? info.project : "");
    f->n_prefix = strlen(f->project) + 1;
    f->n_expected = info.jobs.done + info.reused;
    return path_is_inside(f->project) ? 0
                                      : err_set(e, ERR_PROTOCOL, "'%s' is no project", f->project);
}

static int say_end(struct fetch *f, struct err *e)
{
    const struct download_counts *c = download_counts(f->copy);
    struct buf out = { 0 }, harmless = { 0 };

    buf_printf(&out, "%" PRId64 " job%s in %s: %" PRId64 " file%s copied (", f->n_jobs,
               f->n_jobs == 1 ? "" : "s", f->to, c->copied, c->copied == 1 ? "" : "s");
    units_add_size(&out, c->bytes);
    buf_printf(&out, "), %" PRId64 " there already", c->there);
    if (c->odd > 0)
        buf_printf(&out, ", %" PRId64 " that are no files left out", c->odd);
    if (c->unread > 0)
        buf_printf(&out, ", %" PRId64 " could not be read", c->unread);
    if (f->n_missing > 0)
        buf_printf(&out, ", %" PRId64 " job%s missing", f->n_missing, f->n_missing == 1 ? "" : "s");
    safe_text_add_harmless(&harmless, buf_text(&out), out.n, "");
    buf_free(&out);
    buf_add_char(&harmless, '\n');
    return output_write(&harmless, e);
}

static int copy_all(struct fetch *f, struct err *e)
{
    int result = fetch_results(f, e);

    if (result == 0 && (f->options->logs || f->options->failed))
        result = fetch_attempts(f, e);
    for (size_t i = 0; i < f->n_reused && result == 0; i++)
        result = fetch_reused_logs(f, &f->reused[i], e);
    clear_progress(f);
    if (result == 0)
        result = say_end(f, e);
    return result;
}

/* A folder of the user's with other things in it is left as it is: it may be the source itself. */
static int mark(struct fetch *f, struct err *e)
{
    static const char *const own[] = { "runs", "logs", "failed", NULL };
    static const char text[] = "Results that `ludwig fetch` copied: no part of a sweep's source.\n";

    return download_mark(f->copy, LAYOUT_FETCHED, text, own, e);
}

static int fetch(struct fetch *f, const char *to, struct err *e)
{
    const struct share_connection *drive;
    struct share_dir *fs;
    char *usual;
    int result = -1;

    if (find_sweep(f, e) < 0)
        return -1;
    drive = session_drive(f->session, e);
    if (drive == NULL)
        return -1;
    usual = mem_printf("%s-%" PRId64, path_basename(f->project), f->sweep);
    f->to = to != NULL ? to : usual;
    fs = share_connection_read(drive, e);
    if (fs != NULL)
        f->copy = download_open(fs, f->to, e);
    if (f->copy != NULL) {
        download_on_tick(f->copy, show_progress, f);
        download_on_unread(f->copy, note_unread, f);
        result = mark(f, e) < 0 ? -1 : copy_all(f, e);
    }
    f->n_unread = f->copy == NULL ? 0 : download_counts(f->copy)->unread;
    download_close(f->copy);
    share_close(fs);
    free(usual);
    return result;
}

static int fetch_sweep(struct cli *cli, struct err *e)
{
    struct session s;
    struct fetch f = { .options = cli->options,
                       .session = &s,
                       .arena = cli->arena,
                       .shows_progress = output_is_terminal(STDERR_FILENO) };
    struct opt_words selector = { cli->args.words, 1 };
    int result;

    if (selector_check(&selector, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    result = selector_sweep(&s.rpc, cli->args.words[0], &f.sweep, e);
    if (result == 0)
        result = fetch(&f, cli->args.n > 1 ? cli->args.words[1] : NULL, e);
    free(f.reused);
    free(f.param2val_ahead);
    free(f.param2val);
    free(f.project);
    session_close(&s);
    if (result < 0)
        return -1;
    return f.n_missing > 0 || f.n_unread > 0 ? EXIT_FAILED : EXIT_WELL;
}

const struct command cmd_fetch = {
    .name = "fetch",
    .args = "SWEEP [DIR] [OPTION]...",
    .help = "copy the results of a sweep from the shared drive",
    .more = "Below DIR (without it: PROJECT-SWEEP) they lie as on the share:\n"
            "runs/param_003/JOB/, and with --logs and --failed also logs/ and failed/.\n"
            "Files that are there already with the same size and time are not copied again,\n"
            "so that a fetch that was interrupted goes on. Results that the sweep took over\n"
            "from earlier ones come too. What cannot be read is told and left out, and it\n"
            "then exits with 1. A file " LAYOUT_FETCHED " in DIR says what it is.\n"
            "\n"
            "  ludwig fetch last\n"
            "  ludwig fetch 7 results --logs --failed\n",
    .min_args = 1,
    .max_args = 2,
    .options = options,
    .options_size = sizeof(struct options),
    .run = fetch_sweep,
};
