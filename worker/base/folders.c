/* SPDX-License-Identifier: MIT */
/* folders.c - choose, make and check the worker's folders */

#include "worker/base/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "worker/base/cache_locks.h"
#include "worker/base/child_protocol.h"

int folders_own(const char *path, struct err *e)
{
    struct stat st;
    int fd, rc = -1;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(e, "create %s", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "open %s as a folder", path);
    if (fstat(fd, &st) < 0)
        err_sys(e, "stat %s", path);
    else if (st.st_uid != geteuid())
        err_set(e, ERR_DENIED, "%s belongs to user %u, not to us", path, (unsigned)st.st_uid);
    else if ((st.st_mode & 07777) != 0700 && fchmod(fd, 0700) < 0)
        err_sys(e, "chmod %s", path);
    else
        rc = 0;
    close(fd);
    return rc;
}

static char *user_name(void)
{
    const struct passwd *p = getpwuid(geteuid());

    if (p != NULL && path_is_portable_name(p->pw_name))
        return mem_strdup(p->pw_name);
    return mem_printf("%u", (unsigned)geteuid());
}

/* ---- scratch ---- */

static bool is_usable(const char *folder)
{
    return folder != NULL && folder[0] == '/' && access(folder, W_OK | X_OK) == 0;
}

/* The first one on a local disk; if there is none, the first one at all. */
static const char *choose_scratch(void)
{
    const char *const candidates[] = { getenv("SLURM_TMPDIR"), getenv("SCRATCH"), getenv("TMPDIR"),
                                       "/tmp", "/var/tmp" };
    const char *last_resort = NULL;

    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (!is_usable(candidates[i]))
            continue;
        if (!fs_is_network(candidates[i]) && !fs_is_memory(candidates[i]))
            return candidates[i];
        if (last_resort == NULL)
            last_resort = candidates[i];
    }
    return last_resort;
}

char *folders_replace_user(const char *pattern, const char *user)
{
    static const char placeholder[] = FOLDERS_USER;
    struct buf out = { 0 };
    const char *at;

    while ((at = strstr(pattern, placeholder)) != NULL) {
        buf_add(&out, pattern, (size_t)(at - pattern));
        buf_add_str(&out, user);
        pattern = at + sizeof placeholder - 1;
    }
    buf_add_str(&out, pattern);
    return buf_take(&out);
}

static int find_pattern(const struct conf *c, struct folders *p, struct err *e)
{
    const char *chosen = c->scratch == NULL ? choose_scratch() : c->scratch;

    if (chosen == NULL)
        return err_set(e, ERR_FAILED,
                       "no folder for scratch can be written: name one in worker.yaml");
    p->pattern = mem_strdup(chosen);
    return 0;
}

static bool knows_locks(const char *cache)
{
    int fd = io_open_dir(cache, NULL);
    struct cache_locks locks;
    bool does;

    if (fd < 0)
        return false;
    does = cache_locks_open(&locks, fd);
    cache_locks_close(&locks);
    close(fd);
    return does;
}

static int link_cache(const struct folders *p, struct err *e)
{
    char *target = mem_printf("../%s/" SCRATCH_CACHE, path_basename(p->common));
    char *path = path_join(p->scratch, SCRATCH_CACHE);
    int rc = 0;

    if (symlink(target, path) < 0 && errno != EEXIST)
        rc = err_sys(e, "link %s", path);
    free(target);
    free(path);
    return rc;
}

/* One of its own will do as well, but is filled anew by each pilot. */
static void share_cache(const struct folders *p)
{
    char *cache = path_join(p->common, SCRATCH_CACHE);
    struct err e = { 0 };

    if (folders_own(p->common, &e) == 0 && folders_own(cache, &e) == 0) {
        if (!knows_locks(cache))
            err_set(&e, ERR_FAILED, "%s is on a file system without locks", cache);
        else
            (void)link_cache(p, &e);
    }
    if (e.kind != ERR_NONE)
        log_event(LOG_WARN, "cache-not-shared", "why", "%s", e.text, NULL);
    free(cache);
}

static int make_scratch(const struct folders *p, struct err *e)
{
    if (folders_own(p->scratch, e) < 0)
        return -1;
    if (strcmp(p->scratch, p->common) != 0)
        share_cache(p);
    return 0;
}

static int name_scratch(const char *host, const char *job, struct folders *p, struct err *e)
{
    char *user = user_name();
    char *base = folders_replace_user(p->pattern, user);
    int rc = io_make_dirs(base, 0755, e);

    p->common = mem_printf("%s/" FOLDERS_PREFIX "%s-%s", base, user, host);
    p->pilots_scratch = mem_printf("%s-slurm-", p->common);
    p->scratch = job == NULL ? mem_strdup(p->common) : mem_printf("%s%s", p->pilots_scratch, job);
    free(base);
    free(user);
    return rc;
}

