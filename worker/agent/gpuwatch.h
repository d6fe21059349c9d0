/* SPDX-License-Identifier: MIT */
/*
 * gpuwatch.h - asks a child for the GPUs, so that a driver that hangs stops nothing
 */
#ifndef LUDWIG_WORKER_AGENT_GPUWATCH_H
#define LUDWIG_WORKER_AGENT_GPUWATCH_H

#include <uv.h>

#include "worker/node/gpu.h"

/* An answer counts as fresh for this long: starting a job takes far less. */
enum { GPUWATCH_FRESH_MS = 2000 };

struct gpuwatch {
    uv_loop_t *loop;
    void (*seen)(void *context, const struct gpu_list *l);
    void *context;
    pid_t pid; /* 0: none is asked */
    uv_pipe_t pipe;
    uv_timer_t timer; /* the child's time limit, or the next question */
    struct buf text;
    uint64_t answered_at; /* 0: never */
    bool is_asking;
    bool is_wanted; /* again, as soon as the last child is gone */
    bool is_closed;
};

/* seen is called after each question; with an empty list when there are none, or no answer. */
void gpuwatch_init(struct gpuwatch *w, uv_loop_t *loop,
                   void (*seen)(void *context, const struct gpu_list *l), void *context);
void gpuwatch_close(struct gpuwatch *w);
/* Asks now, if nobody is being asked. */
void gpuwatch_ask(struct gpuwatch *w);
/* Asks after a while, if no question is due before. */
void gpuwatch_ask_later(struct gpuwatch *w, uint64_t ms);
bool gpuwatch_is_fresh(const struct gpuwatch *w);
bool gpuwatch_reaped(struct gpuwatch *w, pid_t pid);

#endif
