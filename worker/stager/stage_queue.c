/* SPDX-License-Identifier: MIT */
/* stage_queue.c - datasets that are brought one after the other, in a thread of their own */

#include "worker/stager/stage_queue.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/digest_set.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/stager/cache_room.h"
#include "worker/stager/stage_task.h"
#include "worker/stager/stage_uses.h"

enum { TRIES = 3, PAUSE_NS = 100 * 1000 * 1000 };

struct stage_queue {
    struct scratch *scratch;
    struct share_source source;
    char *cache_dir_path;
    int guard_fd;
    struct cache_locks locks;
    pthread_t thread;
    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t changed;
    struct stage_task *tasks; /* first comes first */
    struct stage_task *later; /* what is expected, when there are no others */
    int64_t expect_seq;       /* of the order that said so */
    struct stage_task *at;    /* being brought */
    struct digest_set used;   /* by jobs */
    struct digest_set going;
    struct stage_notes notes;
    bool
        has_given_up; /* what is at: nobody waited for it any more, or somebody for something else */
    bool is_over;
};

/* ---- notes ---- */

int stage_queue_fd(const struct stage_queue *q)
{
    return q->notes.event_fd;
}

struct stage_note *stage_queue_next(struct stage_queue *q)
{
    struct stage_note *note;

    pthread_mutex_lock(&q->lock);
    note = stage_notes_next(&q->notes);
    pthread_mutex_unlock(&q->lock);
    return note;
}

void stage_queue_list(struct stage_queue *q)
{
    size_t n;
    struct cache_tree *trees = cache_list(q->scratch->cache_fd, &n);

    pthread_mutex_lock(&q->lock);
    for (size_t i = 0; i < n; i++)
        if (trees[i].is_whole)
            stage_note_cached(&q->notes, &trees[i], false);
    pthread_mutex_unlock(&q->lock);
    free(trees);
}

/* ---- what is in use ---- */

static bool let_go(void *context, const struct digest *tree)
{
    struct stage_queue *q = context;
    struct cache_tree gone = { .tree = *tree };
    bool may_go = !stage_is_used(q->scratch, tree);

    pthread_mutex_lock(&q->lock);
    may_go = may_go && !digest_set_has(&q->used, tree);
    if (may_go) {
        digest_set_add(&q->going, tree);
        stage_note_cached(&q->notes, &gone, true);
    }
    pthread_mutex_unlock(&q->lock);
    return may_go;
}

/* A job waits, perhaps for this very one, which is then urgent; or something else is expected by now. */
static bool is_in_the_way(const struct stage_queue *q, const struct stage_task *t)
{
    return q->tasks != NULL || t->wanted.seq != q->expect_seq;
}

static bool is_over(void *context)
{
    struct stage_queue *q = context;
    bool over;

    pthread_mutex_lock(&q->lock);
    over = q->is_over || (q->at->is_expected ? is_in_the_way(q, q->at)
                                             : !digest_set_has(&q->used, &q->at->wanted.set.tree));
    q->has_given_up |= over;
    pthread_mutex_unlock(&q->lock);
    return over;
}

/* ---- others at the same cache ---- */

/* For as long as jobs of ours use it; what is only expected may go. */
static bool hold(struct stage_queue *q, const struct digest *tree)
{
    bool is_held;

    pthread_mutex_lock(&q->lock);
    is_held = !digest_set_has(&q->used, tree) || cache_lock_use(&q->locks, tree);
    pthread_mutex_unlock(&q->lock);
    return is_held;
}

/* Another stager may be bringing this very tree, or removing it: then it is waited for.  false: nobody
 * wants it any more. */
