/* SPDX-License-Identifier: MIT */
/* foreign_attempts.c - what agents left that worked for a ludwigd that is gone: its results are published */

#include <stdlib.h>

#include "worker/flow/flow.h"

/* While one of their jobs runs, or a result of theirs is not published yet. */
enum { LOOK_AGAIN_MS = 10 * 1000 };

/* An attempt in run/.  What it was given counts against our slots while its runner may live. */
struct stranger {
    struct ring ring;
    struct user *user;
    struct token token;
    struct slot_item slot;
    bool is_seen;
    bool is_asked; /* what became of it */
};

static struct stranger *stranger_at(struct ring *at)
{
    return RING_ITEM(at, struct stranger, ring);
}

static void forget(struct agent *ag, struct stranger *s)
{
    slots_release(ag->slots, &s->slot);
    ring_remove(&s->ring);
    free(s);
}

void foreign_attempts_free(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->strangers, at, after))
        forget(ag, stranger_at(at));
}

/* ---- one of them ---- */

static struct stranger *find(const struct user *u, const struct token *token)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->strangers, at, after))
        if (stranger_at(at)->user == u && token_equal(&stranger_at(at)->token, token))
            return stranger_at(at);
    return NULL;
}

static struct stranger *find_or_add(struct user *u, const struct token *token)
{
    struct stranger *s = find(u, token);

    if (s == NULL) {
        s = mem_alloc(sizeof *s);
        s->user = u;
        s->token = *token;
        slot_item_init(&s->slot);
        ring_add_last(&u->agent->strangers, &s->ring);
    }
    return s;
}

static void publish(struct user *u, const struct token *token)
{
    struct order_publish order = { *token };

    service_send(&u->publisher, ORDER_PUBLISH, &order);
}

static void discard(struct user *u, const struct token *token)
{
    struct order_discard order = { *token };

    service_send(&u->publisher, ORDER_DISCARD, &order);
}

/* The jobs of a batch run in its process, and only that was given something. */
static void count(struct stranger *s, const char *server_id)
{
    struct agent *ag = s->user->agent;

    if (!s->slot.is_running && runtime_dir_find_given(ag, server_id, &s->token, &s->slot))
        slots_take(ag->slots, &s->slot);
}

static void ask(struct user *u, const struct token *token)
{
    struct token_entry entry = { *token };
    struct order_settle order = { .tokens = { &entry, 1 } };

    service_send(&u->clerk, ORDER_SETTLE, &order);
}

static void look_at_run(struct user *u, const struct token *token, const char *server_id)
{
    struct stranger *s = find_or_add(u, token);

    s->is_seen = true;
    if (runtime_dir_has_runner(u->agent, server_id)) {
        count(s, server_id);
    } else if (!s->is_asked) {
        s->is_asked = true;
        ask(u, token);
    }
}

void foreign_attempts_take(struct user *u, const struct note_remains *note)
{
    if (!runtime_dir_is_abandoned(u->agent, note->server_id))
        return;
    u->n_strangers++;
    if (note->place == PLACE_RUN)
        look_at_run(u, &note->token, note->server_id);
    else if (note->place == PLACE_ENDED)
        publish(u, &note->token);
    else
        discard(u, &note->token);
}

bool foreign_attempts_settled(struct user *u, const struct note_settled *note)
{
    struct stranger *s = find(u, &note->token);
    struct order_reap order = { note->token };

    if (s == NULL || !s->is_asked)
        return false;
    s->is_asked = false;
    if (note->place == PLACE_ENDED) {
        publish(u, &note->token);
    } else if (note->place == PLACE_RUN) {
        service_send(&u->clerk, ORDER_REAP, &order);
        discard(u, &note->token);
    }
    return true;
}

/* ---- all of them ---- */

static void on_timer(uv_timer_t *timer)
{
    flow_survey(timer->data);
}

void foreign_attempts_begin(struct user *u)
{
    struct ring *at, *after;

    u->n_strangers = 0;
    for (RING_EACH(&u->agent->strangers, at, after))
        if (stranger_at(at)->user == u)
            stranger_at(at)->is_seen = stranger_at(at)->is_asked = false;
}

void foreign_attempts_end(struct user *u)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->strangers, at, after))
        if (stranger_at(at)->user == u && !stranger_at(at)->is_seen)
            forget(u->agent, stranger_at(at));
    if (u->n_strangers > 0)
        uv_timer_start(&u->survey_timer, on_timer, LOOK_AGAIN_MS, 0);
}
