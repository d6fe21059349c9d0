/* SPDX-License-Identifier: MIT */
/* shareroot.c - where a server's SFTP shows the shared drive */
#include <stdlib.h>
#include <string.h>

#include "common/layout.h"
#include "common/shareid.h"
#include "common/shareroot.h"

enum { TOP_MAX = 1000 };

/* A folder that may be the drive, and what it turned out to be. */
struct candidate {
    const struct search *search;
    const char *path;
    enum { ABSENT, UNREADABLE, FOREIGN, RIGHT } finding;
    struct err why; /* UNREADABLE */
};

struct search {
    const char *server_id;
    struct candidate *candidates; /* the longest path first */
    size_t n;
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
static void add_all(struct search *search, const char *share, struct arena *a)
{
    char *path = arena_strdup(a, share);
    size_t n = strlen(path);

    while (n > 0 && path[n - 1] == '/')
        path[--n] = '\0';
    search->candidates = arena_alloc(a, (count_slashes(path) + 1) * sizeof *search->candidates);
    for (const char *at = path; at != NULL && *at == '/'; at = strchr(at + 1, '/'))
        add(search, at);
    add(search, "");
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

static void on_id(void *context, const struct sftp_answer *answer)
{
    struct candidate *c = context;

    if (answer->error == NULL) {
        c->finding = names_server(answer->content, c->search->server_id) ? RIGHT : FOREIGN;
    } else if (answer->error->kind != ERR_NOT_FOUND) {
        c->finding = UNREADABLE;
        c->why = *answer->error;
    }
}

static int ask(struct sftp *s, struct candidate *c, struct err *e)
{
    char *path = mem_printf("%s/" LAYOUT_SERVER_DIR "/" SHAREID_NAME, c->path);
    struct sftp_op op = { .kind = SFTP_OP_GET, .path = path, .max_bytes = SHAREID_MAX_BYTES };
    int result = sftp_start(s, &op, on_id, c, e);

    free(path);
    return result;
}

static int ask_all(struct sftp *s, struct search *search, struct err *e)
{
    int result = 0;

    for (size_t i = 0; i < search->n && result == 0; i++)
        result = ask(s, &search->candidates[i], e);
    /* Nobody may be called who finds the search gone. */
    return sftp_finish(s, result == 0 ? e : NULL) < 0 ? -1 : result;
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

const char *shareroot_find(struct sftp *s, const char *share, const char *server_id,
                           struct arena *a, struct err *e)
{
    struct search usual = { .server_id = server_id }, top = usual;
    const struct candidate *right;

    add_all(&usual, share, a);
    if (ask_all(s, &usual, e) < 0)
        return NULL;
    right = find(&usual, RIGHT);
    if (right == NULL && add_top(s, &top, a, NULL) == 0 && ask_all(s, &top, e) == 0)
        right = find(&top, RIGHT);
    if (right == NULL && sftp_is_broken(s))
        return NULL;
    if (right == NULL)
        say_not_found(&usual, share, e);
    return right != NULL ? right->path : NULL;
}
