/* SPDX-License-Identifier: MIT */
/* tree.c - source or data as they lie here, on their way into packs */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "client/pack/file_index.h"
#include "client/pack/hardlinks.h"
#include "client/pack/tree.h"
#include "client/term/safe_text.h"
#include "client/util/cache_dir.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* ---- counting ---- */

/* A short look. */
enum { GLANCE_ENTRIES = 10000 };

static char *index_path(const struct walk_plan *plan)
{
    char *key = mem_printf("%s %s", plan->rules != NULL ? "source" : "data", plan->top);
    char *path = cache_dir_path("index", key);

    free(key);
    return path;
}

struct tree_counting {
    struct tree *tree;
    struct pack_inventory *stock;
    struct file_index_reader *index; /* NULL: none */
    struct walk *walk;
    int64_t n_found;
};

/* Whether all of it is on the share. */
static bool want(struct pack_inventory *stock, const struct pack_added *file)
{
    bool all = true;

    for (size_t i = 0; i < file->n_pieces; i++)
        if (!digest_is_zero(&file->pieces[i]) && !pack_inventory_want(stock, &file->pieces[i]))
            all = false;
    return all;
}

static bool stays_in_place(const struct tree *t, const struct walk_entry *entry)
{
    return t->on_share != NULL && (t->stays || entry->stat.st_size >= PACK_PART_BYTES);
}

static void count_file(struct tree_counting *c, const struct walk_entry *entry)
{
    struct pack_added file;
    bool found = c->index != NULL && file_index_find(c->index, entry->path, &entry->stat, &file);

    c->tree->totals.files++;
    c->tree->totals.bytes += entry->stat.st_size;
    c->n_found += found;
    if (found && (stays_in_place(c->tree, entry) || want(c->stock, &file)))
        return;
    c->tree->is_unchanged = false;
    c->tree->unknown_files++;
    c->tree->unknown_bytes += entry->stat.st_size;
}

static void count(struct tree_counting *c, const struct walk_entry *entry)
{
    switch (entry->kind) {
    case PACK_FOLDER: c->tree->totals.folders++; break;
    case PACK_SYMLINK: c->tree->totals.links++; break;
    default: count_file(c, entry); break;
    }
}

struct tree_counting *tree_count_begin(struct tree *t, struct pack_inventory *stock, struct err *e)
{
    struct walk *w = walk_begin(&t->plan, e);
    struct tree_counting *c;
    char *path;

    if (w == NULL)
        return NULL;
    t->totals = (struct pack_totals){ 0 };
    t->unknown_files = t->unknown_bytes = 0;
    t->is_unchanged = true;
    path = index_path(&t->plan);
    c = mem_alloc(sizeof *c);
    *c = (struct tree_counting){ t, stock, file_index_open(path), w, 0 };
    free(path);
    return c;
}

/* All were counted. */
static void judge(const struct tree_counting *c)
{
    if (c->index == NULL || file_index_count(c->index) != c->n_found)
        c->tree->is_unchanged = false;
    c->tree->is_new = c->n_found == 0;
}

int tree_count_next(struct tree_counting *c, struct err *e)
{
    struct walk_entry entry;
    int rc = walk_next(c->walk, &entry, e);

    if (rc == 1)
        count(c, &entry);
    if (rc == 0)
        judge(c);
    return rc;
}

void tree_count_end(struct tree_counting *c)
{
    if (c == NULL)
        return;
    file_index_close(c->index);
    walk_end(c->walk);
    free(c);
}

