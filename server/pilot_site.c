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

static void finish(struct pilots *p)
{
    p->site.asked_at_ms = units_monotonic_ms();
    slurm_budget_fit(&p->budget, &p->site.config);
    pilots_away(p, NULL);
    log_event(LOG_INFO, "slurm", "version", "%s", p->site.config.version, "cluster", "%s",
              p->site.config.cluster, "partitions", "%zu", p->site.partitions.n, "accounts", "%zu",
              p->site.accounts.assocs.n, NULL);
    pilots_next(p);
}

/* ---- accounts: without them all goes on, and Slurm says what it does not allow ---- */

typedef int (*read_fn)(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                       struct err *e);

static void take_accounts(struct pilots *p, struct slurm_result *result, read_fn read_them,
                          struct slurm_answer *to)
{
    struct err e = { 0 };

    p->call = NULL;
    if (slurm_failure_of(result) == SLURM_WELL &&
        read_them(buf_text(&result->out), result->out.n, p->site.arena, to, &e) == 0)
        return;
    log_event(LOG_WARN, "slurm-accounts", "why", "%s",
              e.kind != ERR_NONE ? e.text : slurm_failure_words(result, p->site.arena), NULL);
}

/* 0 when it is being asked. */
static int ask_accounts(struct pilots *p, char *const *args, slurm_done_fn done)
{
    const struct pilots_command command = { args, pilots_env(NULL, p->site.arena), NULL, NULL };
    struct err e = { 0 };

    return pilots_call(p, &command, done, p, &e);
}

static void on_users(void *context, struct slurm_result *result)
{
    struct pilots *p = context;

    take_accounts(p, result, slurm_read_users, &p->site.accounts.users);
    finish(p);
}

static void on_qos(void *context, struct slurm_result *result)
{
    static char *const users[] = { "sacctmgr", "--noheader", "--parsable2",
                                   "show",     "user",       "format=" SLURM_USER_FIELDS,
                                   NULL };
    struct pilots *p = context;

    take_accounts(p, result, slurm_read_qos, &p->site.accounts.qos);
    if (ask_accounts(p, users, on_users) < 0)
        finish(p);
}

static void on_assocs(void *context, struct slurm_result *result)
{
    static char *const qos[] = { "sacctmgr", "--noheader", "--parsable2",
                                 "show",     "qos",        "format=" SLURM_QOS_FIELDS,
                                 NULL };
    struct pilots *p = context;

    take_accounts(p, result, slurm_read_assocs, &p->site.accounts.assocs);
    if (ask_accounts(p, qos, on_qos) < 0)
        finish(p);
}

static void begin_accounts(struct pilots *p)
{
    char *const args[] = { "sacctmgr",
                           "--noheader",
                           "--parsable2",
                           "show",
                           "assoc",
                           arena_printf(p->site.arena, "cluster=%s", p->site.config.cluster),
                           "format=" SLURM_ASSOC_FIELDS,
                           NULL };

    if (!p->site.config.has_accounting || ask_accounts(p, args, on_assocs) < 0)
        finish(p);
}

/* ---- the rest ---- */

static void on_nodes(void *context, struct slurm_result *result)
{
    struct pilots *p = context;
    struct err e = { 0 };

    if (!is_well(p, result))
        return;
    if (slurm_read_nodes(buf_text(&result->out), result->out.n, p->site.arena, &p->site.nodes, &e) <
        0)
        fail(p, &e);
    else
        begin_accounts(p);
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

static const struct slurm_partition *find_partition(const struct site *s, const char *name)
{
    for (size_t i = 0; i < s->partitions.n; i++)
        if (strcmp(s->partitions.partitions[i].name, name) == 0)
            return &s->partitions.partitions[i];
    return NULL;
}

struct slurm_pool site_spec(const struct conf *conf, const struct slurm_pool *from)
{
    const struct slurm_site *site = conf_slurm_site(conf, from->partition);
    struct slurm_pool to = *from;

    if (site != NULL && to.account == NULL)
        to.account = site->account;
    if (site != NULL && to.qos == NULL)
        to.qos = site->qos;
    return to;
}

struct pilot_limits site_limits(const struct pilots *p, const char *user,
                                const struct slurm_pool *pool, struct arena *a)
{
    const struct slurm_pool spec = site_spec(&p->sv->conf, pool);
    const struct slurm_partition *partition = find_partition(&p->site, spec.partition);
    const struct limits_of of = { user, spec.account, spec.qos, spec.partition,
                                  partition == NULL ? NULL : partition->qos };

    return pilot_limits(&p->site.accounts, &of, a);
}

static struct plan_partition read_partition(const struct site *s, const char *name)
{
    const struct slurm_partition *p = find_partition(s, name);
    struct plan_partition to = { .total_cpus = 0 };

    if (p != NULL) {
        to.total_cpus = known(p->total_cpus);
        to.max_time_ms = known(p->max_time_ms);
        to.default_time_ms = known(p->default_time_ms);
    }
    for (size_t i = 0; i < s->nodes.n; i++)
        if (strcmp(s->nodes.nodes[i].partition, name) == 0 && s->nodes.nodes[i].is_usable)
            take_node(&to, &s->nodes.nodes[i]);
    return to;
}

struct plan_partition site_partition(const struct pilots *p, const char *user,
                                     const struct slurm_pool *pool)
{
    struct plan_partition to = read_partition(&p->site, pool->partition);
    struct arena *a = arena_create();
    const struct pilot_limits limits = site_limits(p, user, pool, a);

    limits_narrow(&limits, &to);
    arena_destroy(a);
    return to;
}
