/* SPDX-License-Identifier: MIT */
/* cache_record.c - records what a tree was when it was staged, and checks whether it still is */

#include "worker/stager/cache_record.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"
/* The step of files' times: the kernel's tick is 10 ms at most. */
#define STEP_NS ((int64_t)25 * 1000 * 1000)

enum {
    ROWS_PER_THREAD = 4096, /* fewer are not worth a thread */
    WATCHES_MAX = 16 * 1024 /* folders: each costs the kernel a kilobyte */
};

static const char magic[8] = "ludwig2";

void cache_name(const struct digest *tree, const char *suffix, char name[CACHE_NAME_BYTES])
{
    char hex[DIGEST_HEX];

    digest_hex(tree, hex);
    snprintf(name, CACHE_NAME_BYTES, "%s%s%s", suffix[0] == '\0' ? "" : ".", hex, suffix);
}

unsigned cache_threads(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    return n < 1 ? 1 : n > CACHE_THREADS_MAX ? CACHE_THREADS_MAX : (unsigned)n;
}

/* ---- boots ---- */

void boot_id(char id[BOOT_BYTES])
{
    struct buf text = { 0 };

    memset(id, 0, BOOT_BYTES);
    if (io_read_file("/proc/sys/kernel/random/boot_id", 64, &text, NULL) == 0 &&
        text.n >= BOOT_BYTES)
        memcpy(id, text.bytes, BOOT_BYTES);
    buf_free(&text);
}

bool record_is_of_this_boot(const struct record *r)
{
    char id[BOOT_BYTES];

    boot_id(id);
    return id[0] != '\0' && memcmp(id, r->head->boot, BOOT_BYTES) == 0;
}

/* ---- reading ---- */

bool record_open(struct record *r, int cache_fd, const struct digest *tree)
{
    const uint64_t most = UINT32_MAX;
    const struct record_head *h;
    char name[CACHE_NAME_BYTES];
    struct stat st;
    int fd;

    *r = (struct record){ .head = NULL };
    cache_name(tree, CACHE_RECORD, name);
    fd = openat(cache_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof *r->head) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        r->head = at == MAP_FAILED ? NULL : at;
        r->map_bytes = (size_t)st.st_size;
    }
    close(fd);
    h = r->head;
    if (h == NULL || memcmp(h->magic, magic, sizeof magic) != 0 || !digest_equal(&h->tree, tree) ||
        h->n_rows > most || h->n_folders > h->n_rows || h->names_bytes > most * 64 ||
        r->map_bytes != sizeof *h + h->n_rows * sizeof(struct cache_row) +
                            h->n_folders * sizeof(uint32_t) + h->names_bytes ||
        (h->names_bytes > 0 && ((const char *)h)[r->map_bytes - 1] != '\0')) {
        record_close(r);
        return false;
    }
    /* Rows come first, as they need the largest alignment. */
    r->rows = (struct cache_row *)(r->head + 1);
    r->folders = (uint32_t *)(r->rows + h->n_rows);
    r->names = (const char *)(r->folders + h->n_folders);
    return true;
}

void record_close(struct record *r)
{
    if (r->head != NULL)
        munmap(r->head, r->map_bytes);
    *r = (struct record){ .head = NULL };
}

/* Always a string in the file, whatever the file says. */
const char *record_path(const struct record *r, size_t row)
{
    uint64_t at = r->rows[row].path_at;

    return at < r->head->names_bytes ? r->names + at : "";
}

/* ---- writing ---- */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return units_ns(&now);
}

int record_write(int cache_fd, struct record_head *head, const struct cache_row *rows,
                 struct bytes names, struct err *e)
{
    char name[CACHE_NAME_BYTES], temporary[CACHE_NAME_BYTES];
    struct buf folders = { 0 };
    int fd, result = 0;

