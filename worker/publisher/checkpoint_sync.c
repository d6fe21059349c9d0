/* SPDX-License-Identifier: MIT */
/* checkpoint_sync.c - copies the checkpoints of running attempts to the share every so often */

#include "worker/publisher/checkpoint_sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/proto/layout.h"
#include "worker/publisher/checkpoint_copy.h"
#include "worker/saved/checkpoint_list.h"
#include "common/share/share_project.h"

enum {
    /* How long orders and results wait for a piece; what a sync takes is longer. */
    MOMENT_MS = 20,
    /* After a failure: doubled each time. */
    RETRY_MS = 1000,
    RETRY_MAX_MS = 30 * 1000
};

struct watched {
    struct token token;
    int64_t every_ms;
    int64_t due_ms;
    int64_t retry_ms;   /* the pause after the last failure; 0: it went well */
    bool is_known;      /* what lies on the share: */
    struct digest kept; /* of its index */
};

struct checkpoint_sync {
    const struct scratch *scratch;
    struct shares *access;
    struct watched *watched;
    size_t n;
    size_t capacity;

    /* of the one being copied */
    bool is_copying;
    struct token token;
    struct arena *arena;
    struct order order;
    struct checkpoint_copy keep;
    struct digest digest;
    struct share_dir *dir;
    char hex[TOKEN_HEX];
};

struct checkpoint_sync *checkpoint_sync_create(const struct scratch *s, struct shares *access)
{
    struct checkpoint_sync *k = mem_alloc(sizeof *k);

    k->scratch = s;
    k->access = access;
    k->arena = arena_create();
    return k;
}

/* ---- the table ---- */

static struct watched *find(struct checkpoint_sync *k, const struct token *token)
{
    for (size_t i = 0; i < k->n; i++)
        if (token_equal(&k->watched[i].token, token))
            return &k->watched[i];
    return NULL;
}

void checkpoint_sync_watch(struct checkpoint_sync *k, const struct token *token, int64_t every_ms)
{
    if (every_ms <= 0 || find(k, token) != NULL)
        return;
    mem_grow((void **)&k->watched, &k->capacity, k->n, sizeof *k->watched);
    k->watched[k->n++] = (struct watched){ .token = *token,
                                           .every_ms = every_ms,
                                           .due_ms = units_monotonic_ms() + every_ms };
}

static struct watched *first_due(const struct checkpoint_sync *k)
{
    struct watched *first = NULL;

    for (size_t i = 0; i < k->n; i++)
        if (first == NULL || k->watched[i].due_ms < first->due_ms)
            first = &k->watched[i];
    return first;
}

int64_t checkpoint_sync_wait_ms(const struct checkpoint_sync *k)
{
    const struct watched *w = first_due(k);
    int64_t left_ms;

    if (k->is_copying)
        return 0;
    if (w == NULL)
        return -1;
    left_ms = w->due_ms - units_monotonic_ms();
    return left_ms < 0 ? 0 : left_ms;
}

/* ---- the end of a copy ---- */

static void end_copy(struct checkpoint_sync *k)
{
    if (!k->is_copying)
        return;
    if (k->keep.temporary != NULL)
        (void)share_remove_tree(k->dir, k->keep.temporary, NULL);
    checkpoint_copy_close(&k->keep);
    share_close(k->dir);
    k->dir = NULL;
    arena_reset(k->arena);
    k->is_copying = false;
}

void checkpoint_sync_forget(struct checkpoint_sync *k, const struct token *token)
{
    struct watched *w = find(k, token);

    if (k->is_copying && token_equal(&k->token, token))
        end_copy(k);
    if (w != NULL)
        *w = k->watched[--k->n];
}

void checkpoint_sync_destroy(struct checkpoint_sync *k)
{
    if (k == NULL)
        return;
    end_copy(k);
    arena_destroy(k->arena);
    free(k->watched);
    free(k);
}

static void note_well(struct watched *w)
{
    w->retry_ms = 0;
    w->due_ms = units_monotonic_ms() + w->every_ms;
}

