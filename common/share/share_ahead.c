/* SPDX-License-Identifier: MIT */
/* share_ahead.c - sends requests to an SFTP server before their replies are needed */

#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"
#include "common/share/share_internal.h"

enum {
    ANSWERS_MAX = 4096,
    CONTENT_MAX_BYTES = 64 * 1024 * 1024, /* of all answers together */
    FILE_MAX_BYTES = 1024 * 1024,         /* larger files read fast enough without this */
    SLOTS = 1024
};

/* The server's replies about a path, arrived or expected. */
struct answer {
    struct share_ahead *h;
    char *path; /* on the server */
    size_t top; /* offset in path of the caller's path, which wanted gets */
    share_wanted *wanted;
    void *context;
    bool is_due;       /* a request was sent, and its reply has not come */
    bool is_forgotten; /* share_forget was called: the answer is dropped when its reply comes */
    bool has_attrs, has_list, has_content;
    struct sftp_attrs attrs;
    struct arena *arena; /* holds the entries; NULL until they are asked for */
    struct list entries; /* struct sftp_entry */
    struct buf content;
    size_t reserved_bytes; /* this answer's part of h->content_bytes */
    struct err error;
    struct answer *next; /* the next answer in the same slot */
};

struct share_ahead {
    struct sftp *s;
    struct answer *slots[SLOTS];
    size_t n;
    size_t content_bytes;
};

/* ---- answers by path ---- */

static struct answer **find_answer(struct share_ahead *h, const char *path)
{
    uint32_t hash = 2166136261;
    struct answer **at;

