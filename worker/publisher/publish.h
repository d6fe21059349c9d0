/* SPDX-License-Identifier: MIT */
/*
 * publish.h - publishes all results that wait as one group
 *
 * The way of one attempt's result from scratch to the share:
 *
 *   prepare   read order and outcome; ship the log's rest; bring what it saved, with a
 *             job.json, beside the final name; bring its checkpoint, if it came to nothing
 *   (the group is synced)
 *   fence     rename onto the final name; the token that lies there then is the verdict
 *   (the folders are synced)
 *   finish    write the report, move the attempt to published/
 *
 * Each step may have been done before, by a publisher that was killed: what lies on
 * scratch and on the share says so, and nothing else does.  What it saved comes by a rename where
 * scratch and share are one file system, else by a copy, also over SFTP; in both cases save/ on
 * scratch is scanned first, where that is cheap (saved.h).
 */
#ifndef LUDWIG_WORKER_PUBLISHER_PUBLISH_H
#define LUDWIG_WORKER_PUBLISHER_PUBLISH_H

#include "worker/publisher/publish_group.h"
#include "worker/saved/checkpoint.h"
#include "worker/saved/jobjson.h"

/* The checkpoint that goes the same way, see checkpoint_publish.h. */
enum carry_step {
    CARRY_NOTHING,
    CARRY_COPIED, /* whole, under the temporary name */
    CARRY_KEPT,   /* under its name */
    CARRY_DROPPED /* the job has a result: it needs none any more */
};

struct carry {
    enum carry_step step;
    struct publish_group_folder *folder; /* NULL: not opened */
    const char *temporary;
    struct checkpoint_name as;
};

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
    bool has_order; /* the order of a lost attempt may be gone */
    struct order order;
    struct outcome outcome;
    const char *final_path; /* relative to the share; NULL: nothing is published */
    const char *final;      /* names in folder */
    const char *temporary;
    struct publish_group_folder *folder;
    size_t first_file, n_files; /* its own among the group's files */
    struct metrics *metrics;
    struct saved saved;
    bool is_durable; /* the files that it saved are durable already */
    struct carry carry;
    struct report report;
};

enum { PUBLISH_GROUP_MAX = 256 };

struct publish_item {
    struct token token;
    struct report report; /* when it went well; its strings live in the arena */
    struct err error;     /* kind ERR_NONE: it is published and durable */
};

/* An item that fails does not hold up the others; it can be tried again at any time. */
void publish_group(struct scratch *s, struct shares *access, const char *host,
                   struct publish_item *items, size_t n, struct arena *a);

/* Takes what the attempt published out of runs/; its report in published/ then says so. */
int publish_withdraw(struct scratch *s, struct shares *access, const struct token *token,
                     struct arena *a, struct err *e);

#endif
