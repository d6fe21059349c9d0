/* SPDX-License-Identifier: MIT */
/* cache_fill.c - the files of a tree, straight from its packs, by a thread per core */

#include "worker/stager/cache_fill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/pack/pack_part.h"
#include "common/base/crash_point.h"
#include "worker/base/dir_walk.h"

enum {
    THREADS_MAX = 16,
    SFTP_THREADS_MAX = 4, /* each has a connection */
    PATIENT_NICE = 10,    /* a tenth of a processor that a job keeps busy */
    NUMBER_BYTES = 24
};

/* What the threads share. */
struct filling {
    const struct fill *fill;
    struct want *wants;
    size_t n;
    pthread_mutex_t lock; /* for what follows */
    size_t next;
    bool has_failed;
    struct err why; /* the first time */
};

struct filler {
    struct filling *all;
    struct packs packs;
    struct part_reader *reader;
    struct share_input *in;
    bool share_failed; /* as against: what it holds is wrong */
    struct dir_walk descent;
};

mode_t fill_mode_of(const struct plan *p, size_t i)
{
    return p->rows[i].kind == PACK_PROGRAM ? CACHE_PROGRAM : CACHE_FILE;
}

int fill_was_disturbed(struct err *e)
{
    if (e->kind == ERR_NOT_FOUND)
        e->kind = ERR_BUSY;
    return -1;
}

unsigned fill_threads(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

/* ---- where a file is made ---- */

static int place_of(const struct fill *f, struct dir_walk *d, size_t i, char number[NUMBER_BYTES],
                    const char **name, struct err *e)
{
    if (f->fix_fd < 0)
        return dir_walk_to(d, plan_path(f->plan, i), name, e);
    snprintf(number, NUMBER_BYTES, "%zu", i);
    *name = number;
    return f->fix_fd;
}

/* Whatever is there already is not what it should be. */
static int create(const struct fill *f, struct dir_walk *d, size_t i, mode_t mode, struct err *e)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    char number[NUMBER_BYTES];
    const char *name;
    int dir_fd = place_of(f, d, i, number, &name, e);
    int fd;

    if (dir_fd < 0)
        return -1;
    fd = openat(dir_fd, name, flags, mode);
    if (fd < 0 && errno == EEXIST) {
        if (io_remove_tree_at(dir_fd, name, e) < 0)
            return -1;
        fd = openat(dir_fd, name, flags, mode);
    }
    return fd < 0 ? err_sys(e, "create %s", plan_path(f->plan, i)) : fd;
}

static int move_into_tree(const struct fill *f, struct dir_walk *d, size_t i, struct err *e)
{
    char number[NUMBER_BYTES];
    const char *name;
    int dir_fd = dir_walk_to(d, plan_path(f->plan, i), &name, e);

    if (dir_fd < 0)
        return -1;
    snprintf(number, sizeof number, "%zu", i);
    if (renameat(f->fix_fd, number, dir_fd, name) == 0)
        return 0;
    if (errno == EISDIR && io_remove_tree_at(dir_fd, name, e) < 0)
        return -1;
    if (renameat(f->fix_fd, number, dir_fd, name) < 0)
        return err_sys(e, "replace %s", plan_path(f->plan, i));
    return 0;
}

/* All of it was written. */
static int close_whole(const struct fill *f, struct dir_walk *d, size_t i, int fd, struct err *e)
{
    struct plan_entry *entry = &f->plan->entries[i];
    struct stat st;
    bool is_known = fstat(fd, &st) == 0;

    if (is_known)
        row_take(&f->plan->rows[i], &st);
    entry->has_stat = is_known && f->fix_fd < 0;
    if (close(fd) < 0 && errno != EINTR)
        return err_sys(e, "write %s", plan_path(f->plan, i));
    if (f->fix_fd >= 0 && move_into_tree(f, d, i, e) < 0)
        return -1;
    entry->is_wanted = false;
    return 0;
}

/* ---- pieces ---- */

