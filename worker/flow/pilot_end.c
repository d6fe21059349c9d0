/* SPDX-License-Identifier: MIT */
/* pilot_end.c - how the agent of a pilot comes to its end */

#include "worker/flow/pilot_end.h"

#include <signal.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/flow/phases.h"

enum {
    /* Time from the order to end until a job's processes are gone, beside its own time to save, */
    TERM_MS = 10 * 1000,
    /* and from there until all of it is published and reported. */
    PUBLISH_MS = 20 * 1000,
    /* How long before Slurm kills the pilot unpublished attempts are reported lost, */
    GIVE_UP_MS = 4 * 1000,
    /* and the agent leaves in any case. */
    LEAVE_MS = 1000,
    /* How long a pilot waits for a ludwigd that is away, and for the last answer of one. */
    AWAY_MAX_MS = 60 * 1000,
    PATIENCE_MS = 5 * 1000
};

static const char told_reason[] = "its Slurm job was told to end",
                  time_reason[] = "the time of its Slurm job was over",
                  idle_reason[] = "nothing to do", only_reason[] = "it was made for one job";

bool pilot_end_is_pilot(const struct agent *ag)
{
    return ag->pilot_end->pilot.is_one;
}

static bool is_empty(const struct agent *ag)
{
    return ag->attempts.n == 0 && ring_is_empty(&ag->packings);
}

/* Whether the pilot has nothing to do.  An advisor does not count: ludwigd begins it anew on
 * another worker when this one retires. */
static bool is_idle(const struct agent *ag)
{
    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring))
        if (!a->order.assignment.advises)
            return false;
    return ring_is_empty(&ag->packings);
}

/* Whether the agent knows its attempts, and those of an agent before it as well. */
static bool knows_its_attempts(const struct agent *ag)
{
    return ag->is_adopted || ag->server_id == NULL;
}

bool pilot_end_has_nothing(const struct agent *ag)
{
    return is_empty(ag) && knows_its_attempts(ag);
}

/* ---- messages to ludwigd ---- */

static void say(struct agent *ag, bool is_over)
{
    struct pilot_end *end = ag->pilot_end;
    struct msg_retiring m = { end->reason, is_over, end->state == PILOT_END_NOW };
    struct msg_alive alive = { true };

    if (!ag->is_registered)
        return;
    server_link_send(ag->link, MSG_RETIRING, 0, &m);
    /* ludwigd answers in turn, so its answer shows that it has taken the message before. */
    end->asked_seq = server_link_send(ag->link, MSG_ALIVE, 0, &alive);
}

void pilot_end_registered(struct agent *ag)
{
    struct pilot_end *end = ag->pilot_end;

    end->has_met = true;
    end->is_heard = end->is_last_word_said = false;
    if (end->state != PILOT_END_NOT)
        say(ag, false);
}

void pilot_end_answered(struct agent *ag, int64_t re)
{
    struct pilot_end *end = ag->pilot_end;

    if (end->asked_seq <= 0 || re != end->asked_seq)
        return;
    end->asked_seq = 0;
    if (end->is_last_word_said && is_empty(ag))
        agent_stop(ag, AGENT_LEAVES);
    end->is_heard = true;
}

static void on_patience(uv_timer_t *timer)
{
    agent_stop(timer->data, AGENT_LEAVES);
}

static void begin_end(struct agent *ag, enum pilot_end_state state, const char *reason)
{
    struct pilot_end *end = ag->pilot_end;

    if (state <= end->state)
        return;
    end->state = state;
    end->reason = reason;
    end->is_heard = end->is_last_word_said = false;
    log_event(LOG_INFO, "retire", "why", "%s", reason, "attempts", "%zu", ag->attempts.n, NULL);
    uv_timer_stop(&end->idle_timer);
    say(ag, false);
    if (!ag->is_adopted || reason == only_reason)
        return;
    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring))
        flow_post(ag, a, EVENT_RECALL, reason);
}

bool pilot_end_refuses(const struct agent *ag, const struct attempt *a)
{
    const struct pilot_end *end = ag->pilot_end;

    return end->state == PILOT_END_NOW ||
           (end->state == PILOT_END_WHEN_DONE &&
            (token_is_zero(&end->only) || !token_equal(&end->only, &a->batch->token)));
}

