/* SPDX-License-Identifier: MIT */
/* retry.c - whether a job is tried again, and the reasons given to people */

#include "server/queue/retry.h"

#include <inttypes.h>
#include <string.h>

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

void retry_add_reason(const struct retry_verdict *v, struct buf *out)
{
    if (v->answer == RETRY_ELSEWHERE) {
        buf_add_str(out, "given to another node: ");
        add_why(v->by, out);
    } else if (v->answer == RETRY_AGAIN) {
        buf_printf(out, "%s before: ", attempt_state_names[v->by->state]);
        add_why(v->by, out);
        buf_printf(out, "; tried again (%" PRId64 " of %" PRId64 ")", v->n, v->max);
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
