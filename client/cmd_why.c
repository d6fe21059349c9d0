/* SPDX-License-Identifier: MIT */
/* cmd_why.c - ludwig why */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/jobinfo.h"
#include "client/logfile.h"
#include "client/out.h"
#include "client/selector.h"
#include "client/session.h"
#include "client/text.h"
#include "common/path.h"

enum { LOG_LINES = 10 };

struct options {
    bool json;
};

static const struct opt options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

static void add_line(struct buf *out, const char *indent, const char *text)
{
    buf_add_str(out, indent);
    text_add_harmless(out, text, strlen(text), "");
    buf_add_char(out, '\n');
}

static int show_answer(const struct msg_why *why, struct err *e)
{
    const char *const *lines = why->lines.items;
    struct buf out = { 0 }, params = { 0 };

    buf_printf(&out, "job %s: %s\n", why->job.job, job_state_names[why->job.state]);
    jobinfo_add_params(&params, &why->job.params);
    if (params.n > 0)
        add_line(&out, "  ", buf_text(&params));
    buf_free(&params);
    for (size_t i = 0; i < why->lines.n; i++)
        add_line(&out, "  ", lines[i]);
    return out_write(&out, e);
}

static int show_tail(struct logfile *log, const char *path, struct err *e)
{
    struct buf head = { 0 };

    buf_add_str(&head, "\nThe end of its log (");
    text_add_harmless(&head, path, strlen(path), "");
    buf_add_str(&head, "):\n");
    if (out_write(&head, e) < 0 || logfile_seek_lines(log, LOG_LINES, e) < 0 ||
        logfile_copy(log, e) < 0)
        return -1;
    return logfile_finish(log, e);
}

/* Not every machine sees the share, and that says nothing about the job. */
static int show_log(const struct session *s, const struct job_info *j, struct err *e)
{
    struct logfile log;
    char *path;
    int result = 0;

    if (j->state != JOB_FAILED || j->log_path == NULL)
        return 0;
    path = path_join(s->share, j->log_path);
    if (logfile_open(&log, path, true, NULL) > 0) {
        result = show_tail(&log, path, e);
        logfile_close(&log);
    }
    free(path);
    return result;
}

static int show_json(const struct msg_why *why, struct err *e)
{
    struct buf out = { 0 };

    out_add_versioned(&out, proto.messages[MSG_WHY].schema, why);
    buf_add_char(&out, '\n');
    return out_write(&out, e);
}

static int ask(struct session *s, const char *word, bool json, struct err *e)
{
    struct target t;
    struct msg_ask_why request;
    struct msg_why why;

    if (selector_job(&s->rpc, word, &t, e) < 0)
        return -1;
    request = (struct msg_ask_why){ t.sweep, t.first };
    if (rpc_call(&s->rpc, MSG_ASK_WHY, &request, &why, e) < 0)
        return -1;
    if (json)
        return show_json(&why, e);
    return show_answer(&why, e) < 0 ? -1 : show_log(s, &why.job, e);
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct session s;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    result = ask(&s, cli->args.words[0], o->json, e);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_why = {
    .name = "why",
    .args = "JOB [OPTION]...",
    .help = "say what keeps a job from running, or what became of it",
    .more = "JOB is written as 7.13 or last.13. Of a failed job the end of its log is shown.\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
