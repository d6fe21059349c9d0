/* SPDX-License-Identifier: MIT */
/*
 * job.h - one attempt from its start to the outcome on scratch
 *
 *      ┌──── its main process ended ────┐
 *      │                                ▼
 *   running ─▶ checkpoint ─ended─▶ leftovers ─2 s─▶ ending ─grace─▶ killing ─▶ over
 *      │           └────────── its own grace ─────────▲
 *      └── cancelled; time limit, or preempted, and nobody to ask ──┘
 *
 * Inside Slurm a job that has failed is unclear for a moment before it is over: Slurm may have
 * ended it, and tells its runner a little later.
 *
 * A job that may go on elsewhere (its time is up, or its place is taken away), or is stopped early,
 * and named a signal is first asked to save its state (checkpoint:); a cancelled one is not.
 * It is over, from wherever it was, when no child of this process is left.
 */
#ifndef LUDWIG_WORKER_RUNNER_JOB_H
#define LUDWIG_WORKER_RUNNER_JOB_H

#include <sys/types.h>

#include "worker/base/scratch.h"
#include "worker/runner/checkpoint_signal.h"
#include "worker/runner/diskwatch.h"
#include "worker/runner/jobenv.h"
#include "worker/runner/oom.h"

enum job_phase {
    JOB_PHASE_NONE,
    JOB_PHASE_RUNNING,
    JOB_PHASE_CHECKPOINT, /* it was asked to save its state */
    JOB_PHASE_LEFTOVERS,
    JOB_PHASE_ENDING,
    JOB_PHASE_KILLING,
    JOB_PHASE_UNCLEAR, /* it has ended; whether Slurm ended it will be known in a moment */
    JOB_PHASE_OVER
};

/* Why the job was told to end. */
enum job_stop {
    JOB_NOT_STOPPED,
    JOB_TIME_IS_UP,
    JOB_IS_TOO_LARGE,
    JOB_FILLS_DISK,
    JOB_IS_PREEMPTED,
    JOB_IS_STOPPED_EARLY,
    JOB_HAS_NAN,
    JOB_IS_CANCELLED
};

struct job {
    enum job_phase phase;
    enum job_stop stop;
    struct token token;
    char hex[TOKEN_HEX];
    pid_t pid;           /* of the main process; 0: it has ended */
    int status;          /* the main process's wait status, once it has ended */
    int64_t deadline_ms; /* monotonic: when the phase ends; -1: never */
    int64_t time_ms;     /* the job's time limit; 0: none */
    int64_t kill_pause_ms;
    int save_signal; /* signal that asks the job to save its state; 0: none */
    bool was_asked;  /* the job was asked */
    bool was_told;   /* the job was told to end, by SIGTERM */
    struct checkpoint_request asked;
    const struct scratch *scratch;
    bool is_batch;
    enum cause preempted_by;
    int64_t save_grace_ms;
    int64_t end_grace_ms; /* from SIGTERM to SIGKILL */
    bool in_slurm; /* in a pilot: Slurm sends SIGTERM to all of its processes, jobs' as well */
    bool has_container;
    bool advises;    /* no job: a sweep's advisor */
    bool notifies;   /* no job: a notification */
    bool is_limited; /* the kernel limits it to memory_bytes */
    bool log_is_cut; /* its log has reached log_max_bytes, and a last line says so */
    const struct oom *oom;
    int64_t kills, hits; /* oom_kills() and oom_hits() when the job began */
    int64_t memory_bytes;
    bool has_whole_gpus; /* no other job computes on them */
    struct memwatch memwatch;
    struct diskwatch diskwatch;
    int64_t log_max_bytes; /* 0: its log has no limit */
    int64_t log_look_ms;   /* monotonic: when the log is looked at next */
    struct outcome outcome;
    char reason[REASON_MAX_BYTES + 1];
};

struct job_site {
    struct scratch *scratch;
    struct spares *spares;
    const struct jobenv_user *user;
    int null_fd;               /* /dev/null */
    int in_fd, out_fd;         /* of an advisor: its standard input and output; 0: of a job */
    const struct oom *oom;     /* NULL: the kernel's counts are not known */
    struct memlimit *limit;    /* NULL, or closed: jobs have none */
    const struct value *chunk; /* of the process of a batch; NULL: of a job */
};

/* Starts the job.  If it cannot be started it is over at once, and its outcome says why. */
void job_start(struct job *j, const struct job_site *site, const struct order *o, struct arena *a);
/* Sends SIGTERM to all its processes, and SIGKILL after grace_ms. */
void job_cancel(struct job *j, int64_t grace_ms);
/* The job loses its place: as job_cancel, after it was asked to save its state.  Unless it comes to
 * its end meanwhile with exit code 0, and has not saved when it was asked to, the outcome says
 * event lose, and this cause.  reason: NULL, or why; budget_ms: until all of it is gone,
 * SCHEMA_NONE: as long as it may take.  Called again, only a budget that is over sooner counts. */
void job_preempt(struct job *j, enum cause cause, const char *reason, int64_t budget_ms);
/* Ends the job early, for this reason: it is asked to save its state first, as by job_preempt, but
 * what it saved is published.  A job that has come to its end meanwhile is done. */
void job_stop_early(struct job *j, const char *reason);
/* Measures from now on how much the job's files take, though it did not ask for disk. */
void job_measure_disk(struct job *j);
/* Kills the job at once: its files fill room that was promised to others. */
void job_end_full(struct job *j, const char *reason);
/* Ends the job as failed, as its metric is nan or infinite. */
void job_end_nan(struct job *j, const char *reason);
/* Takes what the job's GPUs do now. */
void job_see_gpus(struct job *j, const struct order_see_gpus *use);
/* Collects children that ended; call it when SIGCHLD came. */
void job_reap(struct job *j);
/* Acts if the phase's deadline has come. */
void job_tick(struct job *j);
/* For poll(2): until something is due, -1 for never. */
int job_wait_ms(const struct job *j);

/* Writes the outcome of a job that is over and moves its folder to ended/. */
int job_save(struct job *j, struct scratch *s, struct err *e);
/* Writes this outcome into run/<hex> and moves that folder to ended/. */
int job_save_outcome(const struct scratch *s, const char *hex, const struct outcome *outcome,
                     struct err *e);

#endif
