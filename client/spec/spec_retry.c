/* SPDX-License-Identifier: MIT */
/* spec_retry.c - retry:, which says what is tried again, and with how much more memory or time */

#include <inttypes.h>
#include <stdlib.h>

#include "client/spec/spec_internal.h"
#include "common/base/suggest.h"
#include "common/base/units.h"

enum { GROWING_TRIES = 3 }; /* the default of max: with grow: */

static const int64_t AMOUNT_MAX = INT64_C(1) << 53;

#define FACTOR                                                                        \
    "\"anyOf\": [{\"type\": \"number\", \"exclusiveMinimum\": 1, \"maximum\": 100}, " \
    "{\"type\": \"string\", \"pattern\": \"^([0-9]+|[0-9]*\\\\.[0-9]+)$\"}]"

static int read_factor(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, void *to)
{
    bool is_number =
        node->type == VALUE_INT || node->type == VALUE_FLOAT || node->type == VALUE_STR;
    int64_t milli = 0;

    if (!is_number || units_parse_milli(node->text, &milli, NULL) < 0 || milli <= 1000 ||
        milli > GROW_MAX_MILLI)
        return yaml_keys_error(r, node, "grow: %s: expected a factor above 1, as 1.5, found %s",
                               key->name, is_number ? node->text : value_type_name(node->type));
    *(int64_t *)to = milli;
    return 0;
}

static const struct key spec_grow_keys[] = {
    { .name = "memory",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct retry_grow, memory_milli),
      .read = read_factor,
      .help = "so many times the memory that it had, after oom: 1.5",
      .schema = FACTOR },
    { .name = "time",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct retry_grow, time_milli),
      .read = read_factor,
      .help = "so many times the time that it had, after timeout: 2",
      .schema = FACTOR },
    { .name = NULL },
};

static const struct key spec_up_to_keys[] = {
    { .name = "memory",
      .type = KEY_SIZE,
      .offset = offsetof(struct retry_up_to, memory_bytes),
      .max = AMOUNT_MAX,
      .help = "the most memory that it asks for, as 32GiB" },
    { .name = "time",
      .type = KEY_DURATION,
      .offset = offsetof(struct retry_up_to, time_ms),
      .max = AMOUNT_MAX,
      .help = "the longest time that it asks for, as 12h" },
    { .name = NULL },
};

const struct key spec_retry_keys[] = {
    { .name = "max",
      .type = KEY_INT,
      .offset = offsetof(struct retry, max),
      .max = RETRIES_MAX,
      .help = "how often a job is tried again; default: 1, with grow: 3" },
    { .name = "on",
      .type = KEY_STRS,
      .offset = offsetof(struct retry, on),
      .max = 300,
      .help =
          "after which ends: failed, signal, timeout, oom, node-lost, preempted, walltime, "
          "environment, nan, gpu, or exit codes; default: failed, with grow: what makes it grow",
      .schema = "\"anyOf\": [{\"$ref\": \"#/$defs/end\"}, "
                "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/end\"}, \"minItems\": 1, "
                "\"maxItems\": 300}]" },
    { .name = "grow",
      .type = KEY_MAP,
      .offset = offsetof(struct retry, grow),
      .of = spec_grow_keys,
      .help = "how much more it asks for after it ran out of that: {memory: 1.5, time: 2}" },
    { .name = "up_to",
      .type = KEY_MAP,
      .offset = offsetof(struct retry, up_to),
      .of = spec_up_to_keys,
      .help = "what it asks for at most then: {memory: 32GiB, time: 12h}" },
    { .name = NULL },
};

