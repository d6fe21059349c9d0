/* SPDX-License-Identifier: MIT */
/* ssh_warmup.c - TCP is brought up to speed while there is nothing to send yet */
#include "common/ssh_warmup.h"

#include "common/schema.h"

enum { SLOW_ROUND_TRIPS = 3 }; /* that an answer takes where the line is slow, or the server is */

struct ssh_warmup ssh_warmup_of(uint64_t most_bytes, int64_t round_trip_ms)
{
    return (struct ssh_warmup){ .left_bytes = round_trip_ms == SCHEMA_NONE ? 0 : most_bytes,
                                .round_trip_ms = round_trip_ms };
}

static size_t end(struct ssh_warmup *w)
{
    w->left_bytes = 0;
    return 0;
}

size_t ssh_warmup_next(struct ssh_warmup *w, uint64_t heard_bytes, int64_t now_ms)
{
    size_t lot_bytes = w->lot_bytes == 0 ? SSH_WARMUP_FIRST_BYTES : w->lot_bytes * 2;

    if (w->left_bytes == 0 || heard_bytes == w->heard_bytes)
        return 0;
    if (lot_bytes > w->left_bytes)
        return end(w);
    if (w->lot_bytes > 0 && now_ms - w->lot_ms > w->round_trip_ms * SLOW_ROUND_TRIPS)
        return end(w);
    w->left_bytes -= lot_bytes;
    w->lot_bytes = lot_bytes;
    w->lot_ms = now_ms;
    w->heard_bytes = heard_bytes;
    return lot_bytes;
}
