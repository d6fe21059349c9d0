/* SPDX-License-Identifier: MIT */
/* spec_override.c - applies the command line to a sweep file */
#include <stdlib.h>
#include <string.h>

#include "client/spec/plan_check.h"
#include "client/spec/sample.h"
#include "client/spec/spec_internal.h"
#include "client/term/opt.h"
#include "common/data/template.h"
#include "common/proto/sbatch.h"

static int refuse_key(const struct list *params, const char *name, struct err *e)
{
    static const struct {
        const char *key, *option;
    } options[] = {
        { "name", "--name" }, { "nodes", "--nodes" },     { "priority", "--priority" },
        { "reps", "--reps" }, { "slurm", "--partition" },
    };
    char *names = params_listed(params);
    const char *option = NULL;

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(options[i].key, name) == 0)
            option = options[i].option;
    err_set(e, ERR_USAGE,
            "--set changes parameters of the file (%s); %s: is a key: change it in the file%s%s",
            params->n > 0 ? names : "there is none", name, option != NULL ? ", or with " : "",
            option != NULL ? option : "");
    free(names);
    return -1;
}

void spec_take_first(struct plan *p, struct arena *a)
{
    struct param *params = p->params.items;

    for (size_t i = 0; i < p->params.n; i++) {
        struct value *first = arena_alloc(a, sizeof *first);

        *first = sample_middle(&params[i]);
        params[i].form = PARAM_FIXED;
        params[i].values = first;
        params[i].n = 1;
    }
    *p = (struct plan){ .params = p->params, .seed = p->seed, .when = p->when };
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
    for (size_t i = 0; i < o->set.n; i++) {
        size_t n = strcspn(set[i], "=");

        for (const struct key *key = spec_keys; key->name != NULL && set[i][n] == '='; key++)
            if (strlen(key->name) == n && strncmp(key->name, set[i], n) == 0 &&
                params_find(&s->plan.params, key->name) == NULL)
                return refuse_key(&s->plan.params, key->name, e);
        if (params_set(&s->plan.params, set[i], a, e) < 0)
            return -1;
    }
    if (o->minimal)
        spec_take_first(&s->plan, a);
    return 0;
}

static int override_nodes(struct spec *s, const char *nodes, struct arena *a, struct err *e)
{
    struct list names = opt_split(a, nodes);
    const char *const *name = names.items;

    if (names.n == 0)
        return err_set(e, ERR_USAGE, "--nodes: expected names of nodes and @groups, found nothing");
    for (size_t i = 0; i < names.n; i++)
        if (!spec_is_node_name(name[i]))
            return err_set(e, ERR_USAGE, "--nodes: '%s' is no name of a node or @group", name[i]);
    s->nodes = names;
    s->has_nodes = true;
    return 0;
}

static int override_pools(struct spec *s, const char *partitions, struct arena *a, struct err *e)
{
    struct list names = opt_split(a, partitions);
    const char *const *name = names.items;
    const struct slurm_pool *before = s->pools.items;
    struct slurm_pool *pools = arena_alloc(a, (names.n * (s->pools.n + 1)) * sizeof *pools);
    size_t n = 0, n_before;

    if (names.n == 0)
        return err_set(e, ERR_USAGE,
                       "--partition: expected names of Slurm partitions, found nothing");
    for (size_t i = 0; i < names.n; i++) {
        if (!sbatch_is_partition(name[i]))
            return err_set(e, ERR_USAGE, "--partition: '%s' is no name of a partition", name[i]);
        /* Takes the file's pools of that partition, or else makes one without further options. */
        n_before = n;
        for (size_t k = 0; k < s->pools.n; k++)
            if (strcmp(before[k].partition, name[i]) == 0)
                pools[n++] = before[k];
        if (n == n_before)
            pools[n++] = (struct slurm_pool){ .partition = name[i] };
    }
    if (n > POOLS_MAX)
        return err_set(e, ERR_USAGE, "--partition: more than %d pools", POOLS_MAX);
    s->pools = (struct list){ pools, n };
    return 0;
}

struct set_check {
    const struct list *params;
    struct err *e;
};

static bool is_parameter(const void *params, const char *name)
{
    return params_find(params, name) != NULL;
}

/* Checks a placeholder's values from --set; those of the file were checked when it was read. */
static int check_set(void *context, const struct placeholder *p)
{
    const struct set_check *c = context;
    const struct param *param = params_find(c->params, p->name);
    char *why;

    for (size_t i = 0; param != NULL && param->line == 0 && i < param->n; i++)
        if (!template_takes(p, &param->values[i], &why)) {
            err_set(c->e, ERR_USAGE, "--set %s: command: %s", p->name, why);
            free(why);
            return -1;
        }
    return 0;
}

int spec_override(struct spec *s, const struct spec_overrides *o, struct arena *a, struct err *e)
{
    struct spec_reading reading = { .spec = s, .keys = spec_keys };
    struct yaml_keys_reader r = { .file = s->file, .arena = a, .context = &reading };

    s->allows_secrets = o->allow_secrets;
    if (s->list != NULL && o->minimal)
        spec_check_debug(&r);
    if (r.n_errors > 0)
        return spec_end(&r, true, e);
    if (override_params(s, o, a, e) < 0)
        return -1;
    if (o->set.n > 0 && template_each(s->work.command, is_parameter, &s->plan.params, check_set,
                                      &(struct set_check){ &s->plan.params, e }) < 0)
        return -1;
    if (o->name != NULL && strlen(o->name) > NAME_MAX_BYTES)
        return err_set(e, ERR_USAGE, "--name: more than %d bytes", NAME_MAX_BYTES);
    if (o->name != NULL && spec_has_control(o->name))
        return err_set(e, ERR_USAGE, "--name: a control character");
    if (o->name != NULL)
        s->name = o->name;
    if (o->reps != OPT_UNSET || o->minimal)
        s->reps = o->reps != OPT_UNSET ? o->reps : 1;
    if (s->stop.race >= s->reps) /* each configuration gets all replications: there is no race */
        s->stop.race = s->stop.best = 0;
    if (o->priority != OPT_UNSET)
        s->priority = o->priority;
    if (o->nodes != NULL && override_nodes(s, o->nodes, a, e) < 0)
        return -1;
    if (o->partitions != NULL && override_pools(s, o->partitions, a, e) < 0)
        return -1;
    plan_check(&s->plan, &r);
    return spec_end(&r, true, e);
}
