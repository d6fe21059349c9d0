/* SPDX-License-Identifier: MIT */
/* submit_cleanup.c - removes sweeps whose submit was not completed */
#include "server/queue/submit_cleanup.h"

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/queue/removal.h"

int submit_clear(struct server *sv, int64_t sweep, struct err *e)
{
    static const enum sql_name parts[] = { SQL_CLEAR_JOBS, SQL_CLEAR_CONFIGS, SQL_CLEAR_REUSED,
                                           SQL_CLEAR_DATASETS, SQL_CLEAR_POOLS };
    int n = db_run(sv->db, e, SQL_CLEAR_CLOSE, "i", sweep);

    if (n <= 0)
        return n;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        /* Jobs of other sweeps that the guard holds may follow the jobs to be removed. */
        if (parts[i] == SQL_CLEAR_JOBS &&
            db_run(sv->db, e, SQL_CLEAR_FOLLOWED, "ii", sweep, (int64_t)CLEAR_AT_ONCE) < 0)
            return -1;
        n = db_run(sv->db, e, parts[i], "ii", sweep, (int64_t)CLEAR_AT_ONCE);
        if (n < 0 || n == CLEAR_AT_ONCE)
            return n < 0 ? -1 : 1;
    }
    turn_add_work(sv->turn, removal_shrink, 0);
    log_event(LOG_INFO, "submit-abandoned", "sweep", "%lld", (long long)sweep, NULL);
    return db_run(sv->db, e, SQL_CLEAR_SWEEP, "i", sweep) < 0 ? -1 : 0;
}

static int clear_found(struct server *sv, struct stmt *found, struct err *e)
{
    int rc;

    while ((rc = stmt_step(found, e)) == 1)
        turn_add_work(sv->turn, submit_clear, stmt_int(found, 0));
    return rc;
}

int submit_clear_of_conn(struct server *sv, int64_t conn, struct err *e)
{
    return clear_found(sv, db_ask(sv->db, SQL_OPEN_OF_CONN, "i", conn), e);
}

int submit_clear_all(struct server *sv, struct err *e)
{
    return clear_found(sv, db_ask(sv->db, SQL_OPEN_ALL, ""), e);
}
