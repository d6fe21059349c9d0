/* SPDX-License-Identifier: MIT */
/* user_names.c - names of uids: looked up on threads, kept for a while */
#include "server/conn/user_names.h"

#include <stdlib.h>

#include "server/base/identity.h"
#include "server/base/thread_task.h"

struct entry {
    uid_t uid;
    char *name;                /* NULL: not known */
    uint64_t answered_ms;      /* by the loop's clock */
    bool is_wanted;            /* is to be looked up once a thread is free */
    struct thread_task *aside; /* the task that looks it up; NULL: none */
};

struct user_names {
    struct server *sv;
    struct user_names_how how;
    void (*answered)(struct server *sv, uid_t uid, const char *name);
    struct entry **items;
    size_t n, capacity;
    size_t n_wanted, n_asked;
};

/* The context of a look-up: its question, and its answer. */
struct question {
    struct user_names *names; /* used on the loop alone */
    char *(*find)(uid_t uid);
    uid_t uid;
    char *name;
};

/* ---- entries ---- */

static struct entry *find_entry(const struct user_names *n, uid_t uid)
{
    for (size_t i = 0; i < n->n; i++)
        if (n->items[i]->uid == uid)
            return n->items[i];
    return NULL;
}

static void forget(struct user_names *n, size_t i)
{
    free(n->items[i]->name);
    free(n->items[i]);
    n->items[i] = n->items[--n->n];
}

static bool is_idle(const struct entry *e)
{
    return e->aside == NULL && !e->is_wanted;
}

static struct entry *add_entry(struct user_names *n, uid_t uid)
{
    struct entry *e = mem_alloc(sizeof *e);
    size_t oldest = n->n;

    /* Entries that are being looked up stay. */
    for (size_t i = 0; n->n >= NAMES_MAX && i < n->n; i++)
        if (is_idle(n->items[i]) &&
            (oldest == n->n || n->items[i]->answered_ms < n->items[oldest]->answered_ms))
            oldest = i;
    if (oldest < n->n)
        forget(n, oldest);
    e->uid = uid;
    mem_grow((void **)&n->items, &n->capacity, n->n, sizeof(struct entry *));
    n->items[n->n++] = e;
    return e;
}

/* ---- look-ups ---- */

static void on_thread(void *context)
{
    struct question *q = context;

    q->name = q->find(q->uid);
}

static void free_question(void *context)
{
    struct question *q = context;

    free(q->name);
    free(q);
}

static void ask_wanted(struct user_names *n);

static void on_answer(void *context, const struct err *why)
{
    struct question *q = context;
    struct user_names *n = q->names;
    struct entry *e = find_entry(n, q->uid);

    e->aside = NULL;
    n->n_asked--;
    if (why != NULL)
        q->name = mem_printf("#%lld", (long long)q->uid); /* as for a user without a name */
    free(e->name);
    e->name = q->name[0] == '#' ? NULL : mem_strdup(q->name); /* the uid may get a name soon */
    e->answered_ms = uv_now(&n->sv->loop);
    n->answered(n->sv, q->uid, q->name);
    ask_wanted(n);
}

static void ask_wanted(struct user_names *n)
{
    for (size_t i = 0; i < n->n && n->n_wanted > 0 && n->n_asked < USER_NAMES_AT_ONCE; i++) {
        struct entry *e = n->items[i];
        struct question *q;

        if (!e->is_wanted)
            continue;
        q = mem_alloc(sizeof *q);
        *q = (struct question){ .names = n, .find = n->how.find, .uid = e->uid };
        e->aside = thread_task_begin(
            &n->sv->loop, &(struct thread_job){ on_thread, on_answer, free_question, q });
        e->is_wanted = false;
        n->n_wanted--;
        n->n_asked++;
    }
}

const char *user_names_get(struct user_names *n, uid_t uid)
{
    struct entry *e = find_entry(n, uid);
    uint64_t age_ms;

    if (e == NULL)
        e = add_entry(n, uid);
    age_ms = uv_now(&n->sv->loop) - e->answered_ms;
    if (e->name == NULL || age_ms >= n->how.fresh_ms) {
        if (is_idle(e)) {
            e->is_wanted = true;
            n->n_wanted++;
        }
        ask_wanted(n);
    }
    return age_ms < n->how.fresh_ms + n->how.kept_ms ? e->name : NULL;
}

/* ---- beginning and end ---- */

const struct user_names_how names_usual = { .find = identity_user_name,
                                            .fresh_ms = 60 * 1000,
                                            .kept_ms = 3600 * 1000 };

struct user_names *user_names_create(struct server *sv, const struct user_names_how *how,
                                     void (*answered)(struct server *sv, uid_t uid,
                                                      const char *name))
{
    struct user_names *n = mem_alloc(sizeof *n);

    *n = (struct user_names){ .sv = sv, .how = *how, .answered = answered };
    return n;
}

void user_names_destroy(struct user_names *n)
{
    if (n == NULL)
        return;
    while (n->n > 0) {
        if (n->items[n->n - 1]->aside != NULL)
            thread_task_drop(n->items[n->n - 1]->aside);
        forget(n, n->n - 1);
    }
    free(n->items);
    free(n);
}
