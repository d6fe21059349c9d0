/* SPDX-License-Identifier: MIT */
/* saved.c - scans what a job saved, makes it fit for the share, and copies it there */

#include "worker/saved/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/crash_point.h"
#include "common/base/io.h"
#include "common/proto/layout.h"
#include "worker/base/scratch.h"
#include "worker/saved/portable_names.h"

enum { PATH_BYTES = 1024 * 1024, RENAMES_MAX = 1000 * 1000 };

/* ---- the record of changed names ---- */

struct record {
    struct list renames;
};

static const struct field rename_fields[] = {
    FIELD(struct saved_rename, folder, FIELD_STR, FIELD_REQUIRED, PATH_BYTES),
    FIELD(struct saved_rename, from, FIELD_STR, FIELD_REQUIRED, PATH_BYTES),
    FIELD(struct saved_rename, to, FIELD_STR, FIELD_REQUIRED, PATH_BYTES),
    FIELD(struct saved_rename, path, FIELD_STR, FIELD_REQUIRED, PATH_BYTES),
};
static const struct schema rename_schema =
    SCHEMA(struct saved_rename, "saved_rename", rename_fields);

static const struct field record_fields[] = {
    FIELD_OF(struct record, renames, FIELD_LIST, FIELD_REQUIRED, RENAMES_MAX, &rename_schema),
};
static const struct schema record_schema = SCHEMA(struct record, "record", record_fields);

static void add_rename(struct saved *s, const struct saved_rename *r)
{
    mem_grow((void **)&s->renames, &s->renames_capacity, s->n_renames, sizeof *s->renames);
    s->renames[s->n_renames++] = *r;
}

/* ---- other users' files ---- */

static void leave_out(struct saved *s, const char *path)
{
    mem_grow((void **)&s->left_out, &s->left_out_capacity, s->n_left_out, sizeof *s->left_out);
    s->left_out[s->n_left_out++] = path;
}

bool saved_is_foreign(int error)
{
    return error == EACCES || error == EPERM || error == ENOTCONN || error == ENAMETOOLONG ||
           error == ELOOP;
}

/* Takes an entry that was scanned, and all below it, out of the entries; lists it as left out. */
static void take_out(struct saved *s, const char *top)
{
    size_t kept = 0, n = strlen(top);

    for (size_t i = 0; i < s->n; i++) {
        const char *path = s->entries[i].path;

        if (strncmp(path, top, n) != 0 || (path[n] != '\0' && path[n] != '/'))
            s->entries[kept++] = s->entries[i];
    }
    if (kept < s->n)
        leave_out(s, top);
    s->n = kept;
}

/* Renames from the last to the first: entries before their folder, as paths have its old name. */
static int apply_renames(struct saved *s, int root_fd, size_t first, struct err *e)
{
    for (size_t i = s->n_renames; i-- > first;) {
        const struct saved_rename *r = &s->renames[i];
        const char *slash = r->folder[0] != '\0' ? "/" : "";
        char *from = mem_printf("%s%s%s", r->folder, slash, r->from);
        char *to = mem_printf("%s%s%s", r->folder, slash, r->to);
        int result = 0;

        /* An entry that is gone was renamed before the last scan was interrupted. */
        if (beneath_rename(root_fd, from, root_fd, to) < 0 && errno != ENOENT) {
            if (!saved_is_foreign(errno)) {
                result = err_sys(e, "rename %s to %s", from, to);
            } else { /* before the walk there is nothing to take out: the walk will find it */
                take_out(s, r->path);
                s->n_renames--;
                memmove(&s->renames[i], &s->renames[i + 1],
                        (s->n_renames - i) * sizeof *s->renames);
            }
        }
        free(from);
        free(to);
        if (result < 0)
            return -1;
    }
    return 0;
}

/* ---- the scan ---- */

struct scan {
    struct saved *saved;
    const struct share_modes *modes;
    int root_fd;
};

void saved_add(struct saved *s, const struct saved_entry *entry)
{
    mem_grow((void **)&s->entries, &s->capacity, s->n, sizeof *s->entries);
    s->entries[s->n++] = *entry;
}

/* Gives the file or folder the project's group; returns whether it has it now. */
static bool set_group(const struct scan *x, int fd, const struct stat *st)
{
    return x->modes->group == (gid_t)-1 || st->st_gid == x->modes->group ||
           fchown(fd, (uid_t)-1, x->modes->group) == 0;
}

/* Sets the mode if it is another one; ignores the error for files of other users. */
static void set_mode(int fd, const struct stat *st, mode_t mode)
{
    if ((st->st_mode & 07777) != mode)
        (void)fchmod(fd, mode);
}

/* Adds a file and its digest.  One with other names may lie elsewhere, too, and not be meant for
 * others there: it keeps mode and group; only the copy on the share has those of the project. */
static int scan_file(struct scan *x, int dir_fd, const char *name, const char *path,
                     bool has_other_names, struct err *e)
{
    struct saved_entry entry = { .type = SAVED_FILE, .path = path };
    const int flags = O_RDONLY | O_NONBLOCK;
    int fd = has_other_names ? beneath_open(dir_fd, name, flags, 0)
                             : beneath_open_own(dir_fd, name, flags, S_IRUSR | S_IWUSR);
    struct stat st;
    int result = -1;

    if (fd < 0 && saved_is_foreign(errno)) {
        leave_out(x->saved, path);
        return 0;
    }
    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (fstat(fd, &st) < 0) {
        err_sys(e, "look at %s", path);
    } else if (digest_of_fd(fd, &entry.digest, &entry.size_bytes, e) == 0) {
        entry.mode = share_project_file_mode(x->modes, st.st_mode);
        if (st.st_nlink == 1 && set_group(x, fd, &st))
            set_mode(fd, &st, entry.mode);
        saved_add(x->saved, &entry);
        result = 0;
    }
    close(fd);
    return result;
}

