/* SPDX-License-Identifier: MIT */
/* checkpoint_copy.c - copies checkpoints to the share, those of running attempts every so often */

#include "worker/publisher/checkpoint_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/proto/layout.h"
#include "common/share/share_project.h"
#include "worker/base/child_protocol.h"
#include "worker/saved/checkpoint.h"
#include "worker/saved/saved.h"
#include "worker/share/sftplink.h"

enum { PIECE_BYTES = 8 * 1024 * 1024, INDEX_MAX_BYTES = 1 << 30, ROUNDS_MAX = 5, VANISHED = -1 };
enum { OTHERS_WRITE = 022 }; /* programs trust the checkpoints that they load */

/* ---- looking ---- */

static bool is_not_there(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int checkpoint_copy_open(struct checkpoint_copy *k, int run_fd, const char *token_hex,
                         struct err *e)
{
    char *path = mem_printf("%s/%s", token_hex, JOB_CHECKPOINT);
    int result;

    *k = (struct checkpoint_copy){ .in_fd = -1 };
    k->from_fd = beneath_open(run_fd, path, O_RDONLY | O_DIRECTORY, 0);
    if (k->from_fd >= 0)
        result = checkpoint_snapshot_take(&k->now, k->from_fd, e) < 0 ? -1 : k->now.n > 0;
    else
        result = is_not_there(errno) || saved_is_foreign(errno) ? 0 : err_sys(e, "open %s", path);
    free(path);
    if (result != 1)
        checkpoint_copy_close(k);
    return result;
}

void checkpoint_copy_close(struct checkpoint_copy *k)
{
    close_file(&k->from_fd);
    close_file(&k->in_fd);
    if (k->out != NULL)
        (void)share_end(k->out, NULL);
    share_close(k->to);
    k->out = NULL;
    k->to = NULL;
    checkpoint_snapshot_free(&k->now);
    checkpoint_snapshot_free(&k->before);
    free(k->temporary);
    k->temporary = NULL;
}

/* Equal folders have equal digests: those of their indexes. */
static int digest_of_folder(const struct checkpoint_copy *k, struct digest *d, struct err *e)
{
    struct buf index = { 0 };
    int result = checkpoint_snapshot_add_index(&index, &k->now, e);

    if (result == 0)
        digest_of(index.bytes, index.n, d);
    buf_free(&index);
    return result;
}

int checkpoint_copy_is_kept(const struct checkpoint_copy *k, const struct share_dir *at,
                            const char *job_name, int64_t attempt, struct checkpoint_name *newest,
                            struct err *e)
{
    const struct checkpoint_name up_to = { attempt, CHECKPOINT_AT_END };
    struct digest ours, theirs;
    struct buf path = { 0 }, index = { 0 };
    int result = checkpoint_find_newest(at, job_name, &up_to, newest, e);

    if (result == 1 && digest_of_folder(k, &ours, e) < 0)
        result = -1;
    if (result == 1) {
        checkpoint_add_name(&path, job_name, newest);
        buf_add_str(&path, "/" CHECKPOINT_INDEX);
        result = share_read(at, buf_text(&path), INDEX_MAX_BYTES, &index, NULL) == 0;
        digest_of(index.bytes, index.n, &theirs);
        result = result == 1 && digest_equal(&ours, &theirs);
    }
    buf_free(&path);
    buf_free(&index);
    return result;
}

/* ---- copying ---- */

int checkpoint_copy_begin(struct checkpoint_copy *k, const struct share_dir *at,
                          const char *temporary, const struct share_modes *modes, struct err *e)
{
    struct share_stat st;

    k->temporary = mem_strdup(temporary);
    k->modes = *modes;
    k->modes.dir &= ~(mode_t)OTHERS_WRITE;
    k->modes.file &= ~(mode_t)OTHERS_WRITE;
    if (share_remove_tree(at, temporary, e) < 0 ||
        share_project_make_closed(at, temporary, &k->modes, e) < 0)
        return -1;
    k->to = share_open_dir(at, temporary, e);
    if (k->to == NULL || share_stat(k->to, "", &st, e) < 0)
        return -1;
    /* What another user than the project's owner makes, the owner removes as one of the group. */
    if (st.uid == modes->owner)
        return 0;
    k->modes = *modes;
    if (share_fd(at) >= 0) /* share_project_open_up is to come */
        return 0;
    return share_remove_dir(at, temporary, e) < 0 ? -1
                                                  : share_make_dir(at, temporary, modes->dir, e);
}

/* Whether the entries are equal in what the copy holds. */
static bool is_copied_as(const struct checkpoint_entry *x, const struct checkpoint_entry *y)
{
    if (x == NULL || y == NULL || x->type != y->type)
        return false;
    return x->type != CHECKPOINT_FILE ||
           (strcmp(x->path, y->path) == 0 && x->size_bytes == y->size_bytes &&
            x->changed_ns == y->changed_ns && x->inode == y->inode &&
            ((x->mode ^ y->mode) & S_IXUSR) == 0);
}

/* Begins the next entry of the snapshot, if it is not there as it should be already. */
static int begin_entry(struct checkpoint_copy *k, struct err *e)
{
    struct checkpoint_entry *entry = &k->now.entries[k->at];
    const char *stored = checkpoint_stored(entry);
    struct stat st;

    if (entry->type == CHECKPOINT_LINK ||
        is_copied_as(entry, checkpoint_snapshot_find(&k->before, stored))) {
        k->at++;
        return 0;
    }
    if (entry->type == CHECKPOINT_FOLDER) {
        k->at++;
        return share_make_dir(k->to, stored, k->modes.dir, e);
    }
    k->in_fd = beneath_open(k->from_fd, entry->path, O_RDONLY | O_NONBLOCK, 0);
    if (k->in_fd < 0 && !is_not_there(errno) && !saved_is_foreign(errno))
        return err_sys(e, "open %s", entry->path);
    if (k->in_fd < 0 || fstat(k->in_fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close_file(&k->in_fd);
        entry->size_bytes = VANISHED; /* differs from what the next look may find */
        k->at++;
        return 0;
    }
    k->copied_bytes = 0;
    k->out =
        share_create(k->to, stored, share_project_file_mode(&k->modes, (mode_t)entry->mode), e);
    return k->out == NULL ? -1 : 0;
}

/* Ends a round, in which all was copied once.  Returns 0 if nothing has changed meanwhile, 1 if the
 * next round copies what has, -1 with e set. */
static int end_round(struct checkpoint_copy *k, struct err *e)
{
    struct checkpoint_snapshot seen;
    struct buf index = { 0 };
    int result;

    if (checkpoint_snapshot_take(&seen, k->from_fd, e) < 0)
        return -1;
    if (checkpoint_snapshot_is_untouched(&seen, &k->now)) {
        checkpoint_snapshot_free(&seen);
        result = checkpoint_snapshot_add_index(&index, &k->now, e);
        if (result == 0)
            result = share_write(k->to, CHECKPOINT_INDEX, index.bytes, index.n, k->modes.file, e);
        buf_free(&index);
        return result;
    }
    if (++k->round == ROUNDS_MAX || seen.n == 0) {
        checkpoint_snapshot_free(&seen);
        return err_set(e, ERR_BUSY, "the job does not stop changing its checkpoint");
    }
    checkpoint_snapshot_free(&k->before);
    k->before = k->now;
    k->now = seen;
    k->at = 0;
    /* Removes stale entries, and the entries of a folder before the folder. */
    for (size_t i = k->before.n; i-- > 0;) {
        const struct checkpoint_entry *was = &k->before.entries[i];
        const char *stored = checkpoint_stored(was);

        if (was->type == CHECKPOINT_LINK || was->size_bytes == VANISHED ||
            is_copied_as(was, checkpoint_snapshot_find(&k->now, stored)))
            continue;
        if ((was->type == CHECKPOINT_FOLDER ? share_remove_dir : share_remove_file)(k->to, stored,
                                                                                    e) < 0)
            return -1;
    }
    return 1;
}

int checkpoint_copy_go_on(struct checkpoint_copy *k, struct err *e)
{
    struct share_file *out = k->out;
    uint64_t copied_bytes;
    int64_t left_bytes;

    if (out == NULL && k->at == k->now.n)
        return end_round(k, e);
    if (out == NULL)
        return begin_entry(k, e) < 0 ? -1 : 1;
    /* Growth of the file meanwhile is for the next round: it may never end. */
    left_bytes = k->now.entries[k->at].size_bytes - k->copied_bytes;
    if (left_bytes > PIECE_BYTES)
        left_bytes = PIECE_BYTES;
    if (share_put(out, k->in_fd, left_bytes < 0 ? 0 : (uint64_t)left_bytes, &copied_bytes, e) < 0)
        return -1;
    k->copied_bytes += (int64_t)copied_bytes;
    if (copied_bytes > 0)
        return 1;
    k->out = NULL;
    close_file(&k->in_fd);
    k->now.entries[k->at++].size_bytes = k->copied_bytes;
    return share_end(out, e) < 0 ? -1 : 1;
}

/* ---- durable paths ---- */

const char **checkpoint_copy_paths(const struct checkpoint_copy *k, struct arena *a, size_t *n)
{
    const char **paths = arena_alloc(a, (k->now.n + 2) * sizeof *paths);

    *n = 0;
    for (size_t i = 0; i < k->now.n; i++)
        if (k->now.entries[i].type != CHECKPOINT_LINK)
            paths[(*n)++] =
                arena_printf(a, "%s/%s", k->temporary, checkpoint_stored(&k->now.entries[i]));
    paths[(*n)++] = arena_printf(a, "%s/" CHECKPOINT_INDEX, k->temporary);
    paths[(*n)++] = arena_strdup(a, k->temporary);
    return paths;
}

/* ---- attempts that run ---- */

/* How long orders and results wait for a piece; what a sync takes is longer. */
enum { MOMENT_MS = 20 };

struct watched {
    struct token token;
    int64_t every_ms;
    int64_t due_ms;
    int64_t retry_ms;   /* the pause after the last failure; 0: it went well */
    bool is_known;      /* the share has a copy whose folder */
    struct digest kept; /* has this digest */
};

struct checkpoint_copies {
    const struct scratch *scratch;
    struct shares *access;
    struct watched *watched;
    size_t n;
    size_t capacity;

    /* the checkpoint that is being copied */
    bool is_copying;
    struct token token;
    struct arena *arena;
    struct order order;
    struct checkpoint_copy keep;
    struct share_dir *dir;
    char hex[TOKEN_HEX];
};

struct checkpoint_copies *checkpoint_copies_create(const struct scratch *s, struct shares *access)
{
    struct checkpoint_copies *k = mem_alloc(sizeof *k);

    k->scratch = s;
    k->access = access;
    k->arena = arena_create();
    return k;
}

static struct watched *find_watched(struct checkpoint_copies *k, const struct token *token)
{
    for (size_t i = 0; i < k->n; i++)
        if (token_equal(&k->watched[i].token, token))
            return &k->watched[i];
    return NULL;
}

void checkpoint_copies_watch(struct checkpoint_copies *k, const struct token *token,
                             int64_t every_ms)
{
    if (every_ms <= 0 || find_watched(k, token) != NULL)
        return;
    mem_grow((void **)&k->watched, &k->capacity, k->n, sizeof *k->watched);
    k->watched[k->n++] = (struct watched){ .token = *token,
                                           .every_ms = every_ms,
                                           .due_ms = units_monotonic_ms() + every_ms };
}

static struct watched *first_due(const struct checkpoint_copies *k)
{
    struct watched *first = NULL;

    for (size_t i = 0; i < k->n; i++)
        if (first == NULL || k->watched[i].due_ms < first->due_ms)
            first = &k->watched[i];
    return first;
}

int64_t checkpoint_copies_wait_ms(const struct checkpoint_copies *k)
{
    const struct watched *w = first_due(k);
    int64_t left_ms;

    if (k->is_copying || w == NULL)
        return k->is_copying ? 0 : -1;
    left_ms = w->due_ms - units_monotonic_ms();
    return left_ms < 0 ? 0 : left_ms;
}

/* ---- the end of a copy ---- */

static void end_copy(struct checkpoint_copies *k)
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

void checkpoint_copies_forget(struct checkpoint_copies *k, const struct token *token)
{
    struct watched *w = find_watched(k, token);

    if (k->is_copying && token_equal(&k->token, token))
        end_copy(k);
    if (w != NULL)
        *w = k->watched[--k->n];
}

void checkpoint_copies_destroy(struct checkpoint_copies *k)
{
    if (k == NULL)
        return;
    end_copy(k);
    arena_destroy(k->arena);
    free(k->watched);
    free(k);
}

/* Returns 1 if the checkpoint has changed since its last copy, and a copy was begun; 0 if not. */
static int begin_if_changed(struct checkpoint_copies *k, struct watched *w, struct err *e)
{
    const struct assignment *x = &k->order.assignment;
    struct checkpoint_name newest;
    struct share_modes modes;
    struct share_dir *share;
    struct buf text = { 0 };
    struct digest digest;
    int rc = checkpoint_copy_open(&k->keep, k->scratch->run_fd, k->hex, e);

    k->is_copying = rc == 1;
    if (rc <= 0 || digest_of_folder(&k->keep, &digest, e) < 0)
        return rc <= 0 ? rc : -1;
    if (w->is_known && digest_equal(&w->kept, &digest))
        return 0;
    share = share_open(k->access, k->order.share, e);
    if (share == NULL)
        return -1;
    layout_checkpoints(&text, k->order.work.project, x->param_name);
    k->dir = share_project_open_folder(share, buf_text(&text), &modes, e);
    share_close(share);
    rc = k->dir == NULL ? -1 : 0;
    /* The share may have it already: copied by a publisher before us, or given to the job. */
    if (rc == 0 && !w->is_known)
        rc = checkpoint_copy_is_kept(&k->keep, k->dir, x->job_name, x->attempt, &newest, e);
    if (rc == 1) {
        w->is_known = true;
        w->kept = digest;
        rc = 0;
    } else if (rc == 0) {
        buf_clear(&text);
        checkpoint_add_temporary(&text, x->job_name, x->attempt, &k->token);
        rc = checkpoint_copy_begin(&k->keep, k->dir, buf_text(&text), &modes, e) < 0 ? -1 : 1;
    }
    buf_free(&text);
    return rc;
}

/* ---- the end of a copy that is whole ---- */

static int make_durable(const struct checkpoint_copies *k, struct err *e)
{
    struct share_sync *files;
    const char **paths;
    size_t n;

    if (share_is_synced_whole(k->dir))
        return share_sync(k->dir, e);
    paths = checkpoint_copy_paths(&k->keep, k->arena, &n);
    files = arena_alloc(k->arena, n * sizeof *files);
    for (size_t i = 0; i < n; i++)
        files[i] = (struct share_sync){ k->dir, paths[i], 0 };
    share_sync_each(files, n);
    for (size_t i = 0; i < n; i++)
        if (files[i].error != 0) {
            errno = files[i].error;
            return err_sys(e, "sync %s", paths[i]);
        }
    return 0;
}

/* The copy gets the next number; the one before stays until this one is durable. */
static int finish_copy(struct checkpoint_copies *k, struct watched *w, struct err *e)
{
    const struct assignment *x = &k->order.assignment;
    const struct checkpoint_name up_to = { x->attempt, CHECKPOINT_AT_END };
    struct checkpoint_name newest = { 0, 0 }, as = { x->attempt, 1 };
    struct err why = { 0 };

    w->is_known = false;
    if (digest_of_folder(&k->keep, &w->kept, e) < 0 || make_durable(k, e) < 0 ||
        checkpoint_find_newest(k->dir, x->job_name, &up_to, &newest, e) < 0)
        return -1;
    if (newest.attempt == x->attempt)
        as.number = newest.number == CHECKPOINT_AT_END ? CHECKPOINT_AT_END : newest.number + 1;
    if (share_project_open_up(k->dir, k->keep.temporary, &k->keep.modes, e) < 0 ||
        checkpoint_give_name(k->dir, k->keep.temporary, x->job_name, &as, k->hex, e) < 0 ||
        share_sync_dir(k->dir, "of checkpoints", e) < 0)
        return -1;
    w->is_known = true;
    /* An earlier attempt that was taken for lost may have published meanwhile, and its checkpoint
     * stays. */
    if (checkpoint_remove_older(k->dir, x->job_name, &as,
                                k->order.work.work.checkpoint.keep ? x->attempt : 0, x->attempt,
                                k->hex, &why) < 0)
        log_event(LOG_WARN, "checkpoints-not-removed", "attempt", "%s", k->hex, "error", "%s",
                  why.text, NULL);
    return 0;
}

void checkpoint_copies_turn(struct checkpoint_copies *k)
{
    struct watched *w = k->is_copying ? find_watched(k, &k->token) : first_due(k);
    int64_t until_ms = units_monotonic_ms() + MOMENT_MS;
    struct err e = { 0 };
    char *path;
    int rc;

    if (k->is_copying) {
        do
            rc = checkpoint_copy_go_on(&k->keep, &e);
        while (rc == 1 && units_monotonic_ms() < until_ms);
        if (rc == 0)
            rc = finish_copy(k, w, &e);
    } else if (checkpoint_copies_wait_ms(k) != 0) {
        return;
    } else {
        k->token = w->token;
        token_hex(&k->token, k->hex);
        path = mem_printf("%s/%s", k->hex, JOB_ORDER);
        rc = scratch_read(k->scratch->run_fd, path, &order_schema, k->arena, &k->order, &e);
        free(path);
        if (rc < 0 && e.kind == ERR_NOT_FOUND) { /* the attempt has ended, as we shall hear */
            checkpoint_copies_forget(k, &w->token);
            return;
        }
        if (rc == 0)
            rc = begin_if_changed(k, w, &e);
    }
    if (rc == 1)
        return;
    end_copy(k);
    arena_reset(k->arena);
    /* A failure is logged once, until a copy goes well again. */
    if (rc < 0 && w->retry_ms == 0)
        log_event(LOG_WARN, "checkpoint-not-copied", "attempt", "%s", k->hex, "error", "%s", e.text,
                  NULL);
    w->retry_ms = rc == 0 ? 0 : sftplink_pause_ms(w->retry_ms);
    /* A job that writes all the time (ERR_BUSY) would make us copy all the time. */
    w->due_ms = units_monotonic_ms() + (rc < 0 && e.kind != ERR_BUSY ? w->retry_ms : w->every_ms);
}
