/* SPDX-License-Identifier: MIT */
/*
 * sql_attempts.h - statements about jobs, attempts, workers and hands
 */
#ifndef LUDWIG_SERVER_DB_SQL_ATTEMPTS_H
#define LUDWIG_SERVER_DB_SQL_ATTEMPTS_H

#define SQL_ATTEMPTS(X)                                                                                                  \
    X(SQL_JOB_LOAD, "SELECT sweep, no, state, cancelled, held, forgiven,"                                                \
                    " queue_order IS NOT NULL, attempt FROM job WHERE id = ?")                                           \
    /* the last column: of a batch that was lost, an earlier one was what it was at */                                   \
    X(SQL_JOB_ATTEMPTS,                                                                                                  \
      "SELECT state, no, id, cause, exit_code, signal, reason, state = ATTEMPT_LOST AND batch < id"                      \
      " AND EXISTS(SELECT 1 FROM attempt b WHERE b.id >= a.batch AND b.id < a.id"                                        \
      " AND b.batch = a.batch AND (b.state <= ATTEMPT_LAST_LIVE OR b.state = ATTEMPT_LOST))"                             \
      " FROM attempt a WHERE job = ? ORDER BY no")                                                                       \
    X(SQL_JOB_UPDATE, "UPDATE job SET state = ?2, queue_order = ?3, version = ?4, ended_at = ?5,"                        \
                      " attempt = ?6, reason = ?7 WHERE id = ?1")                                                        \
    X(SQL_JOB_CANCEL, "UPDATE job SET cancelled = ?2 WHERE id = ?1")                                                     \
    X(SQL_JOB_HOLD, "UPDATE job SET held = ?2 WHERE id = ?1")                                                            \
    X(SQL_JOB_FORGIVE, "UPDATE job SET cancelled = 0, held = 0, forgiven = attempts WHERE id = ?")                       \
    X(SQL_HELD_NEXT, "SELECT id, no FROM job WHERE sweep = ? AND no BETWEEN ? AND ?"                                     \
                     " AND held <> 0 ORDER BY no LIMIT 1")                                                               \
    X(SQL_SWEEP_RETRY, "SELECT retry, time_ms FROM sweep WHERE id = ?")                                                  \
    X(SQL_SWEEP_WAITING, "SELECT n_queued - (SELECT count(*) FROM job WHERE sweep = ?1"                                  \
                         " AND held <> 0 AND state = JOB_QUEUED) FROM sweep WHERE id = ?1")                              \
    X(SQL_SWEEP_TURN, "UPDATE sweep SET state = ?3, version = ?4 WHERE id = ?1 AND state = ?2")                          \
    X(SQL_SWEEP_COUNTS, "SELECT state, ended_at, JOB_COUNTERS FROM sweep WHERE id = ?")                                  \
    X(SQL_SWEEP_UPDATE,                                                                                                  \
      "UPDATE sweep SET state = ?2, ended_at = ?3, n_ready = n_ready + ?4,"                                              \
      " ran_jobs = ran_jobs + ?5, ran_ms = ran_ms + ?6, spent_attempts = spent_attempts + ?7,"                           \
      " spent_ms = spent_ms + ?8, spent_cpu_ms = spent_cpu_ms + ?9, version = ?10,"                                      \
      " JOB_COUNTERS_SET WHERE id = ?1")                                                                                 \
    X(SQL_ATTEMPT_BY_TOKEN, "SELECT a.id, a.job, a.no, a.state, a.seq, a.worker, a.exit_code,"                           \
                            " j.cancelled, j.sweep, a.started_at, a.ended_at, a.cpu_ms"                                  \
                            " FROM attempt a JOIN job j ON j.id = a.job"                                                 \
                            " WHERE a.token = ?")                                                                        \
    X(SQL_ATTEMPT_BY_ID, "SELECT a.id, a.job, a.no, a.state, a.seq, a.worker, a.exit_code,"                              \
                         " j.cancelled, j.sweep, a.started_at, a.ended_at, a.cpu_ms"                                     \
                         " FROM attempt a JOIN job j ON j.id = a.job"                                                    \
                         " WHERE a.id = ?")                                                                              \
    X(SQL_ATTEMPT_STATE, "UPDATE attempt SET state = ?2, seq = max(seq, ?3),"                                            \
                         " started_at = CASE WHEN started_at = 0 THEN ?4 ELSE started_at END,"                           \
                         " ended_at = 0, cause = CAUSE_NONE, reason = NULL"                                              \
                         " WHERE id = ?1")                                                                               \
    X(SQL_ATTEMPT_END,                                                                                                   \
      "UPDATE attempt SET state = ?2, seq = max(seq, ?3), started_at = ?4, ended_at = ?5,"                               \
      " exit_code = ?6, signal = ?7, reason = ?8, run_path = ?9, max_rss_bytes = ?10,"                                   \
      " cpu_ms = ?11, cause = ?12 WHERE id = ?1")                                                                        \
    X(SQL_METRIC_SET, "INSERT OR REPLACE INTO metric(attempt, name, value, step, least, most, n)"                        \
                      " VALUES(?, ?, ?, ?, ?, ?, ?)")                                                                    \
    X(SQL_LIVE_OF_WORKER,                                                                                                \
      "SELECT id, state, token FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE")                            \
    X(SQL_UNWANTED_LIVE,                                                                                                 \
      "SELECT a.id, a.token, a.worker FROM attempt a JOIN job j ON j.id = a.job"                                         \
      " WHERE a.worker = ? AND a.state <= ATTEMPT_LAST_LIVE AND (j.cancelled = CANCEL_NOW OR j.state IN (JOB_IS_OVER))") \
    X(SQL_LIVE_WORKERS, "SELECT DISTINCT worker FROM attempt WHERE state <= ATTEMPT_LAST_LIVE")                          \
    X(SQL_RIVALS, "SELECT id, token, worker, started_at FROM attempt"                                                    \
                  " WHERE job = ? AND id <> ? AND state <= ATTEMPT_LAST_LIVE")                                           \
    X(SQL_HELD, "SELECT a.id, a.job, a.state, a.worker, j.state FROM attempt a"                                          \
                " JOIN job j ON j.id = a.job WHERE a.token = ?")                                                         \
    X(SQL_WORKER_BY_TOKEN, "SELECT id, uid FROM worker WHERE token = ?")                                                 \
    X(SQL_WORKER_INSERT, "INSERT INTO worker(token, uid, user, node, kind, boot_id, incarnation,"                        \
                         " cpus_milli, gpus, memory_bytes, seen_at, drained) VALUES(?1, ?2, ?3,"                         \
                         " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, coalesce((SELECT max(drained)"                              \
                         " FROM worker WHERE node = ?4 AND uid = ?2 AND ?5 <> 'slurm'"                                   \
                         " AND kind <> 'slurm'), 0))")                                                                   \
    X(SQL_WORKER_UPDATE, "UPDATE worker SET user = ?2, node = ?3, kind = ?4, boot_id = ?5,"                              \
                         " incarnation = ?6, cpus_milli = ?7, gpus = ?8, memory_bytes = ?9,"                             \
                         " seen_at = ?10 WHERE id = ?1")                                                                 \
    X(SQL_WORKER_SEEN, "UPDATE worker SET seen_at = ?2 WHERE id = ?1")                                                   \
    X(SQL_WORKERS_ELSEWHERE, "SELECT uid, user FROM worker WHERE node <> ?1 AND seen_at >= ?2")                          \
    X(SQL_SCHED_SWEEPS,                                                                                                  \
      "SELECT id, uid, priority, n_ready, cpus_milli, gpus_milli, memory_bytes, ran_jobs,"                               \
      " ran_ms, max(handed_at, submitted_at), nodes, batch, user, time_ms FROM sweep"                                    \
      " WHERE state = SWEEP_RUNNING AND n_ready > 0 AND refused IS NULL ORDER BY id")                                    \
    /* a drained one has room for nothing; what it holds counts against its users' limits */                             \
    X(SQL_SCHED_WORKER, "SELECT cpus_milli * (drained = 0), gpus * (drained = 0),"                                       \
                        " memory_bytes * (drained = 0), node, user FROM worker WHERE id = ?")                            \
    /* what is being published has left its slot; the first condition is that of the index */                            \
    X(SQL_SCHED_LOADS,                                                                                                   \
      "SELECT worker, sweep, count(*), sum(state = ATTEMPT_ASSIGNED AND NOT recalled)"                                   \
      " FROM attempt WHERE state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_RUNNING GROUP BY worker, sweep")              \
    X(SQL_SCHED_PROCESSES,                                                                                               \
      "SELECT count(DISTINCT batch), count(DISTINCT batch) - count(DISTINCT"                                             \
      " CASE WHEN state > ATTEMPT_ASSIGNED OR recalled THEN batch END) FROM attempt"                                     \
      " WHERE worker = ? AND sweep = ? AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_RUNNING")                     \
    X(SQL_SWEEP_NEEDS, "SELECT uid, cpus_milli, gpus_milli, memory_bytes, ran_jobs, ran_ms,"                             \
                       " nodes, batch, user, time_ms FROM sweep WHERE id = ?")                                           \
    X(SQL_SWEEP_REFUSE, "UPDATE sweep SET refused = ?2 WHERE id = ?1")                                                   \
    X(SQL_SWEEP_WORK, "SELECT p.name, s.user, s.work FROM sweep s JOIN project p"                                        \
                      " ON p.id = s.project WHERE s.id = ?")                                                             \
    X(SQL_QUEUE_HEAD, "SELECT j.id, j.no, j.rep, j.name, j.attempts, p.no, p.digest, p.value"                            \
                      " FROM job j JOIN param p ON p.id = j.param"                                                       \
                      " WHERE j.sweep = ? AND j.queue_order IS NOT NULL"                                                 \
                      " ORDER BY j.queue_order LIMIT ?")                                                                 \
    X(SQL_STARTED_COUNT,                                                                                                 \
      "SELECT count(*) FROM attempt WHERE job = ? AND started_at > 0"                                                    \
      " AND state <> ATTEMPT_RECALLED") /* not of those recalled: see ATTEMPT_STATES */                                  \
    X(SQL_ATTEMPT_INSERT, "INSERT INTO attempt(job, sweep, no, token, worker, state, assigned_at,"                       \
                          " batch) VALUES(?, ?, ?, ?, ?, ATTEMPT_ASSIGNED, ?, ?)")                                       \
    X(SQL_ATTEMPT_LEADS, "UPDATE attempt SET batch = id WHERE id = ?")                                                   \
    X(SQL_JOB_ASSIGNED, "UPDATE job SET queue_order = NULL, attempts = ?2, attempt = ?3"                                 \
                        " WHERE id = ?1")                                                                                \
    X(SQL_SWEEP_HANDED, "UPDATE sweep SET n_ready = n_ready - ?2, handed_at = ?3 WHERE id = ?1")                         \
    X(SQL_RECALL_OF_SWEEP,                                                                                               \
      "UPDATE attempt SET recalled = 1 WHERE worker = ? AND sweep = ?"                                                   \
      " AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_STAGING RETURNING token")                                    \
    X(SQL_RECALL_OF_WORKER,                                                                                              \
      "UPDATE attempt SET recalled = 1 WHERE worker = ?"                                                                 \
      " AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_STAGING RETURNING token")                                    \
    X(SQL_UNSTARTED_OF_JOB, "SELECT worker, sweep, coalesce(batch, id) FROM attempt WHERE job = ?"                       \
                            " AND state <= ATTEMPT_STAGING")                                                             \
    X(SQL_RECALL_OF_PROCESS,                                                                                             \
      "UPDATE attempt SET recalled = 1 WHERE worker = ? AND sweep = ?"                                                   \
      " AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_STAGING AND coalesce(batch, id) = ?"                         \
      " RETURNING token")                                                                                                \
    X(SQL_RECALL_SOME,                                                                                                   \
      "UPDATE attempt SET recalled = 1 WHERE worker = ?1 AND sweep = ?2 AND state <= ATTEMPT_LAST_LIVE"                  \
      " AND state = ATTEMPT_ASSIGNED AND coalesce(batch, id) IN (SELECT coalesce(batch, id) AS process"                  \
      " FROM attempt WHERE worker = ?1 AND sweep = ?2 AND state <= ATTEMPT_LAST_LIVE GROUP BY process"                   \
      " HAVING max(state > ATTEMPT_ASSIGNED OR recalled) = 0 ORDER BY process DESC LIMIT ?3) RETURNING token")           \
    X(SQL_RECALL_UNWANTED,                                                                                               \
      "UPDATE attempt SET recalled = 1 WHERE worker = ?1 AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_STAGING"    \
      " AND coalesce(batch, id) IN (SELECT coalesce(a.batch, a.id) FROM attempt a"                                       \
      " JOIN sweep s ON s.id = a.sweep JOIN job j ON j.id = a.job JOIN worker w ON w.id = ?1"                            \
      " WHERE a.worker = ?1 AND a.state <= ATTEMPT_LAST_LIVE AND a.state <= ATTEMPT_STAGING"                             \
      " AND (s.state = SWEEP_PAUSED OR j.held <> 0 OR w.drained <> 0)) RETURNING token")                                 \
    X(SQL_DRAINABLE, "SELECT id, node, uid, user, drained FROM worker ORDER BY node, id")                                \
    X(SQL_WORKER_DRAIN, "UPDATE worker SET drained = ?2 WHERE id = ?1")                                                  \
    X(SQL_WORKER_RUNNING,                                                                                                \
      "SELECT count(*) FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE"                                     \
      " AND state = ATTEMPT_RUNNING")

#endif
