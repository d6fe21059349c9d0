/* SPDX-License-Identifier: MIT */
/* page.c - a sweep's results as one file of HTML: results --html */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>

#include "client/page/page.h"
#include "client/page/page_files.h"
#include "client/query/pages.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "common/base/hash_table.h"
#include "common/base/io.h"
#include "common/base/units.h"

enum { AHEAD = 64 /* jobs whose files are on their way while one's are read */ };

/* ---- jobs ---- */

static const char *kept(struct page *p, const char *text)
{
    return text == NULL ? NULL : arena_strdup(p->arena, text);
}

void page_add_job(struct page *p, const struct job_result *job)
{
    mem_grow((void **)&p->jobs, &p->jobs_capacity, p->n_jobs, sizeof *p->jobs);
    p->jobs[p->n_jobs++] = (struct page_job){
        .result = { .job = kept(p, job->job),
                    .param_name = kept(p, job->param_name),
                    .rep = job->rep,
                    .state = job->state,
                    .run_path = kept(p, job->run_path),
                    .reason = kept(p, job->reason),
                    .metrics_path = kept(p, job->metrics_path) },
    };
}

static void digest_text(const char *text, struct digest *d)
{
    digest_of(text, strlen(text), d);
}

/* Finds each job's configuration; jobs of those that were left out go. */
static void find_configs(struct page *p)
{
    struct hash_table *by_name = hash_table_create(SIZE_MAX);
    size_t n = 0;

    for (size_t i = 0; i < p->aggregate->n; i++) {
        struct digest d;

        digest_text(p->aggregate->configs[i].param_name, &d);
        hash_table_add(by_name, &d, (uint32_t)i);
    }
    for (size_t i = 0; i < p->n_jobs; i++) {
        struct page_job job = p->jobs[i];
        struct digest d;
        uint32_t config;

        digest_text(job.result.param_name, &d);
        if (!hash_table_find(by_name, &d, &config))
            continue;
        job.config = config;
        p->jobs[n++] = job;
    }
    p->n_jobs = n;
    hash_table_destroy(by_name);
}

struct times {
    struct page *page;
    struct hash_table *by_job;
};

static int take_times(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct times *t = context;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        struct page_job *job;
        struct digest d;
        uint32_t at;

        digest_text(jobs[i].job, &d);
        if (!hash_table_find(t->by_job, &d, &at))
            continue;
        job = &t->page->jobs[at];
        job->node = kept(t->page, jobs[i].node);
        job->started_at = jobs[i].started_at;
        job->ended_at = jobs[i].ended_at;
    }
    return 0;
}

static int learn_times(struct page *p, struct rpc *rpc, struct err *e)
{
    const struct sweep_info *sweeps = p->sweeps.items;
    struct times t = { p, hash_table_create(SIZE_MAX) };
    int result = 0;

    for (size_t i = 0; i < p->n_jobs; i++) {
        struct digest d;

        digest_text(p->jobs[i].result.job, &d);
        hash_table_add(t.by_job, &d, (uint32_t)i);
    }
    for (size_t i = 0; i < p->sweeps.n && result == 0; i++) {
        struct target whole = { .sweep = sweeps[i].sweep };
        const struct list targets = { &whole, 1 };
        const struct job_filter all = { .is_quiet = true };

        result = pages_jobs(rpc, &targets, &all, take_times, &t, e);
    }
    hash_table_destroy(t.by_job);
    return result;
}

/* ---- series ---- */

/* Jobs that may have a series, those of the first configurations first: a permutation in memory that
 * the caller frees. */
static size_t *order_jobs(const struct page *p, size_t *n)
{
    size_t *begins = mem_alloc((p->aggregate->n + 2) * sizeof *begins);
    size_t *order = mem_alloc((p->n_jobs + 1) * sizeof *order);

    *n = 0;
    for (size_t i = 0; i < p->n_jobs; i++)
        begins[p->jobs[i].config + 1]++;
    for (size_t i = 1; i <= p->aggregate->n; i++)
        begins[i] += begins[i - 1];
    for (size_t i = 0; i < p->n_jobs; i++)
        order[begins[p->jobs[i].config]++] = i;
    for (size_t i = 0; i < p->n_jobs; i++) {
        const struct job_result *r = &p->jobs[order[i]].result;

        if (r->run_path != NULL || r->metrics_path != NULL)
            order[(*n)++] = order[i];
    }
    free(begins);
    return order;
}

/* The one that ranks, and others: all that are read. */
static size_t choose_metrics(const struct page *p, size_t chosen[PAGE_SERIES_METRICS_MAX])
{
    size_t n = 0;

    if (p->ranked_by >= 0)
        chosen[n++] = (size_t)p->ranked_by;
    for (size_t i = 0; i < p->aggregate->n_metrics && n < PAGE_SERIES_METRICS_MAX; i++)
        if ((int)i != p->ranked_by)
            chosen[n++] = i;
    return n;
}

