/* SPDX-License-Identifier: MIT */
/* io_tree.c - remove and copy trees, however deep and whatever a job did to their modes */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* Folders nearest the root that a removal keeps open; deeper ones are opened again through "..". */
enum { OPEN_DIRS_MAX = 32 };

/* --- entries whose modes keep their owner out ----------------------------- */

#ifdef __linux__
/* Adds mode bits to an entry, not through a symlink, also where the C library's fchmodat cannot. */
static int chmod_entry(int dir_fd, const char *name, mode_t bits)
{
    char path[sizeof "/proc/self/fd/-2147483648"];
    int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int result;

    if (fd < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    result = fstat(fd, &st) < 0 ? -1 : chmod(path, (st.st_mode & 07777) | bits);
    close(fd);
    return result;
}
#else
static int chmod_entry(int dir_fd, const char *name, mode_t bits)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return fchmodat(dir_fd, name, (st.st_mode & 07777) | bits, AT_SYMLINK_NOFOLLOW);
}
#endif

int io_open_own(int dir_fd, const char *name, int flags, mode_t bits)
{
    int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 || errno != EACCES)
        return fd;
    if (chmod_entry(dir_fd, name, bits) < 0) {
        errno = EACCES;
        return -1;
    }
    return openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

/* The same for a folder, which also gets the bits when it opens but would hide its entries. */
static DIR *open_folder(int dir_fd, const char *name, mode_t bits, struct stat *st)
{
    int fd = io_open_own(dir_fd, name, O_RDONLY | O_DIRECTORY, bits);
    DIR *dir = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, st) == 0) {
        if ((st->st_mode & bits) != bits)
            (void)fchmod(fd, (st->st_mode & 07777) | bits); /* the step that then fails says why */
        dir = fdopendir(fd);
    }
    if (dir == NULL)
        close(fd);
    return dir;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* --- removing ------------------------------------------------------------- */

/* A folder on the way down.  dir is NULL while it is closed to save descriptors. */
struct level {
    char *name;
    DIR *dir;
    dev_t device;
    ino_t inode;
    bool removed_some; /* since the folder was last read from its beginning */
};

struct removal {
    int top_fd;
    struct level *levels;
    size_t depth;
    size_t capacity;
};

static int removal_error(const struct removal *r, const char *name, struct err *e)
{
    int number = errno;
    struct buf path = { 0 };

    for (size_t i = 0; i < r->depth; i++)
        buf_printf(&path, "%s%s", r->levels[i].name, i + 1 < r->depth || name ? "/" : "");
    if (name != NULL)
        buf_add_str(&path, name);
    errno = number;
    err_sys(e, "remove %s", buf_text(&path));
    buf_free(&path);
    return -1;
}

static int remove_entry(struct removal *r, int parent_fd, const char *name, bool is_folder,
                        struct err *e)
{
    struct stat st;
    DIR *dir;

    if (!is_folder) {
        if (unlinkat(parent_fd, name, 0) < 0 && errno != ENOENT)
            return removal_error(r, name, e);
        if (r->depth > 0)
            r->levels[r->depth - 1].removed_some = true;
        return 0;
    }
    dir = open_folder(parent_fd, name, S_IRWXU, &st);
    if (dir == NULL)
        return errno == ENOENT ? 0 : removal_error(r, name, e);
    mem_grow((void **)&r->levels, &r->capacity, r->depth, sizeof *r->levels);
    r->levels[r->depth] = (struct level){ mem_strdup(name), dir, st.st_dev, st.st_ino, false };
    /* name may point into the DIR of the folder above, which is closed only here. */
    if (r->depth >= OPEN_DIRS_MAX) {
        closedir(r->levels[r->depth - 1].dir);
        r->levels[r->depth - 1].dir = NULL;
    }
    r->depth++;
    return 0;
}

