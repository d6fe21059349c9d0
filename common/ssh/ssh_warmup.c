/* SPDX-License-Identifier: MIT */
/* ssh_warmup.c - TCP is brought up to speed while there is nothing to send yet */
#include "common/ssh/ssh_warmup.h"

#include <stdbool.h>

enum {
    WORTH_MS = 10,       /* a round trip, at least */
    SLOW_ROUND_TRIPS = 3 /* that an answer takes where the line is slow, or the server is */
};

struct ssh_warmup ssh_warmup_of(uint64_t most_bytes, int64_t round_trip_ms)
{
    return (struct ssh_warmup){ .left_bytes = round_trip_ms >= WORTH_MS ? most_bytes : 0,
                                .round_trip_ms = round_trip_ms };
}

static size_t end(struct ssh_warmup *w)
{
    w->left_bytes = 0;
    return 0;
}

/* Servers also say what nobody asked for, and answer in two pieces; and the round trip that is known
 * may have been a slow one. */
static bool is_answered(const struct ssh_warmup *w, uint64_t heard_bytes, int64_t took_ms)
{
    return heard_bytes != w->heard_bytes && (w->lot_bytes == 0 || took_ms >= w->round_trip_ms / 2);
}

size_t ssh_warmup_next(struct ssh_warmup *w, uint64_t heard_bytes, int64_t now_ms)
{
    size_t lot_bytes = w->lot_bytes == 0 ? SSH_WARMUP_FIRST_BYTES : w->lot_bytes * 2;
    int64_t took_ms = now_ms - w->lot_ms;

    if (w->left_bytes == 0 || !is_answered(w, heard_bytes, took_ms))
        return 0;
    if (lot_bytes > w->left_bytes ||
        (w->lot_bytes > 0 && took_ms > w->round_trip_ms * SLOW_ROUND_TRIPS))
        return end(w);
    w->left_bytes -= lot_bytes;
    w->lot_bytes = lot_bytes;
    w->lot_ms = now_ms;
    w->heard_bytes = heard_bytes;
    return lot_bytes;
}
