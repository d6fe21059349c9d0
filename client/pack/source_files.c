/* SPDX-License-Identifier: MIT */
/* source_files.c - tells users which files a source has */
#include "client/pack/source_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/term/safe_text.h"
#include "common/base/units.h"

/* The largest files so far, largest first; of equal sizes the one that came first. */
struct largest {
    struct {
        char *path;
        int64_t bytes;
    } files[SOURCE_FILES_SHOWN];
    size_t n;
};

static void keep_if_large(struct largest *l, const char *path, int64_t bytes)
{
    size_t at = l->n;

    while (at > 0 && l->files[at - 1].bytes < bytes)
        at--;
    if (at == SOURCE_FILES_SHOWN)
        return;
    if (l->n == SOURCE_FILES_SHOWN)
        free(l->files[--l->n].path);
    memmove(&l->files[at + 1], &l->files[at], (l->n - at) * sizeof l->files[0]);
    l->files[at].path = mem_strdup(path);
    l->files[at].bytes = bytes;
    l->n++;
}

static void add_file(struct buf *out, const char *path, int64_t bytes, const char *end)
{
    safe_text_add_harmless(out, path, strlen(path), "");
    if (bytes >= 0) {
        buf_add_str(out, " (");
        units_add_size(out, bytes);
        buf_add_char(out, ')');
    }
    buf_add_str(out, end);
}

int source_files_add(struct buf *out, const struct tree *t, bool all, struct err *e)
{
    struct walk *w = walk_begin(&t->plan, e);
    int64_t n_files = tree_count_files(t), n_seen = 0;
    bool is_few = n_files <= SOURCE_FILES_SHOWN;
    struct largest largest = { 0 };
    struct walk_entry entry;
    int rc = -1;

    while (w != NULL && (rc = walk_next(w, &entry, e)) == 1) {
        if (entry.kind == PACK_FOLDER)
            continue;
        n_seen++;
        if (all)
            add_file(out, entry.path, entry.stat.st_size, "\n");
        else if (is_few)
            add_file(out, entry.path, -1, n_seen < n_files ? ", " : "");
        else
            keep_if_large(&largest, entry.path, entry.stat.st_size);
    }
    walk_end(w);
    for (size_t i = 0; i < largest.n; i++) {
        add_file(out, largest.files[i].path, largest.files[i].bytes, i + 1 < largest.n ? ", " : "");
        free(largest.files[i].path);
    }
    if (largest.n > 0)
        buf_printf(out, " and %" PRId64 " more (-v names all)", n_seen - (int64_t)largest.n);
    return rc;
}
