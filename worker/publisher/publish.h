/* SPDX-License-Identifier: MIT */
/*
 * publish.h - publishes the results of all attempts that wait, as one group
 *
 * The way of one attempt's result from scratch to the share:
 *
 *   prepare   read order and outcome; bring what the job saved, with a job.json, beside the final
 *             name; ship the log's rest; copy the checkpoint, if it is kept
 *   (the group is synced)
 *   fence     rename onto the final name; the token that lies there then is the verdict
 *   (the folders are synced)
 *   finish    write the report, move the attempt to published/
 *
 * A publisher that was killed may have done any step before: only what lies on scratch and on the
 * share tells.  What the job saved is renamed to the share where both are one file system, and else
 * copied, also over SFTP; save/ is scanned before, on scratch, where that is cheap (saved.h).
 */
#ifndef LUDWIG_WORKER_PUBLISHER_PUBLISH_H
#define LUDWIG_WORKER_PUBLISHER_PUBLISH_H

#include "worker/publisher/publish_group.h"
#include "worker/saved/checkpoint.h"
#include "worker/saved/jobjson.h"

/* The attempt's checkpoint, which goes the same way; see checkpoint_publish.h. */
enum carry_step {
    CARRY_NOTHING,
    CARRY_COPIED, /* the copy is whole, under the temporary name */
    CARRY_KEPT,   /* the share has the checkpoint under its name */
    CARRY_DROPPED /* the job has a result and needs no checkpoint any more */
};

struct carry {
    enum carry_step step;
    struct publish_group_folder *folder; /* of checkpoints; NULL: not opened */
    const char *temporary;
    struct share_modes modes; /* of the copy */
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
    bool has_order; /* false: the order is gone, which happens to lost attempts only */
    struct order order;
    struct outcome outcome;
    const char *final_path; /* relative to the share; NULL: nothing is published */
    const char *final;      /* the result's name in folder; temporary: the one until the fence */
    const char *temporary;
    struct publish_group_folder *folder;
    size_t first_file, n_files; /* this result's files among the group's */
    const char *log_name;       /* of its log, in the folder of the sweep's logs */
    struct metrics *metrics;
    struct buf series; /* its CSV series as lines */
    struct saved saved;
    bool is_durable; /* the files that the job saved are durable already */
    struct carry carry;
    struct report report;
};

enum { PUBLISH_GROUP_MAX = 256 };

struct publish_item {
    struct token token;
    struct report report; /* out, if it was published; strings live in the arena */
    struct err error;     /* out; kind ERR_NONE: the result is published and durable */
};

/* Publishes n items for this host.  One that fails holds up no other, and can be tried again. */
void publish_group(struct scratch *s, struct shares *access, const char *host,
                   struct publish_item *items, size_t n, struct arena *a);

/* Removes the attempt's result from runs/; its report in published/ then says so. */
int publish_withdraw(struct scratch *s, struct shares *access, const struct token *token,
                     struct arena *a, struct err *e);

#endif
