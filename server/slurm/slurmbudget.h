/* SPDX-License-Identifier: MIT */
/*
 * slurmbudget.h - how many commands of Slurm's are run: a bucket of tokens, and a count
 *
 * Each command costs slurmctld a few calls, and it serves everybody.  Times are those of
 * units_monotonic_ms.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMBUDGET_H
#define LUDWIG_SERVER_SLURM_SLURMBUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "server/slurm/slurmread.h"

enum {
    SLURM_BUDGET_BUCKET = 30,     /* at once */
    SLURM_BUDGET_EVERY_MS = 1000, /* one more */
    SLURM_BUDGET_SLOTS = 60,      /* of the last hour */
    SLURM_BUDGET_SLOT_MS = 60 * 1000,
};

struct slurm_budget {
    int64_t bucket, every_ms;
    int64_t tokens;
    int64_t filled_at_ms; /* when the last token came, or would have had there been room */
    int64_t slot;         /* of the latest count */
    int64_t counts[SLURM_BUDGET_SLOTS];
};

void slurm_budget_begin(struct slurm_budget *b, int64_t now_ms);
/* Not more than the site allows a user, with half of it left to the user's own commands. */
void slurm_budget_fit(struct slurm_budget *b, const struct slurm_config *config);

/* One command: false when there is no token, and then it is not counted. */
bool slurm_budget_take(struct slurm_budget *b, int64_t now_ms);
/* How long until there is one; 0: there is. */
int64_t slurm_budget_wait_ms(struct slurm_budget *b, int64_t now_ms);
/* The same of n commands at once, or of as many as there can be. */
int64_t slurm_budget_wait_for_ms(struct slurm_budget *b, int64_t n, int64_t now_ms);
int64_t slurm_budget_last_hour(struct slurm_budget *b, int64_t now_ms);

#endif