static bool is_of_one_piece(const struct plan *p, size_t i)
{
    const struct plan_entry *entry = &p->entries[i];

    return entry->n_runs == 1 && p->runs[entry->first_run].part != PACK_HOLE &&
           p->runs[entry->first_run].n == 1;
}

static int write_whole(struct filler *w, size_t i, struct bytes content, struct err *e)
{
    const struct fill *f = w->all->fill;
    int fd = create(f, &w->descent, i, fill_mode_of(f->plan, i), e);

    if (fd < 0)
        return -1;
    CRASH_POINT_POINT(stage_created);
    if (io_write_all(fd, content.data, content.n) < 0) {
        err_sys(e, "write %s", plan_path(f->plan, i));
        close(fd);
        return -1;
    }
    return close_whole(f, &w->descent, i, fd, e);
}

static int open_unfinished(struct filler *w, size_t i, struct err *e)
{
    const struct fill *f = w->all->fill;
    char number[NUMBER_BYTES];
    const char *name;
    int dir_fd = place_of(f, &w->descent, i, number, &name, e);
    int fd;

    if (dir_fd < 0)
        return -1;
    fd = openat(dir_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? err_sys(e, "open %s", plan_path(f->plan, i)) : fd;
}

static int finish_unfinished(const struct fill *f, struct dir_walk *d, size_t i, int fd,
                             struct err *e)
{
    if (fchmod(fd, fill_mode_of(f->plan, i)) == 0)
        return close_whole(f, d, i, fd, e);
    err_sys(e, "protect %s", plan_path(f->plan, i));
    close(fd);
    return -1;
}

static int write_piece(struct filler *w, const struct want *x, struct bytes content, struct err *e)
{
    const struct fill *f = w->all->fill;
    int fd = open_unfinished(w, x->entry, e);

    if (fd < 0)
        return -1;
    if (io_write_all_at(fd, content.data, content.n, x->offset) < 0) {
        err_sys(e, "write %s", plan_path(f->plan, x->entry));
        close(fd);
        return -1;
    }
    CRASH_POINT_POINT(stage_piece);
    if (atomic_fetch_sub(&f->plan->entries[x->entry].left, 1) == 1)
        return finish_unfinished(f, &w->descent, x->entry, fd, e);
    if (close(fd) < 0 && errno != EINTR)
        return err_sys(e, "write %s", plan_path(f->plan, x->entry));
    return 0;
}

/* ---- parts ---- */

static ssize_t read_stored(void *context, void *bytes, size_t n, struct err *e)
{
    struct filler *w = context;
    ssize_t got = share_read_input(w->in, bytes, n, e);

    w->share_failed |= got < 0;
    if (got < 0 && e->kind == ERR_PROTOCOL) /* the server's, not the part's */
        e->kind = ERR_UNREACHABLE;
    return got;
}

/* *begin: what is not written yet.  *is_damaged: -1 because it is not what it should be. */
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
            if ((is_of_one_piece(w->all->fill->plan, wants[*begin].entry)
                     ? write_whole(w, wants[*begin].entry, content, e)
                     : write_piece(w, &wants[*begin], content, e)) < 0)
                return fill_was_disturbed(e);
    }
    return 0;
}

/* ---- files that stay where they are ---- */

/* One more byte, if there is one, tells that the file has grown. */
static int read_file(struct filler *w, struct buf *content, size_t size, struct err *e)
{
    ssize_t got = 1;

    buf_clear(content);
    while (got > 0 && content->n <= size) {
        size_t n = size + 1 - content->n;

        got = read_stored(w, buf_reserve(content, n), n, e);
        if (got > 0)
            buf_added(content, (size_t)got);
    }
    return got < 0 ? -1 : 0;
}

static bool is_piece(const struct buf *content, const struct pack_piece *piece)
{
    struct digest d;

    if (content->n != piece->size)
        return false;
    digest_of(content->bytes, content->n, &d);
    return digest_equal(&d, &piece->digest);
}

