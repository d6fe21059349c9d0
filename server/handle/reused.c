/* SPDX-License-Identifier: MIT */
/* reused.c - jobs that are done already and need not run again */
#include <string.h>

#include "common/proto/layout.h"
#include "common/proto/proto.h"
#include "server/handle/reused.h"

int reused_find(struct server *sv, int64_t param, int64_t rep, const struct digest *work,
                int64_t *job, struct err *e)
{
    return work != NULL ? db_get(sv->db, e, SQL_DONE_SAME_WORK, "iid>i", param, rep, work, job)
                        : db_get(sv->db, e, SQL_DONE_ANY_WORK, "ii>i", param, rep, job);
}

int reused_add(struct server *sv, struct reused_jobs *jobs, const char *project, int64_t job,
               struct err *e)
{
    struct reused_job *items;
    struct buf path = { 0 }, param = { 0 };
    const char *name;
    int64_t no, state, attempt_state, attempt;
    int rc = db_get(sv->db, e, SQL_REUSED_RUN, "i>isiii", job, &no, jobs->arena, &name, &state,
                    &attempt_state, &attempt);

    /* A job that was stopped and published nothing has no files that could be gone. */
    if (rc <= 0 || (state == JOB_STOPPED && attempt_state != ATTEMPT_STOPPED))
        return rc < 0 ? -1 : 0;
    if (jobs->list.n == jobs->capacity) {
        jobs->capacity = jobs->capacity == 0 ? 64 : 2 * jobs->capacity;
        items = arena_alloc(jobs->arena, jobs->capacity * sizeof *items);
        if (jobs->list.n > 0)
            memcpy(items, jobs->list.items, jobs->list.n * sizeof *items);
        jobs->list.items = items;
    }
    items = jobs->list.items;
    layout_param_name(&param, no);
    if (state == JOB_STOPPED)
        layout_stopped(&path, project, buf_text(&param), name, attempt);
    else
        layout_run(&path, project, buf_text(&param), name);
    items[jobs->list.n++] = (struct reused_job){ job, buf_to_arena(&path, jobs->arena) };
    buf_free(&param);
    return 0;
}
