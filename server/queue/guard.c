/* SPDX-License-Identifier: MIT */
/* guard.c - which jobs of a sweep to hold */

#include "server/queue/guard.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/data/param_digest.h"
#include "common/stats/fisher.h"

enum {
    FAILURES_KEPT = 1000, /* the newest ones */
    CAUSES_MAX = 200,
    PARAMS_MAX = 500,
    VALUES_MAX = 10000, /* a parameter with more values gets no hold of a single value */
    WORDS_MAX_BYTES = 200,
    OUTLIVED_MIN_MS = 10 * 1000,
    OUTLIVING_SHARE = 3 /* a job that runs on outweighs so many failures */
};

/* Limits of p for a hold: if the cause has struck only the held kind, and else. */
static const double alone_below = 0.05, among_others_below = 0.001;

/* ---- sets of numbers ---- */

struct set {
    uint64_t *slots; /* 0: free */
    size_t n, n_slots;
};

static uint64_t *set_slot(const struct set *s, uint64_t x)
{
    size_t i = (size_t)(x * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (s->n_slots - 1);

    while (s->slots[i] != 0 && s->slots[i] != x)
        i = (i + 1) & (s->n_slots - 1);
    return &s->slots[i];
}

static bool set_has(const struct set *s, uint64_t x)
{
    return s->n_slots > 0 && *set_slot(s, x) == x;
}

/* Returns whether x is new. */
static bool set_add(struct set *s, uint64_t x)
{
    uint64_t *slot;

    if (2 * (s->n + 1) > s->n_slots) {
        struct set more = { .n_slots = s->n_slots == 0 ? 64 : 2 * s->n_slots, .n = s->n };

        more.slots = mem_alloc(more.n_slots * sizeof *more.slots);
        for (size_t i = 0; i < s->n_slots; i++)
            if (s->slots[i] != 0)
                *set_slot(&more, s->slots[i]) = s->slots[i];
        free(s->slots);
        *s = more;
    }
    slot = set_slot(s, x);
    if (*slot == x)
        return false;
    *slot = x;
    s->n++;
    return true;
}

static void set_free(struct set *s)
{
    free(s->slots);
    *s = (struct set){ 0 };
}

/* ---- what is known ---- */

struct known_param {
    char *name;
    struct set done;  /* hashes of the values with which a configuration ended well */
    struct set seen;  /* hashes of all its values */
    bool is_sampled;  /* it has more than VALUES_MAX values: both sets are dropped */
    int64_t n_done;   /* configurations that have the parameter and ended well */
    bool has_numbers; /* some of these had numbers, from least to most */
    double least, most;
    int64_t *n_failed; /* for each cause: configurations with the parameter that failed of it */
};

struct known_value {
    size_t param;
    uint64_t hash;
    bool is_number;
    double number;
};

struct failed {
    int64_t config;
    size_t cause;
    int64_t ran_ms;
    struct arena *arena;
    struct value params;
    struct known_value *values;
    size_t n;
};

struct guard {
    int64_t limit; /* failures needed for a hold */
    struct known_param *params;
    size_t n_params, params_capacity;
    char *causes[CAUSES_MAX], *words[CAUSES_MAX];
    size_t n_causes;
    struct set configs_done, configs_failed; /* configs_failed: hashed with their cause */
    struct failed *failed;                   /* the newest failures, the oldest of them first */
    size_t n_failed;
    size_t n_judged;
};

static void failed_free(struct guard *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        arena_destroy(g->failed[i].arena);
    g->n_failed -= n;
    memmove(g->failed, g->failed + n, g->n_failed * sizeof *g->failed);
    g->n_judged -= n < g->n_judged ? n : g->n_judged;
}

struct guard *guard_create(int64_t failures)
{
    struct guard *g = mem_alloc(sizeof *g);

    g->limit = failures;
    g->failed = mem_alloc(FAILURES_KEPT * sizeof *g->failed);
    return g;
}

void guard_destroy(struct guard *g)
{
    if (g == NULL)
        return;
    failed_free(g, g->n_failed);
    for (size_t i = 0; i < g->n_params; i++) {
        free(g->params[i].name);
        free(g->params[i].n_failed);
        set_free(&g->params[i].done);
        set_free(&g->params[i].seen);
    }
    for (size_t i = 0; i < g->n_causes; i++) {
        free(g->causes[i]);
        free(g->words[i]);
    }
    set_free(&g->configs_done);
    set_free(&g->configs_failed);
    free(g->params);
    free(g->failed);
    free(g);
}

void guard_forget_failures(struct guard *g)
{
    failed_free(g, g->n_failed);
    set_free(&g->configs_failed);
    for (size_t i = 0; i < g->n_params; i++)
        memset(g->params[i].n_failed, 0, CAUSES_MAX * sizeof *g->params[i].n_failed);
}

/* ---- outcomes ---- */

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * UINT64_C(1099511628211); /* FNV-1a */
    return h == 0 ? 1 : h;
}

