/* SPDX-License-Identifier: MIT */
/*
 * triage.h - groups failures by their cause, and finds the values and nodes that explain each group
 *
 * The jobs that ended, well or not, are one population.  For each cause a search finds the test of
 * a parameter, or of the node, that best tells the jobs that failed by this cause from all others:
 * by Fisher's exact test, with Bonferroni's correction for all tests that were tried.  Within the
 * jobs for which that test holds a second one is searched for, so that a pair of values that cannot
 * work together is found; then the failures left are searched, as a cause may have several reasons.
 */
#ifndef LUDWIG_CLIENT_QUERY_TRIAGE_H
#define LUDWIG_CLIENT_QUERY_TRIAGE_H

#include "common/proto/proto.h"

enum { TRIAGE_REASONS_MAX = 3 /* of a cause */, TRIAGE_TESTS_MAX = 3 /* of a reason */ };

/* What the failures of a cause have in common. */
struct triage_reason {
    const char *test;               /* for --where: "optimizer=lion", "batch=512 and model=large" */
    int64_t failed_with, jobs_with; /* jobs that the test holds for: failed by this cause, all */
    int64_t failed_without, jobs_without; /* the same of jobs that the test does not hold for */
    double p; /* the probability that chance does that, corrected for the tests tried */
    bool is_sure;
};

struct triage_group {
    const char *cause;   /* as failure_add_name writes it */
    const char *example; /* the first such job's own reason */
    const char *first;   /* the first such job: "7.3" */
    int64_t failed;
    struct list reasons; /* struct triage_reason; none where nothing explains the cause */
};

/* All of a sweep, as `ludwig triage --json` prints it (docs/json.md). */
struct triage_answer {
    int64_t sweep;
    int64_t jobs;       /* how many ended */
    struct list causes; /* struct triage_group */
};

extern const struct schema triage_reason_schema, triage_group_schema, triage_answer_schema;

struct triage;
struct triage *triage_create(void);
void triage_destroy(struct triage *t); /* NULL is fine */
/* Adds a job; one that has not ended is ignored. */
void triage_add(struct triage *t, const struct job_info *j);
int64_t triage_jobs(const struct triage *t); /* how many ended jobs were added */
/* Returns struct triage_group, the most frequent first, which live as long as t.  Call it once. */
struct list triage_judge(struct triage *t);

/* Appends "41 of 44 with optimizer=lion; 0 of 180 without". */
void triage_add_reason(struct buf *out, const struct triage_reason *r);

#endif
