/* SPDX-License-Identifier: MIT */
/* datasets.c - sources and data of sweeps in the server's list and in packs; removes waste */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/pack/datasets.h"
#include "client/term/output.h"
#include "common/base/hash_table.h"
#include "common/base/path.h"
#include "common/base/units.h"

enum { KEPT_DAYS = 30, LEAST_ID = 6 };

static const int64_t DAY_S = 24 * 3600;

/* ---- the server's list ---- */

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

/* A project that has data but no sweep yet is unknown to the server: that is no error. */
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

struct datasets_project *datasets_projects(const struct datasets *d, bool own, size_t *n)
{
    struct datasets_project *all = arena_alloc(d->session->arena, (d->n + 1) * sizeof *all);
    const char *user = d->session->rpc.welcome.user, *here;

    *n = 0;
    if (d->project != NULL) {
        add_project(all, n, d->project, false);
        return all;
    }
    for (size_t i = 0; i < d->n; i++) {
        const char *owner = d->rows[i].owner;

        if (!own || owner == NULL || user == NULL || strcmp(owner, user) == 0)
            add_project(all, n, d->rows[i].project, false);
    }
    here = datasets_here(d, NULL);
    if (here != NULL)
        add_project(all, n, here, true);
    return all;
}

/* ---- use by sweeps ---- */

struct dataset_use datasets_use(const struct datasets *d, const char *project,
                                const struct packed *set, const char *name)
{
    struct dataset_use use = { 0 };
    bool is_known = false;

    for (size_t i = 0; i < d->n && !is_known; i++)
        is_known =
            strcmp(d->rows[i].project, project) == 0 && digest_equal(&d->rows[i].set.id, &set->id);
    for (size_t i = 0; i < d->n; i++) {
        const struct dataset_info *row = &d->rows[i];

        if (strcmp(row->project, project) != 0 ||
            !(is_known ? digest_equal(&row->set.id, &set->id)
                       : set->is_read && digest_equal(&row->set.tree, &set->manifest.tree)))
            continue;
        if (use.used_at < row->used_at)
            use.used_at = row->used_at;
        use.unfinished += row->unfinished;
        if (name != NULL && row->name != NULL && strcmp(row->name, name) == 0)
            use.has_name = true;
    }
    return use;
}

/* ---- packs ---- */

struct coming {
    struct arena *arena;
    struct packed *set;
};

static void on_manifest(void *context, const struct err *error, struct bytes content)
{
    const struct coming *c = context;
    struct bytes kept = { NULL, content.n };

    if (error != NULL)
        return;
    kept.data = (const uint8_t *)arena_strndup(c->arena, (const char *)content.data, content.n);
    c->set->is_read = manifest_decode(&c->set->id, kept, c->arena, &c->set->manifest, NULL) == 0;
}

static int read_sets(struct datasets_stored *p, struct err *e)
{
    const struct share_entry *items = p->entries[STORE_PACKS].items;
    size_t n = p->entries[STORE_PACKS].n;
    struct coming *coming = arena_alloc(p->arena, n * sizeof *coming);
    int result = 0;

    p->sets = arena_alloc(p->arena, n * sizeof *p->sets);
    for (size_t i = 0; i < n && result == 0; i++) {
        struct packed *set = &p->sets[p->n_sets];
        const char *ending = pack_name_ending(items[i].name, &set->id);
        struct buf path = { 0 };

        if (ending == NULL || !pack_ending_is_of(ending, PACK_MANIFEST))
            continue;
        set->mtime_s = items[i].stat.mtime_s;
        coming[p->n_sets] = (struct coming){ p->arena, set };
        pack_object_path(&path, PACK_MANIFEST, &set->id);
        result = store_fetch(p->store, buf_text(&path), PACK_MANIFEST_BYTES_MAX, on_manifest,
                             &coming[p->n_sets++], e);
        buf_free(&path);
    }
    return store_fetch_all(p->store, result == 0 ? e : NULL) < 0 ? -1 : result;
}

