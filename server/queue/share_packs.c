/* SPDX-License-Identifier: MIT */
/* share_packs.c - has workers pack data that lie on the share already */

#include "server/queue/share_packs.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/permission.h"

/* A worker not seen for so long does not count as one that may come back. */
#define AWAY_AT_MOST_MS (7 * 24 * INT64_C(3600000))

struct share_packs {
    struct packing **items; /* by number */
    size_t n, capacity;
    int64_t last_number, last_version;
};

struct share_packs *share_packs_create(void)
{
    return mem_alloc(sizeof(struct share_packs));
}

static void packing_free(struct packing *p)
{
    free(p->user);
    free(p->project);
    free(p->path);
    free(p->why);
    free(p->node);
    free(p);
}

void share_packs_destroy(struct share_packs *all)
{
    for (size_t i = 0; all != NULL && i < all->n; i++)
        packing_free(all->items[i]);
    if (all != NULL)
        free(all->items);
    free(all);
}

struct packing *share_packs_find(struct share_packs *all, int64_t number)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i]->number == number)
            return all->items[i];
    return NULL;
}

static void replace(char **text, const char *by)
{
    free(*text);
    *text = by == NULL ? NULL : mem_strdup(by);
}

/* Answers the connections that wait for news of the packing. */
static void tell_askers(struct server *sv, struct packing *p)
{
    p->version = ++sv->packings->last_version;
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        if (c->awaited_pass != p->number)
            continue;
        c->awaited_pass = 0;
        c->is_waiting = false;
        turn_wake(sv->turn);
    }
}

/* ---- asking ---- */

/* Forgets the oldest packings that are over. */
static void forget_some(struct share_packs *all)
{
    size_t n_over = 0, n = 0;

    for (size_t i = 0; i < all->n; i++)
        n_over += all->items[i]->state == PACKING_DONE;
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i]->state == PACKING_DONE && n_over > SHARE_PACKS_KEPT_MAX) {
            n_over--;
            packing_free(all->items[i]);
        } else {
            all->items[n++] = all->items[i];
        }
    }
    all->n = n;
}

struct packing *share_packs_join(struct server *sv, const struct conn *c, const char *project,
                                 const char *path, struct err *e)
{
    struct share_packs *all = sv->packings;
    size_t n_going = 0;
    struct packing *p;

    for (size_t i = 0; i < all->n; i++) {
        p = all->items[i];
        if (p->state == PACKING_DONE || p->uid != c->uid)
            continue;
        if (strcmp(p->project, project) == 0 && strcmp(p->path, path) == 0)
            return p;
        n_going++;
    }
    if (n_going >= SHARE_PACKS_OF_USER_MAX) {
        err_set(e, ERR_BUSY, "%d folders of yours are being packed already; try later",
                SHARE_PACKS_OF_USER_MAX);
        return NULL;
    }
    forget_some(all);
    p = mem_alloc(sizeof *p);
    *p = (struct packing){ .number = ++all->last_number,
                           .version = ++all->last_version,
                           .uid = c->uid,
                           .user = mem_strdup(c->user),
                           .project = mem_strdup(project),
                           .path = mem_strdup(path) };
    token_make(&p->token);
    mem_grow((void **)&all->items, &all->capacity, all->n, sizeof(struct packing *));
    all->items[all->n++] = p;
    turn_add_work(sv->turn, share_packs_give, 0);
    return p;
}

/* ---- giving ---- */

static bool could_run(const struct server *sv, const struct conn *c, const struct packing *p)
{
    return c->worker != 0 && may_run(sv, c, p->uid) && conn_refusal(c, p->user) == NULL;
}

/* Whether the chosen worker's machine, p->node, is the only one where the owner's jobs may run;
 * workers that are away count, as they may come back.  1, 0, -1. */
