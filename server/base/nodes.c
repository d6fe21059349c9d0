/* SPDX-License-Identifier: MIT */
/* nodes.c - a sweep's list of nodes */

#include "server/base/nodes.h"

#include <string.h>

#include "common/base/suggest.h"
#include "common/data/msgpack.h"

void nodes_encode(const struct list *names, struct buf *out)
{
    const char *const *name = names->items;

    mp_add_list(out, names->n);
    for (size_t i = 0; i < names->n; i++)
        mp_add_str(out, name[i], strlen(name[i]));
}

static const struct node_group *find_group(const struct conf *conf, const char *name)
{
    const struct node_group *groups = conf->groups.items;

    for (size_t i = 0; i < conf->groups.n; i++)
        if (strcmp(groups[i].name, name) == 0)
            return &groups[i];
    return NULL;
}

bool nodes_name_matches(const struct conf *conf, const char *name, const char *node)
{
    const struct node_group *g = name[0] == '@' ? find_group(conf, name + 1) : NULL;
    const char *const *nodes = g == NULL ? NULL : g->nodes.items;

    if (name[0] != '@')
        return strcmp(name, node) == 0;
    for (size_t i = 0; g != NULL && i < g->nodes.n; i++)
        if (strcmp(nodes[i], node) == 0)
            return true;
    return false;
}

bool nodes_match(const struct conf *conf, struct bytes encoded, const char *node)
{
    struct arena *a;
    struct value names;
    bool is_in = false;

    if (encoded.n == 0)
        return true;
    a = arena_create();
    if (mp_read(encoded.data, encoded.n, a, &names, NULL) == 0 && names.type == VALUE_LIST)
        for (size_t i = 0; i < names.list.n && !is_in; i++)
            is_in = nodes_name_matches(conf, names.list.items[i].str.s, node);
    arena_destroy(a);
    return is_in;
}

int nodes_check(const struct conf *conf, const struct list *names, struct err *e)
{
    const char *const *name = names->items;
    const struct node_group *groups = conf->groups.items;

    for (size_t i = 0; i < names->n; i++) {
        struct suggest near = { .word = name[i] + 1 };

        if (name[i][0] != '@' || find_group(conf, name[i] + 1) != NULL)
            continue;
        for (size_t g = 0; g < conf->groups.n; g++)
            suggest_try(&near, groups[g].name);
        return near.best == NULL
                   ? err_set(e, ERR_USAGE, "nodes: the server knows no group '%s'", name[i])
                   : err_set(e, ERR_USAGE,
                             "nodes: the server knows no group '%s' (did you mean '@%s'?)", name[i],
                             near.best);
    }
    return 0;
}
