/* SPDX-License-Identifier: MIT */
/* dryrun.c - what a submit would do */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/inputs.h"
#include "client/session/session.h"
#include "client/spec/describe.h"
#include "client/submit/dryrun.h"
#include "client/submit/sweep_send.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/hash_table.h"
#include "common/base/quote.h"
#include "common/base/units.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"

enum { SHOWN_AT_AN_END = 3, PIECE_BYTES = 64 * 1024 };

/* Where configurations can be the same, duplicates among more than that are not looked for. */
enum { EXACT_MAX = 1000 * 1000 };

static const double MS_PER_HOUR = 3600.0 * 1000.0;

struct dryrun {
    const struct submit_request *order;
    struct session session;
    struct err offline;              /* why no server was asked; ERR_NONE: one was */
    const char *project;             /* its folder's name, as far as a server could be asked */
    struct share_connection *drive;  /* NULL: it cannot be seen */
    struct share_connection mounted; /* without a server */
    struct inputs cargo;
    int64_t upload_files, upload_bytes;
    int64_t configs; /* each once */
    bool is_exact;   /* false: there may be duplicates among them */
    /* as a server has answered */
    int64_t reused;           /* jobs */
    int64_t done_otherwise;   /* jobs that --reuse params would take on top of them */
    int64_t ran_jobs, ran_ms; /* of the project */
    struct arena *arena;      /* of one configuration */
};

static bool is_asked(const struct dryrun *d)
{
    return d->offline.kind == ERR_NONE;
}

/* ---- whether configurations can be the same ---- */

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

/* A grid of lists without duplicates has none itself, and --param2vals none at all. */
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

/* ---- looking at all of them ---- */