int datasets_stored_open(struct datasets_stored *p, const struct place *to, struct err *e)
{
    *p = (struct datasets_stored){ .store = store_open(to, e) };
    if (p->store == NULL)
        return -1;
    p->arena = arena_create();
    if (store_list(p->store, true, p->arena, p->entries, e) == 0 && read_sets(p, e) == 0)
        return 0;
    datasets_stored_close(p);
    return -1;
}

void datasets_stored_close(struct datasets_stored *p)
{
    if (p->store == NULL)
        return;
    store_close(p->store);
    arena_destroy(p->arena);
    free(p->waste);
    *p = (struct datasets_stored){ 0 };
}

/* ---- waste ---- */

static void add_waste(struct datasets_stored *p, const char *path, int64_t bytes, int64_t mtime_s)
{
    mem_grow((void **)&p->waste, &p->waste_capacity, p->n_waste, sizeof *p->waste);
    p->waste[p->n_waste++] = (struct waste){ arena_strdup(p->arena, path), bytes, mtime_s };
    p->waste_bytes += bytes;
}

/* Digests in the names of files that sets need that stay (stays), or that go (not stays). */
static struct hash_table *find_needed(const struct datasets_stored *p, bool stays)
{
    struct hash_table *needed = hash_table_create(SIZE_MAX);

    for (size_t i = 0; i < p->n_sets; i++) {
        const struct pack_manifest *m = &p->sets[i].manifest;

        if (p->sets[i].stays != stays || !p->sets[i].is_read)
            continue;
        for (size_t k = 0; k < m->n_parts; k++)
            hash_table_add(needed, &m->parts[k].list, 0);
        for (size_t k = 0; k < m->n_blocks; k++)
            hash_table_add(needed, &m->blocks[k].name, 0);
    }
    return needed;
}

static void waste_folder(struct datasets_stored *p, enum store_folder folder,
                         const struct hash_table *needed, const struct hash_table *dropped,
                         int64_t now_s)
{
    const struct share_entry *items = p->entries[folder].items;

    for (size_t i = 0; i < p->entries[folder].n; i++) {
        int64_t mtime_s = items[i].stat.mtime_s;
        struct digest d;
        const char *ending = pack_name_ending(items[i].name, &d);
        bool is_pack, is_old;
        uint32_t number;
        char *path;

        if (ending == NULL)
            continue;
        /* Other files, such as ones set aside, have a digest in their name, too. */
        is_pack = pack_ending_is_of(ending, PACK_BLOCK) || pack_ending_is_of(ending, PACK_LIST) ||
                  pack_ending_is_part(ending);
        /* A young file may belong to an upload that has no manifest yet, unless a set to be removed
         * has it and it was not touched later than the removed sets' manifests. */
        is_old = (mtime_s <= p->dropped_at_s && hash_table_find(dropped, &d, &number)) ||
                 (mtime_s > 0 && mtime_s <= now_s - DATASETS_STORED_YOUNG_S);
        if (!is_old || (is_pack && hash_table_find(needed, &d, &number)))
            continue;
        path = path_join(store_folder_names[folder], items[i].name);
        add_waste(p, path, items[i].stat.size_bytes, mtime_s);
        free(path);
    }
}

void datasets_stored_find_waste(struct datasets_stored *p, int64_t now_s)
{
    struct hash_table *needed, *dropped;
    bool is_readable = true;

    p->n_waste = 0;
    p->waste_bytes = 0;
    p->dropped_at_s = 0;
    for (size_t i = 0; i < p->n_sets; i++) {
        const struct packed *set = &p->sets[i];
        struct buf path = { 0 };

        is_readable = is_readable && (!set->stays || set->is_read);
        if (set->stays)
            continue;
        pack_object_path(&path, PACK_MANIFEST, &set->id);
        add_waste(p, buf_text(&path), 0, set->mtime_s);
        buf_free(&path);
        if (set->mtime_s > p->dropped_at_s)
            p->dropped_at_s = set->mtime_s;
    }
    if (!is_readable)
        return;
    needed = find_needed(p, true);
    dropped = find_needed(p, false);
    waste_folder(p, STORE_BLOCKS, needed, dropped, now_s);
    waste_folder(p, STORE_PARTS, needed, dropped, now_s);
    hash_table_destroy(dropped);
    hash_table_destroy(needed);
}

