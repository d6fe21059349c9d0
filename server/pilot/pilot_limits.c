/* SPDX-License-Identifier: MIT */
/* pilot_limits.c - limits that accounts and QOS set for a user's pilots: a pure function */

#include "server/pilot/pilots_internal.h"

#include <string.h>

enum { DEPTH_MAX = 32 };

static bool is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* ---- associations and QOS ---- */

/* Finds a user's association with an account; user "": the account's own.  NULL: there is none. */
static const struct slurm_assoc *find_assoc(const struct slurm_accounts *all, const char *account,
                                            const char *user, const char *partition)
{
    const struct slurm_assoc *found = NULL;

    for (size_t i = 0; account != NULL && i < all->assocs.n; i++) {
        const struct slurm_assoc *assoc = &all->assocs.assocs[i];

        if (!is_same(assoc->account, account) || !is_same(assoc->user, user))
            continue;
        if (is_same(assoc->partition, partition))
            return assoc;
        if (assoc->partition == NULL)
            found = assoc;
    }
    return found;
}

static const struct slurm_qos *find_qos(const struct slurm_accounts *all, const char *name)
{
    for (size_t i = 0; name != NULL && i < all->qos.n; i++)
        if (is_same(all->qos.qos[i].name, name))
            return &all->qos.qos[i];
    return NULL;
}

/* ---- single limits ---- */

/* Takes the limit unless one was taken before. */
static void take_first(int64_t *to, const char **what, int64_t limit, const char *said)
{
    if (*to != SLURM_NONE || limit == SLURM_NONE)
        return;
    *to = limit;
    *what = said;
}

static void take_least(int64_t *to, const char **what, int64_t limit, const char *said)
{
    if (limit == SLURM_NONE || (*to != SLURM_NONE && limit >= *to))
        return;
    *to = limit;
    if (what != NULL)
        *what = said;
}

static void narrow(int64_t *to, int64_t limit)
{
    if (limit > 0 && (*to == 0 || limit < *to))
        *to = limit;
}

static void take_tres(struct plan_size *size, const char *tres)
{
    int64_t cpus = slurm_tres(tres, "cpu"), gpus = slurm_tres(tres, "gres/gpu");
    int64_t memory = slurm_tres(tres, "mem"); /* "64G"; without a letter it is MB */

    narrow(&size->cpus_milli, cpus == SLURM_NONE ? 0 : 1000 * cpus);
    narrow(&size->gpus_milli, gpus == SLURM_NONE ? 0 : 1000 * gpus);
    narrow(&size->memory_bytes, memory > 0 && memory < 1 << 20 ? memory << 20 : memory);
}

static void take_group_tres(struct pilot_limits *to, const char *tres)
{
    int64_t cpus = slurm_tres(tres, "cpu");

    take_tres(&to->size, tres);
    narrow(&to->group_cpus, cpus == SLURM_NONE ? 0 : cpus);
}

/* ---- all limits ---- */

static void take_qos(struct pilot_limits *to, const struct slurm_qos *qos, struct arena *a)
{
    if (qos == NULL)
        return;
    take_first(&to->submit, &to->submit_what, qos->max_submit_per_user,
               arena_printf(a, "MaxSubmitJobsPerUser of QOS %s", qos->name));
    take_first(&to->run, &to->run_what, qos->max_jobs_per_user,
               arena_printf(a, "MaxJobsPerUser of QOS %s", qos->name));
    take_tres(&to->size, qos->max_tres_per_job);
    take_group_tres(to, qos->max_tres_per_user);
    take_least(&to->max_time_ms, NULL, qos->max_time_ms, NULL);
}

static void take_qos_group(struct pilot_limits *to, const struct slurm_qos *qos, struct arena *a)
{
    if (qos == NULL)
        return;
    take_least(&to->submit, &to->submit_what, qos->group_submit,
               arena_printf(a, "GrpSubmitJobs of QOS %s", qos->name));
    take_least(&to->run, &to->run_what, qos->group_jobs,
               arena_printf(a, "GrpJobs of QOS %s", qos->name));
    take_group_tres(to, qos->group_tres);
}

