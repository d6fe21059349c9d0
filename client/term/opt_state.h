/* SPDX-License-Identifier: MIT */
/*
 * opt_state.h - what --state takes: names of states, with commas between or one at a time
 */
#ifndef LUDWIG_CLIENT_TERM_OPT_STATE_H
#define LUDWIG_CLIENT_TERM_OPT_STATE_H

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/schema.h"

/* Which states there are, and how others are refused. */
struct opt_state {
    const char *const *names;
    unsigned n;
    unsigned allowed;    /* bits: 1 << index of a name */
    const char *refusal; /* "no job is ever": stands before 'nme' */
    /* A word that people take for a name, and what they are told; NULL: none. */
    const char *mistaken, *hint;
};

/* words: const char *; none: 0, else the bits of the states they name. */
int opt_state_read(const struct opt_state *o, const struct list *words, unsigned *states,
                   struct err *e);
/* The names of these states; none for 0. */
struct list opt_state_names(const struct opt_state *o, unsigned states, struct arena *a);

/* The answer to 'state = paused' of a job, for --state and --where. */
#define OPT_STATE_PAUSED \
    "paused is no state of a job; paused jobs are queued: --where 'reason = paused'"

extern const struct opt_state stateopt_jobs, stateopt_sweeps;

#endif
