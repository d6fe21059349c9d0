/* SPDX-License-Identifier: MIT */
/* spec_work.c - reads the keys of a sweep file for what its jobs use, and how and where they run */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/term/where.h"
#include "client/spec/spec_internal.h"
#include "common/base/path.h"
#include "common/base/suggest.h"
#include "common/proto/goal.h"
#include "common/proto/sbatch.h"

enum {
    ENTRIES_MAX = 1000, /* of data: */
    ENV_MAX = 1000,
    IGNORED_MAX = 1000,
    MEMORY_MIN_BYTES = 1024 * 1024,
    GRACE_MS = 60 * 1000,
    EVERY_MIN_MS = 1000
};

static const int64_t AMOUNT_MAX = INT64_C(1) << 53;

/* ---- source, data, container ---- */

/* Turns "./lm/" into "lm"; "." is the whole folder. */
static const char *plain_path(struct arena *a, const char *path)
{
    size_t n;

    while (spec_starts_with(path, "./"))
        path += 1 + strspn(path + 1, "/");
    n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n == 0 ? "." : arena_strndup(a, path, n);
}

static const char *folder_of(struct yaml_keys_reader *r)
{
    const char *folder = spec_of(r)->folder;

    return folder != NULL ? folder : "";
}

static int check_exists(struct yaml_keys_reader *r, const char *key, const struct yaml_node *node,
                        const char *path)
{
    struct stat st;

    if (spec_of(r)->folder != NULL && stat(path, &st) < 0)
        return yaml_keys_error(r, node, "%s: there is no file or folder %s", key, path);
    return 0;
}

static bool is_path(const struct yaml_node *node)
{
    return node->type == VALUE_STR && node->text[0] != '\0' &&
           strlen(node->text) == node->scalar.str.n;
}

int spec_read_source(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    size_t n = node->type == VALUE_LIST ? node->n : 1;
    const char **items = arena_alloc(r->arena, n * sizeof *items);
    int answer = 0;

    for (size_t i = 0; i < n; i++) {
        const struct yaml_node *item = spec_item_at(node, i);
        char *path;

        if (!is_path(item)) {
            answer = yaml_keys_error(r, item, "%s: expected a path or a list of paths, found %s",
                                     key->name, value_type_name(item->type));
            continue;
        }
        items[i] = plain_path(r->arena, item->text);
        path = path_join(folder_of(r), items[i]);
        if (strcmp(items[i], ".") != 0 && !path_is_inside(items[i]))
            answer = yaml_keys_error(r, item, "%s: '%s' does not lie below the sweep file's folder",
                                     key->name, item->text);
        else if (check_exists(r, key->name, item, path) < 0)
            answer = -1;
        free(path);
    }
    *(struct list *)to = (struct list){ items, n };
    spec_of(r)->has_source = true;
    return answer;
}

/* Reads the path of data on this machine, and their name below $LUDWIG_DATA. */
static int read_local(struct yaml_keys_reader *r, const char *key, const struct yaml_node *node,
                      const char *text, struct spec_data *to)
{
    char *expanded = path_expand_home(plain_path(r->arena, text));
    char *path = expanded[0] == '/' ? mem_strdup(expanded) : path_join(folder_of(r), expanded);

    *to = (struct spec_data){ .path = arena_strdup(r->arena, path) };
    to->name = path_basename(to->path);
    free(path);
    free(expanded);
    if (!path_is_portable_name(to->name))
        return yaml_keys_error(
            r, node, "%s: '%s' does not end in a name that every system can show", key, text);
    return check_exists(r, key, node, to->path);
}

/* Reads {share: PATH}, the path of data that lie on the share. */
static int read_shared(struct yaml_keys_reader *r, const char *key, const struct yaml_node *node,
                       struct spec_data *to)
{
    const struct yaml_node *share = yaml_get(node, "share");

