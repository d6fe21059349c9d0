/* SPDX-License-Identifier: MIT */
/* sftp_root.c - where a server's SFTP shows the shared drive */
#include <stdlib.h>
#include <string.h>

#include "common/proto/layout.h"
#include "common/proto/shareid.h"
#include "common/sftp/sftp_root.h"

enum { TOP_MAX = 1000 };

/* A folder that may be the drive, and what it turned out to be. */
struct candidate {
    struct search *search;
    const char *path;
    enum { ABSENT, UNREADABLE, FOREIGN, RIGHT } finding;
    struct err why; /* UNREADABLE */
};

struct search {
    const char *server_id;
    struct candidate *candidates; /* the longest path first */
    size_t n;
    size_t n_due; /* answers */
};

struct sftp_root {
    struct sftp *s;
    struct search usual;
    const char *share;
    struct err why; /* why not all was asked */
};

/* ---- candidates ---- */

static size_t count_slashes(const char *path)
{
    size_t n = 0;

    for (; *path != '\0'; path++)
        n += *path == '/';
    return n;
}

static void add(struct search *search, const char *path)
{
    search->candidates[search->n++] = (struct candidate){ .search = search, .path = path };
}

/* "/srv/x": "/srv/x", "/x" and "". */
static struct list find_candidates(const char *share, struct arena *a)
{
    char *path = arena_strdup(a, share);
    size_t n = strlen(path), count = 0;
    const char **all;

    while (n > 0 && path[n - 1] == '/')
        path[--n] = '\0';
    all = arena_alloc(a, (count_slashes(path) + 1) * sizeof *all);
    for (const char *at = path; at != NULL && *at == '/'; at = strchr(at + 1, '/'))
        all[count++] = at;
    all[count++] = "";
    return (struct list){ all, count };
}

static void add_all(struct search *search, const char *share, struct arena *a)
{
    struct list paths = find_candidates(share, a);
    const char *const *all = paths.items;

    search->candidates = arena_alloc(a, paths.n * sizeof *search->candidates);
    for (size_t i = 0; i < paths.n; i++)
        add(search, all[i]);
}

/* ---- asking ---- */

static bool names_server(struct bytes file, const char *server_id)
{
    struct arena *a = arena_create();
    struct shareid id;
    bool is_named = shareid_decode(&id, file, a, NULL) == 0 && strcmp(id.server, server_id) == 0;

    arena_destroy(a);
    return is_named;
}

static void on_mark(void *context, const struct sftp_answer *answer)
{
    struct candidate *c = context;

    c->search->n_due--;
    if (answer->error == NULL)
        c->finding = RIGHT;
}

static void on_id(void *context, const struct sftp_answer *answer)
{
    struct candidate *c = context;

    c->search->n_due--;
    if (answer->error == NULL) {
        c->finding = names_server(answer->content, c->search->server_id) ? RIGHT : FOREIGN;
    } else if (answer->error->kind != ERR_NOT_FOUND) {
        c->finding = UNREADABLE;
        c->why = *answer->error;
    }
}

static int ask(struct sftp *s, struct candidate *c, const char *name, struct sftp_op op,
               sftp_done *done, struct err *e)
{
    char *path = mem_printf("%s/" LAYOUT_SERVER_DIR "/%s", c->path, name);
    int result;

    op.path = path;
    c->search->n_due++;
    result = sftp_start(s, &op, done, c, e);
    if (result < 0)
        c->search->n_due--;
    free(path);
    return result;
}

static int ask_for_marks(struct sftp *s, struct search *search, struct err *e)
{
    char *mark = shareid_mark(search->server_id);
    int result = 0;

    for (size_t i = 0; i < search->n && result == 0; i++)
        result = ask(s, &search->candidates[i], mark, (struct sftp_op){ .kind = SFTP_OP_LSTAT },
                     on_mark, e);
    free(mark);
    return result;
}

static int ask_for_ids(struct sftp *s, struct search *search, struct err *e)
{
    const struct sftp_op op = { .kind = SFTP_OP_GET, .max_bytes = SHAREID_MAX_BYTES };

    for (size_t i = 0; i < search->n; i++)
        if (ask(s, &search->candidates[i], SHAREID_NAME, op, on_id, e) < 0)
            return -1;
    return 0;
}

