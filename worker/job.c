/* SPDX-License-Identifier: MIT */
/* job.c - one attempt from its start to the outcome on scratch */

#include "worker/job.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mp.h"
#include "common/template.h"
#include "common/units.h"
#include "worker/crash.h"
#include "worker/jobdir.h"
#include "worker/spawn.h"
#include "worker/tree.h"
#include "worker/words.h"

/* What a job left behind in the background may finish its last write. */
#define LEFTOVERS_MS 2000
/* From SIGTERM to SIGKILL where no order says how long: enough to write a model to disk. */
#define GRACE_MS          10000
#define KILL_PAUSE_MS     10
#define KILL_PAUSE_MAX_MS 1000

/* ---- what becomes of it ---- */

static void set_reason(struct job *j, const char *text)
{
    size_t n = strnlen(text, REASON_MAX_BYTES);

    memcpy(j->reason, text, n);
    j->reason[n] = '\0';
    j->outcome.reason = j->reason;
}

static void end_without_start(struct job *j, int event, const struct err *why)
{
    j->outcome.event = event;
    j->outcome.ended_at = units_now_ms();
    set_reason(j, why->text);
    j->phase = PHASE_OVER;
    j->deadline_ms = -1;
}

static void say_time_is_up(struct job *j)
{
    struct buf text = { 0 };

    buf_add_str(&text, "time limit of ");
    units_add_duration(&text, j->time_ms);
    buf_add_str(&text, " reached");
    set_reason(j, buf_text(&text));
    buf_free(&text);
}

static void judge_exit(struct job *j)
{
    int signal = WTERMSIG(j->status);

    j->outcome.event = EV_FAIL;
    if (WIFSIGNALED(j->status)) {
        snprintf(j->reason, sizeof j->reason, "killed by signal %d (%s)", signal,
                 strsignal(signal));
        j->outcome.reason = j->reason;
    } else if (WEXITSTATUS(j->status) != 0) {
        snprintf(j->reason, sizeof j->reason, "exit code %d", WEXITSTATUS(j->status));
        j->outcome.reason = j->reason;
    } else {
        j->outcome.event = EV_DONE;
    }
}

static void judge(struct job *j)
{
    if (WIFSIGNALED(j->status))
        j->outcome.signal = WTERMSIG(j->status);
    else
        j->outcome.exit_code = WEXITSTATUS(j->status);
    j->outcome.ended_at = units_now_ms();
    switch (j->stop) {
    case JOB_IS_CANCELLED:
        j->outcome.event = EV_CANCEL;
        set_reason(j, "cancelled");
        break;
    case JOB_TIME_IS_UP:
        j->outcome.event = EV_FAIL;
        say_time_is_up(j);
        break;
    default: judge_exit(j);
    }
    j->phase = PHASE_OVER;
    j->deadline_ms = -1;
}

/* ---- its start ---- */

/* What is to be executed; everything in the arena. */
static int plan_command(struct spawn *p, const struct work *w, const struct value *params,
                        struct arena *a, struct err *e)
{
    struct buf command = { 0 };
    int result = template_expand(w->command, params, &command, e);
    char **shell_words = arena_alloc(a, 4 * sizeof *shell_words);
    const char *text;

    if (result == 0 && strlen(buf_text(&command)) != command.n)
        result = err_set(e, ERR_USAGE, "the command has a NUL byte in it");
    text = arena_strdup(a, buf_text(&command));
    buf_free(&command);
    p->shell = "/bin/sh";
    if (w->setup == NULL) {
        p->words = words_split(text, a);
    } else {
        text = arena_printf(a, "%s\n%s", w->setup, text);
        /* What people write there ("source", conda) is meant for it. */
        if (access("/bin/bash", X_OK) == 0)
            p->shell = "/bin/bash";
    }
    if (p->words != NULL)
        p->program = words_program(p->words[0], jobenv_get(p->env, "PATH"), a);
    shell_words[0] = arena_strdup(a, p->shell + strlen("/bin/"));
    shell_words[1] = arena_strdup(a, "-c");
    shell_words[2] = arena_strdup(a, text);
    p->shell_words = shell_words;
    return result;
}

static int plan(struct spawn *p, const struct job_site *site, const struct order *o,
                struct value *params, struct arena *a, struct err *e)
{
    const struct bytes packed = o->assignment.params;
    char hex[TOKEN_HEX];
    const char *job_path;

    if (mp_read(packed.data, packed.n, a, params, e) < 0)
        return err_wrap(e, "parameters");
    if (params->type != VALUE_MAP)
        return err_set(e, ERR_PROTOCOL, "the parameters are no map");
    token_hex(&o->assignment.token, hex);
    job_path = arena_printf(a, "%s/%s/%s", site->scratch->path, SCRATCH_RUN, hex);
    p->env = jobenv_make(o, site->user, job_path, a);
    p->cpus = &o->cpus;
    p->in_fd = site->null_fd;
    return plan_command(p, &o->work.work, params, a, e);
}

static void begin(struct job *j, const struct order *o)
{
    *j = (struct job){ .phase = PHASE_RUNNING,
                       .token = o->assignment.token,
                       .deadline_ms = -1,
                       .time_ms = o->work.work.resources.time_ms,
                       .outcome = { .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE } };
    token_hex(&j->token, j->hex);
}

