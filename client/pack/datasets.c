/* SPDX-License-Identifier: MIT */
/* datasets.c - the sources and data that sweeps have named, as the server knows them */
#include <stdlib.h>
#include <string.h>

#include "client/pack/datasets.h"
#include "common/base/path.h"

/* ---- what the server says ---- */

struct dataset_info *datasets_add(struct datasets *d)
{
    mem_grow((void **)&d->rows, &d->capacity, d->n, sizeof *d->rows);
    d->rows[d->n] = (struct dataset_info){ 0 };
    return &d->rows[d->n++];
}

static struct dataset_info copy_row(const struct dataset_info *from, struct arena *a)
{
    struct dataset_info row = *from;
    const char **nodes = arena_alloc(a, from->nodes.n * sizeof *nodes);

    row.project = arena_strdup(a, from->project);
    row.owner = from->owner != NULL ? arena_strdup(a, from->owner) : NULL;
    row.name = from->name != NULL ? arena_strdup(a, from->name) : NULL;
    for (size_t i = 0; i < from->nodes.n; i++)
        nodes[i] = arena_strdup(a, ((const char *const *)from->nodes.items)[i]);
    row.nodes.items = nodes;
    return row;
}

/* A project that data were sent to, and no sweep yet, is none to the server. */
int datasets_fetch(struct datasets *d, struct err *e)
{
    struct msg_get_data request = { .project = d->project, .limit = PAGE_MAX };
    struct msg_data_page page;
    struct err why = { 0 };

    do {
        if (rpc_call(&d->session->rpc, MSG_GET_DATA, &request, &page, &why) < 0)
            return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
        for (size_t i = 0; i < page.data.n; i++)
            *datasets_add(d) =
                copy_row((const struct dataset_info *)page.data.items + i, d->session->arena);
        request.after = page.next;
    } while (page.next != 0);
    return 0;
}

void datasets_free(struct datasets *d)
{
    free(d->rows);
    *d = (struct datasets){ 0 };
}

/* ---- projects ---- */

const char *datasets_here(const struct datasets *d, struct err *e)
{
    char *here = path_real(".", e);
    const char *name;

    if (here == NULL)
        return NULL;
    name = arena_strdup(d->session->arena, path_basename(here));
    free(here);
    if (path_is_portable_name(name) && name[0] != '.')
        return name;
    err_set(e, ERR_USAGE, "'%s' cannot be a project's name; --project names another", name);
    return NULL;
}

static void add_project(struct datasets_project *all, size_t *n, const char *name, bool is_guessed)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(all[i].name, name) == 0)
            return;
    all[(*n)++] = (struct datasets_project){ name, is_guessed };
}

static bool is_own(const struct datasets *d, const struct dataset_info *row)
{
    const char *user = d->session->rpc.welcome.user;

    return row->owner == NULL || user == NULL || strcmp(row->owner, user) == 0;
}

struct datasets_project *datasets_projects(const struct datasets *d, bool own, size_t *n)
{
    struct datasets_project *all = arena_alloc(d->session->arena, (d->n + 1) * sizeof *all);
    const char *here;

    *n = 0;
    if (d->project != NULL) {
        add_project(all, n, d->project, false);
        return all;
    }
    for (size_t i = 0; i < d->n; i++)
        if (!own || is_own(d, &d->rows[i]))
            add_project(all, n, d->rows[i].project, false);
    here = datasets_here(d, NULL);
    if (here != NULL)
        add_project(all, n, here, true);
    return all;
}

/* ---- what sweeps make of a set ---- */

static bool has_id(const struct dataset_info *row, const char *project, const struct packed *set)
{
    return strcmp(row->project, project) == 0 && digest_equal(&row->set.id, &set->id);
}

static bool has_tree(const struct dataset_info *row, const char *project, const struct packed *set)
{
    return strcmp(row->project, project) == 0 && set->is_read &&
           digest_equal(&row->set.tree, &set->manifest.tree);
}

static void take_row(struct dataset_use *use, const struct dataset_info *row, const char *name)
{
    if (use->used_at < row->used_at)
        use->used_at = row->used_at;
    use->unfinished += row->unfinished;
    if (name != NULL && row->name != NULL && strcmp(row->name, name) == 0)
        use->has_name = true;
}

struct dataset_use datasets_use(const struct datasets *d, const char *project,
                                const struct packed *set, const char *name)
{
    struct dataset_use use = { 0 };
    bool is_known = false;

    for (size_t i = 0; i < d->n; i++)
        if (has_id(&d->rows[i], project, set)) {
            take_row(&use, &d->rows[i], name);
            is_known = true;
        }
    for (size_t i = 0; i < d->n && !is_known; i++)
        if (has_tree(&d->rows[i], project, set))
            take_row(&use, &d->rows[i], name);
    return use;
}
