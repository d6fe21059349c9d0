/* SPDX-License-Identifier: MIT */
/* cache_fill.c - reads a tree's entries, and brings its files from packs by a thread per core */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/crash_point.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/pack/pack_part.h"
#include "common/pack/pack.h"
#include "worker/stager/cache_stage.h"

enum {
    SFTP_THREADS_MAX = 4, /* each has a connection */
    PATIENT_NICE = 10,    /* gets a tenth of a processor that a job keeps busy */
    NUMBER_BYTES = 24
};

enum { BLOCK_BYTES = 4096, ENTRIES_MAX = 64 * 1024 * 1024 };

/* A wanted piece, and where it belongs. */
struct want {
    uint32_t part, piece;
    uint32_t entry;
    uint64_t offset; /* in the file */
};

/* State that the threads share. */
struct filling {
    struct stage *stage;
    struct want *wants;
    size_t n;
    pthread_mutex_t lock; /* for what follows */
    size_t next;
    bool has_failed;
    struct err why; /* the first failure */
};

/* State of one thread. */
struct filler {
    struct filling *all;
    struct packs packs;
    struct part_reader *reader;
    struct share_input *in;
    bool share_failed; /* reading from the share failed: the part need not be damaged */
    struct dir_walk walk;
};

/* ---- the entries ---- */

const char *plan_path(const struct plan *p, size_t i)
{
    return (const char *)p->names.bytes + p->rows[i].path_at;
}

const char *plan_target(const struct plan *p, size_t i)
{
    return (const char *)p->targets.bytes + p->entries[i].target_at;
}

bool plan_is_file(const struct plan *p, size_t i)
{
    return p->rows[i].kind == PACK_FILE || p->rows[i].kind == PACK_PROGRAM;
}

static void content_of_runs(struct plan *p, const struct pack_entry *entry, struct digest *content)
{
    struct hasher *h;

    *content = (struct digest){ { 0 } };
    if (entry->n_runs == 0)
        return;
    if (entry->n_runs == 1 && entry->runs->n == 1 && entry->runs->part != PACK_HOLE) {
        *content = pack_list_read(p->reader, entry->runs->part)->pieces[entry->runs->first].digest;
        return;
    }
    h = hasher_create();
    for (size_t i = 0; i < entry->n_runs; i++) {
        const struct pack_run *run = &entry->runs[i];
        const struct pack_list *l;

        if (run->part == PACK_HOLE) {
            record_add_hole(h, run->bytes / PACK_PIECE_BYTES);
            continue;
        }
        l = pack_list_read(p->reader, run->part);
        for (uint32_t k = 0; k < run->n; k++)
            hasher_add(h, &l->pieces[run->first + k].digest, DIGEST_BYTES);
    }
    hasher_end(h, content);
    hasher_destroy(h);
}

int plan_open(struct plan *p, const struct pack_source *source, const struct dataset *set,
              struct err *e)
{
    struct pack_entry entry;
    int got = 0;

    *p = (struct plan){ .set = *set };
    p->reader = pack_open(source, &set->id, e);
    if (p->reader == NULL)
        return -1;
    if (!digest_equal(pack_tree(p->reader), &set->tree))
        got = err_set(e, ERR_PROTOCOL, "dataset: its manifest is that of another tree");
    while (got >= 0 && (got = pack_next(p->reader, &entry, e)) == 1) {
        struct plan_entry *to;
        struct cache_row *row;

        if (p->n == ENTRIES_MAX) {
            got = err_set(e, ERR_PROTOCOL, "dataset: more than %d files and folders", ENTRIES_MAX);
            break;
        }
        mem_grow((void **)&p->rows, &p->rows_capacity, p->n, sizeof *p->rows);
        mem_grow((void **)&p->entries, &p->entries_capacity, p->n, sizeof *p->entries);
        to = &p->entries[p->n];
        row = &p->rows[p->n++];
        *to = (struct plan_entry){ .is_wanted = true };
        *row = (struct cache_row){ .size = entry.size,
                                   .path_at = p->names.n,
                                   .kind = (uint32_t)entry.kind };
        buf_add(&p->names, entry.path, strlen(entry.path) + 1);
        if (entry.target != NULL) {
            to->target_at = p->targets.n;
            buf_add(&p->targets, entry.target, strlen(entry.target) + 1);
        }
        if (!plan_is_file(p, p->n - 1))
            continue;
        to->first_run = p->n_runs;
        to->n_runs = (uint32_t)entry.n_runs;
        for (size_t i = 0; i < entry.n_runs; i++) {
            mem_grow((void **)&p->runs, &p->runs_capacity, p->n_runs, sizeof *p->runs);
            p->runs[p->n_runs++] = entry.runs[i];
        }
        content_of_runs(p, &entry, &row->content);
    }
    if (got < 0)
        plan_close(p);
    return got < 0 ? -1 : 0;
}

