/* SPDX-License-Identifier: MIT */
/* tree.c - source or data as they lie here: what is in it, and its digest */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/tree.h"
#include "common/buf.h"
#include "common/path.h"

void tree_init(struct tree *t)
{
    *t = (struct tree){ .arena = arena_create() };
}

void tree_free(struct tree *t)
{
    free(t->entries);
    arena_destroy(t->arena);
    *t = (struct tree){ 0 };
}

/* Of content or of what tells about it: a file put in the place of another counts too. */
int64_t tree_changed_at_ns(const struct stat *st)
{
#ifdef __APPLE__
    return (int64_t)st->st_ctimespec.tv_sec * 1000000000 + st->st_ctimespec.tv_nsec;
#else
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
#endif
}

/* ---- walking ---- */

struct walk {
    struct tree *tree;
    const struct tree_skips *skips;
    struct err *e;
};

static int walk(struct walk *w, const char *from, const char *path);

static struct tree_entry *add_entry(struct tree *t, const char *path, const char *from, char type)
{
    mem_grow((void **)&t->entries, &t->capacity, t->n, sizeof *t->entries);
    t->entries[t->n] = (struct tree_entry){ .path = arena_strdup(t->arena, path),
                                            .from = arena_strdup(t->arena, from),
                                            .type = type };
    return &t->entries[t->n++];
}

static bool is_skipped(const struct walk *w, const char *from, const char *path, bool is_dir)
{
    const struct tree_skips *skips = w->skips;

    for (size_t i = 0; i < skips->n; i++)
        if (strcmp(skips->paths[i], from) == 0)
            return true;
    if (skips->ignore != NULL && ignore_matches(skips->ignore, from, is_dir))
        return true;
    return skips->leaves_out != NULL && skips->leaves_out(skips->context, from, path, is_dir);
}

static int walk_child(struct walk *w, const char *dir, const char *dir_path, const char *name)
{
    char *from = path_join(dir, name), *path = path_join(dir_path, name);
    struct stat st;
    int result = 0;

    if (lstat(from, &st) < 0)
        result = err_sys(w->e, "%s", from);
    else if (!is_skipped(w, from, path, S_ISDIR(st.st_mode)))
        result = walk(w, from, path);
    free(path);
    free(from);
    return result;
}

static int walk_children(struct walk *w, DIR *stream, const char *from, const char *path)
{
    for (;;) {
        const struct dirent *child;

        errno = 0;
        child = readdir(stream);
        if (child == NULL)
            return errno == 0 ? 0 : err_sys(w->e, "read folder %s", from);
        if (strcmp(child->d_name, ".") != 0 && strcmp(child->d_name, "..") != 0 &&
            walk_child(w, from, path, child->d_name) < 0)
            return -1;
    }
}

static int walk_dir(struct walk *w, const char *from, const char *path)
{
    size_t mark = 0;
    DIR *stream;
    int result;

    if (path[0] != '\0')
        add_entry(w->tree, path, from, 'd');
    if (w->skips->ignore != NULL && ignore_enter(w->skips->ignore, from, &mark, w->e) < 0)
        return -1;
    stream = opendir(from);
    if (stream == NULL)
        return err_sys(w->e, "open folder %s", from);
    result = walk_children(w, stream, from, path);
    closedir(stream);
    if (w->skips->ignore != NULL)
        ignore_leave(w->skips->ignore, mark);
    return result;
}

static int add_link(struct walk *w, const char *from, const char *path, size_t n)
{
    /* Some file systems say 0. */
    size_t capacity = n > 0 ? n + 1 : 4096;
    char *target = arena_alloc(w->tree->arena, capacity + 1);
    ssize_t got = readlink(from, target, capacity);
    struct tree_entry *entry;

    if (got < 0)
        return err_sys(w->e, "read link %s", from);
    entry = add_entry(w->tree, path, from, 'l');
    entry->link = target;
    entry->size = (uint64_t)got;
    digest_of(target, (size_t)got, &entry->digest);
    return 0;
}

static void add_file(struct walk *w, const char *from, const char *path, const struct stat *st)
{
    struct tree_entry *entry =
        add_entry(w->tree, path, from, (st->st_mode & S_IXUSR) != 0 ? 'x' : 'f');

    entry->size = (uint64_t)st->st_size;
    entry->changed_at_ns = tree_changed_at_ns(st);
}

