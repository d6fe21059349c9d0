/* SPDX-License-Identifier: MIT */
/* slurmbudget.c - how many commands of Slurm's are run: a bucket of tokens, and a count */

#include "server/slurm/slurmbudget.h"

#include <string.h>

static int64_t at_least_1(int64_t number)
{
    return number < 1 ? 1 : number;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void slurm_budget_begin(struct slurm_budget *b, int64_t now_ms)
{
    *b = (struct slurm_budget){ .bucket = SLURM_BUDGET_BUCKET,
                                .every_ms = SLURM_BUDGET_EVERY_MS,
                                .tokens = SLURM_BUDGET_BUCKET,
                                .filled_at_ms = now_ms,
                                .slot = now_ms / SLURM_BUDGET_SLOT_MS };
}

void slurm_budget_fit(struct slurm_budget *b, const struct slurm_config *config)
{
    int64_t every_ms;

    if (config->rpc_bucket <= 0)
        return;
    /* Figures of a site's own are as large as anybody likes. */
    every_ms = 2000 * smaller(at_least_1(config->rpc_refill_period_s), 3600) /
               at_least_1(config->rpc_refill);
    b->bucket = smaller(b->bucket, at_least_1(config->rpc_bucket / 2));
    b->tokens = smaller(b->tokens, b->bucket);
    if (every_ms > b->every_ms)
        b->every_ms = every_ms;
}

static void fill(struct slurm_budget *b, int64_t now_ms)
{
    int64_t n = now_ms > b->filled_at_ms ? (now_ms - b->filled_at_ms) / b->every_ms : 0;

    b->filled_at_ms += n * b->every_ms;
    b->tokens = smaller(b->bucket, b->tokens + n);
}

/* Counts of an hour ago and more are forgotten. */
static void turn(struct slurm_budget *b, int64_t now_ms)
{
    int64_t now = now_ms / SLURM_BUDGET_SLOT_MS;

    if (now - b->slot >= SLURM_BUDGET_SLOTS)
        memset(b->counts, 0, sizeof b->counts);
    else
        while (b->slot < now)
            b->counts[++b->slot % SLURM_BUDGET_SLOTS] = 0;
    if (now > b->slot)
        b->slot = now;
}

bool slurm_budget_take(struct slurm_budget *b, int64_t now_ms)
{
    fill(b, now_ms);
    if (b->tokens == 0)
        return false;
    b->tokens--;
    turn(b, now_ms);
    b->counts[b->slot % SLURM_BUDGET_SLOTS]++;
    return true;
}

int64_t slurm_budget_wait_for_ms(struct slurm_budget *b, int64_t n, int64_t now_ms)
{
    int64_t lacking;

    fill(b, now_ms);
    lacking = smaller(n, b->bucket) - b->tokens;
    return lacking <= 0 ? 0 : b->filled_at_ms + lacking * b->every_ms - now_ms;
}

int64_t slurm_budget_wait_ms(struct slurm_budget *b, int64_t now_ms)
{
    return slurm_budget_wait_for_ms(b, 1, now_ms);
}

int64_t slurm_budget_last_hour(struct slurm_budget *b, int64_t now_ms)
{
    int64_t n = 0;

    turn(b, now_ms);
    for (int i = 0; i < SLURM_BUDGET_SLOTS; i++)
        n += b->counts[i];
    return n;
}
