/* SPDX-License-Identifier: MIT */
/* db.c - statements by name, savepoints, and who may open the file */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/data/schema.h"
#include "server/db/db.h"
#include "server/db/migrations.h"

struct fixture {
    char *dir;
    char *path;
    struct db *db;
};

static struct db *open_db(const char *path)
{
    struct err e = { 0 };
    struct db *db = db_open(path, &e);

    if (db == NULL)
        fail_msg("%s", e.text);
    return db;
}

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof *f);
    char template[] = "/tmp/ludwig-unit-XXXXXX";

    assert_non_null(mkdtemp(template));
    f->dir = mem_strdup(template);
    f->path = mem_printf("%s/ludwig.db", template);
    f->db = open_db(f->path);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    db_close(f->db);
    assert_int_equal(io_remove_tree(f->dir, NULL), 0);
    free(f->path);
    free(f->dir);
    free(f);
    return 0;
}

static int64_t get_meta(struct db *db, const char *name)
{
    int64_t value = -1;

    assert_true(db_get(db, NULL, SQL_META_GET, "s>i", name, &value) >= 0);
    return value;
}

static void set_meta(struct db *db, const char *name, int64_t value)
{
    assert_int_equal(db_run(db, NULL, SQL_META_SET, "si", name, value), 1);
}

static void what_was_written_is_there_when_it_is_opened_again(void **state)
{
    struct fixture *f = *state;

    set_meta(f->db, "x", 1 - (INT64_C(1) << 62));
    db_close(f->db);
    f->db = open_db(f->path);
    assert_true(get_meta(f->db, "x") == 1 - (INT64_C(1) << 62));
    assert_int_equal(get_meta(f->db, "no such"), -1);
}

static void values_come_back_as_they_were_bound(void **state)
{
    struct fixture *f = *state;
    struct bytes answer = { (const uint8_t *)"a\0b", 3 };
    struct token id;
    struct stmt *s;

    token_make(&id);
    assert_int_equal(db_run(f->db, NULL, SQL_REQUEST_KEEP, "tiiib", &id, (int64_t)5, (int64_t)6,
                            (int64_t)7, answer),
                     1);
    s = db_ask(f->db, SQL_REQUEST_GET, "ti", &id, (int64_t)5);
    assert_int_equal(stmt_step(s, NULL), 1);
    assert_int_equal(stmt_int(s, 0), 7);
    assert_int_equal(stmt_bytes(s, 1).n, 3);
    assert_memory_equal(stmt_bytes(s, 1).data, "a\0b", 3);
    assert_int_equal(stmt_step(s, NULL), 0);
    s = db_ask(f->db, SQL_REQUEST_GET, "ti", &id, (int64_t)6);
    assert_int_equal(stmt_step(s, NULL), 0);
}

static void no_number_and_no_text_are_null(void **state)
{
    struct fixture *f = *state;
    struct stmt *s;

    assert_int_equal(db_run(f->db, NULL, SQL_METRIC_SET, "isfIffi", (int64_t)1, "loss", 0.25,
                            SCHEMA_NONE, 0.25, (double)NAN, (int64_t)1),
                     1);
    s = db_ask(f->db, SQL_JOB_METRICS, "ii", (int64_t)1, (int64_t)10);
    assert_int_equal(stmt_step(s, NULL), 1);
    assert_string_equal(stmt_text(s, 0), "loss");
    assert_true(stmt_float(s, 1) == 0.25);
    assert_true(stmt_is_null(s, 2));
    assert_true(stmt_int(s, 2) == SCHEMA_NONE);
    stmt_end(s);
}

static void a_statement_in_use_is_not_given_out_again(void **state)
{
    struct fixture *f = *state;
    struct err e = { 0 };
    struct stmt *s = db_ask(f->db, SQL_META_GET, "s", "version");
    int64_t value;

    assert_int_equal(stmt_step(s, NULL), 1);
    assert_int_equal(db_get(f->db, &e, SQL_META_GET, "s>i", "version", &value), -1);
    assert_int_equal(e.kind, ERR_INTERNAL);
    assert_non_null(strstr(e.text, "SQL_META_GET is in use"));
    assert_int_equal(get_meta(f->db, "version"), 0);
}

