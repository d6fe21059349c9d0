/* SPDX-License-Identifier: MIT */
/* cmd_logs.c - ludwig logs */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/session/subscription.h"
#include "client/share/logfile.h"
#include "client/term/output.h"

/* How often to look where growth cannot be watched, or is announced but not visible yet. */
enum { LOOK_EVERY_MS = 1000 };

enum { REACH_TRIES = 3 };

struct options {
    bool follow, raw;
    int64_t lines, attempt;
};

static const struct opt options[] = {
    { "follow", 'f', OPT_FLAG, NULL, offsetof(struct options, follow), 0, 0,
      "go on until the job has ended; Ctrl-C leaves it running" },
    { "lines", 'n', OPT_INT, "N", offsetof(struct options, lines), 0, INT64_C(1) << 53,
      "begin with the last N lines; default: with the first one" },
    { "attempt", 0, OPT_INT, "N", offsetof(struct options, attempt), 1, INT64_C(1) << 53,
      "what attempt N printed; default: the newest one, and with -f those that follow" },
    { "raw", 0, OPT_FLAG, NULL, offsetof(struct options, raw), 0, 0,
      "give a terminal what the job printed as it is: colours, and whatever else it obeys" },
    { 0 },
};

/* A job's log as it is shown. */
struct viewer {
    struct session *session;
    struct share_dir *fs;
    int64_t sweep;
    const char *job; /* "7.13" */
    int64_t lines;   /* of the first file; OPT_UNSET: all */
    int64_t attempt; /* only this one; OPT_UNSET: the newest */
    struct logfile file;
    char *path;        /* of the attempt's log on the drive, NULL before the first */
    int64_t log_bytes; /* the server's length of the newest attempt's log, if it was asked for */
    int watch_fd;
    bool is_cut;    /* the connection to the drive broke, and is not made again yet */
    bool harmless;  /* control characters are written out, for a terminal */
    bool is_newest; /* the newest attempt is shown */
    bool ended;     /* the job, or the attempt shown, has ended */
    bool is_interrupted;
};

static void close_file(struct viewer *v)
{
    if (v->watch_fd >= 0)
        close(v->watch_fd);
    v->watch_fd = -1;
    logfile_close(&v->file);
}

/* Whether the log is, or may be, longer than this machine sees. */
static bool is_short(const struct viewer *v)
{
    return v->watch_fd < 0 && (v->ended || v->file.offset < v->log_bytes);
}

/* Opens the log once it exists, and copies its new bytes. */
static int copy_new(struct viewer *v, struct err *e)
{
    if (v->file.file == NULL && v->path != NULL) {
        int found = logfile_open(&v->file, v->fs, v->path, v->harmless, e);

        if (found <= 0)
            return found;
        v->watch_fd = share_watch(v->fs, v->path);
        if (v->lines != OPT_UNSET && logfile_seek_lines(&v->file, v->lines, e) < 0)
            return -1;
        v->lines = OPT_UNSET;
    }
    if (v->file.file == NULL)
        return 0;
    if (logfile_copy(&v->file, e) < 0)
        return -1;
    if (!is_short(v))
        return 0;
    if (logfile_reopen(&v->file, v->fs, v->path, e) < 0)
        return -1;
    return logfile_copy(&v->file, e);
}

/* Copies new bytes.  The subscription makes a lost connection anew; until then there is nothing to
 * read, and then the log goes on at its last offset. */
static int copy_or_wait(struct viewer *v, struct err *e)
{
    for (int tries = 1;; tries++) {
        bool was_open = v->file.file != NULL;
        struct err why = { 0 };
        int result = 0;

        if (v->is_cut && !session_is_connected(v->session))
            return 0;
        if (v->is_cut) {
            logfile_pause(&v->file);
            share_close(v->fs);
            v->fs = session_open_drive(v->session, &why);
            v->is_cut = v->fs == NULL;
            result = v->is_cut ? -1 : 0;
            if (result == 0 && was_open)
                result = logfile_reopen(&v->file, v->fs, v->path, &why);
        }
        if (result == 0 && copy_new(v, &why) == 0)
            return 0;
        v->is_cut = true;
        if (why.kind != ERR_UNREACHABLE || tries == REACH_TRIES)
            return err_set(e, why.kind, "%s", why.text);
    }
}

/* Takes news of the job from the server: another attempt has another log. */
static int take_info(struct viewer *v, const struct job_info *info, struct err *e)
{
    char *path;

    v->ended = job_is_ended((enum job_state)info->state) ||
               (v->attempt != OPT_UNSET && info->attempt > v->attempt);
    if (info->log_path == NULL || info->log_path[0] == '\0')
        return 0;
    if (v->attempt != OPT_UNSET && jobinfo_check_names(info, e) < 0)
        return -1;
    path = v->attempt == OPT_UNSET ? mem_strdup(info->log_path)
                                   : logfile_path(info, v->sweep, v->attempt);
    if (v->path != NULL && strcmp(v->path, path) != 0) {
        int result = copy_or_wait(v, e);

        if (result == 0)
            result = logfile_finish(&v->file, e);
        close_file(v);
        if (result < 0) {
            free(path);
            return -1;
        }
        output_note("ludwig: attempt %" PRId64 " of job %s", info->attempt, v->job);
    }
    free(v->path);
    v->path = path;
    return 0;
}

