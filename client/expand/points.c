/* SPDX-License-Identifier: MIT */
/* points.c - the configurations of a submit, from the sweep file or from --param2vals */
#include "client/expand/points.h"

void points_free(struct points *p)
{
    expand_destroy(p->expand);
    param2vals_destroy(p->list);
    *p = (struct points){ 0 };
}

int64_t points_count(const struct points *p)
{
    return p->list != NULL ? param2vals_count(p->list) : expand_count(p->expand);
}

void points_seek(const struct points *p, int64_t index)
{
    if (p->list != NULL)
        param2vals_seek(p->list, index);
    else
        expand_seek(p->expand, index);
}

bool points_next(const struct points *p, struct buf *out)
{
    return p->list != NULL ? param2vals_next(p->list, out) : expand_next(p->expand, out);
}

void points_add_notes(const struct points *p, struct buf *out)
{
    if (p->expand != NULL)
        expand_add_notes(p->expand, out);
}
