/* SPDX-License-Identifier: MIT */
/* folders.c - chooses, makes and checks the worker's folders on this machine */

#include "worker/base/folders.h"

#include <errno.h>
#include <fcntl.h>
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
#include "common/base/taken_name.h"
#include "common/proto/scratch_place.h"
#include "common/proto/unixsocket.h"
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

/* ---- runtime ---- */

/* Makes the folder and those above it, and returns path; frees it and returns NULL if that fails or
 * the folder is on a network file system. */
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

/* Returns the user's state folder, which may be on a network file system; NULL: there is none. */
static char *find_state(void)
{
    const char *state_home = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state_home != NULL && state_home[0] == '/')
        return mem_printf("%s/ludwig", state_home);
    return home != NULL && home[0] == '/' ? mem_printf("%s/.local/state/ludwig", home) : NULL;
}

/* Returns path, or another one if a stranger has taken its name; job: its Slurm job, or NULL. */
static char *avoid_taken(char *path, const char *job)
{
    char *state = find_state(), *boot = unixsocket_machine();
    char *salt = mem_printf("%s %s", boot, job == NULL ? "" : job), *was = mem_strdup(path);

    path = taken_name_avoid(path, state, salt);
    if (strcmp(path, was) != 0)
        log_event(LOG_WARN, "name-taken", "folder", "%s", was, "instead", "%s", path, NULL);
    free(was);
    free(salt);
    free(boot);
    free(state);
    return path;
}

static char *find_runtime(const struct conf *c, struct err *e)
{
    const char *runtime_dir = getenv("XDG_RUNTIME_DIR");
    char *state = find_state(), *path, *above;

    path = c->state != NULL ? mem_strdup(c->state)
           : state != NULL  ? path_join(state, "worker")
                            : NULL;
    free(state);
    path = try_runtime(path);
    if (path == NULL && runtime_dir != NULL && runtime_dir[0] == '/')
        path = try_runtime(path_join(runtime_dir, "ludwig-worker"));
    if (path != NULL)
        return path;
    above = avoid_taken(mem_printf("/tmp/ludwig-%u", (unsigned)geteuid()), NULL);
    path = path_join(above, "worker");
    if (folders_own(above, e) < 0 || folders_own(path, e) < 0) {
        free(path);
        path = NULL;
    }
    free(above);
    return path;
}

/* Names scratch, common and pilots_scratch, for a worker all of whose jobs have one user. */
static int name_scratch(const char *user, const char *host, const char *job, struct folders *p,
                        struct err *e)
{
    char *base = folders_replace_user(p->pattern, user);
    int rc = io_make_dirs(base, 0755, e);

    if (rc == 0)
        rc = scratch_place_check(base, user, e);
    if (rc == 0) {
        p->common = avoid_taken(mem_printf("%s/" FOLDERS_PREFIX "%s-%s", base, user, host), NULL);
        p->pilots_scratch = mem_printf("%s-slurm-", p->common);
        p->scratch = job == NULL ? mem_strdup(p->common)
                                 : avoid_taken(mem_printf("%s%s", p->pilots_scratch, job), job);
    }
    free(base);
    return rc;
}

int folders_name(const struct conf *c, const char *host, const char *job, bool is_for_many,
                 struct folders *p, struct err *e)
{
    char *user = scratch_place_user();
    const char *chosen = c->scratch == NULL ? scratch_place_choose(user) : c->scratch;
    int rc = 0;

    *p = (struct folders){ .scratch = NULL };
    if (chosen == NULL) {
        free(user);
        return err_set(e, ERR_FAILED,
                       "no folder for scratch can be written: name one in worker.yaml");
    }
    p->pattern = mem_strdup(chosen);
    if (!is_for_many)
        rc = name_scratch(user, host, job, p, e);
    free(user);
    if (rc == 0)
        p->runtime = find_runtime(c, e);
    if (p->runtime == NULL) {
        folders_free(p);
        return -1;
    }
    /* A pilot's folder lies in the user's runtime folder.  Its name has the host's name, as several
     * hosts may share that folder without our knowing. */
    p->pilots_runtime = mem_printf("%s/%s-slurm-", p->runtime, host);
    if (job != NULL) {
        free(p->runtime);
        p->runtime = mem_printf("%s%s", p->pilots_runtime, job);
    }
    return 0;
}

/* Links the common cache into a pilot's scratch, if it can: else the pilot fills one of its own. */
static void share_cache(const struct folders *p)
{
    char *cache = path_join(p->common, SCRATCH_CACHE), *link = path_join(p->scratch, SCRATCH_CACHE);
    char *target = mem_printf("../%s/" SCRATCH_CACHE, path_basename(p->common));
    struct cache_locks locks;
    struct err e = { 0 };
    int fd = -1;

    if (folders_own(p->common, &e) == 0 && folders_own(cache, &e) == 0)
        fd = io_open_dir(cache, &e);
    if (fd >= 0) {
        if (!cache_locks_open(&locks, fd))
            err_set(&e, ERR_FAILED, "%s is on a file system without locks", cache);
        else if (symlink(target, link) < 0 && errno != EEXIST)
            err_sys(&e, "link %s", link);
        cache_locks_close(&locks);
        close(fd);
    }
    if (e.kind != ERR_NONE)
        log_event(LOG_WARN, "cache-not-shared", "why", "%s", e.text, NULL);
    free(cache);
    free(link);
    free(target);
}

int folders_find(const struct conf *c, const char *host, const char *job, bool is_for_many,
                 struct folders *p, struct err *e)
{
    if (folders_name(c, host, job, is_for_many, p, e) < 0)
        return -1;
    if (p->scratch != NULL && folders_own(p->scratch, e) < 0)
        goto fail;
    if (p->scratch != NULL && strcmp(p->scratch, p->common) != 0)
        share_cache(p);
    if (folders_own(p->runtime, e) == 0)
        return 0;
fail:
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

/* This program's path, as the kernel has it: its user may not be allowed into the folders above. */
static char *own_path(struct err *e)
{
    for (size_t size = 256;; size *= 2) {
        char *path = mem_alloc(size);
        ssize_t n = readlink("/proc/self/exe", path, size);

        if (n >= 0 && (size_t)n < size) {
            path[n] = '\0';
            return path;
        }
        free(path);
        if (n < 0) {
            err_sys(e, "/proc/self/exe");
            return NULL;
        }
    }
}

int folders_link_ludwig(const char *scratch, struct err *e)
{
    char *own = own_path(e);
    char *folder = own == NULL ? NULL : path_dirname(own);
    char *target = folder == NULL ? NULL : path_join(folder, "ludwig");
    char *bin = path_join(scratch, SCRATCH_BIN), *link = path_join(bin, "ludwig");
    char *temporary = mem_printf("%s.%d", link, (int)getpid());
    int rc = -1;

    if (target != NULL && io_make_dirs(bin, 0700, e) == 0) {
        if (unlink(temporary) < 0 && errno != ENOENT)
            err_sys(e, "remove %s", temporary);
        else if (symlink(target, temporary) < 0)
            err_sys(e, "link %s", temporary);
        else if (rename(temporary, link) < 0)
            err_sys(e, "rename %s", temporary);
        else
            rc = 0;
    }
    free(own);
    free(folder);
    free(target);
    free(bin);
    free(link);
    free(temporary);
    return rc;
}
