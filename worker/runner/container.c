/* SPDX-License-Identifier: MIT */
/* container.c - runs a job's command inside an image, by apptainer or singularity */

#include "worker/runner/container.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/path.h"
#include "worker/base/job_spawn.h"
#include "worker/runner/jobenv.h"

/* The folder of ludwig inside: the image may have the one outside, too, with content of its own. */
#define INNER_BIN "/opt/ludwig/bin"

enum { WORDS_MAX = 24 };

static const struct {
    const char *name;
    const char *prefix;
} runtimes[] = {
    { "apptainer", "APPTAINERENV_" },
    { "singularity", "SINGULARITYENV_" },
};

/* Whether the runtime was installed set-user-ID: it then begins with that program, which gets no
 * more rights than the job where no_new_privs holds, and says so in words of its own. */
static bool needs_setuid(const char *program, const char *name)
{
    char *real = path_real(program, NULL);
    char *folder = real == NULL ? NULL : path_dirname(real);
    char *starter =
        folder == NULL ? NULL : mem_printf("%s/../libexec/%s/bin/starter-suid", folder, name);
    struct stat st;
    bool needs = starter != NULL && stat(starter, &st) == 0 && (st.st_mode & S_ISUID) != 0;

    free(starter);
    free(folder);
    free(real);
    return needs;
}

int container_find(struct container *c, const struct order *o, char *const *env,
                   const char *scratch, struct arena *a, struct err *e)
{
    const struct jobspec *w = &o->work.work;
    const struct data_entry *data = w->data.items;
    char hex[TOKEN_HEX], tree[DIGEST_HEX], host[HOST_NAME_MAX + 1] = "this machine";
    const char *name = NULL;
    char *link = mem_printf("%s/" SCRATCH_BIN "/ludwig", scratch), *ludwig = path_real(link, NULL);

    token_hex(&o->assignment.token, hex);
    *c = (struct container){ .image = w->container,
                             .scratch = scratch,
                             .work_path =
                                 arena_printf(a, "%s/" SCRATCH_RUN "/%s/" JOB_WORK, scratch, hex),
                             .ludwig = ludwig == NULL ? NULL : arena_strdup(a, ludwig),
                             .own = &w->env,
                             .has_gpus = o->gpus.n > 0 || w->resources.gpus_milli > 0 };
    free(link);
    free(ludwig);
    for (size_t i = 0; c->program == NULL && i < sizeof runtimes / sizeof runtimes[0]; i++) {
        c->program = job_spawn_program(name = runtimes[i].name, jobenv_get(env, "PATH"), a);
        c->prefix = runtimes[i].prefix;
    }
    (void)gethostname(host, sizeof host - 1);
    if (c->program != NULL && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
        needs_setuid(c->program, name))
        return err_set(
            e, ERR_DENIED,
            "container: %s on %s is installed set-user-ID, which jobs may not use there: "
            "its administrator can install it without, or write no_new_privs: no into "
            "worker.yaml",
            name, host);
    if (c->program == NULL) {
        return err_set(e, ERR_NOT_FOUND,
                       "container: neither apptainer nor singularity is in PATH on %s", host);
    }
    if (c->image[0] == '/' || strstr(c->image, "://") != NULL)
        return 0;
    /* The image is an entry of data:, or a file below one. */
    for (size_t i = 0; i < w->data.n; i++) {
        size_t n = strlen(data[i].name);

        if (strncmp(w->container, data[i].name, n) != 0 ||
            (w->container[n] != '\0' && w->container[n] != '/'))
            continue;
        digest_hex(&data[i].set.tree, tree);
        c->image = arena_printf(a, "%s/" SCRATCH_CACHE "/%s%s", scratch, tree, w->container + n);
        return 0;
    }
    return err_set(e, ERR_USAGE,
                   "container: %s is no absolute path, has no scheme:// and is not one of data:",
                   w->container);
}

/* ---- the words ---- */

struct words {
    char **items;
    size_t n;
    struct arena *arena;
};

static void add_word(struct words *w, const char *word)
{
    w->items[w->n++] = arena_strdup(w->arena, word);
}
/* Adds KEY=PATH as --mount takes it, whose list is CSV. */
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

static void add_bound(struct words *w, const char *from, const char *to, bool is_read_only)
{
    static const char odd[] =
        ":,\\\"\n"; /* --bind cannot take these; older runtimes do not know --mount */
    struct buf text = { 0 };

    if (strpbrk(from, odd) != NULL || from[strlen(from) - 1] == ' ' || strpbrk(to, odd) != NULL ||
        to[strlen(to) - 1] == ' ') {
        add_word(w, "--mount");
        buf_add_str(&text, "type=bind");
        add_csv(&text, "src", from);
        add_csv(&text, "dst", to);
        buf_add_str(&text, is_read_only ? ",ro" : "");
    } else {
        add_word(w, "--bind");
        buf_printf(&text, "%s:%s%s", from, to, is_read_only ? ":ro" : "");
    }
    add_word(w, buf_text(&text));
    buf_free(&text);
}

