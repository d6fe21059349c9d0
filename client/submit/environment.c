/* SPDX-License-Identifier: MIT */
/* environment.c - finds the environment that jobs are to run in */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/submit/environment.h"
#include "client/submit/environment_files.h"
#include "client/term/safe_text.h"
#include "client/util/active_env.h"
#include "common/base/io.h"
#include "common/base/path.h"

enum { PYVENV_MAX_BYTES = 64 * 1024, PATH_MAX_BYTES = 4096, PATHS_MAX = 100, VARIABLES_MAX = 8 };

/* Further variables of conda's and pixi's active environment, which scripts ask for. */
static const char *const further[] = { "CONDA_DEFAULT_ENV", "PIXI_PROJECT_ROOT",
                                       "PIXI_ENVIRONMENT_NAME" };

/* ---- paths ---- */

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool has(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    bool is_there = access(path, F_OK) == 0;

    free(path);
    return is_there;
}

static const char *plain(struct arena *a, const char *folder)
{
    size_t n = strlen(folder);

    while (n > 1 && folder[n - 1] == '/')
        n--;
    return arena_strndup(a, folder, n);
}

/* ---- what is in a folder ---- */

/* Returns "3.11" of "3.11.2"; NULL: text does not begin with two numbers. */
static const char *short_version(const char *text, struct arena *a)
{
    size_t n = strspn(text, "0123456789"), m;

    if (n == 0 || text[n] != '.')
        return NULL;
    m = strspn(text + n + 1, "0123456789");
    return m == 0 ? NULL : arena_strndup(a, text, n + 1 + m);
}

/* Returns Python's version by pyvenv.cfg, which venv, virtualenv and uv write; NULL: not known. */
static const char *version_of_venv(const char *folder, struct arena *a)
{
    char *path = path_join(folder, "pyvenv.cfg");
    struct buf text = { 0 };
    const char *version = NULL;

    if (io_read_file(path, PYVENV_MAX_BYTES, &text, NULL) == 0)
        for (const char *line = buf_text(&text); version == NULL && *line != '\0';) {
            size_t n = strcspn(line, "\n");

            if (strncmp(line, "version", 7) == 0) { /* or version_info */
                const char *sign = line + strcspn(line, "=\n");

                version = short_version(sign + strspn(sign, "= "), a);
            }
            line += n + (line[n] == '\n');
        }
    buf_free(&text);
    free(path);
    return version;
}

/* Returns the newest version of lib/python3.11 and the like; NULL: there is none. */
static const char *version_of_lib(const char *folder, struct arena *a)
{
    char *path = path_join(folder, "lib");
    DIR *dir = opendir(path);
    const struct dirent *entry;
    const char *version = NULL;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *found =
            strncmp(entry->d_name, "python", 6) == 0 ? short_version(entry->d_name + 6, a) : NULL;

        if (found != NULL && (version == NULL || strlen(found) > strlen(version) ||
                              (strlen(found) == strlen(version) && strcmp(found, version) > 0)))
            version = found;
    }
    if (dir != NULL)
        closedir(dir);
    free(path);
    return version;
}

static const char *python_of(const char *folder, struct arena *a)
{
    const char *version = version_of_venv(folder, a);

    return version != NULL ? version : version_of_lib(folder, a);
}

/* Returns the interpreter outside of the folder to which one in bin/ is a link; NULL: none is. */
static const char *base_of(const char *folder, struct arena *a)
{
    static const char *const names[] = { "bin/python3", "bin/python" };
    char *real_folder = path_real(folder, NULL);
    const char *base = NULL;

    for (size_t i = 0; real_folder != NULL && base == NULL && i < sizeof names / sizeof names[0];
         i++) {
        char *path = path_join(folder, names[i]), *real = path_real(path, NULL);

        if (real != NULL && !active_env_is_below(real, strlen(real), real_folder))
            base = arena_strdup(a, real);
        free(real);
        free(path);
    }
    free(real_folder);
    return base;
}

/* ---- what is active, or named ---- */

static void add_text(struct list *to, const char *text)
{
    ((const char **)to->items)[to->n++] = text;
}

static void add_variable(struct environment *x, const char *name, const char *value)
{
    ((struct env_entry *)x->variables.items)[x->variables.n++] = (struct env_entry){ name, value };
}

static void make_room(struct environment *x, struct arena *a)
{
    x->paths = (struct list){ arena_alloc(a, PATHS_MAX * sizeof(char *)), 0 };
    x->variables = (struct list){ arena_alloc(a, VARIABLES_MAX * sizeof(struct env_entry)), 0 };
}

