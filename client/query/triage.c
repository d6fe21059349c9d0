/* SPDX-License-Identifier: MIT */
/* triage.c - groups failures by cause, and finds parameters' values that explain them */

#include "client/query/triage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "common/data/param_digest.h"
#include "common/proto/failure.h"
#include "common/proto/param_test.h"
#include "common/stats/fisher.h"

enum {
    THRESHOLDS_MAX = 200, /* X tried for one parameter, as lr >= X and lr <= X */
    ATTRIBUTES_MAX = 500, /* parameters that are looked at */
    EXPLAINED_MAX = 50,   /* causes that are explained, the most frequent ones */
    LEFT_MIN = 3          /* failures without a reason that are worth another search */
};

static const double sure_below = 0.05, /* probability after correction for many tests */
    shown_below = 0.05;                /* probability by one test alone */

static const struct field reason_fields[] = {
    FIELD(struct triage_reason, test, FIELD_STR, 0, 1 << 20),
    FIELD(struct triage_reason, failed_with, FIELD_INT, 0, INT64_MAX),
    FIELD(struct triage_reason, jobs_with, FIELD_INT, 0, INT64_MAX),
    FIELD(struct triage_reason, failed_without, FIELD_INT, 0, INT64_MAX),
    FIELD(struct triage_reason, jobs_without, FIELD_INT, 0, INT64_MAX),
    FIELD(struct triage_reason, p, FIELD_FLOAT, 0, 0),
    FIELD(struct triage_reason, is_sure, FIELD_BOOL, 0, 0),
};
const struct schema triage_reason_schema =
    SCHEMA(struct triage_reason, "triage_reason", reason_fields);

static const struct field group_fields[] = {
    FIELD(struct triage_group, cause, FIELD_STR, 0, FAILURE_NAME_MAX_BYTES),
    FIELD(struct triage_group, example, FIELD_STR, 0, REASON_MAX_BYTES),
    FIELD(struct triage_group, first, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct triage_group, failed, FIELD_INT, 0, INT64_MAX),
    FIELD_OF(struct triage_group, reasons, FIELD_LIST, 0, TRIAGE_REASONS_MAX,
             &triage_reason_schema),
};
const struct schema triage_group_schema = SCHEMA(struct triage_group, "triage_group", group_fields);

static const struct field answer_fields[] = {
    FIELD(struct triage_answer, sweep, FIELD_INT, 0, INT64_MAX),
    FIELD(struct triage_answer, jobs, FIELD_INT, 0, INT64_MAX),
    FIELD_OF(struct triage_answer, causes, FIELD_LIST, 0, INT64_MAX, &triage_group_schema),
};
const struct schema triage_answer_schema =
    SCHEMA(struct triage_answer, "triage_answer", answer_fields);

/* ---- texts, each once ---- */

struct words {
    const char **items;
    size_t n, capacity;
    uint32_t *slots; /* index + 1 of an item; 0: free */
    size_t n_slots;  /* a power of two, more than twice n */
};

static size_t hash_of(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

    for (; *text != '\0'; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32);
}

static uint32_t *slot_of(const struct words *w, const char *text)
{
    size_t i = hash_of(text) & (w->n_slots - 1);

    while (w->slots[i] != 0 && strcmp(w->items[w->slots[i] - 1], text) != 0)
        i = (i + 1) & (w->n_slots - 1);
    return &w->slots[i];
}

/* Returns the text's index, and adds it if it is new. */
static size_t words_take(struct words *w, const char *text, struct arena *a, bool *is_new)
{
    uint32_t *slot;

    if (2 * (w->n + 1) > w->n_slots) {
        free(w->slots);
        w->n_slots = w->n_slots == 0 ? 64 : 2 * w->n_slots;
        w->slots = mem_alloc(w->n_slots * sizeof *w->slots);
        for (size_t i = 0; i < w->n; i++)
            *slot_of(w, w->items[i]) = (uint32_t)i + 1;
    }
    slot = slot_of(w, text);
    *is_new = *slot == 0;
    if (*is_new) {
        mem_grow((void **)&w->items, &w->capacity, w->n, sizeof *w->items);
        w->items[w->n++] = arena_strdup(a, text);
        *slot = (uint32_t)w->n;
    }
    return *slot - 1;
}