/* ---- runtime ---- */

static char *state_folder(const struct conf *c)
{
    const char *xdg = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");

    if (c->state != NULL)
        return mem_strdup(c->state);
    if (xdg != NULL && xdg[0] == '/')
        return mem_printf("%s/ludwig/worker", xdg);
    if (home != NULL && home[0] == '/')
        return mem_printf("%s/.local/state/ludwig/worker", home);
    return NULL;
}

/* A folder and those above it, ours; NULL when it cannot be, or is on the network. */
static char *try_runtime(char *path)
{
    char *above = path == NULL ? NULL : path_dirname(path);
    bool good = above != NULL && io_make_dirs(above, 0700, NULL) == 0 && !fs_is_network(above) &&
                folders_own(path, NULL) == 0;

    free(above);
    if (good)
        return path;
    free(path);
    return NULL;
}

static char *find_runtime(const struct conf *c, struct err *e)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    char *path = try_runtime(state_folder(c));
    char *above;

    if (path == NULL && xdg != NULL && xdg[0] == '/')
        path = try_runtime(path_join(xdg, "ludwig-worker"));
    if (path != NULL)
        return path;
    above = mem_printf("/tmp/ludwig-%u", (unsigned)geteuid());
    path = path_join(above, "worker");
    if (folders_own(above, e) < 0 || folders_own(path, e) < 0) {
        free(path);
        path = NULL;
    }
    free(above);
    return path;
}

/* Below the one that it has to share.  Names of hosts: one that several have is not always known. */
static void divide_runtime(struct folders *p, const char *host, const char *job)
{
    p->pilots_runtime = mem_printf("%s/%s-slurm-", p->runtime, host);
    if (job == NULL)
        return;
    free(p->runtime);
    p->runtime = mem_printf("%s%s", p->pilots_runtime, job);
}

/* ---- both ---- */

int folders_name(const struct conf *c, const char *host, const char *job, bool is_for_many,
                 struct folders *p, struct err *e)
{
    *p = (struct folders){ .scratch = NULL };
    if (find_pattern(c, p, e) == 0 && (is_for_many || name_scratch(host, job, p, e) == 0))
        p->runtime = find_runtime(c, e);
    if (p->runtime == NULL) {
        folders_free(p);
        return -1;
    }
    divide_runtime(p, host, job);
    return 0;
}

static int make(const struct folders *p, struct err *e)
{
    if (p->scratch != NULL && make_scratch(p, e) < 0)
        return -1;
    return folders_own(p->runtime, e);
}

int folders_find(const struct conf *c, const char *host, const char *job, bool is_for_many,
                 struct folders *p, struct err *e)
{
    if (folders_name(c, host, job, is_for_many, p, e) < 0)
        return -1;
    if (make(p, e) == 0)
        return 0;
    folders_free(p);
    return -1;
}

static void remove_tree(const char *path)
{
    char *above = path_dirname(path);
    int fd = io_open_dir(above, NULL);
    struct err e = { 0 };

    if (fd >= 0 && io_remove_tree_at(fd, path_basename(path), &e) < 0)
        log_event(LOG_WARN, "not-removed", "error", "%s", e.text, NULL);
    if (fd >= 0)
        close(fd);
    free(above);
}

void folders_remove(const struct folders *p)
{
    if (p->scratch != NULL)
        remove_tree(p->scratch);
    if (p->runtime != NULL)
        remove_tree(p->runtime);
}

void folders_free(struct folders *p)
{
    free(p->pattern);
    free(p->common);
    free(p->scratch);
    free(p->runtime);
    free(p->pilots_scratch);
    free(p->pilots_runtime);
    *p = (struct folders){ .scratch = NULL };
}

/* ---- bin ---- */

static int replace_link(const char *target, const char *path, struct err *e)
{
    char *temporary = mem_printf("%s.%d", path, (int)getpid());
    int rc = 0;

    if (unlink(temporary) < 0 && errno != ENOENT)
        rc = err_sys(e, "remove %s", temporary);
    else if (symlink(target, temporary) < 0)
        rc = err_sys(e, "link %s", temporary);
    else if (rename(temporary, path) < 0)
        rc = err_sys(e, "rename %s", temporary);
    free(temporary);
    return rc;
}

int folders_link_ludwig(const char *scratch, struct err *e)
{
    char *own = path_real("/proc/self/exe", e);
    char *folder = own == NULL ? NULL : path_dirname(own);
    char *target = folder == NULL ? NULL : path_join(folder, "ludwig");
    char *bin = path_join(scratch, SCRATCH_BIN);
    char *link = path_join(bin, "ludwig");
    int rc = -1;

    if (target != NULL && io_make_dirs(bin, 0700, e) == 0)
        rc = replace_link(target, link, e);
    free(own);
    free(folder);
    free(target);
    free(bin);
    free(link);
    return rc;
}
