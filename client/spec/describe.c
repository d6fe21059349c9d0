/* SPDX-License-Identifier: MIT */
/* describe.c - words the content of a sweep file */
#include <inttypes.h>

#include "client/spec/describe.h"

#include "common/base/units.h"

static const double MS_PER_HOUR = 3600.0 * 1000.0;

static void add_list(struct buf *out, const struct list *texts, const char *last)
{
    const char *const *items = texts->items;

    for (size_t i = 0; i < texts->n; i++)
        buf_printf(out, "%s%s", i == 0 ? "" : i + 1 == texts->n ? last : ", ", items[i]);
}

static void add_amount(struct buf *out, int64_t milli, const char *of)
{
    units_add_milli(out, milli);
    buf_printf(out, " %s%s", of, milli == 1000 ? "" : "s");
}

void describe_resources(struct buf *out, const struct resources *r)
{
    add_amount(out, r->cpus_milli, "CPU");
    if (r->gpus_milli > 0) {
        buf_add_str(out, ", ");
        add_amount(out, r->gpus_milli, "GPU");
    }
    if (r->memory_bytes > 0) {
        buf_add_str(out, ", ");
        units_add_size(out, r->memory_bytes);
        buf_add_str(out, " of memory");
    } else {
        buf_add_str(out, ", memory not limited");
    }
    if (r->disk_bytes > 0) {
        buf_add_str(out, ", ");
        units_add_size(out, r->disk_bytes);
        buf_add_str(out, " of disk");
    }
    if (r->time_ms > 0) {
        buf_add_str(out, ", at most ");
        units_add_duration(out, r->time_ms);
    }
}

void describe_nodes(struct buf *out, const struct spec *s)
{
    if (s->has_nodes && s->nodes.n == 0)
        buf_add_str(out, "none");
    else
        add_list(out, &s->nodes, ", ");
}

static void add_wish(struct buf *out, bool *is_first, const char *name, const char *text)
{
    if (text == NULL)
        return;
    buf_printf(out, "%s%s %s", *is_first ? " (" : ", ", name, text);
    *is_first = false;
}

void describe_pools(struct buf *out, const struct spec *s)
{
    const struct slurm_pool *pools = s->pools.items;

    for (size_t i = 0; i < s->pools.n; i++) {
        bool is_first = true;

        buf_printf(out, "%s%s", i > 0 ? ", " : "", pools[i].partition);
        add_wish(out, &is_first, "account", pools[i].account);
        add_wish(out, &is_first, "qos", pools[i].qos);
        add_wish(out, &is_first, "constraint", pools[i].constraint);
        add_wish(out, &is_first, "gres", pools[i].gres);
        add_wish(out, &is_first, "pilots of", pools[i].pilot_jobs == 1 ? "one job each" : NULL);
        buf_add_str(out, is_first ? "" : ")");
    }
}

void describe_batch(struct buf *out, const struct jobspec *w)
{
    if (w->batch > 1)
        buf_printf(out, "%" PRId64 " configurations to a process", w->batch);
}

void describe_retry(struct buf *out, const struct retry *r)
{
    if (r->max == 0)
        return;
    if (r->max == 1)
        buf_add_str(out, "once after ");
    else
        buf_printf(out, "up to %" PRId64 " times after ", r->max);
    add_list(out, &r->on, " or ");
}

void describe_guard(struct buf *out, const struct guard_policy *g)
{
    if (g->off)
        buf_add_str(out, "off: nothing is held, whatever fails");
    else if (g->failures > 0)
        buf_printf(out, "what is like %" PRId64 " that failed is held", g->failures);
}

void describe_checkpoint(struct buf *out, const struct checkpoint *c)
{
    if (c->signal != NULL) {
        buf_printf(out, "%s, then ", c->signal);
        units_add_duration(out, c->grace_ms);
        buf_add_str(out, " to end");
    }
    if (c->every_ms > 0) {
        buf_printf(out, "%scopied every ", c->signal != NULL ? "; " : "");
        units_add_duration(out, c->every_ms);
    }
}

void describe_passed(struct buf *out, const struct jobspec *w)
{
    if (w->passed.n == 0)
        return;
    add_list(out, &w->passed, " and ");
    buf_printf(out, ", from this shell; no listing shows %s",
               w->passed.n == 1 ? "its value" : "their values");
}

void describe_time(struct buf *out, double hours, const char *of)
{
    static const double sensible = 0.001; /* the fewest hours worth printing */

    if (hours >= 100) {
        buf_printf(out, "about %.0f %s-hours", hours, of);
    } else if (hours >= 1) {
        buf_printf(out, "about %.1f %s-hours", hours, of);
    } else {
        buf_add_str(out, "about ");
        units_add_duration(out, (int64_t)(hours * MS_PER_HOUR + 0.5));
        buf_printf(out, " of %s time", of);
        if (hours >= sensible)
            buf_printf(out, " (%.2g %s-hours)", hours, of);
    }
}
