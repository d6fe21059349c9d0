/* SPDX-License-Identifier: MIT */
/* server_messages.c - what ludwigd says, and what is answered */

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/path.h"
#include "worker/agent/pilot_end.h"
#include "worker/flow/flow.h"
#include "common/share/share.h"

/* ---- welcome ---- */

/* projects: where they lie below the drive, or "" for all of it. */
static char *name_share(const struct agent *ag, bool is_here, const char *projects)
{
    const char *mount = ag->conf.share == NULL ? ag->told_share : ag->conf.share;

    if (!is_here)
        return share_sftp_name(ag->told_server, projects, ag->told_share);
    return projects[0] == '\0' ? mem_strdup(mount) : path_join(mount, projects);
}

static void keep_share(struct agent *ag, char *name)
{
    if (ag->share == NULL || strcmp(ag->share, name) != 0) {
        if (share_is_mounted(name))
            log_event(LOG_INFO, "share", "mounted", "%s", name, NULL);
        else
            log_event(LOG_INFO, "share", "over-sftp", "%s", ag->told_share, "jobs", "%s",
                      "of our own account only, as it is not mounted here", NULL);
    }
    free(ag->share);
    ag->share = name;
}

/* Also what is late: a connection may have been lost meanwhile. */
void server_messages_share(void *context, bool is_here)
{
    struct agent *ag = context;
    struct err e = { 0 };

    keep_share(ag, name_share(ag, is_here, ag->told_projects));
    free(ag->drive);
    ag->drive = name_share(ag, is_here, "");
    if (!ag->is_greeted)
        return;
    ag->is_welcome = true;
    if (ag->server_id != NULL)
        agent_register(ag);
    else if (runtime_dir_settle(ag, ag->told_server, &e) < 0) /* which leads to it, too */
        agent_fail(ag, &e);
}

static void replace(char **text, const char *by)
{
    free(*text);
    *text = mem_strdup(by == NULL ? "" : by);
}

static void on_welcome(void *context, const struct msg_welcome *w)
{
    struct agent *ag = context;

    if (ag->server_id != NULL && strcmp(ag->server_id, w->server_id) != 0) {
        log_event(LOG_WARN, "another-server", "was", "%s", ag->server_id, "is", "%s", w->server_id,
                  NULL);
        free(ag->server_id);
        ag->server_id = mem_strdup(w->server_id);
        agent_stop(ag, AGENT_STARTS_ANEW);
        return;
    }
    ag->conf.server = *server_link_server(ag->link);
    replace(&ag->told_user, w->user);
    replace(&ag->told_server, w->server_id);
    replace(&ag->told_share, w->share);
    replace(&ag->told_projects, w->projects);
    ag->is_greeted = true;
    /* One of our own configuration may be away, but not forgotten. */
    if (ag->conf.share != NULL || ag->conf.server.kind == ENDPOINT_UNIX)
        server_messages_share(ag, true);
    else
        share_probe_start(&ag->share_ask, w->share, w->server_id);
}

/* ---- registered ---- */

static void each_token(struct agent *ag, const struct list *tokens,
                       void (*act)(struct agent *ag, struct attempt *a))
{
    const struct token_entry *entries = tokens->items;

    for (size_t i = 0; i < tokens->n; i++) {
        struct attempt *a = attempts_find(&ag->attempts, &entries[i].token);

        if (a != NULL)
            act(ag, a);
    }
}

static void recall(struct agent *ag, struct attempt *a)
{
    flow_recall(ag, a, NULL);
}

enum { ALIVE_EVERY_MAX_MS = 60 * 1000 };

/* Often enough that a few may be late, seldom enough to cost nothing. */
static uint64_t alive_every_ms(int64_t lease_ms)
{
    int64_t every_ms = lease_ms / 4;

    if (every_ms > ALIVE_EVERY_MAX_MS)
        every_ms = ALIVE_EVERY_MAX_MS;
    return every_ms > 0 ? (uint64_t)every_ms : 1;
}

