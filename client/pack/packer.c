/* SPDX-License-Identifier: MIT */
/* packer.c - several trees are counted and packed, one after the other */
#include "client/pack/packer.h"

void packer_rest(struct packer *p)
{
    tree_count_end(p->counting);
    p->counting = NULL;
    p->is_on = false;
}

/* What it did came to nothing. */
static void give_up(struct packer *p)
{
    packer_rest(p);
    if (p->packing != NULL)
        (void)tree_pack_end(p->packing, -1, NULL);
    p->packing = NULL;
    p->is_early = false;
    p->at = p->n_counted = 0;
    p->why = (struct err){ 0 };
    for (size_t i = 0; i < p->n; i++)
        p->trees[i]->is_packed = false;
    if (p->backlog == NULL)
        return;
    send_queue_destroy(p->backlog);
    p->target.backlog = p->backlog = send_queue_create();
}

/* ---- counting early ---- */

static int count_step(struct packer *p, struct err *e)
{
    int rc;

    if (p->counting == NULL)
        p->counting = tree_count_begin(p->trees[p->n_counted], p->nothing, e);
    rc = p->counting != NULL ? tree_count_next(p->counting, e) : -1;
    if (rc == 0) {
        tree_count_end(p->counting);
        p->counting = NULL;
        p->n_counted++;
    }
    return rc < 0 ? -1 : 1;
}

bool packer_has_counted(const struct packer *p, const struct tree *t)
{
    for (size_t i = 0; i < p->n_counted; i++)
        if (p->trees[i] == t)
            return t->is_new;
    return false;
}

/* ---- packing ---- */

static bool is_to_be_packed(const struct packer *p, const struct tree *t)
{
    bool is_there = !t->is_none_if_empty || t->totals.folders + t->totals.files + t->totals.links;

    return !t->is_packed && is_there && (!p->is_early || t->is_new);
}

/* 1; 0: there is none. */
static int begin_next(struct packer *p, struct err *e)
{
    size_t i = 0;

    while (i < p->n && !is_to_be_packed(p, p->trees[i]))
        i++;
    if (i == p->n)
        return 0;
    p->at = i;
    p->packing = tree_pack_begin(p->trees[i], &p->target, e);
    return p->packing != NULL ? 1 : tree_blame(p->trees[i], e);
}

static int end_tree(struct packer *p, int result, struct err *e)
{
    struct tree *t = p->trees[p->at];

    result = tree_pack_end(p->packing, result, e);
    p->packing = NULL;
    t->is_packed = result == 0;
    return result < 0 ? tree_blame(t, e) : TREE_MORE;
}

/* TREE_ALL: nothing is left to pack; TREE_LATER: what comes next has more than room_bytes. */
static int pack_step(struct packer *p, uint64_t room_bytes, struct err *e)
{
    int rc = p->packing != NULL ? 1 : begin_next(p, e);

    if (rc <= 0)
        return rc < 0 ? -1 : TREE_ALL;
    rc = tree_pack_next(p->packing, room_bytes, e);
    return rc == TREE_ALL || rc < 0 ? end_tree(p, rc, e) : rc;
}

/* ---- while somebody waits ---- */

static bool step(struct packer *p)
{
    uint64_t room_bytes = send_queue_room(p->backlog);

    if (p->is_early && p->n_counted < p->n)
        return count_step(p, &p->why) > 0;
    return room_bytes > 0 && pack_step(p, room_bytes, &p->why) == TREE_MORE;
}

static void work(void *context, struct pollfd *fds, nfds_t n)
{
    struct packer *p = context;

    if (!p->is_on || p->is_busy || p->why.kind != ERR_NONE)
        return;
    p->is_busy = true;
    while (!idle_is_over(fds, n) && step(p))
        ;
    p->is_busy = false;
}

struct idle packer_idle(struct packer *p)
{
    return (struct idle){ work, p };
}

void packer_begin_early(struct packer *p)
{
    p->nothing = pack_inventory_open(NULL, NULL);
    p->backlog = send_queue_create();
    p->target = (struct tree_target){ .stock = p->nothing, .backlog = p->backlog };
    p->is_on = p->is_early = true;
}

bool packer_meet(struct packer *p, struct pack_inventory *stock, struct store *store)
{
    bool was_early = p->is_early;

    p->target.stock = stock;
    p->target.store = store;
    if (!was_early)
        return true;
    if (p->why.kind != ERR_NONE || tree_is_there(&p->target) || tree_learn(&p->target, NULL) < 0) {
        give_up(p);
        return false;
    }
    p->n_counted = 0;
    p->is_early = false;
    return true;
}

/* ---- all of it ---- */

static int pack_more(struct packer *p, struct err *e)
{
    int rc;

    if (p->why.kind != ERR_NONE)
        return err_set(e, p->why.kind, "%s", p->why.text);
    p->is_busy = true;
    rc = pack_step(p, p->backlog != NULL ? send_queue_room(p->backlog) : UINT64_MAX, e);
    if (rc == TREE_LATER) { /* it goes past the backlog, which is empty */
        p->target.backlog = NULL;
        rc = pack_step(p, UINT64_MAX, e);
        p->target.backlog = p->backlog;
    }
    p->is_busy = false;
    return rc;
}

static int deliver(struct packer *p, struct err *e)
{
    return p->backlog != NULL ? tree_deliver(&p->target, e) : 0;
}

int packer_pack_all(struct packer *p, struct err *e)
{
    int rc;

    p->is_on = p->backlog != NULL;
    do
        rc = deliver(p, e) < 0 ? -1 : pack_more(p, e);
    while (rc == TREE_MORE);
    give_up(p);
    return rc;
}

void packer_close(struct packer *p)
{
    give_up(p);
    send_queue_destroy(p->backlog);
    pack_inventory_close(p->nothing);
    *p = (struct packer){ 0 };
}
