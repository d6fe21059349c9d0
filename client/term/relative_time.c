/* SPDX-License-Identifier: MIT */
/* relative_time.c - moments, as people tell them */
#include <inttypes.h>
#include <stddef.h>

#include "client/term/relative_time.h"
#include "common/base/units.h"

enum { DATE_BYTES = 10 };

void relative_time_add(struct buf *out, int64_t at_ms, int64_t now_ms)
{
    static const struct {
        int64_t end_s, unit_s;
        const char *unit;
    } steps[] = { { 60, 1, "s" },
                  { 3600, 60, "min" },
                  { 86400, 3600, "h" },
                  { INT64_C(7) * 86400, 86400, "d" } };
    int64_t ago_s = (now_ms - at_ms) / 1000;
    struct buf time = { 0 };

    /* Another machine's clock may be ahead of this one's. */
    if (ago_s <= 0) {
        buf_add_str(out, "now");
        return;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (ago_s < steps[i].end_s) {
            buf_printf(out, "%" PRId64 " %s ago", ago_s / steps[i].unit_s, steps[i].unit);
            return;
        }
    units_add_time_local(&time, at_ms);
    buf_add(out, time.bytes, time.n < DATE_BYTES ? time.n : DATE_BYTES);
    buf_free(&time);
}
