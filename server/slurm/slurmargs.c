/* SPDX-License-Identifier: MIT */
/* slurmargs.c - the arguments, the environment and the script that Slurm's commands get */

#include "server/slurm/slurmargs.h"

#include <inttypes.h>
#include <string.h>

#include "common/data/template.h"
#include "common/proto/sbatch.h"
#include "server/slurm/slurmread.h"

struct args {
    struct arena *arena;
    char **items;
    size_t n, capacity;
    struct err *e;
    bool is_wrong;
};

static void args_begin(struct args *args, struct arena *a, size_t capacity, const char *program)
{
    *args = (struct args){ .arena = a,
                           .items = arena_alloc(a, (capacity + 2) * sizeof *args->items),
                           .capacity = capacity + 1 };
    args->items[args->n++] = arena_strdup(a, program);
}

static void add(struct args *args, char *text)
{
    if (args->n < args->capacity)
        args->items[args->n++] = text;
    else
        args->is_wrong = true;
}

static void add_fixed(struct args *args, const char *text)
{
    add(args, arena_strdup(args->arena, text));
}

static void add_number(struct args *args, const char *option, int64_t number)
{
    add(args, arena_printf(args->arena, "%s=%" PRId64, option, number));
}

/* A text for that option; NULL: it is not given. */
static void add_text(struct args *args, const char *option, const char *text)
{
    if (text == NULL || args->is_wrong)
        return;
    if (!sbatch_is_word(text)) {
        err_set(args->e, ERR_USAGE, "sbatch %s: '%.80s' cannot be a value", option, text);
        args->is_wrong = true;
        return;
    }
    add(args, arena_printf(args->arena, "%s=%s", option, text));
}

static void add_partition(struct args *args, const char *name)
{
    if (name == NULL || !sbatch_is_partition(name)) {
        err_set(args->e, ERR_USAGE, "'%.80s' is no name of a partition", name == NULL ? "" : name);
        args->is_wrong = true;
        return;
    }
    add_text(args, "--partition", name);
}

/* Before ours, which count: sbatch takes the last one of a kind. */
static void add_extra(struct args *args, const struct list *extra)
{
    const char *const *options = extra->items;

    for (size_t i = 0; i < extra->n && !args->is_wrong; i++) {
        if (sbatch_check_extra(options[i], args->e) < 0) {
            err_wrap(args->e, "extra");
            args->is_wrong = true;
        }
        add_fixed(args, options[i]);
    }
}

static void add_excluded(struct args *args, const struct list *exclude)
{
    const char *const *nodes = exclude->items;
    struct buf text = { 0 };

    for (size_t i = 0; i < exclude->n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", nodes[i]);
    if (exclude->n > 0)
        add_text(args, "--exclude", buf_text(&text));
    buf_free(&text);
}

/* In a file's name sbatch puts something else for '%' and a letter. */
static char *escape_name(const char *path, struct arena *a)
{
    struct buf text = { 0 };
    char *escaped;

    for (; *path != '\0'; path++)
        buf_printf(&text, "%s%c", *path == '%' ? "%" : "", *path);
    escaped = arena_strdup(a, buf_text(&text));
    buf_free(&text);
    return escaped;
}

/* One that all of an array append to is read by nobody. */
static const char *name_log(const struct pilot_request *r, struct arena *a)
{
    const char *log = escape_name(r->log, a), *end = strrchr(log, '.');

    if (r->n <= 1 || end == NULL)
        return log;
    return arena_printf(a, "%.*s_%%a%s", (int)(end - log), log, end);
}

static int64_t round_up(int64_t number, int64_t unit)
{
    return number / unit + (number % unit > 0);
}

static void add_pool(struct args *args, const struct slurm_pool *pool)
{
    add_partition(args, pool->partition);
    add_text(args, "--account", pool->account);
    add_text(args, "--qos", pool->qos);
    add_text(args, "--constraint", pool->constraint);
    add_excluded(args, &pool->exclude);
}

static void add_size(struct args *args, const struct pilot_request *r)
{
    add_fixed(args, "--nodes=1");
    add_fixed(args, "--ntasks=1");
    add_number(args, "--cpus-per-task", r->cpus < 1 ? 1 : r->cpus);
    if (r->memory_bytes > 0)
        add(args,
            arena_printf(args->arena, "--mem=%" PRId64 "M", round_up(r->memory_bytes, 1 << 20)));
    if (r->time_ms > 0)
        add_number(args, "--time", round_up(r->time_ms, 60000));
    if (r->pool->gres != NULL)
        add_text(args, "--gres", r->pool->gres);
    else if (r->gpus > 0)
        add(args, arena_printf(args->arena, "--gres=gpu:%" PRId64, r->gpus));
}

static void add_array(struct args *args, const struct pilot_request *r)
{
    if (r->n <= 1)
        return;
    if (r->at_once > 0)
        add(args,
            arena_printf(args->arena, "--array=0-%" PRId64 "%%%" PRId64, r->n - 1, r->at_once));
    else
        add(args, arena_printf(args->arena, "--array=0-%" PRId64, r->n - 1));
}

static void add_ours(struct args *args, const struct pilot_request *r)
{
    add_array(args, r);
    add_text(args, "--job-name", r->name);
    add_text(args, "--comment", r->comment);
    add_text(args, "--chdir", r->folder);
    add_text(args, "--output", name_log(r, args->arena));
    add_text(args, "--signal", r->signal);
    add_fixed(args, "--input=/dev/null");
    add_fixed(args, "--open-mode=append");
    add_fixed(args, r->is_requeued ? "--requeue" : "--no-requeue");
    add_fixed(args, "--parsable");
}

char **slurm_sbatch_args(const struct pilot_request *r, struct arena *a, struct err *e)
{
    enum { OURS = 24 };
    struct args args;

    args_begin(&args, a, r->pool->extra.n + OURS, "sbatch");
    args.e = e;
    add_fixed(&args, "--propagate=NONE"); /* ludwigd's limits are not those of its users */
    add_extra(&args, &r->pool->extra);
    add_pool(&args, r->pool);
    add_size(&args, r);
    add_ours(&args, r);
    return args.is_wrong ? NULL : args.items;
}

static char *join(const char *option, const char *const *jobs, size_t n, struct arena *a)
{
    struct buf text = { 0 };
    char *joined;

    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : option, jobs[i]);
    joined = arena_strdup(a, buf_text(&text));
    buf_free(&text);
    return joined;
}

