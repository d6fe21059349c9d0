/* SPDX-License-Identifier: MIT */
/* cache.c - staged trees on scratch, each once, read-only, named by digest */

#include "worker/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "common/mem.h"
#include "common/path.h"

enum { READ_ONLY = 0444, READ_ONLY_PROGRAM = 0555, FOLDER = 0755 };

bool cache_has(int cache_fd, const struct digest *digest)
{
    char hex[DIGEST_HEX];

    digest_hex(digest, hex);
    return faccessat(cache_fd, hex, F_OK, 0) == 0;
}

/* ---- making it read-only ---- */

/* Folders still to be done, as paths below the tree's root. */
struct todo {
    char **paths;
    size_t n;
    size_t capacity;
};

static void add_todo(struct todo *t, char *path)
{
    mem_grow((void **)&t->paths, &t->capacity, t->n, sizeof *t->paths);
    t->paths[t->n++] = path;
}

/* Folders stay writable, so that the tree can be removed again. */
static int protect_entry(struct todo *t, int dir_fd, const char *name, const char *below,
                         struct err *e)
{
    struct stat st;
    mode_t mode;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(e, "look at %s/%s", below, name);
    if (S_ISLNK(st.st_mode))
        return 0;
    mode = S_ISDIR(st.st_mode)           ? FOLDER
           : (st.st_mode & S_IXUSR) != 0 ? READ_ONLY_PROGRAM
                                         : READ_ONLY;
    if (fchmodat(dir_fd, name, mode, 0) < 0)
        return err_sys(e, "protect %s/%s", below, name);
    if (S_ISDIR(st.st_mode))
        add_todo(t, path_join(below, name));
    return 0;
}

static int protect_folder(struct todo *t, int root_fd, const char *below, struct err *e)
{
    int fd = io_open_dir_at(root_fd, below, e);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int result = 0;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return fd < 0 ? -1 : err_sys(e, "list %s", below);
    }
    while (result == 0 && (errno = 0, entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = protect_entry(t, fd, entry->d_name, below, e);
    if (result == 0 && errno != 0)
        result = err_sys(e, "list %s", below);
    closedir(dir);
    return result;
}

static int protect_tree(int cache_fd, const char *name, struct err *e)
{
    struct todo t = { 0 };
    int result = protect_entry(&t, cache_fd, name, "", e);

    while (result == 0 && t.n > 0) {
        char *below = t.paths[--t.n];

        result = protect_folder(&t, cache_fd, below, e);
        free(below);
    }
    while (t.n > 0)
        free(t.paths[--t.n]);
    free(t.paths);
    return result;
}

/* ---- adding ---- */

static int fill_cache(int cache_fd, const char *temporary, const struct share_dir *from,
                      const char *pack, struct err *e)
{
    if (io_remove_tree_at(cache_fd, temporary, e) < 0 ||
        share_fetch_tree(from, pack, cache_fd, temporary, e) < 0)
        return -1;
    return protect_tree(cache_fd, temporary, e);
}

int cache_add(int cache_fd, const struct digest *digest, const struct share_dir *from,
              const char *name, struct err *e)
{
    char hex[DIGEST_HEX], temporary[DIGEST_HEX + sizeof "..tmp"];
    int result;

    digest_hex(digest, hex);
    snprintf(temporary, sizeof temporary, ".%s.tmp", hex);
    result = fill_cache(cache_fd, temporary, from, name, e);
    if (result == 0 && renameat(cache_fd, temporary, cache_fd, hex) < 0)
        result = err_sys(e, "name %s", hex);
    /* What did not fit must not stay in the way of what would. */
    if (result < 0)
        (void)io_remove_tree_at(cache_fd, temporary, NULL);
    return result;
}
