/* SPDX-License-Identifier: MIT */
/* pilot.c - starts the agent, and again whenever it dies, and passes on signals */

#include "worker/loop/pilot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/base/process_tree.h"
#include "worker/node/job_cgroup.h"
#include "worker/node/node.h"
#include "worker/node/pilot_cleanup.h"
#include "worker/node/slurmjob.h"

enum {
    DELAY_AT_FIRST_MS = 100,
    DELAY_AT_MOST_MS = 10 * 1000,
    LASTED_MS = 60 * 1000, /* an agent that lived so long had started well */
    REFUSALS_MAX = 3 /* after so many agents in a row that exited with an error the pilot ends */
};

struct pilot {
    char **args; /* of the agent */
    pid_t agent; /* 0: there is none at the moment */
    int told_by; /* the last signal that told us to end; 0: none */
    unsigned failures, refusals;
    int64_t started_ms; /* when the agent was started; monotonic, as the next */
    int64_t start_at_ms;
    bool is_over;
    int code;
};

static const int handed_on[] = { SIGTERM, SIGUSR1, SIGINT, SIGHUP };

static void end_with(struct pilot *p, int code)
{
    p->is_over = true;
    p->code = code;
}

static void agent_ended(struct pilot *p, int status)
{
    int64_t now_ms = units_monotonic_ms(), delay_ms = 0;
    bool has_exited = WIFEXITED(status);
    int code = has_exited ? WEXITSTATUS(status) : 0;

    p->agent = 0;
    /* The agent has nothing to do, or could not reach ludwigd for long and has no job. */
    if (has_exited && (code == EXIT_WELL || code == EXIT_UNREACHABLE)) {
        end_with(p, code);
        return;
    }
    if (now_ms - p->started_ms >= LASTED_MS)
        p->failures = p->refusals = 0;
    p->refusals = has_exited ? p->refusals + 1 : 0;
    if (p->refusals == REFUSALS_MAX) {
        end_with(p, code);
        return;
    }
    if (p->told_by == 0) {
        delay_ms = p->failures < 10 ? (int64_t)DELAY_AT_FIRST_MS << p->failures : DELAY_AT_MOST_MS;
        p->failures++;
    }
    p->start_at_ms = now_ms + (delay_ms < DELAY_AT_MOST_MS ? delay_ms : DELAY_AT_MOST_MS);
    log_event(LOG_WARN, "agent-ended", has_exited ? "code" : "signal", "%d",
              has_exited ? code : WTERMSIG(status), NULL);
}

static void start_agent(struct pilot *p)
{
    struct err e = { 0 };
    pid_t pid = fork();

    if (pid == 0) { /* signals stay blocked until the agent handles them */
        execv("/proc/self/exe", p->args);
        _exit(EXIT_FAILED);
    }
    p->started_ms = units_monotonic_ms();
    if (pid < 0) {
        err_sys(&e, "start the agent");
        log_event(LOG_ERROR, "pilot", "error", "%s", e.text, NULL);
        p->start_at_ms = p->started_ms + DELAY_AT_MOST_MS;
        return;
    }
    p->agent = pid;
    if (p->told_by != 0)
        (void)kill(pid, p->told_by);
}

/* Starts the agent if that is due, then waits for a signal and acts on it. */
static void turn(struct pilot *p, const sigset_t *set)
{
    int64_t wait_ms = -1; /* no limit */
    struct timespec wait;
    int number, status;
    pid_t pid;

    if (p->agent == 0) {
        wait_ms = p->start_at_ms - units_monotonic_ms();
        if (wait_ms <= 0) {
            start_agent(p);
            wait_ms = p->agent == 0 ? DELAY_AT_FIRST_MS : -1;
        }
    }
    wait = (struct timespec){ (time_t)(wait_ms / 1000), (long)(wait_ms % 1000) * 1000 * 1000 };
    number = wait_ms < 0 ? sigwaitinfo(set, NULL) : sigtimedwait(set, NULL, &wait);
    if (number == SIGCHLD) {
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) /* also orphans that became ours */
            if (pid == p->agent)
                agent_ended(p, status);
    } else if (number > 0) {
        log_event(LOG_INFO, "signal", "number", "%d", number, NULL);
        p->told_by = number == SIGUSR1 ? SIGUSR1 : SIGTERM;
        p->start_at_ms = 0;
        if (p->agent > 0)
            (void)kill(p->agent, p->told_by);
    }
}

/* ---- the agent's arguments ---- */