static void words_free(struct words *w)
{
    free(w->items);
    free(w->slots);
}

/* ---- the jobs ---- */

/* A parameter, or the node, as an attribute of all jobs. */
struct attribute {
    const char *name;
    bool is_node;
    struct words words;   /* the values' canonical texts, */
    struct value *values; /* and the values */
    size_t capacity;
    int32_t *of; /* for each job the index of its value; -1: it has none */
    size_t n, n_capacity;
    size_t *ordered; /* indices of the values that are numbers, the least first */
    size_t n_ordered;
};

struct triage {
    struct arena *arena;
    struct attribute *attributes;
    size_t n_attributes, capacity;
    struct words causes;
    struct triage_group *groups;
    size_t groups_capacity;
    int32_t *cause_of; /* for each job the index of its cause; -1: it ended well */
    size_t n, n_capacity;
};

struct triage *triage_create(void)
{
    struct triage *t = mem_alloc(sizeof *t);

    t->arena = arena_create();
    return t;
}

void triage_destroy(struct triage *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->n_attributes; i++) {
        struct attribute *x = &t->attributes[i];

        words_free(&x->words);
        free(x->values);
        free(x->of);
        free(x->ordered);
    }
    free(t->attributes);
    words_free(&t->causes);
    free(t->groups);
    free(t->cause_of);
    arena_destroy(t->arena);
    free(t);
}

static struct attribute *find_attribute(struct triage *t, const char *name, bool is_node)
{
    for (size_t i = 0; i < t->n_attributes; i++)
        if (t->attributes[i].is_node == is_node && strcmp(t->attributes[i].name, name) == 0)
            return &t->attributes[i];
    if (t->n_attributes == ATTRIBUTES_MAX)
        return NULL;
    mem_grow((void **)&t->attributes, &t->capacity, t->n_attributes, sizeof *t->attributes);
    t->attributes[t->n_attributes] =
        (struct attribute){ .name = arena_strdup(t->arena, name), .is_node = is_node };
    return &t->attributes[t->n_attributes++];
}

/* Sets an attribute of the job that was added last. */
static void set_value(struct triage *t, const char *name, bool is_node, const struct value *v)
{
    struct attribute *x = find_attribute(t, name, is_node);
    struct buf text = { 0 };
    bool is_new;
    size_t at;

    if (x == NULL || x->n == t->n)
        return;
    while (x->n < t->n) {
        mem_grow((void **)&x->of, &x->n_capacity, x->n, sizeof *x->of);
        x->of[x->n++] = -1;
    }
    param_digest_add(&text, v);
    at = words_take(&x->words, buf_text(&text), t->arena, &is_new);
    buf_free(&text);
    if (is_new) {
        mem_grow((void **)&x->values, &x->capacity, at, sizeof *x->values);
        x->values[at] = value_copy(t->arena, v);
    }
    x->of[t->n - 1] = (int32_t)at;
}

static int32_t take_cause(struct triage *t, const struct job_info *j)
{
    struct failure f = { CAUSE_FAILED, j->exit_code, j->signal, j->reason };
    struct buf text = { 0 };
    bool is_new;
    size_t at;

    for (int cause = 0; j->cause != NULL && cause < CAUSE_COUNT; cause++)
        if (strcmp(cause_names[cause], j->cause) == 0)
            f.cause = (enum cause)cause;
    failure_add_name(&text, &f);
    at = words_take(&t->causes, buf_text(&text), t->arena, &is_new);
    if (is_new) {
        buf_clear(&text);
        jobinfo_add_reason(&text, j);
        mem_grow((void **)&t->groups, &t->groups_capacity, at, sizeof *t->groups);
        t->groups[at] = (struct triage_group){ .cause = t->causes.items[at],
                                               .example = arena_strdup(t->arena, buf_text(&text)),
                                               .first = arena_strdup(t->arena, j->job) };
    }
    t->groups[at].failed++;
    buf_free(&text);
    return (int32_t)at;
}

