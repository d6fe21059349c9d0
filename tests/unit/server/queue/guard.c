/* SPDX-License-Identifier: MIT */
/* guard.c - tests of which jobs are held, on sweeps that are played through */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "server/queue/guard.h"

enum { JOBS_MAX = 400, HOLDS_MAX = 100, PARAMS = 4, SLOTS_MAX = 40 };

enum sim_state { SIM_QUEUED, SIM_RUNS, SIM_DONE, SIM_FAILED, SIM_HELD };

struct sim_job {
    struct value params;
    struct member members[PARAMS];
    enum sim_state state;
    int64_t begins_at, ends_at;
    const char *cause; /* of which it will fail; NULL: it will end well */
    int hold;          /* -1: none */
};

struct sim {
    struct arena *arena;
    struct guard *guard;
    struct sim_job jobs[JOBS_MAX];
    size_t order[JOBS_MAX];
    size_t n;
    struct guard_hold holds[HOLDS_MAX];
    bool is_lifted[HOLDS_MAX];
    int64_t tried_at[HOLDS_MAX];
    bool has_success[HOLDS_MAX]; /* since it was made or tried */
    size_t n_holds;
    int64_t now;
    uint64_t random;
};

/* What becomes of a job: its cause, and how long it takes. */
typedef void (*fate_fn)(struct sim *s, struct sim_job *job, int64_t *took_ms);

static double chance(struct sim *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(s->random >> 11) / (double)(UINT64_C(1) << 53);
}

static double number(const struct sim_job *job, size_t param)
{
    const struct value *v = &job->members[param].value;

    return v->type == VALUE_INT ? (double)v->i : v->f;
}

static bool is(const struct sim_job *job, const char *optimizer)
{
    return strcmp(job->members[0].value.str.s, optimizer) == 0;
}

/* ---- a sweep ---- */

enum sim_order { IN_FILE_ORDER, SHUFFLED };

/* n_seeds x 4 optimizers x 5 rates x 2 sizes; the seed, which varies fastest, is one, too. */
static void sim_begin(struct sim *s, uint64_t seed, int n_seeds, enum sim_order order)
{
    static const char *const optimizers[] = { "lion", "adam", "sgd", "rmsprop" };
    static const double rates[] = { 0.001, 0.01, 0.1, 0.5, 1.5 };

    *s = (struct sim){ .arena = arena_create(), .guard = guard_create(GUARD_FAILURES) };
    s->random = seed * 2 + 1;
    for (int i = 0; i < 10; i++)
        (void)chance(s);
    s->n = 40 * (size_t)n_seeds;
    for (size_t i = 0; i < s->n; i++) {
        struct sim_job *job = &s->jobs[i];
        size_t at = i / (size_t)n_seeds;

        job->members[0] = value_member("optimizer", value_str(optimizers[at / 10]));
        job->members[1] = value_member("lr", value_float(rates[at / 2 % 5]));
        job->members[2] = value_member("size", value_int(at % 2 == 0 ? 64 : 512));
        job->members[3] = value_member("seed", value_int((int64_t)(i % (size_t)n_seeds)));
        job->params = (struct value){ .type = VALUE_MAP, .map = { job->members, PARAMS } };
        job->hold = -1;
        s->order[i] = i;
    }
    for (size_t i = s->n; order == SHUFFLED && i > 1; i--) {
        size_t k = (size_t)(chance(s) * (double)i), other = s->order[i - 1];

        s->order[i - 1] = s->order[k];
        s->order[k] = other;
    }
}

static void sim_end(struct sim *s)
{
    guard_destroy(s->guard);
    arena_destroy(s->arena);
}

static size_t count(const struct sim *s, enum sim_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->jobs[i].state == state;
    return n;
}

/* ---- what ludwigd does with the decisions ---- */

/* Another hold that is not lifted and holds the job; -1: none. */
static int other_hold(const struct sim *s, const struct sim_job *job, size_t hold)
{
    for (size_t i = 0; i < s->n_holds; i++)
        if (i != hold && !s->is_lifted[i] && guard_holds(&s->holds[i], &job->params))
            return (int)i;
    return -1;
}

static void lift(struct sim *s, size_t hold)
{
    s->is_lifted[hold] = true;
    for (size_t i = 0; i < s->n; i++) {
        struct sim_job *job = &s->jobs[i];

        if (job->hold != (int)hold)
            continue;
        job->hold = other_hold(s, job, hold);
        job->state = job->hold < 0 ? SIM_QUEUED : SIM_HELD;
    }
}

