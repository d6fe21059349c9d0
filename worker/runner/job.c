/* SPDX-License-Identifier: MIT */
/* job.c - one attempt from its start to the outcome on scratch */

#include "worker/runner/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/base/crash_point.h"
#include "common/data/msgpack.h"
#include "common/data/template.h"
#include "worker/base/confine.h"
#include "worker/base/job_spawn.h"
#include "worker/base/process_tree.h"
#include "worker/runner/container.h"
#include "worker/runner/jobdir.h"
#include "worker/runner/last_error.h"
#include "worker/runner/prelude.h"
#include "worker/runner/staged_env.h"

/* How long background processes of a job that has ended may finish their last write. */
#define LEFTOVERS_MS 2000
/* From SIGTERM to SIGKILL where no order says how long: enough to write a model to disk. */
#define GRACE_MS 10000
/* Slurm tells a pilot's processes to end one after the other: a runner may see its job die of that
 * before the runner is told. */
#define TOLD_LATE_MS 500
/* How often the length of a log that has a limit is looked at. */
#define LOG_LOOK_MS       500
#define KILL_PAUSE_MS     10
#define KILL_PAUSE_MAX_MS 1000

/* ---- its log ---- */

/*
 * A log that has become too long is cut at its limit, gets a last line there, and is cut behind that
 * from then on: the job, which appends to it, goes on.  Only what stays is shipped (shiplog.h).
 */
