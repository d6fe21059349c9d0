/* SPDX-License-Identifier: MIT */
/* checkpoint_snapshot.c - what lies in a checkpoint folder at a moment, and the index of a copy */

#include "worker/saved/checkpoint_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/frame.h"
#include "worker/saved/portable_names.h"
#include "worker/saved/saved.h"

/* Longer ones could not be opened by their path. */
enum { PATH_MAX_BYTES = 4000, VERSION = 1 };

/* ---- taking ---- */

/* Folders still to be looked at. */
struct todo {
    const char *path, *stored;
};

struct taking {
    struct checkpoint_snapshot *snapshot;
    int root_fd;
    struct todo *todo;
    size_t n_todo;
    size_t capacity;
};

static void add_entry(struct checkpoint_snapshot *s, const struct checkpoint_snapshot_entry *entry)
{
    mem_grow((void **)&s->entries, &s->capacity, s->n, sizeof *s->entries);
    s->entries[s->n++] = *entry;
}

static const char *join(struct arena *a, const char *folder, const char *name)
{
    return folder[0] == '\0' ? arena_strdup(a, name) : arena_printf(a, "%s/%s", folder, name);
}

static void take_folder(struct taking *t, const struct checkpoint_snapshot_entry *entry)
{
    add_entry(t->snapshot, entry);
    mem_grow((void **)&t->todo, &t->capacity, t->n_todo, sizeof *t->todo);
    t->todo[t->n_todo++] = (struct todo){ entry->path, checkpoint_snapshot_stored(entry) };
}

/* A time that nobody means is the beginning of all. */
static int64_t ns_of(const struct timespec *t)
{
    const int64_t s_max = INT64_MAX / 1000000000 - 1;

    return t->tv_sec > s_max || t->tv_sec < 0 ? 0 : t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

static void take_file(struct taking *t, int dir_fd, const char *name,
                      struct checkpoint_snapshot_entry *entry, const struct stat *st)
{
    if (faccessat(dir_fd, name, R_OK, AT_EACCESS) < 0) {
        t->snapshot->n_left_out++;
        return;
    }
    entry->size_bytes = st->st_size;
    entry->changed_ns = ns_of(&st->st_mtim);
    entry->inode = st->st_ino;
    add_entry(t->snapshot, entry);
}

static void take_link(struct taking *t, int dir_fd, const char *name,
                      struct checkpoint_snapshot_entry *entry)
{
    char *target = io_read_link_at(dir_fd, name, NULL);

    if (target == NULL)
        return;
    entry->mode = 0;
    entry->target = arena_strdup(t->snapshot->arena, target);
    add_entry(t->snapshot, entry);
    free(target);
}

/* What vanishes meanwhile was never there. */
static int take_entry(struct taking *t, int dir_fd, const struct todo *in,
                      const struct portable_names_name *name, struct err *e)
{
    struct arena *a = t->snapshot->arena;
    struct checkpoint_snapshot_entry entry = { .path = join(a, in->path, name->name) };
    const char *stored = join(a, in->stored, name->to);
    struct stat st;

    if (fstatat(dir_fd, name->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT && !saved_is_foreign(errno))
            return err_sys(e, "look at %s", entry.path);
        t->snapshot->n_left_out += errno != ENOENT;
        return 0;
    }
    if (strlen(stored) > PATH_MAX_BYTES || strlen(entry.path) > PATH_MAX_BYTES ||
        (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))) {
        t->snapshot->n_left_out++;
        return 0;
    }
    entry.stored = strcmp(stored, entry.path) == 0 ? NULL : stored;
    entry.type = S_ISREG(st.st_mode)   ? CHECKPOINT_SNAPSHOT_FILE
                 : S_ISDIR(st.st_mode) ? CHECKPOINT_SNAPSHOT_FOLDER
                                       : CHECKPOINT_SNAPSHOT_LINK;
    entry.mode = st.st_mode & 0777;
    if (entry.type == CHECKPOINT_SNAPSHOT_FILE)
        take_file(t, dir_fd, name->name, &entry, &st);
    else if (entry.type == CHECKPOINT_SNAPSHOT_FOLDER)
        take_folder(t, &entry);
    else
        take_link(t, dir_fd, name->name, &entry);
    return 0;
}

