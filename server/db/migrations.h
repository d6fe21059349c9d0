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

/* slots: most processes of the sweep that run at once; 0: no limit */
#define MIGRATION_16 "ALTER TABLE sweep ADD COLUMN slots INTEGER NOT NULL DEFAULT 0;"

/* jobs that are stopped early */
#define MIGRATION_17                                                                               \
    "ALTER TABLE sweep ADD COLUMN n_stopped INTEGER NOT NULL DEFAULT 0;"                           \
    /* stop: struct stop_policy, NULL: no job is stopped early; live: struct live_policy */        \
    "ALTER TABLE sweep ADD COLUMN stop BLOB;"                                                      \
    "ALTER TABLE sweep ADD COLUMN live BLOB;"                                                      \
    /* stop_told: the sweep's rule was told the ends of jobs up to this version */                 \
    "ALTER TABLE sweep ADD COLUMN stop_told INTEGER NOT NULL DEFAULT 0;"                           \
    /* enum job_stopping */                                                                        \
    "ALTER TABLE job ADD COLUMN stop INTEGER NOT NULL DEFAULT 0;"                                  \
    "CREATE INDEX job_exempt ON job(sweep) WHERE stop = 2;"                                        \
    /* what the sweep's rule was told, in the order of seq; value NULL: nan */                     \
    "CREATE TABLE stop_event(sweep INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL," \
    " job INTEGER NOT NULL, config INTEGER NOT NULL, rep INTEGER NOT NULL, step INTEGER NOT NULL," \
    " value REAL, PRIMARY KEY(sweep, seq)) WITHOUT ROWID;"                                         \
    "CREATE INDEX stop_event_of ON stop_event(job);"                                               \
    /* a job's last reported step and value; said: the rule's words, told at step said_step */     \
    "CREATE TABLE measured(job INTEGER PRIMARY KEY, step INTEGER NOT NULL, value REAL,"            \
    " said TEXT, said_step INTEGER NOT NULL DEFAULT 0);"                                           \
    /* states whose jobs a later sweep reuses (JOB_IS_REUSED): done and stopped */                 \
    "DROP INDEX job_done;"                                                                         \
    "CREATE INDEX job_reused ON job(param, rep) WHERE state IN (4, 8);"                            \
    /* an index of jobs that are not over which no later state can make wrong */                   \
    "DROP INDEX job_live;"                                                                         \
    "CREATE INDEX job_unended ON job(param, rep) WHERE ended_at = 0;"

/* advisors */
#define MIGRATION_18                                                                               \
    /* search: struct search, NULL: the sweep has no advisor; advised: enum advised; advisor: what \
     * the advisor is doing, in words */                                                           \
    "ALTER TABLE sweep ADD COLUMN search BLOB;"                                                    \
    "ALTER TABLE sweep ADD COLUMN advised INTEGER NOT NULL DEFAULT 0;"                             \
    "ALTER TABLE sweep ADD COLUMN advisor TEXT;"                                                   \
    /* told: the advisor was told the ends of jobs up to this version */                           \
    "ALTER TABLE sweep ADD COLUMN told INTEGER NOT NULL DEFAULT 0;"                                \
    "CREATE INDEX sweep_advised ON sweep(id) WHERE advised = 1;"                                   \
    /* the lines exchanged with the advisor; dir: enum advice_dir */                               \
    "CREATE TABLE advice(sweep INTEGER NOT NULL, seq INTEGER NOT NULL, dir INTEGER NOT NULL,"      \
    " body TEXT NOT NULL, PRIMARY KEY(sweep, seq)) WITHOUT ROWID;"                                 \
    /* points given to the sweep; by: enum point_by; asked: seq of the line that asked for it */   \
    "CREATE TABLE point(sweep INTEGER NOT NULL, no INTEGER NOT NULL, param INTEGER NOT NULL,"      \
    " asked INTEGER NOT NULL, by INTEGER NOT NULL, PRIMARY KEY(sweep, no)) WITHOUT ROWID;"         \
    "CREATE INDEX point_param ON point(sweep, param);"                                             \
    /* random points that a submit sent along */                                                   \
    "CREATE TABLE stand_in(sweep INTEGER NOT NULL, no INTEGER NOT NULL, value BLOB NOT NULL,"      \
    " PRIMARY KEY(sweep, no)) WITHOUT ROWID;"                                                      \
    "CREATE TRIGGER stand_in_ended AFTER UPDATE OF advised ON sweep WHEN new.advised = 2"          \
    " BEGIN DELETE FROM stand_in WHERE sweep = new.id; END;"                                       \
    "CREATE TRIGGER advice_removed AFTER UPDATE OF removed_at ON sweep WHEN new.removed_at <> 0"   \
    " BEGIN DELETE FROM advice WHERE sweep = new.id; DELETE FROM point WHERE sweep = new.id;"      \
    " DELETE FROM stand_in WHERE sweep = new.id; END;"                                             \
    "CREATE TRIGGER advice_cleared AFTER DELETE ON sweep"                                          \
    " BEGIN DELETE FROM stand_in WHERE sweep = old.id; END;"

