/* SPDX-License-Identifier: MIT */
/* portable_names.c - names that every system on the share can show */

#include "worker/saved/portable_names.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/path.h"
#include "common/base/utf8.h"

enum { NAME_BYTES = 200, DIGEST_DIGITS = 16 };

static bool is_portable(const char *name)
{
    return path_is_portable_name(name) && utf8_valid(name, strlen(name)) == strlen(name);
}

static void shorten(struct buf *out, const char *name, size_t max_bytes)
{
    struct digest d;
    char hex[DIGEST_HEX];
    size_t n = max_bytes - DIGEST_DIGITS - 1;

    if (out->n <= max_bytes)
        return;
    digest_of(name, strlen(name), &d);
    digest_hex(&d, hex);
    out->n = utf8_cut(buf_text(out), n);
    buf_printf(out, "~%.*s", DIGEST_DIGITS, hex);
}

static const char *encode(const char *name, struct arena *a)
{
    size_t n = strlen(name);
    struct buf out = { 0 };

    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)name[i];
        size_t length = utf8_next(name + i, n - i, NULL);
        bool is_edge = ((i == 0 || i == n - 1) && c == ' ') || (i == n - 1 && c == '.');

        if (length == 0 || is_edge || c < 0x20 || c == 0x7f || strchr("/\\:*?\"<>|%", c) != NULL) {
            buf_printf(&out, "%%%02X", c);
            i++;
        } else {
            buf_add(&out, name + i, length);
            i += length;
        }
    }
    shorten(&out, name, NAME_BYTES);
    /* A Windows device's name ("con", "nul.txt") has no wrong byte: its first one is encoded. */
    if (!is_portable(buf_text(&out))) {
        char *rest = buf_take(&out);

        buf_printf(&out, "%%%02X%s", (unsigned char)rest[0], rest + 1);
        free(rest);
    }
    return buf_to_arena(&out, a);
}

/* ---- equal but for case ---- */

/* A hash table of the names given out, by their lower case; NULL is an empty place. */
struct taken {
    const char **names;
    size_t mask;
};

/* Puts the name into the table; false: it, or one that differs in case only, is there already. */
static bool take_name(struct taken *t, const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    size_t at;

    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)tolower((unsigned char)*c)) * UINT64_C(1099511628211);
    at = (size_t)(hash ^ hash >> 32) & t->mask;
    while (t->names[at] != NULL && strcasecmp(t->names[at], name) != 0)
        at = (at + 1) & t->mask;
    if (t->names[at] != NULL)
        return false;
    t->names[at] = name;
    return true;
}

static int compare(const void *x, const void *y)
{
    return strcmp(((const struct portable_names_name *)x)->name,
                  ((const struct portable_names_name *)y)->name);
}

/* Portable names are served first, so that no encoded name takes theirs. */
void portable_names_names(struct portable_names_name *names, size_t n, const char *const *taken,
                          struct arena *a)
{
    struct taken t = { .mask = 1 };
    size_t n_taken = 0;

    while (taken != NULL && taken[n_taken] != NULL)
        n_taken++;
    while (t.mask + 1 < 2 * (n + n_taken + 1))
        t.mask = 2 * t.mask + 1;
    t.names = mem_alloc((t.mask + 1) * sizeof *t.names);
    for (size_t i = 0; i < n_taken; i++)
        (void)take_name(&t, taken[i]);
    if (n > 0)
        qsort(names, n, sizeof *names, compare);
    for (size_t i = 0; i < n; i++)
        names[i].to =
            is_portable(names[i].name) && take_name(&t, names[i].name) ? names[i].name : NULL;
    for (size_t i = 0; i < n; i++)
        if (names[i].to == NULL) {
            const char *name = names[i].name;
            const char *wanted = is_portable(name) ? name : encode(name, a);

            names[i].to = wanted;
            /* "model.pt" becomes "model~2.pt", which keeps its extension. */
            for (unsigned number = 2; !take_name(&t, names[i].to); number++) {
                const char *dot = strrchr(wanted, '.');
                size_t stem =
                    dot == NULL || dot == wanted ? strlen(wanted) : (size_t)(dot - wanted);
                struct buf out = { 0 };

                buf_printf(&out, "%.*s~%u%s", (int)stem, wanted, number, wanted + stem);
                shorten(&out, buf_text(&out), NAME_BYTES);
                names[i].to = buf_to_arena(&out, a);
            }
        }
    free(t.names);
}

/* ---- walking a tree ---- */

static const char *join(struct arena *a, const char *folder, const char *name)
{
    return folder[0] == '\0' ? arena_strdup(a, name) : arena_printf(a, "%s/%s", folder, name);
}

/* Folders still to be walked. */
struct todo {
    const char *path, *to;
};

int portable_names_walk(const struct portable_names_walk *w, struct err *e)
{
    struct todo *todo = NULL, at = { "", "" };
    size_t n_todo = 0, capacity = 0;
    int result = 0;

    do {
        struct portable_names_name *names = NULL;
        size_t n = 0, names_capacity = 0;
        const struct dirent *entry;
        DIR *dir = NULL;
        int fd = -1;

        if (n_todo > 0)
            at = todo[--n_todo];
        result = w->open(w->context, at.path, at.to, &fd, e);
        if (result == 0 && fd >= 0) {
            dir = fdopendir(fd);
            while (dir != NULL && (errno = 0, entry = readdir(dir)) != NULL) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                    continue;
                mem_grow((void **)&names, &names_capacity, n, sizeof *names);
                names[n++].name = arena_strdup(w->arena, entry->d_name);
            }
            if (errno != 0)
                result = err_sys(e, "list %s", at.path[0] == '\0' ? "." : at.path);
        }
        if (result == 0 && n > 0)
            portable_names_names(names, n, at.path[0] == '\0' ? w->taken : NULL, w->arena);
        for (size_t i = 0; result == 0 && i < n; i++) {
            const struct portable_names_entry found = { at.path, names[i].name, names[i].to,
                                                        join(w->arena, at.path, names[i].name),
                                                        join(w->arena, at.to, names[i].to) };

            result = w->each(w->context, fd, &found, e);
            if (result == 1) {
                mem_grow((void **)&todo, &capacity, n_todo, sizeof *todo);
                todo[n_todo++] = (struct todo){ found.path, found.to };
                result = 0;
            }
        }
        free(names);
        if (dir != NULL)
            closedir(dir);
        else if (fd >= 0)
            close(fd);
    } while (result == 0 && n_todo > 0);
    free(todo);
    return result;
}
