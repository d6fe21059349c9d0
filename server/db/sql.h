/* SPDX-License-Identifier: MIT */
/*
 * sql.h - every SQL statement that ludwigd runs, by name
 *
 * Statements use names of constants such as JOB_DONE, which db.c replaces by their numbers: see
 * db.h.  server/db/migrations.h and docs/internals/database.md describe the tables.
 */
#ifndef LUDWIG_SERVER_DB_SQL_H
#define LUDWIG_SERVER_DB_SQL_H

/* ---- submits, and clearing submits that were not completed ---- */

#define SQL_SUBMIT(X)                                                                                   \
    X(SQL_PROJECT_GET, "SELECT id, uid, user FROM project WHERE name = ?")                              \
    X(SQL_PROJECT_ADD, "INSERT INTO project(name, uid, user) VALUES(?, ?, ?)")                          \
    X(SQL_PROJECT_PARAMS, "SELECT params FROM project WHERE id = ?")                                    \
    X(SQL_PROJECT_SET_PARAMS, "UPDATE project SET params = ?2 WHERE id = ?1")                           \
    X(SQL_OPEN_COUNT, "SELECT count(*) FROM sweep WHERE state = SWEEP_OPEN AND opened_by = ?")          \
    X(SQL_OPEN_OF_USER, "SELECT count(*) FROM sweep WHERE state = SWEEP_OPEN AND uid = ?")              \
    X(SQL_SWEEPS_OF_USER, "SELECT count(*) FROM sweep WHERE uid = ? AND removed_at = 0")                \
    X(SQL_QUEUED_OF_USER,                                                                               \
      "SELECT coalesce(sum(n_queued), 0) FROM sweep WHERE uid = ? AND n_queued > 0")                    \
    X(SQL_PROJECTS_NAMED_USER, "SELECT count(*) FROM project WHERE user = ? AND uid <> ?")              \
    X(SQL_PROJECTS_OF_USER, "SELECT count(*) FROM project WHERE uid = ?")                               \
    X(SQL_PARAMS_OF_USER, "SELECT coalesce(sum(params), 0) FROM project WHERE uid = ?")                 \
    X(SQL_OPEN_BEGUN,                                                                                   \
      "SELECT id FROM sweep WHERE state = SWEEP_OPEN AND opened_by = ? AND begin_id = ?")               \
    X(SQL_OPEN_OF_CONN, "SELECT id FROM sweep WHERE state = SWEEP_OPEN AND opened_by = ?")              \
    X(SQL_OPEN_ALL, "SELECT id FROM sweep WHERE state = SWEEP_OPEN")                                    \
    X(SQL_SWEEPS_UNFINISHED,                                                                            \
      "SELECT count(*) FROM sweep WHERE state IN (SWEEP_RUNNING, SWEEP_PAUSED)")                        \
    X(SQL_SWEEP_ADD,                                                                                    \
      "INSERT INTO sweep(project, uid, user, name, state, priority, reps, reuse, nodes, work,"          \
      " work_digest, cpus_milli, gpus_milli, memory_bytes, time_ms, batch, pools, retry, metric,"       \
      " goal, opened_by, begin_id, chain, stamp, submitted_at, known_as, guard)"                        \
      " VALUES (?, ?, ?, ?, SWEEP_OPEN, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?," \
      " ?)")                                                                                            \
    X(SQL_OPEN_GET, "SELECT project, reps, reuse, work_digest, stamp, chain, chunks, sent,"             \
                    " configs, jobs, reused,"                                                           \
                    " (SELECT name FROM project p WHERE p.id = sweep.project) FROM sweep"               \
                    " WHERE id = ? AND state = SWEEP_OPEN AND opened_by = ?")                           \
    X(SQL_OPEN_TAKEN,                                                                                   \
      "UPDATE sweep SET chain = ?2, chunks = chunks + ?9, sent = ?3, configs = ?4,"                     \
      " jobs = ?5, reused = ?6, n_queued = n_queued + ?7, n_ready = n_ready + ?8"                       \
      " WHERE id = ?1")                                                                                 \
    X(SQL_DIGEST_FIND, "SELECT param FROM digest WHERE project = ? AND digest = ?")                     \
    X(SQL_DIGEST_ADD, "INSERT OR IGNORE INTO digest(project, digest, param) VALUES(?, ?, ?)")           \
    X(SQL_PARAMS_AFTER, "SELECT id, project, digest FROM param WHERE id > ? ORDER BY id")               \
    X(SQL_PARAM_ADD, "INSERT INTO param(project, no, digest, value) VALUES(?, ?, ?, ?)")                \
    X(SQL_CONFIG_ADD, "INSERT OR IGNORE INTO config(sweep, param) VALUES(?, ?)")                        \
    X(SQL_DONE_SAME_WORK, "SELECT id FROM job WHERE state = JOB_DONE AND param = ? AND rep = ?"         \
                          " AND gone = 0 AND work_digest = ? LIMIT 1")                                  \
    X(SQL_DONE_ANY_WORK,                                                                                \
      "SELECT id FROM job WHERE state = JOB_DONE AND param = ? AND rep = ? AND gone = 0 LIMIT 1")       \
    /* that is queued or runs in another sweep; the last parameter: with this work, NULL: with any. \
     * One that others follow is among the oldest. */   \
    X(SQL_LIVE_LIKE,                                                                                    \
      "SELECT j.id FROM (SELECT id, sweep, state, follows, work_digest FROM job WHERE param = ?1"       \
      " AND rep = ?2 AND state NOT IN (JOB_IS_OVER) AND state <> JOB_HELD ORDER BY id LIMIT 256) j"     \
      " JOIN sweep s ON s.id = j.sweep WHERE j.follows IS NULL AND s.state <> SWEEP_OPEN"               \
      " AND s.id <> ?3 AND (?4 IS NULL OR j.work_digest = ?4) ORDER BY j.state DESC, j.id LIMIT 1")     \
    /* makes held jobs that do the same as job ?5 follow it, to take its result */                      \
    X(SQL_HELD_FOLLOW,                                                                                  \
      "UPDATE job SET follows = ?5 WHERE param = ?1 AND rep = ?2 AND state NOT IN (JOB_IS_OVER)"        \
      " AND state = JOB_HELD AND follows IS NULL AND sweep <> ?3"                                       \
      " AND (?4 IS NULL OR work_digest = ?4)")                                                          \
    X(SQL_PROJECT_HOLDS,                                                                                \
      "SELECT 1 FROM hold h JOIN sweep s ON s.id = h.sweep WHERE h.lifted_at = 0"                       \
      " AND s.project = ? LIMIT 1")                                                                     \
    X(SQL_REUSED_ADD, "INSERT INTO reused(sweep, job) VALUES(?, ?)")                                    \
    X(SQL_JOB_NAME_TAKEN, "SELECT 1 FROM job WHERE param = ? AND name = ?")                             \
    X(SQL_JOB_ADD, "INSERT INTO job(sweep, no, queue_order, param, rep, name, work_digest, state,"      \
                   " queued_at, version, follows, early) VALUES(?1, ?2, ?9, ?3, ?4, ?5, ?6,"            \
                   " JOB_QUEUED, ?7, ?8, ?10, ?11)")                                                    \
    X(SQL_REUSED_GONE, "DELETE FROM reused WHERE sweep = ? AND job = ?")                                \
    X(SQL_JOB_GONE, "UPDATE job SET gone = 1 WHERE id = ? RETURNING param, rep")                        \
    X(SQL_OPEN_GREW, "UPDATE sweep SET jobs = ?2, reused = ?3, n_queued = n_queued + ?4,"               \
                     " n_ready = n_ready + ?5 WHERE id = ?1")                                           \
    X(SQL_REUSED_RUN,                                                                                   \
      "SELECT p.no, j.name FROM job j JOIN param p ON p.id = j.param WHERE j.id = ?")                   \
    X(SQL_SWEEP_SHOW, "UPDATE sweep SET state = SWEEP_RUNNING, submitted_at = ?2, opened_by = 0"        \
                      " WHERE id = ?1")                                                                 \
    X(SQL_DONE_OTHERWISE,                                                                               \
      "SELECT count(*) FROM job n WHERE n.sweep = ?1 AND n.no > ?2"                                     \
      " AND n.no <= ?3 AND n.follows IS NULL AND EXISTS(SELECT 1 FROM job d WHERE d.state = JOB_DONE"   \
      " AND d.gone = 0 AND d.param = n.param AND d.rep = n.rep)")                                       \
    X(SQL_DONE_BY,                                                                                      \
      "SELECT max(d.sweep) FROM job n JOIN job d ON d.param = n.param AND d.rep = n.rep"                \
      " WHERE n.sweep = ?1 AND n.no <= ?2 AND n.follows IS NULL AND d.state = JOB_DONE"                 \
      " AND d.gone = 0")                                                                                \
    X(SQL_FOLLOWED_SWEEPS, "SELECT min(o.sweep), max(o.sweep) FROM job j JOIN job o"                    \
                           " ON o.id = j.follows WHERE j.sweep = ?1 AND j.no > ?2 AND j.no <= ?3"       \
                           " AND j.follows IS NOT NULL")                                                \
    X(SQL_SUBMITTED,                                                                                    \
      "SELECT p.name, s.configs, s.reps, s.n_queued, s.n_ready, s.reused FROM sweep s"                  \
      " JOIN project p ON p.id = s.project WHERE s.id = ?")                                             \
    X(SQL_PASSED_SET, "INSERT OR REPLACE INTO passed(sweep, name, value) VALUES(?, ?, ?)")              \
    X(SQL_PASSED_GET, "SELECT name, value FROM passed WHERE sweep = ?")                                 \
    X(SQL_PASSED_TIDY, "DELETE FROM passed WHERE sweep = ?1 AND NOT EXISTS(SELECT 1 FROM sweep"         \
                       " WHERE id = ?1 AND state IN (SWEEP_OPEN, SWEEP_RUNNING, SWEEP_PAUSED))")        \
    X(SQL_CLEAR_CLOSE, "UPDATE sweep SET opened_by = -1 WHERE id = ? AND state = SWEEP_OPEN")           \
    X(SQL_CLEAR_FOLLOWED, "UPDATE job SET follows = NULL WHERE follows IN"                              \
                          " (SELECT id FROM job WHERE sweep = ? ORDER BY no LIMIT ?)")                  \
    X(SQL_CLEAR_JOBS, "DELETE FROM job WHERE id IN"                                                     \
                      " (SELECT id FROM job WHERE sweep = ? ORDER BY no LIMIT ?)")                      \
    X(SQL_CLEAR_CONFIGS, "DELETE FROM config WHERE (sweep, param) IN"                                   \
                         " (SELECT sweep, param FROM config WHERE sweep = ? LIMIT ?)")                  \
    X(SQL_CLEAR_REUSED, "DELETE FROM reused WHERE (sweep, job) IN"                                      \
                        " (SELECT sweep, job FROM reused WHERE sweep = ? LIMIT ?)")                     \
    X(SQL_CLEAR_SWEEP, "DELETE FROM sweep WHERE id = ? AND state = SWEEP_OPEN")