static int follow_log(struct viewer *v, struct rpc *rpc, const struct target *t, struct err *e)
{
    struct msg_subscribe what = {
        .sweep = t->sweep, .job = t->first, .jobs = true, .log = v->watch_fd < 0
    };
    enum event event = EVENT_OTHER;
    struct msg_changes changes;
    struct subscription sub;
    int result = 0;

    if (v->ended)
        return 0;
    if (subscription_begin(&sub, rpc, &what, e) < 0)
        return -1;
    v->session->is_subscribed = true;
    while (result == 0 && event != EVENT_INTERRUPT && (!v->ended || v->is_cut)) {
        bool can_wait = v->watch_fd >= 0 || (what.log && !is_short(v));
        const struct job_info *jobs;

        sub.other_fd = v->watch_fd;
        event = subscription_wait(&sub, can_wait ? -1 : LOOK_EVERY_MS, &changes, e);
        if (event == EVENT_ERROR)
            result = -1;
        if (event == EVENT_OTHER)
            share_watch_drain(v->watch_fd);
        jobs = event == EVENT_CHANGES ? changes.jobs.items : NULL;
        for (size_t i = 0; jobs != NULL && i < changes.jobs.n && result == 0; i++)
            if (strcmp(jobs[i].job, v->job) == 0) {
                v->is_newest = v->attempt == OPT_UNSET || v->attempt == jobs[i].attempt;
                result = take_info(v, &jobs[i], e);
            }
        if (event == EVENT_CHANGES)
            v->log_bytes = v->is_newest ? changes.log_bytes : 0;
        if (result == 0 && event != EVENT_INTERRUPT)
            result = copy_or_wait(v, e);
    }
    if (event == EVENT_INTERRUPT)
        output_note("job %s goes on; `ludwig logs -f %s` comes back to it", v->job, v->job);
    v->session->is_subscribed = false;
    v->is_interrupted = event == EVENT_INTERRUPT;
    subscription_end(&sub);
    return result;
}

static int view(struct viewer *v, struct rpc *rpc, const struct target *t, bool follows,
                struct err *e)
{
    struct job_info info;
    const char *state;
    char *where;

    v->fs = session_open_drive(v->session, e);
    if (v->fs == NULL || pages_job(rpc, t, &info, e) < 0 || take_info(v, &info, e) < 0)
        return -1;
    state = job_state_names[info.state];
    if (info.follows != NULL)
        return err_set(e, ERR_NOT_FOUND,
                       "job %s has no log: it waits for the result of job %s, which does the "
                       "same (ludwig logs %s)",
                       v->job, info.follows, info.follows);
    if (v->attempt != OPT_UNSET && v->attempt > info.attempt && (!follows || v->ended))
        return err_set(e, ERR_NOT_FOUND, "job %s is %s and has had %" PRId64 " attempt%s", v->job,
                       state, info.attempt, info.attempt == 1 ? "" : "s");
    /* A user may want to know why the job was tried again. */
    if (v->attempt == OPT_UNSET && info.attempt >= 2 && v->path != NULL &&
        output_is_terminal(STDOUT_FILENO) && output_is_terminal(STDERR_FILENO))
        output_note("attempt %" PRId64 "; ludwig logs %s --attempt %" PRId64
                    " shows the one before",
                    info.attempt, v->job, info.attempt - 1);
    if (copy_new(v, e) < 0)
        return -1;
    if (v->file.file != NULL || (follows && !v->ended))
        return follows ? follow_log(v, rpc, t, e) : 0;
    if (v->path == NULL)
        return err_set(e, ERR_NOT_FOUND, "job %s is %s and has no log yet (-f waits for it)",
                       v->job, state);
    where = share_where(v->fs, v->path);
    err_set(e, ERR_NOT_FOUND, "job %s is %s; there is no log at %s", v->job, state, where);
    free(where);
    return -1;
}

static int show_logs(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct session s;
    struct viewer v = { .session = &s,
                        .lines = o->lines,
                        .attempt = o->attempt,
                        .harmless = !o->raw && output_is_terminal(STDOUT_FILENO),
                        .watch_fd = -1 };
    struct target t;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    result = selector_job(&s.rpc, cli->args.words[0], &t, e);
    if (result == 0) {
        v.sweep = t.sweep;
        v.job = arena_printf(cli->arena, "%" PRId64 ".%" PRId64, t.sweep, t.first);
        result = view(&v, &s.rpc, &t, o->follow, e);
        if (result == 0 && v.file.file != NULL)
            result = logfile_finish(&v.file, e);
        close_file(&v);
        share_close(v.fs);
        free(v.path);
    }
    session_close(&s);
    return result < 0 ? -1 : v.is_interrupted ? EXIT_INTERRUPTED : EXIT_WELL;
}

const struct command cmd_logs = {
    .name = "logs",
    .args = "JOB [OPTION]...",
    .help = "show what a job printed",
    .more = "Standard output and standard error, in the order of printing. A terminal shows\n"
            "escape sequences as text (^[[31m); a pipe or a file gets every byte as it is.\n"
            "JOB is written as 7.13 or last.13.\n"
            "\n"
            "  ludwig logs 7.13 -f\n"
            "  ludwig logs 7.13 -n 20\n"
            "  ludwig logs 7.13 --attempt 1 | less\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = show_logs,
};
