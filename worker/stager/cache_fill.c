/* SPDX-License-Identifier: MIT */
/* cache_fill.c - the files of a tree, straight from its packs, by a thread per core */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/crash_point.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/pack/pack_part.h"
#include "worker/stager/cache_stage.h"

enum {
    SFTP_THREADS_MAX = 4, /* each has a connection */
    PATIENT_NICE = 10,    /* a tenth of a processor that a job keeps busy */
    NUMBER_BYTES = 24
};

/* What the threads share. */
struct filling {
    struct stage *stage;
    struct want *wants;
    size_t n;
    pthread_mutex_t lock; /* for what follows */
    size_t next;
    bool has_failed;
    struct err why; /* the first time */
};

/* A thread. */
struct filler {
    struct filling *all;
    struct packs packs;
    struct part_reader *reader;
    struct share_input *in;
    bool share_failed; /* as against: what it holds is wrong */
    struct dir_walk walk;
};

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

/* The folder in which a file is made, and its name there: among a live tree's replacements, or in the
 * tree itself. */
static int place_of(const struct stage *s, struct dir_walk *d, size_t i, char number[NUMBER_BYTES],
                    const char **name, struct err *e)
{
    if (!s->is_live)
        return dir_walk_to(d, plan_path(&s->plan, i), name, e);
    snprintf(number, NUMBER_BYTES, "%zu", i);
    *name = number;
    return s->fix_fd;
}

/* Whatever is there already is not what it should be. */
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

/* All of the file was written.  mode: what it gets to say so; 0: it has that. */
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
    CRASH_POINT_POINT(stage_created);
    if (io_write_all(fd, content.data, content.n) < 0) {
        err_sys(e, "write %s", plan_path(&s->plan, i));
        close(fd);
        return -1;
    }
    return close_whole(s, &w->walk, i, fd, 0, e);
}

/* Into a file of many pieces, which is there already; the last piece to come makes it whole. */
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
    CRASH_POINT_POINT(stage_piece);
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
    if (got < 0 && e->kind == ERR_PROTOCOL) /* the server's, not the part's */
        e->kind = ERR_UNREACHABLE;
    return got;
}

/* *begin: the first that is not written yet.  *is_damaged: -1 because the part is not what it should be. */
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

/* A file that stays where its owner has it on the shared drive. */
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

static int fill_from(struct filler *w, size_t begin, size_t end, struct err *e)
{
    const struct want *wants = w->all->wants;
    const struct pack_list *l = pack_list_read(w->all->stage->plan.reader, wants[begin].part);
    struct buf content = { 0 };
    int result = 0;

    if (l->part.form != PACK_FILES)
        return fill_from_part(w, l, begin, end, e);
    for (size_t i = begin; i < end && result == 0; i++)
        result = fill_from_file(w, l, &wants[i], &content, e);
    buf_free(&content);
    return result;
}

/* ---- the threads ---- */

static bool take_part(struct filling *a, size_t *begin, size_t *end)
{
    bool is_over =
        a->stage->cache->is_over != NULL && a->stage->cache->is_over(a->stage->cache->context);

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
    struct filler w = { .all = a };
    size_t begin, end;
    int rc = pack_source_open(&w.packs, &a->stage->packs, e);

    if (rc < 0)
        return -1;
    dir_walk_begin(&w.walk, a->stage->cache->fd, a->stage->name);
    w.reader = part_reader_create();
    while (rc == 0 && take_part(a, &begin, &end))
        rc = fill_from(&w, begin, end, e);
    if (rc < 0)
        note_failure(a, e);
    part_reader_destroy(w.reader);
    dir_walk_end(&w.walk);
    pack_source_close(&w.packs);
    return 0;
}

/* Where a helper gets no connection the others do without it. */
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

/* Threads inherit how urgent they are, and may not become more urgent again: so all of the work is
 * done by threads other than the caller's. */
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
    size_t entry; /* which of them fd is */
    int fd;       /* -1: none that may have pieces already */
    uint8_t *piece;
};

/* An unfinished file of an earlier time, of the right size; -1: there is none. */
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

static bool has_piece(void *context, const struct want *w)
{
    struct unfinished *u = context;
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

/* Made with its size, so that what is not written is a hole. */
static int begin_file(struct unfinished *u, size_t i, struct err *e)
{
    struct stage *s = u->stage;
    int fd = open_earlier(u, i);

    if (fd < 0) {
        fd = create_file(s, &u->walk, i, CACHE_UNFINISHED, e);
        if (fd < 0)
            return -1;
        if (ftruncate(fd, (off_t)s->plan.rows[i].size) < 0) {
            err_sys(e, "make %s", plan_path(&s->plan, i));
            close(fd);
            return -1;
        }
    }
    if (atomic_load(&s->plan.entries[i].left) == 0)
        return close_whole(s, &u->walk, i, fd, stage_mode_of(s, i), e);
    close(fd);
    return 0;
}

int stage_fill(struct stage *s, struct err *e)
{
    struct filling a = { .stage = s };
    struct unfinished u = { .stage = s, .entry = SIZE_MAX, .fd = -1 };
    const struct plan *p = &s->plan;
    pthread_t thread;
    int result = 0;

    dir_walk_begin(&u.walk, s->cache->fd, s->name);
    a.wants = plan_wants(&s->plan, &a.n, has_piece, &u);
    if (u.fd >= 0)
        close(u.fd);
    free(u.piece);
    for (size_t i = 0; i < p->n && result == 0; i++)
        if (p->entries[i].is_wanted && plan_is_file(p, i) && !is_of_one_piece(p, i))
            result = begin_file(&u, i, e);
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