static void limit_log(struct job *j)
{
    int fd = openat(j->scratch->log_fd, j->hex, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct buf line = { 0 };
    struct stat st;
    int64_t end;

    if (fd < 0)
        return;
    scratch_log_end(&line, j->log_max_bytes);
    end = j->log_max_bytes + (int64_t)line.n;
    if (fstat(fd, &st) == 0 && st.st_size > j->log_max_bytes &&
        (!j->log_is_cut || st.st_size > end) &&
        io_write_all_at(fd, line.bytes, line.n, (uint64_t)j->log_max_bytes) == 0)
        j->log_is_cut = ftruncate(fd, end) == 0;
    buf_free(&line);
    close(fd);
}

/* ---- outcome ---- */

static void set_reason(struct job *j, const char *text)
{
    size_t n = strnlen(text, REASON_MAX_BYTES);

    memcpy(j->reason, text, n);
    j->reason[n] = '\0';
    j->outcome.reason = j->reason;
}

static bool has_come_to_its_end(const struct job *j)
{
    return WIFEXITED(j->status) && WEXITSTATUS(j->status) == 0;
}

/* Says why a job failed that ended by itself: memory ran out, a signal, or an exit code. */
static void judge_failure(struct job *j)
{
    /* Whether the kernel ended a process here, of this job or another, while it ran. */
    bool has_kills = j->oom != NULL && j->kills >= 0 && oom_kills(j->oom) > j->kills;
    struct oom_evidence x = { .status = j->status,
                              .has_kills = has_kills,
                              .has_own_limit = j->is_limited && oom_hits(j->oom) > j->hits,
                              .max_rss_bytes = j->outcome.max_rss_bytes,
                              .memory_bytes = j->memory_bytes,
                              .limit_bytes = j->oom == NULL ? 0 : oom_limit_bytes(j->oom) };
    struct buf reason = { 0 };
    enum cause cause;

    j->outcome.event = EV_FAIL;
    if (oom_judge(&x, &reason)) {
        j->outcome.cause = CAUSE_OOM;
    } else if (WIFSIGNALED(j->status)) {
        j->outcome.cause = CAUSE_SIGNAL;
        buf_printf(&reason, "killed by signal %d (%s)", WTERMSIG(j->status),
                   strsignal(WTERMSIG(j->status)));
        /* A program that aborts says why; one that is killed does not. */
        if (WTERMSIG(j->status) == SIGABRT)
            last_error_add(&reason, j->scratch, j->hex);
    } else if (prelude_has_failed(j->scratch->run_fd, j->hex, &cause, &reason)) {
        j->outcome.cause = (int)cause;
    } else {
        j->outcome.cause = CAUSE_FAILED;
        buf_printf(&reason, "exit code %d%s", WEXITSTATUS(j->status),
                   has_kills ? "; memory ran out meanwhile, and the kernel ended a process of this "
                               "job or of another one here"
                             : "");
        last_error_add(&reason, j->scratch, j->hex);
    }
    set_reason(j, buf_text(&reason));
    buf_free(&reason);
}

static void judge(struct job *j)
{
    bool is_well = has_come_to_its_end(j);
    struct buf text = { 0 };

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
        j->outcome.cause = CAUSE_TIMEOUT;
        buf_add_str(&text, "time limit of ");
        units_add_duration(&text, j->time_ms);
        buf_add_str(&text, " reached");
        set_reason(j, buf_text(&text));
        buf_free(&text);
        break;
    case JOB_IS_TOO_LARGE: /* its reason says how large */
        j->outcome.event = EV_FAIL;
        j->outcome.cause = CAUSE_OOM;
        break;
    case JOB_HAS_NAN: /* its reason says where */
        j->outcome.event = EV_FAIL;
        j->outcome.cause = CAUSE_NAN;
        break;
    case JOB_IS_STOPPED_EARLY:
        /* A job that was only asked to save its state, and ended well without doing so, is done. */
        is_well = is_well && j->was_asked && !j->was_told &&
                  !checkpoint_signal_was_obeyed(&j->asked, j->scratch, j->hex);
        j->outcome.event = is_well ? EV_DONE : EV_STOP;
        if (is_well)
            j->outcome.reason = NULL;
        break;
    case JOB_FILLS_DISK: /* its reason says how much it took */
        j->outcome.event = EV_FAIL;
        j->outcome.cause = CAUSE_FAILED;
        break;
    case JOB_IS_PREEMPTED:
        /* A job that has saved its state when asked may exit with code 0 and not be done.  Jobs of
         * a batch that are done have said so. */
        is_well = is_well &&
                  !(j->was_asked &&
                    (j->is_batch || checkpoint_signal_was_obeyed(&j->asked, j->scratch, j->hex)));
        j->outcome.event = is_well ? EV_DONE : EV_LOSE;
        if (is_well)
            break;
        j->outcome.cause = (int)j->preempted_by;
        if (j->outcome.reason == NULL)
            set_reason(j, "preempted");
        break;
    default:
        j->outcome.event = EV_DONE;
        if (!is_well) {
            judge_failure(j);
        } else if (j->advises) { /* it has no result, and so nothing is published */
            j->outcome.event = EV_CANCEL;
            set_reason(j, "it has ended with exit code 0");
        }
    }
    if (j->memwatch.peak_bytes > j->outcome.max_rss_bytes) /* several processes together */
        j->outcome.max_rss_bytes = j->memwatch.peak_bytes;
    if (j->notifies && j->outcome.event == EV_FAIL) { /* its log alone is published */
        j->outcome.event = EV_CANCEL;
        j->outcome.cause = CAUSE_NONE;
    }
    checkpoint_signal_free(&j->asked);
    diskwatch_end(&j->diskwatch);
    if (j->log_max_bytes > 0)
        limit_log(j);
    j->phase = JOB_PHASE_OVER;
    j->deadline_ms = -1;
}

/* ---- start ---- */

/* Fills in what is executed: the words, the shell and the environment, all of it in a.  A failure
 * is the job's own fault, or its machine lacks what runs containers. */