    if (node->n > 1)
        return yaml_keys_error(r, node, "%s: beside share: nothing is expected", key);
    if (!is_path(share))
        return yaml_keys_error(r, share, "%s: share: expected a path, found %s", key,
                               value_type_name(share->type));
    *to = (struct spec_data){ .share = plain_path(r->arena, share->text) };
    to->name = path_basename(to->share);
    if (!path_is_inside(to->share))
        return yaml_keys_error(r, share, "%s: share: '%s' is no path below the shared drive", key,
                               share->text);
    if (!path_is_portable_name(to->name))
        return yaml_keys_error(r, share,
                               "%s: '%s' does not end in a name that every system can show", key,
                               share->text);
    return 0;
}

/* Reads "data/train.csv: ../all/train.csv": the link in the jobs' folder, and the path here. */
static int read_linked(struct yaml_keys_reader *r, const char *key, const struct yaml_member *m,
                       struct spec_data *to)
{
    struct yaml_node at = { .line = m->line, .column = m->column };
    const char *link = plain_path(r->arena, m->key);

    if (!path_is_inside(link))
        return yaml_keys_error(r, &at, "%s: '%s' is no path below the folder that jobs run in", key,
                               m->key);
    if (!is_path(&m->node))
        return yaml_keys_error(r, &m->node, "%s: %s: expected a path, found %s", key, m->key,
                               value_type_name(m->node.type));
    if (read_local(r, key, &m->node, m->node.text, to) < 0)
        return -1;
    to->link = link;
    return 0;
}

int spec_read_data(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to)
{
    bool is_map = node->type == VALUE_MAP && yaml_get(node, "share") == NULL;
    size_t n = node->type == VALUE_LIST || is_map ? node->n : 1;
    struct spec_data *items = arena_alloc(r->arena, n * sizeof *items);
    int answer = 0;

    if (n > ENTRIES_MAX)
        return yaml_keys_error(r, node, "%s: more than %d entries", key->name, ENTRIES_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct yaml_node *item = is_map ? node : spec_item_at(node, i);
        int rc;

        if (is_map)
            rc = read_linked(r, key->name, &node->members[i], &items[i]);
        else if (item->type == VALUE_MAP && yaml_get(item, "share") != NULL)
            rc = read_shared(r, key->name, item, &items[i]);
        else if (is_path(item))
            rc = read_local(r, key->name, item, item->text, &items[i]);
        else
            rc = yaml_keys_error(r, item, "%s: expected a path, found %s", key->name,
                                 value_type_name(item->type));
        if (rc < 0)
            answer = -1;
    }
    if (answer < 0)
        return -1;
    *(struct list *)to = (struct list){ items, n };
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(items[i].name, items[k].name) == 0) {
                answer =
                    yaml_keys_error(r, is_map ? &node->members[i].node : &node->items[i],
                                    "%s: two entries would both be %s", key->name, items[i].name);
                break;
            }
    return answer;
}

/* Adds the image of container:, on this machine, to the data unless data: has it already. */
static void add_container(struct yaml_keys_reader *r, const struct yaml_node *node)
{
    struct spec *s = spec_of(r);
    struct spec_data image, *items;

    if (read_local(r, "container", node, s->work.container, &image) < 0)
        return;
    s->work.container = image.name;
    items = s->data.items;
    for (size_t i = 0; i < s->data.n; i++)
        if (strcmp(items[i].name, image.name) == 0) {
            if (items[i].path == NULL || strcmp(items[i].path, image.path) != 0)
                yaml_keys_error(r, node, "container: data: has another %s", image.name);
            return;
        }
    items = arena_alloc(r->arena, (s->data.n + 1) * sizeof *items);
    if (s->data.n > 0)
        memcpy(items, s->data.items, s->data.n * sizeof *items);
    items[s->data.n++] = image;
    s->data.items = items;
}