    cache_name(&head->tree, CACHE_RECORD, name);
    cache_name(&head->tree, CACHE_DRAFT, temporary);
    fd = openat(cache_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, "create %s", temporary);
    memcpy(head->magic, magic, sizeof magic);
    boot_id(head->boot);
    head->written_ns = now_ns();
    head->names_bytes = names.n;
    for (uint32_t i = 0; i < head->n_rows; i++)
        if (rows[i].kind == PACK_FOLDER) {
            buf_add(&folders, &i, sizeof i);
            head->n_folders++;
        }
    if (io_write_all(fd, head, sizeof *head) < 0 ||
        io_write_all(fd, rows, head->n_rows * sizeof *rows) < 0 ||
        io_write_all(fd, folders.bytes, folders.n) < 0 || io_write_all(fd, names.data, names.n) < 0)
        result = err_sys(e, "write %s", temporary);
    if (close(fd) < 0 && result == 0 && errno != EINTR)
        result = err_sys(e, "write %s", temporary);
    if (result == 0 && renameat(cache_fd, temporary, cache_fd, name) < 0)
        result = err_sys(e, "name %s", name);
    if (result < 0)
        (void)unlinkat(cache_fd, temporary, 0);
    buf_free(&folders);
    return result;
}

/* ---- rows ---- */

/* Times have steps: a file that was changed so shortly before a look may have been changed again
 * since, and show the same time. */
static bool is_recent(int64_t time_ns, int64_t looked_ns)
{
    return time_ns > looked_ns - STEP_NS;
}

void row_take(struct cache_row *row, const struct stat *st)
{
    row->inode = st->st_ino;
    row->mtime_ns = units_ns(&st->st_mtim);
    row->ctime_ns = units_ns(&st->st_ctim);
}

bool row_is(const struct cache_row *row, const struct stat *st)
{
    switch (row->kind) {
    case PACK_FOLDER: return S_ISDIR(st->st_mode);
    case PACK_SYMLINK:
        if (!S_ISLNK(st->st_mode))
            return false;
        break;
    default:
        if (!S_ISREG(st->st_mode) || row->size != (uint64_t)st->st_size)
            return false;
    }
    return row->inode == st->st_ino && row->mtime_ns == units_ns(&st->st_mtim) &&
           row->ctime_ns == units_ns(&st->st_ctim);
}

/* ---- contents ---- */

static bool is_zero(const uint8_t *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

void record_add_hole(struct hasher *h, uint64_t n_pieces)
{
    static const uint8_t zeros[DIGEST_BYTES];
    uint8_t number[8];

    for (size_t i = 0; i < sizeof number; i++)
        number[i] = (uint8_t)(n_pieces >> (8 * i));
    hasher_add(h, zeros, sizeof zeros);
    hasher_add(h, number, sizeof number);
}

static int read_piece(int fd, uint64_t at, uint8_t *bytes, size_t n, struct err *e)
{
    ssize_t got = io_read_all_at(fd, bytes, n, at);

    if (got < 0)
        return err_sys(e, "read");
    return (size_t)got == n ? 0 : err_set(e, ERR_FAILED, "it has shrunk");
}

int record_content_of(int fd, uint64_t size, struct digest *content, struct err *e)
{
    size_t most = size < PACK_PIECE_BYTES ? (size_t)size : PACK_PIECE_BYTES;
    uint8_t *piece;
    struct hasher *h;
    uint64_t holes = 0;
    bool is_single;
    int result;

    *content = (struct digest){ { 0 } };
    if (size == 0)
        return 0;
    piece = mem_resize(NULL, most, 1);
    result = read_piece(fd, 0, piece, most, e);
    is_single = size < PACK_PIECE_BYTES ||
                (size == PACK_PIECE_BYTES && result == 0 && !is_zero(piece, most));
    if (result < 0 || is_single) {
        digest_of(piece, result == 0 ? most : 0, content);
        free(piece);
        return result;
    }
    h = hasher_create();
    for (uint64_t at = 0; result == 0 && at < size; at += most) {
        struct digest d;

        most = size - at < PACK_PIECE_BYTES ? (size_t)(size - at) : PACK_PIECE_BYTES;
        if (at > 0)
            result = read_piece(fd, at, piece, most, e);
        if (most == PACK_PIECE_BYTES && is_zero(piece, most)) {
            holes++;
            continue;
        }
        if (holes > 0)
            record_add_hole(h, holes);
        holes = 0;
        digest_of(piece, most, &d);
        hasher_add(h, &d, sizeof d);
    }
    if (holes > 0)
        record_add_hole(h, holes);
    hasher_end(h, content);
    hasher_destroy(h);
    free(piece);
    return result;
}

/* ---- checks ---- */

int record_stat(struct dir_walk *d, const char *path, struct stat *st, struct err *e)
{
    const char *name;
    int dir_fd = dir_walk_to(d, path, &name, e);

    if (dir_fd < 0)
        return -1;
    return fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW) < 0 ? err_sys(e, "look at %s", path) : 0;
}

