/* SPDX-License-Identifier: MIT */
/* saved_copy.c - copies what a job saved to a share on another file system */

#include <stdlib.h>
#include <unistd.h>

#include "worker/saved/saved.h"

static struct share_item item_of(const struct saved_entry *x)
{
    static const enum share_type types[] = {
        [SAVED_FILE] = SHARE_FILE,
        [SAVED_FOLDER] = SHARE_FOLDER,
        [SAVED_LINK] = SHARE_LINK,
    };

    return (struct share_item){ .type = types[x->type],
                                .from = x->path,
                                .to = x->path,
                                .mode = x->mode,
                                .size_bytes = (int64_t)x->size_bytes,
                                .digest = x->type == SAVED_FILE ? &x->digest : NULL };
}

/* Where the share has no symlinks, each is listed as left out, with what it led to. */
static void leave_out_links(struct saved *s, const struct share_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].target != NULL) {
            saved_leave_out(s, arena_printf(s->arena, "%s -> %s", items[i].to, items[i].target));
            free((char *)items[i].target);
        }
}

int saved_copy(struct saved *s, int from_fd, const struct share_dir *to, struct err *e)
{
    struct share_item *items = mem_alloc(s->n * sizeof *items);
    int result;

    for (size_t i = 0; i < s->n; i++)
        items[i] = item_of(&s->entries[i]);
    result = share_copy_in(to, from_fd, items, s->n, e);
    leave_out_links(s, items, s->n);
    free(items);
    return result;
}
