/* SPDX-License-Identifier: MIT */
/* cmd_submit.c - ludwig submit */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/inputs.h"
#include "client/query/pages.h"
#include "client/session/session.h"
#include "client/session/sweep_wait.h"
#include "client/submit/dryrun.h"
#include "client/submit/submit.h"
#include "client/submit/submit_request.h"
#include "client/term/excerpt.h"
#include "client/term/output.h"
#include "client/util/shell_env.h"

/* With --yes there may be as many points as the protocol can count. */
static const int64_t POINTS_WITH_YES = INT64_C(1) << 40;

struct options {
    struct spec_overrides over;
    const char *param2vals, *reuse;
    bool first_only, dry_run, wait, json, local, yes;
};

#define AT(member) offsetof(struct options, member)

static const struct opt options[] = {
    { "set", 0, OPT_STRS, "NAME=VALUE", AT(over.set), 0, 0,
      "take VALUE (as in the file: 0.5, [1, 2]) for a parameter" },
    { "param2vals", 0, OPT_STR, "FILE.jsonl", AT(param2vals), 0, 0,
      "take the configurations from this file, a JSON object on each line, instead of params: "
      "and what goes with it; - is standard input" },
    { "reps", 0, OPT_INT, "N", AT(over.reps), 1, REPS_MAX, "replications of each configuration" },
    { "project", 0, OPT_STR, "NAME", AT(over.project), 0, 0,
      "put it into this project, whatever the file says" },
    { "name", 0, OPT_STR, "NAME", AT(over.name), 0, 0, "what listings call the sweep" },
    { "minimal", 0, OPT_FLAG, NULL, AT(over.minimal), 0, 0,
      "one short job: each parameter's first value, and those of debug: in the file" },
    { "first-only", 0, OPT_FLAG, NULL, AT(first_only), 0, 0,
      "the first configuration alone, with all of its replications" },
    { "nodes", 0, OPT_STR, "NAME,@GROUP", AT(over.nodes), 0, 0, "only on these nodes" },
    { "partition", 0, OPT_STR, "NAME,NAME", AT(over.partitions), 0, 0,
      "only in these Slurm partitions, as slurm: in the file describes them, if it does" },
    { "priority", 0, OPT_INT, "N", AT(over.priority), -1000, 1000, "larger goes first" },
    { "reuse", 0, OPT_STR, "all|params|none", AT(reuse), 0, 0,
      "which jobs that are done already need not run: those where everything is the same (all, "
      "without this option), where the parameters are (params), or none" },
    { "allow-secrets", 0, OPT_FLAG, NULL, AT(over.allow_secrets), 0, 0,
      "send the source although it is your home folder, or has keys and passwords in it" },
    { "dry-run", 'n', OPT_FLAG, NULL, AT(dry_run), 0, 0,
      "only show what would run; nothing is sent or started. With --json: all configurations" },
    { "wait", 'w', OPT_FLAG, NULL, AT(wait), 0, 0,
      "stay until all jobs are over; Ctrl-C leaves them running" },
    { "local", 0, OPT_FLAG, NULL, AT(local), 0, 0,
      "start a worker here even on a login node of a cluster" },
    { "yes", 'y', OPT_FLAG, NULL, AT(yes), 0, 0, "more than 10 million configurations are meant" },
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

static int read_order(struct submit_request *o, const struct options *opts, struct err *e)
{
    const char *file = o->cli->args.words[0], *list = opts->param2vals, *reuse = opts->reuse;
    struct arena *a = o->cli->arena;
    struct spec *s = &o->spec;
    int64_t points_max = opts->yes ? POINTS_WITH_YES : POINTS_MAX;

    if (list != NULL && strcmp(list, "-") == 0 && strcmp(file, "-") == 0)
        return err_set(e, ERR_USAGE, "only one of the sweep file and --param2vals can be -");
    o->reuse = reuse == NULL ? REUSE_ALL : 0;
    while (reuse != NULL && o->reuse < REUSE_COUNT && strcmp(reuse_names[o->reuse], reuse) != 0)
        o->reuse++;
    if (o->reuse == REUSE_COUNT)
        return err_set(e, ERR_USAGE, "--reuse takes all, params or none, not '%s'", reuse);
    if (spec_read_listed(file, list, a, s, e) < 0)
        return -1;
    if (list != NULL) {
        struct param2vals_wanted wanted = { .path = list,
                                            .command = s->work.command,
                                            .points_max = points_max };

        o->points.list = param2vals_read(&wanted, e);
        if (o->points.list == NULL)
            return -1;
    }
    /* What --minimal runs is made from the first one, as if the sweep file had it. */
    if (list != NULL && opts->over.minimal) {
        s->plan.params = param2vals_first(o->points.list, a);
        points_free(&o->points);
    }
    if (spec_override(s, &opts->over, a, e) < 0 ||
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

static int say_submitted(const struct msg_submitted *done, const char *user, bool json,
                         struct err *e)
{
    int n_project = pages_project_bytes(done->project, user);
    bool is_short = done->project[n_project] != '\0'; /* its name is another's as well */
    struct buf out = { 0 };
    int64_t n = done->done_otherwise;

    if (n > 0)
        output_note("note: %" PRId64
                    " of its jobs %s done before with the same parameters, but with "
                    "another command, source or data: --reuse params takes %s",
                    n, n == 1 ? "was" : "were", n == 1 ? "it" : "them");
    output_note("sweep %" PRId64 ": %" PRId64 " configuration%s x %" PRId64 " = %" PRId64
                " job%s (%" PRId64 " reused, %" PRId64 " queued) in project %.*s%s%s%s",
                done->sweep, done->configs, done->configs == 1 ? "" : "s", done->reps, done->jobs,
                done->jobs == 1 ? "" : "s", done->reused, done->queued, n_project,
                done->project, is_short ? " (its folder is " : "", is_short ? done->project : "",
                is_short ? ")" : "");
    if (done->note != NULL)
        output_note("note: no worker can run it, so it waits: %s", done->note);
    if (json)
        return output_write_json(&submitted_schema, done, e);
    if (!output_is_terminal(STDOUT_FILENO)) /* on one, the line above says it */
        buf_printf(&out, "%" PRId64 "\n", done->sweep);
    return output_write(&out, e);
}

static int submit(const struct submit_request *o, const struct options *opts, struct err *e)
{
    const struct session_wants wants = { .worker = opts->local,
                                         .sends_files = true,
                                         .files_bytes = inputs_glance(&o->spec) };
    struct msg_submitted done = { 0 };
    struct session s = { 0 };
    int result;

    submit_begin_look(o->git, o->spec.folder);
    result = session_start(o->cli, &s, &wants, e);
    /* Before anything is sent: a client that waits would wait for ever. */
    if (result == 0 && opts->wait && s.has_no_worker && o->spec.pools.n == 0)
        result = err_set(
            e, ERR_USAGE,
            "nothing was submitted, as --wait would wait for ever: no worker is connected, "
            "and the sweep names no partition of Slurm. --local starts a worker on this "
            "login node; --partition NAME, or slurm: in the sweep's file, has Slurm run the "
            "jobs. Without --wait the sweep waits for a worker");
    if (result == 0)
        result = submit_sweep(o, &s, &done, e);
    submit_end_look(o->git);
    if (result == 0)
        result = say_submitted(&done, s.rpc.welcome.user, opts->json, e);
    if (result == 0 && opts->wait)
        result = sweep_wait(&s.rpc, done.sweep, e);
    session_close(&s);
    return result;
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *opts = cli->options;
    struct git_look git = { 0 };
    struct submit_request o = { .cli = cli, .git = &git };
    int result = read_order(&o, opts, e);

    if (result == 0)
        result = opts->dry_run ? dryrun(&o, opts->json, e) : submit(&o, opts, e);
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
            "The files beside it go along, and what a job writes to $LUDWIG_SAVE_PATH is\n"
            "kept. All that a sweep file can say is in `man ludwig-sweep`; --dry-run shows\n"
            "what would become of yours. - is standard input: its paths begin in the current\n"
            "folder.\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