static void states_stand_in_statements_by_name(void **state)
{
    char *text = sql_text("state <= ATTEMPT_LAST_LIVE AND state = ATTEMPT_RUNNING OR"
                          " s.state = SWEEP_PAUSED AND ATTEMPT_NONE");

    (void)state;
    assert_string_equal(text, "state <= 3 AND state = 2 OR s.state = 2 AND ATTEMPT_NONE");
    free(text);
    /* Further states may follow. */
    text = sql_text("j.state IN (JOB_IS_OVER)");
    assert_memory_equal(text, "j.state IN (4, 5, 6", strlen("j.state IN (4, 5, 6"));
    free(text);
    text = sql_text("SELECT JOB_COUNTERS");
    assert_non_null(strstr(text, "SELECT n_queued, n_staging, n_running, n_publishing, n_done,"
                                 " n_failed, n_cancelled"));
    free(text);
    text = sql_text("JOB_COUNTERS_SET");
    assert_non_null(strstr(text, "n_queued = ?, n_staging = ?, n_running = ?, n_publishing = ?,"
                                 " n_done = ?, n_failed = ?, n_cancelled = ?"));
    free(text);
}

static void a_wrong_format_is_an_error_and_no_crash(void **state)
{
    struct fixture *f = *state;
    struct err e = { 0 };

    assert_int_equal(db_run(f->db, &e, SQL_META_SET, "s", "x"), -1);
    assert_non_null(strstr(e.text, "SQL_META_SET was bound wrongly"));
    assert_int_equal(db_run(f->db, &e, SQL_META_SET, "s?", "x", (int64_t)1), -1);
}

/* The compiler cannot see that the table of statements is in order; SQLite can. */
static void every_statement_can_be_prepared(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < SQL_COUNT; i++) {
        struct err e = { 0 };
        struct stmt *s = db_ask(f->db, (enum sql_name)i, "x");

        /* "x" is no letter: what SQLite has against the text would come first. */
        if (stmt_step(s, &e) == -1 && strstr(e.text, "was bound wrongly") == NULL &&
            strstr(e.text, "is in use") == NULL)
            fail_msg("%s", e.text);
    }
}

static void savepoints_go_back_one_by_one(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(db_begin(f->db, NULL), 0);
    set_meta(f->db, "x", 1);
    assert_int_equal(db_savepoint(f->db, NULL), 0);
    set_meta(f->db, "x", 2);
    assert_int_equal(db_savepoint(f->db, NULL), 0);
    set_meta(f->db, "x", 3);
    db_rollback_to(f->db);
    assert_int_equal(get_meta(f->db, "x"), 2);
    assert_int_equal(db_release(f->db, NULL), 0);
    assert_int_equal(db_commit(f->db, NULL), 0);
    assert_int_equal(get_meta(f->db, "x"), 2);
}

static void going_back_ends_what_was_left_half_read(void **state)
{
    struct fixture *f = *state;
    struct stmt *s;

    assert_int_equal(db_begin(f->db, NULL), 0);
    assert_int_equal(db_savepoint(f->db, NULL), 0);
    s = db_ask(f->db, SQL_META_GET, "s", "version");
    assert_int_equal(stmt_step(s, NULL), 1);
    db_rollback_to(f->db);
    assert_int_equal(get_meta(f->db, "version"), 0);
    db_rollback(f->db);
}

static void a_rollback_leaves_everything_as_it_was(void **state)
{
    struct fixture *f = *state;
    int64_t before;

    set_meta(f->db, "x", 1);
    before = db_changes(f->db);
    assert_int_equal(db_begin(f->db, NULL), 0);
    set_meta(f->db, "x", 2);
    assert_int_equal(db_changes(f->db), before + 1);
    db_rollback(f->db);
    assert_false(db_is_in_transaction(f->db));
    assert_int_equal(get_meta(f->db, "x"), 1);
}

static void a_commit_that_fails_leaves_it_usable(void **state)
{
    struct fixture *f = *state;
    struct rlimit limit;
    struct err e = { 0 };

    set_meta(f->db, "x", 1);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 512; /* as on a full disk: no file may grow any more */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(db_begin(f->db, NULL), 0);
    set_meta(f->db, "x", 2);
    assert_int_equal(db_commit(f->db, &e), -1);
    db_rollback(f->db);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(e.kind, ERR_NO_SPACE);
    assert_int_equal(get_meta(f->db, "x"), 1);
    assert_int_equal(db_begin(f->db, NULL), 0);
    set_meta(f->db, "x", 3);
    assert_int_equal(db_commit(f->db, NULL), 0);
    db_close(f->db);
    f->db = open_db(f->path);
    assert_int_equal(get_meta(f->db, "x"), 3);
}