static void on_registered(struct agent *ag, const struct msg_registered *m)
{
    server_link_keep_alive(ag->link, alive_every_ms(m->lease_ms));
    if (!ag->is_registered) {
        outbox_connected(&ag->outbox);
        flow_tell_all_cached(ag);
    }
    ag->is_registered = true;
    ag->may_start = true;
    each_token(ag, &m->stop, flow_stop);
    pilot_end_registered(ag);
    flow_fill(ag);
}

/* ---- hand ---- */

static const struct sweep_work *find_sweep(const struct msg_hand *hand, int64_t sweep)
{
    const struct sweep_work *works = hand->sweeps.items;

    for (size_t i = 0; i < hand->sweeps.n; i++)
        if (works[i].sweep == sweep)
            return &works[i];
    return NULL;
}

/* A copy of its own for each: a hand's attempts end at very different times. */
static struct attempt *keep(struct agent *ag, const struct order *order, struct buf *bytes)
{
    struct arena *arena = arena_create();
    struct order copy;

    buf_clear(bytes);
    schema_encode(&order_schema, order, bytes);
    if (schema_read(&order_schema, buf_bytes(bytes), arena, &copy, NULL) < 0) {
        arena_destroy(arena);
        return NULL;
    }
    return attempts_add(&ag->attempts, arena, &copy, user_of(ag, copy.work.user));
}

/* We are not its owner, and do not become it. */
static bool is_for_another(const struct agent *ag, const struct sweep_work *work)
{
    return !ag->changes_uid && ag->told_user[0] != '\0' && work->user != NULL &&
           strcmp(ag->told_user, work->user) != 0;
}

static struct order order_of(const struct agent *ag, const struct assignment *is,
                             const struct sweep_work *work)
{
    return (struct order){ .assignment = *is,
                           .work = *work,
                           .server_id = ag->server_id,
                           .share = ag->share,
                           .for_another = is_for_another(ag, work) };
}

static int take_assignment(struct agent *ag, const struct msg_hand *hand,
                           const struct assignment *is, struct err *e)
{
    const struct sweep_work *work = find_sweep(hand, is->sweep);
    struct order order;

    if (work == NULL)
        return err_set(e, ERR_PROTOCOL, "a hand without the work of sweep %lld",
                       (long long)is->sweep);
    if (attempts_find(&ag->attempts, &is->token) != NULL)
        return 0;
    order = order_of(ag, is, work);
    return registry_assigned(ag->registry, &order, false, e);
}

/* Recorded first; what cannot be recorded is not taken. */
static int record_hand(struct agent *ag, const struct msg_hand *hand, struct err *e)
{
    const struct assignment *all = hand->assignments.items;
    int rc = 0;

    if (registry_flush(ag->registry, e) < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < hand->assignments.n; i++)
        rc = take_assignment(ag, hand, &all[i], e);
    if (rc == 0)
        rc = registry_flush(ag->registry, e);
    if (rc < 0)
        registry_drop(ag->registry);
    return rc;
}

static void admit_hand(struct agent *ag, const struct msg_hand *hand)
{
    const struct assignment *all = hand->assignments.items;
    struct buf bytes = { 0 };

    for (size_t i = 0; i < hand->assignments.n; i++) {
        const struct sweep_work *work = find_sweep(hand, all[i].sweep);
        struct order order = order_of(ag, &all[i], work);
        struct attempt *a;

        if (attempts_find(&ag->attempts, &all[i].token) != NULL)
            continue;
        a = keep(ag, &order, &bytes);
        if (a != NULL)
            flow_admit(ag, a);
    }
    buf_free(&bytes);
}

static int on_hand(struct agent *ag, int64_t re, const struct msg_hand *hand, struct err *e)
{
    struct msg_took took = { hand->hand };

    if (!ag->is_adopted)
        return err_set(e, ERR_PROTOCOL, "a hand before this worker has registered");
    if (record_hand(ag, hand, e) < 0)
        return -1;
    server_link_send(ag->link, MSG_TOOK, re, &took);
    server_link_settled(ag->link);
    admit_hand(ag, hand);
    flow_fill(ag);
    return 0;
}

/* ---- load ---- */

