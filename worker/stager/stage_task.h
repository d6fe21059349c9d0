/* SPDX-License-Identifier: MIT */
/*
 * stage_task.h - datasets that are to be brought to this node
 */
#ifndef LUDWIG_WORKER_STAGER_STAGE_TASK_H
#define LUDWIG_WORKER_STAGER_STAGE_TASK_H

#include "worker/base/child_protocol.h"

struct stage_wanted {
    struct dataset set;
    bool is_doubted;
    int64_t seq; /* of the order */
};

struct stage_task {
    struct stage_task *next;
    struct stage_wanted wanted;
    bool is_expected; /* no job waits for it yet */
    int64_t cache_size_bytes;
    char *project, *share, *drive;
};

/* As the order with number seq says; to be freed. */
struct stage_task *stage_task_make(const struct order_stage *x, int64_t seq);
/* The same of one of the sets that are expected. */
struct stage_task *stage_task_make_expected(const struct order_expect *x, const struct dataset *set,
                                            int64_t seq);
void stage_task_free(struct stage_task *t);
void stage_tasks_free(struct stage_task **tasks); /* all of a list, which is empty then */

/* Where it stands, but as a newer order says. */
void stage_task_renew(struct stage_task *t, const struct order_stage *x, int64_t seq);
/* The one in the list from t on that brings the tree; NULL: none does. */
struct stage_task *stage_task_find(struct stage_task *t, const struct digest *tree);

#endif
