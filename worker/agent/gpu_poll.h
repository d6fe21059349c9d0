/* SPDX-License-Identifier: MIT */
/*
 * gpu_poll.h - asks a child for the GPUs, so that a driver that hangs stops nothing
 */
#ifndef LUDWIG_WORKER_AGENT_GPU_POLL_H
#define LUDWIG_WORKER_AGENT_GPU_POLL_H

#include "worker/agent/child_question.h"
#include "worker/node/gpu.h"

/* An answer counts as fresh for this long: starting a job takes far less. */
enum { GPU_POLL_FRESH_MS = 2000 };

struct gpu_poll {
    struct child_question question;
    void (*seen)(void *context, const struct gpu_list *l);
    void *context;
    uv_timer_t later;     /* when the next question is asked */
    uint64_t answered_at; /* 0: never */
    bool is_wanted;       /* again, as soon as the last child is gone */
};

/* seen is called after each question; with an empty list when there are none, or no answer. */
void gpu_poll_init(struct gpu_poll *w, uv_loop_t *loop,
                   void (*seen)(void *context, const struct gpu_list *l), void *context);
void gpu_poll_close(struct gpu_poll *w);
/* Asks now; where a child is there still, when that is gone. */
void gpu_poll_ask(struct gpu_poll *w);
/* Asks after a while, if no question is open or due before. */
void gpu_poll_ask_later(struct gpu_poll *w, uint64_t ms);
bool gpu_poll_is_asking(const struct gpu_poll *w);
bool gpu_poll_is_fresh(const struct gpu_poll *w);
bool gpu_poll_reaped(struct gpu_poll *w, pid_t pid);

/* --gpus: answers with one NOTE_GPUS. */
int gpu_poll_main(int argc, char **argv);

#endif
