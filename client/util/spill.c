/* SPDX-License-Identifier: MIT */
/* spill.c - bytes that are too many for memory, in a temporary file */
#include "client/util/spill.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/util/temp_file.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/mem.h"

enum { TAIL_BYTES = 256 * 1024 };

struct spill {
    int fd;
    uint64_t left_bytes;    /* so much may come; 0 where the disk takes no more */
    uint64_t written_bytes; /* to the file; behind them comes the tail */
    uint8_t *tail;          /* what is too little for a write */
    size_t n_tail;
};

struct spill *spill_create(uint64_t max_bytes)
{
    struct spill *s = mem_alloc(sizeof *s);

    *s = (struct spill){ .fd = -1, .left_bytes = max_bytes };
    return s;
}

void spill_clear(struct spill *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->tail);
    s->fd = -1;
    s->tail = NULL;
    s->written_bytes = s->n_tail = 0;
}

void spill_destroy(struct spill *s)
{
    if (s == NULL)
        return;
    spill_clear(s);
    free(s);
}

uint64_t spill_room(const struct spill *s)
{
    return s->left_bytes;
}

static bool is_on_disk(int fd)
{
    enum fs_kind kind = fs_type_of_fd(fd).kind;

    return kind != FS_MEMORY && kind != FS_NETWORK;
}

static bool open_file(struct spill *s)
{
    if (s->fd >= 0)
        return true;
    s->fd = temp_file_open(NULL);
    if (s->fd < 0)
        return false;
    s->tail = mem_alloc(TAIL_BYTES);
    return is_on_disk(s->fd);
}

static bool write_out(struct spill *s, const void *bytes, size_t n)
{
    if (io_write_all(s->fd, bytes, n) < 0)
        return false;
    s->written_bytes += n;
    return true;
}

/* What the tail has no room for goes to the file, behind it. */
static bool add(struct spill *s, struct bytes bytes)
{
    if (s->n_tail + bytes.n > TAIL_BYTES) {
        if (!write_out(s, s->tail, s->n_tail))
            return false;
        s->n_tail = 0;
    }
    if (bytes.n > TAIL_BYTES)
        return write_out(s, bytes.data, bytes.n);
    memcpy(s->tail + s->n_tail, bytes.data, bytes.n);
    s->n_tail += bytes.n;
    return true;
}

bool spill_keep(struct spill *s, struct bytes bytes, uint64_t *at)
{
    bool is_kept;

    if (bytes.n > s->left_bytes)
        return false;
    *at = s->written_bytes + s->n_tail;
    is_kept = open_file(s) && add(s, bytes);
    s->left_bytes = is_kept ? s->left_bytes - bytes.n : 0;
    return is_kept;
}

static int read_file(const struct spill *s, uint64_t at, void *to, size_t n, struct err *e)
{
    ssize_t got = n > 0 ? io_read_all_at(s->fd, to, n, at) : 0;

    if (got < 0)
        return err_sys(e, "read a temporary file ($TMPDIR says where)");
    return (size_t)got == n ? 0 : err_set(e, ERR_INTERNAL, "a temporary file has become shorter");
}

int spill_read(const struct spill *s, uint64_t at, void *to, size_t n, struct err *e)
{
    uint64_t in_file = at < s->written_bytes ? s->written_bytes - at : 0;
    size_t first = in_file < n ? (size_t)in_file : n;

    if (read_file(s, at, to, first, e) < 0)
        return -1;
    if (first < n)
        memcpy((uint8_t *)to + first, s->tail + (at + first - s->written_bytes), n - first);
    return 0;
}