/* ---- jobs, attempts, workers and hands ---- */

/* the columns that attempt_row reads, in this order */
#define ATTEMPT_COLUMNS                                                               \
    "a.id, a.job, a.no, a.state, a.seq, a.worker, a.exit_code, j.cancelled, j.sweep," \
    " a.started_at, a.ended_at, a.cpu_ms FROM attempt a JOIN job j ON j.id = a.job"

#define SQL_ATTEMPTS(X)                                                                                                  \
    X(SQL_JOB_LOAD,                                                                                                      \
      "SELECT sweep, no, state, cancelled, paused, forgiven,"                                                            \
      " queue_order IS NOT NULL, attempt, coalesce(follows, 0),"                                                         \
      " (SELECT o.state FROM job o WHERE o.id = job.follows AND o.gone = 0), hold IS NOT NULL, early"                    \
      " FROM job WHERE id = ?")                                                                                          \
    /* the last column: its batch was lost, and an earlier member had not ended */                                       \
    X(SQL_JOB_ATTEMPTS,                                                                                                  \
      "SELECT state, no, id, cause, exit_code, signal, reason, state = ATTEMPT_LOST AND batch < id"                      \
      " AND EXISTS(SELECT 1 FROM attempt b WHERE b.id >= a.batch AND b.id < a.id"                                        \
      " AND b.batch = a.batch AND (b.state <= ATTEMPT_LAST_LIVE OR b.state = ATTEMPT_LOST))"                             \
      " FROM attempt a WHERE job = ? ORDER BY no")                                                                       \
    X(SQL_JOB_UPDATE, "UPDATE job SET state = ?2, queue_order = ?3, version = ?4, ended_at = ?5,"                        \
                      " attempt = ?6, reason = ?7, follows = ?8 WHERE id = ?1")                                          \
    /* one that waits for the job; of these the first whose sweep is not open; those that are held last */               \
    X(SQL_FOLLOWER_NEXT,                                                                                                 \
      "SELECT j.id, j.state FROM job j JOIN sweep s ON s.id = j.sweep WHERE j.follows = ?"                               \
      " AND j.state IN (JOB_QUEUED, JOB_HELD) ORDER BY s.state = SWEEP_OPEN, j.state, j.id LIMIT 1")                     \
    X(SQL_JOB_FOLLOW, "UPDATE job SET follows = ?2 WHERE id = ?1")                                                       \
    X(SQL_FOLLOWERS_TURN, "UPDATE job SET follows = ?2 WHERE follows = ?1 AND id <> ?2 AND EXISTS"                       \
                          " (SELECT 1 FROM job f JOIN sweep s ON s.id = f.sweep WHERE f.id = ?2"                         \
                          " AND s.state <> SWEEP_OPEN)")                                                                 \
    X(SQL_FOLLOWER_ENDS, "DELETE FROM job WHERE id = ?")                                                                 \
    X(SQL_SWEEP_REUSES, "UPDATE sweep SET reused = reused + 1 WHERE id = ?")                                             \
    X(SQL_JOB_CANCEL, "UPDATE job SET cancelled = ?2 WHERE id = ?1")                                                     \
    X(SQL_JOB_PAUSE, "UPDATE job SET paused = ?2, hold = iif(?2 = 0, NULL, hold) WHERE id = ?1")                         \
    X(SQL_JOB_FORGIVE,                                                                                                   \
      "UPDATE job SET cancelled = 0, paused = 0, hold = NULL, forgiven = attempts"                                       \
      " WHERE id = ?")                                                                                                   \
    /* paused or held; the last condition is the index's */                                                              \
    X(SQL_KEPT_NEXT, "SELECT id, no FROM job WHERE sweep = ? AND no BETWEEN ? AND ?"                                     \
                     " AND (paused <> 0 OR hold IS NOT NULL) ORDER BY no LIMIT 1")                                       \
    X(SQL_SWEEP_RETRY, "SELECT retry, time_ms FROM sweep WHERE id = ?")                                                  \
    X(SQL_SWEEP_WAITING, "SELECT n_queued - (SELECT count(*) FROM job WHERE sweep = ?1"                                  \
                         " AND (paused <> 0 OR hold IS NOT NULL) AND paused <> 0"                                        \
                         " AND state = JOB_QUEUED) FROM sweep WHERE id = ?1")                                            \
    X(SQL_SWEEP_TURN, "UPDATE sweep SET state = ?3, version = ?4 WHERE id = ?1 AND state = ?2")                          \
    X(SQL_SWEEP_COUNTS, "SELECT state, ended_at, JOB_COUNTERS FROM sweep WHERE id = ?")                                  \
    X(SQL_SWEEP_UPDATE,                                                                                                  \
      "UPDATE sweep SET state = ?2, ended_at = ?3, n_ready = n_ready + ?4,"                                              \
      " ran_jobs = ran_jobs + ?5, ran_ms = ran_ms + ?6, spent_attempts = spent_attempts + ?7,"                           \
      " spent_ms = spent_ms + ?8, spent_cpu_ms = spent_cpu_ms + ?9, version = ?10,"                                      \
      " JOB_COUNTERS_SET WHERE id = ?1")                                                                                 \
    X(SQL_ATTEMPT_BY_TOKEN, "SELECT " ATTEMPT_COLUMNS " WHERE a.token = ?")                                              \
    X(SQL_ATTEMPT_BY_ID, "SELECT " ATTEMPT_COLUMNS " WHERE a.id = ?")                                                    \
    X(SQL_ATTEMPT_STATE, "UPDATE attempt SET state = ?2, seq = max(seq, ?3),"                                            \
                         " started_at = CASE WHEN started_at = 0 THEN ?4 ELSE started_at END,"                           \
                         " ended_at = 0, cause = CAUSE_NONE, reason = NULL"                                              \
                         " WHERE id = ?1")                                                                               \
    X(SQL_ATTEMPT_DELAYED, "UPDATE attempt SET seq = max(seq, ?2), reason = ?3 WHERE id = ?1")                           \
    X(SQL_JOB_DELAYED, "UPDATE job SET version = ?2 WHERE id = ?1")                                                      \
    X(SQL_ATTEMPT_END,                                                                                                   \
      "UPDATE attempt SET state = ?2, seq = max(seq, ?3), started_at = ?4, ended_at = ?5,"                               \
      " exit_code = ?6, signal = ?7, reason = ?8, run_path = ?9, max_rss_bytes = ?10,"                                   \
      " cpu_ms = ?11, cause = ?12 WHERE id = ?1")                                                                        \
    X(SQL_METRIC_SET, "INSERT OR REPLACE INTO metric(attempt, name, value, step, least, most, n)"                        \
                      " VALUES(?, ?, ?, ?, ?, ?, ?)")                                                                    \
    X(SQL_LIVE_OF_WORKER,                                                                                                \
      "SELECT id, state, token FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE")                            \
    X(SQL_LIVE_IDS_OF_WORKER,                                                                                            \
      "SELECT id FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE")                                          \
    X(SQL_LIVE_ATTEMPT,                                                                                                  \
      "SELECT state, token FROM attempt WHERE id = ? AND state <= ATTEMPT_LAST_LIVE")                                    \
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
    X(SQL_WORKER_USED, "UPDATE worker SET used = 1 WHERE id = ? AND used = 0")                                           \
    X(SQL_WORKERS_UNUSED_COUNT, "SELECT count(*) FROM worker WHERE used = 0 AND uid = ?")                                \
    X(SQL_WORKERS_UNUSED_OF,                                                                                             \
      "SELECT id FROM worker w WHERE used = 0 AND uid = ? AND NOT EXISTS(SELECT 1 FROM pilot p"                          \
      " WHERE p.worker = w.id AND p.ended_at = 0) ORDER BY seen_at")                                                     \
    X(SQL_WORKERS_UNUSED_SINCE,                                                                                          \
      "SELECT id FROM worker w WHERE used = 0 AND seen_at < ? AND drained = 0 AND NOT EXISTS(SELECT 1"                   \
      " FROM pilot p WHERE p.worker = w.id AND p.ended_at = 0)")                                                         \
    X(SQL_WORKER_FORGET, "DELETE FROM worker WHERE id = ? AND used = 0")                                                 \
    X(SQL_WORKERS_ELSEWHERE, "SELECT uid, user FROM worker WHERE node <> ?1 AND seen_at >= ?2")                          \
    X(SQL_SCHED_SWEEPS,                                                                                                  \
      "SELECT id, uid, priority, n_ready, cpus_milli, gpus_milli, memory_bytes, ran_jobs,"                               \
      " ran_ms, max(handed_at, submitted_at), nodes, batch, user, time_ms FROM sweep"                                    \
      " WHERE state = SWEEP_RUNNING AND n_ready > 0 AND refused IS NULL AND NOT EXISTS(SELECT 1"                         \
      " FROM hold h WHERE h.next_no IS NOT NULL AND h.sweep = sweep.id AND h.lifted_at = 0) ORDER BY id")                \
    /* A drained worker has room for nothing; what it holds counts against its users' limits.  Memory 0 is unknown. */   \
    X(SQL_SCHED_WORKER,                                                                                                  \
      "SELECT cpus_milli * (drained = 0), gpus * (drained = 0),"                                                         \
      " iif(memory_bytes = 0, 1 << 60, memory_bytes) * (drained = 0), node, user"                                        \
      " FROM worker WHERE id = ?")                                                                                       \
    /* attempts being published have freed their slot; the first condition repeats the index's */                        \
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
    X(SQL_SWEEP_NAME, "SELECT name FROM sweep WHERE id = ?")                                                             \
    X(SQL_SWEEP_WORK, "SELECT p.name, s.user, s.work FROM sweep s JOIN project p"                                        \
                      " ON p.id = s.project WHERE s.id = ?")                                                             \
    X(SQL_QUEUE_HEAD, "SELECT j.id, j.no, j.rep, j.name, j.attempts, p.no, p.digest, p.value"                            \
                      " FROM job j JOIN param p ON p.id = j.param"                                                       \
                      " WHERE j.sweep = ? AND j.queue_order IS NOT NULL"                                                 \
                      " ORDER BY j.queue_order LIMIT ?")                                                                 \
    X(SQL_STARTED_COUNT,                                                                                                 \
      "SELECT count(*) FROM attempt WHERE job = ? AND started_at > 0"                                                    \
      " AND state <> ATTEMPT_RECALLED AND cause <> CAUSE_ENVIRONMENT") /* whose program was not begun */                 \
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
      " AND (s.state = SWEEP_PAUSED OR j.paused <> 0 OR j.hold IS NOT NULL OR w.drained <> 0))"                          \
      " RETURNING token")                                                                                                \
    X(SQL_DRAINABLE, "SELECT id, node, uid, user, drained FROM worker ORDER BY node, id")                                \
    X(SQL_WORKER_DRAIN, "UPDATE worker SET drained = ?2 WHERE id = ?1")                                                  \
    X(SQL_WORKER_RUNNING,                                                                                                \
      "SELECT count(*) FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE"                                     \
      " AND state = ATTEMPT_RUNNING")

