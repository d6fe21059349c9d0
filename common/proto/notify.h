/* SPDX-License-Identifier: MIT */
/*
 * notify.h - how a sweep's owner is notified that it ended or stalled, or that a job failed
 *
 * The client makes a struct notify from notify: in the sweep file; ludwigd keeps it with the sweep.
 */
#ifndef LUDWIG_COMMON_PROTO_NOTIFY_H
#define LUDWIG_COMMON_PROTO_NOTIFY_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/data/schema.h"

/* events: constant, number, name, meaning; the numbers are stored in databases (notice.event) */
#define NOTIFY_EVENTS(X)                                                           \
    X(NOTIFY_ENDED, 0, "ended", "all its jobs are over")                           \
    X(NOTIFY_FAILED, 1, "failed",                                                  \
      "a job of it has failed, the first one or the first after all were retried") \
    X(NOTIFY_STALLED, 2, "stalled", "nothing of it runs, and nothing can")

#define X(constant, number, ...) constant = number,
enum notify_event { NOTIFY_EVENTS(X) NOTIFY_EVENT_COUNT };
#undef X
extern const char *const notify_event_names[NOTIFY_EVENT_COUNT];

enum {
    NOTIFY_PLACE_MAX_BYTES = 2048,     /* an address, a URL */
    NOTIFY_STALLED_MS = 15 * 60 * 1000 /* after_ms if the sweep file does not set it */
};

/* One of run, mail and url is set. */
struct notify {
    int64_t when;     /* the events that are told: 1 << enum notify_event, added up */
    int64_t after_ms; /* a sweep has stalled when for this time no job ran and none could */
    const char *run;  /* a command */
    const char *mail; /* an address */
    const char *url;  /* of http: or https:; a secret */
};
extern const struct schema notify_schema;

/* -1 with ERR_USAGE when n is wrong; the error's text does not have the URL. */
int notify_check(const struct notify *n, struct err *e);
/* Whether the URL has a user's name or password in front of its host. */
bool notify_has_login(const char *url);
/* Appends the events and how the owner is notified, without secrets: "ended, failed: mail to
 * alice@example.org". */
void notify_describe(const struct notify *n, struct buf *out);

#endif
