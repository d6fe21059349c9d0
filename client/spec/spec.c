/* SPDX-License-Identifier: MIT */
/* spec.c - reads and checks a sweep file */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/spec/plan_check.h"
#include "client/spec/spec_internal.h"
#include "client/term/excerpt.h"
#include "client/term/safe_text.h"
#include "client/util/spool.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/suggest.h"
#include "common/base/utf8.h"
#include "common/data/json.h"
#include "common/data/template.h"
#include "common/proto/layout.h"

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

/* Reads a key that plan.h or params.h has a reader for, and notes whether it was refused. */
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

    if (strcmp(key->name, "method") == 0 && node->type == VALUE_MAP) {
        reading->method_was_refused = spec_read_advisor(r, node, to) < 0;
        return reading->method_was_refused ? -1 : 0;
    }
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
#define SCHEMA_LINKED                                                              \
    "\"type\": \"object\", \"propertyNames\": {\"not\": {\"const\": \"share\"}}, " \
    "\"additionalProperties\": {" SCHEMA_PATH "}"
#define SCHEMA_WORDS SCHEMA_ONE_OR_ALL(SCHEMA_PATH, ", \"maxItems\": 100")
#define SCHEMA_ENVIRONMENT                                                             \
    "\"anyOf\": [{" SCHEMA_PATH "}, {\"type\": \"object\", \"properties\": "           \
    "{\"path\": {" SCHEMA_PATH "}, \"stage\": {\"type\": [\"string\", \"boolean\"]}, " \
    "\"decides\": {\"type\": \"boolean\"}, \"requirements\": {" SCHEMA_PATH "}, "      \
    "\"uv\": {" SCHEMA_PATH "}, \"conda\": {" SCHEMA_PATH "}, "                        \
    "\"python\": {" SCHEMA_PATH "}, \"options\": {" SCHEMA_WORDS "}, "                 \
    "\"files\": {" SCHEMA_WORDS "}}, \"additionalProperties\": false}, "               \
    "{\"type\": \"null\"}]"
#define SCHEMA_SETS \
    "\"type\": [\"array\", \"null\"], \"items\": {\"type\": \"object\", \"minProperties\": 1}"

