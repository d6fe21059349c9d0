/* SPDX-License-Identifier: MIT */
/* spec_slurm.c - slurm: of a sweep file, pools of pilots as sbatch takes them */
#include <string.h>

#include "client/spec/spec_internal.h"
#include "common/proto/sbatch.h"

#define AT(member) offsetof(struct slurm_pool, member)

static const struct key spec_pilot_keys[] = {
    { .name = "jobs",
      .type = KEY_INT,
      .offset = AT(pilot_jobs),
      .min = 1,
      .max = 1,
      .help = "1: each job gets a Slurm job of its own; without it: a pilot works through many" },
    { .name = NULL },
};

const struct key spec_slurm_keys[] = {
    { .name = "partition",
      .type = KEY_STR,
      .offset = AT(partition),
      .help = "the partition that pilots are started in; needed" },
    { .name = "account",
      .type = KEY_STR,
      .offset = AT(account),
      .help = "whom the time is charged to; without it: your default account" },
    { .name = "qos", .type = KEY_STR, .offset = AT(qos), .help = "the quality of service" },
    { .name = "constraint",
      .type = KEY_STR,
      .offset = AT(constraint),
      .help = "features a node must have, as \"a40|rtx_6000\"" },
    { .name = "gres",
      .type = KEY_STR,
      .offset = AT(gres),
      .help = "generic resources of a pilot, as gpu:a40:2; without it: what resources: asks for" },
    { .name = "exclude",
      .type = KEY_STRS,
      .offset = AT(exclude),
      .max = 1000,
      .help = "names of nodes that are not used" },
    { .name = "extra",
      .type = KEY_STRS,
      .offset = AT(extra),
      .max = 100,
      .help = "further options of sbatch, as --reservation=lab" },
    { .name = "pilot",
      .type = KEY_MAP,
      .of = spec_pilot_keys,
      .help = "how pilots are made: {jobs: 1}" },
    { .name = NULL },
};

static int check_option(struct yaml_keys_reader *r, const struct yaml_node *at, const char *option)
{
    struct err e = { 0 };

    if (sbatch_check_extra(option, &e) < 0)
        return yaml_keys_error(r, at, "extra: %s", e.text);
    return 0;
}

static void check_partition(struct yaml_keys_reader *r, const struct yaml_node *map,
                            const char *name)
{
    const struct yaml_node *node = yaml_get(map, "partition");

    if (node == NULL)
        yaml_keys_error(r, map, "slurm: there is no 'partition:'");
    else if (name != NULL && !sbatch_is_partition(name))
        yaml_keys_error(r, node, "partition: '%s' is no name of a partition%s", name,
                        strchr(name, ',') != NULL ? " (slurm: takes a list, an entry for each)"
                                                  : "");
}

static void check_text(struct yaml_keys_reader *r, const struct yaml_node *node, const char *key,
                       const char *text, size_t max)
{
    if (text == NULL)
        return;
    if (text[0] == '\0')
        yaml_keys_error(r, node, "%s: it is empty", key);
    else if (spec_has_control(text))
        yaml_keys_error(r, node, "%s: a control character", key);
    else if (text[0] == '-' && strcmp(key, "extra") != 0)
        yaml_keys_error(r, node, "%s: '%s' begins with a dash", key, text);
    else if (strlen(text) > max)
        yaml_keys_error(r, node, "%s: more than %zu bytes", key, max);
}

static void check_lists(struct yaml_keys_reader *r, const struct yaml_node *map,
                        const struct slurm_pool *pool)
{
    const struct yaml_node *exclude = yaml_get(map, "exclude"), *extra = yaml_get(map, "extra");
    const char *const *nodes = pool->exclude.items, *const *options = pool->extra.items;

    for (size_t i = 0; i < pool->exclude.n; i++)
        check_text(r, spec_item_at(exclude, i), "exclude", nodes[i], 4096);
    for (size_t i = 0; i < pool->extra.n; i++) {
        check_text(r, spec_item_at(extra, i), "extra", options[i], 4096);
        if (options[i][0] != '\0')
            check_option(r, spec_item_at(extra, i), options[i]);
    }
}

static int read_pool(struct yaml_keys_reader *r, const struct yaml_node *map,
                     struct slurm_pool *pool)
{
    size_t n_errors = r->n_errors;

    if (map->type != VALUE_MAP)
        return yaml_keys_error(r, map, "slurm: expected a map such as {partition: NAME}, found %s",
                               value_type_name(map->type));
    if (yaml_keys_read(r, spec_slurm_keys, map, pool) < 0)
        return -1;
    check_partition(r, map, pool->partition);
    check_text(r, yaml_get(map, "account"), "account", pool->account, NAME_MAX_BYTES);
    check_text(r, yaml_get(map, "qos"), "qos", pool->qos, NAME_MAX_BYTES);
    check_text(r, yaml_get(map, "constraint"), "constraint", pool->constraint, 4096);
    check_text(r, yaml_get(map, "gres"), "gres", pool->gres, 4096);
    check_lists(r, map, pool);
    return r->n_errors > n_errors ? -1 : 0;
}

int spec_read_slurm(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to)
{
    bool is_list = node->type == VALUE_LIST;
    size_t n = is_list ? node->n : 1;
    struct slurm_pool *pools = arena_alloc(r->arena, n * sizeof *pools);
    int answer = 0;

    if (node->type == VALUE_NULL)
        return 0;
    if (n > POOLS_MAX)
        return yaml_keys_error(r, node, "%s: more than %d entries", key->name, POOLS_MAX);
    for (size_t i = 0; i < n; i++)
        if (read_pool(r, spec_item_at(node, i), &pools[i]) < 0)
            answer = -1;
    *(struct list *)to = (struct list){ pools, n };
    return answer;
}
