/* SPDX-License-Identifier: MIT */
/* stager.c - fills the cache ahead of the jobs, brings checkpoints, looks for published results */

/*
 * A thread brings the datasets one after the other, which may take long, while the stager does
 * other things.  Both threads know which trees are in use and which are being removed.
 */

#include "worker/stager/stager.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "worker/base/child_protocol.h"
#include "worker/base/child_start.h"
#include "worker/base/folders.h"
#include "worker/base/scratch.h"
#include "worker/saved/jobjson.h"
#include "worker/share/sftplink.h"
#include "worker/stager/cache.h"
#include "worker/stager/checkpoint_restore.h"
#include "worker/stager/env_build.h"

enum { TRIES = 3, PAUSE_NS = 100 * 1000 * 1000 };

/* A dataset that is to be brought. */
struct stage_wanted {
    struct dataset set;
    bool is_doubted;
    int64_t seq; /* of the order */
};

struct stage_task {
    struct stage_task *next;
    struct stage_wanted wanted;
    struct arena *arena; /* of the recipe; NULL: there is none */
    const struct env_recipe
        *recipe;      /* the tree is an environment that is built; NULL: it is brought */
    bool is_expected; /* no job waits for it yet */
    struct settings settings;
    char *project, *share, *drive;
};

/* A note of type NOTE_STAGED, NOTE_CACHED or NOTE_EXPECTED that is to be sent on; its strings are
 * freed with it. */
struct stage_note {
    struct stage_note *next;
    int64_t re; /* the number of the order; NOTE_CACHED: none */
    int type;
    union {
        struct note_staged staged;
        struct note_cached cached;
        struct order_nothing expected;
    } body;
    struct err why;
};

/* Notes that are to be sent to the agent. */
struct stage_notes {
    struct stage_note *first, **last;
    int event_fd; /* readable when there are some */
};

struct stage_queue {
    struct scratch *scratch;
    struct share_source source;
    char *cache_dir_path;
    char *cache_real_path; /* without symlinks, for environments built there; NULL: not known */
    int guard_fd;
    struct cache_locks locks;
    pthread_t thread;
    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t changed;
    struct stage_task *tasks; /* in order of arrival */
    struct stage_task *later; /* for expected trees, when there are no other tasks */
    int64_t expect_seq;       /* of the order that expects them */
    struct stage_task *at;    /* the thread's task; NULL: it has none */
    struct digest_set used;   /* trees that jobs use */
    struct digest_set going;
    struct stage_notes notes;
    int64_t room_bytes; /* so much of scratch is to be made free; 0: nothing is */
    bool has_given_up;  /* `at` was stopped: no job waits for it, or one waits for another tree */
    bool is_over;
};

/* ---- tasks ---- */

static struct stage_task *make_task(const struct order_stage *x, int64_t seq)
{
    struct stage_task *t = mem_alloc(sizeof *t);

    *t = (struct stage_task){ .wanted = { x->set, x->is_doubted, seq },
                              .settings = x->settings,
                              .project = mem_strdup(x->project),
                              .share = mem_strdup(x->share),
                              .drive = mem_strdup(x->drive) };
    if (x->recipe.tool != NULL) {
        t->arena = arena_create();
        t->recipe = env_recipe_copy(&x->recipe, t->arena);
    }
    return t;
}

static void free_task(struct stage_task *t)
{
    if (t->arena != NULL)
        arena_destroy(t->arena);
    free(t->project);
    free(t->share);
    free(t->drive);
    free(t);
}

static void free_tasks(struct stage_task **tasks)
{
    while (*tasks != NULL) {
        struct stage_task *t = *tasks;

        *tasks = t->next;
        free_task(t);
    }
}

static struct stage_task *find_task(struct stage_task *t, const struct digest *tree)
{
    while (t != NULL && !digest_equal(&t->wanted.set.tree, tree))
        t = t->next;
    return t;
}

/* ---- notes, under the lock ---- */

static void add_note(struct stage_notes *n, struct stage_note *note)
{
    const uint64_t one = 1;

    *n->last = note;
    n->last = &note->next;
    (void)!write(n->event_fd, &one, sizeof one);
}