int tree_count(struct tree *t, struct pack_inventory *stock, struct err *e)
{
    struct tree_counting *c = tree_count_begin(t, stock, e);
    int rc = -1;

    while (c != NULL && (rc = tree_count_next(c, e)) == 1)
        ;
    tree_count_end(c);
    return rc;
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

/* ---- where the bytes go ---- */

/* So often at the least it is shown how far it is. */
enum { SHOWN_BYTES = 512 * 1024 };

static int part_begin(void *context, unsigned slot, struct err *e)
{
    const struct tree_target *to = context;

    return to->store == NULL ? 0 : store_part_begin(to->store, slot, e);
}

static int part_write(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    const struct tree_target *to = context;

    if (to->store == NULL)
        return 0;
    while (bytes.n > 0) {
        struct bytes some = { bytes.data, bytes.n < SHOWN_BYTES ? bytes.n : SHOWN_BYTES };

        if (store_part_write(to->store, slot, some, e) < 0)
            return -1;
        uploadbar_write(to->bar, some.n);
        bytes = (struct bytes){ bytes.data + some.n, bytes.n - some.n };
    }
    return 0;
}

static int part_end(void *context, unsigned slot, const struct pack_part *part, struct bytes list,
                    struct err *e)
{
    const struct tree_target *to = context;

    if (to->store == NULL)
        return 0;
    if (store_part_end(to->store, slot, part, list, e) < 0)
        return -1;
    pack_inventory_keep_list(to->stock, &part->list, list);
    return 0;
}

/* It need not be sent. */
static int rely(const struct tree_target *to, enum pack_object kind, const struct digest *name,
                struct err *e)
{
    if (kind == PACK_MANIFEST)
        return pack_inventory_hold_manifest(to->stock, name, e);
    pack_inventory_rely(to->stock, kind, name);
    return 0;
}

static int object(void *context, enum pack_object kind, const struct digest *name,
                  struct bytes bytes, struct err *e)
{
    const struct tree_target *to = context;

    if (to->store == NULL)
        return 0;
    if (pack_inventory_has(to->stock, kind, name))
        return rely(to, kind, name, e);
    if (kind == PACK_MANIFEST && pack_inventory_hold(to->stock, e) < 0)
        return -1;
    if (store_object(to->store, kind, name, bytes, e) < 0)
        return -1;
    pack_inventory_add(to->stock, kind, name);
    return 0;
}

static void files(void *context, uint64_t n, uint64_t bytes)
{
    const struct tree_target *to = context;

    uploadbar_add_files(to->bar, n, bytes);
}

int tree_deliver(const struct tree_target *to, struct err *e)
{
    struct send_queue_sink sink = { .to = { .context = (void *)(uintptr_t)to,
                                            .part_begin = part_begin,
                                            .part_write = part_write,
                                            .part_end = part_end,
                                            .object = object },
                                    .files = files };

    return send_queue_deliver(to->backlog, &sink, e);
}

/* ---- what arises ---- */

struct tree_packing {
    const struct tree_target *to;
    struct tree *tree;
    struct walk *walk;
    struct walk_entry entry;
    bool has_entry; /* which was not added */
    struct pack_writer *writer;
    struct hardlinks *links;
    struct file_index_reader *before; /* NULL: none */
    struct file_index_writer *after;  /* NULL: none */
    bool has_new;                     /* the file at hand has content that was not on the share */
};

static int on_part_begin(void *context, unsigned slot, struct err *e)
{
    const struct tree_packing *p = context;

    if (p->to->backlog == NULL)
        return part_begin((void *)(uintptr_t)p->to, slot, e);
    send_queue_part_begin(p->to->backlog, slot);
    return 0;
}

static int on_part_write(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    const struct tree_packing *p = context;

    if (p->to->backlog == NULL)
        return part_write((void *)(uintptr_t)p->to, slot, bytes, e);
    send_queue_part_write(p->to->backlog, slot, bytes);
    return 0;
}

static int on_part_end(void *context, unsigned slot, const struct pack_part *part,
                       struct bytes list, struct err *e)
{
    const struct tree_packing *p = context;

    if (p->to->backlog != NULL)
        send_queue_part_end(p->to->backlog, slot, part, list);
    else if (part_end((void *)(uintptr_t)p->to, slot, part, list, e) < 0)
        return -1;
    return pack_inventory_learn(p->to->stock, part, list, e);
}

static int on_object(void *context, enum pack_object kind, const struct digest *name,
                     struct bytes bytes, struct err *e)
{
    const struct tree_packing *p = context;

    if (p->to->backlog == NULL)
        return object((void *)(uintptr_t)p->to, kind, name, bytes, e);
    send_queue_object(p->to->backlog, kind, name, bytes);
    return 0;
}

static bool known(void *context, const struct digest *piece, struct pack_place *where)
{
    struct tree_packing *p = context;

    if (p->to->backlog == NULL)
        uploadbar_read(p->to->bar, PACK_PIECE_BYTES);
    if (pack_inventory_find(p->to->stock, piece, p->tree->is_unchanged, where))
        return true;
    if (p->to->backlog != NULL && p->to->store == NULL)
        send_queue_note_piece(p->to->backlog, piece);
    p->has_new = true;
    return false;
}

/* ---- what arose before the stock was known ---- */

bool tree_is_there(const struct tree_target *to)
{
    struct pack_place where;
    size_t n;
    const struct digest *pieces = send_queue_pieces(to->backlog, &n);

    for (size_t i = 0; i < n; i++)
        if (pack_inventory_find(to->stock, &pieces[i], false, &where))
            return true;
    return false;
}

static int learn(void *context, const struct pack_part *part, struct bytes list, struct err *e)
{
    return pack_inventory_learn(context, part, list, e);
}

int tree_learn(const struct tree_target *to, struct err *e)
{
    send_queue_forget_pieces(to->backlog);
    return send_queue_each_list(to->backlog, learn, to->stock, e);
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

static void begin_file(const struct tree_packing *p, const struct walk_entry *entry)
{
    if (p->to->backlog == NULL)
        uploadbar_begin_file(p->to->bar, (uint64_t)entry->stat.st_size);
}

static void end_file(const struct tree_packing *p, const struct walk_entry *entry)
{
    if (p->to->backlog == NULL)
        uploadbar_end_file(p->to->bar);
    else
        send_queue_file(p->to->backlog, (uint64_t)entry->stat.st_size);
}

static int open_and_read(struct tree_packing *p, const struct walk_entry *entry, struct err *e)
{
    int fd = open(entry->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), result;

    if (fd < 0)
        return err_sys(e, "open %s", entry->from);
    p->has_new = false;
    begin_file(p, entry);
    result = read_file(p, entry, fd, e);
    end_file(p, entry);
    close(fd);
    p->tree->new_files += p->has_new;
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

static int add_file_or_link(struct tree_packing *p, const struct walk_entry *entry, struct err *e)
{
    const char *before = NULL;

    if (entry->stat.st_nlink > 1)
        before = hardlinks_find_or_add(p->links, &entry->stat, entry->path);
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

static void note_set(struct tree *t, const struct pack_summary *s)
{
    t->set = (struct dataset){ .tree = s->tree,
                               .id = s->id,
                               .files = s->totals.files + s->totals.links,
                               .bytes = s->totals.bytes };
    t->new_bytes = s->new_bytes;
}

struct tree_packing *tree_pack_begin(struct tree *t, const struct tree_target *to, struct err *e)
{
    struct walk *w = walk_begin(&t->plan, e);
    struct tree_packing *p;
    struct pack_sink sink = { .part_begin = on_part_begin,
                              .part_write = on_part_write,
                              .part_end = on_part_end,
                              .object = on_object,
                              .known = known,
                              .part_bytes = to->part_bytes };
    char *path;

    if (w == NULL)
        return NULL;
    p = sink.context = mem_alloc(sizeof *p);
    path = index_path(&t->plan);
    *p = (struct tree_packing){ .to = to, .tree = t, .walk = w, .links = hardlinks_create() };
    t->new_files = 0;
    p->before = file_index_open(path);
    if (!t->is_unchanged)
        p->after = file_index_create(path);
    p->writer = pack_writer_create(&sink);
    free(path);
    return p;
}

static int next_entry(struct tree_packing *p, struct err *e)
{
    int rc = p->has_entry ? 1 : walk_next(p->walk, &p->entry, e);

    p->has_entry = rc == 1;
    return rc;
}

int tree_pack_next(struct tree_packing *p, uint64_t room_bytes, struct err *e)
{
    int rc = next_entry(p, e);

    if (rc <= 0)
        return rc == 0 ? TREE_ALL : -1;
    if (S_ISREG(p->entry.stat.st_mode) && (uint64_t)p->entry.stat.st_size > room_bytes)
        return TREE_LATER;
    p->has_entry = false;
    return add_entry(p, &p->entry, e) < 0 ? -1 : TREE_MORE;
}

int tree_pack_end(struct tree_packing *p, int result, struct err *e)
{
    struct pack_summary summary;

    if (result == 0)
        result = pack_end(p->writer, &summary, e);
    if (result == 0)
        note_set(p->tree, &summary);
    file_index_commit(p->after, result < 0 ? p->before : NULL);
    file_index_close(p->before);
    pack_writer_destroy(p->writer);
    hardlinks_destroy(p->links);
    walk_end(p->walk);
    free(p);
    return result;
}

int tree_pack(struct tree *t, const struct tree_target *to, struct err *e)
{
    struct tree_packing *p = tree_pack_begin(t, to, e);
    int rc;

    if (p == NULL)
        return -1;
    while ((rc = tree_pack_next(p, UINT64_MAX, e)) == TREE_MORE)
        ;
    return tree_pack_end(p, rc, e);
}

int tree_blame(const struct tree *t, struct err *e)
{
    (void)safe_text_make_harmless(e);
    return err_wrap(e, "%s", t->what);
}
