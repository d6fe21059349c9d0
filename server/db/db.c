/* SPDX-License-Identifier: MIT */
/* db.c - the queue's database: its schema, statements by name, one transaction at a time */

#include "server/db/db.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/schema.h"
#include "common/proto/notify.h"
#include "common/proto/search.h"
#include "common/proto/states.h"
#include "server/db/migrations.h"

/* The constants that statements may name (see db.h). */
static const struct {
    const char *name;
    int number;
} numbers[] = {
#define X(constant, ...) { #constant, constant },
    ATTEMPT_STATES(X) JOB_STATES(X) SWEEP_STATES(X) CAUSES(X)
#undef X
        { "ATTEMPT_LAST_LIVE", ATTEMPT_LAST_LIVE },
    { "CANCEL_NOW", CANCEL_NOW },
    { "CANCEL_DRAIN", CANCEL_DRAIN },
    { "STOP_DECIDED", STOP_DECIDED },
    { "STOP_OVERRULED", STOP_OVERRULED },
    { "STOP_EXEMPT", STOP_EXEMPT },
    { "STOP_RACED", STOP_RACED },
    { "SWEEP_ADVISED", SWEEP_ADVISED },
    { "SWEEP_ADVICE_ENDED", SWEEP_ADVICE_ENDED },
    { "SWEEP_ADVICE_FAILED", SWEEP_ADVICE_FAILED },
    { "NOTIFY_WHEN_STALLED", 1 << NOTIFY_STALLED },
    { "RESUMES_SOME", RESUMES_SOME },
    { "RESUMES_SETTLED", RESUMES_SETTLED },
};

/* Appends the SQL for JOB_IS_OVER, JOB_IS_REUSED, JOB_COUNTERS or JOB_COUNTERS_SET; false: the word
 * is none of these. */
static bool add_job_states(struct buf *out, const char *word, size_t n)
{
    static const char *const words[] = { "JOB_IS_OVER", "JOB_IS_REUSED", "JOB_COUNTERS",
                                         "JOB_COUNTERS_SET" };
    const char *between = "";
    size_t which = 0;

    while (which < 4 && (strlen(words[which]) != n || memcmp(words[which], word, n) != 0))
        which++;
    for (int i = 0; which < 4 && i < JOB_STATE_COUNT; i++) {
        if ((which == 0 && !job_is_ended((enum job_state)i)) ||
            (which == 1 && !job_is_reused((enum job_state)i)))
            continue;
        buf_add_str(out, between);
        if (which < 2)
            buf_printf(out, "%d", i);
        else
            buf_printf(out, "n_%s%s", job_state_names[i], which == 3 ? " = ?" : "");
        between = ", ";
    }
    return which < 4;
}

static void add_word(struct buf *out, const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strlen(numbers[i].name) == n && memcmp(numbers[i].name, word, n) == 0) {
            buf_printf(out, "%d", numbers[i].number);
            return;
        }
    if (!add_job_states(out, word, n))
        buf_add(out, word, n);
}

char *sql_text(const char *text)
{
    struct buf out = { 0 };

    while (*text != '\0') {
        size_t n = 0;

        while (isalnum((unsigned char)text[n]) || text[n] == '_')
            n++;
        if (n > 0)
            add_word(&out, text, n);
        else
            buf_add_char(&out, text[n++]);
        text += n;
    }
    return buf_take(&out);
}

#define X(text) text,
static const char *const steps[] = { MIGRATIONS(X) };
#undef X
enum { N_STEPS = sizeof steps / sizeof steps[0] };

static bool is_no_space(int system_errno)
{
    return system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG;
}

/* SQLite reports a full disk as SQLITE_FULL, but a quota or a size limit as any other I/O error. */
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

/* Sets *e to SQLite's last error, with a kind that tells whether to try again.  Returns -1. */
static int db_error(sqlite3 *handle, struct err *e, const char *what)
{
    return err_set(e, kind_of(handle), "database: %s: %s", what, sqlite3_errmsg(handle));
}

static int run_sql(sqlite3 *handle, const char *sql, struct err *e)
{
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_error(handle, e, "bring the schema up to date");
    return 0;
}

