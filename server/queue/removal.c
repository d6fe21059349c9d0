/* SPDX-License-Identifier: MIT */
/* removal.c - removes jobs and sweeps from the database for good */
#include "server/queue/removal.h"

#include "server/base/turn.h"
#include "server/queue/submit_cleanup.h"
#include "server/queue/subscribe.h"

struct doomed {
    int64_t sweep, no;
    enum job_state state;
    bool has_live;
};

static int doomed_load(struct server *sv, int64_t id, struct doomed *job, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_REMOVAL_LOOK, "i", id);
    int rc = stmt_step(s, e);

    if (rc == 1)
        *job = (struct doomed){ stmt_int(s, 0), stmt_int(s, 1),
                                (enum job_state)stmt_enum(s, 2, JOB_STATE_COUNT),
                                stmt_int(s, 3) != 0 };
    stmt_end(s);
    return rc == 1 ? 0 : rc < 0 ? -1 : err_set(e, ERR_INTERNAL, "it is not in the database");
}

int job_remove(struct server *sv, int64_t id, unsigned how, struct tally *t, struct err *e)
{
    static const enum sql_name parts[] = { SQL_REMOVE_METRICS,  SQL_REMOVE_MEASURED,
                                           SQL_REMOVE_ATTEMPTS, SQL_REMOVE_FROM_OTHERS,
                                           SQL_REMOVE_REUSED,   SQL_REMOVE_JOB };
    struct doomed job = { 0 };

    if (doomed_load(sv, id, &job, e) < 0)
        return -1;
    if (!job_is_ended(job.state))
        return err_set(e, ERR_USAGE, "it is %s: `ludwig cancel %lld.%lld` ends it",
                       job_state_names[job.state], (long long)job.sweep, (long long)job.no);
    if (job.has_live)
        return err_set(e, ERR_USAGE, "it is being ended on its node: try again in a moment");
    if (how == REMOVE_LOOK)
        return 1;
    if (how == REMOVE_BEGIN)
        return db_run(sv->db, e, SQL_JOB_GONE, "i", id) < 0 ? -1 : 1;
    if (tally_turn_to(sv, t, job.sweep, e) < 0)
        return -1;
    t->by_state[job.state]--;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (db_run(sv->db, e, parts[i], "i", id) < 0)
            return -1;
    return 1;
}

int sweep_remove(struct server *sv, int64_t sweep, struct err *e)
{
    static const enum sql_name parts[] = { SQL_CLEAR_CONFIGS,  SQL_CLEAR_REUSED,
                                           SQL_CLEAR_DATASETS, SQL_CLEAR_POOLS,
                                           SQL_CLEAR_HOLDS,    SQL_CLEAR_STOP_EVENTS };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int n = db_run(sv->db, e, parts[i], "ii", sweep, (int64_t)CLEAR_AT_ONCE);

        if (n < 0 || n == CLEAR_AT_ONCE)
            return n < 0 ? -1 : 1;
    }
    if (db_run(sv->db, e, SQL_REMOVE_SWEEP, "iii", sweep, turn_now_ms(sv), turn_next_version(sv)) <
        0)
        return -1;
    subscribe_touch(sv, sweep);
    return 0;
}

int removal_shrink(struct server *sv, int64_t unused, struct err *e)
{
    int64_t n = 0, left = 0;

    (void)unused;
    if (db_get(sv->db, e, SQL_FREE_PAGES, ">i", &n) < 0 ||
        (n > 0 && db_run(sv->db, e, SQL_SHRINK, "") < 0) ||
        db_get(sv->db, e, SQL_FREE_PAGES, ">i", &left) < 0)
        return -1;
    /* Free pages stay in a database that could not be made shrinkable. */
    return left > 0 && left < n;
}
