/* SPDX-License-Identifier: MIT */
/* triage.c - tests of what explains failures */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "client/query/triage.h"

/* What becomes of a job: NULL, or the reason why it fails. */
typedef const char *(*fate_fn)(const struct value *params, const char *node, unsigned chance);

/* A grid of 4 optimizers, 5 rates, 2 sizes and 2 seeds on 3 nodes, and a sampled parameter. */
static struct list judged(struct triage *t, fate_fn fate)
{
    static const char *const optimizers[] = { "adam", "sgd", "lion", "rmsprop" };
    static const double rates[] = { 0.001, 0.01, 0.1, 0.5, 1 };
    static const char *const nodes[] = { "hoff", "norman", "clippy" };
    unsigned random = 12345;
    char name[24];

    for (int i = 0; i < 80; i++) {
        struct member members[] = {
            { value_str("optimizer"), value_str(optimizers[i % 4]) },
            { value_str("lr"), value_float(rates[i / 4 % 5]) },
            { value_str("size"), value_int(i / 20 % 2 == 0 ? 64 : 512) },
            { value_str("seed"), value_int(i / 40) },
            { value_str("dropout"), value_float(i * 0.0125) },
            { value_str("epochs"), value_int(10) },
            { value_str("beta"), value_float(0.9) }, /* of lion alone */
        };
        struct job_info j = { .job = name,
                              .node = nodes[i * 7 % 3],
                              .params = { .type = VALUE_MAP },
                              .exit_code = 0,
                              .signal = SCHEMA_NONE };

        random = random * 1103515245 + 12345;
        j.params.map.members = members;
        j.params.map.n = i % 4 == 2 ? 7 : 6;
        snprintf(name, sizeof name, "7.%d", i + 1);
        j.reason = fate(&j.params, j.node, random >> 16 & 0x7fff);
        j.state = j.reason != NULL ? JOB_FAILED : JOB_DONE;
        j.cause = j.reason != NULL ? "failed" : NULL;
        j.exit_code = j.reason != NULL;
        triage_add(t, &j);
    }
    return triage_judge(t);
}

static const char *text_of(const struct value *params, const char *name)
{
    return value_get(params, name)->str.s;
}

static double number_of(const struct value *params, const char *name)
{
    const struct value *v = value_get(params, name);

    return v->type == VALUE_INT ? (double)v->i : v->f;
}

/* ---- one reason ---- */

static const char *value_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)node, (void)chance;
    return strcmp(text_of(params, "optimizer"), "lion") == 0 ? "exit code 1: no module lion" : NULL;
}

static const char *suffix_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)node, (void)chance;
    return number_of(params, "lr") >= 0.1 ? "exit code 1: it diverged" : NULL;
}

static const char *sampled_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)node, (void)chance;
    return number_of(params, "dropout") <= 0.2 ? "exit code 1: too little dropout" : NULL;
}

static const char *pair_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)node, (void)chance;
    return number_of(params, "size") > 100 && strcmp(text_of(params, "optimizer"), "adam") == 0
               ? "exit code 1: RuntimeError: CUDA out of memory"
               : NULL;
}

static const char *node_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)params, (void)chance;
    return strcmp(node, "norman") == 0 ? "exit code 1: no GPU" : NULL;
}

/* Most of those with the value, and now and then another. */
static const char *likely_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)node;
    return chance % 100 < (strcmp(text_of(params, "optimizer"), "sgd") == 0 ? 90 : 5)
               ? "exit code 1: it diverged"
               : NULL;
}