static int add_found(struct walk *w, const char *from, const char *path, const struct stat *st)
{
    const char *what = S_ISFIFO(st->st_mode)   ? "a pipe"
                       : S_ISSOCK(st->st_mode) ? "a socket"
                                               : "a device";

    if (S_ISDIR(st->st_mode))
        return walk_dir(w, from, path);
    if (S_ISLNK(st->st_mode))
        return add_link(w, from, path, (size_t)st->st_size);
    if (!S_ISREG(st->st_mode))
        return err_set(w->e, ERR_USAGE,
                       "%s is %s and cannot be sent (.ludwigignore can leave it "
                       "out)",
                       from, what);
    add_file(w, from, path, st);
    return 0;
}

static int walk(struct walk *w, const char *from, const char *path)
{
    struct stat st;

    if (lstat(from, &st) < 0)
        return err_sys(w->e, "%s", from);
    return add_found(w, from, path, &st);
}

/* The folders above a path are part of the tree, too. */
static void add_parents(struct tree *t, const char *from, const char *path)
{
    size_t n_from = strlen(from), n_path = strlen(path);

    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        size_t n_rest = n_path - (size_t)(slash - path);
        char *parent = mem_strndup(path, (size_t)(slash - path));
        char *parent_from = mem_strndup(from, n_from > n_rest ? n_from - n_rest : 0);

        add_entry(t, parent, parent_from, 'd');
        free(parent_from);
        free(parent);
    }
}

int tree_add(struct tree *t, const char *from, const char *path, const struct tree_skips *skips,
             struct err *e)
{
    static const struct tree_skips none = { 0 };
    struct walk w = { t, skips != NULL ? skips : &none, e };
    struct stat st;

    /* What was named itself is followed when it is a link; links below stay links. */
    if (stat(from, &st) < 0)
        return err_sys(e, "%s", from);
    add_parents(t, from, path);
    return add_found(&w, from, path, &st);
}

/* ---- digests ---- */

static int compare_entries(const void *x, const void *y)
{
    return strcmp(((const struct tree_entry *)x)->path, ((const struct tree_entry *)y)->path);
}

/* Sorts by path; what was added twice is there once. */
static void sort_entries(struct tree *t)
{
    size_t n = 0;

    if (t->n > 1)
        qsort(t->entries, t->n, sizeof *t->entries, compare_entries);
    for (size_t i = 0; i < t->n; i++)
        if (n == 0 || strcmp(t->entries[n - 1].path, t->entries[i].path) != 0)
            t->entries[n++] = t->entries[i];
    t->n = n;
}

static int read_digest(struct tree_entry *entry, struct err *e)
{
    int fd = open(entry->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint64_t size = 0;
    int result;

    if (fd < 0)
        return err_sys(e, "open %s", entry->from);
    result = digest_of_fd(fd, &entry->digest, &size, e);
    close(fd);
    if (result < 0)
        return err_wrap(e, "%s", entry->from);
    if (size != entry->size)
        return err_set(e, ERR_FAILED, "%s was changed while it was read; submit again",
                       entry->from);
    return 0;
}

static void hash_entry(struct hasher *h, const struct tree_entry *entry)
{
    char size[32];

    hasher_add(h, &entry->type, 1);
    hasher_add(h, entry->path, strlen(entry->path) + 1);
    if (entry->type == 'd')
        return;
    snprintf(size, sizeof size, "%" PRIu64, entry->size);
    hasher_add(h, size, strlen(size) + 1);
    hasher_add(h, entry->digest.bytes, DIGEST_BYTES);
}

static int make_digest(struct tree *t, struct err *e)
{
    static const char version[] = "ludwig tree 1\n";
    struct hasher *h = hasher_create();
    int result = 0;

    hasher_add(h, version, strlen(version));
    for (size_t i = 0; i < t->n && result == 0; i++) {
        struct tree_entry *entry = &t->entries[i];

        if (entry->type == 'f' || entry->type == 'x')
            result = read_digest(entry, e);
        hash_entry(h, entry);
    }
    hasher_end(h, &t->digest);
    hasher_destroy(h);
    return result;
}

int tree_end(struct tree *t, bool with_digests, struct err *e)
{
    sort_entries(t);
    t->n_files = 0;
    t->bytes = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].type != 'd') {
            t->n_files++;
            t->bytes += t->entries[i].size;
        }
    return with_digests ? make_digest(t, e) : 0;
}
