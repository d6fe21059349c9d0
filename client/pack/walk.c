/* SPDX-License-Identifier: MIT */
/* walk.c - gives the entries of a tree one after the other */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/walk.h"
#include "client/util/dir_names.h"
#include "common/base/mem.h"

enum {
    DESCRIPTORS_MAX = 64, /* deeper folders are reached by their paths */
    LINK_FIRST_BYTES = 4096
};

/* A folder that is open. */
struct level {
    struct dir_names names;
    int fd; /* -1: the folder is deeper than DESCRIPTORS_MAX */
    size_t n_path, n_from;
    struct ignore_scope *rules; /* NULL: only the built-in rules, or none */
    bool takes;                 /* all entries of the folder are taken; else only named ones */
    bool is_named;              /* the folder or one above is named */
    bool is_ignored;            /* a rule ignores the folder or one above */
    bool is_above;              /* a path below the folder is named */
};

struct walk {
    const struct walk_plan *plan;
    struct level *levels;
    size_t n, capacity;
    struct buf path, from, target;
    struct stat top;
    bool is_file; /* the top is a file, which is the next and only entry */
};

/* Whether a path is named, and whether a path below it is. */
struct standing {
    bool is_named, is_above;
};

static struct standing look_up(const struct walk_plan *plan, const char *path)
{
    struct standing s = { 0 };
    size_t n = strlen(path);

    for (size_t i = 0; i < plan->n_named; i++) {
        if (strncmp(plan->named[i], path, n) != 0)
            continue;
        s.is_named = s.is_named || plan->named[i][n] == '\0';
        s.is_above = s.is_above || plan->named[i][n] == '/';
    }
    return s;
}

bool walk_leads_to_named(const struct walk_plan *plan, const char *path)
{
    struct standing s = look_up(plan, path);

    return s.is_named || s.is_above;
}

/* ---- folders ---- */

static int list_folder(struct level *l, const char *from, struct err *e)
{
    /* closedir(3) closes the stream's descriptor, so it is a copy. */
    int fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0), result = 0;
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);

    if (stream == NULL) {
        err_sys(e, "open folder %s", from);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (result == 0) {
        const struct dirent *child;

        errno = 0;
        child = readdir(stream);
        if (child == NULL) {
            result = errno == 0 ? 0 : err_sys(e, "read folder %s", from);
            break;
        }
        if (strcmp(child->d_name, ".") != 0 && strcmp(child->d_name, "..") != 0)
            result = dir_names_add(&l->names, child->d_name, e);
    }
    closedir(stream);
    return result;
}

/* Adds the names of the folder's entries that lead to named paths. */
static int add_named(const struct walk *w, struct level *l, struct err *e)
{
    const char *path = buf_text(&w->path);
    size_t n = w->path.n;

    for (size_t i = 0; i < w->plan->n_named; i++) {
        const char *named = w->plan->named[i];
        const char *rest = n == 0 ? named : named + n + 1;
        char *name;
        int result;

        if (n > 0 && (strncmp(named, path, n) != 0 || named[n] != '/'))
            continue;
        name = mem_strndup(rest, strcspn(rest, "/"));
        result = dir_names_add(&l->names, name, e);
        free(name);
        if (result < 0)
            return -1;
    }
    return 0;
}

/* Opens a folder; refuses one that was replaced, such as by a link, since the walk saw it. */
static int open_folder(const char *from, const struct stat *seen, struct err *e)
{
    int fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return err_sys(e, "open folder %s", from);
    if (fstat(fd, &st) < 0)
        err_sys(e, "%s", from);
    else if (st.st_dev != seen->st_dev || st.st_ino != seen->st_ino)
        err_set(e, ERR_FAILED, "%s was changed while it was read; submit again", from);
    else
        return fd;
    close(fd);
    return -1;
}

/* Opens the folder at w->from, which was seen before, and lists the entries to visit. */
static int enter(struct walk *w, const struct level *how, const struct stat *seen, struct err *e)
{
    const char *from = buf_text(&w->from);
    struct level *l;

    mem_grow((void **)&w->levels, &w->capacity, w->n, sizeof *w->levels);
    l = &w->levels[w->n];
    *l = *how;
    l->n_path = w->path.n;
    l->n_from = w->from.n;
    l->fd = open_folder(from, seen, e);
    if (l->fd < 0)
        return -1;
    w->n++;
    if (w->plan->rules != NULL && !l->is_ignored &&
        ignore_enter(w->plan->rules, l->rules, from, &l->rules, e) < 0)
        return -1;
    if ((l->takes && list_folder(l, from, e) < 0) || (l->is_above && add_named(w, l, e) < 0) ||
        dir_names_sort(&l->names, e) < 0)
        return -1;
    if (w->n > DESCRIPTORS_MAX) {
        close(l->fd);
        l->fd = -1;
    }
    return 0;
}

static void leave_folder(struct walk *w)
{
    struct level *l = &w->levels[--w->n];

    dir_names_free(&l->names);
    if (l->fd >= 0)
        close(l->fd);
}

/* ---- entries ---- */

static void set_end(struct buf *b, size_t n, const char *name)
{
    b->n = n;
    if (n > 0 && b->bytes[n - 1] != '/')
        buf_add_char(b, '/');
    buf_add_str(b, name);
}

