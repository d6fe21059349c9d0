/* SPDX-License-Identifier: MIT */
/* tree_states.c - a table of trees by digest */

#include "worker/base/tree_states.h"

#include <stdlib.h>
#include <string.h>

enum { RETRY_AT_FIRST_MS = 1000 };

void tree_states_free(struct tree_states *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->trees[i].project);
        free(s->trees[i].share);
    }
    free(s->trees);
    *s = (struct tree_states){ .n = 0 };
}

void tree_states_each_tree(const struct jobspec *w,
                           void (*each)(void *context, const struct dataset *set), void *context)
{
    const struct data_entry *data = w->data.items;

    if (!digest_is_zero(&w->source.tree))
        each(context, &w->source);
    for (size_t i = 0; i < w->data.n; i++)
        each(context, &data[i].set);
}

struct tree *tree_states_find(struct tree_states *s, const struct digest *tree)
{
    for (size_t i = 0; i < s->n; i++)
        if (digest_equal(&s->trees[i].set.tree, tree))
            return &s->trees[i];
    mem_grow((void **)&s->trees, &s->capacity, s->n, sizeof *s->trees);
    s->trees[s->n] = (struct tree){ .set.tree = *tree };
    return &s->trees[s->n++];
}

struct counting {
    struct tree_states *staging;
    bool is_missing;
};

static void count_tree(void *context, const struct dataset *set)
{
    struct counting *c = context;

    c->is_missing |= tree_states_find(c->staging, &set->tree)->state != TREE_THERE;
}

bool tree_states_has_all(struct tree_states *s, const struct jobspec *w)
{
    struct counting c = { s, false };

    tree_states_each_tree(w, count_tree, &c);
    return !c.is_missing;
}

struct tree *tree_states_next_due(struct tree_states *s)
{
    struct tree *first = NULL;

    for (size_t i = 0; i < s->n; i++)
        if (s->trees[i].state == TREE_LATER &&
            (first == NULL || s->trees[i].due_at < first->due_at))
            first = &s->trees[i];
    return first;
}

void tree_come_from(struct tree *t, const struct dataset *set, const char *project,
                    const char *share)
{
    free(t->project);
    free(t->share);
    t->set = *set;
    t->project = mem_strdup(project);
    t->share = mem_strdup(share);
}

bool tree_comes_from(const struct tree *t, const struct dataset *set, const char *project,
                     const char *share)
{
    return digest_equal(&t->set.tree, &set->tree) && digest_equal(&t->set.id, &set->id) &&
           strcmp(t->project, project) == 0 && strcmp(t->share, share) == 0;
}

void tree_ask_later(struct tree *t, uint64_t now)
{
    t->delay_ms = t->delay_ms == 0 ? RETRY_AT_FIRST_MS : t->delay_ms * 2;
    if (t->delay_ms > TREE_STATES_RETRY_AT_MOST_MS)
        t->delay_ms = TREE_STATES_RETRY_AT_MOST_MS;
    t->due_at = now + t->delay_ms;
    t->state = TREE_LATER;
}