static int take_open_folder(struct taking *t, DIR *dir, const struct todo *in, struct err *e)
{
    size_t n;
    struct portable_names_name *names = portable_names_list(dir, &n, t->snapshot->arena);
    int result = errno != 0 ? err_sys(e, "list %s", in->path) : 0;

    if (result == 0 && n > 0)
        portable_names_names(names, n, in->path[0] == '\0' ? CHECKPOINT_SNAPSHOT_INDEX : NULL,
                             t->snapshot->arena);
    for (size_t i = 0; result == 0 && i < n; i++)
        result = take_entry(t, dirfd(dir), in, &names[i], e);
    free(names);
    return result;
}

static int take_next(struct taking *t, const struct todo *in, struct err *e)
{
    const char *path = in->path[0] == '\0' ? "." : in->path;
    int fd = io_open_no_links(t->root_fd, path, O_RDONLY | O_DIRECTORY);
    DIR *dir;
    int result;

    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR && !saved_is_foreign(errno))
            return err_sys(e, "open %s", path);
        t->snapshot->n_left_out += saved_is_foreign(errno);
        return 0;
    }
    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return err_sys(e, "list %s", path);
    }
    result = take_open_folder(t, dir, in, e);
    closedir(dir);
    return result;
}

int checkpoint_snapshot_take(struct checkpoint_snapshot *s, int root_fd, struct err *e)
{
    struct taking t = { .snapshot = s, .root_fd = root_fd };
    struct todo at = { "", "" };
    int result;

    *s = (struct checkpoint_snapshot){ .arena = arena_create() };
    while ((result = take_next(&t, &at, e)) == 0 && t.n_todo > 0)
        at = t.todo[--t.n_todo];
    free(t.todo);
    if (result < 0)
        checkpoint_snapshot_free(s);
    return result;
}

void checkpoint_snapshot_free(struct checkpoint_snapshot *s)
{
    arena_destroy(s->arena);
    free(s->entries);
    free(s->by_stored);
    *s = (struct checkpoint_snapshot){ .n = 0 };
}

/* ---- comparing ---- */

const char *checkpoint_snapshot_stored(const struct checkpoint_snapshot_entry *entry)
{
    return entry->stored == NULL ? entry->path : entry->stored;
}

static int compare_stored(const void *x, const void *y)
{
    const struct checkpoint_snapshot_entry *const *a = x, *const *b = y;

    return strcmp(checkpoint_snapshot_stored(*a), checkpoint_snapshot_stored(*b));
}

const struct checkpoint_snapshot_entry *checkpoint_snapshot_find(struct checkpoint_snapshot *s,
                                                                 const char *stored)
{
    const struct checkpoint_snapshot_entry key = { .stored = stored }, *wanted = &key;
    const struct checkpoint_snapshot_entry **found;

    if (s->n == 0)
        return NULL;
    if (s->by_stored == NULL) {
        s->by_stored = mem_resize(NULL, s->n, sizeof *s->by_stored);
        for (size_t i = 0; i < s->n; i++)
            s->by_stored[i] = &s->entries[i];
        qsort(s->by_stored, s->n, sizeof *s->by_stored, compare_stored);
    }
    found = bsearch(&wanted, s->by_stored, s->n, sizeof *s->by_stored, compare_stored);
    return found == NULL ? NULL : *found;
}