/* ---- holds of the guard ---- */

#define HOLD_COLUMNS \
    "id, sweep, test, cause, words, failed, ended, made_at, tried_at, has_success, lifted_at, next_no FROM hold"

#define SQL_HOLDS(X)                                                                             \
    X(SQL_GUARD_SWEEP, "SELECT guard, guard_from, state FROM sweep WHERE id = ?")                \
    X(SQL_GUARD_OUTCOMES,                                                                        \
      "SELECT j.version, j.param, p.value, j.state, a.cause, a.exit_code, a.signal, a.reason,"   \
      " a.started_at, a.ended_at FROM job j JOIN param p ON p.id = j.param"                      \
      " LEFT JOIN attempt a ON a.id = j.attempt WHERE j.sweep = ? AND j.version > ?"             \
      " AND j.state IN (JOB_DONE, JOB_FAILED) ORDER BY j.version LIMIT ?")                       \
    X(SQL_GUARD_RUNNING,                                                                         \
      "SELECT p.value, a.started_at FROM attempt a JOIN job j ON j.id = a.job"                   \
      " JOIN param p ON p.id = j.param WHERE a.sweep = ? AND a.state <= ATTEMPT_LAST_LIVE"       \
      " AND a.state = ATTEMPT_RUNNING AND a.started_at > 0 LIMIT ?")                             \
    X(SQL_GUARD_FORGET, "UPDATE sweep SET guard_from = ?2 WHERE id = ?1")                        \
    X(SQL_HOLDS_ACTIVE, "SELECT " HOLD_COLUMNS " WHERE sweep = ? AND lifted_at = 0 ORDER BY id") \
    X(SQL_HOLDS_OF_PROJECT, "SELECT " HOLD_COLUMNS " WHERE lifted_at = 0 AND next_no IS NULL"    \
                            " AND sweep IN (SELECT id FROM sweep WHERE project = ?"              \
                            " AND work_digest <> ?) ORDER BY id")                                \
    X(SQL_HOLD_AT_WORK, "SELECT " HOLD_COLUMNS " WHERE next_no IS NOT NULL AND sweep = ?"        \
                        " ORDER BY id LIMIT 1")                                                  \
    X(SQL_HOLD_SWEEPS_AT_WORK, "SELECT DISTINCT sweep FROM hold WHERE next_no IS NOT NULL")      \
    X(SQL_HOLD_SWEEPS, "SELECT DISTINCT h.sweep FROM hold h JOIN sweep s ON s.id = h.sweep"      \
                       " WHERE h.lifted_at = 0 AND s.state IN (SWEEP_RUNNING, SWEEP_PAUSED)")    \
    X(SQL_HOLD_ADD, "INSERT INTO hold(sweep, test, cause, words, failed, ended, sentence,"       \
                    " made_at, next_no) VALUES(?, ?, ?, ?, ?, ?, ?, ?, 0)")                      \
    X(SQL_HOLD_SAY, "UPDATE hold SET failed = ?2, ended = ?3, sentence = ?4 WHERE id = ?1")      \
    X(SQL_HOLD_TRIED, "UPDATE hold SET tried_at = ?2, has_success = 0 WHERE id = ?1")            \
    X(SQL_HOLDS_HAVE_SUCCESS,                                                                    \
      "UPDATE hold SET has_success = 1 WHERE sweep = ? AND lifted_at = 0 AND has_success = 0")   \
    X(SQL_HOLD_LIFT, "UPDATE hold SET lifted_at = ?2, lifted = ?3, next_no = ?4 WHERE id = ?1")  \
    X(SQL_HOLD_AT, "UPDATE hold SET next_no = ?2 WHERE id = ?1")                                 \
    X(SQL_HOLD_NEXT,                                                                             \
      "SELECT j.id, j.no, p.value, j.state FROM job j JOIN param p ON p.id = j.param"            \
      " WHERE j.sweep = ? AND j.no >= ? AND j.state NOT IN (JOB_IS_OVER) AND j.hold IS NULL"     \
      " ORDER BY j.no LIMIT ?")                                                                  \
    X(SQL_HOLD_JOBS, "SELECT j.id, p.value FROM job j JOIN param p ON p.id = j.param"            \
                     " WHERE j.hold = ? ORDER BY j.no LIMIT ?")                                  \
    X(SQL_HOLD_TRYABLE,                                                                          \
      "SELECT j.id, p.value FROM job j JOIN param p ON p.id = j.param WHERE j.hold = ?"          \
      " AND j.state = JOB_HELD AND j.paused = 0 AND j.follows IS NULL ORDER BY j.no LIMIT ?")    \
    X(SQL_JOB_SET_HOLD, "UPDATE job SET hold = ?2 WHERE id = ?1")                                \
    X(SQL_CLEAR_HOLDS, "DELETE FROM hold WHERE id IN"                                            \
                       " (SELECT id FROM hold WHERE sweep = ? LIMIT ?)")