/* Said once, until it goes well again. */
static void note_failure(const struct checkpoint_sync *k, struct watched *w, const struct err *e)
{
    if (w->retry_ms == 0)
        log_event(LOG_WARN, "checkpoint-not-copied", "attempt", "%s", k->hex, "error", "%s",
                  e->text, NULL);
    w->retry_ms = w->retry_ms == 0                 ? RETRY_MS
                  : 2 * w->retry_ms > RETRY_MAX_MS ? RETRY_MAX_MS
                                                   : 2 * w->retry_ms;
    /* A job that writes all the time would make us copy all the time. */
    w->due_ms = units_monotonic_ms() + (e->kind == ERR_BUSY ? w->every_ms : w->retry_ms);
}

/* ---- a copy ---- */

static int open_folder(struct checkpoint_sync *k, struct share_modes *modes, struct err *e)
{
    struct buf path = { 0 };
    struct share_dir *share = share_open(k->access, k->order.share, e);

    if (share == NULL)
        return -1;
    layout_checkpoints(&path, k->order.work.project, k->order.assignment.param_name);
    k->dir = share_project_open_folder(share, buf_text(&path), modes, e);
    buf_free(&path);
    share_close(share);
    return k->dir == NULL ? -1 : 0;
}

static int find_newest(const struct checkpoint_sync *k, struct checkpoint_list *newest,
                       struct err *e)
{
    const struct assignment *x = &k->order.assignment;
    const struct checkpoint_list up_to = { x->attempt, CHECKPOINT_LIST_AT_END };

    return checkpoint_list_newest(k->dir, x->job_name, &up_to, newest, e);
}

/* It is what lies there: copied by a publisher before us, or what the job was given. */
static int look_at_newest(struct checkpoint_sync *k, struct watched *w, struct err *e)
{
    struct buf name = { 0 };
    struct checkpoint_list newest;
    int rc = find_newest(k, &newest, e);

    if (rc <= 0)
        return rc;
    checkpoint_list_add_name(&name, k->order.assignment.job_name, &newest);
    w->is_known = checkpoint_copy_digest_of(k->dir, buf_text(&name), &w->kept, NULL) == 0;
    buf_free(&name);
    return 0;
}

static bool is_unchanged(const struct checkpoint_sync *k, const struct watched *w)
{
    return w->is_known && memcmp(&w->kept, &k->digest, sizeof k->digest) == 0;
}

static int begin_keep(struct checkpoint_sync *k, const struct share_modes *modes, struct err *e)
{
    const struct assignment *x = &k->order.assignment;
    struct buf temporary = { 0 };
    int result;

    checkpoint_list_add_temporary(&temporary, x->job_name, x->attempt, &k->token);
    result = checkpoint_copy_begin(&k->keep, k->dir, buf_text(&temporary), modes, e);
    buf_free(&temporary);
    return result;
}

/* 1: there is something to copy. */
static int compare(struct checkpoint_sync *k, struct watched *w, struct err *e)
{
    struct share_modes modes;
    int rc = checkpoint_copy_open(&k->keep, k->scratch->run_fd, k->hex, e);

    k->is_copying = rc == 1;
    if (rc <= 0 || checkpoint_copy_digest(&k->keep, &k->digest, e) < 0)
        return rc <= 0 ? rc : -1;
    if (is_unchanged(k, w))
        return 0;
    if (open_folder(k, &modes, e) < 0 || (!w->is_known && look_at_newest(k, w, e) < 0))
        return -1;
    if (is_unchanged(k, w))
        return 0;
    return begin_keep(k, &modes, e) < 0 ? -1 : 1;
}

static int read_order(struct checkpoint_sync *k, struct err *e)
{
    char *path = mem_printf("%s/%s", k->hex, JOB_ORDER);
    int rc = scratch_read(k->scratch->run_fd, path, &order_schema, k->arena, &k->order, e);

    free(path);
    return rc;
}