/* Lets one job run, best one that is telling. */
static void try_one(struct sim *s, size_t hold)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < s->n; i++) {
            struct sim_job *job = &s->jobs[i];

            if (job->hold != (int)hold ||
                (pass == 0 && !guard_is_telling(s->guard, &s->holds[hold], &job->params)))
                continue;
            job->state = SIM_QUEUED;
            job->hold = -1;
            return;
        }
}

static bool has_telling(const struct sim *s, size_t hold)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->jobs[i].hold == (int)hold &&
            guard_is_telling(s->guard, &s->holds[hold], &s->jobs[i].params))
            return true;
    return false;
}

static size_t list_running(const struct sim *s, struct guard_running *running)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->jobs[i].state == SIM_RUNS)
            running[n++] =
                (struct guard_running){ &s->jobs[i].params, s->now - s->jobs[i].begins_at };
    return n;
}

static void review(struct sim *s)
{
    struct guard_running running[SLOTS_MAX];

    for (size_t i = 0; i < s->n_holds; i++) {
        struct guard_now now = {
            .running = running,
            .n_running = list_running(s, running),
            .is_rest = count(s, SIM_QUEUED) == 0 && count(s, SIM_RUNS) == 0,
            .is_due = s->has_success[i] && s->now - s->tried_at[i] >= GUARD_TRY_AFTER_MS,
        };
        struct guard_review r;

        if (s->is_lifted[i])
            continue;
        r = guard_review(s->guard, &s->holds[i], &now);
        if (r.answer == GUARD_LIFTS) {
            lift(s, i);
        } else if (r.answer == GUARD_TRIES_ANY ||
                   (r.answer == GUARD_TRIES_TELLING && (!r.is_sure || has_telling(s, i)))) {
            s->tried_at[i] = s->now;
            s->has_success[i] = false;
            try_one(s, i);
        }
    }
}

static void judge(struct sim *s)
{
    struct guard_running running[SLOTS_MAX];
    struct guard_hold active[HOLDS_MAX], found;
    size_t n = list_running(s, running), n_active = 0;

    for (size_t i = 0; i < s->n_holds; i++)
        if (!s->is_lifted[i])
            active[n_active++] = s->holds[i];
    while (guard_judge(s->guard, active, n_active, s->arena, &found)) {
        if (guard_is_outlived(s->guard, &found, running, n))
            continue;
        assert_true(s->n_holds < HOLDS_MAX);
        active[n_active++] = found;
        s->holds[s->n_holds] = found;
        s->tried_at[s->n_holds] = s->now;
        for (size_t i = 0; i < s->n; i++)
            if (s->jobs[i].state == SIM_QUEUED && guard_holds(&found, &s->jobs[i].params)) {
                s->jobs[i].state = SIM_HELD;
                s->jobs[i].hold = (int)s->n_holds;
            }
        s->n_holds++;
    }
}

/* When a job that runs will outlast what a hold rests on. */
static int64_t next_look(const struct sim *s)
{
    int64_t at = INT64_MAX;

    for (size_t i = 0; i < s->n_holds; i++)
        for (size_t k = 0; !s->is_lifted[i] && k < s->n; k++) {
            int64_t due = s->jobs[k].begins_at + guard_outlived_after_ms(s->guard, &s->holds[i]);

            if (s->jobs[k].state == SIM_RUNS && due > s->now && due < at)
                at = due;
        }
    return at;
}

static void end_job(struct sim *s, struct sim_job *job)
{
    job->state = job->cause != NULL ? SIM_FAILED : SIM_DONE;
    for (size_t i = 0; job->cause == NULL && i < s->n_holds; i++)
        s->has_success[i] = true;
    guard_add(s->guard, &(struct guard_outcome){ .config = job - s->jobs + 1,
                                                 .params = &job->params,
                                                 .cause = job->cause,
                                                 .words = job->cause,
                                                 .ran_ms = s->now - job->begins_at });
    if (job->cause != NULL)
        judge(s);
}

/* Plays the sweep until nothing goes on. */
static void play(struct sim *s, size_t n_slots, fate_fn fate)
{
    for (;;) {
        struct sim_job *next = NULL;
        int64_t look_at;

        for (size_t i = 0; i < s->n && count(s, SIM_RUNS) < n_slots; i++) {
            struct sim_job *job = &s->jobs[s->order[i]];
            int64_t took_ms = 1000;

            if (job->state != SIM_QUEUED)
                continue;
            job->state = SIM_RUNS;
            job->begins_at = s->now;
            fate(s, job, &took_ms);
            job->ends_at = s->now + took_ms;
        }
        for (size_t i = 0; i < s->n; i++)
            if (s->jobs[i].state == SIM_RUNS &&
                (next == NULL || s->jobs[i].ends_at < next->ends_at))
                next = &s->jobs[i];
        if (next == NULL)
            return;
        look_at = next_look(s);
        s->now = look_at < next->ends_at ? look_at : next->ends_at;
        if (look_at >= next->ends_at)
            end_job(s, next);
        review(s);
    }
}