int datasets_stored_remove_waste(struct datasets_stored *p, int64_t now_s, struct err *e)
{
    size_t n = 0;
    bool is_kept = false;

    /* Manifests come first in waste; a set whose manifest was touched since the listing stays. */
    for (size_t i = 0; i < p->n_sets; i++) {
        const struct waste *w;
        int rc;

        if (p->sets[i].stays)
            continue;
        w = &p->waste[n++];
        rc = store_remove_untouched(p->store, w->path, w->mtime_s, e);
        if (rc < 0)
            return -1;
        p->sets[i].stays = rc == 0;
        is_kept = is_kept || rc == 0;
    }
    if (is_kept)
        datasets_stored_find_waste(p, now_s);
    n = 0;
    for (size_t i = 0; i < p->n_waste; i++) {
        const struct waste *w = &p->waste[i];
        int rc = store_remove_untouched(p->store, w->path, w->mtime_s, e);

        if (rc < 0)
            return -1;
        if (rc > 0)
            p->waste[n++] = *w;
        else
            p->waste_bytes -= w->bytes;
    }
    p->n_waste = n;
    return 0;
}

/* ---- choice of sets ---- */

/* A word of the command line, and the set that it names. */
struct pick {
    const char *word;
    const char *project; /* NULL: no set found yet */
    struct digest id;    /* the set's id, if the word is the beginning of one; else zero */
};

/* The arguments of a tidying. */
struct tidying {
    struct datasets *sets;
    struct pick *picks; /* NULL: old sets are chosen */
    size_t n_picks;
    bool removes;
    int64_t now_s;
    struct datasets_gone *gone; /* takes the result for each project; NULL: it is printed */
    size_t n_gone;
};

static const struct field gone_fields[] = {
    FIELD(struct datasets_gone, project, FIELD_STR, FIELD_REQUIRED, NAME_MAX_BYTES),
    FIELD(struct datasets_gone, datasets, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct datasets_gone, files, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct datasets_gone, bytes, FIELD_INT, FIELD_REQUIRED, INT64_MAX),
    FIELD(struct datasets_gone, is_removed, FIELD_BOOL, 0, 0),
};
const struct schema datasets_gone_schema =
    SCHEMA(struct datasets_gone, "datasets_gone", gone_fields);

/* Returns 1 if the word means this set, 0 if not, -1 if it is ambiguous or the set is in use. */
static int compare_pick(struct pick *p, const struct datasets *d, const char *project,
                        const struct packed *set, struct err *e)
{
    struct dataset_use use = datasets_use(d, project, set, p->word);
    size_t n = strlen(p->word);
    char hex[DIGEST_HEX];

    digest_hex(&set->id, hex);
    if (!use.has_name && (n < LEAST_ID || strncmp(hex, p->word, n) != 0))
        return 0;
    if (use.has_name && p->project != NULL && strcmp(p->project, project) != 0)
        return err_set(e, ERR_USAGE,
                       "%s and %s both have a dataset '%s'; --project says which is meant",
                       p->project, project, p->word);
    if (!use.has_name && !digest_is_zero(&p->id) && !digest_equal(&p->id, &set->id))
        return err_set(e, ERR_USAGE, "several ids begin with '%s'; say more of the one meant",
                       p->word);
    p->project = project;
    if (!use.has_name)
        p->id = set->id;
    if (use.unfinished == 0)
        return 1;
    return err_set(e, ERR_BUSY, "%s is needed by %" PRId64 " sweep%s not over", p->word,
                   use.unfinished, use.unfinished == 1 ? " that is" : "s that are");
}

static int choose(const struct tidying *t, const char *project, struct datasets_stored *p,
                  struct err *e)
{
    for (size_t i = 0; i < p->n_sets; i++) {
        struct packed *set = &p->sets[i];

        set->stays = true;
        for (size_t k = 0; k < t->n_picks; k++) {
            int rc = compare_pick(&t->picks[k], t->sets, project, set, e);

            if (rc < 0)
                return -1;
            set->stays = set->stays && rc == 0;
        }
        if (t->picks == NULL) {
            struct dataset_use use = datasets_use(t->sets, project, set, NULL);
            int64_t used_s = use.used_at / 1000;

            if (used_s < set->mtime_s)
                used_s = set->mtime_s;
            set->stays = use.unfinished > 0 || used_s > t->now_s - KEPT_DAYS * DAY_S;
        }
    }
    return 0;
}

