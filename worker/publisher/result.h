/* SPDX-License-Identifier: MIT */
/*
 * result.h - one attempt's result, as far as it has come on its way from scratch to the share
 */
#ifndef LUDWIG_WORKER_PUBLISHER_RESULT_H
#define LUDWIG_WORKER_PUBLISHER_RESULT_H

#include "worker/publisher/publish_group.h"
#include "worker/saved/checkpoint.h"
#include "worker/saved/jobjson.h"

/* The checkpoint that goes the same way: carry.h. */
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
    bool has_order; /* that of a lost one may be gone */
    struct order order;
    struct outcome outcome;
    const char *final_path; /* relative to the share; NULL: nothing is published */
    const char *final;      /* names in folder */
    const char *temporary;
    struct publish_group_folder *folder;
    size_t first_file, n_files; /* its own among the group's files */
    struct metrics *metrics;
    struct saved saved;
    bool is_durable; /* what it saved: its files are, already */
    struct carry carry;
    struct report report;
};

#endif
