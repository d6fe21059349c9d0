/* SPDX-License-Identifier: MIT */
/* dryrun.c - shows what a submit would do */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/inputs.h"
#include "client/pack/source_changes.h"
#include "client/pack/source_files.h"
#include "client/session/session.h"
#include "client/spec/describe.h"
#include "client/submit/dryrun.h"
#include "client/submit/environment.h"
#include "client/submit/first_job.h"
#include "client/submit/gone_results.h"
#include "client/submit/gpu_hint.h"
#include "client/submit/sweep_send.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/hash_table.h"
#include "common/base/quote.h"
#include "common/base/units.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"

enum { SHOWN_AT_AN_END = 3, SHOWN_NAMES = 8, PIECE_BYTES = 64 * 1024 };

/* Duplicates are not searched for among more configurations than this. */
enum { EXACT_MAX = 1000 * 1000 };

static const double MS_PER_HOUR = 3600.0 * 1000.0;

struct dryrun {
    const struct submit_request *order;
    struct session session;
    struct err offline;              /* why no server was asked; ERR_NONE: one was */
    struct share_connection *drive;  /* NULL: the drive cannot be reached */
    struct share_connection mounted; /* what drive points to when no server was asked */
    struct inputs cargo;
    const char *project; /* by the server, or as in the sweep file */
    int64_t upload_files, upload_bytes;
    int64_t configs; /* number of distinct configurations */
    bool is_exact;   /* false: configs may count duplicates */
    /* from the server's answers */
    int64_t reused;                        /* done jobs that have their results */
    size_t n_told;                         /* done jobs that the server named */
    int64_t gone;                          /* those named whose results are no longer there */
    int64_t done_otherwise;                /* further jobs that --reuse params would reuse */
    int64_t followed;                      /* jobs that are queued or running in other sweeps */
    int64_t followed_first, followed_last; /* the lowest and highest number of these sweeps */
    int64_t ran_jobs, ran_ms;              /* of the project, as in msg_previewed */
    int64_t max_rss_bytes, longest_ms;     /* the same */
    struct arena *arena;                   /* reset for each configuration */
    struct first_job first;
    struct buf changes; /* of the source since its jobs were done otherwise */
};

static bool is_asked(const struct dryrun *d)
{
    return d->offline.kind == ERR_NONE;
}

/* ---- duplicates ---- */

static bool has_repeated(const struct param *p)
{
    struct hash_table *seen = hash_table_create(SIZE_MAX);
    struct digest digest;
    size_t i = 0;

    do
        param_digest(&p->values[i], &digest);
    while (hash_table_add(seen, &digest, 0) && ++i < p->n);
    hash_table_destroy(seen);
    return i < p->n;
}

/* Whether configurations may repeat: never in a grid of lists without duplicates, nor with
 * --param2vals. */
static bool may_repeat(const struct submit_request *o)
{
    const struct plan *plan = &o->spec.plan;
    const struct param *params = plan->params.items;

    if (o->points.list != NULL)
        return false;
    if (plan->method != METHOD_GRID || plan->include.n > 0)
        return true;
    for (size_t i = 0; i < plan->params.n; i++)
        if (params[i].n > EXACT_MAX || has_repeated(&params[i]))
            return true;
    return false;
}

/* ---- preview ---- */

struct look {
    struct dryrun *dryrun;
    struct rpc *rpc;         /* NULL: there is no server, or nothing left to ask */
    struct hash_table *seen; /* NULL: duplicates are impossible, or not searched for */
    struct msg_preview request;
    struct buf left_over, chunk;
    struct buf fresh; /* the chunk's distinct configurations, one behind the other */
    int64_t n_fresh;
};

static int take_if_new(void *context, struct bytes item, struct err *e)
{
    struct look *w = context;
    struct digest digest;
    struct value config;

    arena_reset(w->dryrun->arena);
    if (mp_read(item.data, item.n, w->dryrun->arena, &config, e) < 0)
        return -1;
    param_digest(&config, &digest);
    if (!hash_table_add(w->seen, &digest, 0))
        return 0;
    buf_add(&w->fresh, item.data, item.n);
    w->n_fresh++;
    return 0;
}

