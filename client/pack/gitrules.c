/* SPDX-License-Identifier: MIT */
/* gitrules.c - what git leaves out */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/pack/gitrules.h"
#include "client/term/output.h"
#include "client/util/child.h"
#include "client/util/temp_file.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* Which repository it is, the folder says, and not who called us, which may be a hook of git's. */
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

/* In an index it makes git go into that folder, although a repository of its own begins there. */
#define ENTRY_NAME ".ludwig-goes-in-here"
#define ENTRY      "100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" /* an empty file */

/* ---- running it ---- */

#define NO_REPOSITORY "not a git repository"

static int blame(const char *folder, const char *advice, int status, const struct buf *said,
                 struct err *e)
{
    const char *why = strstr(buf_text(said), "fatal: ");
    enum err_kind kind;

    why = why != NULL ? why + strlen("fatal: ") : buf_text(said);
    kind = strncmp(why, NO_REPOSITORY, strlen(NO_REPOSITORY)) == 0 ? ERR_NOT_FOUND : ERR_FAILED;
    if (*why == '\0')
        return err_set(e, kind, "git, asked what is ignored in %s, ended with %d; %s", folder,
                       status, advice);
    return err_set(e, kind, "git does not say what is ignored in %s: %.*s; %s", folder,
                   (int)strcspn(why, "\n"), why, advice);
}

/* git goes on without rules that it cannot read. */
static void tell_warning(const struct buf *said)
{
    const char *warning = strstr(buf_text(said), "warning: unable to access ");

    if (warning != NULL)
        output_note("note: git, asked what is ignored: %.*s", (int)strcspn(warning, "\n"), warning);
}

/* Its exit status up to status_max; above that it failed. */
static int run(const char *const *argv, int status_max, const char *folder, const char *advice,
               struct buf *out, struct err *e)
{
    struct buf said = { 0 };
    int status = child_capture_all(argv, out, &said, e);

    if (status > status_max) {
        blame(folder, advice, status, &said, e);
        status = -1;
    } else if (status >= 0 && status_max == 0) {
        tell_warning(&said); /* a question with two answers is not the last one */
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
    int status = run(argv, status_max, folder, advice, out, e);

    free(advice);
    return status;
}

/* Older ones do not look for what is ignored in folders in which they track nothing. */
enum { MAJOR_MIN = 2, MINOR_MIN = 32 };

static int check_version(const char *said, struct err *e)
{
    const char *words = strstr(said, "git version ");
    unsigned major = 0, minor = 0;

    if (words == NULL || sscanf(words, "git version %u.%u", &major, &minor) != 2)
        return err_set(e, ERR_FAILED, "git does not work here; see what `git version` says");
    if (major > MAJOR_MIN || (major == MAJOR_MIN && minor >= MINOR_MIN))
        return 0;
    return err_set(e, ERR_FAILED,
                   "git does not say all that is ignored before its version %d.%d, and here "
                   "is %u.%u; put a newer one first in PATH",
                   MAJOR_MIN, MINOR_MIN, major, minor);
}

int gitrules_check(struct err *e)
{
    const char *const argv[] = { GIT, "version", NULL };
    struct buf out = { 0 }, said = { 0 };
    int result;

    if (!child_is_in_path("git"))
        return err_set(e, ERR_NOT_FOUND, "git is not installed; install it");
    result = child_capture_all(argv, &out, &said, e);
    if (result >= 0)
        result = check_version(buf_text(&out), e);
    buf_free(&said);
    buf_free(&out);
    return result;
}

/* ---- the folder's own repository ---- */

bool gitrules_is_top(const char *folder)
{
    char *path = path_join(folder, ".git"), *head = path_join(path, "HEAD");
    struct stat st;
    bool is_top = lstat(path, &st) == 0 && (S_ISREG(st.st_mode) || access(head, F_OK) == 0);

    free(head);
    free(path);
    return is_top;
}

static bool is_other_device(const char *folder, const char *above)
{
    struct stat x, y;

    return stat(folder, &x) < 0 || stat(above, &y) < 0 || x.st_dev != y.st_dev;
}

char *gitrules_find_top(const char *folder)
{
    bool stays = getenv("GIT_DISCOVERY_ACROSS_FILESYSTEM") == NULL;
    char *at = mem_strdup(folder);

    while (!gitrules_is_top(at)) {
        char *above = path_dirname(at);
        bool is_last = strcmp(above, at) == 0 || (stays && is_other_device(at, above));

        free(at);
        at = above;
        if (is_last) {
            free(at);
            return NULL;
        }
    }
    return at;
}

/* The work tree is told, as a repository's configuration may name another. */
int gitrules_ignores(const char *top, const char *folder, struct err *e)
{
    const char *const argv[] = { GIT,          "--work-tree", top, "-C", folder, "check-ignore",
                                 "--no-index", "-q",          ".", NULL };
    struct buf nothing = { 0 };
    int status = run_in_repository(argv, 1, folder, &nothing, e);

    buf_free(&nothing);
    return status < 0 ? -1 : status == 0;
}

/* The path alone, whatever is in its name. */
static char *pattern_of(const char *path)
{
    struct buf pattern = { 0 };

    buf_add_char(&pattern, '/');
    for (; *path != '\0'; path++) {
        if (strchr("\\*?[ ", *path) != NULL)
            buf_add_char(&pattern, '\\');
        buf_add_char(&pattern, *path);
    }
    buf_add_char(&pattern, '/');
    return buf_take(&pattern);
}

/* The same with what git need not look into. */
static const char **skipping(const char *const *argv, const struct list *skipped, struct arena *a)
{
    const char *const *paths = skipped->items;
    size_t n = 0, at;
    const char **all;

    while (argv[n] != NULL)
        n++;
    all = arena_alloc(a, (n + 2 * skipped->n + 1) * sizeof *all);
    memcpy(all, argv, n * sizeof *all);
    at = n;
    for (size_t i = 0; i < skipped->n; i++) {
        char *pattern = pattern_of(paths[i]);

        all[at++] = "-x";
        all[at++] = arena_strdup(a, pattern);
        free(pattern);
    }
    all[at] = NULL;
    return all;
}

int gitrules_list(const char *top, const char *folder, const struct list *skipped, struct buf *out,
                  struct err *e)
{
    const char *const argv[] = { GIT,  "--work-tree",        top, "-C", folder,
                                 LIST, "--exclude-standard", NULL };
    struct arena *a = arena_create();
    int result = run_in_repository(skipping(argv, skipped, a), 0, folder, out, e);

