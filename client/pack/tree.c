/* SPDX-License-Identifier: MIT */
/* tree.c - counts, packs and sends a source or data tree */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/pack/file_index.h"
#include "client/pack/secret_files.h"
#include "client/pack/tree.h"
#include "client/term/safe_text.h"
#include "client/util/cache_dir.h"
#include "common/base/hash_table.h"
#include "common/base/path.h"

/* ---- counting ---- */

/* How many secret files a warning names. */
enum { SHOWN_SECRETS = 4 };

/* How many entries tree_glance looks at. */
enum { GLANCE_ENTRIES = 10000 };

/* Memory for the paths of files with hard links, and how much a path takes beside its text. */
enum { LINKS_BYTES_MAX = 8 * 1024 * 1024, LINK_BYTES = 56 };

static char *index_path(const struct walk_plan *plan)
{
    const char *kind = plan->rules != NULL ? "source" : plan->everything ? "data" : "files";
    char *key = mem_printf("%s %s", kind, plan->top);
    char *path = cache_dir_path("index", key);

    free(key);
    return path;
}

static bool stays_in_place(const struct tree *t, const struct walk_entry *entry)
{
    return t->on_share != NULL && (t->stays || entry->stat.st_size >= PACK_PART_BYTES);
}

/* Notes a secret file or folder.  *folder: the secret folder that the walk is in, below which
 * nothing more is noted; "" outside. */
static void look_for_secret(struct tree *t, const struct walk_entry *entry, struct buf *folder)
{
    const char *kind;

    if (folder->n > 0 && strncmp(entry->path, buf_text(folder), folder->n) == 0)
        return;
    kind = secret_files_kind(entry);
    if (kind == NULL)
        return;
    buf_clear(folder);
    if (entry->kind == PACK_FOLDER)
        buf_printf(folder, "%s/", entry->path);
    if (walk_leads_to_named(&t->plan, entry->path))
        return;
    if (t->n_secrets++ < SHOWN_SECRETS) {
        buf_add_str(&t->secrets, t->n_secrets > 1 ? ", " : "");
        safe_text_add_harmless(&t->secrets, entry->path, strlen(entry->path), "");
        buf_printf(&t->secrets, " (%s)", kind);
    }
}

int tree_seek_secrets(struct tree *t, struct err *e)
{
    struct walk *w = walk_begin(&t->plan, e);
    struct walk_entry entry;
    struct buf folder = { 0 };
    int rc = w == NULL ? -1 : 0;

    t->n_secrets = 0;
    buf_clear(&t->secrets);
    while (rc == 0 && t->seeks_secrets && (rc = walk_next(w, &entry, e)) == 1) {
        look_for_secret(t, &entry, &folder);
        rc = 0;
    }
    if (w != NULL)
        walk_end(w);
    buf_free(&folder);
    return rc;
}

int tree_count(struct tree *t, struct pack_inventory *inventory, struct err *e)
{
    struct walk *w = walk_begin(&t->plan, e);
    struct file_index_reader *index; /* NULL: none */
    struct walk_entry entry;
    struct pack_added file;
    struct buf folder = { 0 };
    int64_t n_found = 0;
    struct stat top;
    char *path;
    int rc;

    if (w == NULL)
        return -1;
    t->readers = t->files = (struct readers){ 0 };
    t->n_secrets = 0;
    buf_clear(&t->secrets);
    if (stat(t->plan.top, &top) == 0)
        readers_add(&t->readers, &top);
    path = index_path(&t->plan);
    index = file_index_open(path);
    free(path);
    t->totals = (struct pack_totals){ 0 };
    t->unknown_files = t->unknown_bytes = 0;
    t->is_unchanged = true;
    while ((rc = walk_next(w, &entry, e)) == 1) {
        bool is_found, is_there;

        t->totals.folders += entry.kind == PACK_FOLDER;
        t->totals.links += entry.kind == PACK_SYMLINK;
        if (t->seeks_secrets)
            look_for_secret(t, &entry, &folder);
        if (entry.kind != PACK_SYMLINK)
            readers_add(entry.kind == PACK_FOLDER ? &t->readers : &t->files, &entry.stat);
        if (entry.kind == PACK_FOLDER || entry.kind == PACK_SYMLINK)
            continue;
        is_found = index != NULL && file_index_find(index, entry.path, &entry.stat, &file);
        t->totals.files++;
        t->totals.bytes += entry.stat.st_size;
        n_found += is_found;
        is_there = is_found;
        for (size_t i = 0; is_found && !stays_in_place(t, &entry) && i < file.n_pieces; i++)
            if (!digest_is_zero(&file.pieces[i]) &&
                !pack_inventory_want(inventory, &file.pieces[i]))
                is_there = false;
        if (is_there)
            continue;
        t->is_unchanged = false;
        t->unknown_files++;
        t->unknown_bytes += entry.stat.st_size;
    }
    if (index == NULL || file_index_count(index) != n_found)
        t->is_unchanged = false;
    readers_join(&t->readers, &t->files);
    file_index_close(index);
    walk_end(w);
    buf_free(&folder);
    return rc;
}