/* ---- what is legal ---- */

static void flaky_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    *took_ms = (int64_t)(60000 * (0.8 + 0.4 * chance(s)));
    job->cause = chance(s) < 0.3 ? "bad luck" : NULL;
    if (job->cause != NULL)
        *took_ms = (int64_t)((double)*took_ms * chance(s));
}

static void slow_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    *took_ms = (int64_t)((is(job, "lion") ? 1200000 : 60000) * (0.8 + 0.4 * chance(s)));
    job->cause = chance(s) < 0.1 ? "bad luck" : NULL;
    if (job->cause != NULL)
        *took_ms = (int64_t)((double)*took_ms * chance(s));
}

static void pair_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    job->cause = is(job, "lion") && number(job, 2) > 100 ? "out of memory" : NULL;
    *took_ms = job->cause != NULL ? 2000 : (int64_t)(60000 * (0.8 + 0.4 * chance(s)));
}

/* Exit codes 0 to 3 say what came out. */
static void code_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    static const char *const codes[] = { NULL, "exit code 1", "exit code 2", "exit code 3" };

    *took_ms = (int64_t)(60000 * (0.8 + 0.4 * chance(s)));
    job->cause = codes[(size_t)(chance(s) * 4)];
}

/* A few fail at once while the others are busy for long. */
static void batch_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    job->cause = chance(s) < 0.3 ? "bad luck" : NULL;
    *took_ms = job->cause != NULL ? 1000 : (int64_t)(600000 * (0.8 + 0.4 * chance(s)));
}

struct kind {
    const char *name;
    fate_fn fate;
    size_t n_slots;
    size_t
        percent; /* of so many sweeps chance lets the first configurations fail, and no more run */
};

/* A whole sweep that is held has had no success.  Nothing else is held. */
static void check_legal(const struct kind *kind, enum sim_order order, int n_seeds)
{
    enum { SWEEPS = 60 };
    static struct sim s;
    size_t n_whole = 0, n_others = 0;

    for (uint64_t seed = 0; seed < SWEEPS; seed++) {
        bool is_whole = false;

        sim_begin(&s, seed, n_seeds, order);
        play(&s, kind->n_slots, kind->fate);
        for (size_t i = 0; i < s.n_holds; i++)
            is_whole |= s.holds[i].is_whole && !s.is_lifted[i];
        if (is_whole)
            assert_int_equal(count(&s, SIM_DONE), 0);
        n_whole += is_whole;
        n_others += !is_whole && count(&s, SIM_HELD) > 0;
        sim_end(&s);
    }
    if (n_whole * 100 > kind->percent * SWEEPS || n_others > 1)
        fail_msg("%s, %zu slots, order %d, %d seeds: of %d sweeps %zu held whole, %zu in part",
                 kind->name, kind->n_slots, (int)order, n_seeds, SWEEPS, n_whole, n_others);
}

static void legal_failures_hold_nothing_in_the_end(void **state)
{
    static const struct kind kinds[] = {
        { "flaky", flaky_fate, 1, 5 }, { "flaky", flaky_fate, 4, 2 },
        { "flaky", flaky_fate, 8, 0 }, { "slow", slow_fate, 1, 2 },
        { "slow", slow_fate, 8, 0 },   { "pair", pair_fate, 1, 0 },
        { "pair", pair_fate, 8, 0 },   { "code", code_fate, 1, 10 },
        { "code", code_fate, 8, 2 },   { "batch", batch_fate, 20, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int order = IN_FILE_ORDER; order <= SHUFFLED; order++)
            for (int n_seeds = 1; n_seeds <= 3; n_seeds += 2)
                check_legal(&kinds[i], (enum sim_order)order, n_seeds);
}

/* ---- what is broken ---- */

static void lion_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    job->cause = is(job, "lion") ? "no module" : NULL;
    *took_ms = job->cause != NULL ? 500 : (int64_t)(60000 * (0.8 + 0.4 * chance(s)));
}

static void lion_late_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    job->cause = is(job, "lion") ? "no module" : NULL;
    *took_ms = (int64_t)(60000 * (0.8 + 0.4 * chance(s)));
}