/* ---- statements that only read ---- */

/* the columns that row_sweep_row reads, in this order */
#define SWEEP_COLUMNS                                                                               \
    "s.id, p.name, s.name, coalesce(s.known_as, s.user), s.state, s.priority, s.configs,"           \
    " s.reps, s.reused, s.submitted_at, s.ended_at, s.uid, s.ran_jobs, s.ran_ms, s.metric, s.goal," \
    " (SELECT coalesce(x.refused, q.trouble) FROM sweep_pool x JOIN pool q ON q.id = x.pool"        \
    " WHERE x.sweep = s.id AND s.state IN (SWEEP_RUNNING, SWEEP_PAUSED)"                            \
    " AND (x.refused IS NOT NULL OR (q.trouble IS NOT NULL AND s.n_ready > 0))"                     \
    " ORDER BY x.refused IS NULL LIMIT 1), s.jobs, s.note, s.tags, CASE WHEN s.n_held > 0 THEN"     \
    " (SELECT h.sentence FROM job j JOIN hold h ON h.id = j.hold WHERE j.sweep = s.id"              \
    " AND (j.paused <> 0 OR j.hold IS NOT NULL) AND j.state = JOB_HELD ORDER BY j.no LIMIT 1) END," \
    " JOB_COUNTERS"                                                                                 \
    " FROM sweep s JOIN project p ON p.id = s.project"

