/* SPDX-License-Identifier: MIT */
/*
 * relative_time.h - moments, as people tell them
 */
#ifndef LUDWIG_CLIENT_TERM_RELATIVE_TIME_H
#define LUDWIG_CLIENT_TERM_RELATIVE_TIME_H

#include <stdint.h>

#include "common/base/buf.h"

/* "now", "12 s ago", "3 min ago", "5 h ago", "6 d ago", then the local date: "2026-11-21". */
void relative_time_add(struct buf *out, int64_t at_ms, int64_t now_ms);

#endif
