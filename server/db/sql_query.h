/* SPDX-License-Identifier: MIT */
/*
 * sql_query.h - statements that only look
 */
#ifndef LUDWIG_SERVER_DB_SQL_QUERY_H
#define LUDWIG_SERVER_DB_SQL_QUERY_H

/* as row_sweep_row reads them */
#define SWEEP_COLUMNS                                                                                \
    "s.id, p.name, s.name, coalesce(s.known_as, s.user), s.state, s.priority, s.configs,"            \
    " s.reps, s.reused, s.submitted_at, s.ended_at, s.uid, s.ran_jobs, s.ran_ms, s.metric, s.goal,"  \
    " (SELECT x.refused FROM sweep_pool x WHERE x.sweep = s.id"                                      \
    " AND x.refused IS NOT NULL AND s.state IN (SWEEP_RUNNING, SWEEP_PAUSED) LIMIT 1), JOB_COUNTERS" \
    " FROM sweep s JOIN project p ON p.id = s.project"

#define SQL_QUERY(X)                                                                                                    \
    X(SQL_SWEEP_OWNER, "SELECT uid, user FROM sweep WHERE id = ? AND state > SWEEP_OPEN")                               \
    X(SQL_SWEEP_INFO, "SELECT " SWEEP_COLUMNS " WHERE s.id = ? AND s.state > SWEEP_OPEN")                               \
    X(SQL_SWEEP_PAGE, "SELECT " SWEEP_COLUMNS " WHERE s.id < ? AND s.state > SWEEP_OPEN"                                \
                      " ORDER BY s.id DESC LIMIT ?")                                                                    \
    X(SQL_JOB_NEXT, "SELECT id, no FROM job WHERE sweep = ? AND no BETWEEN ? AND ?"                                     \
                    " ORDER BY no LIMIT 1")                                                                             \
    X(SQL_JOB_PAGE, "SELECT id, no, state FROM job WHERE sweep = ? AND no > ? AND no <= ?"                              \
                    " ORDER BY no LIMIT ?")                                                                             \
    X(SQL_JOB_INFO,                                                                                                     \
      "SELECT j.sweep, j.no, q.no, j.name, j.rep, j.state, j.reason, j.queued_at, j.ended_at,"                          \
      " q.value, a.no, a.state, a.exit_code, a.signal, a.reason, a.started_at, w.node, a.cause,"                        \
      " j.held, w.partition"                                                                                            \
      " FROM job j JOIN param q ON q.id = j.param LEFT JOIN attempt a ON a.id = j.attempt"                              \
      " LEFT JOIN worker w ON w.id = a.worker WHERE j.id = ?")                                                          \
    X(SQL_JOB_RESULT, "SELECT j.sweep, j.no, q.no, j.rep, j.state, q.value, j.attempt, j.name,"                         \
                      " j.reason, a.reason FROM job j JOIN param q ON q.id = j.param"                                   \
                      " LEFT JOIN attempt a ON a.id = j.attempt WHERE j.id = ?")                                        \
    X(SQL_JOB_METRICS, "SELECT name, value, step, least, most, n FROM metric WHERE attempt = ?"                         \
                       " ORDER BY name LIMIT ?")                                                                        \
    X(SQL_REUSED_PAGE, "SELECT job FROM reused WHERE sweep = ? AND job > ? ORDER BY job LIMIT ?")                       \
    X(SQL_CHANGED_JOBS, "SELECT id, version FROM job WHERE sweep = ? AND version > ?"                                   \
                        " ORDER BY version LIMIT ?")                                                                    \
    X(SQL_CHANGED_JOB, "SELECT id, version FROM job WHERE sweep = ? AND no = ? AND version > ?")                        \
    X(SQL_JOB_NEWEST, "SELECT a.token, a.worker, a.state FROM job j JOIN attempt a"                                     \
                      " ON a.id = j.attempt WHERE j.sweep = ? AND j.no = ?")                                            \
    X(SQL_WORKERS, "SELECT id, node, kind, drained, cpus_milli, gpus, memory_bytes, user, seen_at"                      \
                   ", partition FROM worker ORDER BY node, id")                                                         \
    X(SQL_WORKER_LIVE,                                                                                                  \
      "SELECT count(*), coalesce(sum(state = ATTEMPT_RUNNING), 0) FROM attempt WHERE worker = ?"                        \
      " AND state <= ATTEMPT_LAST_LIVE")                                                                                \
    X(SQL_NODE_JOBS,                                                                                                    \
      "SELECT a.sweep || '.' || j.no FROM attempt a JOIN job j ON j.id = a.job"                                         \
      " WHERE a.worker = ? AND a.state <= ATTEMPT_LAST_LIVE AND a.state = ATTEMPT_RUNNING"                              \
      " ORDER BY a.sweep, j.no LIMIT ?")                                                                                \
    X(SQL_NODE_USERS,                                                                                                   \
      "SELECT DISTINCT coalesce(known_as, user) FROM sweep WHERE id IN"                                                 \
      " (SELECT sweep FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE AND state = ATTEMPT_RUNNING)"        \
      " ORDER BY 1 LIMIT ?")                                                                                            \
    X(SQL_USAGE_PAGE, "SELECT s.id, p.name, s.name, coalesce(s.known_as, s.user), s.submitted_at,"                      \
                      " s.spent_attempts, s.spent_ms, s.spent_cpu_ms, s.cpus_milli, s.gpus_milli,"                      \
                      " s.n_running FROM sweep s JOIN project p ON p.id = s.project"                                    \
                      " WHERE s.id < ? AND s.submitted_at >= ? AND s.state > SWEEP_OPEN"                                \
                      " ORDER BY s.id DESC LIMIT ?")                                                                    \
    X(SQL_USAGE_RUNNING,                                                                                                \
      "SELECT coalesce(sum(ms), 0) FROM (SELECT max(0, ?2 - max(started_at))"                                           \
      " AS ms FROM attempt WHERE sweep = ?1 AND state <= ATTEMPT_LAST_LIVE AND state = ATTEMPT_RUNNING"                 \
      " AND started_at > 0 GROUP BY coalesce(batch, id))")                                                              \
    X(SQL_PROJECT_RAN, "SELECT coalesce(sum(ran_jobs), 0), coalesce(sum(ran_ms), 0)"                                    \
                       " FROM sweep WHERE project = ?")                                                                 \
    X(SQL_DONE_REPS, "SELECT count(DISTINCT rep) FROM job WHERE state = JOB_DONE AND param = ?1"                        \
                     " AND rep < ?2 AND (?3 IS NULL OR work_digest = ?3)")                                              \
    X(SQL_JOB_BY_NO, "SELECT id, state, held FROM job WHERE sweep = ? AND no = ?")                                      \
    X(SQL_WHY_SWEEP, "SELECT uid, state, cpus_milli, gpus_milli, memory_bytes, nodes, user,"                            \
                     " priority, refused, time_ms, batch, ran_jobs, ran_ms FROM sweep"                                  \
                     " WHERE id = ?")                                                                                   \
    X(SQL_WHY_LAST, "SELECT a.no, w.node, a.reason FROM attempt a LEFT JOIN worker w"                                   \
                    " ON w.id = a.worker WHERE a.job = ? AND a.reason IS NOT NULL"                                      \
                    " ORDER BY a.no DESC LIMIT 1")                                                                      \
    X(SQL_WHY_BEFORE,                                                                                                   \
      "SELECT count(*) FROM (SELECT 1 FROM job WHERE sweep = ? AND queue_order < ?"                                     \
      " LIMIT 10001)")                                                                                                  \
    X(SQL_WHY_ABOVE, "SELECT coalesce(sum(n_ready), 0) FROM sweep WHERE state = SWEEP_RUNNING"                          \
                     " AND n_ready > 0 AND uid = ? AND priority > ?")                                                   \
    X(SQL_WHY_WORKERS, "SELECT id, node, user, drained, cpus_milli, gpus, memory_bytes"                                 \
                       " FROM worker ORDER BY node, id")                                                                \
    /* of one user on one machine: processes, and what they have */                                                     \
    X(SQL_WHY_USER_LOAD,                                                                                                \
      "SELECT count(*), coalesce(sum(s.cpus_milli), 0), coalesce(sum(s.gpus_milli), 0)"                                 \
      " FROM (SELECT DISTINCT sweep AS sweep, coalesce(batch, id) FROM attempt WHERE worker = ?"                        \
      " AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_RUNNING) a JOIN sweep s ON s.id = a.sweep WHERE s.uid = ?") \
    X(SQL_WHY_OTHERS,                                                                                                   \
      "SELECT uid, min(user) FROM sweep WHERE state = SWEEP_RUNNING AND n_ready > 0"                                    \
      " AND refused IS NULL AND uid <> ? GROUP BY uid ORDER BY 2")                                                      \
    X(SQL_WHY_SIZE, "SELECT cpus_milli, gpus * 1000 FROM worker WHERE id = ?")                                          \
    X(SQL_WHY_LOAD,                                                                                                     \
      "SELECT coalesce(sum(s.cpus_milli), 0), coalesce(sum(s.gpus_milli), 0),"                                          \
      " coalesce(sum(s.memory_bytes), 0) FROM (SELECT DISTINCT sweep AS sweep,"                                         \
      " coalesce(batch, id) FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE"                               \
      " AND state <= ATTEMPT_RUNNING) a JOIN sweep s ON s.id = a.sweep")

#endif
