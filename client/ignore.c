/* SPDX-License-Identifier: MIT */
/* ignore.c - which files of a source tree are no part of the program */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/child.h"
#include "client/gitrules.h"
#include "client/ignore.h"
#include "common/buf.h"
#include "common/layout.h"
#include "common/mem.h"
#include "common/path.h"

#define OWN_RULES ".ludwigignore"
#define GIT_RULES ".gitignore"

struct ignore_scope {
    struct ignore *of;
    char *folder;
    char *top;          /* from there on such files hold */
    bool is_repository; /* whose rules hold, or in one */
    char *rules;        /* the first such file that was met; NULL: none was */
    bool is_read;
    struct buf text; /* what paths point into */
    char **paths;    /* ignored: below the folder, sorted */
    size_t n, capacity;
};

struct ignore {
    const char *file_name; /* of the rules */
    bool has_git;          /* is installed */
    bool is_checked;       /* and can be asked */
    struct ignore_scope **scopes;
    size_t n, capacity;
};

/* ---- what no program needs ---- */

/* With a / they are folders; a * stands for anything. */
static const char *const built_in[] = {
    ".git",         ".hg/",
    ".svn/",        GIT_RULES,
    OWN_RULES,      "__pycache__/",
    ".mypy_cache/", ".DS_Store",
    "._*",          ".pytest_cache/",
    ".ruff_cache/", ".nfs*",
    "*.swp",        ".ipynb_checkpoints/",
    LAYOUT_FETCHED,
};

static bool matches_built_in(const char *pattern, const char *name, bool is_folder)
{
    size_t n = strcspn(pattern, "*/"), n_name = strlen(name), n_end;

    if (strncmp(pattern, name, n) != 0)
        return false;
    if (pattern[n] != '*')
        return name[n] == '\0' && (is_folder || pattern[n] == '\0');
    n_end = strlen(pattern + n + 1);
    return n_name >= n + n_end && strcmp(name + n_name - n_end, pattern + n + 1) == 0;
}

static bool is_built_in(const char *name, bool is_folder)
{
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        if (matches_built_in(built_in[i], name, is_folder))
            return true;
    return false;
}

/* ---- which rules hold in a folder ---- */

static bool has(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    struct stat st;
    bool found = lstat(path, &st) == 0;

    free(path);
    return found;
}