/* Drops from the chunk of n configurations those that occurred before. */
static int drop_repeated(struct look *w, int64_t n, struct err *e)
{
    buf_clear(&w->fresh);
    w->n_fresh = 0;
    if (mp_each_item(w->chunk.bytes, w->chunk.n, take_if_new, w, e) < 0)
        return -1;
    if (w->n_fresh == n)
        return 0;
    buf_clear(&w->chunk);
    mp_add_list(&w->chunk, (size_t)w->n_fresh);
    buf_add(&w->chunk, w->fresh.bytes, w->fresh.n);
    return 0;
}

/* Refuses another user's project, in the words that the server would use. */
static int check_owner(const struct msg_previewed *answer, const char *project, struct err *e)
{
    if (answer->owner == NULL || answer->is_own)
        return 0;
    return err_set(e, ERR_DENIED,
                   "project '%s' belongs to %s; choose another name with project: NAME",
                   answer->project != NULL ? answer->project : project, answer->owner);
}

static int ask_preview(struct look *w, struct err *e)
{
    struct dryrun *d = w->dryrun;
    struct msg_previewed answer, otherwise;
    bool is_last;

    w->request.configs = buf_bytes(&w->chunk);
    if (rpc_call(w->rpc, MSG_PREVIEW, &w->request, &answer, e) < 0)
        return -1;
    if (check_owner(&answer, w->request.project, e) < 0)
        return -1;
    d->n_told += answer.jobs.n;
    w->request.tells_reused = d->n_told < REUSED_TOLD_MAX;
    if (answer.jobs.n > 0 && d->drive != NULL) {
        struct list gone;
        int result = gone_results_find(d->drive, &answer.jobs, &gone, e);

        d->gone += (int64_t)gone.n;
        d->reused -= (int64_t)gone.n;
        free(gone.items);
        if (result < 0)
            return -1;
    }
    d->reused += answer.reused;
    d->ran_jobs = answer.ran_jobs;
    d->ran_ms = answer.ran_ms;
    d->max_rss_bytes = answer.max_rss_bytes;
    d->longest_ms = answer.longest_ms;
    if (answer.followed > 0) {
        if (d->followed == 0 || answer.followed_first < d->followed_first)
            d->followed_first = answer.followed_first;
        if (answer.followed_last > d->followed_last)
            d->followed_last = answer.followed_last;
        d->followed += answer.followed;
    }
    /* Where no job of the project is done or under way, the other chunks need no questions. */
    is_last = answer.owner == NULL || (answer.ran_jobs == 0 && answer.unfinished == 0) ||
              w->request.reuse == REUSE_NONE;
    /* Asks how many of the chunk's jobs are done with any command, source and data. */
    if (w->request.reuse == REUSE_ALL && answer.ran_jobs > 0 &&
        answer.reused < w->n_fresh * w->request.reps) {
        struct msg_preview request = w->request;

        request.reuse = REUSE_PARAMS;
        request.tells_reused = false;
        if (rpc_call(w->rpc, MSG_PREVIEW, &request, &otherwise, e) < 0)
            return -1;
        d->done_otherwise += otherwise.reused - answer.reused;
    }
    if (is_last)
        w->rpc = NULL;
    return 0;
}

static int look_at_all(struct look *w, struct err *e)
{
    struct dryrun *d = w->dryrun;
    const struct submit_request *o = d->order;
    int64_t most = sweep_send_chunk_max(o->spec.reps), left = o->configs;

    points_seek(&o->points, 0);
    while (left > 0 && (w->seen != NULL || w->rpc != NULL)) {
        int64_t n =
            sweep_send_fill_chunk(&o->points, left < most ? left : most, &w->left_over, &w->chunk);

        if (n == 0)
            return err_set(e, ERR_INTERNAL, "%" PRId64 " configurations are missing", left);
        w->n_fresh = n;
        if (w->seen != NULL && drop_repeated(w, n, e) < 0)
            return -1;
        d->configs += w->n_fresh;
        if (w->rpc != NULL && w->n_fresh > 0 && ask_preview(w, e) < 0)
            return -1;
        left -= n;
    }
    d->configs += left;
    return 0;
}

