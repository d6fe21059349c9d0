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

static void add_arg(struct args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_arg(struct args *args, const char *format, ...)
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

/* Begins a list with its first word and room for capacity others. */
static struct args args_of(const char *first, size_t capacity, struct arena *a)
{
    struct args args = { .arena = a,
                         .items = arena_alloc(a, (capacity + 2) * sizeof *args.items),
                         .capacity = capacity + 1 };

    add_arg(&args, "%s", first);
    return args;
}

/* ---- sbatch ---- */

/* Adds the option with a text; text NULL: adds nothing. */
static int add_text(struct args *args, const char *option, const char *text, struct err *e)
{
    if (text == NULL)
        return 0;
    if (!sbatch_is_word(text))
        return err_set(e, ERR_USAGE, "sbatch %s: '%.80s' cannot be a value", option, text);
    add_arg(args, "%s=%s", option, text);
    return 0;
}

static int add_pool(struct args *args, const struct slurm_pool *pool, struct err *e)
{
    const char *const *extra = pool->extra.items, *const *exclude = pool->exclude.items;
    struct buf nodes = { 0 };
    int rc;

    /* The user's options stand before ours, which count: sbatch takes the last one of a kind. */
    for (size_t i = 0; i < pool->extra.n; i++) {
        if (sbatch_check_extra(extra[i], e) < 0)
            return err_wrap(e, "extra");
        add_arg(args, "%s", extra[i]);
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

/* Doubles '%': in a file's name sbatch replaces '%' and a letter. */
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

    add_arg(&args, "--propagate=NONE"); /* ludwigd's limits are not those of its users */
    if (add_pool(&args, r->pool, e) < 0)
        return NULL;
    add_arg(&args, "--nodes=1");
    add_arg(&args, "--ntasks=1");
    add_arg(&args, "--cpus-per-task=%" PRId64, r->cpus < 1 ? 1 : r->cpus);
    if (r->memory_bytes > 0)
        add_arg(&args, "--mem=%" PRId64 "M", round_up(r->memory_bytes, 1 << 20));
    if (r->time_ms > 0)
        add_arg(&args, "--time=%" PRId64, round_up(r->time_ms, 60000));
    if (r->pool->gres == NULL && r->gpus > 0)
        add_arg(&args, "--gres=gpu:%" PRId64, r->gpus);
    if (r->n > 1)
        add_arg(&args, "--array=0-%" PRId64, r->n - 1);
    if (r->n > 1 && end != NULL) /* each task of an array gets a log of its own */
        log = arena_printf(a, "%.*s_%%a%s", (int)(end - log), log, end);
    if (add_text(&args, "--gres", r->pool->gres, e) < 0 ||
        add_text(&args, "--job-name", r->name, e) < 0 ||
        add_text(&args, "--comment", r->comment, e) < 0 ||
        add_text(&args, "--chdir", r->folder, e) < 0 || add_text(&args, "--output", log, e) < 0 ||
        add_text(&args, "--signal", r->signal, e) < 0)
        return NULL;
    add_arg(&args, "--input=/dev/null");
    add_arg(&args, "--open-mode=append");
    add_arg(&args, "--no-requeue");
    add_arg(&args, "--parsable");
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

/* ---- other commands ---- */

/* Adds the option with the ids of all jobs, joined by commas. */
static void add_joined(struct args *args, const char *option, const char *const *jobs, size_t n)
{
    struct buf text = { 0 };

    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : option, jobs[i]);
    add_arg(args, "%s", buf_text(&text));
    buf_free(&text);
}

char **slurm_squeue_args(bool by_name, const char *const *texts, size_t n, struct arena *a)
{
    struct args args = args_of("squeue", 3, a);

    add_arg(&args, "--noheader");
    add_arg(&args, "--states=all");
    add_joined(&args, by_name ? "--name=" : "--jobs=", texts, n);
    return args.items;
}

char **slurm_squeue_env(char *const *env, const char *mark, struct arena *a)
{
    struct args args = { .arena = a };
    size_t n = 0;

    while (env[n] != NULL)
        n++;
    args.items = arena_alloc(a, (n + 2) * sizeof *args.items);
    args.capacity = n + 1;
    for (size_t i = 0; i < n; i++)
        add_arg(&args, "%s", env[i]);
    add_arg(&args, "SQUEUE_FORMAT=%s%s", mark, SLURM_JOBS_FORMAT);
    return args.items;
}

char **slurm_sacct_args(const char *const *jobs, size_t n, const char *const *names, size_t n_names,
                        struct arena *a)
{
    struct args args = args_of("sacct", 8, a);

    add_arg(&args, "--noheader");
    add_arg(&args, "--parsable2");
    add_arg(&args, "--allocations");
    add_arg(&args, "--duplicates");
    add_arg(&args, "--delimiter=" SLURM_SEPARATOR);
    add_arg(&args, "--format=" SLURM_ENDED_FIELDS);
    add_joined(&args, "--name=", names, n_names);
    add_joined(&args, "--jobs=", jobs, n);
    return args.items;
}

char **slurm_scancel_args(const char *user, const char *const *jobs, size_t n, struct arena *a)
{
    struct args args = args_of("scancel", n + 1, a);

    if (user != NULL)
        add_arg(&args, "--user=%s", user);
    for (size_t i = 0; i < n; i++)
        add_arg(&args, "%s", jobs[i]);
    return args.items;
}

char **slurm_env(const struct slurm_user *user, const char *path, const char *conf, bool is_read,
                 struct arena *a)
{
    struct args env = args_of("LC_ALL=C", 8, a);

    add_arg(&env, "PATH=%s", path);
    add_arg(&env, "HOME=%s", user->home);
    add_arg(&env, "USER=%s", user->name);
    add_arg(&env, "LOGNAME=%s", user->name);
    add_arg(&env, "SHELL=%s", user->shell);
    if (conf != NULL)
        add_arg(&env, "SLURM_CONF=%s", conf);
    if (is_read) {
        add_arg(&env, "%s", "SLURM_TIME_FORMAT=%s");
        add_arg(&env, "SLURM_BITSTR_LEN=0");
    }
    return env.items;
}
