/* SPDX-License-Identifier: MIT */
/* sweep_wait.c - waits until a sweep is over */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/session/subscription.h"
#include "client/session/sweep_wait.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "common/base/units.h"

enum { SHOW_EVERY_MS = 1000 };

int sweep_wait_say_end(const struct sweep_info *s)
{
    const struct job_counts *c = &s->jobs;
    struct buf text = { 0 };

    buf_printf(&text, "sweep %" PRId64 ": ", s->sweep);
    if (c->failed == 0 && c->cancelled == 0 && c->held == 0 && c->stopped == 0 && s->held == NULL)
        buf_add_str(&text, "all ");
    buf_printf(&text, "%" PRId64 " done", c->done + s->reused);
    if (s->reused > 0)
        buf_printf(&text, " (%" PRId64 " of them before)", s->reused);
    if (c->stopped > 0)
        buf_printf(&text, ", %" PRId64 " stopped early", c->stopped);
    if (c->cancelled > 0)
        buf_printf(&text, ", %" PRId64 " cancelled", c->cancelled);
    if (c->failed > 0)
        buf_printf(&text,
                   ", %" PRId64 " failed (`ludwig triage %" PRId64
                   "` says what they have in common)",
                   c->failed, s->sweep);
    if (c->held > 0)
        buf_printf(&text, ", %" PRId64 " held", c->held);
    output_note("%s", buf_text(&text));
    if (s->held != NULL)
        output_note("%s", s->held);
    buf_free(&text);
    return s->state == SWEEP_DONE && c->failed == 0 ? EXIT_WELL : EXIT_FAILED;
}

static int follow_sweep(struct subscription *sub, struct progress *p, char **refused, char **held,
                        struct err *e)
{
    struct sweep_info last = { 0 };
    struct msg_changes changes;

    for (;;) {
        int timeout_ms = p->shown && last.sweep != 0 ? SHOW_EVERY_MS : -1;
        enum event event = subscription_wait(sub, timeout_ms, &changes, e);

        if (event == EVENT_ERROR)
            return -1;
        if (event == EVENT_INTERRUPT) {
            progress_clear(p);
            output_note("sweep %" PRId64 " goes on; `ludwig status %" PRId64
                        "` says how far it is, `ludwig cancel %" PRId64 "` ends it",
                        sub->requests[0].sweep, sub->requests[0].sweep, sub->requests[0].sweep);
            return EXIT_INTERRUPTED;
        }
        if (event == EVENT_CHANGES) {
            const char *why = changes.sweep.refused;

            /* Slurm refuses the sweep's pilots; each reason is printed once. */
            if (why != NULL && (*refused == NULL || strcmp(*refused, why) != 0)) {
                free(*refused);
                *refused = mem_strdup(why);
                progress_clear(p);
                output_note("no pilots: %s (`ludwig why %" PRId64 ".1` says more)", why,
                            changes.sweep.sweep);
            }
            free(*held);
            *held = changes.sweep.held != NULL ? mem_strdup(changes.sweep.held) : NULL;
            last = changes.sweep; /* without texts, which the next message overwrites */
            last.project = last.name = last.user = last.refused = last.ranking.metric = NULL;
            last.note = last.tags = NULL;
            last.held = *held;
        }
        if (last.sweep == 0)
            continue;
        progress_show(p, &last, units_monotonic_ms());
        if (progress_has_stopped(&last)) {
            int result;

            progress_clear(p);
            result = sweep_wait_say_end(&last);
            return result;
        }
    }
}

int sweep_wait(struct rpc *rpc, int64_t sweep, struct err *e)
{
    struct msg_subscribe what = { .sweep = sweep };
    struct subscription sub;
    struct progress p;
    char *refused = NULL, *held = NULL;
    int result;

    progress_init(&p);
    if (subscription_begin(&sub, rpc, &what, e) < 0)
        return -1;
    result = follow_sweep(&sub, &p, &refused, &held, e);
    progress_end(&p, result == EXIT_WELL || result == EXIT_FAILED);
    free(refused);
    free(held);
    subscription_end(&sub);
    return result;
}
