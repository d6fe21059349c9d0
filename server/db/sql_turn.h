/* SPDX-License-Identifier: MIT */
/*
 * sql_turn.h - statements of the turn itself: transactions, counters, kept answers
 */
#ifndef LUDWIG_SERVER_DB_SQL_TURN_H
#define LUDWIG_SERVER_DB_SQL_TURN_H

#define SQL_TURN(X)                                                                 \
    X(SQL_BEGIN, "BEGIN")                                                           \
    X(SQL_COMMIT, "COMMIT")                                                         \
    X(SQL_ROLLBACK, "ROLLBACK")                                                     \
    X(SQL_SAVEPOINT, "SAVEPOINT step")                                              \
    X(SQL_RELEASE, "RELEASE step")                                                  \
    X(SQL_ROLLBACK_TO, "ROLLBACK TO step")                                          \
    X(SQL_META_GET, "SELECT value FROM meta WHERE name = ?")                        \
    X(SQL_META_SET, "INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)")        \
    X(SQL_REQUEST_GET, "SELECT type, answer FROM request WHERE id = ? AND uid = ?") \
    X(SQL_REQUEST_KEEP, "INSERT OR IGNORE INTO request(id, uid, at, type, answer)"  \
                        " VALUES(?, ?, ?, ?, ?)")                                   \
    X(SQL_REQUESTS_FORGET, "DELETE FROM request WHERE (id, uid) IN"                 \
                           " (SELECT id, uid FROM request WHERE at < ? ORDER BY at LIMIT ?)")

#endif