void job_start(struct job *j, const struct job_site *site, const struct order *o, struct arena *a)
{
    struct spawn p = { 0 };
    struct jobdir dir;
    struct value params;
    struct err e = { 0 };
    bool is_jobs_fault = false;

    begin(j, o);
    if (plan(&p, site, o, &params, a, &e) < 0) {
        end_without_start(j, EV_FAIL, &e);
        return;
    }
    if (jobdir_make(&dir, site->scratch, site->spares, o, &params, &e) < 0) {
        end_without_start(j, EV_LOSE, &e);
        return;
    }
    p.work_fd = dir.work_fd;
    p.log_fd = dir.log_fd;
    j->outcome.started_at = units_now_ms();
    if (j->time_ms > 0)
        j->deadline_ms = units_monotonic_ms() + j->time_ms;
    j->pid = spawn_job(&p, &is_jobs_fault, &e);
    jobdir_close(&dir);
    if (j->pid < 0) {
        j->pid = 0;
        end_without_start(j, is_jobs_fault ? EV_FAIL : EV_LOSE, &e);
    }
}

/* ---- its end ---- */

static void end_all(struct job *j, int64_t grace_ms)
{
    (void)tree_signal(SIGTERM);
    j->phase = PHASE_ENDING;
    j->deadline_ms = units_monotonic_ms() + grace_ms;
}

static void kill_all(struct job *j)
{
    if (j->phase != PHASE_KILLING)
        j->kill_pause_ms = KILL_PAUSE_MS;
    else if (j->kill_pause_ms < KILL_PAUSE_MAX_MS)
        j->kill_pause_ms *= 2;
    (void)tree_signal(SIGKILL);
    j->phase = PHASE_KILLING;
    j->deadline_ms = units_monotonic_ms() + j->kill_pause_ms;
}

void job_cancel(struct job *j, int64_t grace_ms)
{
    int64_t deadline_ms = units_monotonic_ms() + grace_ms;

    if (j->phase == PHASE_NONE || j->phase == PHASE_OVER)
        return;
    j->stop = JOB_IS_CANCELLED;
    if (j->phase == PHASE_RUNNING || j->phase == PHASE_LEFTOVERS)
        end_all(j, grace_ms);
    else if (j->phase == PHASE_ENDING && deadline_ms < j->deadline_ms)
        j->deadline_ms = deadline_ms;
}

void job_tick(struct job *j)
{
    if (j->deadline_ms < 0 || units_monotonic_ms() < j->deadline_ms)
        return;
    switch (j->phase) {
    case PHASE_RUNNING:
        j->stop = JOB_TIME_IS_UP;
        end_all(j, GRACE_MS);
        break;
    case PHASE_LEFTOVERS: end_all(j, GRACE_MS); break;
    case PHASE_ENDING:
    case PHASE_KILLING: kill_all(j); break;
    default: break;
    }
}

int job_wait_ms(const struct job *j)
{
    int64_t wait_ms;

    if (j->deadline_ms < 0)
        return -1;
    wait_ms = j->deadline_ms - units_monotonic_ms();
    return wait_ms < 0 ? 0 : wait_ms > INT_MAX ? INT_MAX : (int)wait_ms;
}

static int64_t ms_of(const struct timeval *t)
{
    return (int64_t)t->tv_sec * 1000 + t->tv_usec / 1000;
}

/* What a process used, with those it waited for itself. */
static void add_usage(struct job *j, const struct rusage *used)
{
    int64_t max_rss_bytes = (int64_t)used->ru_maxrss * 1024;

    if (max_rss_bytes > j->outcome.max_rss_bytes)
        j->outcome.max_rss_bytes = max_rss_bytes;
    j->outcome.cpu_ms += ms_of(&used->ru_utime) + ms_of(&used->ru_stime);
}

void job_reap(struct job *j)
{
    struct rusage used;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
        if (j->phase != PHASE_NONE && j->phase != PHASE_OVER)
            add_usage(j, &used);
        if (pid == j->pid) {
            j->pid = 0;
            j->status = status;
        }
    }
    if (j->phase == PHASE_NONE || j->phase == PHASE_OVER)
        return;
    if (pid < 0 && errno == ECHILD) {
        judge(j);
    } else if (j->phase == PHASE_RUNNING && j->pid == 0) {
        j->phase = PHASE_LEFTOVERS;
        j->deadline_ms = units_monotonic_ms() + LEFTOVERS_MS;
    }
}

static int write_outcome(const struct job *j, const struct scratch *s, struct err *e)
{
    char *path = mem_printf("%s/%s", j->hex, JOB_OUTCOME);
    char *fresh = mem_printf("%s.new", path);
    int result = scratch_write(s->run_fd, fresh, &outcome_schema, &j->outcome, e);

    CRASH_POINT(outcome_begun);
    if (result == 0 && renameat(s->run_fd, fresh, s->run_fd, path) < 0)
        result = err_sys(e, "replace %s", path);
    free(path);
    free(fresh);
    return result;
}

int job_save(struct job *j, struct scratch *s, struct err *e)
{
    struct err why = { 0 };

    CRASH_POINT(job_exited);
    /* First, as a full scratch may have no room for the outcome. */
    if (jobdir_shed(s, j->hex, &why) < 0)
        log_event(LOG_WARN, "not-shed", "attempt", "%s", j->hex, "error", "%s", why.text, NULL);
    /* What could not even be started, or was wiped, still has its outcome. */
    if (write_outcome(j, s, NULL) < 0) {
        (void)mkdirat(s->run_fd, j->hex, 0700);
        if (write_outcome(j, s, e) < 0)
            return -1;
    }
    CRASH_POINT(outcome_written);
    if (renameat(s->run_fd, j->hex, s->ended_fd, j->hex) < 0)
        return err_sys(e, "move %s to %s", j->hex, SCRATCH_ENDED);
    CRASH_POINT(ended_moved);
    j->phase = PHASE_NONE;
    return 0;
}
