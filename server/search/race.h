/* SPDX-License-Identifier: MIT */
/*
 * race.h - which configurations get no more replications: a pure function of recorded outcomes
 *
 * A sweep with `reps: {max: 10, race: 3}` hands out replications breadth first: no configuration
 * gets its next replication before all others still in the race have as many (handle_submit.c ranks
 * the jobs in the queue).  A configuration is out when a paired test excludes it from the best.
 *
 * The answers depend only on the outcomes, not even on their order: a record that is filled again
 * after a restart, in any order, gives the same answers.  A configuration that is out can come back
 * in when others turn out worse than they seemed; its outcomes are kept.
 */
#ifndef LUDWIG_SERVER_SEARCH_RACE_H
#define LUDWIG_SERVER_SEARCH_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/proto/jobspec.h"

struct race_spec {
    bool is_max;  /* a large value is good */
    int64_t max;  /* reps of a configuration that stays in the race, RACE_REPS_MAX at most */
    int64_t race; /* reps that each configuration gets in any case */
    int64_t best; /* how many best configurations are looked for; 0: 1 */
};

/* -1: a number is out of range; e names the key as in sweep.yaml. */
int race_spec_check(const struct race_spec *spec, struct err *e);

struct race; /* opaque: the outcomes of one sweep */

struct race *race_new(const struct race_spec *spec);
void race_free(struct race *r); /* NULL is allowed */

/* Records that replication rep, 0 to max - 1, ended with a value; nan: it failed for good.  nan and
 * inf lose against every number.  A second outcome of the same replication changes nothing, unless
 * a number comes after a failure. */
void race_end(struct race *r, int64_t config, int64_t rep, double value);

enum { RACE_REASON_BYTES = 240 };

/* Whether the configuration is out; if so, reason is a sentence with numbers for `ludwig why`, else
 * "".  Costs O(outcomes) after a new outcome: 10 ms for 20,000 configurations with three each. */
bool race_is_out(struct race *r, int64_t config, char reason[RACE_REASON_BYTES]);

/* Notes what the caller knows of the configuration; race_next_change gives it when that changes. */
void race_known(struct race *r, int64_t config, bool is_out);
/* Returns a configuration whose answer differs from what the caller knows, with *is_out, and notes
 * that the caller knows it; 0: there is none. */
int64_t race_next_change(struct race *r, bool *is_out);

#endif
