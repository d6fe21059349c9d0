/* SPDX-License-Identifier: MIT */
/* staged_env.c - shows a job an environment that lies in the cache at the environment's own path */

#include "worker/runner/staged_env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "worker/base/child_start.h"
#include "worker/runner/prelude.h"

#define JOB_ENVIRONMENT "environment" /* in the attempt's folder: where it is relocated to */

enum {
    SCRIPT_MAX_BYTES = 1024 * 1024,
    FIRST_LINE_MAX_BYTES = 127,
    FAILURE_MAX_BYTES = 1024 * 1024
};

/* The arguments of this process. */
struct staged {
    const char *tree, *path, *base, *job;
    struct arena *arena;
};

int staged_env_find_built(struct order *o, const char *scratch, struct arena *a, struct err *e)
{
    struct environment *x = &o->work.work.environment;
    bool is_conda = strcmp(x->tool, "conda") == 0;
    char *below = mem_printf("%s/" SCRATCH_CACHE, scratch), *cache = path_real(below, e);
    struct env_entry *variables = arena_alloc(a, sizeof *variables);
    const char **paths = arena_alloc(a, sizeof *paths);
    char hex[DIGEST_HEX];

    free(below);
    if (cache == NULL)
        return -1;
    digest_hex(&o->built, hex);
    x->path = arena_printf(a, "%s/%s", cache, hex);
    paths[0] = arena_printf(a, "%s/bin", x->path);
    variables[0] = (struct env_entry){ is_conda ? "CONDA_PREFIX" : "VIRTUAL_ENV", x->path };
    x->paths = (struct list){ paths, 1 };
    x->variables = (struct list){ variables, 1 };
    free(cache);
    return 0;
}

char **staged_env_words(const struct order *o, const char *scratch, const char *job_path,
                        const char *shell, char *const *words, struct arena *a)
{
    const struct environment *x = &o->work.work.environment;
    const struct data_entry *data = o->work.work.data.items;
    char hex[DIGEST_HEX] = "", **all;
    const char *tree = x->path;
    size_t n = 0, n_all = 0;

    for (size_t i = 0; x->tool == NULL && i < o->work.work.data.n; i++)
        if (strcmp(data[i].name, x->data) == 0)
            digest_hex(&data[i].set.tree, hex);
    if (x->tool == NULL)
        tree = arena_printf(a, "%s/" SCRATCH_CACHE "/%s", scratch, hex);
    while (words[n] != NULL)
        n++;
    all = arena_alloc(a, (n + STAGED_ENV_ARGUMENTS + 3) * sizeof *all);
    all[n_all++] = arena_strdup(a, "ludwig-worker");
    all[n_all++] = arena_strdup(a, CHILD_ENVIRONMENT);
    all[n_all++] = arena_strdup(a, tree);
    all[n_all++] = arena_strdup(a, x->path);
    all[n_all++] = arena_strdup(a, x->base != NULL ? x->base : "");
    all[n_all++] = arena_strdup(a, job_path);
    all[n_all++] = arena_strdup(a, shell);
    memcpy(all + n_all, words, n * sizeof *all);
    return all;
}

/* ---- namespaces ---- */

static int write_map(const char *path, const char *text, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return err_sys(e, "open %s", path);
    rc = io_write_all(fd, text, strlen(text)) < 0 ? err_sys(e, "write %s", path) : 0;
    close(fd);
    return rc;
}

/* Maps the user to itself; its further groups lose their names in there, not what they allow. */
static int map_ourselves(uid_t uid, gid_t gid, struct arena *a, struct err *e)
{
    const char *uids = arena_printf(a, "%u %u 1", (unsigned)uid, (unsigned)uid);
    const char *gids = arena_printf(a, "%u %u 1", (unsigned)gid, (unsigned)gid);

    return write_map("/proc/self/uid_map", uids, e) < 0 ||
                   write_map("/proc/self/setgroups", "deny", e) < 0 ||
                   write_map("/proc/self/gid_map", gids, e) < 0
               ? -1
               : 0;
}

static int enter_namespace(struct arena *a, struct err *e)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWNS) < 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            return err_sys(e, "make a mount namespace");
        if (map_ourselves(uid, gid, a, e) < 0)
            return -1;
    }
    /* Mounts that are made outside later, as those of homes, show here as well. */
    return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? err_sys(e, "keep mounts to us")
                                                               : 0;
}

