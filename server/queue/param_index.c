/* SPDX-License-Identifier: MIT */
/* param_index.c - keeps digests of new configurations in memory, then sorts them into the index */
#include "server/queue/param_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "server/base/turn.h"

struct entry {
    int64_t project;
    struct digest digest;
    int64_t param;
};

/* How long the two lists were when a handler began, in case it fails. */
struct bookmark {
    struct param_index *params;
    size_t n_fresh;
    size_t n_indexed;
};

struct param_index {
    /* The newest entries, in the order in which they came, and their indices by key_of. */
    struct entry *fresh;
    size_t n_fresh, fresh_capacity;
    struct hash_table *numbers;
    /* The batch before these, sorted, which is being written to the index. */
    struct entry *sorted;
    size_t n_sorted;
    size_t n_indexed;    /* how many of `sorted` are in the index */
    int64_t last_sorted; /* the highest row in `sorted` */
    size_t n_begun;      /* n_fresh when the handler began */
};

/* ---- in memory ---- */

/* A key that differs between projects for the same configuration. */
static struct digest key_of(const struct entry *entry)
{
    struct digest key = entry->digest;
    uint64_t begin;

    memcpy(&begin, key.bytes, sizeof begin);
    begin ^= (uint64_t)entry->project * 0x9e3779b97f4a7c15u;
    memcpy(key.bytes, &begin, sizeof begin);
    return key;
}

static int compare(const void *x, const void *y)
{
    const struct entry *a = x;
    const struct entry *b = y;

    if (a->project != b->project)
        return a->project < b->project ? -1 : 1;
    return memcmp(a->digest.bytes, b->digest.bytes, DIGEST_BYTES);
}

static void remember(struct param_index *p, const struct entry *entry)
{
    struct digest key = key_of(entry);

    mem_grow((void **)&p->fresh, &p->fresh_capacity, p->n_fresh, sizeof *p->fresh);
    (void)hash_table_add(p->numbers, &key, (uint32_t)p->n_fresh);
    p->fresh[p->n_fresh++] = *entry;
}

/* ---- from one list to the next ---- */

/* Makes a full `fresh` the next `sorted`.  Runs between turns only, as a handler that fails takes
 * its entries back from the end of `fresh`. */
static void keep(struct server *sv, void *context)
{
    struct param_index *p = sv->params;

    free(context);
    if (p->n_sorted > 0 && p->n_indexed == p->n_sorted) {
        free(p->sorted);
        p->sorted = NULL;
        p->n_sorted = p->n_indexed = 0;
    }
    if (p->n_fresh < PARAM_INDEX_BATCH || p->n_sorted > 0)
        return;
    p->sorted = p->fresh;
    p->n_sorted = p->n_fresh;
    p->last_sorted = p->fresh[p->n_fresh - 1].param;
    p->n_indexed = 0;
    p->fresh = NULL;
    p->n_fresh = p->fresh_capacity = 0;
    hash_table_clear(p->numbers);
    qsort(p->sorted, p->n_sorted, sizeof *p->sorted, compare);
}

static void take_back(void *context)
{
    struct bookmark *mark = context;
    struct param_index *p = mark->params;

    p->n_indexed = mark->n_indexed;
    if (p->n_fresh > mark->n_fresh) {
        p->n_fresh = 0;
        hash_table_clear(p->numbers);
        for (size_t i = 0; i < mark->n_fresh; i++) {
            struct entry entry = p->fresh[i];

            remember(p, &entry);
        }
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

/* Indexes twice as many digests as came, so that `sorted` is done before `fresh` is full. */
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

int param_index_find(struct server *sv, int64_t project, const struct digest *digest,
                     int64_t *param, struct err *e)
{
    const struct param_index *p = sv->params;
    struct entry wanted = { project, *digest, 0 };
    struct digest key = key_of(&wanted);
    const struct entry *found = NULL;
    uint32_t number;

    if (hash_table_find(p->numbers, &key, &number) && compare(&p->fresh[number], &wanted) == 0)
        found = &p->fresh[number];
    else if (p->n_sorted > 0)
        found = bsearch(&wanted, p->sorted, p->n_sorted, sizeof wanted, compare);
    if (found == NULL)
        return db_get(sv->db, e, SQL_DIGEST_FIND, "id>i", project, digest, param);
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

struct param_index *param_index_create(struct server *sv, struct err *e)
{
    struct param_index *p = mem_alloc(sizeof *p);
    int64_t indexed = 0;
    struct stmt *s;
    int rc = db_get(sv->db, e, SQL_META_GET, "s>i", "indexed", &indexed);

    p->numbers = hash_table_create(SIZE_MAX);
    s = rc < 0 ? NULL : db_ask(sv->db, SQL_PARAMS_AFTER, "i", indexed);
    while (s != NULL && (rc = stmt_step(s, e)) == 1) {
        struct entry entry = { .param = stmt_int(s, 0), .project = stmt_int(s, 1) };

        stmt_digest(s, 2, &entry.digest);
        remember(p, &entry);
    }
    if (rc == 0)
        return p;
    param_index_destroy(p);
    return NULL;
}

void param_index_destroy(struct param_index *p)
{
    if (p == NULL)
        return;
    free(p->fresh);
    hash_table_destroy(p->numbers);
    free(p->sorted);
    free(p);
}
