/* SPDX-License-Identifier: MIT */
/* flow_recover.c - adoption, attempts that no runner has, and what else lies on scratch */

#include "worker/flow/flow_recover.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/agent/runtime_dir.h"
#include "worker/flow/flow_stage.h"
#include "worker/flow/pilot_end.h"

enum {
    ORPHAN_AT_FIRST_MS = 5,
    ORPHAN_AT_MOST_MS = 2000,
    JANITOR_IDLE_MS = 200, /* then the janitor leaves */
    /* Pause between surveys while jobs or unpublished results of a server that is gone are here. */
    SURVEY_AGAIN_MS = 10 * 1000,
    /* How long to wait for a runner to say what it runs (it may be stopped, or its disk hang), */
    MUTE_MAX_MS = 5 * 1000,
    /* and then for a scratch folder that may hang. */
    LATE_MAX_MS = 1000
};

/* ---- asking ---- */

static bool is_asked(const struct attempt *a)
{
    return a->phase == PHASE_MUTE || a->phase == PHASE_MISSING || a->phase == PHASE_UNNAMED;
}

static size_t n_asked(const struct agent *ag)
{
    const size_t *n_in = ag->attempts.n_in;

    return n_in[PHASE_MUTE] + n_in[PHASE_MISSING] + n_in[PHASE_UNNAMED];
}

/* Asks the janitor about the batch.  only_look: about mute attempts, moving nothing, as a runner
 * may have them after all. */
static void send_settle(const struct batch *b, bool only_look)
{
    struct order_settle order = { .only_look = only_look };
    struct token_entry *tokens = NULL;
    size_t capacity = 0;

    for (RING_EACH(const struct attempt, a, &b->members, mate)) {
        if (!is_asked(a) || (a->phase == PHASE_MUTE) != only_look)
            continue;
        mem_grow((void **)&tokens, &capacity, order.tokens.n, sizeof *tokens);
        tokens[order.tokens.n++].token = a->token;
        order.is_stale |= a->is_stale;
    }
    if (b->phase == PROCESS_SOUGHT && b->is_shared && !only_look)
        order.process = b->token;
    order.tokens.items = tokens;
    if (order.tokens.n > 0 || !token_is_zero(&order.process))
        service_send(&b->user->janitor, ORDER_SETTLE, &order);
    free(tokens);
}

void flow_recover_ask(struct agent *ag, struct batch *b)
{
    (void)ag;
    send_settle(b, false);
    send_settle(b, true);
}

static void post_to_members(struct agent *ag, const struct batch *b, enum event event)
{
    for (RING_EACH(const struct attempt, a, &b->members, mate))
        if (attempt_may_run(a))
            flow_post(ag, a, event, NULL);
}

/* The process of a single attempt leaves nothing but the attempt itself. */
void flow_recover_seek(struct agent *ag, struct batch *b)
{
    slots_release(ag->slots, &b->slot);
    post_to_members(ag, b, EVENT_MISSED);
    flow_post_process(ag, b, PROCESS_EV_ASK);
    if (!b->is_shared)
        flow_post_process(ag, b, PROCESS_EV_NOTHING);
}

void flow_recover_release(struct agent *ag, struct batch *b)
{
    slots_release(ag->slots, &b->slot);
    if (b->is_shared)
        registry_gone(ag->registry, &b->token, NULL);
}

/* The members end before the process; if one has not, the folders show what became of it. */
void flow_recover_end(struct agent *ag, struct batch *b)
{
    flow_recover_release(ag, b);
    if (!b->is_shared)
        return;
    post_to_members(ag, b, EVENT_UNNAMED);
    flow_post_process(ag, b, PROCESS_EV_ASK);
    user_add_leftover(b->user, &b->token);
    user_discard_leftovers(b->user);
}

/* ---- answers about attempts ---- */

/* Takes the janitor's answer about an attempt.  One in run/ that a silent runner may have stays
 * with it, with its processors and GPUs, until the runner speaks or dies. */
