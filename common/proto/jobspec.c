/* SPDX-License-Identifier: MIT */
/* jobspec.c - field tables of a sweep's work, and the digest that is equal for the same jobs */

#include "common/proto/jobspec.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

static const struct field env_entry_fields[] = {
    FIELD(struct env_entry, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct env_entry, value, FIELD_STR, FIELD_REQUIRED, COMMAND_MAX_BYTES),
};
const struct schema env_entry_schema = SCHEMA(struct env_entry, "env_entry", env_entry_fields);

static const struct field dataset_fields[] = {
    FIELD(struct dataset, tree, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct dataset, id, FIELD_DIGEST, FIELD_REQUIRED, 0),
    FIELD(struct dataset, files, FIELD_INT, 0, INT64_C(1) << 60),
    FIELD(struct dataset, bytes, FIELD_INT, 0, INT64_C(1) << 60),
};
const struct schema dataset_schema = SCHEMA(struct dataset, "dataset", dataset_fields);

static const struct field data_entry_fields[] = {
    FIELD(struct data_entry, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD_OF(struct data_entry, set, FIELD_STRUCT, FIELD_REQUIRED, 0, &dataset_schema),
    FIELD(struct data_entry, link, FIELD_STR, 0, 4096),
};
const struct schema data_entry_schema = SCHEMA(struct data_entry, "data_entry", data_entry_fields);

static const struct field resources_fields[] = {
    FIELD(struct resources, cpus_milli, FIELD_INT, 0, 1000000000),
    FIELD(struct resources, gpus_milli, FIELD_INT, 0, 10000000),
    FIELD(struct resources, memory_bytes, FIELD_INT, 0, INT64_C(1) << 53),
    FIELD(struct resources, time_ms, FIELD_INT, 0, INT64_C(1) << 53),
    FIELD(struct resources, disk_bytes, FIELD_INT, 0, INT64_C(1) << 53),
};
const struct schema resources_schema = SCHEMA(struct resources, "resources", resources_fields);

static const struct field checkpoint_fields[] = {
    FIELD(struct checkpoint, signal, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct checkpoint, grace_ms, FIELD_INT, 0, INT64_C(1) << 53),
    FIELD(struct checkpoint, every_ms, FIELD_INT, 0, INT64_C(1) << 53),
    FIELD(struct checkpoint, keep, FIELD_BOOL, 0, 0),
};
const struct schema checkpoint_schema = SCHEMA(struct checkpoint, "checkpoint", checkpoint_fields);

static const struct field log_limit_fields[] = {
    FIELD(struct log_limit, max_bytes, FIELD_INT, 0, INT64_C(1) << 53),
};
const struct schema log_limit_schema = SCHEMA(struct log_limit, "log_limit", log_limit_fields);

static const struct field environment_fields[] = {
    FIELD(struct environment, path, FIELD_STR, 0, 4096),
    FIELD(struct environment, kind, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct environment, python, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct environment, was_active, FIELD_BOOL, 0, 0),
    FIELD(struct environment, decides, FIELD_BOOL, 0, 0),
    FIELD(struct environment, paths, FIELD_STRS, 0, 100),
    FIELD_OF(struct environment, variables, FIELD_LIST, 0, 100, &env_entry_schema),
    FIELD(struct environment, modules, FIELD_STRS, 0, MODULES_MAX),
    FIELD(struct environment, modules_were_loaded, FIELD_BOOL, 0, 0),
    FIELD(struct environment, data, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct environment, base, FIELD_STR, 0, 4096),
    FIELD(struct environment, tool, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct environment, file, FIELD_STR, 0, 4096),
    FIELD(struct environment, interpreter, FIELD_STR, 0, 4096),
    FIELD(struct environment, options, FIELD_STRS, 0, 100),
};
const struct schema environment_schema =
    SCHEMA(struct environment, "environment", environment_fields);

static const struct field work_fields[] = {
    FIELD(struct jobspec, command, FIELD_STR, FIELD_REQUIRED, COMMAND_MAX_BYTES),
    FIELD(struct jobspec, setup, FIELD_STR, 0, COMMAND_MAX_BYTES),
    FIELD(struct jobspec, container, FIELD_STR, 0, 4096),
    FIELD_OF(struct jobspec, env, FIELD_LIST, 0, 1000 + PASSED_MAX, &env_entry_schema),
    FIELD(struct jobspec, passed, FIELD_STRS, 0, PASSED_MAX),
    FIELD_OF(struct jobspec, resources, FIELD_STRUCT, FIELD_REQUIRED, 0, &resources_schema),
    FIELD_OF(struct jobspec, checkpoint, FIELD_STRUCT, 0, 0, &checkpoint_schema),
    FIELD(struct jobspec, batch, FIELD_INT, 0, BATCH_MAX),
    FIELD_OF(struct jobspec, source, FIELD_STRUCT, 0, 0, &dataset_schema),
    FIELD_OF(struct jobspec, data, FIELD_LIST, 0, 1000, &data_entry_schema),
    FIELD(struct jobspec, git_commit, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct jobspec, git_dirty, FIELD_BOOL, 0, 0),
    FIELD(struct jobspec, same_source, FIELD_DIGEST, 0, 0),
    FIELD_OF(struct jobspec, log, FIELD_STRUCT, 0, 0, &log_limit_schema),
    FIELD_OF(struct jobspec, environment, FIELD_STRUCT, 0, 0, &environment_schema),
};
const struct schema work_schema = SCHEMA(struct jobspec, "work", work_fields);

static const struct field metric_fields[] = {
    FIELD(struct metric, name, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct metric, value, FIELD_FLOAT, FIELD_REQUIRED, 0),
    FIELD(struct metric, step, FIELD_INT, FIELD_NULLABLE, INT64_C(1) << 53),
    FIELD(struct metric, min, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct metric, max, FIELD_FLOAT, FIELD_NULLABLE, 0),
    FIELD(struct metric, n, FIELD_INT, 0, INT64_C(1) << 53),
};
const struct schema metric_schema = SCHEMA(struct metric, "metric", metric_fields);

static const struct field retry_grow_fields[] = {
    FIELD(struct retry_grow, memory_milli, FIELD_INT, 0, GROW_MAX_MILLI),
    FIELD(struct retry_grow, time_milli, FIELD_INT, 0, GROW_MAX_MILLI),
};
const struct schema retry_grow_schema = SCHEMA(struct retry_grow, "retry_grow", retry_grow_fields);

static const struct field retry_up_to_fields[] = {
    FIELD(struct retry_up_to, memory_bytes, FIELD_INT, 0, INT64_C(1) << 53),
    FIELD(struct retry_up_to, time_ms, FIELD_INT, 0, INT64_C(1) << 53),
};
const struct schema retry_up_to_schema =
    SCHEMA(struct retry_up_to, "retry_up_to", retry_up_to_fields);

static const struct field retry_fields[] = {
    FIELD(struct retry, max, FIELD_INT, 0, RETRIES_MAX),
    FIELD(struct retry, on, FIELD_STRS, 0, 300),
    /* The "!" makes an older ludwigd refuse the field: it would try a job again without growth. */
    { "!grow", offsetof(struct retry, grow), FIELD_STRUCT, 0, 0, &retry_grow_schema, NULL },
    FIELD_OF(struct retry, up_to, FIELD_STRUCT, 0, 0, &retry_up_to_schema),
};
const struct schema retry_schema = SCHEMA(struct retry, "retry", retry_fields);

static const struct field guard_fields[] = {
    FIELD(struct guard_policy, off, FIELD_BOOL, 0, 0),
    FIELD(struct guard_policy, failures, FIELD_INT, 0, GUARD_FAILURES_MAX),
    FIELD(struct guard_policy, nan, FIELD_BOOL, 0, 0),
};
const struct schema guard_schema = SCHEMA(struct guard_policy, "guard", guard_fields);

const char *const stop_words[STOP_WORDS] = { "asha", "median", "patience", "threshold" };

static const struct field stop_fields[] = {
    FIELD(struct stop_policy, rule, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct stop_policy, step, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct stop_policy, first, FIELD_INT, 0, STEP_MAX),
    FIELD(struct stop_policy, eta, FIELD_FLOAT, 0, 0),
    FIELD(struct stop_policy, max_step, FIELD_INT, 0, STEP_MAX),
    FIELD(struct stop_policy, patience, FIELD_INT, 0, STEP_MAX),
    FIELD(struct stop_policy, min_delta, FIELD_FLOAT, 0, 0),
    FIELD(struct stop_policy, has_threshold, FIELD_BOOL, 0, 0),
    FIELD(struct stop_policy, threshold, FIELD_FLOAT, 0, 0),
    /* The "!" makes an older ludwigd refuse the field: it would run all replications. */
    { "!race", offsetof(struct stop_policy, race), FIELD_INT, 0, RACE_REPS_MAX, NULL, NULL },
    FIELD(struct stop_policy, best, FIELD_INT, 0, RACE_REPS_MAX),
    FIELD(struct stop_policy, resume, FIELD_BOOL, 0, 0),
};
const struct schema stop_policy_schema = SCHEMA(struct stop_policy, "stop_policy", stop_fields);

static const struct field live_fields[] = {
    FIELD(struct live_policy, metric, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct live_policy, step, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct live_policy, tells, FIELD_BOOL, 0, 0),
    FIELD(struct live_policy, ends_nan, FIELD_BOOL, 0, 0),
};
const struct schema live_schema = SCHEMA(struct live_policy, "live_policy", live_fields);

static const struct field slurm_pool_fields[] = {
    FIELD(struct slurm_pool, partition, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct slurm_pool, account, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct slurm_pool, qos, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct slurm_pool, constraint, FIELD_STR, 0, 4096),
    FIELD(struct slurm_pool, gres, FIELD_STR, 0, 4096),
    FIELD(struct slurm_pool, exclude, FIELD_STRS, 0, 1000),
    FIELD(struct slurm_pool, extra, FIELD_STRS, 0, 100),
    FIELD(struct slurm_pool, pilot_jobs, FIELD_INT, 0, 1),
};
const struct schema slurm_pool_schema = SCHEMA(struct slurm_pool, "slurm_pool", slurm_pool_fields);

const char *const goal_names[GOAL_COUNT] = { "max", "min" };

static const struct field ranking_fields[] = {
    FIELD(struct ranking, metric, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD_NAMED(struct ranking, goal, 0, goal_names, GOAL_COUNT),
};
const struct schema ranking_schema = SCHEMA(struct ranking, "ranking", ranking_fields);

const char *jobspec_missing(const struct list *passed, const struct list *entries)
{
    const char *const *names = passed->items;
    const struct env_entry *known = entries->items;

    for (size_t i = 0; i < passed->n; i++) {
        size_t k = 0;

        while (k < entries->n && strcmp(known[k].name, names[i]) != 0)
            k++;
        if (k == entries->n)
            return names[i];
    }
    return NULL;
}

int jobspec_check_variable(const char *name, struct err *e)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    if (name[0] == '\0' || isdigit((unsigned char)name[0]) ||
        strspn(name, letters) != strlen(name) || strlen(name) > NAME_MAX_BYTES)
        return err_set(e, ERR_USAGE, "env: '%s' is no name for a variable", name);
    if (strncmp(name, "LUDWIG_", 7) == 0)
        return err_set(e, ERR_USAGE, "env: %s: names that begin with LUDWIG_ are ludwig's own",
                       name);
    return 0;
}

static bool is_code(const char *text, int64_t code)
{
    char number[24];

    snprintf(number, sizeof number, "%lld", (long long)code);
    return strcmp(text, number) == 0;
}

bool retry_names(const struct retry *r, enum cause cause)
{
    const char *const *on = r->on.items;

    for (size_t i = 0; i < r->on.n; i++)
        if (strcmp(on[i], cause_names[cause]) == 0)
            return true;
    return false;
}

bool retry_grows(const struct retry *r)
{
    return r->grow.memory_milli > 0 || r->grow.time_milli > 0;
}

bool retry_lists(const struct retry *r, enum cause cause, int64_t exit_code, int64_t signal)
{
    const char *const *on = r->on.items;

    for (size_t i = 0; i < r->on.n; i++)
        if (strcmp(on[i], cause_names[cause]) == 0 ||
            (cause_is_preemption(cause) && strcmp(on[i], cause_names[CAUSE_PREEMPTED]) == 0) ||
            (exit_code != SCHEMA_NONE && is_code(on[i], exit_code)) ||
            (signal != SCHEMA_NONE && is_code(on[i], 128 + signal)))
            return true;
    return false;
}

/* The part of the environment that counts for the digest.  If nodes get a copy of it, the copy's
 * content counts as one of data, and path does not. */
static struct environment same_environment(const struct environment *x)
{
    struct environment same = { 0 };

    if (x->decides)
        same = (struct environment){ .path = x->data == NULL ? x->path : NULL,
                                     .kind = x->kind,
                                     .python = x->python,
                                     .decides = true,
                                     .tool = x->tool,
                                     .file = x->file,
                                     .interpreter = x->interpreter,
                                     .options = x->options };
    if (x->decides || !x->modules_were_loaded)
        same.modules = x->modules;
    return same;
}

static bool is_copy_of_environment(const struct environment *x, const struct data_entry *data)
{
    return x->data != NULL && strcmp(x->data, data->name) == 0;
}

void jobspec_digest(const struct jobspec *w, struct digest *d)
{
    const struct data_entry *data = w->data.items;
    struct data_entry *same_data = mem_alloc(w->data.n * sizeof *same_data);
    struct jobspec same = *w;
    struct buf text = { 0 };

    same.data = (struct list){ same_data, 0 };
    for (size_t i = 0; i < w->data.n; i++)
        if (w->environment.decides || !is_copy_of_environment(&w->environment, &data[i]))
            same_data[same.data.n++] =
                (struct data_entry){ data[i].name, { .tree = data[i].set.tree }, data[i].link };
    same.environment = same_environment(&w->environment);
    same.source = (struct dataset){ .tree = digest_is_zero(&w->same_source) ? w->source.tree
                                                                            : w->same_source };
    same.same_source = (struct digest){ 0 };
    same.passed = (struct list){ 0 };
    same.resources = (struct resources){ 0 };
    same.checkpoint = (struct checkpoint){ 0 };
    same.batch = 0;
    same.git_commit = NULL;
    same.git_dirty = false;
    same.log = (struct log_limit){ 0 };
    buf_add_str(&text, "ludwig work 2\n");
    schema_encode(&work_schema, &same, &text);
    digest_of(text.bytes, text.n, d);
    buf_free(&text);
    free(same_data);
}
