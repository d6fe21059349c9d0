/* SPDX-License-Identifier: MIT */
/*
 * gpu_poll.h - asks a child for the GPUs, so that a driver that hangs stops nothing
 */
#ifndef LUDWIG_WORKER_AGENT_GPU_POLL_H
#define LUDWIG_WORKER_AGENT_GPU_POLL_H

#include <uv.h>

#include "worker/node/gpu.h"

/* An answer counts as fresh for this long: starting a job takes far less. */
enum { GPU_POLL_FRESH_MS = 2000 };

struct gpu_poll {
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
void gpu_poll_init(struct gpu_poll *w, uv_loop_t *loop,
                   void (*seen)(void *context, const struct gpu_list *l), void *context);
void gpu_poll_close(struct gpu_poll *w);
/* Asks now, if nobody is being asked. */
void gpu_poll_ask(struct gpu_poll *w);
/* Asks after a while, if no question is due before. */
void gpu_poll_ask_later(struct gpu_poll *w, uint64_t ms);
bool gpu_poll_is_fresh(const struct gpu_poll *w);
bool gpu_poll_reaped(struct gpu_poll *w, pid_t pid);

#endif