static char **squeue_args(char *which, struct arena *a)
{
    struct args args;

    args_begin(&args, a, 5, "squeue");
    add_fixed(&args, "--noheader");
    add_fixed(&args, "--states=all");
    add_fixed(&args, "--format=" SLURM_JOBS_FORMAT);
    add(&args, which);
    return args.items;
}

char **slurm_squeue_args(const char *const *jobs, size_t n, struct arena *a)
{
    return squeue_args(join("--jobs=", jobs, n, a), a);
}

char **slurm_find_args(const char *const *names, size_t n, struct arena *a)
{
    return squeue_args(join("--name=", names, n, a), a);
}

char **slurm_sacct_args(const char *const *jobs, size_t n, struct arena *a)
{
    struct args args;

    args_begin(&args, a, 8, "sacct");
    add_fixed(&args, "--noheader");
    add_fixed(&args, "--parsable2");
    add_fixed(&args, "--allocations");
    add_fixed(&args, "--duplicates");
    add_fixed(&args, "--delimiter=" SLURM_SEPARATOR);
    add_fixed(&args, "--format=" SLURM_ENDED_FIELDS);
    add(&args, join("--jobs=", jobs, n, a));
    return args.items;
}

char **slurm_scancel_args(const char *const *jobs, size_t n, struct arena *a)
{
    struct args args;

    args_begin(&args, a, n, "scancel");
    for (size_t i = 0; i < n; i++)
        add_fixed(&args, jobs[i]);
    return args.items;
}

void slurm_add_script(struct buf *out, const char *const *program)
{
    buf_add_str(out, "#!/bin/sh\nexec");
    for (; *program != NULL; program++) {
        buf_add_char(out, ' ');
        template_add_quoted(out, *program, strlen(*program));
    }
    buf_add_char(out, '\n');
}

static void env_begin(struct args *env, const struct slurm_user *user, const char *path,
                      const char *conf, struct arena *a)
{
    args_begin(env, a, 10, "LC_ALL=C");
    add(env, arena_printf(a, "PATH=%s", path));
    add(env, arena_printf(a, "HOME=%s", user->home));
    add(env, arena_printf(a, "USER=%s", user->name));
    add(env, arena_printf(a, "LOGNAME=%s", user->name));
    add(env, arena_printf(a, "SHELL=%s", user->shell));
    if (conf != NULL)
        add(env, arena_printf(a, "SLURM_CONF=%s", conf));
}

char **slurm_env(const struct slurm_user *user, const char *path, const char *conf, struct arena *a)
{
    struct args env;

    env_begin(&env, user, path, conf, a);
    return env.items;
}

char **slurm_reader_env(const struct slurm_user *user, const char *path, const char *conf,
                        struct arena *a)
{
    struct args env;

    env_begin(&env, user, path, conf, a);
    add_fixed(&env, "SLURM_TIME_FORMAT=%s");
    add_fixed(&env, "SLURM_BITSTR_LEN=0");
    return env.items;
}
