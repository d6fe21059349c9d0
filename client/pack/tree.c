/* SPDX-License-Identifier: MIT */
/* tree.c - source or data as they lie here, on their way into packs */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/pack/file_index.h"
#include "client/pack/send_queue.h"
#include "client/pack/tree.h"
#include "client/term/safe_text.h"
#include "client/util/cache_dir.h"
#include "common/base/hash_table.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* ---- counting ---- */

/* A short look. */
enum { GLANCE_ENTRIES = 10000 };

/* What is remembered of files with several names, and what one takes beside its path. */
enum { LINKS_BYTES_MAX = 8 * 1024 * 1024, LINK_BYTES = 56 };

static char *index_path(const struct walk_plan *plan)
{
    char *key = mem_printf("%s %s", plan->rules != NULL ? "source" : "data", plan->top);
    char *path = cache_dir_path("index", key);

    free(key);
    return path;
}

/* Whether all of it is on the share. */
static bool want_pieces(struct pack_inventory *inventory, const struct pack_added *file)
{
    bool all = true;

    for (size_t i = 0; i < file->n_pieces; i++)
        if (!digest_is_zero(&file->pieces[i]) && !pack_inventory_want(inventory, &file->pieces[i]))
            all = false;
    return all;
}

static bool stays_in_place(const struct tree *t, const struct walk_entry *entry)
{
    return t->on_share != NULL && (t->stays || entry->stat.st_size >= PACK_PART_BYTES);
}

int tree_count(struct tree *t, struct pack_inventory *inventory, struct err *e)
{
    struct walk *w = walk_begin(&t->plan, e);
    struct file_index_reader *index; /* NULL: none */
    struct walk_entry entry;
    struct pack_added file;
    int64_t n_found = 0;
    char *path;
    int rc;

    if (w == NULL)
        return -1;
    path = index_path(&t->plan);
    index = file_index_open(path);
    free(path);
    t->totals = (struct pack_totals){ 0 };
    t->unknown_files = t->unknown_bytes = 0;
    t->is_unchanged = true;
    while ((rc = walk_next(w, &entry, e)) == 1) {
        bool is_found;

        t->totals.folders += entry.kind == PACK_FOLDER;
        t->totals.links += entry.kind == PACK_SYMLINK;
        if (entry.kind == PACK_FOLDER || entry.kind == PACK_SYMLINK)
            continue;
        is_found = index != NULL && file_index_find(index, entry.path, &entry.stat, &file);
        t->totals.files++;
        t->totals.bytes += entry.stat.st_size;
        n_found += is_found;
        if (is_found && (stays_in_place(t, &entry) || want_pieces(inventory, &file)))
            continue;
        t->is_unchanged = false;
        t->unknown_files++;
        t->unknown_bytes += entry.stat.st_size;
    }
    if (index == NULL || file_index_count(index) != n_found)
        t->is_unchanged = false;
    file_index_close(index);
    walk_end(w);
    return rc;
}

bool tree_is_none(const struct tree *t)
{
    return t->is_none_if_empty && t->totals.folders + t->totals.files + t->totals.links == 0;
}

int64_t tree_count_files(const struct tree *t)
{
    return t->totals.files + t->totals.links;
}

static bool is_known(struct file_index_reader *index, const struct walk_entry *entry)
{
    struct pack_added file;

    return index != NULL && file_index_find(index, entry->path, &entry->stat, &file);
}

uint64_t tree_glance(const char *path, uint64_t enough_bytes)
{
    struct walk_plan plan = { .top = path, .everything = true };
    struct walk *w = walk_begin(&plan, NULL);
    char *name = index_path(&plan);
    struct file_index_reader *index = file_index_open(name);
    struct walk_entry entry;
    uint64_t bytes = 0;

    for (int i = 0; w != NULL && i < GLANCE_ENTRIES && bytes <= enough_bytes; i++) {
        if (walk_next(w, &entry, NULL) != 1)
            break;
        if (S_ISREG(entry.stat.st_mode) && !is_known(index, &entry))
            bytes += (uint64_t)entry.stat.st_size;
    }
    file_index_close(index);
    walk_end(w);
    free(name);
    return bytes;
}

/* ---- what arises ---- */

enum { WRITE_BYTES = 512 * 1024 };

struct tree_packing {
    const struct tree_target *to;
    struct tree *tree;
    struct pack_writer *writer;
    struct hash_table *links; /* which of the paths a file with several names had first */
    struct arena *paths_arena;
    const char **paths;
    size_t n_paths, paths_capacity, paths_bytes;
    struct file_index_reader *before; /* NULL: none */
    struct file_index_writer *after;  /* NULL: none */
    /* of the file at hand: not read yet, and read and not written yet, as far as is known */
    uint64_t unread_bytes, unwritten_bytes;
    bool has_new; /* it has content that was not on the share */
};

static int on_part_begin(void *context, unsigned slot, struct err *e)
{
    const struct tree_packing *p = context;

    return p->to->queue == NULL ? 0 : send_queue_part_begin(p->to->queue, slot, e);
}

