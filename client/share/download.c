/* SPDX-License-Identifier: MIT */
/* download.c - copies files and folders from the shared drive to this machine */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/share/download.h"
#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/path.h"

enum { PIECE_BYTES = 256 * 1024, HOLE_BYTES = 4096, DEPTH_MAX = 200 };

/* The name of a file until it is whole has a token between these, so that no saved file has it. */
static const char part_begin[] = ".ludwig-fetch.", part_end[] = ".part";

struct download {
    struct share_dir *fs;
    int fd; /* the target folder */
    struct download_counts counts;
    void (*tick)(void *context);
    void (*unread)(void *context, const struct err *why);
    void *context; /* of both */
    bool has_all_links;
    char *part_name;
    char *tidied; /* the last target folder in which half-done files were removed */
    char *piece;
    size_t n_ahead;  /* of download_ahead */
    size_t n_prefix; /* of download_path */
};

static bool is_part(const char *name)
{
    size_t n = strlen(part_begin), digits;

    if (strncmp(name, part_begin, n) != 0)
        return false;
    digits = strspn(name + n, "0123456789abcdef");
    return digits == TOKEN_HEX - 1 && strcmp(name + n + digits, part_end) == 0;
}

struct download *download_open(struct share_dir *fs, const char *to, struct err *e)
{
    struct download *c;
    char hex[TOKEN_HEX];
    struct token token;
    struct stat st;
    int fd = -1;

    if (stat(to, &st) == 0 && !S_ISDIR(st.st_mode)) {
        err_set(e, ERR_USAGE, "%s is a file; DIR must be a folder", to);
        return NULL;
    }
    if (io_make_dirs(to, 0777, e) == 0)
        fd = io_open_dir(to, e);
    if (fd < 0)
        return NULL;
    /* Where folders cannot be locked, as on NFS, users must keep their fetches apart themselves. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        err_set(e, ERR_BUSY, "another fetch writes into %s", to);
        close(fd);
        return NULL;
    }
    token_make(&token);
    token_hex(&token, hex);
    c = mem_alloc(sizeof *c);
    *c = (struct download){ .fs = fs,
                            .fd = fd,
                            .piece = mem_alloc(PIECE_BYTES),
                            .part_name = mem_printf("%s%s%s", part_begin, hex, part_end) };
    return c;
}

void download_close(struct download *c)
{
    if (c == NULL)
        return;
    close(c->fd);
    free(c->piece);
    free(c->part_name);
    free(c->tidied);
    free(c);
}

void download_all_links(struct download *c)
{
    c->has_all_links = true;
}

void download_watch(struct download *c, void (*tick)(void *context),
                    void (*unread)(void *context, const struct err *why), void *context)
{
    c->tick = tick;
    c->unread = unread;
    c->context = context;
}

/* Skips an unreadable entry; an error when the share cannot be read any more. */
static int skip(struct download *c, const struct err *why, struct err *e)
{
    if (why->kind == ERR_UNREACHABLE)
        return err_set(e, why->kind, "%s; the next one goes on where this one stopped", why->text);
    c->counts.unread++;
    if (c->unread != NULL)
        c->unread(c->context, why);
    return 0;
}

const struct download_counts *download_counts(const struct download *c)
{
    return &c->counts;
}

/* ---- mark of the folder ---- */

/* Opens a separate stream over the folder; NULL with e set. */
static DIR *open_stream(int dir_fd, struct err *e)
{
    int fd = io_open_dir_at(dir_fd, ".", e);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0) {
        err_sys(e, "read the folder to copy to");
        close(fd);
    }
    return dir;
}

int download_mark(struct download *c, const char *name, const char *text, const char *const *own,
                  struct err *e)
{
    DIR *dir = open_stream(c->fd, e);
    struct dirent *entry;
    bool is_own = true;
    struct stat st;
    int result = 0;