/* Said when somebody looks, so that a worker without jobs has nothing to do. */
static void tell_load(struct agent *ag)
{
    struct msg_load m = { SCHEMA_NONE };
    double load;

    if (getloadavg(&load, 1) == 1 && load >= 0)
        m.load_milli = (int64_t)(load * 1000);
    server_link_send(ag->link, MSG_LOAD, 0, &m);
}

/* ---- any message ---- */

static void on_error(struct agent *ag, int64_t re, const struct msg_error *m, struct err *e)
{
    if (!ag->is_registered)
        err_set(e, ERR_DENIED, "refused: %s", m->text);
    else
        outbox_refused(&ag->outbox, re);
}

union body {
    struct msg_error error;
    struct msg_registered registered;
    struct msg_hand hand;
    struct msg_verdicts verdicts;
    struct msg_stop_attempts stop;
    struct msg_recall recall;
    struct msg_follow_log follow_log;
    struct msg_expect expect;
    struct msg_pack pack;
    struct msg_leave leave;
    struct msg_retire retire;
};

/* The jobs of a pilot cannot outlive it. */
static void on_leave(struct agent *ag, const struct msg_leave *m)
{
    log_event(LOG_INFO, "leave", "reason", "%s", m->reason, NULL);
    if (pilot_end_is_pilot(ag))
        pilot_end_when_done(ag, "ludwigd said so");
    else
        agent_stop(ag, AGENT_LEAVES);
}

static void act(struct agent *ag, const struct envelope *m, const union body *body, struct err *e)
{
    switch (m->type) {
    case MSG_ERROR: on_error(ag, m->re, &body->error, e); break;
    case MSG_REGISTERED: on_registered(ag, &body->registered); break;
    case MSG_HAND: on_hand(ag, m->seq, &body->hand, e); break;
    case MSG_VERDICTS:
        outbox_answered(&ag->outbox, m->re, &body->verdicts, &ag->attempts);
        server_link_settled(ag->link);
        break;
    case MSG_STOP_ATTEMPTS:
        each_token(ag, &body->stop.tokens, flow_stop);
        flow_fill(ag);
        break;
    case MSG_RECALL:
        each_token(ag, &body->recall.tokens, recall);
        flow_fill(ag);
        break;
    case MSG_FOLLOW_LOG: flow_follow_log(ag, &body->follow_log); break;
    case MSG_LEAVE: on_leave(ag, &body->leave); break;
    case MSG_RETIRE: pilot_end_when_done(ag, "ludwigd said so"); break;
    case MSG_ASK_LOAD: tell_load(ag); break;
    case MSG_EXPECT: flow_prefetch(ag, &body->expect); break;
    case MSG_PACK: flow_pack(ag, &body->pack); break;
    default: break;
    }
}

static bool is_expected(int type)
{
    return type == MSG_ERROR || type == MSG_REGISTERED || type == MSG_HAND ||
           type == MSG_VERDICTS || type == MSG_STOP_ATTEMPTS || type == MSG_RECALL ||
           type == MSG_FOLLOW_LOG || type == MSG_LEAVE || type == MSG_ASK_LOAD ||
           type == MSG_EXPECT || type == MSG_PACK || type == MSG_RETIRE;
}

static void on_message(void *context, const struct envelope *m, struct arena *a, struct err *e)
{
    union body body;

    if (m->type == MSG_OK) {
        pilot_end_answered(context, m->re);
        return;
    }
    if (!is_expected(m->type)) {
        err_set(e, ERR_PROTOCOL, "unexpected %s", proto.messages[m->type].name);
        return;
    }
    if (message_body(&proto, m, a, &body, e) == 0)
        act(context, m, &body, e);
}

static void on_down(void *context)
{
    struct agent *ag = context;

    ag->is_greeted = ag->is_welcome = ag->is_registered = false;
    ag->may_start = true;
    outbox_disconnected(&ag->outbox);
    flow_follow_none(ag);
    if (ag->is_adopted)
        flow_fill(ag);
}

static void on_denied(void *context, const struct err *why)
{
    pilot_end_denied(context, why);
}

const struct server_link_events serve_events = { on_welcome, on_message, on_down, on_denied };