#define SQL_QUERY(X)                                                                                                    \
    X(SQL_SWEEP_OWNER, "SELECT uid, user FROM sweep WHERE id = ? AND state > SWEEP_OPEN"                                \
                       " AND removed_at = 0")                                                                           \
    X(SQL_SWEEP_INFO, "SELECT " SWEEP_COLUMNS " WHERE s.id = ? AND s.state > SWEEP_OPEN"                                \
                      " AND s.removed_at = 0")                                                                          \
    X(SQL_SWEEP_PAGE,                                                                                                   \
      "SELECT " SWEEP_COLUMNS " WHERE s.id < ? AND s.state > SWEEP_OPEN AND s.removed_at = 0"                           \
      " ORDER BY s.id DESC LIMIT ?")                                                                                    \
    X(SQL_JOB_NEXT, "SELECT id, no FROM job WHERE sweep = ? AND no BETWEEN ? AND ?"                                     \
                    " ORDER BY no LIMIT 1")                                                                             \
    X(SQL_JOB_PAGE, "SELECT id, no, state FROM job WHERE sweep = ? AND no > ? AND no <= ?"                              \
                    " ORDER BY no LIMIT ?")                                                                             \
    X(SQL_JOB_INFO, /* ended_at is the worker's where it fits: ludwigd may have been down then */                       \
      "SELECT j.sweep, j.no, q.no, j.name, j.rep, j.state, j.reason, j.queued_at,"                                      \
      " CASE WHEN a.ended_at > 0 AND (j.state, a.state) IN (VALUES(JOB_DONE, ATTEMPT_DONE),"                            \
      " (JOB_FAILED, ATTEMPT_FAILED), (JOB_CANCELLED, ATTEMPT_CANCELLED))"                                              \
      " THEN a.ended_at ELSE j.ended_at END,"                                                                           \
      " q.value, a.no, a.state, a.exit_code, a.signal, a.reason, a.started_at, w.node, a.cause,"                        \
      " j.paused, w.partition, (SELECT o.sweep || '.' || o.no FROM job o WHERE o.id = j.follows),"                      \
      " (SELECT s.state FROM sweep s WHERE s.id = j.sweep),"                                                            \
      " (SELECT h.sentence FROM hold h WHERE h.id = j.hold)"                                                            \
      " FROM job j JOIN param q ON q.id = j.param LEFT JOIN attempt a ON a.id = j.attempt"                              \
      " LEFT JOIN worker w ON w.id = a.worker WHERE j.id = ?")                                                          \
    X(SQL_JOB_RESULT,                                                                                                   \
      "SELECT j.sweep, j.no, q.no, j.rep, j.state, q.value, j.attempt, j.name,"                                         \
      " j.reason, a.reason, a.no, a.state FROM job j JOIN param q ON q.id = j.param"                                    \
      " LEFT JOIN attempt a ON a.id = j.attempt WHERE j.id = ?")                                                        \
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
                     " AND rep >= ?2 AND rep < ?3 AND gone = 0"                                                         \
                     " AND (?4 IS NULL OR work_digest = ?4)")                                                           \
    X(SQL_LIVE_REPS,                                                                                                    \
      "SELECT count(DISTINCT j.rep), coalesce(min(j.sweep), 0), coalesce(max(j.sweep), 0) FROM job j"                   \
      " JOIN sweep s ON s.id = j.sweep WHERE j.param = ?1 AND j.rep >= ?2 AND j.rep < ?3"                               \
      " AND j.state NOT IN (JOB_IS_OVER) AND j.state <> JOB_HELD AND j.follows IS NULL"                                 \
      " AND s.state <> SWEEP_OPEN"                                                                                      \
      " AND (?4 IS NULL OR j.work_digest = ?4) AND NOT EXISTS(SELECT 1 FROM job d"                                      \
      " WHERE d.state = JOB_DONE AND d.gone = 0 AND d.param = ?1 AND d.rep = j.rep"                                     \
      " AND (?4 IS NULL OR d.work_digest = ?4))")                                                                       \
    X(SQL_PROJECT_UNFINISHED,                                                                                           \
      "SELECT count(*) FROM sweep WHERE state IN (SWEEP_RUNNING, SWEEP_PAUSED)"                                         \
      " AND project = ?")                                                                                               \
    X(SQL_JOB_BY_NO, "SELECT id, state, paused FROM job WHERE sweep = ? AND no = ?")                                    \
    X(SQL_WHY_SWEEP, "SELECT uid, state, cpus_milli, gpus_milli, memory_bytes, nodes, user,"                            \
                     " priority, refused, time_ms, batch, ran_jobs, ran_ms FROM sweep"                                  \
                     " WHERE id = ?")                                                                                   \
    X(SQL_WHY_EARLIER,                                                                                                  \
      "SELECT a.no, w.node, a.reason, a.state, a.cause FROM attempt a LEFT JOIN worker w"                               \
      " ON w.id = a.worker WHERE a.job = ? AND a.no <> ? AND (a.state IN (ATTEMPT_FAILED,"                              \
      " ATTEMPT_LOST) OR (a.state = ATTEMPT_RECALLED AND a.reason IS NOT NULL))"                                        \
      " ORDER BY a.no DESC LIMIT ?")                                                                                    \
    X(SQL_WHY_BEFORE, "SELECT count(*) FROM (SELECT 1 FROM job WHERE sweep = ?1 AND queue_order <"                      \
                      " (SELECT queue_order FROM job WHERE sweep = ?1 AND no = ?2) LIMIT 10001)")                       \
    X(SQL_WHY_ABOVE, "SELECT coalesce(sum(n_ready), 0) FROM sweep WHERE state = SWEEP_RUNNING"                          \
                     " AND n_ready > 0 AND uid = ? AND priority > ?")                                                   \
    X(SQL_WHY_WORKERS, "SELECT id, node, user, drained, cpus_milli, gpus, memory_bytes"                                 \
                       " FROM worker ORDER BY node, id")                                                                \
    /* number of one user's processes on one worker, and the processors and GPUs that they hold */                      \
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

