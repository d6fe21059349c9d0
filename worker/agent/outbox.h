/* SPDX-License-Identifier: MIT */
/*
 * outbox.h - keeps reports for ludwigd until it has acknowledged them
 *
 * Only the newest event of an attempt is told, so that a short job needs one report: an event that
 * is no outcome (a hint) waits a moment for the next.  Reports travel in batches, one at a time;
 * reports that were not acknowledged when the connection broke are sent again.
 */
#ifndef LUDWIG_WORKER_AGENT_OUTBOX_H
#define LUDWIG_WORKER_AGENT_OUTBOX_H

#include <uv.h>

#include "worker/agent/attempts.h"

/* How long a hint waits; of a job that ends sooner only the outcome is told. */
enum { OUTBOX_HINT_DELAY_MS = 20 };

struct outbox_events {
    /* Sends a message; returns its seq, or -1. */
    int64_t (*send)(void *context, const struct msg_report *m);
    /* ludwigd has acknowledged the outcome, with this verdict. */
    void (*settled)(void *context, struct attempt *a, enum verdict verdict);
    /* ludwigd wants nothing more of an attempt that has not ended. */
    void (*unwanted)(void *context, struct attempt *a);
};

struct outbox {
    uv_loop_t *loop;
    struct outbox_events events;
    void *context;
    struct ring hints; /* struct telling, as all three rings; these in order of due_at */
    struct ring outcomes;
    struct ring sent;
    int64_t batch_seq; /* number of the batch on its way; 0: none */
    bool is_open;      /* there is a connection on which ludwigd takes reports */
    bool is_paused;    /* ludwigd could not take the last batch */
    uv_timer_t timer;
    struct report *batch; /* room for REPORTS_MAX */
};

void outbox_init(struct outbox *o, uv_loop_t *loop, const struct outbox_events *events,
                 void *context);
void outbox_close(struct outbox *o);

/* event: EV_STAGE, EV_RUN or EV_END. */
void outbox_hint(struct outbox *o, struct attempt *a, enum attempt_event event, int64_t at);
/* Tells that the attempt has ended but is not published yet, and why; copies a new reason. */
void outbox_delayed(struct outbox *o, struct attempt *a, const char *reason);
/* Makes an outcome that no publisher wrote, in the attempt's arena; a reason too long is cut. */
struct report *outbox_report(struct attempt *a, enum attempt_event event, const char *reason);
/* Queues the outcome.  report must lie in the attempt's arena; token and seq are set on sending. */
void outbox_outcome(struct outbox *o, struct attempt *a, const struct report *report);

/* Drops what is still to be told of the attempt. */
void outbox_forget(struct attempt *a);

/* To be called when a connection was made, and when it broke. */
void outbox_connected(struct outbox *o);
void outbox_disconnected(struct outbox *o);

/* Sends the reports that are due, if no batch is on its way. */
void outbox_pump(struct outbox *o);

/* Takes an answer if it is to the batch on its way; reports without a verdict are sent again. */
void outbox_answered(struct outbox *o, int64_t re, const struct msg_verdicts *verdicts,
                     const struct attempts *attempts);
/* ludwigd could not take the batch: it is sent again after a second. */
void outbox_refused(struct outbox *o, int64_t re);

#endif
