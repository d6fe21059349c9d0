/* SPDX-License-Identifier: MIT */
/* dryrun.c - what a submit would do */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/inputs.h"
#include "client/spec/describe.h"
#include "client/submit/dryrun.h"
#include "client/submit/preview.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/hash_table.h"
#include "common/base/quote.h"
#include "common/base/units.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"

enum { SHOWN_AT_AN_END = 3, PIECE_BYTES = 64 * 1024 };

static const double MS_PER_HOUR = 3600.0 * 1000.0;

struct dryrun {
    const struct submit_request *order;
    struct session session;
    struct err offline;              /* why no server was asked; ERR_NONE: one was */
    struct share_connection *drive;  /* NULL: it cannot be seen */
    struct share_connection mounted; /* without a server */
    struct inputs cargo;
    struct preview forecast;
    int64_t upload_files, upload_bytes;
    struct arena *arena; /* of one configuration */
};

/* ---- finding out ---- */

static bool is_asked(const struct dryrun *d)
{
    return d->offline.kind == ERR_NONE;
}

/* Without a server, only one of the user's own has its share in a known place. */
static const char *find_mount(const struct dryrun *d)
{
    const struct conf *conf = &d->session.conf;
    char *own;
    const char *path;

    if (!d->session.choice.embedded)
        return conf->share;
    own = conf_embedded_share(conf);
    path = arena_strdup(d->order->cli->arena, own);
    free(own);
    return path;
}

static struct share_connection *find_drive(struct dryrun *d)
{
    struct share_connection *drive = &d->mounted;

    if (is_asked(d))
        drive = session_drive(&d->session, NULL);
    else
        drive->mount = find_mount(d);
    if (drive == &d->mounted && drive->mount == NULL)
        return NULL;
    if (drive != NULL && drive->mount != NULL && !d->session.choice.embedded &&
        access(drive->mount, F_OK) < 0)
        return NULL;
    return drive;
}

static int connect_if_possible(struct dryrun *d, struct err *e)
{
    struct err why = { 0 };

    if (session_open(d->order->cli, &d->session, &why) == 0)
        return 0;
    if (why.kind != ERR_UNREACHABLE)
        return err_set(e, why.kind, "%s", why.text);
    d->offline = why;
    return 0;
}

static int find_out(struct dryrun *d, struct err *e)
{
    const struct submit_request *o = d->order;
    struct jobspec work = o->spec.work;
    const struct inputs_counted *counted;
    const struct inputs_packed *looked;
    struct digest digest;
    struct place to;

    if (connect_if_possible(d, e) < 0)
        return -1;
    d->drive = find_drive(d);
    to = (struct place){ .drive = d->drive, .project = o->spec.project };
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
    jobspec_digest(&work, &digest);
    return preview_make(&d->forecast, o, is_asked(d) ? &d->session.rpc : NULL, &digest, e);
}

static int64_t count_jobs(const struct dryrun *d)
{
    return d->forecast.configs * d->order->spec.reps;
}

static int64_t count_queued(const struct dryrun *d)
{
    int64_t queued = count_jobs(d) - d->forecast.reused;

    return queued > 0 ? queued : 0;
}

/* How long all would run, one behind the other; negative: not known. */
static double estimate_hours(const struct dryrun *d)
{
    const struct preview *f = &d->forecast;

    if (f->ran_jobs == 0)
        return -1;
    return (double)f->ran_ms / (double)f->ran_jobs * (double)count_queued(d) / MS_PER_HOUR;
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
    bool is_repeated = d->forecast.configs < d->order->configs;

    *w = (struct passing){ .dryrun = d,
                           .left = n,
                           .seen = is_repeated ? hash_table_create(SIZE_MAX) : NULL };
    points_seek(&d->order->points, first);
}

static void passing_end(struct passing *w)
{
    hash_table_destroy(w->seen);
}

static bool is_new(const struct passing *w, const struct value *config)
{
    struct digest digest;

    if (w->seen == NULL)
        return true;
    param_digest(config, &digest);
    return hash_table_add(w->seen, &digest, 0);
}

/* Appends the next one as JSON; false when that was all. */
static bool passing_next(struct passing *w, struct buf *out)
{
    struct arena *a = w->dryrun->arena;
    struct buf point = { 0 };
    struct value config;
    bool found = false;

    while (!found && w->left-- > 0 && points_next(&w->dryrun->order->points, &point)) {
        arena_reset(a);
        found = mp_read(point.bytes, point.n, a, &config, NULL) == 0 && is_new(w, &config);
        if (found)
            json_add_value(out, &config);
        buf_clear(&point);
    }
    buf_free(&point);
    return found;
}

