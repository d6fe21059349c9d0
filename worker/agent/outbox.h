/* SPDX-License-Identifier: MIT */
/*
 * outbox.h - reports for ludwigd, until it has acknowledged them
 *
 * Of each attempt only the newest event is told, so that a short job needs one
 * report: an event that is no outcome waits a moment for the next one.  Reports
 * travel in batches, one batch at a time; reports that were not acknowledged when
 * the connection broke are sent again.
 */
#ifndef LUDWIG_WORKER_AGENT_OUTBOX_H
#define LUDWIG_WORKER_AGENT_OUTBOX_H

#include <uv.h>

#include "worker/agent/attempts.h"

/* A job that ends sooner is told by its outcome alone. */
enum { OUTBOX_HINT_DELAY_MS = 20 };

struct outbox_events {
    /* Sends a message; returns its seq, or -1. */
    int64_t (*send)(void *context, const struct msg_report *m);
    /* The outcome was acknowledged. */
    void (*settled)(void *context, struct attempt *a, enum verdict verdict);
    /* ludwigd wants nothing more of an attempt that has not ended. */
    void (*unwanted)(void *context, struct attempt *a);
};

struct outbox {
    uv_loop_t *loop;
    struct outbox_events events;
    void *context;
    struct ring hints; /* by due_at */
    struct ring outcomes;
    struct ring sent;
    int64_t batch_seq; /* of the batch on its way; 0: none */
    bool is_open;      /* ludwigd listens */
    bool is_paused;    /* ludwigd could not take the last batch */
    uv_timer_t timer;
    struct report *batch; /* room for REPORTS_MAX */
};

void outbox_init(struct outbox *o, uv_loop_t *loop, const struct outbox_events *events,
                 void *context);
void outbox_close(struct outbox *o);

/* event: EV_STAGE, EV_RUN or EV_END. */
void outbox_hint(struct outbox *o, struct attempt *a, enum attempt_event event, int64_t at);
/* It has ended, and is not published yet, for this reason, which lives in the attempt's arena. */
void outbox_delayed(struct outbox *o, struct attempt *a, const char *reason);
/* An outcome that no publisher has written; a reason that is too long for the wire is cut. */
struct report *outbox_report(struct attempt *a, enum attempt_event event, const char *reason);
/* report lies in the attempt's arena; its token and seq are set here. */
void outbox_outcome(struct outbox *o, struct attempt *a, const struct report *report);

/* The attempt is removed, or will tell nothing more. */
void outbox_forget(struct attempt *a);

/* A connection came or went. */
void outbox_connected(struct outbox *o);
void outbox_disconnected(struct outbox *o);

/* Sends what is due, if nothing is on its way. */
void outbox_pump(struct outbox *o);

/* The answer to a batch. */
void outbox_answered(struct outbox *o, int64_t re, const struct msg_verdicts *verdicts,
                     const struct attempts *attempts);
/* ludwigd could not take the batch: it is sent again a little later. */
void outbox_refused(struct outbox *o, int64_t re);

#endif