/* Counts the configurations, and asks the server about them. */
static int preview(struct dryrun *d, const struct jobspec *work, struct err *e)
{
    const struct submit_request *o = d->order;
    struct look w = { .dryrun = d,
                      .rpc = is_asked(d) ? &d->session.rpc : NULL,
                      .request = { .project = d->project,
                                   .reps = o->spec.reps,
                                   .reuse = o->reuse,
                                   .tells_reused = true } };
    bool repeats = may_repeat(o);
    int result;

    jobspec_digest(work, &w.request.work);
    d->is_exact = !repeats || o->configs <= EXACT_MAX;
    w.seen = repeats && d->is_exact ? hash_table_create(SIZE_MAX) : NULL;
    result = look_at_all(&w, e);
    hash_table_destroy(w.seen);
    buf_free(&w.left_over);
    buf_free(&w.chunk);
    buf_free(&w.fresh);
    return result;
}

/* ---- drive and estimate ---- */

/* Returns the drive, NULL if it cannot be reached.  Without a server it is that of the user's own
 * server, whose place is known, or the share that the configuration names. */
static struct share_connection *find_drive(struct dryrun *d)
{
    const struct conf *conf = &d->session.conf;
    struct share_connection *drive = &d->mounted;

    if (is_asked(d)) {
        drive = session_drive(&d->session, NULL);
    } else if (d->session.choice.embedded) {
        char *own = conf_embedded_share(conf);

        drive->mount = arena_strdup(d->order->cli->arena, own);
        free(own);
    } else {
        drive->mount = conf->share;
    }
    if (drive == &d->mounted && drive->mount == NULL)
        return NULL;
    if (drive != NULL && drive->mount != NULL && !d->session.choice.embedded &&
        access(drive->mount, F_OK) < 0)
        return NULL;
    return drive;
}

/* Asks who owns the project, before its packs are looked at: another user's folder forbids that. */
static int check_project(struct dryrun *d, struct err *e)
{
    const struct spec *spec = &d->order->spec;
    struct msg_preview request = { .project = spec->project, .reps = spec->reps };
    struct msg_previewed answer;
    struct buf none = { 0 };
    int result;

    if (!is_asked(d))
        return 0;
    mp_add_list(&none, 0);
    request.configs = buf_bytes(&none);
    result = rpc_call(&d->session.rpc, MSG_PREVIEW, &request, &answer, e);
    buf_free(&none);
    if (result < 0 || check_owner(&answer, spec->project, e) < 0)
        return -1;
    if (answer.project != NULL)
        d->project = arena_strdup(d->order->cli->arena, answer.project);
    return 0;
}

static int find_out(struct dryrun *d, struct err *e)
{
    const struct submit_request *o = d->order;
    struct jobspec work = o->spec.work;
    const struct inputs_counted *counted;
    const struct inputs_packed *looked;
    struct err why = { 0 };
    struct place to;

    if (session_open(o->cli, &d->session, &why) < 0) {
        if (why.kind != ERR_UNREACHABLE)
            return err_set(e, why.kind, "%s", why.text);
        d->offline = why;
    }
    d->project = o->spec.project;
    if (check_project(d, e) < 0)
        return -1;
    d->drive = find_drive(d);
    to = (struct place){ .drive = d->drive, .project = d->project };
    inputs_plan(&d->cargo, &o->spec, d->drive != NULL ? &to : NULL);
    counted = inputs_count(&d->cargo, e);
    if (counted == NULL)
        return -1;
    inputs_note_size(&d->cargo);
    looked = inputs_look(counted, e);
    if (looked == NULL)
        return -1;
    inputs_count_new(looked, &d->upload_files, &d->upload_bytes);
    inputs_sign(looked, &o->spec, o->cli->arena, &work);
    if (preview(d, &work, e) < 0)
        return -1;
    if (d->done_otherwise > 0)
        source_changes_add(&d->changes, &d->session, &d->cargo, 0);
    return 0;
}