/* Tries enter_namespace in a child, as there is no way back: where a user may make a namespace and
 * do nothing in it (AppArmor on Ubuntu 24.04), a process that is in one has no uid any more. */
static bool can_enter(struct arena *a, struct err *e)
{
    char text[ERR_TEXT_BYTES] = "";
    int ends[2], status = 1;
    ssize_t n = 0;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(e, "make a pipe") == 0;
    pid = fork();
    if (pid == 0) {
        struct err why = { 0 };

        if (enter_namespace(a, &why) == 0)
            _exit(0);
        (void)io_write_all(ends[1], why.text, strlen(why.text));
        _exit(1);
    }
    close(ends[1]);
    if (pid < 0) {
        err_sys(e, "start a process");
    } else {
        n = io_read_all(ends[0], text, sizeof text - 1);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (status != 0)
            err_set(e, ERR_FAILED, "%s", n > 0 ? text : "the process that tried it died");
    }
    close(ends[0]);
    return pid > 0 && status == 0;
}

/* ---- mounts ---- */

static int bind_read_only(const char *from, const char *to, struct err *e)
{
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
    struct statvfs fs;

    if (mount(from, to, NULL, MS_BIND, NULL) < 0 || statvfs(to, &fs) < 0)
        return err_sys(e, "show %s at %s", from, to);
    /* In a user namespace a mount may not lose these flags. */
    flags |= fs.f_flag & ST_NOSUID ? MS_NOSUID : 0;
    flags |= fs.f_flag & ST_NODEV ? MS_NODEV : 0;
    flags |= fs.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
    return mount(NULL, to, NULL, flags, NULL) < 0 ? err_sys(e, "protect %s", to) : 0;
}

/* Shows an entry of the folder from, which is open at fd, in the folder to.  If it may not be bound
 * there, it is empty; one that is gone is left out. */
static int show_entry(int fd, const char *from, const char *to, const char *name, struct arena *a,
                      struct err *e)
{
    const char *source = arena_printf(a, "%s/%s", from, name);
    const char *target = arena_printf(a, "%s/%s", to, name);
    struct stat st;
    char *link;
    int rc = 0, file;

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISLNK(st.st_mode)) {
        link = io_read_link_at(fd, name, NULL);
        if (link != NULL && symlink(link, target) < 0)
            rc = err_sys(e, "create %s", target);
        free(link);
        return rc;
    }
    if (S_ISDIR(st.st_mode)) {
        rc = mkdir(target, 0755);
    } else {
        file = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        rc = file < 0 ? -1 : close(file);
    }
    if (rc < 0)
        return err_sys(e, "create %s", target);
    (void)mount(source, target, NULL, MS_BIND | MS_REC, NULL);
    return 0;
}

