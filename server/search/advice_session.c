/* SPDX-License-Identifier: MIT */
/* advice_session.c - the process of a sweep's advisor, on a worker */

#include "server/search/advice_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/msgpack.h"
#include "server/conn/conn.h"
#include "server/queue/fit.h"
#include "server/queue/passed_env.h"
#include "server/queue/rows.h"
#include "server/queue/worker_rows.h"

enum {
    BATCH_BYTES = 128 * 1024, /* lines in one message, unless one line is longer */
    LAST_WORDS_MS = 5000,     /* time for an advisor to end by itself */
};

struct advisee *session_find(const struct advice *x, const struct conn *c,
                             const struct token *token)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->items[i]->session.conn == c->number &&
            token_equal(&x->items[i]->session.token, token))
            return x->items[i];
    return NULL;
}

void session_forget(struct advisee *a)
{
    free(a->session.node);
    a->session = (struct advice_session){ 0 };
}

void session_stop(struct server *sv, struct advisee *a)
{
    struct token_entry entry = { a->session.token };

    if (a->session.conn != 0)
        conn_send(sv, a->session.conn, MSG_STOP_ATTEMPTS,
                  &(struct msg_stop_attempts){ { &entry, 1 } });
    session_forget(a);
}

int session_survey(struct server *sv, struct advisee *a, int64_t *conn, char **node, struct err *e)
{
    struct arena *arena = arena_create();
    struct sweep_pools pools = { 0 };
    struct fit_wanted w = { .sweep = a->sweep };
    bool is_pilot = false;
    int rc = fit_wanted_read(sv, a->sweep, arena, &w, &pools, e);

    a->slots = 0;
    w.disk_bytes = 0; /* an advisor takes no slot, and no scratch is kept for it */
    *conn = 0;
    for (struct conn *c = conn_after(sv, 0); rc >= 0 && c != NULL; c = conn_after(sv, c->number)) {
        int64_t n, cpus, gpus, memory;
        struct stmt *s;

        if (c->worker == 0 || c->is_retiring || c->registering != 0)
            continue;
        s = db_ask(sv->db, SQL_SCHED_WORKER, "i", c->worker);
        rc = stmt_step(s, e);
        if (rc == 1 && fit_may_run(sv, c, stmt_text(s, 3), &w, &pools)) {
            cpus = stmt_int(s, 0);
            gpus = stmt_int(s, 1);
            memory = stmt_int(s, 2);
            n = w.cpus_milli > 0 ? cpus / w.cpus_milli : INT64_C(1) << 20;
            if (w.gpus_milli > 0 && gpus / w.gpus_milli < n)
                n = gpus / w.gpus_milli;
            if (w.memory_bytes > 0 && memory / w.memory_bytes < n)
                n = memory / w.memory_bytes;
            if (fit_lack(c, a->sweep) == NULL) {
                a->slots += c->takes_one && n > 1 ? 1 : n;
                if (cpus > 0 && (*conn == 0 || (is_pilot && c->pilot == 0))) {
                    *conn = c->number;
                    is_pilot = c->pilot != 0;
                    free(*node);
                    *node = mem_strdup(stmt_text(s, 3));
                }
            }
        }
        stmt_end(s);
    }
    a->slots_ms = advice_now(sv);
    arena_destroy(arena);
    return rc < 0 ? -1 : 0;
}

/* Hands the advisor to a worker, as a job that needs no processors of its own. */
static int session_hand(struct server *sv, struct advisee *a, struct conn *c, struct err *e)
{
    struct arena *arena = arena_create();
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_WORK, "i", a->sweep);
    struct sweep_work w = { .sweep = a->sweep };
    struct buf no_params = { 0 };
    const char *missing = NULL;
    struct assignment is = { .sweep = a->sweep,
                             .attempt = 1,
                             .param_name = "advisor",
                             .seed = a->search.seed,
                             .advises = true };
    int rc = stmt_step(s, e);

    if (rc == 1) {
        struct bytes work = stmt_bytes(s, 2);

        w.project = stmt_copy(s, 0, arena);
        w.user = stmt_copy(s, 1, arena);
        rc = schema_read(&work_schema,
                         (struct bytes){
                             (const uint8_t *)arena_strndup(arena, (const char *)work.data, work.n),
                             work.n },
                         arena, &w.work, e) < 0
                 ? -1
                 : 1;
    }
    stmt_end(s);
    if (rc == 1 && passed_env_add(sv, a->sweep, &w.work, arena, &missing, e) < 0)
        rc = -1;
    if (rc == 1) {
        w.work.command = a->search.advisor;
        w.work.resources = (struct resources){ .disk_bytes = w.work.resources.disk_bytes };
        w.work.checkpoint = (struct checkpoint){ 0 };
        w.work.batch = 1;
        mp_add_map(&no_params, 0);
        is.params = buf_bytes(&no_params);
        is.token = a->session.token;
        is.job_name = arena_printf(arena, "session_%" PRId64, a->record.sessions);
        conn_send(sv, c->number, MSG_HAND,
                  &(struct msg_hand){ ++c->hand_seq, { &w, 1 }, { &is, 1 } });
        rc = worker_row_used(sv, c->worker, e);
    }
    buf_free(&no_params);
    arena_destroy(arena);
    return rc < 0 ? -1 : 0;
}

