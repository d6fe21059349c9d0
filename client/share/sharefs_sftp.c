/* SPDX-License-Identifier: MIT */
/* sharefs_sftp.c - files below the shared drive, over SFTP */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/share/sharefs_ahead.h"
#include "client/share/sharefs_way.h"
#include "common/base/path.h"
#include "common/sftp/sftp.h"

struct remote {
    struct sharefs fs;
    struct sftp *s;
    char *root;
    struct sharefs_aheads *aheads;
};

/* What was brought ahead is all there; else there is a file on the server. */
struct remote_file {
    struct sharefs_file file;
    struct sftp_file *there;
    struct buf content;
};

static const struct sharefs_way way;

static struct remote *remote_of(struct sharefs *fs)
{
    return (struct remote *)(void *)fs;
}

struct sharefs *sharefs_open_sftp(struct sftp *s, const char *root)
{
    struct remote *r = mem_alloc(sizeof *r);

    *r = (struct remote){
        .fs = { &way }, .s = s, .root = mem_strdup(root), .aheads = sharefs_aheads_create(s, root)
    };
    return &r->fs;
}

static void remote_close(struct sharefs *fs)
{
    struct remote *r = remote_of(fs);

    sharefs_aheads_free(r->aheads);
    free(r->root);
    free(r);
}

static char *remote_path(const struct remote *r, const char *path)
{
    return mem_printf("%s/%s", r->root, path);
}

static char *remote_where(const struct sharefs *fs, const char *path)
{
    const struct remote *r = (const struct remote *)(const void *)fs;

    return mem_printf("%s/%s on the server", r->root, path);
}

static int lstat_there(struct remote *r, const char *path, struct sftp_attrs *attrs, struct err *e)
{
    char *whole = remote_path(r, path);
    int result = sftp_lstat(r->s, whole, attrs, e);

    free(whole);
    return result;
}

static int remote_stat(struct sharefs *fs, const char *path, struct sharefs_entry *entry,
                       struct err *e)
{
    struct remote *r = remote_of(fs);
    struct sftp_attrs attrs;
    int result = sharefs_aheads_stat(r->aheads, path, &attrs, e);

    if (result == 0)
        result = lstat_there(r, path, &attrs, e) < 0 ? -1 : 1;
    if (result < 0)
        return -1;
    *entry = sharefs_entry_of(path_basename(path), &attrs);
    return 0;
}

static int list_there(struct remote *r, const char *path, struct arena *a, struct list *found,
                      struct err *e)
{
    char *whole = remote_path(r, path);
    int result = sftp_list(r->s, whole, a, found, e);

    free(whole);
    return result;
}

/* Some servers do not say what it is they list.  What went away meanwhile is left out. */
static bool complete(struct remote *r, const char *folder, struct sftp_entry *entry)
{
    char *path;
    bool is_there;

    if (entry->attrs.has & SFTP_MODE)
        return true;
    path = path_join(folder, entry->name);
    is_there = lstat_there(r, path, &entry->attrs, NULL) == 0;
    free(path);
    return is_there;
}

static int remote_list(struct sharefs *fs, const char *path, struct arena *a, struct list *entries,
                       struct err *e)
{
    struct remote *r = remote_of(fs);
    struct sharefs_entry *kept;
    struct list found;
    struct sftp_entry *items;
    int result = sharefs_aheads_list(r->aheads, path, a, &found, e);

    if (result == 0)
        result = list_there(r, path, a, &found, e);
    if (result < 0)
        return -1;
    items = found.items;
    kept = arena_alloc(a, found.n * sizeof *kept);
    *entries = (struct list){ kept, 0 };
    for (size_t i = 0; i < found.n; i++)
        if (complete(r, path, &items[i]))
            kept[entries->n++] = sharefs_entry_of(items[i].name, &items[i].attrs);
    return 0;
}

static const char *remote_read_link(struct sharefs *fs, const char *path, struct arena *a,
                                    struct err *e)
{
    struct remote *r = remote_of(fs);
    struct buf content = { 0 };
    const char *target = NULL;
    char *whole, *text;

