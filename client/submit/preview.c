/* SPDX-License-Identifier: MIT */
/* preview.c - what would become of a sweep, as things are */
#include <inttypes.h>

#include "client/submit/preview.h"
#include "client/submit/sweep_send.h"
#include "common/base/hash_table.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"

/* ---- whether configurations can be the same ---- */

static bool has_repeated(const struct param *p)
{
    struct hash_table *seen = hash_table_create(SIZE_MAX);
    struct digest digest;
    size_t i = 0;

    do
        param_digest(&p->values[i], &digest);
    while (hash_table_add(seen, &digest, 0) && ++i < p->n);
    hash_table_destroy(seen);
    return i < p->n;
}

/* A grid of lists without duplicates has none itself, and --param2vals none at all. */
static bool may_repeat(const struct submit_request *o)
{
    const struct plan *plan = &o->spec.plan;
    const struct param *params = plan->params.items;

    if (o->points.list != NULL)
        return false;
    if (plan->method != METHOD_GRID || plan->include.n > 0)
        return true;
    for (size_t i = 0; i < plan->params.n; i++)
        if (params[i].n > PREVIEW_EXACT_MAX || has_repeated(&params[i]))
            return true;
    return false;
}

/* ---- looking at all of them ---- */

struct walk {
    const struct submit_request *order;
    struct rpc *rpc;         /* NULL: nobody to ask, or nothing left to ask for */
    struct hash_table *seen; /* NULL: there are no duplicates, or too many to look for them */
    struct preview *forecast;
    struct msg_preview request;
    struct arena *arena;
    struct buf left_over, chunk;
    struct buf fresh; /* those of the chunk that are new, one behind the other */
    int64_t n_fresh;
};

static int take_if_new(void *context, struct bytes item, struct err *e)
{
    struct walk *w = context;
    struct digest digest;
    struct value config;

    arena_reset(w->arena);
    if (mp_read(item.data, item.n, w->arena, &config, e) < 0)
        return -1;
    param_digest(&config, &digest);
    if (!hash_table_add(w->seen, &digest, 0))
        return 0;
    buf_add(&w->fresh, item.data, item.n);
    w->n_fresh++;
    return 0;
}

/* Leaves in the chunk what was not in one before it. */
static int drop_repeated(struct walk *w, int64_t n, struct err *e)
{
    buf_clear(&w->fresh);
    w->n_fresh = 0;
    if (mp_each_item(w->chunk.bytes, w->chunk.n, take_if_new, w, e) < 0)
        return -1;
    if (w->n_fresh == n)
        return 0;
    buf_clear(&w->chunk);
    mp_add_list(&w->chunk, (size_t)w->n_fresh);
    buf_add(&w->chunk, w->fresh.bytes, w->fresh.n);
    return 0;
}

/* As the server would say it. */
static int check_owner(const struct msg_previewed *answer, const char *project, struct err *e)
{
    if (answer->owner == NULL || answer->is_own)
        return 0;
    return err_set(e, ERR_DENIED,
                   "project '%s' belongs to %s; choose another name with project: NAME", project,
                   answer->owner);
}

/* How many of the chunk's jobs are done, whatever their command, source and data were. */
static int ask_otherwise(struct walk *w, int64_t *n_jobs, struct err *e)
{
    struct msg_preview request = w->request;
    struct msg_previewed answer;

    request.reuse = REUSE_PARAMS;
    if (rpc_call(w->rpc, MSG_PREVIEW, &request, &answer, e) < 0)
        return -1;
    *n_jobs = answer.reused;
    return 0;
}

static int ask(struct walk *w, struct err *e)
{
    struct preview *f = w->forecast;
    struct msg_previewed answer;
    int64_t n_done;

    w->request.configs = buf_bytes(&w->chunk);
    if (rpc_call(w->rpc, MSG_PREVIEW, &w->request, &answer, e) < 0)
        return -1;
    if (check_owner(&answer, w->request.project, e) < 0)
        return -1;
    f->asked = true;
    f->reused += answer.reused;
    f->ran_jobs = answer.ran_jobs;
    f->ran_ms = answer.ran_ms;
    n_done = answer.reused;
    if (w->request.reuse == REUSE_ALL && answer.ran_jobs > 0 &&
        n_done < w->n_fresh * w->request.reps && ask_otherwise(w, &n_done, e) < 0)
        return -1;
    f->done_otherwise += n_done - answer.reused;
    /* Where nothing is done, nothing is found in the other chunks either. */
    if (answer.owner == NULL || answer.ran_jobs == 0 || w->request.reuse == REUSE_NONE)
        w->rpc = NULL;
    return 0;
}

static int look_at_chunk(struct walk *w, int64_t n, struct err *e)
{
    w->n_fresh = n;
    if (w->seen != NULL && drop_repeated(w, n, e) < 0)
        return -1;
    w->forecast->configs += w->n_fresh;
    return w->rpc != NULL && w->n_fresh > 0 ? ask(w, e) : 0;
}

static int walk_all(struct walk *w, struct err *e)
{
    const struct submit_request *o = w->order;
    int64_t most = sweep_send_chunk_max(o->spec.reps), left = o->configs;

    points_seek(&o->points, 0);
    while (left > 0 && (w->seen != NULL || w->rpc != NULL)) {
        int64_t n =
            sweep_send_fill_chunk(&o->points, left < most ? left : most, &w->left_over, &w->chunk);

        if (n == 0)
            return err_set(e, ERR_INTERNAL, "%" PRId64 " configurations are missing", left);
        if (look_at_chunk(w, n, e) < 0)
            return -1;
        left -= n;
    }
    w->forecast->configs += left;
    return 0;
}

int preview_make(struct preview *f, const struct submit_request *o, struct rpc *rpc,
                 const struct digest *work, struct err *e)
{
    struct walk w = { .order = o,
                      .rpc = rpc,
                      .forecast = f,
                      .request = { .project = o->spec.project,
                                   .reps = o->spec.reps,
                                   .reuse = o->reuse,
                                   .work = *work },
                      .arena = arena_create() };
    bool repeats = may_repeat(o);
    int result;

    *f = (struct preview){ .is_exact = !repeats || o->configs <= PREVIEW_EXACT_MAX };
    w.seen = repeats && f->is_exact ? hash_table_create(SIZE_MAX) : NULL;
    result = walk_all(&w, e);
    hash_table_destroy(w.seen);
    arena_destroy(w.arena);
    buf_free(&w.left_over);
    buf_free(&w.chunk);
    buf_free(&w.fresh);
    return result;
}