/* processors and GPUs that Slurm gave to pilots */
#define MIGRATION_19                                                                               \
    /* counted_at: the sweep's counters have the pilot's time up to then; 0: it does not run */    \
    "ALTER TABLE pilot ADD COLUMN counted_at INTEGER NOT NULL DEFAULT 0;"                          \
    /* processors, or GPUs, times milliseconds of the pilots that were made for the sweep */       \
    "ALTER TABLE sweep ADD COLUMN pilot_cpu_ms INTEGER NOT NULL DEFAULT 0;"                        \
    "ALTER TABLE sweep ADD COLUMN pilot_gpu_ms INTEGER NOT NULL DEFAULT 0;"                        \
    "CREATE INDEX pilot_sweep ON pilot(sweep) WHERE ended_at = 0;"

/* stopped jobs that go on from their checkpoints; resumes: enum sweep_resuming */
#define MIGRATION_20                                                            \
    "ALTER TABLE sweep ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;"          \
    /* 1: the attempt's checkpoint lies on the share */                         \
    "ALTER TABLE attempt ADD COLUMN has_checkpoint INTEGER NOT NULL DEFAULT 0;" \
    /* why the stopped job went on, a sentence */                               \
    "ALTER TABLE measured ADD COLUMN resumed TEXT;"

/* time and memory that jobs asked for, and that they used */
#define MIGRATION_21                                                                               \
    /* of all attempts that ran and have ended: sum of time limits; sum of run time times memory   \
     * that was asked for, and times most memory held; largest memory held; longest run time */    \
    "ALTER TABLE sweep ADD COLUMN spent_limit_ms INTEGER NOT NULL DEFAULT 0;"                      \
    "ALTER TABLE sweep ADD COLUMN asked_gib_ms REAL NOT NULL DEFAULT 0;"                           \
    "ALTER TABLE sweep ADD COLUMN used_gib_ms REAL NOT NULL DEFAULT 0;"                            \
    "ALTER TABLE sweep ADD COLUMN peak_rss_bytes INTEGER NOT NULL DEFAULT 0;"                      \
    "ALTER TABLE sweep ADD COLUMN longest_ms INTEGER NOT NULL DEFAULT 0;"                          \
    "UPDATE sweep SET spent_limit_ms = spent_attempts * time_ms,"                                  \
    " asked_gib_ms = memory_bytes / 1073741824.0 * spent_ms, used_gib_ms = a.used,"                \
    " peak_rss_bytes = a.peak, longest_ms = a.longest FROM (SELECT sweep,"                         \
    " sum(max_rss_bytes / 1073741824.0 * max(0, ended_at - started_at)) AS used,"                  \
    " max(max_rss_bytes) AS peak, max(0, max(ended_at - started_at)) AS longest FROM attempt"      \
    " WHERE state > 3 AND state <> 9 AND started_at > 0 GROUP BY sweep) a WHERE a.sweep = sweep.id;"

/* notifications of a sweep's events */
#define NOTICE_OF(event)                                                                           \
    " INSERT INTO notice(sweep, event, at, state, n_jobs, n_done, n_failed, n_stopped, n_cancelled,"\
    " n_held) VALUES(new.id, " #event ", 1000 * CAST(strftime('%s', 'now') AS INTEGER), new.state,"\
    " new.jobs, new.n_done, new.n_failed, new.n_stopped, new.n_cancelled, new.n_held); "