void spec_check_container(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const struct yaml_node *node = yaml_get(root, "container");
    const char *image = spec_of(r)->work.container;

    if (image == NULL)
        return;
    if (image[0] == '\0' || spec_has_control(image) || strlen(image) > 4096)
        yaml_keys_error(r, node,
                        "container: expected the path of an image, or one such as "
                        "docker://python:3.11");
    else if (image[0] != '/' && strstr(image, "://") == NULL)
        add_container(r, node);
}

/* ---- env ---- */

static int check_variable(struct yaml_keys_reader *r, const struct yaml_node *at, const char *name)
{
    struct err why = { 0 };

    return jobspec_check_variable(name, &why) < 0 ? yaml_keys_error(r, at, "%s", why.text) : 0;
}

static int read_env_item(struct yaml_keys_reader *r, const struct key *key,
                         const struct yaml_member *m, struct env_entry *to)
{
    struct yaml_node at = { .line = m->line, .column = m->column };

    *to = (struct env_entry){ m->key, m->node.text };
    if (check_variable(r, &at, m->key) < 0)
        return -1;
    if (m->node.type == VALUE_NULL)
        return 0;
    if (m->node.text == NULL)
        return yaml_keys_error(r, &m->node, "%s: %s: expected text, found %s", key->name, m->key,
                               value_type_name(m->node.type));
    if (m->node.type == VALUE_STR && strlen(m->node.text) != m->node.scalar.str.n)
        return yaml_keys_error(r, &m->node, "%s: %s: a NUL character", key->name, m->key);
    if (strlen(m->node.text) > COMMAND_MAX_BYTES)
        return yaml_keys_error(r, &m->node, "%s: %s: more than %d bytes", key->name, m->key,
                               COMMAND_MAX_BYTES);
    return 0;
}

/* Notes a variable that is passed from the shell: a name in a list, or NAME: without a value. */
static int pass_variable(struct yaml_keys_reader *r, const struct key *key,
                         const struct yaml_node *at, const char *name)
{
    struct list *passed = &spec_of(r)->work.passed;
    const char **names = passed->items;

    for (size_t i = 0; i < passed->n; i++)
        if (strcmp(names[i], name) == 0)
            return yaml_keys_error(r, at, "%s: %s stands there twice", key->name, name);
    if (passed->n == PASSED_MAX)
        return yaml_keys_error(r, at, "%s: more than %d variables from the shell", key->name,
                               PASSED_MAX);
    names[passed->n++] = name;
    return 0;
}

static int read_passed(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node)
{
    int answer = 0;

    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_node *item = &node->items[i];

        if (item->type != VALUE_STR || strlen(item->text) != item->scalar.str.n)
            answer = yaml_keys_error(r, item, "%s: expected the name of a variable, found %s",
                                     key->name, value_type_name(item->type));
        else if (check_variable(r, item, item->text) < 0 ||
                 pass_variable(r, key, item, item->text) < 0)
            answer = -1;
    }
    return answer;
}

int spec_read_env(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                  void *to)
{
    struct env_entry *items;
    size_t n = 0;
    int answer = 0;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type != VALUE_MAP && node->type != VALUE_LIST)
        return yaml_keys_error(
            r, node, "%s: expected 'NAME: value' lines, or names as in [WANDB_API_KEY], found %s",
            key->name, value_type_name(node->type));
    if (node->n > ENV_MAX)
        return yaml_keys_error(r, node, "%s: more than %d entries", key->name, ENV_MAX);
    spec_of(r)->work.passed.items = arena_alloc(r->arena, PASSED_MAX * sizeof(const char *));
    if (node->type == VALUE_LIST)
        return read_passed(r, key, node);
    items = arena_alloc(r->arena, node->n * sizeof *items);
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_member *m = &node->members[i];

        if (read_env_item(r, key, m, &items[n]) < 0)
            answer = -1;
        else if (m->node.type == VALUE_NULL && pass_variable(r, key, &m->node, m->key) < 0)
            answer = -1;
        else
            n += m->node.type != VALUE_NULL;
    }
    *(struct list *)to = (struct list){ items, n };
    return answer;
}

