/* SPDX-License-Identifier: MIT */
/*
 * migrations.h - the database's schema, as the numbered steps that lead to it
 *
 * Step N brings user_version from N-1 to N.  A step that was released is never changed again.
 * docs/internals/database.md describes all tables and columns.
 *
 * Each change gets its number ("version") from meta.version, one counter for all tables.  So a
 * subscriber's cursor is one number, and an index scan finds everything that changed after it.
 */
#ifndef LUDWIG_SERVER_DB_MIGRATIONS_H
#define LUDWIG_SERVER_DB_MIGRATIONS_H

/* clang-format would move comments to the end of the line before. */
/* clang-format off */
#define MIGRATION_1                                                                                \
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"                               \
    /* a project belongs to the user who first submitted to it */                                  \
    "CREATE TABLE project(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"                      \
    " uid INTEGER NOT NULL, user TEXT NOT NULL, params INTEGER NOT NULL DEFAULT 0);"               \
    /* a configuration keeps its number (no) for good */                                           \
    "CREATE TABLE param(id INTEGER PRIMARY KEY, project INTEGER NOT NULL, no INTEGER NOT NULL,"    \
    " digest BLOB NOT NULL, value BLOB NOT NULL);"                                                 \
    /* finds configurations, up to row meta.indexed of param, by digest: see param_index.h */      \
    "CREATE TABLE digest(project INTEGER NOT NULL, digest BLOB NOT NULL, param INTEGER NOT NULL,"  \
    " PRIMARY KEY(project, digest)) WITHOUT ROWID;"                                                \
    "CREATE TABLE sweep(id INTEGER PRIMARY KEY, project INTEGER NOT NULL, uid INTEGER NOT NULL,"   \
    " user TEXT NOT NULL, name TEXT, state INTEGER NOT NULL, priority INTEGER NOT NULL,"           \
    " reps INTEGER NOT NULL, reuse INTEGER NOT NULL, nodes BLOB, work BLOB NOT NULL,"              \
    " work_digest BLOB NOT NULL, cpus_milli INTEGER NOT NULL, gpus_milli INTEGER NOT NULL,"        \
    " memory_bytes INTEGER NOT NULL, time_ms INTEGER NOT NULL,"                                    \
    /* of an open sweep: its connection, its request id, and what has arrived of it so far */      \
    " opened_by INTEGER NOT NULL, begin_id BLOB NOT NULL,"                                         \
    " chain BLOB NOT NULL, chunks INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT 0,"    \
    " configs INTEGER NOT NULL DEFAULT 0, reused INTEGER NOT NULL DEFAULT 0,"                      \
    " n_queued INTEGER NOT NULL DEFAULT 0, n_staging INTEGER NOT NULL DEFAULT 0,"                  \
    " n_running INTEGER NOT NULL DEFAULT 0, n_publishing INTEGER NOT NULL DEFAULT 0,"              \
    " n_done INTEGER NOT NULL DEFAULT 0, n_failed INTEGER NOT NULL DEFAULT 0,"                     \
    " n_cancelled INTEGER NOT NULL DEFAULT 0,"                                                     \
    /* number of jobs that the scheduler may hand out: queued, without a live attempt */           \
    " n_ready INTEGER NOT NULL DEFAULT 0,"                                                         \
    /* number of its ended jobs and sum of their run times, to choose the size of hands */         \
    " ran_jobs INTEGER NOT NULL DEFAULT 0, ran_ms INTEGER NOT NULL DEFAULT 0,"                     \
    " jobs INTEGER NOT NULL DEFAULT 0, stamp TEXT NOT NULL,"                                       \
    " submitted_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0,"                         \
    " handed_at INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0);"                  \
    "CREATE INDEX sweep_ready ON sweep(state) WHERE n_ready > 0;"                                  \
    "CREATE INDEX sweep_open ON sweep(opened_by, id) WHERE state = 0;"                             \
    /* the configurations of a sweep, each once */                                                 \
    "CREATE TABLE config(sweep INTEGER NOT NULL, param INTEGER NOT NULL,"                          \
    " PRIMARY KEY(sweep, param)) WITHOUT ROWID;"                                                   \
    "CREATE TABLE job(id INTEGER PRIMARY KEY, sweep INTEGER NOT NULL, no INTEGER NOT NULL,"        \
    " param INTEGER NOT NULL, rep INTEGER NOT NULL, name TEXT NOT NULL,"                           \
    " work_digest BLOB NOT NULL, state INTEGER NOT NULL, queue_order INTEGER,"                     \
    " cancelled INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,"                  \
    " losses INTEGER NOT NULL DEFAULT 0, forgiven INTEGER NOT NULL DEFAULT 0,"                     \
    " attempt INTEGER, reason TEXT,"                                                               \
    " queued_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0,"                            \
    " version INTEGER NOT NULL);"                                                                  \
    "CREATE UNIQUE INDEX job_no ON job(sweep, no);"                                                \
    "CREATE UNIQUE INDEX job_name ON job(param, name);"                                            \
    "CREATE INDEX job_version ON job(sweep, version);"                                             \
    /* finds done jobs, for --reuse */                                                             \
    "CREATE INDEX job_done ON job(param, rep) WHERE state = 4;"                                    \
    /* has only ready jobs: queue_order is NULL for all others */                                  \
    "CREATE INDEX job_queue ON job(sweep, queue_order) WHERE queue_order IS NOT NULL;"             \
    /* jobs of earlier sweeps whose results a sweep reuses */                                      \
    "CREATE TABLE reused(sweep INTEGER NOT NULL, job INTEGER NOT NULL,"                            \
    " PRIMARY KEY(sweep, job)) WITHOUT ROWID;"                                                     \
    "CREATE TABLE attempt(id INTEGER PRIMARY KEY, job INTEGER NOT NULL, sweep INTEGER NOT NULL,"   \
    " no INTEGER NOT NULL, recalled INTEGER NOT NULL DEFAULT 0,"                                   \
    " token BLOB NOT NULL, worker INTEGER NOT NULL, state INTEGER NOT NULL,"                       \
    " seq INTEGER NOT NULL DEFAULT 0, assigned_at INTEGER NOT NULL,"                               \
    " started_at INTEGER NOT NULL DEFAULT 0, ended_at INTEGER NOT NULL DEFAULT 0,"                 \
    " exit_code INTEGER, signal INTEGER, reason TEXT, run_path TEXT, winner BLOB,"                 \
    " max_rss_bytes INTEGER NOT NULL DEFAULT 0, cpu_ms INTEGER NOT NULL DEFAULT 0);"               \
    "CREATE UNIQUE INDEX attempt_token ON attempt(token);"                                         \
    "CREATE INDEX attempt_job ON attempt(job, no);"                                                \
    /* states 0..3 are the live states: see ATTEMPT_STATES */                                      \
    "CREATE INDEX attempt_live ON attempt(worker, sweep, state, recalled) WHERE state <= 3;"       \
    "CREATE TABLE metric(attempt INTEGER NOT NULL, name TEXT NOT NULL, value REAL, step INTEGER,"  \
    " PRIMARY KEY(attempt, name)) WITHOUT ROWID;"                                                  \
    "CREATE TABLE worker(id INTEGER PRIMARY KEY, token BLOB NOT NULL UNIQUE,"                      \
    " uid INTEGER NOT NULL, user TEXT NOT NULL, node TEXT NOT NULL, kind TEXT NOT NULL,"           \
    " boot_id TEXT NOT NULL, incarnation BLOB NOT NULL, cpus_milli INTEGER NOT NULL,"              \
    " gpus INTEGER NOT NULL, memory_bytes INTEGER NOT NULL, drained INTEGER NOT NULL DEFAULT 0,"   \
    " seen_at INTEGER NOT NULL);"                                                                  \
    /* the first answer to each changing request, so that sending a request twice is safe */       \
    "CREATE TABLE request(id BLOB NOT NULL, uid INTEGER NOT NULL, at INTEGER NOT NULL,"            \
    " type INTEGER NOT NULL, answer BLOB NOT NULL, PRIMARY KEY(id, uid)) WITHOUT ROWID;"           \
    "CREATE INDEX request_at ON request(at);"                                                      \
    "INSERT INTO meta VALUES('version', 0);"