/* Takes the entries of PATH below active environments; the first one's environment is the jobs'. */
static void take_active(struct environment *x, struct arena *a)
{
    const char *path = getenv("PATH"), *project = getenv("PIXI_PROJECT_ROOT");
    const char *folders[ACTIVE_MAKERS] = { NULL };
    bool is_taken[ACTIVE_MAKERS] = { false };

    for (size_t i = 0; i < ACTIVE_MAKERS; i++) {
        const char *folder = getenv(active_makers[i].variable);

        if (folder != NULL && folder[0] == '/' && strlen(folder) < PATH_MAX_BYTES &&
            is_folder(folder))
            folders[i] = plain(a, folder);
    }
    make_room(x, a);
    while (path != NULL && *path != '\0') {
        size_t n = strcspn(path, ":"), i = 0;

        while (i < ACTIVE_MAKERS &&
               (folders[i] == NULL || !active_env_is_below(path, n, folders[i])))
            i++;
        if (i < ACTIVE_MAKERS && x->paths.n < PATHS_MAX) {
            add_text(&x->paths, arena_strndup(a, path, n));
            if (x->path == NULL) {
                x->path = folders[i];
                x->kind = active_makers[i].kind;
            }
            if (!is_taken[i])
                add_variable(x, active_makers[i].variable, folders[i]);
            is_taken[i] = true;
        }
        path += n + (path[n] == ':');
    }
    if (x->path == NULL)
        return;
    if (project != NULL && strcmp(x->kind, "conda") == 0 &&
        active_env_is_below(x->path, strlen(x->path), project))
        x->kind = "pixi";
    for (size_t i = 0; i < sizeof further / sizeof further[0]; i++)
        if (getenv(further[i]) != NULL && strcmp(x->kind, "venv") != 0)
            add_variable(x, further[i], arena_strdup(a, getenv(further[i])));
    x->was_active = true;
}

static int take_named(struct environment *x, const char *folder, struct arena *a, struct err *e)
{
    char *bin = path_join(folder, "bin");

    make_room(x, a);
    x->path = folder;
    x->kind = "folder";
    for (size_t i = 0; i < ACTIVE_MAKERS; i++)
        if (has(folder, active_makers[i].mark)) {
            x->kind = active_makers[i].kind;
            add_variable(x, active_makers[i].variable, folder);
            break;
        }
    if (is_folder(folder) && !is_folder(bin)) {
        free(bin);
        return err_set(e, ERR_USAGE, "environment: %s is no environment: it has no folder bin",
                       folder);
    }
    add_text(&x->paths, arena_strdup(a, bin));
    free(bin);
    return 0;
}

static void take_modules(struct environment *x, struct arena *a)
{
    const char *loaded = getenv("LOADEDMODULES");

    if (loaded == NULL || loaded[0] == '\0')
        return;
    x->modules = (struct list){ arena_alloc(a, MODULES_MAX * sizeof(char *)), 0 };
    while (*loaded != '\0' && x->modules.n < MODULES_MAX) {
        size_t n = strcspn(loaded, ":");

        if (n > 0)
            add_text(&x->modules, arena_strndup(a, loaded, n));
        loaded += n + (loaded[n] == ':');
    }
    x->modules_were_loaded = true;
}

/* Adds the folder at path to the data to upload; files: which of its files, empty: all. */
static int add_data(struct spec *s, const char *path, const char *name, struct list files,
                    struct arena *a, struct err *e)
{
    struct spec_data *items = s->data.items;

    for (size_t i = 0; i < s->data.n; i++)
        if (strcmp(items[i].name, name) == 0)
            return err_set(e, ERR_USAGE, "environment: data: has another %s", name);
    items = arena_alloc(a, (s->data.n + 1) * sizeof *items);
    if (s->data.n > 0)
        memcpy(items, s->data.items, s->data.n * sizeof *items);
    items[s->data.n++] = (struct spec_data){ .path = path, .name = name, .files = files };
    s->data.items = items;
    s->work.environment.data = name;
    return 0;
}

/* Has the environment's folder uploaded, for nodes to get a copy. */
static int take_along(struct spec *s, struct arena *a, struct err *e)
{
    struct environment *x = &s->work.environment;
    const char *name = path_basename(x->path);

    if (!is_folder(x->path))
        return err_set(e, ERR_USAGE, "environment: there is no folder %s here that could be staged",
                       x->path);
    if (!path_is_portable_name(name))
        return err_set(e, ERR_USAGE,
                       "environment: %s does not end in a name that every system can show",
                       x->path);
    x->base = base_of(x->path, a);
    return add_data(s, x->path, name, (struct list){ NULL, 0 }, a, e);
}