static void resolve(struct agent *ag, struct attempt *a, const struct note_settled *note)
{
    struct batch *b = a->batch;

    if (note->place == PLACE_RUN || (note->place == PLACE_ENDED && a->is_stale)) {
        flow_post(ag, a, EVENT_IN_RUN, NULL);
    } else if (note->place == PLACE_ENDED) {
        flow_post(ag, a, EVENT_ENDED, NULL);
    } else if (note->place == PLACE_PUBLISHED) {
        a->may_be_on_scratch = true;
        if (note->reports.n == 1)
            flow_post(ag, a, EVENT_PUBLISHED, NULL)->report =
                schema_copy(&report_schema, note->reports.items, a->arena);
        else
            flow_post(ag, a, EVENT_LOSE, "its report cannot be read");
    } else if (a->phase == PHASE_MUTE) {
        flow_post(ag, a, EVENT_NOWHERE, NULL);
    } else if (a->is_stale || /* from here on: it never started, or its files were wiped */
               (b->is_overdue && a->started_at > 0)) {
        flow_post(ag, a, EVENT_IN_RUN, NULL);
    } else if (a->is_unwanted) {
        flow_post(ag, a, EVENT_STOPPED, NULL);
    } else if (a->phase == PHASE_UNNAMED || (b->is_shared && note->has_begun)) {
        flow_post(ag, a, EVENT_LEFT_OUT, "its process was started without it");
    } else {
        flow_post(ag, a, EVENT_NEVER, NULL);
        if (b->has_lost_runner)
            flow_stage_start_failed(a->user, "its runner ended before it began");
        b->has_lost_runner = false;
    }
}

/* ---- orphans: their processes are killed first ---- */

void flow_recover_finish(struct attempt *a, const struct flow_event *ev)
{
    if (ev != NULL) {
        a->finish_event = ev->outcome;
        if (ev->outcome == EV_RECALL) /* its process started, but the attempt did not */
            a->started_at = 0;
    }
    service_send(&a->user->janitor, ORDER_FINISH,
                 &(struct order_finish){ .token = a->token,
                                         .event = (int)a->finish_event,
                                         .cause = (int)a->finish_cause,
                                         .reason = a->finish_reason,
                                         .started_at = a->started_at });
}

/* Sets reason and cause of an attempt whose runner did not end it in time; returns its outcome. */
static enum attempt_event judge_overdue(struct attempt *a, bool is_shared)
{
    static const char why[] = "its runner, stopped or stuck, did not end it and was killed";
    struct buf text = { 0 };

    if (a->is_unwanted) {
        a->finish_reason = arena_printf(a->arena, "cancelled; %s", why);
        return EV_CANCEL;
    }
    if (is_shared)
        buf_add_str(&text, "time limit of its batch");
    else
        buf_add_str(&text, "time limit of ");
    if (!is_shared)
        units_add_duration(&text, a->order.work.work.resources.time_ms);
    buf_printf(&text, " reached; %s", why);
    a->finish_cause = CAUSE_TIMEOUT;
    a->finish_reason = buf_to_arena(&text, a->arena);
    return EV_FAIL;
}

/* The process was at the first member that had not ended: that one is lost, the others are given
 * back.  Files for their next attempts are kept, if possible, before ludwigd is told. */
void flow_recover_bury(struct agent *ag, struct batch *b)
{
    bool is_first = true;

    ring_remove(&b->orphan);
    flow_recover_release(ag, b);
    for (RING_EACH(struct attempt, a, &b->members, mate)) {
        enum attempt_event outcome = is_first ? EV_LOSE : EV_RECALL;

        if (a->phase != PHASE_ORPHANED)
            continue;
        a->finish_reason = !is_first     ? "its process was lost before it came to this job"
                           : a->is_stale ? "the machine was restarted"
                                         : "runner-lost";
        if (!is_first)
            a->started_at = 0;
        else if (b->is_overdue)
            outcome = judge_overdue(a, b->is_shared);
        if (!a->is_stale && !a->user->is_gone)
            flow_post(ag, a, EVENT_KILLED, NULL)->outcome = outcome;
        else
            flow_post(ag, a, is_first ? EVENT_LOSE : EVENT_LEFT_OUT, a->finish_reason);
        is_first = false;
    }
    if (b->is_shared)
        user_add_leftover(b->user, &b->token);
    user_discard_leftovers(b->user);
}

void flow_recover_kill(struct agent *ag, struct batch *b)
{
    (void)ag;
    service_send(&b->user->janitor, ORDER_REAP, &(struct token_entry){ b->token });
}

static void on_orphan_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;

    for (RING_EACH(const struct batch, b, &ag->orphans, orphan)) {
        const struct attempt *first = batch_first(b);
        bool is_dead = (first != NULL && first->is_stale) || b->user->is_gone;

        flow_post_process(ag, b, is_dead ? PROCESS_EV_DEAD : PROCESS_EV_KILL);
    }
    if (ring_is_empty(&ag->orphans))
        return;
    ag->orphan_ms = ag->orphan_ms * 2 < ORPHAN_AT_MOST_MS ? ag->orphan_ms * 2 : ORPHAN_AT_MOST_MS;
    uv_timer_start(timer, on_orphan_timer, ag->orphan_ms, 0);
}

