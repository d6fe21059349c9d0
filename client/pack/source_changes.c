/* SPDX-License-Identifier: MIT */
/* source_changes.c - names what has changed in a source since the project's sweep before */
#include "client/pack/source_changes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/datasets.h"
#include "client/pack/source_kind.h"
#include "client/term/safe_text.h"
#include "common/pack/pack_read.h"

enum { NAMED_MAX = 3 };

/* At most so many bytes are read and compared; later ones count as unchanged. */
static const uint64_t READ_MAX = UINT64_C(256) * 1024 * 1024;

enum change { IS_CHANGED, IS_NEW, IS_GONE, CHANGE_COUNT };

struct comparing {
    const struct inputs *inputs;
    struct pack_reader *before;
    struct buf names[CHANGE_COUNT];
    size_t n[CHANGE_COUNT];
    uint64_t read_bytes;
    uint8_t *piece;
};

static void note(struct comparing *c, enum change change, const char *path)
{
    if (source_kind_matches(c->inputs->ignored, c->inputs->n_ignored, path, false))
        return;
    if (c->n[change]++ >= NAMED_MAX)
        return;
    buf_add_str(&c->names[change], c->n[change] > 1 ? ", " : "");
    safe_text_add_harmless(&c->names[change], path, strlen(path), "");
}

/* ---- a file ---- */

