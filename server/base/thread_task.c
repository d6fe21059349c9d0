/* SPDX-License-Identifier: MIT */
/* thread_task.c - a thread for a task that may hang; the loop is told when the task is done */
#include "server/base/thread_task.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

struct thread_task {
    struct thread_job task;
    uv_async_t done;
    pthread_mutex_t lock;
    int n_users; /* how many of the thread and the loop still use this struct */
    bool is_done;
    bool is_dropped; /* `after` is not to be called */
    struct err why;  /* why no thread could be started; ERR_NONE: one was */
};

/* Called by the thread and by the loop; the last of the two frees the task. */
static void leave_task(struct thread_task *a)
{
    int n_left;

    pthread_mutex_lock(&a->lock);
    n_left = --a->n_users;
    pthread_mutex_unlock(&a->lock);
    if (n_left > 0)
        return;
    pthread_mutex_destroy(&a->lock);
    a->task.destroy(a->task.context);
    free(a);
}

static void tell_loop(struct thread_task *a)
{
    pthread_mutex_lock(&a->lock);
    a->is_done = true;
    if (!a->is_dropped)
        uv_async_send(&a->done);
    pthread_mutex_unlock(&a->lock);
    leave_task(a);
}

static void *on_thread(void *context)
{
    struct thread_task *a = context;

    a->task.run(a->task.context);
    tell_loop(a);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    leave_task(handle->data);
}

void thread_task_drop(struct thread_task *a)
{
    pthread_mutex_lock(&a->lock);
    a->is_dropped = true;
    pthread_mutex_unlock(&a->lock);
    uv_close((uv_handle_t *)&a->done, on_closed);
}

static void on_done(uv_async_t *handle)
{
    struct thread_task *a = handle->data;
    bool is_done;

    pthread_mutex_lock(&a->lock);
    is_done = a->is_done;
    pthread_mutex_unlock(&a->lock);
    if (!is_done)
        return;
    a->task.after(a->task.context, a->why.kind == ERR_NONE ? NULL : &a->why);
    thread_task_drop(a);
}

struct thread_task *thread_task_begin(uv_loop_t *loop, const struct thread_job *task)
{
    struct thread_task *a = mem_alloc(sizeof *a);
    pthread_attr_t attributes;
    pthread_t thread;
    int rc;

    a->task = *task;
    a->n_users = 2;
    pthread_mutex_init(&a->lock, NULL);
    uv_async_init(loop, &a->done, on_done);
    a->done.data = a;
    rc = pthread_attr_init(&attributes);
    if (rc == 0) {
        /* Detached: a task that hangs must not keep ludwigd from ending. */
        rc = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        if (rc == 0)
            rc = pthread_create(&thread, &attributes, on_thread, a);
        pthread_attr_destroy(&attributes);
    }
    if (rc != 0) {
        err_set(&a->why, ERR_BUSY, "no thread can be started: %s", strerror(rc));
        tell_loop(a);
    }
    return a; // NOLINT(*unix.Malloc): the loop has not left it
}