    if (dir == NULL)
        return -1;
    while (is_own && (errno = 0, entry = readdir(dir)) != NULL) {
        const char *found = entry->d_name;

        is_own = strcmp(found, ".") == 0 || strcmp(found, "..") == 0 || strcmp(found, name) == 0 ||
                 is_part(found);
        for (size_t i = 0; !is_own && own[i] != NULL; i++)
            is_own = strcmp(own[i], found) == 0;
    }
    if (is_own && errno != 0)
        result = err_sys(e, "read the folder to copy to");
    closedir(dir);
    if (result < 0 || !is_own || fstatat(c->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return result;
    return io_write_file_at(c->fd, name, text, strlen(text), 0666, e);
}

/* ---- one file ---- */

/* An entry on the share, and its target. */
struct item {
    const char *path; /* on the share */
    const struct share_stat *st;
    int to_fd; /* folder */
    const char *to;
};

static bool is_there(const struct item *it)
{
    struct stat st;

    return fstatat(it->to_fd, it->to, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_size == it->st->size_bytes && st.st_mtime == it->st->mtime_s;
}

static bool is_zero(const char *bytes, size_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* Writes the parts that are not zero, neighbours at once: what is left out becomes a hole. */
static int write_piece(int fd, const char *bytes, size_t n, int64_t offset)
{
    size_t end;

    for (size_t begin = 0; begin < n; begin = end) {
        bool is_hole = is_zero(bytes + begin, n - begin < HOLE_BYTES ? n - begin : HOLE_BYTES);

        for (end = begin + HOLE_BYTES; end < n; end += HOLE_BYTES)
            if (is_zero(bytes + end, n - end < HOLE_BYTES ? n - end : HOLE_BYTES) != is_hole)
                break;
        end = end < n ? end : n;
        if (!is_hole &&
            io_write_all_at(fd, bytes + begin, end - begin, (uint64_t)offset + begin) < 0)
            return -1;
    }
    return 0;
}

/* 0; 1 with why set when the original cannot be read; -1. */
static int write_file(struct download *c, const struct item *it, struct share_input *from,
                      struct err *why, struct err *e)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    mode_t mode = (it->st->mode & S_IXUSR) != 0 ? 0777 : 0666;
    /* The next fetch recognises the file by the time of the original. */
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
                                       { .tv_sec = (time_t)it->st->mtime_s } };
    int fd = openat(it->to_fd, c->part_name, flags, mode), result = 0;
    int64_t offset = 0;
    ssize_t n = 0;

    if (fd < 0)
        return err_sys(e, "make the copy of %s", it->path);
    while (result == 0) {
        offset = share_skip_hole(from);
        n = share_read_input(from, c->piece, PIECE_BYTES, why);
        if (n <= 0)
            break;
        if (write_piece(fd, c->piece, (size_t)n, offset) < 0)
            result = err_sys(e, "write the copy of %s", it->path);
        else
            c->counts.bytes += n;
        if (result == 0 && c->tick != NULL)
            c->tick(c->context);
    }
    if (n < 0)
        result = 1;
    if (result == 0 && ftruncate(fd, (off_t)offset) < 0)
        result = err_sys(e, "write the copy of %s", it->path);
    if (result == 0 &&
        (futimens(fd, times) < 0 || renameat(it->to_fd, c->part_name, it->to_fd, it->to) < 0))
        result = err_sys(e, "make the copy of %s", it->path);
    if (close(fd) < 0 && result == 0)
        result = err_sys(e, "write the copy of %s", it->path);
    if (result != 0)
        (void)unlinkat(it->to_fd, c->part_name, 0);
    return result;
}

static int copy_file(struct download *c, const struct item *it, struct err *e)
{
    struct share_input *from;
    struct err why = { 0 };
    int result = 1;

    if (is_there(it)) {
        c->counts.there++;
        return 0;
    }
    from = share_open_input(c->fs, it->path, 0, &why);
    if (from != NULL)
        result = write_file(c, it, from, &why, e);
    share_close_input(from);
    if (result > 0)
        return skip(c, &why, e);
    c->counts.copied += result == 0;
    return result;
}

/* ---- links and folders ---- */

static int make_link(struct download *c, const struct item *it, const char *target, struct err *e)
{
    if (symlinkat(target, it->to_fd, c->part_name) < 0)
        return err_sys(e, "make the link of %s", it->path);
    if (renameat(it->to_fd, c->part_name, it->to_fd, it->to) < 0) {
        err_sys(e, "make the link of %s", it->path);
        (void)unlinkat(it->to_fd, c->part_name, 0);
        return -1;
    }
    c->counts.copied++;
    return 0;
}

/* Whether a link may lead out of the target folder.  ".." counts only where the target begins, as
 * behind a name, which may be a link's, it may lead anywhere. */
static bool leads_astray(const struct download *c, const struct item *it, const char *target)
{
    size_t depth = 0, n;

    for (const char *at = it->path + c->n_prefix; *at != '\0'; at++)
        depth += *at == '/';
    if (target[0] == '/')
        return true;
    for (bool is_up = true; *target != '\0'; target += n + strspn(target + n, "/")) {
        n = strcspn(target, "/");
        if (n == 2 && memcmp(target, "..", 2) == 0) {
            if (!is_up || depth-- == 0)
                return true;
        } else if (n != 1 || *target != '.') {
            is_up = false;
        }
    }
    return false;
}

static int copy_link(struct download *c, const struct item *it, struct err *e)
{
    char *there = io_read_link_at(it->to_fd, it->to, NULL);
    struct err why = { 0 };
    char *target = share_read_link(c->fs, it->path, &why);
    int result = 0;

    if (target == NULL)
        result = skip(c, &why, e);
    else if (!c->has_all_links && leads_astray(c, it, target))
        c->counts.astray++;
    else if (there != NULL && strcmp(there, target) == 0)
        c->counts.there++;
    else
        result = make_link(c, it, target, e);
    free(target);
    free(there);
    return result;
}

static int copy_item(struct download *c, const struct item *it, int depth, struct err *e);

/* Makes and opens a target folder; refuses a link. */
static int make_folder(int to_fd, const char *name, struct err *e)
{
    int fd;

    if (mkdirat(to_fd, name, 0777) < 0 && errno != EEXIST)
        return err_sys(e, "make folder %s", name);
    fd = openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? err_sys(e, "open folder %s", name) : fd;
}

/* Removes half-done files of a killed copy from the folder. */
static void tidy_folder(int folder_fd)
{
    DIR *dir = open_stream(folder_fd, NULL);
    struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (is_part(entry->d_name))
            (void)unlinkat(folder_fd, entry->d_name, 0);
    closedir(dir);
}

static int fill_folder(struct download *c, const struct item *it, const struct list *entries,
                       int depth, struct err *e)
{
    const struct share_entry *items = entries->items;
    int to_fd = make_folder(it->to_fd, it->to, e), result = 0;

    if (to_fd < 0)
        return -1;
    tidy_folder(to_fd);
    for (size_t i = 0; i < entries->n && result == 0; i++) {
        char *below = path_join(it->path, items[i].name);

        result =
            copy_item(c, &(struct item){ below, &items[i].stat, to_fd, items[i].name }, depth, e);
        free(below);
    }
    close(to_fd);
    return result;
}

static int copy_folder(struct download *c, const struct item *it, int depth, struct err *e)
{
    struct arena *a = arena_create();
    struct err why = { 0 };
    struct list entries = { 0 };
    int result;

    if (depth > DEPTH_MAX)
        result = err_set(&why, ERR_FAILED, "%s: more than %d folders deep", it->path, DEPTH_MAX);
    else
        result = share_list(c->fs, it->path, SHARE_STATS, a, &entries, &why);
    result = result < 0 ? skip(c, &why, e) : fill_folder(c, it, &entries, depth, e);
    arena_destroy(a);
    return result;
}

static int copy_item(struct download *c, const struct item *it, int depth, struct err *e)
{
    switch (it->st->type) {
    case SHARE_FILE: return copy_file(c, it, e);
    case SHARE_FOLDER: return copy_folder(c, it, depth + 1, e);
    case SHARE_LINK: return copy_link(c, it, e);
    case SHARE_OTHER: c->counts.odd++;
    }
    return 0;
}

/* ---- a path ---- */

/* Makes and opens the parent folder of the path. */
static int open_parent(struct download *c, const char *path, struct err *e)
{
    int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
    size_t n;

    if (fd < 0)
        return err_sys(e, "open the folder to copy to");
    for (; path[n = strcspn(path, "/")] == '/'; path += n + 1) {
        char *name = mem_strndup(path, n);
        int next = make_folder(fd, name, e);

        free(name);
        close(fd);
        if (next < 0)
            return -1;
        fd = next;
    }
    return fd;
}

static bool is_missing(void *context, const char *path, const struct share_stat *st)
{
    const struct download *c = context;

    return !is_there(
        &(struct item){ .path = path, .st = st, .to_fd = c->fd, .to = path + c->n_ahead });
}

void download_ahead(struct download *c, const char *path, size_t n)
{
    c->n_ahead = n;
    share_ahead(c->fs, path, is_missing, c);
}

int download_path(struct download *c, const char *path, size_t n, struct err *e)
{
    struct share_stat st;
    struct item it = { .path = path, .st = &st, .to = path_basename(path) };
    struct err why = { 0 };
    int result = -1;

    c->n_prefix = n;
    if (share_stat(c->fs, path, &st, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? 0 : skip(c, &why, e) < 0 ? -1 : 1;
    it.to_fd = open_parent(c, path + n, e);
    if (it.to_fd >= 0) {
        /* A folder is tidied once for all its entries in a row. */
        char *parent = path_dirname(path);

        if (st.type != SHARE_FOLDER && (c->tidied == NULL || strcmp(c->tidied, parent) != 0)) {
            tidy_folder(it.to_fd);
            free(c->tidied);
            c->tidied = mem_strdup(parent);
        }
        free(parent);
        result = copy_item(c, &it, 0, e);
        close(it.to_fd);
    }
    share_forget(c->fs, path);
    return result < 0 ? -1 : 1;
}