static void suffix_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    job->cause = number(job, 1) >= 0.5 ? "diverged" : NULL;
    *took_ms = (int64_t)(60000 * (0.8 + 0.4 * chance(s)));
}

static void size_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    job->cause = number(job, 2) > 100 ? "out of memory" : NULL;
    *took_ms = (int64_t)(60000 * (0.8 + 0.4 * chance(s)));
}

static void all_fate(struct sim *s, struct sim_job *job, int64_t *took_ms)
{
    job->cause = "broken";
    *took_ms = (int64_t)(60000 * (0.8 + 0.4 * chance(s)));
}

/* What one broken value costs: the limit, those that run beside, and on average less than three
 * more that were tried, or failed before it was clear which value it is.  The rest is held. */
static void check_broken(const struct kind *kind, enum sim_order order, size_t n_broken)
{
    enum { SWEEPS = 40 };
    size_t sum = 0, most = GUARD_FAILURES + kind->n_slots - 1;
    static struct sim s;

    for (uint64_t seed = 0; seed < SWEEPS; seed++) {
        size_t failed;

        sim_begin(&s, seed, 5, order);
        play(&s, kind->n_slots, kind->fate);
        failed = count(&s, SIM_FAILED);
        assert_true(failed >= GUARD_FAILURES && failed < most + 15);
        assert_true(count(&s, SIM_HELD) >= n_broken - failed);
        sum += failed;
        sim_end(&s);
    }
    if (sum > (most + 3) * SWEEPS)
        fail_msg("%s, %zu slots, order %d: %g of 200 failed on average", kind->name, kind->n_slots,
                 (int)order, (double)sum / SWEEPS);
}