/* ---- resources ---- */

const struct key spec_resources_keys[] = {
    { .name = "cpus",
      .type = KEY_MILLI,
      .offset = offsetof(struct resources, cpus_milli),
      .min = 1,
      .max = 1000000000,
      .help = "processors, may be a fraction; default: 1" },
    { .name = "gpus",
      .type = KEY_MILLI,
      .offset = offsetof(struct resources, gpus_milli),
      .max = 10000000,
      .help = "GPUs, may be a fraction below 1; default: 0",
      .schema = "\"anyOf\": [{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 10000}, "
                "{\"type\": \"number\", \"minimum\": 0, \"exclusiveMaximum\": 1}, "
                "{\"type\": \"string\", \"pattern\": \"^([0-9]+|0?\\\\.[0-9]+)$\"}]" },
    { .name = "memory",
      .type = KEY_SIZE,
      .offset = offsetof(struct resources, memory_bytes),
      .max = AMOUNT_MAX,
      .help = "main memory, as 2GiB",
      .schema = "\"anyOf\": [{\"enum\": [0]}, {\"type\": \"number\", \"minimum\": 1048576}, "
                "{\"type\": \"string\", \"pattern\": "
                "\"^([0-9]+|[0-9]*\\\\.[0-9]+) *([kKmMgGtTpPeE]i?)?[bB]?$\"}]" },
    { .name = "time",
      .type = KEY_DURATION,
      .offset = offsetof(struct resources, time_ms),
      .max = AMOUNT_MAX,
      .help = "the longest it may run, as 2h; default: no limit" },
    { .name = "disk",
      .type = KEY_SIZE,
      .offset = offsetof(struct resources, disk_bytes),
      .max = AMOUNT_MAX,
      .help = "what its files may take on scratch, as 20GiB; default: no limit" },
    { .name = NULL },
};

static void check_resources(struct yaml_keys_reader *r, const struct yaml_node *node)
{
    const struct resources *resources = &spec_of(r)->work.resources;
    const struct yaml_node *memory = yaml_get(node, "memory");
    int64_t bytes = resources->memory_bytes;

    spec_of(r)->says_gpus = yaml_get(node, "gpus") != NULL;
    if (resources->gpus_milli > 1000 && resources->gpus_milli % 1000 != 0)
        yaml_keys_error(r, yaml_get(node, "gpus"),
                        "gpus: expected a whole number, or a fraction below 1");
    if (bytes <= 0 || bytes >= MEMORY_MIN_BYTES)
        return;
    yaml_keys_error(r, memory,
                    "memory: %" PRId64 " bytes is too little for any process; write it as 2GiB",
                    bytes);
}

/* ---- checkpoint ---- */

const struct key spec_checkpoint_keys[] = {
    { .name = "signal",
      .type = KEY_STR,
      .offset = offsetof(struct checkpoint, signal),
      .help = "what a job gets when it is to save its state and end, as SIGUSR1" },
    { .name = "grace",
      .type = KEY_DURATION,
      .offset = offsetof(struct checkpoint, grace_ms),
      .max = AMOUNT_MAX,
      .help = "how long it then has; default: 60s" },
    { .name = "every",
      .type = KEY_DURATION,
      .offset = offsetof(struct checkpoint, every_ms),
      .min = EVERY_MIN_MS,
      .max = AMOUNT_MAX,
      .help = "how often $LUDWIG_CHECKPOINT is copied to the shared drive; default: when the "
              "job ends" },
    { .name = "keep",
      .type = KEY_BOOL,
      .offset = offsetof(struct checkpoint, keep),
      .help = "the checkpoint of a job that is done stays on the shared drive, for others that an "
              "advisor has go on from it" },
    { .name = NULL },
};

