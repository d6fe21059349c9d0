/* SPDX-License-Identifier: MIT */
/* handler.c - tasks for requests, run in the loop's pool of threads */
#include "server/conn/handler.h"

#include <stdlib.h>

#include "server/base/turn.h"
#include "server/conn/conn.h"

struct request_task {
    uv_work_t work;
    struct server *sv;
    struct conn *conn; /* the asker; it lives until the task is dropped */
    request_task_fn run;
    void (*free_context)(void *);
    void *context;
    int rc;
    struct err why;
    bool is_done;
    bool is_dropped; /* dropped while it ran: on_done frees it */
};

static void destroy(struct request_task *d)
{
    d->free_context(d->context);
    free(d);
}

static void on_thread(uv_work_t *work)
{
    struct request_task *d = work->data;

    d->rc = d->run(d->context, &d->why);
}

static void on_done(uv_work_t *work, int status)
{
    struct request_task *d = work->data;

    if (d->is_dropped) {
        destroy(d);
        return;
    }
    if (status < 0)
        d->rc = err_set(&d->why, ERR_INTERNAL, "thread: %s", uv_strerror(status));
    d->is_done = true;
    d->conn->is_waiting = false;
    turn_wake(d->sv->turn);
}

void *request_task_context(const struct ask *ask)
{
    return ask->errand == NULL ? NULL : ask->errand->context;
}

int request_task_begin(struct server *sv, struct ask *ask, request_task_fn run,
                       void (*free_context)(void *), void *context)
{
    struct request_task *d = mem_alloc(sizeof *d);

    *d = (struct request_task){
        .sv = sv, .conn = ask->conn, .run = run, .free_context = free_context, .context = context
    };
    d->work.data = d;
    ask->errand = d;
    ask->conn->is_waiting = true;
    uv_queue_work(&sv->loop, &d->work, on_thread, on_done);
    return HANDLER_WAITS;
}

int request_task_end(const struct ask *ask, struct err *e)
{
    const struct request_task *d = ask->errand;

    return d->rc < 0 ? err_set(e, d->why.kind, "%s", d->why.text) : 0;
}

void request_task_drop(struct request_task *d)
{
    if (d == NULL)
        return;
    if (d->is_done)
        destroy(d);
    else
        d->is_dropped = true;
}
