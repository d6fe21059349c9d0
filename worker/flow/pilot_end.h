/* SPDX-License-Identifier: MIT */
/*
 * pilot_end.h - how the agent of a pilot comes to its end
 *
 *   works ─idle, or ludwigd says so─▶ retires ─nothing left─▶ leaves
 *     └──its time ends, or Slurm says so──▶ ends ──────────────┘
 *
 * An agent that retires takes no more jobs and lets those it has finish.  One that ends asks them
 * to save what they need to go on elsewhere, publishes what there is, and reports as lost what it
 * cannot publish before Slurm kills all that is left.
 */
#ifndef LUDWIG_WORKER_FLOW_PILOT_END_H
#define LUDWIG_WORKER_FLOW_PILOT_END_H

#include <uv.h>

#include "common/proto/states.h"
#include "worker/base/options.h"

struct agent;
struct attempt;
struct batch;

enum pilot_end_state { PILOT_END_NOT, PILOT_END_WHEN_DONE, PILOT_END_NOW };

struct pilot_end {
    struct pilot_options pilot;
    enum pilot_end_state state;
    const char *reason;
    enum cause cause;       /* cause for the jobs that are ended */
    int64_t started_at_ms;  /* ms since 1970, as deadline_ms */
    int64_t deadline_ms;    /* when Slurm kills all that is left; 0: not known */
    int64_t lead_ms;        /* time before deadline_ms that jobs may need to end well */
    int64_t asked_seq;      /* number of a message that shows, once answered, that ludwigd heard */
    bool is_heard;          /* ludwigd knows that this agent ends; all it sent before has come */
    bool is_last_word_said; /* heard as well, once asked_seq is answered */
    bool has_met;           /* the agent registered once */
    struct token only;      /* the only process that a pilot for one job takes; zero: none */
    uv_timer_t idle_timer, end_timer, patience_timer;
    uv_signal_t sigusr1;
};

bool pilot_end_is_pilot(const struct agent *ag);
/* Whether the agent holds no attempt or packing, and no earlier agent left one. */
bool pilot_end_has_nothing(const struct agent *ag);
/* Sets up timers and signals of a pilot, before anything else happens. */
int pilot_end_init(struct agent *ag, struct err *e);

/* To be called in each turn of the loop. */
void pilot_end_turn(struct agent *ag);
/* Notes the time that the attempt needs at the end; it may be the only one that the pilot takes. */
void pilot_end_admitted(struct agent *ag, const struct attempt *a);
/* Whether the attempt is refused, as the pilot retires or ends; mates of the only one are taken. */
bool pilot_end_refuses(const struct agent *ag, const struct attempt *a);
/* A runner of an earlier agent was found: ends its job as well if the pilot ends. */
void pilot_end_adopted(struct agent *ag, const struct batch *b);
/* ludwigd has answered message re. */
void pilot_end_answered(struct agent *ag, int64_t re);
/* The agent has registered: tells ludwigd (again) if it retires or ends. */
void pilot_end_registered(struct agent *ag);

/* ludwigd does not know this pilot: if it has no attempts, the agent fails with this reason. */
void pilot_end_denied(struct agent *ag, const struct err *why);

/* Retires: takes no more jobs.  reason must last. */
void pilot_end_when_done(struct agent *ag, const char *reason);
/* Takes a signal (SIGUSR1, SIGTERM) by which Slurm says that the pilot must end. */
void pilot_end_told(struct agent *ag, int signal);

#endif