/* Signals by name and by their numbers on Linux, where jobs run. */
static const struct {
    const char *name;
    const char *number;
    bool can_be_caught;
} signals[] = {
    { "HUP", "1", true },   { "INT", "2", true },     { "QUIT", "3", true },
    { "ABRT", "6", true },  { "KILL", "9", false },   { "USR1", "10", true },
    { "USR2", "12", true }, { "ALRM", "14", true },   { "TERM", "15", true },
    { "CONT", "18", true }, { "STOP", "19", false },  { "TSTP", "20", true },
    { "XCPU", "24", true }, { "VTALRM", "26", true }, { "WINCH", "28", true },
    { "IO", "29", true },   { "PWR", "30", true },
};

static const char *canonical_signal(struct yaml_keys_reader *r, const struct yaml_node *node,
                                    const char *text)
{
    const char *name = spec_starts_with(text, "SIG") ? text + 3 : text;
    struct suggest nearest = { .word = name };

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i].can_be_caught)
            suggest_try(&nearest, signals[i].name);
        if (strcmp(name, signals[i].name) != 0 && strcmp(text, signals[i].number) != 0)
            continue;
        if (!signals[i].can_be_caught)
            yaml_keys_error(r, node, "signal: no process can catch SIG%s (SIGUSR1 is common here)",
                            signals[i].name);
        return arena_printf(r->arena, "SIG%s", signals[i].name);
    }
    if (nearest.best != NULL)
        yaml_keys_error(r, node, "signal: there is no signal '%s' (did you mean 'SIG%s'?)", text,
                        nearest.best);
    else
        yaml_keys_error(r, node, "signal: there is no signal '%s'", text);
    return NULL;
}

static void check_checkpoint(struct yaml_keys_reader *r, const struct yaml_node *node)
{
    struct checkpoint *c = &spec_of(r)->work.checkpoint;
    const struct yaml_node *signal = yaml_get(node, "signal"), *grace = yaml_get(node, "grace");

    if (grace != NULL && signal == NULL)
        yaml_keys_error(r, grace, "grace: it needs a 'signal:', after which it is given");
    if (c->signal != NULL)
        c->signal = canonical_signal(r, signal, c->signal);
    if (c->signal != NULL && grace == NULL)
        c->grace_ms = GRACE_MS;
}

/* ---- log ---- */

const struct key spec_log_keys[] = {
    { .name = "max",
      .type = KEY_SIZE,
      .offset = offsetof(struct log_limit, max_bytes),
      .max = AMOUNT_MAX,
      .help =
          "so much of it, as 100MiB; a line there says that more was printed. Without it: all" },
    { .name = NULL },
};

/* ---- order ---- */

/* "lr > 0.01 first": the expression has the words of `ludwig order --where`. */
static int read_first(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, size_t n)
{
    static const char option[] = "--where: ";
    struct where **first = &spec_of(r)->first;
    struct err why = { 0 };

    *first = where_parse(arena_strndup(r->arena, node->text, n), r->arena, &why);
    if (*first != NULL)
        return 0;
    return yaml_keys_error(r, node, "%s: %s", key->name,
                           why.text + (spec_starts_with(why.text, option) ? strlen(option) : 0));
}

int spec_read_order(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                    void *to)
{
    static const char first[] = " first";
    const char *text = node->type == VALUE_STR ? node->text : NULL;
    size_t n = text != NULL ? strlen(text) : 0, n_first = strlen(first);

    if (node->type == VALUE_NULL)
        return 0;
    if (n > n_first && strcmp(text + n - n_first, first) == 0)
        return read_first(r, key, node, n - n_first);
    if (text == NULL || (strcmp(text, "canary") != 0 && strcmp(text, "file") != 0))
        return yaml_keys_error(r, node, "%s: expected canary, file or 'lr > 0.01 first', found %s",
                               key->name, text != NULL ? text : value_type_name(node->type));
    *(bool *)to = strcmp(text, "file") == 0;
    return 0;
}

