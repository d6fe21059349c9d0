/* SPDX-License-Identifier: MIT */
/* handle_pilot.c - a pilot's worker comes, and goes */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/handler.h"
#include "server/pilot/pilots.h"
#include "server/queue/attempts.h"
#include "server/queue/pilot.h"
#include "server/queue/pilot_rows.h"

/* ---- coming ---- */

/* "17_3": 3; "17": 0. */
static int64_t task_of(const char *slurm_job)
{
    const char *task = slurm_job == NULL ? NULL : strchr(slurm_job, '_');

    return task == NULL ? 0 : strtoll(task + 1, NULL, 10);
}

int pilot_pair(struct server *sv, struct conn *c, const struct pilot_claim *claim, struct arena *a,
               struct err *e)
{
    struct pilot_row row;
    int rc;

    if (token_is_zero(&claim->token))
        return 0;
    rc = pilot_row_by_token(sv, &claim->token, task_of(claim->slurm_job), a, &row, e);
    if (rc < 0)
        return -1;
    if (rc == 0 || row.uid != c->uid)
        return err_set(e, ERR_DENIED, "no pilot is waited for that Slurm's job %s could be",
                       claim->slurm_job == NULL ? "" : claim->slurm_job);
    c->pilot = row.id;
    c->pool = row.pool;
    c->takes_one = conf_has_one_job_each(&sv->conf, &row.spec);
    c->pilot_time_ms = row.time_ms;
    c->pilot_ends_at_ms = claim->ends_at_ms;
    if (row.slurm_id == 0 && claim->slurm_job != NULL)
        c->pilot_job = strtoll(claim->slurm_job, NULL, 10);
    return 0;
}

/* How much time it has, and until when, where one of them does not say. */
static void take_time(const struct server *sv, struct conn *c, const struct pilot_row *row)
{
    int64_t started_at = row->started_at > 0 ? row->started_at : turn_now_ms(sv);

    if (c->pilot_time_ms == 0)
        c->pilot_time_ms = pilots_default_time_ms(sv, row->user, &row->spec);
    if (c->pilot_ends_at_ms == 0 && c->pilot_time_ms > 0)
        c->pilot_ends_at_ms = started_at + c->pilot_time_ms;
    if (c->pilot_time_ms == 0 && c->pilot_ends_at_ms > started_at)
        c->pilot_time_ms = c->pilot_ends_at_ms - started_at;
}

int pilot_registered(struct server *sv, struct conn *c, int64_t worker, struct err *e)
{
    struct arena *a;
    struct pilot_row row;
    int rc;

    if (c->pilot == 0)
        return 0;
    if (db_run(sv->db, e, SQL_PILOT_PAIR, "iiiii", c->pilot, worker, (int64_t)PILOT_RUNS,
               c->pilot_job, turn_now_ms(sv)) < 0)
        return -1;
    a = arena_create();
    rc = pilot_row_of_worker(sv, worker, a, &row, e);
    if (rc == 1)
        take_time(sv, c, &row);
    if (rc == 1)
        rc = db_run(sv->db, e, SQL_WORKER_PARTITION, "is", worker, row.spec.partition);
    arena_destroy(a);
    pilots_try_anew(sv, c->pool);
    return rc < 0 ? -1 : 0;
}

/* ---- going ---- */

/* What it had and did not report goes to others at once. */
static int end_pilot(struct server *sv, const struct conn *c, const char *why, struct err *e)
{
    if (pilot_row_end(sv, c->pilot, why, e) < 0)
        return -1;
    return attempts_lose_all(sv, c->worker, CAUSE_PREEMPTED, why, e);
}

/* That it takes nothing more is in memory alone: a worker that connects anew says it again. */
int handle_retiring(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_retiring *req = request;
    struct conn *c = ask->conn;
    const char *why = req->reason != NULL ? req->reason : "it has left";

    (void)reply;
    if (c->worker == 0)
        return err_set(e, ERR_PROTOCOL, "register first");
    c->is_retiring = true;
    c->gives_back = req->gives_back;
    log_event(LOG_INFO, "retiring", "worker", "%lld", (long long)c->worker, "why", "%s", why,
              "is_over", "%s", req->is_over ? "yes" : "no", NULL);
    turn_want_schedule(sv);
    return req->is_over && c->pilot != 0 ? end_pilot(sv, c, why, e) : 0;
}

void pilot_left(struct server *sv, const struct conn *c)
{
    if (c->pilot != 0 && c->worker != 0)
        pilots_lost_sight(sv);
}
