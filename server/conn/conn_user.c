/* SPDX-License-Identifier: MIT */
/* conn_user.c - users who are connected, or were and would lose something by being forgotten */
#include "server/conn/conn_user.h"

#include <stdlib.h>

#include "common/base/mem.h"

struct conn_users {
    struct conn_user **items;
    size_t n, capacity;
    int64_t n_served;
};

/* ---- changes: so many a second, and those saved up in at most CHANGES_AHEAD_S ---- */

static double changes_now(const struct conn_user *u, int64_t per_second, uint64_t now_ms)
{
    double most = (double)per_second * CHANGES_AHEAD_S;
    double n = u->changes + (double)per_second * (double)(now_ms - u->changes_ms) / 1000;

    return n < most ? n : most;
}

uint64_t conn_user_rests_ms(const struct conn_user *u, int64_t per_second, uint64_t now_ms)
{
    double missing = 1 - changes_now(u, per_second, now_ms);

    return per_second == 0 || missing <= 0 ? 0
                                           : (uint64_t)(missing * 1000 / (double)per_second) + 1;
}

void conn_user_changes(struct conn_user *u, int64_t per_second, uint64_t now_ms)
{
    u->changes = changes_now(u, per_second, now_ms) - 1;
    u->changes_ms = now_ms;
}

/* ---- users ---- */

/* Whether the user may be forgotten: one made anew would be the same. */
static bool is_as_new(const struct conn_user *u, int64_t per_second, uint64_t now_ms)
{
    return u->n_conns == 0 && u->kept_answers == 0 &&
           changes_now(u, per_second, now_ms) >= (double)per_second * CHANGES_AHEAD_S;
}

struct conn_user *conn_users_join(struct conn_users *l, uid_t uid, int64_t per_second,
                                  uint64_t now_ms)
{
    struct conn_user *u = NULL;

    for (size_t i = 0; i < l->n && u == NULL; i++)
        if (l->items[i]->uid == uid) {
            u = l->items[i];
        } else if (is_as_new(l->items[i], per_second, now_ms)) {
            free(l->items[i]);
            l->items[i--] = l->items[--l->n];
        }
    if (u == NULL) {
        u = mem_alloc(sizeof *u);
        *u = (struct conn_user){ .uid = uid,
                                 .served = l->n_served,
                                 .changes = (double)per_second * CHANGES_AHEAD_S,
                                 .changes_ms = now_ms };
        mem_grow((void **)&l->items, &l->capacity, l->n, sizeof(struct conn_user *));
        l->items[l->n++] = u;
    }
    u->n_conns++;
    return u;
}

void conn_users_leave(struct conn_user *u)
{
    u->n_conns--;
}

int64_t conn_users_next(struct conn_users *l)
{
    return ++l->n_served;
}

struct conn_users *conn_users_create(void)
{
    return mem_alloc(sizeof(struct conn_users));
}

void conn_users_destroy(struct conn_users *l)
{
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i]);
    free(l->items);
    free(l);
}
