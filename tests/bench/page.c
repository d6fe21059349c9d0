/* SPDX-License-Identifier: MIT */
/* page.c - writes the page of an invented sweep: FILE [CONFIGS [PARAMETERS [JOBS]]] */
/*
 * Every second parameter is drawn from a range, the others from a few choices.  Each
 * configuration has JOBS, of which one in 50 failed, on 32 nodes with 8 places each.  The numbers
 * are the same in each run.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/page/page.h"
#include "common/base/units.h"

static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static struct value draw_params(struct arena *a, size_t n, uint64_t *random, double *score)
{
    static const char *const words[] = { "adam", "sgd", "lion", "rmsprop" };
    struct member *members = arena_alloc(a, n * sizeof *members);

    for (size_t i = 0; i < n; i++) {
        double x = next(random);
        struct value v = i % 4 == 0   ? value_float(pow(10, -4 * x))
                         : i % 4 == 1 ? value_str(words[(size_t)(x * 4)])
                         : i % 4 == 2 ? value_float(x)
                                      : value_int((int64_t)(x * 6));

        members[i] = value_member(arena_printf(a, "parameter_%02zu", i + 1), v);
        *score -= (x - 0.4) * (x - 0.4) / (double)(i + 1);
    }
    return value_map(a, members, n);
}

enum { N_NODES = 32, N_PLACES = 8, N_STEPS = 40 /* of a curve */ };

/* Where and when it ran: one after the other at each place. */
static void place_job(struct gathered *p, struct gathered_job *job, int64_t free_at[],
                      uint64_t *random)
{
    size_t place = p->n_jobs % ((size_t)N_NODES * N_PLACES);

    job->node = arena_printf(p->arena, "node%02zu", place / N_PLACES + 1);
    job->started_at = free_at[place] + (int64_t)(next(random) * 3000);
    job->ended_at = job->started_at + 20000 + (int64_t)(next(random) * 60000);
    free_at[place] = job->ended_at;
}

static void add_curve(struct curves *c, size_t job, double value, uint64_t *random)
{
    struct curve curve = { .job = job,
                           .points = mem_alloc(N_STEPS * sizeof *curve.points),
                           .n = N_STEPS,
                           .capacity = N_STEPS };

    for (size_t k = 0; k < N_STEPS; k++)
        curve.points[k] = (struct curve_point){ (double)k + 1, value * (1 - exp(-(double)k / 10)) +
                                                                   next(random) / 50 };
    mem_grow((void **)&c->items, &c->capacity, c->n, sizeof *c->items);
    c->items[c->n++] = curve;
}

int main(int argc, char **argv)
{
    size_t n_configs = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
    size_t n_params = argc > 3 ? strtoul(argv[3], NULL, 10) : 20;
    size_t n_jobs = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
    struct arena *a = arena_create();
    struct aggregate g;
    struct sweep_info sweep = {
        .sweep = 7, .project = "bench", .user = "nobody", .state = SWEEP_DONE
    };
    struct gathered p = { .arena = a, .aggregate = &g, .sweeps = { &sweep, 1 } };
    struct err e = { 0 };
    int64_t free_at[N_NODES * N_PLACES], began_ms;
    uint64_t random = 1;

    if (argc < 2)
        return fprintf(stderr, "usage: page FILE [CONFIGS [PARAMETERS [JOBS]]]\n"), 2;
    aggregate_init(&g);
    for (size_t i = 0; i < sizeof free_at / sizeof free_at[0]; i++)
        free_at[i] = INT64_C(1790000000000);
    for (size_t i = 0; i < n_configs; i++) {
        double score = 1;
        struct job_result r = { .param_name = arena_printf(a, "param_%05zu", i + 1),
                                .params = draw_params(a, n_params, &random, &score),
                                .state = JOB_DONE };

        for (size_t k = 0; k < n_jobs; k++) {
            double value = score + next(&random) / 50;
            struct metric m = { .name = "score",
                                .value = value,
                                .step = SCHEMA_NONE,
                                .min = value,
                                .max = value,
                                .n = 1 };

            r.job = arena_printf(a, "7.%zu", i * n_jobs + k + 1);
            r.rep = (int64_t)k;
            r.state = next(&random) < 0.02 ? JOB_FAILED : JOB_DONE;
            r.reason = r.state == JOB_FAILED ? "exit code 1: RuntimeError: out of memory" : NULL;
            r.metrics = (struct list){ &m, r.state == JOB_DONE };
            aggregate_add(&g, &r);
            gather_job(&p, &r);
            p.jobs[p.n_jobs - 1].config = i;
            place_job(&p, &p.jobs[p.n_jobs - 1], free_at, &random);
            if (r.state == JOB_DONE && p.n_jobs <= GATHER_SERIES_MAX)
                add_curve(&p.curves, p.n_jobs - 1, value, &random);
        }
    }
    aggregate_finish(&g);
    began_ms = units_monotonic_ms();
    if (page_write(&p, argv[1], &e) < 0)
        return fprintf(stderr, "%s\n", e.text), 1;
    printf("%zu configurations x %zu parameters, %zu jobs: written in %.1f s\n", n_configs,
           n_params, n_configs * n_jobs, (double)(units_monotonic_ms() - began_ms) / 1000);
    gather_free(&p);
    aggregate_free(&g);
    arena_destroy(a);
    return 0;
}
