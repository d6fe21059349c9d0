/* SPDX-License-Identifier: MIT */
/*
 * sql_query.h - statements that only look
 */
#ifndef LUDWIG_SERVER_SQL_QUERY_H
#define LUDWIG_SERVER_SQL_QUERY_H

/* as info_sweep_row reads them */
#define SWEEP_COLUMNS                                                                             \
    "s.id, p.name, s.name, s.user, s.state, s.priority, s.configs, s.reps, s.reused, s.n_queued," \
    " s.n_staging, s.n_running, s.n_publishing, s.n_done, s.n_failed, s.n_cancelled,"             \
    " s.submitted_at, s.ended_at, s.uid FROM sweep s JOIN project p ON p.id = s.project"

#define SQL_QUERY(X)                                                                               \
    X(SQL_SWEEP_OWNER, "SELECT uid FROM sweep WHERE id = ? AND state > 0")                         \
    X(SQL_SWEEP_INFO, "SELECT " SWEEP_COLUMNS " WHERE s.id = ? AND s.state > 0")                   \
    X(SQL_SWEEP_PAGE, "SELECT " SWEEP_COLUMNS " WHERE s.id < ? AND s.state > 0"                    \
                      " ORDER BY s.id DESC LIMIT ?")                                               \
    X(SQL_JOB_NEXT, "SELECT id, no FROM job WHERE sweep = ? AND no BETWEEN ? AND ?"                \
                    " ORDER BY no LIMIT 1")                                                        \
    X(SQL_JOB_PAGE, "SELECT id, no, state FROM job WHERE sweep = ? AND no > ? AND no <= ?"         \
                    " ORDER BY no LIMIT ?")                                                        \
    X(SQL_JOB_INFO,                                                                                \
      "SELECT j.sweep, j.no, q.no, j.name, j.rep, j.state, j.reason, j.queued_at, j.ended_at,"     \
      " q.value, a.no, a.state, a.exit_code, a.signal, a.reason, a.started_at, w.node"             \
      " FROM job j JOIN param q ON q.id = j.param LEFT JOIN attempt a ON a.id = j.attempt"         \
      " LEFT JOIN worker w ON w.id = a.worker WHERE j.id = ?")                                     \
    X(SQL_JOB_RESULT, "SELECT j.sweep, j.no, q.no, j.rep, j.state, q.value, j.attempt"             \
                      " FROM job j JOIN param q ON q.id = j.param WHERE j.id = ?")                 \
    X(SQL_JOB_METRICS, "SELECT name, value, step FROM metric WHERE attempt = ? ORDER BY name"      \
                       " LIMIT ?")                                                                 \
    X(SQL_REUSED_PAGE, "SELECT job FROM reused WHERE sweep = ? AND job > ? ORDER BY job LIMIT ?")  \
    X(SQL_CHANGED_JOBS, "SELECT id, version FROM job WHERE sweep = ? AND version > ?"              \
                        " ORDER BY version LIMIT ?")                                               \
    X(SQL_CHANGED_JOB, "SELECT id, version FROM job WHERE sweep = ? AND no = ? AND version > ?")   \
    X(SQL_WORKERS, "SELECT id, node, kind, drained, cpus_milli, gpus, memory_bytes, user, seen_at" \
                   " FROM worker ORDER BY node, id")                                               \
    X(SQL_WORKER_LIVE, "SELECT count(*), sum(state = 2) FROM attempt WHERE worker = ?"             \
                       " AND state <= 3")

#endif
