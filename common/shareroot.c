/* SPDX-License-Identifier: MIT */
/* shareroot.c - where the shared drive lies for whoever is logged in over SFTP */
#include <stdlib.h>
#include <string.h>

#include "common/layout.h"
#include "common/path.h"
#include "common/shareid.h"
#include "common/shareroot.h"

/* A folder that may be it. */
struct candidate {
    struct search *search;
    char *path;
    bool is_it;
};

struct search {
    const char *server_id;
    struct candidate *candidates; /* the longest path first */
    size_t n, capacity;
    struct buf others; /* where shares of other servers lie */
};

static void add_candidate(struct search *x, const char *path)
{
    mem_grow((void **)&x->candidates, &x->capacity, x->n, sizeof *x->candidates);
    x->candidates[x->n++] = (struct candidate){ .search = x, .path = mem_strdup(path) };
}

/* The path itself, then without its first folder, without its first two, ... */
static void add_candidates(struct search *x, const char *share)
{
    const char *at = share;

    while (at[strspn(at, "/")] != '\0') {
        at += strspn(at, "/") - 1;
        add_candidate(x, at);
        at++;
        at += strcspn(at, "/");
    }
    add_candidate(x, "/");
}

static void judge(struct candidate *c, struct bytes file)
{
    struct arena *a = arena_create();
    struct shareid id;

    if (shareid_decode(&id, file, a, NULL) == 0) {
        c->is_it = strcmp(id.server, c->search->server_id) == 0;
        if (!c->is_it)
            buf_printf(&c->search->others, "; at %s lies the share of another ludwigd, on %s",
                       c->path, id.host);
    }
    arena_destroy(a);
}

static void on_id(void *context, const struct sftp_answer *answer)
{
    if (answer->error == NULL)
        judge(context, answer->content);
}

static int ask(struct sftp *s, struct candidate *c, struct err *e)
{
    char *path = path_join(c->path, LAYOUT_SERVER_DIR "/" SHAREID_NAME);
    struct sftp_op op = { .kind = SFTP_OP_GET, .path = path, .max_bytes = SHAREID_MAX_BYTES };
    int result = sftp_start(s, &op, on_id, c, e);

    free(path);
    return result;
}

static int ask_all(struct sftp *s, struct search *x, struct err *e)
{
    int result = 0;

    for (size_t i = 0; i < x->n && result == 0; i++)
        result = ask(s, &x->candidates[i], e);
    return sftp_finish(s, result == 0 ? e : NULL) < 0 ? -1 : result;
}

static int say_where(const struct search *x, struct err *e)
{
    struct buf where = { 0 };
    int result;

    for (size_t i = 0; i < x->n; i++)
        buf_printf(&where, "%s%s",
                   i == 0         ? ""
                   : i + 1 < x->n ? ", "
                                  : " or ",
                   x->candidates[i].path);
    result = err_set(
        e, ERR_NOT_FOUND,
        "the shared drive of this ludwigd is not to be seen over SFTP: no " LAYOUT_SERVER_DIR
        "/" SHAREID_NAME " of it in %s%s",
        buf_text(&where), buf_text(&x->others));
    buf_free(&where);
    return result;
}

static char *take_found(const struct search *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->candidates[i].is_it)
            return mem_strdup(x->candidates[i].path);
    return NULL;
}

char *shareroot_find(struct sftp *s, const char *share, const char *server_id, struct err *e)
{
    struct search x = { .server_id = server_id };
    char *found = NULL;

    add_candidates(&x, share);
    if (ask_all(s, &x, e) == 0) {
        found = take_found(&x);
        if (found == NULL)
            say_where(&x, e);
    }
    for (size_t i = 0; i < x.n; i++)
        free(x.candidates[i].path);
    free(x.candidates);
    buf_free(&x.others);
    return found;
}
