/* SPDX-License-Identifier: MIT */
/*
 * pilot_end.h - how the agent of a pilot comes to its end
 *
 *   works ─idle, or ludwigd says so─▶ retires ─nothing left─▶ leaves
 *     └──its time ends, or Slurm says so──▶ ends ──────────────┘
 *
 * An agent that retires takes no more and lets its jobs finish.  One that ends asks them to save
 * what they need to go on elsewhere, publishes what there is, and reports as lost what it cannot
 * publish before Slurm kills all that is left.
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
    enum cause cause;       /* of the jobs that are ended */
    int64_t started_at_ms;  /* by the clock, as all of these */
    int64_t deadline_ms;    /* Slurm kills all that is left; 0: not known */
    int64_t lead_ms;        /* time that jobs may need before that to end well */
    int64_t asked_seq;      /* of a question to ludwigd; 0: none is open */
    bool is_heard;          /* ludwigd has heard of our end, and all that it sent before has come */
    bool is_last_word_said; /* and heard, once asked_seq is answered */
    bool has_met;           /* ludwigd was there once */
    struct token only;      /* the only process that it takes; zero: none */
    uv_timer_t idle_timer, end_timer, patience_timer;
    uv_signal_t sigusr1;
};

bool pilot_end_is_pilot(const struct agent *ag);
/* Whether no attempt is here, nor was left by an agent before it. */
bool pilot_end_has_nothing(const struct agent *ag);
/* For a pilot, before anything else happens. */
int pilot_end_init(struct agent *ag, struct err *e);

/* Once in each turn of the loop. */
void pilot_end_turn(struct agent *ag);
/* Takes note of an attempt: it may need some time at the end, and may be the only one. */
void pilot_end_admitted(struct agent *ag, const struct attempt *a);
/* Whether the attempt is refused: only those that share the only one's process are taken. */
bool pilot_end_refuses(const struct agent *ag, const struct attempt *a);
/* A runner was found again: its job may have to end as well. */
void pilot_end_adopted(struct agent *ag, const struct batch *b);
/* ludwigd answers message re. */
void pilot_end_answered(struct agent *ag, int64_t re);
/* ludwigd has been met, or met anew: what it has to know is said again. */
void pilot_end_registered(struct agent *ag);

/* ludwigd does not know this pilot: without attempts it has nothing to stay for. */
void pilot_end_denied(struct agent *ag, const struct err *why);

/* Takes no more jobs. */
void pilot_end_when_done(struct agent *ag, const char *reason);
/* Takes a signal by which Slurm says that the place is to be left. */
void pilot_end_told(struct agent *ag, int signal);

#endif
