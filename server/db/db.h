/* SPDX-License-Identifier: MIT */
/*
 * db.h - the queue's database: SQLite, opened for one process only
 *
 * db_open sets locking_mode=EXCLUSIVE before WAL (then there is no shared memory file) and
 * synchronous=FULL.  All SQL is in server/db/sql.h.  db_ask finds a statement by its name, prepares
 * it once, and binds values by a format:
 *
 *   struct stmt *s = db_ask(db, SQL_JOB, "ii", sweep, no);
 *   while ((rc = stmt_step(s, e)) == 1)
 *       use(stmt_int(s, 0));
 *
 * Letters of a format: i int64_t; I int64_t, SCHEMA_NONE is NULL; s const char *, NULL is NULL; b
 * struct bytes, NULL data is NULL; t const struct token *; d const struct digest *, NULL is NULL; f
 * double; c const int64_t [JOB_STATE_COUNT] for JOB_COUNTERS_SET.  Bound values are not copied, so
 * they must last until the statement has ended.  A statement may not be asked for again before it
 * has ended or stmt_end was called; the first stmt_step reports that error, and a wrong format.
 */
#ifndef LUDWIG_SERVER_DB_DB_H
#define LUDWIG_SERVER_DB_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"
#include "server/db/sql.h"

struct arena;
struct db;
struct stmt;

/* Opens or creates the database and brings its schema up to date (numbered migrations, each in a
 * transaction).  NULL with *e set, for example ERR_BUSY: another process has it open; ERR_USAGE: a
 * newer ludwigd made it. */
struct db *db_open(const char *path, struct err *e);
void db_close(struct db *db); /* NULL is fine */

/* Binds values to a statement; never NULL.  The first stmt_step reports errors of binding. */
struct stmt *db_ask(struct db *db, enum sql_name name, const char *format, ...);
int stmt_step(struct stmt *s, struct err *e); /* 1: a row, 0: the end, -1 with *e set */
void stmt_end(struct stmt *s);                /* needed if stmt_step did not return 0 or -1 */
/* These read a column of the current row, counted from 0.  stmt_int gives SCHEMA_NONE for NULL.  A
 * number of 2^62 or more (or -2^62 or less), which ludwigd never writes and whose sums could
 * overflow, is read as 0; then the savepoint cannot be released, and db_check fails. */
int64_t stmt_int(struct stmt *s, int column);
/* A number from 0 to count - 1.  Any other number, which a newer ludwigd wrote, is read as 0; then
 * the savepoint cannot be released, and db_check fails. */
int stmt_enum(struct stmt *s, int column, int count);
double stmt_float(struct stmt *s, int column);
const char *stmt_text(struct stmt *s, int column); /* NULL for NULL; lasts until the next step */
const char *stmt_copy(struct stmt *s, int column, struct arena *a); /* a copy in the arena */
struct bytes stmt_bytes(struct stmt *s, int column);                /* last until the next step */
/* A column of another length reads as zeroes. */
void stmt_token(struct stmt *s, int column, struct token *t);
void stmt_digest(struct stmt *s, int column, struct digest *d);
bool stmt_is_null(struct stmt *s, int column);

/* Runs a statement to its end, ignoring its rows.  Returns how many rows of tables it changed, -1
 * with *e set. */
int db_run(struct db *db, struct err *e, enum sql_name name, const char *format, ...);
/* Runs a statement and reads its first row.  Returns 1, 0 when there is no row (then nothing is
 * set), -1 with *e set.  Letters of the format after a '>' say where the columns go: i int64_t *; s
 * struct arena * and const char **, a copy in that arena, NULL for NULL. */
int db_get(struct db *db, struct err *e, enum sql_name name, const char *format, ...);
int64_t db_last_id(struct db *db); /* id of the row that was inserted last */
int64_t db_changes(struct db *db); /* rows written since db_open, to bound the work of a turn */

/* These copy the database in steps to path, where no file may exist.  The database may change
 * between the steps: the copy gets its state at the last step, but without values that were passed
 * to jobs. */
struct db_backup;
struct db_backup *db_backup_begin(struct db *db, const char *path, struct err *e);
int db_backup_step(struct db_backup *b,
                   struct err *e);       /* 1: call it again, 0: the copy is complete, -1 */
void db_backup_end(struct db_backup *b); /* also before the copy is complete; NULL is fine */

/* Returns -1 once, with *e set, if stmt_int or stmt_enum has read a number that they do not accept
 * since the last db_begin and db_rollback_to. */
int db_check(struct db *db, struct err *e);

/* Savepoints nest.  A commit or a rollback also ends every statement in use. */
int db_begin(struct db *db, struct err *e);
int db_commit(struct db *db, struct err *e);
void db_rollback(struct db *db);
int db_savepoint(struct db *db, struct err *e);
int db_release(struct db *db, struct err *e);
void db_rollback_to(struct db *db); /* rolls back to the last savepoint and releases it */
/* False also after an error, such as a full disk, that ended the whole transaction. */
bool db_is_in_transaction(struct db *db);

/*
 * Statements use the names of states and causes ("state = ATTEMPT_RUNNING") and of a few other
 * constants (`numbers` in db.c), and also
 *
 *   JOB_IS_OVER, JOB_IS_REUSED  the numbers of all job states with this flag:
 *                               "state IN (JOB_IS_OVER)"
 *   JOB_COUNTERS                the columns of sweep that count jobs by state, in the order of the
 *                               states' numbers
 *   JOB_COUNTERS_SET            "n_queued = ?, ..." for an UPDATE
 *
 * Migrations write the numbers themselves, as migrations are never changed again.
 */

/* Replaces these names in a statement by their values; the caller frees the text.  Unknown names
 * stay, and SQLite refuses them. */
char *sql_text(const char *text);

#endif