/* In pieces, so that it shows how far a large file is. */
static int on_part_write(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    struct tree_packing *p = context;

    while (p->to->queue != NULL && bytes.n > 0) {
        size_t n = bytes.n < WRITE_BYTES ? bytes.n : WRITE_BYTES;
        uint64_t counted = n < p->unwritten_bytes ? n : p->unwritten_bytes;

        if (send_queue_part_write(p->to->queue, slot, (struct bytes){ bytes.data, n }, e) < 0 ||
            send_queue_progress(p->to->queue, 0, counted, e) < 0)
            return -1;
        p->unwritten_bytes -= counted;
        bytes = (struct bytes){ bytes.data + n, bytes.n - n };
    }
    return 0;
}

static int on_part_end(void *context, unsigned slot, const struct pack_part *part,
                       struct bytes list, struct err *e)
{
    const struct tree_packing *p = context;

    if (p->to->queue != NULL && send_queue_part_end(p->to->queue, slot, part, list, e) < 0)
        return -1;
    return pack_inventory_learn(p->to->inventory, part, list, e);
}

static int touch(void *context, const char *path, struct err *e)
{
    return send_queue_touch(context, path, e);
}

/* What is there need not be sent; all that the manifest relies on is touched before that is there. */
static int on_object(void *context, enum pack_object kind, const struct digest *name,
                     struct bytes bytes, struct err *e)
{
    const struct tree_packing *p = context;
    struct pack_inventory *inventory = p->to->inventory;
    struct send_queue *queue = p->to->queue;

    if (queue == NULL)
        return 0;
    if (pack_inventory_has(inventory, kind, name)) {
        if (kind == PACK_MANIFEST)
            return pack_inventory_hold_manifest(inventory, name, touch, queue, e);
        pack_inventory_rely(inventory, kind, name);
        return 0;
    }
    if (kind == PACK_MANIFEST && pack_inventory_hold(inventory, touch, queue, e) < 0)
        return -1;
    if (send_queue_object(queue, kind, name, bytes, e) < 0)
        return -1;
    pack_inventory_add(inventory, kind, name);
    return 0;
}

/* Called once for each piece of a file that is read. */
static bool is_piece_known(void *context, const struct digest *piece, struct pack_place *where)
{
    struct tree_packing *p = context;
    uint64_t n = p->unread_bytes < PACK_PIECE_BYTES ? p->unread_bytes : PACK_PIECE_BYTES;

    p->unread_bytes -= n;
    p->unwritten_bytes += n;
    if (!pack_inventory_find(p->to->inventory, piece, p->tree->is_unchanged, where)) {
        p->has_new = true;
        return false;
    }
    if (p->to->queue != NULL)
        (void)send_queue_progress(p->to->queue, 0, p->unwritten_bytes, NULL);
    p->unwritten_bytes = 0;
    return true;
}

/* ---- entries ---- */

static int say_changed(const char *path, struct err *e)
{
    return err_set(e, ERR_FAILED, "%s was changed while it was read; submit again", path);
}

static const struct timespec *changed_at(const struct stat *st)
{
#ifdef __APPLE__
    return &st->st_ctimespec;
#else
    return &st->st_ctim;
#endif
}

/* Another file in its place counts, too. */
static bool is_same(const struct stat *x, const struct stat *y)
{
    const struct timespec *a = changed_at(x), *b = changed_at(y);

    return x->st_dev == y->st_dev && x->st_ino == y->st_ino && x->st_size == y->st_size &&
           x->st_mode == y->st_mode && a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int check_same(const struct walk_entry *entry, int fd, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "%s", entry->from);
    return is_same(&st, &entry->stat) ? 0 : say_changed(entry->from, e);
}

static int add_content(const struct tree_packing *p, const struct walk_entry *entry, int fd,
                       struct pack_added *added, struct err *e)
{
    bool is_program = entry->kind == PACK_PROGRAM;

    if (stays_in_place(p->tree, entry))
        return pack_add_in_place(p->writer, entry->path, is_program, fd, p->tree->on_share, added,
                                 e);
    return pack_add_file(p->writer, entry->path, is_program, fd, added, e);
}

/* 1; 0: it must be read. */
static int add_unread(const struct tree_packing *p, const struct walk_entry *entry,
                      const struct pack_added *file, struct err *e)
{
    bool is_program = entry->kind == PACK_PROGRAM;

    if (stays_in_place(p->tree, entry))
        return pack_add_in_place_unread(p->writer, entry->path, is_program, p->tree->on_share, file,
                                        e);
    return pack_add_unread(p->writer, entry->path, is_program, file, e);
}

static int read_file(struct tree_packing *p, const struct walk_entry *entry, int fd, struct err *e)
{
    struct pack_added added;
    struct timespec began_at;

    (void)clock_gettime(CLOCK_REALTIME, &began_at);
    if (check_same(entry, fd, e) < 0 || add_content(p, entry, fd, &added, e) < 0 ||
        check_same(entry, fd, e) < 0)
        return -1;
    if (added.size != (uint64_t)entry->stat.st_size)
        return say_changed(entry->from, e);
    if (p->after != NULL)
        file_index_add(p->after, entry->path, &entry->stat, &added, &began_at);
    return 0;
}

