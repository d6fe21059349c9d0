/* SPDX-License-Identifier: MIT */
/* handle_project.c - the results that a submit would find in a project */

#include <stdlib.h>

#include "common/data/msgpack.h"
#include "common/data/param_digest.h"
#include "server/base/turn.h"
#include "server/conn/handler.h"
#include "server/handle/reused.h"
#include "server/queue/param_index.h"
#include "server/share/project.h"

/* Places in ask->progress, which outlives the turn: configurations looked at; jobs found done; jobs
 * found queued or running, the first and the last sweep that has such a job; and the replication
 * of the current configuration that is looked at next. */
enum { SEEN, REUSED, FOLLOWED, FIRST, LAST, NEXT_REP, REPS_AT_ONCE = 256 };

struct look {
    struct server *sv;
    struct ask *ask;
    const struct msg_preview *req;
    struct arena *arena; /* holds one configuration */
    const char *name;    /* the project's */
    int64_t project;
    struct reused_jobs *reused;
    int64_t index;   /* the number of the next configuration in the request */
    bool has_looked; /* this turn has looked at replications or a configuration */
};

/* Adds to l->reused the done jobs that make the replications from .. to - 1 of a configuration
 * unnecessary, up to REUSED_TOLD_MAX in all. */
static int name_reused(struct look *l, int64_t param, int64_t from, int64_t to,
                       const struct digest *work, struct err *e)
{
    int64_t job = 0;

    for (int64_t rep = from; rep < to && l->reused->list.n < REUSED_TOLD_MAX; rep++) {
        int rc = reused_find(l->sv, param, rep, work, &job, e);

        if (rc < 0 || (rc == 1 && reused_add(l->sv, l->reused, l->name, job, e) < 0))
            return -1;
    }
    return 0;
}

static int look_at(void *context, struct bytes item, struct err *e)
{
    struct look *l = context;
    /* NULL: a job that was done with any work counts. */
    const struct digest *work = l->req->reuse == REUSE_ALL ? &l->req->work : NULL;
    struct digest digest;
    struct value config;
    int64_t *progress = l->ask->progress;
    int64_t param = 0, n = 0, followed = 0, first = 0, last = 0;
    int rc;

    if (l->index >= CONFIGS_PER_CHUNK_MAX)
        return err_set(e, ERR_PROTOCOL, "more than %d configurations", CONFIGS_PER_CHUNK_MAX);
    if (l->index++ < progress[SEEN])
        return 0;
    /* Each turn looks at something, so that the request ends some time. */
    if (l->has_looked && turn_is_full(l->sv))
        return 1;
    arena_reset(l->arena);
    if (mp_read(item.data, item.n, l->arena, &config, e) < 0)
        return -1;
    if (config.type != VALUE_MAP || item.n > PARAM2VAL_MAX_BYTES)
        return err_set(e, ERR_PROTOCOL, "a configuration must be a map of at most %d bytes",
                       PARAM2VAL_MAX_BYTES);
    param_digest(&config, &digest);
    rc = param_index_find(l->sv, l->project, &digest, &param, e);
    while (rc == 1 && progress[NEXT_REP] < l->req->reps) {
        int64_t from = progress[NEXT_REP], to = from + REPS_AT_ONCE;

        if (l->has_looked && turn_is_full(l->sv))
            return 1;
        l->has_looked = true;
        if (to > l->req->reps)
            to = l->req->reps;
        if (db_get(l->sv->db, e, SQL_DONE_REPS, "iiid>i", param, from, to, work, &n) < 0 ||
            db_get(l->sv->db, e, SQL_LIVE_REPS, "iiid>iii", param, from, to, work, &followed,
                   &first, &last) < 0 ||
            (n > 0 && l->req->tells_reused && name_reused(l, param, from, to, work, e) < 0))
            return -1;
        progress[NEXT_REP] = to;
        progress[REUSED] += n;
        progress[FOLLOWED] += followed;
        if (followed > 0 && (progress[FIRST] == 0 || first < progress[FIRST]))
            progress[FIRST] = first;
        if (last > progress[LAST])
            progress[LAST] = last;
    }
    l->has_looked = true;
    progress[SEEN] = l->index;
    progress[NEXT_REP] = 0;
    return rc < 0 ? -1 : 0;
}

int handle_preview(struct server *sv, struct ask *ask, const void *request, void *reply,
                   struct err *e)
{
    struct look l = { .sv = sv, .ask = ask, .req = request, .reused = ask->kept };
    struct msg_previewed *rep = reply;
    const char *owner = NULL;
    struct project_names names;
    int64_t owner_uid;
    uid_t uid = 0;
    int rc = project_check_name(l.req->project, e);

    if (rc < 0 || project_choose(sv, ask->conn, l.req->project, ask->arena, &names, e) < 0)
        return -1;
    if (l.reused == NULL) {
        ask->kept = l.reused = arena_alloc(ask->arena, sizeof *l.reused);
        *l.reused = (struct reused_jobs){ .arena = ask->arena };
    }
    rep->project = l.name = names.name;
    rc = db_get(sv->db, e, SQL_PROJECT_GET, "s>iis", names.name, &l.project, &owner_uid, ask->arena,
                &rep->owner);
    rep->is_own = rc != 1 || owner_uid == (int64_t)ask->conn->uid;
    if (rc == 0) {
        /* A project without a row may have a folder, made by an earlier ludwigd or by hand. */
        rc = project_folder_owner(sv, ask, &names, &rep->project, &uid, &owner, e);
        if (rc == 0 && owner != NULL) {
            rep->owner = owner;
            rep->is_own = uid == ask->conn->uid;
        }
        return rc;
    }
    /* Only its owner and admins are told what a project holds. */
    if (rc < 0 || (!rep->is_own && !ask->conn->is_admin))
        return rc < 0 ? -1 : 0;
    if (db_get(sv->db, e, SQL_PROJECT_RAN, "i>iiii", l.project, &rep->ran_jobs, &rep->ran_ms,
               &rep->max_rss_bytes, &rep->longest_ms) < 0 ||
        db_get(sv->db, e, SQL_PROJECT_UNFINISHED, "i>i", l.project, &rep->unfinished) < 0)
        return -1;
    rc = 0;
    if (l.req->reuse != REUSE_NONE) { /* 1 when the turn was over before the end */
        l.arena = arena_create();
        rc = mp_each_item(l.req->configs.data, l.req->configs.n, look_at, &l, e);
        arena_destroy(l.arena);
    }
    rep->reused = ask->progress[REUSED];
    rep->jobs = l.reused->list;
    rep->followed = ask->progress[FOLLOWED];
    rep->followed_first = ask->progress[FIRST];
    rep->followed_last = ask->progress[LAST];
    return rc;
}