/* ---- as JSON ---- */

static void add_number_or_null(struct buf *out, const char *name, bool is_known, uint64_t number)
{
    if (is_known)
        buf_printf(out, ",\"%s\":%" PRIu64, name, number);
    else
        buf_printf(out, ",\"%s\":null", name);
}

static void add_estimate(struct buf *out, const struct dryrun *d)
{
    const struct resources *needs = &d->order->spec.work.resources;
    double hours = estimate_hours(d);

    buf_add_str(out, ",\"estimate\":");
    if (hours < 0) {
        buf_add_str(out, "null");
        return;
    }
    buf_add_str(out, "{\"cpu_hours\":");
    value_add_float(out, hours * (double)needs->cpus_milli / 1000);
    buf_add_str(out, ",\"gpu_hours\":");
    value_add_float(out, hours * (double)needs->gpus_milli / 1000);
    buf_add_char(out, '}');
}

static void add_json_head(struct buf *out, const struct dryrun *d)
{
    const struct submit_request *o = d->order;

    buf_add_str(out, "{\"v\":1,\"project\":");
    quote_add(out, o->spec.project, strlen(o->spec.project));
    buf_printf(out, ",\"configs\":%" PRId64 ",\"reps\":%" PRId64 ",\"jobs\":%" PRId64,
               d->forecast.configs, o->spec.reps, count_jobs(d));
    add_number_or_null(out, "reused", is_asked(d), (uint64_t)d->forecast.reused);
    add_number_or_null(out, "queued", is_asked(d), (uint64_t)count_queued(d));
    add_number_or_null(out, "done_otherwise", is_asked(d), (uint64_t)d->forecast.done_otherwise);
    add_number_or_null(out, "upload_files", d->drive != NULL, (uint64_t)d->upload_files);
    add_number_or_null(out, "upload_bytes", d->drive != NULL, (uint64_t)d->upload_bytes);
    add_estimate(out, d);
}

static int write_configs(struct dryrun *d, struct buf *out, struct err *e)
{
    const char *before = "\n";
    struct buf config = { 0 };
    struct passing w;
    int result = 0;

    passing_begin(&w, d, 0, d->order->configs);
    while (result == 0 && passing_next(&w, &config)) {
        buf_add_str(out, before);
        buf_add(out, config.bytes, config.n);
        buf_clear(&config);
        before = ",\n";
        if (out->n >= PIECE_BYTES)
            result = output_write(out, e);
    }
    passing_end(&w);
    buf_free(&config);
    return result;
}

/* In pieces: there may be more than fit into memory. */
static int write_json(struct dryrun *d, struct err *e)
{
    struct buf out = { 0 };

    add_json_head(&out, d);
    buf_add_str(&out, ",\"params\":[");
    if (write_configs(d, &out, e) < 0) {
        buf_free(&out);
        return -1;
    }
    buf_add_str(&out, "]}\n");
    return output_write(&out, e);
}

/* ---- for people ---- */

static void add_label(struct buf *out, const char *label)
{
    buf_printf(out, "%-10s", label);
}

static void add_harmless(struct buf *out, const char *text)
{
    safe_text_add_harmless(out, text, strlen(text), "");
    buf_add_char(out, '\n');
}

static void add_config(struct buf *out, const char *label, const struct buf *config)
{
    add_label(out, label);
    add_harmless(out, buf_text(config));
}

/* n of them, from one on. */
static void add_configs(struct dryrun *d, const char *label, int64_t first, int64_t n,
                        struct buf *out)
{
    struct buf config = { 0 };
    struct passing w;