static uint64_t hash_of(const struct value *v)
{
    struct buf text = { 0 };
    uint64_t h;

    param_digest_add(&text, v);
    h = hash_bytes(UINT64_C(14695981039346656037), text.bytes, text.n);
    buf_free(&text);
    return h;
}

/* The parameter's index; n_params if it is not known. */
static size_t find_param(const struct guard *g, const char *name)
{
    size_t i = 0;

    while (i < g->n_params && strcmp(g->params[i].name, name) != 0)
        i++;
    return i;
}

static struct known_value value_of(const struct guard *g, const struct member *m)
{
    struct known_value v = { .param = find_param(g, m->key.str.s), .hash = hash_of(&m->value) };

    v.is_number = param_number(&m->value, &v.number);
    return v;
}

static struct known_value take_value(struct guard *g, const struct member *m)
{
    struct known_value v = value_of(g, m);

    if (v.param == g->n_params && g->n_params < PARAMS_MAX) {
        mem_grow((void **)&g->params, &g->params_capacity, g->n_params, sizeof *g->params);
        g->params[g->n_params++] =
            (struct known_param){ .name = mem_strdup(m->key.str.s),
                                  .n_failed = mem_alloc(CAUSES_MAX * sizeof(int64_t)) };
    }
    return v;
}

/* The cause's index; a new cause is added; CAUSES_MAX if there are too many. */
static size_t take_cause(struct guard *g, const char *cause, const char *words)
{
    size_t i = 0;

    while (i < g->n_causes && strcmp(g->causes[i], cause) != 0)
        i++;
    if (i < g->n_causes || i == CAUSES_MAX)
        return i;
    g->causes[i] = mem_strdup(cause);
    g->words[i] = mem_strndup(words, utf8_cut(words, strnlen(words, WORDS_MAX_BYTES)));
    g->n_causes++;
    return i;
}

static void see_value(struct known_param *p, const struct known_value *v)
{
    if (p->is_sampled)
        return;
    set_add(&p->seen, v->hash);
    if (p->seen.n > VALUES_MAX) {
        p->is_sampled = true;
        set_free(&p->seen);
        set_free(&p->done);
    }
}

static void add_done(struct guard *g, const struct guard_outcome *x)
{
    bool is_new = set_add(&g->configs_done, (uint64_t)x->config);

    for (size_t i = 0; is_new && i < x->params->map.n; i++) {
        struct known_value v = take_value(g, &x->params->map.members[i]);
        struct known_param *p = &g->params[v.param];

        if (v.param == g->n_params)
            continue;
        p->n_done++;
        see_value(p, &v);
        if (!p->is_sampled)
            set_add(&p->done, v.hash);
        if (!v.is_number)
            continue;
        if (!p->has_numbers || v.number < p->least)
            p->least = v.number;
        if (!p->has_numbers || v.number > p->most)
            p->most = v.number;
        p->has_numbers = true;
    }
}

static void add_failed(struct guard *g, const struct guard_outcome *x)
{
    size_t cause = take_cause(g, x->cause, x->words);
    struct failed f = { .config = x->config, .cause = cause, .ran_ms = x->ran_ms };
    uint64_t key = hash_bytes((uint64_t)x->config, &cause, sizeof cause);

    if (cause == CAUSES_MAX || !set_add(&g->configs_failed, key))
        return;
    f.arena = arena_create();
    f.params = value_copy(f.arena, x->params);
    f.values = arena_alloc(f.arena, x->params->map.n * sizeof *f.values);
    for (size_t i = 0; i < x->params->map.n; i++) {
        struct known_value v = take_value(g, &x->params->map.members[i]);

        if (v.param == g->n_params)
            continue;
        f.values[f.n++] = v;
        g->params[v.param].n_failed[cause]++;
        see_value(&g->params[v.param], &v);
    }
    if (g->n_failed == FAILURES_KEPT)
        failed_free(g, FAILURES_KEPT / 2);
    g->failed[g->n_failed++] = f;
}

void guard_add(struct guard *g, const struct guard_outcome *x)
{
    if (x->params->type != VALUE_MAP)
        return;
    if (x->cause == NULL)
        add_done(g, x);
    else
        add_failed(g, x);
}

