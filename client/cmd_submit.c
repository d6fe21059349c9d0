/* SPDX-License-Identifier: MIT */
/* cmd_submit.c - ludwig submit */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cargo.h"
#include "client/expand.h"
#include "client/git.h"
#include "client/out.h"
#include "client/session.h"
#include "client/spec.h"
#include "client/submit.h"
#include "client/wait.h"
#include "common/json.h"
#include "common/mp.h"
#include "common/suggest.h"
#include "common/units.h"

/* More points than that are more likely a slip than a wish. */
enum { CONFIGS_WITHOUT_YES = 10 * 1000 * 1000 };

/* Every job gets a copy of its source, so that a large one is seldom meant. */
enum { SOURCE_USUAL_BYTES = 100 * 1024 * 1024 };

struct options {
    struct spec_overrides over;
    const char *reuse;
    bool dry_run, wait, json, local, yes;
};

#define AT(member) offsetof(struct options, member)

static const struct opt options[] = {
    { "set", 0, OPT_STRS, "NAME=VALUE", AT(over.set), 0, 0,
      "take VALUE (as in the file: 0.5, [1, 2]) for a parameter" },
    { "reps", 0, OPT_INT, "N", AT(over.reps), 1, REPS_MAX, "replications of each configuration" },
    { "name", 0, OPT_STR, "NAME", AT(over.name), 0, 0, "what listings call the sweep" },
    { "minimal", 0, OPT_FLAG, NULL, AT(over.minimal), 0, 0,
      "one short job: each parameter's first value, and those of debug: in the file" },
    { "nodes", 0, OPT_STR, "NAME,@GROUP", AT(over.nodes), 0, 0, "only on these nodes" },
    { "priority", 0, OPT_INT, "N", AT(over.priority), -1000, 1000, "larger goes first" },
    { "reuse", 0, OPT_STR, "all|params|none", AT(reuse), 0, 0,
      "which jobs that are done already need not run: those where everything is the same (all, "
      "without this option), where the parameters are (params), or none" },
    { "dry-run", 'n', OPT_FLAG, NULL, AT(dry_run), 0, 0,
      "only show what would run; nothing is sent or started" },
    { "wait", 'w', OPT_FLAG, NULL, AT(wait), 0, 0,
      "stay until all jobs are over; Ctrl-C leaves them running" },
    { "local", 0, OPT_FLAG, NULL, AT(local), 0, 0,
      "start a worker here even on a login node of a cluster" },
    { "yes", 'y', OPT_FLAG, NULL, AT(yes), 0, 0, "more than 10 million configurations are meant" },
    { "json", 0, OPT_FLAG, NULL, AT(json), 0, 0, "print JSON" },
    { 0 },
};

/* What is submitted, and how. */
struct order {
    struct cli *cli;
    const struct options *options;
    struct spec spec;
    struct expand *expand;
    int reuse;
};

static int parse_reuse(const char *word, int *reuse, struct err *e)
{
    *reuse = REUSE_ALL;
    for (int i = 0; word != NULL && i < REUSE_COUNT; i++) {
        if (strcmp(reuse_names[i], word) == 0) {
            *reuse = i;
            return 0;
        }
    }
    if (word == NULL)
        return 0;
    return err_set(e, ERR_USAGE, "--reuse takes all, params or none, not '%s'", word);
}

static int check_count(const struct order *o, struct err *e)
{
    int64_t n = expand_count(o->expand);

    if (n <= CONFIGS_WITHOUT_YES || o->options->yes)
        return 0;
    return err_set(e, ERR_USAGE, "%s: %" PRId64 " configurations; say --yes if that is meant",
                   o->spec.file, n);
}

static int read_order(struct order *o, struct err *e)
{
    struct arena *a = o->cli->arena;

    if (parse_reuse(o->options->reuse, &o->reuse, e) < 0 ||
        spec_read(o->cli->args.words[0], a, &o->spec, e) < 0 ||
        spec_override(&o->spec, &o->options->over, a, e) < 0)
        return -1;
    o->expand = expand_create(&o->spec.params, e);
    if (o->expand == NULL)
        return err_wrap(e, "%s", o->spec.file);
    return check_count(o, e);
}

/* ---- --dry-run ---- */

static void add_config(const struct order *o, int64_t index, struct buf *json)
{
    struct buf point = { 0 };
    struct value v;

    expand_seek(o->expand, index);
    expand_next(o->expand, &point);
    if (mp_read(point.bytes, point.n, o->cli->arena, &v, NULL) == 0)
        json_add_value(json, &v);
    buf_free(&point);
}

