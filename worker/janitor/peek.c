/* SPDX-License-Identifier: MIT */
/* peek.c - reads what a running job has saved so far, for its owner */

#include "worker/janitor/peek.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "worker/base/child_start.h"
#include "worker/base/scratch.h"

static int type_of(mode_t mode)
{
    return S_ISREG(mode)   ? PEEK_FILE
           : S_ISDIR(mode) ? PEEK_FOLDER
           : S_ISLNK(mode) ? PEEK_LINK
                           : PEEK_OTHER;
}

static int64_t modified_at(const struct stat *st)
{
    int64_t ms = st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;

    return ms < 0 || ms > INT64_C(1) << 53 ? 0 : ms; /* programs may set any time */
}

/* ---- folders ---- */

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Reads the names that sort behind "after" (NULL: all), sorted.  A large folder takes some memory,
 * but this process ends soon. */
static int read_names(DIR *dir, const char *after, struct arena *a, const char ***names, size_t *n,
                      struct err *e)
{
    size_t capacity = 0;
    const struct dirent *entry;

    *n = 0;
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            (after != NULL && strcmp(name, after) <= 0))
            continue;
        mem_grow((void **)names, &capacity, *n, sizeof **names);
        (*names)[(*n)++] = arena_strdup(a, name);
    }
    if (errno != 0)
        return err_sys(e, "list it");
    if (*n > 0)
        qsort(*names, *n, sizeof **names, compare_names);
    return 0;
}

/* Lists the folder fd, which it closes; leaves out entries that vanish meanwhile. */
static int list_folder(int fd, const char *after, struct arena *a, struct peek_found *to,
                       struct err *e)
{
    DIR *dir = fdopendir(fd);
    struct peek_entry *items;
    const char **names = NULL;
    size_t n_names = 0, n = 0, bytes = 0, i;

    if (dir == NULL) {
        close(fd);
        return err_sys(e, "list it");
    }
    if (read_names(dir, after, a, &names, &n_names, e) < 0) {
        closedir(dir);
        free(names);
        return -1;
    }
    items =
        arena_alloc(a, (n_names < PEEK_ENTRIES_MAX ? n_names : PEEK_ENTRIES_MAX) * sizeof *items);
    for (i = 0; i < n_names && n < PEEK_ENTRIES_MAX && bytes < PEEK_BYTES_MAX / 2; i++) {
        struct stat st;

        if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        bytes += strlen(names[i]);
        items[n++] =
            (struct peek_entry){ names[i], type_of(st.st_mode), st.st_size, modified_at(&st) };
    }
    to->entries = (struct list){ items, n };
    to->more = i < n_names;
    closedir(dir);
    free(names);
    return 0;
}

/* ---- files ---- */

static int read_content(int fd, const struct peek_at *at, struct arena *a, struct peek_found *to,
                        struct err *e)
{
    int64_t left = to->size_bytes - at->offset;
    size_t want = left <= 0 || at->max_bytes <= 0 ? 0
                  : left < at->max_bytes          ? (size_t)left
                                                  : (size_t)at->max_bytes;
    uint8_t *bytes = arena_alloc(a, want);
    size_t n = 0;

    while (n < want) {
        ssize_t got = pread(fd, bytes + n, want - n, (off_t)(at->offset + (int64_t)n));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(e, "read it");
        if (got == 0) /* it became shorter meanwhile */
            break;
        n += (size_t)got;
    }
    to->content = (struct bytes){ bytes, n };
    return 0;
}

/* ---- the way there ---- */

/* Opens the attempt's save folder; -1 with e set.  Looks into run/ first, from where attempts move
 * to ended/. */