static void add_note(struct page *p, const char *note)
{
    const char **notes = arena_alloc(p->arena, (p->notes.n + 1) * sizeof *notes);

    if (p->notes.n > 0)
        memcpy(notes, p->notes.items, p->notes.n * sizeof *notes);
    notes[p->notes.n++] = note;
    p->notes.items = notes;
}

static void show_progress(struct status_line *line, size_t i, size_t n)
{
    struct buf text = { 0 };

    if (!status_line_is_due(line, units_monotonic_ms()))
        return;
    buf_printf(&text, "reading series: %zu of %zu jobs", i, n);
    status_line_show(line, &text);
}

static void read_series(struct page *p, struct share_dir *fs)
{
    const char *names[PAGE_SERIES_METRICS_MAX];
    size_t chosen[PAGE_SERIES_METRICS_MAX], n_metrics = choose_metrics(p, chosen), n, n_ahead = 0;
    size_t *order = order_jobs(p, &n), n_read = n < PAGE_SERIES_MAX ? n : PAGE_SERIES_MAX;
    struct status_line line = { 0 };

    for (size_t i = 0; i < n_metrics; i++)
        names[i] = p->aggregate->metrics[chosen[i]];
    curves_init(&p->curves, n_read * n_metrics);
    for (size_t i = 0; i < n_read; i++) {
        for (; n_ahead < n_read && n_ahead < i + AHEAD; n_ahead++)
            series_ahead(fs, &p->jobs[order[n_ahead]].result, names, n_metrics);
        curves_read(&p->curves, order[i], fs, &p->jobs[order[i]].result, names, n_metrics);
        show_progress(&line, i, n_read);
    }
    status_line_clear(&line);
    for (size_t i = 0; i < p->curves.n; i++)
        p->curves.items[i].metric = chosen[p->curves.items[i].metric];
    if (n_read < n)
        add_note(p, arena_printf(p->arena,
                                 "Curves are of the first %zu of %zu jobs; with --where or --top "
                                 "of those that you choose.",
                                 n_read, n));
    free(order);
}

int page_learn(struct page *p, struct session *session, struct err *e)
{
    struct share_dir *fs;
    struct err why = { 0 };

    find_configs(p);
    if (learn_times(p, &session->rpc, e) < 0)
        return -1;
    if (p->n_jobs == 0 || p->aggregate->n_metrics == 0)
        return 0;
    fs = session_open_drive(session, &why);
    if (fs == NULL) {
        output_note("note: without curves: %s", why.text);
        add_note(p, "Curves are missing, as the shared drive could not be read.");
        return 0;
    }
    read_series(p, fs);
    share_close(fs);
    return 0;
}

/* ---- the file ---- */

/* What the policy lets run, or style, is known by its digest. */
static void add_source(struct buf *out, const char *directive, const struct buf *text)
{
    unsigned char base64[4 * (DIGEST_BYTES / 3 + 1) + 1];
    struct digest d;

    digest_of(buf_text(text), text->n, &d);
    EVP_EncodeBlock(base64, d.bytes, DIGEST_BYTES);
    buf_printf(out, "; %s 'sha256-%s'", directive, (const char *)base64);
}

void page_add_html(struct buf *out, struct page *p)
{
    struct buf script = { 0 }, style = { 0 };

    buf_add_str(&script, "(() => {\n\"use strict\";\n");
    page_files_add(&script, PAGE_SCRIPT);
    buf_add_str(&script, "})();\n");
    page_files_add(&style, PAGE_STYLE);
    buf_add_str(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'");
    add_source(out, "script-src", &script);
    add_source(out, "style-src", &style);
    buf_add_str(out, "; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<title>ludwig</title>\n<style>");
    buf_add(out, buf_text(&style), style.n);
    buf_add_str(out, "</style>\n</head>\n<body>\n<noscript>This page is made by JavaScript, which "
                     "is switched off here.</noscript>\n");
    page_files_add(out, PAGE_BODY);
    buf_add_str(out, "<script type=\"application/json\" id=\"data\">");
    page_add_data(out, p);
    buf_add_str(out, "</script>\n<script>");
    buf_add(out, buf_text(&script), script.n);
    buf_add_str(out, "</script>\n</body>\n</html>\n");
    buf_free(&script);
    buf_free(&style);
}

int page_write(struct page *p, const char *path, struct err *e)
{
    struct buf out = { 0 }, size = { 0 };
    int result;

    page_add_html(&out, p);
    if (strcmp(path, "-") == 0)
        return output_write(&out, e);
    units_add_size(&size, (int64_t)out.n);
    result = io_replace_file(path, buf_text(&out), out.n, 0644, e);
    if (result == 0)
        output_note("%s: %zu configuration%s, %zu job%s, %s; open it in a browser", path,
                    p->aggregate->n, p->aggregate->n == 1 ? "" : "s", p->n_jobs,
                    p->n_jobs == 1 ? "" : "s", buf_text(&size));
    buf_free(&size);
    buf_free(&out);
    return result;
}

void page_free(struct page *p)
{
    curves_free(&p->curves);
    free(p->jobs);
    *p = (struct page){ 0 };
}