static uint64_t data_bytes(const struct cargo *c)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < c->n_data; i++)
        bytes += c->data[i].bytes;
    return bytes;
}

static int64_t count_jobs(const struct order *o)
{
    return expand_count(o->expand) * o->spec.reps;
}

static void add_dry_json(const struct order *o, const struct cargo *c, struct buf *out)
{
    buf_add_str(out, "{\"v\":1,\"project\":");
    json_add_str(out, o->spec.project, strlen(o->spec.project));
    buf_printf(out, ",\"configs\":%" PRId64 ",\"reps\":%" PRId64 ",\"jobs\":%" PRId64,
               expand_count(o->expand), o->spec.reps, count_jobs(o));
    buf_add_str(out, ",\"first\":");
    add_config(o, 0, out);
    buf_add_str(out, ",\"last\":");
    add_config(o, expand_count(o->expand) - 1, out);
    buf_printf(out,
               ",\"source_files\":%zu,\"source_bytes\":%" PRIu64 ",\"data_bytes\":%" PRIu64 "}\n",
               c->source.n_files, c->source.bytes, data_bytes(c));
}

static void add_tree(struct buf *out, const char *what, const char *name, const struct tree *t)
{
    buf_printf(out, "%-9s%s%s%zu file%s, ", what, name, name[0] != '\0' ? ": " : "", t->n_files,
               t->n_files == 1 ? "" : "s");
    units_add_size(out, (int64_t)t->bytes);
    buf_add_char(out, '\n');
}

static void add_dry_text(const struct order *o, const struct cargo *c, struct buf *out)
{
    const struct spec_data *data = o->spec.data.items;
    int64_t n = expand_count(o->expand);

    buf_printf(out, "project  %s\n", o->spec.project);
    buf_printf(out, "jobs     %" PRId64 " configuration%s x %" PRId64 " = %" PRId64 "\n", n,
               n == 1 ? "" : "s", o->spec.reps, count_jobs(o));
    buf_add_str(out, "first    ");
    add_config(o, 0, out);
    buf_add_str(out, "\nlast     ");
    add_config(o, n - 1, out);
    buf_add_char(out, '\n');
    add_tree(out, "source", "", &c->source);
    for (size_t i = 0; i < c->n_data; i++)
        add_tree(out, "data", data[i].name, &c->data[i]);
}

static int dry_run(const struct order *o, struct err *e)
{
    struct buf out = { 0 };
    struct cargo c;
    int result = cargo_load(&c, &o->spec, NULL, false, e);

    if (result == 0 && o->options->json)
        add_dry_json(o, &c, &out);
    else if (result == 0)
        add_dry_text(o, &c, &out);
    cargo_free(&c);
    if (result < 0)
        return -1;
    return out_write(&out, e) < 0 ? -1 : EXIT_WELL;
}

/* ---- submitting ---- */

static void add_git(struct buf *json, const struct work *w)
{
    struct value commit = w->git_commit != NULL ? value_str(w->git_commit) : value_null();

    buf_add_str(json, "\"git\": {\"commit\": ");
    json_add_value(json, &commit);
    buf_printf(json, ", \"dirty\": %s}", w->git_dirty ? "true" : "false");
}

/* summary.json: what was made of the file. */
static void add_summary(const struct order *o, const struct work *w, int64_t sweep,
                        struct buf *json)
{
    const struct param *params = o->spec.params.items;

    buf_printf(json,
               "{\n  \"v\": 1,\n  \"sweep\": %" PRId64 ",\n  \"configs\": %" PRId64
               ",\n  \"reps\": %" PRId64 ",\n  ",
               sweep, expand_count(o->expand), o->spec.reps);
    add_git(json, w);
    buf_add_str(json, ",\n  \"params\": {");
    for (size_t i = 0; i < o->spec.params.n; i++) {
        struct value values = { .type = VALUE_LIST, .list = { params[i].values, params[i].n } };

        buf_add_str(json, i == 0 ? "\n    " : ",\n    ");
        json_add_str(json, params[i].name, strlen(params[i].name));
        buf_add_str(json, ": ");
        json_add_value(json, &values);
    }
    buf_add_str(json, o->spec.params.n > 0 ? "\n  }\n}\n" : "}\n}\n");
}