/* NULL: there is none.  git only warns of one that it cannot read, and takes everything. */
static int find_rules(const char *folder, const char *name, char **path, struct err *e)
{
    struct stat st;

    *path = path_join(folder, name);
    if (lstat(*path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        if (S_ISLNK(st.st_mode))
            return err_set(e, ERR_USAGE, "%s is a link, which git does not follow; copy the file",
                           *path);
        return access(*path, R_OK) < 0 ? err_sys(e, "read %s", *path) : 0;
    }
    free(*path);
    *path = NULL;
    return 0;
}

/* In a folder above, up to the top. */
static int find_rules_above(const char *folder, const char *top, const char *name, char **path,
                            struct err *e)
{
    char *above = path_dirname(folder);
    int result = 0;

    if (strcmp(folder, top) != 0) {
        result = find_rules(above, name, path, e);
        if (result == 0 && *path == NULL)
            result = find_rules_above(above, top, name, path, e);
    }
    free(above);
    return result;
}

static bool is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Where git itself would not go on. */
static bool begins_anew(const char *folder)
{
    return gitrules_is_top(folder) || is_link(folder);
}

static struct ignore_scope *find_scope(const struct ignore *ig, const char *folder)
{
    for (size_t i = 0; i < ig->n; i++)
        if (strcmp(ig->scopes[i]->folder, folder) == 0)
            return ig->scopes[i];
    return NULL;
}

/* What holds besides the files that will be met. */
static int look_at_repository(struct ignore_scope *s, struct err *e)
{
    char *real = path_real(s->folder, e), *top;
    int result = 0;

    if (real == NULL)
        return -1;
    top = gitrules_find_top(real);
    s->is_repository = top != NULL;
    if (top != NULL && !s->of->has_git)
        result = find_rules_above(real, top, s->of->file_name, &s->rules, e);
    free(top);
    free(real);
    return result;
}

static bool is_own(const struct ignore *ig)
{
    return strcmp(ig->file_name, OWN_RULES) == 0;
}

static void free_scope(struct ignore_scope *s)
{
    free(s->folder);
    free(s->top);
    free(s->rules);
    buf_free(&s->text);
    free(s->paths);
    free(s);
}

static struct ignore_scope *add_scope(struct ignore *ig, const struct ignore_scope *above,
                                      const char *folder, struct err *e)
{
    struct ignore_scope *s = mem_alloc(sizeof *s);

    s->of = ig;
    s->folder = mem_strdup(folder);
    if (above != NULL && is_own(ig) && !is_link(folder)) {
        s->top = mem_strdup(above->top);
        s->rules = above->rules != NULL ? mem_strdup(above->rules) : NULL;
    } else {
        s->top = mem_strdup(folder);
    }
    if (!is_own(ig) && look_at_repository(s, e) < 0) {
        free_scope(s);
        return NULL;
    }
    mem_grow((void **)&ig->scopes, &ig->capacity, ig->n, sizeof(struct ignore_scope *));
    ig->scopes[ig->n++] = s;
    return s;
}

int ignore_enter(struct ignore *ig, struct ignore_scope *above, const char *folder,
                 struct ignore_scope **scope, struct err *e)
{
    char *rules;
    int result;

    *scope = above;
    if (above == NULL || begins_anew(folder))
        *scope = find_scope(ig, folder);
    if (*scope == NULL)
        *scope = add_scope(ig, above, folder, e);
    if (*scope == NULL)
        return -1;
    result = find_rules(folder, ig->file_name, &rules, e);
    if ((*scope)->rules == NULL && result == 0)
        (*scope)->rules = rules;
    else
        free(rules);
    return result;
}

/* ---- what git says ---- */

static int compare(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* git names a folder, too, when all that is in it is ignored, and then that; such a folder stays, as
 * what the program comes upon would else change with what lies about in it. */
static bool is_folder_that_stays(const char *path, size_t n, const char *next, const char *end)
{
    return path[n - 1] == '/' && next < end && strncmp(path, next, n) == 0;
}

static void sort_paths(struct ignore_scope *s)
{
    char *at = (char *)s->text.bytes, *end = at + s->text.n;

    while (at < end) {
        size_t n = strlen(at);
        char *next = at + n + 1;

        if (n > 0 && !is_folder_that_stays(at, n, next, end)) {
            if (at[n - 1] == '/')
                at[n - 1] = '\0';
            mem_grow((void **)&s->paths, &s->capacity, s->n, sizeof *s->paths);
            s->paths[s->n++] = at;
        }
        at = next;
    }
    if (s->n > 0)
        qsort(s->paths, s->n, sizeof *s->paths, compare);
}

static int ask_git(struct ignore_scope *s, struct err *e)
{
    int ignored = 0;

    if (!s->of->has_git)
        return err_set(e, ERR_FAILED,
                       "%s says what to leave out, and git, which reads it, is not installed; "
                       "install git, or take that file away",
                       s->rules);
    if (!s->of->is_checked && gitrules_check(e) < 0)
        return -1;
    s->of->is_checked = true;
    if (s->is_repository && !gitrules_is_top(s->folder))
        ignored = gitrules_ignores(s->folder, e);
    if (ignored < 0)
        return -1;
    if (s->is_repository && !ignored)
        return gitrules_list(s->folder, &s->text, e);
    return gitrules_list_by(s->of->file_name, s->top, s->folder, &s->text, e);
}

static int read_scope(struct ignore_scope *s, struct err *e)
{
    bool is_needed = s->rules != NULL || (s->is_repository && s->of->has_git);

    if (s->is_read || !is_needed)
        return 0;
    if (ask_git(s, e) < 0)
        return -1;
    sort_paths(s);
    s->is_read = true;
    return 0;
}

static const char *path_in(const struct ignore_scope *s, const char *path)
{
    path += strlen(s->folder);
    return path + strspn(path, "/");
}

int ignore_matches(struct ignore_scope *scope, const char *path, bool is_folder, struct err *e)
{
    const char *in;

    if (is_built_in(path_basename(path), is_folder))
        return 1;
    if (scope == NULL)
        return 0;
    if (read_scope(scope, e) < 0)
        return -1;
    in = path_in(scope, path);
    return scope->n > 0 &&
           bsearch(&in, scope->paths, scope->n, sizeof *scope->paths, compare) != NULL;
}

/* ---- beginning and end ---- */

struct ignore *ignore_create(const char *root)
{
    struct ignore *ig = mem_alloc(sizeof *ig);

    ig->file_name = has(root, OWN_RULES) ? OWN_RULES : GIT_RULES;
    ig->has_git = child_is_in_path("git");
    return ig;
}

void ignore_destroy(struct ignore *ig)
{
    if (ig == NULL)
        return;
    for (size_t i = 0; i < ig->n; i++)
        free_scope(ig->scopes[i]);
    free(ig->scopes);
    free(ig);
}