static void what_is_broken_costs_little(void **state)
{
    static const struct {
        struct kind kind;
        size_t n_broken; /* jobs of 200 */
    } cases[] = {
        { { "lion", lion_fate, 1, 0 }, 50 },      { { "lion", lion_fate, 8, 0 }, 50 },
        { { "late", lion_late_fate, 1, 0 }, 50 }, { { "late", lion_late_fate, 8, 0 }, 50 },
        { { "suffix", suffix_fate, 1, 0 }, 80 },  { { "suffix", suffix_fate, 8, 0 }, 80 },
        { { "size", size_fate, 1, 0 }, 100 },     { { "size", size_fate, 8, 0 }, 100 },
        { { "all", all_fate, 1, 0 }, 200 },       { { "all", all_fate, 20, 0 }, 200 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_broken(&cases[i].kind, SHUFFLED, cases[i].n_broken);
    /* In the file's order the broken value comes first, and nothing has ended well. */
    check_broken(&cases[0].kind, IN_FILE_ORDER, cases[0].n_broken);
}

/* ---- the rules, one by one ---- */

struct table {
    struct guard *guard;
    struct arena *arena;
    int64_t config;
};

static struct value *configuration(struct arena *a, const char *optimizer, double lr)
{
    struct value *v = arena_alloc(a, sizeof *v);
    const struct member members[] = { value_member("optimizer", value_str(optimizer)),
                                      value_member("lr", value_float(lr)) };

    *v = value_map(a, members, 2);
    return v;
}

/* Adds an outcome of a new configuration. */
static void ends(struct table *t, const char *optimizer, double lr, const char *cause)
{
    guard_add(t->guard, &(struct guard_outcome){ .config = ++t->config,
                                                 .params = configuration(t->arena, optimizer, lr),
                                                 .cause = cause,
                                                 .words = cause,
                                                 .ran_ms = 1000 });
}

static void table_begin(struct table *t)
{
    *t = (struct table){ guard_create(GUARD_FAILURES), arena_create(), 0 };
}

static void table_end(struct table *t)
{
    guard_destroy(t->guard);
    arena_destroy(t->arena);
}

static void three_of_one_value_are_enough_if_three_others_did(void **state)
{
    struct guard_hold hold;
    struct buf text = { 0 };
    struct table t;

    (void)state;
    table_begin(&t);
    ends(&t, "lion", 0.1, "no module");
    ends(&t, "adam", 0.1, NULL);
    ends(&t, "lion", 0.2, "no module");
    ends(&t, "adam", 0.2, NULL);
    ends(&t, "lion", 0.3, "no module");
    assert_false(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    ends(&t, "sgd", 0.3, NULL);
    assert_false(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    ends(&t, "lion", 0.1, "no module");
    assert_true(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    assert_string_equal(hold.test.name, "optimizer");
    assert_true(guard_holds(&hold, configuration(t.arena, "lion", 7)));
    assert_false(guard_holds(&hold, configuration(t.arena, "adam", 7)));
    guard_add_sentence(&text, &hold, 7);
    assert_string_equal(buf_text(&text), "held: optimizer=lion failed 4 of 4: no module (ludwig "
                                         "resume 7 --where 'optimizer=lion' runs them)");
    buf_free(&text);
    assert_false(guard_judge(t.guard, &hold, 1, t.arena, &hold));
    table_end(&t);
}

static void the_first_three_of_one_cause_hold_the_sweep(void **state)
{
    struct guard_now now = { 0 };
    struct guard_hold hold;
    struct buf text = { 0 };
    struct table t;

    (void)state;
    table_begin(&t);
    ends(&t, "lion", 0.1, "no module");
    t.config--; /* a second job of the same configuration */
    ends(&t, "lion", 0.1, "no module");
    ends(&t, "adam", 0.1, "no module");
    assert_false(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    ends(&t, "sgd", 0.1, "no module");
    assert_true(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    assert_true(hold.is_whole);
    guard_add_sentence(&text, &hold, 7);
    assert_string_equal(buf_text(&text), "held: the first 3 configurations failed: no module "
                                         "(ludwig resume 7 runs the others)");
    buf_free(&text);
    assert_int_equal(guard_review(t.guard, &hold, &now).answer, GUARD_STAYS);
    ends(&t, "sgd", 0.2, NULL);
    assert_int_equal(guard_review(t.guard, &hold, &now).answer, GUARD_LIFTS);
    table_end(&t);

    table_begin(&t);
    ends(&t, "lion", 0.1, "no module");
    ends(&t, "lion", 0.2, "another");
    ends(&t, "adam", 0.1, "no module");
    ends(&t, "sgd", 0.1, "no module");
    assert_false(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    table_end(&t);
}

static void numbers_are_held_from_the_least_that_failed(void **state)
{
    struct guard_hold hold;
    struct buf text = { 0 };
    struct table t;

    (void)state;
    table_begin(&t);
    for (int i = 1; i <= 4; i++)
        ends(&t, "adam", 0.1 * i, NULL);
    ends(&t, "adam", 0.3, "diverged"); /* which has ended well, too */
    ends(&t, "adam", 0.9, "diverged");
    ends(&t, "adam", 0.7, "diverged");
    assert_false(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    for (int i = 0; i < 30; i++)
        ends(&t, "adam", 0.05 + 0.01 * i, NULL);
    ends(&t, "adam", 0.8, "diverged");
    assert_true(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    param_test_add(&text, &hold.test);
    assert_string_equal(buf_text(&text), "lr >= 0.7");
    buf_free(&text);
    table_end(&t);
}

static void failures_that_were_forgiven_do_not_count(void **state)
{
    struct guard_hold hold;
    struct table t;

    (void)state;
    table_begin(&t);
    for (int i = 0; i < 3; i++)
        ends(&t, "lion", i, "no module");
    assert_true(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    guard_forget_failures(t.guard);
    ends(&t, "lion", 4, "no module");
    ends(&t, "lion", 5, "no module");
    assert_false(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    ends(&t, "lion", 6, "no module");
    assert_true(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    table_end(&t);
}

/* Of many thousands of failures only the newest are kept, and values are counted up to a limit. */
static void long_histories_are_taken(void **state)
{
    struct guard_hold hold;
    struct table t;

    (void)state;
    table_begin(&t);
    for (int i = 0; i < 12000; i++)
        ends(&t, i % 2 == 0 ? "adam" : "sgd", i * 0.001, i % 3 == 0 ? "bad luck" : NULL);
    while (guard_judge(t.guard, NULL, 0, t.arena, &hold))
        fail_msg("%s", hold.test.name);
    for (int i = 0; i < 3; i++)
        ends(&t, "lion", i, "no module");
    assert_true(guard_judge(t.guard, NULL, 0, t.arena, &hold));
    assert_string_equal(hold.test.name, "optimizer");
    table_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_failures_hold_nothing_in_the_end),
        cmocka_unit_test(what_is_broken_costs_little),
        cmocka_unit_test(three_of_one_value_are_enough_if_three_others_did),
        cmocka_unit_test(the_first_three_of_one_cause_hold_the_sweep),
        cmocka_unit_test(numbers_are_held_from_the_least_that_failed),
        cmocka_unit_test(failures_that_were_forgiven_do_not_count),
        cmocka_unit_test(long_histories_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
