/* SPDX-License-Identifier: MIT */
/* retry.c - whether a job is tried again, and the reasons given to people */

#include "server/queue/retry.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/utf8.h"

/* ---- judging ---- */

bool attempt_went_wrong(enum attempt_state state)
{
    return state == ATTEMPT_FAILED || state == ATTEMPT_LOST || state == ATTEMPT_SUPERSEDED;
}

/* Whether retry: names how the attempt ended; for a lost attempt only the cause counts. */
static bool is_listed(const struct retry *policy, const struct tried *t)
{
    if (policy == NULL || t->state == ATTEMPT_SUPERSEDED)
        return false;
    if (t->state == ATTEMPT_LOST)
        return retry_lists(policy, t->cause, SCHEMA_NONE, SCHEMA_NONE);
    return retry_lists(policy, t->cause, t->exit_code, t->signal);
}

struct retry_verdict retry_judge(const struct retry *policy, bool has_time,
                                 const struct tried *tried, size_t n)
{
    /* If retry: names cuts, as jobs go on from their checkpoints, they count as listed. */
    bool are_cuts_free = has_time || (policy != NULL && retry_names(policy, CAUSE_WALLTIME));
    struct retry_verdict v = { .answer = RETRY_NOTHING };
    int64_t n_listed = 0, n_lost = 0, n_cut = 0;

    for (size_t i = 0; i < n && v.answer <= RETRY_AGAIN; i++) {
        const struct tried *t = &tried[i];

        if (!attempt_went_wrong(t->state))
            continue;
        v.by = t;
        v.tries++;
        if (!are_cuts_free && t->state == ATTEMPT_LOST && t->cause == CAUSE_WALLTIME &&
            ++n_cut >= JOB_CUTS_MAX) {
            v.answer = RETRY_CUT;
        } else if (is_listed(policy, t)) {
            v.n = ++n_listed;
            v.max = policy->max;
            v.answer = v.n > v.max ? RETRY_SPENT : RETRY_AGAIN;
        } else if (t->state == ATTEMPT_FAILED && t->goes_elsewhere) {
            v.answer = RETRY_ELSEWHERE;
        } else if (t->state == ATTEMPT_FAILED) {
            v.answer = RETRY_UNLISTED;
        } else {
            v.n = ++n_lost;
            v.max = JOB_LOSSES_MAX;
            v.answer = v.n > v.max ? RETRY_LOST : RETRY_AGAIN;
        }
    }
    return v;
}

/* ---- growing ---- */