bool record_check_folders(const struct record *r, int cache_fd)
{
    char name[CACHE_NAME_BYTES];
    struct dir_walk d;
    struct stat st;
    bool is_same;

    cache_name(&r->head->tree, "", name);
    dir_walk_begin(&d, cache_fd, name);
    is_same = record_stat(&d, "", &st, NULL) == 0 &&
              (r->head->n_rows == 1 && record_path(r, 0)[0] == '\0'
                   ? row_is(&r->rows[0], &st)
                   : S_ISDIR(st.st_mode) && units_ns(&st.st_mtim) == r->head->top_mtime_ns);
    for (uint64_t i = 0; is_same && i < r->head->n_folders; i++) {
        size_t row = r->folders[i];

        is_same = row < r->head->n_rows && record_stat(&d, record_path(r, row), &st, NULL) == 0 &&
                  S_ISDIR(st.st_mode) && units_ns(&st.st_mtim) == r->rows[row].mtime_ns;
    }
    dir_walk_end(&d);
    return is_same;
}

struct checking {
    struct record *record;
    int cache_fd;
    const char *tree;
    size_t begin, end;
    struct damage damage;
    pthread_t thread;
};

/* Whether entry i is what it was.  The row of a file that was only touched takes the new times,
 * unless the file may be changing at this moment; a mode that a job gave the file is undone. */
static bool is_what_it_was(struct checking *c, struct dir_walk *d, size_t i)
{
    struct cache_row *row = &c->record->rows[i];
    bool is_file = row->kind == PACK_FILE || row->kind == PACK_PROGRAM, is_same;
    mode_t mode = row->kind == PACK_PROGRAM ? CACHE_PROGRAM : CACHE_FILE;
    const char *path = record_path(c->record, i), *name;
    struct digest content;
    struct stat st, after;
    int dir_fd, fd;

    if (record_stat(d, path, &st, NULL) < 0)
        return false;
    if (row->kind == PACK_FOLDER && S_ISDIR(st.st_mode))
        row_take(row, &st);
    if (row_is(row, &st) && !(is_file && is_recent(row->ctime_ns, c->record->head->written_ns)))
        return true;
    if (!is_file || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != row->size)
        return false;
    dir_fd = dir_walk_to(d, path, &name, NULL);
    fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    is_same = fstat(fd, &st) == 0 && (uint64_t)st.st_size == row->size &&
              record_content_of(fd, row->size, &content, NULL) == 0 &&
              digest_equal(&content, &row->content);
    if (is_same && !row_is(row, &st) && ((st.st_mode & 07777) == mode || fchmod(fd, mode) == 0) &&
        !is_recent(units_ns(&st.st_ctim), now_ns()) && fstat(fd, &after) == 0 &&
        after.st_size == st.st_size && units_ns(&after.st_mtim) == units_ns(&st.st_mtim))
        row_take(row, &after);
    close(fd);
    return is_same;
}

static void add_damage(struct damage *d, size_t row)
{
    mem_grow((void **)&d->rows, &d->capacity, d->n, sizeof *d->rows);
    d->rows[d->n++] = (uint32_t)row;
}

