/* SPDX-License-Identifier: MIT */
/* pilot_calls.c - how the files about pilots call Slurm, and have pilots.c choose what comes next */

#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/pilot/pilots_internal.h"

/* ---- calls ---- */

struct slurm_call *pilots_begin(struct pilots *p, const struct pilots_command *c,
                                slurm_done_fn done, void *context, struct err *e)
{
    const struct slurm_command command = { .args = c->args,
                                           .env = c->env,
                                           .rights = c->rights,
                                           .input = c->input,
                                           .input_n = c->input == NULL ? 0 : strlen(c->input),
                                           .timeout_ms = c->timeout_ms > 0 ? (uint64_t)c->timeout_ms
                                                                           : PILOTS_CALL_MS,
                                           .output_max_bytes = SLURM_OUTPUT_MAX_BYTES };

    struct slurm_call *call;

    if (!slurm_budget_take(&p->budget, units_monotonic_ms())) {
        err_set(e, ERR_BUSY, "no more commands of Slurm's for now");
        return NULL;
    }
    call = slurm_call_begin(&p->sv->loop, &command, done, context, e);
    if (call == NULL && e->kind == ERR_NOT_FOUND)
        err_set(e, ERR_NOT_FOUND,
                "there is no %s in ludwigd's PATH, which has to have Slurm's commands", c->args[0]);
    return call;
}

int pilots_call(struct pilots *p, const struct pilots_command *c, slurm_done_fn done, void *context,
                struct err *e)
{
    p->call = pilots_begin(p, c, done, context, e);
    return p->call == NULL ? -1 : 0;
}

static const char *or_else(const char *text, const char *other)
{
    return text != NULL && text[0] != '\0' ? text : other;
}

char **pilots_env(const struct slurm_user *user, struct arena *a)
{
    const struct slurm_user own = { or_else(getenv("USER"), "ludwig"), or_else(getenv("HOME"), "/"),
                                    "/bin/sh" };
    const char *path = or_else(getenv("PATH"), "/usr/bin:/bin"), *conf = getenv("SLURM_CONF");

    return user != NULL ? slurm_env(user, path, conf, a) : slurm_reader_env(&own, path, conf, a);
}

void pilots_look_in(struct pilots *p, int64_t ms)
{
    int64_t at_ms = units_monotonic_ms() + ms, soonest_ms = p->looked_at_ms + PILOTS_LOOK_EVERY_MS;

    if (p->looked_at_ms > 0 && at_ms < soonest_ms)
        at_ms = soonest_ms;
    if (p->look_at_ms == 0 || at_ms < p->look_at_ms)
        p->look_at_ms = at_ms;
    p->look_every_ms = 0;
}

/* ---- when ---- */

static void on_timer(uv_timer_t *timer)
{
    struct pilots *p = timer->data;

    turn_add_work(p->sv->turn, p->think, 0);
}

void pilots_think_at(struct pilots *p, int64_t at_ms)
{
    int64_t in_ms = at_ms - units_monotonic_ms();
    uint64_t wait_ms = in_ms > 0 ? (uint64_t)in_ms : 0;

    if (!uv_is_active((uv_handle_t *)p->timer) || uv_timer_get_due_in(p->timer) > wait_ms)
        uv_timer_start(p->timer, on_timer, wait_ms, 0);
}

void pilots_think(struct pilots *p)
{
    turn_add_work(p->sv->turn, p->think, 0);
}

void pilots_next(struct pilots *p)
{
    p->is_busy = false;
    pilots_think(p);
}