static int64_t least(int64_t a, int64_t b) /* 0: no limit */
{
    return b == 0 || (a != 0 && a < b) ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t times(int64_t amount, int64_t milli)
{
    const int64_t most = INT64_C(1) << 53; /* the most that a message can hold */

    return amount / 1000 > most / milli ? most
                                        : amount / 1000 * milli + amount % 1000 * milli / 1000;
}

/* One resource: how it grows, its limits (0: none), and what the job asks for now. */
struct growing {
    int64_t factor_milli, up_to, most, now;
};

/* What the job asks for after an attempt that had `had` and ran out of it. */
static int64_t after(const struct growing *g, int64_t had)
{
    int64_t limit = least(g->up_to, g->most > 0 ? larger(g->most, g->now) : 0);

    return larger(had, least(times(had, g->factor_milli), limit));
}

void retry_grow(struct retry_verdict *v, const struct retry *policy, const struct tried *tried,
                const struct grown *had, size_t n, struct grown now, struct grown most)
{
    const struct growing memory = { policy->grow.memory_milli, policy->up_to.memory_bytes,
                                    most.memory_bytes, now.memory_bytes };
    const struct growing time = { policy->grow.time_milli, policy->up_to.time_ms, most.time_ms,
                                  now.time_ms };
    struct growth *g = &v->growth;

    g->asks = now;
    for (size_t i = 0; i < n; i++) {
        bool is_last = &tried[i] == v->by;
        bool lacked_memory = memory.factor_milli > 0 && tried[i].cause == CAUSE_OOM;
        bool lacked_time = time.factor_milli > 0 && tried[i].cause == CAUSE_TIMEOUT;
        struct grown then = had[i];

        if (lacked_memory)
            then.memory_bytes = after(&memory, had[i].memory_bytes);
        if (lacked_time)
            then.time_ms = after(&time, had[i].time_ms);
        g->asks.memory_bytes = larger(g->asks.memory_bytes, then.memory_bytes);
        g->asks.time_ms = larger(g->asks.time_ms, then.time_ms);
        if (!is_last || (!lacked_memory && !lacked_time))
            continue;
        g->has_more_memory = lacked_memory && g->asks.memory_bytes > had[i].memory_bytes;
        g->has_more_time = lacked_time && g->asks.time_ms > had[i].time_ms;
        g->is_at_most = !g->has_more_memory && !g->has_more_time;
        g->by_up_to = lacked_memory ? memory.up_to > 0 && had[i].memory_bytes >= memory.up_to
                                    : time.up_to > 0 && had[i].time_ms >= time.up_to;
    }
    if (g->is_at_most)
        v->answer = RETRY_AT_MOST;
}

/* ---- reasons ---- */

static void add_why(const struct tried *t, struct buf *out)
{
    if (t->reason != NULL) /* cut, to leave room for the words around it */
        buf_add(out, t->reason, utf8_cut(t->reason, strnlen(t->reason, REASON_MAX_BYTES - 100)));
    else if (t->state == ATTEMPT_SUPERSEDED)
        buf_add_str(out, "another attempt had published");
    else if (t->state == ATTEMPT_FAILED && t->signal != SCHEMA_NONE)
        buf_printf(out, "signal %" PRId64, t->signal);
    else if (t->state == ATTEMPT_FAILED && t->exit_code != SCHEMA_NONE)
        buf_printf(out, "exit code %" PRId64, t->exit_code);
    else
        buf_add_str(out, cause_names[t->cause]);
}

static void add_growth(const struct growth *g, struct buf *out)
{
    if (!g->has_more_memory && !g->has_more_time)
        return;
    buf_add_str(out, " with ");
    if (g->has_more_memory)
        units_add_size(out, g->asks.memory_bytes);
    buf_add_str(out, g->has_more_memory ? " of memory" : "");
    if (g->has_more_time)
        units_add_duration(out, g->asks.time_ms);
}

void retry_add_reason(const struct retry_verdict *v, struct buf *out)
{
    if (v->answer == RETRY_ELSEWHERE) {
        buf_add_str(out, "given to another node: ");
        add_why(v->by, out);
    } else if (v->answer == RETRY_AGAIN) {
        buf_printf(out, "%s before: ", attempt_state_names[v->by->state]);
        add_why(v->by, out);
        buf_add_str(out, "; tried again");
        add_growth(&v->growth, out);
        buf_printf(out, " (%" PRId64 " of %" PRId64 ")", v->n, v->max);
    } else if (v->answer == RETRY_AT_MOST) {
        add_why(v->by, out);
        buf_add_str(out, v->growth.by_up_to
                             ? "; that is the most that retry: up_to: allows"
                             : "; that is the most that a machine has which may run it");
    } else if (v->answer == RETRY_SPENT && v->tries > 1) {
        add_why(v->by, out);
        buf_printf(out, ", after %" PRId64 " tries", v->tries);
    } else if (v->answer == RETRY_LOST) {
        buf_add_str(out, "its attempts were lost too often: does it take its node along?"
                         " The last time: ");
        add_why(v->by, out);
    } else if (v->answer == RETRY_CUT) {
        buf_printf(
            out,
            "the time of its pilot was over before it ended, %d times: give time: (resources: {time: 2h})"
            " in the sweep, so that it gets a pilot that has enough of it",
            JOB_CUTS_MAX);
    }
}
