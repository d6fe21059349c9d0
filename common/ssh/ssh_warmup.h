/* SPDX-License-Identifier: MIT */
/*
 * ssh_warmup.h - TCP is brought up to speed while there is nothing to send yet
 *
 * A connection may begin with ten packets in a round trip, and with one more for each that was
 * acknowledged (RFC 6928, RFC 5681): many megabytes on a long line wait for that, round trip by
 * round trip.  While a log-in waits for its answers, lots of bytes that the server ignores
 * (SSH_MSG_IGNORE, RFC 4253) are acknowledged beside them, each lot twice as large as the one
 * before.  On a line that is slow by itself there is nothing to win: there an answer comes late
 * behind the lot before it, and then no more follow.
 */
#ifndef LUDWIG_COMMON_SSH_SSH_WARMUP_H
#define LUDWIG_COMMON_SSH_SSH_WARMUP_H

#include <stddef.h>
#include <stdint.h>

enum { SSH_WARMUP_FIRST_BYTES = 10 * 1448 }; /* ten packets of Ethernet */

struct ssh_warmup {
    uint64_t left_bytes;   /* may be sent; 0: it is over */
    int64_t round_trip_ms; /* without anything in its way */
    size_t lot_bytes;      /* sent last; 0: none yet */
    int64_t lot_ms;        /* when: units_monotonic_ms */
    uint64_t heard_bytes;  /* of the server, by then */
};

/* most_bytes: in all; 0: nothing is sent, as where round_trip_ms is not known (SCHEMA_NONE) or so
 * short that it is of no use. */
struct ssh_warmup ssh_warmup_of(uint64_t most_bytes, int64_t round_trip_ms);
/* An answer is waited for.  How many bytes are to be sent now, a multiple of the first lot; 0:
 * none, as the server has not answered since the last lot, or it is over.  heard_bytes: of the
 * server, ever. */
size_t ssh_warmup_next(struct ssh_warmup *w, uint64_t heard_bytes, int64_t now_ms);

#endif
