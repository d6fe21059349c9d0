/* SPDX-License-Identifier: MIT */
/* passed_env.c - variables of the submitter's shell that a sweep passes to its jobs */
#include "server/queue/passed_env.h"

#include <inttypes.h>
#include <string.h>

#include "server/base/server.h"
#include "server/db/db.h"

static int keep(struct server *sv, int64_t sweep, const struct list *values, struct err *e)
{
    const struct env_entry *entries = values->items;

    for (size_t i = 0; i < values->n; i++)
        if (db_run(sv->db, e, SQL_PASSED_SET, "iss", sweep, entries[i].name, entries[i].value) < 0)
            return -1;
    return 0;
}

int passed_env_keep(struct server *sv, int64_t sweep, const struct list *names,
                    const struct list *values, struct err *e)
{
    const char *missing = jobspec_missing(names, values);
    const char *const *items = names->items;

    for (size_t i = 0; i < names->n; i++) {
        if (jobspec_check_variable(items[i], e) < 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(items[k], items[i]) == 0)
                return err_set(e, ERR_PROTOCOL, "env: %s stands there twice", items[i]);
    }
    if (missing != NULL || names->n != values->n)
        return err_set(e, ERR_PROTOCOL, "env: the value of %s did not come with the submit",
                       missing != NULL ? missing : "a variable");
    return keep(sv, sweep, values, e);
}

/* Reads the sweep's values into the arena. */
static int read_values(struct server *sv, int64_t sweep, struct arena *a, struct list *values,
                       struct err *e)
{
    struct env_entry *entries = arena_alloc(a, PASSED_MAX * sizeof *entries);
    struct stmt *s = db_ask(sv->db, SQL_PASSED_GET, "i", sweep);
    int rc;

    *values = (struct list){ entries, 0 };
    while ((rc = stmt_step(s, e)) == 1 && values->n < PASSED_MAX)
        entries[values->n++] = (struct env_entry){ stmt_copy(s, 0, a), stmt_copy(s, 1, a) };
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* The names that the sweep's description passes; none if this ludwigd cannot read it. */
static int read_names(struct server *sv, int64_t sweep, struct arena *a, struct list *names,
                      struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_WORK, "i", sweep);
    struct jobspec work = { 0 };
    int rc = stmt_step(s, e);

    if (rc == 1)
        (void)schema_read(&work_schema, stmt_bytes(s, 2), a, &work, NULL);
    stmt_end(s);
    *names = work.passed;
    return rc < 0 ? -1 : 0;
}

int passed_env_renew(struct server *sv, int64_t sweep, const struct list *values, struct err *e)
{
    struct arena *a = arena_create();
    struct list names, known, kept = { 0 };
    const char *missing;
    int rc = read_names(sv, sweep, a, &names, e);

    if (rc == 0 && names.n > 0) {
        const struct env_entry *given = values->items;
        struct env_entry *wanted = arena_alloc(a, (values->n + 1) * sizeof *wanted);

        for (size_t i = 0; i < values->n; i++)
            for (size_t k = 0; k < names.n; k++)
                if (strcmp(((const char *const *)names.items)[k], given[i].name) == 0) {
                    wanted[kept.n++] = given[i];
                    break; /* wanted has room for each value once */
                }
        kept.items = wanted;
        rc = keep(sv, sweep, &kept, e) < 0 || read_values(sv, sweep, a, &known, e) < 0 ? -1 : 0;
        missing = rc == 0 ? jobspec_missing(&names, &known) : NULL;
        if (missing != NULL)
            rc = err_set(e, ERR_USAGE,
                         "sweep %" PRId64 " took %s from the shell that submitted it, and its value"
                         " was forgotten when the sweep ended: set it and add --env %s",
                         sweep, missing, missing);
    }
    arena_destroy(a);
    return rc;
}

int passed_env_tidy(struct server *sv, int64_t sweep, struct err *e)
{
    return db_run(sv->db, e, SQL_PASSED_TIDY, "i", sweep) < 0 ? -1 : 0;
}

int passed_env_is_there(struct server *sv, int64_t sweep, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PASSED_GET, "i", sweep);
    int rc = stmt_step(s, e);

    stmt_end(s);
    return rc;
}

int passed_env_add(struct server *sv, int64_t sweep, struct jobspec *work, struct arena *a,
                   const char **missing, struct err *e)
{
    struct env_entry *all;
    struct list values;

    *missing = NULL;
    if (work->passed.n == 0)
        return 0;
    if (read_values(sv, sweep, a, &values, e) < 0)
        return -1;
    *missing = jobspec_missing(&work->passed, &values);
    all = arena_alloc(a, (work->env.n + values.n) * sizeof *all);
    if (work->env.n > 0)
        memcpy(all, work->env.items, work->env.n * sizeof *all);
    if (values.n > 0)
        memcpy(all + work->env.n, values.items, values.n * sizeof *all);
    work->env = (struct list){ all, work->env.n + values.n };
    return 0;
}