static int64_t count_jobs(const struct dryrun *d)
{
    return d->configs * d->order->spec.reps;
}

static int64_t count_queued(const struct dryrun *d)
{
    int64_t queued = count_jobs(d) - d->reused - d->followed;

    return queued > 0 ? queued : 0;
}

/* Returns the hours that all new jobs would run, one after the other; negative: not known. */
static double estimate_hours(const struct dryrun *d)
{
    if (d->ran_jobs == 0)
        return -1;
    return (double)d->ran_ms / (double)d->ran_jobs * (double)count_queued(d) / MS_PER_HOUR;
}

/* ---- distinct configurations ---- */

/* An iterator over configurations, without duplicates where these were searched for. */
struct passing {
    struct dryrun *dryrun;
    struct hash_table *seen; /* digests of those given; NULL: there are no duplicates */
    int64_t left;
};

static void passing_begin(struct passing *w, struct dryrun *d, int64_t first, int64_t n)
{
    bool is_repeated = d->configs < d->order->configs;

    *w = (struct passing){ .dryrun = d,
                           .left = n,
                           .seen = is_repeated ? hash_table_create(SIZE_MAX) : NULL };
    points_seek(&d->order->points, first);
}

/* Appends the next configuration as JSON; false at the end. */
static bool passing_next(struct passing *w, struct buf *out)
{
    struct arena *a = w->dryrun->arena;
    struct buf point = { 0 };
    struct digest digest;
    struct value config;
    bool found = false;

    while (!found && w->left-- > 0 && points_next(&w->dryrun->order->points, &point)) {
        arena_reset(a);
        found = mp_read(point.bytes, point.n, a, &config, NULL) == 0;
        if (found && w->seen != NULL) {
            param_digest(&config, &digest);
            found = hash_table_add(w->seen, &digest, 0);
        }
        if (found)
            json_add_value(out, &config);
        buf_clear(&point);
    }
    buf_free(&point);
    return found;
}

static void passing_end(struct passing *w)
{
    hash_table_destroy(w->seen);
}

/* ---- as JSON ---- */

static void add_number_or_null(struct buf *out, const char *name, bool is_known, int64_t number)
{
    if (is_known)
        buf_printf(out, ",\"%s\":%" PRId64, name, number);
    else
        buf_printf(out, ",\"%s\":null", name);
}

static void add_json_environment(struct buf *out, const struct spec *s)
{
    struct buf text = { 0 };

    environment_describe(&s->work.environment, &text);
    buf_add_str(out, ",\"environment\":");
    if (text.n > 0)
        quote_add(out, buf_text(&text), text.n);
    else
        buf_add_str(out, "null");
    buf_free(&text);
}

