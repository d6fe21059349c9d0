/* SPDX-License-Identifier: MIT */
/* ignore.c - says which files are left out of a source tree, by name and by rules that git reads */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/pack/ignore.h"
#include "client/term/output.h"
#include "client/util/child.h"
#include "client/util/spool.h"
#include "common/base/buf.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/proto/layout.h"

#define OWN_RULES ".ludwigignore"
#define GIT_RULES ".gitignore"

struct ignore_scope {
    struct ignore *of;
    char *folder;
    char *top;          /* the topmost folder whose rules files count */
    char *repository;   /* top of the repository whose rules count; NULL: none */
    const char *prefix; /* the folder's path below the repository; points into real */
    char *real;         /* the folder's path without links */
    struct buf links;   /* submodules: each path below the repository with its NUL */
    char *rules;        /* the first rules file that was met; NULL: none */
    bool is_read;
    struct buf text; /* holds the paths */
    char **paths;    /* ignored paths below the folder, sorted */
    size_t n, capacity;
};

struct ignore {
    const char *file_name; /* the name of rules files */
    bool is_checked;       /* git_why is set */
    struct err git_why;    /* why git cannot be asked; ERR_NONE: it can */
    char **skipped;        /* folders that git need not look into */
    size_t n_skipped, skipped_capacity;
    struct ignore_scope **scopes;
    size_t n, capacity;
};

/* ---- names that no program needs ---- */

/* A pattern with a / at its end is for folders; a * stands for anything. */
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

static bool is_built_in(const char *name, bool is_folder)
{
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        const char *pattern = built_in[i], *end;
        size_t n = strcspn(pattern, "*/"), n_name = strlen(name);

        if (strncmp(pattern, name, n) != 0)
            continue;
        end = pattern[n] == '*' ? pattern + n + 1 : NULL;
        if (end == NULL
                ? name[n] == '\0' && (is_folder || pattern[n] == '\0')
                : n_name >= n + strlen(end) && strcmp(name + n_name - strlen(end), end) == 0)
            return true;
    }
    return false;
}

/* ---- running git ---- */

/* git must find the repository by the folder, not by variables that git sets for its hooks. */
#define GIT                                                                                        \
    "env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "-u", "GIT_COMMON_DIR", "-u", "GIT_INDEX_FILE", \
        "-u", "GIT_OBJECT_DIRECTORY", "-u", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "-u",              \
        "GIT_PREFIX", "-u", "GIT_NAMESPACE", "-u", "GIT_CEILING_DIRECTORIES", "-u",                \
        "GIT_LITERAL_PATHSPECS", "-u", "GIT_GLOB_PATHSPECS", "-u", "GIT_NOGLOB_PATHSPECS", "-u",   \
        "GIT_ICASE_PATHSPECS", "GIT_OPTIONAL_LOCKS=0", "GIT_DEFAULT_HASH=sha1",                    \
        "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND=ssh -oBatchMode=yes",     \
        "LC_ALL=C", "git", "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c",        \
        "core.precomposeUnicode=false"
#define LIST "ls-files", "-z", "--others", "--ignored", "--directory"

/* An index entry that makes git go into a folder although another repository begins there. */
#define ENTRY_NAME ".ludwig-goes-in-here"
#define ENTRY      "100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" /* an empty file */

#define NO_REPOSITORY "not a git repository"

/* Runs git and returns its exit status if that is at most status_max; else -1, with advice in the
 * error.  ERR_NOT_FOUND: git sees no repository in the folder, such as in a copied submodule. */
static int run_git(const char *const *argv, int status_max, const char *folder, const char *advice,
                   struct buf *out, struct err *e)
{
    struct buf said = { 0 };
    int status = child_capture_all(argv, out, &said, e);
    const char *why = strstr(buf_text(&said), "fatal: ");
    const char *warning = strstr(buf_text(&said), "warning: unable to access ");

