/* SPDX-License-Identifier: MIT */
/* sftp_root.c - finds the shared drive's path in a server's SFTP */
#include <stdlib.h>
#include <string.h>

#include "common/proto/layout.h"
#include "common/proto/shareid.h"
#include "common/sftp/sftp_root.h"

enum { TOP_MAX = 1000 };

/* A folder that may be the drive, and what the server answered about it. */
struct candidate {
    const char *server_id;
    const char *path;
    enum { ABSENT, UNREADABLE, FOREIGN, RIGHT } finding;
    struct err why; /* UNREADABLE */
};

struct search {
    struct sftp *s;
    const char *server_id;
    struct arena *a;
    struct candidate *candidates; /* the longest path first */
    size_t n, capacity;
};

static void add_candidate(struct search *search, const char *path)
{
    mem_grow((void **)&search->candidates, &search->capacity, search->n,
             sizeof *search->candidates);
    search->candidates[search->n++] =
        (struct candidate){ .server_id = search->server_id, .path = path };
}

/* Adds a path and its ends: for "/srv/x" these are "/srv/x", "/x" and "". */
static void add_ends(struct search *search, const char *share)
{
    char *path = arena_strdup(search->a, share);
    size_t n = strlen(path);

    while (n > 0 && path[n - 1] == '/')
        path[--n] = '\0';
    for (const char *at = path; at != NULL && *at == '/'; at = strchr(at + 1, '/'))
        add_candidate(search, at);
    add_candidate(search, "");
}

/* Adds the folders at the top, as a jail may show the drive there under another name. */
static int add_top(struct search *search)
{
    struct list entries;
    const struct sftp_entry *items;

    if (sftp_list(search->s, "/", search->a, &entries, NULL) < 0)
        return -1;
    items = entries.items;
    for (size_t i = 0; i < entries.n && i < TOP_MAX; i++)
        add_candidate(search, arena_printf(search->a, "/%s", items[i].name));
    return 0;
}

static void on_mark(void *context, const struct sftp_answer *answer)
{
    struct candidate *c = context;

    if (answer->error == NULL)
        c->finding = RIGHT;
}

static void on_id(void *context, const struct sftp_answer *answer)
{
    struct candidate *c = context;
    struct arena *a = arena_create();
    struct shareid id;

    if (answer->error == NULL) {
        bool is_named = shareid_decode(&id, answer->content, a, NULL) == 0 &&
                        strcmp(id.server, c->server_id) == 0;

        c->finding = is_named ? RIGHT : FOREIGN;
    } else if (answer->error->kind != ERR_NOT_FOUND) {
        c->finding = UNREADABLE;
        c->why = *answer->error;
    }
    arena_destroy(a);
}

/* Starts op for the file of this name in every candidate, and waits for all answers. */
static int ask_candidates(const struct search *search, const char *name, struct sftp_op op,
                          sftp_done *done, struct err *e)
{
    int result = 0;

    for (size_t i = 0; i < search->n && result == 0; i++) {
        struct candidate *c = &search->candidates[i];

        op.path = arena_printf(search->a, "%s/" LAYOUT_SERVER_DIR "/%s", c->path, name);
        result = sftp_start(search->s, &op, done, c, e);
    }
    /* No callback may run after the search is gone. */
    return sftp_finish(search->s, result == 0 ? e : NULL) < 0 ? -1 : result;
}

static bool is_inside(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* The longest candidate that is right, but not one inside another: a user of the outer drive may
 * have made and marked that, in a project. */
static const struct candidate *find_right(const struct search *search)
{
    const struct candidate *right = NULL;

    for (size_t i = 0; i < search->n; i++) {
        const struct candidate *c = &search->candidates[i];

        if (c->finding == RIGHT && (right == NULL || is_inside(right->path, c->path)))
            right = c;
    }
    return right;
}

static const struct candidate *find_by_finding(const struct search *search, int finding)
{
    for (size_t i = 0; i < search->n; i++)
        if ((int)search->candidates[i].finding == finding)
            return &search->candidates[i];
    return NULL;
}

static const struct candidate *find_by_id(const struct search *search, struct err *e)
{
    const struct sftp_op op = { .kind = SFTP_OP_GET, .max_bytes = SHAREID_MAX_BYTES };

    return ask_candidates(search, SHAREID_NAME, op, on_id, e) < 0 ? NULL : find_right(search);
}

static void say_not_found(const struct search *search, const char *share, struct err *e)
{
    const struct candidate *foreign = find_by_finding(search, FOREIGN);
    const struct candidate *unreadable = find_by_finding(search, UNREADABLE);

    if (foreign != NULL)
        err_set(e, ERR_NOT_FOUND,
                "SFTP shows the shared drive of another server at %s, and not this one's, which is "
                "%s there",
                foreign->path[0] != '\0' ? foreign->path : "/", share);
    else if (unreadable != NULL)
        err_set(e, unreadable->why.kind,
                "SFTP does not show the shared drive, which is %s on the server: %s", share,
                unreadable->why.text);
    else
        err_set(e, ERR_NOT_FOUND,
                "SFTP does not show the shared drive, which is %s on the server: neither there nor "
                "in any folder above which a jail may begin is a file %s/id",
                share, LAYOUT_SERVER_DIR);
}

const char *sftp_root_find(struct sftp *s, const char *share, const char *server_id,
                           struct arena *a, struct err *e)
{
    struct search usual = { .s = s, .server_id = server_id, .a = a }, top = usual;
    char *mark = shareid_mark(server_id);
    const struct candidate *right = NULL;
    const char *path = NULL;

    add_ends(&usual, share);
    if (ask_candidates(&usual, mark, (struct sftp_op){ .kind = SFTP_OP_LSTAT }, on_mark, e) == 0)
        right = find_right(&usual);
    if (right == NULL)
        right = find_by_id(&usual, e);
    if (right == NULL && add_top(&top) == 0)
        right = find_by_id(&top, e);
    if (right != NULL)
        path = right->path;
    else if (sftp_is_broken(s))
        (void)sftp_wait(s, e); /* sets e to the reason */
    else
        say_not_found(&usual, share, e);
    free(usual.candidates);
    free(top.candidates);
    free(mark);
    return path;
}
