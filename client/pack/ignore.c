/* SPDX-License-Identifier: MIT */
/* ignore.c - which files of a source tree are no part of the program */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/pack/gitrules.h"
#include "client/pack/ignore.h"
#include "client/util/child.h"
#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/proto/layout.h"

#define OWN_RULES ".ludwigignore"
#define GIT_RULES ".gitignore"

struct ignore_scope {
    struct ignore *of;
    char *folder;
    char *top;          /* from there on such files hold */
    char *repository;   /* whose rules hold: where it begins; NULL: none's do */
    const char *prefix; /* of the folder in it; lies in real */
    char *real;         /* the folder's path without links */
    struct buf links;   /* see gitrules_list_links */
    char *rules;        /* the first such file that was met; NULL: none was */
    bool is_read;
    struct buf text; /* what paths point into */
    char **paths;    /* ignored: below the folder, sorted */
    size_t n, capacity;
};

struct ignore {
    const char *file_name; /* of the rules */
    bool is_checked;       /* whether there is a git that can be asked */
    struct err git_why;    /* ERR_NONE: there is */
    char **skipped;        /* folders that nothing is asked about */
    size_t n_skipped, skipped_capacity;
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
            return err_set(
                e, ERR_USAGE,
                "%s is a link, which git does not follow; copy the file, or write a " OWN_RULES
                " beside the sweep",
                *path);
        if (!S_ISREG(st.st_mode))
            return err_set(e, ERR_USAGE, "%s is no regular file; take it away", *path);
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

static bool has_git(struct ignore *ig)
{
    if (!ig->is_checked)
        (void)gitrules_check(&ig->git_why);
    ig->is_checked = true;
    return ig->git_why.kind == ERR_NONE;
}

/* ---- submodules without their repository ---- */

static bool is_in_links(const struct ignore_scope *s, const char *path)
{
    const char *at = buf_text(&s->links), *end = at + s->links.n;

    for (; at < end; at += strlen(at) + 1) {
        size_t n = strlen(at);

        if (strncmp(at, path, n) == 0 && (path[n] == '\0' || path[n] == '/'))
            return true;
    }
    return false;
}

static int find_links(struct ignore_scope *s, struct err *e)
{
    struct err why = { 0 };

    if (!has(s->repository, ".gitmodules") ||
        gitrules_list_links(s->repository, &s->links, &why) == 0 || why.kind == ERR_NOT_FOUND)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

/* git does not go into it, and has no rules for what is in it. */
static bool is_bare_link(const struct ignore_scope *s, const char *folder)
{
    char *path;
    bool is_one;

    if (s->links.n == 0)
        return false;
    path = path_join(s->prefix, folder + strlen(s->folder) + (folder[strlen(s->folder)] == '/'));
    is_one = is_in_links(s, path);
    free(path);
    return is_one;
}

/* ---- scopes ---- */

/* What holds besides the files that will be met. */
static int look_at_repository(struct ignore_scope *s, struct err *e)
{
    s->real = path_real(s->folder, e);
    if (s->real == NULL)
        return -1;
    s->repository = gitrules_find_top(s->real);
    if (s->repository == NULL)
        return 0;
    s->prefix = s->real + strlen(s->repository);
    s->prefix += strspn(s->prefix, "/");
    if (!has_git(s->of))
        return find_rules_above(s->real, s->repository, s->of->file_name, &s->rules, e);
    if (find_links(s, e) < 0)
        return -1;
    if (is_in_links(s, s->prefix)) {
        free(s->repository);
        s->repository = NULL;
        buf_free(&s->links);
    }
    return 0;
}

static bool is_own(const struct ignore *ig)
{
    return strcmp(ig->file_name, OWN_RULES) == 0;
}

static void free_scope(struct ignore_scope *s)
{
    free(s->folder);
    free(s->top);
    free(s->repository);
    free(s->real);
    buf_free(&s->links);
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
    if (above == NULL || begins_anew(folder) || is_bare_link(above, folder))
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

static int say_no_git(const struct ignore_scope *s, struct err *e)
{
    const struct err *why = &s->of->git_why;

    if (why->kind != ERR_NOT_FOUND)
        return err_set(e, ERR_FAILED, "%s says what to leave out: %s, or take that file away",
                       s->rules, why->text);
    return err_set(e, ERR_FAILED,
                   "%s says what to leave out, and git, which reads it, is not installed; "
                   "install git, or take that file away",
                   s->rules);
}

/* What lies in the scope's folder, which is that below where paths begin. */
static struct list skipped_in(const struct ignore_scope *s, const char *below, struct arena *a)
{
    const struct ignore *ig = s->of;
    const char **paths = arena_alloc(a, ig->n_skipped * sizeof *paths);
    size_t n = strlen(s->folder), count = 0;

    for (size_t i = 0; i < ig->n_skipped; i++) {
        const char *path = ig->skipped[i];

        if (strncmp(path, s->folder, n) != 0 || path[n] != '/')
            continue;
        paths[count++] = below[0] == '\0' ? arena_strdup(a, path + n + 1)
                                          : arena_printf(a, "%s%s", below, path + n);
    }
    return (struct list){ paths, count };
}

static int list_ignored(struct ignore_scope *s, struct err *e)
{
    struct arena *a = arena_create();
    struct list skipped = skipped_in(s, s->prefix, a);
    int result = gitrules_list(s->repository, s->folder, &skipped, &s->text, e);

    arena_destroy(a);
    return result;
}

static int list_by_files(struct ignore_scope *s, struct err *e)
{
    const char *below = s->folder + strlen(s->top);
    struct arena *a = arena_create();
    struct list skipped = skipped_in(s, below + strspn(below, "/"), a);
    int result = gitrules_list_by(s->of->file_name, s->top, s->folder, &skipped, &s->text, e);

    arena_destroy(a);
    return result;
}

/* 1; 0: it has no rules for the folder; -1. */
static int ask_repository(struct ignore_scope *s, struct err *e)
{
    struct err why = { 0 };
    int ignored = 0, result;

    if (!gitrules_is_top(s->folder))
        ignored = gitrules_ignores(s->repository, s->folder, &why);
    result = ignored == 0 ? list_ignored(s, &why) : -1;
    if (result == 0)
        return 1;
    return ignored > 0 || why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

static int ask_git(struct ignore_scope *s, struct err *e)
{
    int result = 0;

    if (!has_git(s->of))
        return say_no_git(s, e);
    if (s->repository != NULL)
        result = ask_repository(s, e);
    if (result != 0)
        return result < 0 ? -1 : 0;
    return list_by_files(s, e);
}

static int read_scope(struct ignore_scope *s, struct err *e)
{
    bool is_needed = s->rules != NULL || (s->repository != NULL && has_git(s->of));

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
    return ig;
}

void ignore_skip(struct ignore *ig, const char *folder)
{
    mem_grow((void **)&ig->skipped, &ig->skipped_capacity, ig->n_skipped, sizeof *ig->skipped);
    ig->skipped[ig->n_skipped++] = mem_strdup(folder);
}

void ignore_destroy(struct ignore *ig)
{
    if (ig == NULL)
        return;
    for (size_t i = 0; i < ig->n_skipped; i++)
        free(ig->skipped[i]);
    free(ig->skipped);
    for (size_t i = 0; i < ig->n; i++)
        free_scope(ig->scopes[i]);
    free(ig->scopes);
    free(ig);
}