const struct key spec_keys[] = {
    { .name = "project",
      .type = KEY_STR,
      .offset = AT(project),
      .help = "the folder on the shared drive; default: the name of the sweep file's folder" },
    { .name = "private",
      .type = KEY_BOOL,
      .offset = AT(private_project),
      .help = "true: nobody else may read the project; default: as the server's configuration "
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
      .help = "the program: paths here; default: everything but what is ignored",
      .schema = SCHEMA_ONE_OR_ALL(SCHEMA_PATH, "") },
    { .name = "data",
      .type = KEY_CUSTOM,
      .offset = AT(data),
      .read = spec_read_data,
      .help = "paths of what jobs find under $LUDWIG_DATA; {share: PATH} for what is on the shared "
              "drive already; a map links each path at its key in the job's folder as well",
      .schema = "\"anyOf\": [{" SCHEMA_DATA "}, {\"type\": \"array\", \"items\": {" SCHEMA_DATA
                "}, \"maxItems\": 1000}, {" SCHEMA_LINKED "}]" },
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
      .of = spec_advisor_keys,
      .help = "how configurations are made: grid (all of them), random or sobol (samples: many), "
              "or {advisor: COMMAND}, one after the other; default: grid",
      .schema = "\"anyOf\": [{\"enum\": [\"grid\", \"random\", \"sobol\"]}, "
                "{\"$ref\": \"#/$defs/advisor\"}]" },
    { .name = "budget",
      .type = KEY_MAP,
      .offset = AT(budget),
      .of = spec_budget_keys,
      .help = "with an advisor: when it is not asked any more" },
    { .name = "samples",
      .type = KEY_INT,
      .offset = AT(plan.samples),
      .min = 1,
      .max = INT64_C(1) << 40,
      .help = "with random and sobol: how many configurations" },
    { .name = "seed",
      .type = KEY_INT,
      .offset = AT(plan.seed),
      .help = "with random and sobol: another number gives other samples; default: 0" },
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
      .type = KEY_CUSTOM,
      .offset = AT(reps),
      .of = spec_reps_keys,
      .read = spec_read_reps,
      .help = "replications of each configuration, or {max: 10, race: 3}: of those that may be "
              "the best; default: 1",
      .schema = "\"anyOf\": [{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 4096}, "
                "{\"$ref\": \"#/$defs/reps\"}]" },
    { .name = "resources",
      .type = KEY_MAP,
      .offset = AT(work.resources),
      .of = spec_resources_keys,
      .help = "what one job needs" },
    { .name = "nodes",
      .type = KEY_STRS,
      .offset = AT(nodes),
      .max = NODES_MAX,
      .help = "names of nodes and @groups that may run it; default: any; []: none" },
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
    { .name = "order",
      .type = KEY_CUSTOM,
      .offset = AT(in_file_order),
      .read = spec_read_order,
      .help = "which jobs run first: canary, one with each value of each parameter; file, in its "
              "order; or 'lr > 0.01 first', what matches; default: canary",
      .schema = "\"anyOf\": [{\"enum\": [\"canary\", \"file\", null]}, "
                "{\"type\": \"string\", \"pattern\": \" first$\"}]" },
    { .name = "guard",
      .type = KEY_CUSTOM,
      .offset = AT(guard),
      .of = spec_guard_keys,
      .read = spec_read_guard,
      .help = "when jobs are held, as all that was like them failed; off: never",
      .schema = "\"anyOf\": [{\"$ref\": \"#/$defs/guard\"}, {\"enum\": [\"off\", false, null]}]" },
    { .name = "stop",
      .type = KEY_CUSTOM,
      .offset = AT(stop),
      .of = spec_stop_keys,
      .read = spec_read_stop,
      .help = "which jobs are stopped before they have come to their end, by what they report: "
              "{rule: asha, step: epoch}; off: none",
      .schema = "\"anyOf\": [{\"$ref\": \"#/$defs/stop\"}, {\"enum\": [\"asha\", \"median\", "
                "\"off\", false, null]}]" },
    { .name = "notify",
      .type = KEY_CUSTOM,
      .offset = AT(notify),
      .of = spec_notify_keys,
      .read = spec_read_notify,
      .help = "who is told when the sweep has ended, a job has failed or nothing goes on: "
              "{when: [ended, failed], mail: ADDRESS}, or run: COMMAND, or url: URL",
      .schema = "\"anyOf\": [{\"$ref\": \"#/$defs/notify\"}, {\"type\": \"null\"}]" },
    { .name = "checkpoint",
      .type = KEY_MAP,
      .offset = AT(work.checkpoint),
      .of = spec_checkpoint_keys,
      .help = "how a job is told to save its state before it has to end, to go on elsewhere" },
    { .name = "log",
      .type = KEY_MAP,
      .offset = AT(work.log),
      .of = spec_log_keys,
      .help = "what is kept of what a job prints" },
    { .name = "env",
      .type = KEY_CUSTOM,
      .offset = AT(work.env),
      .read = spec_read_env,
      .help = "environment variables of the jobs; a name without a value is taken from the shell "
              "that submits",
      .schema = "\"type\": [\"object\", \"array\", \"null\"], \"maxProperties\": 1000, "
                "\"additionalProperties\": {\"type\": [\"string\", \"number\", \"boolean\", "
                "\"null\"]}, "
                "\"propertyNames\": {\"pattern\": \"^(?!LUDWIG_)[A-Za-z_][A-Za-z0-9_]*$\"}, "
                "\"maxItems\": 100, \"items\": {\"type\": \"string\", "
                "\"pattern\": \"^(?!LUDWIG_)[A-Za-z_][A-Za-z0-9_]*$\"}" },
    { .name = "environment",
      .type = KEY_CUSTOM,
      .offset = AT(environment),
      .read = spec_read_environment,
      .help =
          "the folder of a venv or of conda's or pixi's environment, or none; without it: what is "
          "active at submit. {stage: PATH} brings it to the nodes; {requirements: FILE}, {uv: FILE} or "
          "{conda: FILE} has each node build it once",
      .schema = SCHEMA_ENVIRONMENT },
    { .name = "modules",
      .type = KEY_STRS,
      .offset = AT(work.environment.modules),
      .max = MODULES_MAX,
      .help = "what `module load` loads before setup; without it: what is loaded at submit; "
              "[]: nothing" },
    { .name = "setup",
      .type = KEY_STRS,
      .offset = AT(setup),
      .help =
          "shell lines before the command, which is not run if one of them fails: one text, or a "
          "list of lines" },
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
              "default: 1" },
    { .name = "results",
      .type = KEY_MAP,
      .offset = AT(ranking),
      .of = spec_results_keys,
      .help = "what `ludwig results` ranks configurations by" },
    { .name = "reuse",
      .type = KEY_MAP,
      .offset = AT(reuse),
      .of = spec_reuse_keys,
      .help = "when jobs that are done already count as the same" },
    { .name = "priority",
      .type = KEY_CUSTOM,
      .offset = AT(priority),
      .read = read_priority,
      .help = "from -1000 to 1000, larger first; default: 0",
      .schema = "\"type\": \"integer\", \"minimum\": -1000, \"maximum\": 1000" },
    { .name = "max_running",
      .type = KEY_INT,
      .offset = AT(max_running),
      .min = 1,
      .max = MAX_RUNNING_MAX,
      .help = "at most so many of its jobs (with batch: processes) run at once; while it runs, "
              "`ludwig limit SWEEP N` changes it; default: as many as there is room for" },
    { .name = NULL },
};