    if (status > status_max) {
        enum err_kind kind;

        why = why != NULL ? why + strlen("fatal: ") : buf_text(&said);
        kind = strncmp(why, NO_REPOSITORY, strlen(NO_REPOSITORY)) == 0 ? ERR_NOT_FOUND : ERR_FAILED;
        if (*why == '\0')
            err_set(e, kind, "git, asked what is ignored in %s, ended with %d; %s", folder, status,
                    advice);
        else
            err_set(e, kind, "git does not say what is ignored in %s: %.*s; %s", folder,
                    (int)strcspn(why, "\n"), why, advice);
        status = -1;
    } else if (status >= 0 && status_max == 0 && warning != NULL) {
        /* git goes on without rules that it cannot read.  The warning is noted only for the last
         * question, which has status_max 0. */
        output_note("note: git, asked what is ignored: %.*s", (int)strcspn(warning, "\n"), warning);
    }
    buf_free(&said);
    return status;
}

static int run_in_repository(const char *const *argv, int status_max, const char *folder,
                             struct buf *out, struct err *e)
{
    char *advice =
        mem_printf("see `git -C '%s' status`, or write a .ludwigignore beside the sweep, "
                   "which holds without a repository",
                   folder);
    int status = run_git(argv, status_max, folder, advice, out, e);

    free(advice);
    return status;
}

/* An older git does not list ignored files in folders without tracked files. */
enum { MAJOR_MIN = 2, MINOR_MIN = 32 };

int ignore_check_git(struct err *e)
{
    const char *const argv[] = { GIT, "version", NULL };
    struct buf out = { 0 }, said = { 0 };
    unsigned major = 0, minor = 0;
    const char *words;
    int result;

    if (!child_is_in_path("git"))
        return err_set(e, ERR_NOT_FOUND, "git is not installed; install it");
    result = child_capture_all(argv, &out, &said, e);
    words = strstr(buf_text(&out), "git version ");
    if (result >= 0 && (words == NULL || sscanf(words, "git version %u.%u", &major, &minor) != 2))
        result = err_set(e, ERR_FAILED, "git does not work here; see what `git version` says");
    else if (result >= 0 && (major < MAJOR_MIN || (major == MAJOR_MIN && minor < MINOR_MIN)))
        result = err_set(e, ERR_FAILED,
                         "git does not say all that is ignored before its version %d.%d, and here "
                         "is %u.%u; put a newer one first in PATH",
                         MAJOR_MIN, MINOR_MIN, major, minor);
    buf_free(&said);
    buf_free(&out);
    return result < 0 ? -1 : 0;
}

static bool has_git(struct ignore *ig)
{
    if (!ig->is_checked)
        (void)ignore_check_git(&ig->git_why);
    ig->is_checked = true;
    return ig->git_why.kind == ERR_NONE;
}

/* ---- repositories ---- */

/* Whether a repository begins in the folder. */
static bool is_top(const char *folder)
{
    char *path = path_join(folder, ".git"), *head = path_join(path, "HEAD");
    struct stat st;
    bool is = lstat(path, &st) == 0 && (S_ISREG(st.st_mode) || access(head, F_OK) == 0);

    free(head);
    free(path);
    return is;
}

/* The top of the repository that contains a folder (absolute, without links), as git searches for
 * it; NULL: there is none.  Caller frees. */
static char *find_top(const char *folder)
{
    bool stays = getenv("GIT_DISCOVERY_ACROSS_FILESYSTEM") == NULL;
    char *at = mem_strdup(folder);

    while (!is_top(at)) {
        char *above = path_dirname(at);
        struct stat x, y;
        bool is_last = strcmp(above, at) == 0 ||
                       (stays && (stat(at, &x) < 0 || stat(above, &y) < 0 || x.st_dev != y.st_dev));

        free(at);
        at = above;
        if (is_last) {
            free(at);
            return NULL;
        }
    }
    return at;
}

/* Lists the submodules of the scope's repository, which have mode 160000: "160000 ID 0\tPATH". */
static int list_links(struct ignore_scope *s, struct err *e)
{
    const char *const argv[] = { GIT,        "--work-tree", s->repository, "-C", s->repository,
                                 "ls-files", "-s",          "-z",          NULL };
    struct buf all = { 0 };
    int result = run_in_repository(argv, 0, s->repository, &all, e);
    const char *at = buf_text(&all), *end = at + all.n;

    for (; result == 0 && at < end; at += strlen(at) + 1) {
        const char *path = strchr(at, '\t');

        if (strncmp(at, "160000 ", 7) == 0 && path != NULL)
            buf_add(&s->links, path + 1, strlen(path + 1) + 1);
    }
    buf_free(&all);
    return result;
}

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

