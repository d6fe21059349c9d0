/* SPDX-License-Identifier: MIT */
/* spec.c - a sweep file, read and checked */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/spec/spec_internal.h"
#include "client/term/excerpt.h"
#include "client/util/spool.h"
#include "common/base/io.h"
#include "common/base/path.h"

enum { PRIORITY_MAX = 1000, NODES_MAX = 1000, SPEC_MAX_BYTES = 16 * 1024 * 1024 };

static int read_priority(struct yaml_keys_reader *r, const struct key *key,
                         const struct yaml_node *node, void *to)
{
    if (node->type != VALUE_INT || node->scalar.i < -PRIORITY_MAX || node->scalar.i > PRIORITY_MAX)
        return yaml_keys_error(r, node, "%s: expected a whole number from -%d to %d", key->name,
                               PRIORITY_MAX, PRIORITY_MAX);
    *(int64_t *)to = node->scalar.i;
    return 0;
}

/* What plan.h and params.h read, and whether it went well. */
static int read_plan(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    static const struct {
        const char *name;
        key_read_fn read;
    } readers[] = {
        { "params", params_read },        { "method", plan_read_method },
        { "zip", plan_read_zip },         { "when", plan_read_when },
        { "exclude", plan_read_exclude }, { "include", plan_read_include },
    };
    struct spec_reading *reading = r->context;
    size_t i = 0;

    while (strcmp(readers[i].name, key->name) != 0)
        i++;
    if (readers[i].read(r, key, node, to) == 0)
        return 0;
    if (readers[i].read == params_read)
        reading->has_no_params = node->type != VALUE_MAP;
    if (readers[i].read == plan_read_method)
        reading->method_was_refused = true;
    return -1;
}

/* ---- the keys ---- */

#define AT(member) offsetof(struct spec, member)

#define SCHEMA_ONE_OR_ALL(item, list) \
    "\"anyOf\": [{" item "}, {\"type\": \"array\", \"items\": {" item "}" list "}]"
#define SCHEMA_PATH "\"type\": \"string\", \"minLength\": 1"
#define SCHEMA_DATA                                                       \
    "\"anyOf\": [{" SCHEMA_PATH                                           \
    "}, {\"type\": \"object\", \"properties\": {\"share\": {" SCHEMA_PATH \
    "}}, \"required\": [\"share\"], \"additionalProperties\": false}]"
#define SCHEMA_SETS \
    "\"type\": [\"array\", \"null\"], \"items\": {\"type\": \"object\", \"minProperties\": 1}"

