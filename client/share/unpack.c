/* SPDX-License-Identifier: MIT */
/* unpack.c - makes a packed tree of a project on this machine */
#include "client/share/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/pack/pack_part.h"
#include "common/pack/pack_read.h"
#include "common/proto/layout.h"

enum { FOLDER_MODE = 0777, FILE_MODE = 0666, PROGRAM_MODE = 0777 }; /* less the umask */

/* A piece, and where it belongs. */
struct want {
    uint32_t part, piece;
    size_t file; /* its index among paths */
    uint64_t offset;
};

struct link {
    char *path, *target;
    bool is_hard;
};

struct unpacking {
    struct share_dir *packs;
    struct pack_reader *reader;
    int dir_fd;   /* the folder that is made */
    char **paths; /* of files with content */
    size_t n_paths, paths_capacity;
    struct want *wants;
    size_t n_wants, wants_capacity;
    struct link *links;
    size_t n_links, links_capacity;
};

static int fetch(void *context, enum pack_object kind, const struct digest *name, size_t max_bytes,
                 struct buf *out, struct err *e)
{
    struct unpacking *u = context;
    struct buf path = { 0 };
    struct err why = { 0 };
    int result;

    pack_object_path(&path, kind, name);
    result = share_read(u->packs, buf_text(&path), max_bytes + 1, out, &why);
    if (result < 0 && why.kind == ERR_NOT_FOUND)
        err_set(e, ERR_NOT_FOUND, "%s is not among the packs any more", buf_text(&path));
    else if (result < 0)
        err_set(e, why.kind, "%s", why.text);
    else if (pack_check_digest(name, buf_bytes(out), kind, &why) < 0)
        result = err_set(e, ERR_PROTOCOL, "%s is damaged", buf_text(&path));
    buf_free(&path);
    return result;
}

/* ---- entries ---- */

static int make_file(struct unpacking *u, const struct pack_entry *x, struct err *e)
{
    /* The one file of a tree that is no folder gets the name of the tree. */
    const char *path = x->path[0] == '\0' ? "file" : x->path;
    int fd = beneath_open(u->dir_fd, path, O_WRONLY | O_CREAT | O_EXCL,
                          x->kind == PACK_PROGRAM ? PROGRAM_MODE : FILE_MODE);
    uint64_t offset = 0;

    if (fd < 0)
        return err_sys(e, "make %s", path);
    if (ftruncate(fd, (off_t)x->size) < 0) { /* what is not written is a hole */
        err_sys(e, "make %s with %llu bytes", path, (unsigned long long)x->size);
        close(fd);
        return -1;
    }
    if (close(fd) < 0)
        return err_sys(e, "make %s", path);
    mem_grow((void **)&u->paths, &u->paths_capacity, u->n_paths, sizeof *u->paths);
    u->paths[u->n_paths] = mem_strdup(path);
    for (size_t i = 0; i < x->n_runs; i++) {
        const struct pack_run *run = &x->runs[i];

        for (uint32_t k = 0; run->part != PACK_HOLE && k < run->n; k++) {
            mem_grow((void **)&u->wants, &u->wants_capacity, u->n_wants, sizeof *u->wants);
            u->wants[u->n_wants++] = (struct want){ run->part, run->first + k, u->n_paths,
                                                    offset + (uint64_t)k * PACK_PIECE_BYTES };
        }
        offset += run->bytes;
    }
    u->n_paths++;
    return 0;
}

static void keep_link(struct unpacking *u, const struct pack_entry *x)
{
    mem_grow((void **)&u->links, &u->links_capacity, u->n_links, sizeof *u->links);
    u->links[u->n_links++] =
        (struct link){ mem_strdup(x->path), mem_strdup(x->target), x->kind == PACK_HARD_LINK };
}

static int make_entries(struct unpacking *u, struct err *e)
{
    struct pack_entry x;
    int rc;

    while ((rc = pack_next(u->reader, &x, e)) == 1) {
        switch (x.kind) {
        case PACK_FOLDER:
            if (beneath_make_dir(u->dir_fd, x.path, FOLDER_MODE) < 0)
                return err_sys(e, "make %s", x.path);
            break;
        case PACK_FILE:
        case PACK_PROGRAM:
            if (make_file(u, &x, e) < 0)
                return -1;
            break;
        default: keep_link(u, &x);
        }
    }
    return rc;
}

/* ---- content ---- */

static int compare_wants(const void *x, const void *y)
{
    const struct want *a = x, *b = y;

    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return a->piece == b->piece ? 0 : a->piece < b->piece ? -1 : 1;
}

static ssize_t read_part(void *context, void *bytes, size_t n, struct err *e)
{
    return share_read_input(context, bytes, n, e);
}

static int write_piece(struct unpacking *u, const struct want *w, struct bytes content,
                       struct err *e)
{
    const char *path = u->paths[w->file];
    int fd = beneath_open(u->dir_fd, path, O_WRONLY | O_NONBLOCK, 0), rc = 0;