static int open_and_read(struct tree_packing *p, const struct walk_entry *entry, struct err *e)
{
    int fd = open(entry->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), result;

    if (fd < 0)
        return err_sys(e, "open %s", entry->from);
    p->has_new = false;
    p->unread_bytes = (uint64_t)entry->stat.st_size;
    p->unwritten_bytes = 0;
    result = read_file(p, entry, fd, e);
    close(fd);
    p->tree->new_files += p->has_new;
    if (result == 0 && p->to->queue != NULL)
        result = send_queue_progress(p->to->queue, 1, p->unread_bytes + p->unwritten_bytes, e);
    return result;
}

static int add_file(struct tree_packing *p, const struct walk_entry *entry, struct err *e)
{
    struct pack_added file;
    int rc = 0;

    if (p->before != NULL && file_index_find(p->before, entry->path, &entry->stat, &file))
        rc = add_unread(p, entry, &file, e);
    if (rc == 0)
        return open_and_read(p, entry, e);
    if (rc > 0 && p->after != NULL)
        file_index_add(p->after, entry->path, &entry->stat, &file, NULL);
    return rc < 0 ? -1 : 0;
}

/* The path under which a file with several names came before; NULL: this one is remembered, as long as
 * there is room, and else the file is one of its own under each name. */
static const char *find_other_name(struct tree_packing *p, const struct walk_entry *entry)
{
    const uint64_t identity[] = { (uint64_t)entry->stat.st_dev, (uint64_t)entry->stat.st_ino };
    struct digest key;
    uint32_t number;

    digest_of(identity, sizeof identity, &key);
    if (hash_table_find(p->links, &key, &number))
        return p->paths[number];
    p->paths_bytes += LINK_BYTES + strlen(entry->path);
    if (p->paths_bytes > LINKS_BYTES_MAX)
        return NULL;
    mem_grow((void **)&p->paths, &p->paths_capacity, p->n_paths, sizeof *p->paths);
    (void)hash_table_add(p->links, &key, (uint32_t)p->n_paths);
    p->paths[p->n_paths++] = arena_strdup(p->paths_arena, entry->path);
    return NULL;
}

static int add_file_or_link(struct tree_packing *p, const struct walk_entry *entry, struct err *e)
{
    const char *before = entry->stat.st_nlink > 1 ? find_other_name(p, entry) : NULL;

    if (before == NULL)
        return add_file(p, entry, e);
    return pack_add_hard_link(p->writer, entry->path, before, e);
}

static int add_entry(struct tree_packing *p, const struct walk_entry *entry, struct err *e)
{
    switch (entry->kind) {
    case PACK_FOLDER: return pack_add_folder(p->writer, entry->path, e);
    case PACK_SYMLINK: return pack_add_symlink(p->writer, entry->path, entry->target, e);
    default: return add_file_or_link(p, entry, e);
    }
}

/* ---- all of it ---- */

static int pack_entries(struct tree_packing *p, struct err *e)
{
    struct walk *w = walk_begin(&p->tree->plan, e);
    struct walk_entry entry;
    int rc = -1;

    while (w != NULL && (rc = walk_next(w, &entry, e)) == 1)
        if (add_entry(p, &entry, e) < 0) {
            rc = -1;
            break;
        }
    walk_end(w);
    return rc;
}

int tree_pack(struct tree *t, const struct tree_target *to, struct err *e)
{
    struct tree_packing p = {
        .to = to, .tree = t, .links = hash_table_create(SIZE_MAX), .paths_arena = arena_create()
    };
    const struct pack_sink sink = { .context = &p,
                                    .part_begin = on_part_begin,
                                    .part_write = on_part_write,
                                    .part_end = on_part_end,
                                    .object = on_object,
                                    .known = is_piece_known,
                                    .part_bytes = to->part_bytes };
    char *path = index_path(&t->plan);
    struct pack_summary summary;
    int result;

    t->new_files = 0;
    p.before = file_index_open(path);
    if (!t->is_unchanged)
        p.after = file_index_create(path);
    free(path);
    p.writer = pack_writer_create(&sink);
    result = pack_entries(&p, e);
    if (result == 0)
        result = pack_end(p.writer, &summary, e);
    if (result == 0) {
        t->set = (struct dataset){ .tree = summary.tree,
                                   .id = summary.id,
                                   .files = summary.totals.files + summary.totals.links,
                                   .bytes = summary.totals.bytes };
        t->new_bytes = summary.new_bytes;
    }
    file_index_commit(p.after, result < 0 ? p.before : NULL);
    file_index_close(p.before);
    pack_writer_destroy(p.writer);
    hash_table_destroy(p.links);
    arena_destroy(p.paths_arena);
    free(p.paths);
    return result;
}

int tree_blame(const struct tree *t, struct err *e)
{
    (void)safe_text_make_harmless(e);
    return err_wrap(e, "%s", t->what);
}
