/* SPDX-License-Identifier: MIT */
/* kept.c - the checkpoints of a job that lie on the share */

#include "worker/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io.h"
#include "common/layout.h"
#include "common/mem.h"

/* ---- names ---- */

void kept_add_name(struct buf *out, const char *job_name, const struct kept *k)
{
    buf_printf(out, "%s.a%" PRId64, job_name, k->attempt);
    if (k->number != KEPT_AT_END)
        buf_printf(out, ".%" PRId64, k->number);
}

void kept_add_temporary(struct buf *out, const char *job_name, int64_t attempt,
                        const struct token *token)
{
    const struct kept last = { attempt, KEPT_AT_END };
    struct buf name = { 0 };

    kept_add_name(&name, job_name, &last);
    layout_temporary(out, buf_text(&name), token);
    buf_free(&name);
}

int kept_compare(const struct kept *x, const struct kept *y)
{
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Digits only: returns where they end, NULL unless there are some. */
static const char *read_number(const char *at, int64_t *number)
{
    const char *end = at + strspn(at, "0123456789");

    if (end == at || end - at > 18)
        return NULL;
    *number = strtoll(at, NULL, 10);
    return end;
}

/* "NAME.a2.5": returns what comes behind, NULL when it is no such name. */
static const char *read_name(const char *name, const char *job_name, struct kept *k)
{
    size_t n = strlen(job_name);
    const char *at, *end;

    if (strncmp(name, job_name, n) != 0 || strncmp(name + n, ".a", 2) != 0)
        return NULL;
    at = read_number(name + n + 2, &k->attempt);
    if (at == NULL)
        return NULL;
    k->number = KEPT_AT_END;
    /* A token may begin with digits as well. */
    if (*at == '.' && (end = read_number(at + 1, &k->number)) != NULL &&
        (*end == '\0' || *end == '.'))
        return end;
    k->number = KEPT_AT_END;
    return at;
}

static bool read_kept(const char *name, const char *job_name, struct kept *k)
{
    const char *rest = read_name(name, job_name, k);

    return rest != NULL && *rest == '\0';
}

/* On its way, or being removed. */
static bool read_hidden(const char *name, const char *job_name, struct kept *k)
{
    const char *rest = name[0] == '.' ? read_name(name + 1, job_name, k) : NULL;
    struct token token;

    return rest != NULL && *rest == '.' && token_parse(rest + 1, &token) == 0;
}

/* ---- looking through the folder ---- */

static DIR *open_list(int dir_fd, struct err *e)
{
    int fd = io_open_dir_at(dir_fd, ".", e);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0) {
        err_sys(e, "list the checkpoints");
        close(fd);
    }
    return dir;
}

int kept_newest(int dir_fd, const char *job_name, const struct kept *up_to, struct kept *newest,
                struct err *e)
{
    DIR *dir = open_list(dir_fd, e);
    struct dirent *entry;
    struct kept k;
    int found = 0;

    if (dir == NULL)
        return -1;
    while ((errno = 0, entry = readdir(dir)) != NULL)
        if (read_kept(entry->d_name, job_name, &k) && kept_compare(&k, up_to) <= 0 &&
            (found == 0 || kept_compare(&k, newest) > 0)) {
            *newest = k;
            found = 1;
        }
    if (errno != 0)
        found = err_sys(e, "list the checkpoints");
    closedir(dir);
    return found;
}

/* ---- removing ---- */

/* It loses its name first, so that nobody takes half of it for the whole. */
static int remove_kept(int dir_fd, const char *job_name, const struct kept *k,
                       const char *token_hex, struct err *e)
{
    struct buf name = { 0 };
    char *doomed;
    int result = 0;

    kept_add_name(&name, job_name, k);
    doomed = mem_printf(".%s.a%" PRId64 ".%" PRId64 ".%s", job_name, k->attempt,
                        k->number == KEPT_AT_END ? 0 : k->number, token_hex);
    if (io_remove_tree_at(dir_fd, doomed, e) < 0)
        result = -1;
    else if (renameat(dir_fd, buf_text(&name), dir_fd, doomed) == 0)
        result = io_remove_tree_at(dir_fd, doomed, e);
    else if (errno != ENOENT)
        result = err_sys(e, "remove %s", buf_text(&name));
    buf_free(&name);
    free(doomed);
    return result;
}

/* What is to go. */
struct doom {
    const char *job_name;
    const struct kept *older_than; /* NULL: all */
    int64_t attempt;               /* what those up to this one left half-made */
    const char *token_hex;
};

static int remove_entry(int dir_fd, const struct doom *d, const char *name, struct err *e)
{
    struct kept k;

    if (read_kept(name, d->job_name, &k))
        return d->older_than == NULL || kept_compare(&k, d->older_than) < 0
                   ? remove_kept(dir_fd, d->job_name, &k, d->token_hex, e)
                   : 0;
    if (read_hidden(name, d->job_name, &k) && k.attempt <= d->attempt)
        return io_remove_tree_at(dir_fd, name, e);
    return 0;
}

static int remove_some(int dir_fd, const struct doom *d, struct err *e)
{
    DIR *dir = open_list(dir_fd, e);
    struct dirent *entry;
    int result = 0;

    if (dir == NULL)
        return -1;
    while ((entry = readdir(dir)) != NULL)
        if (remove_entry(dir_fd, d, entry->d_name, e) < 0)
            result = -1;
    closedir(dir);
    return result;
}

int kept_remove_older(int dir_fd, const char *job_name, const struct kept *than, int64_t attempt,
                      const char *token_hex, struct err *e)
{
    return remove_some(dir_fd, &(struct doom){ job_name, than, attempt, token_hex }, e);
}

int kept_remove_all(int dir_fd, const char *job_name, const char *token_hex, struct err *e)
{
    return remove_some(dir_fd, &(struct doom){ job_name, NULL, INT64_MAX, token_hex }, e);
}

/* ---- naming ---- */

int kept_name(int dir_fd, const char *temporary, const char *job_name, const struct kept *as,
              const char *token_hex, struct err *e)
{
    struct buf name = { 0 };
    int result = 0;

    kept_add_name(&name, job_name, as);
    if (renameat(dir_fd, temporary, dir_fd, buf_text(&name)) < 0) {
        bool is_taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;

        if (!is_taken)
            result = err_sys(e, "name checkpoint %s", buf_text(&name));
        else if (remove_kept(dir_fd, job_name, as, token_hex, e) < 0)
            result = -1;
        else if (renameat(dir_fd, temporary, dir_fd, buf_text(&name)) < 0)
            result = err_sys(e, "name checkpoint %s", buf_text(&name));
    }
    buf_free(&name);
    return result;
}
