/* SPDX-License-Identifier: MIT */
/* handle_peek.c - asks a worker what a running job has written so far */
#include "server/handle/handle_peek.h"

#include <inttypes.h>
#include <stdlib.h>

#include "server/base/turn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"

enum {
    ANSWER_MAX_MS = 20 * 1000, /* for the worker's answer; its child gives up a disk after half */
    ANSWER_KEPT_MS = 10 * 1000 /* for an answer that is not fetched, as a commit failed */
};

/* A question that waits for its answer, or the answer that waits for the asker's handler. */
struct peek {
    int64_t number;
    int64_t asker, worker; /* numbers of their connections */
    uint64_t due_ms;       /* when waiting ends, by the loop's clock */
    bool is_answered;
    struct arena *arena; /* memory of found */
    struct peek_found found;
};

struct peeks {
    struct server *sv;
    struct peek **items; /* in no order: there are no more than connections, and mostly none */
    size_t n, capacity;
    int64_t last_number;
    uv_timer_t timer;
};

static void peek_drop(struct peeks *all, struct peek *p)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i] == p)
            all->items[i--] = all->items[--all->n];
    arena_destroy(p->arena);
    free(p);
}

static struct peek *find_peek(const struct peeks *all, int64_t number)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i]->number == number)
            return all->items[i];
    return NULL;
}

/* Has the asker's handler called again, which takes the answer; drops it if the asker is gone. */
static void answer(struct peeks *all, struct peek *p)
{
    struct conn *c = conn_find(all->sv, p->asker);

    if (c == NULL || c->awaited_peek != p->number) {
        peek_drop(all, p);
        return;
    }
    p->is_answered = true;
    p->due_ms = uv_now(&all->sv->loop) + ANSWER_KEPT_MS;
    c->awaited_peek = 0;
    c->is_waiting = false;
    turn_wake(all->sv->turn);
}

static void answer_error(struct peeks *all, struct peek *p, const char *why)
{
    p->found = (struct peek_found){ .error_kind = ERR_FAILED, .error = why };
    answer(all, p);
}

static void on_timer(uv_timer_t *timer)
{
    struct peeks *all = timer->data;
    uint64_t now_ms = uv_now(timer->loop), next_ms = UINT64_MAX;

    for (size_t i = all->n; i-- > 0;) { /* backwards: peek_drop moves the last one into the gap */
        struct peek *p = all->items[i];

        if (p->due_ms <= now_ms && p->is_answered)
            peek_drop(all, p);
        else if (p->due_ms <= now_ms)
            answer_error(all, p, "its worker has not answered in time: try again");
    }
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i]->due_ms < next_ms)
            next_ms = all->items[i]->due_ms;
    if (all->n > 0)
        uv_timer_start(timer, on_timer, next_ms - now_ms, 0);
}

struct peeks *peeks_create(struct server *sv)
{
    struct peeks *all = mem_alloc(sizeof *all);

    all->sv = sv;
    uv_timer_init(&sv->loop, &all->timer);
    all->timer.data = all;
    return all;
}

static void on_closed(uv_handle_t *handle)
{
    struct peeks *all = handle->data;

    free(all->items);
    free(all);
}

void peeks_destroy(struct peeks *all)
{
    if (all == NULL)
        return;
    while (all->n > 0)
        peek_drop(all, all->items[0]);
    uv_close((uv_handle_t *)&all->timer, on_closed);
}

void peeks_left(struct server *sv, const struct conn *c)
{
    struct peeks *all = sv->peeks;

    for (size_t i = all->n; i-- > 0;) {
        struct peek *p = all->items[i];

        if (p->asker == c->number)
            peek_drop(all, p);
        else if (p->worker == c->number && !p->is_answered)
            answer_error(all, p, "its worker has just lost its connection: try again");
    }
}

/* ---- asking ---- */

/* The newest attempt of a job. */
struct place {
    struct token token;
    struct conn *worker; /* NULL: it is not connected */
    const char *node;
    int64_t attempt;
};