static struct stage_note *make_note(int type, int64_t seq)
{
    struct stage_note *note = mem_alloc(sizeof *note);

    note->type = type;
    note->re = seq;
    return note;
}

static void note_staged(struct stage_notes *n, const struct digest *tree, int64_t seq,
                        bool is_guarded, const struct err *why, bool retry)
{
    struct stage_note *note = make_note(NOTE_STAGED, seq);

    note->body.staged = (struct note_staged){ .tree = *tree, .is_guarded = is_guarded };
    if (why != NULL) {
        note->why = *why;
        note->body.staged.error = note->why.text;
        note->body.staged.retry = retry;
    }
    add_note(n, note);
}

static void note_cached(struct stage_notes *n, const struct cache_tree *t, bool is_gone)
{
    struct stage_note *note = make_note(NOTE_CACHED, 0);

    note->body.cached = (struct note_cached){
        .tree = t->tree, .files = t->files, .bytes = t->bytes, .is_gone = is_gone
    };
    add_note(n, note);
}

static void note_expected(struct stage_notes *n, int64_t seq)
{
    struct stage_note *note = make_note(NOTE_EXPECTED, seq);

    note->body.expected.all = true;
    add_note(n, note);
}

/* Takes the next note, which the caller frees; NULL: there are no more. */
static struct stage_note *next_note(struct stage_queue *q)
{
    struct stage_notes *n = &q->notes;
    struct stage_note *note;
    uint64_t count;

    pthread_mutex_lock(&q->lock);
    note = n->first;
    if (note != NULL)
        n->first = note->next;
    else
        (void)!read(n->event_fd, &count, sizeof count);
    if (n->first == NULL)
        n->last = &n->first;
    pthread_mutex_unlock(&q->lock);
    return note;
}

/* Adds notes of all trees that the cache holds. */
static void stage_queue_list(struct stage_queue *q)
{
    size_t n;
    struct cache_tree *trees = cache_list(q->scratch->cache_fd, &n);

    pthread_mutex_lock(&q->lock);
    for (size_t i = 0; i < n; i++)
        if (trees[i].is_whole)
            note_cached(&q->notes, &trees[i], false);
    pthread_mutex_unlock(&q->lock);
    free(trees);
}

/* ---- which trees the jobs on scratch use, as their orders say ---- */

static bool is_used_below(int dir_fd, const struct digest *tree)
{
    DIR *dir = dir_fd < 0 ? NULL : io_list_dir_at(dir_fd, ".", NULL);
    struct arena *a = arena_create();
    const struct dirent *entry;
    bool is_used = false;
    struct order o;

    while (dir != NULL && !is_used && (entry = readdir(dir)) != NULL) {
        char *path = mem_printf("%s/" JOB_ORDER, entry->d_name);

        is_used = scratch_read(dir_fd, path, &order_schema, a, &o, NULL) == 0 &&
                  order_needs_tree(&o, tree);
        free(path);
        arena_reset(a);
    }
    if (dir != NULL)
        closedir(dir);
    arena_destroy(a);
    return is_used;
}

/* Counts also a job of an agent before ours, of which ours may know nothing, or of a pilot beside
 * ours, whose cache is the same folder. */