#undef AT

enum { SHOWN_VALUES = 3 }; /* of a condition, in a message */

/* ---- the command ---- */

/* Returns the place of text's nth occurrence in the file, from node on; node itself if none. */
static struct yaml_node find_text(const struct spec *s, const struct yaml_node *node,
                                  const char *text, size_t nth)
{
    struct yaml_node at = { .line = 1, .column = 1 };
    size_t n = strlen(text);

    for (size_t i = 0; i + n <= s->text.n; i++) {
        bool is_behind =
            at.line > node->line || (at.line == node->line && at.column >= node->column);

        if (is_behind && memcmp(s->text.data + i, text, n) == 0 && nth-- == 1)
            return at;
        if (s->text.data[i] == '\n') {
            at.line++;
            at.column = 1;
        } else if (utf8_begins((char)s->text.data[i])) {
            at.column++;
        }
    }
    return *node;
}

/* Returns the place in the file of a placeholder of command:. */
static struct yaml_node find_placeholder(const struct spec *s, const struct yaml_node *node,
                                         const struct placeholder *p)
{
    char *braced = mem_printf("{%s}", p->name);
    const char *first = s->work.command, *here = first + p->offset;
    struct yaml_node at;
    size_t nth = 1;

    for (first = strstr(first, braced); first < here; first = strstr(first + 1, braced))
        nth++;
    at = find_text(s, node, braced, nth);
    free(braced);
    return at;
}

struct placeholders {
    struct yaml_keys_reader *reader;
    const struct yaml_node *node;
    struct buf seen; /* names of placeholders, each between newlines */
    bool
        was_refused; /* the one error for all placeholders that batch: makes impossible was added */
};

/* Adds the error "lr exists only where optimizer is sgd or adam". */
static void refuse_conditional(const struct placeholders *p, const struct yaml_node *at,
                               const struct condition *condition)
{
    const struct pin *pins = condition->pins.pins.items;
    struct buf where = { 0 };

    for (size_t i = 0; i < condition->pins.pins.n; i++) {
        buf_printf(&where, "%s%s is %s", i > 0 ? " and " : "", pins[i].name,
                   pins[i].n == 0 ? "so" : "");
        for (size_t k = 0; k < pins[i].n && k < SHOWN_VALUES; k++) {
            buf_add_str(&where, k > 0 ? " or " : "");
            json_add_text(&where, &pins[i].values[k]);
        }
        buf_add_str(&where, pins[i].n > SHOWN_VALUES ? " or ..." : "");
    }
    yaml_keys_error(p->reader, at,
                    "command: %s exists only where %s; the program can read it from the file that "
                    "$LUDWIG_PARAM2VAL names",
                    condition->name, where.n > 0 ? buf_text(&where) : "when: says so");
    buf_free(&where);
}

