/* SPDX-License-Identifier: MIT */
/*
 * sql_attempts.h - statements about jobs, attempts, workers and hands
 */
#ifndef LUDWIG_SERVER_SQL_ATTEMPTS_H
#define LUDWIG_SERVER_SQL_ATTEMPTS_H

#define SQL_ATTEMPTS(X)                                                                            \
    X(SQL_JOB_LOAD, "SELECT sweep, no, state, cancelled, attempts, losses, forgiven,"              \
                    " queue_order IS NOT NULL, attempt FROM job WHERE id = ?")                     \
    X(SQL_JOB_ATTEMPTS, "SELECT state, no, id, token, worker FROM attempt WHERE job = ?"           \
                        " ORDER BY no")                                                            \
    X(SQL_JOB_UPDATE, "UPDATE job SET state = ?2, queue_order = ?3, version = ?4, ended_at = ?5,"  \
                      " attempt = ?6, reason = ?7 WHERE id = ?1")                                  \
    X(SQL_JOB_CANCEL, "UPDATE job SET cancelled = 1 WHERE id = ?")                                 \
    X(SQL_JOB_FORGIVE, "UPDATE job SET cancelled = 0, losses = 0, forgiven = attempts"             \
                       " WHERE id = ?")                                                            \
    X(SQL_JOB_LOSS, "UPDATE job SET losses = losses + 1 WHERE id = ?")                             \
    X(SQL_SWEEP_COUNTS, "SELECT state, n_queued, n_staging, n_running, n_publishing, n_done,"      \
                        " n_failed, n_cancelled, ended_at FROM sweep WHERE id = ?")                \
    X(SQL_SWEEP_UPDATE,                                                                            \
      "UPDATE sweep SET n_queued = ?2, n_staging = ?3, n_running = ?4, n_publishing = ?5,"         \
      " n_done = ?6, n_failed = ?7, n_cancelled = ?8, state = ?9, ended_at = ?10,"                 \
      " n_ready = n_ready + ?11, ran_jobs = ran_jobs + ?12, ran_ms = ran_ms + ?13,"                \
      " version = ?14 WHERE id = ?1")                                                              \
    X(SQL_ATTEMPT_BY_TOKEN, "SELECT a.id, a.job, a.no, a.state, a.seq, a.worker, a.exit_code,"     \
                            " j.cancelled, j.sweep FROM attempt a JOIN job j ON j.id = a.job"      \
                            " WHERE a.token = ?")                                                  \
    X(SQL_ATTEMPT_BY_ID, "SELECT a.id, a.job, a.no, a.state, a.seq, a.worker, a.exit_code,"        \
                         " j.cancelled, j.sweep FROM attempt a JOIN job j ON j.id = a.job"         \
                         " WHERE a.id = ?")                                                        \
    X(SQL_ATTEMPT_STATE, "UPDATE attempt SET state = ?2, seq = max(seq, ?3),"                      \
                         " started_at = CASE WHEN started_at = 0 THEN ?4 ELSE started_at END"      \
                         " WHERE id = ?1")                                                         \
    X(SQL_ATTEMPT_END,                                                                             \
      "UPDATE attempt SET state = ?2, seq = max(seq, ?3), started_at = max(started_at, ?4),"       \
      " ended_at = ?5, exit_code = ?6, signal = ?7, reason = ?8, run_path = ?9,"                   \
      " max_rss_bytes = ?10, cpu_ms = ?11 WHERE id = ?1")                                          \
    X(SQL_METRIC_SET, "INSERT OR REPLACE INTO metric(attempt, name, value, step)"                  \
                      " VALUES(?, ?, ?, ?)")                                                       \
    X(SQL_LIVE_OF_WORKER, "SELECT id, token, state FROM attempt WHERE worker = ? AND state <= 3")  \
    X(SQL_LIVE_WORKERS, "SELECT DISTINCT worker FROM attempt WHERE state <= 3")                    \
    X(SQL_RIVALS, "SELECT id, token, worker, started_at FROM attempt"                              \
                  " WHERE job = ? AND id <> ? AND state <= 3")                                     \
    X(SQL_HELD, "SELECT a.id, a.job, a.state, a.worker, j.state FROM attempt a"                    \
                " JOIN job j ON j.id = a.job WHERE a.token = ?")                                   \
    X(SQL_WORKER_BY_TOKEN, "SELECT id, uid FROM worker WHERE token = ?")                           \
    X(SQL_WORKER_INSERT, "INSERT INTO worker(token, uid, user, node, kind, boot_id, incarnation,"  \
                         " cpus_milli, gpus, memory_bytes, seen_at)"                               \
                         " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                               \
    X(SQL_WORKER_UPDATE, "UPDATE worker SET user = ?2, node = ?3, kind = ?4, boot_id = ?5,"        \
                         " incarnation = ?6, cpus_milli = ?7, gpus = ?8, memory_bytes = ?9,"       \
                         " seen_at = ?10 WHERE id = ?1")                                           \
    X(SQL_WORKER_SEEN, "UPDATE worker SET seen_at = ?2 WHERE id = ?1")                             \
    X(SQL_SCHED_SWEEPS,                                                                            \
      "SELECT id, uid, priority, n_ready, cpus_milli, gpus_milli, memory_bytes, ran_jobs,"         \
      " ran_ms, handed_at, nodes FROM sweep WHERE state = 1 AND n_ready > 0 ORDER BY id")          \
    X(SQL_SCHED_WORKER, "SELECT cpus_milli, gpus, memory_bytes, node, user FROM worker"            \
                        " WHERE id = ? AND drained = 0")                                           \
    X(SQL_SCHED_LOADS, "SELECT worker, sweep, count(*), sum(state = 0 AND NOT recalled)"           \
                       " FROM attempt WHERE state <= 3 GROUP BY worker, sweep")                    \
    X(SQL_SWEEP_NEEDS, "SELECT uid, cpus_milli, gpus_milli, memory_bytes, ran_jobs, ran_ms,"       \
                       " nodes FROM sweep WHERE id = ?")                                           \
    X(SQL_SWEEP_WORK, "SELECT p.name, s.user, s.work FROM sweep s JOIN project p"                  \
                      " ON p.id = s.project WHERE s.id = ?")                                       \
    X(SQL_QUEUE_HEAD, "SELECT j.id, j.no, j.rep, j.name, j.attempts, p.no, p.digest, p.value"      \
                      " FROM job j JOIN param p ON p.id = j.param"                                 \
                      " WHERE j.sweep = ? AND j.queue_order IS NOT NULL"                           \
                      " ORDER BY j.queue_order LIMIT ?")                                           \
    X(SQL_STARTED_COUNT, "SELECT count(*) FROM attempt WHERE job = ? AND started_at > 0")          \
    X(SQL_ATTEMPT_INSERT, "INSERT INTO attempt(job, sweep, no, token, worker, state, assigned_at)" \
                          " VALUES(?, ?, ?, ?, ?, 0, ?)")                                          \
    X(SQL_JOB_ASSIGNED, "UPDATE job SET queue_order = NULL, attempts = ?2, attempt = ?3"           \
                        " WHERE id = ?1")                                                          \
    X(SQL_SWEEP_HANDED, "UPDATE sweep SET n_ready = n_ready - ?2, handed_at = ?3 WHERE id = ?1")   \
    X(SQL_RECALLABLE, "SELECT id, token FROM attempt WHERE worker = ? AND sweep = ? AND state = 0" \
                      " AND NOT recalled ORDER BY id DESC LIMIT ?")                                \
    X(SQL_RECALLED, "UPDATE attempt SET recalled = 1 WHERE id = ?")

#endif
