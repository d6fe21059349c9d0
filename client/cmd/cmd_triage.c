/* SPDX-License-Identifier: MIT */
/* cmd_triage.c - ludwig triage */
#include <inttypes.h>
#include <string.h>

#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/query/triage.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/proto/param_test.h"

enum { GROUPS_SHOWN = 20 };

struct options {
    bool json;
};

static const struct opt options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

static int take_jobs(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    (void)e;
    for (size_t i = 0; i < n; i++)
        triage_add(context, &jobs[i]);
    return 0;
}

static void add_group(struct buf *out, const struct triage_group *g)
{
    const struct triage_reason *reasons = g->reasons.items;

    buf_printf(out, "\n%" PRId64 " x %s (%s%s)\n", g->failed, g->example,
               g->failed > 1 ? "first: " : "", g->first);
    for (size_t i = 0; i < g->reasons.n; i++) {
        buf_add_str(out, "  ");
        triage_add_reason(out, &reasons[i]);
        if (!reasons[i].is_sure)
            buf_printf(out, " (perhaps by chance: p = %.2g)", reasons[i].p);
        buf_add_char(out, '\n');
    }
    if (g->reasons.n == 0 && g->failed > 1)
        buf_add_str(out, "  no parameter or node explains these\n");
}

static int show(const struct triage_answer *a, struct err *e)
{
    const struct triage_group *groups = a->causes.items;
    const struct triage_reason *reasons;
    struct buf text = { 0 }, out = { 0 };
    size_t n = a->causes.n;
    int64_t failed = 0;

    for (size_t i = 0; i < n; i++)
        failed += groups[i].failed;
    if (failed == 0) {
        output_note("sweep %" PRId64 ": no job has failed; %" PRId64 " ended well", a->sweep,
                    a->jobs);
        return 0;
    }
    buf_printf(&text, "sweep %" PRId64 ": %" PRId64 " of the %" PRId64 " jobs that ended failed",
               a->sweep, failed, a->jobs);
    buf_printf(&text, ", of %zu cause%s\n", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < GROUPS_SHOWN; i++)
        add_group(&text, &groups[i]);
    if (n > GROUPS_SHOWN)
        buf_printf(&text, "\nand %zu causes more (--json has them)\n", n - GROUPS_SHOWN);
    reasons = groups[0].reasons.items;
    buf_printf(&text, "\n`ludwig why %s` shows the end of its log", groups[0].first);
    if (groups[0].reasons.n > 0 && reasons[0].is_sure) {
        buf_printf(&text, ",\n`ludwig jobs %" PRId64 " --where ", a->sweep);
        param_test_add_word(&text, reasons[0].test);
        buf_add_str(&text, "` all jobs with that");
    }
    buf_add_char(&text, '\n');
    safe_text_add_harmless(&out, buf_text(&text), text.n, "\n");
    buf_free(&text);
    return output_write(&out, e);
}

static int explain_failures(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    const struct opt_words words = selector_words_or_last(&cli->args);
    const char *states[] = { job_state_names[JOB_DONE], job_state_names[JOB_FAILED] };
    const struct job_filter filter = { .states = { states, 2 } };
    struct target whole = { 0 };
    const struct list targets = { &whole, 1 };
    struct triage *t;
    struct session s;
    int result;

    if (selector_check(&words, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    t = triage_create();
    result = selector_sweep(&s.rpc, words.words[0], &whole.sweep, e);
    if (result == 0)
        result = pages_jobs(&s.rpc, &targets, &filter, take_jobs, t, e);
    if (result == 0) {
        struct triage_answer answer = { whole.sweep, triage_jobs(t), triage_judge(t) };

        result = o->json ? output_write_json(&triage_answer_schema, &answer, e) : show(&answer, e);
    }
    triage_destroy(t);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_triage = {
    .name = "triage",
    .args = "[SWEEP] [OPTION]...",
    .help = "group a sweep's failures by their cause, and say what those of each have in common",
    .more = "SWEEP is a number, or last, which is the default. Jobs failed of the same\n"
            "cause if they ended in the same way with the same error line, apart from\n"
            "numbers and folders. Of all values of parameters, and nodes, the one is named\n"
            "by which they differ most from the jobs that did not fail so, or two or three\n"
            "values together.\n"
            "\n"
            "  ludwig triage 7\n",
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = explain_failures,
};