/* ---- removing jobs and sweeps for good; labels ---- */

#define SQL_REMOVAL(X)                                                                         \
    X(SQL_REMOVAL_LOOK, "SELECT sweep, no, state, EXISTS(SELECT 1 FROM attempt a"              \
                        " WHERE a.job = job.id AND a.state <= ATTEMPT_LAST_LIVE) FROM job"     \
                        " WHERE id = ?")                                                       \
    X(SQL_REMOVE_METRICS, "DELETE FROM metric WHERE attempt IN"                                \
                          " (SELECT id FROM attempt WHERE job = ?)")                           \
    X(SQL_REMOVE_ATTEMPTS, "DELETE FROM attempt WHERE job = ?")                                \
    X(SQL_REMOVE_FROM_OTHERS, "UPDATE sweep SET reused = reused - 1 WHERE id IN"               \
                              " (SELECT sweep FROM reused WHERE job = ?)")                     \
    X(SQL_REMOVE_REUSED, "DELETE FROM reused WHERE job = ?")                                   \
    X(SQL_REMOVE_JOB, "DELETE FROM job WHERE id = ?")                                          \
    X(SQL_LABEL_GET, "SELECT tags FROM sweep WHERE id = ?")                                    \
    X(SQL_LABEL_SET, "UPDATE sweep SET name = CASE WHEN ?2 IS NULL THEN name ELSE"             \
                     " nullif(?2, '') END, note = CASE WHEN ?3 IS NULL THEN note ELSE"         \
                     " nullif(?3, '') END, tags = nullif(?4, ''), version = ?5 WHERE id = ?1") \
    X(SQL_REMOVE_SWEEP, "UPDATE sweep SET removed_at = ?2, version = ?3, work = zeroblob(0),"  \
                        " nodes = NULL, pools = NULL, retry = NULL WHERE id = ?1")             \
    X(SQL_FREE_PAGES, "PRAGMA freelist_count")                                                 \
    X(SQL_SHRINK, "PRAGMA incremental_vacuum(500)")

/* ---- datasets: the trees that sweeps name ---- */