void flow_recover_kill_soon(struct agent *ag, struct batch *b)
{
    ring_add_last(&ag->orphans, &b->orphan);
    ag->orphan_ms = ORPHAN_AT_FIRST_MS;
    uv_timer_start(&ag->orphan_timer, on_orphan_timer, 0, 0);
}

/* ---- attempts of agents that worked for a ludwigd that is gone ---- */

/* An attempt in run/ of another server; its resources count against our slots while it may run. */
struct foreign {
    struct ring ring;
    struct user *user;
    struct token token;
    struct slot_item slot;
    bool is_seen;
    bool is_asked; /* the janitor is asked about it */
};

static void forget_foreign(struct agent *ag, struct foreign *f)
{
    slots_release(ag->slots, &f->slot);
    ring_remove(&f->ring);
    free(f);
}

void flow_recover_free(struct agent *ag)
{
    for (RING_EACH(struct foreign, f, &ag->foreign_attempts, ring))
        forget_foreign(ag, f);
}

static struct foreign *find_foreign(const struct user *u, const struct token *token)
{
    for (RING_EACH(struct foreign, f, &u->agent->foreign_attempts, ring))
        if (f->user == u && token_equal(&f->token, token))
            return f;
    return NULL;
}

/* Of a batch only its process was given resources; its jobs find none in the registry. */
static void take_foreign(struct user *u, const struct note_remains *note)
{
    struct agent *ag = u->agent;
    struct foreign *f = find_foreign(u, &note->token);
    struct token_entry entry = { note->token };
    struct order_settle order = { .tokens = { &entry, 1 } };

    if (!runtime_dir_is_abandoned(ag, note->server_id))
        return;
    u->n_foreign++;
    if (note->place != PLACE_RUN) {
        service_send(&u->publisher, note->place == PLACE_ENDED ? ORDER_PUBLISH : ORDER_DISCARD,
                     &entry);
        return;
    }
    if (f == NULL) {
        f = mem_alloc(sizeof *f);
        f->user = u;
        f->token = note->token;
        slot_item_init(&f->slot);
        ring_add_last(&ag->foreign_attempts, &f->ring);
    }
    f->is_seen = true;
    if (runtime_dir_has_runner(ag, note->server_id)) {
        if (!f->slot.is_running &&
            runtime_dir_find_given(ag, note->server_id, &note->token, &f->slot))
            slots_take(ag->slots, &f->slot);
    } else if (!f->is_asked) {
        f->is_asked = true;
        service_send(&u->janitor, ORDER_SETTLE, &order);
    }
}

static void foreign_settled(struct user *u, const struct note_settled *note)
{
    struct foreign *f = find_foreign(u, &note->token);
    struct token_entry entry = { note->token };

    if (f == NULL || !f->is_asked)
        return;
    f->is_asked = false;
    if (note->place == PLACE_ENDED) {
        service_send(&u->publisher, ORDER_PUBLISH, &entry);
    } else if (note->place == PLACE_RUN) {
        service_send(&u->janitor, ORDER_REAP, &entry);
        service_send(&u->publisher, ORDER_DISCARD, &entry);
    }
}

/* ---- remains on scratch ---- */

static void send_survey(struct user *u)
{
    service_send(&u->janitor, ORDER_SURVEY, &(struct order_nothing){ .all = true });
}

void flow_recover_survey(struct user *u)
{
    u->n_foreign = 0;
    for (RING_EACH(struct foreign, f, &u->agent->foreign_attempts, ring))
        if (f->user == u)
            f->is_seen = f->is_asked = false;
    u->is_surveying = true;
    send_survey(u);
}

static void on_survey_timer(uv_timer_t *timer)
{
    flow_recover_survey(timer->data);
}

/* Takes what the survey found: remains of this server are discarded, after their processes were
 * killed; those of another server are its agent's, or are taken over if no agent works for it. */
static void take_remains(struct user *u, const struct note_remains *note)
{
    struct agent *ag = u->agent;

    if (attempts_find(&ag->attempts, &note->token) != NULL ||
        attempts_find_batch(&ag->attempts, &note->token) != NULL)
        return;
    if (note->server_id == NULL ? note->is_old : strcmp(note->server_id, ag->server_id) == 0) {
        if (note->place == PLACE_RUN)
            service_send(&u->janitor, ORDER_REAP, &(struct token_entry){ note->token });
        user_add_leftover(u, &note->token);
    } else if (note->server_id != NULL) {
        take_foreign(u, note);
    }
}

