/* SPDX-License-Identifier: MIT */
/* checkpoint.c - names of checkpoints on the share, and snapshots of what lies in a checkpoint */

#include "worker/saved/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/proto/message.h"
#include "common/proto/layout.h"
#include "worker/saved/portable_names.h"
#include "worker/saved/saved.h"

/* Longer paths cannot be opened. */
enum { PATH_MAX_BYTES = 4000, VERSION = 1 };

/* ---- names ---- */

void checkpoint_add_name(struct buf *out, const char *job_name, const struct checkpoint_name *k)
{
    buf_printf(out, "%s.a%" PRId64, job_name, k->attempt);
    if (k->number != CHECKPOINT_AT_END)
        buf_printf(out, ".%" PRId64, k->number);
}

void checkpoint_add_temporary(struct buf *out, const char *job_name, int64_t attempt,
                              const struct token *token)
{
    const struct checkpoint_name last = { attempt, CHECKPOINT_AT_END };
    struct buf name = { 0 };

    checkpoint_add_name(&name, job_name, &last);
    layout_temporary(out, buf_text(&name), token);
    buf_free(&name);
}

/* By attempt, then by number. */
static int compare_names(const struct checkpoint_name *x, const struct checkpoint_name *y)
{
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Reads 1 to 18 digits and returns where they end; NULL: there are fewer or more. */
static const char *read_number(const char *at, int64_t *number)
{
    const char *end = at + strspn(at, "0123456789");

    if (end == at || end - at > 18)
        return NULL;
    *number = strtoll(at, NULL, 10);
    return end;
}

/* Reads "NAME.a2.5" or "NAME.a2" and returns what comes behind; NULL: it is no such name. */
static const char *read_name(const char *name, const char *job_name, struct checkpoint_name *k)
{
    size_t n = strlen(job_name);
    const char *at, *end;

    if (strncmp(name, job_name, n) != 0 || strncmp(name + n, ".a", 2) != 0)
        return NULL;
    at = read_number(name + n + 2, &k->attempt);
    if (at == NULL)
        return NULL;
    k->number = CHECKPOINT_AT_END;
    /* A number ends the name or its part: ".5a" begins a token. */
    if (*at == '.' && (end = read_number(at + 1, &k->number)) != NULL &&
        (*end == '\0' || *end == '.'))
        return end;
    k->number = CHECKPOINT_AT_END;
    return at;
}

/* ---- looking through the folder ---- */

int checkpoint_find_newest(const struct share_dir *d, const char *job_name,
                           const struct checkpoint_name *up_to, struct checkpoint_name *newest,
                           struct err *e)
{
    struct arena *a = arena_create();
    struct list entries;
    const struct share_entry *items;
    int result = 0;

    if (share_list(d, "", SHARE_NAMES, a, &entries, e) < 0)
        result = err_wrap(e, "the checkpoints");
    items = entries.items;
    for (size_t i = 0; i < entries.n; i++) {
        struct checkpoint_name k;
        const char *rest = read_name(items[i].name, job_name, &k);

        if (rest != NULL && *rest == '\0' && compare_names(&k, up_to) <= 0 &&
            (result == 0 || compare_names(&k, newest) > 0)) {
            *newest = k;
            result = 1;
        }
    }
    arena_destroy(a);
    return result;
}

/* ---- removing ---- */

/* Removes a checkpoint; renames it first, so that nobody takes the rest for a complete one. */
static int remove_kept(const struct share_dir *d, const char *job_name,
                       const struct checkpoint_name *k, const char *token_hex, struct err *e)
{
    struct buf name = { 0 };
    struct err why = { 0 };
    char *doomed;
    int result = 0;

    checkpoint_add_name(&name, job_name, k);
    doomed = mem_printf(".%s.a%" PRId64 ".%" PRId64 ".%s", job_name, k->attempt,
                        k->number == CHECKPOINT_AT_END ? 0 : k->number, token_hex);
    if (share_remove_tree(d, doomed, e) < 0)
        result = -1;
    else if (share_rename(d, buf_text(&name), d, doomed, &why) == 0)
        result = share_remove_tree(d, doomed, e);
    else if (why.kind != ERR_NOT_FOUND)
        result = err_set(e, why.kind, "%s", why.text);
    buf_free(&name);
    free(doomed);
    return result;
}

int checkpoint_remove_older(const struct share_dir *d, const char *job_name,
                            const struct checkpoint_name *than, int64_t first_attempt,
                            int64_t last_attempt, const char *token_hex, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries;
    const struct share_entry *items;
    int result = share_list(d, "", SHARE_NAMES, a, &entries, e);

    items = entries.items;
    for (size_t i = 0; i < entries.n; i++) {
        const char *name = items[i].name;
        bool is_hidden = name[0] == '.'; /* incomplete, or being removed */
        struct checkpoint_name k;
        struct token token;
        const char *rest = read_name(name + is_hidden, job_name, &k);

        if (rest == NULL || k.attempt < first_attempt || k.attempt > last_attempt)
            continue;
        if (!is_hidden && *rest == '\0' && (than == NULL || compare_names(&k, than) < 0) &&
            remove_kept(d, job_name, &k, token_hex, e) < 0)
            result = -1;
        if (is_hidden && *rest == '.' && token_parse(rest + 1, &token) == 0 &&
            share_remove_tree(d, name, e) < 0)
            result = -1;
    }
    arena_destroy(a);
    return result;
}

/* ---- naming ---- */

int checkpoint_give_name(const struct share_dir *d, const char *temporary, const char *job_name,
                         const struct checkpoint_name *as, const char *token_hex, struct err *e)
{
    struct buf name = { 0 };
    struct err why = { 0 };
    int result;

    checkpoint_add_name(&name, job_name, as);
    result = share_rename(d, temporary, d, buf_text(&name), &why);
    if (result < 0 && why.kind != ERR_EXISTS)
        err_set(e, why.kind, "%s", why.text);
    else if (result < 0 && remove_kept(d, job_name, as, token_hex, e) == 0)
        result = share_rename(d, temporary, d, buf_text(&name), e);
    buf_free(&name);
    return result;
}

/* ---- taking ---- */

struct taking {
    struct checkpoint_snapshot *snapshot;
    int root_fd;
};
static void add_entry(struct checkpoint_snapshot *s, const struct checkpoint_entry *entry)
{
    mem_grow((void **)&s->entries, &s->capacity, s->n, sizeof *s->entries);
    s->entries[s->n++] = *entry;
}

/* Adds an entry to the snapshot; ignores one that vanishes meanwhile. */
static int take_entry(void *context, int dir_fd, const struct portable_names_entry *found,
                      struct err *e)
{
    struct taking *t = context;
    struct checkpoint_entry entry = { .path = found->path };
    char *target;
    struct stat st;

    if (fstatat(dir_fd, found->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT && !saved_is_foreign(errno))
            return err_sys(e, "look at %s", entry.path);
        t->snapshot->n_left_out += errno != ENOENT;
        return 0;
    }
    if (strlen(found->to) > PATH_MAX_BYTES || strlen(entry.path) > PATH_MAX_BYTES ||
        (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode)) ||
        (S_ISREG(st.st_mode) && faccessat(dir_fd, found->name, R_OK, AT_EACCESS) < 0)) {
        t->snapshot->n_left_out++;
        return 0;
    }
    entry.stored = strcmp(found->to, entry.path) == 0 ? NULL : found->to;
    entry.type = S_ISREG(st.st_mode)   ? CHECKPOINT_FILE
                 : S_ISDIR(st.st_mode) ? CHECKPOINT_FOLDER
                                       : CHECKPOINT_LINK;
    entry.mode = entry.type == CHECKPOINT_LINK ? 0 : st.st_mode & 0777;
    if (entry.type == CHECKPOINT_FILE) {
        const int64_t s_max = INT64_MAX / 1000000000 - 1;

        entry.size_bytes = st.st_size;
        entry.inode = st.st_ino;
        /* A time before 1970 or too late for int64_t counts as 1970. */
        if (st.st_mtim.tv_sec >= 0 && st.st_mtim.tv_sec <= s_max)
            entry.changed_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
    } else if (entry.type == CHECKPOINT_LINK) {
        target = io_read_link_at(dir_fd, found->name, NULL);
        if (target == NULL)
            return 0;
        entry.target = arena_strdup(t->snapshot->arena, target);
        free(target);
    }
    add_entry(t->snapshot, &entry);
    return entry.type == CHECKPOINT_FOLDER;
}