char **container_words(const struct container *c, struct arena *a)
{
    const char *run = arena_printf(a, "%s/" SCRATCH_RUN, c->scratch);
    const char *cache = arena_printf(a, "%s/" SCRATCH_CACHE, c->scratch);
    struct words w = { arena_alloc(a, WORDS_MAX * sizeof *w.items), 0, a };

    add_word(&w, c->program);
    add_word(&w, "exec");
    if (c->has_gpus)
        add_word(&w, "--nv");
    add_bound(&w, run, run, false);
    add_bound(&w, cache, cache, true);
    if (c->ludwig != NULL)
        add_bound(&w, c->ludwig, INNER_BIN "/ludwig", true);
    add_word(&w, "--pwd");
    add_word(&w, c->work_path);
    add_word(&w, c->image);
    add_word(&w, "/bin/sh");
    add_word(&w, "-c");
    add_word(&w, c->text);
    return w.items;
}

char **container_guard(char *const *words, const struct order *o, struct arena *a)
{
    static const char script[] =
        "p=$1 o=$2 b=$3 r=$4 x=$5; shift 5; [ -d \"$p\" ] && set -- \"$o\" \"$b\" \"$@\"; "
        "exec \"$r\" \"$x\" \"$@\"";
    const char *project = arena_printf(a, "%s/%s", o->share, o->work.project);
    struct words w = { arena_alloc(a, (WORDS_MAX + 8) * sizeof *w.items), 0, a };
    add_word(&w, "sh");
    add_word(&w, "-c");
    add_word(&w, script);
    add_word(&w, "ludwig");
    add_word(&w, project);
    add_bound(&w, project, project, false);
    for (; *words != NULL; words++)
        add_word(&w, *words);
    return w.items;
}

/* ---- the environment ---- */

/* Variables that an image may set, but whose value in a job must be the job's. */
static const char *const ours[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",   "OMP_NUM_THREADS",  "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "PYTHONUNBUFFERED", "TMPDIR",
};

/* Whether to pass the entry with the prefix, so that it counts inside: if it is of the sweep's env:
 * or in the list above.  The runtime's shell would expand some values: those come through as they
 * are without the prefix, unless the image has the variable too. */
static bool counts_inside(const struct container *c, const char *entry)
{
    static const char *const never[] = { "PATH=", "HOME=", "PWD=", "APPTAINER", "SINGULARITY" };
    const struct env_entry *own = c->own->items;
    size_t n = strcspn(entry, "=");
    bool counts = false;

    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (strncmp(entry, never[i], strlen(never[i])) == 0)
            return false;
    if (entry[n] != '=' || strpbrk(entry + n + 1, "$`\\") != NULL)
        return false;
    for (size_t i = 0; !counts && i < sizeof ours / sizeof ours[0]; i++)
        counts = strlen(ours[i]) == n && memcmp(ours[i], entry, n) == 0;
    for (size_t i = 0; !counts && i < c->own->n; i++)
        counts = strlen(own[i].name) == n && memcmp(own[i].name, entry, n) == 0;
    return counts;
}

/* Adds the entry, unless its variable is there already. */
static void add_entry(struct words *w, char *entry)
{
    size_t n = strcspn(entry, "=") + 1;

    for (size_t i = 0; i < w->n; i++)
        if (strncmp(w->items[i], entry, n) == 0)
            return;
    w->items[w->n++] = entry;
}

char **container_env(const struct container *c, char *const *env, struct arena *a)
{
    const char *path_name = arena_printf(a, "%sPREPEND_PATH", c->prefix);
    const char *own = jobenv_get(env, path_name);
    size_t n = 0;
    struct words w = { .arena = a };

    while (env[n] != NULL)
        n++;
    w.items = arena_alloc(a, (2 * n + 2) * sizeof *w.items);
    if (c->ludwig != NULL) /* ludwig first, then what the sweep itself puts in front of PATH */
        w.items[w.n++] = arena_printf(a, "%s=" INNER_BIN "%s%s", path_name, own != NULL ? ":" : "",
                                      own != NULL ? own : "");
    for (size_t i = 0; i < n; i++)
        add_entry(&w, env[i]);
    for (size_t i = 0; i < n; i++)
        if (counts_inside(c, env[i]))
            add_entry(&w, arena_printf(a, "%s%s", c->prefix, env[i]));
    return w.items;
}