const struct key spec_keys[] = {
    { .name = "project",
      .type = KEY_STR,
      .offset = AT(project),
      .help = "the folder on the shared drive; without it: the name of the sweep file's folder" },
    { .name = "private",
      .type = KEY_BOOL,
      .offset = AT(private_project),
      .help = "true: nobody else may read the project; without it: as the server's configuration "
              "says" },
    { .name = "name", .type = KEY_STR, .offset = AT(name), .help = "what listings call the sweep" },
    { .name = "command",
      .type = KEY_STR,
      .offset = AT(work.command),
      .help = "run by /bin/sh -c in the job's folder; {param} becomes its value, quoted" },
    { .name = "source",
      .type = KEY_CUSTOM,
      .offset = AT(source),
      .read = spec_read_source,
      .help = "the program: paths here; without it: everything but what is ignored",
      .schema = SCHEMA_ONE_OR_ALL(SCHEMA_PATH, "") },
    { .name = "data",
      .type = KEY_CUSTOM,
      .offset = AT(data),
      .read = spec_read_data,
      .help = "paths of what jobs find under $LUDWIG_DATA; {share: PATH} for what lies on the "
              "shared drive already",
      .schema = SCHEMA_ONE_OR_ALL(SCHEMA_DATA, ", \"maxItems\": 1000") },
    { .name = "params",
      .type = KEY_CUSTOM,
      .offset = AT(plan.params),
      .read = read_plan,
      .help = "lists are swept, single values are the same for all",
      .schema = "\"type\": [\"object\", \"null\"], "
                "\"additionalProperties\": {\"$ref\": \"#/$defs/param\"}" },
    { .name = "method",
      .type = KEY_CUSTOM,
      .offset = AT(plan.method),
      .read = read_plan,
      .help = "how configurations are made: grid (all of them), random or sobol (samples: many); "
              "without it: grid",
      .schema = "\"enum\": [\"grid\", \"random\", \"sobol\"]" },
    { .name = "samples",
      .type = KEY_INT,
      .offset = AT(plan.samples),
      .min = 1,
      .max = INT64_C(1) << 40,
      .help = "with random and sobol: how many configurations" },
    { .name = "seed",
      .type = KEY_INT,
      .offset = AT(plan.seed),
      .help = "with random and sobol: another number gives other samples; without it: 0" },
    { .name = "zip",
      .type = KEY_CUSTOM,
      .offset = AT(plan.zip),
      .read = read_plan,
      .help = "groups of parameters whose lists move together",
      .schema = "\"type\": [\"array\", \"null\"], \"items\": {\"type\": \"array\", "
                "\"items\": {\"type\": \"string\"}, \"minItems\": 2}" },
    { .name = "when",
      .type = KEY_CUSTOM,
      .offset = AT(plan.when),
      .read = read_plan,
      .help = "parameters that exist only where others have certain values",
      .schema = "\"type\": [\"object\", \"null\"], "
                "\"additionalProperties\": {\"type\": \"object\", \"minProperties\": 1}" },
    { .name = "exclude",
      .type = KEY_CUSTOM,
      .offset = AT(plan.exclude),
      .read = read_plan,
      .help = "configurations that are left out: those with all of these values",
      .schema = SCHEMA_SETS },
    { .name = "include",
      .type = KEY_CUSTOM,
      .offset = AT(plan.include),
      .read = read_plan,
      .help = "configurations that come on top",
      .schema = SCHEMA_SETS },
    { .name = "debug",
      .type = KEY_CUSTOM,
      .offset = AT(debug),
      .read = params_read_fixed,
      .help = "values that --minimal takes instead",
      .schema = "\"type\": [\"object\", \"null\"]" },
    { .name = "reps",
      .type = KEY_INT,
      .offset = AT(reps),
      .min = 1,
      .max = REPS_MAX,
      .help = "replications of each configuration; without it: 1" },
    { .name = "resources",
      .type = KEY_MAP,
      .offset = AT(work.resources),
      .of = spec_resources_keys,
      .help = "what one job needs" },
    { .name = "nodes",
      .type = KEY_STRS,
      .offset = AT(nodes),
      .max = NODES_MAX,
      .help = "names of nodes and @groups that may run it; without it: any; []: none" },
    { .name = "slurm",
      .type = KEY_CUSTOM,
      .offset = AT(pools),
      .of = spec_slurm_keys,
      .read = spec_read_slurm,
      .help = "Slurm partitions that may run it, too: one map, or a list of them",
      .schema = "\"anyOf\": [{\"$ref\": \"#/$defs/slurm\"}, {\"type\": \"array\", \"items\": "
                "{\"$ref\": \"#/$defs/slurm\"}, \"maxItems\": 64}, {\"type\": \"null\"}]" },
    { .name = "retry",
      .type = KEY_MAP,
      .offset = AT(retry),
      .of = spec_retry_keys,
      .help = "which failed jobs are tried again, and how often" },
    { .name = "checkpoint",
      .type = KEY_MAP,
      .offset = AT(work.checkpoint),
      .of = spec_checkpoint_keys,
      .help = "how a job is told to save its state before it has to end, to go on elsewhere" },
    { .name = "env",
      .type = KEY_CUSTOM,
      .offset = AT(work.env),
      .read = spec_read_env,
      .help = "environment variables of the jobs",
      .schema = "\"type\": [\"object\", \"null\"], \"maxProperties\": 1000, "
                "\"additionalProperties\": {\"type\": [\"string\", \"number\", \"boolean\"]}, "
                "\"propertyNames\": {\"pattern\": \"^(?!LUDWIG_)[A-Za-z_][A-Za-z0-9_]*$\"}" },
    { .name = "setup",
      .type = KEY_STRS,
      .offset = AT(setup),
      .help = "shell lines before the command: one text, or a list of lines" },
    { .name = "container",
      .type = KEY_STR,
      .offset = AT(work.container),
      .help = "jobs run in this image, with apptainer or singularity: a path beside the sweep file "
              "(it is uploaded), an absolute path on the nodes, or as docker://python:3.11" },
    { .name = "batch",
      .type = KEY_INT,
      .offset = AT(work.batch),
      .min = 1,
      .max = BATCH_MAX,
      .help = "so many configurations go to one process, in the file that $LUDWIG_CHUNK names; "
              "without it: 1" },
    { .name = "results",
      .type = KEY_MAP,
      .offset = AT(ranking),
      .of = spec_results_keys,
      .help = "what `ludwig results` ranks configurations by" },
    { .name = "priority",
      .type = KEY_CUSTOM,
      .offset = AT(priority),
      .read = read_priority,
      .help = "from -1000 to 1000, larger first; without it: 0",
      .schema = "\"type\": \"integer\", \"minimum\": -1000, \"maximum\": 1000" },
    { .name = NULL },
};