static int open_saved(const char *scratch, const struct token *token, struct err *e)
{
    struct scratch s;
    char hex[TOKEN_HEX];
    char *path;
    int fd;

    token_hex(token, hex);
    path = path_join(hex, JOB_SAVE);
    scratch_look(&s, scratch);
    fd = s.run_fd < 0 ? -1 : beneath_open(s.run_fd, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 && s.ended_fd >= 0 && (s.run_fd < 0 || errno == ENOENT))
        fd = beneath_open(s.ended_fd, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 && errno == ENOENT)
        err_set(e, ERR_NOT_FOUND,
                "its files are not on its node now: it is about to start, or what it has saved is "
                "on its way to the shared drive");
    else if (fd < 0 && errno == ELOOP)
        err_set(e, ERR_DENIED, "it has put a symlink in the place of its save folder");
    else if (fd < 0)
        err_sys(e, "open its save folder");
    scratch_close(&s);
    free(path);
    return fd;
}

static int explain(const char *path, const struct stat *st, struct err *e)
{
    if (st != NULL && S_ISLNK(st->st_mode))
        return err_set(e, ERR_DENIED, "%s is a symlink, which is not followed", path);
    if (st != NULL)
        return err_set(e, ERR_USAGE, "%s is neither a file nor a folder", path);
    switch (errno) {
    case ENOENT: return err_set(e, ERR_NOT_FOUND, "there is no %s", path);
    case ENOTDIR: return err_set(e, ERR_NOT_FOUND, "there is no %s: a file is in the way", path);
    case ELOOP:
        return err_set(e, ERR_DENIED, "%s leads through a symlink, which is not followed", path);
    default: return err_sys(e, "%s", path);
    }
}

/* The job may replace the file before it is opened: O_NONBLOCK does not wait for the other end of a
 * pipe, and the type is checked again. */
static int look(int saved_fd, const struct peek_at *at, struct arena *a, struct peek_found *to,
                struct err *e)
{
    const char *path = at->path == NULL ? "" : at->path;
    struct stat st;
    int fd, rc;

    if (path[0] != '\0' && !path_is_inside(path))
        return err_set(e, ERR_USAGE, "'%s' is no path below its save folder", path);
    if (beneath_stat(saved_fd, path, &st) < 0)
        return explain(path, NULL, e);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return explain(path, &st, e);
    fd = beneath_open(saved_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return explain(path, NULL, e);
    if (fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
        close(fd);
        return explain(path, &st, e);
    }
    to->type = type_of(st.st_mode);
    to->size_bytes = st.st_size;
    to->modified_at = modified_at(&st);
    if (S_ISDIR(st.st_mode))
        return list_folder(fd, at->after, a, to, e);
    rc = read_content(fd, at, a, to, e);
    close(fd);
    return rc;
}

void peek_look(const char *scratch, const struct order_peek *x, struct arena *a,
               struct peek_found *to)
{
    struct err e = { 0 };
    int fd = open_saved(scratch, &x->token, &e), rc = -1;

    *to = (struct peek_found){ 0 };
    if (fd >= 0) {
        rc = look(fd, &x->at, a, to, &e);
        close(fd);
    }
    if (rc < 0)
        *to = (struct peek_found){ .error_kind = (int)e.kind, .error = arena_strdup(a, e.text) };
}

int peek_main(int argc, char **argv)
{
    static const int types[] = { ORDER_PEEK, -1 };
    struct note_peeked note;
    struct order_peek x;
    struct envelope m;
    struct err e = { 0 };
    struct wire wire;
    int rc;

    if (argc != 2 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--peek SCRATCH, absolute");
        return child_fail("peek", &e);
    }
    if (child_begin(&e) < 0)
        return child_fail("peek", &e);
    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    rc = wire_receive(&wire, &m, &e);
    if (rc == 1 && child_order_body(&wire, &m, types, &x, &e) == 0) {
        peek_look(argv[1], &x, wire.arena, &note.found);
        rc = wire_send(&wire, NOTE_PEEKED, m.seq, NULL, &note, &e) < 0 ? -1 : 0;
    } else if (rc == 1) {
        rc = -1;
    }
    wire_close(&wire);
    return rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("peek", &e) : 0;
}