/* ---- tests ---- */

/* A test in the form in which outcomes are kept. */
struct known_test {
    size_t param;
    enum param_op op;
    uint64_t hash;
    double limit;
};

static struct known_test known_test(const struct guard *g, const struct param_test *t)
{
    struct known_test k = { .param = find_param(g, t->name), .op = t->op };

    k.hash = hash_of(&t->value);
    (void)param_number(&t->value, &k.limit);
    return k;
}

static const struct known_value *value_in(const struct failed *f, size_t param)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->values[i].param == param)
            return &f->values[i];
    return NULL;
}

static bool passes(const struct failed *f, const struct known_test *t)
{
    const struct known_value *v = value_in(f, t->param);

    if (v == NULL)
        return false;
    if (t->op == PARAM_IS)
        return v->hash == t->hash;
    return v->is_number &&
           (t->op == PARAM_AT_LEAST ? v->number >= t->limit : v->number <= t->limit);
}

/* Whether a configuration for which the test holds has ended well. */
static bool is_done(const struct guard *g, const struct known_test *t)
{
    const struct known_param *p = &g->params[t->param];

    switch (t->op) {
    case PARAM_AT_LEAST: return p->has_numbers && p->most >= t->limit;
    case PARAM_AT_MOST: return p->has_numbers && p->least <= t->limit;
    default: return p->is_sampled || set_has(&p->done, t->hash);
    }
}

/* How many failures of the cause pass the test; *ended: failures of any cause that do. */
static int64_t count_failed(const struct guard *g, const struct known_test *t, size_t cause,
                            int64_t *ended)
{
    int64_t n = 0;

    *ended = 0;
    for (size_t i = 0; i < g->n_failed; i++)
        if (passes(&g->failed[i], t)) {
            n += g->failed[i].cause == cause;
            ++*ended;
        }
    return n;
}

/* p: how likely chance lets so many of the cause's failures pass the test. */
struct odds {
    double p;
    bool is_alone; /* the cause has struck nothing else */
};

static struct odds odds_of(const struct guard *g, const struct known_test *t, size_t cause,
                           int64_t n)
{
    const struct known_param *p = &g->params[t->param];
    int64_t others = p->n_failed[cause] > n ? p->n_failed[cause] - n : 0;

    return (struct odds){ fisher_more(n, 0, others, p->n_done), others == 0 };
}

static bool is_likely_reason(const struct odds *o)
{
    return o->is_alone || o->p <= among_others_below;
}

/* How many values and ranges of numbers are compared: each might look like a reason by chance. */
static int64_t count_tests(const struct guard *g)
{
    int64_t n = 0;

    for (size_t i = 0; i < g->n_params; i++) {
        const struct known_param *p = &g->params[i];

        if (!p->is_sampled && p->seen.n > 1)
            n += (int64_t)p->seen.n;
        if (p->has_numbers && (p->is_sampled || p->seen.n > 2))
            n += 2;
    }
    return n;
}

/* ---- judging ---- */

/* Makes the test of a failure's value: the value itself, or the widest range of numbers that
 * contains it and in which nothing ended well.  False: there is none. */
static bool make_test(const struct guard *g, const struct failed *f, const struct known_value *v,
                      enum param_op op, struct known_test *t)
{
    const struct known_param *p = &g->params[v->param];

    *t = (struct known_test){ v->param, op, v->hash, v->number };
    if (op != PARAM_IS && (!v->is_number || !p->has_numbers))
        return false;
    if (is_done(g, t))
        return false;
    for (size_t i = 0; op != PARAM_IS && i < g->n_failed; i++) {
        const struct known_value *w = value_in(&g->failed[i], v->param);

        if (g->failed[i].cause != f->cause || w == NULL || !w->is_number)
            continue;
        if (op == PARAM_AT_LEAST && w->number > p->most && w->number < t->limit)
            t->limit = w->number;
        if (op == PARAM_AT_MOST && w->number < p->least && w->number > t->limit)
            t->limit = w->number;
    }
    return true;
}

static struct value number_value(double x)
{
    return x >= -1e15 && x <= 1e15 && (double)(int64_t)x >= x && (double)(int64_t)x <= x
               ? value_int((int64_t)x)
               : value_float(x);
}

struct candidate {
    struct known_test test;
    size_t cause;
    int64_t failed, ended;
    double p;
};

/* The likeliest reason among the values of one failure; of equally likely ones a single value, and
 * the first parameter.  p 1: there is none. */
static struct candidate best_candidate(const struct guard *g, const struct failed *f)
{
    struct candidate best = { .p = 1, .cause = f->cause };