/* Checks that on: has causes and exit codes; false: an entry is no text, and was refused before. */
static bool check_ends(struct yaml_keys_reader *r, const struct yaml_node *on,
                       const struct retry *retry)
{
    const char *const *ends = retry->on.items;
    bool are_texts = true;

    if (on->type == VALUE_LIST && on->n == 0)
        yaml_keys_error(r, on,
                        "on: an empty list leaves nothing to try again; leave out retry: instead");
    for (size_t i = 0; i < retry->on.n; i++) {
        struct suggest nearest = { .word = ends[i] };
        size_t n = ends[i] != NULL ? strspn(ends[i], "0123456789") : 0;
        /* A number from 1 to 255 without zeroes in front; 137 is the same as signal 9. */
        bool is_well = ends[i] == NULL || (n > 0 && n <= 3 && ends[i][n] == '\0' &&
                                           ends[i][0] != '0' && atoi(ends[i]) <= 255);

        are_texts &= ends[i] != NULL;
        for (int k = CAUSE_NONE + 1; !is_well && k < CAUSE_COUNT; k++) {
            is_well = strcmp(ends[i], cause_names[k]) == 0;
            suggest_try(&nearest, cause_names[k]);
        }
        if (!is_well && nearest.best != NULL)
            yaml_keys_error(r, spec_item_at(on, i), "on: unknown cause '%s' (did you mean '%s'?)",
                            ends[i], nearest.best);
        else if (!is_well)
            yaml_keys_error(
                r, spec_item_at(on, i),
                "on: unknown cause '%s' (there are failed, signal, timeout, oom, node-lost, "
                "preempted, walltime, environment, nan, gpu, and exit codes from 1 to 255)",
                ends[i]);
    }
    return are_texts;
}

/* A resource that may grow, the cause of a job's end that makes it grow, and its limits. */
struct growing {
    const char *name;
    enum cause cause;
    int64_t has, up_to; /* has: what resources: asks for */
    void (*add)(struct buf *out, int64_t amount);
};

static const struct yaml_node *at(const struct yaml_node *node, const char *key, const char *name)
{
    const struct yaml_node *map = yaml_get(node, key);

    return map != NULL && map->type == VALUE_MAP ? yaml_get(map, name) : NULL;
}

static void check_growing(struct yaml_keys_reader *r, const struct yaml_node *node,
                          const struct retry *retry, const struct growing *g)
{
    const struct yaml_node *factor = at(node, "grow", g->name), *up_to = at(node, "up_to", g->name);
    struct buf limit = { 0 }, has = { 0 };

    g->add(&limit, g->up_to);
    g->add(&has, g->has);
    if (factor != NULL && g->has == 0)
        yaml_keys_error(r, factor, "grow: %s: resources: has no %s:, from which it could grow",
                        g->name, g->name);
    else if (factor != NULL && retry->on.n > 0 && !retry_names(retry, g->cause))
        yaml_keys_error(r, factor, "grow: %s: on: does not name %s, after which it would grow",
                        g->name, cause_names[g->cause]);
    if (up_to != NULL && factor == NULL)
        yaml_keys_error(r, up_to, "up_to: %s: grow: has no %s:, so it stays as it is", g->name,
                        g->name);
    else if (g->up_to > 0 && g->has > 0 && g->up_to <= g->has)
        yaml_keys_error(r, up_to,
                        "up_to: %s: %s is no more than the %s of resources:, from which it grows",
                        g->name, buf_text(&limit), buf_text(&has));
    buf_free(&limit);
    buf_free(&has);
}

/* Returns the default of on: with grow: the causes after which a resource grows. */
static struct list ends_of_growth(const struct retry_grow *grow, struct arena *a)
{
    const char **ends = arena_alloc(a, 2 * sizeof *ends);
    size_t n = 0;

    if (grow->memory_milli > 0)
        ends[n++] = cause_names[CAUSE_OOM];
    if (grow->time_milli > 0)
        ends[n++] = cause_names[CAUSE_TIMEOUT];
    return (struct list){ ends, n };
}

void spec_check_retry(struct yaml_keys_reader *r, const struct yaml_node *node)
{
    struct retry *retry = &spec_of(r)->retry;
    const struct resources *has = &spec_of(r)->work.resources;
    const struct yaml_node *on = yaml_get(node, "on");
    const struct growing growing[] = {
        { "memory", CAUSE_OOM, has->memory_bytes, retry->up_to.memory_bytes, units_add_size },
        { "time", CAUSE_TIMEOUT, has->time_ms, retry->up_to.time_ms, units_add_duration },
    };

    if (on == NULL || check_ends(r, on, retry))
        for (size_t i = 0; i < sizeof growing / sizeof growing[0]; i++)
            check_growing(r, node, retry, &growing[i]);
    if (yaml_get(node, "max") == NULL && (on != NULL || retry_grows(retry)))
        retry->max = retry_grows(retry) ? GROWING_TRIES : 1;
    if (on == NULL && retry->max > 0)
        retry->on = retry_grows(retry) ? ends_of_growth(&retry->grow, r->arena)
                                       : (struct list){ (void *)&cause_names[CAUSE_FAILED], 1 };
}