static int plan(struct job_spawn *p, const struct order *recorded, const struct value *params,
                const struct job_site *site, struct arena *a, struct err *e)
{
    const char *command, *job_path, *scratch = site->scratch->path;
    struct order found = *recorded;
    const struct order *o = &found;
    const struct jobspec *w = &o->work.work;
    struct buf expanded = { 0 };
    struct container c;
    char hex[TOKEN_HEX];
    int rc = template_expand(w->command, params, &expanded, e);

    if (rc == 0 && strlen(buf_text(&expanded)) != expanded.n)
        rc = err_set(e, ERR_USAGE, "the command has a NUL byte in it");
    command = buf_to_arena(&expanded, a);
    if (rc < 0 || (w->environment.tool != NULL && staged_env_find_built(&found, scratch, a, e) < 0))
        return -1;
    p->shares_with_group = o->for_another;
    token_hex(&o->assignment.token, hex);
    job_path = arena_printf(a, "%s/" SCRATCH_RUN "/%s", scratch, hex);
    p->env = jobenv_make(o, site->user, job_path, a);
    p->shell = "/bin/sh";
    if (w->container != NULL) {
        if (container_find(&c, o, p->env, scratch, a, e) < 0)
            return -1;
        c.text = prelude_text_inside(w, command, a);
        p->shell_words = container_guard(container_words(&c, a), o, a);
        p->env = container_env(&c, p->env, a);
        return 0;
    }
    if (!prelude_is_needed(w))
        p->words = job_spawn_words(command, a);
    else if ((w->setup != NULL || w->environment.modules.n > 0) && access("/bin/bash", X_OK) == 0)
        p->shell = "/bin/bash"; /* users write for it there ("source", conda) */
    if (p->words != NULL)
        p->program = job_spawn_program(p->words[0], jobenv_get(p->env, "PATH"), a);
    p->shell_words = prelude_words(w, p->shell + strlen("/bin/"), command, a);
    if (w->environment.data != NULL) {
        p->shell_words = staged_env_words(o, scratch, job_path, p->shell, p->shell_words, a);
        p->shell = "/proc/self/exe";
    }
    return 0;
}

void job_start(struct job *j, const struct job_site *site, const struct order *o, struct arena *a)
{
    const struct bytes packed = o->assignment.params;
    const struct jobspec *w = &o->work.work;
    struct job_spawn p = { .in_fd = site->in_fd > 0 ? site->in_fd : site->null_fd,
                           .out_fd = site->out_fd,
                           .cpus = &o->cpus,
                           .group_fd = -1 };
    struct jobdir dir = { -1, -1, -1 };
    struct value params;
    struct err e = { 0 };
    bool is_jobs_fault = true;

    *j = (struct job){ .phase = JOB_PHASE_RUNNING,
                       .token = o->assignment.token,
                       .deadline_ms = -1,
                       .time_ms = w->resources.time_ms,
                       .save_grace_ms = w->checkpoint.grace_ms,
                       .end_grace_ms = GRACE_MS,
                       .in_slurm = o->in_slurm,
                       .scratch = site->scratch,
                       .is_batch = site->chunk != NULL,
                       .has_container = w->container != NULL,
                       .advises = o->assignment.advises,
                       .notifies = o->assignment.notifies,
                       .memory_bytes = w->resources.memory_bytes,
                       .has_whole_gpus = w->resources.gpus_milli >= 1000,
                       .log_max_bytes = site->chunk == NULL ? w->log.max_bytes : 0,
                       .outcome = { .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE } };
    token_hex(&j->token, j->hex);
    if (w->checkpoint.signal != NULL)
        j->save_signal = checkpoint_signal_number(w->checkpoint.signal);
    /* Memory is limited by the kernel where it can, else by looking at it. */
    j->is_limited = site->limit != NULL && memlimit_set(site->limit, j->memory_bytes);
    j->oom = j->is_limited ? &site->limit->oom : site->oom;
    j->kills = j->oom == NULL ? -1 : oom_kills(j->oom);
    j->hits = j->oom == NULL ? -1 : oom_hits(j->oom);
    memwatch_begin(&j->memwatch, j->memory_bytes, j->is_limited);
    diskwatch_begin(&j->diskwatch, w->resources.disk_bytes);
    p.file_max_bytes = w->resources.disk_bytes;

    if (mp_read(packed.data, packed.n, a, &params, &e) < 0)
        err_wrap(&e, "parameters");
    else if (params.type != VALUE_MAP)
        err_set(&e, ERR_PROTOCOL, "the parameters are no map");
    else if (jobdir_make(&dir, site->scratch, site->spares, o,
                         site->chunk != NULL ? site->chunk : &params, &e) < 0)
        is_jobs_fault = e.kind == ERR_USAGE;           /* of its data */
    else if (plan(&p, o, &params, site, a, &e) == 0) { /* now that a folder can tell of a failure */
        p.work_fd = dir.work_fd;
        p.log_fd = dir.log_fd;
        p.has_group = j->is_limited && site->limit != NULL;
        if (p.has_group)
            p.group_fd = site->limit->group_fd;
        j->outcome.started_at = units_now_ms();
        if (j->time_ms > 0)
            j->deadline_ms = units_monotonic_ms() + j->time_ms;
        is_jobs_fault = false;
        j->pid = job_spawn(&p, &is_jobs_fault, &e);
    }
    jobdir_close(&dir);
    if (j->pid > 0)
        return;
    j->pid = 0;
    j->outcome.event = is_jobs_fault ? EV_FAIL : EV_LOSE;
    j->outcome.cause = is_jobs_fault ? CAUSE_FAILED : CAUSE_NONE;
    j->outcome.ended_at = units_now_ms();
    set_reason(j, e.text);
    j->phase = JOB_PHASE_OVER;
    j->deadline_ms = -1;
}