static int show_entries(int fd, const char *from, const char *to, struct arena *a, struct err *e)
{
    DIR *dir = opendir(from);
    const struct dirent *entry;
    int rc = 0;

    if (dir == NULL)
        return err_sys(e, "list %s", from);
    while (rc == 0 && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = show_entry(fd, from, to, entry->d_name, a, e);
    closedir(dir);
    return rc;
}

/* Mounts memory over a folder that lacks the way to rest; the memory has the folder's entries, and
 * the tree at rest.  In place of / it is first mounted in the job's folder, and then moved. */
static int show_below(const struct staged *s, const char *folder, const char *rest, struct err *e)
{
    bool is_root = strcmp(folder, "/") == 0;
    const char *to = is_root ? arena_printf(s->arena, "%s/" JOB_ENVIRONMENT, s->job) : folder;
    const char *path = arena_printf(s->arena, "%s/%s", to, rest), *from;
    char *parents = path_dirname(path);
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), rc = -1;

    from = arena_printf(s->arena, "/proc/self/fd/%d", fd);
    if (fd < 0)
        err_sys(e, "open %s", folder);
    else if (is_root && mkdir(to, 0700) < 0 && errno != EEXIST)
        err_sys(e, "create %s", to);
    else if (mount("ludwig", to, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
        err_sys(e, "mount memory at %s", to);
    else if (show_entries(fd, from, to, s->arena, e) == 0 && io_make_dirs(parents, 0755, e) == 0)
        rc = mkdir(path, 0755) < 0 ? err_sys(e, "create %s", path)
                                   : bind_read_only(s->tree, path, e);
    if (rc == 0 &&
        mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        rc = err_sys(e, "protect %s", to);
    if (rc == 0 && is_root &&
        (chdir(to) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0))
        rc = err_sys(e, "take %s for /", to);
    free(parents);
    if (fd >= 0)
        close(fd);
    return rc;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int show(const struct staged *s, struct err *e)
{
    char *folder = mem_strdup(s->path), *work = getcwd(NULL, 0);
    size_t n = strlen(folder);
    int rc;

    if (is_folder(s->path)) {
        rc = bind_read_only(s->tree, s->path, e);
    } else {
        do { /* up to a folder that exists */
            while (n > 1 && folder[n - 1] != '/')
                n--;
            while (n > 1 && folder[n - 1] == '/')
                n--;
            folder[n] = '\0';
        } while (!is_folder(folder));
        rc = show_below(s, folder, s->path + n + (s->path[n] == '/'), e);
    }
    /* Enters the work folder again by its name, in what is mounted there now. */
    if (rc == 0 && (work == NULL || chdir(work) < 0))
        rc = err_sys(e, "enter the work folder");
    free(folder);
    free(work);
    return rc;
}

/* ---- relocating ---- */

/* Adds text to out, with other in place of path wherever that ends as a path (at '/', ':' ...). */
static void replace_path(const struct staged *s, const char *other, const char *text,
                         struct buf *out)
{
    size_t n = strlen(s->path);
    const char *found;

    while ((found = strstr(text, s->path)) != NULL) {
        char next = found[n];

        buf_add(out, text, (size_t)(found - text));
        buf_add_str(out, next != '\0' && strchr("/:\"' \t\n;)", next) == NULL ? s->path : other);
        text = found + n;
    }
    buf_add_str(out, text);
}

/* Makes a first line that is too long for the kernel look for the interpreter in PATH. */
static void shorten_first_line(struct buf *text)
{
    size_t n = strcspn(buf_text(text), "\n"), end;
    struct buf shorter = { 0 };
    const char *line = buf_text(text);

    if (strncmp(line, "#!", 2) != 0 || n <= FIRST_LINE_MAX_BYTES)
        return;
    end = 2 + strcspn(line + 2, " \t\n");
    while (end > 2 && line[end - 1] != '/')
        end--;
    buf_printf(&shorter, "#!/usr/bin/env %s", line + end);
    buf_free(text);
    *text = shorter;
}

/* Links a program of bin/; a script or symlink that names the environment's path is made anew. */
static int relocate_program(const struct staged *s, int from_fd, int to_fd, const char *to,
                            const char *name, struct err *e)
{
    char *link = io_read_link_at(from_fd, name, NULL);
    struct buf text = { 0 }, changed = { 0 };
    int rc = 0;

    if (link != NULL) {
        replace_path(s, to, link, &changed);
        rc = symlinkat(buf_text(&changed), to_fd, name);
    } else if (io_read_file_at(from_fd, name, SCRIPT_MAX_BYTES, &text, NULL) == 0 &&
               strlen(buf_text(&text)) == text.n && strstr(buf_text(&text), s->path) != NULL) {
        replace_path(s, to, buf_text(&text), &changed);
        shorten_first_line(&changed);
        rc = io_write_file_at(to_fd, name, changed.bytes, changed.n, 0755, NULL);
    } else {
        buf_printf(&changed, "%s/bin/%s", s->tree, name);
        rc = symlinkat(buf_text(&changed), to_fd, name);
    }
    if (rc < 0)
        err_sys(e, "create %s/bin/%s", to, name);
    free(link);
    buf_free(&text);
    buf_free(&changed);
    return rc;
}

static int relocate_programs(const struct staged *s, const char *to, struct err *e)
{
    const char *from = arena_printf(s->arena, "%s/bin", s->tree);
    const char *bin = arena_printf(s->arena, "%s/bin", to);
    DIR *dir = opendir(from);
    const struct dirent *entry;
    int to_fd = mkdir(bin, 0755) < 0 ? -1 : open(bin, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = dir == NULL || to_fd < 0 ? err_sys(e, "relocate %s to %s", from, bin) : 0;

    while (rc == 0 && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = relocate_program(s, dirfd(dir), to_fd, to, entry->d_name, e);
    if (dir != NULL)
        closedir(dir);
    if (to_fd >= 0)
        close(to_fd);
    return rc;
}

/* Makes a bin/, and links to all else: also to pyvenv.cfg, which Python looks for beside bin/. */
static int relocate(const struct staged *s, const char *to, struct err *e)
{
    DIR *dir = opendir(s->tree);
    const struct dirent *entry;
    int rc = dir == NULL || (mkdir(to, 0755) < 0 && errno != EEXIST)
                 ? err_sys(e, "relocate %s to %s", s->tree, to)
                 : 0;

    while (rc == 0 && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (strcmp(name, "bin") == 0)
            rc = relocate_programs(s, to, e);
        else if (symlink(arena_printf(s->arena, "%s/%s", s->tree, name),
                         arena_printf(s->arena, "%s/%s", to, name)) < 0)
            rc = err_sys(e, "create %s/%s", to, name);
    }
    if (dir != NULL)
        closedir(dir);
    return rc;
}

/* Replaces the environment's path by `to` in these variables or words. */
static void replace_all(const struct staged *s, const char *to, char **texts)
{
    for (; *texts != NULL; texts++) {
        struct buf text = { 0 };

        if (strstr(*texts, s->path) == NULL)
            continue;
        replace_path(s, to, *texts, &text);
        *texts = buf_take(&text);
    }
}

/* ---- all of it ---- */

/* Says in the log, and where the runner looks for it, why the job does not begin; returns 1. */
static int fail(const struct staged *s, const char *text)
{
    struct err e = { 0 };

    if (prelude_fail(s->job, CAUSE_ENVIRONMENT, text, &e) < 0)
        fprintf(stderr, "ludwig: %s\n", e.text);
    fprintf(stderr, "ludwig: %s\n", text);
    return 1;
}

/* The reason is the first line of what the stager wrote; the rest goes to the log. */
static int fail_as_it_was_not_built(const struct staged *s)
{
    char *dir = path_dirname(s->tree);
    char *path = mem_printf("%s/.%s" CACHE_FAILED, dir, path_basename(s->tree));
    struct buf text = { 0 };
    const char *reason, *rest;
    size_t n;

    (void)io_read_file(path, FAILURE_MAX_BYTES, &text, NULL);
    n = strcspn(buf_text(&text), "\n");
    reason = n > 0 ? arena_strndup(s->arena, buf_text(&text), n)
                   : arena_printf(s->arena, "the environment is not in the cache of %s any more",
                                  prelude_host(s->arena));
    rest = buf_text(&text) + n + (buf_text(&text)[n] != '\0');
    (void)io_write_all(STDERR_FILENO, rest, strlen(rest));
    buf_free(&text);
    free(path);
    free(dir);
    return fail(s, reason);
}

int staged_env_main(int argc, char **argv)
{
    struct staged s = { argv[1], argv[2], argv[3], argv[4], arena_create() };
    const char *host = prelude_host(s.arena), *to;
    char **words = argv + 1 + STAGED_ENV_ARGUMENTS;
    bool is_built = strcmp(s.tree, s.path) == 0;
    pid_t parent = getppid();
    struct err e = { 0 };

    (void)argc;
    if (is_built && !is_folder(s.tree))
        return fail_as_it_was_not_built(&s);
    if (s.base[0] != '\0' && access(s.base, X_OK) < 0)
        return fail(&s, arena_printf(s.arena, "the environment %s needs %s, which %s does not have",
                                     s.path, s.base, host));
    if ((!can_enter(s.arena, &e) || enter_namespace(s.arena, &e) < 0 || show(&s, &e) < 0) &&
        !is_built) {
        to = arena_printf(s.arena, "%s/" JOB_ENVIRONMENT, s.job);
        fprintf(stderr,
                "ludwig: %s cannot show the environment at its own path (%s); it is at %s\n", host,
                e.text, to);
        err_clear(&e);
        if (relocate(&s, to, &e) < 0)
            return fail(&s, e.text);
        replace_all(&s, to, environ);
        replace_all(&s, to, words);
    }
    /* With the change of rights the kernel has forgotten this setting. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        return 1;
    execv(argv[STAGED_ENV_ARGUMENTS], words);
    err_sys(&e, "%s", argv[STAGED_ENV_ARGUMENTS]);
    return fail(&s, e.text);
}
