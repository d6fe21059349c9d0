/* SPDX-License-Identifier: MIT */
/* cmd_watch.c - ludwig watch */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/query/sweepview.h"
#include "client/session/session.h"
#include "client/session/subscription.h"
#include "client/session/sweep_wait.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "client/watch/terminal.h"
#include "client/watch/watch.h"
#include "common/base/units.h"

enum { WATCHED_MAX = 50 }; /* a server allows some more */

struct watched {
    struct sweep_info info; /* user NULL: not known yet */
    struct buf line;        /* the last line printed */
};

struct watch {
    struct rpc *rpc;
    struct arena *arena;
    struct watched *sweeps;
    size_t n;
};

/* ---- state ---- */

static bool is_known(const struct sweep_info *s)
{
    return s->user != NULL;
}

static bool are_all(const struct watch *w, bool (*is_so)(const struct sweep_info *))
{
    for (size_t i = 0; i < w->n; i++)
        if (!is_known(&w->sweeps[i].info) || !is_so(&w->sweeps[i].info))
            return false;
    return true;
}

static const char *keep_text(struct arena *a, const char *text)
{
    return text != NULL ? arena_strdup(a, text) : "";
}

/* Takes the sweep's numbers; its names do not change, and are copied once. */
static void keep_info(struct watch *w, struct sweep_info *s, const struct sweep_info *news)
{
    struct sweep_info names = *s;

    if (!is_known(s)) {
        names.project = keep_text(w->arena, news->project);
        names.name = keep_text(w->arena, news->name);
        names.user = keep_text(w->arena, news->user);
    }
    *s = *news;
    s->project = names.project;
    s->name = names.name;
    s->user = names.user;
    s->ranking.metric = s->refused = s->note = s->tags = NULL;
    if (news->held != NULL)
        s->held = names.held != NULL && strcmp(names.held, news->held) == 0
                      ? names.held
                      : arena_strdup(w->arena, news->held);
}

/* Appends "7.3 failed on hebb after 12 s: exit code 1  lr=0.1". */
static void add_failure(struct buf *out, const struct job_info *j)
{
    struct buf text = { 0 };

    buf_printf(&text, "%s %s", j->job, job_state_names[j->state]);
    if (j->node != NULL && j->node[0] != '\0')
        buf_printf(&text, " on %s", j->node);
    if (j->started_at != 0) {
        buf_add_str(&text, " after ");
        jobinfo_add_time(&text, j, units_now_ms());
    }
    buf_add_str(&text, ": ");
    jobinfo_add_reason(&text, j);
    if (j->params.type == VALUE_MAP && j->params.map.n > 0) {
        buf_add_str(&text, "  ");
        jobinfo_add_params(&text, &j->params);
    }
    safe_text_clean(&text, "");
    buf_printf(out, "%s\n", buf_text(&text));
    buf_free(&text);
}

/* ---- changes ---- */

static int take_changes(struct watch *w, const struct msg_changes *changes, struct err *e)
{
    const struct job_info *jobs = changes->jobs.items;
    const struct sweep_info *s = &changes->sweep;
    struct watched *watched = w->sweeps;
    struct buf line = { 0 };

    while (watched < w->sweeps + w->n && watched->info.sweep != s->sweep)
        watched++;
    if (watched == w->sweeps + w->n)
        return err_set(e, ERR_PROTOCOL,
                       "the server told of sweep %" PRId64 ", which is not watched", s->sweep);
    keep_info(w, &watched->info, s);
    for (size_t i = 0; i < changes->jobs.n; i++)
        if (jobs[i].state == JOB_FAILED)
            add_failure(&line, &jobs[i]);
    if (line.n > 0 && output_write(&line, e) < 0)
        return -1;
    buf_printf(&line, "sweep %" PRId64 " %s: ", s->sweep, sweep_state_names[s->state]);
    sweepview_add_counts(&line, s);
    buf_add_char(&line, '\n');
    /* A repeated line, as after a lost connection, is printed once. */
    if (strcmp(buf_text(&line), buf_text(&watched->line)) == 0) {
        buf_free(&line);
        return 0;
    }
    buf_clear(&watched->line);
    buf_add(&watched->line, line.bytes, line.n);
    return output_write(&line, e);
}

