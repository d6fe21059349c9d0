/* SPDX-License-Identifier: MIT */
/*
 * job.h - one attempt from its start to the outcome on scratch
 *
 *   running ─main process ended─▶ leftovers ─2 s─▶ ending ─grace─▶ killing ─▶ over
 *      └──────── time limit, or order to stop ───────▲
 *
 * It is over, from wherever it was, when no child of this process is left.
 */
#ifndef LUDWIG_WORKER_JOB_H
#define LUDWIG_WORKER_JOB_H

#include <sys/types.h>

#include "worker/jobenv.h"
#include "worker/spare.h"

enum job_phase {
    PHASE_NONE,
    PHASE_RUNNING,
    PHASE_LEFTOVERS,
    PHASE_ENDING,
    PHASE_KILLING,
    PHASE_OVER
};

/* Why it was told to end. */
enum job_stop { JOB_NOT_STOPPED, JOB_TIME_IS_UP, JOB_IS_CANCELLED };

struct job {
    enum job_phase phase;
    enum job_stop stop;
    struct token token;
    char hex[TOKEN_HEX];
    pid_t pid;           /* of the main process; 0: it has ended */
    int status;          /* its wait status then */
    int64_t deadline_ms; /* monotonic: when the phase ends; -1: never */
    int64_t time_ms;     /* its limit; 0: none */
    int64_t kill_pause_ms;
    struct outcome outcome;
    char reason[REASON_MAX_BYTES + 1];
};

struct job_site {
    struct scratch *scratch;
    struct spares *spares;
    const struct jobenv_user *user;
    int null_fd; /* /dev/null */
};

/* Starts it.  What cannot be started is over at once, and its outcome says why. */
void job_start(struct job *j, const struct job_site *site, const struct order *o, struct arena *a);
/* SIGTERM to all of it, SIGKILL after grace_ms. */
void job_cancel(struct job *j, int64_t grace_ms);
/* Collects children that ended; call it when SIGCHLD came. */
void job_reap(struct job *j);
/* Does what is due. */
void job_tick(struct job *j);
/* For poll(2): until something is due, -1 for never. */
int job_wait_ms(const struct job *j);

/* Writes the outcome of what is over and moves the folder to ended/. */
int job_save(struct job *j, struct scratch *s, struct err *e);

#endif