static int session_begin(struct server *sv, struct advisee *a, int64_t conn, const char *node,
                         struct err *e)
{
    struct conn *c = conn_find(sv, conn);
    struct buf line = { 0 };

    if (c == NULL)
        return 0;
    a->session = (struct advice_session){ .conn = conn, .node = mem_strdup(node) };
    token_make(&a->session.token);
    a->asked_ms = advice_now(sv); /* it gets the whole time to answer */
    advice_line_begin(a, &line, "session");
    advice_line_text(&line, "node", node);
    advice_line_text(&line, "command", a->search.advisor);
    if (advice_line_end(sv, a, ADVICE_NOTE, &line, e) < 0)
        return -1;
    return session_hand(sv, a, c, e);
}

/* Adds the lines that a session is sent first: the space, and the state it can start from. */
static int add_beginning(struct server *sv, const struct advisee *a, struct buf *text,
                         struct err *e)
{
    const int64_t seqs[] = { 1, a->record.state };
    int rc = 1;

    for (size_t i = 0; rc >= 0 && i < 2 && seqs[i] > 0; i++) {
        struct stmt *s = db_ask(sv->db, SQL_ADVICE_LINE, "ii", a->sweep, seqs[i]);

        rc = stmt_step(s, e);
        if (rc == 1)
            buf_printf(text, "%s\n", stmt_text(s, 0));
        stmt_end(s);
    }
    return rc;
}

/* Sends the next lines, once the advisor has taken the ones before. */
static int session_send(struct server *sv, struct advisee *a, struct err *e)
{
    struct advice_session *x = &a->session;
    struct buf text = { 0 };
    int rc = 0, n = ADVICE_LINES_AT_ONCE;

    if (x->sent == 0) {
        if (add_beginning(sv, a, &text, e) < 0)
            return -1;
        x->sent = 1;
    }
    while (rc >= 0 && n == ADVICE_LINES_AT_ONCE && text.n < BATCH_BYTES) {
        struct stmt *s = db_ask(sv->db, SQL_ADVICE_AFTER, "iii", a->sweep, x->sent,
                                (int64_t)ADVICE_LINES_AT_ONCE);

        for (n = 0; text.n < BATCH_BYTES && (rc = stmt_step(s, e)) == 1; n++) {
            const struct advice_line line = { stmt_int(s, 0), stmt_enum(s, 1, ADVICE_DIR_COUNT),
                                              stmt_text(s, 2) };

            x->sent = line.seq;
            if (record_is_passed(&a->record, &line))
                buf_printf(&text, "%s\n", line.body);
        }
        stmt_end(s);
    }
    if (rc >= 0 && text.n > 0) {
        conn_send(sv, x->conn, MSG_ADVISE, &(struct msg_advise){ x->token, buf_text(&text) });
        x->is_ready = false;
    }
    buf_free(&text);
    return rc < 0 ? -1 : 0;
}

int session_look(struct server *sv, struct advisee *a, const struct advised_row *row, int64_t conn,
                 const char *node, struct err *e)
{
    struct advice_session *x = &a->session;
    uint64_t now_ms = advice_now(sv);
    bool is_wanted = row->is_asked && !a->record.has_ended && !record_has_given_up(&a->record);

    const struct conn *c = conn_find(sv, x->conn);

    if (c == NULL || c->is_retiring) /* a pilot that leaves does not wait for what it runs */
        session_stop(sv, a);
    if (x->conn == 0) {
        if (!is_wanted || row->state != SWEEP_RUNNING || conn == 0 || now_ms < a->start_ms)
            return 0;
        return session_begin(sv, a, conn, node, e);
    }
    if (x->is_ready && x->sent < a->record.last && session_send(sv, a, e) < 0)
        return -1;
    if (is_wanted)
        return 0;
    if (x->stop_ms == 0)
        x->stop_ms = now_ms + LAST_WORDS_MS;
    if (!a->record.has_ended || now_ms >= x->stop_ms)
        session_stop(sv, a);
    return 0;
}