static void a_second_one_is_kept_out(void **state)
{
    struct fixture *f = *state;
    struct err e = { 0 };

    assert_null(db_open(f->path, &e));
    assert_int_equal(e.kind, ERR_BUSY);
}

static void write_at(const char *path, off_t offset, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, offset), n);
    close(fd);
}

static void a_newer_schema_is_refused_and_left_alone(void **state)
{
    enum { USER_VERSION_OFFSET = 60 }; /* in the file's header, four bytes */
    struct fixture *f = *state;
    struct err e = { 0 };

    db_close(f->db);
    write_at(f->path, USER_VERSION_OFFSET, "\0\0\3\347", 4);
    f->db = db_open(f->path, &e);
    assert_null(f->db);
    assert_non_null(strstr(e.text, "newer ludwigd"));
    assert_non_null(strstr(e.text, "999"));
}

/* As the ludwigd of version 19 left it. */
static void an_older_database_knows_what_its_attempts_used(void **state)
{
#define X(text) text,
    static const char *const steps[] = { MIGRATIONS(X) };
#undef X
    static const char rows[] =
        "INSERT INTO sweep(id, project, uid, user, state, priority, reps, reuse, work, work_digest,"
        " cpus_milli, gpus_milli, memory_bytes, time_ms, opened_by, begin_id, chain, stamp,"
        " submitted_at, spent_attempts, spent_ms) VALUES"
        "(7, 1, 0, 'u', 3, 0, 1, 0, x'', x'', 1000, 0, 4 << 30, 60000, 0, x'', x'', '', 1, 2, 5000),"
        "(8, 1, 0, 'u', 3, 0, 1, 0, x'', x'', 1000, 0, 1 << 30, 60000, 0, x'', x'', '', 1, 0, 0);"
        "INSERT INTO attempt(job, sweep, no, token, worker, state, assigned_at, started_at,"
        " ended_at, max_rss_bytes) VALUES"
        "(1, 7, 1, x'01', 1, 5, 1, 1000, 3000, 1 << 30)," /* failed */
        "(1, 7, 2, x'02', 1, 4, 1, 4000, 7000, 2 << 30)," /* done */
        "(2, 7, 1, x'03', 1, 2, 1, 4000, 0, 0),"          /* runs */
        "(2, 7, 2, x'04', 1, 9, 1, 0, 9000, 0);";         /* was given back */
    static const char sql[] = "SELECT spent_limit_ms = 120000 AND asked_gib_ms = 20000.0"
                              " AND used_gib_ms = 8000.0 AND peak_rss_bytes = 2 << 30"
                              " AND longest_ms = 3000 FROM sweep WHERE id = 7 UNION ALL SELECT"
                              " peak_rss_bytes = 0 AND asked_gib_ms = 0 FROM sweep WHERE id = 8";
    struct fixture *f = *state;
    char *path = mem_printf("%s/older.db", f->dir);
    sqlite3_stmt *s;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < 19; i++)
        assert_int_equal(sqlite3_exec(db, steps[i], NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 19", NULL, NULL, NULL), SQLITE_OK);
    if (sqlite3_exec(db, rows, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    db_close(open_db(path));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(s, 0), 1);
    }
    sqlite3_finalize(s);
    sqlite3_close(db);
    free(path);
}

static void a_number_that_would_overflow_is_not_taken(void **state)
{
    static const int64_t damaged[] = { INT64_MAX, INT64_MIN, INT64_C(1) << 62, INT64_MAX / 1000 };
    const struct token token = { { 1 } };
    struct fixture *f = *state;
    struct err e = { 0 };
    struct stmt *s;

    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        assert_int_equal(db_run(f->db, NULL, SQL_WORKER_INSERT, "tisssstiiii", &token, (int64_t)0,
                                "u", "n", "k", "b", &token, (int64_t)1000, damaged[i], (int64_t)0,
                                (int64_t)0),
                         1);
        s = db_ask(f->db, SQL_WHY_WORKERS, "");
        assert_int_equal(stmt_step(s, &e), 1);
        assert_int_equal(stmt_int(s, 5), 0);
        stmt_end(s);
        assert_int_equal(db_check(f->db, &e), -1);
        assert_non_null(strstr(e.text, "SQL_WHY_WORKERS, column 5: "));
        assert_int_equal(db_check(f->db, &e), 0);
        assert_int_equal(db_run(f->db, NULL, SQL_WORKER_FORGET, "i", db_last_id(f->db)), 1);
    }
}