/* ---- tidying, project by project ---- */

static void say_gone(const struct datasets_gone *g)
{
    struct buf size = { 0 };

    units_add_size(&size, g->bytes);
    if (g->files == 0)
        output_note("%s: nothing can go", g->project);
    else
        output_note("%s: %" PRId64 " dataset%s, %" PRId64 " file%s, %s %s", g->project, g->datasets,
                    g->datasets == 1 ? "" : "s", g->files, g->files == 1 ? "" : "s",
                    buf_text(&size), g->is_removed ? "removed" : "can go: --yes removes them");
    buf_free(&size);
}

static void note_waste(struct tidying *t, const struct datasets_stored *p, const char *project)
{
    struct datasets_gone g = { .project = project,
                               .files = (int64_t)p->n_waste,
                               .bytes = p->waste_bytes,
                               .is_removed = t->removes };

    for (size_t i = 0; i < p->n_sets; i++)
        g.datasets += !p->sets[i].stays;
    if (t->gone != NULL)
        t->gone[t->n_gone++] = g;
    else
        say_gone(&g);
}

static int tidy_opened(struct tidying *t, const struct datasets_project *project,
                       struct datasets_stored *p, struct err *e)
{
    bool is_picky = t->picks != NULL;

    if (choose(t, project->name, p, e) < 0)
        return -1;
    if (is_picky && !t->removes)
        return 0;
    datasets_stored_find_waste(p, t->now_s);
    if (t->removes && datasets_stored_remove_waste(p, t->now_s, e) < 0)
        return -1;
    if (is_picky ? p->n_waste > 0 : !project->is_guessed || p->n_sets > 0)
        note_waste(t, p, project->name);
    return 0;
}

static int tidy_all(struct tidying *t, struct err *e)
{
    size_t n;
    const struct datasets_project *projects = datasets_projects(t->sets, true, &n);

    for (size_t i = 0; i < n; i++) {
        struct place to = { .drive = session_drive(t->sets->session, e),
                            .project = projects[i].name };
        struct datasets_stored p;
        struct err why = { 0 };
        int result;

        if (to.drive == NULL)
            return -1;
        if (datasets_stored_open(&p, &to, &why) < 0) {
            if (projects[i].is_guessed && why.kind == ERR_DENIED)
                continue;
            return err_set(e, why.kind, "%s", why.text);
        }
        result = tidy_opened(t, &projects[i], &p, e);
        datasets_stored_close(&p);
        if (result < 0)
            return -1;
    }
    return 0;
}

int datasets_remove(struct datasets *d, const char *const *words, size_t n, struct err *e)
{
    struct tidying t = { .sets = d, .n_picks = n, .now_s = units_now_ms() / 1000 };

    t.picks = arena_alloc(d->session->arena, n * sizeof *t.picks);
    for (size_t i = 0; i < n; i++)
        t.picks[i].word = words[i];
    if (datasets_fetch(d, e) < 0 || tidy_all(&t, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (t.picks[i].project == NULL)
            return err_set(e, ERR_NOT_FOUND, "there is no dataset '%s' (ludwig data ls lists them)",
                           words[i]);
    t.removes = true;
    return tidy_all(&t, e);
}

int datasets_collect(struct datasets *d, bool removes, struct list *gone, struct err *e)
{
    struct tidying t = { .sets = d, .removes = removes, .now_s = units_now_ms() / 1000 };
    size_t n;

    if (datasets_fetch(d, e) < 0)
        return -1;
    if (gone != NULL) {
        (void)datasets_projects(d, true, &n);
        t.gone = arena_alloc(d->session->arena, n * sizeof *t.gone);
    }
    if (tidy_all(&t, e) < 0)
        return -1;
    if (gone != NULL)
        *gone = (struct list){ t.gone, t.n_gone };
    return 0;
}