static int open_folder(void *context, const char *path, const char *to, int *fd, struct err *e)
{
    struct taking *t = context;

    (void)to;
    *fd = beneath_open(t->root_fd, path, O_RDONLY | O_DIRECTORY, 0);
    if (*fd >= 0)
        return 0;
    if (errno != ENOENT && errno != ENOTDIR && !saved_is_foreign(errno))
        return err_sys(e, "open %s", path);
    t->snapshot->n_left_out += saved_is_foreign(errno);
    return 0;
}

int checkpoint_snapshot_take(struct checkpoint_snapshot *s, int root_fd, struct err *e)
{
    static const char *const ours[] = { CHECKPOINT_INDEX, NULL };
    struct taking t = { .snapshot = s, .root_fd = root_fd };
    struct portable_names_walk walk = { NULL, ours, open_folder, take_entry, &t };

    *s = (struct checkpoint_snapshot){ .arena = arena_create() };
    walk.arena = s->arena;
    if (portable_names_walk(&walk, e) == 0)
        return 0;
    checkpoint_snapshot_free(s);
    return -1;
}

void checkpoint_snapshot_free(struct checkpoint_snapshot *s)
{
    arena_destroy(s->arena);
    free(s->entries);
    free(s->by_stored);
    *s = (struct checkpoint_snapshot){ .n = 0 };
}