/* Fills *st and returns 1; 0: the entry was removed since the folder was read; -1 with e set. */
static int look_at_entry(const struct walk *w, const struct level *l, const struct standing *s,
                         const char *name, struct stat *st, struct err *e)
{
    bool is_followed = s->is_named || s->is_above;
    int flags = is_followed ? 0 : AT_SYMLINK_NOFOLLOW, rc;

    if (l->fd >= 0)
        rc = fstatat(l->fd, name, st, flags);
    else
        rc = fstatat(AT_FDCWD, buf_text(&w->from), st, flags);
    if (rc == 0)
        return 1;
    return errno == ENOENT && !is_followed ? 0 : err_sys(e, "%s", buf_text(&w->from));
}

static bool is_left_out(const struct walk *w, const struct level *l, bool is_folder)
{
    const struct walk_plan *plan = w->plan;
    const char *from = buf_text(&w->from);

    for (size_t i = 0; i < plan->n_left_out; i++)
        if (strcmp(plan->left_out[i], from) == 0)
            return true;
    return plan->leaves_out != NULL && !l->is_named &&
           plan->leaves_out(plan->context, from, buf_text(&w->path), is_folder);
}

/* Returns 1 with *how if the entry or one below it may be taken, 0 if not, -1 with e set. */
static int judge_entry(const struct walk *w, const struct level *above, const struct standing *s,
                       bool is_folder, struct level *how, struct err *e)
{
    int ignored = 0;

    /* A named file is taken even where the rules leave it out. */
    if (w->plan->rules != NULL && (!s->is_named || is_folder))
        ignored = ignore_matches(above->is_ignored ? NULL : above->rules, buf_text(&w->from),
                                 is_folder, e);
    if (ignored < 0)
        return -1;
    *how = (struct level){ .takes = true,
                           .rules = above->rules,
                           .is_named = s->is_named || above->is_named,
                           .is_above = s->is_above,
                           .is_ignored = ignored || above->is_ignored };
    if (s->is_named)
        return 1;
    how->takes = above->takes && !ignored && !is_left_out(w, above, is_folder);
    return how->takes || s->is_above;
}

static int read_target(struct walk *w, struct walk_entry *entry, struct err *e)
{
    size_t room = LINK_FIRST_BYTES;

    for (;; room *= 2) {
        ssize_t n;

        buf_clear(&w->target);
        n = readlink(entry->from, (char *)buf_reserve(&w->target, room), room);
        if (n < 0)
            return err_sys(e, "read link %s", entry->from);
        if ((size_t)n == room)
            continue;
        buf_added(&w->target, (size_t)n);
        entry->target = buf_text(&w->target);
        return 1;
    }
}

static int take_entry(struct walk *w, const struct level *how, struct walk_entry *entry,
                      struct err *e)
{
    mode_t mode = entry->stat.st_mode;

    entry->path = buf_text(&w->path);
    entry->from = buf_text(&w->from);
    if (S_ISDIR(mode)) {
        entry->kind = PACK_FOLDER;
        return enter(w, how, &entry->stat, e) < 0 ? -1 : 1;
    }
    if (S_ISLNK(mode)) {
        entry->kind = PACK_SYMLINK;
        return read_target(w, entry, e);
    }
    if (!S_ISREG(mode))
        return err_set(e, ERR_USAGE, "%s is %s and cannot be sent%s", entry->from,
                       S_ISFIFO(mode)   ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device",
                       w->plan->rules != NULL ? " (.ludwigignore can leave it out)" : "");
    entry->kind = (mode & S_IXUSR) != 0 ? PACK_PROGRAM : PACK_FILE;
    return 1;
}

/* Returns 1 with an entry, 0 if it is left out, -1 with e set. */
static int visit(struct walk *w, const char *name, struct walk_entry *entry, struct err *e)
{
    const struct level *l = &w->levels[w->n - 1];
    struct standing s = { 0 };
    struct level how;
    int rc;

    set_end(&w->path, l->n_path, name);
    set_end(&w->from, l->n_from, name);
    if (l->is_above)
        s = look_up(w->plan, buf_text(&w->path));
    rc = look_at_entry(w, l, &s, name, &entry->stat, e);
    if (rc <= 0)
        return rc;
    rc = judge_entry(w, l, &s, S_ISDIR(entry->stat.st_mode), &how, e);
    if (rc <= 0)
        return rc;
    return take_entry(w, &how, entry, e);
}

int walk_next(struct walk *w, struct walk_entry *entry, struct err *e)
{
    *entry = (struct walk_entry){ 0 };
    if (w->is_file) {
        w->is_file = false;
        entry->stat = w->top;
        return take_entry(w, &(struct level){ .takes = true }, entry, e);
    }
    while (w->n > 0) {
        const char *name;
        int rc = dir_names_next(&w->levels[w->n - 1].names, &name, e);

        if (rc == 0) {
            leave_folder(w);
            continue;
        }
        if (rc > 0)
            rc = visit(w, name, entry, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* ---- beginning and end ---- */

struct walk *walk_begin(const struct walk_plan *plan, struct err *e)
{
    struct level how = { .takes = plan->everything, .is_above = plan->n_named > 0 };
    struct walk *w = mem_alloc(sizeof *w);
    int result;

    w->plan = plan;
    buf_add_str(&w->from, plan->top);
    result = stat(plan->top, &w->top) < 0 ? err_sys(e, "%s", plan->top) : 0;
    w->is_file = !S_ISDIR(w->top.st_mode);
    if (result == 0 && !w->is_file)
        result = enter(w, &how, &w->top, e);
    if (result == 0)
        return w;
    walk_end(w);
    return NULL;
}

void walk_end(struct walk *w)
{
    if (w == NULL)
        return;
    while (w->n > 0)
        leave_folder(w);
    free(w->levels);
    buf_free(&w->path);
    buf_free(&w->from);
    buf_free(&w->target);
    free(w);
}
