/* SPDX-License-Identifier: MIT */
/*
 * sched.h - which worker gets which jobs next: a pure function
 *
 * In: each sweep's summary, the workers, what they hold, and the limits, all as of now.  Out: hands
 * ("give that worker so many jobs from the head of that sweep's queue"), recalls ("take so many
 * unstarted jobs back from that worker"), and expectations ("that worker's next job is likely to be
 * of that sweep, whose data it lacks").  A job here is what one process works through: with batch:
 * several jobs of the sweep.
 *
 * Users share fairly by what their live jobs hold of the machines that are not private to one user:
 * the larger of their shares of processors and of GPUs (dominant resource fairness, Ghodsi et al.
 * 2011).  Within a user the sweep of higher priority goes first, then the one that holds least,
 * then the older one.  Slots are filled first.  Then sweeps whose jobs are known to be short send
 * about SCHED_AHEAD_MS of work ahead; no worker gets more than half an even share of the jobs left
 * (guided self-scheduling, Polychronopoulos and Kuck 1987).  A sweep whose big jobs found no room
 * for SCHED_PATIENCE_MS gets the next room that is large enough: until then the emptiest machine
 * that could hold such a job gets no job of the sweeps after it.
 *
 * A job goes where its sweep's data lie, or where the least data have to be brought.  When those
 * workers are full and another one is free, the job waits for them only if they will probably be
 * through with the sweep's queue before the data could be brought to the free one; and at most for
 * as long as bringing the data would take, or SCHED_DATA_PATIENCE_MS (delay scheduling, Zaharia et
 * al. 2010).  So waiting at most doubles what data cost, and the free worker serves other sweeps
 * meanwhile.  Data that take less than SCHED_STAGE_MIN_MS are brought at once.
 *
 * Data for work that is sent ahead are staged when the work arrives.  For jobs still queued there
 * are expectations: each worker without room is expected to go on with one of these jobs, in the
 * same order, first where its data lie; a worker that lacks them stages them while its slots are
 * busy.  An expectation binds no worker: the first with room gets the job.
 */
#ifndef LUDWIG_SERVER_QUEUE_SCHED_H
#define LUDWIG_SERVER_QUEUE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SCHED_AHEAD_MS = 1000,
    SCHED_HAND_MAX = 512,
    SCHED_PATIENCE_MS = 60 * 1000,
    SCHED_STAGE_MIN_MS = 200,
    SCHED_DATA_PATIENCE_MS = 30 * 1000
};

struct sched_sweep {
    int64_t id;
    uid_t uid;
    int64_t priority;
    int64_t ready; /* jobs that may be handed out */
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes;
    int64_t disk_bytes;      /* on scratch */
    int64_t mean_ms;         /* of its ended jobs; 0: not known */
    int64_t waited_ms;       /* since one of its jobs was last handed out */
    const bool *may_use;     /* per worker: whether it may run the sweep's jobs (fit.h) */
    const int64_t *stage_ms; /* per worker: about how long staging takes; NULL: no time */
};

/* Live attempts of one sweep on one worker. */
struct sched_load {
    size_t worker; /* index */
    size_t sweep;  /* index; SIZE_MAX for a sweep without ready jobs, not in the list */
    int64_t sweep_id;
    uid_t uid;
    int64_t jobs;
    int64_t unstarted;       /* of these, jobs that are only assigned and not being recalled */
    const bool *may_use;     /* per worker, as in sched_sweep */
    const int64_t *stage_ms; /* as in sched_sweep; only set where sweep is SIZE_MAX */
    int64_t cpus_milli, gpus_milli, memory_bytes, disk_bytes; /* of one job */
    int64_t mean_ms;
};

struct sched_worker {
    int64_t id;
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes;
    int64_t disk_bytes; /* scratch that jobs may ask for; may_use says whether one alone fits */
    bool takes_one;     /* it takes a single job, even if there is room for more */
    /* It runs jobs only of the user who started it: it does not count as shared, and what it claims
     * to have matters for that user's jobs only. */
    bool is_private;
    uid_t uid; /* of that user */
};

struct sched_limits { /* 0: none */
    int64_t gpus_per_user_milli;
    int64_t cpus_per_user_milli;
    int64_t jobs_per_user;
};

struct sched_hand {
    size_t worker;
    size_t sweep;
    int64_t jobs;
};

struct sched_recall {
    size_t load; /* index into loads */
    int64_t jobs;
};

struct sched_expectation {
    size_t worker;
    size_t sweep;
};

struct sched_plan {
    struct sched_hand *hands;
    size_t n_hands;
    struct sched_recall *recalls;
    size_t n_recalls;
    struct sched_expectation *expectations; /* at most one per worker */
    size_t n_expectations;
    int64_t again_ms; /* ms after which a new plan would differ by time alone; 0: never */
};

struct sched_input {
    const struct sched_sweep *sweeps;
    size_t n_sweeps;
    const struct sched_worker *workers;
    size_t n_workers;
    const struct sched_load *loads;
    size_t n_loads;
    struct sched_limits limits;
};

void sched_split(const struct sched_input *in, struct sched_plan *plan);

/* The share of all machines, 0 to 1, by which users are compared: the larger of both. */
double sched_share(int64_t cpus_milli, int64_t gpus_milli, double all_cpus_milli,
                   double all_gpus_milli);
void sched_plan_free(struct sched_plan *plan);

#endif