/* ---- end ---- */

static void end_all(struct job *j, int64_t grace_ms)
{
    (void)process_tree_signal(SIGTERM);
    j->was_told = true;
    j->phase = JOB_PHASE_ENDING;
    j->deadline_ms = units_monotonic_ms() + grace_ms;
}

/*
 * Asks the job to save its state first, if it can: in a container the runtime is not asked, as it
 * would pass the signal on to the shell inside.
 */
static void end_gently(struct job *j, enum job_stop stop)
{
    j->stop = stop;
    if (j->save_signal != 0)
        checkpoint_signal_begin(&j->asked, j->scratch, j->hex);
    if (j->save_signal == 0 ||
        checkpoint_signal_ask(j->save_signal, j->has_container ? j->pid : 0) == 0) {
        end_all(j, j->end_grace_ms);
        return;
    }
    j->was_asked = true;
    j->phase = JOB_PHASE_CHECKPOINT;
    j->deadline_ms = units_monotonic_ms() + j->save_grace_ms;
}

static void kill_all(struct job *j)
{
    if (j->phase != JOB_PHASE_KILLING)
        j->kill_pause_ms = KILL_PAUSE_MS;
    else if (j->kill_pause_ms < KILL_PAUSE_MAX_MS)
        j->kill_pause_ms *= 2;
    (void)process_tree_signal(SIGKILL);
    j->phase = JOB_PHASE_KILLING;
    j->deadline_ms = units_monotonic_ms() + j->kill_pause_ms;
}

static void hurry(struct job *j, int64_t grace_ms)
{
    int64_t deadline_ms = units_monotonic_ms() + grace_ms;

    if (deadline_ms < j->deadline_ms)
        j->deadline_ms = deadline_ms;
}

void job_cancel(struct job *j, int64_t grace_ms)
{
    if (j->phase == JOB_PHASE_NONE || j->phase == JOB_PHASE_OVER)
        return;
    j->stop = JOB_IS_CANCELLED;
    if (j->phase == JOB_PHASE_UNCLEAR)
        judge(j);
    else if (j->phase == JOB_PHASE_RUNNING || j->phase == JOB_PHASE_CHECKPOINT ||
             j->phase == JOB_PHASE_LEFTOVERS)
        end_all(j, grace_ms);
    else if (j->phase == JOB_PHASE_ENDING)
        hurry(j, grace_ms);
}