static bool is_same_text(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static bool is_same(const struct checkpoint_snapshot_entry *x,
                    const struct checkpoint_snapshot_entry *y)
{
    return x->type == y->type && x->mode == y->mode && x->size_bytes == y->size_bytes &&
           x->changed_ns == y->changed_ns && strcmp(x->path, y->path) == 0 &&
           is_same_text(x->stored, y->stored) && is_same_text(x->target, y->target);
}

bool checkpoint_snapshot_equal(const struct checkpoint_snapshot *x,
                               const struct checkpoint_snapshot *y)
{
    bool is_equal = x->n == y->n;

    for (size_t i = 0; is_equal && i < x->n; i++)
        is_equal = is_same(&x->entries[i], &y->entries[i]);
    return is_equal;
}

bool checkpoint_snapshot_is_untouched(const struct checkpoint_snapshot *x,
                                      const struct checkpoint_snapshot *y)
{
    bool is_untouched = checkpoint_snapshot_equal(x, y);

    for (size_t i = 0; is_untouched && i < x->n; i++)
        is_untouched = x->entries[i].inode == y->entries[i].inode;
    return is_untouched;
}

/* ---- the index: frames, of its head and of each entry ---- */

struct head {
    int64_t version;
    int64_t entries;
};

static const struct field head_fields[] = {
    FIELD(struct head, version, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct head, entries, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
};
static const struct schema head_schema = SCHEMA(struct head, "head", head_fields);

static const char *const type_names[CHECKPOINT_SNAPSHOT_TYPES] = { "file", "folder", "link" };

static const struct field entry_fields[] = {
    FIELD_NAMED(struct checkpoint_snapshot_entry, type, FIELD_REQUIRED, type_names,
                CHECKPOINT_SNAPSHOT_TYPES),
    FIELD(struct checkpoint_snapshot_entry, path, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct checkpoint_snapshot_entry, stored, FIELD_STR, 0, PATH_MAX_BYTES),
    FIELD(struct checkpoint_snapshot_entry, target, FIELD_STR, 0, 4096),
    FIELD(struct checkpoint_snapshot_entry, mode, FIELD_INT, 0, 0777),
    FIELD(struct checkpoint_snapshot_entry, size_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct checkpoint_snapshot_entry, changed_ns, FIELD_INT, 0, INT64_MAX),
};
static const struct schema entry_schema =
    SCHEMA(struct checkpoint_snapshot_entry, "checkpoint entry", entry_fields);

static int add_frame(struct buf *out, const struct schema *schema, const void *from, struct err *e)
{
    size_t mark = frame_begin(out);

    schema_encode(schema, from, out);
    return frame_end(out, mark, e);
}

int checkpoint_snapshot_add_index(struct buf *out, const struct checkpoint_snapshot *s,
                                  struct err *e)
{
    struct head head = { VERSION, (int64_t)s->n };
    int result = add_frame(out, &head_schema, &head, e);

    for (size_t i = 0; result == 0 && i < s->n; i++)
        result = add_frame(out, &entry_schema, &s->entries[i], e);
    return result;
}

static int read_frame(struct checkpoint_snapshot *s, struct frame_reader *r,
                      const struct schema *schema, void *to, struct err *e)
{
    struct bytes frame;
    int rc = frame_next(r, &frame, e);

    if (rc == 0)
        return err_set(e, ERR_PROTOCOL, "it is cut off");
    return rc < 0 ? -1 : schema_read(schema, frame, s->arena, to, e);
}

static int read_entry(struct checkpoint_snapshot *s, struct frame_reader *r, struct err *e)
{
    struct checkpoint_snapshot_entry entry = { .inode = 0 };

    if (read_frame(s, r, &entry_schema, &entry, e) < 0)
        return -1;
    if (!path_is_inside(entry.path) || !path_is_inside(checkpoint_snapshot_stored(&entry)) ||
        (entry.type == CHECKPOINT_SNAPSHOT_LINK) != (entry.target != NULL))
        return err_set(e, ERR_PROTOCOL, "an entry is none");
    add_entry(s, &entry);
    return 0;
}

static int read_all(struct checkpoint_snapshot *s, struct frame_reader *r, struct err *e)
{
    struct head head;

    if (read_frame(s, r, &head_schema, &head, e) < 0)
        return -1;
    if (head.version != VERSION)
        return err_set(e, ERR_PROTOCOL, "it is of another version");
    while ((int64_t)s->n < head.entries)
        if (read_entry(s, r, e) < 0)
            return -1;
    return 0;
}

int checkpoint_snapshot_read_index(struct checkpoint_snapshot *s, struct bytes index, struct err *e)
{
    struct frame_reader r = { .used = 0 };
    int result;

    *s = (struct checkpoint_snapshot){ .arena = arena_create() };
    frame_feed(&r, index.data, index.n);
    result = read_all(s, &r, e);
    frame_reader_free(&r);
    if (result < 0) {
        checkpoint_snapshot_free(s);
        err_wrap(e, "the index of a checkpoint");
    }
    return result;
}
