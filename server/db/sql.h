/* SPDX-License-Identifier: MIT */
/*
 * sql.h - every statement ludwigd runs, by name
 *
 * Split over the files that own them, so that a handler's SQL is found beside its name.
 */
#ifndef LUDWIG_SERVER_DB_SQL_H
#define LUDWIG_SERVER_DB_SQL_H

#include "server/db/sql_attempts.h"
#include "server/db/sql_data.h"
#include "server/db/sql_pilots.h"
#include "server/db/sql_query.h"
#include "server/db/sql_submit.h"
#include "server/db/sql_turn.h"

#define SQL_ALL(X) SQL_SUBMIT(X) SQL_ATTEMPTS(X) SQL_QUERY(X) SQL_DATA(X) SQL_PILOTS(X) SQL_TURN(X)

enum sql_name {
#define X(name, text) name,
    SQL_ALL(X)
#undef X
        SQL_COUNT
};

#endif