static void begin_preemption(struct job *j, enum cause cause, const char *reason)
{
    j->stop = JOB_IS_PREEMPTED;
    j->preempted_by = cause;
    if (reason != NULL)
        set_reason(j, reason);
}

/* A job that has ended by itself, or is being ended already, keeps its outcome. */
void job_preempt(struct job *j, enum cause cause, const char *reason, int64_t budget_ms)
{
    if (budget_ms != SCHEMA_NONE) { /* a third of it goes to processes that ignored the request */
        int64_t end_ms = budget_ms / 3 < GRACE_MS ? budget_ms / 3 : GRACE_MS;

        if (end_ms < j->end_grace_ms)
            j->end_grace_ms = end_ms;
        if (budget_ms - end_ms < j->save_grace_ms)
            j->save_grace_ms = budget_ms - end_ms;
    }
    switch (j->phase) {
    case JOB_PHASE_RUNNING:
        begin_preemption(j, cause, reason);
        end_gently(j, JOB_IS_PREEMPTED);
        break;
    case JOB_PHASE_UNCLEAR:
        begin_preemption(j, cause, reason);
        judge(j);
        break;
    case JOB_PHASE_CHECKPOINT: hurry(j, j->save_grace_ms); break;
    case JOB_PHASE_ENDING: hurry(j, j->end_grace_ms); break;
    case JOB_PHASE_LEFTOVERS:
        if (j->in_slurm && !has_come_to_its_end(j))
            begin_preemption(j, cause, reason);
        end_all(j, j->end_grace_ms);
        break;
    default: break;
    }
}

/* A job that has ended by itself, or is being ended, keeps its outcome here, too. */
void job_stop_early(struct job *j, const char *reason)
{
    if (j->phase != JOB_PHASE_RUNNING)
        return;
    set_reason(j, reason != NULL ? reason : "stopped early");
    end_gently(j, JOB_IS_STOPPED_EARLY);
}

void job_end_nan(struct job *j, const char *reason)
{
    if (j->phase != JOB_PHASE_RUNNING)
        return;
    set_reason(j, reason);
    j->stop = JOB_HAS_NAN;
    end_all(j, j->end_grace_ms);
}

static bool is_watched(const struct job *j)
{
    return j->phase != JOB_PHASE_NONE && j->phase < JOB_PHASE_KILLING;
}

void job_measure_disk(struct job *j)
{
    if (j->diskwatch.limit_bytes == 0)
        j->diskwatch.limit_bytes = INT64_MAX;
}

void job_end_full(struct job *j, const char *reason)
{
    if (!is_watched(j))
        return;
    set_reason(j, reason);
    j->stop = JOB_FILLS_DISK;
    kill_all(j);
}

static bool has_log_limit(const struct job *j)
{
    return j->log_max_bytes > 0 && j->phase != JOB_PHASE_NONE && j->phase != JOB_PHASE_OVER;
}

/* Kills the job without time to save its state, as other jobs would end with it. */
static void end_greedy(struct job *j, enum job_stop stop, const char *what, int64_t bytes,
                       int64_t limit_bytes, const char *after)
{
    struct buf text = { 0 };

    buf_add_str(&text, what);
    units_add_size(&text, bytes);
    buf_add_str(&text, " of ");
    units_add_size(&text, limit_bytes);
    buf_add_str(&text, after);
    set_reason(j, buf_text(&text));
    buf_free(&text);
    j->stop = stop;
    kill_all(j);
}

