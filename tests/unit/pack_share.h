/* SPDX-License-Identifier: MIT */
/*
 * pack_share.h - packs trees into the packs folder of a test's share
 *
 * Errors fail the test.
 */
#ifndef LUDWIG_TESTS_UNIT_PACK_SHARE_H
#define LUDWIG_TESTS_UNIT_PACK_SHARE_H

#include "common/proto/jobspec.h"
#include "tests/unit/pack_store.h"
#include "tests/unit/worker_site.h"

/* A tree that is being packed.  Pieces that the store holds already are not stored again. */
struct packing {
    struct site *site;
    struct store *store;
    struct pack_writer *writer;
};

static inline void packing_begin(struct packing *p, struct site *site, struct store *store)
{
    struct pack_sink sink = store_sink(store);

    *p = (struct packing){ site, store, pack_writer_create(&sink) };
}

/* These add an entry to the tree; entries come in the order of pack_path_compare. */
static inline void packing_folder(struct packing *p, const char *path)
{
    struct err e = { 0 };

    if (pack_add_folder(p->writer, path, &e) < 0)
        fail_msg("%s", e.text);
}

static inline void packing_bytes(struct packing *p, const char *path, bool executable,
                                 const void *bytes, size_t n)
{
    struct pack_added added;
    struct err e = { 0 };
    int fd = file_of(bytes, n);

    lseek(fd, 0, SEEK_SET);
    if (pack_add_file(p->writer, path, executable, fd, &added, &e) < 0)
        fail_msg("%s", e.text);
    close(fd);
}

static inline void packing_file(struct packing *p, const char *path, const char *text)
{
    packing_bytes(p, path, false, text, strlen(text));
}

/* target: of a hard link the path of a file in the tree, else the text of the symlink. */
static inline void packing_link(struct packing *p, const char *path, const char *target,
                                bool is_hard)
{
    struct err e = { 0 };

    if ((is_hard ? pack_add_hard_link(p->writer, path, target, &e)
                 : pack_add_symlink(p->writer, path, target, &e)) < 0)
        fail_msg("%s", e.text);
}

/* Returns the path of a file in the packs folder of project demo; the caller frees it. */
static inline char *packs_path(const struct site *s, const char *name)
{
    return mem_printf("%s/demo/.ludwig/packs/%s", s->share_path, name);
}

/* Writes all that the store holds to the share, over what lies there under the same names. */
static inline void store_to_share(const struct store *store, const struct site *s)
{
    struct err e = { 0 };
    static const char *const folders[] = { "blocks", "parts" };

    for (size_t i = 0; i < 2; i++) {
        char *path = packs_path(s, folders[i]);

        assert_int_equal(io_make_dirs(path, 0755, &e), 0);
        free(path);
    }
    for (size_t i = 0; i < store->n; i++) {
        char *path = packs_path(s, store->items[i].path);

        if (io_replace_file(path, store->items[i].bytes.bytes, store->items[i].bytes.n, 0644, &e) <
            0)
            fail_msg("%s", e.text);
        free(path);
    }
}

/* Ends the tree, writes the store to the share and returns the dataset. */
static inline struct dataset packing_end(struct packing *p)
{
    struct pack_summary summary;
    struct err e = { 0 };

    if (pack_end(p->writer, &summary, &e) < 0)
        fail_msg("%s", e.text);
    pack_writer_destroy(p->writer);
    store_to_share(p->store, p->site);
    return (struct dataset){ summary.tree, summary.id, summary.totals.files, summary.totals.bytes };
}

#endif
