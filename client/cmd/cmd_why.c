/* SPDX-License-Identifier: MIT */
/* cmd_why.c - ludwig why */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/selector.h"
#include "client/query/sweep_why.h"
#include "client/session/session.h"
#include "client/share/logfile.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/units.h"

enum { LOG_LINES = 10 };

struct options {
    bool json;
};

static const struct opt options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

static void add_line(struct buf *out, const char *text)
{
    buf_add_str(out, "  ");
    safe_text_add_harmless(out, text, strlen(text), "");
    buf_add_char(out, '\n');
}

/* Adds a place; its path becomes absolute where this machine sees the share. */
static void add_place(struct buf *out, const struct session *s, const char *before, size_t n,
                      const char *path)
{
    struct arena *a = arena_create();

    add_line(out, arena_printf(a, "%.*s%s", (int)n, before, session_shown_path(s, a, path)));
    arena_destroy(a);
}

/* How many bytes precede the path at the end of a line of the server's answer; 0: no path. */
static size_t before_path(const struct job_info *j, const char *text)
{
    size_t n = strlen(text), n_path = j->run_path != NULL ? strlen(j->run_path) : 0;

    if (n_path == 0 || n <= n_path || strcmp(text + n - n_path, j->run_path) != 0 ||
        text[n - n_path - 1] != ' ')
        return 0;
    return n - n_path;
}

/* "attempt 2 on hoff: began 5 min ago (2026-11-21 10:15:00), ran for 3m2s" */
static void add_times(struct buf *line, const struct job_info *j)
{
    int64_t now_ms = units_now_ms();

    buf_printf(line, "attempt %" PRId64, j->attempt);
    if (j->node != NULL && j->node[0] != '\0')
        buf_printf(line, " on %s", j->node);
    buf_add_str(line, ": began ");
    jobinfo_add_ago(line, j->started_at, now_ms);
    buf_add_str(line, " (");
    units_add_time_local(line, j->started_at);
    buf_add_str(line, job_is_ended((enum job_state)j->state) ? "), ran for " : "), has run for ");
    jobinfo_add_time(line, j, now_ms);
}

static int show_answer(const struct session *s, const struct msg_why *why, struct err *e)
{
    static const char log[] = "its log: ";
    const char *const *lines = why->lines.items;
    const struct job_info *j = &why->job;
    struct buf out = { 0 }, line = { 0 };

    buf_printf(&out, "job %s: %s", j->job, job_state_names[j->state]);
    safe_text_clean(&out, "");
    buf_add_char(&out, '\n');
    jobinfo_add_params(&line, &j->params);
    if (line.n > 0)
        add_line(&out, buf_text(&line));
    for (size_t i = 0; i < why->lines.n; i++) {
        size_t n = before_path(j, lines[i]);

        if (n == 0)
            add_line(&out, lines[i]);
        else
            add_place(&out, s, lines[i], n, j->run_path);
    }
    buf_clear(&line);
    if (j->state == JOB_FAILED) {
        if (j->exit_code != SCHEMA_NONE && jobinfo_add_exit_words(&line, j->exit_code))
            add_line(&out, buf_text(&line));
        add_line(&out, "a retry runs the source as submitted; after a change of it, submit again "
                       "(--reuse params keeps what is done)");
    }
    buf_clear(&line);
    if (j->attempt > 0 && j->started_at != 0)
        add_times(&line, j);
    if (line.n > 0)
        add_line(&out, buf_text(&line));
    if (j->log_path != NULL && j->started_at != 0)
        add_place(&out, s, log, strlen(log), j->log_path);
    buf_free(&line);
    return output_write(&out, e);
}

/* Prints the end of the log; an unreachable share is no error, as it says nothing about the job. */
static int show_log(struct session *s, const struct job_info *j, struct err *e)
{
    struct share_dir *fs;
    struct logfile log;
    struct buf head = { 0 };
    char *where;
    int result = 0;

    if (j->state != JOB_FAILED || j->log_path == NULL)
        return 0;
    fs = session_open_drive(s, NULL);
    if (fs == NULL)
        return 0;
    if (logfile_open(&log, fs, j->log_path, true, NULL) > 0) {
        where = share_where(fs, j->log_path);
        buf_add_str(&head, "\nThe end of its log (");
        safe_text_add_harmless(&head, where, strlen(where), "");
        buf_add_str(&head, "):\n");
        free(where);
        if (output_write(&head, e) < 0 || logfile_seek_lines(&log, LOG_LINES, e) < 0 ||
            logfile_copy(&log, e) < 0 || logfile_finish(&log, e) < 0)
            result = -1;
        logfile_close(&log);
    }
    share_close(fs);
    return result;
}

/* Prints JSON, with paths relative to the shared drive. */
static int show_json(const struct session *s, const struct msg_why *why, struct err *e)
{
    struct arena *a = arena_create();
    const char **lines = arena_alloc(a, why->lines.n * sizeof *lines);
    struct msg_why shown = { why->job, { lines, why->lines.n } };
    int result;

    session_job_paths(s, a, &shown.job);
    for (size_t i = 0; i < why->lines.n; i++) {
        const char *line = ((const char *const *)why->lines.items)[i];
        size_t n = before_path(&why->job, line);

        lines[i] = n == 0 ? line : arena_printf(a, "%.*s%s", (int)n, line, shown.job.run_path);
    }
    result = output_write_json(proto.messages[MSG_WHY].schema, &shown, e);
    arena_destroy(a);
    return result;
}

/* ---- the command ---- */

static int explain_sweep(struct rpc *rpc, int64_t sweep, bool json, struct err *e)
{
    struct arena *a = arena_create();
    struct sweep_why why;
    struct buf out = { 0 };
    int result = sweep_why_read(rpc, sweep, a, &why, e);

    if (result == 0 && json)
        result = output_write_json(&sweep_why_schema, &why, e);
    if (result == 0 && !json) {
        buf_printf(&out, "sweep %" PRId64 ": %s\n", sweep, sweep_state_names[why.state]);
        for (size_t i = 0; i < why.lines.n; i++)
            add_line(&out, ((const char *const *)why.lines.items)[i]);
        result = output_write(&out, e);
    }
    arena_destroy(a);
    return result;
}

static int explain_job(struct session *s, const struct target *t, bool json, struct err *e)
{
    struct msg_why why;
    int result =
        rpc_call(&s->rpc, MSG_ASK_WHY, &(struct msg_ask_why){ t->sweep, t->first }, &why, e);

    if (result == 0)
        result = json ? show_json(s, &why, e) : show_answer(s, &why, e);
    if (result == 0 && !json)
        result = show_log(s, &why.job, e);
    return result;
}

static int explain(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct session s;
    struct target t;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    result = selector_sweep_or_job(&s.rpc, cli->args.words[0], &t, e);
    if (result == 0)
        result = target_is_whole(&t) ? explain_sweep(&s.rpc, t.sweep, o->json, e)
                                     : explain_job(&s, &t, o->json, e);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_why = {
    .name = "why",
    .args = "SWEEP|JOB [OPTION]...",
    .help = "explain why a job does not run, or how it ended, or how a sweep stands",
    .more = "A job is written as 7.13 or last.13. For a failed job the end of its log\n"
            "follows.\n"
            "For a sweep: what its jobs wait for, and what those that failed have in common.\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = explain,
};