/* ---- comparing ---- */

const char *checkpoint_stored(const struct checkpoint_entry *entry)
{
    return entry->stored == NULL ? entry->path : entry->stored;
}

static int compare_stored(const void *x, const void *y)
{
    const struct checkpoint_entry *const *a = x, *const *b = y;

    return strcmp(checkpoint_stored(*a), checkpoint_stored(*b));
}

const struct checkpoint_entry *checkpoint_snapshot_find(struct checkpoint_snapshot *s,
                                                        const char *stored)
{
    const struct checkpoint_entry key = { .stored = stored }, *wanted = &key;
    const struct checkpoint_entry **found;

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

bool checkpoint_snapshot_equal(const struct checkpoint_snapshot *x,
                               const struct checkpoint_snapshot *y)
{
    bool is_equal = x->n == y->n;

    for (size_t i = 0; is_equal && i < x->n; i++) {
        const struct checkpoint_entry *a = &x->entries[i], *b = &y->entries[i];

        is_equal = a->type == b->type && a->mode == b->mode && a->size_bytes == b->size_bytes &&
                   a->changed_ns == b->changed_ns && strcmp(a->path, b->path) == 0 &&
                   strcmp(checkpoint_stored(a), checkpoint_stored(b)) == 0 &&
                   (a->target == NULL || b->target == NULL ? a->target == b->target
                                                           : strcmp(a->target, b->target) == 0);
    }
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

/* ---- the index: a frame with the head, then one for each entry ---- */

struct head {
    int64_t version;
    int64_t entries;
};

static const struct field head_fields[] = {
    FIELD(struct head, version, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct head, entries, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
};
static const struct schema head_schema = SCHEMA(struct head, "head", head_fields);

static const char *const type_names[CHECKPOINT_TYPES] = { "file", "folder", "link" };

static const struct field entry_fields[] = {
    FIELD_NAMED(struct checkpoint_entry, type, FIELD_REQUIRED, type_names, CHECKPOINT_TYPES),
    FIELD(struct checkpoint_entry, path, FIELD_STR, FIELD_REQUIRED, PATH_MAX_BYTES),
    FIELD(struct checkpoint_entry, stored, FIELD_STR, 0, PATH_MAX_BYTES),
    FIELD(struct checkpoint_entry, target, FIELD_STR, 0, 4096),
    FIELD(struct checkpoint_entry, mode, FIELD_INT, 0, 0777),
    FIELD(struct checkpoint_entry, size_bytes, FIELD_INT, 0, INT64_MAX),
    FIELD(struct checkpoint_entry, changed_ns, FIELD_INT, 0, INT64_MAX),
};
static const struct schema entry_schema =
    SCHEMA(struct checkpoint_entry, "checkpoint entry", entry_fields);

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

int checkpoint_snapshot_read_index(struct checkpoint_snapshot *s, struct bytes index, struct err *e)
{
    struct frame_reader r = { .used = 0 };
    struct checkpoint_entry entry;
    struct head head;
    int result;

    *s = (struct checkpoint_snapshot){ .arena = arena_create() };
    frame_feed(&r, index.data, index.n);
    result = read_frame(s, &r, &head_schema, &head, e);
    if (result == 0 && head.version != VERSION)
        result = err_set(e, ERR_PROTOCOL, "it is of another version");
    while (result == 0 && (int64_t)s->n < head.entries) {
        entry = (struct checkpoint_entry){ .inode = 0 };
        result = read_frame(s, &r, &entry_schema, &entry, e);
        if (result == 0 &&
            (!path_is_inside(entry.path) || !path_is_inside(checkpoint_stored(&entry)) ||
             (entry.type == CHECKPOINT_LINK) != (entry.target != NULL)))
            result = err_set(e, ERR_PROTOCOL, "an entry is none");
        if (result == 0)
            add_entry(s, &entry);
    }
    frame_reader_free(&r);
    if (result < 0) {
        checkpoint_snapshot_free(s);
        err_wrap(e, "the index of a checkpoint");
    }
    return result;
}