static void *check_some(void *context)
{
    struct checking *c = context;
    struct dir_walk d;

    dir_walk_begin(&d, c->cache_fd, c->tree); /* NOLINT(clang-analyzer-core.CallAndMessage) */
    for (size_t i = c->begin; i < c->end; i++)
        if (c->record->rows[i].kind != PACK_HARD_LINK && !is_what_it_was(c, &d, i))
            add_damage(&c->damage, i);
    dir_walk_end(&d);
    return NULL;
}

void record_check_files(struct record *r, int cache_fd, struct damage *damage)
{
    char name[CACHE_NAME_BYTES];
    struct checking some[CACHE_THREADS_MAX];
    bool runs[CACHE_THREADS_MAX] = { false };
    size_t n_rows = r->head->n_rows, n = cache_threads();
    struct stat st, linked;
    struct dir_walk d;

    *damage = (struct damage){ .top = true };
    cache_name(&r->head->tree, "", name);
    if (fstatat(cache_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    damage->top = false;
    if (n > n_rows / ROWS_PER_THREAD)
        n = n_rows < ROWS_PER_THREAD ? 1 : n_rows / ROWS_PER_THREAD;
    for (size_t i = 0; i < n; i++) {
        some[i] = (struct checking){ .record = r,
                                     .cache_fd = cache_fd,
                                     .tree = name,
                                     .begin = n_rows * i / n,
                                     .end = n_rows * (i + 1) / n };
        runs[i] = i > 0 && pthread_create(&some[i].thread, NULL, check_some, &some[i]) == 0;
        if (i > 0 && !runs[i])
            check_some(&some[i]);
    }
    check_some(&some[0]);
    for (size_t i = 0; i < n; i++) {
        if (runs[i])
            pthread_join(some[i].thread, NULL);
        for (size_t row = 0; row < some[i].damage.n; row++)
            add_damage(damage, some[i].damage.rows[row]);
        free(some[i].damage.rows);
    }
    /* Hard links are what they were as long as they share their file, whatever became of that. */
    dir_walk_begin(&d, cache_fd, name);
    for (size_t i = 0; i < n_rows; i++)
        if (r->rows[i].kind == PACK_HARD_LINK &&
            (record_stat(&d, record_path(r, i), &linked, NULL) < 0 || !S_ISREG(linked.st_mode) ||
             r->rows[i].target >= n_rows || r->rows[r->rows[i].target].inode != linked.st_ino))
            add_damage(damage, i);
    dir_walk_end(&d);
    if (damage->n == 0 && S_ISDIR(st.st_mode))
        r->head->top_mtime_ns = units_ns(&st.st_mtim);
}

/* ---- watching ---- */

bool record_watch(const struct record *r, const char *cache_dir_path, int guard_fd, bool on)
{
    const uint32_t mask = IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                          IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW;
    char name[CACHE_NAME_BYTES];
    struct buf path = { 0 };
    size_t top_n;
    bool goes_on = guard_fd >= 0 && r->head->n_folders <= WATCHES_MAX;

    cache_name(&r->head->tree, "", name);
    buf_printf(&path, "%s/%s", cache_dir_path, name);
    top_n = path.n;
    for (uint64_t i = 0; goes_on && i <= r->head->n_folders; i++) { /* first the tree's own one */
        /* Asking for a watch again tells its number, which is needed to end it. */
        int id =
            inotify_add_watch(guard_fd, buf_text(&path), on ? mask : IN_MOVE_SELF | IN_DONT_FOLLOW);

        if (!on && id >= 0)
            (void)inotify_rm_watch(guard_fd, id);
        goes_on = !on || id >= 0;
        path.n = top_n;
        if (i < r->head->n_folders)
            buf_printf(&path, "/%s",
                       r->folders[i] < r->head->n_rows ? record_path(r, r->folders[i]) : "");
    }
    buf_free(&path);
    return goes_on;
}