/* Whether the folder is a submodule, which git does not go into and has no rules for. */
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

/* ---- rules of a folder ---- */

static bool has(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    struct stat st;
    bool found = lstat(path, &st) == 0;

    free(path);
    return found;
}

/* Finds a folder's rules file; *path NULL: there is none.  A file that git cannot read is an error,
 * as git would only warn, and leave out nothing. */
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

static bool is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Finds a rules file in the folders above, up to the repository's top. */
static int find_rules_above(struct ignore_scope *s, struct err *e)
{
    char *at = mem_strdup(s->real);
    int result = 0;

    while (result == 0 && s->rules == NULL && strcmp(at, s->repository) != 0) {
        char *above = path_dirname(at);

        free(at);
        at = above;
        result = find_rules(at, s->of->file_name, &s->rules, e);
    }
    free(at);
    return result;
}

/* Finds the repository whose rules count besides the rules files in the tree. */
static int look_at_repository(struct ignore_scope *s, struct err *e)
{
    struct err why = { 0 };

    s->real = path_real(s->folder, e);
    if (s->real == NULL)
        return -1;
    s->repository = find_top(s->real);
    if (s->repository == NULL)
        return 0;
    s->prefix = s->real + strlen(s->repository);
    s->prefix += strspn(s->prefix, "/");
    if (!has_git(s->of))
        return find_rules_above(s, e);
    if (has(s->repository, ".gitmodules") && list_links(s, &why) < 0 && why.kind != ERR_NOT_FOUND)
        return err_set(e, why.kind, "%s", why.text);
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
    /* A folder that git itself would not enter begins a new scope. */
    if (above == NULL || is_top(folder) || is_link(folder) || is_bare_link(above, folder)) {
        *scope = NULL;
        for (size_t i = 0; i < ig->n && *scope == NULL; i++)
            if (strcmp(ig->scopes[i]->folder, folder) == 0)
                *scope = ig->scopes[i];
    }
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

/* ---- git's answers ---- */

static int compare_paths(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static void sort_paths(struct ignore_scope *s)
{
    char *at = (char *)s->text.bytes, *end = at + s->text.n;

    while (at < end) {
        size_t n = strlen(at);
        char *next = at + n + 1;
        bool is_folder = n > 0 && at[n - 1] == '/';

        /* git also lists a folder whose content is all ignored, followed by that content.  The
         * folder itself is not left out, else it would come and go with the ignored files in it. */
        if (n > 0 && !(is_folder && next < end && strncmp(at, next, n) == 0)) {
            if (is_folder)
                at[n - 1] = '\0';
            mem_grow((void **)&s->paths, &s->capacity, s->n, sizeof *s->paths);
            s->paths[s->n++] = at;
        }
        at = next;
    }
    if (s->n > 0)
        qsort(s->paths, s->n, sizeof *s->paths, compare_paths);
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

/* Returns argv with options that let git skip the skipped folders.  below: the path of the scope's
 * folder from where patterns begin.  Special characters of a path are escaped. */
static const char **skipping(const struct ignore_scope *s, const char *below,
                             const char *const *argv, struct arena *a)
{
    const struct ignore *ig = s->of;
    size_t n = 0, n_folder = strlen(s->folder);
    const char **all;

    while (argv[n] != NULL)
        n++;
    all = arena_alloc(a, (n + 2 * ig->n_skipped + 1) * sizeof *all);
    memcpy(all, argv, n * sizeof *all);
    for (size_t i = 0; i < ig->n_skipped; i++) {
        const char *path = ig->skipped[i];
        struct buf pattern = { 0 };

        if (strncmp(path, s->folder, n_folder) != 0 || path[n_folder] != '/')
            continue;
        path += n_folder;
        path = below[0] == '\0' ? path + 1 : arena_printf(a, "%s%s", below, path);
        buf_add_char(&pattern, '/');
        for (; *path != '\0'; path++) {
            if (strchr("\\*?[ ", *path) != NULL)
                buf_add_char(&pattern, '\\');
            buf_add_char(&pattern, *path);
        }
        buf_add_char(&pattern, '/');
        all[n++] = "-x";
        all[n++] = buf_to_arena(&pattern, a);
    }
    all[n] = NULL;
    return all;
}

/* Lists what the repository's rules leave out: 1; 0: it has no rules for the folder, or ignores it;
 * -1 with e set.  --work-tree is given, as a repository's configuration may name another one. */
static int list_in_repository(struct ignore_scope *s, struct arena *a, struct err *e)
{
    const char *const check[] = { GIT,          "--work-tree", s->repository,
                                  "-C",         s->folder,     "check-ignore",
                                  "--no-index", "-q",          ".",
                                  NULL };
    const char *const list[] = { GIT,       "--work-tree", s->repository,        "-C",
                                 s->folder, LIST,          "--exclude-standard", NULL };
    struct buf nothing = { 0 };
    struct err why = { 0 };
    int status = 1; /* 1: the repository does not ignore the folder itself */

    if (!is_top(s->folder))
        status = run_in_repository(check, 1, s->folder, &nothing, &why);
    buf_free(&nothing);
    if (status == 0)
        return 0;
    if (status > 0 &&
        run_in_repository(skipping(s, s->prefix, list, a), 0, s->folder, &s->text, &why) == 0)
        return 1;
    return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

static int run_ours(const struct ignore_scope *s, const char *const *argv, struct buf *out,
                    struct err *e)
{
    return run_git(argv, 0, s->folder, "see whether `git init` works here", out, e);
}

/* Lists the paths that the rules files from the scope's top on leave out.  git is asked in an empty
 * repository, so that no other repository's rules count. */
static int list_by_files(struct ignore_scope *s, const char *repository, struct arena *a,
                         struct err *e)
{
    const char *below = s->folder + strlen(s->top) + (s->folder[strlen(s->top)] == '/');
    const char *rules = arena_printf(a, "--exclude-per-directory=%s", s->of->file_name);
    const char *entry = arena_printf(a, "%s,%s/%s", ENTRY, below, ENTRY_NAME);
    const char *const init[] = { GIT, "init", "-q", "--bare", "--template=", repository, NULL };
    const char *const go_in[] = { GIT,    "--git-dir",    repository, "--work-tree", s->top, "-C",
                                  s->top, "update-index", "--add",    "--cacheinfo", entry,  NULL };
    const char *const list[] = { GIT,  "--git-dir", repository, "--work-tree", s->top,
                                 "-C", s->folder,   LIST,       rules,         NULL };
    int result = run_ours(s, init, &s->text, e);

    if (result == 0 && strcmp(s->top, s->folder) != 0) {
        struct buf nothing = { 0 };

        result = run_ours(s, go_in, &nothing, e);
        buf_free(&nothing);
    }
    return result < 0 ? -1 : run_ours(s, skipping(s, below, list, a), &s->text, e);
}

/* Does that in a new empty repository.  Signals wait until it is removed; Ctrl-C ends git, too. */
static int list_in_new(struct ignore_scope *s, struct arena *a, struct err *e)
{
    char *repository = path_join(temp_file_folder(), "ludwig-XXXXXX");
    sigset_t held, before;
    int result;

    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &held, &before);
    if (mkdtemp(repository) == NULL) {
        result = err_sys(e, "create %s ($TMPDIR says where)", repository);
    } else {
        result = list_by_files(s, repository, a, e);
        (void)io_remove_tree(repository, NULL);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    free(repository);
    return result;
}

/* Asks git for the scope's ignored paths, once. */
static int read_scope(struct ignore_scope *s, struct err *e)
{
    bool is_needed = s->rules != NULL || (s->repository != NULL && has_git(s->of));
    struct arena *a;
    int result = 0;

    if (s->is_read || !is_needed)
        return 0;
    if (!has_git(s->of))
        return say_no_git(s, e);
    a = arena_create();
    if (s->repository != NULL)
        result = list_in_repository(s, a, e);
    if (result == 0)
        result = list_in_new(s, a, e);
    arena_destroy(a);
    if (result < 0)
        return -1;
    sort_paths(s);
    s->is_read = true;
    return 0;
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
    in = path + strlen(scope->folder);
    in += strspn(in, "/");
    return scope->n > 0 &&
           bsearch(&in, scope->paths, scope->n, sizeof *scope->paths, compare_paths) != NULL;
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