static bool is_zero(const uint8_t *bytes, size_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* Whether the next n bytes of fd have this digest; piece NULL: are all zero, as a hole's. */
static bool has_piece(struct comparing *c, int fd, const struct digest *piece, size_t n)
{
    struct digest digest;
    size_t got = 0;
    ssize_t rc;

    while (got < n && (rc = read(fd, c->piece + got, n - got)) > 0)
        got += (size_t)rc;
    c->read_bytes += n;
    if (got < n)
        return false;
    if (piece == NULL)
        return is_zero(c->piece, n);
    digest_of(c->piece, n, &digest);
    return memcmp(&digest, piece, sizeof digest) == 0;
}

static bool has_content(struct comparing *c, int fd, const struct pack_entry *before)
{
    uint64_t left = before->size;

    for (size_t i = 0; i < before->n_runs && left > 0; i++) {
        const struct pack_run *run = &before->runs[i];
        bool is_hole = run->part == PACK_HOLE;
        const struct pack_list *list = is_hole ? NULL : pack_list_read(c->before, run->part);
        uint64_t n_pieces = is_hole ? run->bytes / PACK_PIECE_BYTES : run->n;

        for (uint64_t k = 0; k < n_pieces && left > 0 && c->read_bytes < READ_MAX; k++) {
            size_t n = left < PACK_PIECE_BYTES ? (size_t)left : PACK_PIECE_BYTES;

            if (!has_piece(c, fd, is_hole ? NULL : &list->pieces[run->first + k].digest, n))
                return false;
            left -= n;
        }
    }
    return true;
}

static bool is_same_file(struct comparing *c, const struct walk_entry *now,
                         const struct pack_entry *before)
{
    bool is_same;
    int fd;

    if (before->kind == PACK_HARD_LINK) /* its other name is compared */
        return true;
    if (now->kind != before->kind || (uint64_t)now->stat.st_size != before->size)
        return false;
    fd = open(now->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return true;
    is_same = has_content(c, fd, before);
    close(fd);
    return is_same;
}

static void compare_entries(struct comparing *c, const struct walk_entry *now,
                            const struct pack_entry *before)
{
    bool is_same = now->kind == PACK_FOLDER || now->kind == PACK_SYMLINK
                       ? now->kind == before->kind &&
                             (now->kind == PACK_FOLDER || strcmp(now->target, before->target) == 0)
                       : is_same_file(c, now, before);

    if (!is_same)
        note(c, IS_CHANGED, now->path);
}

/* ---- all of them ---- */

static void note_all_but_folders(struct comparing *c, enum change change, const char *path,
                                 enum pack_kind kind)
{
    if (kind != PACK_FOLDER)
        note(c, change, path);
}

/* Compares the trees, whose entries come in the same order; -1 if that is not possible. */
static int compare_trees(struct comparing *c)
{
    struct walk *w = walk_begin(&c->inputs->source.plan, NULL);
    struct walk_entry now = { 0 };
    struct pack_entry before = { 0 };
    int rc_now = 1, rc_before = 1, order = 0;

    while (w != NULL) {
        if (order <= 0 && rc_now == 1)
            rc_now = walk_next(w, &now, NULL);
        if (order >= 0 && rc_before == 1)
            rc_before = pack_next(c->before, &before, NULL);
        if (rc_now < 0 || rc_before < 0 || (rc_now == 0 && rc_before == 0))
            break;
        order = rc_now == 0 ? 1 : rc_before == 0 ? -1 : pack_path_compare(now.path, before.path);
        if (order < 0)
            note_all_but_folders(c, IS_NEW, now.path, now.kind);
        else if (order > 0)
            note_all_but_folders(c, IS_GONE, before.path, before.kind);
        else
            compare_entries(c, &now, &before);
    }
    walk_end(w);
    return w == NULL || rc_now < 0 || rc_before < 0 ? -1 : 0;
}

static void add_changes(struct buf *out, const struct comparing *c, int64_t sweep)
{
    static const char *const one[CHANGE_COUNT] = { "changed", "is new", "is gone" };
    static const char *const several[CHANGE_COUNT] = { "changed", "are new", "are gone" };
    bool is_first = true;

    for (int i = 0; i < CHANGE_COUNT; i++) {
        if (c->n[i] == 0)
            continue;
        buf_printf(out, "%s%s", is_first ? "" : "; ", buf_text(&c->names[i]));
        if (c->n[i] > NAMED_MAX)
            buf_printf(out, " and %zu more", c->n[i] - NAMED_MAX);
        buf_printf(out, " %s", c->n[i] == 1 ? one[i] : several[i]);
        if (is_first)
            buf_printf(out, " since sweep %" PRId64, sweep);
        is_first = false;
    }
}

/* ---- which source that was ---- */

/* The source of the newest other sweep; NULL: none, or an earlier sweep had this source already. */
static const struct dataset_info *find_before(const struct datasets *d, const struct digest *tree,
                                              int64_t sweep)
{
    const struct dataset_info *own = NULL, *newest = NULL;

    for (size_t i = 0; i < d->n; i++) {
        const struct dataset_info *row = &d->rows[i];

        if (row->name != NULL)
            continue;
        if (memcmp(&row->set.tree, tree, sizeof *tree) == 0)
            own = row;
        else if (row->sweep != sweep && (newest == NULL || row->sweep > newest->sweep))
            newest = row;
    }
    /* A source that an earlier sweep had was added before this sweep used it. */
    return own == NULL || (own->sweep == sweep && own->added_at >= own->used_at) ? newest : NULL;
}

struct fetched {
    struct buf *out;
    struct err *e;
    bool is_there;
};

static void on_object(void *context, const struct err *error, struct bytes content)
{
    struct fetched *f = context;

    f->is_there = error == NULL;
    if (error == NULL)
        buf_add(f->out, content.data, content.n);
    else
        err_set(f->e, error->kind, "%s", error->text);
}

static int fetch(void *context, enum pack_object kind, const struct digest *name, size_t max_bytes,
                 struct buf *out, struct err *e)
{
    struct fetched f = { .out = out, .e = e };
    struct store *store = context;
    struct buf path = { 0 };
    int result;

    pack_object_path(&path, kind, name);
    result = store_fetch(store, buf_text(&path), max_bytes, on_object, &f, e);
    if (result == 0)
        result = store_fetch_all(store, e);
    buf_free(&path);
    return result == 0 && f.is_there ? 0 : -1;
}

void source_changes_add(struct buf *out, struct session *session, const struct inputs *c,
                        int64_t sweep)
{
    struct datasets known = { .session = session, .project = c->to.project };
    const struct dataset_info *before = NULL;
    struct comparing comparing = { .inputs = c };
    const struct pack_source source = { .context = c->store, .fetch = fetch };

    if (c->store != NULL && datasets_fetch(&known, NULL) == 0)
        before = find_before(&known, &c->source.set.tree, sweep);
    if (before != NULL)
        comparing.before = pack_open(&source, &before->set.id, NULL);
    if (comparing.before != NULL) {
        comparing.piece = mem_alloc(PACK_PIECE_BYTES);
        if (compare_trees(&comparing) == 0)
            add_changes(out, &comparing, before->sweep);
        free(comparing.piece);
    }
    pack_close(comparing.before);
    for (size_t i = 0; i < CHANGE_COUNT; i++)
        buf_free(&comparing.names[i]);
    datasets_free(&known);
}
