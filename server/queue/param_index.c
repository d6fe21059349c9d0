/* SPDX-License-Identifier: MIT */
/* param_index.c - digests of new configurations in memory, then sorted into their index */
#include "server/queue/param_index.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/turn.h"

struct entry {
    int64_t project;
    struct digest digest;
    int64_t param;
};

/* Where in the two lists a handler began, for the case that it fails. */
struct bookmark {
    struct param_index *params;
    size_t n_fresh;
    size_t n_indexed;
};

struct param_index {
    /* The newest, in the order they came, and a hash table over them: 1 + index, 0 empty. */
    struct entry *fresh;
    size_t n_fresh, fresh_capacity;
    uint32_t *slots;
    size_t n_slots; /* a power of two, at least twice n_fresh */
    /* The batch before, sorted, on its way into the index. */
    struct entry *sorted;
    size_t n_sorted;
    size_t n_indexed;    /* of these; 0 while there is none */
    int64_t last_sorted; /* the highest row among them */
    size_t n_begun;      /* n_fresh when the handler began */
};

/* ---- the hash table ---- */

static size_t hash_of(const struct entry *key)
{
    uint64_t h;

    memcpy(&h, key->digest.bytes, sizeof h); /* random already */
    return (size_t)(h ^ (uint64_t)key->project * 0x9e3779b97f4a7c15u);
}

static int compare(const void *x, const void *y)
{
    const struct entry *a = x;
    const struct entry *b = y;

    if (a->project != b->project)
        return a->project < b->project ? -1 : 1;
    return memcmp(a->digest.bytes, b->digest.bytes, DIGEST_BYTES);
}

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t *slot_of(const struct param_index *p, const struct entry *key)
{
    size_t i = hash_of(key) & (p->n_slots - 1);

    while (p->slots[i] != 0 && compare(&p->fresh[p->slots[i] - 1], key) != 0)
        i = (i + 1) & (p->n_slots - 1);
    return &p->slots[i];
}

static void fill_slots(struct param_index *p, size_t n_slots)
{
    free(p->slots);
    p->slots = mem_alloc(n_slots * sizeof *p->slots);
    p->n_slots = n_slots;
    for (size_t i = 0; i < p->n_fresh; i++)
        *slot_of(p, &p->fresh[i]) = (uint32_t)i + 1;
}

static void remember(struct param_index *p, const struct entry *entry)
{
    enum { FIRST_SLOTS = 1024 };

    mem_grow((void **)&p->fresh, &p->fresh_capacity, p->n_fresh, sizeof *p->fresh);
    p->fresh[p->n_fresh++] = *entry;
    if (2 * p->n_fresh > p->n_slots)
        fill_slots(p, p->n_slots == 0 ? FIRST_SLOTS : 2 * p->n_slots);
    else
        *slot_of(p, entry) = (uint32_t)p->n_fresh;
}

static const struct entry *look_up(const struct param_index *p, const struct entry *key)
{
    uint32_t slot = p->n_slots == 0 ? 0 : *slot_of(p, key);

    if (slot != 0)
        return &p->fresh[slot - 1];
    if (p->n_sorted == 0)
        return NULL;
    return bsearch(key, p->sorted, p->n_sorted, sizeof *key, compare);
}

/* ---- from one list to the next ---- */

/* Between turns only: a handler that fails takes its own back from the end of the fresh ones. */
static void sort_batch(struct param_index *p)
{
    if (p->n_fresh < PARAM_INDEX_BATCH || p->n_sorted > 0)
        return;
    p->sorted = p->fresh;
    p->n_sorted = p->n_fresh;
    p->last_sorted = p->fresh[p->n_fresh - 1].param;
    p->n_indexed = 0;
    p->fresh = NULL;
    p->n_fresh = p->fresh_capacity = p->n_slots = 0;
    free(p->slots);
    p->slots = NULL;
    qsort(p->sorted, p->n_sorted, sizeof *p->sorted, compare);
}

