/* SPDX-License-Identifier: MIT */
/* pilot_site.c - what Slurm says of itself: its configuration, partitions and nodes */

#include <string.h>

#include "common/log.h"
#include "common/units.h"
#include "server/pilot_parts.h"

void site_forget(struct site *s)
{
    arena_destroy(s->arena);
    *s = (struct site){ 0 };
}

/* True when it was answered. */
static bool is_well(struct pilots *p, const struct slurm_result *result)
{
    struct arena *a;

    p->call = NULL;
    if (slurm_failure_of(result) == SLURM_WELL)
        return true;
    a = arena_create();
    pilots_away(p, slurm_failure_words(result, a));
    arena_destroy(a);
    site_forget(&p->site);
    pilots_next(p);
    return false;
}

static void fail(struct pilots *p, const struct err *e)
{
    pilots_away(p, e->text);
    site_forget(&p->site);
    pilots_next(p);
}

static void ask(struct pilots *p, char *const *args, slurm_done_fn done)
{
    const struct pilots_command command = { args, pilots_env(NULL, p->site.arena), NULL, NULL };
    struct err e = { 0 };

    if (pilots_call(p, &command, done, p, &e) < 0)
        fail(p, &e);
}

static void on_nodes(void *context, struct slurm_result *result)
{
    struct pilots *p = context;
    struct err e = { 0 };

    if (!is_well(p, result))
        return;
    if (slurm_read_nodes(buf_text(&result->out), result->out.n, p->site.arena, &p->site.nodes, &e) <
        0) {
        fail(p, &e);
        return;
    }
    p->site.asked_at_ms = units_monotonic_ms();
    slurm_budget_fit(&p->budget, &p->site.config);
    pilots_away(p, NULL);
    log_event(LOG_INFO, "slurm", "version", "%s", p->site.config.version, "cluster", "%s",
              p->site.config.cluster, "partitions", "%zu", p->site.partitions.n, NULL);
    pilots_next(p);
}

static void on_partitions(void *context, struct slurm_result *result)
{
    static char *const nodes[] = { "sinfo", "--noheader", "--exact", "--format=" SLURM_NODES_FORMAT,
                                   NULL };
    struct pilots *p = context;
    struct err e = { 0 };

    if (!is_well(p, result))
        return;
    if (slurm_read_partitions(buf_text(&result->out), result->out.n, p->site.arena,
                              &p->site.partitions, &e) < 0)
        fail(p, &e);
    else
        ask(p, nodes, on_nodes);
}

static void on_config(void *context, struct slurm_result *result)
{
    static char *const partitions[] = { "scontrol", "--oneliner", "show", "partition", NULL };
    struct pilots *p = context;
    struct err e = { 0 };

    if (!is_well(p, result))
        return;
    if (slurm_read_config(buf_text(&result->out), result->out.n, p->site.arena, &p->site.config,
                          &e) < 0)
        fail(p, &e);
    else
        ask(p, partitions, on_partitions);
}

void site_ask(struct pilots *p)
{
    static char *const config[] = { "scontrol", "show", "config", NULL };

    site_forget(&p->site);
    p->site.arena = arena_create();
    ask(p, config, on_config);
}

/* ---- a partition ---- */

/* The largest of those that have all features; "a40|rtx_6000" is left to Slurm. */
static void take_node(struct plan_partition *to, const struct slurm_nodes *n)
{
    int64_t cpus_milli = n->cpus > 0 ? 1000 * n->cpus : 0;

    if (cpus_milli <= to->node.cpus_milli)
        return;
    to->node = (struct plan_size){ cpus_milli, n->gpus > 0 ? 1000 * n->gpus : 0,
                                   n->memory_mb > 0 ? n->memory_mb << 20 : 0 };
}

static int64_t known(int64_t number)
{
    return number == SLURM_NONE ? 0 : number;
}

struct plan_partition site_partition(const struct site *s, const struct slurm_pool *pool)
{
    struct plan_partition to = { .total_cpus = 0 };

    for (size_t i = 0; i < s->partitions.n; i++) {
        const struct slurm_partition *p = &s->partitions.partitions[i];

        if (strcmp(p->name, pool->partition) != 0)
            continue;
        to.total_cpus = known(p->total_cpus);
        to.max_time_ms = known(p->max_time_ms);
        to.default_time_ms = known(p->default_time_ms);
    }
    for (size_t i = 0; i < s->nodes.n; i++)
        if (strcmp(s->nodes.nodes[i].partition, pool->partition) == 0 &&
            s->nodes.nodes[i].is_usable)
            take_node(&to, &s->nodes.nodes[i]);
    return to;
}