    for (int op = PARAM_IS; op <= PARAM_AT_MOST; op++)
        for (size_t i = 0; i < f->n; i++) {
            struct candidate c = { .cause = f->cause };
            struct odds o;

            if (g->params[f->values[i].param].n_done < GUARD_OTHERS_MIN ||
                !make_test(g, f, &f->values[i], (enum param_op)op, &c.test))
                continue;
            c.failed = count_failed(g, &c.test, f->cause, &c.ended);
            o = odds_of(g, &c.test, f->cause, c.failed);
            c.p = o.p;
            if (c.failed >= g->limit && is_likely_reason(&o) && c.p < best.p * (1 - 1e-9))
                best = c;
        }
    return best;
}

static bool is_covered(const struct guard *g, const struct failed *f,
                       const struct guard_hold *holds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct known_test t;

        if (holds[i].is_whole)
            return true;
        t = known_test(g, &holds[i].test);
        if (strcmp(holds[i].cause, g->causes[f->cause]) == 0 && passes(f, &t))
            return true;
    }
    return false;
}

static bool judge_whole(const struct guard *g, const struct failed *f, struct arena *a,
                        struct guard_hold *found)
{
    int64_t n = 0;

    for (size_t i = 0; i < g->n_failed; i++)
        n += g->failed[i].cause == f->cause;
    if (g->configs_done.n > 0 || n < g->limit || n < (int64_t)g->n_failed)
        return false;
    *found = (struct guard_hold){ .is_whole = true,
                                  .cause = arena_strdup(a, g->causes[f->cause]),
                                  .words = arena_strdup(a, g->words[f->cause]),
                                  .failed = n,
                                  .ended = (int64_t)g->n_failed };
    return true;
}

static bool judge_values(const struct guard *g, const struct failed *f, struct arena *a,
                         struct guard_hold *found)
{
    struct candidate c = best_candidate(g, f);
    const struct known_param *p;
    struct value value;

    if (c.p >= 1)
        return false;
    p = &g->params[c.test.param];
    value = number_value(c.test.limit);
    if (c.test.op == PARAM_IS)
        value = value_copy(a, value_get(&f->params, p->name));
    *found = (struct guard_hold){ .test = { arena_strdup(a, p->name), c.test.op, value },
                                  .cause = arena_strdup(a, g->causes[c.cause]),
                                  .words = arena_strdup(a, g->words[c.cause]),
                                  .failed = c.failed,
                                  .ended = c.ended };
    return true;
}

bool guard_judge(struct guard *g, const struct guard_hold *holds, size_t n, struct arena *a,
                 struct guard_hold *found)
{
    while (g->n_judged < g->n_failed) {
        const struct failed *f = &g->failed[g->n_judged++];

        if (!is_covered(g, f, holds, n) &&
            (judge_whole(g, f, a, found) || judge_values(g, f, a, found)))
            return true;
    }
    return false;
}

/* ---- what runs ---- */

bool guard_holds(const struct guard_hold *h, const struct value *params)
{
    return h->is_whole || param_test_holds(&h->test, params);
}

static bool is_of(const struct guard *g, const struct guard_hold *h, const struct known_test *t,
                  const struct failed *f)
{
    return strcmp(g->causes[f->cause], h->cause) == 0 && (h->is_whole || passes(f, t));
}

/* How many known failures the hold rests on, and how long the longest of them ran. */
static int64_t failures_of(const struct guard *g, const struct guard_hold *h, int64_t *longest_ms)
{
    struct known_test t = { 0 };
    int64_t n = 0;

    *longest_ms = 0;
    if (!h->is_whole)
        t = known_test(g, &h->test);
    for (size_t i = 0; i < g->n_failed; i++)
        if (is_of(g, h, &t, &g->failed[i])) {
            n++;
            if (g->failed[i].ran_ms > *longest_ms)
                *longest_ms = g->failed[i].ran_ms;
        }
    return n;
}

int64_t guard_outlived_after_ms(const struct guard *g, const struct guard_hold *h)
{
    int64_t longest_ms;

    (void)failures_of(g, h, &longest_ms);
    return 2 * longest_ms + OUTLIVED_MIN_MS;
}

bool guard_is_outlived(const struct guard *g, const struct guard_hold *h,
                       const struct guard_running *running, size_t n)
{
    int64_t longest_ms, n_longer = 0, n_failed = failures_of(g, h, &longest_ms);

    for (size_t i = 0; i < n; i++)
        n_longer += running[i].for_ms >= 2 * longest_ms + OUTLIVED_MIN_MS &&
                    guard_holds(h, running[i].params);
    return n_longer > 0 && n_longer * OUTLIVING_SHARE >= n_failed;
}