/* Whether the placeholder can take all n values; else adds an error for the first it cannot. */
static bool takes_all(const struct placeholders *p, const struct placeholder *placeholder,
                      const struct value *values, size_t n)
{
    char *why;

    for (size_t i = 0; i < n; i++)
        if (!template_takes(placeholder, &values[i], &why)) {
            struct yaml_node at = find_placeholder(spec_of(p->reader), p->node, placeholder);

            yaml_keys_error(p->reader, &at, "command: %s", why);
            free(why);
            return false;
        }
    return true;
}

/* Checks the values that the parameter has by itself, by debug: and by include:. */
static void check_values(const struct placeholders *p, const struct placeholder *placeholder)
{
    const struct spec *s = spec_of(p->reader);
    const struct param *param = params_find(&s->plan.params, placeholder->name),
                       *debug = params_find(&s->debug, placeholder->name);
    const struct pins *include = s->plan.include.items;
    bool is_well = param == NULL || takes_all(p, placeholder, param->values, param->n);

    if (is_well && debug != NULL)
        is_well = takes_all(p, placeholder, debug->values, debug->n);
    for (size_t i = 0; is_well && i < s->plan.include.n; i++) {
        const struct pin *pin = plan_find_pin(&include[i], placeholder->name);

        is_well = pin == NULL || takes_all(p, placeholder, pin->values, pin->n);
    }
}

/* Checks one placeholder of the command; errors about a name are added for its first place only. */
static int check_placeholder(void *context, const struct placeholder *placeholder)
{
    struct placeholders *p = context;
    const struct spec *s = spec_of(p->reader);
    const struct condition *condition = NULL, *conditions = s->plan.when.items;
    const char *name = placeholder->name;
    char *line = mem_printf("\n%s\n", name);
    struct yaml_node at = find_placeholder(s, p->node, placeholder);
    bool was_seen = strstr(buf_text(&p->seen), line) != NULL;

    if (!was_seen)
        buf_add_str(&p->seen, line);
    free(line);
    check_values(p, placeholder);
    if (was_seen)
        return 0;
    for (size_t i = 0; condition == NULL && i < s->plan.when.n; i++)
        if (strcmp(conditions[i].name, name) == 0)
            condition = &conditions[i];
    if (s->list == NULL && params_find(&s->plan.params, name) == NULL) {
        char *unknown = params_unknown(&s->plan.params, name);

        yaml_keys_error(p->reader, &at, "command: %s", unknown);
        free(unknown);
    } else if (s->work.batch > 1) {
        if (!p->was_refused)
            yaml_keys_error(p->reader, &at,
                            "command: {%s} cannot be filled in, as with batch: a process gets "
                            "several configurations; it finds them in the file that $LUDWIG_CHUNK "
                            "names",
                            name);
        p->was_refused = true;
    } else if (condition != NULL) {
        refuse_conditional(p, &at, condition);
    }
    return 0;
}

static bool is_parameter(const void *params, const char *name)
{
    return params_find(params, name) != NULL;
}

/* Whether the file has an unknown key for which this one was suggested. */
static bool has_misspelt(const struct key *keys, const struct yaml_node *root, const char *name)
{
    for (size_t i = 0; i < root->n; i++) {
        struct suggest nearest = { .word = root->members[i].key };

        if (spec_starts_with(nearest.word, "x-"))
            continue;
        for (const struct key *key = keys; key->name != NULL; key++)
            suggest_try(&nearest, key->name);
        if (nearest.best != NULL && strcmp(nearest.best, name) == 0)
            return true;
    }
    return false;
}

static void check_command(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const struct spec *s = spec_of(r);
    const struct yaml_node *node = yaml_get(root, "command");
    struct placeholders p = { .reader = r, .node = node };

    if (node == NULL &&
        has_misspelt(((const struct spec_reading *)r->context)->keys, root, "command"))
        return;
    if (node == NULL)
        yaml_keys_error(r, root, "there is no 'command:', so there is nothing to run");
    else if (s->work.command == NULL)
        return;
    else if (s->work.command[strspn(s->work.command, " \t\n")] == '\0')
        yaml_keys_error(r, node, "command: it is empty");
    else if (strlen(s->work.command) > COMMAND_MAX_BYTES)
        yaml_keys_error(r, node, "command: more than %d bytes", COMMAND_MAX_BYTES);
    else
        template_each(s->work.command, is_parameter, &s->plan.params, check_placeholder, &p);
    buf_free(&p.seen);
}

