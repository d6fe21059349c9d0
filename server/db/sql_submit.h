/* SPDX-License-Identifier: MIT */
/*
 * sql_submit.h - statements of a submit
 */
#ifndef LUDWIG_SERVER_DB_SQL_SUBMIT_H
#define LUDWIG_SERVER_DB_SQL_SUBMIT_H

#define SQL_SUBMIT(X)                                                                                   \
    X(SQL_PROJECT_GET, "SELECT id, uid, user FROM project WHERE name = ?")                              \
    X(SQL_PROJECT_ADD, "INSERT INTO project(name, uid, user) VALUES(?, ?, ?)")                          \
    X(SQL_PROJECT_PARAMS, "SELECT params FROM project WHERE id = ?")                                    \
    X(SQL_PROJECT_SET_PARAMS, "UPDATE project SET params = ?2 WHERE id = ?1")                           \
    X(SQL_OPEN_COUNT, "SELECT count(*) FROM sweep WHERE state = SWEEP_OPEN AND opened_by = ?")          \
    X(SQL_OPEN_BEGUN,                                                                                   \
      "SELECT id FROM sweep WHERE state = SWEEP_OPEN AND opened_by = ? AND begin_id = ?")               \
    X(SQL_OPEN_OF_CONN, "SELECT id FROM sweep WHERE state = SWEEP_OPEN AND opened_by = ?")              \
    X(SQL_OPEN_ALL, "SELECT id FROM sweep WHERE state = SWEEP_OPEN")                                    \
    X(SQL_SWEEP_ADD,                                                                                    \
      "INSERT INTO sweep(project, uid, user, name, state, priority, reps, reuse, nodes, work,"          \
      " work_digest, cpus_milli, gpus_milli, memory_bytes, time_ms, batch, pools, retry, metric,"       \
      " goal, opened_by, begin_id, chain, stamp, submitted_at, known_as)"                               \
      " VALUES(?, ?, ?, ?, SWEEP_OPEN, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") \
    X(SQL_OPEN_GET, "SELECT project, reps, reuse, work_digest, stamp, chain, chunks, sent,"             \
                    " configs, jobs, reused FROM sweep"                                                 \
                    " WHERE id = ? AND state = SWEEP_OPEN AND opened_by = ?")                           \
    X(SQL_OPEN_TAKEN, "UPDATE sweep SET chain = ?2, chunks = chunks + 1, sent = ?3, configs = ?4,"      \
                      " jobs = ?5, reused = ?6, n_queued = ?5, n_ready = ?5 WHERE id = ?1")             \
    X(SQL_DIGEST_FIND, "SELECT param FROM digest WHERE project = ? AND digest = ?")                     \
    X(SQL_DIGEST_ADD, "INSERT OR IGNORE INTO digest(project, digest, param) VALUES(?, ?, ?)")           \
    X(SQL_PARAMS_AFTER, "SELECT id, project, digest FROM param WHERE id > ? ORDER BY id")               \
    X(SQL_PARAM_ADD, "INSERT INTO param(project, no, digest, value) VALUES(?, ?, ?, ?)")                \
    X(SQL_CONFIG_ADD, "INSERT OR IGNORE INTO config(sweep, param) VALUES(?, ?)")                        \
    X(SQL_DONE_SAME_WORK, "SELECT id FROM job WHERE state = JOB_DONE AND param = ? AND rep = ?"         \
                          " AND work_digest = ? LIMIT 1")                                               \
    X(SQL_DONE_ANY_WORK,                                                                                \
      "SELECT id FROM job WHERE state = JOB_DONE AND param = ? AND rep = ? LIMIT 1")                    \
    X(SQL_REUSED_ADD, "INSERT INTO reused(sweep, job) VALUES(?, ?)")                                    \
    X(SQL_JOB_NAME_TAKEN, "SELECT 1 FROM job WHERE param = ? AND name = ?")                             \
    X(SQL_JOB_ADD, "INSERT INTO job(sweep, no, queue_order, param, rep, name, work_digest, state,"      \
                   " queued_at, version) VALUES(?1, ?2, ?2, ?3, ?4, ?5, ?6, JOB_QUEUED, ?7, ?8)")       \
    X(SQL_SWEEP_SHOW, "UPDATE sweep SET state = ?2, submitted_at = ?3, ended_at = ?4,"                  \
                      " version = ?5, opened_by = 0 WHERE id = ?1")                                     \
    X(SQL_DONE_OTHERWISE,                                                                               \
      "SELECT count(*) FROM job n WHERE n.sweep = ?1 AND n.no > ?2"                                     \
      " AND n.no <= ?3 AND EXISTS(SELECT 1 FROM job d WHERE d.state = JOB_DONE"                         \
      " AND d.param = n.param AND d.rep = n.rep)")                                                      \
    X(SQL_SUBMITTED, "SELECT p.name, s.configs, s.reps, s.jobs, s.reused FROM sweep s"                  \
                     " JOIN project p ON p.id = s.project WHERE s.id = ?")                              \
    X(SQL_CLEAR_CLOSE, "UPDATE sweep SET opened_by = -1 WHERE id = ? AND state = SWEEP_OPEN")           \
    X(SQL_CLEAR_JOBS, "DELETE FROM job WHERE id IN"                                                     \
                      " (SELECT id FROM job WHERE sweep = ? ORDER BY no LIMIT ?)")                      \
    X(SQL_CLEAR_CONFIGS, "DELETE FROM config WHERE (sweep, param) IN"                                   \
                         " (SELECT sweep, param FROM config WHERE sweep = ? LIMIT ?)")                  \
    X(SQL_CLEAR_REUSED, "DELETE FROM reused WHERE (sweep, job) IN"                                      \
                        " (SELECT sweep, job FROM reused WHERE sweep = ? LIMIT ?)")                     \
    X(SQL_CLEAR_SWEEP, "DELETE FROM sweep WHERE id = ? AND state = SWEEP_OPEN")

#endif