    for (const char *c = path; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619;
    at = &h->slots[hash % SLOTS];
    while (*at != NULL && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

/* Adds an empty answer with top, wanted and context of `like`; owns path.  NULL: the path has an
 * answer already, or there are too many. */
static struct answer *add_answer(struct share_ahead *h, char *path, const struct answer *like)
{
    struct answer **at = find_answer(h, path), *a;

    if (*at != NULL || h->n >= ANSWERS_MAX) {
        free(path);
        return NULL;
    }
    a = mem_alloc(sizeof *a);
    *a = (struct answer){
        .h = h, .path = path, .top = like->top, .wanted = like->wanted, .context = like->context
    };
    *at = a;
    h->n++;
    return a;
}

static void drop_answer(struct answer *a)
{
    struct share_ahead *h = a->h;

    *find_answer(h, a->path) = a->next;
    h->n--;
    h->content_bytes -= a->reserved_bytes;
    buf_free(&a->content);
    arena_destroy(a->arena);
    free(a->path);
    free(a);
}

/* ---- asking ---- */

/* Starts a request for the answer.  If that fails, share_stat and others send their own request. */
static void start_answer(struct answer *a, struct sftp_op *op, sftp_done *done)
{
    op->path = a->path;
    a->is_due = sftp_start(a->h->s, op, done, a, NULL) == 0;
}

/* Records that the reply has come.  False: the reply is an error, or the answer was forgotten and
 * is dropped now. */
static bool has_arrived(struct answer *a, const struct err *error)
{
    a->is_due = false;
    if (error != NULL)
        a->error = *error;
    if (!a->is_forgotten)
        return error == NULL;
    drop_answer(a);
    return false;
}

static void on_content(void *context, const struct sftp_answer *reply)
{
    struct answer *a = context;
    /* A file that has become too large meanwhile is read in the usual way. */
    bool is_large = reply->error != NULL && reply->error->kind == ERR_USAGE;

    if (!has_arrived(a, is_large ? NULL : reply->error) || is_large)
        return;
    if (reply->text != NULL)
        buf_add_str(&a->content, reply->text);
    else
        buf_add(&a->content, reply->content.data, reply->content.n);
    a->has_content = true;
}

static void on_entries(void *context, const struct sftp_answer *reply);

static bool is_wanted(const struct answer *a, const char *path, const struct sftp_attrs *attrs)
{
    struct share_stat st = share_stat_of_attrs(attrs);

    return st.type != SHARE_FILE || a->wanted == NULL || a->wanted(a->context, path + a->top, &st);
}

/* Requests the content of a path whose attributes have come: a file's bytes, a folder's entries, a
 * symlink's target. */
static void ask_on(struct answer *a)
{
    struct share_ahead *h = a->h;

    a->has_attrs = true;
    if (!(a->attrs.has & SFTP_MODE) || !is_wanted(a, a->path, &a->attrs))
        return;
    if (S_ISREG(a->attrs.mode)) {
        if (a->attrs.size_bytes > FILE_MAX_BYTES ||
            h->content_bytes + a->attrs.size_bytes > CONTENT_MAX_BYTES)
            return;
        a->reserved_bytes = (size_t)a->attrs.size_bytes;
        h->content_bytes += a->reserved_bytes;
        start_answer(a, &(struct sftp_op){ .kind = SFTP_OP_GET, .max_bytes = FILE_MAX_BYTES },
                     on_content);
    } else if (S_ISDIR(a->attrs.mode)) {
        a->arena = arena_create();
        start_answer(a, &(struct sftp_op){ .kind = SFTP_OP_LIST, .arena = a->arena }, on_entries);
    } else if (S_ISLNK(a->attrs.mode)) {
        start_answer(a, &(struct sftp_op){ .kind = SFTP_OP_READ_LINK }, on_content);
    }
}

static void on_entries(void *context, const struct sftp_answer *reply)
{
    struct answer *folder = context;
    const struct sftp_entry *items = reply->entries.items;

    if (!has_arrived(folder, reply->error))
        return;
    folder->entries = reply->entries;
    folder->has_list = true;
    for (size_t i = 0; i < folder->entries.n; i++) {
        char *path = path_join(folder->path, items[i].name);
        struct answer *a;

        if (!(items[i].attrs.has & SFTP_MODE) || !is_wanted(folder, path, &items[i].attrs)) {
            free(path);
            continue;
        }
        a = add_answer(folder->h, path, folder);
        if (a != NULL) {
            a->attrs = items[i].attrs;
            ask_on(a);
        }
    }
}

static void on_attrs(void *context, const struct sftp_answer *reply)
{
    struct answer *a = context;

    if (!has_arrived(a, reply->error))
        return;
    a->attrs = reply->attrs;
    ask_on(a);
}

void share_ahead(const struct share_dir *at, const char *path, share_wanted *wanted, void *context)
{
    struct answer like = { .wanted = wanted, .context = context }, *a;
    char *full;

    if (at->fd >= 0 || share_check_path(at, path, NULL) < 0)
        return;
    if (at->line->ahead == NULL) {
        at->line->ahead = mem_alloc(sizeof *at->line->ahead);
        at->line->ahead->s = at->line->sftp;
    }
    full = share_sftp_path(at, path);
    like.top = strlen(full) - strlen(path);
    a = add_answer(at->line->ahead, full, &like);
    if (a != NULL)
        start_answer(a, &(struct sftp_op){ .kind = SFTP_OP_LSTAT }, on_attrs);
}

/* ---- giving answers ---- */

/* Waits for the replies of the path's answer, or with attrs_do only for its attributes.  NULL: the
 * path has no answer. */
static struct answer *await_answer(const struct share_dir *at, const char *path, bool attrs_do)
{
    struct share_ahead *h = at->line->ahead;
    struct answer *a;
    char *full;

    if (h == NULL || h->n == 0)
        return NULL;
    full = share_sftp_path(at, path);
    /* A forgotten answer is freed when its reply comes, so it is looked up again each time. */
    while ((a = *find_answer(h, full)) != NULL && a->is_due && !(attrs_do && a->has_attrs))
        (void)sftp_wait(h->s, NULL);
    free(full);
    return a;
}

static int give_error(struct answer *a, struct err *e)
{
    share_sftp_fail(&a->error, e);
    drop_answer(a);
    return -1;
}

int share_ahead_stat(const struct share_dir *at, const char *path, struct share_stat *st,
                     struct err *e)
{
    struct answer *a = await_answer(at, path, true);

    if (a == NULL)
        return 0;
    if (!a->has_attrs)
        return a->error.kind != ERR_NONE ? give_error(a, e) : 0;
    *st = share_stat_of_attrs(&a->attrs);
    return 1;
}

int share_ahead_list(const struct share_dir *at, const char *path, struct arena *arena,
                     struct list *entries, struct err *e)
{
    struct answer *a = await_answer(at, path, false);
    struct sftp_entry *items;

    if (a != NULL && a->error.kind != ERR_NONE)
        return give_error(a, e);
    if (a == NULL || !a->has_list)
        return 0;
    items = arena_alloc(arena, a->entries.n * sizeof *items);
    *entries = (struct list){ items, a->entries.n };
    for (size_t i = 0; i < a->entries.n; i++) {
        items[i] = ((const struct sftp_entry *)a->entries.items)[i];
        items[i].name = arena_strdup(arena, items[i].name);
    }
    drop_answer(a);
    return 1;
}

int share_ahead_content(const struct share_dir *at, const char *path, struct buf *content,
                        struct err *e)
{
    struct answer *a = await_answer(at, path, false);
    bool has_content;

    if (a != NULL && a->error.kind != ERR_NONE)
        return give_error(a, e);
    if (a == NULL)
        return 0;
    has_content = a->has_content;
    if (has_content) {
        *content = a->content;
        a->content = (struct buf){ 0 };
    }
    drop_answer(a);
    return has_content;
}

void share_forget(const struct share_dir *at, const char *path)
{
    struct answer *a;
    char *full;

    if (at->fd >= 0 || at->line->ahead == NULL)
        return;
    full = share_sftp_path(at, path);
    a = *find_answer(at->line->ahead, full);
    free(full);
    if (a != NULL && a->is_due)
        a->is_forgotten = true;
    else if (a != NULL)
        drop_answer(a);
}

void share_ahead_free(struct share_ahead *h)
{
    if (h == NULL)
        return;
    (void)sftp_finish(h->s, NULL);
    for (size_t i = 0; i < SLOTS; i++)
        while (h->slots[i] != NULL)
            drop_answer(h->slots[i]); /* NOLINT(clang-analyzer-unix.Malloc): it leaves the slot */
    free(h);
}