void triage_add(struct triage *t, const struct job_info *j)
{
    bool has_failed = j->state == JOB_FAILED;

    if (!has_failed && !job_has_published((enum job_state)j->state))
        return;
    mem_grow((void **)&t->cause_of, &t->n_capacity, t->n, sizeof *t->cause_of);
    t->cause_of[t->n++] = has_failed ? take_cause(t, j) : -1;
    for (size_t i = 0; j->params.type == VALUE_MAP && i < j->params.map.n; i++)
        set_value(t, j->params.map.members[i].key.str.s, false, &j->params.map.members[i].value);
    if (j->node != NULL && j->node[0] != '\0') {
        struct value node = value_str(j->node);

        set_value(t, "node", true, &node);
    }
}

int64_t triage_jobs(const struct triage *t)
{
    return (int64_t)t->n;
}

/* ---- tests ---- */

struct test {
    const struct attribute *attribute; /* NULL: no test */
    enum param_op op;
    size_t value;
};

/* Numbers of jobs: failed by the cause, and all, where the test holds; the same everywhere. */
struct table {
    int64_t failed_with, with, failed, jobs;
};

struct scored {
    struct test test;
    struct table table;
    double p;
};

static bool holds(const struct test *x, size_t job)
{
    const struct attribute *at = x->attribute;
    int32_t value = job < at->n ? at->of[job] : -1;
    double number, limit;

    if (value < 0)
        return false;
    if (x->op == PARAM_IS)
        return (size_t)value == x->value;
    if (!param_number(&at->values[value], &number) || !param_number(&at->values[x->value], &limit))
        return false;
    return x->op == PARAM_AT_LEAST ? number >= limit : number <= limit;
}

static double probability(const struct table *t)
{
    return fisher_more(t->failed_with, t->with - t->failed_with, t->failed - t->failed_with,
                       t->jobs - t->with - (t->failed - t->failed_with));
}

/* How much larger the share of failures is where the test holds than elsewhere. */
static double difference(const struct table *t)
{
    return (double)t->failed_with / (double)t->with -
           (double)(t->failed - t->failed_with) / (double)(t->jobs - t->with);
}

/* A smaller probability is better; of equal ones, also if both are too small for a double, the
 * larger difference; of equal differences the one that was tried first. */
static bool is_better(const struct scored *x, const struct scored *than)
{
    if (than->test.attribute == NULL)
        return true;
    if (x->p < than->p * (1 - 1e-9) || x->p > than->p * (1 + 1e-9))
        return x->p < than->p;
    return difference(&x->table) > difference(&than->table) + 1e-9;
}

/* Tries a test, unless it holds for no job or for all, and counts it. */
static void try_test(struct scored *best, const struct test *test, const struct table *table,
                     int64_t *n_tests)
{
    struct scored x = { *test, *table, 1 };

    if (table->with == 0 || table->with == table->jobs)
        return;
    ++*n_tests;
    if (table->failed_with < 2 || difference(table) <= 0)
        return;
    x.p = probability(table);
    if (is_better(&x, best))
        *best = x;
}

/* Tries thresholds: all prefixes and suffixes of the ordered numbers that are no single value. */
static void try_thresholds(const struct attribute *at, const int64_t *failed, const int64_t *jobs,
                           struct table table, struct scored *best, int64_t *n_tests)
{
    size_t stride = at->n_ordered / THRESHOLDS_MAX + 1;
    int64_t all_failed = 0, all_jobs = 0, below_failed = 0, below_jobs = 0;

    for (size_t i = 0; i < at->n_ordered; i++) {
        all_failed += failed[at->ordered[i]];
        all_jobs += jobs[at->ordered[i]];
    }
    for (size_t i = 0; i < at->n_ordered; i++) {
        struct test test = { at, PARAM_AT_LEAST, at->ordered[i] };

        if (i > 0 && i + 1 < at->n_ordered && i % stride == 0) {
            table.failed_with = all_failed - below_failed;
            table.with = all_jobs - below_jobs;
            try_test(best, &test, &table, n_tests);
        }
        below_failed += failed[at->ordered[i]];
        below_jobs += jobs[at->ordered[i]];
        if (i > 0 && i + 1 < at->n_ordered && i % stride == 0) {
            table.failed_with = below_failed;
            table.with = below_jobs;
            test.op = PARAM_AT_MOST;
            try_test(best, &test, &table, n_tests);
        }
    }
}

/* Finds the test that tells jobs that failed by the cause best from the others, among those with
 * is_in. */
