/* SPDX-License-Identifier: MIT */
/*
 * sweep_why.h - says how a sweep stands: what its jobs wait for, and why jobs failed
 */
#ifndef LUDWIG_CLIENT_QUERY_SWEEP_WHY_H
#define LUDWIG_CLIENT_QUERY_SWEEP_WHY_H

#include "client/session/rpc.h"

/* As `ludwig why SWEEP --json` prints it (docs/json.md). */
struct sweep_why {
    int64_t sweep;
    int state;         /* enum sweep_state */
    struct list lines; /* const char * */
};
extern const struct schema sweep_why_schema;

/* Asks the server, and fills why, whose lines live in a. */
int sweep_why_read(struct rpc *rpc, int64_t sweep, struct arena *a, struct sweep_why *why,
                   struct err *e);

#endif
