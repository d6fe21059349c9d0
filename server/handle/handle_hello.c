/* SPDX-License-Identifier: MIT */
/* handle_hello.c - the first message: who speaks which version */
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/path.h"
#include "server/base/server.h"
#include "server/conn/handler.h"
#include "server/queue/pilot.h"
#include "server/share/projectdir.h"

static const struct {
    const char *program;
    unsigned role;
} roles[] = { { "ludwig", FROM_CLIENT }, { "ludwig-worker", FROM_WORKER } };

static unsigned role_of(const char *program)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(roles[i].program, program) == 0)
            return roles[i].role;
    return 0;
}

static void welcome(const struct server *sv, const struct conn *c, struct msg_welcome *rep)
{
    *rep = (struct msg_welcome){ .version = PROTO_VERSION,
                                 .server_id = sv->server_id,
                                 .server_version = LUDWIG_VERSION,
                                 .user = c->known_as != NULL ? c->known_as : c->user,
                                 .uid = (int64_t)c->uid,
                                 .admin = c->is_admin,
                                 .share = sv->conf.share,
                                 .projects = sv->conf.projects,
                                 .makes_projects = projectdir_is_made_here(c->uid) };
}

/* A label is shown and picked by, as a name is, and so must look like one; it grants nothing. */
static int take_label(struct conn *c, const char *label, struct err *e)
{
    if (label == NULL || c->known_as != NULL)
        return 0;
    if (!path_is_portable_name(label))
        return err_set(e, ERR_USAGE, "'%s' cannot be a user's label (config.yaml: user)", label);
    c->known_as = mem_printf("%s/%s", c->user, label);
    return 0;
}

/* What it changes is in memory alone: should the commit fail, the peer is told so, and may go. */
int handle_hello(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_hello *req = request;
    struct conn *c = ask->conn;

    if (req->version != PROTO_VERSION)
        return err_set(e, ERR_PROTOCOL,
                       "this ludwigd (%s) speaks version %d of the protocol, and your %s version"
                       " %" PRId64 "; install the same release of both",
                       LUDWIG_VERSION, PROTO_VERSION, req->program, req->version);
    c->role = role_of(req->program);
    if (c->role == 0)
        return err_set(e, ERR_PROTOCOL, "'%s' is no program that ludwigd talks to", req->program);
    if (take_label(c, req->user_label, e) < 0 || pilot_pair(sv, c, &req->pilot, ask->arena, e) < 0)
        return -1;
    c->greeted = true;
    chan_limit_frames(c->chan, c->role == FROM_WORKER ? FRAME_MAX_BYTES : CONN_CLIENT_MAX);
    welcome(sv, c, reply);
    log_event(LOG_DEBUG, "hello", "conn", "%lld", (long long)c->number, "program", "%s",
              req->program, "user", "%s", c->user, "label", "%s", req->user_label, NULL);
    return 0;
}