bool spec_is_node_name(const char *name)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    size_t n = strlen(name);

    if (name[0] == '@')
        return n > 1;
    return n > 0 && n <= NAME_MAX_BYTES && name[0] != '-' && name[0] != '.' &&
           strspn(name, chars) == n;
}

/* ---- parameters ---- */

void spec_check_debug(struct yaml_keys_reader *r)
{
    const struct spec *s = spec_of(r);
    const struct param *debug = s->debug.items;

    for (size_t i = 0; i < s->debug.n; i++) {
        struct yaml_node at = { .line = debug[i].line, .column = debug[i].column };
        char *unknown;

        if (params_find(&s->plan.params, debug[i].name) != NULL)
            continue;
        unknown = params_unknown(&s->plan.params, debug[i].name);
        yaml_keys_error(r, &at, "debug: %s", unknown);
        free(unknown);
    }
}

/* With --param2vals, refuses the keys that describe configurations. */
static void check_listed(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    static const char *const keys[] = { "params", "method",  "samples", "seed",  "zip",
                                        "when",   "exclude", "include", "budget" };

    for (size_t i = 0; i < root->n; i++)
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            struct yaml_node at = { .line = root->members[i].line,
                                    .column = root->members[i].column };

            if (strcmp(root->members[i].key, keys[k]) == 0)
                yaml_keys_error(r, &at, "%s: leave it out: --param2vals has the configurations",
                                keys[k]);
        }
}

/* Notes where the plan's keys stand.  Checks the plan only if the file has errors already: else
 * spec_override does it, with the command line applied. */
static void check_plan(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    const struct spec_reading *reading = r->context;
    struct plan *plan = &reading->spec->plan;
    unsigned refused = reading->method_was_refused ? PLAN_METHOD : 0;

    plan->params_at = plan->method_at = plan->samples_at = (struct spot){ 0, 0 };
    for (size_t i = 0; i < root->n; i++) {
        const struct yaml_member *m = &root->members[i];

        if (strcmp(m->key, "params") == 0)
            plan->params_at = (struct spot){ m->line, m->column };
        else if (strcmp(m->key, "method") == 0)
            plan->method_at = (struct spot){ m->node.line, m->node.column };
        else if (strcmp(m->key, "samples") == 0)
            plan->samples_at = (struct spot){ m->node.line, m->node.column };
    }
    if (plan->samples_at.line > 0 && plan->samples == 0)
        refused |= PLAN_SAMPLES;
    if (r->n_errors > 0 && !reading->has_no_params)
        plan_check_rest(plan, refused, r);
}

static void check_all(struct yaml_keys_reader *r, const struct yaml_node *root)
{
    struct spec *s = spec_of(r);
    const struct yaml_node *nodes = yaml_get(root, "nodes"), *project = yaml_get(root, "project");
    const char *const *names = s->nodes.items, *const *lines = s->setup.items;
    struct buf setup = { 0 };

    check_command(r, root);
    for (size_t i = 0; i < s->setup.n; i++)
        if (lines[i] != NULL) /* NULL: the line was refused */
            buf_printf(&setup, "%s%s", i > 0 ? "\n" : "", lines[i]);
    if (setup.n > COMMAND_MAX_BYTES)
        yaml_keys_error(r, yaml_get(root, "setup"), "setup: more than %d bytes", COMMAND_MAX_BYTES);
    if (setup.n > 0)
        s->work.setup = arena_strndup(r->arena, buf_text(&setup), setup.n);
    buf_free(&setup);
    if (project == NULL && s->folder != NULL)
        s->project = path_basename(s->folder);
    if (s->project == NULL && project == NULL)
        yaml_keys_error(r, root, "there is no 'project:'");
    else if (s->project != NULL && !layout_is_project_name(s->project))
        yaml_keys_error(r, project != NULL ? project : root,
                        "project: '%s' cannot be a folder on every system%s", s->project,
                        project != NULL ? "" : "; name it with 'project:'");
    if (s->name != NULL && strlen(s->name) > NAME_MAX_BYTES)
        yaml_keys_error(r, yaml_get(root, "name"), "name: more than %d bytes", NAME_MAX_BYTES);
    if (s->name != NULL && spec_has_control(s->name))
        yaml_keys_error(r, yaml_get(root, "name"), "name: a control character");
    s->has_nodes = nodes != NULL;
    for (size_t i = 0; s->has_nodes && i < s->nodes.n; i++)
        if (names[i] != NULL && !spec_is_node_name(names[i]))
            yaml_keys_error(r, spec_item_at(nodes, i), "nodes: '%s' is no name of a node or @group",
                            names[i]);
    if (s->list != NULL)
        check_listed(r, root);
    else
        spec_check_debug(r);
    s->has_modules = yaml_get(root, "modules") != NULL;
    spec_check_container(r, root);
    spec_check_environment(r, root);
    spec_check_work(r, root);
    spec_check_stop(r, root);
    spec_check_advisor(r, root);
    check_plan(r, root);
}