void plan_close(struct plan *p)
{
    pack_close(p->reader);
    free(p->rows);
    free(p->entries);
    free(p->runs);
    buf_free(&p->names);
    buf_free(&p->targets);
    *p = (struct plan){ .reader = NULL };
}

size_t plan_find(const struct plan *p, const char *path)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = pack_path_compare(plan_path(p, middle), path);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

/* In whole blocks, as files take them. */
uint64_t plan_wanted_bytes(const struct plan *p, uint64_t *n_files)
{
    uint64_t bytes = 0;

    *n_files = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_entry *entry = &p->entries[i];
        uint64_t stored = p->rows[i].kind == PACK_FOLDER ? BLOCK_BYTES : 0;

        if (!entry->is_wanted)
            continue;
        for (uint32_t k = 0; k < entry->n_runs; k++)
            if (p->runs[entry->first_run + k].part != PACK_HOLE)
                stored += p->runs[entry->first_run + k].bytes;
        bytes += (stored + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        *n_files += p->rows[i].kind != PACK_HARD_LINK;
    }
    return bytes;
}

mode_t stage_mode_of(const struct stage *s, size_t i)
{
    return s->plan.rows[i].kind == PACK_PROGRAM ? CACHE_PROGRAM : CACHE_FILE;
}

int stage_was_disturbed(struct err *e)
{
    if (e->kind == ERR_NOT_FOUND)
        e->kind = ERR_BUSY;
    return -1;
}

/* ---- one file ---- */

/* The folder in which a file is made, and its name there: among a live tree's replacements, or in
 * the tree itself. */
static int place_of(const struct stage *s, struct dir_walk *d, size_t i, char number[NUMBER_BYTES],
                    const char **name, struct err *e)
{
    if (!s->is_live)
        return dir_walk_to(d, plan_path(&s->plan, i), name, e);
    snprintf(number, NUMBER_BYTES, "%zu", i);
    *name = number;
    return s->fix_fd;
}

/* Creates the file of entry i; what has its name already is not the file, and is removed. */
static int create_file(const struct stage *s, struct dir_walk *d, size_t i, mode_t mode,
                       struct err *e)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    char number[NUMBER_BYTES];
    const char *name;
    int dir_fd = place_of(s, d, i, number, &name, e);
    int fd;

    if (dir_fd < 0)
        return -1;
    fd = openat(dir_fd, name, flags, mode);
    if (fd < 0 && errno == EEXIST) {
        if (io_remove_tree_at(dir_fd, name, e) < 0)
            return -1;
        fd = openat(dir_fd, name, flags, mode);
    }
    return fd < 0 ? err_sys(e, "create %s", plan_path(&s->plan, i)) : fd;
}

int stage_replace(const struct stage *s, struct dir_walk *d, size_t i, struct err *e)
{
    char number[NUMBER_BYTES];
    const char *name;
    int dir_fd = dir_walk_to(d, plan_path(&s->plan, i), &name, e);

    if (dir_fd < 0)
        return -1;
    snprintf(number, sizeof number, "%zu", i);
    if (renameat(s->fix_fd, number, dir_fd, name) == 0)
        return 0;
    if (errno == EISDIR && io_remove_tree_at(dir_fd, name, e) < 0)
        return -1;
    if (renameat(s->fix_fd, number, dir_fd, name) < 0)
        return err_sys(e, "replace %s", plan_path(&s->plan, i));
    return 0;
}

/* Closes a file that was written whole.  mode: the one that says so; 0: the file has it already. */
static int close_whole(struct stage *s, struct dir_walk *d, size_t i, int fd, mode_t mode,
                       struct err *e)
{
    struct plan_entry *entry = &s->plan.entries[i];
    struct stat st;
    bool is_known;

    if (mode != 0 && fchmod(fd, mode) < 0) {
        err_sys(e, "protect %s", plan_path(&s->plan, i));
        close(fd);
        return -1;
    }
    is_known = fstat(fd, &st) == 0;
    if (is_known)
        row_take(&s->plan.rows[i], &st);
    entry->has_stat = is_known && !s->is_live;
    if (close(fd) < 0 && errno != EINTR)
        return err_sys(e, "write %s", plan_path(&s->plan, i));
    if (s->is_live && stage_replace(s, d, i, e) < 0)
        return -1;
    entry->is_wanted = false;
    return 0;
}