/* Returns the first column of a pragma's answer as text; the caller frees it.  NULL with *e set. */
static char *ask_pragma(sqlite3 *handle, const char *pragma, struct err *e)
{
    sqlite3_stmt *s = NULL;
    char *answer = NULL;

    if (sqlite3_prepare_v2(handle, pragma, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        answer = mem_strdup((const char *)sqlite3_column_text(s, 0));
    else
        db_error(handle, e, pragma);
    sqlite3_finalize(s);
    return answer;
}

/* Runs the missing steps, each in its own transaction; refuses a database of a newer ludwigd. */
static int db_migrate(sqlite3 *handle, struct err *e)
{
    char *answer = ask_pragma(handle, "PRAGMA user_version", e);
    long version = answer == NULL ? 0 : strtol(answer, NULL, 10);
    int rc = answer == NULL ? -1 : 0;

    free(answer);
    if (version > N_STEPS)
        return err_set(e, ERR_USAGE,
                       "the database was made by a newer ludwigd (its schema is %ld, this one"
                       " knows up to %d)",
                       version, (int)N_STEPS);
    while (rc == 0 && version < N_STEPS) {
        char *done = mem_printf("PRAGMA user_version = %ld; COMMIT", ++version);

        if (run_sql(handle, "BEGIN IMMEDIATE", e) < 0 ||
            run_sql(handle, steps[version - 1], e) < 0 || run_sql(handle, done, e) < 0) {
            if (sqlite3_get_autocommit(handle) == 0)
                sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
            rc = err_wrap(e, "step %ld", version);
        }
        free(done);
    }
    return rc;
}

struct stmt {
    struct db *db;
    sqlite3_stmt *handle; /* prepared by the first db_ask */
    enum sql_name name;
    int error; /* SQLite's code of a failed binding, which stmt_step reports */
    bool is_in_use;
};

struct db {
    sqlite3 *handle;
    struct err unknown; /* set when stmt_int or stmt_enum read a number that they do not accept */
    bool has_forgotten; /* a passed value was deleted, but is still in the write-ahead log */
    struct stmt stmts[SQL_COUNT];
};

static const struct {
    const char *name;
    const char *text;
} sql[SQL_COUNT] = {
#define X(name, text) [name] = { #name, text },
    SQL_ALL(X)
#undef X
};

/* ---- opening ---- */

/* EXCLUSIVE is set before WAL: then there is no shared memory file, and no other process can open
 * the database.  auto_vacuum must be set before anything is written. */
static const char *const pragmas[] = {
    "PRAGMA auto_vacuum = INCREMENTAL",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA secure_delete = ON", /* deleted values of passed do not stay in free pages */
    "PRAGMA cache_size = -4000", /* KiB; an idle ludwigd keeps this memory */
    "PRAGMA journal_size_limit = 67108864",
};

/* Rewrites a database of an earlier ludwigd, whose file would never become smaller otherwise.  This
 * needs as much disk space again for a moment; without it the file stays as it is. */
static int make_shrinkable(sqlite3 *handle, struct err *e)
{
    char *mode = ask_pragma(handle, "PRAGMA auto_vacuum", e);
    bool is_fixed = mode != NULL && strcmp(mode, "0") == 0;
    int rc = mode == NULL ? -1 : 0;

    free(mode);
    if (is_fixed)
        (void)sqlite3_exec(handle,
                           "PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL; VACUUM;"
                           "PRAGMA temp_store = MEMORY",
                           NULL, NULL, NULL);
    return rc;
}

/* Lets only ludwigd's user read the database, as it has values that were passed to jobs.  SQLite
 * gives a new write-ahead log the same mode, and reports why if the file cannot be opened. */
static void close_to_others(const char *path)
{
    char *log = mem_printf("%s-wal", path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0) {
        (void)fchmod(fd, 0600);
        close(fd);
    }
    (void)chmod(log, 0600);
    free(log);
}

static void note_forgotten(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct db *db = sqlite3_user_data(context);

    (void)n;
    (void)values;
    db->has_forgotten = true;
}

/* Makes SQLite set has_forgotten when any statement or trigger deletes a row of table passed. */
static int watch_passed(struct db *db, struct err *e)
{
    return sqlite3_create_function(db->handle, "note_forgotten", 0, SQLITE_UTF8, db, note_forgotten,
                                   NULL, NULL) != SQLITE_OK
               ? db_error(db->handle, e, "create a function")
               : run_sql(db->handle,
                         "CREATE TEMP TRIGGER passed_gone AFTER DELETE ON main.passed"
                         " BEGIN SELECT note_forgotten(); END",
                         e);
}

/* Empties the write-ahead log, which may still have values deleted from the database. */
static void forget(struct db *db)
{
    if (sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
        SQLITE_OK)
        db->has_forgotten = false;
}

struct db *db_open(const char *path, struct err *e)
{
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    struct db *db = mem_alloc(sizeof *db);
    char *mode = NULL;

    for (int i = 0; i < SQL_COUNT; i++)
        db->stmts[i] = (struct stmt){ .db = db, .name = (enum sql_name)i };
    close_to_others(path);
    if (sqlite3_open_v2(path, &db->handle, flags, NULL) != SQLITE_OK) {
        db_error(db->handle, e, "open");
        goto fail;
    }
    for (size_t i = 0; i < sizeof pragmas / sizeof pragmas[0]; i++)
        if (sqlite3_exec(db->handle, pragmas[i], NULL, NULL, NULL) != SQLITE_OK) {
            db_error(db->handle, e, pragmas[i]);
            goto fail;
        }
    mode = ask_pragma(db->handle, "PRAGMA journal_mode", e);
    if (mode != NULL && strcmp(mode, "wal") != 0)
        err_set(e, ERR_FAILED, "database: write-ahead logging does not work here (%s)", mode);
    else if (mode != NULL && make_shrinkable(db->handle, e) == 0 &&
             db_migrate(db->handle, e) == 0 && watch_passed(db, e) == 0) {
        forget(db); /* an earlier ludwigd may have been killed before it did so */
        free(mode);
        return db;
    }
fail:
    free(mode);
    err_wrap(e, "%s", path);
    if (e != NULL && e->kind == ERR_BUSY)
        err_wrap(e, "another process uses it");
    db_close(db);
    return NULL;
}

void db_close(struct db *db)
{
    if (db == NULL)
        return;
    for (int i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(db->stmts[i].handle);
    sqlite3_close(db->handle);
    free(db);
}

/* ---- a copy ---- */

enum { BACKUP_STEP_PAGES = 256 }; /* 1 MiB; ludwigd answers messages between two steps */

struct db_backup {
    sqlite3 *to;
    sqlite3_backup *copy;
};

struct db_backup *db_backup_begin(struct db *db, const char *path, struct err *e)
{
    struct db_backup *b = mem_alloc(sizeof *b);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0) {
        err_sys(e, "create %s", path);
        free(b);
        return NULL;
    }
    close(fd);
    if (sqlite3_open_v2(path, &b->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
            SQLITE_OK &&
        sqlite3_exec(b->to, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK)
        b->copy = sqlite3_backup_init(b->to, "main", db->handle, "main");
    if (b->copy != NULL)
        return b;
    db_error(b->to, e, "begin a copy");
    db_backup_end(b);
    return NULL;
}

/* Ends the copying and deletes the values that were passed to jobs from the copy: copies are kept
 * and read where these values must not be. */
static int forget_passed(struct db_backup *b, struct err *e)
{
    int rc = sqlite3_backup_finish(b->copy);

    b->copy = NULL;
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(b->to, "PRAGMA secure_delete = ON; DELETE FROM passed", NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_error(b->to, e, "complete a copy");
}

/* While the database is being written (BUSY, LOCKED) it returns 1: the caller tries again later. */
int db_backup_step(struct db_backup *b, struct err *e)
{
    int rc = sqlite3_backup_step(b->copy, BACKUP_STEP_PAGES);

    if (rc == SQLITE_DONE)
        return forget_passed(b, e);
    if (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return 1;
    return err_set(e, ERR_FAILED, "database: copy it: %s", sqlite3_errstr(rc));
}

void db_backup_end(struct db_backup *b)
{
    if (b == NULL)
        return;
    (void)sqlite3_backup_finish(b->copy);
    sqlite3_close(b->to);
    free(b);
}

/* ---- asking ---- */

static int bind_one(sqlite3_stmt *h, int i, char letter, va_list *ap)
{
    struct bytes bytes;
    int64_t number;

    switch (letter) {
    case 'i': return sqlite3_bind_int64(h, i, va_arg(*ap, int64_t));
    case 'I':
        number = va_arg(*ap, int64_t);
        return number == SCHEMA_NONE ? sqlite3_bind_null(h, i) : sqlite3_bind_int64(h, i, number);
    case 'f': return sqlite3_bind_double(h, i, va_arg(*ap, double));
    case 's': return sqlite3_bind_text(h, i, va_arg(*ap, const char *), -1, SQLITE_STATIC);
    case 'b':
        bytes = va_arg(*ap, struct bytes);
        return bytes.data == NULL ? sqlite3_bind_null(h, i)
                                  : sqlite3_bind_blob64(h, i, bytes.data, bytes.n, SQLITE_STATIC);
    case 't':
        return sqlite3_bind_blob(h, i, va_arg(*ap, const struct token *), TOKEN_BYTES,
                                 SQLITE_STATIC);
    case 'd':
        return sqlite3_bind_blob(h, i, va_arg(*ap, const struct digest *), DIGEST_BYTES,
                                 SQLITE_STATIC);
    default: return SQLITE_MISUSE;
    }
}

/* Prepares a statement if need be, and binds arguments up to the end of the format or to a '>'. */
static struct stmt *ask_statement(struct db *db, enum sql_name name, const char *format,
                                  va_list *ap)
{
    struct stmt *s = &db->stmts[name];
    int n = 0;

    if (s->is_in_use) {
        s->error = SQLITE_MISUSE;
        return s;
    }
    s->is_in_use = true;
    s->error = SQLITE_OK;
    if (s->handle == NULL) {
        char *text = sql_text(sql[name].text);

        s->error =
            sqlite3_prepare_v3(db->handle, text, -1, SQLITE_PREPARE_PERSISTENT, &s->handle, NULL);
        free(text);
    }
    for (; *format != '\0' && *format != '>' && s->error == SQLITE_OK; format++) {
        const int64_t *counts = *format == 'c' ? va_arg(*ap, const int64_t *) : NULL;

        if (counts == NULL)
            s->error = bind_one(s->handle, ++n, *format, ap);
        for (int i = 0; counts != NULL && i < JOB_STATE_COUNT && s->error == SQLITE_OK; i++)
            s->error = sqlite3_bind_int64(s->handle, ++n, counts[i]);
    }
    if (s->error == SQLITE_OK && sqlite3_bind_parameter_count(s->handle) != n)
        s->error = SQLITE_RANGE;
    return s;
}

struct stmt *db_ask(struct db *db, enum sql_name name, const char *format, ...)
{
    struct stmt *s;
    va_list ap;

    va_start(ap, format);
    s = ask_statement(db, name, format, &ap);
    va_end(ap);
    return s;
}

int stmt_step(struct stmt *s, struct err *e)
{
    const char *name = sql[s->name].name;
    int rc;

    if (s->error != SQLITE_OK) {
        if (s->error == SQLITE_MISUSE)
            err_set(e, ERR_INTERNAL, "database: %s is in use", name);
        else if (s->error == SQLITE_RANGE)
            err_set(e, ERR_INTERNAL, "database: %s was bound wrongly", name);
        else
            db_error(s->db->handle, e, name);
        stmt_end(s);
        return -1;
    }
    errno = 0; /* kind_of reads it after an I/O error */
    rc = sqlite3_step(s->handle);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        db_error(s->db->handle, e, name);
    stmt_end(s);
    return rc == SQLITE_DONE ? 0 : -1;
}

void stmt_end(struct stmt *s)
{
    if (s->handle != NULL)
        sqlite3_reset(s->handle);
    s->error = SQLITE_OK;
    s->is_in_use = false;
}

bool stmt_is_null(struct stmt *s, int column)
{
    return sqlite3_column_type(s->handle, column) == SQLITE_NULL;
}

int64_t stmt_int(struct stmt *s, int column)
{
    const int64_t bound = INT64_C(1) << 62;
    int64_t number;

    if (stmt_is_null(s, column))
        return SCHEMA_NONE;
    number = sqlite3_column_int64(s->handle, column);
    if (number > -bound && number < bound)
        return number;
    err_set(&s->db->unknown, ERR_INTERNAL,
            "database: %s, column %d: %lld is out of bounds: the database is damaged",
            sql[s->name].name, column, (long long)number);
    return 0;
}

int stmt_enum(struct stmt *s, int column, int count)
{
    int64_t number = stmt_int(s, column);

    if (number >= 0 && number < count)
        return (int)number;
    err_set(&s->db->unknown, ERR_INTERNAL,
            "database: %s, column %d: %lld is not known here: a newer ludwigd wrote it",
            sql[s->name].name, column, (long long)number);
    return 0;
}

double stmt_float(struct stmt *s, int column)
{
    return sqlite3_column_double(s->handle, column);
}

const char *stmt_text(struct stmt *s, int column)
{
    return (const char *)sqlite3_column_text(s->handle, column);
}

const char *stmt_copy(struct stmt *s, int column, struct arena *a)
{
    const char *text = stmt_text(s, column);

    return text == NULL ? NULL : arena_strdup(a, text);
}

struct bytes stmt_bytes(struct stmt *s, int column)
{
    const void *data = sqlite3_column_blob(s->handle, column);

    return (struct bytes){ data, (size_t)sqlite3_column_bytes(s->handle, column) };
}

/* Copies a column of n bytes; a column of another length reads as zeroes. */
static void copy_exact(struct stmt *s, int column, void *to, size_t n)
{
    struct bytes b = stmt_bytes(s, column);

    if (b.n == n)
        memcpy(to, b.data, n);
    else
        memset(to, 0, n);
}

void stmt_token(struct stmt *s, int column, struct token *t)
{
    copy_exact(s, column, t->bytes, TOKEN_BYTES);
}

void stmt_digest(struct stmt *s, int column, struct digest *d)
{
    copy_exact(s, column, d->bytes, DIGEST_BYTES);
}

int db_run(struct db *db, struct err *e, enum sql_name name, const char *format, ...)
{
    struct stmt *s;
    va_list ap;
    int rc;

    va_start(ap, format);
    s = ask_statement(db, name, format, &ap);
    va_end(ap);
    while ((rc = stmt_step(s, e)) == 1)
        ;
    return rc < 0 ? -1 : sqlite3_changes(db->handle);
}

int db_get(struct db *db, struct err *e, enum sql_name name, const char *format, ...)
{
    const char *out = strchr(format, '>');
    struct stmt *s;
    va_list ap;
    int rc;

    va_start(ap, format);
    s = ask_statement(db, name, format, &ap);
    if (s->error == SQLITE_OK &&
        (out == NULL || (int)strlen(++out) > sqlite3_column_count(s->handle)))
        s->error = SQLITE_RANGE;
    rc = stmt_step(s, e);
    for (int i = 0; rc == 1 && out[i] != '\0'; i++) {
        if (out[i] == 's') {
            struct arena *a = va_arg(ap, struct arena *);

            *va_arg(ap, const char **) = stmt_copy(s, i, a);
        } else {
            *va_arg(ap, int64_t *) = stmt_int(s, i);
        }
    }
    va_end(ap);
    if (rc == 1)
        stmt_end(s);
    return rc;
}

int64_t db_last_id(struct db *db)
{
    return sqlite3_last_insert_rowid(db->handle);
}

int64_t db_changes(struct db *db)
{
    return sqlite3_total_changes64(db->handle);
}

/* ---- transactions ---- */

/* Ends all statements: a failed handler may have left one half-read, which the next handler could
 * not ask for again. */
static void end_all(struct db *db)
{
    for (int i = 0; i < SQL_COUNT; i++)
        if (db->stmts[i].is_in_use)
            stmt_end(&db->stmts[i]);
}

bool db_is_in_transaction(struct db *db)
{
    return sqlite3_get_autocommit(db->handle) == 0;
}

int db_begin(struct db *db, struct err *e)
{
    db->unknown = (struct err){ 0 };
    return db_run(db, e, SQL_BEGIN, "") < 0 ? -1 : 0;
}

int db_commit(struct db *db, struct err *e)
{
    end_all(db);
    if (db_run(db, e, SQL_COMMIT, "") < 0)
        return -1;
    if (db->has_forgotten)
        forget(db);
    return 0;
}

void db_rollback(struct db *db)
{
    end_all(db);
    if (db_is_in_transaction(db))
        db_run(db, NULL, SQL_ROLLBACK, "");
}

int db_check(struct db *db, struct err *e)
{
    struct err unknown = db->unknown;

    db->unknown = (struct err){ 0 };
    return unknown.kind == ERR_NONE ? 0 : err_set(e, unknown.kind, "%s", unknown.text);
}

int db_savepoint(struct db *db, struct err *e)
{
    return db_run(db, e, SQL_SAVEPOINT, "") < 0 ? -1 : 0;
}

int db_release(struct db *db, struct err *e)
{
    if (db->unknown.kind != ERR_NONE)
        return err_set(e, db->unknown.kind, "%s", db->unknown.text);
    return db_run(db, e, SQL_RELEASE, "") < 0 ? -1 : 0;
}

void db_rollback_to(struct db *db)
{
    end_all(db);
    db->unknown = (struct err){ 0 };
    if (!db_is_in_transaction(db))
        return;
    db_run(db, NULL, SQL_ROLLBACK_TO, "");
    db_run(db, NULL, SQL_RELEASE, "");
}