static int is_only_machine(struct server *sv, const struct conn *chosen, const struct packing *p,
                           struct err *e)
{
    bool is_only = true;
    struct stmt *s;
    int rc = 1;

    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c != chosen && could_run(sv, c, p) &&
            (c->own_jobs_only || strcmp(c->boot_id, chosen->boot_id) != 0))
            return 0;
    s = db_ask(sv->db, SQL_WORKERS_ELSEWHERE, "si", p->node, units_now_ms() - AWAY_AT_MOST_MS);
    while (is_only && (rc = stmt_step(s, e)) == 1) {
        const struct conn was = { .uid = (uid_t)stmt_int(s, 0),
                                  .user = (char *)(uintptr_t)stmt_text(s, 1) };

        is_only = !may_run(sv, &was, p->uid);
    }
    stmt_end(s);
    return rc < 0 ? -1 : is_only;
}

/* Chooses, among workers that can do the packing, the one with the fewest packings, and sets *node
 * to its node's name; *chosen NULL: there is none. */
static int choose_worker(struct server *sv, const struct packing *p, struct conn **chosen,
                         char **node, struct err *e)
{
    const struct share_packs *all = sv->packings;
    size_t least = SIZE_MAX;

    *chosen = NULL;
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        struct stmt *s;
        size_t load = 0;
        int rc;

        for (size_t i = 0; i < all->n; i++)
            load += all->items[i]->state == PACKING_RUNNING && all->items[i]->conn == c->number;
        /* A worker that does not have the share mounted is own_jobs_only. */
        if (load >= least || c->own_jobs_only || !could_run(sv, c, p))
            continue;
        s = db_ask(sv->db, SQL_SCHED_WORKER, "i", c->worker);
        rc = stmt_step(s, e);
        if (rc == 1 && stmt_int(s, 0) > 0) { /* the worker is not drained */
            replace(node, stmt_text(s, 3));
            least = load;
            *chosen = c;
        }
        stmt_end(s);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int give(struct server *sv, struct packing *p, struct err *e)
{
    struct msg_pack order = { p->token, p->project, p->path, p->user, false };
    struct conn *c;
    int is_only;

    if (choose_worker(sv, p, &c, &p->node, e) < 0)
        return -1;
    if (c == NULL) {
        if (!p->is_stuck)
            tell_askers(sv, p);
        p->is_stuck = true;
        return 0;
    }
    is_only = is_only_machine(sv, c, p, e);
    if (is_only < 0)
        return -1;
    order.only_here = is_only > 0;
    p->state = PACKING_RUNNING;
    p->is_stuck = false;
    p->conn = c->number;
    p->files = p->bytes = 0;
    conn_send(sv, c->number, MSG_PACK, &order);
    tell_askers(sv, p);
    return 0;
}

int share_packs_give(struct server *sv, int64_t unused, struct err *e)
{
    struct share_packs *all = sv->packings;

    (void)unused;
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i]->state == PACKING_WAITING && give(sv, all->items[i], e) < 0)
            return -1;
    return 0;
}

/* ---- progress ---- */

void share_packs_take(struct server *sv, const struct conn *c, const struct msg_packed *m)
{
    struct share_packs *all = sv->packings;
    struct packing *p = NULL;

    for (size_t i = 0; p == NULL && i < all->n; i++)
        if (all->items[i]->state == PACKING_RUNNING && all->items[i]->conn == c->number &&
            token_equal(&all->items[i]->token, &m->token))
            p = all->items[i];
    if (p == NULL)
        return;
    p->files = m->files;
    p->bytes = m->bytes;
    if (m->is_over) {
        p->state = PACKING_DONE;
        p->has_failed = m->error != NULL || digest_is_zero(&m->set.tree);
        p->set = m->set;
        if (p->has_failed)
            replace(&p->why, m->error != NULL ? m->error : "there is nothing in it");
        log_event(LOG_INFO, "packed", "user", "%s", p->user, "project", "%s", p->project, "path",
                  "%s", p->path, "node", "%s", p->node, "why", "%s", p->has_failed ? p->why : "",
                  NULL);
    }
    tell_askers(sv, p);
}

void share_packs_left(struct server *sv, const struct conn *c)
{
    struct share_packs *all = sv->packings;

    for (size_t i = 0; i < all->n; i++) {
        struct packing *p = all->items[i];

        if (p->state != PACKING_RUNNING || p->conn != c->number)
            continue;
        p->state = PACKING_WAITING;
        turn_add_work(sv->turn, share_packs_give, 0); /* also tells the askers */
    }
}
