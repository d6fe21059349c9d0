/* SPDX-License-Identifier: MIT */
/*
 * child_question.h - a question that a child process answers, as the answer may never come
 *
 * The child is ludwig-worker, started as another of its parts.  It answers with one message.  It is
 * killed with all that it started when it has answered, or when its time is over.
 */
#ifndef LUDWIG_WORKER_AGENT_CHILD_QUESTION_H
#define LUDWIG_WORKER_AGENT_CHILD_QUESTION_H

#include <uv.h>

#include "common/proto/chan.h"
#include "worker/base/child_start.h"

/* body: of the answer, valid until this returns; NULL: no answer came, and why says why. */
typedef void child_answer_fn(void *context, const void *body, const char *why);

struct child_question {
    uv_loop_t *loop;
    int note_type; /* type of the answer */
    uint64_t limit_ms;
    child_answer_fn *answered;
    void *context;
    struct chan *chan; /* NULL: no question is open */
    pid_t pid;         /* 0: there is no child, or it was reaped */
    uv_timer_t timer;
    struct arena *arena;
};

/* Starts the child; sets *pid and *chan, the caller's connection to it.  -1 with e set on error. */
int child_connect(uv_loop_t *loop, struct child *child, const struct chan_events *events,
                  void *context, size_t queued_max_bytes, pid_t *pid, struct chan **chan,
                  struct err *e);

void child_question_init(struct child_question *q, uv_loop_t *loop, int note_type,
                         uint64_t limit_ms, child_answer_fn *answered, void *context);
void child_question_close(struct child_question *q);
/* Starts the child; answered is called once, perhaps before this returns.  If a question is open,
 * its child is killed and answered is not called for it. */
void child_question_ask(struct child_question *q, struct child *child);
/* Sends the details of the question to the child just started, if it is still there. */
void child_question_tell(struct child_question *q, int type, const void *body);
/* A child of the agent ended; returns true if it was this one. */
bool child_question_reaped(struct child_question *q, pid_t pid);

#endif