/* Opens the folder above again, if it still is the one the removal came from. */
static int reopen_parent(struct level *parent, const struct level *child)
{
    struct stat st;

    parent->dir = open_folder(dirfd(child->dir), "..", S_IRWXU, &st);
    if (parent->dir == NULL)
        return -1;
    if (st.st_dev == parent->device && st.st_ino == parent->inode)
        return 0;
    errno = ESTALE;
    return -1;
}

/* Removes the folder that was just read to its end.  Some file systems skip
 * entries when others are removed meanwhile; then the folder is read once more. */
static int leave_folder(struct removal *r, struct err *e)
{
    struct level *level = &r->levels[r->depth - 1];
    struct level *parent = r->depth > 1 ? level - 1 : NULL;

    if (parent != NULL && parent->dir == NULL && reopen_parent(parent, level) < 0)
        return removal_error(r, NULL, e);
    if (unlinkat(parent ? dirfd(parent->dir) : r->top_fd, level->name, AT_REMOVEDIR) < 0 &&
        errno != ENOENT) {
        if ((errno != ENOTEMPTY && errno != EEXIST) || !level->removed_some)
            return removal_error(r, NULL, e);
        level->removed_some = false;
        rewinddir(level->dir);
        return 0;
    }
    if (parent != NULL)
        parent->removed_some = true;
    closedir(level->dir);
    free(level->name);
    r->depth--;
    return 0;
}

