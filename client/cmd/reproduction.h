/* SPDX-License-Identifier: MIT */
/*
 * reproduction.h - compares the results of two runs of the same job (`ludwig reproduce`)
 */
#ifndef LUDWIG_CLIENT_CMD_REPRODUCTION_H
#define LUDWIG_CLIENT_CMD_REPRODUCTION_H

#include "common/data/schema.h"

/* A difference between the runs.  of: "end" (name: exit_code, signal or cause), "metric" or "file"
 * (name: path).  before, now: the value in each run as text, for a file its SHA-256; NULL: the run
 * did not have it. */
struct difference {
    const char *of, *name, *before, *now;
};

struct reproduction {
    const char *job, *again;          /* the first run, "7.13", and the second, "12.1" */
    bool same;                        /* there are no differences */
    int64_t same_metrics, same_files; /* how many are equal in both runs */
    struct list differences;          /* of struct difference */
};

extern const struct schema reproduction_schema, difference_schema;

/* Compares the contents of job.json (maps) of both runs; adds to *to, which the caller has zeroed
 * but for job and again.  Texts in *to live in the arena and in these maps. */
void reproduction_compare(struct reproduction *to, const struct value *before,
                          const struct value *now, struct arena *a);

#endif
