/* SPDX-License-Identifier: MIT */
/*
 * thread_task.h - what may hang for as long as it likes: done on a thread of its own
 *
 * The thread pool of the loop is for work that ends.  A name service that does not answer would
 * fill it, and keep ludwigd from ending.
 */
#ifndef LUDWIG_SERVER_BASE_THREAD_TASK_H
#define LUDWIG_SERVER_BASE_THREAD_TASK_H

#include <uv.h>

#include "common/base/err.h"

struct thread_task;

struct thread_job {
    void (*run)(void *context); /* on the thread; may use nothing but context */
    /* On the loop, unless the task was dropped.  why: NULL, or why no thread could be started; run
     * was then not called. */
    void (*after)(void *context, const struct err *why);
    void (*destroy)(void *context);
    void *context;
};

/* Takes context over, and destroys it after calling `after`. */
struct thread_task *thread_task_begin(uv_loop_t *loop, const struct thread_job *task);
/* Drops the task: `after` is not called.  For the loop, before `after` was called. */
void thread_task_drop(struct thread_task *a);

#endif