static void take_assoc_group(struct pilot_limits *to, const struct slurm_assoc *assoc,
                             struct arena *a)
{
    take_least(&to->submit, &to->submit_what, assoc->group_submit,
               arena_printf(a, "GrpSubmitJobs of account %s", assoc->account));
    take_least(&to->run, &to->run_what, assoc->group_jobs,
               arena_printf(a, "GrpJobs of account %s", assoc->account));
    take_group_tres(to, assoc->group_tres);
}

struct pilot_limits pilot_limits(const struct slurm_accounts *all, const struct limits_of *of,
                                 struct arena *a)
{
    struct pilot_limits to = { .submit = SLURM_NONE, .run = SLURM_NONE, .max_time_ms = SLURM_NONE };
    const struct slurm_qos *partition_qos = find_qos(all, of->partition_qos), *qos;
    const char *account = of->account, *qos_name = of->qos;
    const struct slurm_assoc *assoc;

    for (size_t i = 0; i < all->users.n && account == NULL; i++)
        if (is_same(all->users.users[i].name, of->user))
            account = all->users.users[i].account;
    assoc = find_assoc(all, account, of->user, of->partition);
    if (qos_name == NULL)
        qos_name = assoc != NULL && assoc->default_qos != NULL ? assoc->default_qos : "normal";
    qos = find_qos(all, qos_name);
    take_qos(&to, partition_qos, a);
    take_qos(&to, qos, a);
    if (assoc != NULL) { /* the user's association; sacctmgr shows inherited limits there */
        take_first(&to.submit, &to.submit_what, assoc->max_submit,
                   arena_printf(a, "MaxSubmitJobs of account %s", assoc->account));
        take_first(&to.run, &to.run_what, assoc->max_jobs,
                   arena_printf(a, "MaxJobs of account %s", assoc->account));
        take_tres(&to.size, assoc->max_tres_per_job);
        take_least(&to.max_time_ms, NULL, assoc->max_time_ms, NULL);
    }
    take_qos_group(&to, partition_qos, a);
    take_qos_group(&to, qos, a);
    if (assoc == NULL)
        return to;
    /* The limits of groups: the user's, its account's, and those of each account above. */
    take_assoc_group(&to, assoc, a);
    account = assoc->account;
    for (int depth = 0; depth < DEPTH_MAX && account != NULL; depth++) {
        assoc = find_assoc(all, account, "", NULL);
        if (assoc == NULL)
            break;
        take_assoc_group(&to, assoc, a);
        account = assoc->parent;
    }
    return to;
}

static bool has_tres(const char *tres)
{
    return tres != NULL && *tres != '\0';
}

bool limits_any_qos(const struct slurm_accounts *all)
{
    for (size_t i = 0; i < all->qos.n; i++) {
        const struct slurm_qos *q = &all->qos.qos[i];

        if (q->max_jobs_per_user != SLURM_NONE || q->max_submit_per_user != SLURM_NONE ||
            q->group_jobs != SLURM_NONE || q->group_submit != SLURM_NONE ||
            q->max_time_ms != SLURM_NONE || has_tres(q->group_tres) ||
            has_tres(q->max_tres_per_user) || has_tres(q->max_tres_per_job))
            return true;
    }
    return false;
}

void limits_narrow(const struct pilot_limits *limits, struct plan_partition *partition)
{
    narrow(&partition->node.cpus_milli, limits->size.cpus_milli);
    narrow(&partition->node.gpus_milli, limits->size.gpus_milli);
    narrow(&partition->node.memory_bytes, limits->size.memory_bytes);
    narrow(&partition->total_cpus, limits->group_cpus);
    if (limits->max_time_ms == SLURM_NONE)
        return;
    narrow(&partition->max_time_ms, limits->max_time_ms);
    /* Without a time Slurm would give the pilot one that its QOS forbids. */
    if (partition->default_time_ms == 0 || partition->default_time_ms > limits->max_time_ms)
        partition->default_time_ms = limits->max_time_ms;
    partition->is_time_needed = true;
}
