/* SPDX-License-Identifier: MIT */
/* spool.c - temporary files, and copies of inputs that are read several times */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/util/spool.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

enum { PIECE_BYTES = 64 * 1024 };

/* /var/tmp comes first, as files may become large and /tmp is memory on many machines. */
const char *temp_file_folder(void)
{
    const char *set = getenv("TMPDIR");

    if (set != NULL && set[0] == '/')
        return set;
    return access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
}

int temp_file_open(struct err *e)
{
    const char *folder = temp_file_folder();
    char *path = path_join(folder, "ludwig-XXXXXX");
    int fd = mkostemp(path, O_CLOEXEC);

    if (fd < 0) {
        err_sys(e, "make a temporary file in %s ($TMPDIR says where)", folder);
    } else if (unlink(path) < 0) {
        err_sys(e, "remove %s", path);
        close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}

/* Sets e to "WHAT PATH: " and the text of errno, as ERR_USAGE whatever errno is; -1. */
static int refuse_path(const char *what, const char *path, struct err *e)
{
    err_sys(e, "%s %s", what, path);
    if (e != NULL)
        e->kind = ERR_USAGE;
    return -1;
}

/* n bytes and the NUL behind them. */
static int map_text(struct spool *s, int fd, size_t n, struct err *e)
{
    void *bytes = mmap(NULL, n + 1, PROT_READ, MAP_PRIVATE, fd, 0);

    if (bytes == MAP_FAILED)
        return err_sys(e, "map a temporary file");
    s->text = (struct bytes){ bytes, n };
    return 0;
}

int spool_read(struct spool *s, const char *path, struct err *e)
{
    int from = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                      : open(path, O_RDONLY | O_CLOEXEC);
    int to = from >= 0 ? temp_file_open(e) : refuse_path("open", path, e),
        result = to >= 0 ? 0 : -1;
    char *piece = mem_alloc(PIECE_BYTES);
    ssize_t got = 1;
    size_t n = 0;

    while (result == 0 && got > 0) {
        got = io_read_all(from, piece, PIECE_BYTES);
        n += got > 0 ? (size_t)got : 0;
        if (got < 0)
            result = refuse_path("read", spool_name(path), e);
        else if (got > 0 ? io_write_all(to, piece, (size_t)got) < 0 : io_write_all(to, "", 1) < 0)
            result = err_sys(e, "write a temporary file ($TMPDIR says where)");
    }
    free(piece);
    if (result == 0)
        result = map_text(s, to, n, e);
    if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
    return result;
}

int spool_text(struct spool *s, const char *text, size_t n, struct err *e)
{
    int fd = temp_file_open(e), result = -1;

    if (fd < 0)
        return -1;
    if (io_write_all(fd, text, n) < 0 || io_write_all(fd, "", 1) < 0)
        err_sys(e, "write a temporary file ($TMPDIR says where)");
    else
        result = map_text(s, fd, n, e);
    close(fd);
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