static char **args_of(const struct options *o)
{
    enum { ARGS_MAX = 16 };
    char **args = mem_alloc(ARGS_MAX * sizeof *args);
    size_t n = 0;

    args[n++] = mem_strdup("ludwig-worker");
    args[n++] = mem_strdup(PILOT_AGENT);
    if (o->conf_path != NULL)
        args[n++] = mem_printf("--config=%s", o->conf_path);
    if (o->servers != NULL)
        args[n++] = mem_printf("--server=%s", o->servers);
    if (!token_is_zero(&o->pilot.token)) {
        args[n++] = mem_strdup("--pilot");
        args[n] = mem_alloc(TOKEN_HEX);
        token_hex(&o->pilot.token, args[n++]);
    }
    args[n++] = mem_printf("--idle=%lld", (long long)o->pilot.idle_ms);
    args[n++] = mem_printf("--kill-wait=%lld", (long long)o->pilot.kill_wait_ms);
    if (o->pilot.takes_one)
        args[n++] = mem_strdup("--one-job");
    args[n++] = mem_printf("--ends=%lld", (long long)o->pilot.ends_at_ms);
    return args;
}

/* Returns the end of our time in ms since 1970, which Slurm may still have to be asked for. */
static int64_t find_end(const struct pilot_options *o, struct slurm_job *job)
{
    int64_t ends_at_ms = o->ends_at_ms;

    if (ends_at_ms == 0 && job->ends_at_ms == 0)
        job->ends_at_ms = slurm_job_soonest_end(o->submitted_at_ms, o->time_ms, units_now_ms());
    if (ends_at_ms == 0) {
        slurm_job_ask_end(job);
        ends_at_ms = job->ends_at_ms;
    }
    log_event(LOG_INFO, "pilot", "job", "%s", job->id == NULL ? "" : job->id, "cpus", "%lld",
              (long long)job->cpus, "gpus", "%zu", job->n_gpus, "ends_at_ms", "%lld",
              (long long)ends_at_ms, NULL);
    return ends_at_ms;
}

/* ---- folders ---- */

/* Locks both folders, so that pilot_cleanup takes neither for a leftover while this process lives.
 * A failure is only logged: the agent will say what is wrong with the folders. */
static void claim_folders(const struct options *o, const struct slurm_job *job)
{
    struct folders folders = { .scratch = NULL };
    struct conf conf = { .name = NULL };
    struct node node = { .host = NULL };
    struct err e = { 0 };

    if (conf_read(o->conf_path, o->servers, &conf, NULL) == 0 && node_look(&node, NULL) == 0 &&
        job->id != NULL && folders_name(&conf, node.host, job->id, false, &folders, NULL) == 0) {
        const char *const both[] = { folders.runtime, folders.scratch };

        for (size_t i = 0; i < 2; i++)
            if (pilot_cleanup_claim(both[i], &e) < 0)
                log_event(LOG_WARN, "not-claimed", "folder", "%s", both[i], "why", "%s", e.text,
                          NULL);
    }
    folders_free(&folders);
    node_free(&node);
    conf_free(&conf);
}

int pilot_main(const struct options *o)
{
    struct pilot p = { .agent = 0 };
    struct options agent = *o;
    struct slurm_job job;
    struct err e = { 0 };
    char *divided;
    sigset_t set;

    prctl(PR_SET_NAME, "ludwig-pilot", 0, 0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof handed_on / sizeof handed_on[0]; i++)
        sigaddset(&set, handed_on[i]);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
        err_sys(&e, "block signals");
    if (e.kind != ERR_NONE || process_tree_become_reaper(&e) < 0) {
        fprintf(stderr, "ludwig-worker: %s\n", e.text);
        return (int)err_exit_code(e.kind);
    }
    if (slurm_job_is_ended(slurm_job_env, STDOUT_FILENO)) {
        log_event(LOG_INFO, "pilot", "ends", "%s", "Slurm had cancelled its job before it began",
                  NULL);
        return EXIT_WELL;
    }
    slurm_job_read(&job, slurm_job_env);
    claim_folders(o, &job);
    divided = job_cgroup_divide_own();
    agent.pilot.ends_at_ms = find_end(&o->pilot, &job);
    slurm_job_free(&job);
    p.args = args_of(&agent);
    while (!p.is_over)
        turn(&p, &set);
    for (char **at = p.args; *at != NULL; at++)
        free(*at);
    free(p.args);
    if (divided != NULL)
        job_cgroup_undivide(divided);
    free(divided);
    return p.code;
}
