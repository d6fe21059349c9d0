/* SPDX-License-Identifier: MIT */
/* slurmargs.c - the arguments, the environment and the script that Slurm's commands get */

#include "server/slurm/slurmargs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/template.h"
#include "common/proto/sbatch.h"
#include "server/slurm/slurmread.h"

struct args {
    struct arena *arena;
    char **items;
    size_t n, capacity;
};

static void add(struct args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct args *args, const char *format, ...)
{
    va_list ap;
    char *text;

    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    assert(args->n < args->capacity);
    args->items[args->n++] = arena_strdup(args->arena, text);
    free(text);
}

/* Room for the first one and capacity others. */
static struct args args_of(const char *first, size_t capacity, struct arena *a)
{
    struct args args = { .arena = a,
                         .items = arena_alloc(a, (capacity + 2) * sizeof *args.items),
                         .capacity = capacity + 1 };

    add(&args, "%s", first);
    return args;
}

/* ---- sbatch ---- */

/* A text for that option; NULL: it is not given. */
static int add_text(struct args *args, const char *option, const char *text, struct err *e)
{
    if (text == NULL)
        return 0;
    if (!sbatch_is_word(text))
        return err_set(e, ERR_USAGE, "sbatch %s: '%.80s' cannot be a value", option, text);
    add(args, "%s=%s", option, text);
    return 0;
}

static int add_pool(struct args *args, const struct slurm_pool *pool, struct err *e)
{
    const char *const *extra = pool->extra.items, *const *exclude = pool->exclude.items;
    struct buf nodes = { 0 };
    int rc;

    /* Before ours, which count: sbatch takes the last one of a kind. */
    for (size_t i = 0; i < pool->extra.n; i++) {
        if (sbatch_check_extra(extra[i], e) < 0)
            return err_wrap(e, "extra");
        add(args, "%s", extra[i]);
    }
    if (pool->partition == NULL || !sbatch_is_partition(pool->partition))
        return err_set(e, ERR_USAGE, "'%.80s' is no name of a partition",
                       pool->partition == NULL ? "" : pool->partition);
    for (size_t i = 0; i < pool->exclude.n; i++)
        buf_printf(&nodes, "%s%s", i > 0 ? "," : "", exclude[i]);
    rc = add_text(args, "--partition", pool->partition, e) < 0 ||
                 add_text(args, "--account", pool->account, e) < 0 ||
                 add_text(args, "--qos", pool->qos, e) < 0 ||
                 add_text(args, "--constraint", pool->constraint, e) < 0 ||
                 add_text(args, "--exclude", nodes.n > 0 ? buf_text(&nodes) : NULL, e) < 0
             ? -1
             : 0;
    buf_free(&nodes);
    return rc;
}

static int64_t round_up(int64_t number, int64_t unit)
{
    return number / unit + (number % unit > 0);
}

/* In a file's name sbatch puts something else for '%' and a letter. */
static char *escape_name(const char *path, struct arena *a)
{
    struct buf text = { 0 };

    for (; *path != '\0'; path++)
        buf_printf(&text, "%s%c", *path == '%' ? "%" : "", *path);
    return buf_to_arena(&text, a);
}

char **slurm_sbatch_args(const struct pilot_request *r, struct arena *a, struct err *e)
{
    enum { OURS = 24 };
    struct args args = args_of("sbatch", r->pool->extra.n + OURS, a);
    const char *log = escape_name(r->log, a), *end = strrchr(log, '.');

    add(&args, "--propagate=NONE"); /* ludwigd's limits are not those of its users */
    if (add_pool(&args, r->pool, e) < 0)
        return NULL;
    add(&args, "--nodes=1");
    add(&args, "--ntasks=1");
    add(&args, "--cpus-per-task=%" PRId64, r->cpus < 1 ? 1 : r->cpus);
    if (r->memory_bytes > 0)
        add(&args, "--mem=%" PRId64 "M", round_up(r->memory_bytes, 1 << 20));
    if (r->time_ms > 0)
        add(&args, "--time=%" PRId64, round_up(r->time_ms, 60000));
    if (r->pool->gres == NULL && r->gpus > 0)
        add(&args, "--gres=gpu:%" PRId64, r->gpus);
    if (r->n > 1)
        add(&args, "--array=0-%" PRId64, r->n - 1);
    if (r->n > 1 && end != NULL) /* a log that all of an array append to is read by nobody */
        log = arena_printf(a, "%.*s_%%a%s", (int)(end - log), log, end);
    if (add_text(&args, "--gres", r->pool->gres, e) < 0 ||
        add_text(&args, "--job-name", r->name, e) < 0 ||
        add_text(&args, "--comment", r->comment, e) < 0 ||
        add_text(&args, "--chdir", r->folder, e) < 0 || add_text(&args, "--output", log, e) < 0 ||
        add_text(&args, "--signal", r->signal, e) < 0)
        return NULL;
    add(&args, "--input=/dev/null");
    add(&args, "--open-mode=append");
    add(&args, "--no-requeue");
    add(&args, "--parsable");
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

/* ---- the others ---- */

/* The option, and all jobs with commas between. */
static void add_joined(struct args *args, const char *option, const char *const *jobs, size_t n)
{
    struct buf text = { 0 };

    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : option, jobs[i]);
    add(args, "%s", buf_text(&text));
    buf_free(&text);
}

char **slurm_squeue_args(bool by_name, const char *const *texts, size_t n, struct arena *a)
{
    struct args args = args_of("squeue", 4, a);

    add(&args, "--noheader");
    add(&args, "--states=all");
    add(&args, "%s", "--format=" SLURM_JOBS_FORMAT);
    add_joined(&args, by_name ? "--name=" : "--jobs=", texts, n);
    return args.items;
}

char **slurm_sacct_args(const char *const *jobs, size_t n, struct arena *a)
{
    struct args args = args_of("sacct", 7, a);

    add(&args, "--noheader");
    add(&args, "--parsable2");
    add(&args, "--allocations");
    add(&args, "--duplicates");
    add(&args, "--delimiter=" SLURM_SEPARATOR);
    add(&args, "--format=" SLURM_ENDED_FIELDS);
    add_joined(&args, "--jobs=", jobs, n);
    return args.items;
}

char **slurm_scancel_args(const char *const *jobs, size_t n, struct arena *a)
{
    struct args args = args_of("scancel", n, a);

    for (size_t i = 0; i < n; i++)
        add(&args, "%s", jobs[i]);
    return args.items;
}

char **slurm_env(const struct slurm_user *user, const char *path, const char *conf, bool is_read,
                 struct arena *a)
{
    struct args env = args_of("LC_ALL=C", 8, a);

    add(&env, "PATH=%s", path);
    add(&env, "HOME=%s", user->home);
    add(&env, "USER=%s", user->name);
    add(&env, "LOGNAME=%s", user->name);
    add(&env, "SHELL=%s", user->shell);
    if (conf != NULL)
        add(&env, "SLURM_CONF=%s", conf);
    if (is_read) {
        add(&env, "%s", "SLURM_TIME_FORMAT=%s");
        add(&env, "SLURM_BITSTR_LEN=0");
    }
    return env.items;
}