static void keep(struct server *sv, void *context)
{
    struct param_index *p = sv->params;

    free(context);
    if (p->n_sorted > 0 && p->n_indexed == p->n_sorted) {
        free(p->sorted);
        p->sorted = NULL;
        p->n_sorted = p->n_indexed = 0;
    }
    sort_batch(p);
}

static void take_back(void *context)
{
    struct bookmark *mark = context;
    struct param_index *p = mark->params;

    p->n_indexed = mark->n_indexed;
    if (p->n_fresh > mark->n_fresh) {
        p->n_fresh = mark->n_fresh;
        fill_slots(p, p->n_slots);
    }
    free(mark);
}

void param_index_begin(struct server *sv)
{
    struct bookmark *mark = mem_alloc(sizeof *mark);
    struct param_index *p = sv->params;

    *mark = (struct bookmark){ p, p->n_fresh, p->n_indexed };
    p->n_begun = p->n_fresh;
    turn_after_with(sv, keep, take_back, mark);
}

/* Twice as many as came, so that the batch before is through when the next one is full. */
int param_index_end(struct server *sv, struct err *e)
{
    struct param_index *p = sv->params;
    size_t n = 2 * (p->n_fresh - p->n_begun);

    if (p->n_indexed == p->n_sorted)
        return 0;
    for (; n > 0 && p->n_indexed < p->n_sorted; n--, p->n_indexed++) {
        const struct entry *entry = &p->sorted[p->n_indexed];

        if (db_run(sv->db, e, SQL_DIGEST_ADD, "idi", entry->project, &entry->digest, entry->param) <
            0)
            return -1;
    }
    if (p->n_indexed == p->n_sorted &&
        db_run(sv->db, e, SQL_META_SET, "si", "indexed", p->last_sorted) < 0)
        return -1;
    return 0;
}

/* ---- finding and adding ---- */

int params_find(struct server *sv, int64_t project, const struct digest *digest, int64_t *param,
                struct err *e)
{
    struct entry key = { project, *digest, 0 };
    const struct entry *found = look_up(sv->params, &key);

    if (found == NULL)
        return db_get_int(sv->db, e, param, SQL_DIGEST_FIND, "id", project, digest);
    *param = found->param;
    return 1;
}

int param_index_add(struct server *sv, int64_t project, int64_t no, const struct digest *digest,
                    struct bytes value, int64_t *param, struct err *e)
{
    struct entry entry = { project, *digest, 0 };

    if (db_run(sv->db, e, SQL_PARAM_ADD, "iidb", project, no, digest, value) < 0)
        return -1;
    entry.param = *param = db_last_id(sv->db);
    remember(sv->params, &entry);
    return 0;
}

size_t param_index_waiting(const struct param_index *p)
{
    return p->n_fresh + p->n_sorted - p->n_indexed;
}

/* ---- beginning and end ---- */

static int load(struct server *sv, struct param_index *p, struct err *e)
{
    int64_t indexed = 0;
    struct stmt *s;
    int rc;

    if (db_get_int(sv->db, e, &indexed, SQL_META_GET, "s", "indexed") < 0)
        return -1;
    s = db_ask(sv->db, SQL_PARAMS_AFTER, "i", indexed);
    while ((rc = stmt_step(s, e)) == 1) {
        struct entry entry = { .param = stmt_int(s, 0), .project = stmt_int(s, 1) };

        stmt_digest(s, 2, &entry.digest);
        remember(p, &entry);
    }
    return rc;
}

struct param_index *param_index_create(struct server *sv, struct err *e)
{
    struct param_index *p = mem_alloc(sizeof *p);

    if (load(sv, p, e) == 0)
        return p;
    param_index_destroy(p);
    return NULL;
}

void param_index_destroy(struct param_index *p)
{
    if (p == NULL)
        return;
    free(p->fresh);
    free(p->slots);
    free(p->sorted);
    free(p);
}