#define MIGRATION_22                                                                               \
    /* notify: struct notify, NULL: no notifications; notify_when: its member when; stalled_at:    \
     * since when no job of it runs and none can, 0: that is not so, -1: a notice was made */      \
    "ALTER TABLE sweep ADD COLUMN notify BLOB;"                                                    \
    "ALTER TABLE sweep ADD COLUMN notify_when INTEGER NOT NULL DEFAULT 0;"                         \
    "ALTER TABLE sweep ADD COLUMN stalled_at INTEGER NOT NULL DEFAULT 0;"                          \
    /* event: enum notify_event; state, n_*: the sweep's when the event came; next_at: time of the \
     * next try or, while a worker delivers it (token set), when that try counts as failed; 0: no  \
     * more tries */                                                                               \
    "CREATE TABLE notice(id INTEGER PRIMARY KEY, sweep INTEGER NOT NULL, event INTEGER NOT NULL,"  \
    " at INTEGER NOT NULL, state INTEGER NOT NULL, n_jobs INTEGER NOT NULL, n_done INTEGER NOT NULL,"\
    " n_failed INTEGER NOT NULL, n_stopped INTEGER NOT NULL, n_cancelled INTEGER NOT NULL,"        \
    " n_held INTEGER NOT NULL, next_at INTEGER NOT NULL DEFAULT 1, tries INTEGER NOT NULL DEFAULT 0,"\
    " token BLOB, worker INTEGER, delivered_at INTEGER NOT NULL DEFAULT 0, reason TEXT);"          \
    "CREATE INDEX notice_due ON notice(next_at) WHERE next_at > 0;"                                \
    "CREATE INDEX notice_token ON notice(token) WHERE token IS NOT NULL;"                          \
    "CREATE INDEX notice_sweep ON notice(sweep);"                                                  \
    /* A notice is made in the transaction in which its event comes.  States 1, 2: running and     \
     * paused; 3, 4, 5: the sweep is over.  notify_when & 1: ended, & 2: failed. */                \
    "CREATE TRIGGER notice_ended AFTER UPDATE OF state ON sweep WHEN new.notify_when & 1"          \
    " AND old.state IN (1, 2) AND new.state IN (3, 4, 5) BEGIN" NOTICE_OF(0) "END;"                \
    "CREATE TRIGGER notice_failed AFTER UPDATE OF n_failed ON sweep WHEN new.notify_when & 2"      \
    " AND old.n_failed = 0 AND new.n_failed > 0 BEGIN" NOTICE_OF(1) "END;"                         \
    "CREATE TRIGGER notice_stalled AFTER UPDATE OF stalled_at ON sweep WHEN new.stalled_at = -1"   \
    " AND old.stalled_at <> -1 BEGIN" NOTICE_OF(2) "END;"                                          \
    "CREATE TRIGGER notice_removed AFTER UPDATE OF removed_at ON sweep WHEN new.removed_at <> 0"   \
    " BEGIN DELETE FROM notice WHERE sweep = new.id; END;"                                         \
    /* advised 3: the advisor failed, and is asked again when the sweep is resumed */              \
    "DROP INDEX sweep_advised;"                                                                    \
    "CREATE INDEX sweep_advised ON sweep(uid) WHERE advised IN (1, 3);"

/* jobs that ran out of memory or time, and ask for more than their sweep (retry: grow) */
#define MIGRATION_23                                                                               \
    /* what a job that grew, and each of its attempts, asks for; both 0: as much as the sweep */   \
    "ALTER TABLE job ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 0;"                          \
    "ALTER TABLE job ADD COLUMN time_ms INTEGER NOT NULL DEFAULT 0;"                               \
    "ALTER TABLE attempt ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 0;"                      \
    "ALTER TABLE attempt ADD COLUMN time_ms INTEGER NOT NULL DEFAULT 0;"                           \
    "ALTER TABLE sweep ADD COLUMN has_grown INTEGER NOT NULL DEFAULT 0;" /* 1: a job of it grew */ \
    "DROP INDEX job_queue;"                                                                        \
    "CREATE INDEX job_queue ON job(sweep, memory_bytes, time_ms, queue_order)"                     \
    " WHERE queue_order IS NOT NULL;"                                                              \
    /* what the jobs that the pilot was made for ask for, if they grew; else 0 */                  \
    "ALTER TABLE pilot ADD COLUMN grown_memory_bytes INTEGER NOT NULL DEFAULT 0;"                  \
    "ALTER TABLE pilot ADD COLUMN grown_time_ms INTEGER NOT NULL DEFAULT 0;"                       \
    /* why Slurm refuses pilots for jobs that grew as far as this, or further */                   \
    "ALTER TABLE sweep_pool ADD COLUMN grown_refused TEXT;"                                        \
    "ALTER TABLE sweep_pool ADD COLUMN grown_memory_bytes INTEGER NOT NULL DEFAULT 0;"             \
    "ALTER TABLE sweep_pool ADD COLUMN grown_time_ms INTEGER NOT NULL DEFAULT 0;"                  \
    "CREATE INDEX sweep_pool_grown ON sweep_pool(pool) WHERE grown_refused IS NOT NULL;"

