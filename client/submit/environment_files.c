/* SPDX-License-Identifier: MIT */
/* environment_files.c - finds the files that an environment is built from on a node */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/submit/environment_files.h"
#include "client/util/active_env.h"
#include "common/base/io.h"
#include "common/base/path.h"

enum { FILE_MAX_BYTES = 4 * 1024 * 1024, FILES_MAX = 200 };

struct finding {
    struct arena *arena;
    struct environment_files *found;
    const char **files;
    size_t n;
};

/* A line of a file, for errors. */
struct place {
    const char *file; /* below top */
    int line;
};

/* ---- paths ---- */

static const char *below_top(const struct finding *f, const char *path)
{
    return arena_printf(f->arena, "%s/%s", f->found->top, path);
}

static const char *folder_of(const struct finding *f, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? "" : arena_strndup(f->arena, path, (size_t)(slash - path));
}

/* Joins "env" and "../wheels/./x" to "wheels/x"; NULL: the path leads out of top. */
static const char *resolve(const struct finding *f, const char *folder, const char *path)
{
    struct buf text = { 0 };
    bool is_inside = true;

    buf_add_str(&text, folder);
    for (size_t n; is_inside && *path != '\0'; path += n + (path[n] == '/')) {
        n = strcspn(path, "/");
        if (n == 2 && strncmp(path, "..", 2) == 0) {
            const char *slash = strrchr(buf_text(&text), '/');

            is_inside = text.n > 0;
            text.n = slash == NULL ? 0 : (size_t)(slash - buf_text(&text));
        } else if (n > 0 && !(n == 1 && path[0] == '.')) {
            buf_printf(&text, "%s%.*s", text.n > 0 ? "/" : "", (int)n, path);
        }
    }
    if (!is_inside || text.n == 0) {
        buf_free(&text);
        return NULL;
    }
    return arena_strdup(f->arena, buf_to_arena(&text, f->arena));
}

/* Whether the path is an address, absolute, or has a variable in it. */
static bool is_left_to_node(const char *path)
{
    return path[0] == '/' || path[0] == '~' || strstr(path, "://") != NULL ||
           strchr(path, '$') != NULL;
}

static bool is_there(const struct finding *f, const char *path, bool *is_folder)
{
    struct stat st;

    if (stat(below_top(f, path), &st) < 0)
        return false;
    *is_folder = S_ISDIR(st.st_mode);
    return true;
}

/* Adds a path to the files; returns 1, 0 when it was there already, or -1 with e set. */
static int add(struct finding *f, const char *path, struct err *e)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->files[i], path) == 0)
            return 0;
    if (f->n == FILES_MAX)
        return err_set(e, ERR_USAGE, "environment: it is built from more than %d files", FILES_MAX);
    f->files[f->n++] = path;
    return 1;
}

/* ---- the lines of a file ---- */

static int read_requirements(struct finding *f, const char *file, struct err *e);

/* Takes the path, relative to folder, that a line names; reads: it is read as requirements, too. */
static int take_named(struct finding *f, const struct place *at, const char *folder,
                      const char *path, bool reads, struct err *e)
{
    const char *named;
    bool is_folder = false;
    int rc;

    if (is_left_to_node(path))
        return 0;
    named = resolve(f, folder, path);
    if (named == NULL)
        return err_set(
            e, ERR_USAGE,
            "%s:%d: %s lies outside of %s, and what an environment is built from goes along "
            "with that folder",
            at->file, at->line, path, f->found->top);
    if (!is_there(f, named, &is_folder))
        return err_set(e, ERR_USAGE, "%s:%d: there is no %s", at->file, at->line, named);
    rc = add(f, named, e);
    return rc == 1 && reads ? read_requirements(f, named, e) : rc < 0 ? -1 : 0;
}

/* pip looks for a folder of wheels beside the file, then in the folder where it runs. */
static int take_links(struct finding *f, const struct place *at, const char *path, struct err *e)
{
    const char *folder = folder_of(f, at->file);
    const char *beside = is_left_to_node(path) ? NULL : resolve(f, folder, path);
    bool is_folder;

    return take_named(f, at, beside != NULL && is_there(f, beside, &is_folder) ? folder : "", path,
                      false, e);
}

/* Takes a package that a line names by its path: "./wheels/a.whl", "a.tar.gz". */
static int take_package(struct finding *f, const struct place *at, const char *path, struct err *e)
{
    const char *named = resolve(f, "", path);
    bool is_folder = false;

    if (named != NULL && is_there(f, named, &is_folder) && is_folder)
        return err_set(
            e, ERR_USAGE,
            "%s:%d: %s is a folder, and a node would have to build the package from it: make "
            "a wheel of it here (pip wheel), or let the jobs import it from their source",
            at->file, at->line, path);
    return take_named(f, at, "", path, false, e);
}

/* Returns the value of "--find-links=wheels" or "-f wheels"; NULL: the line has no such option. */
static const char *value_of(const struct finding *f, const char *line, const char *brief,
                            const char *full)
{
    size_t n = strlen(full), m;

    if (strncmp(line, full, n) == 0 && (line[n] == '=' || line[n] == ' ' || line[n] == '\t'))
        line += n + 1;
    else if (strncmp(line, brief, strlen(brief)) == 0 && line[2] != '\0')
        line += 2;
    else
        return NULL;
    line += strspn(line, " \t=");
    m = line[0] == '"' || line[0] == '\'' ? 1 : 0;
    return arena_strndup(f->arena, line + m,
                         m > 0 ? strcspn(line + m, "\"'") : strcspn(line, " \t"));
}

