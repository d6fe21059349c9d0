/* SPDX-License-Identifier: MIT */
/* container.c - a job's command inside an image, by apptainer or singularity */

#include "worker/runner/container.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/path.h"
#include "worker/base/shell_words.h"
#include "worker/runner/jobenv.h"

/* Where ludwig lies inside: its folder outside may be one that the image has as well. */
#define INNER_BIN "/opt/ludwig/bin"

enum { WORDS_MAX = 24 };

static const struct {
    const char *name;
    const char *prefix;
} runtimes[] = {
    { "apptainer", "APPTAINERENV_" },
    { "singularity", "SINGULARITYENV_" },
};

/* ---- what is here ---- */

static int find_runtime(struct container *c, const char *path, struct arena *a, struct err *e)
{
    char host[HOST_NAME_MAX + 1] = "this machine";

    for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++) {
        c->program = shell_words_program(runtimes[i].name, path, a);
        c->prefix = runtimes[i].prefix;
        if (c->program != NULL)
            return 0;
    }
    (void)gethostname(host, sizeof host - 1);
    return err_set(e, ERR_NOT_FOUND,
                   "container: neither apptainer nor singularity is in PATH on %s", host);
}

/* One of data, or a file below one. */
static int find_image(struct container *c, const struct jobspec *w, struct arena *a, struct err *e)
{
    const struct data_entry *entries = w->data.items;

    c->image = w->container;
    if (c->image[0] == '/' || strstr(c->image, "://") != NULL)
        return 0;
    for (size_t i = 0; i < w->data.n; i++) {
        size_t n = strlen(entries[i].name);
        char hex[DIGEST_HEX];

        if (strncmp(w->container, entries[i].name, n) != 0 ||
            (w->container[n] != '\0' && w->container[n] != '/'))
            continue;
        digest_hex(&entries[i].set.tree, hex);
        c->image = arena_printf(a, "%s/" SCRATCH_CACHE "/%s%s", c->scratch, hex, w->container + n);
        return 0;
    }
    return err_set(e, ERR_USAGE,
                   "container: %s is no absolute path, has no scheme:// and is not one of data:",
                   w->container);
}

static const char *find_ludwig(const char *scratch, struct arena *a)
{
    char *link = mem_printf("%s/" SCRATCH_BIN "/ludwig", scratch);
    char *real = path_real(link, NULL);
    const char *found = real != NULL ? arena_strdup(a, real) : NULL;

    free(link);
    free(real);
    return found;
}

int container_find(struct container *c, const struct order *o, char *const *env,
                   const char *scratch, struct arena *a, struct err *e)
{
    const struct jobspec *w = &o->work.work;
    char hex[TOKEN_HEX];

    token_hex(&o->assignment.token, hex);
    *c = (struct container){ .scratch = scratch,
                             .work_path =
                                 arena_printf(a, "%s/" SCRATCH_RUN "/%s/" JOB_WORK, scratch, hex),
                             .ludwig = find_ludwig(scratch, a),
                             .own = &w->env,
                             .has_gpus = o->gpus.n > 0 || w->resources.gpus_milli > 0 };
    if (find_runtime(c, jobenv_get(env, "PATH"), a, e) < 0)
        return -1;
    return find_image(c, w, a, e);
}

/* ---- what is bound ---- */

/* --mount takes lists as CSV does. */
static void add_csv(struct buf *out, const char *key, const char *path)
{
    buf_printf(out, ",\"%s=", key);
    for (; *path != '\0'; path++) {
        if (*path == '"')
            buf_add_char(out, '"');
        buf_add_char(out, *path);
    }
    buf_add_char(out, '"');
}

/* Paths that --bind cannot say; older runtimes do not know --mount. */
static bool is_odd(const char *path)
{
    size_t n = strlen(path);

    return strpbrk(path, ":,\\\"\n") != NULL || path[n - 1] == ' ';
}

struct binding {
    const char *from;
    const char *to;
    bool is_read_only;
    const char *option;
    const char *text;
};

static void word_binding(struct binding *b, struct arena *a)
{
    struct buf text = { 0 };

    if (is_odd(b->from) || is_odd(b->to)) {
        b->option = "--mount";
        buf_add_str(&text, "type=bind");
        add_csv(&text, "src", b->from);
        add_csv(&text, "dst", b->to);
        buf_add_str(&text, b->is_read_only ? ",ro" : "");
    } else {
        b->option = "--bind";
        buf_printf(&text, "%s:%s%s", b->from, b->to, b->is_read_only ? ":ro" : "");
    }
    b->text = arena_strdup(a, buf_text(&text));
    buf_free(&text);
}

/* ---- the words ---- */

struct words {
    char **items;
    size_t n;
    struct arena *arena;
};

static void add(struct words *w, const char *word)
{
    w->items[w->n++] = arena_strdup(w->arena, word);
}

static void add_bound(struct words *w, const char *from, const char *to, bool is_read_only)
{
    struct binding b = { from, to, is_read_only, NULL, NULL };

    word_binding(&b, w->arena);
    add(w, b.option);
    add(w, b.text);
}