static void begin(struct checkpoint_sync *k, struct watched *w)
{
    struct err e = { 0 };
    int rc;

    k->token = w->token;
    k->dir = NULL;
    token_hex(&k->token, k->hex);
    rc = read_order(k, &e);
    if (rc < 0 && e.kind == ERR_NOT_FOUND) { /* it has ended, and we shall hear of it */
        checkpoint_sync_forget(k, &w->token);
        return;
    }
    if (rc == 0)
        rc = compare(k, w, &e);
    if (rc == 1)
        return;
    end_copy(k);
    arena_reset(k->arena);
    if (rc < 0)
        note_failure(k, w, &e);
    else
        note_well(w);
}

/* ---- its name ---- */

struct paths {
    struct share_sync *files;
    size_t n, capacity;
    const struct share_dir *dir;
};

static void add_path(void *context, const char *path)
{
    struct paths *p = context;

    mem_grow((void **)&p->files, &p->capacity, p->n, sizeof *p->files);
    p->files[p->n++] = (struct share_sync){ p->dir, mem_strdup(path), 0 };
}

static int sync_each(const struct checkpoint_sync *k, struct err *e)
{
    struct paths p = { .dir = k->dir };
    int result = 0;

    checkpoint_copy_each_path(&k->keep, add_path, &p);
    share_sync_each(p.files, p.n);
    for (size_t i = 0; i < p.n; i++) {
        if (p.files[i].error != 0 && result == 0) {
            errno = p.files[i].error;
            result = err_sys(e, "sync %s", p.files[i].path);
        }
        free((char *)p.files[i].path);
    }
    free(p.files);
    return result;
}

static int make_durable(const struct checkpoint_sync *k, struct err *e)
{
    return share_is_synced_whole(k->dir) ? share_sync(k->dir, e) : sync_each(k, e);
}

/* One more than the copy before, which stays until this one is there to stay. */
static int name_copy(struct checkpoint_sync *k, struct checkpoint_list *as, struct err *e)
{
    const struct assignment *x = &k->order.assignment;
    struct checkpoint_list newest = { 0, 0 };

    if (find_newest(k, &newest, e) < 0)
        return -1;
    *as = (struct checkpoint_list){ x->attempt, 1 };
    if (newest.attempt == x->attempt)
        as->number =
            newest.number == CHECKPOINT_LIST_AT_END ? CHECKPOINT_LIST_AT_END : newest.number + 1;
    if (checkpoint_list_name(k->dir, k->keep.temporary, x->job_name, as, k->hex, e) < 0)
        return -1;
    return share_sync_dir(k->dir, "of checkpoints", e);
}

static int finish(struct checkpoint_sync *k, struct watched *w, struct err *e)
{
    const struct assignment *x = &k->order.assignment;
    struct err why = { 0 };
    struct checkpoint_list as;

    if (checkpoint_copy_digest(&k->keep, &w->kept, e) < 0 || make_durable(k, e) < 0 ||
        name_copy(k, &as, e) < 0) {
        w->is_known = false;
        return -1;
    }
    w->is_known = true;
    if (checkpoint_list_remove_older(k->dir, x->job_name, &as, x->attempt, k->hex, &why) < 0)
        log_event(LOG_WARN, "checkpoints-not-removed", "attempt", "%s", k->hex, "error", "%s",
                  why.text, NULL);
    return 0;
}

/* ---- its turn ---- */

static void go_on(struct checkpoint_sync *k)
{
    int64_t until_ms = units_monotonic_ms() + MOMENT_MS;
    struct watched *w = find(k, &k->token);
    struct err e = { 0 };
    int rc;

    do
        rc = checkpoint_copy_go_on(&k->keep, &e);
    while (rc == 1 && units_monotonic_ms() < until_ms);
    if (rc == 1)
        return;
    if (rc == 0)
        rc = finish(k, w, &e);
    end_copy(k);
    if (rc == 0)
        note_well(w);
    else
        note_failure(k, w, &e);
}

void checkpoint_sync_turn(struct checkpoint_sync *k)
{
    if (k->is_copying)
        go_on(k);
    else if (checkpoint_sync_wait_ms(k) == 0)
        begin(k, first_due(k));
}
