/* SPDX-License-Identifier: MIT */
/* spool.c - what was read once, to be looked at several times */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/util/spool.h"
#include "client/util/temp_file.h"
#include "common/base/io.h"
#include "common/base/mem.h"

enum { PIECE_BYTES = 64 * 1024 };

/* "WHAT PATH: why": what was named is wrong, whatever errno would make of it. */
static int refuse(const char *what, const char *path, struct err *e)
{
    err_sys(e, "%s %s", what, path);
    if (e != NULL)
        e->kind = ERR_USAGE;
    return -1;
}

static int write_piece(int fd, const void *bytes, size_t n, struct err *e)
{
    if (io_write_all(fd, bytes, n) == 0)
        return 0;
    return err_sys(e, "write a temporary file ($TMPDIR says where)");
}

static int copy(int from, int to, const char *path, size_t *n, struct err *e)
{
    char *piece = mem_alloc(PIECE_BYTES);
    ssize_t got;
    int result = 0;

    *n = 0;
    while (result == 0 && (got = io_read_all(from, piece, PIECE_BYTES)) != 0) {
        if (got < 0) {
            result = refuse("read", spool_name(path), e);
        } else {
            *n += (size_t)got;
            result = write_piece(to, piece, (size_t)got, e);
        }
    }
    free(piece);
    return result == 0 ? write_piece(to, "", 1, e) : -1;
}

static int map(struct spool *s, int fd, size_t n, struct err *e)
{
    void *bytes = mmap(NULL, n + 1, PROT_READ, MAP_PRIVATE, fd, 0);

    if (bytes == MAP_FAILED)
        return err_sys(e, "map a temporary file");
    s->text = (struct bytes){ bytes, n };
    return 0;
}

static int open_source(const char *path, struct err *e)
{
    int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                    : open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0 ? fd : refuse("open", path, e);
}

int spool_read(struct spool *s, const char *path, struct err *e)
{
    int from = open_source(path, e), to, result = -1;
    size_t n;

    if (from < 0)
        return -1;
    to = temp_file_open(e);
    if (to >= 0) {
        if (copy(from, to, path, &n, e) == 0)
            result = map(s, to, n, e);
        close(to);
    }
    close(from);
    return result;
}

const char *spool_name(const char *path)
{
    return strcmp(path, "-") == 0 ? SPOOL_STDIN : path;
}

void spool_free(struct spool *s)
{
    if (s->text.data != NULL)
        munmap((void *)(uintptr_t)s->text.data, s->text.n + 1);
    *s = (struct spool){ 0 };
}