int64_t tree_count_files(const struct tree *t)
{
    return t->totals.files + t->totals.links;
}

uint64_t tree_glance(const char *path, uint64_t enough_bytes)
{
    struct walk_plan plan = { .top = path, .everything = true };
    struct walk *w = walk_begin(&plan, NULL);
    char *name = index_path(&plan);
    struct file_index_reader *index = file_index_open(name);
    struct walk_entry entry;
    struct pack_added file;
    uint64_t bytes = 0;

    for (int i = 0; w != NULL && i < GLANCE_ENTRIES && bytes <= enough_bytes; i++) {
        if (walk_next(w, &entry, NULL) != 1)
            break;
        if (S_ISREG(entry.stat.st_mode) &&
            (index == NULL || !file_index_find(index, entry.path, &entry.stat, &file)))
            bytes += (uint64_t)entry.stat.st_size;
    }
    file_index_close(index);
    walk_end(w);
    free(name);
    return bytes;
}

/* ---- output of packing ---- */

enum { WRITE_BYTES = 512 * 1024 };

struct packing {
    const struct tree_target *to;
    struct send_queue *queue; /* NULL: only the figures are wanted */
    struct tree *tree;
    struct pack_writer *writer;
    struct hash_table *links; /* from a file with hard links to its first name's place in paths */
    struct arena *paths_arena;
    const char **paths;
    size_t n_paths, paths_capacity, paths_bytes;
    struct file_index_reader *before; /* NULL: none */
    struct file_index_writer *after;  /* NULL: none */
    /* The current file's bytes that are not read yet, and those that are read but not written. */
    uint64_t unread_bytes, unwritten_bytes;
    bool has_new; /* the current file has content that was not on the share */
};

static int on_part_begin(void *context, unsigned slot, struct err *e)
{
    const struct packing *p = context;
    const struct send_record r = { .kind = SEND_PART_BEGIN, .slot = slot };

    return p->queue == NULL ? 0 : send_queue_add(p->queue, &r, e);
}

/* Writes in pieces, so that the progress of a large file shows. */
static int on_part_write(void *context, unsigned slot, struct bytes bytes, struct err *e)
{
    struct packing *p = context;

    while (p->queue != NULL && bytes.n > 0) {
        size_t n = bytes.n < WRITE_BYTES ? bytes.n : WRITE_BYTES;
        uint64_t counted = n < p->unwritten_bytes ? n : p->unwritten_bytes;
        const struct send_record r = { .kind = SEND_PART_WRITE,
                                       .slot = slot,
                                       .bytes = { bytes.data, n } };

        if (send_queue_add(p->queue, &r, e) < 0 || send_queue_progress(p->queue, 0, counted, e) < 0)
            return -1;
        p->unwritten_bytes -= counted;
        bytes = (struct bytes){ bytes.data + n, bytes.n - n };
    }
    return 0;
}

static int on_part_end(void *context, unsigned slot, const struct pack_part *part,
                       struct bytes list, struct err *e)
{
    const struct packing *p = context;
    const struct send_record r = {
        .kind = SEND_PART_END, .slot = slot, .part = *part, .bytes = list
    };

    if (p->queue != NULL && send_queue_add(p->queue, &r, e) < 0)
        return -1;
    return pack_inventory_learn(p->to->inventory, part, list, e);
}

static int on_object(void *context, enum pack_object kind, const struct digest *name,
                     struct bytes bytes, struct err *e)
{
    const struct packing *p = context;

