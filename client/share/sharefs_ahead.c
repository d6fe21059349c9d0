/* SPDX-License-Identifier: MIT */
/* sharefs_ahead.c - answers of an SFTP server that were asked for before they are needed */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/share/sharefs_ahead.h"
#include "client/share/sharefs_way.h"
#include "common/base/path.h"

enum {
    ANSWERS_MAX = 4096,
    CONTENT_MAX_BYTES = 64 * 1024 * 1024, /* of all */
    FILE_MAX_BYTES = 1024 * 1024,         /* larger ones come fast enough by themselves */
    SLOTS = 1024
};

/* What is known, or asked, of a path. */
struct answer {
    struct sharefs_aheads *h;
    char *path;
    sharefs_wanted *wanted;
    void *context;
    bool is_due;       /* a reply */
    bool is_forgotten; /* it goes when nothing more is due */
    bool has_attrs, has_list, has_content;
    struct sftp_attrs attrs;
    struct arena *arena; /* of the entries; NULL until they are asked for */
    struct list entries; /* struct sftp_entry */
    struct buf content;
    size_t reserved_bytes; /* of h->content_bytes */
    struct err *error;     /* or NULL */
    struct answer *next;   /* in its slot */
};

struct sharefs_aheads {
    struct sftp *s;
    char *root;
    struct answer *slots[SLOTS];
    size_t n;
    size_t content_bytes;
};

struct sharefs_entry sharefs_entry_of(const char *name, const struct sftp_attrs *attrs)
{
    mode_t mode = attrs->has & SFTP_MODE ? attrs->mode : 0;
    bool is_large = attrs->size_bytes > INT64_MAX;

    return (struct sharefs_entry){ .name = name,
                                   .kind = sharefs_kind_of(mode),
                                   .size = is_large ? INT64_MAX : (int64_t)attrs->size_bytes,
                                   .mtime_s = attrs->mtime_s,
                                   .executable = (mode & S_IXUSR) != 0 };
}

/* --- answers by path ----------------------------------------------------------------- */

static struct answer **slot_of(struct sharefs_aheads *h, const char *path)
{
    uint32_t hash = 2166136261;

    for (const char *c = path; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619;
    return &h->slots[hash % SLOTS];
}

static struct answer **find(struct sharefs_aheads *h, const char *path)
{
    struct answer **at = slot_of(h, path);