static int find_place(struct server *sv, const struct msg_get_saved *req, struct arena *a,
                      struct place *to, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_PLACE, "ii", req->sweep, req->job);
    int rc = stmt_step(s, e);
    enum job_state state = JOB_QUEUED;
    bool is_there = false;
    char *job;

    if (rc == 1) {
        state = (enum job_state)stmt_enum(s, 0, JOB_STATE_COUNT);
        is_there = state == JOB_RUNNING || state == JOB_PUBLISHING;
        stmt_token(s, 1, &to->token);
        to->worker = conn_of_worker(sv, stmt_int(s, 2));
        to->attempt = stmt_int(s, 3);
        to->node = stmt_copy(s, 4, a);
    }
    stmt_end(s);
    if (rc < 0)
        return -1;
    job = arena_printf(a, "%" PRId64 ".%" PRId64, req->sweep, req->job);
    if (rc == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no job %s", job);
    if (job_is_ended(state))
        return err_set(e, ERR_NOT_FOUND, "job %s has ended meanwhile, and is %s: ask again", job,
                       job_state_names[state]);
    if (!is_there)
        return err_set(e, ERR_NOT_FOUND, "job %s is %s: it has written nothing yet", job,
                       job_state_names[state]);
    if (to->worker == NULL)
        return err_set(e, ERR_FAILED, "%s, where job %s runs, is not connected now: try again",
                       to->node, job);
    if (!to->worker->reads_saved)
        return err_set(e, ERR_FAILED,
                       "the worker on %s is of an older version, which shows no files of running "
                       "jobs: `ludwig fetch` has them when job %s has ended",
                       to->node, job);
    return 0;
}

int handle_get_saved(struct server *sv, struct ask *ask, const void *request, void *reply,
                     struct err *e)
{
    const struct msg_get_saved *req = request;
    struct peeks *all = sv->peeks;
    struct msg_read_saved order = { .at = req->at };
    struct msg_saved *rep = reply;
    struct owner owner;
    struct place place;
    struct peek *p;
    int rc =
        db_get(sv->db, e, SQL_SWEEP_OWNER, "i>is", req->sweep, &owner.uid, ask->arena, &owner.user);

    if (rc == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, req->sweep);
    if (rc < 0 || may_see(ask->conn, &owner, req->sweep, e) < 0)
        return -1;
    if (ask->progress[0] != 0) {
        p = find_peek(all, ask->progress[0]);
        if (p == NULL || !p->is_answered)
            return err_set(e, ERR_BUSY, "the answer came too late: try again");
        *rep = (struct msg_saved){
            .node = ask->kept,
            .attempt = ask->progress[1],
            .found =
                *(const struct peek_found *)schema_copy(&peek_found_schema, &p->found, ask->arena),
        };
        peek_drop(all, p);
        if (rep->found.error == NULL && rep->found.error_kind == ERR_NONE)
            return 0;
        return err_set(e,
                       rep->found.error_kind == ERR_NONE ? ERR_FAILED
                                                         : (enum err_kind)rep->found.error_kind,
                       "job %" PRId64 ".%" PRId64 ": %s", req->sweep, req->job,
                       rep->found.error != NULL ? rep->found.error : "the worker says no more");
    }
    if (find_place(sv, req, ask->arena, &place, e) < 0)
        return -1;
    p = mem_alloc(sizeof *p);
    *p = (struct peek){ .number = ++all->last_number,
                        .asker = ask->conn->number,
                        .worker = place.worker->number,
                        .due_ms = uv_now(&sv->loop) + ANSWER_MAX_MS,
                        .arena = arena_create() };
    mem_grow((void **)&all->items, &all->capacity, all->n, sizeof(struct peek *));
    all->items[all->n++] = p;
    if (!uv_is_active((uv_handle_t *)&all->timer))
        uv_timer_start(&all->timer, on_timer, ANSWER_MAX_MS, 0);
    order.number = p->number;
    order.token = place.token;
    conn_send(sv, place.worker->number, MSG_READ_SAVED, &order);
    ask->progress[0] = p->number;
    ask->progress[1] = place.attempt;
    ask->kept = arena_strdup(ask->arena, place.node);
    ask->conn->awaited_peek = p->number;
    ask->conn->is_waiting = true;
    return HANDLER_WAITS;
}

/* Keeps the answer in memory for the asker.  A late answer, or an answer of a worker that was not
 * asked, is dropped. */
int handle_saved_read(struct server *sv, struct ask *ask, const void *request, void *reply,
                      struct err *e)
{
    const struct msg_saved_read *req = request;
    struct peek *p = find_peek(sv->peeks, req->number);

    (void)reply;
    if (ask->conn->worker == 0)
        return err_set(e, ERR_PROTOCOL, "register first");
    if (p == NULL || p->worker != ask->conn->number || p->is_answered)
        return 0;
    p->found = *(const struct peek_found *)schema_copy(&peek_found_schema, &req->found, p->arena);
    answer(sv->peeks, p);
    return 0;
}