void pilot_end_when_done(struct agent *ag, const char *reason)
{
    if (pilot_end_is_pilot(ag))
        begin_end(ag, PILOT_END_WHEN_DONE, reason);
}

/* ---- ending now ---- */

static void end_job(struct agent *ag, const struct batch *b)
{
    struct pilot_end *end = ag->pilot_end;
    int64_t left_ms = end->deadline_ms - units_now_ms();
    int64_t budget_ms = SCHEMA_NONE; /* until the job's processes are gone; no deadline: none */

    if (end->deadline_ms != 0) {
        left_ms -= left_ms > 2 * PUBLISH_MS ? PUBLISH_MS : left_ms / 3;
        budget_ms = left_ms > 0 ? left_ms : 0;
    }
    if (b->runner != NULL)
        runner_preempt(b->runner, end->cause, end->reason, budget_ms);
}

void pilot_end_adopted(struct agent *ag, const struct batch *b)
{
    if (ag->pilot_end->state == PILOT_END_NOW)
        end_job(ag, b);
}

static void on_end_timer(uv_timer_t *timer);

static void wait_until(struct pilot_end *end, int64_t at_ms)
{
    int64_t wait_ms = at_ms - units_now_ms();

    uv_timer_start(&end->end_timer, on_end_timer, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0);
}

static void end_now(struct agent *ag, enum cause cause, const char *reason, int64_t deadline_ms)
{
    struct pilot_end *end = ag->pilot_end;

    if (end->state != PILOT_END_NOW)
        end->cause = cause;
    if (end->deadline_ms == 0 || (deadline_ms > 0 && deadline_ms < end->deadline_ms))
        end->deadline_ms = deadline_ms;
    begin_end(ag, PILOT_END_NOW, reason);
    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring))
        if (attempt_may_run(a) && batch_first(a->batch) == a)
            end_job(ag, a->batch);
    if (end->deadline_ms > 0)
        wait_until(end, end->deadline_ms - GIVE_UP_MS);
}

/* SIGUSR1 comes early, where Slurm was told to send it; after SIGTERM kill_wait_ms are left. */
void pilot_end_told(struct agent *ag, int signal)
{
    const struct pilot_options *p = &ag->pilot_end->pilot;

    log_event(LOG_INFO, "told-to-end", "signal", "%d", signal, NULL);
    end_now(ag, CAUSE_PREEMPTED, told_reason,
            signal == SIGUSR1 ? 0 : units_now_ms() + p->kill_wait_ms);
}

/* ---- the end of its time ---- */

/* Time to keep for the end: half of a short pilot's time at most. */
static int64_t lead_ms(const struct pilot_end *end)
{
    int64_t half_ms = (end->deadline_ms - end->started_at_ms) / 2;

    return end->lead_ms < half_ms ? end->lead_ms : half_ms;
}

static void on_end_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;
    struct pilot_end *end = ag->pilot_end;
    int64_t left_ms = end->deadline_ms - units_now_ms();

    if (end->state != PILOT_END_NOW && left_ms > lead_ms(end)) /* the clock was set back */
        wait_until(end, end->deadline_ms - lead_ms(end));
    else if (end->state != PILOT_END_NOW)
        end_now(ag, CAUSE_WALLTIME, time_reason, end->deadline_ms);
    else if (left_ms > GIVE_UP_MS)
        wait_until(end, end->deadline_ms - GIVE_UP_MS);
    else if (left_ms > LEAVE_MS) {
        /* A result may be published after all: then the next attempt finds it. */
        for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring))
            flow_post(ag, a, EVENT_PREEMPT, "its Slurm job ended before it was published")->cause =
                end->cause;
        wait_until(end, end->deadline_ms - LEAVE_MS);
    } else {
        agent_stop(ag, AGENT_LEAVES);
    }
}