/* s has nothing yet but file, folder, text and list. */
static int parse(struct arena *a, struct spec *s, struct err *e)
{
    struct spec_reading reading = { .spec = s, .keys = spec_keys };
    struct yaml_keys_reader r = { .file = s->file, .arena = a, .context = &reading };
    const struct yaml_node *root = yaml_parse(s->file, (const char *)s->text.data, s->text.n, a, e);

    if (root == NULL)
        return -1;
    s->reps = 1;
    s->work.resources.cpus_milli = 1000;
    s->work.batch = 1;
    if (root->type == VALUE_NULL)
        return yaml_error(e, s->file, root, "the file is empty");
    yaml_keys_read(&r, spec_keys, root, s);
    if (root->type == VALUE_MAP)
        spec_check(&r, root);
    return spec_end(&r, false, e);
}

int spec_parse(const char *file, const char *folder, const char *text, size_t n, struct arena *a,
               struct spec *s, struct err *e)
{
    *s = (struct spec){ .file = file, .folder = folder, .text = { (const uint8_t *)text, n } };
    return parse(a, s, e);
}

/* ---- files ---- */

static int read_text(const char *path, struct buf *text, struct err *e)
{
    struct spool spool = { 0 };
    struct stat st;
    int result;

    if (strcmp(path, "-") != 0) {
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            return err_set(e, ERR_USAGE, "%s is a folder; name the sweep file in it", path);
        result = io_read_file(path, SPEC_MAX_BYTES, text, e);
        if (result < 0 && e != NULL)
            e->kind = ERR_USAGE;
        return result;
    }
    result = spool_read(&spool, "-", e);
    if (result == 0 && spool.text.n > SPEC_MAX_BYTES)
        result = err_set(e, ERR_USAGE, SPOOL_STDIN " is larger than %d bytes", SPEC_MAX_BYTES);
    else if (result == 0)
        buf_add(text, spool.text.data, spool.text.n);
    spool_free(&spool);
    return result;
}

int spec_read_listed(const char *path, const char *list, struct arena *a, struct spec *s,
                     struct err *e)
{
    struct buf text = { 0 };
    char *dir = path_dirname(path), *real = NULL;
    int result = -1;

    *s = (struct spec){ .file = spool_name(path), .list = list };
    if (read_text(path, &text, e) < 0)
        goto out;
    real = path_real(dir, e);
    if (real == NULL)
        goto out;
    s->folder = arena_strdup(a, real);
    s->text = (struct bytes){ (const uint8_t *)arena_strndup(a, buf_text(&text), text.n), text.n };
    result = parse(a, s, e);
    if (result < 0)
        excerpt_add(e, s->file, buf_text(&text));
out:
    free(real);
    free(dir);
    buf_free(&text);
    return result;
}

int spec_read(const char *path, struct arena *a, struct spec *s, struct err *e)
{
    return spec_read_listed(path, NULL, a, s, e);
}