    if (p->queue == NULL)
        return 0;
    return pack_inventory_send(p->to->inventory, kind, name, bytes, p->queue, e);
}

/* Called once for each piece of a file that is read: whether a part on the share has it. */
static bool is_piece_known(void *context, const struct digest *piece, struct pack_place *where)
{
    struct packing *p = context;
    uint64_t n = p->unread_bytes < PACK_PIECE_BYTES ? p->unread_bytes : PACK_PIECE_BYTES;

    p->unread_bytes -= n;
    p->unwritten_bytes += n;
    if (!pack_inventory_find(p->to->inventory, piece, p->tree->is_unchanged, where)) {
        p->has_new = true;
        return false;
    }
    if (p->queue != NULL)
        (void)send_queue_progress(p->queue, 0, p->unwritten_bytes, NULL);
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

/* Refuses a file that has changed, or was replaced by another one, since the walk saw it. */
static int check_same(const struct walk_entry *entry, int fd, struct err *e)
{
    const struct stat *x = &entry->stat;
    const struct timespec *seen_at = changed_at(x), *now_at;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "%s", entry->from);
    now_at = changed_at(&st);
    return x->st_dev == st.st_dev && x->st_ino == st.st_ino && x->st_size == st.st_size &&
                   x->st_mode == st.st_mode && seen_at->tv_sec == now_at->tv_sec &&
                   seen_at->tv_nsec == now_at->tv_nsec
               ? 0
               : say_changed(entry->from, e);
}

static int read_file(struct packing *p, const struct walk_entry *entry, int fd, struct err *e)
{
    bool is_program = entry->kind == PACK_PROGRAM;
    struct pack_added added;
    struct timespec began_at;
    int result;

    (void)clock_gettime(CLOCK_REALTIME, &began_at);
    if (check_same(entry, fd, e) < 0)
        return -1;
    if (stays_in_place(p->tree, entry))
        result =
            pack_add_in_place(p->writer, entry->path, is_program, fd, p->tree->on_share, &added, e);
    else
        result = pack_add_file(p->writer, entry->path, is_program, fd, &added, e);
    if (result < 0 || check_same(entry, fd, e) < 0)
        return -1;
    if (added.size != (uint64_t)entry->stat.st_size)
        return say_changed(entry->from, e);
    if (p->after != NULL)
        file_index_add(p->after, entry->path, &entry->stat, &added, &began_at);
    return 0;
}

static int open_and_read(struct packing *p, const struct walk_entry *entry, struct err *e)
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
    if (result == 0 && p->queue != NULL)
        result = send_queue_progress(p->queue, 1, p->unread_bytes + p->unwritten_bytes, e);
    return result;
}

static int add_file(struct packing *p, const struct walk_entry *entry, struct err *e)
{
    bool is_program = entry->kind == PACK_PROGRAM;
    struct pack_added file;
    int rc = 0; /* 0: the file must be read */

    if (p->before != NULL && file_index_find(p->before, entry->path, &entry->stat, &file))
        rc = stays_in_place(p->tree, entry)
                 ? pack_add_in_place_unread(p->writer, entry->path, is_program, p->tree->on_share,
                                            &file, e)
                 : pack_add_unread(p->writer, entry->path, is_program, &file, e);
    if (rc == 0)
        return open_and_read(p, entry, e);
    if (rc > 0 && p->after != NULL)
        file_index_add(p->after, entry->path, &entry->stat, &file, NULL);
    return rc < 0 ? -1 : 0;
}

/* Returns the earlier path of a file with hard links; NULL: this path is the first one.  When there
 * is no room to remember more paths, each name counts as a file of its own. */
static const char *find_other_name(struct packing *p, const struct walk_entry *entry)
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

static int add_entry(struct packing *p, const struct walk_entry *entry, struct err *e)
{
    const char *before;

    if (entry->kind == PACK_FOLDER)
        return pack_add_folder(p->writer, entry->path, e);
    if (entry->kind == PACK_SYMLINK)
        return pack_add_symlink(p->writer, entry->path, entry->target, e);
    before = entry->stat.st_nlink > 1 ? find_other_name(p, entry) : NULL;
    return before != NULL ? pack_add_hard_link(p->writer, entry->path, before, e)
                          : add_file(p, entry, e);
}

/* ---- a tree ---- */

