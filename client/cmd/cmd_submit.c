/* SPDX-License-Identifier: MIT */
/* cmd_submit.c - ludwig submit */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/inputs.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/query/sweepview.h"
#include "client/results/ranked.h"
#include "client/session/session.h"
#include "client/session/sweep_wait.h"
#include "client/spec/describe.h"
#include "client/submit/dryrun.h"
#include "client/submit/environment.h"
#include "client/submit/submit.h"
#include "client/submit/submit_request.h"
#include "client/term/excerpt.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "client/util/shell_env.h"
#include "common/data/json.h"

/* With --yes, as many points as the protocol can count. */
static const int64_t POINTS_WITH_YES = INT64_C(1) << 40;

struct options {
    struct spec_overrides over;
    const char *param2vals, *from, *reuse;
    int64_t top;
    bool first_only, dry_run, verbose, wait, json, local, yes;
};

#define AT(member) offsetof(struct options, member)

static const struct opt options[] = {
    { "set", 0, OPT_STRS, "NAME=VALUE", AT(over.set), 0, 0,
      "use VALUE (as in the file: 0.5, [1, 2]) for a parameter" },
    { "param2vals", 0, OPT_STR, "FILE.jsonl", AT(param2vals), 0, 0,
      "take the configurations from this file, a JSON object on each line, instead of params: "
      "and what goes with it; - is standard input" },
    { "from", 0, OPT_STR, "SWEEP", AT(from), 0, 0,
      "take the best configurations of that sweep instead of params: and what goes with it" },
    { "top", 0, OPT_INT, "N", AT(top), 1, INT64_MAX, "with --from: how many (1 without it)" },
    { "reps", 0, OPT_INT, "N", AT(over.reps), 1, REPS_MAX, "replications of each configuration" },
    { "name", 0, OPT_STR, "NAME", AT(over.name), 0, 0, "the sweep's name in listings" },
    { "minimal", 0, OPT_FLAG, NULL, AT(over.minimal), 0, 0,
      "one short job: each parameter's first value, and the values of debug: in the file" },
    { "first-only", 0, OPT_FLAG, NULL, AT(first_only), 0, 0,
      "only the first configuration, with all its replications" },
    { "nodes", 0, OPT_STR, "NAME,@GROUP", AT(over.nodes), 0, 0, "only on these nodes" },
    { "partition", 0, OPT_STR, "NAME,NAME", AT(over.partitions), 0, 0,
      "only in these Slurm partitions, with the options that slurm: in the file gives them" },
    { "priority", 0, OPT_INT, "N", AT(over.priority), -1000, 1000,
      "sweeps with a larger number run first" },
    { "reuse", 0, OPT_STR, "all|params|none", AT(reuse), 0, 0,
      "which finished jobs to reuse: all (the default) if nothing changed, params if the parameters "
      "are equal, none" },
    { "allow-secrets", 0, OPT_FLAG, NULL, AT(over.allow_secrets), 0, 0,
      "send the source although it is your home folder, or has keys and passwords in it" },
    { "dry-run", 'n', OPT_FLAG, NULL, AT(dry_run), 0, 0,
      "only show what would run; send and start nothing. With --json: all configurations" },
    { "verbose", 'v', OPT_FLAG, NULL, AT(verbose), 0, 0,
      "with --dry-run: name every file that goes along" },
    { "wait", 'w', OPT_FLAG, NULL, AT(wait), 0, 0,
      "wait until all jobs have ended, or are held; Ctrl-C leaves them running" },
    { "local", 0, OPT_FLAG, NULL, AT(local), 0, 0,
      "start a worker here even on a login node of a cluster" },
    { "yes", 'y', OPT_FLAG, NULL, AT(yes), 0, 0, "allow more than 10 million configurations" },
    { "json", 0, OPT_FLAG, NULL, AT(json), 0, 0, "print JSON" },
    { 0 },
};

