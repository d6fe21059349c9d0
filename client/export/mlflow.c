/* SPDX-License-Identifier: MIT */
/* mlflow.c - writes a sweep into the file store of MLflow: results --mlflow */
#include "client/export/mlflow.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/export/folder.h"
#include "client/term/output.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/quote.h"

/* Numbers from mlflow/entities/run_status.py and source_type.py. */
enum run_status {
    RUN_RUNNING = 1,
    RUN_SCHEDULED = 2,
    RUN_FINISHED = 3,
    RUN_FAILED = 4,
    RUN_KILLED = 5
};
enum { SOURCE_LOCAL = 4, KEY_MAX_BYTES = 200 };

/* ---- names ---- */

/* The names of files that were given out in one folder. */
struct keys {
    char **items;
    size_t n, capacity;
};

/* Whether x and y are the same path, or one is a folder of the other. */
static bool is_in_the_way(const char *x, const char *y)
{
    size_t n = strlen(x) < strlen(y) ? strlen(x) : strlen(y);

    return strncmp(x, y, n) == 0 && (x[n] == '\0' || x[n] == '/') && (y[n] == '\0' || y[n] == '/');
}

static bool is_taken(const struct keys *k, const char *key)
{
    for (size_t i = 0; i < k->n; i++)
        if (is_in_the_way(k->items[i], key))
            return true;
    return false;
}

/* Returns a key for the name that no other name has.  MLflow refuses a store with characters other
 * than letters, digits, _ . - space and /, which makes folders. */
static const char *take_key(struct keys *k, const char *name)
{
    struct buf key = { 0 };
    size_t n;

    for (const char *at = name; *at != '\0' && key.n < KEY_MAX_BYTES; at++)
        buf_add_char(&key, isalnum((unsigned char)*at) || strchr("_.- /", *at) != NULL ? *at : '_');
    if (!path_is_inside(buf_text(&key)) || is_taken(k, buf_text(&key)))
        for (size_t i = 0; i < key.n; i++)
            if (key.bytes[i] == '/' || (key.bytes[i] == '.' && i == 0))
                key.bytes[i] = '_';
    if (key.n == 0)
        buf_add_char(&key, '_');
    n = key.n;
    for (int i = 2; is_taken(k, buf_text(&key)); i++) {
        key.n = n;
        buf_printf(&key, "_%d", i);
    }
    mem_grow((void **)&k->items, &k->capacity, k->n, sizeof *k->items);
    k->items[k->n++] = mem_strdup(buf_text(&key));
    buf_free(&key);
    return k->items[k->n - 1];
}

static void keys_free(struct keys *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->items[i]);
    free(k->items);
}

/* ---- files ---- */

/* Writes run/KIND/KEY, and frees content. */
static int put(const char *run, const char *kind, struct keys *k, const char *name,
               struct buf *content, struct err *e)
{
    char *path = mem_printf("%s/%s/%s", run, kind, take_key(k, name));
    char *slash = strrchr(path, '/');
    int result;

    *slash = '\0';
    result = io_make_dirs(path, 0755, e);
    *slash = '/';
    if (result == 0)
        result = io_replace_file(path, buf_text(content), content->n, 0644, e);
    buf_free(content);
    free(path);
    return result;
}

static int put_text(const char *run, const char *kind, struct keys *k, const char *name,
                    const char *text, struct err *e)
{
    struct buf content = { 0 };

    if (text == NULL)
        return 0;
    buf_add_str(&content, text);
    return put(run, kind, k, name, &content, e);
}

static void add_line(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "%s: ", name);
    quote_add(out, text, strlen(text));
    buf_add_char(out, '\n');
}

/* Returns the file: URI of an absolute path, which the caller frees. */
static char *uri_of(const char *path)
{
    struct buf out = { 0 };

    buf_add_str(&out, "file://");
    for (; *path != '\0'; path++)
        if (isalnum((unsigned char)*path) || strchr("/_.-~", *path) != NULL)
            buf_add_char(&out, *path);
        else
            buf_printf(&out, "%%%02X", (unsigned char)*path);
    buf_add_char(&out, '\0');
    return buf_take(&out);
}

/* ---- runs ---- */

static enum run_status status_of(const struct gathered_job *job)
{
    switch (job->result.state) {
    case JOB_QUEUED:
    case JOB_HELD: return RUN_SCHEDULED;
    case JOB_FAILED: return RUN_FAILED;
    case JOB_CANCELLED:
    case JOB_STOPPED: return RUN_KILLED;
    default: return job_is_ended((enum job_state)job->result.state) ? RUN_FINISHED : RUN_RUNNING;
    }
}

static int put_params(const char *run, const struct config_result *c, struct err *e)
{
    struct keys keys = { 0 };
    int result = 0;

    for (size_t i = 0; i < c->params.map.n && result == 0; i++) {
        const struct member *m = &c->params.map.members[i];
        struct buf text = { 0 };

        export_add_value(&text, &m->value);
        result = put(run, "params", &keys, m->key.str.s, &text, e);
    }
    keys_free(&keys);
    return result;
}

static int put_metrics(const char *run, const struct gathered *g, size_t i, size_t at,
                       struct err *e)
{
    struct keys keys = { 0 };
    struct export_series s;
    int result = 0;

    while (result == 0 && export_series_next(g, i, &at, &s)) {
        struct buf lines = { 0 };

        for (size_t k = 0; k < s.n; k++) { /* nan and inf are Python's words, too */
            buf_printf(&lines, "%" PRId64 " ", export_time_ms(&g->jobs[i], &s, k));
            value_add_float(&lines, s.points[k].value);
            buf_printf(&lines, " %" PRId64 "\n", export_step(&s, k));
        }
        result = put(run, "metrics", &keys, s.metric, &lines, e);
    }
    keys_free(&keys);
    return result;
}