static struct scored best_test(const struct triage *t, int32_t cause, const bool *is_in,
                               int64_t *n_tests)
{
    struct scored best = { .p = 1 };
    struct table table = { 0 };

    *n_tests = 0;
    for (size_t i = 0; i < t->n; i++) {
        table.jobs += is_in[i];
        table.failed += is_in[i] && t->cause_of[i] == cause;
    }
    for (size_t k = 0; k < t->n_attributes; k++) {
        const struct attribute *at = &t->attributes[k];
        int64_t *failed = mem_alloc(at->words.n * sizeof *failed);
        int64_t *jobs = mem_alloc(at->words.n * sizeof *jobs);

        for (size_t i = 0; i < at->n; i++)
            if (is_in[i] && at->of[i] >= 0) {
                jobs[at->of[i]]++;
                failed[at->of[i]] += t->cause_of[i] == cause;
            }
        for (size_t v = 0; v < at->words.n; v++) {
            struct test test = { at, PARAM_IS, v };

            /* A value that only one job has says nothing; all sampled values are such. */
            table.failed_with = failed[v];
            table.with = jobs[v];
            if (jobs[v] > 1)
                try_test(&best, &test, &table, n_tests);
        }
        try_thresholds(at, failed, jobs, table, &best, n_tests);
        free(failed);
        free(jobs);
    }
    return best;
}

/* ---- reasons ---- */

static bool all_hold(const struct test *tests, size_t n, size_t job)
{
    for (size_t i = 0; i < n; i++)
        if (!holds(&tests[i], job))
            return false;
    return true;
}

static struct table count(const struct triage *t, int32_t cause, const bool *is_in,
                          const struct test *tests, size_t n)
{
    struct table table = { 0 };

    for (size_t i = 0; i < t->n; i++) {
        bool is_with = is_in[i] && all_hold(tests, n, i), is_so = t->cause_of[i] == cause;

        table.jobs += is_in[i];
        table.failed += is_in[i] && is_so;
        table.with += is_with;
        table.failed_with += is_with && is_so;
    }
    return table;
}

/* Leaves out each test without which the others hold for no more jobs that did not fail. */
static size_t shorten(const struct triage *t, int32_t cause, const bool *is_in, struct test *tests,
                      size_t n)
{
    for (size_t i = 0; n > 1 && i < n;) {
        struct table with = count(t, cause, is_in, tests, n), without;
        struct test dropped = tests[i];

        memmove(&tests[i], &tests[i + 1], (n - i - 1) * sizeof *tests);
        without = count(t, cause, is_in, tests, n - 1);
        if (without.with - without.failed_with <= with.with - with.failed_with) {
            n--;
            continue;
        }
        memmove(&tests[i + 1], &tests[i], (n - i - 1) * sizeof *tests);
        tests[i++] = dropped;
    }
    return n;
}

static void add_tests(struct buf *out, const struct test *tests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct attribute *at = tests[i].attribute;
        struct param_test test = { at->name, tests[i].op, at->values[tests[i].value] };

        buf_add_str(out, i > 0 ? " and " : "");
        if (at->is_node) { /* `node` is the job's field, not a parameter of that name */
            struct buf written = { 0 };

            param_test_add(&written, &test);
            buf_add_str(out, buf_text(&written) + strlen("params."));
            buf_free(&written);
        } else {
            param_test_add(out, &test);
        }
    }
}

static int64_t multiply(int64_t n, int64_t m)
{
    return m > 0 && n > INT64_MAX / m ? INT64_MAX : n * m;
}

/* Finds one reason among the jobs with is_in, and clears is_in of jobs that it explains; false if
 * there is none.  A test is added if chance is less likely with it, although more were tried. */