static void say_notes(const struct points *p)
{
    struct buf notes = { 0 };

    points_add_notes(p, &notes);
    for (const char *line = buf_text(&notes); *line != '\0';) {
        size_t n = strcspn(line, "\n");

        output_note("note: %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
    buf_free(&notes);
}

/* Whether the words are a command: all stand behind "--", and are not the name of a sweep file. */
static bool is_command(const struct cli *cli)
{
    const struct opt_words *args = &cli->args, *given = &cli->given;
    const char *dot = strrchr(args->words[0], '.');
    size_t end = 0;

    while (end < given->n && strcmp(given->words[end], "--") != 0)
        end++;
    return end < given->n && given->n - end - 1 == args->n &&
           (args->n > 1 || dot == NULL || (strcmp(dot, ".yaml") != 0 && strcmp(dot, ".yml") != 0));
}

static int read_spec(const struct cli *cli, const char *list, struct spec *s, struct err *e)
{
    const struct opt_words *args = &cli->args;
    struct arena *a = cli->arena;

    if (!is_command(cli) && args->n > 1)
        return err_set(e, ERR_USAGE,
                       "'%s' is one argument too many; usage: ludwig submit SWEEP.yaml [OPTION]... "
                       "(without a sweep file: ludwig submit [OPTION]... -- COMMAND)",
                       args->words[1]);
    if (!is_command(cli))
        return spec_read_listed(args->words[0], list, a, s, e);
    if (list != NULL)
        return err_set(e, ERR_USAGE, "--param2vals goes with a sweep file, not with a command");
    return spec_of_words(args->words, args->n, a, s, e);
}

/* The best configurations of another sweep, as --param2vals would read them from a file. */
static int read_best(struct cli *cli, const struct options *opts, struct buf *lines, struct err *e)
{
    const struct measures_said said = { 0 };
    int64_t top = opts->top == OPT_UNSET ? 1 : opts->top, sweep;
    int result = -1, ranked_by = -1;
    struct aggregate g;
    struct session s;

    if (session_open(cli, &s, e) < 0)
        return -1;
    aggregate_init(&g);
    if (selector_sweep(&s.rpc, opts->from, &sweep, e) == 0)
        result = ranked_read(&s.rpc, sweep, &said, cli->arena, &g, &ranked_by, e);
    for (size_t i = 0; result == 0 && i < g.n && i < (size_t)top; i++) {
        const struct measure *m = aggregate_measure(&g.configs[i], (size_t)ranked_by);

        if (m == NULL || isnan(m->last.mean))
            break;
        json_add_value(lines, &g.configs[i].params);
        buf_add_char(lines, '\n');
        if (i == 0 || i + 1 == (size_t)top)
            output_note("%s of sweep %" PRId64 ": %s, with a mean %s of %.6g",
                        i == 0 ? "best" : "the last one taken", sweep, g.configs[i].param_name,
                        g.metrics[ranked_by], m->last.mean);
    }
    aggregate_free(&g);
    session_close(&s);
    return result;
}

/* The list of configurations that --param2vals or --from names. */
static struct param2vals *read_list(struct cli *cli, const struct options *opts,
                                    const char *command, int64_t points_max, struct err *e)
{
    struct buf lines = { 0 };
    char *name = opts->from != NULL ? mem_printf("sweep %s", opts->from) : NULL;
    const struct param2vals_wanted wanted = { .path = name != NULL ? name : opts->param2vals,
                                              .text = name != NULL ? &lines : NULL,
                                              .command = command,
                                              .points_max = points_max };
    struct param2vals *list = NULL;

    if (name == NULL || read_best(cli, opts, &lines, e) == 0)
        list = param2vals_read(&wanted, e);
    buf_free(&lines);
    free(name);
    return list;
}

static int read_order(struct submit_request *o, const struct options *opts, struct err *e)
{
    const char *file = o->cli->args.words[0], *reuse = opts->reuse;
    const char *list = opts->param2vals;
    struct arena *a = o->cli->arena;
    struct spec *s = &o->spec;
    int64_t points_max = opts->yes ? POINTS_WITH_YES : POINTS_MAX;

    if (opts->from != NULL && opts->param2vals != NULL)
        return err_set(e, ERR_USAGE, "either --from or --param2vals");
    if (opts->from != NULL && (opts->over.set.n > 0 || opts->over.minimal))
        return err_set(e, ERR_USAGE, "--from takes the parameters of that sweep: without %s",
                       opts->over.minimal ? "--minimal" : "--set");
    if (opts->from == NULL && opts->top != OPT_UNSET)
        return err_set(e, ERR_USAGE, "--top goes with --from");
    if (list != NULL && strcmp(list, "-") == 0 && strcmp(file, "-") == 0)
        return err_set(e, ERR_USAGE, "only one of the sweep file and --param2vals can be -");
    o->reuse = reuse == NULL ? REUSE_ALL : 0;
    while (reuse != NULL && o->reuse < REUSE_COUNT && strcmp(reuse_names[o->reuse], reuse) != 0)
        o->reuse++;
    if (o->reuse == REUSE_COUNT)
        return err_set(e, ERR_USAGE, "--reuse takes all, params or none, not '%s'", reuse);
    if (read_spec(o->cli, list, s, e) < 0)
        return -1;
    if (list != NULL || opts->from != NULL) {
        o->points.list = read_list(o->cli, opts, s->work.command, points_max, e);
        if (o->points.list == NULL)
            return -1;
    }
    /* --minimal takes the first configuration, as if the sweep file had it. */
    if (list != NULL && opts->over.minimal) {
        s->plan.params = param2vals_first(o->points.list, a);
        points_free(&o->points);
    }
    if (spec_override(s, &opts->over, a, e) < 0 || environment_take(s, a, e) < 0 ||
        shell_env_read(&s->work.passed, a, &o->passed, e) < 0)
        return -1;
    if (o->points.list == NULL) {
        o->points.expand =
            expand_create(&s->plan, s->file, opts->first_only ? EXPAND_FIRST : points_max, e);
        if (o->points.expand == NULL) {
            excerpt_add(e, s->file, (const char *)s->text.data);
            return -1;
        }
    }
    o->configs = opts->first_only ? 1 : points_count(&o->points);
    if (!opts->first_only)
        say_notes(&o->points);
    return 0;
}

/* ---- submitting ---- */

/* changes: what has changed in the source since such jobs were done. */
static void say_done_otherwise(const struct msg_submitted *done, const struct buf *changes)
{
    int64_t n = done->done_otherwise;
    struct buf how = { 0 };

    if (done->done_in != NULL) {
        buf_add_str(&how, "in another environment (");
        safe_text_add_harmless(&how, done->done_in, strlen(done->done_in), "");
        buf_add_char(&how, ')');
    } else {
        buf_printf(&how, "a different command, source or data%s%s%s", changes->n > 0 ? " (" : "",
                   buf_text(changes), changes->n > 0 ? ")" : "");
    }
    output_note("note: %" PRId64 " of its jobs finished earlier with the same parameters but %s; "
                "--reuse params accepts %s",
                n, buf_text(&how), n == 1 ? "it" : "those");
    buf_free(&how);
}

static void say_advised(const struct spec *s, const struct msg_submitted *done)
{
    struct buf words = { 0 }, text = { 0 };

    spec_add_advisor(s, &text);
    safe_text_add_harmless(&words, buf_text(&text), text.n, "");
    output_note("sweep %" PRId64 " in project %s: %s", done->sweep, done->project,
                buf_text(&words));
    buf_free(&words);
    buf_free(&text);
}

static int say_submitted(const struct spec *s, const struct msg_submitted *done,
                         const struct buf *changes, bool json, struct err *e)
{
    struct buf out = { 0 }, unused = { 0 };

    if (done->done_otherwise > 0)
        say_done_otherwise(done, changes);
    if (spec_has_advisor(s))
        say_advised(s, done);
    else
        output_note("sweep %" PRId64 ": %" PRId64 " configuration%s x %" PRId64 " = %" PRId64
                    " job%s (%" PRId64 " reused, %" PRId64 " queued) in project %s",
                    done->sweep, done->configs, done->configs == 1 ? "" : "s", done->reps,
                    done->jobs, done->jobs == 1 ? "" : "s", done->reused, done->queued,
                    done->project);
    if (done->followed > 0) {
        struct buf followed = { 0 };

        submit_request_add_followed(&followed, done->followed, done->followed_first,
                                    done->followed_last);
        output_note("note: %s: this sweep takes their results (--reuse none runs them again)",
                    buf_text(&followed));
        buf_free(&followed);
    }
    describe_unused(&unused, &s->work.resources, done->ran_jobs, done->max_rss_bytes,
                    done->longest_ms);
    if (unused.n > 0)
        output_note("note: %s", buf_text(&unused));
    buf_free(&unused);
    if (done->note != NULL)
        output_note("note: no worker can run it, so it waits: %s", done->note);
    if (json)
        return output_write_json(&submitted_schema, done, e);
    if (!output_is_terminal(STDOUT_FILENO)) /* on a terminal the line above has the number */
        buf_printf(&out, "%" PRId64 "\n", done->sweep);
    return output_write(&out, e);
}

static void note_resources(const struct spec *s, const struct buf *gpus)
{
    struct buf time = { 0 };

    if (gpus->n > 0)
        output_note("note: %s", buf_text(gpus));
    describe_pilots_time(&time, s);
    if (time.n > 0)
        output_note("note: %s", buf_text(&time));
    buf_free(&time);
}

/* Prints why jobs of a sweep that is over failed; connects anew, as messages may wait in rpc. */
static int say_failures(struct rpc *rpc, int64_t sweep, struct err *e)
{
    struct failures f = { 0 };
    struct sweep_info info;
    struct buf text = { 0 };

    if (rpc_reopen(rpc, e) < 0 || pages_sweep(rpc, sweep, &info, e) < 0)
        return -1;
    if (!progress_has_stopped(&info) || info.jobs.failed == 0)
        return 0;
    if (failures_read(rpc, sweep, &f, e) < 0)
        return -1;
    failures_add(&text, &f);
    if (text.n > 0)
        output_note("%s", buf_text(&text));
    if (f.n > 0)
        output_note("`ludwig why %s` shows the end of its log", f.reasons[0].job);
    buf_free(&text);
    failures_free(&f);
    return 0;
}

/* Prints in one line the environment of the jobs, if it is more than what every node has. */
static void say_environment(const struct spec *s)
{
    struct buf text = { 0 };

    environment_describe(&s->work.environment, &text);
    if (text.n > 0)
        output_note("environment: %s", buf_text(&text));
    buf_clear(&text);
    environment_add_note(s, &text);
    if (text.n > 0)
        output_note("note: %s", buf_text(&text));
    buf_free(&text);
}

static int submit(const struct submit_request *o, const struct options *opts, struct err *e)
{
    const struct session_wants wants = { .worker = opts->local,
                                         .sends_files = true,
                                         .files_bytes = inputs_glance(&o->spec) };
    struct msg_submitted done = { 0 };
    struct submit_notes notes = { 0 };
    struct session s = { 0 };
    int result;

    say_environment(&o->spec);
    submit_begin_look(o->git, o->spec.folder);
    result = session_start(o->cli, &s, &wants, e);
    /* Checked before anything is sent, as --wait would wait for ever. */
    if (result == 0 && opts->wait && s.has_no_worker && o->spec.pools.n == 0)
        result = err_set(
            e, ERR_USAGE,
            "nothing was submitted, as --wait would wait for ever: no worker is connected, "
            "and the sweep names no partition of Slurm. --local starts a worker on this "
            "login node; --partition NAME, or slurm: in the sweep's file, has Slurm run the "
            "jobs. Without --wait the sweep waits for a worker");
    if (result == 0)
        result = submit_sweep(o, &s, &done, &notes, e);
    submit_end_look(o->git);
    if (result == 0)
        note_resources(&o->spec, &notes.gpus);
    if (result == 0)
        result = say_submitted(&o->spec, &done, &notes.changes, opts->json, e);
    if (result == 0 && opts->wait)
        result = sweep_wait(&s.rpc, done.sweep, e);
    if (result == EXIT_FAILED && opts->wait)
        (void)say_failures(&s.rpc, done.sweep, NULL); /* the sweep has ended, whatever this says */
    session_close(&s);
    buf_free(&notes.changes);
    buf_free(&notes.gpus);
    return result;
}

static int run_submit(struct cli *cli, struct err *e)
{
    const struct options *opts = cli->options;
    struct git_look git = { 0 };
    struct submit_request o = { .cli = cli, .git = &git };
    int result = read_order(&o, opts, e);

    if (result == 0)
        result = opts->dry_run ? dryrun(&o,
                                        opts->json      ? DRYRUN_JSON
                                        : opts->verbose ? DRYRUN_FILES
                                                        : DRYRUN_SHORT,
                                        e)
                               : submit(&o, opts, e);
    points_free(&o.points);
    return result;
}

const struct command cmd_submit = {
    .name = "submit",
    .args = "SWEEP.yaml [OPTION]...",
    .help = "run every configuration of a sweep file",
    .more = "Prints the sweep's number. Without a server configured, one of your own is\n"
            "started on this machine, and results go to ~/ludwig_data.\n"
            "\n"
            "A sweep file says what to run (command:) with which parameters (params:, where\n"
            "lists are swept):\n"
            "\n"
            "    command: python3 train.py --lr {lr} --hidden {hidden}\n"
            "    params: {lr: [0.1, 0.01], hidden: [64, 128]}\n"
            "\n"
            "The files beside it are sent along, and what a job writes to $LUDWIG_SAVE_PATH\n"
            "is kept. `man ludwig-sweep` describes all that a sweep file can say; --dry-run\n"
            "shows what yours would do. `-` reads the sweep from standard input; paths in\n"
            "it are then relative to the current folder.\n"
            "\n"
            "A command behind -- is a sweep of one job, without a file:\n"
            "\n"
            "    ludwig submit --wait -- python3 train.py --lr 0.1\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run_submit,
};