static void add_bindings(struct words *w, const struct container *c)
{
    const char *run = arena_printf(w->arena, "%s/" SCRATCH_RUN, c->scratch);
    const char *cache = arena_printf(w->arena, "%s/" SCRATCH_CACHE, c->scratch);

    add_bound(w, run, run, false);
    add_bound(w, cache, cache, true);
    if (c->ludwig != NULL)
        add_bound(w, c->ludwig, INNER_BIN "/ludwig", true);
}

char **container_words(const struct container *c, struct arena *a)
{
    struct words w = { arena_alloc(a, WORDS_MAX * sizeof *w.items), 0, a };

    add(&w, c->program);
    add(&w, "exec");
    if (c->has_gpus)
        add(&w, "--nv");
    add_bindings(&w, c);
    add(&w, "--pwd");
    add(&w, c->work_path);
    add(&w, c->image);
    add(&w, "/bin/sh");
    add(&w, "-c");
    add(&w, c->text);
    return w.items;
}

char **container_guard(char *const *words, const struct order *o, struct arena *a)
{
    static const char script[] =
        "p=$1 o=$2 b=$3 r=$4 x=$5; shift 5; [ -d \"$p\" ] && set -- \"$o\" \"$b\" \"$@\"; "
        "exec \"$r\" \"$x\" \"$@\"";
    const char *project = arena_printf(a, "%s/%s", o->share, o->work.project);
    struct binding b = { project, project, false, NULL, NULL };
    struct words w = { arena_alloc(a, (WORDS_MAX + 8) * sizeof *w.items), 0, a };

    word_binding(&b, a);
    add(&w, "sh");
    add(&w, "-c");
    add(&w, script);
    add(&w, "ludwig");
    add(&w, project);
    add(&w, b.option);
    add(&w, b.text);
    for (; *words != NULL; words++)
        add(&w, *words);
    return w.items;
}

/* ---- the environment ---- */

/* What an image may have set for itself, and must not decide for a job. */
static const char *const ours[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",   "OMP_NUM_THREADS",  "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "PYTHONUNBUFFERED", "TMPDIR",
};

static bool is_one_of(const char *const *names, size_t count, const char *entry, size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == n && memcmp(names[i], entry, n) == 0)
            return true;
    return false;
}

static bool is_own(const struct list *own, const char *entry, size_t n)
{
    const struct env_entry *entries = own->items;

    for (size_t i = 0; i < own->n; i++)
        if (strlen(entries[i].name) == n && memcmp(entries[i].name, entry, n) == 0)
            return true;
    return false;
}

/* The runtime's shell would expand such a value; without the prefix it comes through as it is,
 * unless the image has the variable too. */
static bool is_expanded(const char *value)
{
    return strpbrk(value, "$`\\") != NULL;
}

static bool counts_inside(const struct container *c, const char *entry)
{
    static const char *const images[] = { "PATH", "HOME", "PWD" };
    static const char *const runtimes_own[] = { "APPTAINER", "SINGULARITY" };
    size_t n = strcspn(entry, "=");

    for (size_t i = 0; i < sizeof runtimes_own / sizeof runtimes_own[0]; i++)
        if (strncmp(entry, runtimes_own[i], strlen(runtimes_own[i])) == 0)
            return false;
    return entry[n] == '=' && !is_one_of(images, sizeof images / sizeof images[0], entry, n) &&
           (is_one_of(ours, sizeof ours / sizeof ours[0], entry, n) || is_own(c->own, entry, n)) &&
           !is_expanded(entry + n + 1);
}

/* ludwig first, then what the sweep puts there itself. */
static void prepend_path(struct words *w, const struct container *c, char *const *env)
{
    const char *name = arena_printf(w->arena, "%sPREPEND_PATH", c->prefix);
    const char *own = jobenv_get(env, name);

    if (c->ludwig != NULL)
        w->items[w->n++] = arena_printf(w->arena, "%s=" INNER_BIN "%s%s", name,
                                        own != NULL ? ":" : "", own != NULL ? own : "");
}

static bool has_entry(const struct words *w, const char *entry)
{
    size_t n = strcspn(entry, "=") + 1;

    for (size_t i = 0; i < w->n; i++)
        if (strncmp(w->items[i], entry, n) == 0)
            return true;
    return false;
}

static void add_entry(struct words *w, char *entry)
{
    if (!has_entry(w, entry))
        w->items[w->n++] = entry;
}

char **container_env(const struct container *c, char *const *env, struct arena *a)
{
    size_t n = 0;
    struct words w = { .arena = a };

    while (env[n] != NULL)
        n++;
    w.items = arena_alloc(a, (2 * n + 2) * sizeof *w.items);
    /* What comes first stays. */
    prepend_path(&w, c, env);
    for (size_t i = 0; i < n; i++)
        add_entry(&w, env[i]);
    for (size_t i = 0; i < n; i++)
        if (counts_inside(c, env[i]))
            add_entry(&w, arena_printf(a, "%s%s", c->prefix, env[i]));
    return w.items;
}
