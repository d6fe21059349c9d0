/* SPDX-License-Identifier: MIT */
/* slurm_site.c - asks Slurm for its configuration, partitions, nodes, accounts and QOS */

#include <string.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "server/pilot/pilots_internal.h"

enum {
    /* How old answers get before Slurm is asked again (PART: if those on accounts are missing), */
    SITE_KEPT_MS = 60 * 60 * 1000,
    SITE_KEPT_PART_MS = 5 * 60 * 1000,
    /* and for how long they are used. */
    SITE_USED_MS = 24 * SITE_KEPT_MS,
    /* A slurmdbd that is away delays us no longer than this. */
    ACCOUNTS_MS = 5 * 1000
};

void site_forget(struct site *s)
{
    for (size_t i = 0; i < SITE_QUESTIONS; i++)
        if (s->asking[i] != NULL)
            slurm_call_drop(s->asking[i]);
    arena_destroy(s->arena);
    *s = (struct site){ 0 };
}

bool site_is_known(const struct pilots *p)
{
    return p->site.arena != NULL &&
           units_monotonic_ms() - p->site.asked_at_ms < (int64_t)SITE_USED_MS;
}

bool site_is_fresh(const struct pilots *p)
{
    int64_t kept_ms = p->site.lacks_accounts ? SITE_KEPT_PART_MS : SITE_KEPT_MS;

    return p->site.arena != NULL && units_monotonic_ms() - p->site.asked_at_ms < kept_ms;
}

bool site_is_old(const struct pilots *p)
{
    return p->coming.arena == NULL && !site_is_fresh(p);
}

/* ---- questions ---- */

struct question {
    struct pilots *p;
    enum site_question which;
};

static char **args_of(const struct site *s, enum site_question which)
{
    enum { WORDS = 8 };
    static const char assoc_fields[] = "format=" SLURM_ASSOC_FIELDS;
    static const char qos_fields[] = "format=" SLURM_QOS_FIELDS;
    static const char user_fields[] = "format=" SLURM_USER_FIELDS;
    static const char *const words[SITE_QUESTIONS][WORDS] = {
        [SITE_CONFIG] = { "scontrol", "show", "config" },
        [SITE_PARTITIONS] = { "scontrol", "--oneliner", "show", "partition" },
        [SITE_NODES] = { "sinfo", "--noheader", "--exact", "--format=" SLURM_NODES_FORMAT },
        [SITE_ASSOCS] = { "sacctmgr", "--noheader", "--parsable2", "show", "assoc", assoc_fields },
        [SITE_QOS] = { "sacctmgr", "--noheader", "--parsable2", "show", "qos", qos_fields },
        [SITE_USERS] = { "sacctmgr", "--noheader", "--parsable2", "show", "user", user_fields },
    };
    char **args = arena_alloc(s->arena, WORDS * sizeof *args);
    size_t n = 0;

    for (; words[which][n] != NULL; n++)
        args[n] = arena_strdup(s->arena, words[which][n]);
    if (which == SITE_ASSOCS)
        args[n] = arena_printf(s->arena, "cluster=%s", s->config.cluster);
    return args;
}

static int take_answer(struct site *s, enum site_question which, const struct buf *out,
                       struct err *e)
{
    const char *text = buf_text(out);

    switch (which) {
    case SITE_CONFIG: return slurm_read_config(text, out->n, s->arena, &s->config, e);
    case SITE_PARTITIONS: return slurm_read_partitions(text, out->n, s->arena, &s->partitions, e);
    case SITE_NODES: return slurm_read(SLURM_NODES, text, out->n, s->arena, &s->nodes, e);
    case SITE_ASSOCS:
        return slurm_read(SLURM_ASSOCS, text, out->n, s->arena, &s->accounts.assocs, e);
    case SITE_QOS: return slurm_read(SLURM_QOS, text, out->n, s->arena, &s->accounts.qos, e);
    default: return slurm_read(SLURM_USERS, text, out->n, s->arena, &s->accounts.users, e);
    }
}

/* Whether pilots need the answer.  Without answers about accounts they are submitted all the same,
 * and Slurm refuses what it does not allow. */
static bool is_needed(enum site_question which)
{
    return which < SITE_ASSOCS;
}

static void miss_accounts(struct site *s, const char *why)
{
    s->lacks_accounts = true;
    log_event(LOG_WARN, "slurm-accounts", "why", "%s", why, NULL);
}

/* ---- the last answer ---- */

static void fail(struct pilots *p, const char *why)
{
    pilots_away(p, why);
    site_forget(&p->coming);
    pilots_think(p);
}

/* ---- asking ---- */

static void ask_or_miss(struct pilots *p, enum site_question which);