static int scan_entry(void *context, int dir_fd, const struct portable_names_entry *found,
                      struct err *e)
{
    struct scan *x = context;
    const char *path = found->to;
    struct stat st;

    if (fstatat(dir_fd, found->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (!saved_is_foreign(errno))
            return err_sys(e, "look at %s", path);
        leave_out(x->saved, path);
        return 0;
    }
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode)) {
        if (unlinkat(dir_fd, found->name, 0) < 0 && !saved_is_foreign(errno))
            return err_sys(e, "remove %s", path);
        leave_out(x->saved, path);
        return 0;
    }
    if (found->wanted != found->name)
        add_rename(x->saved,
                   &(struct saved_rename){ found->folder, found->name, found->wanted, path });
    if (S_ISREG(st.st_mode))
        return scan_file(x, dir_fd, found->name, path, st.st_nlink > 1, e);
    saved_add(x->saved,
              &(struct saved_entry){ .type = S_ISDIR(st.st_mode) ? SAVED_FOLDER : SAVED_LINK,
                                     .path = path,
                                     .mode = S_ISDIR(st.st_mode) ? x->modes->dir : 0 });
    return S_ISDIR(st.st_mode);
}

static int open_folder(void *context, const char *path, const char *to, int *fd, struct err *e)
{
    struct scan *x = context;
    struct stat st;

    *fd = beneath_open_own(x->root_fd, path, O_RDONLY | O_DIRECTORY, S_IRWXU);
    if (*fd < 0 && saved_is_foreign(errno)) {
        take_out(x->saved, to);
        return 0;
    }
    if (*fd < 0)
        return err_sys(e, "open %s", path);
    if (fstat(*fd, &st) < 0)
        return 0;
    if (path[0] == '\0') {
        (void)set_group(x, *fd, &st);
        set_mode(*fd, &st, share_project_closed_mode(x->modes));
    } else if (set_group(x, *fd, &st)) {
        set_mode(*fd, &st, x->modes->dir);
    }
    return 0;
}

int saved_scan(struct saved *s, int dir_fd, const char *name, int record_fd, const char *record,
               const struct share_modes *modes, struct err *e)
{
    struct scan x = { .saved = s,
                      .modes = modes,
                      .root_fd = beneath_open_own(dir_fd, name, O_RDONLY | O_DIRECTORY, S_IRWXU) };
    static const char *const ours[] = { LAYOUT_JOB_JSON, LAYOUT_METRICS, NULL };
    const struct portable_names_walk walk = { s->arena, ours, open_folder, scan_entry, &x };
    struct record changed = { { NULL, 0 } };
    struct err why = { 0 };
    size_t n_before;
    int result;

    if (x.root_fd < 0)
        return err_sys(e, "open %s", name);
    result = scratch_read(record_fd, record, &record_schema, s->arena, &changed, &why);
    if (result < 0)
        result = why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    for (size_t i = 0; result == 0 && i < changed.renames.n; i++)
        add_rename(s, (const struct saved_rename *)changed.renames.items + i);
    if (result == 0)
        result = apply_renames(s, x.root_fd, 0, e);
    n_before = s->n_renames;
    if (result == 0)
        result = portable_names_walk(&walk, e);
    if (result == 0 && s->n_renames > n_before) {
        changed.renames = (struct list){ s->renames, s->n_renames };
        result = scratch_replace(record_fd, record, &record_schema, &changed, e);
    }
    if (result == 0)
        result = apply_renames(s, x.root_fd, n_before, e);
    CRASH_POINT(saved_scanned);
    close(x.root_fd);
    return result;
}

void saved_free(struct saved *s)
{
    free(s->entries);
    free(s->renames);
    free(s->left_out);
    *s = (struct saved){ 0 };
}

int saved_copy(struct saved *s, int from_fd, const struct share_dir *to, struct err *e)
{
    static const enum share_type types[] = {
        [SAVED_FILE] = SHARE_FILE, [SAVED_FOLDER] = SHARE_FOLDER, [SAVED_LINK] = SHARE_LINK
    };
    struct share_item *items = mem_alloc(s->n * sizeof *items);
    int result;

    for (size_t i = 0; i < s->n; i++) {
        const struct saved_entry *x = &s->entries[i];

        items[i] = (struct share_item){ .type = types[x->type],
                                        .from = x->path,
                                        .to = x->path,
                                        .mode = x->mode,
                                        .size_bytes = (int64_t)x->size_bytes,
                                        .digest = x->type == SAVED_FILE ? &x->digest : NULL };
    }
    result = share_copy_in(to, from_fd, items, s->n, e);
    /* Where the share has no symlinks, each is listed as left out, with its target. */
    for (size_t i = 0; i < s->n; i++)
        if (items[i].target != NULL) {
            leave_out(s, arena_printf(s->arena, "%s -> %s", items[i].to, items[i].target));
            free((char *)items[i].target);
        }
    free(items);
    return result;
}