static bool is_path(const char *line)
{
    size_t n = strcspn(line, " \t;[");
    static const char *const ends[] = { ".whl", ".tar.gz", ".zip", ".tar.bz2" };

    if (strncmp(line, "./", 2) == 0 || strncmp(line, "../", 3) == 0)
        return true;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (n > strlen(ends[i]) &&
            strncmp(line + n - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

static int read_line(struct finding *f, const struct place *at, const char *line, struct err *e)
{
    const char *folder = folder_of(f, at->file), *value;

    if ((value = value_of(f, line, "-r", "--requirement")) != NULL)
        return take_named(f, at, folder, value, true, e);
    if ((value = value_of(f, line, "-c", "--constraint")) != NULL)
        return take_named(f, at, folder, value, true, e);
    if ((value = value_of(f, line, "-f", "--find-links")) != NULL)
        return take_links(f, at, value, e);
    if (value_of(f, line, "-e", "--editable") != NULL)
        return err_set(
            e, ERR_USAGE,
            "%s:%d: an editable package is a link to a folder that nodes do not have; take "
            "the line out, and let the jobs import it from their source (env: {PYTHONPATH: "
            "...})",
            at->file, at->line);
    if (line[0] != '-' && is_path(line) && !is_left_to_node(line))
        return take_package(f, at, arena_strndup(f->arena, line, strcspn(line, " \t;[")), e);
    return 0;
}

/* Returns the line without spaces, comment, quotes, and the "- " of an environment.yml's `pip:`. */
static const char *plain_line(const struct finding *f, const char *text, size_t n)
{
    char *line = arena_strndup(f->arena, text, n), *comment;

    while (isspace((unsigned char)*line))
        line++;
    if (strncmp(line, "- ", 2) == 0)
        line += 1 + strspn(line + 1, " ");
    comment = strstr(line, " #");
    if (line[0] == '#')
        line[0] = '\0';
    else if (comment != NULL)
        comment[0] = '\0';
    n = strlen(line);
    while (n > 0 && isspace((unsigned char)line[n - 1]))
        line[--n] = '\0';
    if (n >= 2 && (line[0] == '"' || line[0] == '\'') && line[n - 1] == line[0]) {
        line[n - 1] = '\0';
        line++;
    }
    return line;
}

static int read_requirements(struct finding *f, const char *file, struct err *e)
{
    struct place at = { file, 0 };
    struct buf text = { 0 };
    int rc = io_read_file(below_top(f, file), FILE_MAX_BYTES, &text, e);

    for (const char *line = buf_text(&text); rc == 0 && *line != '\0';) {
        size_t n = strcspn(line, "\n");

        at.line++;
        rc = read_line(f, &at, plain_line(f, line, n), e);
        line += n + (line[n] == '\n');
    }
    buf_free(&text);
    return rc;
}

/* ---- the files of uv ---- */

static int find_of_uv(struct finding *f, const char *file, struct err *e)
{
    static const char *const beside[] = { "pyproject.toml", "uv.toml", ".python-version" };
    const char *folder = folder_of(f, file);

    if (strcmp(path_basename(file), "uv.lock") != 0)
        return err_set(e, ERR_USAGE, "environment: uv: %s: a file of that kind is called uv.lock",
                       file);
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        const char *path = resolve(f, folder, beside[i]);
        bool is_folder;

        if (is_there(f, path, &is_folder) && add(f, path, e) < 0)
            return -1;
        if (i == 0 && !is_there(f, path, &is_folder))
            return err_set(e, ERR_USAGE, "environment: uv: there is no pyproject.toml beside %s",
                           file);
    }
    return 0;
}

/* ---- all of them ---- */

/* Sets top to the sweep file's folder if the tool's file lies below it, else to that file's own. */
static int choose_top(const struct spec *s, struct finding *f, struct err *e)
{
    const struct spec_environment *said = &s->environment;
    char *file = path_real(said->file, e), *folder, *own;

    if (file == NULL)
        return -1;
    folder = s->folder != NULL ? path_real(s->folder, NULL) : NULL;
    own = path_dirname(file);
    f->found->top = arena_strdup(
        f->arena, folder != NULL && active_env_is_below(own, strlen(own), folder) ? folder : own);
    f->found->file =
        arena_strdup(f->arena, file + strlen(f->found->top) + (strcmp(f->found->top, "/") != 0));
    free(own);
    free(folder);
    free(file);
    return 0;
}

int environment_files_find(const struct spec *s, struct arena *a, struct environment_files *found,
                           struct err *e)
{
    const struct spec_environment *said = &s->environment;
    const char *const *further = said->files.items;
    struct finding f = { a, found, arena_alloc(a, FILES_MAX * sizeof(char *)), 0 };
    struct place of_files = { s->file, 1 };

    if (choose_top(s, &f, e) < 0 || add(&f, found->file, e) < 0)
        return -1;
    if ((strcmp(said->tool, "uv") == 0 ? find_of_uv(&f, found->file, e)
                                       : read_requirements(&f, found->file, e)) < 0)
        return -1;
    for (size_t i = 0; i < said->files.n; i++)
        if (take_named(&f, &of_files, "", further[i], false, e) < 0)
            return err_wrap(e, "environment: files");
    found->files = (struct list){ f.files, f.n };
    return 0;
}
