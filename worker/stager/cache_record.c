/* SPDX-License-Identifier: MIT */
/* cache_record.c - what a staged tree was when it was staged */

#include "worker/stager/cache_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"

/* Of the times of files: the kernel's tick is 10 ms at most. */
#define STEP_NS ((int64_t)25 * 1000 * 1000)

static const char magic[8] = "ludwig2";

void cache_name(const struct digest *tree, const char *suffix, char name[CACHE_NAME_BYTES])
{
    char hex[DIGEST_HEX];

    digest_hex(tree, hex);
    snprintf(name, CACHE_NAME_BYTES, "%s%s%s", suffix[0] == '\0' ? "" : ".", hex, suffix);
}

/* ---- boots ---- */

/* Where it cannot be known every time is another boot. */
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

static bool has_room_for(const struct record_head *h, size_t bytes)
{
    const uint64_t most = UINT32_MAX;

    if (h->n_rows > most || h->n_folders > h->n_rows || h->names_bytes > most * 64)
        return false;
    return bytes == sizeof *h + h->n_rows * sizeof(struct cache_row) +
                        h->n_folders * sizeof(uint32_t) + h->names_bytes;
}

/* Rows lie first, as they are aligned most. */
static void point_into(struct record *r)
{
    r->rows = (struct cache_row *)(r->head + 1);
    r->folders = (uint32_t *)(r->rows + r->head->n_rows);
    r->names = (const char *)(r->folders + r->head->n_folders);
}

static bool is_sound(const struct record *r, const struct digest *tree)
{
    const struct record_head *h = r->head;

    if (r->map_bytes < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0 ||
        !digest_equal(&h->tree, tree) || !has_room_for(h, r->map_bytes))
        return false;
    return h->names_bytes == 0 || ((const char *)r->head)[r->map_bytes - 1] == '\0';
}

bool record_open(struct record *r, int cache_fd, const struct digest *tree)
{
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
    if (r->head != NULL && is_sound(r, tree)) {
        point_into(r);
        return true;
    }
    record_close(r);
    return false;
}

void record_close(struct record *r)
{
    if (r->head != NULL)
        munmap(r->head, r->map_bytes);
    *r = (struct record){ .head = NULL };
}

/* Whatever the file says, it is a string in it. */
const char *record_path(const struct record *r, size_t row)
{
    uint64_t at = r->rows[row].path_at;

    return at < r->head->names_bytes ? r->names + at : "";
}

/* ---- writing ---- */

static void add_folders(const struct record_draft *d, struct buf *out, uint64_t *n)
{
    *n = 0;
    for (size_t i = 0; i < d->n_rows; i++)
        if (d->rows[i].kind == PACK_FOLDER) {
            uint32_t row = (uint32_t)i;

            buf_add(out, &row, sizeof row);
            ++*n;
        }
}

static int write_all(int fd, const struct record_draft *d, const struct record_head *head,
                     const struct buf *folders)
{
    if (io_write_all(fd, head, sizeof *head) < 0 ||
        io_write_all(fd, d->rows, d->n_rows * sizeof *d->rows) < 0 ||
        io_write_all(fd, folders->bytes, folders->n) < 0 ||
        io_write_all(fd, d->names.data, d->names.n) < 0)
        return -1;
    return 0;
}

static int write_to(int cache_fd, const char *name, const struct record_draft *d, struct err *e)
{
    struct record_head head = { .tree = d->tree,
                                .id = d->id,
                                .files = d->files,
                                .bytes = d->bytes,
                                .top_mtime_ns = d->top_mtime_ns,
                                .is_shared = d->is_shared,
                                .written_ns = now_ns(),
                                .n_rows = d->n_rows,
                                .names_bytes = d->names.n };
    struct buf folders = { 0 };
    int fd = openat(cache_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int result = 0;

    if (fd < 0)
        return err_sys(e, "create %s", name);
    memcpy(head.magic, magic, sizeof magic);
    boot_id(head.boot);
    add_folders(d, &folders, &head.n_folders);
    if (write_all(fd, d, &head, &folders) < 0)
        result = err_sys(e, "write %s", name);
    if (close(fd) < 0 && result == 0 && errno != EINTR)
        result = err_sys(e, "write %s", name);
    buf_free(&folders);
    return result;
}

int record_write(int cache_fd, const struct record_draft *draft, struct err *e)
{
    char name[CACHE_NAME_BYTES], temporary[CACHE_NAME_BYTES];
    int result;

    cache_name(&draft->tree, CACHE_RECORD, name);
    cache_name(&draft->tree, CACHE_DRAFT, temporary);
    result = write_to(cache_fd, temporary, draft, e);
    if (result == 0 && renameat(cache_fd, temporary, cache_fd, name) < 0)
        result = err_sys(e, "name %s", name);
    if (result < 0)
        (void)unlinkat(cache_fd, temporary, 0);
    return result;
}

/* ---- rows ---- */

int64_t stat_mtime_ns(const struct stat *st)
{
    return units_ns(&st->st_mtim);
}

int64_t stat_ctime_ns(const struct stat *st)
{
    return units_ns(&st->st_ctim);
}

int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return units_ns(&now);
}

bool is_recent(int64_t time_ns, int64_t looked_ns)
{
    return time_ns > looked_ns - STEP_NS;
}

void row_take(struct cache_row *row, const struct stat *st)
{
    row->inode = st->st_ino;
    row->mtime_ns = stat_mtime_ns(st);
    row->ctime_ns = stat_ctime_ns(st);
}

static bool is_of_kind(enum pack_kind kind, mode_t mode)
{
    switch (kind) {
    case PACK_FOLDER: return S_ISDIR(mode);
    case PACK_SYMLINK: return S_ISLNK(mode);
    default: return S_ISREG(mode);
    }
}

bool row_is(const struct cache_row *row, const struct stat *st)
{
    if (!is_of_kind(row->kind, st->st_mode))
        return false;
    if (row->kind == PACK_FOLDER)
        return true;
    if (row->kind != PACK_SYMLINK && row->size != (uint64_t)st->st_size)
        return false;
    return row->inode == st->st_ino && row->mtime_ns == stat_mtime_ns(st) &&
           row->ctime_ns == stat_ctime_ns(st);
}