    passing_begin(&w, d, first, d->order->configs - first);
    for (int64_t i = 0; i < n && passing_next(&w, &config); i++) {
        add_config(out, i == 0 ? label : "", &config);
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
        add_config(out, i == 0 ? "last" : "", &last[(n + i) % SHOWN_AT_AN_END]);
    for (int64_t i = 0; i < SHOWN_AT_AN_END; i++)
        buf_free(&last[i]);
    passing_end(&w);
    buf_free(&config);
}

static void add_ends(struct dryrun *d, struct buf *out)
{
    int64_t n = d->forecast.configs;

    if (n <= 2 * SHOWN_AT_AN_END) {
        add_configs(d, "configs", 0, n, out);
        return;
    }
    add_configs(d, "first", 0, SHOWN_AT_AN_END, out);
    if (n < d->order->configs)
        add_last_distinct(d, out);
    else
        add_configs(d, "last", n - SHOWN_AT_AN_END, SHOWN_AT_AN_END, out);
}

static void add_jobs(const struct dryrun *d, struct buf *out)
{
    const struct preview *f = &d->forecast;
    int64_t repeated = d->order->configs - f->configs;

    add_label(out, "jobs");
    buf_printf(out, "%s%" PRId64 " configuration%s x %" PRId64 " = %" PRId64,
               f->is_exact ? "" : "at most ", f->configs, f->configs == 1 ? "" : "s",
               d->order->spec.reps, count_jobs(d));
    if (repeated > 0)
        buf_printf(out, " (%" PRId64 " more would be the same again)", repeated);
    buf_add_char(out, '\n');
}

static void add_done_otherwise(const struct dryrun *d, struct buf *out)
{
    int64_t n = d->forecast.done_otherwise;

    if (n > 0)
        buf_printf(out,
                   " (%" PRId64 " %s done with the same parameters but another command, source or "
                   "data: --reuse params takes %s)",
                   n, n == 1 ? "is" : "are", n == 1 ? "it" : "them");
}

static void add_reused(const struct dryrun *d, struct buf *out)
{
    add_label(out, "reused");
    if (is_asked(d)) {
        buf_printf(out, "%" PRId64 " done already; %" PRId64 " would run", d->forecast.reused,
                   count_queued(d));
        add_done_otherwise(d, out);
    } else {
        buf_printf(out, "not known: %s", d->offline.text);
    }
    buf_add_char(out, '\n');
}

/* A line, if there is something to say. */
static void add_line(struct buf *out, const char *label, struct buf *text)
{
    if (text->n > 0) {
        add_label(out, label);
        add_harmless(out, buf_text(text));
    }
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
}

static void add_files(struct buf *out, int64_t n_files, int64_t bytes)
{
    buf_printf(out, "%" PRId64 " file%s, ", n_files, n_files == 1 ? "" : "s");
    units_add_size(out, bytes);
    buf_add_char(out, '\n');
}

static void add_tree(struct buf *out, const char *label, const char *name, const struct tree *t)
{
    add_label(out, label);
    buf_printf(out, "%s%s", name, name[0] != '\0' ? ": " : "");
    add_files(out, tree_count_files(t), t->totals.bytes);
}

static void add_data(struct buf *out, const struct spec_data *data, const struct tree *t)
{
    if (data->share == NULL) {
        add_tree(out, "data", data->name, t);
        return;
    }
    add_label(out, "data");
    safe_text_add_harmless(out, data->name, strlen(data->name), "");
    buf_add_str(out, ": on the shared drive, packed when it is submitted\n");
}

static void add_left_out(struct buf *out, const struct inputs *c)
{
    struct buf line = { 0 };

    inputs_add_left_out(c, &line);
    add_line(out, "left out", &line);
}

static bool has_files(const struct inputs *c)
{
    int64_t n = tree_count_files(&c->source);

    for (size_t i = 0; i < c->n_data; i++)
        n += tree_count_files(&c->data[i]);
    return n > 0;
}

static void add_upload(const struct dryrun *d, struct buf *out)
{
    add_label(out, "upload");
    if (!has_files(&d->cargo))
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
    units_add_duration(out, d->forecast.ran_ms / d->forecast.ran_jobs);
    buf_add_str(out, " on average\n");
}

static int write_text(struct dryrun *d, struct err *e)
{
    const struct spec *s = &d->order->spec;
    const struct spec_data *data = s->data.items;
    struct buf out = { 0 };

    add_label(&out, "project");
    add_harmless(&out, s->project);
    if (s->name != NULL) {
        add_label(&out, "name");
        add_harmless(&out, s->name);
    }
    add_jobs(d, &out);
    add_ends(d, &out);
    add_needs(d, &out);
    add_reused(d, &out);
    add_tree(&out, "source", "", &d->cargo.source);
    add_left_out(&out, &d->cargo);
    for (size_t i = 0; i < d->cargo.n_data; i++)
        add_data(&out, &data[i], &d->cargo.data[i]);
    add_upload(d, &out);
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
