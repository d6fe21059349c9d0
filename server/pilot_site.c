/* SPDX-License-Identifier: MIT */
/* pilot_site.c - what Slurm says of itself: its configuration, partitions and nodes */

#include <string.h>

#include "common/log.h"
#include "common/units.h"
#include "server/pilot_parts.h"

void site_forget(struct site *s)
{
    for (size_t i = 0; i < SITE_ACCOUNTS; i++)
        if (s->asking[i] != NULL)
            slurm_call_drop(s->asking[i]);
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

static const struct {
    const char *what, *fields;
    int (*read)(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                struct err *e);
} accounts[SITE_ACCOUNTS] = {
    [SITE_ASSOCS] = { "assoc", "format=" SLURM_ASSOC_FIELDS, slurm_read_assocs },
    [SITE_QOS] = { "qos", "format=" SLURM_QOS_FIELDS, slurm_read_qos },
    [SITE_USERS] = { "user", "format=" SLURM_USER_FIELDS, slurm_read_users },
};

struct question {
    struct pilots *p;
    enum site_accounts which;
};

static struct slurm_answer *answer_of(struct site *s, enum site_accounts which)
{
    switch (which) {
    case SITE_ASSOCS: return &s->accounts.assocs;
    case SITE_QOS: return &s->accounts.qos;
    default: return &s->accounts.users;
    }
}

static void finish_with_accounts(struct pilots *p)
{
    for (size_t i = 0; i < SITE_ACCOUNTS; i++)
        if (p->site.asking[i] != NULL)
            return;
    finish(p);
}

static void on_accounts(void *context, struct slurm_result *result)
{
    const struct question *q = context;
    struct site *s = &q->p->site;
    struct err e = { 0 };

    s->asking[q->which] = NULL;
    if (slurm_failure_of(result) != SLURM_WELL ||
        accounts[q->which].read(buf_text(&result->out), result->out.n, s->arena,
                                answer_of(s, q->which), &e) < 0)
        log_event(LOG_WARN, "slurm-accounts", "why", "%s",
                  e.kind != ERR_NONE ? e.text : slurm_failure_words(result, s->arena), NULL);
    finish_with_accounts(q->p);
}

static void ask_accounts(struct pilots *p, enum site_accounts which)
{
    struct arena *a = p->site.arena;
    struct question *q = arena_alloc(a, sizeof *q);
    char *const args[] = { "sacctmgr",
                           "--noheader",
                           "--parsable2",
                           "show",
                           arena_strdup(a, accounts[which].what),
                           arena_strdup(a, accounts[which].fields),
                           which == SITE_ASSOCS
                               ? arena_printf(a, "cluster=%s", p->site.config.cluster)
                               : NULL,
                           NULL };
    const struct pilots_command command = { args, pilots_env(NULL, a), NULL, NULL };
    struct err e = { 0 };

    *q = (struct question){ p, which };
    p->site.asking[which] = pilots_begin(p, &command, on_accounts, q, &e);
}

/* All at once: each takes a fifth of a second, in which slurmdbd and sacctmgr wait for each other. */
static void begin_accounts(struct pilots *p)
{
    for (size_t i = 0; i < SITE_ACCOUNTS && p->site.config.has_accounting; i++)
        ask_accounts(p, (enum site_accounts)i);
    finish_with_accounts(p);
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
    static char format[] = "--format=" SLURM_NODES_FORMAT;
    static char *const nodes[] = { "sinfo", "--noheader", "--exact", format, NULL };
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
