/* SPDX-License-Identifier: MIT */
/* pack_path.c - the order and the rules of the paths in a packed tree */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/pack/pack_path.h"

/* The end before all, and the slash before all bytes. */
static unsigned rank(char c)
{
    return c == '\0' ? 0 : c == '/' ? 1 : (unsigned)(unsigned char)c + 2;
}

int pack_path_compare(const char *x, const char *y)
{
    unsigned a, b;

    while (*x == *y && *x != '\0') {
        x++;
        y++;
    }
    a = rank(*x);
    b = rank(*y);
    return (a > b) - (a < b);
}

static bool has_long_name(const char *path)
{
    for (;;) {
        size_t n = strcspn(path, "/");

        if (n > PACK_NAME_MAX)
            return true;
        if (path[n] == '\0')
            return false;
        path += n + 1;
    }
}

int pack_path_check(const char *path, size_t n, struct err *e)
{
    if (n > PACK_PATH_MAX || has_long_name(path))
        return err_set(e, ERR_PROTOCOL, "a path is too long: %.200s...", path);
    if (memchr(path, '\0', n) != NULL)
        return err_set(e, ERR_PROTOCOL, "a path has a NUL in it: %.200s", path);
    if (!path_is_inside(path))
        return err_set(e, ERR_PROTOCOL, "not a path below the tree: \"%.200s\"", path);
    return 0;
}

/* ---- one entry after the other ---- */

static bool is_open(const struct pack_order *o, const char *path, size_t n)
{
    size_t end = o->n > 0 ? o->ends[o->n - 1] : 0;

    return end == n && (n == 0 || memcmp(o->folder.bytes, path, n) == 0);
}

/* Closes folders until that of path is the innermost; false: it is not open. */
static bool enter_parent(struct pack_order *o, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash != NULL ? (size_t)(slash - path) : 0;

    while (o->n > 0 && !is_open(o, path, n))
        o->n--;
    return is_open(o, path, n);
}

static void open_folder(struct pack_order *o, const char *path)
{
    buf_clear(&o->folder);
    buf_add_str(&o->folder, path);
    mem_grow((void **)&o->ends, &o->capacity, o->n, sizeof *o->ends);
    o->ends[o->n++] = o->folder.n;
}

static int take_whole_tree(struct pack_order *o, enum pack_kind kind, struct err *e)
{
    if (o->begun || (kind != PACK_FILE && kind != PACK_PROGRAM))
        return err_set(e, ERR_PROTOCOL, "a path is empty");
    o->begun = o->is_file = true;
    return 0;
}

int pack_order_take(struct pack_order *o, const char *path, enum pack_kind kind, struct err *e)
{
    if (path[0] == '\0')
        return take_whole_tree(o, kind, e);
    if (pack_path_check(path, strlen(path), e) < 0)
        return -1;
    if (o->is_file)
        return err_set(e, ERR_PROTOCOL, "%s is in a tree that is one file", path);
    if (o->begun && pack_path_compare(buf_text(&o->last), path) >= 0)
        return err_set(e, ERR_PROTOCOL, "%s comes after %s: out of order", path,
                       buf_text(&o->last));
    if (!enter_parent(o, path))
        return err_set(e, ERR_PROTOCOL, "the folder of %s is not there", path);
    if (kind == PACK_FOLDER)
        open_folder(o, path);
    o->begun = true;
    buf_clear(&o->last);
    buf_add_str(&o->last, path);
    return 0;
}

void pack_order_free(struct pack_order *o)
{
    buf_free(&o->last);
    buf_free(&o->folder);
    free(o->ends);
    *o = (struct pack_order){ 0 };
}