/* Watches until all sweeps are over or held; returns 1 then, 0 after Ctrl-C, -1 with e set. */
static int follow_sweeps(struct watch *w, struct subscription *sub, struct err *e)
{
    struct msg_changes changes;

    while (!are_all(w, progress_has_stopped)) {
        enum event event = subscription_wait(sub, -1, &changes, e);

        if (event == EVENT_ERROR || (event == EVENT_CHANGES && take_changes(w, &changes, e) < 0))
            return -1;
        if (event == EVENT_INTERRUPT)
            return 0;
    }
    return 1;
}

/* ---- beginning and end ---- */

/* Subscribes; a user who may not see a sweep's jobs gets its summary only. */
static int subscribe(struct watch *w, struct subscription *sub, struct err *e)
{
    struct msg_subscribe *what = arena_alloc(w->arena, w->n * sizeof *what);

    for (size_t i = 0; i < w->n; i++) {
        struct sweep_info info;

        if (pages_sweep(w->rpc, w->sweeps[i].info.sweep, &info, e) < 0)
            return -1;
        what[i] = (struct msg_subscribe){ .sweep = info.sweep,
                                          .cursor = -1,
                                          .jobs = w->rpc->welcome.admin ||
                                                  (info.user != NULL &&
                                                   pages_is_of(info.user, w->rpc->welcome.user)) };
    }
    return subscription_begin_all(sub, w->rpc, what, w->n, e);
}

/* Prints a line for each change; returns an exit code, or -1 with e set. */
static int watch_lines(struct watch *w, const struct list *targets, struct err *e)
{
    struct subscription sub;
    int result, code = EXIT_WELL;

    w->n = targets->n;
    w->sweeps = arena_alloc(w->arena, w->n * sizeof *w->sweeps);
    for (size_t i = 0; i < w->n; i++)
        w->sweeps[i].info.sweep = ((const struct target *)targets->items)[i].sweep;
    if (subscribe(w, &sub, e) < 0)
        return -1;
    result = follow_sweeps(w, &sub, e);
    subscription_end(&sub);
    if (result == 0)
        output_note("the jobs go on");
    for (size_t i = 0; i < w->n; i++) {
        buf_free(&w->sweeps[i].line);
        if (result > 0 && sweep_wait_say_end(&w->sweeps[i].info) != EXIT_WELL)
            code = EXIT_FAILED;
    }
    return result < 0 ? -1 : result == 0 ? EXIT_INTERRUPTED : code;
}

static int watch_sweeps(struct cli *cli, struct err *e)
{
    char all[] = "all", *one = all; /* without words: all of one's own that are not over */
    struct opt_words words = cli->args.n > 0 ? cli->args : (struct opt_words){ &one, 1 };
    struct watch w = { .arena = cli->arena };
    struct list targets;
    struct session s;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    w.rpc = &s.rpc;
    result = selector_sweeps(w.rpc, &words, w.arena, &targets, e);
    if (result == 0 && targets.n > WATCHED_MAX)
        result = err_set(e, ERR_USAGE, "%zu sweeps are too many to watch at once; name at most %d",
                         targets.n, WATCHED_MAX);
    if (result == 0 && targets.n == 0)
        output_note("you have no unfinished sweep");
    else if (result == 0 && terminal_is_there())
        result = watch_screen(&s, &targets, cli->args.n == 0, e);
    else if (result == 0)
        result = watch_lines(&w, &targets, e);
    session_close(&s);
    return result;
}

const struct command cmd_watch = {
    .name = "watch",
    .args = "[SWEEP]... [OPTION]...",
    .help = "watch sweeps, their jobs, curves and logs, and the nodes on the whole terminal",
    .more = "SWEEP is a number or last; the default is all your unfinished sweeps, also\n"
            "those that you submit meanwhile. `?` shows the keys; q ends the view, not the\n"
            "jobs. The exit code is 1 if a job of a sweep that is over failed or was\n"
            "cancelled.\n"
            "\n"
            "Where stdin or stdout is no terminal each change is printed as a line, until\n"
            "the sweeps have ended; the exit code is then that of `submit --wait`.\n",
    .max_args = ARGS_ANY,
    .run = watch_sweeps,
};
