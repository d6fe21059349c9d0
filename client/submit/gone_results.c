/* SPDX-License-Identifier: MIT */
/* gone_results.c - finds jobs that are done, but whose results are no longer on the share */
#include "client/submit/gone_results.h"

#include <stdlib.h>

enum { LOOK_AT_ONCE = 500 };

int gone_results_find(struct share_connection *drive, const struct list *reused, struct list *gone,
                      struct err *e)
{
    const struct reused_job *items = reused->items;
    struct gone_job *found = mem_resize(NULL, reused->n, sizeof *found);
    struct share_look *looks = mem_resize(NULL, LOOK_AT_ONCE, sizeof *looks);
    struct share_dir *fs = share_connection_read(drive, e);
    struct arena *a = arena_create();

    *gone = (struct list){ found, 0 };
    for (size_t from = 0; fs != NULL && from < reused->n; from += LOOK_AT_ONCE) {
        size_t n = reused->n - from < LOOK_AT_ONCE ? reused->n - from : LOOK_AT_ONCE;

        for (size_t i = 0; i < n; i++)
            looks[i] = (struct share_look){ .path = items[from + i].run_path };
        share_look(fs, looks, n, NULL, a);
        for (size_t i = 0; i < n; i++)
            if (looks[i].why.kind == ERR_NOT_FOUND)
                found[gone->n++].id = items[from + i].id;
        arena_reset(a);
    }
    arena_destroy(a);
    free(looks);
    share_close(fs);
    return fs == NULL ? -1 : 0;
}