static bool is_of_one_piece(const struct plan *p, size_t i)
{
    const struct plan_entry *entry = &p->entries[i];

    return entry->n_runs == 1 && p->runs[entry->first_run].part != PACK_HOLE &&
           p->runs[entry->first_run].n == 1;
}

static int write_whole(struct filler *w, size_t i, struct bytes content, struct err *e)
{
    struct stage *s = w->all->stage;
    int fd = create_file(s, &w->walk, i, stage_mode_of(s, i), e);

    if (fd < 0)
        return -1;
    CRASH_POINT(stage_created);
    if (io_write_all(fd, content.data, content.n) < 0) {
        err_sys(e, "write %s", plan_path(&s->plan, i));
        close(fd);
        return -1;
    }
    return close_whole(s, &w->walk, i, fd, 0, e);
}

/* Writes into a file of many pieces, which is there already; the last piece makes it whole. */
static int write_piece(struct filler *w, const struct want *x, struct bytes content, struct err *e)
{
    struct stage *s = w->all->stage;
    const char *path = plan_path(&s->plan, x->entry), *name;
    char number[NUMBER_BYTES];
    int dir_fd = place_of(s, &w->walk, x->entry, number, &name, e);
    int fd;

    if (dir_fd < 0)
        return -1;
    fd = openat(dir_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (io_write_all_at(fd, content.data, content.n, x->offset) < 0) {
        err_sys(e, "write %s", path);
        close(fd);
        return -1;
    }
    CRASH_POINT(stage_piece);
    if (atomic_fetch_sub(&s->plan.entries[x->entry].left, 1) == 1)
        return close_whole(s, &w->walk, x->entry, fd, stage_mode_of(s, x->entry), e);
    if (close(fd) < 0 && errno != EINTR)
        return err_sys(e, "write %s", path);
    return 0;
}

/* ---- one part ---- */

static ssize_t read_stored(void *context, void *bytes, size_t n, struct err *e)
{
    struct filler *w = context;
    ssize_t got = share_read_input(w->in, bytes, n, e);

    w->share_failed |= got < 0;
    if (got < 0 && e->kind == ERR_PROTOCOL) /* the server's error, not the part's */
        e->kind = ERR_UNREACHABLE;
    return got;
}

/* Writes wanted pieces, from *begin on, which moves on; *is_damaged: -1 as the part is damaged. */
static int read_part(struct filler *w, const struct pack_list *l, size_t *begin, size_t end,
                     bool *is_damaged, struct err *e)
{
    const struct want *wants = w->all->wants;
    struct bytes content;

    part_begin(w->reader, l, read_stored, w);
    for (uint32_t piece = 0; *begin < end; piece++) {
        bool is_wanted = wants[*begin].piece == piece;

        if (part_next(w->reader, is_wanted ? &content : NULL, e) <= 0) {
            *is_damaged = e->kind == ERR_PROTOCOL && !w->share_failed;
            return -1;
        }
        for (; *begin < end && wants[*begin].piece == piece; ++*begin)
            if ((is_of_one_piece(&w->all->stage->plan, wants[*begin].entry)
                     ? write_whole(w, wants[*begin].entry, content, e)
                     : write_piece(w, &wants[*begin], content, e)) < 0)
                return stage_was_disturbed(e);
    }
    return 0;
}

/* A part that was damaged on its way may come well the second time. */
static int fill_from_part(struct filler *w, const struct pack_list *l, size_t begin, size_t end,
                          struct err *e)
{
    bool is_damaged = true;
    int result = -1;

    for (int i = 0; i < 2 && result < 0 && is_damaged; i++) {
        is_damaged = w->share_failed = false;
        err_clear(e);
        w->in = pack_source_open_part(&w->packs, l, e);
        if (w->in == NULL)
            return -1;
        result = read_part(w, l, &begin, end, &is_damaged, e);
        share_close_input(w->in);
    }
    return result < 0 && is_damaged ? pack_source_set_part_aside(&w->packs, &l->part, e) : result;
}

/* Fills a file from one that stays where its owner has it on the shared drive. */
static int fill_from_file(struct filler *w, const struct pack_list *l, const struct want *x,
                          struct buf *content, struct err *e)
{
    const char *path = plan_path(&w->all->stage->plan, x->entry);
    const struct pack_piece *piece = &l->pieces[x->piece];
    struct digest d;
    ssize_t got = 1;

    w->in = pack_source_open_file(&w->packs, l, path, e);
    if (w->in == NULL)
        return -1;
    buf_clear(content);
    while (got > 0 && content->n <= piece->size) { /* one more byte would say that it has grown */
        size_t n = piece->size + 1 - content->n;

        got = read_stored(w, buf_reserve(content, n), n, e);
        if (got > 0)
            buf_added(content, (size_t)got);
    }
    share_close_input(w->in);
    if (got < 0)
        return -1;
    digest_of(content->bytes, content->n, &d);
    if (content->n != piece->size || !digest_equal(&d, &piece->digest))
        return err_set(e, ERR_PROTOCOL,
                       "%s/%s is not what it was when the sweep was submitted; submit again",
                       l->path, path);
    return write_whole(w, x->entry, buf_bytes(content), e) < 0 ? stage_was_disturbed(e) : 0;
}

/* ---- the threads ---- */

static void note_failure(struct filling *a, const struct err *why)
{
    pthread_mutex_lock(&a->lock);
    if (!a->has_failed)
        a->why = *why;
    a->has_failed = true;
    pthread_mutex_unlock(&a->lock);
}

/* Brings parts until none is left; -1: it got no connection. */
static int fill_some(struct filling *a, struct err *e)
{
    struct pack_reader *reader = a->stage->plan.reader;
    struct filler w = { .all = a };
    struct buf content = { 0 };
    size_t begin, end;
    int rc = pack_source_open(&w.packs, &a->stage->packs, e);

    if (rc < 0)
        return -1;
    dir_walk_begin(&w.walk, a->stage->cache->fd, a->stage->name);
    w.reader = part_reader_create();
    while (rc == 0) {
        const struct cache *c = a->stage->cache;
        bool is_over = c->is_over != NULL && c->is_over(c->context);
        const struct pack_list *l;

        /* Takes the next part. */
        pthread_mutex_lock(&a->lock);
        if (is_over && !a->has_failed && a->next < a->n) {
            err_set(&a->why, ERR_FAILED, "given up: nobody waits for it");
            a->has_failed = true;
        }
        begin = end = a->has_failed ? a->n : a->next;
        while (end < a->n && a->wants[end].part == a->wants[begin].part)
            end++;
        a->next = end;
        pthread_mutex_unlock(&a->lock);
        if (begin == end)
            break;
        l = pack_list_read(reader, a->wants[begin].part);
        if (l->part.form != PACK_FILES)
            rc = fill_from_part(&w, l, begin, end, e);
        for (size_t i = begin; l->part.form == PACK_FILES && i < end && rc == 0; i++)
            rc = fill_from_file(&w, l, &a->wants[i], &content, e);
    }
    if (rc < 0)
        note_failure(a, e);
    buf_free(&content);
    part_reader_destroy(w.reader);
    dir_walk_end(&w.walk);
    pack_source_close(&w.packs);
    return 0;
}

/* If a helper gets no connection, the others do its work. */
static void *help_filling(void *context)
{
    struct err why = { 0 };

    (void)fill_some(context, &why);
    return NULL;
}

static void run_fillers(struct filling *a)
{
    pthread_t threads[CACHE_THREADS_MAX];
    size_t parts = 0, most = cache_threads(), n = 0;
    struct err why = { 0 };

    for (size_t i = 0; i < a->n; i++)
        parts += i == 0 || a->wants[i].part != a->wants[i - 1].part;
    if (!share_is_mounted(a->stage->packs.share) && most > SFTP_THREADS_MAX)
        most = SFTP_THREADS_MAX;
    while (n + 1 < most && n + 1 < parts && pthread_create(&threads[n], NULL, help_filling, a) == 0)
        n++;
    if (parts > 0 && fill_some(a, &why) < 0)
        note_failure(a, &why);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

/* Does all of the work in threads other than the caller's, as threads inherit the nice value and
 * may not lower it again. */
static void *run_patiently(void *context)
{
    (void)setpriority(PRIO_PROCESS, 0, PATIENT_NICE); /* on Linux of the thread alone */
    run_fillers(context);
    return NULL;
}

/* ---- files of no or of many pieces ---- */

struct unfinished {
    struct stage *stage;
    struct dir_walk walk;
    size_t entry; /* the entry whose file fd is */
    int fd;       /* -1: that entry has no file that may have pieces already */
    uint8_t *piece;
};

/* Opens an unfinished file that an earlier stager left, of the right size; -1: there is none. */
static int open_earlier(struct unfinished *u, size_t i)
{
    const struct plan *p = &u->stage->plan;
    const char *name;
    struct stat st;
    int dir_fd = u->stage->is_live ? -1 : dir_walk_to(&u->walk, plan_path(p, i), &name, NULL);
    int fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
        (uint64_t)st.st_size == p->rows[i].size && (st.st_mode & 07777) == CACHE_UNFINISHED)
        return fd;
    close(fd);
    return -1;
}

static bool has_piece(struct unfinished *u, const struct want *w)
{
    const struct pack_piece *piece;
    struct digest d;

    if (is_of_one_piece(&u->stage->plan, w->entry))
        return false;
    if (u->entry != w->entry) {
        if (u->fd >= 0)
            close(u->fd);
        u->fd = open_earlier(u, w->entry);
        u->entry = w->entry;
    }
    if (u->fd < 0)
        return false;
    if (u->piece == NULL)
        u->piece = mem_resize(NULL, PACK_PIECE_BYTES, 1);
    piece = &pack_list_read(u->stage->plan.reader, w->part)->pieces[w->piece];
    if (pread(u->fd, u->piece, piece->size, (off_t)w->offset) != (ssize_t)piece->size)
        return false;
    digest_of(u->piece, piece->size, &d);
    return digest_equal(&d, &piece->digest);
}

static int compare_wants(const void *x, const void *y)
{
    const struct want *a = x, *b = y;

    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return a->piece == b->piece ? 0 : a->piece < b->piece ? -1 : 1;
}

/* Lists the wanted pieces, by part and piece, but for those that lie in their files already. */
static struct want *list_wants(struct unfinished *u, size_t *n)
{
    struct plan *p = &u->stage->plan;
    struct want *wants = NULL;
    size_t capacity = 0;

    *n = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct plan_entry *entry = &p->entries[i];
        uint64_t offset = 0;

        if (!entry->is_wanted || !plan_is_file(p, i))
            continue;
        atomic_store(&entry->left, 0);
        for (uint32_t k = 0; k < entry->n_runs; k++) {
            const struct pack_run *run = &p->runs[entry->first_run + k];

            for (uint32_t m = 0; run->part != PACK_HOLE && m < run->n; m++) {
                const struct want w = { run->part, run->first + m, (uint32_t)i,
                                        offset + (uint64_t)m * PACK_PIECE_BYTES };

                if (has_piece(u, &w))
                    continue;
                mem_grow((void **)&wants, &capacity, *n, sizeof *wants);
                wants[(*n)++] = w;
                atomic_fetch_add(&entry->left, 1);
            }
            offset += run->bytes;
        }
    }
    if (*n > 0)
        qsort(wants, *n, sizeof *wants, compare_wants);
    return wants;
}

