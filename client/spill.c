/* SPDX-License-Identifier: MIT */
/* spill.c - bytes that are too many for memory, in a temporary file */
#include "client/spill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/nameless.h"
#include "common/fs.h"
#include "common/io.h"
#include "common/mem.h"

enum { TAIL_BYTES = 256 * 1024 };

struct spill {
    int fd;
    uint64_t left_bytes;    /* so much may come */
    uint64_t written_bytes; /* to the file; behind them comes the tail */
    uint8_t *tail;          /* what is too little for a write */
    size_t n_tail;
    bool is_closed; /* it keeps no more */
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
    return s->is_closed ? 0 : s->left_bytes;
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
    s->fd = nameless_open(NULL);
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
    if (bytes.n > spill_room(s))
        return false;
    *at = s->written_bytes + s->n_tail;
    s->is_closed = !open_file(s) || !add(s, bytes);
    if (!s->is_closed)
        s->left_bytes -= bytes.n;
    return !s->is_closed;
}

static int read_file(const struct spill *s, uint64_t at, uint8_t *to, size_t n, struct err *e)
{
    while (n > 0) {
        ssize_t got = pread(s->fd, to, n, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? err_sys(e, "read a temporary file ($TMPDIR says where)")
                           : err_set(e, ERR_INTERNAL, "a temporary file has become shorter");
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
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