/* order: may name parameters only: nothing else of a job is known before it runs. */
static void check_order(struct yaml_keys_reader *r, const struct yaml_node *node)
{
    const struct spec *s = spec_of(r);
    const char *name;

    if (s->first == NULL)
        return;
    if (spec_has_advisor(s))
        yaml_keys_error(r, node,
                        "order: does not go with an advisor, which says what is tried next");
    for (size_t i = 0; (name = where_name(s->first, i)) != NULL; i++) {
        const char *of = spec_starts_with(name, "params.") ? strchr(name, '.') + 1 : name;
        const char *map = arena_strndup(r->arena, of, strcspn(of, "."));
        char *why;

        if (params_find(&s->plan.params, of) != NULL || params_find(&s->plan.params, map) != NULL)
            continue;
        why = params_unknown(&s->plan.params, of);
        yaml_keys_error(r, node, "order: %s", why);
        free(why);
    }
}

/* ---- slurm: pools of pilots ---- */

#define AT(member) offsetof(struct slurm_pool, member)

static const struct key spec_pilot_keys[] = {
    { .name = "jobs",
      .type = KEY_INT,
      .offset = AT(pilot_jobs),
      .min = 1,
      .max = 1,
      .help = "1: each job gets a Slurm job of its own; default: a pilot works through many" },
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
      .help = "whom the time is charged to; default: your default account" },
    { .name = "qos", .type = KEY_STR, .offset = AT(qos), .help = "the quality of service" },
    { .name = "constraint",
      .type = KEY_STR,
      .offset = AT(constraint),
      .help = "features a node must have, as \"a40|rtx_6000\"" },
    { .name = "gres",
      .type = KEY_STR,
      .offset = AT(gres),
      .help = "generic resources of a pilot, as gpu:a40:2; default: what resources: asks for" },
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

static int read_pool(struct yaml_keys_reader *r, const struct yaml_node *map,
                     struct slurm_pool *pool)
{
    const struct yaml_node *partition = yaml_get(map, "partition"), *exclude, *extra;
    const char *name;
    size_t n_errors = r->n_errors;

