/* SPDX-License-Identifier: MIT */
/* cmd_best.c - ludwig best */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "client/query/selector.h"
#include "client/results/ranked.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/data/json.h"
#include "common/data/yaml.h"

struct options {
    struct measures_said measures;
    bool yaml, json;
};

#define AT(member) offsetof(struct options, member)

static const struct opt options[] = {
    { "sort", 's', OPT_STR, "METRIC", AT(measures.sort), 0, 0,
      "the best by the mean of this measure; default: the one that results: in the sweep names" },
    { "goal", 0, OPT_STR, "max|min", AT(measures.goal), 0, 0,
      "whether large or small values of that measure are good" },
    { "yaml", 0, OPT_FLAG, NULL, AT(yaml), 0, 0, "print its parameters alone, as YAML" },
    { "json", 0, OPT_FLAG, NULL, AT(json), 0, 0, "print JSON, as `ludwig results` does" },
    { 0 },
};

/* Appends the best configuration's mean, "highest of 12 configurations", jobs and parameters. */
static void add_text(struct buf *out, const struct aggregate *g, size_t metric)
{
    const struct config_result *c = &g->configs[0];
    const struct measure *m = aggregate_measure(c, metric);

    buf_printf(out, "%s: %s %.6g", c->param_name, g->metrics[metric], m->last.mean);
    if (!isnan(m->last.std))
        buf_printf(out, " ± %.2g", m->last.std);
    buf_printf(out, ", the %s mean of %zu configuration%s (",
               m->goal == GOAL_MIN ? "lowest" : "highest", g->n, g->n == 1 ? "" : "s");
    for (size_t i = 0, n = 0; i < c->n_jobs; i++)
        if (c->jobs[i].done)
            buf_printf(out, "%s%s", n++ == 0 ? c->n_done == 1 ? "job " : "jobs " : ", ",
                       c->jobs[i].job);
    buf_add_str(out, ")\n");
    for (size_t i = 0; c->params.type == VALUE_MAP && i < c->params.map.n; i++) {
        const struct member *p = &c->params.map.members[i];

        buf_printf(out, "  %s: ", p->key.str.s);
        json_add_text(out, &p->value);
        buf_add_char(out, '\n');
    }
}

static int show(const struct options *o, struct aggregate *g, int ranked_by, struct arena *a,
                struct err *e)
{
    struct results_view v = { .aggregate = g, .ranked_by = ranked_by, .n = 1 };
    struct buf text = { 0 }, out = { 0 };

    if (o->json)
        return measures_choose(&v, &o->measures, a, e) < 0 ? -1 : results_write_json(&v, e);
    if (o->yaml) {
        yaml_add_value(&out, &g->configs[0].params);
        return output_write(&out, e);
    }
    add_text(&text, g, (size_t)ranked_by);
    safe_text_add_harmless(&out, buf_text(&text), text.n, "\n");
    buf_free(&text);
    return output_write(&out, e);
}

static int show_best(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    const char *word = cli->args.n > 0 ? cli->args.words[0] : "last";
    struct aggregate g;
    struct session s;
    int64_t sweep;
    int result, ranked_by = -1;

    if (o->json && o->yaml)
        return err_set(e, ERR_USAGE, "either --json or --yaml");
    if (selector_check(&cli->args, e) < 0 || session_read(cli, &s, e) < 0)
        return -1;
    aggregate_init(&g);
    result = selector_sweep(&s.rpc, word, &sweep, e);
    if (result == 0)
        result = ranked_read(&s.rpc, sweep, &o->measures, cli->arena, &g, &ranked_by, e);
    if (result == 0)
        result = show(o, &g, ranked_by, cli->arena, e);
    aggregate_free(&g);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_best = {
    .name = "best",
    .args = "[SWEEP] [OPTION]...",
    .help = "show the best configuration of a sweep",
    .more = "SWEEP is a number, or last, which is the default.\n"
            "\n"
            "  ludwig best 7\n"
            "  ludwig best 7 --yaml > best.yaml\n"
            "  ludwig submit sweep.yaml --from 7 --top 3 --reps 10\n",
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = show_best,
};
