/* SPDX-License-Identifier: MIT */
/* race.c - which configurations get no more replications: a pure function of recorded outcomes */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "common/base/mem.h"
#include "common/stats/student.h"
#include "server/search/race.h"

struct entry {
    int64_t id;
    double *values; /* value of each rep, the larger the better; nan: it has not ended */
    size_t n_ended;
    double mean; /* mean of the reps that ended; -inf: none has */
    bool is_out, is_known_out;
    double behind, t; /* if is_out: how far behind on average, and Student's t of that */
    size_t n_shared;  /* in how many shared reps */
};

struct race {
    struct race_spec spec;
    struct hash_table *index;
    struct entry *entries;
    size_t n, capacity;
    double degrees;         /* degrees of freedom of the test */
    bool is_judged;         /* judge() ran since the last outcome */
    size_t rival;           /* entry with which the others are compared; n: none yet */
    struct entry **by_mean; /* room for n, for judging */
    size_t by_mean_capacity;
};

struct race *race_new(const struct race_spec *spec)
{
    struct race *r = mem_alloc(sizeof *r);

    *r = (struct race){ .spec = *spec, .index = hash_table_create(UINT32_MAX - 1) };
    if (r->spec.best == 0)
        r->spec.best = 1;
    return r;
}

void race_free(struct race *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->n; i++)
        free(r->entries[i].values);
    hash_table_destroy(r->index);
    free(r->entries);
    free(r->by_mean);
    free(r);
}

static struct entry *entry_of(struct race *r, int64_t config)
{
    const struct digest key = hash_table_key(config);
    struct entry *e;
    uint32_t i;

    if (hash_table_find(r->index, &key, &i))
        return &r->entries[i];
    mem_grow((void **)&r->entries, &r->capacity, r->n, sizeof *r->entries);
    e = &r->entries[r->n];
    *e = (struct entry){ .id = config, .mean = -HUGE_VAL };
    e->values = mem_alloc((size_t)r->spec.max * sizeof *e->values);
    for (int64_t k = 0; k < r->spec.max; k++)
        e->values[k] = (double)NAN;
    hash_table_add(r->index, &key, (uint32_t)r->n++);
    r->is_judged = false;
    return e;
}

void race_end(struct race *r, int64_t config, int64_t rep, double value)
{
    struct entry *e = entry_of(r, config);
    double sum = 0;

    if (rep < 0 || rep >= r->spec.max ||
        (!isnan(e->values[rep]) && (isfinite(e->values[rep]) || !isfinite(value))))
        return;
    if (isnan(e->values[rep]))
        e->n_ended++;
    e->values[rep] = !isfinite(value) ? -HUGE_VAL : r->spec.is_max ? value : -value;
    /* summed in the order of reps, so that the order of outcomes does not change the last bit */
    for (int64_t k = 0; k < r->spec.max; k++)
        if (!isnan(e->values[k]))
            sum += e->values[k];
    e->mean = sum / (double)e->n_ended;
    r->is_judged = false;
}

/* --- the test
 * ------------------------------------------------------------------------------------ */

/* Differences between two entries in the reps that both have. */
struct pairs {
    size_t n;
    double mean, squares; /* the rival's less the entry's; sum of squares about the mean */
};

static struct pairs pairs_of(const struct race *r, const struct entry *rival, const struct entry *e)
{
    struct pairs p = { 0 };

    for (int64_t k = 0; k < r->spec.max; k++) {
        double d = rival->values[k] - e->values[k], from;

        if (isnan(d)) /* one of the two has no value, or both failed */
            continue;
        p.n++;
        if (isinf(d) || isinf(p.mean)) {
            p.mean = isinf(d) ? d : p.mean;
            continue;
        }
        from = d - p.mean;
        p.mean += from / (double)p.n;
        p.squares += from * (d - p.mean);
    }
    return p;
}

