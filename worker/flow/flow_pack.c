/* SPDX-License-Identifier: MIT */
/* flow_pack.c - packs data that lie on the share already for their owner, when ludwigd says so */

#include "worker/flow/flow_pack.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/share/share.h"

/* A packing that ludwigd has ordered and that is not over. */
struct packing {
    struct ring ring;
    struct token token;
    struct user *user;
    char *project, *path, *share, *drive;
    bool only_here;
};

static struct packing *find_packing(const struct agent *ag, const struct token *token)
{
    for (RING_EACH(struct packing, p, &ag->packings, ring)) {
        if (token_equal(&p->token, token))
            return p;
    }
    return NULL;
}

static void forget_packing(struct packing *p)
{
    ring_remove(&p->ring);
    free(p->project);
    free(p->path);
    free(p->share);
    free(p->drive);
    free(p);
}

bool flow_pack_is_busy(const struct user *u)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a packing that is freed left the ring */
    for (RING_EACH(struct packing, p, &u->agent->packings, ring))
        if (p->user == u) /* NOLINT */
            return true;
    return false;
}

/* Without a connection nothing is told: ludwigd will order the packing again. */
static void tell_packed(struct agent *ag, const struct msg_packed *m)
{
    if (ag->is_registered)
        server_link_send(ag->link, MSG_PACKED, 0, m);
}

static void tell_failed(struct agent *ag, const struct token *token, const char *why)
{
    tell_packed(ag, &(struct msg_packed){ .token = *token, .is_over = true, .error = why });
}

/* ---- orders ---- */

static void order_packing(const struct packing *p)
{
    struct order_pack x = { p->token, p->share, p->drive, p->project, p->path, p->only_here };

    service_send(&p->user->packer, ORDER_PACK, &x);
}

void flow_pack_begin(struct agent *ag, const struct msg_pack *m)
{
    struct user *u = user_of(ag, m->user);
    struct packing *p;

    if (find_packing(ag, &m->token) != NULL)
        return;
    user_lookup(u);
    if (!share_is_mounted(ag->share) || u->state == USER_REFUSED) {
        tell_failed(ag, &m->token, u->state == USER_REFUSED ? u->why : "no share is mounted here");
        return;
    }
    p = mem_alloc(sizeof *p);
    *p = (struct packing){ .token = m->token,
                           .user = u,
                           .project = mem_strdup(m->project),
                           .path = mem_strdup(m->path),
                           .share = mem_strdup(ag->share),
                           .drive = mem_strdup(ag->drive),
                           .only_here = m->only_here };
    ring_add_last(&ag->packings, &p->ring);
    order_packing(p);
}

void flow_pack_refuse(struct user *u)
{
    for (RING_EACH(struct packing, p, &u->agent->packings, ring)) {
        if (p->user != u)
            continue;
        tell_failed(u->agent, &p->token, u->why);
        forget_packing(p);
    }
}

void flow_pack_free(struct agent *ag)
{
    for (RING_EACH(struct packing, p, &ag->packings, ring))
        forget_packing(p);
}

/* ---- answers ---- */

static bool take_note(struct user *u, int type, const void *body, int64_t re)
{
    const struct note_packed *note = body;
    struct packing *p;

    (void)re;
    if (type != NOTE_PACKED)
        return false;
    p = find_packing(u->agent, &note->token);
    if (p == NULL || p->user != u)
        return true;
    tell_packed(u->agent, &(struct msg_packed){ note->token, note->is_over, note->files,
                                                note->bytes, note->set, note->error });
    if (!note->is_over)
        return true;
    log_event(note->error == NULL ? LOG_INFO : LOG_WARN, "packed", "project", "%s", p->project,
              "path", "%s", p->path, "why", "%s", note->error == NULL ? "" : note->error, NULL);
    forget_packing(p);
    if (!flow_pack_is_busy(u)) {
        service_rest(&u->packer);
        user_may_rest(u);
    }
    return true;
}

static void on_up(struct user *u)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a packing that is freed left the ring */
    for (RING_EACH(struct packing, p, &u->agent->packings, ring))
        if (p->user == u) /* NOLINT */
            order_packing(p);
}

const struct service_events flow_pack_events = { on_up, take_note };