int stage_fill(struct stage *s, struct err *e)
{
    struct filling a = { .stage = s };
    struct unfinished u = { .stage = s, .entry = SIZE_MAX, .fd = -1 };
    const struct plan *p = &s->plan;
    pthread_t thread;
    int result = 0;

    dir_walk_begin(&u.walk, s->cache->fd, s->name);
    a.wants = list_wants(&u, &a.n);
    if (u.fd >= 0)
        close(u.fd);
    free(u.piece);
    for (size_t i = 0; i < p->n && result == 0; i++) {
        int fd;

        if (!p->entries[i].is_wanted || !plan_is_file(p, i) || is_of_one_piece(p, i))
            continue;
        fd = open_earlier(&u, i);
        if (fd < 0) { /* made with its final size, so that what is not written is a hole */
            fd = create_file(s, &u.walk, i, CACHE_UNFINISHED, e);
            if (fd >= 0 && ftruncate(fd, (off_t)p->rows[i].size) < 0)
                result = err_sys(e, "make %s", plan_path(p, i));
        }
        if (fd < 0)
            result = -1;
        else if (result == 0 && atomic_load(&p->entries[i].left) == 0)
            result = close_whole(s, &u.walk, i, fd, stage_mode_of(s, i), e);
        else
            close(fd);
    }
    dir_walk_end(&u.walk);
    if (result == 0) {
        pthread_mutex_init(&a.lock, NULL);
        if (s->cache->is_patient && pthread_create(&thread, NULL, run_patiently, &a) == 0)
            pthread_join(thread, NULL);
        else
            run_fillers(&a);
        pthread_mutex_destroy(&a.lock);
        if (a.has_failed)
            result = err_set(e, a.why.kind, "%s", a.why.text);
    }
    free(a.wants);
    return result;
}
