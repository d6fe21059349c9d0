/* SPDX-License-Identifier: MIT */
/* job_measures.c - the measures that jobs have reported, for --where */
#include <stdlib.h>
#include <string.h>

#include "client/query/live.h"
#include "client/query/job_measures.h"
#include "client/query/pages.h"
#include "client/term/output.h"
#include "common/base/hash_table.h"

struct job_measures {
    struct session *session;
    struct arena *arena;
    struct where *where;
    struct hash_table *by_job; /* from a job's name to its place in jobs */
    struct list *jobs;         /* per job, struct member: its measures that `where` names */
    size_t n, capacity;
    struct live *files; /* files of jobs without a result, */
    size_t *file_jobs;  /* and these jobs' places in jobs */
    size_t n_files, files_capacity, file_jobs_capacity;
};

struct job_measures *job_measures_create(struct session *session)
{
    struct job_measures *m = mem_alloc(sizeof *m);

    *m = (struct job_measures){ .session = session,
                                .arena = arena_create(),
                                .by_job = hash_table_create(SIZE_MAX) };
    return m;
}

void job_measures_destroy(struct job_measures *m)
{
    if (m == NULL)
        return;
    hash_table_destroy(m->by_job);
    arena_destroy(m->arena);
    free(m->jobs);
    free(m->files);
    free(m->file_jobs);
    free(m);
}

static void keep(struct job_measures *m, size_t job, const struct list *metrics)
{
    const struct metric *items = metrics->items;
    const char *name;
    struct member *members;
    size_t n = 0;

    for (size_t k = 0; k < metrics->n; k++)
        where_learn(m->where, items[k].name);
    for (size_t i = 0; where_name(m->where, i) != NULL; i++)
        n++;
    members = arena_alloc(m->arena, n * sizeof *members);
    n = 0;
    for (size_t i = 0; (name = where_name(m->where, i)) != NULL; i++)
        for (size_t k = 0; k < metrics->n; k++)
            if (strcmp(items[k].name, name) == 0)
                members[n++] = value_member(name, value_float(items[k].value));
    m->jobs[job] = (struct list){ members, n };
}

static int take_results(void *context, const struct job_result *results, size_t n, struct err *e)
{
    struct job_measures *m = context;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        struct digest job;

        digest_of(results[i].job, strlen(results[i].job), &job);
        if (!hash_table_add(m->by_job, &job, (uint32_t)m->n))
            continue;
        mem_grow((void **)&m->jobs, &m->capacity, m->n, sizeof *m->jobs);
        m->jobs[m->n++] = (struct list){ 0 };
        if (results[i].metrics.n > 0) {
            keep(m, m->n - 1, &results[i].metrics);
        } else if (results[i].metrics_path != NULL) {
            mem_grow((void **)&m->files, &m->files_capacity, m->n_files, sizeof *m->files);
            mem_grow((void **)&m->file_jobs, &m->file_jobs_capacity, m->n_files,
                     sizeof *m->file_jobs);
            m->files[m->n_files] =
                (struct live){ .path = arena_strdup(m->arena, results[i].metrics_path) };
            m->file_jobs[m->n_files++] = m->n - 1;
        }
    }
    return 0;
}

static void read_files(struct job_measures *m)
{
    struct err why = { 0 };
    struct share_dir *fs = m->n_files > 0 ? session_open_drive(m->session, &why) : NULL;
    struct arena *a;

    if (m->n_files > 0 && fs == NULL)
        output_note("note: what jobs without a result have measured is not known: %s", why.text);
    if (fs == NULL)
        return;
    a = arena_create();
    for (size_t i = 0; i < m->n_files; i += LIVE_MAX) {
        size_t left = m->n_files - i, n = left < LIVE_MAX ? left : LIVE_MAX;

        live_read(fs, &m->files[i], n, a);
        for (size_t k = i; k < i + n; k++)
            keep(m, m->file_jobs[k], &m->files[k].metrics);
        arena_reset(a);
    }
    arena_destroy(a);
    share_close(fs);
}

int job_measures_learn(struct job_measures *m, const struct list *targets, struct where *where,
                       struct err *e)
{
    const struct target *items = targets->items;

    m->where = where;
    for (size_t i = 0; i < targets->n; i++)
        if ((i == 0 || items[i].sweep != items[i - 1].sweep) &&
            pages_results(&m->session->rpc, items[i].sweep, take_results, m, e) < 0)
            return -1;
    read_files(m);
    return 0;
}

struct list job_measures_of(const struct job_measures *m, const char *job)
{
    struct digest d;
    uint32_t at;

    digest_of(job, strlen(job), &d);
    return hash_table_find(m->by_job, &d, &at) ? m->jobs[at] : (struct list){ 0 };
}