static void what_is_no_database_is_refused(void **state)
{
    struct fixture *f = *state;
    char *path = mem_printf("%s/notes.txt", f->dir);
    char text[4096];
    struct err e = { 0 };

    memset(text, 'x', sizeof text);
    write_at(path, 0, text, sizeof text);
    assert_null(db_open(path, &e));
    assert_non_null(strstr(e.text, "not a database"));
    free(path);
}

static const char *const texts[] = {
#define X(name, text) [name] = text,
    SQL_ALL(X)
#undef X
};

/* The step of the statement's plan that reads all rows of a table; NULL: none does.  The index
 * attempt_live has only attempts that have not ended, few at any time. */
static char *find_scan(sqlite3 *db, enum sql_name name)
{
    char *plain = sql_text(texts[name]);
    char *text = mem_printf("EXPLAIN QUERY PLAN %s", plain);
    char *scan = NULL;
    sqlite3_stmt *s;

    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &s, NULL), SQLITE_OK);
    while (scan == NULL && sqlite3_step(s) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(s, 3);

        if (strncmp(step, "SCAN", 4) == 0 && strstr(step, "attempt_live") == NULL)
            scan = mem_printf("%s: %s", step, plain);
    }
    sqlite3_finalize(s);
    free(text);
    free(plain);
    return scan;
}

/* Pilots that ended are kept for a week, sweeps for good, and there may be many. */
static void pilots_and_sweeps_that_ended_slow_nobody_down(void **state)
{
    static const enum sql_name often[] = {
        SQL_PILOTS_LIVE, SQL_PILOTS_FORGET, SQL_PILOT_BY_TOKEN, SQL_PILOT_OF_WORKER, SQL_WHY_PILOTS,
        SQL_POOL_DEMAND, SQL_POOL_REFUSE,   SQL_POOL_OPEN,      SQL_PILOTS_COUNT
    };
    struct fixture *f = *state;
    char *scan = NULL;
    sqlite3 *db;

    db_close(f->db);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    for (size_t i = 0; scan == NULL && i < sizeof often / sizeof *often; i++)
        scan = find_scan(db, often[i]);
    sqlite3_close(db);
    f->db = open_db(f->path);
    if (scan != NULL)
        fail_msg("%s", scan);
}

/* One user may do a configuration as often as they may have sweeps, and an advisor asks for hundreds of
 * checkpoints at once. */
static void a_configuration_that_was_done_very_often_slows_nobody_down(void **state)
{
    static const char rows[] =
        "INSERT INTO param(id, project, no, digest, value) VALUES(1, 1, 1, x'00', x'00');"
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        "INSERT INTO job(sweep, no, param, rep, name, work_digest, state, queued_at, version)"
        " SELECT i, 1, 1, 0, i, x'00', 4, 1, 1 FROM n;";
    struct fixture *f = *state;
    char *text = sql_text(texts[SQL_LEFT_CHECKPOINT]);
    sqlite3_stmt *s;
    sqlite3 *db;

    db_close(f->db);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_bind_int(s, 1, 1), SQLITE_OK);
    assert_int_equal(sqlite3_bind_int(s, 2, 0), SQLITE_OK);
    assert_int_equal(sqlite3_bind_int(s, 3, 1000), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_true(sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 0) < 10000);
    sqlite3_finalize(s);
    sqlite3_close(db);
    free(text);
    f->db = open_db(f->path);
}

/* ---- docs/internals/database.md ---- */

/* The tables and columns of the schema, a line each, as the page begins their lines. */
static void add_schema(sqlite3 *db, struct buf *out)
{
    static const char sql[] = "SELECT m.name, c.name, c.cid FROM sqlite_master m,"
                              " pragma_table_info(m.name) c WHERE m.type = 'table'"
                              " ORDER BY m.rowid, c.cid";
    sqlite3_stmt *s;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
        if (sqlite3_column_int(s, 2) == 0)
            buf_printf(out, "### `%s`\n", sqlite3_column_text(s, 0));
        buf_printf(out, "| `%s` |\n", sqlite3_column_text(s, 1));
    }
    sqlite3_finalize(s);
}

