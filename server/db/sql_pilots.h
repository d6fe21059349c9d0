/* SPDX-License-Identifier: MIT */
/*
 * sql_pilots.h - statements about pools, and the pilots in them
 */
#ifndef LUDWIG_SERVER_DB_SQL_PILOTS_H
#define LUDWIG_SERVER_DB_SQL_PILOTS_H

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
    X(SQL_POOL_ANY, "SELECT 1 FROM pool LIMIT 1")                                                                      \
    /* of that sweep, and of all whose jobs are like its own */                                                        \
    X(SQL_POOL_REFUSE,                                                                                                 \
      "UPDATE sweep_pool SET refused = ?3 WHERE pool = ?1 AND sweep IN"                                                \
      " (SELECT s.id FROM sweep s JOIN sweep r ON r.id = ?2"                                                           \
      " WHERE s.state IN (SWEEP_RUNNING, SWEEP_PAUSED) AND s.cpus_milli = r.cpus_milli"                                \
      " AND s.gpus_milli = r.gpus_milli AND s.memory_bytes = r.memory_bytes"                                           \
      " AND s.time_ms = r.time_ms) RETURNING sweep")                                                                   \
    /* what waits for pilots; the last column: since when its oldest one runs */                                       \
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

#endif
