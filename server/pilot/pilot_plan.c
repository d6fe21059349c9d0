/* SPDX-License-Identifier: MIT */
/* pilot_plan.c - how many pilots of which size and time a pool gets: a pure function */

#include "server/pilot/pilot_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* How many of `each` fit into `there` at once. */
static int64_t fits(const struct plan_size *there, const struct plan_size *each)
{
    int64_t n = INT32_MAX;

    if (each->cpus_milli > 0)
        n = smaller(n, there->cpus_milli / each->cpus_milli);
    if (each->gpus_milli > 0)
        n = smaller(n, there->gpus_milli / each->gpus_milli);
    if (each->memory_bytes > 0 && there->memory_bytes > 0)
        n = smaller(n, there->memory_bytes / each->memory_bytes);
    return n;
}

/* ---- slots ---- */

/* Whether jobs are so short that one slot works through many of them. */
static bool is_short(const struct plan_demand *d)
{
    return d->takes_ms < PLAN_SLOT_MS;
}

static int64_t slots_wanted(const struct plan_demand *d, bool has_one_job_each)
{
    if (has_one_job_each || !is_short(d))
        return d->jobs;
    if (d->takes_ms == 0)
        return smaller(d->jobs, PLAN_UNKNOWN_SLOTS);
    return smaller(d->jobs,
                   larger(1, divide_up(smaller(d->jobs, INT32_MAX) * d->takes_ms, PLAN_SLOT_MS)));
}

/* Counts the wanted slots that are there or have been asked for, and takes them. */
static int64_t slots_had(struct plan_pilot *pilots, size_t n_pilots, const struct plan_demand *d,
                         int64_t wanted)
{
    int64_t had = 0;

    for (size_t i = 0; i < n_pilots && had < wanted; i++) {
        struct plan_pilot *p = &pilots[i];
        /* A pilot that works already has no room for another job, unless its jobs are soon over. */
        bool has_slots = p->is_waiting ? !p->is_elsewhere || !p->is_late : is_short(d);
        /* A pilot asked for other jobs of the sweep may end before a job whose time grew. */
        bool is_too_short = grown_is(d->grown) && p->time_ms > 0 && p->time_ms < d->need_ms;
        int64_t n;

        if (is_too_short || (d->may_use != NULL && !d->may_use[i]) || !has_slots)
            continue;
        n = smaller(wanted - had, fits(&p->size, &d->size));
        if (p->takes_one && n > 0) { /* then no other job fits into the pilot */
            n = 1;
            p->size = (struct plan_size){ 0 };
        } else {
            p->size.cpus_milli -= n * d->size.cpus_milli;
            p->size.gpus_milli -= n * d->size.gpus_milli;
            if (p->size.memory_bytes > 0)
                p->size.memory_bytes = larger(1, p->size.memory_bytes - n * d->size.memory_bytes);
        }
        had += n;
    }
    return had;
}

/* ---- size ---- */

/* The most of a resource that a pilot asks for: what node (0: not known) and configuration allow,
 * but at least what one job needs, which Slurm may refuse. */
static int64_t most_of(int64_t node_milli, int64_t pilot_milli, int64_t job_milli)
{
    int64_t most_milli = node_milli > 0 ? smaller(node_milli, pilot_milli) : pilot_milli;

    return larger(most_milli, job_milli);
}

/* How many jobs a pilot is made for: as many as fit into the largest one.  That has one GPU unless
 * the site says more: GPUs are scarce, and a single free one is enough to begin with. */
static int64_t jobs_per_pilot(const struct plan_partition *p, const struct plan_demand *d,
                              int64_t wanted)
{
    int64_t cpus_milli = p->pilot.cpus_milli > 0 ? p->pilot.cpus_milli : 1000 * PLAN_CPUS_MAX;
    int64_t gpus_milli = p->pilot.gpus_milli > 0 ? p->pilot.gpus_milli : 1000;
    const struct plan_size max = { most_of(p->node.cpus_milli, cpus_milli, d->size.cpus_milli),
                                   most_of(p->node.gpus_milli, gpus_milli, d->size.gpus_milli),
                                   p->node.memory_bytes };

    return larger(1, smaller(wanted, fits(&max, &d->size)));
}

/* ---- time ---- */

/* The time that a pilot asks for, in ms: enough for the jobs that each slot gets in turn, unless
 * that is longer than usual in the partition.  slots 0: a slot for each job.  0: no time. */
static int64_t time_of(const struct plan_partition *p, const struct plan_demand *d, int64_t slots)
{
    int64_t usual_ms = p->default_time_ms > 0 ? p->default_time_ms : PLAN_TIME_USUAL_MS;
    int64_t rounds = slots > 0 ? divide_up(smaller(d->jobs, INT32_MAX), slots) : 1;
    int64_t wanted_ms;

    if (d->need_ms == 0)
        return p->is_time_needed ? divide_up(p->default_time_ms, 60000) * 60000 : 0;
    wanted_ms = d->need_ms + (rounds - 1) * smaller(d->takes_ms, usual_ms);
    wanted_ms = larger(wanted_ms, PLAN_TIME_MIN_MS);
    wanted_ms = larger(d->need_ms, smaller(wanted_ms, usual_ms));
    wanted_ms = larger(d->need_ms + PLAN_START_MS, wanted_ms);
    if (p->max_time_ms > 0)
        wanted_ms = larger(d->need_ms, smaller(wanted_ms, p->max_time_ms));
    return divide_up(wanted_ms, 60000) * 60000;
}

/* ---- orders ---- */

static struct plan_order order_for(const struct plan_pool *pool, const struct plan_demand *d,
                                   int64_t missing, int64_t had)
{
    int64_t jobs = pool->has_one_job_each ? 1 : jobs_per_pilot(&pool->partition, d, missing);
    int64_t total_milli = 1000 * pool->partition.total_cpus, n = divide_up(missing, jobs);
    struct plan_order order = { .sweep = d->sweep,
                                .grown = d->grown,
                                .size = { jobs * d->size.cpus_milli, jobs * d->size.gpus_milli,
                                          jobs * d->size.memory_bytes } };

    /* No more pilots than the partition can hold at once. */
    if (total_milli > 0 && order.size.cpus_milli > 0) {
        int64_t most = larger(1, total_milli / order.size.cpus_milli);

        for (size_t i = 0; i < pool->n_pilots; i++)
            most -= !pool->pilots[i].is_elsewhere;
        n = smaller(n, most);
    }
    order.n = larger(0, smaller(n, pool->most));
    if (order.n > 0)
        order.time_ms =
            time_of(&pool->partition, d, pool->has_one_job_each ? 0 : had + order.n * jobs);
    return order;
}

struct plan_order pilot_plan(const struct plan_pool *pool)
{
    struct plan_pilot *pilots = mem_alloc(pool->n_pilots * sizeof *pilots);
    struct plan_order order = { .n = 0 };

    if (pool->n_pilots > 0)
        memcpy(pilots, pool->pilots, pool->n_pilots * sizeof *pilots);
    for (size_t i = 0; i < pool->n_demands && order.n == 0; i++) {
        const struct plan_demand *d = &pool->demands[i];
        int64_t wanted = slots_wanted(d, pool->has_one_job_each);
        int64_t had = slots_had(pilots, pool->n_pilots, d, wanted);

        if (had < wanted)
            order = order_for(pool, d, divide_up(wanted - had, larger(1, d->n_sharing)), had);
    }
    free(pilots);
    return order;
}
