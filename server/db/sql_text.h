/* SPDX-License-Identifier: MIT */
/*
 * sql_text.h - states in SQL by their names
 *
 * Statements name the constants of common/proto/states.h: "state = ATTEMPT_RUNNING".  Beside these:
 *
 *   JOB_IS_OVER       the numbers of all such states: "state IN (JOB_IS_OVER)"
 *   JOB_COUNTERS      the columns of sweep that count jobs by state, in the order of their numbers
 *   JOB_COUNTERS_SET  "n_queued = ?, ..." for an UPDATE
 *
 * Migrations keep the numbers: they are never changed again.
 */
#ifndef LUDWIG_SERVER_DB_SQL_TEXT_H
#define LUDWIG_SERVER_DB_SQL_TEXT_H

/* The statement as SQLite takes it; to be freed.  A name that no table has is left alone, and SQLite
 * refuses it. */
char *sql_text(const char *text);

#endif
