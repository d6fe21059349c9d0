/* SPDX-License-Identifier: MIT */
/* server_messages.c - what ludwigd says, and what is answered */

#include "worker/loop/server_messages.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "worker/flow/flow.h"
#include "worker/flow/flow_pack.h"
#include "worker/flow/flow_publish.h"
#include "worker/flow/flow_stage.h"
#include "worker/flow/pilot_end.h"
#include "common/share/share.h"

enum { ALIVE_EVERY_MAX_MS = 60 * 1000, SHARE_ANSWER_MAX_MS = 10 * 1000 };

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
static void take_share(struct agent *ag, bool is_here)
{
    struct err e = { 0 };

    keep_share(ag, name_share(ag, is_here, ag->told_projects));
    free(ag->drive);
    ag->drive = name_share(ag, is_here, "");
    if (!ag->is_greeted)
        return;
    ag->is_welcome = ag->is_register_due = true;
    if (ag->server_id == NULL && flow_meet_server(ag, ag->told_server, &e) < 0)
        agent_fail(ag, &e);
}

static void on_share(void *context, const void *body, const char *why)
{
    const struct note_share *note = body;

    (void)why;
    take_share(context, note != NULL && note->is_here);
}

static void replace(char **text, const char *by)
{
    free(*text);
    *text = mem_strdup(by == NULL ? "" : by);
}