static bool find_reason(struct triage *t, int32_t cause, bool *is_in, struct triage_reason *reason)
{
    bool *rest = mem_copy(is_in, t->n * sizeof *is_in);
    struct test tests[TRIAGE_TESTS_MAX];
    int64_t n_tests = 1, tried;
    struct buf text = { 0 };
    struct table table = { 0 };
    double p = 1;
    size_t n = 0;

    while (n < TRIAGE_TESTS_MAX && (n == 0 || table.failed_with < table.with)) {
        struct scored best = best_test(t, cause, rest, &tried);
        struct table more;

        if (best.test.attribute == NULL || best.p > shown_below)
            break;
        tests[n] = best.test;
        more = count(t, cause, is_in, tests, n + 1);
        if (n > 0 && fisher_of_many(probability(&more), multiply(n_tests, tried)) >= p)
            break;
        table = more;
        n_tests = multiply(n_tests, tried);
        p = fisher_of_many(probability(&table), n_tests);
        for (size_t i = 0; i < t->n; i++)
            rest[i] = rest[i] && holds(&best.test, i);
        n++;
    }
    free(rest);
    if (n == 0)
        return false;
    n = shorten(t, cause, is_in, tests, n);
    table = count(t, cause, is_in, tests, n);
    add_tests(&text, tests, n);
    *reason = (struct triage_reason){ .test = buf_to_arena(&text, t->arena),
                                      .failed_with = table.failed_with,
                                      .jobs_with = table.with,
                                      .failed_without = table.failed - table.failed_with,
                                      .jobs_without = table.jobs - table.with,
                                      .p = fisher_of_many(probability(&table), n_tests) };
    reason->is_sure = reason->p <= sure_below;
    for (size_t i = 0; i < t->n; i++)
        is_in[i] = is_in[i] && !all_hold(tests, n, i);
    return true;
}

static void explain(struct triage *t, struct triage_group *g, int32_t cause)
{
    struct triage_reason *reasons = arena_alloc(t->arena, TRIAGE_REASONS_MAX * sizeof *reasons);
    bool *is_in = mem_alloc(t->n * sizeof *is_in);
    int64_t left = g->failed;
    size_t n = 0;

    memset(is_in, true, t->n);
    /* Of several reasons each must be sure, as some pattern may show in any few jobs. */
    while (n < TRIAGE_REASONS_MAX && left >= (n == 0 ? 2 : LEFT_MIN) &&
           find_reason(t, cause, is_in, &reasons[n]) && (n == 0 || reasons[n].is_sure)) {
        left -= reasons[n++].failed_with;
        if (!reasons[n - 1].is_sure)
            break;
    }
    g->reasons = (struct list){ reasons, n };
    free(is_in);
}

static int by_number(const void *x, const void *y)
{
    const struct value *const *v = x, *const *w = y;
    double a = 0, b = 0;

    (void)param_number(*v, &a);
    (void)param_number(*w, &b);
    return a < b ? -1 : a > b;
}

static void order_values(struct attribute *at)
{
    const struct value **numbers = mem_alloc(at->words.n * sizeof *numbers);
    double x;

    for (size_t i = 0; i < at->words.n; i++)
        if (param_number(&at->values[i], &x))
            numbers[at->n_ordered++] = &at->values[i];
    if (at->n_ordered > 0)
        qsort(numbers, at->n_ordered, sizeof *numbers, by_number);
    at->ordered = mem_alloc(at->n_ordered * sizeof *at->ordered);
    for (size_t i = 0; i < at->n_ordered; i++)
        at->ordered[i] = (size_t)(numbers[i] - at->values);
    free(numbers);
}

static int by_frequency(const void *x, const void *y)
{
    const struct triage_group *a = x, *b = y;

    return a->failed != b->failed ? (a->failed > b->failed ? -1 : 1) : strcmp(a->cause, b->cause);
}

struct list triage_judge(struct triage *t)
{
    size_t n = t->causes.n;
    bool is_new;

    for (size_t i = 0; i < t->n_attributes; i++)
        order_values(&t->attributes[i]);
    if (n > 0)
        qsort(t->groups, n, sizeof *t->groups, by_frequency);
    for (size_t i = 0; i < n && i < EXPLAINED_MAX; i++)
        explain(t, &t->groups[i],
                (int32_t)words_take(&t->causes, t->groups[i].cause, t->arena, &is_new));
    return (struct list){ t->groups, n };
}

void triage_add_reason(struct buf *out, const struct triage_reason *r)
{
    buf_printf(out, "%" PRId64 " of %" PRId64 " with %s; %" PRId64 " of %" PRId64 " without",
               r->failed_with, r->jobs_with, r->test, r->failed_without, r->jobs_without);
}