    if (map->type != VALUE_MAP)
        return yaml_keys_error(r, map, "slurm: expected a map such as {partition: NAME}, found %s",
                               value_type_name(map->type));
    if (yaml_keys_read(r, spec_slurm_keys, map, pool) < 0)
        return -1;
    name = pool->partition;
    if (partition == NULL)
        yaml_keys_error(r, map, "slurm: there is no 'partition:'");
    else if (name != NULL && !sbatch_is_partition(name))
        yaml_keys_error(r, partition, "partition: '%s' is no name of a partition%s", name,
                        strchr(name, ',') != NULL ? " (slurm: takes a list, an entry for each)"
                                                  : "");
    check_text(r, yaml_get(map, "account"), "account", pool->account, NAME_MAX_BYTES);
    check_text(r, yaml_get(map, "qos"), "qos", pool->qos, NAME_MAX_BYTES);
    check_text(r, yaml_get(map, "constraint"), "constraint", pool->constraint, 4096);
    check_text(r, yaml_get(map, "gres"), "gres", pool->gres, 4096);
    exclude = yaml_get(map, "exclude");
    for (size_t i = 0; i < pool->exclude.n; i++)
        check_text(r, spec_item_at(exclude, i), "exclude",
                   ((const char *const *)pool->exclude.items)[i], 4096);
    extra = yaml_get(map, "extra");
    for (size_t i = 0; i < pool->extra.n; i++) {
        const char *option = ((const char *const *)pool->extra.items)[i];
        struct err e = { 0 };

        check_text(r, spec_item_at(extra, i), "extra", option, 4096);
        if (option[0] != '\0' && sbatch_check_extra(option, &e) < 0)
            yaml_keys_error(r, spec_item_at(extra, i), "extra: %s", e.text);
    }
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

/* ---- results ---- */

static int read_goal(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    enum goal goal = node->type == VALUE_STR ? goal_parse(node->text) : GOAL_COUNT;

    if (goal < GOAL_COUNT) {
        *(int *)to = (int)goal;
        return 0;
    }
    return yaml_keys_error(r, node, "%s: expected max or min, found %s%s%s", key->name,
                           node->type == VALUE_STR ? "'" : "",
                           node->type == VALUE_STR ? node->text : value_type_name(node->type),
                           node->type == VALUE_STR ? "'" : "");
}

const struct key spec_results_keys[] = {
    { .name = "metric",
      .type = KEY_STR,
      .offset = offsetof(struct ranking, metric),
      .help = "the measure that configurations are ranked by" },
    { .name = "goal",
      .type = KEY_CUSTOM,
      .offset = offsetof(struct ranking, goal),
      .read = read_goal,
      .help = "which values of it are best: max or min (maximize, minimize); without it: as the "
              "measure's name suggests, if it does",
      .schema = "\"enum\": [\"max\", \"min\", \"maximize\", \"minimize\"]" },
    { .name = NULL },
};

static void check_results(struct yaml_keys_reader *r, const struct yaml_node *node)
{
    struct ranking *ranking = &spec_of(r)->ranking;
    const char *metric = ranking->metric;
    const struct yaml_node *at = yaml_get(node, "metric"), *goal = yaml_get(node, "goal");

    if (at == NULL && goal != NULL)
        yaml_keys_error(r, node, "results: there is no 'metric:' to rank by");
    if (metric == NULL)
        return;
    if (metric[0] == '\0' || spec_has_control(metric) || strlen(metric) > NAME_MAX_BYTES) {
        yaml_keys_error(r, at, "metric: expected the name of a measure");
    } else if (goal == NULL) {
        ranking->goal = (int)goal_guess(metric);
        if (ranking->goal == GOAL_COUNT)
            yaml_keys_error(r, at,
                            "results: the name %s does not say whether large values are good or "
                            "small ones; add goal: max or goal: min",
                            metric);
    }
}

/* ---- reuse ---- */

const struct key spec_reuse_keys[] = {
    { .name = "ignore",
      .type = KEY_STRS,
      .offset = offsetof(struct spec_reuse, ignore),
      .max = IGNORED_MAX,
      .help =
          "files and folders of the source whose changes do not count, as README.md, \"*.ipynb\" or "
          "notebooks/" },
    { .name = NULL },
};

static void check_reuse(struct yaml_keys_reader *r, const struct yaml_node *node)
{
    const struct list *ignore = &spec_of(r)->reuse.ignore;
    const struct yaml_node *at = yaml_get(node, "ignore");
    const char **patterns = ignore->items;

    for (size_t i = 0; i < ignore->n; i++) {
        if (patterns[i] == NULL)
            continue;
        if (spec_starts_with(patterns[i], "./"))
            patterns[i] += 2;
        if (patterns[i][strspn(patterns[i], "/.")] == '\0' || patterns[i][0] == '/')
            yaml_keys_error(r, spec_item_at(at, i),
                            "ignore: expected a path below the sweep file's folder, or a pattern "
                            "such as *.ipynb");
    }
}

void spec_check_work(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    static const struct {
        const char *key;
        void (*check)(struct yaml_keys_reader *r, const struct yaml_node *node);
    } checks[] = {
        { "resources", check_resources }, { "checkpoint", check_checkpoint },
        { "retry", spec_check_retry },    { "results", check_results },
        { "reuse", check_reuse },         { "order", check_order },
    };

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const struct yaml_node *node = yaml_get(root, checks[i].key);

        if (node != NULL)
            checks[i].check(r, node);
    }
}
