/* SPDX-License-Identifier: MIT */
/*
 * unpack.h - makes the files of a packed tree again, plainly: it keeps every part in memory
 */
#ifndef LUDWIG_TESTS_UNPACK_H
#define LUDWIG_TESTS_UNPACK_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/pack/pack_part.h"
#include "common/pack/pack_read.h"

struct unpacking {
    const char *packs; /* the packs folder */
    const char *to;    /* the folder to make */
    struct pack_reader *reader;
    struct buf *pieces[1024]; /* of each part that was read; else NULL */
};

static inline int unpack_fetch(void *context, enum pack_object kind, const struct digest *name,
                               size_t max_bytes, struct buf *out, struct err *e)
{
    const struct unpacking *u = context;
    struct buf below = { 0 };
    char *path;
    int result;

    pack_object_path(&below, kind, name);
    path = path_join(u->packs, buf_text(&below));
    result = io_read_file(path, max_bytes, out, e);
    free(path);
    buf_free(&below);
    return result;
}

static inline ssize_t unpack_read(void *context, void *bytes, size_t n, struct err *e)
{
    ssize_t got = read(*(int *)context, bytes, n);

    return got < 0 ? err_sys(e, "read") : got;
}

/* Reads a part and keeps its pieces. */
static inline int unpack_part(struct unpacking *u, uint32_t part, struct err *e)
{
    const struct pack_list *list = pack_list_of(u->reader, part, e);
    struct part_reader *r = part_reader_create();
    struct buf below = { 0 };
    struct bytes content;
    char *path;
    int fd, rc;
    uint32_t i = 0;

    if (list == NULL)
        return -1;
    u->pieces[part] = mem_alloc(list->n * sizeof(struct buf));
    pack_part_path(&below, &list->part);
    path = path_join(u->packs, buf_text(&below));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    part_begin(r, list, unpack_read, &fd);
    while ((rc = part_next(r, &content, e)) == 1)
        buf_add(&u->pieces[part][i++], content.data, content.n);
    part_reader_destroy(r);
    close(fd);
    free(path);
    buf_free(&below);
    return rc;
}

/* Writes the content of a file. */
static inline int unpack_runs(struct unpacking *u, const struct pack_entry *entry, int fd,
                              struct err *e)
{
    for (size_t i = 0; i < entry->n_runs; i++) {
        const struct pack_run *run = &entry->runs[i];

        if (run->part == PACK_HOLE) {
            if (lseek(fd, (off_t)run->bytes, SEEK_CUR) < 0)
                return err_sys(e, "lseek");
            continue;
        }
        if (u->pieces[run->part] == NULL && unpack_part(u, run->part, e) < 0)
            return -1;
        for (uint32_t k = run->first; k < run->first + run->n; k++)
            if (io_write_all(fd, u->pieces[run->part][k].bytes, u->pieces[run->part][k].n) < 0)
                return err_sys(e, "write");
    }
    return ftruncate(fd, (off_t)entry->size) < 0 ? err_sys(e, "ftruncate") : 0;
}

static inline int unpack_entry(struct unpacking *u, const struct pack_entry *entry, struct err *e)
{
    char *path = entry->path[0] == '\0' ? mem_strdup(u->to) : path_join(u->to, entry->path);
    char *target = NULL;
    int result = 0, fd;

    switch (entry->kind) {
    case PACK_FOLDER: result = mkdir(path, 0755); break;
    case PACK_SYMLINK: result = symlink(entry->target, path); break;
    case PACK_HARD_LINK:
        target = path_join(u->to, entry->target);
        result = link(target, path);
        break;
    default:
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  entry->kind == PACK_PROGRAM ? 0755 : 0644);
        result = fd < 0 ? -1 : unpack_runs(u, entry, fd, e);
        close(fd);
    }
    if (result < 0)
        err_sys(e, "%s", path);
    free(target);
    free(path);
    return result;
}

/* Unpacks the dataset with this id from the packs folder into `to`, which must not exist.  Returns
 * -1 with e set. */
static inline int unpack(const char *packs, const struct digest *id, const char *to, struct err *e)
{
    struct unpacking u = { .packs = packs, .to = to };
    struct pack_source source = { &u, unpack_fetch };
    struct pack_entry entry;
    size_t n_parts;
    int rc;

    u.reader = pack_open(&source, id, e);
    if (u.reader == NULL)
        return -1;
    (void)pack_parts(u.reader, &n_parts);
    while ((rc = pack_next(u.reader, &entry, e)) == 1) {
        if (entry.path[0] != '\0')
            (void)mkdir(to, 0755);
        if (unpack_entry(&u, &entry, e) < 0)
            return -1;
    }
    if (pack_totals(u.reader)->files + pack_totals(u.reader)->folders == 0)
        (void)mkdir(to, 0755);
    for (size_t i = 0; i < n_parts; i++) {
        uint32_t n = u.pieces[i] != NULL ? pack_list_of(u.reader, i, NULL)->n : 0;

        for (uint32_t k = 0; k < n; k++)
            buf_free(&u.pieces[i][k]);
        free(u.pieces[i]);
    }
    pack_close(u.reader);
    return rc;
}

#endif
