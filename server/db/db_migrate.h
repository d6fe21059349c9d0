/* SPDX-License-Identifier: MIT */
/*
 * db_migrate.h - brings a database's schema up to date
 */
#ifndef LUDWIG_SERVER_DB_DB_MIGRATE_H
#define LUDWIG_SERVER_DB_DB_MIGRATE_H

#include "common/base/err.h"

struct sqlite3;

/* Each step in a transaction of its own; a database of a newer ludwigd is refused. */
int db_migrate(struct sqlite3 *handle, struct err *e);

/* Words SQLite's last error: "what: ...", with a kind that says whether to try again. -1. */
int db_error(struct sqlite3 *handle, struct err *e, const char *what);

#endif