/* pause, drain, retry by cause, batches, usage, ranges of metrics */
#define MIGRATION_2                                                                                \
    "ALTER TABLE job ADD COLUMN held INTEGER NOT NULL DEFAULT 0;" /* the job itself is paused */   \
    "CREATE INDEX job_held ON job(sweep, no) WHERE held <> 0;"                                     \
    "ALTER TABLE job DROP COLUMN losses;" /* losses are counted from the job's attempts */         \
    /* cause: enum cause; batch: the first attempt of the batch, NULL: no batch */                 \
    "ALTER TABLE attempt ADD COLUMN cause INTEGER NOT NULL DEFAULT 0;"                             \
    "ALTER TABLE attempt ADD COLUMN batch INTEGER;"                                                \
    /* state 5, failed: cause signal or failed; state 8, lost: cause node-lost */                  \
    "UPDATE attempt SET cause = CASE WHEN state = 8 THEN 5 WHEN signal IS NOT NULL THEN 2 ELSE 1 END" \
    " WHERE state IN (5, 8);"                                                                      \
    "DROP INDEX attempt_live;"                                                                     \
    "CREATE INDEX attempt_live ON attempt(worker, sweep, state, recalled, batch)"                  \
    " WHERE state <= 3;"                                                                           \
    "ALTER TABLE metric ADD COLUMN least REAL;"                                                    \
    "ALTER TABLE metric ADD COLUMN most REAL;"                                                     \
    "ALTER TABLE metric ADD COLUMN n INTEGER NOT NULL DEFAULT 0;"                                  \
    /* batch: jobs that share a process; retry: struct retry; pools: list of struct slurm_pool */  \
    "ALTER TABLE sweep ADD COLUMN batch INTEGER NOT NULL DEFAULT 1;"                               \
    "ALTER TABLE sweep ADD COLUMN retry BLOB;"                                                     \
    "ALTER TABLE sweep ADD COLUMN pools BLOB;"                                                     \
    /* the metric by which results are ranked, and enum goal */                                    \
    "ALTER TABLE sweep ADD COLUMN metric TEXT;"                                                    \
    "ALTER TABLE sweep ADD COLUMN goal INTEGER NOT NULL DEFAULT 0;"                                \
    /* number and sums of all attempts that ran and have ended, in any state */                    \
    "ALTER TABLE sweep ADD COLUMN spent_attempts INTEGER NOT NULL DEFAULT 0;"                      \
    "ALTER TABLE sweep ADD COLUMN spent_ms INTEGER NOT NULL DEFAULT 0;"                            \
    "ALTER TABLE sweep ADD COLUMN spent_cpu_ms INTEGER NOT NULL DEFAULT 0;"                        \
    "UPDATE sweep SET spent_attempts = a.n, spent_ms = a.ms, spent_cpu_ms = a.cpu_ms FROM"         \
    " (SELECT sweep, count(*) AS n, sum(max(0, ended_at - started_at)) AS ms,"                     \
    " sum(cpu_ms) AS cpu_ms FROM attempt WHERE state > 3 AND state <> 9 AND started_at > 0"        \
    " GROUP BY sweep) a WHERE a.sweep = sweep.id;"                                                 \
    "CREATE INDEX sweep_project ON sweep(project);"

