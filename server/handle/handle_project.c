/* SPDX-License-Identifier: MIT */
/* handle_project.c - whose a project is, and what a submit would find in it */

#include <stdlib.h>

#include "common/data/msgpack.h"
#include "common/data/param_digest.h"
#include "server/base/turn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/pilot/pilots.h"
#include "server/queue/param_index.h"
#include "server/share/project.h"

int handle_open_project(struct server *sv, struct ask *ask, const void *request, void *reply,
                        struct err *e)
{
    const struct msg_open_project *req = request;
    struct msg_project_open *rep = reply;

    if (project_check_name(req->project, e) < 0 || may_submit(&sv->conf, ask->conn, e) < 0)
        return -1;
    if (req->wants_pilots)
        pilots_expect(sv);
    return project_prepare(sv, ask, req->project, req->private_project, &rep->folder, e);
}

/* Where it stands, in ask->progress: configurations looked at, jobs found done. */
enum { SEEN, REUSED };

struct look {
    struct server *sv;
    struct ask *ask;
    const struct msg_preview *req;
    struct arena *arena; /* of one configuration */
    int64_t project;
    int64_t index;    /* of the configuration that comes next */
    int64_t n_looked; /* in this turn */
};

/* The project's row: 1, 0 when there is none, -1. */
static int project_look(struct server *sv, struct ask *ask, const char *name, int64_t *project,
                        struct msg_previewed *rep, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PROJECT_GET, "s", name);
    int rc = stmt_step(s, e);

    rep->is_own = true;
    if (rc == 1) {
        *project = stmt_int(s, 0);
        rep->is_own = stmt_int(s, 1) == (int64_t)ask->conn->uid;
        rep->owner = arena_strdup(ask->arena, stmt_text(s, 2));
    }
    stmt_end(s);
    return rc;
}

/* One without a row may have a folder, of an earlier ludwigd's or made by hand. */
static int folder_look(struct server *sv, struct ask *ask, const char *name,
                       struct msg_previewed *rep, struct err *e)
{
    const char *owner = NULL;
    uid_t uid = 0;
    int rc =
        project_check_name(name, e) < 0 ? -1 : project_folder_owner(sv, ask, name, &uid, &owner, e);

    if (rc != 0 || owner == NULL)
        return rc;
    rep->owner = owner;
    rep->is_own = uid == ask->conn->uid;
    return 0;
}

static int ran_look(struct server *sv, int64_t project, struct msg_previewed *rep, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PROJECT_RAN, "i", project);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        rep->ran_jobs = stmt_int(s, 0);
        rep->ran_ms = stmt_int(s, 1);
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static int count_done(struct look *l, int64_t param, struct err *e)
{
    const struct msg_preview *req = l->req;
    struct db *db = l->sv->db;
    int64_t n = 0;
    int rc = req->reuse == REUSE_ALL
                 ? db_get_int(db, e, &n, SQL_DONE_REPS, "iid", param, req->reps, &req->work)
                 : db_get_int(db, e, &n, SQL_DONE_REPS, "iis", param, req->reps, (char *)NULL);

    l->ask->progress[REUSED] += n;
    return rc < 0 ? -1 : 0;
}

static int look_at(void *context, struct bytes item, struct err *e)
{
    struct look *l = context;
    struct digest digest;
    struct value config;
    int64_t param = 0;
    int rc;

    if (l->index >= CONFIGS_PER_CHUNK_MAX)
        return err_set(e, ERR_PROTOCOL, "more than %d configurations", CONFIGS_PER_CHUNK_MAX);
    if (l->index++ < l->ask->progress[SEEN])
        return 0;
    /* Always one, so that each turn comes further. */
    if (l->n_looked++ > 0 && turn_is_full(l->sv))
        return 1;
    l->ask->progress[SEEN] = l->index;
    arena_reset(l->arena);
    if (mp_read(item.data, item.n, l->arena, &config, e) < 0)
        return -1;
    if (config.type != VALUE_MAP || item.n > PARAM2VAL_MAX_BYTES)
        return err_set(e, ERR_PROTOCOL, "a configuration must be a map of at most %d bytes",
                       PARAM2VAL_MAX_BYTES);
    param_digest(&config, &digest);
    rc = params_find(l->sv, l->project, &digest, &param, e);
    return rc <= 0 ? rc : count_done(l, param, e);
}

/* 1 when the turn was over before the end. */
static int configs_look(struct look *l, struct err *e)
{
    int rc;

    l->arena = arena_create();
    rc = mp_each_item(l->req->configs.data, l->req->configs.n, look_at, l, e);
    arena_destroy(l->arena);
    return rc;
}

int handle_preview(struct server *sv, struct ask *ask, const void *request, void *reply,
                   struct err *e)
{
    struct look l = { .sv = sv, .ask = ask, .req = request };
    struct msg_previewed *rep = reply;
    int rc = project_look(sv, ask, l.req->project, &l.project, rep, e);

    if (rc == 0)
        return folder_look(sv, ask, l.req->project, rep, e);
    /* What another's project holds is not told. */
    if (rc < 0 || (!rep->is_own && !ask->conn->is_admin))
        return rc < 0 ? -1 : 0;
    if (ran_look(sv, l.project, rep, e) < 0)
        return -1;
    rc = l.req->reuse == REUSE_NONE ? 0 : configs_look(&l, e);
    rep->reused = ask->progress[REUSED];
    return rc;
}