/* ---- reviewing ---- */

/* The value of another parameter `param` that all failures of the hold share; NULL: they share
 * none, or the parameter has no other value. */
static const struct known_value *shared_value(const struct guard *g, const struct guard_hold *h,
                                              const struct known_test *t, size_t param)
{
    const struct known_value *shared = NULL;

    if (param == t->param || g->params[param].is_sampled || g->params[param].seen.n < 2)
        return NULL;
    for (size_t i = 0; i < g->n_failed; i++) {
        const struct failed *f = &g->failed[i];
        const struct known_value *v = value_in(f, param);

        if (strcmp(g->causes[f->cause], h->cause) != 0 || !passes(f, t))
            continue;
        if (v == NULL || (shared != NULL && shared->hash != v->hash))
            return NULL;
        shared = v;
    }
    return shared;
}

bool guard_is_telling(const struct guard *g, const struct guard_hold *h, const struct value *params)
{
    struct known_test t = known_test(g, &h->test);

    for (size_t i = 0; i < g->n_params; i++) {
        const struct known_value *shared = shared_value(g, h, &t, i);
        const struct value *v = value_get(params, g->params[i].name);

        if (shared != NULL && (v == NULL || hash_of(v) != shared->hash))
            return true;
    }
    return false;
}

static size_t find_cause(const struct guard *g, const char *cause)
{
    size_t i = 0;

    while (i < g->n_causes && strcmp(g->causes[i], cause) != 0)
        i++;
    return i;
}

static struct guard_review review_value(const struct guard *g, struct guard_hold *h,
                                        const struct guard_now *now)
{
    struct known_test t = known_test(g, &h->test);
    size_t cause = find_cause(g, h->cause);
    int64_t failed, ended;
    bool is_sure, is_shared = false;
    struct odds o;

    /* After a restart or a user's resume the guard may know fewer failures than there were. */
    if (t.param == g->n_params || cause == g->n_causes)
        return (struct guard_review){ now->is_due ? GUARD_TRIES_ANY : GUARD_STAYS, NULL, true };
    if (is_done(g, &t))
        return (struct guard_review){ GUARD_LIFTS, "one ended well", true };
    failed = count_failed(g, &t, cause, &ended);
    if (failed > h->failed) {
        h->failed = failed;
        h->ended = ended;
    }
    o = odds_of(g, &t, cause, failed);
    if (o.p > alone_below && !o.is_alone)
        return (struct guard_review){ GUARD_LIFTS, "others failed so as well", true };
    is_sure =
        fisher_of_many(o.p, count_tests(g)) <= (o.is_alone ? alone_below : among_others_below);
    for (size_t i = 0; i < g->n_params; i++)
        is_shared |= shared_value(g, h, &t, i) != NULL;
    if (now->is_due || (now->is_rest && (is_shared || !is_sure)))
        return (struct guard_review){ is_shared ? GUARD_TRIES_TELLING : GUARD_TRIES_ANY, NULL,
                                      is_sure && !now->is_due };
    return (struct guard_review){ GUARD_STAYS, NULL, is_sure };
}

struct guard_review guard_review(const struct guard *g, struct guard_hold *h,
                                 const struct guard_now *now)
{
    if (guard_is_outlived(g, h, now->running, now->n_running))
        return (struct guard_review){ GUARD_LIFTS, "others run on", true };
    if (!h->is_whole)
        return review_value(g, h, now);
    if (g->configs_done.n > 0)
        return (struct guard_review){ GUARD_LIFTS, "one ended well", true };
    return (struct guard_review){ now->is_due ? GUARD_TRIES_ANY : GUARD_STAYS, NULL, true };
}

/* ---- words ---- */

void guard_add_sentence(struct buf *out, const struct guard_hold *h, int64_t sweep)
{
    struct buf test = { 0 };

    if (h->is_whole) {
        buf_printf(out,
                   "held: the first %" PRId64 " configurations failed: %s (ludwig resume %" PRId64
                   " runs the others)",
                   h->failed, h->words, sweep);
        return;
    }
    param_test_add(&test, &h->test);
    buf_printf(out,
               "held: %s failed %" PRId64 " of %" PRId64 ": %s (ludwig resume %" PRId64 " --where ",
               buf_text(&test), h->failed, h->ended, h->words, sweep);
    param_test_add_word(out, buf_text(&test));
    buf_add_str(out, " runs them)");
    buf_free(&test);
}