void job_tick(struct job *j)
{
    int64_t bytes;

    if (has_log_limit(j) && units_monotonic_ms() >= j->log_look_ms) {
        limit_log(j);
        j->log_look_ms = units_monotonic_ms() + LOG_LOOK_MS;
    }

    if (is_watched(j) && (bytes = memwatch_look(&j->memwatch)) > 0)
        end_greedy(j, JOB_IS_TOO_LARGE, "out of memory: it used ", bytes, j->memory_bytes, "");
    /* Where a control group limits the job, the kernel counts these files itself. */
    if (is_watched(j) && !j->is_limited && j->memory_bytes > 0 &&
        (bytes = confine_tmp_bytes()) > j->memory_bytes)
        end_greedy(j, JOB_IS_TOO_LARGE,
                   "out of memory: its files in /tmp, /var/tmp, /dev/shm and shared memory take ",
                   bytes, j->memory_bytes, "");
    if (is_watched(j) && (bytes = diskwatch_look(&j->diskwatch, j->scratch, j->hex)) > 0)
        end_greedy(j, JOB_FILLS_DISK, "out of disk: its files take ", bytes,
                   j->diskwatch.limit_bytes, " (resources: disk)");
    if (j->deadline_ms < 0 || units_monotonic_ms() < j->deadline_ms)
        return;
    switch (j->phase) {
    case JOB_PHASE_RUNNING: end_gently(j, JOB_TIME_IS_UP); break;
    case JOB_PHASE_CHECKPOINT:
    case JOB_PHASE_LEFTOVERS: end_all(j, j->end_grace_ms); break;
    case JOB_PHASE_UNCLEAR: judge(j); break;
    case JOB_PHASE_ENDING:
    case JOB_PHASE_KILLING: kill_all(j); break;
    default: break;
    }
}

int job_wait_ms(const struct job *j)
{
    int watch_ms = is_watched(j) ? memwatch_wait_ms(&j->memwatch) : -1;
    int disk_ms = is_watched(j) ? diskwatch_wait_ms(&j->diskwatch) : -1;
    int64_t wait_ms;

    if (disk_ms >= 0 && (watch_ms < 0 || watch_ms > disk_ms))
        watch_ms = disk_ms;
    if (has_log_limit(j) && (watch_ms < 0 || watch_ms > LOG_LOOK_MS))
        watch_ms = LOG_LOOK_MS;
    if (j->deadline_ms < 0)
        return watch_ms;
    wait_ms = j->deadline_ms - units_monotonic_ms();
    wait_ms = wait_ms < 0 ? 0 : wait_ms > INT_MAX ? INT_MAX : wait_ms;
    return watch_ms >= 0 && watch_ms < wait_ms ? watch_ms : (int)wait_ms;
}

/* Returns how much of the GPUs' memory our descendants have.  Where the driver knows no process of
 * ours, as inside a container, all that is used on GPUs that the job has alone counts. */
static int64_t gpu_memory_of(const struct job *j, const struct order_see_gpus *use)
{
    const struct gpu_user *users = use->processes.items;
    const struct gpu_use *gpus = use->gpus.items;
    int64_t ours = SCHEMA_NONE, all = SCHEMA_NONE;
    size_t n;
    struct process_tree_process *tree = process_tree_list(&n);

    for (size_t i = 0; i < use->processes.n; i++)
        for (size_t k = 0; k < n; k++)
            if (tree[k].pid == (pid_t)users[i].pid)
                ours = (ours == SCHEMA_NONE ? 0 : ours) + users[i].used_bytes;
    for (size_t i = 0; i < use->gpus.n; i++)
        if (gpus[i].used_bytes != SCHEMA_NONE)
            all = (all == SCHEMA_NONE ? 0 : all) + gpus[i].used_bytes;
    free(tree);
    return ours != SCHEMA_NONE ? ours : j->has_whole_gpus ? all : SCHEMA_NONE;
}

void job_see_gpus(struct job *j, const struct order_see_gpus *use)
{
    const struct gpu_use *gpus = use->gpus.items;
    int64_t bytes = gpu_memory_of(j, use), n = 0, sum = 0;
    struct outcome *x = &j->outcome;

    if (!is_watched(j))
        return;
    for (size_t i = 0; i < use->gpus.n; i++)
        if (gpus[i].percent != SCHEMA_NONE) {
            sum += gpus[i].percent;
            n++;
        }
    if (bytes != SCHEMA_NONE) {
        x->gpu_looks++;
        if (bytes > x->gpu_memory_bytes)
            x->gpu_memory_bytes = bytes;
    }
    if (n > 0)
        x->gpu_percent += ((double)sum / (double)n - x->gpu_percent) / (double)++x->gpu_busy_looks;
}

