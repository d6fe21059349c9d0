/* SPDX-License-Identifier: MIT */
/* nodeinfo.c - what a GPU does, and what a pilot waits for, in words */
#include "client/query/nodeinfo.h"

#include <inttypes.h>

#include "common/data/schema.h"

void nodeinfo_add_gpu_use(struct buf *out, const struct gpu_use *use)
{
    static const double gib = 1024.0 * 1024 * 1024;

    if (use->percent == SCHEMA_NONE)
        buf_add_char(out, '-');
    else
        buf_printf(out, "%" PRId64 "%%", use->percent);
    if (use->used_bytes == SCHEMA_NONE)
        return;
    buf_printf(out, " %.0f", (double)use->used_bytes / gib);
    if (use->memory_bytes != SCHEMA_NONE)
        buf_printf(out, "/%.0f", (double)use->memory_bytes / gib);
    buf_add_str(out, " GiB");
}

void nodeinfo_add_waiting(struct buf *out, const struct pilots_waiting *w, bool has_user)
{
    bool is_one = w->pilots == 1;

    buf_printf(out, "partition %s", w->partition);
    if (has_user && w->user != NULL)
        buf_printf(out, ", for %s", w->user);
    if (w->slurm_job == 0)
        buf_printf(out, ": %" PRId64 " pilot%s about to be submitted", w->pilots,
                   is_one ? " is" : "s are");
    else
        buf_printf(out, ": %" PRId64 " pilot%s, Slurm's job %" PRId64 ": %s", w->pilots,
                   is_one ? "" : "s", w->slurm_job,
                   w->why != NULL ? w->why : "Slurm was not asked about it yet");
}