/* names of people who share an account */
#define MIGRATION_3                                                                                \
    /* "lab/alice"; NULL: the account's own name stands for the sweep's user */                    \
    "ALTER TABLE sweep ADD COLUMN known_as TEXT;"

/* packs */
#define MIGRATION_4                                                                                \
    /* why this ludwigd can hand out none of the sweep's jobs; NULL: it can */                     \
    "ALTER TABLE sweep ADD COLUMN refused TEXT;"                                                   \
    /* trees that sweeps have named; manifest: id of struct dataset; name "": the source */        \
    "CREATE TABLE dataset(id INTEGER PRIMARY KEY, project INTEGER NOT NULL, tree BLOB NOT NULL,"   \
    " manifest BLOB NOT NULL, name TEXT NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL," \
    " added_at INTEGER NOT NULL, used_at INTEGER NOT NULL);"                                       \
    "CREATE UNIQUE INDEX dataset_in ON dataset(project, tree, manifest);"                          \
    "CREATE TABLE sweep_dataset(sweep INTEGER NOT NULL, dataset INTEGER NOT NULL,"                 \
    " PRIMARY KEY(sweep, dataset)) WITHOUT ROWID;"                                                 \
    "CREATE INDEX dataset_sweep ON sweep_dataset(dataset, sweep);"

