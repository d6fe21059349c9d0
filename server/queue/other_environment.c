/* SPDX-License-Identifier: MIT */
/* other_environment.c - whether jobs were done before, with only their environment different */

#include "server/queue/other_environment.h"

#include "common/proto/jobspec.h"
#include "server/db/db.h"

/* For how many of the sweep's jobs ludwigd looks up the sweep that did them. */
enum { LOOKED_AT_MAX = 1000 };

/* Reads what the sweep runs into the arena: 1, 0 when it cannot be read, -1. */
static int read_work(struct server *sv, int64_t sweep, struct arena *a, struct jobspec *work,
                     struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_WORK, "i", sweep);
    int rc = stmt_step(s, e);

    if (rc == 1 && schema_read(&work_schema, stmt_bytes(s, 2), a, work, NULL) < 0)
        rc = 0;
    stmt_end(s);
    return rc;
}

/* The digest of all that makes jobs the same, without the environment. */
static struct digest digest_without(const struct jobspec *work)
{
    struct jobspec other = *work;
    struct digest digest;

    other.environment.decides = false;
    jobspec_digest(&other, &digest);
    return digest;
}

static const char *describe(const struct environment *x, struct arena *a)
{
    if (x->tool != NULL)
        return arena_printf(a, "that of %s, built by %s", x->file, x->tool);
    if (x->path == NULL)
        return x->modules.n > 0 ? "the node's own, with modules" : "the node's own";
    return arena_printf(a, "%s %s%s%s", x->kind != NULL ? x->kind : "folder", x->path,
                        x->python != NULL ? ", python " : "", x->python != NULL ? x->python : "");
}

int other_environment_find(struct server *sv, int64_t sweep, struct arena *a,
                           const char **described, struct err *e)
{
    struct jobspec now = { 0 }, before = { 0 };
    struct digest digest_now, digest_before;
    int64_t doer = SCHEMA_NONE;
    int rc;

    *described = NULL;
    if (db_get(sv->db, e, SQL_DONE_BY, "ii>i", sweep, (int64_t)LOOKED_AT_MAX, &doer) < 0)
        return -1;
    if (doer == SCHEMA_NONE || (rc = read_work(sv, sweep, a, &now, e)) == 0 ||
        (rc == 1 && (rc = read_work(sv, doer, a, &before, e)) == 0))
        return 0;
    if (rc < 0)
        return -1;
    digest_now = digest_without(&now);
    digest_before = digest_without(&before);
    if (digest_equal(&digest_now, &digest_before))
        *described = arena_printf(a, "%s%s", describe(&before.environment, a),
                                  before.environment.decides ? "" : ", which did not decide then");
    return 0;
}