#define SQL_DATA(X)                                                                                                                         \
    X(SQL_DATASET_TAKE,                                                                                                                     \
      "INSERT INTO dataset(project, tree, manifest, name, files, bytes, added_at, used_at)"                                                 \
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT(project, tree, manifest) DO UPDATE SET"                                          \
      " name = excluded.name, used_at = excluded.used_at RETURNING id")                                                                     \
    X(SQL_SWEEP_DATASET_ADD, "INSERT OR IGNORE INTO sweep_dataset(sweep, dataset) VALUES(?, ?)")                                            \
    X(SQL_CLEAR_DATASETS, "DELETE FROM sweep_dataset WHERE (sweep, dataset) IN"                                                             \
                          " (SELECT sweep, dataset FROM sweep_dataset WHERE sweep = ? LIMIT ?)")                                            \
    X(SQL_DATASET_PAGE,                                                                                                                     \
      "SELECT d.id, p.name, p.user, d.name, d.tree, d.manifest, d.files, d.bytes, d.added_at,"                                              \
      " d.used_at, coalesce((SELECT max(sweep) FROM sweep_dataset WHERE dataset = d.id), 0),"                                               \
      " (SELECT count(*) FROM sweep_dataset x JOIN sweep s ON s.id = x.sweep"                                                               \
      " WHERE x.dataset = d.id AND s.state IN (SWEEP_OPEN, SWEEP_RUNNING, SWEEP_PAUSED)) FROM dataset d JOIN project p ON p.id = d.project" \
      " WHERE d.id > ?1 AND (?2 IS NULL OR p.name = ?2) AND (?3 IS NULL OR p.uid = ?3)"                                                     \
      " ORDER BY d.id LIMIT ?4")                                                                                                            \
    X(SQL_SWEEP_DATASETS, "SELECT d.tree, d.files, d.bytes FROM sweep_dataset x JOIN dataset d"                                             \
                          " ON d.id = x.dataset WHERE x.sweep = ?1 AND (d.files >= ?2"                                                      \
                          " OR d.bytes >= ?3)")

/* ---- pools and their pilots ---- */

/* the columns that a struct pilot_row is read from, in this order */
#define PILOT_COLUMNS                                                                       \
    "p.id, p.pool, p.token, p.task, p.tasks, p.name, p.comment, p.project, p.cpus, p.gpus," \
    " p.memory_bytes, p.time_ms, p.phase, p.words, p.asked, p.slurm_id, p.submitted_s,"     \
    " p.worker, p.created_at, q.uid, q.user, q.pool, p.started_at, p.sweep"                 \
    " FROM pilot p JOIN pool q ON q.id = p.pool"

#define SQL_PILOTS(X)                                                                                                  \
    X(SQL_POOL_TAKE, "INSERT INTO pool(uid, user, pool) VALUES(?1, ?2, ?3)"                                            \
                     " ON CONFLICT(uid, pool) DO UPDATE SET user = excluded.user RETURNING id")                        \
    X(SQL_POOL_TRY_AGAIN, "UPDATE sweep_pool SET refused = NULL WHERE pool = ?"                                        \
                          " AND refused IS NOT NULL")                                                                  \
    X(SQL_SWEEP_POOL_ADD, "INSERT OR IGNORE INTO sweep_pool(sweep, pool) VALUES(?, ?)")                                \
    X(SQL_CLEAR_POOLS, "DELETE FROM sweep_pool WHERE (sweep, pool) IN"                                                 \
                       " (SELECT sweep, pool FROM sweep_pool WHERE sweep = ? LIMIT ?)")                                \
    X(SQL_SWEEP_POOLS, "SELECT pool FROM sweep_pool WHERE sweep = ?")                                                  \
    X(SQL_POOL_OPEN, "SELECT 1 FROM sweep s JOIN sweep_pool x ON x.sweep = s.id"                                       \
                     " WHERE s.state IN (SWEEP_RUNNING, SWEEP_PAUSED) AND x.pool = ? LIMIT 1")                         \
    X(SQL_POOLS_OPEN,                                                                                                  \
      "SELECT DISTINCT q.id, q.trouble FROM sweep s JOIN sweep_pool x ON x.sweep = s.id"                               \
      " JOIN pool q ON q.id = x.pool WHERE s.state IN (SWEEP_RUNNING, SWEEP_PAUSED)")                                  \
    X(SQL_POOL_SWEEPS, "SELECT s.id FROM sweep s JOIN sweep_pool x ON x.sweep = s.id"                                  \
                       " WHERE s.state IN (SWEEP_RUNNING, SWEEP_PAUSED) AND x.pool = ?")                               \
    X(SQL_POOL_TROUBLE, "UPDATE pool SET trouble = ?2 WHERE id = ?1")                                                  \
    /* pools that get no pilots, and why; ?1: the user whose pools, NULL: all */                                       \
    X(SQL_POOLS_WITHOUT,                                                                                               \
      "SELECT DISTINCT q.pool, coalesce(x.refused, q.trouble), q.user FROM sweep s"                                    \
      " JOIN sweep_pool x ON x.sweep = s.id JOIN pool q ON q.id = x.pool"                                              \
      " WHERE s.state IN (SWEEP_RUNNING, SWEEP_PAUSED) AND (?1 IS NULL OR q.uid = ?1)"                                 \
      " AND (x.refused IS NOT NULL OR (q.trouble IS NOT NULL AND s.n_ready > 0)) ORDER BY q.id")                       \
    X(SQL_POOL_ANY, "SELECT 1 FROM pool LIMIT 1")                                                                      \
    /* refuses pilots for sweep ?2 and for all sweeps whose jobs ask for the same */                                   \
    X(SQL_POOL_REFUSE,                                                                                                 \
      "UPDATE sweep_pool SET refused = ?3 WHERE pool = ?1 AND sweep IN"                                                \
      " (SELECT s.id FROM sweep s JOIN sweep r ON r.id = ?2"                                                           \
      " WHERE s.state IN (SWEEP_RUNNING, SWEEP_PAUSED) AND s.cpus_milli = r.cpus_milli"                                \
      " AND s.gpus_milli = r.gpus_milli AND s.memory_bytes = r.memory_bytes"                                           \
      " AND s.time_ms = r.time_ms) RETURNING sweep")                                                                   \
    /* sweeps that wait for pilots; column 14: when their longest running job started, 0: none runs */                 \
    X(SQL_POOL_DEMAND,                                                                                                 \
      "SELECT q.id, q.uid, q.user, q.pool, s.id, j.name, s.n_ready, s.batch, s.cpus_milli,"                            \
      " s.gpus_milli, s.memory_bytes, s.time_ms, s.ran_jobs, s.ran_ms,"                                                \
      " coalesce((SELECT min(a.started_at) FROM attempt a JOIN worker w ON w.id = a.worker"                            \
      " WHERE a.sweep = s.id AND a.state <= ATTEMPT_LAST_LIVE AND a.state = ATTEMPT_RUNNING AND a.started_at > 0), 0)" \
      " FROM sweep s JOIN sweep_pool x ON x.sweep = s.id JOIN pool q ON q.id = x.pool"                                 \
      " JOIN project j ON j.id = s.project WHERE s.state = SWEEP_RUNNING AND s.n_ready > 0"                            \
      " AND s.refused IS NULL AND x.refused IS NULL ORDER BY q.id, s.priority DESC, s.id")                             \
    X(SQL_POOL_RETURNING, "SELECT count(*) FROM attempt WHERE worker = ? AND sweep = ?"                                \
                          " AND state <= ATTEMPT_LAST_LIVE AND state < ATTEMPT_PUBLISHING")                            \
    X(SQL_WHY_POOLS, "SELECT q.id, q.pool, x.refused, q.uid, q.user FROM sweep_pool x"                                 \
                     " JOIN pool q ON q.id = x.pool WHERE x.sweep = ? ORDER BY q.id")                                  \
    X(SQL_WHY_PILOTS, "SELECT slurm_id, words, count(*) FROM pilot WHERE pool = ?"                                     \
                      " AND ended_at = 0 AND worker = 0 GROUP BY slurm_id, words"                                      \
                      " ORDER BY slurm_id LIMIT 10")                                                                   \
    X(SQL_PILOT_ADD,                                                                                                   \
      "INSERT INTO pilot(pool, sweep, token, task, tasks, name, comment, project, cpus, gpus,"                         \
      " memory_bytes, time_ms, phase, created_at)"                                                                     \
      " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                                             \
    X(SQL_PILOTS_LIVE, "SELECT " PILOT_COLUMNS " WHERE p.ended_at = 0 ORDER BY p.id")                                  \
    X(SQL_PILOTS_COUNT, "SELECT coalesce(sum(worker = 0), 0), coalesce(sum(worker <> 0), 0)"                           \
                        " FROM pilot WHERE ended_at = 0 AND (asked <> 0 OR worker <> 0)")                              \
    X(SQL_PILOT_BY_TOKEN, "SELECT " PILOT_COLUMNS " WHERE p.token = ? AND p.task = ?")                                 \
    X(SQL_PILOT_OF_WORKER, "SELECT " PILOT_COLUMNS " WHERE p.worker = ? AND p.ended_at = 0")                           \
    X(SQL_PILOTS_ASKED, "UPDATE pilot SET asked = 1 WHERE token = ?")                                                  \
    X(SQL_PILOTS_SUBMITTED, "UPDATE pilot SET slurm_id = ?2 WHERE token = ?1")                                         \
    X(SQL_PILOTS_DROP, "DELETE FROM pilot WHERE token = ? AND slurm_id = 0 AND worker = 0")                            \
    X(SQL_PILOT_SEEN, "UPDATE pilot SET phase = ?2, words = ?3, submitted_s = ?4 WHERE id = ?1")                       \
    X(SQL_PILOT_WAITS_AGAIN, "UPDATE pilot SET worker = 0, started_at = 0 WHERE id = ?")                               \
    X(SQL_PILOT_PAIR, "UPDATE pilot SET worker = ?2, phase = ?3, words = NULL, ended_at = 0,"                          \
                      " slurm_id = CASE WHEN slurm_id = 0 THEN ?4 ELSE slurm_id END,"                                  \
                      " started_at = CASE WHEN started_at = 0 THEN ?5 ELSE started_at END"                             \
                      " WHERE id = ?1")                                                                                \
    X(SQL_WORKER_PARTITION, "UPDATE worker SET partition = ?2 WHERE id = ?1")                                          \
    X(SQL_PILOT_END, "UPDATE pilot SET phase = ?2, words = ?3, ended_at = ?4 WHERE id = ?1"                            \
                     " AND ended_at = 0")                                                                              \
    X(SQL_PILOTS_FORGET, "DELETE FROM pilot WHERE ended_at > 0 AND ended_at < ?")

/* ---- the turn itself: transactions, counters, answers to requests ---- */

#define SQL_TURN(X)                                                                           \
    X(SQL_BEGIN, "BEGIN")                                                                     \
    X(SQL_COMMIT, "COMMIT")                                                                   \
    X(SQL_ROLLBACK, "ROLLBACK")                                                               \
    X(SQL_SAVEPOINT, "SAVEPOINT step")                                                        \
    X(SQL_RELEASE, "RELEASE step")                                                            \
    X(SQL_ROLLBACK_TO, "ROLLBACK TO step")                                                    \
    X(SQL_META_GET, "SELECT value FROM meta WHERE name = ?")                                  \
    X(SQL_META_SET, "INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)")                  \
    X(SQL_REQUEST_GET, "SELECT type, answer FROM request WHERE id = ? AND uid = ?")           \
    X(SQL_REQUEST_KEEP, "INSERT OR IGNORE INTO request(id, uid, at, type, answer)"            \
                        " VALUES(?, ?, ?, ?, ?)")                                             \
    X(SQL_REQUESTS_FORGET, "DELETE FROM request WHERE (id, uid) IN"                           \
                           " (SELECT id, uid FROM request WHERE at < ? ORDER BY at LIMIT ?)") \
    /* deletes answers to user ?1, ?3 at most, but keeps the ?2 newest */                     \
    X(SQL_REQUESTS_FORGET_MORE,                                                               \
      "DELETE FROM request WHERE (id, uid) IN (SELECT id, uid FROM request"                   \
      " WHERE uid = ?1 ORDER BY at DESC LIMIT ?3 OFFSET ?2)")

#define SQL_ALL(X) \
    SQL_SUBMIT(X)  \
    SQL_ATTEMPTS(X) SQL_HOLDS(X) SQL_QUERY(X) SQL_REMOVAL(X) SQL_DATA(X) SQL_PILOTS(X) SQL_TURN(X)

enum sql_name {
#define X(name, text) name,
    SQL_ALL(X)
#undef X
        SQL_COUNT
};

#endif