/* What the page names, in the same form. */
static void add_page(const char *path, struct buf *out)
{
    struct buf page = { 0 };
    struct err e = { 0 };

    if (io_read_file(path, 1 << 20, &page, &e) < 0)
        fail_msg("%s", e.text);
    for (const char *line = buf_text(&page), *end; *line != '\0'; line = end + 1) {
        const char *name = strchr(line, '`');

        end = line + strcspn(line, "\n");
        if (strncmp(line, "### `", 5) == 0)
            buf_printf(out, "%.*s\n", (int)(end - line), line);
        else if (strncmp(line, "| `", 3) == 0)
            buf_printf(out, "%.*s |\n", (int)(strchr(name + 1, '`') + 1 - line), line);
        if (*end == '\0')
            break;
    }
    buf_free(&page);
}

static void the_page_lists_every_table_and_column(void **state)
{
    struct fixture *f = *state;
    struct buf schema = { 0 }, page = { 0 };
    sqlite3 *db;

    db_close(f->db);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    add_schema(db, &schema);
    sqlite3_close(db);
    f->db = open_db(f->path);
    add_page("docs/internals/database.md", &page);
    assert_true(schema.n > 0);
    assert_string_equal(buf_text(&page), buf_text(&schema));
    buf_free(&schema);
    buf_free(&page);
}

static bool file_has(const char *path, const char *text)
{
    struct buf content = { 0 };
    bool has;

    assert_int_equal(io_read_file(path, 1 << 26, &content, NULL), 0);
    has = memmem(content.bytes, content.n, text, strlen(text)) != NULL;
    buf_free(&content);
    return has;
}

/* The copy is made in steps, between which the database changes. */
static void a_backup_is_made_while_it_is_used(void **state)
{
    struct fixture *f = *state;
    char *path = mem_printf("%s/copy.db", f->dir);
    struct err e = { 0 };
    struct db_backup *b;
    struct db *copy;
    int64_t found = 0;
    int steps = 0;

    assert_int_equal(db_begin(f->db, &e), 0);
    assert_true(db_run(f->db, &e, SQL_PASSED_SET, "iss", (int64_t)1, "KEY", "passed-secret") >= 0);
    for (int64_t i = 0; i < 30000; i++) {
        char name[200];

        snprintf(name, sizeof name, "%0150lld", (long long)i);
        set_meta(f->db, name, i);
    }
    assert_int_equal(db_commit(f->db, &e), 0);
    b = db_backup_begin(f->db, path, &e);
    assert_non_null(b);
    while (db_backup_step(b, &e) > 0)
        if (steps++ == 1)
            set_meta(f->db, "meanwhile", 7);
    assert_true(steps > 2);
    db_backup_end(b);
    assert_null(db_backup_begin(f->db, path, &e)); /* never over another file */
    copy = open_db(path);
    assert_int_equal(db_get(copy, &e, SQL_META_GET, "s>i", "meanwhile", &found), 1);
    assert_int_equal(found, 7);
    db_close(copy);
    assert_true(file_has(f->path, "passed-secret")); /* so that the next line can fail */
    assert_false(file_has(path, "passed-secret"));
    free(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(what_was_written_is_there_when_it_is_opened_again),
        TEST(values_come_back_as_they_were_bound),
        TEST(no_number_and_no_text_are_null),
        TEST(a_statement_in_use_is_not_given_out_again),
        TEST(states_stand_in_statements_by_name),
        TEST(a_wrong_format_is_an_error_and_no_crash),
        TEST(every_statement_can_be_prepared),
        TEST(savepoints_go_back_one_by_one),
        TEST(going_back_ends_what_was_left_half_read),
        TEST(a_rollback_leaves_everything_as_it_was),
        TEST(a_commit_that_fails_leaves_it_usable),
        TEST(a_second_one_is_kept_out),
        TEST(a_newer_schema_is_refused_and_left_alone),
        TEST(an_older_database_knows_what_its_attempts_used),
        TEST(a_number_that_would_overflow_is_not_taken),
        TEST(what_is_no_database_is_refused),
        TEST(pilots_and_sweeps_that_ended_slow_nobody_down),
        TEST(a_configuration_that_was_done_very_often_slows_nobody_down),
        TEST(a_backup_is_made_while_it_is_used),
        TEST(the_page_lists_every_table_and_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
