/* SPDX-License-Identifier: MIT */
/* server_messages.c - the agent's answers to ludwigd's messages, and its registration */

#include "worker/loop/server_messages.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "worker/flow/disk_room.h"
#include "worker/flow/flow.h"
#include "worker/flow/flow_pack.h"
#include "worker/flow/flow_peek.h"
#include "worker/flow/flow_publish.h"
#include "worker/flow/flow_stage.h"
#include "worker/flow/gpus.h"
#include "worker/flow/pilot_end.h"
#include "common/share/share.h"

enum { SHARE_ANSWER_MAX_MS = 10 * 1000 };

/* ---- welcome ---- */

/* Returns the name by which children open this folder of the drive; projects: "" is all of it. */
static char *name_share(const struct agent *ag, bool is_here, const char *projects)
{
    const char *mount = ag->conf.share == NULL ? ag->told_share : ag->conf.share;

    if (!is_here)
        return share_sftp_name(ag->told_server, projects, ag->told_share);
    return projects[0] == '\0' ? mem_strdup(mount) : path_join(mount, projects);
}

/* Notes whether the share is here.  The answer may come after the connection was lost. */
static void take_share(struct agent *ag, bool is_here)
{
    char *name = name_share(ag, is_here, ag->told_projects);
    struct err e = { 0 };

    if (ag->share == NULL || strcmp(ag->share, name) != 0) {
        if (share_is_mounted(name))
            log_event(LOG_INFO, "share", "mounted", "%s", name, NULL);
        else
            log_event(LOG_INFO, "share", "over-sftp", "%s", ag->told_share, "jobs", "%s",
                      "of our own account only, as it is not mounted here", NULL);
    }
    free(ag->share);
    ag->share = name;
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

static void on_welcome(struct agent *ag, const struct msg_welcome *w)
{
    struct child child = { .args = { CHILD_SHARE, w->share, w->server_id } };

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
    /* A share that our configuration names counts as mounted, even if it is away now. */
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

static struct order order_of(const struct agent *ag, const struct assignment *is,
                             const struct sweep_work *work)
{
    return (struct order){ .assignment = *is,
                           .work = *work,
                           .server_id = ag->server_id,
                           .share = ag->share,
                           .built = env_recipe_tree(&work->work),
                           /* ludwigd knows us as another user, and we do not change uid */
                           .for_another = !ag->changes_uid && ag->told_user[0] != '\0' &&
                                          work->user != NULL &&
                                          strcmp(ag->told_user, work->user) != 0 };
}

/* Records the assignments of a hand in the registry; if one cannot be recorded, none is taken. */
static int record_hand(struct agent *ag, const struct msg_hand *hand, struct err *e)
{
    const struct assignment *all = hand->assignments.items;
    int rc = 0;

    if (registry_flush(ag->registry, e) < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < hand->assignments.n; i++) {
        const struct sweep_work *work = find_sweep(hand, all[i].sweep);
        struct order order;

        if (work == NULL) {
            rc = err_set(e, ERR_PROTOCOL, "a hand without the work of sweep %lld",
                         (long long)all[i].sweep);
        } else if (attempts_find(&ag->attempts, &all[i].token) == NULL) {
            order = order_of(ag, &all[i], work);
            rc = registry_assigned(ag->registry, &order, false, e);
        }
    }
    if (rc == 0)
        rc = registry_flush(ag->registry, e);
    if (rc < 0)
        registry_drop(ag->registry);
    return rc;
}

static void on_hand(struct agent *ag, const struct msg_hand *hand, int64_t seq, struct err *e)
{
    const struct assignment *all = hand->assignments.items;
    struct msg_took took = { hand->hand };

    if (record_hand(ag, hand, e) < 0)
        return;
    server_link_send(ag->link, MSG_TOOK, seq, &took);
    server_link_settled(ag->link);
    for (size_t i = 0; i < hand->assignments.n; i++) {
        /* Each attempt has a copy of its order, as attempts of a hand end at different times. */
        struct order order = order_of(ag, &all[i], find_sweep(hand, all[i].sweep));
        struct arena *arena = arena_create();
        const struct order *copy = schema_copy(&order_schema, &order, arena);
        const struct attempt *a =
            attempts_add(&ag->attempts, arena, copy, user_of(ag, order.work.user), PHASE_NEW);

        if (a != NULL)
            flow_post(ag, a, EVENT_HANDED, NULL);
    }
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

static void on_stop_early(struct agent *ag, const struct msg_stop_early *order)
{
    const struct attempt *a = attempts_find(&ag->attempts, &order->token);

    if (a != NULL)
        flow_post(ag, a, EVENT_STOP_EARLY, order->reason);
}

static void on_advise(struct agent *ag, const struct msg_advise *m)
{
    const struct attempt *a = attempts_find(&ag->attempts, &m->token);

    if (a != NULL && a->batch != NULL && a->batch->runner != NULL)
        runner_advise(a->batch->runner, &m->token, m->text);
}

static void on_registered(struct agent *ag, const struct msg_registered *registered)
{
    server_link_keep_alive(ag->link, (uint64_t)proto_alive_every_ms(registered->lease_ms));
    if (!ag->is_registered) {
        outbox_connected(&ag->outbox);
        measures_connected(&ag->measures);
        for (RING_EACH(struct user, u, &ag->users, ring))
            flow_stage_tell_cached(u);
    }
    ag->is_registered = true;
    ag->may_start = true;
    post_each(ag, &registered->stop, EVENT_STOP);
    pilot_end_registered(ag);
}

static void on_message(struct agent *ag, const struct envelope *m, struct arena *a, struct err *e)
{
    const void *body = message_take_body(&proto, m, a, e);

    if (body == NULL)
        return;
    if (!ag->is_adopted && (m->type == MSG_HAND || m->type == MSG_EXPECT || m->type == MSG_PACK)) {
        err_set(e, ERR_PROTOCOL, "%s before this worker has registered",
                proto.messages[m->type].name);
        return;
    }
    switch (m->type) {
    case MSG_OK:
        pilot_end_answered(ag, m->re);
        measures_answered(&ag->measures, m->re, true);
        break;
    case MSG_ERROR:
        if (!ag->is_registered)
            err_set(e, ERR_DENIED, "refused: %s", ((const struct msg_error *)body)->text);
        else
            outbox_refused(&ag->outbox, m->re);
        measures_answered(&ag->measures, m->re, false);
        break;
    case MSG_REGISTERED: on_registered(ag, body); break;
    case MSG_HAND: on_hand(ag, body, m->seq, e); break;
    case MSG_VERDICTS:
        outbox_answered(&ag->outbox, m->re, body, &ag->attempts);
        server_link_settled(ag->link);
        break;
    case MSG_STOP_ATTEMPTS:
        post_each(ag, &((const struct msg_stop_attempts *)body)->tokens, EVENT_STOP);
        break;
    case MSG_RECALL: post_each(ag, &((const struct msg_recall *)body)->tokens, EVENT_RECALL); break;
    case MSG_STOP_EARLY: on_stop_early(ag, body); break;
    case MSG_ADVISE: on_advise(ag, body); break;
    case MSG_FOLLOW_LOG: flow_publish_follow(ag, body); break;
    case MSG_READ_SAVED: flow_peek_begin(ag, body); break;
    case MSG_EXPECT: flow_stage_expect(ag, body); break;
    case MSG_PACK: flow_pack_begin(ag, body); break;
    case MSG_LEAVE: /* the jobs of a pilot cannot outlive it */
        log_event(LOG_INFO, "leave", "reason", "%s", ((const struct msg_leave *)body)->reason,
                  NULL);
        if (pilot_end_is_pilot(ag))
            pilot_end_when_done(ag, "ludwigd said so");
        else
            agent_stop(ag, AGENT_LEAVES);
        break;
    case MSG_RETIRE: pilot_end_when_done(ag, "ludwigd said so"); break;
    case MSG_ASK_LOAD: /* only on demand, so that a worker without jobs has nothing to do */
        gpus_tell_load(ag);
        break;
    default: err_set(e, ERR_PROTOCOL, "unexpected %s", proto.messages[m->type].name);
    }
}

static void on_down(struct agent *ag)
{
    ag->is_greeted = ag->is_welcome = ag->is_registered = false;
    ag->may_start = true;
    outbox_disconnected(&ag->outbox);
    measures_disconnected(&ag->measures);
    flow_publish_follow_none(ag);
    flow_peek_forget(ag);
}

/* ---- reports ---- */

static int64_t send_measured(void *context, const struct msg_measured *m)
{
    const struct agent *ag = context;

    return server_link_send(ag->link, MSG_MEASURED, 0, m);
}

static int64_t send_reports(void *context, const struct msg_report *m)
{
    struct agent *ag = context;
    struct msg_report said = *m;

    said.said_at = units_now_ms();
    return server_link_send(ag->link, MSG_REPORT, 0, &said);
}

static void on_settled(void *context, struct attempt *a, enum verdict verdict)
{
    bool is_withdrawn =
        verdict == VERDICT_WITHDRAW && event_is_publication((enum attempt_event)a->telling.event);

    flow_post(context, a, is_withdrawn ? EVENT_WITHDRAW : EVENT_SETTLED, NULL);
}

static void on_unwanted(void *context, struct attempt *a)
{
    flow_post(context, a, EVENT_STOP, NULL);
}

void server_messages_init(struct agent *ag)
{
    static const struct outbox_events reports = { send_reports, on_settled, on_unwanted };
    static const struct server_link_events events = { on_welcome, on_message, on_down,
                                                      pilot_end_denied };
    struct server_link_self self = { .host = ag->node.host,
                                     .pilot = { .token = ag->pilot_end->pilot.token,
                                                .slurm_job = ag->slurm.id,
                                                .ends_at_ms = ag->pilot_end->pilot.ends_at_ms } };

    child_question_init(&ag->share_question, &ag->loop, NOTE_SHARE, SHARE_ANSWER_MAX_MS, on_share,
                        ag);
    outbox_init(&ag->outbox, &ag->loop, &reports, ag);
    measures_init(&ag->measures, &ag->loop, send_measured, ag);
    ag->link =
        server_link_create(&ag->loop, ag->conf.servers, ag->conf.n_servers, &self, &events, ag);
}

/* ---- registration: this worker, and the attempts that it has ---- */

void server_messages_register(struct agent *ag)
{
    struct msg_register m = { .worker = ag->worker, .incarnation = ag->incarnation };
    bool is_closed = false; /* no job of any user can be started here */
    struct refusal *refused = NULL;
    size_t n_held = 0, n_refused = 0, capacity = 0;
    size_t n_unused = 0;
    const char **models;
    struct held *held;
    char **unused;

    if (!ag->is_register_due || !ag->is_welcome || !ag->is_adopted)
        return;
    ag->is_register_due = false;
    held = mem_alloc(ag->attempts.n * sizeof *held);
    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring)) {
        enum attempt_state state = attempt_state_of(a);

        if (state != ATTEMPT_NO)
            held[n_held++] = (struct held){ a->token, (int)state, a->started_at };
    }
    /* Users whose jobs cannot run here for now. */
    for (RING_EACH(const struct user, u, &ag->users, ring)) {
        const char *why = u->state == USER_REFUSED ? u->why : u->pause_why;

        is_closed |= u->name == NULL && flow_stage_is_long_paused(u);
        if (n_refused == REFUSED_MAX || (u->state != USER_REFUSED && !flow_stage_is_long_paused(u)))
            continue;
        mem_grow((void **)&refused, &capacity, n_refused, sizeof *refused);
        refused[n_refused++] = (struct refusal){ u->name == NULL ? "" : u->name, why };
    }
    models = mem_alloc(ag->gpus.n * sizeof *models);
    unused = mem_alloc(ag->gpus.n * sizeof *unused);
    for (size_t i = 0; i < ag->gpus.n; i++) {
        const struct gpu_info *g = &ag->gpus.gpus[i];

        models[i] = g->model;
        if (g->trouble != NULL)
            unused[n_unused++] = mem_printf("GPU %s: %s", g->id, g->trouble);
    }
    m.boot_id = ag->node.boot_id;
    m.node = ag->conf.name != NULL    ? ag->conf.name
             : ag->slurm.node != NULL ? ag->slurm.node
                                      : ag->node.host;
    m.kind = ag->conf.kind;
    m.cpus_milli = is_closed ? 0 : ag->node.cpus_milli;
    m.gpus = is_closed ? 0 : (int64_t)slots_gpus_offered(ag->slots);
    m.memory_bytes = ag->node.memory_bytes;
    m.own_jobs_only = !share_is_mounted(ag->share);
    m.lacks_groups = ag->lacks_groups;
    m.reads_saved = true;
    m.disk_bytes = ag->told_disk_bytes = disk_room_total(ag);
    m.is_one_account = !ag->changes_uid;
    m.attempts = (struct list){ held, n_held };
    m.refused = (struct list){ refused, n_refused };
    m.said_at = units_now_ms();
    m.gpu_models = (struct list){ models, ag->gpus.n };
    m.gpus_unused = (struct list){ unused, n_unused };
    server_link_send(ag->link, MSG_REGISTER, 0, &m);
    while (n_unused > 0)
        free(unused[--n_unused]);
    free(unused);
    free(models);
    free(refused);
    free(held);
}
