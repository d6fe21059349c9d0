/* SPDX-License-Identifier: MIT */
/* pilot_time.c - what a job needs, and what its pilot has left */
#include "server/queue/pilot_time.h"

int64_t pilot_need_ms(const struct pilot_need *need)
{
    if (need->time_ms > 0)
        return need->time_ms + PILOT_MARGIN_MS;
    return need->mean_ms > 0 ? 2 * need->mean_ms + PILOT_MARGIN_MS : 0;
}

/* Where nothing is known, a job gets nearly all of the pilot's time. */
bool pilot_has_time(const struct conn *c, const struct pilot_need *need, int64_t now_ms)
{
    int64_t left_ms = c->pilot_ends_at_ms - now_ms, need_ms = pilot_need_ms(need);

    if (c->pilot == 0 || c->pilot_ends_at_ms == 0)
        return true;
    if (need_ms > 0)
        return left_ms >= need_ms;
    return left_ms >= c->pilot_time_ms - c->pilot_time_ms / 10 - PILOT_MARGIN_MS &&
           left_ms > PILOT_MARGIN_MS;
}