int spec_end(struct yaml_keys_reader *r, bool with_excerpts, struct err *e)
{
    static const size_t behind = sizeof "...\nand 18446744073709551615 more";
    const struct spec *s = spec_of(r);
    size_t n = ERR_TEXT_BYTES - behind, n_more = 0;
    struct buf *errors = &r->errors;
    bool is_cut;

    excerpt_sort(errors, r->file);
    /* Errors are cut to the whole lines that fit into a struct err, with the number of the others;
     * the first line is cut to its beginning. */
    if (errors->n >= ERR_TEXT_BYTES) {
        while (n > 0 && errors->bytes[n] != '\n')
            n--;
        if (n == 0)
            n = safe_text_whole(buf_text(errors), ERR_TEXT_BYTES - behind);
        for (size_t i = n; i < errors->n; i++)
            n_more += errors->bytes[i] == '\n';
        is_cut = errors->bytes[n] != '\n';
        errors->n = n;
        buf_add_str(errors, is_cut ? "..." : "");
        if (n_more > 0)
            buf_printf(errors, "\nand %zu more", n_more);
    }
    if (yaml_keys_end(r, e) == 0)
        return 0;
    if (with_excerpts)
        excerpt_add(e, s->file, (const char *)s->text.data);
    return -1;
}

/* ---- reading ---- */

/* Parses s->text; of s only file, folder, text and list are set before. */
static int parse_file(struct arena *a, struct spec *s, struct err *e)
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
        check_all(&r, root);
    return spec_end(&r, false, e);
}

int spec_parse(const char *file, const char *folder, const char *text, size_t n, struct arena *a,
               struct spec *s, struct err *e)
{
    *s = (struct spec){ .file = file, .folder = folder, .text = { (const uint8_t *)text, n } };
    return parse_file(a, s, e);
}

/* ---- files ---- */

int spec_read_listed(const char *path, const char *list, struct arena *a, struct spec *s,
                     struct err *e)
{
    char *dir = path_dirname(path), *real = NULL;
    struct buf text = { 0 };
    struct spool spool = { 0 };
    struct stat st;
    int result;

    *s = (struct spec){ .file = spool_name(path), .list = list };
    if (strcmp(path, "-") != 0) {
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            result = err_set(e, ERR_USAGE, "%s is a folder; name the sweep file in it", path);
        else
            result = io_read_file(path, SPEC_MAX_BYTES, &text, e);
        if (result < 0 && e != NULL)
            e->kind = ERR_USAGE;
    } else {
        result = spool_read(&spool, "-", e);
        if (result == 0 && spool.text.n > SPEC_MAX_BYTES)
            result = err_set(e, ERR_USAGE, SPOOL_STDIN " is larger than %d bytes", SPEC_MAX_BYTES);
        else if (result == 0)
            buf_add(&text, spool.text.data, spool.text.n);
        spool_free(&spool);
    }
    if (result < 0)
        goto out;
    result = -1;
    real = path_real(dir, e);
    if (real == NULL)
        goto out;
    s->folder = arena_strdup(a, real);
    s->text = (struct bytes){ (const uint8_t *)arena_strndup(a, buf_text(&text), text.n), text.n };
    result = parse_file(a, s, e);
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
