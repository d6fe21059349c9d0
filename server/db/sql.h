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
    X(SQL_BYTES_OF_USER, "SELECT coalesce(sum(bytes), 0) FROM user_size WHERE uid = ?")                 \
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
      " goal, opened_by, begin_id, chain, stamp, submitted_at, known_as, guard, stop, live, resumes,"   \
      " disk_bytes, slots)"                                                                             \
      " VALUES (?, ?, ?, ?, SWEEP_OPEN, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?," \
      " ?, ?, ?, ?, ?, ?)")                                                                             \
    X(SQL_OPEN_GET,                                                                                     \
      "SELECT project, reps, reuse, work_digest, stamp, chain, chunks, sent,"                           \
      " configs, jobs, reused,"                                                                         \
      " (SELECT name FROM project p WHERE p.id = sweep.project), advised, stop FROM sweep"              \
      " WHERE id = ? AND state = SWEEP_OPEN AND opened_by = ?")                                         \
    X(SQL_OPEN_TAKEN,                                                                                   \
      "UPDATE sweep SET chain = ?2, chunks = chunks + ?9, sent = ?3, configs = ?4,"                     \
      " jobs = ?5, reused = ?6, n_queued = n_queued + ?7, n_ready = n_ready + ?8"                       \
      " WHERE id = ?1")                                                                                 \
    X(SQL_DIGEST_FIND, "SELECT param FROM digest WHERE project = ? AND digest = ?")                     \
    X(SQL_DIGEST_ADD, "INSERT OR IGNORE INTO digest(project, digest, param) VALUES(?, ?, ?)")           \
    X(SQL_PARAMS_AFTER, "SELECT id, project, digest FROM param WHERE id > ? ORDER BY id")               \
    X(SQL_PARAM_ADD, "INSERT INTO param(project, no, digest, value) VALUES(?, ?, ?, ?)")                \
    X(SQL_CONFIG_ADD, "INSERT OR IGNORE INTO config(sweep, param) VALUES(?, ?)")                        \
    X(SQL_DONE_SAME_WORK, "SELECT id FROM job WHERE state IN (JOB_IS_REUSED) AND param = ?"             \
                          " AND rep = ? AND gone = 0 AND work_digest = ? ORDER BY state LIMIT 1")       \
    X(SQL_DONE_ANY_WORK,                                                                                \
      "SELECT id FROM job WHERE state IN (JOB_IS_REUSED) AND param = ? AND rep = ? AND gone = 0"        \
      " ORDER BY state LIMIT 1")                                                                        \
    /* finds a job of another sweep that is not over and does the same; ?4: its work, NULL: any; */     \
    /* a job that others follow is older than they are, so it is among the 256 oldest */                \
    X(SQL_LIVE_LIKE,                                                                                    \
      "SELECT j.id FROM (SELECT id, sweep, state, follows, work_digest FROM job WHERE param = ?1"       \
      " AND rep = ?2 AND ended_at = 0 AND state <> JOB_HELD ORDER BY id LIMIT 256) j"                   \
      " JOIN sweep s ON s.id = j.sweep WHERE j.follows IS NULL AND s.state <> SWEEP_OPEN"               \
      " AND s.id <> ?3 AND (?4 IS NULL OR j.work_digest = ?4) ORDER BY j.state DESC, j.id LIMIT 1")     \
    /* makes held jobs that do the same as job ?5 follow it, to take its result */                      \
    X(SQL_HELD_FOLLOW,                                                                                  \
      "UPDATE job SET follows = ?5 WHERE param = ?1 AND rep = ?2 AND ended_at = 0"                      \
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
    /* from here to SQL_PASSED_LIKE: runs a job once more in a sweep of its own (reproduce) */          \
    X(SQL_JOB_DOES, "SELECT param, rep, work_digest FROM job WHERE sweep = ? AND no = ?")               \
    X(SQL_SWEEP_LIKE,                                                                                   \
      "INSERT INTO sweep(project, uid, user, name, state, priority, reps, reuse, nodes, work,"          \
      " work_digest, cpus_milli, gpus_milli, memory_bytes, time_ms, batch, pools, retry, metric,"       \
      " goal, opened_by, begin_id, chain, stamp, submitted_at, known_as, chunks, sent, configs,"        \
      " disk_bytes)"                                                                                    \
      " SELECT project, uid, user, ?2, SWEEP_OPEN, priority, 1, ?8, nodes, work, work_digest,"          \
      " cpus_milli, gpus_milli, memory_bytes, time_ms, batch, pools, retry, metric, goal, ?3, ?4,"      \
      " ?5, ?6, ?7, known_as, 1, 1, 1, disk_bytes FROM sweep WHERE id = ?1")                            \
    X(SQL_DATASETS_LIKE, "INSERT INTO sweep_dataset(sweep, dataset) SELECT ?1, dataset"                 \
                         " FROM sweep_dataset WHERE sweep = ?2")                                        \
    X(SQL_POOLS_LIKE, "INSERT INTO sweep_pool(sweep, pool) SELECT ?1, pool FROM sweep_pool"             \
                      " WHERE sweep = ?2")                                                              \
    X(SQL_PASSED_LIKE, "INSERT INTO passed(sweep, name, value) SELECT ?1, name, value FROM passed"      \
                       " WHERE sweep = ?2")                                                             \
    X(SQL_REUSED_GONE, "DELETE FROM reused WHERE sweep = ? AND job = ?")                                \
    X(SQL_JOB_GONE, "UPDATE job SET gone = 1 WHERE id = ? RETURNING param, rep")                        \
    X(SQL_OPEN_GREW, "UPDATE sweep SET jobs = ?2, reused = ?3, n_queued = n_queued + ?4,"               \
                     " n_ready = n_ready + ?5 WHERE id = ?1")                                           \
    X(SQL_REUSED_RUN,                                                                                   \
      "SELECT p.no, j.name, j.state, a.state, a.no FROM job j JOIN param p ON p.id = j.param"           \
      " LEFT JOIN attempt a ON a.id = j.attempt WHERE j.id = ?")                                        \
    X(SQL_SWEEP_SHOW, "UPDATE sweep SET state = SWEEP_RUNNING, submitted_at = ?2, opened_by = 0"        \
                      " WHERE id = ?1")                                                                 \
    X(SQL_DONE_OTHERWISE,                                                                               \
      "SELECT count(*) FROM job n WHERE n.sweep = ?1 AND n.no > ?2"                                     \
      " AND n.no <= ?3 AND n.follows IS NULL AND EXISTS(SELECT 1 FROM job d"                            \
      " WHERE d.state IN (JOB_IS_REUSED) AND d.gone = 0 AND d.param = n.param AND d.rep = n.rep)")      \
    X(SQL_DONE_BY,                                                                                      \
      "SELECT max(d.sweep) FROM job n JOIN job d ON d.param = n.param AND d.rep = n.rep"                \
      " WHERE n.sweep = ?1 AND n.no <= ?2 AND n.follows IS NULL AND d.state IN (JOB_IS_REUSED)"         \
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
    " a.started_at, a.ended_at, a.cpu_ms, a.max_rss_bytes,"                           \
    " iif(a.memory_bytes > 0, a.memory_bytes, s.memory_bytes),"                       \
    " iif(a.time_ms > 0, a.time_ms, s.time_ms)"                                       \
    " FROM attempt a JOIN job j ON j.id = a.job JOIN sweep s ON s.id = j.sweep"

#define SQL_ATTEMPTS(X)                                                                                                    \
    X(SQL_JOB_LOAD,                                                                                                        \
      "SELECT sweep, no, state, cancelled, paused, forgiven,"                                                              \
      " queue_order IS NOT NULL, attempt, coalesce(follows, 0),"                                                           \
      " (SELECT o.state FROM job o WHERE o.id = job.follows AND o.gone = 0), hold IS NOT NULL, early, stop"                \
      " FROM job WHERE id = ?")                                                                                            \
    /* last column: the attempt was lost, and so was an earlier one of its batch, or that is live */                       \
    X(SQL_JOB_ATTEMPTS,                                                                                                    \
      "SELECT state, no, id, cause, exit_code, signal, reason, state = ATTEMPT_LOST AND batch < id"                        \
      " AND EXISTS(SELECT 1 FROM attempt b WHERE b.id >= a.batch AND b.id < a.id"                                          \
      " AND b.batch = a.batch AND (b.state <= ATTEMPT_LAST_LIVE OR b.state = ATTEMPT_LOST))"                               \
      " FROM attempt a WHERE job = ? ORDER BY no")                                                                         \
    X(SQL_JOB_UPDATE, "UPDATE job SET state = ?2, queue_order = ?3, version = ?4, ended_at = ?5,"                          \
                      " attempt = ?6, reason = ?7, follows = ?8 WHERE id = ?1")                                            \
    /* the next job that follows this one: in a sweep that is not open first, queued before held */                        \
    X(SQL_FOLLOWER_NEXT,                                                                                                   \
      "SELECT j.id, j.state FROM job j JOIN sweep s ON s.id = j.sweep WHERE j.follows = ?"                                 \
      " AND j.state IN (JOB_QUEUED, JOB_HELD) ORDER BY s.state = SWEEP_OPEN, j.state, j.id LIMIT 1")                       \
    X(SQL_JOB_FOLLOW, "UPDATE job SET follows = ?2 WHERE id = ?1")                                                         \
    X(SQL_FOLLOWERS_TURN, "UPDATE job SET follows = ?2 WHERE follows = ?1 AND id <> ?2 AND EXISTS"                         \
                          " (SELECT 1 FROM job f JOIN sweep s ON s.id = f.sweep WHERE f.id = ?2"                           \
                          " AND s.state <> SWEEP_OPEN)")                                                                   \
    X(SQL_FOLLOWER_ENDS, "DELETE FROM job WHERE id = ?")                                                                   \
    X(SQL_SWEEP_REUSES, "UPDATE sweep SET reused = reused + 1 WHERE id = ?")                                               \
    X(SQL_JOB_CANCEL, "UPDATE job SET cancelled = ?2 WHERE id = ?1")                                                       \
    /* a stopped job that might go on, so that its sweep waits for it: now it stays stopped */                             \
    X(SQL_JOB_STAYS,                                                                                                       \
      "UPDATE job SET cancelled = CANCEL_DRAIN WHERE id = ?1 AND state = JOB_STOPPED"                                      \
      " AND stop = STOP_DECIDED AND cancelled = 0 AND EXISTS(SELECT 1 FROM sweep s"                                        \
      " WHERE s.id = job.sweep AND (s.resumes = RESUMES_SOME OR s.advised IN (SWEEP_ADVISED, SWEEP_ADVICE_FAILED)))"       \
      " AND EXISTS(SELECT 1 FROM attempt a"                                                                                \
      " WHERE a.job = job.id AND a.has_checkpoint <> 0)")                                                                  \
    X(SQL_JOB_PAUSE, "UPDATE job SET paused = ?2, hold = iif(?2 = 0, NULL, hold) WHERE id = ?1")                           \
    X(SQL_JOB_ORDER, "UPDATE job SET early = ?2 WHERE id = ?1")                                                            \
    X(SQL_QUEUE_ENDS, "SELECT coalesce(min(queue_order), 0), coalesce(max(queue_order), 0)"                                \
                      " FROM job WHERE sweep = ? AND queue_order IS NOT NULL")                                             \
    X(SQL_SWEEP_SHRINK, "UPDATE sweep SET slots = ?2, version = ?3 WHERE id = ?1")                                         \
    X(SQL_JOB_FORGIVE,                                                                                                     \
      "UPDATE job SET cancelled = 0, paused = 0, hold = NULL, forgiven = attempts,"                                        \
      " stop = CASE stop WHEN STOP_DECIDED THEN STOP_OVERRULED WHEN STOP_RACED THEN STOP_EXEMPT ELSE stop END"             \
      " WHERE id = ?")                                                                                                     \
    /* the next paused or held job; the last condition is that of index job_kept */                                        \
    X(SQL_KEPT_NEXT, "SELECT id, no FROM job WHERE sweep = ? AND no BETWEEN ? AND ?"                                       \
                     " AND (paused <> 0 OR hold IS NOT NULL) ORDER BY no LIMIT 1")                                         \
    X(SQL_SWEEP_RETRY, "SELECT retry, time_ms, memory_bytes FROM sweep WHERE id = ?")                                      \
    X(SQL_ATTEMPT_ASKED, "SELECT memory_bytes, time_ms FROM attempt WHERE id = ?")                                         \
    X(SQL_JOB_ASKS, "SELECT memory_bytes, time_ms FROM job WHERE id = ?")                                                  \
    X(SQL_JOB_GROW, "UPDATE job SET memory_bytes = ?2, time_ms = ?3 WHERE id = ?1")                                        \
    X(SQL_SWEEP_GROW, "UPDATE sweep SET has_grown = 1 WHERE id = ? AND has_grown = 0")                                     \
    X(SQL_SWEEP_WAITING, "SELECT n_queued - (SELECT count(*) FROM job WHERE sweep = ?1"                                    \
                         " AND (paused <> 0 OR hold IS NOT NULL) AND paused <> 0"                                          \
                         " AND state = JOB_QUEUED) FROM sweep WHERE id = ?1")                                              \
    X(SQL_SWEEP_TURN, "UPDATE sweep SET state = ?3, version = ?4 WHERE id = ?1 AND state = ?2")                            \
    X(SQL_SWEEP_COUNTS,                                                                                                    \
      "SELECT state, ended_at, JOB_COUNTERS, advised, resumes, notify_when FROM sweep WHERE id = ?")                       \
    X(SQL_SWEEP_UPDATE,                                                                                                    \
      "UPDATE sweep SET state = ?2, ended_at = ?3, n_ready = n_ready + ?4,"                                                \
      " ran_jobs = ran_jobs + ?5, ran_ms = ran_ms + ?6, spent_attempts = spent_attempts + ?7,"                             \
      " spent_ms = spent_ms + ?8, spent_cpu_ms = spent_cpu_ms + ?9, version = ?10,"                                        \
      " spent_limit_ms = spent_limit_ms + ?11, asked_gib_ms = asked_gib_ms + ?12,"                                         \
      " used_gib_ms = used_gib_ms + ?13, peak_rss_bytes = max(peak_rss_bytes, ?14),"                                       \
      " longest_ms = max(longest_ms, ?15),"                                                                                \
      " JOB_COUNTERS_SET WHERE id = ?1")                                                                                   \
    X(SQL_ATTEMPT_BY_TOKEN, "SELECT " ATTEMPT_COLUMNS " WHERE a.token = ?")                                                \
    X(SQL_ATTEMPT_BY_ID, "SELECT " ATTEMPT_COLUMNS " WHERE a.id = ?")                                                      \
    X(SQL_ATTEMPT_STATE, "UPDATE attempt SET state = ?2, seq = max(seq, ?3),"                                              \
                         " started_at = CASE WHEN started_at = 0 THEN ?4 ELSE started_at END,"                             \
                         " ended_at = 0, cause = CAUSE_NONE, reason = NULL"                                                \
                         " WHERE id = ?1")                                                                                 \
    X(SQL_ATTEMPT_DELAYED, "UPDATE attempt SET seq = max(seq, ?2), reason = ?3 WHERE id = ?1")                             \
    X(SQL_JOB_DELAYED, "UPDATE job SET version = ?2 WHERE id = ?1")                                                        \
    X(SQL_ATTEMPT_END,                                                                                                     \
      "UPDATE attempt SET state = ?2, seq = max(seq, ?3), started_at = ?4, ended_at = ?5,"                                 \
      " exit_code = ?6, signal = ?7, reason = ?8, run_path = ?9, max_rss_bytes = ?10,"                                     \
      " cpu_ms = ?11, cause = ?12, has_checkpoint = max(has_checkpoint, ?13) WHERE id = ?1")                               \
    /* changes nothing if the attempt's use of its GPUs is known already */                                                \
    X(SQL_ATTEMPT_GPUS, "UPDATE attempt SET gpu_memory_bytes = ?2, gpu_percent = ?3 WHERE id = ?1"                         \
                        " AND gpu_memory_bytes IS NULL AND gpu_percent IS NULL")                                           \
    X(SQL_ATTEMPT_GPU_IDS, "UPDATE attempt SET gpu_ids = ?2 WHERE id = ?1 AND gpu_ids IS NULL")                            \
    X(SQL_SWEEP_GPUS,                                                                                                      \
      "UPDATE sweep SET peak_gpu_bytes = max(peak_gpu_bytes, ?2),"                                                         \
      " seen_gpu_ms = seen_gpu_ms + gpus_milli / 1000.0 * ?3,"                                                             \
      " busy_gpu_ms = busy_gpu_ms + gpus_milli / 1000.0 * ?3 * ?4 / 100 WHERE id = ?1")                                    \
    X(SQL_METRIC_SET, "INSERT OR REPLACE INTO metric(attempt, name, value, step, least, most, n)"                          \
                      " VALUES(?, ?, ?, ?, ?, ?, ?)")                                                                      \
    X(SQL_LIVE_OF_WORKER,                                                                                                  \
      "SELECT id, state, token FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE")                              \
    X(SQL_LIVE_IDS_OF_WORKER,                                                                                              \
      "SELECT id FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE")                                            \
    X(SQL_LIVE_ATTEMPT,                                                                                                    \
      "SELECT state, token FROM attempt WHERE id = ? AND state <= ATTEMPT_LAST_LIVE")                                      \
    X(SQL_UNWANTED_LIVE,                                                                                                   \
      "SELECT a.id, a.token, a.worker FROM attempt a JOIN job j ON j.id = a.job"                                           \
      " WHERE a.worker = ? AND a.state <= ATTEMPT_LAST_LIVE AND (j.cancelled = CANCEL_NOW OR j.state IN (JOB_IS_OVER))")   \
    X(SQL_LIVE_WORKERS, "SELECT DISTINCT worker FROM attempt WHERE state <= ATTEMPT_LAST_LIVE")                            \
    X(SQL_RIVALS, "SELECT id, token, worker, started_at FROM attempt"                                                      \
                  " WHERE job = ? AND id <> ? AND state <= ATTEMPT_LAST_LIVE")                                             \
    X(SQL_HELD, "SELECT a.id, a.job, a.state, a.worker, j.state FROM attempt a"                                            \
                " JOIN job j ON j.id = a.job WHERE a.token = ?")                                                           \
    X(SQL_WORKER_BY_TOKEN, "SELECT id, uid FROM worker WHERE token = ?")                                                   \
    X(SQL_WORKER_INSERT, "INSERT INTO worker(token, uid, user, node, kind, boot_id, incarnation,"                          \
                         " cpus_milli, gpus, memory_bytes, seen_at, drained) VALUES(?1, ?2, ?3,"                           \
                         " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, coalesce((SELECT max(drained)"                                \
                         " FROM worker WHERE node = ?4 AND uid = ?2 AND ?5 <> 'slurm'"                                     \
                         " AND kind <> 'slurm'), 0))")                                                                     \
    X(SQL_WORKER_UPDATE, "UPDATE worker SET user = ?2, node = ?3, kind = ?4, boot_id = ?5,"                                \
                         " incarnation = ?6, cpus_milli = ?7, gpus = ?8, memory_bytes = ?9,"                               \
                         " seen_at = ?10 WHERE id = ?1")                                                                   \
    X(SQL_WORKER_SEEN, "UPDATE worker SET seen_at = ?2 WHERE id = ?1")                                                     \
    X(SQL_WORKER_USED, "UPDATE worker SET used = 1 WHERE id = ? AND used = 0")                                             \
    X(SQL_WORKERS_UNUSED_COUNT, "SELECT count(*) FROM worker WHERE used = 0 AND uid = ?")                                  \
    X(SQL_WORKERS_UNUSED_OF,                                                                                               \
      "SELECT id FROM worker w WHERE used = 0 AND uid = ? AND NOT EXISTS(SELECT 1 FROM pilot p"                            \
      " WHERE p.worker = w.id AND p.ended_at = 0) ORDER BY seen_at")                                                       \
    X(SQL_WORKERS_UNUSED_SINCE,                                                                                            \
      "SELECT id FROM worker w WHERE used = 0 AND seen_at < ? AND drained = 0 AND NOT EXISTS(SELECT 1"                     \
      " FROM pilot p WHERE p.worker = w.id AND p.ended_at = 0)")                                                           \
    X(SQL_WORKER_FORGET, "DELETE FROM worker WHERE id = ? AND used = 0")                                                   \
    X(SQL_WORKERS_ELSEWHERE, "SELECT uid, user FROM worker WHERE node <> ?1 AND seen_at >= ?2")                            \
    X(SQL_SCHED_SWEEPS,                                                                                                    \
      "SELECT id, uid, priority, n_ready, cpus_milli, gpus_milli, memory_bytes, ran_jobs,"                                 \
      " ran_ms, max(handed_at, submitted_at), nodes, batch, user, time_ms, slots, has_grown, disk_bytes FROM sweep"        \
      " WHERE state = SWEEP_RUNNING AND n_ready > 0 AND refused IS NULL AND NOT EXISTS(SELECT 1"                           \
      " FROM hold h WHERE h.next_no IS NOT NULL AND h.sweep = sweep.id AND h.lifted_at = 0) ORDER BY id")                  \
    /* ready jobs that ask for more than their sweep, grouped by what they ask for; last column: when */                   \
    /* the last attempt of the group's first job in the queue ended */                                                     \
    X(SQL_GROWN_READY,                                                                                                     \
      "SELECT memory_bytes, time_ms, count(*), (SELECT coalesce(max(a.ended_at), 0) FROM attempt a"                        \
      " WHERE a.id = (SELECT h.attempt FROM job h WHERE h.sweep = job.sweep"                                               \
      " AND h.memory_bytes = job.memory_bytes AND h.time_ms = job.time_ms"                                                 \
      " AND h.queue_order IS NOT NULL ORDER BY h.queue_order LIMIT 1)) FROM job"                                           \
      " WHERE sweep = ? AND (memory_bytes, time_ms) > (0, 0) AND queue_order IS NOT NULL"                                  \
      " GROUP BY memory_bytes, time_ms")                                                                                   \
    /* a worker's processes of a sweep, grouped by what they ask for: all, and those not started */                        \
    X(SQL_GROWN_LOADS,                                                                                                     \
      "SELECT memory_bytes, time_ms, count(DISTINCT coalesce(batch, id)),"                                                 \
      " count(DISTINCT coalesce(batch, id)) - count(DISTINCT CASE WHEN state > ATTEMPT_ASSIGNED"                           \
      " OR recalled THEN coalesce(batch, id) END) FROM attempt WHERE worker = ? AND sweep = ?"                             \
      " AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_RUNNING GROUP BY memory_bytes, time_ms")                       \
    X(SQL_FIT_WORKERS, "SELECT id, node, cpus_milli, gpus * 1000, memory_bytes, seen_at"                                   \
                       " FROM worker WHERE kind <> 'slurm'")                                                               \
    /* A drained worker has size 0, as it takes no job; its jobs still count for its users' limits.  Memory 0: unknown. */ \
    X(SQL_SCHED_WORKER,                                                                                                    \
      "SELECT cpus_milli * (drained = 0), gpus * 1000 * (drained = 0),"                                                    \
      " iif(memory_bytes = 0, 1 << 60, memory_bytes) * (drained = 0), node, user"                                          \
      " FROM worker WHERE id = ?")                                                                                         \
    /* an attempt that publishes has freed its slot; the first condition is that of the index */                           \
    X(SQL_SCHED_LOADS,                                                                                                     \
      "SELECT worker, sweep, count(*), sum(state = ATTEMPT_ASSIGNED AND NOT recalled)"                                     \
      " FROM attempt WHERE state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_RUNNING GROUP BY worker, sweep")                \
    X(SQL_SCHED_PROCESSES,                                                                                                 \
      "SELECT count(DISTINCT batch), count(DISTINCT batch) - count(DISTINCT"                                               \
      " CASE WHEN state > ATTEMPT_ASSIGNED OR recalled THEN batch END) FROM attempt"                                       \
      " WHERE worker = ? AND sweep = ? AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_RUNNING")                       \
    X(SQL_SWEEP_NEEDS,                                                                                                     \
      "SELECT uid, cpus_milli, gpus_milli, memory_bytes, ran_jobs, ran_ms,"                                                \
      " nodes, batch, user, time_ms, has_grown, disk_bytes FROM sweep WHERE id = ?")                                       \
    X(SQL_SWEEP_REFUSE, "UPDATE sweep SET refused = ?2 WHERE id = ?1")                                                     \
    X(SQL_SWEEP_NAME, "SELECT name FROM sweep WHERE id = ?")                                                               \
    X(SQL_SWEEP_WORK, "SELECT p.name, s.user, s.work, s.live FROM sweep s JOIN project p"                                  \
                      " ON p.id = s.project WHERE s.id = ?")                                                               \
    /* the newest checkpoint that jobs of user ?3 left of replication ?2 of configuration ?1; only the */                  \
    /* last 100 jobs are searched, as there may be very many */                                                            \
    X(SQL_LEFT_CHECKPOINT,                                                                                                 \
      "SELECT p.no, j.name, a.no FROM param p LEFT JOIN (SELECT id, name, attempt, sweep,"                                 \
      " gone FROM job WHERE param = ?1 AND rep = ?2 AND state IN (JOB_IS_REUSED)"                                          \
      " ORDER BY id DESC LIMIT 100) j"                                                                                     \
      " ON j.gone = 0 AND (SELECT uid FROM sweep w WHERE w.id = j.sweep) = ?3"                                             \
      " LEFT JOIN attempt a ON a.id = j.attempt AND a.has_checkpoint <> 0"                                                 \
      " WHERE p.id = ?1 ORDER BY a.id IS NULL, j.id DESC LIMIT 1")                                                         \
    X(SQL_JOB_ORIGIN, "SELECT o.no FROM job j JOIN param p ON p.id = j.param"                                              \
                      " JOIN param o ON o.id = p.origin WHERE j.id = ?")                                                   \
    X(SQL_PARAM_SET_ORIGIN, "UPDATE param SET origin = ?2 WHERE id = ?1")                                                  \
    X(SQL_QUEUE_HEAD,                                                                                                      \
      "SELECT j.id, j.no, j.rep, j.name, j.attempts, p.no, p.digest, p.value, p.origin"                                    \
      " FROM job j JOIN param p ON p.id = j.param"                                                                         \
      " WHERE j.sweep = ? AND j.memory_bytes = ? AND j.time_ms = ?"                                                        \
      " AND j.queue_order IS NOT NULL ORDER BY j.queue_order LIMIT ?")                                                     \
    X(SQL_STARTED_COUNT,                                                                                                   \
      "SELECT count(*) FROM attempt WHERE job = ? AND started_at > 0"                                                      \
      " AND state <> ATTEMPT_RECALLED AND cause <> CAUSE_ENVIRONMENT") /* whose program was not begun */                   \
    X(SQL_ATTEMPT_INSERT, "INSERT INTO attempt(job, sweep, no, token, worker, state, assigned_at,"                         \
                          " batch) VALUES(?, ?, ?, ?, ?, ATTEMPT_ASSIGNED, ?, ?)")                                         \
    X(SQL_ATTEMPT_ASKS, "UPDATE attempt SET memory_bytes = ?2, time_ms = ?3 WHERE id = ?1")                                \
    X(SQL_ATTEMPT_LEADS, "UPDATE attempt SET batch = id WHERE id = ?")                                                     \
    X(SQL_JOB_ASSIGNED, "UPDATE job SET queue_order = NULL, attempts = ?2, attempt = ?3"                                   \
                        " WHERE id = ?1")                                                                                  \
    X(SQL_SWEEP_HANDED, "UPDATE sweep SET n_ready = n_ready - ?2, handed_at = ?3 WHERE id = ?1")                           \
    X(SQL_RECALL_OF_SWEEP,                                                                                                 \
      "UPDATE attempt SET recalled = 1 WHERE worker = ? AND sweep = ?"                                                     \
      " AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_STAGING RETURNING token")                                      \
    X(SQL_RECALL_OF_WORKER,                                                                                                \
      "UPDATE attempt SET recalled = 1 WHERE worker = ?"                                                                   \
      " AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_STAGING RETURNING token")                                      \
    X(SQL_RECALL_OF_USER,                                                                                                  \
      "UPDATE attempt SET recalled = 1 WHERE worker = ?1 AND state <= ATTEMPT_LAST_LIVE"                                   \
      " AND state <= ATTEMPT_STAGING AND sweep IN (SELECT id FROM sweep WHERE uid = ?2) RETURNING token")                  \
    X(SQL_WORKER_NODE, "SELECT node FROM worker WHERE id = ?")                                                             \
    X(SQL_UNSTARTED_OF_JOB, "SELECT worker, sweep, coalesce(batch, id) FROM attempt WHERE job = ?"                         \
                            " AND state <= ATTEMPT_STAGING")                                                               \
    X(SQL_RECALL_OF_PROCESS,                                                                                               \
      "UPDATE attempt SET recalled = 1 WHERE worker = ? AND sweep = ?"                                                     \
      " AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_STAGING AND coalesce(batch, id) = ?"                           \
      " RETURNING token")                                                                                                  \
    X(SQL_RECALL_SOME,                                                                                                     \
      "UPDATE attempt SET recalled = 1 WHERE worker = ?1 AND sweep = ?2 AND state <= ATTEMPT_LAST_LIVE"                    \
      " AND state = ATTEMPT_ASSIGNED AND coalesce(batch, id) IN (SELECT coalesce(batch, id) AS process"                    \
      " FROM attempt WHERE worker = ?1 AND sweep = ?2 AND memory_bytes = ?4 AND time_ms = ?5"                              \
      " AND state <= ATTEMPT_LAST_LIVE GROUP BY process"                                                                   \
      " HAVING max(state > ATTEMPT_ASSIGNED OR recalled) = 0 ORDER BY process DESC LIMIT ?3) RETURNING token")             \
    X(SQL_RECALL_UNWANTED,                                                                                                 \
      "UPDATE attempt SET recalled = 1 WHERE worker = ?1 AND state <= ATTEMPT_LAST_LIVE AND state <= ATTEMPT_STAGING"      \
      " AND coalesce(batch, id) IN (SELECT coalesce(a.batch, a.id) FROM attempt a"                                         \
      " JOIN sweep s ON s.id = a.sweep JOIN job j ON j.id = a.job JOIN worker w ON w.id = ?1"                              \
      " WHERE a.worker = ?1 AND a.state <= ATTEMPT_LAST_LIVE AND a.state <= ATTEMPT_STAGING"                               \
      " AND (s.state = SWEEP_PAUSED OR j.paused <> 0 OR j.hold IS NOT NULL OR w.drained <> 0"                              \
      " OR j.stop = STOP_RACED))"                                                                                          \
      " RETURNING token")                                                                                                  \
    X(SQL_DRAINABLE, "SELECT id, node, uid, user, drained FROM worker ORDER BY node, id")                                  \
    X(SQL_WORKER_DRAIN, "UPDATE worker SET drained = ?2 WHERE id = ?1")                                                    \
    X(SQL_WORKER_RUNNING,                                                                                                  \
      "SELECT count(*) FROM attempt WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE"                                       \
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
    /* facts about an attempt that has ended, for the guard of nodes (node_guard.h) */           \
    X(SQL_NODE_GUARD_END,                                                                        \
      "SELECT a.state, w.node, s.uid, a.sweep, j.param, a.job, a.no, a.cause, a.exit_code,"      \
      " a.signal, a.reason, a.started_at, a.ended_at FROM attempt a"                             \
      " JOIN worker w ON w.id = a.worker JOIN job j ON j.id = a.job"                             \
      " JOIN sweep s ON s.id = a.sweep WHERE a.id = ?")                                          \
    X(SQL_NODE_GUARD_RUNS,                                                                       \
      "SELECT 1 FROM attempt a JOIN worker w ON w.id = a.worker"                                 \
      " WHERE a.state <= ATTEMPT_LAST_LIVE AND a.state = ATTEMPT_RUNNING AND a.sweep = ?1"       \
      " AND w.node <> ?2 LIMIT 1")                                                               \
    X(SQL_NODE_GUARD_RAN, /* searches the 200 done jobs that changed last */                     \
      "SELECT 1 FROM (SELECT attempt FROM job WHERE sweep = ?1 AND state = JOB_DONE"             \
      " ORDER BY version DESC LIMIT 200) j JOIN attempt a ON a.id = j.attempt"                   \
      " JOIN worker w ON w.id = a.worker WHERE w.node <> ?2 LIMIT 1")                            \
    X(SQL_JOB_GIVE_BACK, "UPDATE job SET forgiven = max(forgiven, ?2) WHERE id = ?1")            \
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

/* ---- jobs that are stopped early ---- */

#define SQL_STOPS(X)                                                                           \
    X(SQL_STOP_SWEEP, "SELECT stop, metric, goal, state, stop_told, reps, reused"              \
                      " FROM sweep WHERE id = ?")                                              \
    X(SQL_STOP_SWEEPS, "SELECT id FROM sweep WHERE stop IS NOT NULL"                           \
                       " AND state IN (SWEEP_RUNNING, SWEEP_PAUSED)")                          \
    X(SQL_STOP_TOLD, "UPDATE sweep SET stop_told = ?2 WHERE id = ?1")                          \
    X(SQL_STOP_EVENTS, "SELECT seq, kind, job, config, rep, step, value FROM stop_event"       \
                       " WHERE sweep = ? AND seq > ? ORDER BY seq LIMIT ?")                    \
    X(SQL_STOP_EVENT_ADD, "INSERT INTO stop_event(sweep, seq, kind, job, config, rep, step,"   \
                          " value) VALUES(?, ?, ?, ?, ?, ?, ?, ?)")                            \
    X(SQL_STOP_EVENT_DROP, "DELETE FROM stop_event WHERE job = ? AND kind = ?")                \
    X(SQL_STOP_ENDS, "SELECT version, id, param, rep, state, attempt FROM job WHERE sweep = ?" \
                     " AND version > ? AND state IN (JOB_IS_OVER) ORDER BY version LIMIT ?")   \
    /* whether the job was stopped, may go on, and left a checkpoint */                        \
    X(SQL_STOP_MAY_RESUME,                                                                     \
      "SELECT 1 FROM job j WHERE id = ? AND state = JOB_STOPPED AND stop = STOP_DECIDED"       \
      " AND cancelled = 0 AND gone = 0 AND EXISTS(SELECT 1 FROM attempt a WHERE a.job = j.id"  \
      " AND a.has_checkpoint <> 0)")                                                           \
    X(SQL_STOP_JOB, "SELECT param, rep FROM job WHERE id = ?")                                 \
    X(SQL_STOP_RESUME, "UPDATE job SET stop = 0, forgiven = attempts, early = ?2"              \
                       " WHERE id = ?1")                                                       \
    X(SQL_STOP_SAY_RESUMED, "UPDATE measured SET said = NULL, resumed = ?2 WHERE job = ?1")    \
    X(SQL_STOP_READY, "SELECT n_ready, resumes = RESUMES_SOME AND ended_at = 0 FROM sweep"     \
                      " WHERE id = ?")                                                         \
    X(SQL_STOP_SETTLE, "UPDATE sweep SET resumes = ?2 WHERE id = ?1")                          \
    X(SQL_STOP_OVERRULED,                                                                      \
      "SELECT id, param, rep FROM job WHERE sweep = ? AND stop = 2 AND stop = STOP_OVERRULED"  \
      " LIMIT 1")                                                                              \
    X(SQL_STOP_OF_ATTEMPT, "SELECT a.job, a.worker, a.sweep, j.param, j.rep, j.state, j.stop," \
                           " a.state FROM attempt a JOIN job j ON j.id = a.job"                \
                           " WHERE a.token = ?")                                               \
    X(SQL_STOP_METRIC, "SELECT value, step, n FROM metric WHERE attempt = ? AND name = ?")     \
    X(SQL_STOP_LIVE, "SELECT a.token, a.worker FROM attempt a WHERE a.job = ?"                 \
                     " AND a.state <= ATTEMPT_LAST_LIVE")                                      \
    /* live attempts of a worker that is back, whose jobs are to be stopped */                 \
    X(SQL_STOP_LIVE_OF_WORKER,                                                                 \
      "SELECT a.token, m.said FROM attempt a JOIN job j ON j.id = a.job"                       \
      " LEFT JOIN measured m ON m.job = j.id"                                                  \
      " WHERE a.worker = ? AND a.state <= ATTEMPT_LAST_LIVE AND j.stop = STOP_DECIDED")        \
    X(SQL_JOB_SET_STOP, "UPDATE job SET stop = ?2 WHERE id = ?1")                              \
    /* configurations that the race dropped */                                                 \
    X(SQL_RACED, "SELECT DISTINCT param FROM job WHERE sweep = ? AND stop = STOP_RACED")       \
    X(SQL_RACE_REUSED, "SELECT j.param, j.rep, j.attempt, r.job FROM reused r JOIN job j"      \
                       " ON j.id = r.job WHERE r.sweep = ? AND r.job > ?"                      \
                       " AND j.state = JOB_DONE ORDER BY r.job LIMIT ?")                       \
    X(SQL_RACE_DROP_NEXT,                                                                      \
      "SELECT id FROM job j WHERE param = ?2 AND rep >= ?3 AND ended_at = 0 AND sweep = ?1"    \
      " AND stop = 0 AND NOT EXISTS(SELECT 1 FROM attempt a WHERE a.job = j.id"                \
      " AND a.state <= ATTEMPT_LAST_LIVE AND a.state > ATTEMPT_STAGING) LIMIT 1")              \
    X(SQL_RACE_TAKE_NEXT, "SELECT id FROM job WHERE param = ?2 AND sweep = ?1"                 \
                          " AND (state = JOB_STOPPED OR ended_at = 0) AND stop = STOP_RACED"   \
                          " LIMIT 1")                                                          \
    X(SQL_RACE_SAY, "INSERT OR REPLACE INTO measured(job, step, value, said)"                  \
                    " VALUES(?1, -1, NULL, ?2)")                                               \
    X(SQL_STOP_SAY, "INSERT INTO measured(job, step, value, said) VALUES(?1, -1, NULL, ?2)"    \
                    " ON CONFLICT(job) DO UPDATE SET said = excluded.said")                    \
    X(SQL_RACE_UNSAY, "DELETE FROM measured WHERE job = ?")                                    \
    X(SQL_MEASURED_SET,                                                                        \
      "INSERT INTO measured(job, step, value) VALUES(?1, ?2, ?3)"                              \
      " ON CONFLICT(job) DO UPDATE SET step = excluded.step, value = excluded.value"           \
      " WHERE excluded.step >= step")                                                          \
    X(SQL_MEASURED_SAY, "UPDATE measured SET said = ?2, said_step = ?3 WHERE job = ?1")        \
    X(SQL_MEASURED_GET, "SELECT m.step, m.value, m.said, j.stop, m.resumed FROM measured m"    \
                        " JOIN job j ON j.id = m.job WHERE m.job = ?")                         \
    X(SQL_CLEAR_STOP_EVENTS, "DELETE FROM stop_event WHERE (sweep, seq) IN"                    \
                             " (SELECT sweep, seq FROM stop_event WHERE sweep = ? LIMIT ?)")

/* ---- advisors ---- */

#define SQL_ADVICE(X)                                                                                                   \
    X(SQL_SWEEP_SEARCH, "UPDATE sweep SET search = ?2, advised = SWEEP_ADVISED WHERE id = ?1")                          \
    X(SQL_ADVISED_OF_USER,                                                                                              \
      "SELECT count(*) FROM sweep WHERE uid = ? AND advised IN (SWEEP_ADVISED, SWEEP_ADVICE_FAILED)")                   \
    X(SQL_STAND_IN_ADD, "INSERT INTO stand_in(sweep, no, value) VALUES(?, ?, ?)")                                       \
    X(SQL_STAND_IN_GET, "SELECT value FROM stand_in WHERE sweep = ? AND no = ?")                                        \
    X(SQL_STAND_INS, "SELECT count(*) FROM stand_in WHERE sweep = ?")                                                   \
    X(SQL_ADVISED_SWEEPS,                                                                                               \
      "SELECT id FROM sweep WHERE advised IN (SWEEP_ADVISED, SWEEP_ADVICE_FAILED)")                                     \
    X(SQL_ADVISED_GET,                                                                                                  \
      "SELECT state, advised, search, told, metric, goal, reps, project, stamp, work_digest, reuse,"                    \
      " jobs, spent_ms, gpus_milli, uid, advisor, (SELECT name FROM project p"                                          \
      " WHERE p.id = sweep.project), stop IS NOT NULL FROM sweep WHERE id = ? AND search IS NOT NULL")                  \
    X(SQL_SWEEP_LIVE, "SELECT live FROM sweep WHERE id = ?")                                                            \
    X(SQL_SWEEP_SET_LIVE, "UPDATE sweep SET live = ?2 WHERE id = ?1")                                                   \
    X(SQL_ADVICE_ADD, "INSERT INTO advice(sweep, seq, dir, body) VALUES(?, ?, ?, ?)")                                   \
    X(SQL_ADVICE_AFTER,                                                                                                 \
      "SELECT seq, dir, body FROM advice WHERE sweep = ? AND seq > ? ORDER BY seq LIMIT ?")                             \
    X(SQL_ADVICE_LINE, "SELECT body FROM advice WHERE sweep = ? AND seq = ?")                                           \
    X(SQL_ADVICE_SAY_LESS, "UPDATE advice SET body = ?3 WHERE sweep = ?1 AND seq = ?2")                                 \
    X(SQL_ADVISED_TOLD, "UPDATE sweep SET told = ?2 WHERE id = ?1")                                                     \
    X(SQL_ADVISED_SAY, "UPDATE sweep SET advisor = ?2, version = ?3 WHERE id = ?1")                                     \
    X(SQL_ADVISED_END,                                                                                                  \
      "UPDATE sweep SET advised = SWEEP_ADVICE_ENDED WHERE id = ? AND advised IN (SWEEP_ADVISED, SWEEP_ADVICE_FAILED)") \
    X(SQL_ADVISED_SET, "UPDATE sweep SET advised = ?2 WHERE id = ?1")                                                   \
    X(SQL_ADVISED_GREW,                                                                                                 \
      "UPDATE sweep SET configs = configs + ?2, jobs = ?3, reused = reused + ?4,"                                       \
      " n_queued = n_queued + ?5, n_ready = n_ready + ?5 WHERE id = ?1")                                                \
    X(SQL_POINT_ADD, "INSERT INTO point(sweep, no, param, asked, by) VALUES(?, ?, ?, ?, ?)")                            \
    X(SQL_POINTS_OF_PARAM, "SELECT no FROM point WHERE sweep = ? AND param = ? ORDER BY no")                            \
    X(SQL_POINT_PARAM, "SELECT param, resumed FROM point WHERE sweep = ? AND no = ?")                                   \
    X(SQL_POINTS_RESUMED, "UPDATE point SET resumed = ?3 WHERE sweep = ?1 AND param = ?2")                              \
    X(SQL_POINT_BY, "SELECT t.no, t.by, t.asked FROM point t JOIN job j ON j.param = t.param"                           \
                    " AND j.sweep = t.sweep WHERE j.id = ? ORDER BY t.no LIMIT 1")                                      \
    X(SQL_POINTS_RUNNING, "SELECT DISTINCT t.no FROM point t JOIN job j ON j.sweep = t.sweep"                           \
                          " AND j.param = t.param WHERE t.sweep = ?"                                                    \
                          " AND j.state NOT IN (JOB_IS_OVER) ORDER BY t.no LIMIT ?")                                    \
    /* jobs whose ends the advisor was not told yet */                                                                  \
    X(SQL_ADVISED_ENDED,                                                                                                \
      "SELECT j.id, j.version, j.state, j.rep, j.param, p.value, a.cause, a.started_at,"                                \
      " a.ended_at, m.value, COALESCE(m.step, NULLIF(live.step, -1)), j.reason, a.reason,"                              \
      " EXISTS(SELECT 1 FROM attempt c WHERE c.job = j.id AND c.has_checkpoint <> 0)"                                   \
      " FROM job j JOIN param p ON p.id = j.param LEFT JOIN measured live"                                              \
      " ON live.job = j.id AND j.state = JOB_STOPPED"                                                                   \
      " LEFT JOIN attempt a ON a.id = j.attempt"                                                                        \
      " LEFT JOIN metric m ON m.attempt = a.id AND m.name = ?3"                                                         \
      " WHERE j.sweep = ?1 AND j.version > ?2 AND j.state IN (JOB_IS_OVER)"                                             \
      " ORDER BY j.version LIMIT ?4")                                                                                   \
    /* ended jobs of configuration ?2, those that the sweep reuses included */                                          \
    X(SQL_ADVISED_DONE,                                                                                                 \
      "SELECT j.id, j.version, j.state, j.rep, j.param, p.value, a.cause, a.started_at,"                                \
      " a.ended_at, m.value, COALESCE(m.step, NULLIF(live.step, -1)), j.reason, a.reason,"                              \
      " EXISTS(SELECT 1 FROM attempt c WHERE c.job = j.id AND c.has_checkpoint <> 0)"                                   \
      " FROM job j JOIN param p ON p.id = j.param LEFT JOIN measured live"                                              \
      " ON live.job = j.id AND j.state = JOB_STOPPED"                                                                   \
      " LEFT JOIN attempt a ON a.id = j.attempt"                                                                        \
      " LEFT JOIN metric m ON m.attempt = a.id AND m.name = ?3 WHERE j.param = ?2"                                      \
      " AND j.state IN (JOB_IS_OVER) AND (j.sweep = ?1"                                                                 \
      " OR j.id IN (SELECT job FROM reused WHERE sweep = ?1)) ORDER BY j.rep")                                          \
    /* a job of a point that is neither over nor stopped, and how many jobs share a process */                          \
    X(SQL_LIVE_OF_PARAM,                                                                                                \
      "SELECT j.id, s.batch FROM job j JOIN sweep s ON s.id = j.sweep"                                                  \
      " WHERE j.sweep = ? AND j.param = ? AND j.stop = 0"                                                               \
      " AND j.ended_at = 0 AND j.cancelled = 0 AND j.state NOT IN (JOB_IS_OVER) LIMIT 1")                               \
    /* how many there are, and a replication that cannot go on; -1: each can */                                         \
    X(SQL_STOPPED_COUNT,                                                                                                \
      "SELECT count(*), coalesce(max(iif(stop = STOP_DECIDED AND cancelled = 0 AND gone = 0"                            \
      " AND EXISTS(SELECT 1 FROM attempt a WHERE a.job = j.id AND a.has_checkpoint <> 0), -1, rep)), -1)"               \
      " FROM job j WHERE sweep = ? AND param = ? AND state = JOB_STOPPED")                                              \
    /* those from a replication on */                                                                                   \
    X(SQL_STOPPED_OF_PARAM, "SELECT id, rep FROM job WHERE sweep = ? AND param = ? AND rep >= ?"                        \
                            " AND state = JOB_STOPPED ORDER BY rep LIMIT 1")

/* ---- notifications ---- */

#define SQL_NOTICES(X)                                                                              \
    X(SQL_SWEEP_NOTIFY, "UPDATE sweep SET notify = ?2, notify_when = ?3 WHERE id = ?1")             \
    X(SQL_STALLABLE, "SELECT id FROM sweep WHERE state IN (SWEEP_RUNNING, SWEEP_PAUSED)"            \
                     " AND notify_when & NOTIFY_WHEN_STALLED")                                      \
    X(SQL_STALL_GET,                                                                                \
      "SELECT stalled_at, notify, n_ready, n_held, n_staging + n_running + n_publishing + n_queued" \
      " - n_ready, state = SWEEP_PAUSED, advised, EXISTS (SELECT 1 FROM sweep_pool x JOIN pilot p"  \
      " ON p.pool = x.pool WHERE x.sweep = sweep.id AND p.ended_at = 0) FROM sweep WHERE id = ?")   \
    X(SQL_STALL_SET, "UPDATE sweep SET stalled_at = ?2 WHERE id = ?1")                              \
    X(SQL_NOTICES_DUE,                                                                              \
      "SELECT id FROM notice WHERE next_at > 0 AND next_at <= ? ORDER BY next_at LIMIT ?")          \
    X(SQL_NOTICE_NEXT, "SELECT min(next_at) FROM notice WHERE next_at > 0")                         \
    X(SQL_NOTICE_GET,                                                                               \
      "SELECT n.sweep, n.event, n.state, n.tries, n.token, n.worker, s.notify, s.name, n.n_jobs,"   \
      " n.n_done, n.n_failed, n.n_stopped, n.n_cancelled, n.n_held, n.reason,"                      \
      " p.name FROM notice n JOIN sweep s ON s.id = n.sweep JOIN project p ON p.id = s.project"     \
      " WHERE n.id = ? AND n.next_at > 0")                                                          \
    X(SQL_NOTICE_OF_TOKEN, "SELECT id FROM notice WHERE token = ? AND worker = ? AND next_at > 0")  \
    X(SQL_NOTICES_OF_WORKER,                                                                        \
      "SELECT id, token FROM notice WHERE token IS NOT NULL AND worker = ?")                        \
    X(SQL_NOTICE_HAND, "UPDATE notice SET token = ?2, worker = ?3, next_at = ?4 WHERE id = ?1")     \
    X(SQL_NOTICE_AGAIN, "UPDATE notice SET token = NULL, next_at = ?2, tries = ?3, reason = ?4"     \
                        " WHERE id = ?1")                                                           \
    X(SQL_NOTICE_DONE, "UPDATE notice SET token = NULL, next_at = 0, delivered_at = ?2,"            \
                       " reason = NULL WHERE id = ?1")

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
    " AND (j.paused <> 0 OR j.hold IS NOT NULL) AND j.state = JOB_HELD ORDER BY j.no LIMIT 1)"      \
    " WHEN s.state = SWEEP_PAUSED AND s.advised = SWEEP_ADVICE_FAILED THEN s.advisor END,"          \
    " s.slots, s.advisor, (SELECT n.reason FROM notice n WHERE n.sweep = s.id"                      \
    " AND n.delivered_at = 0 AND n.reason IS NOT NULL ORDER BY n.id DESC LIMIT 1), JOB_COUNTERS"    \
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
      " (JOB_FAILED, ATTEMPT_FAILED), (JOB_CANCELLED, ATTEMPT_CANCELLED), (JOB_STOPPED, ATTEMPT_STOPPED))"              \
      " THEN a.ended_at ELSE j.ended_at END,"                                                                           \
      " q.value, a.no, a.state, a.exit_code, a.signal, a.reason, a.started_at, w.node, a.cause,"                        \
      " j.paused, w.partition, (SELECT o.sweep || '.' || o.no FROM job o WHERE o.id = j.follows),"                      \
      " s.state, (SELECT h.sentence FROM hold h WHERE h.id = j.hold),"                                                  \
      " m.said, a.max_rss_bytes, a.cpu_ms,"                                                                             \
      " iif(j.memory_bytes > 0, j.memory_bytes, s.memory_bytes), iif(j.time_ms > 0, j.time_ms, s.time_ms),"             \
      " a.gpu_memory_bytes, a.gpu_percent, m.resumed, a.gpu_ids"                                                        \
      " FROM job j JOIN param q ON q.id = j.param JOIN sweep s ON s.id = j.sweep"                                       \
      " LEFT JOIN attempt a ON a.id = j.attempt LEFT JOIN measured m ON m.job = j.id"                                   \
      " LEFT JOIN worker w ON w.id = a.worker WHERE j.id = ?")                                                          \
    X(SQL_JOB_RESULT,                                                                                                   \
      "SELECT j.sweep, j.no, q.no, j.rep, j.state, q.value, j.attempt, j.name,"                                         \
      " j.reason, a.reason, a.no, a.state, a.max_rss_bytes, a.cpu_ms,"                                                  \
      " a.gpu_memory_bytes, a.gpu_percent FROM job j JOIN param q ON q.id = j.param"                                    \
      " LEFT JOIN attempt a ON a.id = j.attempt WHERE j.id = ?")                                                        \
    X(SQL_JOB_METRICS, "SELECT name, value, step, least, most, n FROM metric WHERE attempt = ?"                         \
                       " ORDER BY name LIMIT ?")                                                                        \
    X(SQL_REUSED_PAGE, "SELECT job FROM reused WHERE sweep = ? AND job > ? ORDER BY job LIMIT ?")                       \
    X(SQL_CHANGED_JOBS, "SELECT id, version FROM job WHERE sweep = ? AND version > ?"                                   \
                        " ORDER BY version LIMIT ?")                                                                    \
    X(SQL_CHANGED_JOB, "SELECT id, version FROM job WHERE sweep = ? AND no = ? AND version > ?")                        \
    X(SQL_JOB_NEWEST, "SELECT a.token, a.worker, a.state FROM job j JOIN attempt a"                                     \
                      " ON a.id = j.attempt WHERE j.sweep = ? AND j.no = ?")                                            \
    X(SQL_JOB_PLACE,                                                                                                    \
      "SELECT j.state, a.token, a.worker, a.no, w.node FROM job j LEFT JOIN attempt a"                                  \
      " ON a.id = j.attempt LEFT JOIN worker w ON w.id = a.worker WHERE j.sweep = ? AND j.no = ?")                      \
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
    X(SQL_USAGE_PAGE,                                                                                                   \
      "SELECT s.id, p.name, s.name, coalesce(s.known_as, s.user), s.submitted_at,"                                      \
      " s.spent_attempts, s.spent_ms, s.spent_cpu_ms, s.cpus_milli, s.gpus_milli,"                                      \
      " s.n_running, s.pilot_cpu_ms, s.pilot_gpu_ms, s.asked_gib_ms, s.used_gib_ms,"                                    \
      " s.spent_limit_ms, s.peak_rss_bytes, s.longest_ms,"                                                              \
      " s.peak_gpu_bytes, s.seen_gpu_ms, s.busy_gpu_ms"                                                                 \
      " FROM sweep s JOIN project p ON p.id = s.project"                                                                \
      " WHERE s.id < ? AND s.submitted_at >= ? AND s.state > SWEEP_OPEN"                                                \
      " ORDER BY s.id DESC LIMIT ?")                                                                                    \
    X(SQL_USAGE_RUNNING,                                                                                                \
      "SELECT coalesce(sum(ms), 0) FROM (SELECT max(0, ?2 - max(started_at))"                                           \
      " AS ms FROM attempt WHERE sweep = ?1 AND state <= ATTEMPT_LAST_LIVE AND state = ATTEMPT_RUNNING"                 \
      " AND started_at > 0 GROUP BY coalesce(batch, id))")                                                              \
    X(SQL_USAGE_PILOTS,                                                                                                 \
      "SELECT coalesce(sum(cpus * max(0, ?2 - counted_at)), 0), coalesce(sum(gpus * max(0, ?2 - counted_at)), 0)"       \
      " FROM pilot WHERE sweep = ?1 AND ended_at = 0 AND counted_at > 0")                                               \
    X(SQL_PROJECT_RAN, "SELECT coalesce(sum(ran_jobs), 0), coalesce(sum(ran_ms), 0),"                                   \
                       " coalesce(max(peak_rss_bytes), 0), coalesce(max(longest_ms), 0)"                                \
                       " FROM sweep WHERE project = ?")                                                                 \
    X(SQL_DONE_REPS,                                                                                                    \
      "SELECT count(DISTINCT rep) FROM job WHERE state IN (JOB_IS_REUSED) AND param = ?1"                               \
      " AND rep >= ?2 AND rep < ?3 AND gone = 0"                                                                        \
      " AND (?4 IS NULL OR work_digest = ?4)")                                                                          \
    X(SQL_LIVE_REPS,                                                                                                    \
      "SELECT count(DISTINCT j.rep), coalesce(min(j.sweep), 0), coalesce(max(j.sweep), 0) FROM job j"                   \
      " JOIN sweep s ON s.id = j.sweep WHERE j.param = ?1 AND j.rep >= ?2 AND j.rep < ?3"                               \
      " AND j.ended_at = 0 AND j.state <> JOB_HELD AND j.follows IS NULL"                                               \
      " AND s.state <> SWEEP_OPEN"                                                                                      \
      " AND (?4 IS NULL OR j.work_digest = ?4) AND NOT EXISTS(SELECT 1 FROM job d"                                      \
      " WHERE d.state IN (JOB_IS_REUSED) AND d.gone = 0 AND d.param = ?1 AND d.rep = j.rep"                             \
      " AND (?4 IS NULL OR d.work_digest = ?4))")                                                                       \
    X(SQL_PROJECT_UNFINISHED,                                                                                           \
      "SELECT count(*) FROM sweep WHERE state IN (SWEEP_RUNNING, SWEEP_PAUSED)"                                         \
      " AND project = ?")                                                                                               \
    X(SQL_JOB_BY_NO, "SELECT id, state, paused FROM job WHERE sweep = ? AND no = ?")                                    \
    X(SQL_WHY_SWEEP, "SELECT uid, state, cpus_milli, gpus_milli, memory_bytes, nodes, user,"                            \
                     " priority, refused, time_ms, batch, ran_jobs, ran_ms, disk_bytes FROM sweep"                      \
                     " WHERE id = ?")                                                                                   \
    X(SQL_WHY_EARLIER,                                                                                                  \
      "SELECT a.no, w.node, a.reason, a.state, a.cause FROM attempt a LEFT JOIN worker w"                               \
      " ON w.id = a.worker WHERE a.job = ? AND a.no <> ? AND (a.state IN (ATTEMPT_FAILED,"                              \
      " ATTEMPT_LOST) OR (a.state = ATTEMPT_RECALLED AND a.reason IS NOT NULL))"                                        \
      " ORDER BY a.no DESC LIMIT ?")                                                                                    \
    /* number of jobs before this one in the queue of those that ask for the same; 10001: more */                       \
    X(SQL_WHY_BEFORE, "SELECT count(*) FROM (SELECT 1 FROM job j JOIN job b ON b.sweep = j.sweep"                       \
                      " AND b.memory_bytes = j.memory_bytes AND b.time_ms = j.time_ms"                                  \
                      " AND b.queue_order < j.queue_order AND b.queue_order IS NOT NULL"                                \
                      " WHERE j.sweep = ?1 AND j.no = ?2 LIMIT 10001)")                                                 \
    X(SQL_WHY_SLOTS, "SELECT slots FROM sweep WHERE id = ?")                                                            \
    X(SQL_WHY_ABOVE, "SELECT coalesce(sum(n_ready), 0) FROM sweep WHERE state = SWEEP_RUNNING"                          \
                     " AND n_ready > 0 AND uid = ? AND priority > ?")                                                   \
    X(SQL_WHY_WORKERS, "SELECT id, node, user, drained, cpus_milli, gpus * 1000, memory_bytes"                          \
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
      " coalesce(sum(iif(a.memory_bytes > 0, a.memory_bytes, s.memory_bytes)), 0), coalesce(sum(s.disk_bytes), 0)"      \
      " FROM (SELECT DISTINCT sweep AS sweep, coalesce(batch, id), memory_bytes FROM attempt"                           \
      " WHERE worker = ? AND state <= ATTEMPT_LAST_LIVE"                                                                \
      " AND state <= ATTEMPT_RUNNING) a JOIN sweep s ON s.id = a.sweep")

/* ---- removing jobs and sweeps for good; labels ---- */

#define SQL_REMOVAL(X)                                                                         \
    X(SQL_REMOVAL_LOOK, "SELECT sweep, no, state, EXISTS(SELECT 1 FROM attempt a"              \
                        " WHERE a.job = job.id AND a.state <= ATTEMPT_LAST_LIVE) FROM job"     \
                        " WHERE id = ?")                                                       \
    X(SQL_REMOVE_METRICS, "DELETE FROM metric WHERE attempt IN"                                \
                          " (SELECT id FROM attempt WHERE job = ?)")                           \
    X(SQL_REMOVE_MEASURED, "DELETE FROM measured WHERE job = ?")                               \
    X(SQL_REMOVE_ATTEMPTS, "DELETE FROM attempt WHERE job = ?")                                \
    X(SQL_REMOVE_FROM_OTHERS, "UPDATE sweep SET reused = reused - 1 WHERE id IN"               \
                              " (SELECT sweep FROM reused WHERE job = ?)")                     \
    X(SQL_REMOVE_REUSED, "DELETE FROM reused WHERE job = ?")                                   \
    X(SQL_REMOVE_JOB, "DELETE FROM job WHERE id = ?")                                          \
    X(SQL_LABEL_GET, "SELECT tags FROM sweep WHERE id = ?")                                    \
    X(SQL_LABEL_SET, "UPDATE sweep SET name = CASE WHEN ?2 IS NULL THEN name ELSE"             \
                     " nullif(?2, '') END, note = CASE WHEN ?3 IS NULL THEN note ELSE"         \
                     " nullif(?3, '') END, tags = nullif(?4, ''), version = ?5 WHERE id = ?1") \
    X(SQL_REMOVE_SWEEP,                                                                        \
      "UPDATE sweep SET removed_at = ?2, version = ?3, work = zeroblob(0),"                    \
      " nodes = NULL, pools = NULL, retry = NULL, stop = NULL, live = NULL, search = NULL"     \
      " WHERE id = ?1")                                                                        \
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
    " p.worker, p.created_at, q.uid, q.user, q.pool, p.started_at, p.sweep,"                \
    " p.grown_memory_bytes, p.grown_time_ms"                                                \
    " FROM pilot p JOIN pool q ON q.id = p.pool"

#define SQL_PILOTS(X)                                                                                                  \
    X(SQL_POOL_TAKE, "INSERT INTO pool(uid, user, pool) VALUES(?1, ?2, ?3)"                                            \
                     " ON CONFLICT(uid, pool) DO UPDATE SET user = excluded.user RETURNING id")                        \
    X(SQL_POOL_TRY_AGAIN, "UPDATE sweep_pool SET refused = NULL WHERE pool = ?"                                        \
                          " AND refused IS NOT NULL")                                                                  \
    X(SQL_POOL_TRY_GROWN, "UPDATE sweep_pool SET grown_refused = NULL WHERE pool = ?"                                  \
                          " AND grown_refused IS NOT NULL")                                                            \
    X(SQL_POOL_GET, "SELECT user, pool FROM pool WHERE id = ?")                                                        \
    /* refuses pilots for jobs of the sweep that grew as far as this, or further */                                    \
    X(SQL_POOL_REFUSE_GROWN,                                                                                           \
      "UPDATE sweep_pool SET grown_refused = ?3, grown_memory_bytes = ?4, grown_time_ms = ?5"                          \
      " WHERE pool = ?1 AND sweep = ?2 RETURNING sweep")                                                               \
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
      "SELECT q.id, q.uid, q.user, q.pool, s.id, j.name, iif(s.slots > 0, min(s.n_ready, s.batch * max(0, s.slots"     \
      " - (SELECT count(DISTINCT coalesce(a.batch, a.id)) FROM attempt a WHERE a.sweep = s.id"                         \
      " AND a.state <= ATTEMPT_LAST_LIVE AND a.state <= ATTEMPT_RUNNING))), s.n_ready) AS n, s.batch, s.cpus_milli,"   \
      " s.gpus_milli, s.memory_bytes, s.time_ms, s.ran_jobs, s.ran_ms,"                                                \
      " coalesce((SELECT min(a.started_at) FROM attempt a JOIN worker w ON w.id = a.worker"                            \
      " WHERE a.sweep = s.id AND a.state <= ATTEMPT_LAST_LIVE AND a.state = ATTEMPT_RUNNING AND a.started_at > 0), 0)" \
      ", s.n_ready, s.has_grown, x.grown_refused IS NOT NULL, x.grown_memory_bytes, x.grown_time_ms"                   \
      " FROM sweep s JOIN sweep_pool x ON x.sweep = s.id JOIN pool q ON q.id = x.pool"                                 \
      " JOIN project j ON j.id = s.project WHERE s.state = SWEEP_RUNNING AND s.n_ready > 0 AND n > 0"                  \
      " AND s.refused IS NULL AND x.refused IS NULL ORDER BY q.id, s.priority DESC, s.id")                             \
    X(SQL_POOL_RETURNING, "SELECT count(*) FROM attempt WHERE worker = ? AND sweep = ?"                                \
                          " AND memory_bytes = ? AND time_ms = ?"                                                      \
                          " AND state <= ATTEMPT_LAST_LIVE AND state < ATTEMPT_PUBLISHING")                            \
    X(SQL_WHY_POOLS, "SELECT q.id, q.pool, x.refused, q.uid, q.user, x.grown_refused,"                                 \
                     " x.grown_memory_bytes, x.grown_time_ms FROM sweep_pool x"                                        \
                     " JOIN pool q ON q.id = x.pool WHERE x.sweep = ? ORDER BY q.id")                                  \
    X(SQL_WHY_PILOTS, "SELECT slurm_id, words, count(*) FROM pilot WHERE pool = ?"                                     \
                      " AND ended_at = 0 AND worker = 0 GROUP BY slurm_id, words"                                      \
                      " ORDER BY slurm_id LIMIT 10")                                                                   \
    X(SQL_PILOT_ADD,                                                                                                   \
      "INSERT INTO pilot(pool, sweep, token, task, tasks, name, comment, project, cpus, gpus,"                         \
      " memory_bytes, time_ms, phase, created_at, grown_memory_bytes, grown_time_ms)"                                  \
      " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")                                                       \
    X(SQL_PILOTS_LIVE, "SELECT " PILOT_COLUMNS " WHERE p.ended_at = 0 ORDER BY p.id")                                  \
    X(SQL_PILOTS_COUNT, "SELECT coalesce(sum(worker = 0), 0), coalesce(sum(worker <> 0), 0)"                           \
                        " FROM pilot WHERE ended_at = 0 AND (asked <> 0 OR worker <> 0)")                              \
    X(SQL_PILOT_BY_TOKEN, "SELECT " PILOT_COLUMNS " WHERE p.token = ? AND p.task = ?")                                 \
    X(SQL_PILOT_OF_WORKER, "SELECT " PILOT_COLUMNS " WHERE p.worker = ? AND p.ended_at = 0")                           \
    X(SQL_PILOTS_ASKED, "UPDATE pilot SET asked = 1 WHERE token = ?")                                                  \
    X(SQL_PILOTS_SUBMITTED, "UPDATE pilot SET slurm_id = ?2 WHERE token = ?1")                                         \
    X(SQL_PILOTS_DROP, "DELETE FROM pilot WHERE token = ? AND slurm_id = 0 AND worker = 0")                            \
    X(SQL_PILOT_SEEN, "UPDATE pilot SET phase = ?2, words = ?3, submitted_s = ?4 WHERE id = ?1")                       \
    X(SQL_PILOT_WAITS_AGAIN,                                                                                           \
      "UPDATE pilot SET worker = 0, started_at = 0, counted_at = 0 WHERE id = ?")                                      \
    X(SQL_PILOT_PAIR, "UPDATE pilot SET worker = ?2, phase = ?3, words = NULL, ended_at = 0,"                          \
                      " slurm_id = CASE WHEN slurm_id = 0 THEN ?4 ELSE slurm_id END,"                                  \
                      " started_at = CASE WHEN started_at = 0 THEN ?5 ELSE started_at END,"                            \
                      " counted_at = CASE WHEN counted_at = 0 THEN ?5 ELSE counted_at END"                             \
                      " WHERE id = ?1")                                                                                \
    X(SQL_WORKER_PARTITION, "UPDATE worker SET partition = ?2 WHERE id = ?1")                                          \
    X(SQL_PILOT_END, "UPDATE pilot SET phase = ?2, words = ?3, ended_at = ?4 WHERE id = ?1"                            \
                     " AND ended_at = 0")                                                                              \
    X(SQL_PILOT_SPENT,                                                                                                 \
      "UPDATE sweep SET pilot_cpu_ms = pilot_cpu_ms + p.cpus * max(0, ?2 - p.counted_at),"                             \
      " pilot_gpu_ms = pilot_gpu_ms + p.gpus * max(0, ?2 - p.counted_at) FROM pilot p"                                 \
      " WHERE p.id = ?1 AND p.counted_at > 0 AND sweep.id = p.sweep")                                                  \
    X(SQL_PILOT_COUNTED, "UPDATE pilot SET counted_at = ?2 WHERE id = ?1 AND counted_at > 0")                          \
    X(SQL_PILOTS_FORGET, "DELETE FROM pilot WHERE ended_at > 0 AND ended_at < ?")                                      \
    X(SQL_PILOTS_WAITING,                                                                                              \
      "SELECT q.pool, q.user, p.slurm_id, p.words, count(*) FROM pilot p JOIN pool q ON q.id = p.pool"                 \
      " WHERE p.ended_at = 0 AND p.worker = 0 AND (?1 IS NULL OR q.uid = ?1)"                                          \
      " GROUP BY p.pool, p.slurm_id, p.words ORDER BY p.pool, p.slurm_id LIMIT ?2")

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

#define SQL_ALL(X)  \
    SQL_SUBMIT(X)   \
    SQL_ATTEMPTS(X) \
    SQL_HOLDS(X)    \
    SQL_STOPS(X)    \
    SQL_ADVICE(X) SQL_NOTICES(X) SQL_QUERY(X) SQL_REMOVAL(X) SQL_DATA(X) SQL_PILOTS(X) SQL_TURN(X)

enum sql_name {
#define X(name, text) name,
    SQL_ALL(X)
#undef X
        SQL_COUNT
};

#endif