void pilot_end_admitted(struct agent *ag, const struct attempt *a)
{
    const struct checkpoint *c = &a->order.work.work.checkpoint;
    int64_t lead = TERM_MS + PUBLISH_MS + (c->signal == NULL ? 0 : c->grace_ms);
    struct pilot_end *end = ag->pilot_end;

    if (!pilot_end_is_pilot(ag))
        return;
    if (a->batch != NULL && end->pilot.takes_one && token_is_zero(&end->only)) {
        end->only = a->batch->token; /* it has the job that it was made for */
        begin_end(ag, PILOT_END_WHEN_DONE, only_reason);
    }
    if (lead <= end->lead_ms)
        return;
    end->lead_ms = lead;
    if (end->state != PILOT_END_NOW && end->deadline_ms > 0)
        wait_until(end, end->deadline_ms - lead_ms(end));
}

/* ---- idleness ---- */

static void on_idle(uv_timer_t *timer)
{
    struct agent *ag = timer->data;
    struct pilot_end *end = ag->pilot_end;
    struct err e = { 0 };

    if (ag->is_registered) {
        begin_end(ag, PILOT_END_WHEN_DONE, idle_reason);
    } else if (uv_timer_get_repeat(timer) == 0) { /* ludwigd is away, as it may be for a while */
        uv_timer_start(timer, on_idle, AWAY_MAX_MS, AWAY_MAX_MS);
    } else if (end->has_met) {
        begin_end(ag, PILOT_END_WHEN_DONE, "ludwigd is away, and nothing to do");
    } else {
        err_set(&e, ERR_UNREACHABLE, "ludwigd was not reached: the log says why");
        agent_fail(ag, &e);
    }
}

/* For example a pilot whose sbatch was carried out after ludwigd had given it up. */
void pilot_end_denied(struct agent *ag, const struct err *why)
{
    struct err e = { 0 };

    if (!pilot_end_is_pilot(ag) || !pilot_end_has_nothing(ag))
        return;
    err_set(&e, ERR_UNREACHABLE, "ludwigd has no work for this pilot: %s", why->text);
    agent_fail(ag, &e);
}

void pilot_end_turn(struct agent *ag)
{
    struct pilot_end *end = ag->pilot_end;

    if (!pilot_end_is_pilot(ag))
        return;
    if (end->state == PILOT_END_NOT) {
        if (!is_idle(ag))
            uv_timer_stop(&end->idle_timer);
        else if (!uv_is_active((uv_handle_t *)&end->idle_timer))
            uv_timer_start(&end->idle_timer, on_idle, (uint64_t)end->pilot.idle_ms, 0);
    } else if (knows_its_attempts(ag) && !is_empty(ag)) {
        uv_timer_stop(&end->patience_timer);
        end->is_last_word_said = false;
    } else if (knows_its_attempts(ag)) {
        /* A ludwigd that does not answer is waited for 5 s only. */
        if (!uv_is_active((uv_handle_t *)&end->patience_timer))
            uv_timer_start(&end->patience_timer, on_patience, PATIENCE_MS, 0);
        if (end->is_heard && !end->is_last_word_said) {
            end->is_last_word_said = true;
            say(ag, true);
        }
    }
}

/* ---- start ---- */

static void on_sigusr1(uv_signal_t *handle, int number)
{
    pilot_end_told(handle->data, number);
}

int pilot_end_init(struct agent *ag, struct err *e)
{
    struct pilot_end *end = ag->pilot_end;
    sigset_t none;
    int rc;

    uv_timer_init(&ag->loop, &end->idle_timer);
    uv_timer_init(&ag->loop, &end->end_timer);
    uv_timer_init(&ag->loop, &end->patience_timer);
    end->idle_timer.data = end->end_timer.data = end->patience_timer.data = end->sigusr1.data = ag;
    end->started_at_ms = units_now_ms();
    end->deadline_ms = end->pilot.ends_at_ms;
    end->lead_ms = TERM_MS + PUBLISH_MS;
    rc = uv_signal_init(&ag->loop, &end->sigusr1);
    if (rc == 0)
        rc = uv_signal_start(&end->sigusr1, on_sigusr1, SIGUSR1);
    if (rc < 0)
        return err_set(e, ERR_FAILED, "watch SIGUSR1: %s", uv_strerror(rc));
    if (end->deadline_ms > 0)
        wait_until(end, end->deadline_ms - lead_ms(end));
    /* The pilot process had blocked the signals that it passes on; from here on they are taken. */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}
