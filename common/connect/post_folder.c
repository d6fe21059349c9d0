/* SPDX-License-Identifier: MIT */
/* post_folder.c - inbox and outbox on a share that is mounted here */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/connect/courier.h"
#include "common/connect/post.h"
#include "common/proto/layout.h"

struct folder_post {
    struct post post;
    char *share;
    char *inbox; /* the user's */
    char *outbox;
};

static struct folder_post *of(struct post *p)
{
    return (struct folder_post *)p;
}

static int read_id(struct post *p, struct buf *out, struct err *e)
{
    char *path = mem_printf("%s/%s/%s", of(p)->share, LAYOUT_SERVER_DIR, SHAREID_NAME);
    int rc = io_read_file(path, SHAREID_MAX_BYTES, out, e);

    free(path);
    return rc;
}

static int find_inbox(struct post *p, struct err *e)
{
    struct folder_post *f = of(p);
    struct stat st;

    p->uid = geteuid();
    free(f->inbox);
    f->inbox = mem_printf("%s/%s/%u", f->share, POST_INBOX, p->uid);
    f->post.fd = open(f->inbox, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->post.fd < 0 && errno == ENOENT)
        return post_no_folder(f->inbox, "$USER", e);
    if (f->post.fd < 0 || fstat(f->post.fd, &st) < 0)
        return err_sys(e, "inbox %s", f->inbox);
    return post_check_folder(p, f->inbox, st.st_uid, st.st_mode, e);
}

/* ---- a turn ---- */

/* No sync: whoever wrote it asks again if the machine dies. */
static int put(struct folder_post *f, const struct post_file *file, struct err *e)
{
    char temporary[PARCEL_NAME_BYTES + sizeof PARCEL_TEMPORARY] = PARCEL_TEMPORARY;

    memcpy(temporary + strlen(PARCEL_TEMPORARY), file->name, strlen(file->name) + 1);
    if (io_write_file_at(f->post.fd, temporary, file->content.bytes, file->content.n,
                         f->post.file_mode, e) < 0)
        return err_wrap(e, "inbox %s", f->inbox);
    if (renameat(f->post.fd, temporary, f->post.fd, file->name) < 0)
        return err_sys(e, "inbox %s: rename %s", f->inbox, file->name);
    return 0;
}

/* A client of NFS believes for a while what it knows of a folder, and looks again when that is
 * opened.  Where it may not be read, names must do. */
static int open_outbox(const struct folder_post *f)
{
    int fd = open(f->outbox, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

#ifdef O_PATH
    if (fd < 0 && errno == EACCES)
        fd = open(f->outbox, O_PATH | O_DIRECTORY | O_CLOEXEC);
#endif
    return fd;
}

static int get(const struct folder_post *f, int dir_fd, struct post_file *file, struct err *e)
{
    struct err why = { 0 };

    if (io_read_file_at(dir_fd, file->name, PARCEL_MAX_BYTES, &file->content, &why) == 0)
        file->is_there = true;
    else if (why.kind != ERR_NOT_FOUND)
        return err_set(e, why.kind, "outbox %s: %s", f->outbox, why.text);
    return 0;
}

static int get_all(const struct folder_post *f, struct post_files *files, struct err *e)
{
    int fd, rc = 0;

    if (files->n == 0)
        return 0;
    fd = open_outbox(f);
    if (fd < 0)
        return err_sys(e, "outbox %s", f->outbox);
    for (size_t i = 0; i < files->n && rc == 0; i++)
        rc = get(f, fd, &files->items[i], e);
    close(fd);
    return rc;
}

static int turn(struct post *p, struct post_turn *t, struct err *e)
{
    struct folder_post *f = of(p);

    for (size_t i = 0; i < t->put.n; i++)
        if (put(f, &t->put.items[i], e) < 0)
            return -1;
    for (size_t i = 0; i < t->drop.n; i++)
        if (unlinkat(f->post.fd, t->drop.items[i].name, 0) < 0 && errno != ENOENT)
            return err_sys(e, "inbox %s: remove %s", f->inbox, t->drop.items[i].name);
    if (t->wants_id && read_id(p, &t->id, NULL) < 0)
        buf_clear(&t->id);
    return get_all(f, &t->get, e);
}

/* ---- leftovers ---- */

/* Of the folder's own clock, which may not be ours. */
static int64_t folder_now_ms(struct folder_post *f)
{
    static const char name[] = ".clock";
    struct stat st = { 0 };

    if (io_write_file_at(f->post.fd, name, "", 0, 0600, NULL) < 0 ||
        fstatat(f->post.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    (void)unlinkat(f->post.fd, name, 0);
    return (int64_t)st.st_mtime * 1000;
}

static void sweep_one(struct folder_post *f, const char *name, int64_t now_ms)
{
    struct token conn;
    struct stat st;
    int64_t seq;
    bool is_temporary;

    if (parcel_parse_inbox_name(name, &conn, &seq, &is_temporary) == 0 &&
        fstatat(f->post.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (int64_t)st.st_mtime * 1000 < now_ms - PARCEL_STALE_MS)
        (void)unlinkat(f->post.fd, name, 0);
}

static void sweep(struct post *p)
{
    struct folder_post *f = of(p);
    int64_t now_ms = folder_now_ms(f);
    DIR *dir = opendir(f->inbox);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        sweep_one(f, entry->d_name, now_ms);
    if (dir != NULL)
        closedir(dir);
}

static void close_post(struct post *p)
{
    struct folder_post *f = of(p);

    if (f->post.fd >= 0)
        close(f->post.fd);
    free(f->share);
    free(f->inbox);
    free(f->outbox);
    free(f);
}

static const struct post_way way = { read_id, find_inbox, turn, sweep, close_post };

struct courier *courier_over_folder(const char *share, struct err *e)
{
    struct folder_post *f = mem_alloc(sizeof *f);

    *f = (struct folder_post){ .post = { .way = &way, .fd = -1 },
                               .share = mem_strdup(share),
                               .outbox = path_join(share, POST_OUTBOX) };
    return courier_create(&f->post, e);
}