static int pack_entries(struct tree *t, const struct tree_target *to, struct send_queue *queue,
                        struct err *e)
{
    struct packing p = { .to = to,
                         .queue = queue,
                         .tree = t,
                         .links = hash_table_create(SIZE_MAX),
                         .paths_arena = arena_create() };
    const struct pack_sink sink = { .context = &p,
                                    .part_begin = on_part_begin,
                                    .part_write = on_part_write,
                                    .part_end = on_part_end,
                                    .object = on_object,
                                    .known = is_piece_known,
                                    .part_bytes = to->part_bytes };
    struct walk *w = walk_begin(&t->plan, e);
    char *path = index_path(&t->plan);
    struct pack_summary summary;
    struct walk_entry entry;
    int result = -1;

    t->new_files = 0;
    p.before = file_index_open(path);
    if (!t->is_unchanged)
        p.after = file_index_create(path);
    free(path);
    p.writer = pack_writer_create(&sink);
    while (w != NULL && (result = walk_next(w, &entry, e)) == 1)
        if ((t->skips == NULL || !t->skips(t->context, &entry)) && add_entry(&p, &entry, e) < 0) {
            result = -1;
            break;
        }
    walk_end(w);
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

static bool is_none(const struct tree *t)
{
    return t->is_none_if_empty && t->totals.folders + t->totals.files + t->totals.links == 0;
}

int tree_look(struct tree *t, struct pack_inventory *inventory, struct err *e)
{
    return is_none(t) ? 0
                      : pack_entries(t, &(struct tree_target){ .inventory = inventory }, NULL, e);
}

int tree_blame(const struct tree *t, struct err *e)
{
    (void)safe_text_make_harmless(e);
    return err_wrap(e, "%s", t->what);
}

/* ---- sending ---- */

/* The packing thread's work. */
struct work {
    struct tree *const *trees;
    size_t n;
    const struct tree_target *to;
    struct send_queue *queue;
};

static void *pack_trees(void *context)
{
    const struct work *w = context;
    struct err e = { 0 };
    int result = 0;

    for (size_t i = 0; i < w->n && result == 0; i++)
        if (!is_none(w->trees[i]) && pack_entries(w->trees[i], w->to, w->queue, &e) < 0)
            result = tree_blame(w->trees[i], &e);
    send_queue_end(w->queue, result < 0 ? &e : NULL);
    return NULL;
}

static int send_record(const struct send_record *r, const struct tree_target *to, struct err *e)
{
    switch (r->kind) {
    case SEND_PART_BEGIN: return store_part_begin(to->store, r->slot, e);
    case SEND_PART_WRITE: return store_part_write(to->store, r->slot, r->bytes, e);
    case SEND_PART_END:
        if (store_part_end(to->store, r->slot, &r->part, r->bytes, e) < 0)
            return -1;
        pack_inventory_keep_list(to->inventory, &r->part.list, r->bytes);
        break;
    case SEND_OBJECT: return store_object(to->store, r->object, &r->name, r->bytes, e);
    case SEND_TOUCH: return store_touch(to->store, (const char *)r->bytes.data, e);
    case SEND_PROGRESS: break;
    }
    return 0;
}

int tree_send(struct tree *const *trees, size_t n, const struct tree_target *to, struct err *e)
{
    struct work w = { trees, n, to, send_queue_create() };
    sigset_t all, before;
    pthread_t thread;
    int result = 0, number;

    /* Signals are for the caller's thread. */
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    number = pthread_create(&thread, NULL, pack_trees, &w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number != 0) {
        send_queue_destroy(w.queue);
        errno = number;
        return err_sys(e, "start a thread");
    }
    while (result == 0) {
        struct send_record *r = send_queue_take(w.queue, false);

        if (r == NULL) {
            store_push(to->store); /* sends what was written while the thread goes on packing */
            r = send_queue_take(w.queue, true);
        }
        if (r == NULL)
            break;
        result = send_record(r, to, e);
        if (result == 0 && (r->files > 0 || r->file_bytes > 0))
            uploadbar_add(to->bar, r->files, r->file_bytes);
        free(r);
    }
    if (result == 0)
        result = send_queue_check(w.queue, e);
    send_queue_stop(w.queue);
    (void)pthread_join(thread, NULL);
    send_queue_destroy(w.queue);
    return result;
}
