/* SPDX-License-Identifier: MIT */
/* dir_names.c - sorts the names in a folder, however many there are */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/util/dir_names.h"
#include "common/base/mem.h"

/* ---- in memory ---- */

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static const char *name_at(const struct dir_names *l, size_t i)
{
    return (const char *)l->text.bytes + l->begins[i];
}

static void sort(struct dir_names *l)
{
    const char **all = mem_resize(NULL, l->n, sizeof *all);

    for (size_t i = 0; i < l->n; i++)
        all[i] = name_at(l, i);
    qsort(all, l->n, sizeof *all, compare_names);
    for (size_t i = 0; i < l->n; i++)
        l->begins[i] = (size_t)(all[i] - (const char *)l->text.bytes);
    free(all);
}

/* ---- in files ---- */

/* Writes the names in memory to a file as a sorted run. */
static int spill(struct dir_names *l, struct err *e)
{
    FILE *file = tmpfile();
    bool failed;

    if (file == NULL)
        return err_sys(e, "a temporary file for the names of a large folder");
    mem_grow((void **)&l->runs, &l->runs_capacity, l->n_runs, sizeof *l->runs);
    l->runs[l->n_runs++] = (struct dir_names_run){ .file = file };
    sort(l);
    failed = fcntl(fileno(file), F_SETFD, FD_CLOEXEC) < 0;
    for (size_t i = 0; i < l->n && !failed; i++)
        failed = fputs(name_at(l, i), file) < 0 || putc('\0', file) == EOF;
    if (failed || fflush(file) != 0 || fseek(file, 0, SEEK_SET) < 0)
        return err_sys(e, "write a temporary file for the names of a large folder");
    l->n = 0;
    buf_clear(&l->text);
    return 0;
}

static int advance_run(struct dir_names_run *r, struct err *e)
{
    ssize_t n = getdelim(&r->next, &r->capacity, '\0', r->file);

    if (n >= 0)
        return 0;
    free(r->next);
    r->next = NULL;
    return ferror(r->file) ? err_sys(e, "read a temporary file with names of a large folder") : 0;
}

/* ---- interface ---- */

int dir_names_add(struct dir_names *l, const char *name, struct err *e)
{
    size_t most = l->run_bytes > 0 ? l->run_bytes : DIR_NAMES_BYTES;

    if (l->n > 0 && l->text.n + l->n * sizeof *l->begins > most && spill(l, e) < 0)
        return -1;
    mem_grow((void **)&l->begins, &l->capacity, l->n, sizeof *l->begins);
    l->begins[l->n++] = l->text.n;
    buf_add(&l->text, name, strlen(name) + 1);
    return 0;
}

int dir_names_sort(struct dir_names *l, struct err *e)
{
    sort(l);
    for (size_t i = 0; i < l->n_runs; i++)
        if (advance_run(&l->runs[i], e) < 0)
            return -1;
    return 0;
}

int dir_names_next(struct dir_names *l, const char **name, struct err *e)
{
    for (;;) {
        const char *least = l->at < l->n ? name_at(l, l->at) : NULL;
        size_t from = l->n_runs; /* the run that the least name comes from; n_runs: memory */
        bool again;

        for (size_t i = 0; i < l->n_runs; i++) {
            const char *next = l->runs[i].next;

            if (next != NULL && (least == NULL || strcmp(next, least) < 0)) {
                least = next;
                from = i;
            }
        }
        if (least == NULL)
            return 0;
        again = l->last.n > 0 && strcmp(buf_text(&l->last), least) == 0;
        if (!again) {
            buf_clear(&l->last);
            buf_add_str(&l->last, least);
        }
        if (from == l->n_runs)
            l->at++;
        else if (advance_run(&l->runs[from], e) < 0)
            return -1;
        *name = buf_text(&l->last);
        if (!again)
            return 1;
    }
}

void dir_names_free(struct dir_names *l)
{
    for (size_t i = 0; i < l->n_runs; i++) {
        free(l->runs[i].next);
        fclose(l->runs[i].file);
    }
    free(l->runs);
    free(l->begins);
    buf_free(&l->text);
    buf_free(&l->last);
    *l = (struct dir_names){ 0 };
}
