/* SPDX-License-Identifier: MIT */
/* stop_rule.c - which jobs of a sweep are stopped early: a pure function of recorded events */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "common/base/mem.h"
#include "server/search/stop_rule.h"

/* --- a set of numbers that knows ranks -------------------------------------------------------------- */

/* Blocks of sorted numbers, in order: to insert a number moves at most the others of one block, and
 * ranks are counted by blocks.  100,000 configurations of a large sweep take about 300 blocks. */
enum { BLOCK_MAX = 512 };

struct block {
    size_t n;
    double x[BLOCK_MAX];
};

struct ranks {
    struct block **blocks;
    size_t n_blocks, capacity;
    size_t n;
};

static void ranks_free(struct ranks *r)
{
    for (size_t i = 0; i < r->n_blocks; i++)
        free(r->blocks[i]);
    free(r->blocks);
}

/* The index of the block's first number that is not below x; n: there is none. */
static size_t place_in(const struct block *b, double x)
{
    size_t low = 0, high = b->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (b->x[mid] < x)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The index of the first block that has a number not below x; n_blocks: there is none. */
static size_t block_for(const struct ranks *r, double x)
{
    size_t low = 0, high = r->n_blocks;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (r->blocks[mid]->x[r->blocks[mid]->n - 1] < x)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void new_block(struct ranks *r, size_t at)
{
    mem_grow((void **)&r->blocks, &r->capacity, r->n_blocks, sizeof *r->blocks);
    memmove(r->blocks + at + 1, r->blocks + at, (r->n_blocks - at) * sizeof *r->blocks);
    r->blocks[at] = mem_alloc(sizeof *r->blocks[at]);
    r->n_blocks++;
}

static void ranks_add(struct ranks *r, double x)
{
    size_t i = block_for(r, x), at;
    struct block *b;

    if (r->n_blocks == 0)
        new_block(r, 0);
    if (i == r->n_blocks)
        i--;
    if (r->blocks[i]->n == BLOCK_MAX) {
        struct block *half;

        new_block(r, i + 1);
        half = r->blocks[i + 1];
        half->n = BLOCK_MAX / 2;
        r->blocks[i]->n -= half->n;
        memcpy(half->x, r->blocks[i]->x + r->blocks[i]->n, half->n * sizeof half->x[0]);
        if (r->blocks[i]->x[r->blocks[i]->n - 1] < x)
            i++;
    }
    b = r->blocks[i];
    at = place_in(b, x);
    memmove(b->x + at + 1, b->x + at, (b->n - at) * sizeof b->x[0]);
    b->x[at] = x;
    b->n++;
    r->n++;
}

/* Removes x once; the caller knows that it is there. */
static void ranks_drop(struct ranks *r, double x)
{
    size_t i = block_for(r, x);
    struct block *b = r->blocks[i];
    size_t at = place_in(b, x);

    memmove(b->x + at, b->x + at + 1, (b->n - at - 1) * sizeof b->x[0]);
    r->n--;
    if (--b->n > 0)
        return;
    free(b);
    memmove(r->blocks + i, r->blocks + i + 1, (r->n_blocks - i - 1) * sizeof *r->blocks);
    r->n_blocks--;
}

/* How many numbers are above x. */
static size_t ranks_above(const struct ranks *r, double x)
{
    size_t n = r->n;

    for (size_t i = 0; i < r->n_blocks; i++) {
        const struct block *b = r->blocks[i];
        size_t at;

        if (b->x[b->n - 1] <= x) {
            n -= b->n;
            continue;
        }
        for (at = place_in(b, x); b->x[at] <= x; at++)
            ;
        return n - at;
    }
    return n;
}

/* The k-th smallest number; k counts from 0. */
static double ranks_at(const struct ranks *r, size_t k)
{
    size_t i = 0;

    for (; k >= r->blocks[i]->n; i++)
        k -= r->blocks[i]->n;
    return r->blocks[i]->x[k];
}

/* --- spans of steps ----------------------------------------------------------------------------------- */

static int64_t span_after(int64_t first)
{
    return first > INT64_MAX / 8 * 7 ? INT64_MAX : first < 12 ? first + 1 : first + first / 6;
}

/* The index of the span in which step lies (0 or more); *first is set to the span's first step. */
static size_t span_of(int64_t step, int64_t *first)
{
    size_t i = 0;

    *first = 0;
    for (int64_t next; (next = span_after(*first)) <= step && next < INT64_MAX; i++)
        *first = next;
    return i;
}

int64_t stop_span(int64_t step)
{
    int64_t first = 0;

    if (step > 0)
        span_of(step, &first);
    return first;
}

/* --- the record ----------------------------------------------------------------------------------------- */

/* The sum and number of the values of a configuration's jobs in one span. */
struct mean {
    double sum;
    size_t n; /* 0: no value there */
};

struct config {
    struct mean *means; /* for the spans from first_span on */
    size_t n_means, capacity, first_span;
    size_t n_stopped; /* how many of its jobs are stopped and not resumed */
    size_t out_span;  /* if n_stopped > 0: the last span where it has a value */
};

/* A configuration is the rank-th (from 1) of n; the first `best` of them go on. */
struct place {
    size_t rank, best, n;
};

struct job {
    int64_t id;
    uint32_t config;
    bool has_value, has_ended, is_stopped, is_ready, is_gone, is_exempt;
    size_t n_rungs; /* asha: how many rungs it had reached when it was judged last */
    size_t span;    /* if has_value: the last span that it has reached */
    double value;   /* the value with which it did, as worth(); patience: its best one */
    int64_t step;   /* the step of that value */
    /* The last decision. */
    int64_t decided_at;
    double decided_with;
    struct place place; /* set by asha and median */
};

struct span {
    struct ranks means; /* the means of all configurations that have a value there */
    size_t n_out;       /* configurations that were stopped in it */
};

struct stop_record {
    struct stop_spec spec;
    char *metric, *step;
    struct hash_table *job_index, *config_index;
    struct job *jobs;
    struct config *configs;
    struct span *spans;
    size_t n_jobs, jobs_capacity, n_configs, configs_capacity, n_spans, spans_capacity;
    struct ranks lengths; /* the last steps of the jobs that ended by themselves */
};

struct stop_record *stop_record_new(const struct stop_spec *spec)
{
    struct stop_record *r = mem_alloc(sizeof *r);

    *r = (struct stop_record){ .spec = *spec,
                               .metric = mem_strdup(spec->metric != NULL ? spec->metric : "value"),
                               .step = mem_strdup(spec->step != NULL ? spec->step : "step"),
                               .job_index = hash_table_create(UINT32_MAX - 1),
                               .config_index = hash_table_create(UINT32_MAX - 1) };
    return r;
}

void stop_record_free(struct stop_record *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->n_configs; i++)
        free(r->configs[i].means);
    for (size_t i = 0; i < r->n_spans; i++)
        ranks_free(&r->spans[i].means);
    ranks_free(&r->lengths);
    hash_table_destroy(r->job_index);
    hash_table_destroy(r->config_index);
    free(r->jobs);
    free(r->configs);
    free(r->spans);
    free(r->metric);
    free(r->step);
    free(r);
}

static uint32_t config_of(struct stop_record *r, int64_t id)
{
    const struct digest key = hash_table_key(id);
    uint32_t i;

    if (hash_table_find(r->config_index, &key, &i))
        return i;
    mem_grow((void **)&r->configs, &r->configs_capacity, r->n_configs, sizeof *r->configs);
    r->configs[r->n_configs] = (struct config){ 0 };
    hash_table_add(r->config_index, &key, (uint32_t)r->n_configs);
    return (uint32_t)r->n_configs++;
}

static struct job *job_of(struct stop_record *r, const struct stop_event *event)
{
    const struct digest key = hash_table_key(event->job);
    uint32_t i;

    if (hash_table_find(r->job_index, &key, &i))
        return &r->jobs[i];
    mem_grow((void **)&r->jobs, &r->jobs_capacity, r->n_jobs, sizeof *r->jobs);
    r->jobs[r->n_jobs] = (struct job){ .id = event->job, .config = config_of(r, event->config) };
    hash_table_add(r->job_index, &key, (uint32_t)r->n_jobs);
    return &r->jobs[r->n_jobs++];
}

/* The worth of a value, the larger the better; nan and infinities get the lowest.  Sums and
 * differences of worths are finite or the lowest, never nan, which ranks would not find again. */
static double worth(const struct stop_record *r, double value)
{
    const double most = DBL_MAX / 0x1p53;

    if (!isfinite(value))
        return -HUGE_VAL;
    return fmin(fmax(r->spec.is_max ? value : -value, -most), most);
}

static double as_reported(const struct stop_record *r, double x)
{
    return x == -HUGE_VAL ? (double)NAN : r->spec.is_max ? x : -x;
}

int64_t stop_record_length(const struct stop_record *r)
{
    return r->spec.max_step > 0 ? r->spec.max_step
           : r->lengths.n > 0   ? (int64_t)ranks_at(&r->lengths, (r->lengths.n - 1) / 2)
                                : 0;
}

/* --- values by span ---------------------------------------------------------------------------------------- */

static struct mean *mean_in(struct config *c, size_t span)
{
    if (c->n_means == 0)
        c->first_span = span;
    while (span < c->first_span) {
        mem_grow((void **)&c->means, &c->capacity, c->n_means, sizeof *c->means);
        memmove(c->means + 1, c->means, c->n_means * sizeof *c->means);
        c->means[0] = (struct mean){ 0 };
        c->n_means++;
        c->first_span--;
    }
    while (span >= c->first_span + c->n_means) {
        mem_grow((void **)&c->means, &c->capacity, c->n_means, sizeof *c->means);
        c->means[c->n_means++] = (struct mean){ 0 };
    }
    return &c->means[span - c->first_span];
}

static double mean_value(const struct mean *m)
{
    return m->sum / (double)m->n;
}

/* Adds the job's value in a span that it has reached for the first time. */
static void put_value(struct stop_record *r, const struct job *j, size_t span, double x)
{
    struct config *c = &r->configs[j->config];
    struct mean *m = mean_in(c, span);

    while (span >= r->n_spans) {
        mem_grow((void **)&r->spans, &r->spans_capacity, r->n_spans, sizeof *r->spans);
        r->spans[r->n_spans++] = (struct span){ 0 };
    }
    if (m->n > 0)
        ranks_drop(&r->spans[span].means, mean_value(m));
    m->sum += x;
    m->n++;
    ranks_add(&r->spans[span].means, mean_value(m));
    if (c->n_stopped > 0 && span > c->out_span) {
        r->spans[c->out_span].n_out--;
        r->spans[c->out_span = span].n_out++;
    }
}

/* Takes a value; returns whether the job reached a new span with it.  Spans between two of a job's
 * values get interpolated ones, so that jobs that report at different steps can be compared. */
static bool reach(struct stop_record *r, struct job *j, int64_t step, double x)
{
    int64_t first;
    size_t span = span_of(step, &first);

    if (j->has_value && span <= j->span)
        return false;
    if (j->has_value) {
        int64_t at = stop_span(j->step);

        for (size_t i = j->span + 1; i < span; i++) {
            double part;

            at = span_after(at);
            part = (double)(at - j->step) / (double)(step - j->step);
            put_value(r, j, i,
                      isfinite(j->value) && isfinite(x) ? j->value + part * (x - j->value) : x);
        }
    }
    put_value(r, j, span, x);
    j->has_value = true;
    j->span = span;
    j->step = step;
    j->value = x;
    return true;
}

static void mark_stopped(struct stop_record *r, struct job *j)
{
    struct config *c = &r->configs[j->config];

    j->is_stopped = true;
    if (c->n_stopped++ > 0 || c->n_means == 0)
        return;
    c->out_span = c->first_span + c->n_means - 1;
    r->spans[c->out_span].n_out++;
}

static void mark_resumed(struct stop_record *r, struct job *j)
{
    struct config *c = &r->configs[j->config];

    j->is_stopped = j->is_ready = false;
    if (--c->n_stopped == 0 && c->n_means > 0)
        r->spans[c->out_span].n_out--;
}

/* --- the rules --------------------------------------------------------------------------------- */

/* The first step at which asha and median judge; 0: not known yet. */
static int64_t first_step(const struct stop_record *r)
{
    const int64_t length = stop_record_length(r);

    return r->spec.first > 0 ? r->spec.first : (length + STOP_FIRST_PART - 1) / STOP_FIRST_PART;
}

static double eta_of(const struct stop_record *r)
{
    return r->spec.eta > 0 ? r->spec.eta : STOP_ETA;
}

/* Whether the job is judged in the span that it has just reached.  asha judges once at each of the
 * rungs first, first * eta, first * eta^2 ...: at a rung inside a span in that span, at a rung that
 * the job jumped over, or that became known later, with the job's next value. */
static bool is_judged(const struct stop_record *r, struct job *j)
{
    const int64_t length = stop_record_length(r), first = first_step(r);
    const double end = (double)span_after(stop_span(j->step));
    double rung = (double)first;
    size_t n_rungs = 0;

    if (first == 0 || (length > 0 && j->step >= length))
        return false;
    if (r->spec.rule == STOP_MEDIAN)
        return j->step >= first;
    while (rung < end) {
        rung *= eta_of(r);
        n_rungs++;
    }
    if (n_rungs <= j->n_rungs)
        return false;
    j->n_rungs = n_rungs;
    return true;
}

/*
 * The rank of the job's configuration in the span where the job is, and how many configurations go
 * on from there.  Configurations that were stopped in earlier spans count as worse.
 *
 * median: the better half goes on.  asha: the best eta^-k of all go on at the k-th rung.
 * Asynchronous successive halving (Li et al., "A System for Massively Parallel Hyperparameter
 * Tuning", 2020, section 3) takes the best 1/eta of those that reached the rung instead; but an
 * earlier rung let some of these pass when it knew few others, so more would go on for longer.
 */
static struct place place_of(const struct stop_record *r, const struct job *j)
{
    const struct config *c = &r->configs[j->config];
    const struct span *s = &r->spans[j->span];
    const double x = mean_value(&c->means[j->span - c->first_span]);
    struct place p = { .n = s->means.n };

    for (size_t i = 0; i < j->span; i++)
        p.n += r->spans[i].n_out;
    p.rank = 1 + ranks_above(&s->means, x);
    p.best = (size_t)ceil((double)p.n /
                          (r->spec.rule == STOP_MEDIAN ? 2 : pow(eta_of(r), (double)j->n_rungs)));
    if (x == -HUGE_VAL && p.rank > 1 && p.best >= p.rank) /* all nans share a rank: none goes on */
        p.best = p.rank - 1;
    return p;
}

static void take_value(struct stop_record *r, struct job *j, const struct stop_event *event,
                       struct stop_answer *answer)
{
    const double x = worth(r, event->value);
    const struct stop_spec *spec = &r->spec;
    bool is_bad = false;

    if (event->step < 0 || j->is_stopped)
        return;
    switch (spec->rule) {
    case STOP_ASHA:
    case STOP_MEDIAN:
        if (!reach(r, j, event->step, x))
            return;
        answer->keep = STOP_KEEP_ADD;
        if (!is_judged(r, j))
            return;
        j->place = place_of(r, j);
        is_bad = j->place.rank > j->place.best;
        break;
    case STOP_PATIENCE:
        if (j->has_value && event->step <= j->step)
            return;
        if (!j->has_value || x > j->value + spec->min_delta) {
            j->has_value = true;
            j->step = event->step;
            j->value = x;
            answer->keep = STOP_KEEP_REPLACE;
            return;
        }
        is_bad = event->step - j->step >= spec->patience;
        break;
    case STOP_THRESHOLD:
        is_bad = event->step >= spec->first && x < worth(r, spec->threshold);
        break;
    }
    j->decided_at = event->step;
    j->decided_with = event->value;
    if (!is_bad || j->is_exempt)
        return;
    answer->keep = STOP_KEEP_ADD;
    mark_stopped(r, j);
}

static void say_reason(const struct stop_record *r, const struct job *j,
                       char reason[STOP_REASON_BYTES])
{
    char with[STOP_REASON_BYTES / 3];

    snprintf(with, sizeof with, "%.40s %g at %.20s %lld", r->metric, j->decided_with, r->step,
             (long long)j->decided_at);
    switch (r->spec.rule) {
    case STOP_ASHA:
    case STOP_MEDIAN:
        if (j->place.n > 0)
            snprintf(reason, STOP_REASON_BYTES, "%s is number %zu of %zu there; the best %zu go on",
                     with, j->place.rank, j->place.n, j->place.best);
        break;
    case STOP_PATIENCE:
        if (j->is_stopped)
            snprintf(reason, STOP_REASON_BYTES, "%s: no better than %g at %.20s %lld for %lld",
                     with, as_reported(r, j->value), r->step, (long long)j->step,
                     (long long)(j->decided_at - j->step));
        break;
    case STOP_THRESHOLD:
        if (j->is_stopped)
            snprintf(reason, STOP_REASON_BYTES, "%s is worse than the threshold %g", with,
                     r->spec.threshold);
        break;
    }
}

void stop_record_add(struct stop_record *r, const struct stop_event *event,
                     struct stop_answer *answer)
{
    struct job *j = job_of(r, event);

    *answer = (struct stop_answer){ 0 };
    switch (event->kind) {
    case STOP_EVENT_VALUE: take_value(r, j, event, answer); break;
    case STOP_EVENT_ENDED:
        if (j->has_ended)
            break;
        j->has_ended = true;
        if (j->is_stopped)
            mark_resumed(r, j);
        ranks_add(&r->lengths, (double)event->step);
        if (r->spec.rule <= STOP_MEDIAN && event->step >= 0)
            reach(r, j, event->step, worth(r, event->value));
        answer->keep = STOP_KEEP_ADD;
        break;
    case STOP_EVENT_GONE:
        if (!j->is_gone)
            answer->keep = STOP_KEEP_ADD;
        j->is_gone = true;
        break;
    case STOP_EVENT_EXEMPT:
        if (!j->is_exempt)
            answer->keep = STOP_KEEP_ADD;
        j->is_exempt = true;
        j->is_gone = false;
        if (j->is_stopped)
            mark_resumed(r, j);
        break;
    case STOP_EVENT_RESUMED:
        if (!j->is_stopped)
            break;
        answer->keep = STOP_KEEP_ADD;
        mark_resumed(r, j);
        break;
    case STOP_EVENT_READY:
        if (!j->is_stopped || j->is_ready)
            break;
        answer->keep = STOP_KEEP_ADD;
        j->is_ready = true;
        j->is_gone = false;
        break;
    }
    answer->stop = j->is_stopped;
    if (j->is_stopped) {
        answer->stopped_at = j->decided_at;
        answer->stopped_with = j->decided_with;
    }
    say_reason(r, j, answer->reason);
}

int64_t stop_record_next(const struct stop_record *r, char reason[STOP_REASON_BYTES])
{
    const struct job *next = NULL;
    struct place at = { 0 };

    reason[0] = '\0';
    if (!r->spec.can_resume || r->spec.rule > STOP_MEDIAN)
        return 0;
    for (size_t i = 0; i < r->n_jobs; i++) {
        const struct job *j = &r->jobs[i];
        struct place place;

        if (!j->is_ready || j->is_gone || (next != NULL && j->span < next->span))
            continue;
        place = place_of(r, j);
        if (place.rank > place.best ||
            (next != NULL && j->span == next->span && place.rank >= at.rank))
            continue;
        next = j;
        at = place;
    }
    if (next == NULL)
        return 0;
    snprintf(reason, STOP_REASON_BYTES,
             "%.40s %g at %.20s %lld is number %zu of %zu by now; the best %zu go on", r->metric,
             next->decided_with, r->step, (long long)next->decided_at, at.rank, at.n, at.best);
    return next->id;
}

/* --- the spec --------------------------------------------------------------------------------------------- */

static const struct {
    enum stop_rule rule;
    const char *word;
} words[] = {
#define X(name, number, word, sentence) { name, word },
    STOP_RULES(X)
#undef X
};

const char *stop_rule_word(enum stop_rule rule)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].rule == rule)
            return words[i].word;
    return NULL;
}