    while (*at != NULL && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

static struct answer *add(struct sharefs_aheads *h, const char *path, sharefs_wanted *wanted,
                          void *context)
{
    struct answer **at = find(h, path), *a;

    if (*at != NULL || h->n >= ANSWERS_MAX)
        return NULL;
    a = mem_alloc(sizeof *a);
    *a = (struct answer){ .h = h, .path = mem_strdup(path), .wanted = wanted, .context = context };
    *at = a;
    h->n++;
    return a;
}

static void drop(struct sharefs_aheads *h, const char *path)
{
    struct answer **at = find(h, path), *a = *at;

    if (a == NULL)
        return;
    *at = a->next;
    h->n--;
    h->content_bytes -= a->reserved_bytes;
    buf_free(&a->content);
    arena_destroy(a->arena);
    free(a->error);
    free(a->path);
    free(a);
}

/* --- asking -------------------------------------------------------------------------- */

static void start(struct answer *a, struct sftp_op *op, sftp_done *done)
{
    char *whole = mem_printf("%s/%s", a->h->root, a->path);

    op->path = whole;
    /* What is not asked ahead is asked when it is needed. */
    a->is_due = sftp_start(a->h->s, op, done, a, NULL) == 0;
    free(whole);
}

static bool keep_error(struct answer *a, const struct err *error)
{
    if (error == NULL)
        return false;
    a->error = mem_alloc(sizeof *a->error);
    *a->error = *error;
    return true;
}

/* The reply that was due; NULL: nobody wants it any more. */
static struct answer *arrived(void *context)
{
    struct answer *a = context;

    a->is_due = false;
    if (!a->is_forgotten)
        return a;
    drop(a->h, a->path);
    return NULL;
}

static void on_content(void *context, const struct sftp_answer *answer)
{
    struct answer *a = arrived(context);

    if (a == NULL)
        return;
    /* One that has grown too large meanwhile comes in the usual way. */
    if (answer->error != NULL && answer->error->kind == ERR_USAGE)
        return;
    if (keep_error(a, answer->error))
        return;
    if (answer->text != NULL)
        buf_add_str(&a->content, answer->text);
    else
        buf_add(&a->content, answer->content.data, answer->content.n);
    a->has_content = true;
}

static void ask_file(struct answer *a)
{
    struct sharefs_aheads *h = a->h;
    struct sftp_op op = { .kind = SFTP_OP_GET, .max_bytes = FILE_MAX_BYTES };

    if (a->attrs.size_bytes > FILE_MAX_BYTES ||
        h->content_bytes + a->attrs.size_bytes > CONTENT_MAX_BYTES)
        return;
    a->reserved_bytes = (size_t)a->attrs.size_bytes;
    h->content_bytes += a->reserved_bytes;
    start(a, &op, on_content);
}

static void on_list(void *context, const struct sftp_answer *answer);

static bool is_wanted(const struct answer *a, const char *path, const struct sharefs_entry *entry)
{
    return entry->kind != SHAREFS_FILE || a->wanted == NULL || a->wanted(a->context, path, entry);
}

/* When it is known what a path is. */
static void ask_on(struct answer *a)
{
    struct sharefs_entry entry = sharefs_entry_of(path_basename(a->path), &a->attrs);

    if (!(a->attrs.has & SFTP_MODE) || !is_wanted(a, a->path, &entry))
        return;
    if (entry.kind == SHAREFS_FILE) {
        ask_file(a);
    } else if (entry.kind == SHAREFS_FOLDER) {
        a->arena = arena_create();
        start(a, &(struct sftp_op){ .kind = SFTP_OP_LIST, .arena = a->arena }, on_list);
    } else if (entry.kind == SHAREFS_LINK) {
        start(a, &(struct sftp_op){ .kind = SFTP_OP_READ_LINK }, on_content);
    }
}

static void ask_entry(const struct answer *folder, const struct sftp_entry *item)
{
    char *path = path_join(folder->path, item->name);
    struct sharefs_entry entry = sharefs_entry_of(item->name, &item->attrs);
    struct answer *a = NULL;

    if ((item->attrs.has & SFTP_MODE) && is_wanted(folder, path, &entry))
        a = add(folder->h, path, folder->wanted, folder->context);
    if (a != NULL) {
        a->attrs = item->attrs;
        a->has_attrs = true;
        ask_on(a);
    }
    free(path);
}

static void on_list(void *context, const struct sftp_answer *answer)
{
    struct answer *a = arrived(context);
    const struct sftp_entry *items = answer->entries.items;

    if (a == NULL || keep_error(a, answer->error))
        return;
    a->entries = answer->entries;
    a->has_list = true;
    for (size_t i = 0; i < a->entries.n; i++)
        ask_entry(a, &items[i]);
}

static void on_attrs(void *context, const struct sftp_answer *answer)
{
    struct answer *a = arrived(context);

    if (a == NULL || keep_error(a, answer->error))
        return;
    a->attrs = answer->attrs;
    a->has_attrs = true;
    ask_on(a);
}

void sharefs_aheads_begin(struct sharefs_aheads *h, const char *path, sharefs_wanted *wanted,
                          void *context)
{
    struct answer *a = add(h, path, wanted, context);

    if (a != NULL)
        start(a, &(struct sftp_op){ .kind = SFTP_OP_LSTAT }, on_attrs);
}

/* --- handing out --------------------------------------------------------------------- */

static int give_error(struct sharefs_aheads *h, struct answer *a, struct err *e)
{
    err_set(e, a->error->kind, "%s", a->error->text);
    drop(h, a->path);
    return -1;
}

/* The answer when nothing more of it is due, or its attributes are known; NULL: there is none. */
static struct answer *settle(struct sharefs_aheads *h, const char *path, bool attrs_do)
{
    struct answer *a;

    /* One that was forgotten goes while it is waited for. */
    while ((a = *find(h, path)) != NULL && a->is_due && !(attrs_do && a->has_attrs))
        (void)sftp_wait(h->s, NULL);
    return a;
}

int sharefs_aheads_stat(struct sharefs_aheads *h, const char *path, struct sftp_attrs *attrs,
                        struct err *e)
{
    struct answer *a = settle(h, path, true);

    if (a == NULL)
        return 0;
    if (!a->has_attrs)
        return a->error != NULL ? give_error(h, a, e) : 0;
    *attrs = a->attrs;
    return 1;
}

int sharefs_aheads_list(struct sharefs_aheads *h, const char *path, struct arena *arena,
                        struct list *entries, struct err *e)
{
    struct answer *a = settle(h, path, false);
    struct sftp_entry *items;

    if (a != NULL && a->error != NULL)
        return give_error(h, a, e);
    if (a == NULL || !a->has_list)
        return 0;
    items = arena_alloc(arena, a->entries.n * sizeof *items);
    *entries = (struct list){ items, a->entries.n };
    for (size_t i = 0; i < a->entries.n; i++) {
        items[i] = ((const struct sftp_entry *)a->entries.items)[i];
        items[i].name = arena_strdup(arena, items[i].name);
    }
    drop(h, path);
    return 1;
}

int sharefs_aheads_content(struct sharefs_aheads *h, const char *path, struct buf *content,
                           struct err *e)
{
    struct answer *a = settle(h, path, false);
    bool has_content;

    if (a != NULL && a->error != NULL)
        return give_error(h, a, e);
    if (a == NULL)
        return 0;
    has_content = a->has_content;
    if (has_content) {
        *content = a->content;
        a->content = (struct buf){ 0 };
    }
    drop(h, path);
    return has_content;
}

void sharefs_aheads_forget(struct sharefs_aheads *h, const char *path)
{
    struct answer *a = *find(h, path);

    if (a == NULL)
        return;
    if (a->is_due)
        a->is_forgotten = true;
    else
        drop(h, path);
}

/* --- the beginning and the end ------------------------------------------------------------ */

struct sharefs_aheads *sharefs_aheads_create(struct sftp *s, const char *root)
{
    struct sharefs_aheads *h = mem_alloc(sizeof *h);

    h->s = s;
    h->root = mem_strdup(root);
    return h;
}

void sharefs_aheads_free(struct sharefs_aheads *h)
{
    (void)sftp_finish(h->s, NULL);
    for (size_t i = 0; i < SLOTS; i++)
        while (h->slots[i] != NULL)
            drop(h, h->slots[i]->path);
    free(h->root);
    free(h);
}