static void on_answer(void *context, struct slurm_result *result)
{
    const struct question *q = context;
    struct pilots *p = q->p;
    struct site *s = &p->coming;
    struct err e = { 0 };
    const char *why = NULL;

    s->asking[q->which] = NULL;
    if (slurm_failure_of(result) != SLURM_WELL)
        why = slurm_failure_words(result, s->arena);
    else if (take_answer(s, q->which, &result->out, &e) < 0)
        why = e.text;
    if (why != NULL && is_needed(q->which)) {
        fail(p, why);
        return;
    }
    if (why != NULL) {
        miss_accounts(s, why);
    } else if (q->which == SITE_CONFIG && s->config.has_accounting) {
        /* These questions need the cluster's name, which is known now, and that it has accounts. */
        ask_or_miss(p, SITE_ASSOCS);
        ask_or_miss(p, SITE_QOS);
        ask_or_miss(p, SITE_USERS);
    } else if (q->which == SITE_QOS && limits_any_qos(&s->accounts)) {
        ask_or_miss(p, SITE_PARTITIONS);
    }
    for (size_t i = 0; i < SITE_QUESTIONS; i++)
        if (s->asking[i] != NULL)
            return;
    site_forget(&p->site);
    p->site = p->coming;
    p->coming = (struct site){ 0 };
    p->site.asked_at_ms = units_monotonic_ms();
    slurm_budget_fit(&p->budget, &p->site.config);
    pilots_away(p, NULL);
    log_event(LOG_INFO, "slurm", "version", "%s", p->site.config.version, "cluster", "%s",
              p->site.config.cluster, "nodes", "%zu", p->site.nodes.n, "accounts", "%zu",
              p->site.accounts.assocs.n, NULL);
    pilots_think(p);
}

static int ask_slurm(struct pilots *p, enum site_question which, struct err *e)
{
    struct site *s = &p->coming;
    const struct slurm_command command = { .args = args_of(s, which),
                                           .env = pilots_env(NULL, s->arena),
                                           .timeout_ms = is_needed(which) ? 0 : ACCOUNTS_MS };
    struct question *q = arena_alloc(s->arena, sizeof *q);

    *q = (struct question){ p, which };
    s->asking[which] = pilots_begin(p, &command, on_answer, q, e);
    return s->asking[which] == NULL ? -1 : 0;
}

static void ask_or_miss(struct pilots *p, enum site_question which)
{
    struct err e = { 0 };

    if (ask_slurm(p, which, &e) < 0)
        miss_accounts(&p->coming, e.text);
}

/* Asks all at once: the commands only wait for slurmctld and slurmdbd. */
void site_ask(struct pilots *p)
{
    struct err e = { 0 };

    p->coming.arena = arena_create();
    for (enum site_question which = SITE_CONFIG; which < SITE_ASSOCS; which++)
        if (ask_slurm(p, which, &e) < 0) {
            fail(p, e.text);
            return;
        }
}

/* ---- a partition ---- */

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
    struct limits_of of = { user, spec.account, spec.qos, spec.partition, NULL };

    for (size_t i = 0; i < p->site.partitions.n && of.partition_qos == NULL; i++)
        if (strcmp(p->site.partitions.partitions[i].name, spec.partition) == 0)
            of.partition_qos = p->site.partitions.partitions[i].qos;
    return pilot_limits(&p->site.accounts, &of, a);
}

struct plan_partition site_partition(const struct pilots *p, const char *user,
                                     const struct slurm_pool *pool)
{
    const struct slurm_site *site = conf_slurm_site(&p->sv->conf, pool->partition);
    struct plan_partition to = { .total_cpus = 0 };
    struct arena *a = arena_create();
    const struct pilot_limits limits = site_limits(p, user, pool, a);

    for (size_t i = 0; i < p->site.nodes.n; i++) {
        const struct slurm_nodes *n = &p->site.nodes.nodes[i];

        if (strcmp(n->partition, pool->partition) != 0)
            continue;
        to.total_cpus += n->n * n->cpus;
        to.max_time_ms = n->max_time_ms == SLURM_NONE ? 0 : n->max_time_ms;
        to.default_time_ms = n->default_time_ms == SLURM_NONE ? 0 : n->default_time_ms;
        /* The largest node that has all features; "a40|rtx_6000" is left to Slurm. */
        if (n->is_usable && 1000 * n->cpus > to.node.cpus_milli)
            to.node = (struct plan_size){ 1000 * n->cpus, 1000 * n->gpus, n->memory_mb << 20 };
    }
    if (site != NULL) {
        to.pilot.cpus_milli = 1000 * site->pilot_cpus;
        to.pilot.gpus_milli = 1000 * site->pilot_gpus;
    }
    /* The user's own options may set a time, which counts then. */
    if (site != NULL && site->pilot_time_ms > 0 && pool->extra.n == 0) {
        to.default_time_ms = site->pilot_time_ms;
        if (to.max_time_ms > 0 && to.default_time_ms > to.max_time_ms)
            to.default_time_ms = to.max_time_ms;
        to.is_time_needed = true;
    }
    limits_narrow(&limits, &to);
    arena_destroy(a);
    return to;
}

int64_t pilots_default_time_ms(const struct server *sv, const char *user,
                               const struct slurm_pool *pool)
{
    struct plan_partition partition = site_partition(sv->pilots, user, pool);

    return partition.default_time_ms > 0 ? partition.default_time_ms : partition.max_time_ms;
}