/* Nobody may be called who finds the search gone. */
static int wait_for_answers(struct sftp *s, const struct search *search, struct err *e)
{
    int result = 0;

    while (search->n_due > 0)
        result = sftp_wait(s, e);
    return result;
}

/* What the marks did not tell. */
static int read_ids(struct sftp *s, struct search *search, struct err *e)
{
    int result = ask_for_ids(s, search, e);

    return wait_for_answers(s, search, result == 0 ? e : NULL) < 0 ? -1 : result;
}

static const struct candidate *find(const struct search *search, int finding)
{
    for (size_t i = 0; i < search->n; i++)
        if ((int)search->candidates[i].finding == finding)
            return &search->candidates[i];
    return NULL;
}

static const char *shown(const struct candidate *c)
{
    return c->path[0] != '\0' ? c->path : "/";
}

static int say_not_found(const struct search *search, const char *share, struct err *e)
{
    const struct candidate *foreign = find(search, FOREIGN);
    const struct candidate *unreadable = find(search, UNREADABLE);

    if (foreign != NULL)
        return err_set(e, ERR_NOT_FOUND,
                       "SFTP shows the shared drive of another server at %s, and not this one's, "
                       "which is %s there",
                       shown(foreign), share);
    if (unreadable != NULL)
        return err_set(e, unreadable->why.kind,
                       "SFTP does not show the shared drive, which is %s on the server: %s", share,
                       unreadable->why.text);
    return err_set(e, ERR_NOT_FOUND,
                   "SFTP does not show the shared drive, which is %s on the server: neither there "
                   "nor in any folder above which a jail may begin is a file %s/id",
                   share, LAYOUT_SERVER_DIR);
}

/* Where a jail shows the drive under a name of its own: the folders at its top. */
static int add_top(struct sftp *s, struct search *search, struct arena *a, struct err *e)
{
    struct list entries;
    const struct sftp_entry *items;
    size_t n;

    *search = (struct search){ .server_id = search->server_id };
    if (sftp_list(s, "/", a, &entries, e) < 0)
        return -1;
    items = entries.items;
    n = entries.n < TOP_MAX ? entries.n : TOP_MAX;
    search->candidates = arena_alloc(a, n * sizeof *search->candidates);
    for (size_t i = 0; i < n; i++)
        add(search, arena_printf(a, "/%s", items[i].name));
    return 0;
}

struct sftp_root *sftp_root_begin(struct sftp *s, const char *share, const char *server_id,
                                  struct arena *a)
{
    struct sftp_root *r = mem_alloc(sizeof *r);

    *r = (struct sftp_root){ .s = s,
                             .usual = { .server_id = arena_strdup(a, server_id) },
                             .share = arena_strdup(a, share) };
    add_all(&r->usual, share, a);
    if (ask_for_marks(s, &r->usual, &r->why) == 0)
        (void)sftp_poll(s, NULL);
    return r;
}

void sftp_root_drop(struct sftp_root *r)
{
    free(r);
}

/* Of those that were asked for. */
static const char *end(struct sftp_root *r, struct arena *a, struct err *e)
{
    struct search top = { .server_id = r->usual.server_id };
    const struct candidate *right;

    if (wait_for_answers(r->s, &r->usual, e) < 0)
        return NULL;
    if (r->why.kind != ERR_NONE) {
        err_set(e, r->why.kind, "%s", r->why.text);
        return NULL;
    }
    right = find(&r->usual, RIGHT);
    if (right == NULL && read_ids(r->s, &r->usual, e) == 0)
        right = find(&r->usual, RIGHT);
    if (right == NULL && add_top(r->s, &top, a, NULL) == 0 && read_ids(r->s, &top, e) == 0)
        right = find(&top, RIGHT);
    if (right == NULL && sftp_is_broken(r->s)) {
        (void)sftp_poll(r->s, e); /* which says why */
        return NULL;
    }
    if (right == NULL)
        say_not_found(&r->usual, r->share, e);
    return right != NULL ? right->path : NULL;
}

const char *sftp_root_end(struct sftp_root *r, struct arena *a, struct err *e)
{
    const char *path = end(r, a, e);

    free(r);
    return path;
}

const char *sftp_root_find(struct sftp *s, const char *share, const char *server_id,
                           struct arena *a, struct err *e)
{
    return sftp_root_end(sftp_root_begin(s, share, server_id, a), a, e);
}