struct look {
    struct dryrun *dryrun;
    struct rpc *rpc;         /* NULL: there is no server, or nothing left to ask for */
    struct hash_table *seen; /* NULL: there are no duplicates, or too many to look for them */
    struct msg_preview request;
    struct buf left_over, chunk;
    struct buf fresh; /* those of the chunk that are new, one behind the other */
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

/* Leaves in the chunk of n configurations what was not in one before it. */
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

static int ask(struct look *w, struct err *e)
{
    struct dryrun *d = w->dryrun;
    struct msg_previewed answer, otherwise;
    bool is_last;

    w->request.configs = buf_bytes(&w->chunk);
    if (rpc_call(w->rpc, MSG_PREVIEW, &w->request, &answer, e) < 0)
        return -1;
    if (answer.owner != NULL && !answer.is_own) /* as the server would say it */
        return err_set(e, ERR_DENIED,
                       "project '%s' belongs to %s; choose another name with project: NAME",
                       w->request.project, answer.owner);
    d->reused += answer.reused;
    d->ran_jobs = answer.ran_jobs;
    d->ran_ms = answer.ran_ms;
    /* Where nothing is done, nothing is found in the other chunks either. */
    is_last = answer.owner == NULL || answer.ran_jobs == 0 || w->request.reuse == REUSE_NONE;
    /* How many of the chunk's jobs are done, whatever their command, source and data were. */
    if (w->request.reuse == REUSE_ALL && answer.ran_jobs > 0 &&
        answer.reused < w->n_fresh * w->request.reps) {
        struct msg_preview request = w->request;

        request.reuse = REUSE_PARAMS;
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
        if (w->rpc != NULL && w->n_fresh > 0 && ask(w, e) < 0)
            return -1;
        left -= n;
    }
    d->configs += left;
    return 0;
}

/* What would become of the sweep, as things are. */
static int preview(struct dryrun *d, const struct jobspec *work, struct err *e)
{
    const struct submit_request *o = d->order;
    struct look w = { .dryrun = d,
                      .rpc = is_asked(d) ? &d->session.rpc : NULL,
                      .request = {
                          .project = d->project, .reps = o->spec.reps, .reuse = o->reuse } };
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

/* ---- finding out ---- */

/* Without a server, only one of the user's own has its share in a known place. */
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

/* Where its name is another's, the project is called otherwise. */
static int find_project(struct dryrun *d, struct err *e)
{
    const struct submit_request *o = d->order;
    struct buf none = { 0 };
    struct msg_preview request = { .project = o->spec.project, .reps = o->spec.reps };
    struct msg_previewed answer;
    int result = 0;

    d->project = o->spec.project;
    if (!is_asked(d))
        return 0;
    mp_add_list(&none, 0);
    request.configs = buf_bytes(&none);
    result = rpc_call(&d->session.rpc, MSG_PREVIEW, &request, &answer, e);
    if (result == 0 && answer.project != NULL)
        d->project = arena_strdup(o->cli->arena, answer.project);
    buf_free(&none);
    return result;
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
    d->drive = find_drive(d);
    if (find_project(d, e) < 0)
        return -1;
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
    return preview(d, &work, e);
}

static int64_t count_jobs(const struct dryrun *d)
{
    return d->configs * d->order->spec.reps;
}

static int64_t count_queued(const struct dryrun *d)
{
    int64_t queued = count_jobs(d) - d->reused;

    return queued > 0 ? queued : 0;
}

/* How long all would run, one behind the other; negative: not known. */
static double estimate_hours(const struct dryrun *d)
{
    if (d->ran_jobs == 0)
        return -1;
    return (double)d->ran_ms / (double)d->ran_jobs * (double)count_queued(d) / MS_PER_HOUR;
}

/* ---- configurations, each once ---- */

/* Those from one on.  Where the duplicates were counted they are passed over. */
struct passing {
    struct dryrun *dryrun;
    struct hash_table *seen; /* NULL: all are shown */
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

/* Appends the next one as JSON; false when that was all. */
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

static void add_json_head(struct buf *out, const struct dryrun *d)
{
    const struct submit_request *o = d->order;
    const struct resources *needs = &o->spec.work.resources;
    double hours = estimate_hours(d);

    buf_add_str(out, "{\"v\":1,\"project\":");
    quote_add(out, d->project, strlen(d->project));
    buf_printf(out, ",\"configs\":%" PRId64 ",\"reps\":%" PRId64 ",\"jobs\":%" PRId64, d->configs,
               o->spec.reps, count_jobs(d));
    add_number_or_null(out, "reused", is_asked(d), d->reused);
    add_number_or_null(out, "queued", is_asked(d), count_queued(d));
    add_number_or_null(out, "done_otherwise", is_asked(d), d->done_otherwise);
    add_number_or_null(out, "upload_files", d->drive != NULL, d->upload_files);
    add_number_or_null(out, "upload_bytes", d->drive != NULL, d->upload_bytes);
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

/* In pieces: there may be more than fit into memory. */
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

/* A line. */
static void add_harmless(struct buf *out, const char *label, const char *text)
{
    add_label(out, label);
    safe_text_add_harmless(out, text, strlen(text), "");
    buf_add_char(out, '\n');
}

/* n of them, from one on. */
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

/* The last ones when some stand there several times: only the first time counts. */
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
        buf_printf(out,
                   " (%" PRId64 " %s done with the same parameters but another command, source or "
                   "data: --reuse params takes %s)",
                   n, n == 1 ? "is" : "are", n == 1 ? "it" : "them");
    buf_add_char(out, '\n');
}

/* A line, if there is something to say. */
static void add_line(struct buf *out, const char *label, struct buf *text)
{
    if (text->n > 0)
        add_harmless(out, label, buf_text(text));
    buf_free(text);
}

/* What was understood of how its jobs run. */
static void add_needs(const struct dryrun *d, struct buf *out)
{
    const struct spec *s = &d->order->spec;
    struct buf text = { 0 };

    describe_resources(&text, &s->work.resources);
    add_line(out, "each job", &text);
    describe_nodes(&text, s);
    add_line(out, "nodes", &text);
    describe_pools(&text, s);
    add_line(out, "slurm", &text);
    describe_batch(&text, &s->work);
    add_line(out, "batch", &text);
    describe_retry(&text, &s->retry);
    add_line(out, "retry", &text);
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

/* What goes along, and how much of it would be sent. */
static void add_inputs(const struct dryrun *d, struct buf *out)
{
    const struct inputs *c = &d->cargo;
    const struct spec_data *data = d->order->spec.data.items;
    int64_t n_files = tree_count_files(&c->source);
    struct buf left_out = { 0 };

    add_label(out, "source");
    add_files(out, n_files, c->source.totals.bytes);
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

static int write_text(struct dryrun *d, struct err *e)
{
    const struct spec *s = &d->order->spec;
    struct buf out = { 0 };

    add_harmless(&out, "project", s->project);
    if (s->name != NULL)
        add_harmless(&out, "name", s->name);
    add_jobs(d, &out);
    add_needs(d, &out);
    add_reused(d, &out);
    add_inputs(d, &out);
    add_time(d, &out);
    return output_write(&out, e);
}

int dryrun(const struct submit_request *o, bool json, struct err *e)
{
    struct dryrun d = { .order = o, .arena = arena_create() };
    int result = find_out(&d, e);

    if (result == 0)
        result = json ? write_json(&d, e) : write_text(&d, e);
    inputs_free(&d.cargo);
    session_close(&d.session);
    arena_destroy(d.arena);
    return result;
}