static void add_json_head(struct buf *out, const struct dryrun *d)
{
    const struct submit_request *o = d->order;
    const struct resources *needs = &o->spec.work.resources;
    const char *const *unused = d->first.unused.items;
    double hours = estimate_hours(d);

    buf_add_str(out, "{\"v\":1,\"project\":");
    quote_add(out, d->project, strlen(d->project));
    buf_printf(out, ",\"configs\":%" PRId64 ",\"reps\":%" PRId64 ",\"jobs\":%" PRId64, d->configs,
               o->spec.reps, count_jobs(d));
    add_number_or_null(out, "reused", is_asked(d), d->reused);
    add_number_or_null(out, "queued", is_asked(d), count_queued(d));
    add_number_or_null(out, "followed", is_asked(d), d->followed);
    add_number_or_null(out, "done_otherwise", is_asked(d), d->done_otherwise);
    add_number_or_null(out, "upload_files", d->drive != NULL, d->upload_files);
    add_number_or_null(out, "upload_bytes", d->drive != NULL, d->upload_bytes);
    buf_add_str(out, ",\"command\":");
    quote_add(out, d->first.command, strlen(d->first.command));
    buf_add_str(out, ",\"not_in_command\":[");
    for (size_t i = 0; i < d->first.unused.n; i++) {
        buf_add_str(out, i > 0 ? "," : "");
        quote_add(out, unused[i], strlen(unused[i]));
    }
    buf_add_char(out, ']');
    if (d->first.reader != NULL) {
        buf_add_str(out, ",\"read_twice\":");
        quote_add(out, d->first.read_again, strlen(d->first.read_again));
    } else {
        buf_add_str(out, ",\"read_twice\":null");
    }
    add_json_environment(out, &o->spec);
    add_number_or_null(out, "max_rss_bytes", d->max_rss_bytes > 0, d->max_rss_bytes);
    add_number_or_null(out, "longest_ms", d->longest_ms > 0, d->longest_ms);
    buf_add_str(out, ",\"passed\":[");
    for (size_t i = 0; i < o->spec.work.passed.n; i++)
        buf_printf(out, "%s\"%s\"", i > 0 ? "," : "",
                   ((const char *const *)o->spec.work.passed.items)[i]);
    buf_add_char(out, ']');
    if (hours < 0) {
        buf_add_str(out, ",\"estimate\":null");
        return;
    }
    buf_add_str(out, ",\"estimate\":{\"cpu_hours\":");
    value_add_float(out, hours * (double)needs->cpus_milli / 1000);
    buf_add_str(out, ",\"gpu_hours\":");
    value_add_float(out, hours * (double)needs->gpus_milli / 1000);
    buf_add_char(out, '}');
}

/* Writes in pieces, as the configurations may not fit into memory. */
static int write_json(struct dryrun *d, struct err *e)
{
    const char *before = "\n";
    struct buf out = { 0 };
    struct passing w;
    int result = 0;

    add_json_head(&out, d);
    buf_add_str(&out, ",\"params\":[");
    passing_begin(&w, d, 0, d->order->configs);
    while (result == 0) {
        size_t n = out.n;

        buf_add_str(&out, before);
        if (!passing_next(&w, &out)) {
            out.n = n;
            break;
        }
        before = ",\n";
        if (out.n >= PIECE_BYTES)
            result = output_write(&out, e);
    }
    passing_end(&w);
    if (result == 0) {
        buf_add_str(&out, "]}\n");
        result = output_write(&out, e);
    }
    buf_free(&out);
    return result;
}

/* ---- for people ---- */

static void add_label(struct buf *out, const char *label)
{
    buf_printf(out, "%-10s", label);
}

/* Adds a line with a text that is made safe for a terminal. */
static void add_harmless(struct buf *out, const char *label, const char *text)
{
    add_label(out, label);
    safe_text_add_harmless(out, text, strlen(text), "");
    buf_add_char(out, '\n');
}

/* Adds lines for n configurations, from number first on. */
static void add_configs(struct dryrun *d, const char *label, int64_t first, int64_t n,
                        struct buf *out)
{
    struct buf config = { 0 };
    struct passing w;

    passing_begin(&w, d, first, d->order->configs - first);
    for (int64_t i = 0; i < n && passing_next(&w, &config); i++) {
        add_harmless(out, i == 0 ? label : "", buf_text(&config));
        buf_clear(&config);
    }
    passing_end(&w);
    buf_free(&config);
}