int stop_rule_by_word(const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, word) == 0)
            return (int)words[i].rule;
    return 0;
}

static bool has_key(enum stop_rule rule, const char *key)
{
    static const struct {
        const char *key;
        unsigned rules; /* a bit for each rule that has the key */
    } keys[] = {
        { "first", 1u << STOP_ASHA | 1u << STOP_MEDIAN | 1u << STOP_THRESHOLD },
        { "eta", 1u << STOP_ASHA },
        { "max_step", 1u << STOP_ASHA | 1u << STOP_MEDIAN },
        { "patience", 1u << STOP_PATIENCE },
        { "min_delta", 1u << STOP_PATIENCE },
        { "threshold", 1u << STOP_THRESHOLD },
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].key, key) == 0)
            return (keys[i].rules >> rule & 1) != 0;
    return false;
}

int stop_spec_check(const struct stop_spec *spec, struct err *e)
{
    const struct {
        const char *key;
        bool is_given, is_right;
        const char *range;
    } keys[] = {
        { "first", spec->first != 0, spec->first > 0, "a positive number" },
        { "eta", spec->eta != 0, spec->eta >= 1.1 && isfinite(spec->eta), "at least 1.1" },
        { "max_step", spec->max_step != 0, spec->max_step > 0, "a positive number" },
        { "patience", spec->patience != 0, spec->patience > 0, "a positive number" },
        { "min_delta", spec->min_delta != 0, spec->min_delta > 0 && isfinite(spec->min_delta),
          "a positive number" },
        { "threshold", spec->has_threshold, isfinite(spec->threshold), "a finite number" },
    };
    const char *word = stop_rule_word(spec->rule);

    if (word == NULL)
        return err_set(e, ERR_USAGE, "stop: rule: must be asha, median, patience or threshold");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i].is_given && !has_key(spec->rule, keys[i].key))
            return err_set(e, ERR_USAGE, "stop: %s: is no key of rule: %s", keys[i].key, word);
        if (keys[i].is_given && !keys[i].is_right)
            return err_set(e, ERR_USAGE, "stop: %s: must be %s", keys[i].key, keys[i].range);
    }
    if (spec->rule == STOP_PATIENCE && spec->patience == 0)
        return err_set(e, ERR_USAGE, "stop: rule: patience needs patience:, a number of steps");
    if (spec->rule == STOP_THRESHOLD && !spec->has_threshold)
        return err_set(e, ERR_USAGE, "stop: rule: threshold needs threshold:, a number");
    return 0;
}
