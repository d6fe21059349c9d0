/* SPDX-License-Identifier: MIT */
/*
 * series.h - reads all reported values of a measure from the files of runs
 *
 * The values lie in metrics.jsonl ({"accuracy": 0.9, "step": 3}) or, for a job that saved its own
 * series, in accuracy.csv (index, value, as written by pandas).  Reading takes bounded memory.
 */
#ifndef LUDWIG_CLIENT_RESULTS_SERIES_H
#define LUDWIG_CLIENT_RESULTS_SERIES_H

#include "client/term/where.h"
#include "client/session/session.h"
#include "common/share/share.h"

struct series_point {
    size_t metric;      /* index of its measure among those asked for */
    struct value step;  /* a number, a text of the CSV's index, or null */
    struct value value; /* a number */
};

/* Takes a point, valid during the call; -1 with e set ends the reading. */
typedef int (*series_fn)(void *context, const struct series_point *point, struct err *e);

/*
 * Gives all points of a measure in a run's folder, in their order.  Returns 1; 0 when neither file
 * has the measure, with e set when one of them could not be opened; or -1.
 */
int series_read(struct share_dir *fs, const char *run_path, const char *metric, series_fn take,
                void *context, struct err *e);

/* Names of measures, and where their points go. */
struct series_wanted {
    const char *const *metrics;
    size_t n;
    series_fn take;
    void *context;
};

/* Like series_read, for several measures of a job, which may also be running or have failed; reads
 * its file of JSON lines once.  Points of different measures may come in turn. */
int series_read_job(struct share_dir *fs, const struct job_result *r,
                    const struct series_wanted *wanted, struct err *e);
/* Announces that series_read_job will be called for this job soon. */
void series_ahead(struct share_dir *fs, const struct job_result *r, const char *const *metrics,
                  size_t n);

/* A point with the job it belongs to, as `results --series --json` prints it (docs/json.md). */
struct series_row {
    const char *job;
    const char *param_name;
    int64_t rep;
    struct value params;
    struct value step;
    struct value value;
};
extern const struct schema series_row_schema;

struct results_series {
    const char *metric;
    struct where *where; /* only jobs that match; NULL: all */
    bool json;           /* else CSV */
};

/* Reads the series from the shared drive and prints them to stdout.  ERR_NOT_FOUND: there is
 * none. */
int results_series_show(struct session *session, int64_t sweep, const struct results_series *said,
                        struct err *e);

#endif
