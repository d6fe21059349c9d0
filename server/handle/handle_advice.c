/* SPDX-License-Identifier: MIT */
/* handle_advice.c - takes what advisors say, and gives out advisors' records */

#include <string.h>

#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/search/advice.h"

int handle_advice(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    size_t *done = ask->kept;
    int rc;

    (void)reply;
    if (ask->conn->worker == 0)
        return err_set(e, ERR_PROTOCOL, "register first");
    if (done == NULL)
        ask->kept = done = arena_alloc(ask->arena, sizeof *done); /* zeroes */
    rc = advice_take(sv, ask->conn, request, done, e);
    return rc < 0 ? -1 : rc == 1 ? HANDLER_GOES_ON : 0;
}

enum { PAGE_BYTES = 192 * 1024 };

int handle_get_advice(struct server *sv, struct ask *ask, const void *request, void *reply,
                      struct err *e)
{
    const struct msg_get_advice *req = request;
    struct msg_advice_page *rep = reply;
    struct advice_line *lines = arena_alloc(ask->arena, PAGE_MAX * sizeof *lines);
    struct arena *a = ask->arena;
    struct owner owner;
    struct search search;
    struct stmt *s;
    size_t bytes = 0;
    int rc = db_get(sv->db, e, SQL_SWEEP_OWNER, "i>is", req->sweep, &owner.uid, a, &owner.user);

    if (rc == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %lld", (long long)req->sweep);
    if (rc < 0 || may_change(ask->conn, &owner, req->sweep, e) < 0)
        return -1;
    s = db_ask(sv->db, SQL_ADVISED_GET, "i", req->sweep);
    rc = stmt_step(s, e);
    if (rc == 1)
        rc = schema_read(&search_schema, stmt_bytes(s, 2), a, &search, e) < 0 ? -1 : 1;
    if (rc == 1)
        rep->advisor = arena_strdup(a, search.advisor);
    stmt_end(s);
    if (rc == 0)
        return err_set(e, ERR_USAGE, "sweep %lld has no advisor", (long long)req->sweep);
    if (rc < 0)
        return -1;
    s = db_ask(sv->db, SQL_ADVICE_AFTER, "iii", req->sweep, req->after, (int64_t)PAGE_MAX);
    while (rep->lines.n < PAGE_MAX && bytes < PAGE_BYTES && (rc = stmt_step(s, e)) == 1) {
        struct advice_line *line = &lines[rep->lines.n++];

        *line = (struct advice_line){ stmt_int(s, 0), stmt_enum(s, 1, ADVICE_DIR_COUNT),
                                      stmt_copy(s, 2, a) };
        bytes += strlen(line->body) + 20;
        rep->next = line->seq;
    }
    if (rc == 0)
        rep->next = 0;
    stmt_end(s);
    rep->lines.items = lines;
    return rc < 0 ? -1 : 0;
}