    arena_destroy(a);
    return result;
}

/* "160000 COMMIT 0\tPATH" is one; other files have other modes. */
int gitrules_list_links(const char *top, struct buf *out, struct err *e)
{
    const char *const argv[] = { GIT, "--work-tree", top, "-C", top, "ls-files", "-s", "-z", NULL };
    struct buf all = { 0 };
    int result = run_in_repository(argv, 0, top, &all, e);
    const char *at = buf_text(&all), *end = at + all.n;

    for (; result == 0 && at < end; at += strlen(at) + 1) {
        const char *path = strchr(at, '\t');

        if (strncmp(at, "160000 ", 7) == 0 && path != NULL)
            buf_add(out, path + 1, strlen(path + 1) + 1);
    }
    buf_free(&all);
    return result;
}

/* ---- a repository of ours, which is empty ---- */

static int run_ours(const char *const *argv, const char *folder, struct buf *out, struct err *e)
{
    return run(argv, 0, folder, "see whether `git init` works here", out, e);
}

static int go_in(const char *repository, const char *top, const char *folder, struct err *e)
{
    const char *below = folder + strlen(top);
    char *entry = mem_printf("%s,%s/%s", ENTRY, below + strspn(below, "/"), ENTRY_NAME);
    const char *const argv[] = { GIT, "--git-dir",    repository, "--work-tree", top,   "-C",
                                 top, "update-index", "--add",    "--cacheinfo", entry, NULL };
    struct buf nothing = { 0 };
    int status = run_ours(argv, folder, &nothing, e);

    buf_free(&nothing);
    free(entry);
    return status;
}

static int list_in(const char *repository, const char *file_name, const char *top,
                   const char *folder, const struct list *skipped, struct buf *out, struct err *e)
{
    char *rules = mem_printf("--exclude-per-directory=%s", file_name);
    const char *const init[] = { GIT, "init", "-q", "--bare", "--template=", repository, NULL };
    const char *const argv[] = { GIT,  "--git-dir", repository, "--work-tree", top,
                                 "-C", folder,      LIST,       rules,         NULL };
    struct arena *a = arena_create();
    int result = run_ours(init, folder, out, e);

    if (result == 0 && strcmp(top, folder) != 0)
        result = go_in(repository, top, folder, e);
    if (result == 0)
        result = run_ours(skipping(argv, skipped, a), folder, out, e);
    arena_destroy(a);
    free(rules);
    return result;
}

/* Ctrl-C ends git as well; what we made goes before we do. */
static void hold_interrupts(sigset_t *before)
{
    sigset_t held;

    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &held, before);
}

static int list_in_new(char *repository, const char *file_name, const char *top, const char *folder,
                       const struct list *skipped, struct buf *out, struct err *e)
{
    int result;

    if (mkdtemp(repository) == NULL)
        return err_sys(e, "create %s ($TMPDIR says where)", repository);
    result = list_in(repository, file_name, top, folder, skipped, out, e);
    (void)io_remove_tree(repository, NULL);
    return result;
}

int gitrules_list_by(const char *file_name, const char *top, const char *folder,
                     const struct list *skipped, struct buf *out, struct err *e)
{
    char *repository = path_join(temp_file_folder(), "ludwig-XXXXXX");
    sigset_t before;
    int result;

    hold_interrupts(&before);
    result = list_in_new(repository, file_name, top, folder, skipped, out, e);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    free(repository);
    return result;
}