static bool is_folder_at(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int remove_next(struct removal *r, struct err *e)
{
    DIR *dir = r->levels[r->depth - 1].dir;
    struct dirent *entry;
    bool is_folder;

    errno = 0;
    entry = readdir(dir);
    if (entry == NULL)
        return errno == 0 ? leave_folder(r, e) : removal_error(r, NULL, e);
    if (is_dots(entry->d_name))
        return 0;
    is_folder = entry->d_type == DT_UNKNOWN ? is_folder_at(dirfd(dir), entry->d_name)
                                            : entry->d_type == DT_DIR;
    return remove_entry(r, dirfd(dir), entry->d_name, is_folder, e);
}

int io_remove_tree_at(int dir_fd, const char *name, struct err *e)
{
    struct removal r = { .top_fd = dir_fd };
    size_t n = strlen(name);
    char *bare;
    int result;

    /* "link/" would mean the link's target. */
    while (n > 1 && name[n - 1] == '/')
        n--;
    bare = mem_strndup(name, n);
    if (n == 0 || strcmp(bare, "/") == 0 || is_dots(path_basename(bare)))
        result = err_set(e, ERR_USAGE, "remove \"%s\": that is no name", name);
    else
        result = remove_entry(&r, dir_fd, bare, is_folder_at(dir_fd, bare), e);
    while (result == 0 && r.depth > 0)
        result = remove_next(&r, e);
    for (size_t i = 0; i < r.depth; i++) {
        if (r.levels[i].dir != NULL)
            closedir(r.levels[i].dir);
        free(r.levels[i].name);
    }
    free(r.levels);
    free(bare);
    return result;
}

int io_remove_tree(const char *path, struct err *e)
{
    return io_remove_tree_at(AT_FDCWD, path, e);
}

/* --- copying -------------------------------------------------------------- */

/* Folders that were made but not filled yet wait in todo, as paths below the two roots. */
struct copy {
    int from_fd, to_fd;
    const char *from, *to;
    char **todo;
    size_t n_todo;
    size_t capacity;
};

/* One entry: its source and its target, and the paths by which errors name them. */
struct entry {
    int from_fd, to_fd;
    const char *from_name, *to_name;
    const char *from_path, *to_path;
};

static int copy_file(const struct entry *x, mode_t mode, struct err *e)
{
    int in = io_open_own(x->from_fd, x->from_name, O_RDONLY | O_NONBLOCK, S_IRUSR);
    int out = -1;
    int result = -1;

    if (in < 0)
        return err_sys(e, "open %s", x->from_path);
    out = openat(x->to_fd, x->to_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (out < 0) {
        err_sys(e, "create %s", x->to_path);
        goto out;
    }
    result = io_copy_fd(in, out, NULL, e);
    if (result < 0)
        err_wrap(e, "copy %s to %s", x->from_path, x->to_path);
    if (close(out) < 0 && result == 0 && errno != EINTR)
        result = err_sys(e, "write %s", x->to_path);
out:
    close(in);
    return result;
}

char *io_read_link_at(int dir_fd, const char *path, struct err *e)
{
    size_t room = 256;
    char *target = NULL;
    ssize_t n;

    do {
        room *= 2;
        target = mem_resize(target, room, 1);
        n = readlinkat(dir_fd, path, target, room);
    } while (n >= 0 && (size_t)n == room);
    if (n < 0) {
        err_sys(e, "read %s", path);
        free(target);
        return NULL;
    }
    target[n] = '\0';
    return target;
}

static int copy_entry(struct copy *c, const struct entry *x, const char *below, struct err *e)
{
    struct stat st;

    if (fstatat(x->from_fd, x->from_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(e, "%s", x->from_path);
    if (S_ISREG(st.st_mode))
        return copy_file(x, (st.st_mode & 0777) | 0600, e);
    if (S_ISLNK(st.st_mode)) {
        char *target = io_read_link_at(x->from_fd, x->from_name, e);
        int result = 0;

        if (target == NULL)
            return err_wrap(e, "copy %s", x->from_path);
        if (symlinkat(target, x->to_fd, x->to_name) < 0)
            result = err_sys(e, "create %s", x->to_path);
        free(target);
        return result;
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_FAILED, "%s is %s, which cannot be copied", x->from_path,
                       S_ISFIFO(st.st_mode)   ? "a fifo"
                       : S_ISSOCK(st.st_mode) ? "a socket"
                                              : "a device");
    if (mkdirat(x->to_fd, x->to_name, (st.st_mode & 0777) | 0700) < 0)
        return err_sys(e, "create %s", x->to_path);
    mem_grow((void **)&c->todo, &c->capacity, c->n_todo, sizeof *c->todo);
    c->todo[c->n_todo++] = mem_strdup(below);
    return 0;
}

static int fill_folder(struct copy *c, const char *below, struct err *e)
{
    char *from_path = path_join(c->from, below), *to_path = path_join(c->to, below);
    struct stat st;
    DIR *from = open_folder(c->from_fd, from_path, S_IRUSR | S_IXUSR, &st);
    int to_fd = -1, result = 0;
    struct dirent *d;

    if (from == NULL)
        result = err_sys(e, "open %s", from_path);
    else if ((to_fd = io_open_own(c->to_fd, to_path, O_RDONLY | O_DIRECTORY, S_IRWXU)) < 0)
        result = err_sys(e, "open %s", to_path);
    while (result == 0 && (errno = 0, (d = readdir(from)) != NULL)) {
        struct entry x = { dirfd(from), to_fd, d->d_name, d->d_name, NULL, NULL };
        char *name, *one, *other;

        if (is_dots(d->d_name))
            continue;
        name = path_join(below, d->d_name);
        x.from_path = one = path_join(c->from, name);
        x.to_path = other = path_join(c->to, name);
        result = copy_entry(c, &x, name, e);
        free(name);
        free(one);
        free(other);
    }
    if (result == 0 && errno != 0)
        result = err_sys(e, "read %s/%s", c->from, below);
    if (to_fd >= 0)
        close(to_fd);
    if (from != NULL)
        closedir(from);
    free(from_path);
    free(to_path);
    return result;
}

int io_copy_tree_at(int from_fd, const char *from_name, int to_fd, const char *to_name,
                    struct err *e)
{
    struct copy c = { .from_fd = from_fd, .to_fd = to_fd, .from = from_name, .to = to_name };
    struct entry root = { from_fd, to_fd, from_name, to_name, from_name, to_name };
    int result = copy_entry(&c, &root, "", e);

    while (result == 0 && c.n_todo > 0) {
        char *below = c.todo[--c.n_todo];

        result = fill_folder(&c, below, e);
        free(below);
    }
    while (c.n_todo > 0)
        free(c.todo[--c.n_todo]);
    free(c.todo);
    return result;
}
