/* SPDX-License-Identifier: MIT */
/* jobenv.c - makes a job's environment from nothing */

#include "worker/runner/jobenv.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/proto/envvars.h"
#include "worker/base/scratch.h"
#include "common/share/share.h"

/* PATH of a worker that has none. */
static const char default_path[] = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/* Variables of the worker that a job inherits: always, if it loads modules, and inside Slurm. */
static const char *const inherited[] = { "LANG", "LC_*", "TZ" };
static const char *const inherited_for_modules[] = { "MODULESHOME", "MODULEPATH" };
static const char *const inherited_in_slurm[] = { "SLURM_*", "CUDA_*" };

static const char *const thread_counts[] = { "OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                             "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS" };

#define COUNT_OF(items) (sizeof(items) / sizeof((items)[0]))

/* ---- the user ---- */

static bool is_folder(const char *path, bool must_be_ours)
{
    struct stat st;

    return path != NULL && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           (!must_be_ours || st.st_uid == geteuid());
}

void jobenv_find_user(const char *scratch, struct arena *a, struct jobenv_user *user)
{
    /* A uid may have several names: the one we were started under counts, if it is ours. */
    const char *name = getenv("LOGNAME"), *home = getenv("HOME"), *path = getenv("PATH");
    const struct passwd *account = name == NULL ? NULL : getpwnam(name);

    if (account == NULL || account->pw_uid != geteuid())
        account = getpwuid(geteuid());
    /* An agent that changed its user still has the HOME of another. */
    if (!is_folder(home, true))
        home = account != NULL && is_folder(account->pw_dir, false) &&
                       strcmp(account->pw_dir, "/") != 0
                   ? account->pw_dir
                   : NULL;
    if (path == NULL || path[0] == '\0')
        path = default_path;
    user->name = account != NULL ? arena_strdup(a, account->pw_name)
                                 : arena_printf(a, "%lld", (long long)geteuid());
    user->home = home != NULL ? arena_strdup(a, home) : NULL;
    user->shell = arena_strdup(a, account != NULL && account->pw_shell[0] == '/' ? account->pw_shell
                                                                                 : "/bin/sh");
    user->path = arena_strdup(a, path);
    user->bin = arena_printf(a, "%s/%s", scratch, SCRATCH_BIN);
}

/* ---- the list ---- */

struct list_of_env {
    struct arena *arena;
    char **entries;
    size_t n;
    size_t capacity;
};

static bool is_of(const char *entry, const char *name, size_t n)
{
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* Sets an entry, in place of an earlier one of the same variable. */
static void put_entry(struct list_of_env *l, char *entry)
{
    size_t n = strcspn(entry, "=");
    size_t at = 0;

    while (at < l->n && !is_of(l->entries[at], entry, n))
        at++;
    if (at == l->n && l->n + 1 == l->capacity) {
        char **larger = arena_alloc(l->arena, 2 * l->capacity * sizeof *larger);

        memcpy(larger, l->entries, l->n * sizeof *larger);
        l->entries = larger;
        l->capacity *= 2;
    }
    l->entries[at] = entry;
    l->n += at == l->n;
    l->entries[l->n] = NULL;
}

static void set_text(struct list_of_env *l, const char *name, const char *value)
{
    put_entry(l, arena_printf(l->arena, "%s=%s", name, value));
}

static void set_number(struct list_of_env *l, const char *name, int64_t number)
{
    put_entry(l, arena_printf(l->arena, "%s=%" PRId64, name, number));
}

static void set_path(struct list_of_env *l, const char *name, const char *dir, const char *below)
{
    put_entry(l, arena_printf(l->arena, "%s=%s/%s", name, dir, below));
}

/* Takes variables from this process.  Patterns are names, or beginnings of names and a star. */
static void inherit(struct list_of_env *l, const char *const *patterns, size_t n_patterns)
{
    for (char **entry = environ; *entry != NULL; entry++)
        for (size_t i = 0; i < n_patterns; i++) {
            size_t n = strlen(patterns[i]);

            if (patterns[i][n - 1] == '*' ? strncmp(*entry, patterns[i], n - 1) == 0
                                          : is_of(*entry, patterns[i], n))
                put_entry(l, arena_strdup(l->arena, *entry));
        }
}

/* ---- contents ---- */

static void set_ludwig(struct list_of_env *l, const struct order *o, const char *job_path)
{
    const struct assignment *x = &o->assignment;
    char hex[TOKEN_HEX];

    token_hex(&x->token, hex);
    set_text(l, job_envvars[ENV_ATTEMPT].name, hex);
    set_number(l, job_envvars[ENV_SWEEP].name, x->sweep);
    set_text(l, job_envvars[ENV_PROJECT].name, o->work.project);
    set_path(l, job_envvars[ENV_DATA].name, job_path, JOB_DATA);
    if (share_is_mounted(o->share))
        set_path(l, job_envvars[ENV_PROJECT_PATH].name, o->share, o->work.project);
    set_path(l, job_envvars[ENV_METRICS].name, job_path, JOB_METRICS);
    if (order_is_process(o)) { /* of a batch: its chunk has the rest, for each of its jobs */
        set_path(l, job_envvars[ENV_CHUNK].name, job_path, JOB_CHUNK ".msgpack");
        return;
    }
    set_text(l, job_envvars[ENV_JOB].name,
             arena_printf(l->arena, "%" PRId64 ".%" PRId64, x->sweep, x->job));
    set_text(l, job_envvars[ENV_PARAM_NAME].name, x->param_name);
    set_text(l, job_envvars[ENV_JOB_NAME].name, x->job_name);
    set_number(l, job_envvars[ENV_REP].name, x->rep);
    set_number(l, job_envvars[ENV_SEED].name, x->seed);
    set_number(l, job_envvars[ENV_RESTART].name, x->restart);
    set_path(l, job_envvars[ENV_PARAM2VAL].name, job_path, JOB_PARAM2VAL ".json");
    set_path(l, job_envvars[ENV_SAVE_PATH].name, job_path, JOB_SAVE);
    set_path(l, job_envvars[ENV_CHECKPOINT].name, job_path, JOB_CHECKPOINT);
}

/* Sets PATH and what the sweep brings of the shell that it was submitted from; a container gets
 * nothing of that, as it has an environment of its own. */
static void set_environment(struct list_of_env *l, const struct jobspec *w,
                            const struct jobenv_user *user)
{
    const struct environment *x = &w->environment;
    const struct env_entry *variables = x->variables.items;
    const char *const *paths = x->paths.items;
    struct buf path = { 0 };

    if (w->container != NULL || x->path == NULL) {
        set_text(l, "PATH", arena_printf(l->arena, "%s:%s", user->bin, user->path));
    } else {
        buf_add_str(&path, user->bin);
        for (size_t i = 0; i < x->paths.n; i++)
            buf_printf(&path, ":%s", paths[i]);
        buf_printf(&path, ":%s", user->path);
        set_text(l, "PATH", buf_text(&path));
        buf_free(&path);
        for (size_t i = 0; i < x->variables.n; i++)
            set_text(l, variables[i].name, variables[i].value);
    }
    if (x->modules.n > 0)
        inherit(l, inherited_for_modules, COUNT_OF(inherited_for_modules));
}

char **jobenv_make(const struct order *o, const struct jobenv_user *user, const char *job_path,
                   struct arena *a)
{
    const struct env_entry *own = o->work.work.env.items;
    const struct gpu_entry *gpus = o->gpus.items;
    struct buf ids = { 0 };
    int64_t cpus_milli = o->work.work.resources.cpus_milli;
    struct list_of_env l = { .arena = a, .capacity = 64 };

    l.entries = arena_alloc(a, l.capacity * sizeof *l.entries);
    set_environment(&l, &o->work.work, user);
    set_text(&l, "HOME", user->home != NULL ? user->home : job_path);
    set_text(&l, "USER", user->name);
    set_text(&l, "LOGNAME", user->name);
    set_text(&l, "SHELL", user->shell);
    set_path(&l, "TMPDIR", job_path, JOB_TMP);
    set_path(&l, "PWD", job_path, JOB_WORK);
    set_text(&l, "PYTHONUNBUFFERED", "1");
    inherit(&l, inherited, COUNT_OF(inherited));
    for (size_t i = 0; i < COUNT_OF(thread_counts); i++)
        set_number(&l, thread_counts[i], cpus_milli >= 2000 ? cpus_milli / 1000 : 1);
    /* Inside Slurm the GPUs that Slurm chose stay, unless the agent divides them among jobs. */
    if (o->in_slurm)
        inherit(&l, inherited_in_slurm, COUNT_OF(inherited_in_slurm));
    if (!o->in_slurm || o->gpus.n > 0) {
        for (size_t i = 0; i < o->gpus.n; i++)
            buf_printf(&ids, "%s%s", i > 0 ? "," : "", gpus[i].id);
        set_text(&l, "CUDA_VISIBLE_DEVICES", buf_text(&ids));
        buf_free(&ids);
    }
    if (o->gpus.n > 0)
        set_text(&l, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    set_ludwig(&l, o, job_path);
    for (size_t i = 0; i < o->work.work.env.n; i++)
        set_text(&l, own[i].name, own[i].value);
    return l.entries;
}

const char *jobenv_get(char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; *env != NULL; env++)
        if (is_of(*env, name, n))
            return *env + n + 1;
    return NULL;
}