static bool is_used_by_jobs(const struct scratch *s, const struct digest *tree)
{
    char *base = path_dirname(s->path);
    DIR *dir = opendir(base);
    const struct dirent *entry;
    bool is_used = is_used_below(s->run_fd, tree) || is_used_below(s->spare_fd, tree);

    while (dir != NULL && !is_used && (entry = readdir(dir)) != NULL) {
        char *path = path_join(base, entry->d_name);

        if (strncmp(entry->d_name, FOLDERS_PREFIX, strlen(FOLDERS_PREFIX)) == 0 &&
            strcmp(path, s->path) != 0) {
            struct scratch other;
            struct stat ours, theirs;

            scratch_look(&other, path);
            is_used = other.cache_fd >= 0 && fstat(other.cache_fd, &theirs) == 0 &&
                      fstat(s->cache_fd, &ours) == 0 && ours.st_dev == theirs.st_dev &&
                      ours.st_ino == theirs.st_ino &&
                      (is_used_below(other.run_fd, tree) || is_used_below(other.spare_fd, tree));
            scratch_close(&other);
        }
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
    free(base);
    return is_used;
}

/* ---- trees in use ---- */

static bool let_go(void *context, const struct digest *tree)
{
    struct stage_queue *q = context;
    struct cache_tree gone = { .tree = *tree };
    bool may_go = !is_used_by_jobs(q->scratch, tree);

    pthread_mutex_lock(&q->lock);
    may_go = may_go && !digest_set_has(&q->used, tree);
    if (may_go) {
        digest_set_add(&q->going, tree);
        note_cached(&q->notes, &gone, true);
    }
    pthread_mutex_unlock(&q->lock);
    return may_go;
}

static bool is_given_up(void *context)
{
    struct stage_queue *q = context;
    bool over;

    pthread_mutex_lock(&q->lock);
    /* An expected tree gives way if a job waits, be it for this tree, or others are expected. */
    over =
        q->is_over || (q->at->is_expected ? q->tasks != NULL || q->at->wanted.seq != q->expect_seq
                                          : !digest_set_has(&q->used, &q->at->wanted.set.tree));
    q->has_given_up |= over;
    pthread_mutex_unlock(&q->lock);
    return over;
}

/* ---- other stagers of the cache ---- */

/* Holds the tree for as long as jobs of ours use it; a tree that is only expected may go. */
static bool hold_tree(struct stage_queue *q, const struct digest *tree)
{
    bool is_held;

    pthread_mutex_lock(&q->lock);
    is_held = !digest_set_has(&q->used, tree) || cache_lock_use(&q->locks, tree);
    pthread_mutex_unlock(&q->lock);
    return is_held;
}

/* ---- looking ---- */

static void tell_cached(struct stage_queue *q, const struct digest *tree)
{
    struct cache_tree found = { .tree = *tree };

    if (cache_look(q->scratch->cache_fd, &found))
        note_cached(&q->notes, &found, false);
}

static struct cache_use use_of(const struct stage_queue *q, const struct digest *tree,
                               bool is_doubted)
{
    return (struct cache_use){ .tree = *tree,
                               .cache_dir_path = q->cache_dir_path,
                               .guard_fd = q->guard_fd,
                               .is_doubted = is_doubted };
}

/* Looks at the tree; if it is whole, tells the agent so.  recipe: NULL, or that of an environment,
 * which must be what it would be if it were built today. */
static enum cache_state use_cached(struct stage_queue *q, const struct stage_wanted *w,
                                   const struct env_recipe *recipe)
{
    struct cache_use use = use_of(q, &w->set.tree, w->is_doubted);
    enum cache_state state = cache_open_tree(q->scratch->cache_fd, &use);
    struct cache cache = { .fd = q->scratch->cache_fd };
    const struct env_build build = { &cache, q->cache_real_path, recipe, w->set.tree };

    if (state == CACHE_WHOLE && recipe != NULL && !env_build_is_current(&build))
        state = CACHE_DAMAGED;
    if (state == CACHE_WHOLE) {
        pthread_mutex_lock(&q->lock);
        tell_cached(q, &w->set.tree);
        note_staged(&q->notes, &w->set.tree, w->seq, use.is_guarded, NULL, false);
        pthread_mutex_unlock(&q->lock);
    }
    return state;
}

/* ---- bringing ---- */

static struct cache cache_for(struct stage_queue *q, const struct stage_task *t)
{
    return (struct cache){ .fd = q->scratch->cache_fd,
                           .locks = &q->locks,
                           .settings = t->settings,
                           .is_patient = t->is_expected,
                           .let_go = let_go,
                           .is_over = is_given_up,
                           .context = q };
}

/* Returns 1 when the environment cannot be built: its jobs say why.  One that was damaged, or whose
 * interpreter is another one now, is not taken away from jobs that run in it. */
static int build_task(struct stage_queue *q, const struct stage_task *t, struct err *why)
{
    const int64_t begun_ms = units_monotonic_ms();
    const struct digest *tree = &t->wanted.set.tree;
    struct cache cache = cache_for(q, t);
    const struct env_build build = { &cache, q->cache_real_path, t->recipe, *tree };
    char hex[DIGEST_HEX];
    int result;

    digest_hex(tree, hex);

    if (q->cache_real_path == NULL)
        return err_set(why, ERR_FAILED, "%s cannot be found", q->cache_dir_path);
    if (faccessat(q->scratch->cache_fd, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_used_by_jobs(q->scratch, tree))
        return err_set(why, ERR_BUSY,
                       "the environment has to be built anew, and jobs are still running in it");
    result = env_build(&build, why);
    if (result < 0)
        return -1;
    log_event(result == 0 ? LOG_INFO : LOG_WARN, result == 0 ? "built" : "not-built", "project",
              "%s", t->project, "tree", "%s", hex, "tool", "%s", t->recipe->tool, "ms", "%lld",
              (long long)(units_monotonic_ms() - begun_ms), NULL);
    return result;
}

/* ERR_BUSY is tried again: a job that changes its data ends soon, or others replace the data. */
static int stage_task(struct stage_queue *q, const struct stage_task *t, struct err *why)
{
    const int64_t begun_ms = units_monotonic_ms();
    const struct dataset *set = &t->wanted.set;
    struct cache cache = cache_for(q, t);
    const struct pack_source_at at = { q->source, t->share, t->drive, t->project };
    char hex[DIGEST_HEX];
    int result = -1;

    for (int i = 0; i < TRIES && result < 0 && (i == 0 || why->kind == ERR_BUSY); i++) {
        err_clear(why);
        result = cache_stage(&cache, &at, set, why);
    }
    if (result < 0)
        return -1;
    digest_hex(&set->tree, hex);
    log_event(LOG_INFO, t->is_expected ? "staged-ahead" : "staged", "project", "%s", t->project,
              "tree", "%s", hex, "files", "%lld", (long long)set->files, "bytes", "%lld",
              (long long)set->bytes, "ms", "%lld", (long long)(units_monotonic_ms() - begun_ms),
              NULL);
    return 0;
}

/* Brings a tree.  One that is only expected, and there, is checked when a job comes for it. */
static int bring(struct stage_queue *q, const struct stage_task *t)
{
    struct cache_tree found = { .tree = t->wanted.set.tree };
    struct stage_wanted wanted = t->wanted;
    struct err why = { 0 };
    enum cache_state state;
    bool may_retry;
    int result;

    if (t->is_expected) {
        if (cache_look(q->scratch->cache_fd, &found))
            return 0;
        result = stage_task(q, t, &why);
        pthread_mutex_lock(&q->lock);
        if (result == 0)
            tell_cached(q, &t->wanted.set.tree);
        else if (!q->has_given_up)
            log_event(LOG_INFO, "not-staged-ahead", "project", "%s", t->project, "why", "%s",
                      why.text, NULL);
        pthread_mutex_unlock(&q->lock);
        return result;
    }
    state = use_cached(q, &wanted, t->recipe);
    if (state == CACHE_WHOLE)
        return 0;
    result = t->recipe != NULL ? build_task(q, t, &why) : stage_task(q, t, &why);
    if (result == 0) {
        /* Jobs may have been at the tree meanwhile, and at folders that were not watched yet. */
        wanted.is_doubted = state == CACHE_DAMAGED;
        if (use_cached(q, &wanted, t->recipe) == CACHE_WHOLE)
            return 0;
        err_set(&why, ERR_FAILED, "something goes on changing the cache on scratch");
    }
    /* Trying again mends nothing where the dataset is missing, damaged, or may not be read. */
    may_retry = t->recipe != NULL || (why.kind != ERR_DENIED && why.kind != ERR_USAGE &&
                                      why.kind != ERR_NOT_FOUND && why.kind != ERR_PROTOCOL);
    /* If a job wants the tree again meanwhile, the agent has asked again. */
    pthread_mutex_lock(&q->lock);
    if (!q->has_given_up && result == 1)
        note_staged(&q->notes, &wanted.set.tree, wanted.seq, false, NULL, false);
    else if (!q->has_given_up)
        note_staged(&q->notes, &wanted.set.tree, wanted.seq, false, &why, may_retry);
    pthread_mutex_unlock(&q->lock);
    return -1;
}

/* Works at q->at, which others may not free. */
static void work_at(struct stage_queue *q)
{
    const struct timespec pause = { 0, PAUSE_NS };
    struct stage_task *t = q->at;
    const struct digest *tree = &t->wanted.set.tree;
    bool is_wanted = true, goes_on = false;
    int result = -1;

    /* Another stager may be bringing this very tree, or removing it: then we wait for it. */
    while (is_wanted && (!hold_tree(q, tree) || !cache_lock_work(&q->locks, tree))) {
        is_wanted = !is_given_up(q);
        if (is_wanted)
            nanosleep(&pause, NULL);
    }
    if (is_wanted) {
        result = bring(q, t);
        cache_unlock_work(&q->locks, tree);
    }
    pthread_mutex_lock(&q->lock);
    q->at = NULL;
    if (t->is_expected && t->wanted.seq == q->expect_seq) {
        /* A task that was interrupted goes on later; after a failure the other trees of its order
         * are not brought either. */
        goes_on = result < 0 && q->has_given_up;
        if (goes_on) {
            t->next = q->later;
            q->later = t;
        } else if (result < 0) {
            free_tasks(&q->later);
        }
        if (q->later == NULL)
            note_expected(&q->notes, q->expect_seq);
    }
    pthread_mutex_unlock(&q->lock);
    if (!goes_on)
        free_task(t);
}

/* Removes trees that nobody uses until so much is free, for a job that asked for disk. */
static void make_room(struct stage_queue *q, int64_t bytes)
{
    struct cache cache = cache_for(q, &(struct stage_task){ .next = NULL });
    struct err why = { 0 };

    (void)cache_make_room(&cache, &(struct cache_need){ .bytes = (uint64_t)bytes }, &why);
}

/* The thread has a umask of its own: its files get modes as they are given. */
static void *run_stage_queue(void *context)
{
    struct stage_queue *q = context;
    struct stage_task **first;
    int64_t room_bytes;
    bool is_over;

    if (unshare(CLONE_FS) == 0)
        umask(022);
    cache_sweep(q->scratch->cache_fd, &q->locks);
    do {
        pthread_mutex_lock(&q->lock);
        q->has_given_up = false;
        q->going.n = 0;
        while (q->tasks == NULL && q->later == NULL && q->room_bytes == 0 && !q->is_over)
            pthread_cond_wait(&q->changed, &q->lock);
        is_over = q->is_over;
        room_bytes = q->room_bytes;
        q->room_bytes = 0;
        if (!is_over && room_bytes == 0) {
            first = q->tasks != NULL ? &q->tasks : &q->later;
            q->at = *first;
            *first = q->at->next;
        }
        pthread_mutex_unlock(&q->lock);
        if (!is_over && room_bytes > 0)
            make_room(q, room_bytes);
        else if (!is_over)
            work_at(q);
    } while (!is_over);
    return NULL;
}

/* ---- orders ---- */

/* The tree is in use until it is released.  Looks at it if it is there, else has it brought; notes
 * follow. seq: the order's number; of several orders the newest is answered. */
static void stage_queue_stage(struct stage_queue *q, const struct order_stage *x, int64_t seq)
{
    const struct stage_wanted wanted = { x->set, x->is_doubted, seq };
    struct stage_task *t, **at;
    bool is_busy;

    pthread_mutex_lock(&q->lock);
    digest_set_add(&q->used, &x->set.tree);
    is_busy = digest_set_has(&q->going, &x->set.tree) ||
              find_task(q->tasks, &x->set.tree) != NULL ||
              (q->at != NULL && digest_equal(&q->at->wanted.set.tree, &x->set.tree));
    pthread_mutex_unlock(&q->lock);
    if (hold_tree(q, &x->set.tree) && !is_busy &&
        use_cached(q, &wanted, x->recipe.tool != NULL ? &x->recipe : NULL) == CACHE_WHOLE)
        return;
    t = make_task(x, seq);
    pthread_mutex_lock(&q->lock);
    for (at = &q->tasks; *at != NULL && !digest_equal(&(*at)->wanted.set.tree, &x->set.tree);)
        at = &(*at)->next;
    if (*at != NULL) { /* it may have to be brought from other packs by now */
        struct stage_task *older = *at;

        t->wanted.is_doubted |= older->wanted.is_doubted;
        t->next = older->next;
        free_task(older);
    }
    *at = t;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

/* Brings the missing trees while no other order waits, instead of trees that were expected before;
 * a note says when that is over.  They are not in use, so any tree that a job waits for may
 * displace them. */
static void stage_queue_expect(struct stage_queue *q, const struct order_expect *x, int64_t seq)
{
    const struct dataset *sets = x->sets.items;
    struct order_stage as = {
        .project = x->project, .share = x->share, .drive = x->drive, .settings = x->settings
    };
    struct stage_task **last = &q->later;

    pthread_mutex_lock(&q->lock);
    free_tasks(&q->later);
    q->expect_seq = seq;
    for (size_t i = 0; i < x->sets.n; i++) {
        as.set = sets[i];
        *last = make_task(&as, seq);
        (*last)->is_expected = true;
        last = &(*last)->next;
    }
    if (q->later == NULL)
        note_expected(&q->notes, seq);
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static void stage_queue_release(struct stage_queue *q, const struct order_release *x)
{
    struct cache_use use = use_of(q, &x->tree, x->is_doubted);

    pthread_mutex_lock(&q->lock);
    digest_set_drop(&q->used, &x->tree);
    pthread_mutex_unlock(&q->lock);
    use.is_used_by_others = !cache_lock_use_alone(&q->locks, &x->tree);
    cache_close_tree(q->scratch->cache_fd, &use);
    cache_unlock_use(&q->locks, &x->tree);
}

/* ---- beginning and end ---- */

/* scratch must outlive the queue, whose thread only reads its members.  NULL with e set. */
static struct stage_queue *stage_queue_create(struct scratch *scratch,
                                              const struct share_source *source, int guard_fd,
                                              struct err *e)
{
    struct stage_queue *q = mem_alloc(sizeof *q);
    int rc;

    *q = (struct stage_queue){ .scratch = scratch,
                               .source = *source,
                               .cache_dir_path = mem_printf("%s/" SCRATCH_CACHE, scratch->path),
                               .guard_fd = guard_fd };
    q->cache_real_path = path_real(q->cache_dir_path, NULL);
    if (!cache_locks_open(&q->locks, scratch->cache_fd))
        log_event(LOG_WARN, "cache-not-locked", "cache", "%s", q->cache_dir_path, NULL);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    q->notes.last = &q->notes.first;
    q->notes.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rc = q->notes.event_fd < 0 ? errno : pthread_create(&q->thread, NULL, run_stage_queue, q);
    if (rc == 0)
        return q;
    errno = rc;
    err_sys(e, "start a thread");
    if (q->notes.event_fd >= 0)
        close(q->notes.event_fd);
    cache_locks_close(&q->locks);
    free(q->cache_real_path);
    free(q->cache_dir_path);
    free(q);
    return NULL;
}

/* Ends the thread and frees q; false: the thread is bringing a dataset, until the process ends. */
static bool stage_queue_destroy(struct stage_queue *q)
{
    struct stage_note *note;
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
    free_tasks(&q->tasks);
    free_tasks(&q->later);
    while ((note = next_note(q)) != NULL)
        free(note);
    close(q->notes.event_fd);
    digest_set_free(&q->used);
    digest_set_free(&q->going);
    cache_locks_close(&q->locks);
    free(q->cache_real_path);
    free(q->cache_dir_path);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    free(q);
    return true;
}

static void stage_queue_room(struct stage_queue *q, int64_t bytes)
{
    pthread_mutex_lock(&q->lock);
    q->room_bytes = bytes;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

struct stager {
    struct scratch scratch;
    struct shares *access;
    struct wire wire;
    struct stage_queue *queue;
};

/* ---- the loop ---- */

static int take_order(struct stager *s, const struct envelope *m, struct err *e)
{
    static const int types[] = {
        ORDER_STAGE, ORDER_RELEASE, ORDER_EXPECT, ORDER_RESTORE, ORDER_LOOK, ORDER_ROOM, -1
    };
    union {
        struct order_stage stage;
        struct order_release release;
        struct order_expect expect;
        struct order_restore restore;
        struct order_look look;
        struct order_room room;
    } x;
    struct note_restored restored = { .error = NULL };
    struct note_found found = { .found = false };
    struct share_dir *share;
    struct err why = { 0 };
    int rc;

    if (child_order_body(&s->wire, m, types, &x, e) < 0)
        return -1;
    switch (m->type) {
    case ORDER_STAGE: stage_queue_stage(s->queue, &x.stage, m->seq); return 0;
    case ORDER_RELEASE: stage_queue_release(s->queue, &x.release); return 0;
    case ORDER_EXPECT: stage_queue_expect(s->queue, &x.expect, m->seq); return 0;
    case ORDER_ROOM: stage_queue_room(s->queue, x.room.bytes); return 0;
    case ORDER_RESTORE:
        restored.token = x.restore.token;
        rc = checkpoint_restore(&s->scratch, s->access, &x.restore, &why);
        restored.error = rc != 0 ? why.text : NULL;
        restored.retry = rc < 0;
        return wire_send(&s->wire, NOTE_RESTORED, m->seq, NULL, &restored, e) < 0 ? -1 : 0;
    default: /* ORDER_LOOK; while the share is away the answer is no: result_fence finds out later */
        found.token = x.look.token;
        share = share_open(s->access, x.look.share, NULL);
        found.found =
            share != NULL && jobjson_read_token(share, x.look.run_path, &found.winner, NULL) == 1;
        share_close(share);
        return wire_send(&s->wire, NOTE_FOUND, m->seq, NULL, &found, e) < 0 ? -1 : 0;
    }
}

/* Waits until there is an order, or the agent is gone; sends notes meanwhile. */
static int wait_for_order(struct stager *s, struct err *e)
{
    struct pollfd fds[] = { { s->wire.fd, POLLIN, 0 }, { s->queue->notes.event_fd, POLLIN, 0 } };

    for (;;) {
        int64_t left_ms, sent = 0;
        struct stage_note *note;

        while (sent >= 0 && (note = next_note(s->queue)) != NULL) {
            sent = wire_send(&s->wire, note->type, note->re, NULL, &note->body, e);
            free(note);
        }
        if (sent < 0)
            return -1;
        left_ms = shares_rest_ms(s->access);
        if (wire_is_ready(&s->wire))
            return 0;
        if (poll(fds, 2, left_ms > INT_MAX ? INT_MAX : (int)left_ms) == 0)
            shares_rest(s->access);
        else if (fds[0].revents != 0)
            return 0;
    }
}

int stager_main(int argc, char **argv)
{
    struct stager s;
    struct share_source source;
    struct sftplink *sftp;
    struct envelope m;
    struct err e = { 0 };
    int guard_fd = fcntl(CHILD_GUARD_FD, F_GETFD) < 0 ? -1 : CHILD_GUARD_FD;
    int rc = -1, code;

    if (argc != 3 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--stager SCRATCH ADDRESS");
        return child_fail("stager", &e);
    }
    umask(077);
    if (child_begin(&e) < 0 || scratch_open(&s.scratch, argv[1], &e) < 0)
        return child_fail("stager", &e);
    wire_init(&s.wire, CHILD_CHANNEL_FD, &orders);
    sftp = sftplink_create(argv[2]);
    source = sftplink_source(sftp);
    s.access = shares_create(&source);
    s.queue = stage_queue_create(&s.scratch, &source, guard_fd, &e);
    if (s.queue != NULL) {
        stage_queue_list(s.queue);
        do {
            rc = wait_for_order(&s, &e);
            if (rc == 0)
                rc = wire_receive(&s.wire, &m, &e);
            if (rc == 1 && take_order(&s, &m, &e) < 0)
                rc = -1;
        } while (rc == 1);
    }
    code = rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("stager", &e) : 0;
    /* Staging ends with the process, at any point: the next stager goes on with it. */
    if (s.queue != NULL && !stage_queue_destroy(s.queue))
        _exit(code);
    shares_destroy(s.access);
    sftplink_destroy(sftp);
    wire_close(&s.wire);
    scratch_close(&s.scratch);
    return code;
}