static void take_surveyed(struct user *u)
{
    u->is_surveying = false;
    u->is_surveyed = true;
    user_discard_leftovers(u);
    for (RING_EACH(struct foreign, f, &u->agent->foreign_attempts, ring))
        if (f->user == u && !f->is_seen)
            forget_foreign(u->agent, f);
    if (u->n_foreign > 0)
        uv_timer_start(&u->survey_timer, on_survey_timer, SURVEY_AGAIN_MS, 0);
}

/* ---- the janitor ---- */

static void take_settled(struct user *u, const struct note_settled *note)
{
    struct agent *ag = u->agent;
    const struct batch *b = attempts_find_batch(&ag->attempts, &note->token);
    struct attempt *a = attempts_find(&ag->attempts, &note->token);

    if (b != NULL && b->phase == PROCESS_SOUGHT && b->user == u)
        flow_post_process(ag, b,
                          note->place == PLACE_NOWHERE ? PROCESS_EV_NOTHING : PROCESS_EV_ORPHANED);
    else if (a != NULL && a->user == u && is_asked(a))
        resolve(ag, a, note);
    else if (a == NULL && b == NULL)
        foreign_settled(u, note);
}

static void on_janitor_timer(uv_timer_t *timer)
{
    struct user *u = timer->data;
    bool has_questions = u->is_surveying;

    for (const struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        has_questions |= is_asked(a) || a->phase == PHASE_ORPHANED || a->phase == PHASE_FINISHING;
    for (RING_EACH(const struct batch, b, &u->agent->attempts.batches, ring))
        has_questions |= b->user == u && b->phase >= PROCESS_SOUGHT;
    if (has_questions)
        uv_timer_start(timer, on_janitor_timer, JANITOR_IDLE_MS, 0);
    else
        service_rest(&u->janitor);
}

/* A new janitor is asked all open questions again. */
static void on_up(struct user *u)
{
    struct agent *ag = u->agent;

    for (struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a)) {
        if (a->batch != NULL && a == batch_first(a->batch))
            flow_recover_ask(ag, a->batch);
        if (a->phase == PHASE_FINISHING)
            flow_recover_finish(a, NULL);
    }
    for (RING_EACH(struct batch, b, &ag->attempts.batches, ring)) {
        if (b->user == u && ring_is_empty(&b->members))
            flow_recover_ask(ag, b);
    }
    for (RING_EACH(struct batch, b, &ag->orphans, orphan))
        if (b->user == u)
            flow_post_process(ag, b, PROCESS_EV_ALIVE);
    if (u->is_surveying)
        send_survey(u);
    uv_timer_start(&u->janitor_timer, on_janitor_timer, JANITOR_IDLE_MS, 0);
}

static bool take_note(struct user *u, int type, const void *body, int64_t re)
{
    const struct note_reaped *reaped = body;
    const struct note_finished *finished = body;
    const struct attempt *a;
    const struct batch *b;

    (void)re;
    switch (type) {
    case NOTE_SETTLED: take_settled(u, body); return true;
    case NOTE_REAPED:
        b = attempts_find_process(&u->agent->attempts, &reaped->token);
        if (b != NULL && b->user == u && b->phase == PROCESS_KILLING)
            flow_post_process(u->agent, b, reaped->left == 0 ? PROCESS_EV_DEAD : PROCESS_EV_ALIVE);
        return true;
    case NOTE_FINISHED:
        a = user_attempt(u, &finished->token);
        if (a != NULL && a->phase == PHASE_FINISHING)
            flow_post(u->agent, a, finished->has_ended ? EVENT_ENDED : EVENT_FINISHED, NULL);
        return true;
    case NOTE_REMAINS: take_remains(u, body); return true;
    case NOTE_SURVEYED: take_surveyed(u); return true;
    default: return false;
    }
}

const struct service_events flow_recover_events = { on_up, take_note };

/* ---- adoption: what an earlier agent left ---- */

static void finish_adoption(struct agent *ag)
{
    ag->is_adopted = true;
    uv_timer_stop(&ag->adopt_timer);
    log_event(LOG_INFO, "adopted", "attempts", "%zu", ag->attempts.n, NULL);
    ag->is_register_due = true;
}

