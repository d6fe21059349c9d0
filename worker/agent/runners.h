/* SPDX-License-Identifier: MIT */
/*
 * runners.h - the processes that run jobs: those this agent started and those of earlier agents
 *
 * Each has a folder runner.N with a lock, which its process holds as long as it lives, and a socket
 * by which a later agent can reach it.  The lock alone tells whether a runner lives, never its pid.
 *
 * A runner has the rights of its job, which may stop it (SIGSTOP), so it is not relied on: when the
 * time limit of its process and the time for ending it are over, the runner is killed with
 * all below it.  That moment is written down beside the lock and holds for later agents, too.
 */
#ifndef LUDWIG_WORKER_AGENT_RUNNERS_H
#define LUDWIG_WORKER_AGENT_RUNNERS_H

#include <uv.h>

#include "common/proto/chan.h"
#include "worker/agent/attempts.h"
#include "worker/base/child_start.h"

/* An idle runner is told to leave after this time; starting another takes a millisecond. */
enum { RUNNER_IDLE_MS = 10 * 1000 };
/* A job that is to stop gets this long between SIGTERM and SIGKILL. */
enum { RUNNER_GRACE_MS = 10 * 1000 };

struct agent;
struct runner;

struct runner_events {
    /* A runner that the agent has connected to again says what it runs; token zero: nothing. */
    void (*adopted)(struct agent *ag, struct runner *r, const struct note_hello *hello);
    void (*started)(struct agent *ag, struct runner *r, const struct note_started *note);
    /* An attempt, or a batch's process, has ended; unless others of the batch go on, the runner is
     * idle by now.  trouble: why the attempt could not be started here, or NULL. */
    void (*ended)(struct agent *ag, struct runner *r, const struct token *token,
                  const char *trouble);
    /* A job reported values, and its sweep asks for them. */
    void (*measured)(struct agent *ag, const struct note_measured *note);
    /* The advisor that the runner runs wrote a line, or can take more lines. */
    void (*advice)(struct agent *ag, struct runner *r, const struct note_advice *note);
    /* The runner's process should have ended, by its time limit or as it was to stop (was_to_stop):
     * the runner and all below it are being killed. */
    void (*overdue)(struct agent *ag, struct runner *r, const struct token *process,
                    bool was_to_stop);
    /* The runner says how much its job takes on scratch. */
    void (*disk)(struct agent *ag, struct runner *r, const struct note_disk *note);
    /* The runner's process is gone: only the folders on scratch tell of its jobs.  b: the batch
     * that it had; NULL: none, or not known. */
    void (*lost)(struct agent *ag, struct batch *b);
};

struct runners {
    uv_loop_t *loop;
    struct runner_events events;
    struct agent *ag;
    int dir_fd;                    /* the folder of the folders runner.N */
    const struct confine *confine; /* the confinement of new runners */
    struct ring all;
    struct ring idle; /* runners without a job; the one used last comes first */
    uv_timer_t idle_timer;
    struct arena *arena;
    unsigned next_number;
    size_t n_unknown; /* adopted runners that have not said yet what they run */
};

/* dir_fd and confine stay the caller's and must outlive rs; events is copied. */
void runners_init(struct runners *rs, uv_loop_t *loop, int dir_fd, const struct confine *confine,
                  const struct runner_events *events, struct agent *ag);
/* Closes all connections: idle runners leave, the others finish their jobs. */
void runners_close(struct runners *rs);

/* Finds runners that an earlier agent left; for each, events.adopted or events.lost follows. */
int runners_adopt(struct runners *rs, struct err *e);

/* Gives the batch to an idle runner of this owner, or to a new one; -1 with e set on error. */
int runners_run(struct runners *rs, struct batch *b, const struct owner *owner, struct err *e);
/* Has the runner end this attempt, or its whole process if token is the process's. */
void runner_stop(struct runner *r, const struct token *token);
/* Has this process ended, also if an earlier agent gave it to a runner that has not said so yet. */
void runners_stop(struct runners *rs, const struct token *process);
/* Has the runner end its jobs so that they can go on elsewhere; budget_ms: time until they must be
 * gone, SCHEMA_NONE: not limited. */
void runner_preempt(struct runner *r, enum cause cause, const char *reason, int64_t budget_ms);
/* Has the runner end its job early, after a time to save its state. */
void runner_stop_early(struct runner *r, const char *reason);
/* Has the runner say how much its job, which asked for no disk, takes on scratch. */
void runner_measure(struct runner *r);
/* Has the runner end its process at once: it fills room on scratch that was promised to others. */
void runner_shed(struct runner *r, const char *reason);
/* Passes lines to the advisor that the runner runs. */
void runner_advise(struct runner *r, const struct token *token, const char *text);
/* Tells the runner the use of its job's GPUs. */
void runner_tell_gpus(struct runner *r, const struct order_see_gpus *use);
/* Whether the runner is for jobs of this owner. */
bool runner_is_of(const struct runner *r, const struct owner *owner);
/* The user whose jobs the runner runs, as in struct owner. */
const char *runner_user(const struct runner *r);
/* The batch that the runner has; NULL: none, or not known. */
struct batch *runner_batch(const struct runner *r);
/* Sets the batch that the runner has, and the batch's runner. */
void runner_assign(struct runner *r, struct batch *b);

/* A child of the agent ended, perhaps a runner. */
void runners_reaped(struct runners *rs, pid_t pid);

#endif