static void on_welcome(void *context, const struct msg_welcome *w)
{
    struct agent *ag = context;
    struct child child = { .args = { CHILD_SHARE, w->share, w->server_id },
                           .stdout_fd = -1,
                           .lock_fd = -1,
                           .listen_fd = -1 };

    if (ag->server_id != NULL && strcmp(ag->server_id, w->server_id) != 0) {
        log_event(LOG_WARN, "another-server", "was", "%s", ag->server_id, "is", "%s", w->server_id,
                  NULL);
        replace(&ag->server_id, w->server_id);
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
        take_share(ag, true);
    else
        child_question_ask(&ag->share_question, &child);
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

/* A copy of its own for each: a hand's attempts end at very different times. */
static void admit_hand(struct agent *ag, const struct msg_hand *hand)
{
    const struct assignment *all = hand->assignments.items;

    for (size_t i = 0; i < hand->assignments.n; i++) {
        struct order order = order_of(ag, &all[i], find_sweep(hand, all[i].sweep));
        struct arena *arena = arena_create();
        const struct order *copy = schema_copy(&order_schema, &order, arena);
        const struct attempt *a =
            attempts_add(&ag->attempts, arena, copy, user_of(ag, order.work.user), PHASE_NEW);

        if (a != NULL)
            flow_post(ag, a, EVENT_HANDED, NULL);
    }
}

static void on_hand(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    const struct msg_hand *hand = body;
    struct msg_took took = { hand->hand };

    if (!ag->is_adopted)
        err_set(e, ERR_PROTOCOL, "a hand before this worker has registered");
    if (e->kind != ERR_NONE || record_hand(ag, hand, e) < 0)
        return;
    server_link_send(ag->link, MSG_TOOK, m->seq, &took);
    server_link_settled(ag->link);
    admit_hand(ag, hand);
}

/* ---- other messages ---- */

static void post_each(struct agent *ag, const struct list *tokens, enum event event)
{
    const struct token_entry *entries = tokens->items;

    for (size_t i = 0; i < tokens->n; i++) {
        const struct attempt *a = attempts_find(&ag->attempts, &entries[i].token);

        if (a != NULL)
            flow_post(ag, a, event, NULL);
    }
}

/* It hears of us often enough that a few words may be late, seldom enough to cost nothing. */
static void on_registered(struct agent *ag, const void *body, const struct envelope *m,
                          struct err *e)
{
    const struct msg_registered *registered = body;
    int64_t every_ms = registered->lease_ms / 4;

    (void)m, (void)e;
    if (every_ms > ALIVE_EVERY_MAX_MS)
        every_ms = ALIVE_EVERY_MAX_MS;
    server_link_keep_alive(ag->link, every_ms > 0 ? (uint64_t)every_ms : 1);
    if (!ag->is_registered) {
        outbox_connected(&ag->outbox);
        flow_stage_tell_all_cached(ag);
    }
    ag->is_registered = true;
    ag->may_start = true;
    post_each(ag, &registered->stop, EVENT_STOP);
    pilot_end_registered(ag);
}

static void on_error(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    const struct msg_error *error = body;

    if (!ag->is_registered)
        err_set(e, ERR_DENIED, "refused: %s", error->text);
    else
        outbox_refused(&ag->outbox, m->re);
}

static void on_verdicts(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    (void)e;
    outbox_answered(&ag->outbox, m->re, body, &ag->attempts);
    server_link_settled(ag->link);
}

static void on_stop_attempts(struct agent *ag, const void *body, const struct envelope *m,
                             struct err *e)
{
    const struct msg_stop_attempts *stop = body;

    (void)m, (void)e;
    post_each(ag, &stop->tokens, EVENT_STOP);
}

static void on_recall(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    const struct msg_recall *recall = body;

    (void)m, (void)e;
    post_each(ag, &recall->tokens, EVENT_RECALL);
}

static void on_follow_log(struct agent *ag, const void *body, const struct envelope *m,
                          struct err *e)
{
    (void)m, (void)e;
    flow_publish_follow(ag, body);
}

static void on_expect(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    (void)m, (void)e;
    flow_stage_expect(ag, body);
}

static void on_pack(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    (void)m, (void)e;
    flow_pack_begin(ag, body);
}

/* The jobs of a pilot cannot outlive it. */
static void on_leave(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    const struct msg_leave *leave = body;

    (void)m, (void)e;
    log_event(LOG_INFO, "leave", "reason", "%s", leave->reason, NULL);
    if (pilot_end_is_pilot(ag))
        pilot_end_when_done(ag, "ludwigd said so");
    else
        agent_stop(ag, AGENT_LEAVES);
}

static void on_retire(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    (void)body, (void)m, (void)e;
    pilot_end_when_done(ag, "ludwigd said so");
}

/* Said when somebody looks, so that a worker without jobs has nothing to do. */
static void on_ask_load(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    struct msg_load load_now = { SCHEMA_NONE };
    double load;

    (void)body, (void)m, (void)e;
    if (getloadavg(&load, 1) == 1 && load >= 0)
        load_now.load_milli = (int64_t)(load * 1000);
    server_link_send(ag->link, MSG_LOAD, 0, &load_now);
}

static void on_ok(struct agent *ag, const void *body, const struct envelope *m, struct err *e)
{
    (void)body, (void)e;
    pilot_end_answered(ag, m->re);
}

/* NULL: ludwigd must not say that. */
static void (*const handlers[MSG_COUNT])(struct agent *ag, const void *body,
                                         const struct envelope *m, struct err *e) = {
    [MSG_OK] = on_ok,
    [MSG_ERROR] = on_error,
    [MSG_REGISTERED] = on_registered,
    [MSG_HAND] = on_hand,
    [MSG_VERDICTS] = on_verdicts,
    [MSG_STOP_ATTEMPTS] = on_stop_attempts,
    [MSG_RECALL] = on_recall,
    [MSG_FOLLOW_LOG] = on_follow_log,
    [MSG_LEAVE] = on_leave,
    [MSG_RETIRE] = on_retire,
    [MSG_ASK_LOAD] = on_ask_load,
    [MSG_EXPECT] = on_expect,
    [MSG_PACK] = on_pack,
};

static void on_message(void *context, const struct envelope *m, struct arena *a, struct err *e)
{
    const void *body;

    if (handlers[m->type] == NULL) {
        err_set(e, ERR_PROTOCOL, "unexpected %s", proto.messages[m->type].name);
        return;
    }
    body = message_take_body(&proto, m, a, e);
    if (body != NULL)
        handlers[m->type](context, body, m, e);
}

static void on_down(void *context)
{
    struct agent *ag = context;

    ag->is_greeted = ag->is_welcome = ag->is_registered = false;
    ag->may_start = true;
    outbox_disconnected(&ag->outbox);
    flow_publish_follow_none(ag);
}

static void on_denied(void *context, const struct err *why)
{
    pilot_end_denied(context, why);
}

/* ---- reports ---- */

static int64_t send_reports(void *context, const struct msg_report *m)
{
    struct agent *ag = context;
    struct msg_report said = *m;

    said.said_at = units_now_ms();
    return server_link_send(ag->link, MSG_REPORT, 0, &said);
}

static void on_settled(void *context, struct attempt *a, enum verdict verdict)
{
    bool is_withdrawn = verdict == VERDICT_WITHDRAW && a->telling.event == EV_DONE;

    flow_post(context, a, is_withdrawn ? EVENT_WITHDRAW : EVENT_SETTLED, NULL);
}

static void on_unwanted(void *context, struct attempt *a)
{
    flow_post(context, a, EVENT_STOP, NULL);
}

void server_messages_init(struct agent *ag)
{
    static const struct outbox_events reports = { send_reports, on_settled, on_unwanted };
    static const struct server_link_events events = { on_welcome, on_message, on_down, on_denied };
    struct server_link_self self = { .host = ag->node.host,
                                     .pilot = { .token = ag->retire->pilot.token,
                                                .slurm_job = ag->slurm.id,
                                                .ends_at_ms = ag->retire->pilot.ends_at_ms } };

    child_question_init(&ag->share_question, &ag->loop, NOTE_SHARE, SHARE_ANSWER_MAX_MS, on_share,
                        ag);
    outbox_init(&ag->outbox, &ag->loop, &reports, ag);
    ag->link =
        server_link_create(&ag->loop, ag->conf.servers, ag->conf.n_servers, &self, &events, ag);
}