/* how jobs used their GPUs */
#define MIGRATION_24                                                                               \
    /* most memory used, and how busy the GPUs were on average; NULL: not known */                 \
    "ALTER TABLE attempt ADD COLUMN gpu_memory_bytes INTEGER;"                                     \
    "ALTER TABLE attempt ADD COLUMN gpu_percent REAL;"                                             \
    /* of attempts whose use is known: most memory; sum of GPUs times run time, and times busy */  \
    "ALTER TABLE sweep ADD COLUMN peak_gpu_bytes INTEGER NOT NULL DEFAULT 0;"                      \
    "ALTER TABLE sweep ADD COLUMN seen_gpu_ms REAL NOT NULL DEFAULT 0;"                            \
    "ALTER TABLE sweep ADD COLUMN busy_gpu_ms REAL NOT NULL DEFAULT 0;"

/* room on scratch */
#define MIGRATION_25                                                                               \
    /* space that a process of the sweep may take on scratch; 0: the sweep asked for none */       \
    "ALTER TABLE sweep ADD COLUMN disk_bytes INTEGER NOT NULL DEFAULT 0;"

/* bytes that the description of a sweep takes in the database; row: "", "new." or "old." */
#define SWEEP_BYTES_OF(row)                                                                        \
    "coalesce(length(" row "name), 0) + coalesce(length(" row "nodes), 0) + length(" row "work)"   \
    " + coalesce(length(" row "pools), 0) + coalesce(length(" row "retry), 0)"                     \
    " + coalesce(length(" row "stop), 0) + coalesce(length(" row "live), 0)"                       \
    " + coalesce(length(" row "search), 0) + coalesce(length(" row "notify), 0)"
#define MIGRATION_26                                                                               \
    /* bytes that the descriptions of a user's sweeps take in the database */                      \
    "CREATE TABLE user_size(uid INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);"                     \
    "INSERT INTO user_size SELECT uid, sum(" SWEEP_BYTES_OF("") ") FROM sweep GROUP BY uid;"       \
    "CREATE TRIGGER user_size_added AFTER INSERT ON sweep BEGIN INSERT INTO user_size"             \
    " VALUES(new.uid, " SWEEP_BYTES_OF("new.") ") ON CONFLICT(uid) DO UPDATE"                      \
    " SET bytes = bytes + excluded.bytes; END;"                                                    \
    "CREATE TRIGGER user_size_changed AFTER UPDATE OF name, nodes, work, pools, retry, stop, live,"\
    " search, notify ON sweep BEGIN UPDATE user_size SET bytes = bytes + " SWEEP_BYTES_OF("new.")  \
    " - (" SWEEP_BYTES_OF("old.") ") WHERE uid = new.uid; END;"                                    \
    "CREATE TRIGGER user_size_gone AFTER DELETE ON sweep BEGIN UPDATE user_size SET bytes = bytes" \
    " - (" SWEEP_BYTES_OF("old.") ") WHERE uid = old.uid; END;"

/* which GPUs jobs had */
#define MIGRATION_27                                                                               \
    /* names of the GPUs as in CUDA_VISIBLE_DEVICES: "0,2"; NULL: none, or not known */            \
    "ALTER TABLE attempt ADD COLUMN gpu_ids TEXT;"

/* configurations whose jobs go on from checkpoints of other configurations' jobs */
#define MIGRATION_28                                                                               \
    /* id of the other configuration; NULL: its jobs go on from none */                            \
    "ALTER TABLE param ADD COLUMN origin INTEGER;"

/* advisors may resume jobs that they have stopped */
#define MIGRATION_29                                                                               \
    /* seq of the newest line `resumed` of the point; 0: none */                                   \
    "ALTER TABLE point ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;"                             \
    "CREATE INDEX job_stopped ON job(sweep, param, rep) WHERE state = 8;"

/* the steps in their order: step N leads to version N */
#define MIGRATIONS(X)                                                       \
    X(MIGRATION_1) X(MIGRATION_2) X(MIGRATION_3) X(MIGRATION_4) X(MIGRATION_5) \
    X(MIGRATION_6) X(MIGRATION_7) X(MIGRATION_8) X(MIGRATION_9) X(MIGRATION_10) \
    X(MIGRATION_11) X(MIGRATION_12) X(MIGRATION_13) X(MIGRATION_14) X(MIGRATION_15) \
    X(MIGRATION_16) X(MIGRATION_17) X(MIGRATION_18) X(MIGRATION_19) X(MIGRATION_20) \
    X(MIGRATION_21) X(MIGRATION_22) X(MIGRATION_23) X(MIGRATION_24) X(MIGRATION_25) X(MIGRATION_26) \
    X(MIGRATION_27) X(MIGRATION_28) X(MIGRATION_29)
/* clang-format on */

#endif
