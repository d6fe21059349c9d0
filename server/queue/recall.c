/* SPDX-License-Identifier: MIT */
/* recall.c - marks attempts that are wanted back, and asks their workers for them */

#include "server/queue/recall.h"

#include <stdlib.h>

#include "server/conn/conn.h"

enum { RECALL_AT_ONCE = 10000 }; /* attempts in one message */

struct order {
    struct token_entry *tokens;
    size_t n, capacity;
};

static void order_send(struct server *sv, const struct conn *c, struct order *o)
{
    struct msg_recall body = { { o->tokens, o->n } };

    if (o->n > 0 && c != NULL)
        conn_send(sv, c->number, MSG_RECALL, &body);
    o->n = 0;
}

/* marked: a statement that marks attempts, and returns their tokens; c: of their worker, or NULL */
static int send_on(struct server *sv, const struct conn *c, struct stmt *marked, struct err *e)
{
    struct order o = { 0 };
    int rc;

    while ((rc = stmt_step(marked, e)) == 1) {
        mem_grow((void **)&o.tokens, &o.capacity, o.n, sizeof *o.tokens);
        stmt_token(marked, 0, &o.tokens[o.n++].token);
        if (o.n == RECALL_AT_ONCE)
            order_send(sv, c, &o);
    }
    order_send(sv, c, &o);
    free(o.tokens);
    return rc;
}

static int send_marked(struct server *sv, int64_t worker, struct stmt *marked, struct err *e)
{
    return send_on(sv, conn_of_worker(sv, worker), marked, e);
}

/* A worker that is away is asked when it is back. */
int recall_of_sweep(struct server *sv, int64_t sweep, struct err *e)
{
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c->worker != 0 &&
            send_marked(sv, c->worker, db_ask(sv->db, SQL_RECALL_OF_SWEEP, "ii", c->worker, sweep),
                        e) < 0)
            return -1;
    return 0;
}

int recall_of_worker(struct server *sv, int64_t worker, struct err *e)
{
    return send_marked(sv, worker, db_ask(sv->db, SQL_RECALL_OF_WORKER, "i", worker), e);
}

int recall_of_job(struct server *sv, int64_t job, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_UNSTARTED_OF_JOB, "i", job);
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        int64_t worker = stmt_int(s, 0);
        struct stmt *marked =
            db_ask(sv->db, SQL_RECALL_OF_PROCESS, "iii", worker, stmt_int(s, 1), stmt_int(s, 2));

        if (send_marked(sv, worker, marked, e) < 0) {
            stmt_end(s);
            return -1;
        }
    }
    return rc;
}

int recall_some(struct server *sv, int64_t worker, int64_t sweep, int64_t processes, struct err *e)
{
    return send_marked(sv, worker, db_ask(sv->db, SQL_RECALL_SOME, "iii", worker, sweep, processes),
                       e);
}

int recall_unwanted(struct server *sv, int64_t worker, struct err *e)
{
    return send_marked(sv, worker, db_ask(sv->db, SQL_RECALL_UNWANTED, "i", worker), e);
}

int recall_at_registration(struct server *sv, const struct conn *c, int64_t worker, struct err *e)
{
    return send_on(sv, c, db_ask(sv->db, SQL_RECALL_UNWANTED, "i", worker), e);
}
