/* SPDX-License-Identifier: MIT */
/* spec_override.c - the command line over a sweep file */
#include <stdlib.h>
#include <string.h>

#include "client/spec/minimal.h"
#include "client/spec/plan_check.h"
#include "client/spec/spec_internal.h"
#include "client/term/opt.h"
#include "common/proto/sbatch.h"

static struct list split(struct arena *a, const char *text)
{
    const char **items = arena_alloc(a, (strlen(text) + 1) * sizeof *items);
    size_t n_items = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, ",");

        if (n > 0)
            items[n_items++] = arena_strndup(a, text, n);
        text += n + (text[n] == ',');
    }
    return (struct list){ items, n_items };
}

/* Keys that have an option of their own. */
static const struct {
    const char *key, *option;
} key_options[] = {
    { "name", "--name" }, { "nodes", "--nodes" },     { "priority", "--priority" },
    { "reps", "--reps" }, { "slurm", "--partition" },
};

static int refuse_key(const struct list *params, const char *name, struct err *e)
{
    char *names = params_listed(params);
    const char *option = NULL;

    for (size_t i = 0; i < sizeof key_options / sizeof key_options[0]; i++)
        if (strcmp(key_options[i].key, name) == 0)
            option = key_options[i].option;
    err_set(e, ERR_USAGE,
            "--set changes parameters of the file (%s); %s: is a key: change it in the file%s%s",
            params->n > 0 ? names : "there is none", name, option != NULL ? ", or with " : "",
            option != NULL ? option : "");
    free(names);
    return -1;
}

static int set_param(struct spec *s, const char *text, struct arena *a, struct err *e)
{
    size_t n = strcspn(text, "=");

    for (const struct key *key = spec_keys; key->name != NULL && text[n] == '='; key++)
        if (strlen(key->name) == n && strncmp(key->name, text, n) == 0 &&
            params_find(&s->plan.params, key->name) == NULL)
            return refuse_key(&s->plan.params, key->name, e);
    return params_set(&s->plan.params, text, a, e);
}

static int override_params(struct spec *s, const struct spec_overrides *o, struct arena *a,
                           struct err *e)
{
    const char *const *set = o->set.items;

    if (s->list != NULL && o->set.n > 0)
        return err_set(e, ERR_USAGE,
                       "--set %s: --param2vals has the configurations; change them there", set[0]);
    if (o->minimal)
        params_overlay(&s->plan.params, &s->debug);
    for (size_t i = 0; i < o->set.n; i++)
        if (set_param(s, set[i], a, e) < 0)
            return -1;
    if (o->minimal)
        minimal_take_first(&s->plan, a);
    return 0;
}

static int override_name(struct spec *s, const char *name, struct err *e)
{
    if (name == NULL)
        return 0;
    if (strlen(name) > NAME_MAX_BYTES)
        return err_set(e, ERR_USAGE, "--name: more than %d bytes", NAME_MAX_BYTES);
    if (spec_has_control(name))
        return err_set(e, ERR_USAGE, "--name: a control character");
    s->name = name;
    return 0;
}

/* Adds the file's pools of that partition, or else one without further wishes. */
static size_t add_pools(const struct list *from, const char *partition, struct slurm_pool *to)
{
    const struct slurm_pool *pools = from->items;
    size_t n = 0;

    for (size_t i = 0; i < from->n; i++)
        if (strcmp(pools[i].partition, partition) == 0)
            to[n++] = pools[i];
    if (n == 0)
        to[n++] = (struct slurm_pool){ .partition = partition };
    return n;
}

/* An unset variable of the shell makes one. */
static int refuse_empty(const char *option, const char *what, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s: expected names of %s, found nothing", option, what);
}

static int override_nodes(struct spec *s, const char *nodes, struct arena *a, struct err *e)
{
    struct list names = split(a, nodes);
    const char *const *name = names.items;

    if (names.n == 0)
        return refuse_empty("--nodes", "nodes and @groups", e);
    for (size_t i = 0; i < names.n; i++)
        if (!spec_is_node_name(name[i]))
            return err_set(e, ERR_USAGE, "--nodes: '%s' is no name of a node or @group", name[i]);
    s->nodes = names;
    s->has_nodes = true;
    return 0;
}

static int override_pools(struct spec *s, const char *partitions, struct arena *a, struct err *e)
{
    struct list names = split(a, partitions);
    const char *const *name = names.items;
    struct slurm_pool *pools = arena_alloc(a, (names.n * (s->pools.n + 1)) * sizeof *pools);
    size_t n = 0;

    if (names.n == 0)
        return refuse_empty("--partition", "Slurm partitions", e);
    for (size_t i = 0; i < names.n; i++) {
        if (!sbatch_is_partition(name[i]))
            return err_set(e, ERR_USAGE, "--partition: '%s' is no name of a partition", name[i]);
        n += add_pools(&s->pools, name[i], pools + n);
    }
    if (n > POOLS_MAX)
        return err_set(e, ERR_USAGE, "--partition: more than %d pools", POOLS_MAX);
    s->pools = (struct list){ pools, n };
    return 0;
}

int spec_override(struct spec *s, const struct spec_overrides *o, struct arena *a, struct err *e)
{
    struct spec_reading reading = { .spec = s };
    struct yaml_keys_reader r = { .file = s->file, .arena = a, .context = &reading };

    if (s->list != NULL && o->minimal)
        spec_check_debug(&r);
    if (r.n_errors > 0)
        return spec_end(&r, true, e);
    if (override_params(s, o, a, e) < 0 || override_name(s, o->name, e) < 0)
        return -1;
    if (o->reps != OPT_UNSET || o->minimal)
        s->reps = o->reps != OPT_UNSET ? o->reps : 1;
    if (o->priority != OPT_UNSET)
        s->priority = o->priority;
    if (o->nodes != NULL && override_nodes(s, o->nodes, a, e) < 0)
        return -1;
    if (o->partitions != NULL && override_pools(s, o->partitions, a, e) < 0)
        return -1;
    plan_check(&s->plan, &r);
    return spec_end(&r, true, e);
}