void flow_recover_turn(struct agent *ag)
{
    if (ag->runners.loop == NULL)
        return;
    if (!ag->is_resolving && ag->runners.n_unknown == 0) {
        ag->is_resolving = true;
        for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring))
            if ((a->phase == PHASE_LEFT || a->phase == PHASE_MUTE) && a->batch->runner == NULL &&
                a == batch_first(a->batch))
                flow_post_process(ag, a->batch, PROCESS_EV_MISSED);
        /* Processes whose jobs have all ended are over, too; the survey finds what they left. */
        for (RING_EACH(const struct batch, b, &ag->attempts.batches, ring))
            if (ring_is_empty(&b->members) && b->runner == NULL)
                flow_post_process(ag, b, PROCESS_EV_ENDED);
        for (RING_EACH(struct user, u, &ag->users, ring))
            if (u->state == USER_KNOWN)
                flow_recover_survey(u);
    }
    if (!ag->is_adopted && (ag->is_resolving || ag->is_late) && ring_is_empty(&ag->events) &&
        n_asked(ag) == 0)
        finish_adoption(ag);
}

/* Runners were silent for too long: asks the janitor which of their attempts have ended. */
static void on_adopt_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;

    if (ag->is_resolving || ag->is_late) {
        finish_adoption(ag);
        return;
    }
    ag->is_late = true;
    uv_timer_start(timer, on_adopt_timer, LATE_MAX_MS, 0);
    for (RING_EACH(struct attempt, a, &ag->attempts.all, ring))
        flow_post(ag, a, EVENT_SILENT, NULL);
    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring)) {
        if (a->batch != NULL && a == batch_first(a->batch))
            flow_post_process(ag, a->batch, PROCESS_EV_ASK);
    }
}

void flow_recover_begin(struct agent *ag)
{
    struct err e = { 0 };

    for (RING_EACH(struct user, u, &ag->users, ring))
        user_lookup(u);
    if (ag->changes_uid)
        user_recall_all(ag);
    uv_timer_start(&ag->adopt_timer, on_adopt_timer, MUTE_MAX_MS, 0);
    if (runners_adopt(&ag->runners, &e) < 0)
        log_event(LOG_ERROR, "adopt", "why", "%s", e.text, NULL);
}

/* ---- hellos of runners that were looked for ---- */

/* A runner names an attempt, which may have ended meanwhile.  It is reported as started again, as
 * the agent before this one may have died before it told that. */
static void name_attempt(struct agent *ag, const struct runner *r, const struct batch *b,
                         const struct token *token, int64_t started_at)
{
    const struct attempt *a = attempts_find(&ag->attempts, token);

    if (a == NULL || a->batch != b || !runner_is_of(r, &a->user->owner))
        return;
    flow_post(ag, a, EVENT_NAMED, NULL);
    if (started_at > 0)
        flow_post(ag, a, EVENT_STARTED, NULL)->at = started_at;
}

void flow_recover_hello(struct agent *ag, struct runner *r, const struct note_hello *hello)
{
    struct batch *b = attempts_find_process(&ag->attempts, &hello->token);
    const struct attempt *a = attempts_find(&ag->attempts, &hello->token);
    const struct token_entry *mates = hello->mates.items;

    if (token_is_zero(&hello->token))
        return;
    if (b == NULL || !runner_is_of(r, &b->user->owner) || b->runner != NULL ||
        (!b->is_shared && !attempt_may_run(a))) {
        if (a != NULL && runner_is_of(r, &a->user->owner))
            return;
        /* A job that the registry does not know was never ours, or was settled long ago. */
        log_event(LOG_WARN, "unknown-job", "user", "%s",
                  runner_user(r) == NULL ? "" : runner_user(r), NULL);
        for (size_t i = 0; i < hello->mates.n; i++)
            runner_stop(r, &mates[i].token);
        runner_stop(r, &hello->token);
        return;
    }
    runner_assign(r, b);
    flow_post_process(ag, b, PROCESS_EV_NAMED);
    if (!b->is_shared) {
        name_attempt(ag, r, b, &hello->token, hello->started_at);
    } else {
        for (RING_EACH(const struct attempt, mate, &b->members, mate))
            flow_post(ag, mate, EVENT_UNNAMED, NULL);
        for (size_t i = 0; i < hello->mates.n; i++)
            name_attempt(ag, r, b, &mates[i].token, hello->started_at);
        flow_post_process(ag, b, PROCESS_EV_ASK);
    }
    pilot_end_adopted(ag, b);
}
