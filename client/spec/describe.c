/* SPDX-License-Identifier: MIT */
/* describe.c - words the content of a sweep file */
#include <inttypes.h>
#include <string.h>

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

/* How many jobs must have run, which factor is far more, which unused amounts are worth a line. */
enum { SHOW_JOBS = 3, FAR_MORE = 3, UNUSED_BYTES_MIN = 512 << 20, UNUSED_MS_MIN = 15 * 60 * 1000 };

static bool is_far_more(int64_t asked, int64_t used, int64_t unused_min)
{
    return used > 0 && asked / FAR_MORE > used && asked - used >= unused_min;
}

void describe_unused(struct buf *out, const struct resources *r, int64_t ran_jobs,
                     int64_t max_rss_bytes, int64_t longest_ms)
{
    const int64_t mib = 1 << 20, minute_ms = 60 * 1000;
    bool has_memory = is_far_more(r->memory_bytes, max_rss_bytes, UNUSED_BYTES_MIN);
    bool has_time = is_far_more(r->time_ms, longest_ms, UNUSED_MS_MIN);
    /* It suggests half as much again and twice as long, rounded up to 256 MiB and 10 minutes. */
    int64_t memory_mib = (max_rss_bytes + max_rss_bytes / 2) / mib + 1;
    int64_t minutes = 2 * longest_ms / minute_ms + 1;

    if (ran_jobs < SHOW_JOBS || (!has_memory && !has_time))
        return;
    memory_mib = (memory_mib + 255) / 256 * 256;
    minutes = (minutes + 9) / 10 * 10;
    buf_printf(out, "the %" PRId64 " jobs of this project that ended before used at most ",
               ran_jobs);
    if (has_memory)
        units_add_size(out, max_rss_bytes);
    buf_add_str(out, has_memory && has_time ? " and " : "");
    if (has_time)
        units_add_duration(out, longest_ms);
    buf_add_str(out, " of the ");
    if (has_memory)
        units_add_size(out, r->memory_bytes);
    buf_add_str(out, has_memory && has_time ? " and " : "");
    if (has_time)
        units_add_duration(out, r->time_ms);
    buf_add_str(out, " asked for: resources: {");
    if (has_memory && memory_mib % 1024 == 0)
        buf_printf(out, "memory: %" PRId64 "GiB", memory_mib / 1024);
    else if (has_memory)
        buf_printf(out, "memory: %" PRId64 "MiB", memory_mib);
    buf_add_str(out, has_memory && has_time ? ", " : "");
    if (has_time && minutes % 60 == 0)
        buf_printf(out, "time: %" PRId64 "h", minutes / 60);
    else if (has_time)
        buf_printf(out, "time: %" PRId64 "min", minutes);
    buf_add_str(out, "} would do");
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

void describe_pilots_time(struct buf *out, const struct spec *s)
{
    const struct slurm_pool *pools = s->pools.items;
    bool has_options = false;

    for (size_t i = 0; i < s->pools.n; i++)
        has_options |= pools[i].extra.n > 0;
    if (s->pools.n > 0 && s->work.resources.time_ms == 0 && !has_options)
        buf_add_str(
            out,
            "nothing says how long a job takes, so pilots ask for the partition's default time; with "
            "resources: {time: 10min}, the longest that one may run, Slurm starts them sooner");
}

void describe_batch(struct buf *out, const struct jobspec *w)
{
    if (w->batch > 1)
        buf_printf(out, "%" PRId64 " configurations to a process", w->batch);
}

static void add_growth(struct buf *out, const char *after, const char *of, int64_t factor_milli,
                       int64_t up_to, void (*add)(struct buf *out, int64_t amount))
{
    if (factor_milli == 0)
        return;
    buf_printf(out, "; after %s with ", after);
    units_add_milli(out, factor_milli);
    buf_printf(out, " times the %s", of);
    if (up_to > 0) {
        buf_add_str(out, ", up to ");
        add(out, up_to);
    }
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
    add_growth(out, "oom", "memory", r->grow.memory_milli, r->up_to.memory_bytes, units_add_size);
    add_growth(out, "timeout", "time", r->grow.time_milli, r->up_to.time_ms, units_add_duration);
}

void describe_guard(struct buf *out, const struct guard_policy *g)
{
    if (g->off)
        buf_add_str(out, "off: nothing is held, whatever fails");
    else if (g->failures > 0)
        buf_printf(out, "what is like %" PRId64 " that failed is held", g->failures);
    if (g->nan)
        buf_printf(out, "%sa job whose metric is nan or infinite fails", out->n > 0 ? "; " : "");
}

/* Adds the savings that docs/search.md measured, for a race or a rule without first: and eta:. */
static void add_share(struct buf *out, const struct stop_policy *p)
{
    if (p->race > 0)
        buf_add_str(out, "; that is likely to save a third to two thirds of the hours");
    else if (p->first == 0 && strcmp(p->rule, "median") == 0)
        buf_add_str(out, "; that is likely to save two fifths of the hours");
    else if (p->first == 0 && !(p->eta > 0) && strcmp(p->rule, "asha") == 0)
        buf_add_str(out, "; that is likely to save about two thirds of the hours");
}

enum { STOP_ETA_DEFAULT = 2 };

static void add_first(struct buf *out, const struct stop_policy *p, const char *step)
{
    if (p->first > 0)
        buf_printf(out, ", from %s %" PRId64 " on", step, p->first);
    else
        buf_add_str(out, ", from a tenth of a training on");
    if (p->first == 0 && p->max_step == 0)
        buf_add_str(out, ", once a first job has come to its end");
}

void describe_stop(struct buf *out, const struct stop_policy *p, const struct ranking *ranking)
{
    const char *worse = ranking->goal == GOAL_MAX ? "below" : "above";
    const char *step = p->step != NULL ? p->step : "step";

    if (p->race > 0)
        buf_printf(out,
                   "after %" PRId64 " replication%s what is for sure not among the best %" PRId64
                   " by %s",
                   p->race, p->race == 1 ? "" : "s", p->best > 0 ? p->best : 1, ranking->metric);
    if (p->race > 0)
        add_share(out, p);
    if (p->rule == NULL)
        return;
    if (strcmp(p->rule, "asha") == 0) {
        buf_printf(out, "what is not among the best 1/%g by %s",
                   p->eta > 0 ? p->eta : STOP_ETA_DEFAULT, ranking->metric);
        add_first(out, p, step);
    } else if (strcmp(p->rule, "median") == 0) {
        buf_printf(out, "what has %s %s the median of the others", ranking->metric, worse);
        add_first(out, p, step);
    } else if (strcmp(p->rule, "patience") == 0) {
        buf_printf(out, "what has not improved %s", ranking->metric);
        if (p->min_delta > 0)
            buf_printf(out, " by %g", p->min_delta);
        buf_printf(out, " for %" PRId64 " %s%s", p->patience, step, p->patience == 1 ? "" : "s");
    } else {
        buf_printf(out, "what has %s %s %g, from %s %" PRId64 " on", ranking->metric, worse,
                   p->threshold, step, p->first > 0 ? p->first : 1);
    }
    if (p->resume)
        buf_add_str(out, "; if it is among the best known later, it goes on from its checkpoint");
    add_share(out, p);
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
    if (c->keep)
        buf_printf(out, "%sstays when the job is done",
                   c->signal != NULL || c->every_ms > 0 ? "; " : "");
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