    if (sharefs_aheads_content(r->aheads, path, &content, NULL) > 0) {
        target = arena_strndup(a, buf_text(&content), content.n);
        buf_free(&content);
        return target;
    }
    whole = remote_path(r, path);
    text = sftp_read_link(r->s, whole, e);
    if (text != NULL)
        target = arena_strdup(a, text);
    free(text);
    free(whole);
    return target;
}

static struct remote_file *file_of(struct sharefs_file *f)
{
    return (struct remote_file *)(void *)f;
}

/* SFTP can neither refuse links nor open without waiting for a fifo's writer: looked at before, which
 * whoever may write there can outwit; that harms only those who then read what they may. */
static int check_regular(struct remote *r, const char *path, struct err *e)
{
    struct sftp_attrs attrs;

    if (lstat_there(r, path, &attrs, e) < 0)
        return -1;
    if ((attrs.has & SFTP_MODE) && S_ISREG(attrs.mode))
        return 0;
    return err_set(e, ERR_FAILED, "%s/%s on the server is no regular file", r->root, path);
}

static struct sftp_file *open_there(struct remote *r, const char *path, struct err *e)
{
    struct sftp_file *f;
    char *whole;

    if (check_regular(r, path, e) < 0)
        return NULL;
    whole = remote_path(r, path);
    f = sftp_file_open(r->s, whole, SFTP_READ, 0, e);
    free(whole);
    return f;
}

static struct sharefs_file *remote_file_open(struct sharefs *fs, const char *path, struct err *e)
{
    struct remote *r = remote_of(fs);
    struct remote_file *f = mem_alloc(sizeof *f);
    int result = sharefs_aheads_content(r->aheads, path, &f->content, e);

    f->file.way = &way;
    if (result == 0)
        f->there = open_there(r, path, e);
    if (result > 0 || f->there != NULL)
        return &f->file;
    free(f);
    return NULL;
}

static ssize_t read_content(const struct buf *content, int64_t offset, void *bytes, size_t n)
{
    size_t left = offset < (int64_t)content->n ? content->n - (size_t)offset : 0;

    n = n < left ? n : left;
    if (n > 0)
        memcpy(bytes, content->bytes + offset, n);
    return (ssize_t)n;
}

static ssize_t remote_file_read(struct sharefs_file *file, int64_t offset, void *bytes, size_t n,
                                struct err *e)
{
    struct remote_file *f = file_of(file);

    if (f->there == NULL)
        return read_content(&f->content, offset, bytes, n);
    return sftp_file_read(f->there, (uint64_t)offset, bytes, n, e);
}

static int remote_file_size(struct sharefs_file *file, int64_t *size_bytes, struct err *e)
{
    struct remote_file *f = file_of(file);
    struct sftp_attrs attrs;

    if (f->there == NULL) {
        *size_bytes = (int64_t)f->content.n;
        return 0;
    }
    if (sftp_file_stat(f->there, &attrs, e) < 0)
        return -1;
    if (!(attrs.has & SFTP_SIZE) || attrs.size_bytes > INT64_MAX)
        return err_set(e, ERR_PROTOCOL, "the SFTP server does not tell the size of a file");
    *size_bytes = (int64_t)attrs.size_bytes;
    return 0;
}

static void remote_file_close(struct sharefs_file *file)
{
    struct remote_file *f = file_of(file);

    (void)sftp_file_close(f->there, NULL);
    buf_free(&f->content);
    free(f);
}

static int remote_watch(const struct sharefs *fs, const char *path)
{
    (void)fs;
    (void)path;
    return -1;
}

static void remote_ahead(struct sharefs *fs, const char *path, sharefs_wanted *wanted,
                         void *context)
{
    sharefs_aheads_begin(remote_of(fs)->aheads, path, wanted, context);
}

static void remote_forget(struct sharefs *fs, const char *path)
{
    sharefs_aheads_forget(remote_of(fs)->aheads, path);
}

static const struct sharefs_way way = {
    .close = remote_close,
    .where = remote_where,
    .stat = remote_stat,
    .list = remote_list,
    .read_link = remote_read_link,
    .file_open = remote_file_open,
    .file_read = remote_file_read,
    .file_size = remote_file_size,
    .file_close = remote_file_close,
    .watch = remote_watch,
    .ahead = remote_ahead,
    .forget = remote_forget,
};
