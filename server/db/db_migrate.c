/* SPDX-License-Identifier: MIT */
/* db_migrate.c - the numbered steps from an empty file to today's schema */
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "server/db/db_migrate.h"
#include "server/db/migrations.h"

#define X(text) text,
static const char *const steps[] = { MIGRATIONS(X) };
#undef X
enum { N_STEPS = sizeof steps / sizeof steps[0] };

static bool is_no_space(int system_errno)
{
    return system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG;
}

/* SQLite words a full disk as SQLITE_FULL, but a quota or a size limit as any other I/O error. */
static enum err_kind kind_of(sqlite3 *handle)
{
    switch (sqlite3_errcode(handle)) {
    case SQLITE_FULL: return ERR_NO_SPACE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ERR_BUSY;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return ERR_DENIED;
    case SQLITE_IOERR:
        return is_no_space(errno) || is_no_space(sqlite3_system_errno(handle)) ? ERR_NO_SPACE
                                                                               : ERR_INTERNAL;
    default: return ERR_INTERNAL;
    }
}

int db_error(sqlite3 *handle, struct err *e, const char *what)
{
    return err_set(e, kind_of(handle), "database: %s: %s", what, sqlite3_errmsg(handle));
}

static int run(sqlite3 *handle, const char *sql, struct err *e)
{
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_error(handle, e, "bring the schema up to date");
    return 0;
}

static int read_version(sqlite3 *handle, int *version, struct err *e)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(handle, "PRAGMA user_version", -1, &s, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc != SQLITE_ROW) {
        db_error(handle, e, "read the schema's version");
        sqlite3_finalize(s);
        return -1;
    }
    *version = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return 0;
}

static int step_to(sqlite3 *handle, int version, struct err *e)
{
    char *done = mem_printf("PRAGMA user_version = %d; COMMIT", version);
    int rc = 0;

    if (run(handle, "BEGIN IMMEDIATE", e) < 0 || run(handle, steps[version - 1], e) < 0 ||
        run(handle, done, e) < 0) {
        if (sqlite3_get_autocommit(handle) == 0)
            sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
        rc = err_wrap(e, "step %d", version);
    }
    free(done);
    return rc;
}

int db_migrate(sqlite3 *handle, struct err *e)
{
    int version;

    if (read_version(handle, &version, e) < 0)
        return -1;
    if (version > N_STEPS)
        return err_set(e, ERR_USAGE,
                       "the database was made by a newer ludwigd (its schema is %d, this one"
                       " knows up to %d)",
                       version, (int)N_STEPS);
    while (version < N_STEPS)
        if (step_to(handle, ++version, e) < 0)
            return -1;
    return 0;
}
