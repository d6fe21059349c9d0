/* SPDX-License-Identifier: MIT */
/* tree.c - source or data as they lie here, on their way into packs */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "client/links.h"
#include "client/tree.h"

/* ---- counting ---- */

static void count(struct pack_totals *t, const struct walk_entry *entry)
{
    switch (entry->kind) {
    case PACK_FOLDER: t->folders++; break;
    case PACK_SYMLINK: t->links++; break;
    default:
        t->files++;
        t->bytes += entry->stat.st_size;
        break;
    }
}

int tree_count(struct tree *t, struct err *e)
{
    struct walk *w = walk_begin(&t->plan, e);
    struct walk_entry entry;
    int rc = -1;

    t->totals = (struct pack_totals){ 0 };
    while (w != NULL && (rc = walk_next(w, &entry, e)) == 1)
        count(&t->totals, &entry);
    walk_end(w);
    return rc;
}

/* ---- where the bytes go ---- */

struct packing {
    const struct tree_target *to;
    struct tree *tree;
    struct pack_writer *writer;
    struct links *links;
    bool has_new; /* the file at hand has content that was not on the share */
};

static int part_begin(void *context, unsigned slot, struct err *e)
{
    const struct packing *p = context;

    return p->to->store == NULL ? 0 : store_part_begin(p->to->store, slot, e);
}

static int part_write(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    const struct packing *p = context;

    return p->to->store == NULL ? 0 : store_part_write(p->to->store, slot, bytes, e);
}

static int part_end(void *context, unsigned slot, const struct pack_part *part, struct bytes list,
                    struct err *e)
{
    const struct packing *p = context;

    if (p->to->store != NULL && store_part_end(p->to->store, slot, part, list, e) < 0)
        return -1;
    return stock_learn(p->to->stock, part, list, e);
}

static int object(void *context, enum pack_object kind, const struct digest *name,
                  struct bytes bytes, struct err *e)
{
    const struct packing *p = context;

    if (p->to->store == NULL || stock_has(p->to->stock, kind, name))
        return 0;
    if (store_object(p->to->store, kind, name, bytes, e) < 0)
        return -1;
    stock_add(p->to->stock, kind, name);
    return 0;
}

static bool known(void *context, const struct digest *piece, struct pack_place *where)
{
    struct packing *p = context;

    if (stock_find(p->to->stock, piece, where))
        return true;
    p->has_new = true;
    return false;
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

static int read_file(struct packing *p, const struct walk_entry *entry, int fd, struct err *e)
{
    struct pack_added added;

    if (check_same(entry, fd, e) < 0 ||
        pack_add_file(p->writer, entry->path, entry->kind == PACK_PROGRAM, fd, &added, e) < 0 ||
        check_same(entry, fd, e) < 0)
        return -1;
    return added.size == (uint64_t)entry->stat.st_size ? 0 : say_changed(entry->from, e);
}

static int add_file(struct packing *p, const struct walk_entry *entry, struct err *e)
{
    int fd = open(entry->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), result;

    if (fd < 0)
        return err_sys(e, "open %s", entry->from);
    p->has_new = false;
    result = read_file(p, entry, fd, e);
    close(fd);
    p->tree->new_files += p->has_new;
    uploadbar_add(p->to->bar, 1, (uint64_t)entry->stat.st_size);
    return result;
}

static int add_file_or_link(struct packing *p, const struct walk_entry *entry, struct err *e)
{
    const char *before = NULL;

    if (entry->stat.st_nlink > 1)
        before = links_find_or_add(p->links, &entry->stat, entry->path);
    if (before == NULL)
        return add_file(p, entry, e);
    uploadbar_add(p->to->bar, 1, (uint64_t)entry->stat.st_size);
    return pack_add_hard_link(p->writer, entry->path, before, e);
}

static int add_entry(struct packing *p, const struct walk_entry *entry, struct err *e)
{
    switch (entry->kind) {
    case PACK_FOLDER: return pack_add_folder(p->writer, entry->path, e);
    case PACK_SYMLINK:
        uploadbar_add(p->to->bar, 1, 0);
        return pack_add_symlink(p->writer, entry->path, entry->target, e);
    default: return add_file_or_link(p, entry, e);
    }
}

/* ---- all of it ---- */

static int add_all(struct packing *p, struct err *e)
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

static void note_set(struct tree *t, const struct pack_summary *s)
{
    t->set = (struct dataset){ .tree = s->tree,
                               .id = s->id,
                               .files = s->totals.files + s->totals.links,
                               .bytes = s->totals.bytes };
    t->new_bytes = s->new_bytes;
}

int tree_pack(struct tree *t, const struct tree_target *to, struct err *e)
{
    struct packing p = { .to = to, .tree = t, .links = links_create() };
    struct pack_sink sink = { &p, part_begin, part_write, part_end, object, known };
    struct pack_summary summary;
    int result;

    t->new_files = 0;
    p.writer = pack_writer_create(&sink);
    result = add_all(&p, e);
    if (result == 0)
        result = pack_end(p.writer, &summary, e);
    if (result == 0 && to->store != NULL)
        result = store_settle(to->store, e);
    if (result == 0)
        note_set(t, &summary);
    pack_writer_destroy(p.writer);
    links_destroy(p.links);
    return result;
}