/* Adds the last distinct configurations where there are duplicates: the first of these counts. */
static void add_last_distinct(struct dryrun *d, struct buf *out)
{
    struct buf last[SHOWN_AT_AN_END] = { 0 }, config = { 0 };
    struct passing w;
    int64_t n = 0;

    passing_begin(&w, d, 0, d->order->configs);
    for (; passing_next(&w, &config); n++) {
        struct buf *to = &last[n % SHOWN_AT_AN_END];

        buf_free(to);
        *to = config;
        config = (struct buf){ 0 };
    }
    for (int64_t i = 0; i < SHOWN_AT_AN_END; i++)
        add_harmless(out, i == 0 ? "last" : "", buf_text(&last[(n + i) % SHOWN_AT_AN_END]));
    for (int64_t i = 0; i < SHOWN_AT_AN_END; i++)
        buf_free(&last[i]);
    passing_end(&w);
    buf_free(&config);
}

static void add_jobs(struct dryrun *d, struct buf *out)
{
    int64_t n = d->configs, repeated = d->order->configs - n;

    if (spec_has_advisor(&d->order->spec)) {
        struct buf text = { 0 };

        spec_add_advisor(&d->order->spec, &text);
        add_harmless(out, "advisor", buf_text(&text));
        buf_free(&text);
        add_label(out, "instead");
        buf_printf(out, "%" PRId64 " random configurations, where it is late\n", d->configs);
        add_configs(d, "first", 0, n < SHOWN_AT_AN_END ? n : SHOWN_AT_AN_END, out);
        return;
    }
    add_label(out, "jobs");
    buf_printf(out, "%s%" PRId64 " configuration%s x %" PRId64 " = %" PRId64,
               d->is_exact ? "" : "at most ", n, n == 1 ? "" : "s", d->order->spec.reps,
               count_jobs(d));
    if (repeated > 0)
        buf_printf(out, " (%" PRId64 " more would be the same again)", repeated);
    buf_add_char(out, '\n');
    if (n <= 2 * SHOWN_AT_AN_END) {
        add_configs(d, "configs", 0, n, out);
        return;
    }
    add_configs(d, "first", 0, SHOWN_AT_AN_END, out);
    if (repeated > 0)
        add_last_distinct(d, out);
    else
        add_configs(d, "last", n - SHOWN_AT_AN_END, SHOWN_AT_AN_END, out);
}

/* Adds a line unless its text is empty; frees the text. */
static void add_line(struct buf *out, const char *label, struct buf *text)
{
    if (text->n > 0)
        add_harmless(out, label, buf_text(text));
    buf_free(text);
}

/* Adds the lines of text below each other, the first one behind the label. */
static void add_lines(struct buf *out, const char *label, const char *text)
{
    for (size_t n; *text != '\0'; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        add_label(out, label);
        safe_text_add_harmless(out, text, n, "");
        buf_add_char(out, '\n');
        label = "";
    }
}

