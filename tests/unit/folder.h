/* SPDX-License-Identifier: MIT */
/*
 * folder.h - gives a test a folder of its own, makes files in it and lists what a walk finds
 */
#ifndef LUDWIG_TESTS_FOLDER_H
#define LUDWIG_TESTS_FOLDER_H

#include <string.h>
#include <unistd.h>

#include "client/pack/walk.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* The setup of a test: makes a folder, whose path becomes *state, and turns the user's
 * cache off. */
static inline int make_dir(void **state)
{
    char dir[] = "/tmp/ludwig-tree-XXXXXX";

    if (mkdtemp(dir) == NULL || setenv("XDG_CACHE_HOME", "/dev/null", 1) < 0)
        return -1;
    *state = mem_strdup(dir);
    return 0;
}

/* The teardown of a test: removes the folder of make_dir. */
static inline int drop_dir(void **state)
{
    int result = io_remove_tree(*state, NULL);

    free(*state);
    return result;
}

/* Makes the file dir/path with this text, and the folders above it; a path that ends in / becomes a
 * folder. */
static inline void put(const char *dir, const char *path, const char *text)
{
    char *full = path_join(dir, path), *above = path_dirname(full);

    assert_int_equal(io_make_dirs(above, 0755, NULL), 0);
    if (path[strlen(path) - 1] == '/')
        assert_int_equal(io_make_dirs(full, 0755, NULL), 0);
    else
        assert_int_equal(io_replace_file(full, text, strlen(text), 0644, NULL), 0);
    free(above);
    free(full);
}

/* Returns dir/path; the caller frees it. */
static inline char *below(const char *dir, const char *path)
{
    return path_join(dir, path);
}

/* Returns what a walk finds, as "d a, f a/b, ...": d a folder, f a file, x a program, l a symlink.
 * The caller frees the text. */
static inline char *list(const struct walk_plan *plan)
{
    static const char letters[PACK_KIND_COUNT] = "dfxl";
    struct walk *w = walk_begin(plan, NULL);
    struct buf text = { 0 };
    struct walk_entry entry;
    int rc;

    assert_non_null(w);
    while ((rc = walk_next(w, &entry, NULL)) == 1)
        buf_printf(&text, "%s%c %s", text.n > 0 ? ", " : "", letters[entry.kind], entry.path);
    assert_int_equal(rc, 0);
    walk_end(w);
    return text.n > 0 ? buf_take(&text) : mem_strdup("");
}

static inline void expect_list(const struct walk_plan *plan, const char *expected)
{
    char *found = list(plan);

    assert_string_equal(found, expected);
    free(found);
}

#endif
