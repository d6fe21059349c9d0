/* SPDX-License-Identifier: MIT */
/*
 * thread_task.h - runs a task that may hang without end on a thread of its own
 *
 * The loop's thread pool is for tasks that end: tasks waiting for a name service that does not
 * answer would fill it, and keep ludwigd from ending.
 */
#ifndef LUDWIG_SERVER_BASE_THREAD_TASK_H
#define LUDWIG_SERVER_BASE_THREAD_TASK_H

#include <uv.h>

#include "common/base/err.h"

struct thread_task;

struct thread_job {
    void (*run)(void *context); /* called on the thread; may use nothing but context */
    /* Called on the loop, unless the task was dropped.  why: NULL if run was called; else why no
     * thread could be started. */
    void (*after)(void *context, const struct err *why);
    void (*destroy)(void *context);
    void *context;
};

/* Starts the task.  Takes context over; `destroy` is called after `after`, or, for a dropped task,
 * when run has returned (then perhaps on the thread).  Never NULL. */
struct thread_task *thread_task_begin(uv_loop_t *loop, const struct thread_job *task);
/* Drops the task: `after` is not called.  To be called on the loop, before `after` was called. */
void thread_task_drop(struct thread_task *a);

#endif
