/* SPDX-License-Identifier: MIT */
/* flow_peek.h - has a child read what a running job has saved so far, when ludwigd asks */
#ifndef LUDWIG_WORKER_FLOW_FLOW_PEEK_H
#define LUDWIG_WORKER_FLOW_FLOW_PEEK_H

#include "worker/agent/agent.h"

void flow_peek_init(struct agent *ag);
/* Stops its children; flow_peek_free follows when the loop has ended. */
void flow_peek_close(struct agent *ag);
void flow_peek_free(struct agent *ag);

/* Takes ludwigd's question; one saved_read answers it, unless the connection ends first. */
void flow_peek_begin(struct agent *ag, const struct msg_read_saved *m);
/* The connection is gone: drops the answers to questions that came over it. */
void flow_peek_forget(struct agent *ag);
/* A child of ours ended; true if it was one of these. */
bool flow_peek_reaped(struct agent *ag, pid_t pid);

#endif