static int write_sweep_files(const struct order *o, const struct place *to, const struct work *w,
                             int64_t sweep, struct err *e)
{
    struct buf summary = { 0 };
    int result;

    add_summary(o, w, sweep, &summary);
    result = upload_sweep_file(to, sweep, "sweep.yaml", o->spec.text, e);
    if (result == 0)
        result = upload_sweep_file(to, sweep, "summary.json", buf_bytes(&summary), e);
    buf_free(&summary);
    return result;
}

static int say_submitted(const struct order *o, const struct msg_submitted *done, struct err *e)
{
    struct buf out = { 0 };

    out_note("sweep %" PRId64 ": %" PRId64 " configuration%s x %" PRId64 " = %" PRId64
             " job%s (%" PRId64 " reused, %" PRId64 " queued) in project %s",
             done->sweep, done->configs, done->configs == 1 ? "" : "s", done->reps, done->jobs,
             done->jobs == 1 ? "" : "s", done->reused, done->queued, done->project);
    if (o->options->json) {
        out_add_versioned(&out, &submitted_schema, done);
        buf_add_char(&out, '\n');
    } else {
        buf_printf(&out, "%" PRId64 "\n", done->sweep);
    }
    return out_write(&out, e);
}

/* What is needed once the sweep has its number. */
struct opening {
    const struct order *order;
    const struct place *to;
    const struct work *work;
};

static int write_opened(void *context, int64_t sweep, struct err *e)
{
    const struct opening *o = context;

    return write_sweep_files(o->order, o->to, o->work, sweep, e);
}

/* All of it but the files; *sweep is its number. */
static int send(struct order *o, struct session *s, const struct work *work, int64_t *sweep,
                struct err *e)
{
    struct msg_submit_begin begin = { .project = o->spec.project,
                                      .name = o->spec.name,
                                      .reps = o->spec.reps,
                                      .priority = o->spec.priority,
                                      .reuse = o->reuse,
                                      .nodes = o->spec.nodes,
                                      .no_nodes = o->spec.has_nodes && o->spec.nodes.n == 0,
                                      .work = *work };
    struct place to = { s->share, o->spec.project };
    struct opening opening = { o, &to, work };
    struct submission submission = { .rpc = &s->rpc,
                                     .begin = &begin,
                                     .expand = o->expand,
                                     .opened = write_opened,
                                     .context = &opening };
    struct msg_submitted done;

    if (submit_send(&submission, &done, e) < 0)
        return -1;
    *sweep = done.sweep;
    return say_submitted(o, &done, e);
}

static void note_large_source(const struct tree *t)
{
    struct buf size = { 0 };

    if (t->bytes <= SOURCE_USUAL_BYTES)
        return;
    units_add_size(&size, (int64_t)t->bytes);
    out_note("note: the source has %s in %zu files, and each job gets a copy; source: in the file "
             "or a .ludwigignore can leave some out",
             buf_text(&size), t->n_files);
    buf_free(&size);
}

static int upload_and_send(struct order *o, struct session *s, int64_t *sweep, struct err *e)
{
    struct place to = { s->share, o->spec.project };
    struct work work = o->spec.work;
    struct git_state git;
    struct cargo c;
    int result = cargo_load(&c, &o->spec, s->share, true, e);

    if (result == 0) {
        note_large_source(&c.source);
        git_look(o->spec.folder, o->cli->arena, &git);
        work.git_commit = git.commit;
        work.git_dirty = git.dirty;
        cargo_sign(&c, &o->spec, o->cli->arena, &work);
        result = cargo_upload(&c, &to, e);
    }
    cargo_free(&c);
    return result < 0 ? -1 : send(o, s, &work, sweep, e);
}

static int submit(struct order *o, struct err *e)
{
    struct session s = { 0 };
    int64_t sweep = 0;
    int result = session_start(o->cli, &s, o->options->local, e);

    if (result == 0)
        result = upload_and_send(o, &s, &sweep, e);
    if (result == 0 && o->options->wait)
        result = wait_for_sweep(&s.rpc, sweep, e);
    session_close(&s);
    return result;
}

static int run(struct cli *cli, struct err *e)
{
    struct order o = { .cli = cli, .options = cli->options };
    int result = read_order(&o, e);

    if (result == 0)
        result = o.options->dry_run ? dry_run(&o, e) : submit(&o, e);
    expand_destroy(o.expand);
    return result;
}

const struct command cmd_submit = {
    .name = "submit",
    .args = "SWEEP.yaml [OPTION]...",
    .help = "run every configuration of a sweep file",
    .more = "Prints the sweep's number. Without a server configured, one of your own is\n"
            "started on this machine, and results go to ~/ludwig_data.\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