/* Orders the best first; of equal ones the one that was added first. */
static int compare_means(const void *x, const void *y)
{
    const struct entry *a = *(struct entry *const *)x, *b = *(struct entry *const *)y;

    if (a->mean != b->mean)
        return a->mean > b->mean ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* How often a configuration as good as the rival is out by chance, each time it is judged. */
static const double chance = 0.01;
/* The spread is that of the better quarter of the field or PEERS_MIN; it needs PEERS_FEWEST. */
enum { PEERS_MIN = 8, PEERS_FEWEST = 5 };

/*
 * Compares every entry with the rival: by mean the best-th of the entries with the most reps.
 *
 * The test is that of paired differences (Student, "The Probable Error of a Mean", Biometrika 6,
 * 1908), but one to three differences say little of their spread.  So the spread of a pair is the
 * larger one of its own and of that in the better quarter of the field, where the rival's peers
 * are: what is bad often spreads widely, and would hide that of the good ones.
 */
static void judge(struct race *r)
{
    double limit;

    size_t n_most = 0, n_peers, n_compared = 0, degrees = 0;
    double squares = 0;

    r->is_judged = true;
    r->rival = r->n;
    while (r->by_mean_capacity < r->n)
        mem_grow((void **)&r->by_mean, &r->by_mean_capacity, r->by_mean_capacity,
                 sizeof *r->by_mean);
    for (size_t i = 0; i < r->n; i++) {
        r->entries[i].is_out = false;
        r->by_mean[i] = &r->entries[i];
    }
    if (r->n == 0)
        return;
    qsort(r->by_mean, r->n, sizeof *r->by_mean, compare_means);
    /* the most reps that at least `best` entries have */
    for (size_t most = (size_t)r->spec.max; most >= (size_t)r->spec.race && most > 0 && n_most == 0;
         most--) {
        int64_t n_with = 0;

        for (size_t i = 0; i < r->n && n_most == 0; i++)
            if (r->by_mean[i]->n_ended >= most && ++n_with == r->spec.best) {
                n_most = most;
                r->rival = (size_t)(r->by_mean[i] - r->entries);
            }
    }
    if (n_most == 0)
        return;
    n_peers = r->n / 4 > PEERS_MIN ? r->n / 4 : PEERS_MIN;
    for (size_t i = 0; i < r->n && n_compared < n_peers; i++) {
        const struct pairs p = pairs_of(r, &r->entries[r->rival], r->by_mean[i]);

        if (r->by_mean[i] == &r->entries[r->rival] || p.n < 2 || isinf(p.mean))
            continue;
        n_compared++;
        squares += p.squares;
        degrees += p.n - 1;
    }
    if (degrees == 0 || n_compared < PEERS_FEWEST)
        return;
    r->degrees = (double)degrees;
    limit = student_limit(chance, r->degrees);
    for (size_t i = 0; i < r->n; i++) {
        struct entry *e = &r->entries[i];
        const struct pairs p = pairs_of(r, &r->entries[r->rival], e);
        double spread = squares / (double)degrees;

        if (i == r->rival || p.n < (size_t)r->spec.race || !(p.mean > 0))
            continue;
        if (p.n > 1 && p.squares / (double)(p.n - 1) > spread)
            spread = p.squares / (double)(p.n - 1);
        e->t = p.mean / sqrt(spread / (double)p.n);
        e->is_out = e->t > limit;
        e->behind = p.mean;
        e->n_shared = p.n;
    }
}

bool race_is_out(struct race *r, int64_t config, char reason[RACE_REASON_BYTES])
{
    const struct entry *e = entry_of(r, config);

    if (!r->is_judged)
        judge(r);
    reason[0] = '\0';
    if (!e->is_out)
        return false;
    snprintf(reason, RACE_REASON_BYTES,
             "it is behind number %lld by %g on average over %zu shared replication%s (p = %.2g)",
             (long long)r->spec.best, e->behind, e->n_shared, e->n_shared == 1 ? "" : "s",
             isfinite(e->t) ? student_more(e->t, r->degrees) : 0.0);
    return true;
}

void race_known(struct race *r, int64_t config, bool is_out)
{
    entry_of(r, config)->is_known_out = is_out;
}

int64_t race_next_change(struct race *r, bool *is_out)
{
    if (!r->is_judged)
        judge(r);
    for (size_t i = 0; i < r->n; i++) {
        struct entry *e = &r->entries[i];

        if (e->is_out == e->is_known_out)
            continue;
        *is_out = e->is_known_out = e->is_out;
        return e->id;
    }
    return 0;
}

int race_spec_check(const struct race_spec *spec, struct err *e)
{
    if (spec->max < 1 || spec->max > RACE_REPS_MAX)
        return err_set(e, ERR_USAGE, "reps: max: must be 1 to %d", RACE_REPS_MAX);
    if (spec->race < 1 || spec->race > spec->max)
        return err_set(e, ERR_USAGE, "reps: race: must be 1 to max, which is %lld",
                       (long long)spec->max);
    if (spec->best < 0)
        return err_set(e, ERR_USAGE, "reps: best: must be a positive number");
    return 0;
}
