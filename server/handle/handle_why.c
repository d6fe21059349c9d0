/* SPDX-License-Identifier: MIT */
/* handle_why.c - why a job is where it is: what keeps it from running, or what became of it */
#include <inttypes.h>

#include "server/conn/handler.h"
#include "server/handle/why.h"
#include "server/queue/rows.h"
#include "server/share/project.h"

static int say_all(struct why *to, const struct msg_ask_why *req, const struct job_info *job,
                   bool is_held, struct err *e)
{
    const char *node = job->node != NULL ? job->node : "its node";

    switch (job->state) {
    case JOB_QUEUED:
        if (job->node != NULL)
            why_say(to, "it was given to %s and waits for a slot there", node);
        return job->node != NULL ? 0 : why_queued(to, req->sweep, req->job, is_held, e);
    case JOB_STAGING: why_say(to, "its data are being brought to %s", node); break;
    case JOB_RUNNING: why_say(to, "it runs on %s", node); break;
    case JOB_PUBLISHING:
        why_say(to, "it has ended on %s; results are being published", node);
        break;
    case JOB_FAILED:
        why_say(to, "it failed: %s", job->reason != NULL ? job->reason : "no reason is known");
        if (job->run_path != NULL)
            why_say(to, "what it left: %s", job->run_path);
        why_say(to, "ludwig retry %s runs it again", job->job);
        break;
    case JOB_CANCELLED:
        why_say(to, "it was cancelled; ludwig retry %s runs it again", job->job);
        break;
    default:
        why_say(to, "it is %s; its files: %s", job_state_names[job->state], job->run_path);
        break;
    }
    return 0;
}

static bool is_waiting(enum job_state state)
{
    return state == JOB_QUEUED || state == JOB_STAGING;
}

/* The job's row: 1, 0, -1. */
static int find_job(struct server *sv, const struct msg_ask_why *req, int64_t *id, bool *is_held,
                    struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_BY_NO, "ii", req->sweep, req->job);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        *id = stmt_int(s, 0);
        *is_held = stmt_int(s, 2) != 0;
    }
    stmt_end(s);
    return rc == 0 ? err_set(e, ERR_NOT_FOUND, "there is no job %" PRId64 ".%" PRId64, req->sweep,
                             req->job)
                   : rc;
}

int handle_ask_why(struct server *sv, struct ask *ask, const void *request, void *reply,
                   struct err *e)
{
    const struct msg_ask_why *req = request;
    struct msg_why *rep = reply;
    struct why to = why_begin(sv, ask->arena);
    struct sweep_info info;
    size_t size_bytes = 0;
    bool is_held = false;
    int64_t owner, job = 0;
    int rc = row_sweep(sv, req->sweep, ask->arena, &info, &owner, e);

    if (rc == 0)
        rc = project_may_see(sv, ask, owner, &info, e);
    if (rc != 0)
        return rc;
    if (find_job(sv, req, &job, &is_held, e) < 0 ||
        row_job(sv, info.project, job, ask->arena, &rep->job, &size_bytes, e) < 0 ||
        say_all(&to, req, &rep->job, is_held, e) < 0)
        return -1;
    if (is_waiting((enum job_state)rep->job.state) && why_last_try(&to, job, e) < 0)
        return -1;
    rep->lines = (struct list){ to.lines, to.n };
    return 0;
}