static int fill_file(struct filler *w, const struct pack_list *l, const struct want *x,
                     struct buf *content, struct err *e)
{
    const char *path = plan_path(w->all->fill->plan, x->entry);
    const struct pack_piece *piece = &l->pieces[x->piece];
    int result;

    w->in = pack_source_open_file(&w->packs, l, path, e);
    if (w->in == NULL)
        return -1;
    result = read_file(w, content, piece->size, e);
    share_close_input(w->in);
    if (result < 0)
        return -1;
    if (!is_piece(content, piece))
        return err_set(e, ERR_PROTOCOL,
                       "%s/%s is not what it was when the sweep was submitted; submit again",
                       l->path, path);
    if (write_whole(w, x->entry, buf_bytes(content), e) < 0)
        return fill_was_disturbed(e);
    return 0;
}

static int fill_from_files(struct filler *w, const struct pack_list *l, size_t begin, size_t end,
                           struct err *e)
{
    struct buf content = { 0 };
    int result = 0;

    for (size_t i = begin; i < end && result == 0; i++)
        result = fill_file(w, l, &w->all->wants[i], &content, e);
    buf_free(&content);
    return result;
}

/* ---- all forms ---- */

/* What was damaged on its way may come well the second time. */
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

static int fill_from(struct filler *w, size_t begin, size_t end, struct err *e)
{
    const struct pack_list *l =
        pack_list_read(w->all->fill->plan->reader, w->all->wants[begin].part);

    return l->part.form == PACK_FILES ? fill_from_files(w, l, begin, end, e)
                                      : fill_from_part(w, l, begin, end, e);
}

/* ---- the threads ---- */

static bool take_part(struct filling *a, size_t *begin, size_t *end)
{
    bool is_over = a->fill->is_over != NULL && a->fill->is_over(a->fill->context);

    pthread_mutex_lock(&a->lock);
    if (is_over && !a->has_failed && a->next < a->n) {
        err_set(&a->why, ERR_FAILED, "given up: nobody waits for it");
        a->has_failed = true;
    }
    *begin = *end = a->has_failed ? a->n : a->next;
    while (*end < a->n && a->wants[*end].part == a->wants[*begin].part)
        ++*end;
    a->next = *end;
    pthread_mutex_unlock(&a->lock);
    return *begin < *end;
}

static void fail(struct filling *a, const struct err *why)
{
    pthread_mutex_lock(&a->lock);
    if (!a->has_failed)
        a->why = *why;
    a->has_failed = true;
    pthread_mutex_unlock(&a->lock);
}

static int fill_some(struct filling *a, struct err *e)
{
    struct filler w = { .all = a };
    size_t begin, end;
    int rc = pack_source_open(&w.packs, &a->fill->packs, e);

    if (rc < 0)
        return -1;
    dir_walk_begin(&w.descent, a->fill->cache_fd, a->fill->tree);
    w.reader = part_reader_create();
    while (rc == 0 && take_part(a, &begin, &end))
        rc = fill_from(&w, begin, end, e);
    if (rc < 0)
        fail(a, e);
    part_reader_destroy(w.reader);
    dir_walk_end(&w.descent);
    pack_source_close(&w.packs);
    return 0;
}

/* Where it gets no connection the others do without it. */
static void *help(void *context)
{
    struct err why = { 0 };

    (void)fill_some(context, &why);
    return NULL;
}

static size_t count_parts(const struct filling *a)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++)
        n += i == 0 || a->wants[i].part != a->wants[i - 1].part;
    return n;
}

