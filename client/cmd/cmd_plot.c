/* SPDX-License-Identifier: MIT */
/* cmd_plot.c - ludwig plot */
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "client/plot/plot.h"
#include "client/query/selector.h"
#include "client/results/gather.h"
#include "client/results/ranked.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "common/base/io.h"

/* The size without a terminal, and the least width. */
enum { COLUMNS_USUAL = 100, ROWS_USUAL = 40, COLUMNS_LEAST = 60 };

struct options {
    struct measures_said measures;
    const char *where;
    const char *output;
};

#define AT(member) offsetof(struct options, member)

static const struct opt options[] = {
    { "sort", 's', OPT_STR, "METRIC", AT(measures.sort), 0, 0,
      "this measure, as METRIC; default: the one that results: in the sweep names" },
    { "goal", 0, OPT_STR, "max|min", AT(measures.goal), 0, 0,
      "whether large or small values of that measure are good" },
    { "where", 0, OPT_STR, "TEST", AT(where), 0, 0,
      "only configurations for which TEST holds, as 'lr > 0.01 and accuracy >= 0.9'" },
    { "output", 'o', OPT_STR, "FILE", AT(output), 0, 0,
      "write the picture to this file, by its name .svg, .png or .pdf" },
    { 0 },
};

struct plot_command {
    struct session session;
    struct aggregate aggregate;
    struct gathered gathered;
    struct where *where; /* NULL: all */
    struct measures_said said;
};

/* Fetches all that is plotted; sorts the configurations before it looks for their jobs. */
static int learn(struct plot_command *p, int64_t sweep, struct err *e)
{
    struct gathered *g = &p->gathered;
    struct aggregate *a = &p->aggregate;
    const struct measure *best;

    if (gather_sweep(g, &p->session, sweep, &p->said, e) < 0)
        return -1;
    if (a->n_metrics == 0)
        return err_set(
            e, ERR_FAILED,
            "sweep %" PRId64 ": no job has reported a measure yet (see ludwig help report)", sweep);
    if (g->ranked_by < 0)
        return err_set(e, ERR_USAGE,
                       "sweep %" PRId64 ": which measure? (`ludwig results %" PRId64
                       "` shows those there are)",
                       sweep, sweep);
    if (p->where != NULL && ranked_leave_out(a, p->where, e) < 0)
        return -1;
    aggregate_sort(a, (size_t)g->ranked_by);
    best = a->n > 0 ? aggregate_measure(&a->configs[0], (size_t)g->ranked_by) : NULL;
    if (best == NULL || !isfinite(best->last.mean))
        return err_set(e, ERR_FAILED,
                       "sweep %" PRId64 ": no configuration%s has a finite mean of %s", sweep,
                       p->where != NULL ? " that matches" : "", a->metrics[g->ranked_by]);
    return gather_learn(g, &p->session, e);
}

static int write_picture(struct plot_command *p, const char *path, struct err *e)
{
    struct buf out = { 0 };
    int result;

    result = plot_add_picture(&out, &p->gathered, (size_t)p->gathered.ranked_by,
                              picture_form_of(path), e);
    if (result == 0)
        result = io_replace_file(path, out.bytes, out.n, 0666, e);
    buf_free(&out);
    return result;
}

static int show(struct plot_command *p, struct err *e)
{
    size_t columns = output_columns(STDOUT_FILENO), rows = output_rows(STDOUT_FILENO);
    struct plot_size size = { .has_braille = output_has_utf8(),
                              .colours = colours_of(STDOUT_FILENO) };
    struct buf out = { 0 };

    size.columns = columns == SIZE_MAX ? COLUMNS_USUAL : columns;
    size.columns = size.columns < COLUMNS_LEAST ? COLUMNS_LEAST : size.columns;
    size.rows = rows == SIZE_MAX ? ROWS_USUAL : rows - 1; /* the prompt comes below */
    plot_add(&out, &p->gathered, (size_t)p->gathered.ranked_by, &size);
    return output_write(&out, e);
}

static int show_plot(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct plot_command p = { .gathered = { .arena = cli->arena }, .said = o->measures };
    const char *word = cli->args.n > 0 ? cli->args.words[0] : "last";
    int64_t sweep;
    int result;

    if (cli->args.n > 1 && o->measures.sort != NULL)
        return err_set(e, ERR_USAGE, "either METRIC or --sort METRIC");
    if (cli->args.n > 1)
        p.said.sort = cli->args.words[1];
    if (o->output != NULL && picture_form_of(o->output) == PICTURE_FORM_COUNT)
        return err_set(e, ERR_USAGE,
                       "--output: the name '%s' ends neither in .svg nor in .png or .pdf",
                       o->output);
    if ((o->where != NULL && (p.where = where_parse(o->where, cli->arena, e)) == NULL) ||
        session_read(cli, &p.session, e) < 0)
        return -1;
    aggregate_init(&p.aggregate);
    p.gathered.aggregate = &p.aggregate;
    result = selector_sweep(&p.session.rpc, word, &sweep, e);
    if (result == 0)
        result = learn(&p, sweep, e);
    if (result == 0)
        result = o->output != NULL ? write_picture(&p, o->output, e) : show(&p, e);
    gather_free(&p.gathered);
    aggregate_free(&p.aggregate);
    session_close(&p.session);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_plot = {
    .name = "plot",
    .args = "[SWEEP] [METRIC] [OPTION]...",
    .help = "draw what the jobs of a sweep measured, on the terminal",
    .more = "Curves of the configurations, the best one's with a band of one standard\n"
            "deviation over its replications; the best mean as jobs ended; importance; and a\n"
            "strip for each parameter, the most important first, with a dot for each\n"
            "configuration. Colours go from the worst configuration to the best. What is far\n"
            "worse than the others lies on the edge. The picture fills the terminal; in a\n"
            "file it is 120 columns wide. PDF and PNG have letters of their own, for Latin,\n"
            "Greek and Cyrillic. SWEEP is a number or last, the default.\n"
            "\n"
            "  ludwig plot\n"
            "  ludwig plot 7 loss --where 'lr < 0.1'\n"
            "  ludwig plot 7 -o sweep.pdf\n",
    .max_args = 2,
    .options = options,
    .options_size = sizeof(struct options),
    .run = show_plot,
};
