/* SPDX-License-Identifier: MIT */
/*
 * child_question.h - a question that a child answers, because the answer may never come
 *
 * The child is our own program, started as one of its other parts.  It answers with one message,
 * and is killed when it has, or when its time is over.
 */
#ifndef LUDWIG_WORKER_AGENT_CHILD_QUESTION_H
#define LUDWIG_WORKER_AGENT_CHILD_QUESTION_H

#include <uv.h>

#include "common/proto/chan.h"
#include "worker/base/child_start.h"

/* body: of the answer, until this returns; NULL: there is none, and why says why. */
typedef void child_answer_fn(void *context, const void *body, const char *why);

struct child_question {
    uv_loop_t *loop;
    int note_type; /* of the answer */
    uint64_t limit_ms;
    child_answer_fn *answered;
    void *context;
    struct chan *chan; /* NULL: no child is asked */
    pid_t pid;         /* 0: there is no child, or it was reaped */
    uv_timer_t timer;
    struct arena *arena;
};

/* Starts the child with a connection to it, which becomes *chan. */
int child_connect(uv_loop_t *loop, struct child *child, const struct chan_events *events,
                  void *context, size_t queued_max_bytes, pid_t *pid, struct chan **chan,
                  struct err *e);

void child_question_init(struct child_question *q, uv_loop_t *loop, int note_type,
                         uint64_t limit_ms, child_answer_fn *answered, void *context);
void child_question_close(struct child_question *q);
/* answered follows once, perhaps before this returns.  A question that is open is given up without
 * it. */
void child_question_ask(struct child_question *q, struct child *child);
/* A child of ours ended; true if it was this one. */
bool child_question_reaped(struct child_question *q, pid_t pid);

#endif
