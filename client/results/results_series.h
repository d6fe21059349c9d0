/* SPDX-License-Identifier: MIT */
/*
 * results_series.h - every value that each job of a sweep reported of a measure: results --series
 */
#ifndef LUDWIG_CLIENT_RESULTS_RESULTS_SERIES_H
#define LUDWIG_CLIENT_RESULTS_RESULTS_SERIES_H

#include "client/query/where.h"
#include "client/session/session.h"

struct results_series {
    const char *metric;
    struct where *where; /* only of jobs that match; NULL: all */
    bool json;           /* else CSV */
};

/* Reads the series from the shared drive and writes them to stdout.  ERR_NOT_FOUND: there is none. */
int results_series_show(struct session *session, int64_t sweep, const struct results_series *s,
                        struct err *e);

#endif