static bool begin_work(struct stage_queue *q, const struct digest *tree)
{
    const struct timespec pause = { 0, PAUSE_NS };

    while (!hold(q, tree) || !cache_lock_work(&q->locks, tree)) {
        if (is_over(q))
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* ---- looking ---- */

static bool find_cached(const struct stage_queue *q, const struct digest *tree,
                        struct cache_tree *found)
{
    size_t n;
    struct cache_tree *trees = cache_list(q->scratch->cache_fd, &n);
    bool is_found = false;

    for (size_t i = 0; i < n && !is_found; i++) {
        is_found = trees[i].is_whole && digest_equal(&trees[i].tree, tree);
        *found = trees[i];
    }
    free(trees);
    return is_found;
}

static void tell_cached(struct stage_queue *q, const struct digest *tree)
{
    struct cache_tree found;

    if (find_cached(q, tree, &found))
        stage_note_cached(&q->notes, &found, false);
}

static struct cache_use use_of(const struct stage_queue *q, const struct digest *tree,
                               bool is_doubted)
{
    return (struct cache_use){ .tree = *tree,
                               .cache_dir_path = q->cache_dir_path,
                               .guard_fd = q->guard_fd,
                               .is_doubted = is_doubted };
}

/* Says so if it is there as it should be. */
static enum cache_state use_cached(struct stage_queue *q, const struct stage_wanted *w)
{
    struct cache_use use = use_of(q, &w->set.tree, w->is_doubted);
    enum cache_state state = cache_open_tree(q->scratch->cache_fd, &use);

    if (state == CACHE_WHOLE) {
        pthread_mutex_lock(&q->lock);
        tell_cached(q, &w->set.tree);
        stage_note_staged(&q->notes, &w->set.tree, w->seq, use.is_guarded, NULL, false);
        pthread_mutex_unlock(&q->lock);
    }
    return state;
}

/* ---- bringing ---- */

/* What will be no better the next time: nobody put it there, it is damaged, or nobody may read it. */
static bool is_final(const struct err *e)
{
    return e->kind == ERR_DENIED || e->kind == ERR_USAGE || e->kind == ERR_NOT_FOUND ||
           e->kind == ERR_PROTOCOL;
}

static void log_staged(const struct stage_task *t, int64_t took_ms)
{
    char hex[DIGEST_HEX];

    digest_hex(&t->wanted.set.tree, hex);
    log_event(LOG_INFO, t->is_expected ? "staged-ahead" : "staged", "project", "%s", t->project,
              "tree", "%s", hex, "files", "%lld", (long long)t->wanted.set.files, "bytes", "%lld",
              (long long)t->wanted.set.bytes, "ms", "%lld", (long long)took_ms, NULL);
}

/* A job that changes its data has ended soon, or something else gets them. */
static int stage(struct cache *c, const struct pack_source_at *at, const struct dataset *set,
                 struct err *why)
{
    int result = -1;

    for (int i = 0; i < TRIES && result < 0 && (i == 0 || why->kind == ERR_BUSY); i++) {
        err_clear(why);
        result = cache_stage(c, at, set, why);
    }
    return result;
}

static int stage_task(struct stage_queue *q, const struct stage_task *t, struct err *why)
{
    const int64_t begun_ms = units_monotonic_ms();
    struct cache cache = { .fd = q->scratch->cache_fd,
                           .locks = &q->locks,
                           .size_max_bytes = t->cache_size_bytes,
                           .is_patient = t->is_expected,
                           .let_go = let_go,
                           .is_over = is_over,
                           .context = q };
    const struct pack_source_at at = { q->source, t->share, t->drive, t->project };

    if (stage(&cache, &at, &t->wanted.set, why) < 0)
        return -1;
    log_staged(t, units_monotonic_ms() - begun_ms);
    return 0;
}

static void bring(struct stage_queue *q, const struct stage_task *t)
{
    struct err why = { 0 };
    struct stage_wanted wanted = t->wanted;
    enum cache_state state = use_cached(q, &wanted);

    if (state == CACHE_WHOLE)
        return;
    if (stage_task(q, t, &why) == 0) {
        /* Jobs may have been at it meanwhile, and at folders that nobody watched yet. */
        wanted.is_doubted = state == CACHE_DAMAGED;
        if (use_cached(q, &wanted) == CACHE_WHOLE)
            return;
        err_set(&why, ERR_FAILED, "something goes on changing the cache on scratch");
    }
    /* Who wants it again meanwhile has asked again. */
    pthread_mutex_lock(&q->lock);
    if (!q->has_given_up)
        stage_note_staged(&q->notes, &wanted.set.tree, wanted.seq, false, &why, !is_final(&why));
    pthread_mutex_unlock(&q->lock);
}

/* What is there is looked at when the job comes, and put right then. */
static int bring_expected(struct stage_queue *q, const struct stage_task *t)
{
    struct err why = { 0 };
    struct cache_tree found;
    int result;

    if (find_cached(q, &t->wanted.set.tree, &found))
        return 0;
    result = stage_task(q, t, &why);
    pthread_mutex_lock(&q->lock);
    if (result == 0)
        tell_cached(q, &t->wanted.set.tree);
    else if (!q->has_given_up)
        log_event(LOG_INFO, "not-staged-ahead", "project", "%s", t->project, "why", "%s", why.text,
                  NULL);
    pthread_mutex_unlock(&q->lock);
    return result;
}

static struct stage_task *take_task(struct stage_queue *q)
{
    struct stage_task **first;

    pthread_mutex_lock(&q->lock);
    q->at = NULL;
    q->has_given_up = false;
    q->going.n = 0;
    while (q->tasks == NULL && q->later == NULL && !q->is_over)
        pthread_cond_wait(&q->changed, &q->lock);
    if (!q->is_over) {
        first = q->tasks != NULL ? &q->tasks : &q->later;
        q->at = *first;
        *first = q->at->next;
    }
    pthread_mutex_unlock(&q->lock);
    return q->at;
}

/* One that was interrupted goes on later; after a failure the rest of what it is for is not brought
 * either.  True: the task is still wanted. */
static bool end_expected(struct stage_queue *q, struct stage_task *t, int result)
{
    bool goes_on = false;

    if (t->wanted.seq != q->expect_seq)
        return false;
    if (result < 0 && q->has_given_up) {
        t->next = q->later;
        q->later = t;
        goes_on = true;
    } else if (result < 0) {
        stage_tasks_free(&q->later);
    }
    if (q->later == NULL)
        stage_note_expected(&q->notes, q->expect_seq);
    return goes_on;
}

static int work_alone(struct stage_queue *q, const struct stage_task *t)
{
    const struct digest *tree = &t->wanted.set.tree;
    int result = 0;

    if (!begin_work(q, tree))
        return -1;
    if (t->is_expected)
        result = bring_expected(q, t);
    else
        bring(q, t);
    cache_unlock_work(&q->locks, tree);
    return result;
}

static void work_at(struct stage_queue *q, struct stage_task *t)
{
    bool goes_on = false;
    int result = work_alone(q, t);

    pthread_mutex_lock(&q->lock);
    q->at = NULL;
    if (t->is_expected)
        goes_on = end_expected(q, t, result);
    pthread_mutex_unlock(&q->lock);
    if (!goes_on)
        stage_task_free(t);
}

/* Its umask is its own: what it makes gets modes as they are given. */
static void *run(void *context)
{
    struct stage_queue *q = context;
    struct stage_task *t;

    if (unshare(CLONE_FS) == 0)
        umask(022);
    cache_sweep(q->scratch->cache_fd, &q->locks);
    while ((t = take_task(q)) != NULL)
        work_at(q, t);
    return NULL;
}

/* ---- orders ---- */

static void add_task(struct stage_queue *q, const struct order_stage *x, int64_t seq)
{
    struct stage_task *waits = stage_task_find(q->tasks, &x->set.tree), **last = &q->tasks;

    if (waits != NULL) {
        stage_task_renew(waits, x, seq);
        return;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = stage_task_make(x, seq);
    pthread_cond_signal(&q->changed);
}

void stage_queue_stage(struct stage_queue *q, const struct order_stage *x, int64_t seq)
{
    const struct stage_wanted wanted = { x->set, x->is_doubted, seq };
    bool is_busy;

    pthread_mutex_lock(&q->lock);
    digest_set_add(&q->used, &x->set.tree);
    is_busy = digest_set_has(&q->going, &x->set.tree) ||
              stage_task_find(q->tasks, &x->set.tree) != NULL ||
              (q->at != NULL && digest_equal(&q->at->wanted.set.tree, &x->set.tree));
    pthread_mutex_unlock(&q->lock);
    if (hold(q, &x->set.tree) && !is_busy && use_cached(q, &wanted) == CACHE_WHOLE)
        return;
    pthread_mutex_lock(&q->lock);
    add_task(q, x, seq);
    pthread_mutex_unlock(&q->lock);
}

void stage_queue_expect(struct stage_queue *q, const struct order_expect *x, int64_t seq)
{
    const struct dataset *sets = x->sets.items;
    struct stage_task **last = &q->later;

    pthread_mutex_lock(&q->lock);
    stage_tasks_free(&q->later);
    q->expect_seq = seq;
    for (size_t i = 0; i < x->sets.n; i++) {
        *last = stage_task_make_expected(x, &sets[i], seq);
        last = &(*last)->next;
    }
    if (q->later == NULL)
        stage_note_expected(&q->notes, seq);
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

void stage_queue_release(struct stage_queue *q, const struct order_release *x)
{
    struct cache_use use = use_of(q, &x->tree, x->is_doubted);

    pthread_mutex_lock(&q->lock);
    digest_set_drop(&q->used, &x->tree);
    pthread_mutex_unlock(&q->lock);
    use.is_used_by_others = !cache_lock_use_alone(&q->locks, &x->tree);
    cache_close_tree(q->scratch->cache_fd, &use);
    cache_unlock_use(&q->locks, &x->tree);
}

/* ---- its life ---- */

static int begin(struct stage_queue *q, struct err *e)
{
    int rc;

    if (stage_notes_open(&q->notes, e) < 0)
        return -1;
    rc = pthread_create(&q->thread, NULL, run, q);
    if (rc != 0)
        return err_set(e, ERR_FAILED, "start a thread: error %d", rc);
    return 0;
}

struct stage_queue *stage_queue_create(struct scratch *scratch, const struct share_source *source,
                                       int guard_fd, struct err *e)
{
    struct stage_queue *q = mem_alloc(sizeof *q);

    *q = (struct stage_queue){ .scratch = scratch,
                               .source = *source,
                               .cache_dir_path = mem_printf("%s/" SCRATCH_CACHE, scratch->path),
                               .guard_fd = guard_fd };
    if (!cache_locks_open(&q->locks, scratch->cache_fd))
        log_event(LOG_WARN, "cache-not-locked", "cache", "%s", q->cache_dir_path, NULL);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    if (begin(q, e) == 0)
        return q;
    cache_locks_close(&q->locks);
    free(q->cache_dir_path);
    free(q);
    return NULL;
}

static void free_all(struct stage_queue *q)
{
    stage_tasks_free(&q->tasks);
    stage_tasks_free(&q->later);
    stage_notes_close(&q->notes);
    digest_set_free(&q->used);
    digest_set_free(&q->going);
    cache_locks_close(&q->locks);
    free(q->cache_dir_path);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

bool stage_queue_destroy(struct stage_queue *q)
{
    bool is_idle;

    pthread_mutex_lock(&q->lock);
    q->is_over = true;
    is_idle = q->at == NULL;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
    if (!is_idle) {
        pthread_detach(q->thread);
        return false;
    }
    pthread_join(q->thread, NULL);
    free_all(q);
    return true;
}