/* Adds up what the ended children used: a process's usage includes that of processes it waited for.
 * The memory is that of the largest one. */
void job_reap(struct job *j)
{
    struct rusage used;
    int64_t until_ms = units_monotonic_ms() + LEFTOVERS_MS;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
        int64_t max_rss_bytes = (int64_t)used.ru_maxrss * 1024;

        if (j->phase != JOB_PHASE_NONE && j->phase != JOB_PHASE_OVER) {
            if (max_rss_bytes > j->outcome.max_rss_bytes)
                j->outcome.max_rss_bytes = max_rss_bytes;
            j->outcome.cpu_ms += (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                                 used.ru_utime.tv_usec / 1000 + used.ru_stime.tv_usec / 1000;
        }
        if (pid == j->pid) {
            j->pid = 0;
            j->status = status;
        }
    }
    if (j->phase == JOB_PHASE_NONE || j->phase == JOB_PHASE_OVER || j->phase == JOB_PHASE_UNCLEAR)
        return;
    if (pid < 0 && errno == ECHILD) { /* no process of the job is left */
        if (!j->in_slurm || j->stop != JOB_NOT_STOPPED || has_come_to_its_end(j)) {
            judge(j);
        } else {
            j->phase = JOB_PHASE_UNCLEAR;
            j->deadline_ms = units_monotonic_ms() + TOLD_LATE_MS;
        }
    } else if (j->pid == 0 && (j->phase == JOB_PHASE_RUNNING || j->phase == JOB_PHASE_CHECKPOINT)) {
        if (j->phase == JOB_PHASE_RUNNING || until_ms < j->deadline_ms)
            j->deadline_ms = until_ms;
        j->phase = JOB_PHASE_LEFTOVERS;
    }
}

static int write_outcome(const struct scratch *s, const char *hex, const struct outcome *outcome,
                         struct err *e)
{
    char *path = mem_printf("%s/%s", hex, JOB_OUTCOME);
    char *fresh = mem_printf("%s.new", path);
    int result = scratch_write(s->run_fd, fresh, &outcome_schema, outcome, e);

    CRASH_POINT(outcome_begun);
    if (result == 0 && renameat(s->run_fd, fresh, s->run_fd, path) < 0)
        result = err_sys(e, "replace %s", path);
    free(path);
    free(fresh);
    return result;
}

int job_save_outcome(const struct scratch *s, const char *hex, const struct outcome *outcome,
                     struct err *e)
{
    /* A job that could not even be started, or whose folder was wiped, still has its outcome. */
    if (write_outcome(s, hex, outcome, NULL) < 0) {
        (void)mkdirat(s->run_fd, hex, 0700);
        if (write_outcome(s, hex, outcome, e) < 0)
            return -1;
    }
    CRASH_POINT(outcome_written);
    if (renameat(s->run_fd, hex, s->ended_fd, hex) < 0)
        return err_sys(e, "move %s to %s", hex, SCRATCH_ENDED);
    CRASH_POINT(ended_moved);
    return 0;
}

int job_save(struct job *j, struct scratch *s, struct err *e)
{
    struct err why = { 0 };

    CRASH_POINT(job_exited);
    /* Sheds first, as a full scratch may have no room for the outcome. */
    if (jobdir_shed(s, j->hex, &why) < 0)
        log_event(LOG_WARN, "not-shed", "attempt", "%s", j->hex, "error", "%s", why.text, NULL);
    if (job_save_outcome(s, j->hex, &j->outcome, e) < 0)
        return -1;
    j->phase = JOB_PHASE_NONE;
    return 0;
}