/* Has the files uploaded that each node builds the environment from. */
static int take_recipe(struct spec *s, struct arena *a, struct err *e)
{
    const struct spec_environment *said = &s->environment;
    struct environment *x = &s->work.environment;
    struct environment_files found;

    x->kind = strcmp(said->tool, "conda") == 0 ? "conda" : "venv";
    x->tool = said->tool;
    x->interpreter = said->interpreter;
    x->options = said->options;
    if (environment_files_find(s, a, &found, e) < 0)
        return -1;
    x->file = found.file;
    return add_data(s, found.top, "environment", found.files, a, e);
}

int environment_take(struct spec *s, struct arena *a, struct err *e)
{
    const struct spec_environment *said = &s->environment;
    struct environment *x = &s->work.environment;

    if (s->work.container != NULL || said->is_none) /* an image has its own */
        return 0;
    if (said->tool != NULL) {
        if (take_recipe(s, a, e) < 0)
            return -1;
    } else if (said->path == NULL)
        take_active(x, a);
    else if (take_named(x, said->path, a, e) < 0)
        return -1;
    x->decides = said->decides;
    if (!s->has_modules)
        take_modules(x, a);
    if (x->path != NULL)
        x->python = python_of(x->path, a);
    if (said->is_staged && x->path == NULL)
        return err_set(e, ERR_USAGE,
                       "environment: stage: no environment is active here; activate it, or write "
                       "{stage: PATH}");
    return said->is_staged ? take_along(s, a, e) : 0;
}

/* ---- for people ---- */

static void add_harmless(struct buf *out, const char *text)
{
    safe_text_add_harmless(out, text, strlen(text), "");
}

/* Appends a path as a shell would take it: ~/p/.venv. */
static void add_path(struct buf *out, const char *path)
{
    const char *home = getenv("HOME");

    if (home != NULL && home[0] == '/' && home[1] != '\0' &&
        active_env_is_below(path, strlen(path), home)) {
        buf_add_char(out, '~');
        path += strlen(home);
    }
    add_harmless(out, path);
}

void environment_describe(const struct environment *x, struct buf *out)
{
    const char *const *modules = x->modules.items;

    if (x->tool != NULL) {
        add_harmless(out, x->file);
        buf_printf(out, ", built once on each node by %s%s", x->tool,
                   x->interpreter != NULL ? " with " : "");
        add_harmless(out, x->interpreter != NULL ? x->interpreter : "");
    }

    if (x->path != NULL) {
        buf_printf(out, "%s ", x->kind);
        add_path(out, x->path);
        if (x->python != NULL)
            buf_printf(out, ", python %s", x->python);
        buf_add_str(out, x->data != NULL ? ", staged" : "");
    }
    for (size_t i = 0; i < x->modules.n; i++) {
        if (i == 0)
            buf_printf(out, "%smodule%s", x->path != NULL || x->tool != NULL ? ", " : "",
                       x->modules.n == 1 ? "" : "s");
        buf_add_char(out, ' ');
        add_harmless(out, modules[i]);
    }
}

void environment_add_note(const struct spec *s, struct buf *out)
{
    static const char *const unused[] = { ".venv", "venv", ".pixi/envs/default" };
    const struct environment *x = &s->work.environment;

    if (x->path != NULL && !is_folder(x->path)) {
        buf_add_str(out, "the environment ");
        add_harmless(out, x->path);
        buf_add_str(out, " is not on this machine");
        return;
    }
    if (x->path != NULL && x->base == NULL && strcmp(x->kind, "venv") == 0 &&
        !has(x->path, "bin/python3") && !has(x->path, "bin/python")) {
        buf_add_str(out, "the environment ");
        add_harmless(out, x->path);
        buf_add_str(out, " has no Python that works on this machine");
        return;
    }
    for (size_t i = 0;
         x->path == NULL && x->tool == NULL && s->folder != NULL && !s->environment.is_none &&
         s->work.container == NULL && i < sizeof unused / sizeof unused[0];
         i++) {
        char *path = path_join(s->folder, unused[i]);
        bool is_one = has(path, "pyvenv.cfg") || has(path, "conda-meta");

        free(path);
        if (!is_one)
            continue;
        buf_printf(out,
                   "no environment is active, so jobs get the node's own Python; environment: %s "
                   "in the file takes the one here",
                   unused[i]);
        return;
    }
}
