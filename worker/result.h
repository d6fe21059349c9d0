/* SPDX-License-Identifier: MIT */
/*
 * result.h - one attempt's result on its way from scratch to the share
 *
 *   prepare   read order and outcome; ship the log's rest; bring what it saved, with a
 *             job.json, beside the final name; bring its checkpoint, if it came to nothing
 *   (the group is synced)
 *   fence     rename onto the final name; whose token lies there then is the verdict
 *   (the folders are synced)
 *   finish    write the report, move the attempt to published/
 *
 * Each step may have been done before, by a publisher that was killed: what lies on
 * scratch and on the share says so, and nothing else does.
 */
#ifndef LUDWIG_WORKER_RESULT_H
#define LUDWIG_WORKER_RESULT_H

#include "worker/carry.h"
#include "worker/jobjson.h"

enum result_step {
    RESULT_NEW,
    RESULT_PLACED,   /* complete under the temporary name */
    RESULT_DECIDED,  /* the verdict is known, or none is needed */
    RESULT_PUBLISHED /* was published before: there is a report already */
};

struct result {
    struct token token;
    const char *hex;
    enum result_step step;
    bool has_order; /* that of a lost one may be gone */
    struct order order;
    struct outcome outcome;
    const char *final_path; /* relative to the share; NULL: nothing is published */
    const char *final;      /* names in folder */
    const char *temporary;
    struct group_folder *folder;
    size_t first_file, n_files; /* its own among the group's files */
    struct metrics *metrics;
    struct saved saved;
    bool is_durable; /* what it saved: its files are, already */
    struct carry carry;
    struct report report;
};

int result_prepare(struct result *r, struct group *g, const char *host, struct err *e);
/* Whether all of it is durable. */
int result_check_synced(const struct result *r, const struct group *g, struct err *e);
int result_fence(struct result *r, struct group *g, struct err *e);
int result_finish(struct result *r, struct group *g, struct err *e);
void result_free(struct result *r); /* what is not in the group's arena */

#endif