static void run_threads(struct filling *a)
{
    pthread_t threads[THREADS_MAX];
    size_t parts = count_parts(a), most = fill_threads(), n = 0;
    struct err why = { 0 };

    if (!share_is_mounted(a->fill->packs.share) && most > SFTP_THREADS_MAX)
        most = SFTP_THREADS_MAX;
    while (n + 1 < most && n + 1 < parts && pthread_create(&threads[n], NULL, help, a) == 0)
        n++;
    if (parts > 0 && fill_some(a, &why) < 0)
        fail(a, &why);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

/* Threads inherit how urgent they are, and may not become more urgent again: so all of it is done by
 * others than ours. */
static void *run_patiently(void *context)
{
    (void)setpriority(PRIO_PROCESS, 0, PATIENT_NICE); /* on Linux of the thread alone */
    run_threads(context);
    return NULL;
}

static void run(struct filling *a)
{
    pthread_t thread;

    if (!a->fill->is_patient || pthread_create(&thread, NULL, run_patiently, a) != 0)
        run_threads(a);
    else
        pthread_join(thread, NULL);
}

/* ---- files of no or of many pieces ---- */

struct unfinished {
    const struct fill *fill;
    struct dir_walk descent;
    size_t entry; /* which of them fd is */
    int fd;       /* -1: none that may have pieces already */
    uint8_t *piece;
};

/* An unfinished file of an earlier time, of the right size. */
static int open_earlier(struct unfinished *u, size_t i)
{
    const struct plan *p = u->fill->plan;
    const char *name;
    struct stat st;
    int dir_fd = dir_walk_to(&u->descent, plan_path(p, i), &name, NULL);
    int fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
        (uint64_t)st.st_size == p->rows[i].size && (st.st_mode & 07777) == CACHE_UNFINISHED)
        return fd;
    close(fd);
    return -1;
}

static bool has_piece(void *context, const struct want *w)
{
    struct unfinished *u = context;
    const struct pack_piece *piece;
    struct digest d;

    if (is_of_one_piece(u->fill->plan, w->entry) || u->fill->fix_fd >= 0)
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
    piece = plan_piece(u->fill->plan, w);
    if (pread(u->fd, u->piece, piece->size, (off_t)w->offset) != (ssize_t)piece->size)
        return false;
    digest_of(u->piece, piece->size, &d);
    return digest_equal(&d, &piece->digest);
}

/* Made with its size, so that what is not written is a hole. */
static int make_unfinished(const struct fill *f, struct dir_walk *d, size_t i, struct err *e)
{
    unsigned left = atomic_load(&f->plan->entries[i].left);
    int fd = create(f, d, i, CACHE_UNFINISHED, e);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)f->plan->rows[i].size) < 0) {
        err_sys(e, "make %s", plan_path(f->plan, i));
        close(fd);
        return -1;
    }
    if (left == 0)
        return finish_unfinished(f, d, i, fd, e);
    close(fd);
    return 0;
}

static int begin_file(struct unfinished *u, size_t i, struct err *e)
{
    const struct fill *f = u->fill;
    int fd = f->fix_fd < 0 ? open_earlier(u, i) : -1;

    if (fd < 0)
        return make_unfinished(f, &u->descent, i, e);
    if (atomic_load(&f->plan->entries[i].left) == 0)
        return finish_unfinished(f, &u->descent, i, fd, e);
    close(fd);
    return 0;
}

static int begin_files(struct unfinished *u, struct err *e)
{
    const struct plan *p = u->fill->plan;

    for (size_t i = 0; i < p->n; i++)
        if (p->entries[i].is_wanted && plan_is_file(p, i) && !is_of_one_piece(p, i) &&
            begin_file(u, i, e) < 0)
            return -1;
    return 0;
}

/* ---- all ---- */

int fill_files(const struct fill *f, struct err *e)
{
    struct filling a = { .fill = f };
    struct unfinished u = { .fill = f, .entry = SIZE_MAX, .fd = -1 };
    int result;

    dir_walk_begin(&u.descent, f->cache_fd, f->tree);
    a.wants = plan_wants(f->plan, &a.n, has_piece, &u);
    if (u.fd >= 0)
        close(u.fd);
    free(u.piece);
    result = begin_files(&u, e);
    dir_walk_end(&u.descent);
    if (result == 0) {
        pthread_mutex_init(&a.lock, NULL);
        run(&a);
        pthread_mutex_destroy(&a.lock);
        if (a.has_failed)
            result = err_set(e, a.why.kind, "%s", a.why.text);
    }
    free(a.wants);
    return result;
}
