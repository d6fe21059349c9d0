/* SPDX-License-Identifier: MIT */
/* slurmconfig.c - what scontrol says of partitions and of Slurm's own configuration */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/slurm/slurmread.h"

/* A line at a time: *line is what is left, and moved behind it. */
static bool next_line(const char **at, const char *end, const char **line, size_t *n)
{
    const char *stop;

    if (*at >= end)
        return false;
    *line = *at;
    stop = memchr(*at, '\n', (size_t)(end - *at));
    *n = (size_t)((stop == NULL ? end : stop) - *at);
    *at = stop == NULL ? end : stop + 1;
    return true;
}

/* ---- partitions ---- */

struct pairs {
    const char *line;
    size_t n;
    struct arena *a;
};

static const char *text_of(const struct pairs *p, const char *key)
{
    const char *value = slurm_value(p->line, p->n, key, p->a);

    return slurm_is_none(value) ? NULL : value;
}

static struct slurm_partition partition_of(const struct pairs *p)
{
    return (struct slurm_partition){
        .name = text_of(p, "PartitionName"),
        .qos = text_of(p, "QoS"),
    };
}

static int check_size(size_t n, struct err *e)
{
    if (n > SLURM_OUTPUT_MAX_BYTES)
        return err_set(e, ERR_PROTOCOL, "scontrol says more than is read: %zu bytes", n);
    return 0;
}

int slurm_read_partitions(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                          struct err *e)
{
    struct pairs p = { .a = a };
    const char *at = text;
    size_t capacity = 0;
    struct slurm_partition *items = NULL;

    *out = (struct slurm_answer){ .n = 0 };
    if (check_size(n, e) < 0)
        return -1;
    while (next_line(&at, text + n, &p.line, &p.n) && out->n < SLURM_ROWS_MAX) {
        struct slurm_partition one = partition_of(&p);

        if (one.name == NULL) {
            out->n_passed_over += p.n > 0;
            continue;
        }
        mem_grow((void **)&items, &capacity, out->n, sizeof *items);
        items[out->n++] = one;
    }
    out->partitions = arena_alloc(a, out->n * sizeof *items);
    if (items != NULL)
        memcpy(out->partitions, items, out->n * sizeof *items);
    free(items);
    if (at < text + n)
        return err_set(e, ERR_PROTOCOL, "Slurm has more partitions than are read: over %d",
                       SLURM_ROWS_MAX);
    return 0;
}

/* ---- the configuration ---- */

/* "Key    = value" */
static char *setting(const char *text, size_t n, const char *key, struct arena *a)
{
    const char *at = text, *line;
    size_t length = strlen(key), line_n;

    while (next_line(&at, text + n, &line, &line_n)) {
        const char *sign = memchr(line, '=', line_n);
        size_t skip = sign == NULL ? 0 : (size_t)(sign - line) + 1;

        if (sign == NULL || line_n < length || strncmp(line, key, length) != 0 ||
            (line[length] != ' ' && line[length] != '='))
            continue;
        skip += skip < line_n && line[skip] == ' ';
        return arena_strndup(a, line + skip, line_n - skip);
    }
    return NULL;
}

/* Of "a,b=3,c": "3" of b, "" of a, NULL of d. */
static char *parameter(const char *list, const char *name, struct arena *a)
{
    size_t length = strlen(name);

    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, ",");

        if (n >= length && strncasecmp(at, name, length) == 0) {
            if (n == length)
                return arena_strdup(a, "");
            if (at[length] == '=')
                return arena_strndup(a, at + length + 1, n - length - 1);
        }
        at += n + (at[n] == ',');
    }
    return NULL;
}

static int64_t parameter_or(const char *list, const char *name, int64_t otherwise, struct arena *a)
{
    int64_t number = slurm_number(parameter(list, name, a));

    return number == SLURM_NONE ? otherwise : number;
}

static void read_limits(const char *text, size_t n, struct arena *a, struct slurm_config *out)
{
    out->max_array_size = slurm_number(setting(text, n, "MaxArraySize", a));
    out->max_jobs = slurm_number(setting(text, n, "MaxJobCount", a));
    out->min_job_age_s = slurm_number(setting(text, n, "MinJobAge", a));
    out->kill_wait_s = slurm_number(setting(text, n, "KillWait", a));
    out->slurmd_timeout_s = slurm_number(setting(text, n, "SlurmdTimeout", a));
    out->message_timeout_s = slurm_number(setting(text, n, "MessageTimeout", a));
    out->max_script_bytes =
        parameter_or(setting(text, n, "SchedulerParameters", a), "max_script_size", 4 << 20, a);
}

static void read_manners(const char *text, size_t n, struct arena *a, struct slurm_config *out)
{
    const char *accounting = setting(text, n, "AccountingStorageType", a);
    const char *enforced = setting(text, n, "AccountingStorageEnforce", a);
    const char *limits = setting(text, n, "EnforcePartLimits", a);
    const char *controller = setting(text, n, "SlurmctldParameters", a);

    out->has_accounting =
        accounting != NULL && strcmp(accounting, "accounting_storage/slurmdbd") == 0;
    out->needs_association = enforced != NULL && (slurm_list_has(enforced, "associations") ||
                                                  slurm_list_has(enforced, "all"));
    out->refuses_at_once =
        limits != NULL && (strcmp(limits, "ALL") == 0 || strcmp(limits, "ANY") == 0);
    out->requeues = slurm_number(setting(text, n, "JobRequeue", a)) != 0;
    out->warns_of_preemption = parameter(controller, "preempt_send_user_signal", a) != NULL;
    if (parameter(controller, "rl_enable", a) != NULL) {
        out->rpc_bucket = parameter_or(controller, "rl_bucket_size", 30, a);
        out->rpc_refill = parameter_or(controller, "rl_refill_rate", 2, a);
        out->rpc_refill_period_s = parameter_or(controller, "rl_refill_period", 1, a);
    }
}

int slurm_read_config(const char *text, size_t n, struct arena *a, struct slurm_config *out,
                      struct err *e)
{
    const char *cluster;

    *out = (struct slurm_config){ .major = 0 };
    if (check_size(n, e) < 0)
        return -1;
    out->version = setting(text, n, "SLURM_VERSION", a);
    if (out->version == NULL || sscanf(out->version, "%3d.%3d", &out->major, &out->minor) != 2)
        return err_set(e, ERR_PROTOCOL, "scontrol show config says no version of Slurm");
    cluster = setting(text, n, "ClusterName", a);
    out->cluster = cluster == NULL ? "" : cluster;
    read_limits(text, n, a, out);
    read_manners(text, n, a, out);
    return 0;
}
