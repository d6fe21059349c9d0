/* SPDX-License-Identifier: MIT */
/*
 * db.h - the queue's database: SQLite, opened for one process only
 *
 * locking_mode=EXCLUSIVE before WAL (no shared memory file), synchronous=FULL.
 * All SQL is in server/db/sql.h; a statement is asked for by its name, prepared
 * once and bound by a format:
 *
 *   struct stmt *s = db_ask(db, SQL_JOB, "ii", sweep, no);
 *   while ((rc = stmt_step(s, e)) == 1)
 *       use(stmt_int(s, 0));
 *
 * Formats: i int64_t, I int64_t that is NULL when SCHEMA_NONE, s const char * (NULL is NULL),
 * b struct bytes (without data: NULL), t const struct token *, d const struct digest * (NULL is
 * NULL), f double, c const int64_t [JOB_STATE_COUNT], which JOB_COUNTERS_SET wants.
 * Bound values are not copied: they must last until the statement has ended.
 * A statement in use may not be asked for again before it has ended or stmt_end was called; that,
 * as a wrong format, is an error of the first stmt_step.
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
 * transaction).  ERR_BUSY when another process holds it; a database of a newer ludwigd is
 * refused. */
struct db *db_open(const char *path, struct err *e);
void db_close(struct db *db);

/* Binds; errors of binding come out of the first stmt_step. */
struct stmt *db_ask(struct db *db, enum sql_name name, const char *format, ...);
int stmt_step(struct stmt *s, struct err *e); /* 1 a row, 0 the end, -1 */
void stmt_end(struct stmt *s);                /* if the end was not reached */
int64_t stmt_int(struct stmt *s, int column); /* NULL: SCHEMA_NONE */
/* A number below count; a larger one, which a newer ludwigd wrote, is read as 0, and the savepoint
 * that read it cannot be released, nor does db_check pass. */
int stmt_enum(struct stmt *s, int column, int count);
double stmt_float(struct stmt *s, int column);
const char *stmt_text(struct stmt *s, int column); /* NULL for NULL; until the next step */
const char *stmt_copy(struct stmt *s, int column, struct arena *a); /* the text, copied */
struct bytes stmt_bytes(struct stmt *s, int column);                /* until the next step */
void stmt_token(struct stmt *s, int column, struct token *t);
void stmt_digest(struct stmt *s, int column, struct digest *d);
bool stmt_is_null(struct stmt *s, int column);

/* Runs a statement that returns nothing; returns how many rows it changed, -1 with e set. */
int db_run(struct db *db, struct err *e, enum sql_name name, const char *format, ...);
/* Runs a statement and reads its first row: 1, or 0 when there is none (nothing is set then), -1.
 * Behind a '>' the format has the letters of the columns: i int64_t *, s struct arena * and
 * const char ** (a copy there; NULL for NULL). */
int db_get(struct db *db, struct err *e, enum sql_name name, const char *format, ...);
int64_t db_last_id(struct db *db);
int64_t db_changes(struct db *db); /* rows written since it was opened: for bounding a turn */

/* A copy of the database at path, which must not be there, taken in steps between which the database may be
 * changed: the copy is as the database is at the last step. */
struct db_backup;
struct db_backup *db_backup_begin(struct db *db, const char *path, struct err *e);
int db_backup_step(struct db_backup *b,
                   struct err *e);       /* 1: there is more, 0: it is complete, -1 */
void db_backup_end(struct db_backup *b); /* also one that is not complete; NULL is fine */

/* Whether all numbers that stmt_enum read outside of a savepoint were known: 0, or once -1 with e
 * set. */
int db_check(struct db *db, struct err *e);

/* Savepoints nest.  A commit or a rollback also ends every statement in use. */
int db_begin(struct db *db, struct err *e);
int db_commit(struct db *db, struct err *e);
void db_rollback(struct db *db);
int db_savepoint(struct db *db, struct err *e);
int db_release(struct db *db, struct err *e);
void db_rollback_to(struct db *db); /* and release */
/* Some failures (a full disk) end the whole transaction, not just the statement. */
bool db_is_in_transaction(struct db *db);

/*
 * States in SQL by their names: statements name the constants of common/proto/states.h ("state =
 * ATTEMPT_RUNNING"), and beside these
 *
 *   JOB_IS_OVER       the numbers of all such states: "state IN (JOB_IS_OVER)"
 *   JOB_COUNTERS      the columns of sweep that count jobs by state, in the order of their numbers
 *   JOB_COUNTERS_SET  "n_queued = ?, ..." for an UPDATE
 *
 * Migrations keep the numbers: they are never changed again.
 */

/* Replaces those names in a statement by what they stand for; the caller frees the text.  Other
 * names stay as they are, and SQLite refuses them. */
char *sql_text(const char *text);

#endif