/* Adds what the first job runs, and which parameters that does not name. */
static void add_command(const struct dryrun *d, struct buf *out)
{
    const struct first_job *j = &d->first;
    const char *const *names = j->unused.items;
    struct buf text = { 0 };

    add_lines(out, "command", j->command);
    for (size_t i = 0; i < j->unused.n && i < SHOWN_NAMES; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", names[i]);
    if (j->unused.n > SHOWN_NAMES)
        buf_printf(&text, " and %zu more", j->unused.n - SHOWN_NAMES);
    if (text.n > 0)
        buf_printf(&text, ": the program has to read %s from $LUDWIG_%s",
                   j->unused.n == 1 ? "it" : "them",
                   d->order->spec.work.batch > 1 ? "CHUNK" : "PARAM2VAL");
    add_line(out, "not in it", &text);
    if (j->reader != NULL)
        buf_printf(
            &text,
            "`%s` reads {%s} once more, where spaces, quotes and $ of its values mean "
            "something else: hand it over as an argument, as in  sh -c 'echo \"$1\"' sh {%s}",
            j->reader, j->read_again, j->read_again);
    add_line(out, "re-read", &text);
    if (j->program != NULL)
        buf_printf(&text, "%s is %s here", j->program, j->program_path);
    add_line(out, "program", &text);
}

/* Adds the folder where people find the results. */
static void add_results(const struct dryrun *d, struct buf *out)
{
    const char *project = d->project;
    struct buf text = { 0 };

    if (is_asked(d))
        buf_add_str(&text, session_shown_path(&d->session, d->arena,
                                              arena_printf(d->arena, "%s/runs/", project)));
    else if (d->drive != NULL)
        buf_printf(&text, "%s/%s/runs/", d->drive->mount, project);
    add_line(out, "results", &text);
}

static void add_gpus(struct dryrun *d, struct buf *out)
{
    struct gpu_look look = { 0 };
    struct buf text = { 0 };

    if (is_asked(d))
        gpu_hint_ask(&look, &d->order->spec, &d->session);
    gpu_hint_add(&text, &d->order->spec, &d->session, &look);
    add_line(out, "no GPUs", &text);
}

static void add_reused(const struct dryrun *d, struct buf *out)
{
    int64_t n = d->done_otherwise;

    add_label(out, "reused");
    if (is_asked(d))
        buf_printf(out, "%" PRId64 " done already; %" PRId64 " would run", d->reused,
                   count_queued(d));
    else
        buf_printf(out, "not known: %s", d->offline.text);
    if (n > 0)
        buf_printf(
            out,
            " (%" PRId64 " finished earlier with the same parameters but a different command, "
            "source%s; --reuse params accepts %s)",
            n, d->order->spec.work.environment.decides ? ", data or environment" : " or data",
            n == 1 ? "it" : "those");
    buf_add_char(out, '\n');
    if (d->gone > 0) {
        add_label(out, "");
        buf_printf(out, "%" PRId64 " done before would run again: not in %s/runs any more\n",
                   d->gone, d->project);
    }
    add_lines(out, "changed", buf_text(&d->changes));
    if (d->followed == 0)
        return;
    add_label(out, "");
    submit_request_add_followed(out, d->followed, d->followed_first, d->followed_last);
    buf_add_char(out, '\n');
}

static void add_environment(const struct spec *s, struct buf *out)
{
    struct buf text = { 0 }, note = { 0 };

    if (s->work.container != NULL)
        return;
    environment_describe(&s->work.environment, &text);
    environment_add_note(s, &note);
    if (text.n == 0)
        buf_add_str(&text, "the node's own");
    if (note.n > 0)
        buf_printf(&text, " (%s)", buf_text(&note));
    buf_free(&note);
    add_line(out, "runs in", &text);
}

/* Adds the environment, resources, nodes and policies of the jobs. */
static void add_needs(const struct dryrun *d, struct buf *out)
{
    const struct spec *s = &d->order->spec;
    struct buf text = { 0 };

    add_environment(s, out);
    describe_resources(&text, &s->work.resources);
    add_line(out, "each job", &text);
    describe_unused(&text, &s->work.resources, d->ran_jobs, d->max_rss_bytes, d->longest_ms);
    add_line(out, "too much", &text);
    describe_nodes(&text, s);
    add_line(out, "nodes", &text);
    describe_pools(&text, s);
    add_line(out, "slurm", &text);
    describe_pilots_time(&text, s);
    add_line(out, "no time", &text);
    describe_batch(&text, &s->work);
    add_line(out, "batch", &text);
    describe_retry(&text, &s->retry);
    add_line(out, "retry", &text);
    describe_guard(&text, &s->guard);
    add_line(out, "guard", &text);
    describe_stop(&text, &s->stop, &s->ranking);
    add_line(out, "stopped", &text);
    describe_checkpoint(&text, &s->work.checkpoint);
    add_line(out, "to save", &text);
    describe_passed(&text, &s->work);
    add_line(out, "passed", &text);
}

static void add_files(struct buf *out, int64_t n_files, int64_t bytes)
{
    buf_printf(out, "%" PRId64 " file%s, ", n_files, n_files == 1 ? "" : "s");
    units_add_size(out, bytes);
    buf_add_char(out, '\n');
}

/* Adds source and data, and how much of them would be sent; all: with each source file's name. */
static int add_inputs(const struct dryrun *d, bool all, struct buf *out, struct err *e)
{
    const struct inputs *c = &d->cargo;
    const struct spec_data *data = d->order->spec.data.items;
    int64_t n_files = tree_count_files(&c->source);
    struct buf left_out = { 0 }, files = { 0 };

    add_label(out, "source");
    add_files(out, n_files, c->source.totals.bytes);
    if (n_files > 0 && source_files_add(&files, &c->source, all, e) < 0) {
        buf_free(&files);
        return -1;
    }
    add_lines(out, n_files <= SOURCE_FILES_SHOWN || all ? "files" : "largest", buf_text(&files));
    buf_free(&files);
    inputs_add_left_out(c, &left_out);
    add_line(out, "left out", &left_out);
    for (size_t i = 0; i < c->n_data; i++) {
        add_label(out, "data");
        if (data[i].share != NULL) {
            safe_text_add_harmless(out, data[i].name, strlen(data[i].name), "");
            buf_add_str(out, ": on the shared drive, packed when it is submitted\n");
        } else {
            buf_printf(out, "%s%s", data[i].name, data[i].name[0] != '\0' ? ": " : "");
            add_files(out, tree_count_files(&c->data[i]), c->data[i].totals.bytes);
        }
        n_files += tree_count_files(&c->data[i]);
    }
    add_label(out, "upload");
    if (n_files == 0)
        buf_add_str(out, "nothing\n");
    else if (d->drive == NULL)
        buf_add_str(out, "not known: the shared drive is not here\n");
    else if (d->upload_files == 0)
        buf_add_str(out, "nothing: all of it is on the shared drive\n");
    else
        add_files(out, d->upload_files, d->upload_bytes);
    return 0;
}

static void add_time(const struct dryrun *d, struct buf *out)
{
    const struct resources *needs = &d->order->spec.work.resources;
    double hours = estimate_hours(d);

    if (hours < 0)
        return;
    add_label(out, "time");
    describe_time(out, hours * (double)needs->cpus_milli / 1000, "CPU");
    if (needs->gpus_milli > 0) {
        buf_add_str(out, ", ");
        describe_time(out, hours * (double)needs->gpus_milli / 1000, "GPU");
    }
    buf_add_str(out, "; jobs took ");
    units_add_duration(out, d->ran_ms / d->ran_jobs);
    buf_add_str(out, " on average\n");
}

static int write_text(struct dryrun *d, bool all_files, struct err *e)
{
    const struct spec *s = &d->order->spec;
    struct buf out = { 0 };

    add_harmless(&out, "project", d->project);
    if (s->name != NULL)
        add_harmless(&out, "name", s->name);
    add_jobs(d, &out);
    add_command(d, &out);
    if (s->notify.when != 0) {
        struct buf text = { 0 };

        notify_describe(&s->notify, &text);
        add_harmless(&out, "notify", buf_text(&text));
        buf_free(&text);
    }
    add_needs(d, &out);
    add_gpus(d, &out);
    add_reused(d, &out);
    if (add_inputs(d, all_files, &out, e) < 0) {
        buf_free(&out);
        return -1;
    }
    add_results(d, &out);
    add_time(d, &out);
    return output_write(&out, e);
}

int dryrun(const struct submit_request *o, enum dryrun_form form, struct err *e)
{
    struct dryrun d = { .order = o, .arena = arena_create() };
    int result = find_out(&d, e);

    first_job_find(o, o->cli->arena, &d.first);
    if (result == 0)
        result = form == DRYRUN_JSON ? write_json(&d, e) : write_text(&d, form == DRYRUN_FILES, e);
    inputs_free(&d.cargo);
    session_close(&d.session);
    arena_destroy(d.arena);
    buf_free(&d.changes);
    return result;
}