/* pilots */
#define MIGRATION_5                                                                                \
    /* pool: an encoded struct slurm_pool */                                                       \
    "CREATE TABLE pool(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, user TEXT NOT NULL,"          \
    " pool BLOB NOT NULL);"                                                                        \
    "CREATE UNIQUE INDEX pool_of ON pool(uid, pool);"                                              \
    /* refused: why Slurm refuses pilots in this pool for the sweep's jobs; NULL: it does not */   \
    "CREATE TABLE sweep_pool(sweep INTEGER NOT NULL, pool INTEGER NOT NULL, refused TEXT,"         \
    " PRIMARY KEY(sweep, pool)) WITHOUT ROWID;"                                                    \
    "CREATE INDEX sweep_pool_refused ON sweep_pool(pool) WHERE refused IS NOT NULL;"               \
    /* Pilots of one sbatch share a token: an array has tasks 0 to tasks - 1; tasks 1: no array.   \
     * asked: sbatch was begun; slurm_id 0: its answer did not come; phase: enum pilot_phase */    \
    "CREATE TABLE pilot(id INTEGER PRIMARY KEY, pool INTEGER NOT NULL, token BLOB NOT NULL,"       \
    " sweep INTEGER NOT NULL," /* the sweep that it was made for; it takes other jobs, too */      \
    " task INTEGER NOT NULL, tasks INTEGER NOT NULL, name TEXT NOT NULL, comment TEXT NOT NULL,"   \
    " project TEXT NOT NULL, cpus INTEGER NOT NULL, gpus INTEGER NOT NULL,"                        \
    " memory_bytes INTEGER NOT NULL, time_ms INTEGER NOT NULL, phase INTEGER NOT NULL,"            \
    " words TEXT, asked INTEGER NOT NULL DEFAULT 0, slurm_id INTEGER NOT NULL DEFAULT 0,"          \
    " submitted_s INTEGER NOT NULL DEFAULT 0, worker INTEGER NOT NULL DEFAULT 0,"                  \
    " created_at INTEGER NOT NULL, started_at INTEGER NOT NULL DEFAULT 0,"                         \
    " ended_at INTEGER NOT NULL DEFAULT 0);"                                                       \
    "CREATE UNIQUE INDEX pilot_token ON pilot(token, task);"                                       \
    "CREATE INDEX pilot_ended ON pilot(ended_at);"                                                 \
    "CREATE INDEX pilot_worker ON pilot(worker) WHERE ended_at = 0;"                               \
    "ALTER TABLE worker ADD COLUMN partition TEXT;" /* a pilot's partition; NULL: no pilot */

/* an index of sweeps that are not over, of which there are few */
#define MIGRATION_6 "CREATE INDEX sweep_live ON sweep(state) WHERE state IN (1, 2);"

/* trouble: why a pool gets no pilots for now; NULL: nothing is known */
#define MIGRATION_7 "ALTER TABLE pool ADD COLUMN trouble TEXT;"

/* jobs that wait for the same job of another sweep; follows: that job */
#define MIGRATION_8                                                                                \
    "ALTER TABLE job ADD COLUMN follows INTEGER;"                                                  \
    "CREATE INDEX job_follows ON job(follows) WHERE follows IS NOT NULL;"

/* results that are no longer on the share, and sweeps that were removed */
#define MIGRATION_9                                                                                \
    "ALTER TABLE job ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;" /* 1: its result is gone */      \
    /* when the sweep was removed; 0: it was not.  Its row stays for its account of time spent. */ \
    "ALTER TABLE sweep ADD COLUMN removed_at INTEGER NOT NULL DEFAULT 0;"                          \
    "CREATE INDEX reused_job ON reused(job);"

/* labels of sweeps: a note, and tags such as "good,paper"; NULL: none */
#define MIGRATION_10                                                                                \
    "ALTER TABLE sweep ADD COLUMN note TEXT;"                                                      \
    "ALTER TABLE sweep ADD COLUMN tags TEXT;"

/* variables of the submitter's shell that are passed to jobs */
#define MIGRATION_11                                                                               \
    "CREATE TABLE passed(sweep INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"         \
    " PRIMARY KEY(sweep, name)) WITHOUT ROWID;"                                                    \
    /* The values are deleted when the sweep ends or is deleted; states 0 to 2: it is not over. */ \
    "CREATE TRIGGER passed_ended AFTER UPDATE OF state ON sweep WHEN new.state NOT IN (0, 1, 2)"   \
    " BEGIN DELETE FROM passed WHERE sweep = new.id; END;"                                         \
    "CREATE TRIGGER passed_removed AFTER DELETE ON sweep"                                          \
    " BEGIN DELETE FROM passed WHERE sweep = old.id; END;"