static int put_tags(const char *run, const struct gathered_job *job, const char *user,
                    struct err *e)
{
    char *rep = mem_printf("%" PRId64, job->result.rep);
    const char *const tags[][2] = {
        { "mlflow.runName", job->result.job },
        { "mlflow.user", user },
        { "mlflow.source.type", "LOCAL" },
        { "ludwig.configuration", job->result.param_name },
        { "ludwig.replication", rep },
        { "ludwig.state", job_state_names[job->result.state] },
        { "ludwig.node", job->node },
        { "ludwig.reason", job->result.reason },
        { "ludwig.result", job->result.run_path },
    };
    struct keys keys = { 0 };
    int result = 0;

    for (size_t i = 0; i < sizeof tags / sizeof tags[0] && result == 0; i++)
        result = put_text(run, "tags", &keys, tags[i][0], tags[i][1], e);
    keys_free(&keys);
    free(rep);
    return result;
}

/* Makes a run's name in the store, always the same for a job. */
static void run_id(const struct gathered *g, const struct gathered_job *job, char id[33])
{
    const struct sweep_info *sweeps = g->sweeps.items;
    char *text =
        mem_printf("%s %s", sweeps->project != NULL ? sweeps->project : "", job->result.job);
    char hex[DIGEST_HEX];
    struct digest digest;

    digest_of(text, strlen(text), &digest);
    digest_hex(&digest, hex);
    snprintf(id, 33, "%.32s", hex);
    free(text);
}

static int put_run(const struct gathered *g, size_t i, size_t at, const char *experiment,
                   int64_t sweep, const char *user, struct err *e)
{
    const struct gathered_job *job = &g->jobs[i];
    char id[33];
    char *run, *artifacts, *uri;
    struct buf meta = { 0 };
    int result = -1;

    run_id(g, job, id);
    run = path_join(experiment, id);
    artifacts = path_join(run, "artifacts");
    uri = uri_of(artifacts);
    add_line(&meta, "artifact_uri", uri);
    if (job->ended_at > 0)
        buf_printf(&meta, "end_time: %" PRId64 "\n", job->ended_at);
    else
        buf_add_str(&meta, "end_time: null\n");
    buf_printf(&meta,
               "entry_point_name: ''\nexperiment_id: '%" PRId64
               "'\nlifecycle_stage: active\nrun_id: %s\n",
               sweep, id);
    add_line(&meta, "run_name", job->result.job);
    buf_printf(
        &meta,
        "run_uuid: %s\nsource_name: ''\nsource_type: %d\nsource_version: ''\nstart_time: %" PRId64
        "\nstatus: %d\ntags: []\n",
        id, SOURCE_LOCAL, job->started_at, (int)status_of(job));
    add_line(&meta, "user_id", user);
    /* meta.yaml comes last: without it MLflow sees no run. */
    if (io_make_dirs(artifacts, 0755, e) == 0 &&
        put_params(run, &g->aggregate->configs[job->config], e) == 0 &&
        put_metrics(run, g, i, at, e) == 0 && put_tags(run, job, user, e) == 0)
        result = export_file(run, "meta.yaml", &meta, e);
    buf_free(&meta);
    free(uri);
    free(artifacts);
    free(run);
    return result;
}

static int put_experiment(const struct gathered *g, const char *folder, struct err *e)
{
    const struct sweep_info *sweeps = g->sweeps.items;
    char *uri = uri_of(folder);
    char *name = mem_printf("%s, sweep %" PRId64,
                            sweeps->project != NULL ? sweeps->project : "ludwig", sweeps->sweep);
    int64_t last_at = sweeps->ended_at > 0 ? sweeps->ended_at : sweeps->submitted_at;
    struct buf meta = { 0 };
    int result;

    add_line(&meta, "artifact_location", uri);
    buf_printf(&meta,
               "creation_time: %" PRId64 "\nexperiment_id: '%" PRId64
               "'\nlast_update_time: %" PRId64 "\nlifecycle_stage: active\n",
               sweeps->submitted_at, sweeps->sweep, last_at);
    add_line(&meta, "name", name);
    result = export_file(folder, "meta.yaml", &meta, e);
    buf_free(&meta);
    free(name);
    free(uri);
    return result;
}

int mlflow_write(struct gathered *g, const char *dir, struct err *e)
{
    const struct sweep_info *sweeps = g->sweeps.items;
    const char *user = sweeps->user != NULL ? sweeps->user : "";
    size_t *at = export_series_index(g);
    char *whole = NULL, *folder = NULL;
    int result = export_folder_begin(dir, "mlflow", e);

    if (result == 0 && (whole = realpath(dir, NULL)) == NULL)
        result = err_sys(e, "%s", dir);
    if (result == 0) {
        folder = mem_printf("%s/%" PRId64, whole, sweeps->sweep);
        result = export_folder_renew(folder, e);
    }
    if (result == 0)
        result = put_experiment(g, folder, e);
    for (size_t i = 0; i < g->n_jobs && result == 0; i++)
        result = put_run(g, i, at[i], folder, sweeps->sweep, user, e);
    if (result == 0)
        output_note("%s: %zu run%s; look at them with: mlflow ui --backend-store-uri %s", dir,
                    g->n_jobs, g->n_jobs == 1 ? "" : "s", dir);
    free(whole);
    free(folder);
    return result;
}