    if (fd < 0)
        return err_sys(e, "write %s", path);
    if (io_write_all_at(fd, content.data, content.n, w->offset) < 0)
        rc = err_sys(e, "write %s", path);
    if (close(fd) < 0 && rc == 0)
        rc = err_sys(e, "write %s", path);
    return rc;
}

/* Reads a part to its last piece that is wanted; wants are its, in order. */
static int fill_from_part(struct unpacking *u, const struct want *wants, size_t n,
                          struct part_reader *reader, struct err *e)
{
    const struct pack_list *list = pack_list_of(u->reader, wants[0].part, e);
    struct bytes content = { 0 };
    struct buf path = { 0 };
    struct share_input *in;
    size_t at = 0;
    int rc = 0;

    if (list == NULL)
        return -1;
    if (!pack_is_stored(list->part.form))
        return err_set(e, ERR_USAGE, "it was never copied, and lies at %s on the shared drive",
                       list->path);
    pack_part_path(&path, &list->part);
    in = share_open_input(u->packs, buf_text(&path), 0, e);
    if (in == NULL) {
        buf_free(&path);
        return -1;
    }
    part_begin(reader, list, read_part, in);
    for (uint32_t i = 0; rc == 0 && at < n; i++) {
        bool is_wanted = wants[at].piece == i;

        rc = part_next(reader, is_wanted ? &content : NULL, e);
        if (rc == 0)
            rc = err_set(e, ERR_PROTOCOL, "it ends too soon");
        if (rc < 0)
            err_wrap(e, "%s", buf_text(&path));
        rc = rc < 0 ? -1 : 0;
        for (; rc == 0 && at < n && wants[at].piece == i; at++) /* equal pieces are stored once */
            rc = write_piece(u, &wants[at], content, e);
    }
    share_close_input(in);
    buf_free(&path);
    return rc;
}

static int fill_files(struct unpacking *u, struct err *e)
{
    struct part_reader *reader = part_reader_create();
    int rc = 0;

    if (u->n_wants > 0)
        qsort(u->wants, u->n_wants, sizeof *u->wants, compare_wants);
    for (size_t i = 0, n; rc == 0 && i < u->n_wants; i += n) {
        for (n = 1; i + n < u->n_wants && u->wants[i + n].part == u->wants[i].part;)
            n++;
        rc = fill_from_part(u, &u->wants[i], n, reader, e);
    }
    part_reader_destroy(reader);
    return rc;
}

/* ---- links ---- */

/* Hard links come first: while there is no symlink yet, no target is reached through one. */
static int make_links(struct unpacking *u, struct err *e)
{
    for (int hard = 1; hard >= 0; hard--)
        for (size_t i = 0; i < u->n_links; i++) {
            const struct link *l = &u->links[i];
            struct stat st;
            int rc = 0;

            if (l->is_hard != (hard == 1))
                continue;
            if (l->is_hard && beneath_stat(u->dir_fd, l->target, &st) == 0 && !S_ISREG(st.st_mode))
                return err_set(e, ERR_PROTOCOL, "%s is a hard link to what is no file", l->path);
            rc = l->is_hard ? linkat(u->dir_fd, l->target, u->dir_fd, l->path, 0)
                            : beneath_make_link(l->target, u->dir_fd, l->path);
            if (rc < 0)
                return err_sys(e, "make the link %s", l->path);
        }
    return 0;
}

/* ---- the tree ---- */

static struct share_dir *open_packs(const struct share_dir *drive, const char *project,
                                    struct err *e)
{
    struct share_dir *packs;
    struct buf path = { 0 };

    layout_packs(&path, project);
    packs = share_open_dir(drive, buf_text(&path), e);
    buf_free(&path);
    return packs;
}

int unpack_tree(const struct share_dir *drive, const char *project, const struct digest *id,
                const char *to, struct pack_totals *totals, struct err *e)
{
    struct unpacking u = { .dir_fd = -1 };
    struct pack_source source = { &u, fetch };
    int rc = -1;

    u.packs = open_packs(drive, project, e);
    if (u.packs != NULL)
        u.reader = pack_open(&source, id, e);
    if (u.reader != NULL && mkdir(to, FOLDER_MODE) < 0)
        err_sys(e, "make %s", to);
    else if (u.reader != NULL)
        u.dir_fd = io_open_dir(to, e);
    if (u.dir_fd >= 0) {
        *totals = *pack_totals(u.reader);
        rc = make_entries(&u, e);
        if (rc == 0)
            rc = fill_files(&u, e);
        if (rc == 0)
            rc = make_links(&u, e);
        close(u.dir_fd);
    }
    pack_close(u.reader);
    share_close(u.packs);
    for (size_t i = 0; i < u.n_paths; i++)
        free(u.paths[i]);
    for (size_t i = 0; i < u.n_links; i++) {
        free(u.links[i].path);
        free(u.links[i].target);
    }
    free(u.paths);
    free(u.wants);
    free(u.links);
    return rc;
}