/* an index of jobs that are not over, of which a configuration has few */
#define MIGRATION_12 "CREATE INDEX job_live ON job(param, rep) WHERE state NOT IN (4, 5, 6);"

/* indexes by user, for the limits on users */
#define MIGRATION_13                                                                               \
    "CREATE INDEX sweep_owner ON sweep(uid) WHERE removed_at = 0;"                                 \
    "CREATE INDEX sweep_waiting ON sweep(uid, n_queued) WHERE n_queued > 0;"                       \
    "CREATE INDEX project_owner ON project(uid);"

/* for deleting rows: workers that never held an attempt, and a user's oldest answers */
#define MIGRATION_14                                                                               \
    "ALTER TABLE worker ADD COLUMN used INTEGER NOT NULL DEFAULT 0;" /* 1: it held an attempt */   \
    "UPDATE worker SET used = 1 WHERE id IN (SELECT worker FROM attempt);"                         \
    "CREATE INDEX worker_unused ON worker(uid, seen_at) WHERE used = 0;"                           \
    "CREATE INDEX request_of ON request(uid, at);"

/* holds of the guard */
#define MIGRATION_15                                                                               \
    "ALTER TABLE sweep ADD COLUMN n_held INTEGER NOT NULL DEFAULT 0;"                              \
    /* guard: number of failures of one kind that makes a hold; 0: the guard is off */             \
    "ALTER TABLE sweep ADD COLUMN guard INTEGER NOT NULL DEFAULT 0;"                               \
    /* guard_from: failures up to this version do not count */                                     \
    "ALTER TABLE sweep ADD COLUMN guard_from INTEGER NOT NULL DEFAULT 0;"                          \
    /* test NULL: it holds the whole sweep; next_no: the next job to hold, or to free once the     \
     * hold is lifted, NULL: all are done */                                                       \
    "CREATE TABLE hold(id INTEGER PRIMARY KEY, sweep INTEGER NOT NULL, test BLOB,"                 \
    " cause TEXT NOT NULL, words TEXT NOT NULL, failed INTEGER NOT NULL, ended INTEGER NOT NULL,"  \
    " sentence TEXT NOT NULL, made_at INTEGER NOT NULL, tried_at INTEGER NOT NULL DEFAULT 0,"      \
    " has_success INTEGER NOT NULL DEFAULT 0, lifted_at INTEGER NOT NULL DEFAULT 0, lifted TEXT,"  \
    " next_no INTEGER);"                                                                           \
    "CREATE INDEX hold_sweep ON hold(sweep);"                                                      \
    "CREATE INDEX hold_active ON hold(sweep) WHERE lifted_at = 0;"                                 \
    "CREATE INDEX hold_work ON hold(next_no) WHERE next_no IS NOT NULL;"                           \
    /* held meant paused before there were holds */                                                \
    "ALTER TABLE job RENAME COLUMN held TO paused;"                                                \
    "ALTER TABLE job ADD COLUMN hold INTEGER;" /* id of the hold that holds it; NULL: none */      \
    "ALTER TABLE job ADD COLUMN early INTEGER NOT NULL DEFAULT 0;" /* rank in the queue */         \
    "DROP INDEX job_held;"                                                                         \
    "CREATE INDEX job_kept ON job(sweep, no) WHERE paused <> 0 OR hold IS NOT NULL;"               \
    "CREATE INDEX job_of_hold ON job(hold, no) WHERE hold IS NOT NULL;"

/* the n-th step leads to version n */
#define MIGRATIONS(X)                                                       \
    X(MIGRATION_1) X(MIGRATION_2) X(MIGRATION_3) X(MIGRATION_4) X(MIGRATION_5) \
    X(MIGRATION_6) X(MIGRATION_7) X(MIGRATION_8) X(MIGRATION_9) X(MIGRATION_10) \
    X(MIGRATION_11) X(MIGRATION_12) X(MIGRATION_13) X(MIGRATION_14) X(MIGRATION_15)
/* clang-format on */

#endif