static void a_cause_is_explained_by_what_its_jobs_have_in_common(void **state)
{
    static const struct {
        fate_fn fate;
        const char *reason; /* the beginning of it */
    } cases[] = {
        { value_fate, "20 of 20 with optimizer=lion; 0 of 60 without" },
        { suffix_fate, "48 of 48 with lr >= 0.1; 0 of 32 without" },
        { sampled_fate, "17 of 17 with dropout <= 0.2; 0 of 63 without" },
        { pair_fate, "10 of 10 with optimizer=adam and size=512; 0 of 70 without" },
        { node_fate, "27 of 27 with node=norman; 0 of 53 without" },
        { likely_fate, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct triage *t = triage_create();
        struct list found = judged(t, cases[i].fate);
        const struct triage_group *g = found.items;
        const struct triage_reason *r;
        struct buf text = { 0 };

        assert_int_equal(found.n, 1);
        assert_true(g->reasons.n >= 1);
        r = g->reasons.items;
        triage_add_reason(&text, r);
        if (cases[i].reason[0] != '\0')
            assert_string_equal(buf_text(&text), cases[i].reason);
        else
            assert_string_equal(r->test, "optimizer=sgd");
        assert_true(r->is_sure && r->p < 1e-4);
        assert_int_equal(r->jobs_with + r->jobs_without, 80);
        buf_free(&text);
        triage_destroy(t);
    }
}

/* ---- several causes, several reasons ---- */

static const char *both_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)node, (void)chance;
    if (strcmp(text_of(params, "optimizer"), "lion") == 0)
        return "exit code 1: no module 17";
    return number_of(params, "lr") > 0.9 ? "exit code 1: no module 18" : NULL;
}

static const char *causes_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)chance;
    if (strcmp(text_of(params, "optimizer"), "lion") == 0)
        return "exit code 1: no module";
    return strcmp(node, "clippy") == 0 && number_of(params, "seed") > 0 ? "exit code 1: no GPU"
                                                                        : NULL;
}

static void one_cause_may_have_two_reasons(void **state)
{
    struct triage *t = triage_create();
    struct list found = judged(t, both_fate);
    const struct triage_group *g = found.items;
    const struct triage_reason *r = g->reasons.items;

    (void)state;
    assert_int_equal(found.n, 1);
    assert_int_equal(g->failed, 32);
    assert_string_equal(g->cause, "no module N");
    assert_string_equal(g->example, "exit code 1: no module 17");
    assert_string_equal(g->first, "7.3");
    assert_int_equal(g->reasons.n, 2);
    assert_string_equal(r[0].test, "optimizer=lion");
    assert_string_equal(r[1].test, "lr=1.0");
    assert_int_equal(r[1].failed_with, 12);
    assert_int_equal(r[1].jobs_with + r[1].jobs_without, 60);
    triage_destroy(t);
}

static void each_cause_has_its_own_reason(void **state)
{
    struct triage *t = triage_create();
    struct list found = judged(t, causes_fate);
    const struct triage_group *g = found.items;

    (void)state;
    assert_int_equal(found.n, 2);
    assert_string_equal(g[0].cause, "no module");
    assert_string_equal(((const struct triage_reason *)g[0].reasons.items)->test, "optimizer=lion");
    assert_string_equal(g[1].cause, "no GPU");
    assert_non_null(
        strstr(((const struct triage_reason *)g[1].reasons.items)->test, "node=clippy"));
    triage_destroy(t);
}

/* ---- no reason ---- */

static const char *all_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)params, (void)node, (void)chance;
    return "exit code 1: it is broken";
}

static const char *chance_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)params, (void)node;
    return chance % 10 < 3 ? "exit code 1: bad luck" : NULL;
}

static const char *no_fate(const struct value *params, const char *node, unsigned chance)
{
    (void)params, (void)node, (void)chance;
    return NULL;
}

static void what_strikes_all_jobs_or_any_job_is_not_explained(void **state)
{
    static const fate_fn fates[] = { all_fate, chance_fate };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct triage *t = triage_create();
        struct list found = judged(t, fates[i]);
        const struct triage_group *g = found.items;
        const struct triage_reason *r = g->reasons.items;

        assert_int_equal(found.n, 1);
        assert_true(g->reasons.n == 0 || !r->is_sure);
        triage_destroy(t);
    }
}

static void without_failures_there_is_no_cause(void **state)
{
    struct triage *t = triage_create();
    struct job_info waits = { .job = "7.81", .state = JOB_QUEUED };

    (void)state;
    triage_add(t, &waits);
    assert_int_equal(triage_jobs(t), 0);
    assert_int_equal(judged(t, no_fate).n, 0);
    assert_int_equal(triage_jobs(t), 80);
    triage_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_is_explained_by_what_its_jobs_have_in_common),
        cmocka_unit_test(one_cause_may_have_two_reasons),
        cmocka_unit_test(each_cause_has_its_own_reason),
        cmocka_unit_test(what_strikes_all_jobs_or_any_job_is_not_explained),
        cmocka_unit_test(without_failures_there_is_no_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
