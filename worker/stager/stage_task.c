/* SPDX-License-Identifier: MIT */
/* stage_task.c - datasets that are to be brought to this node */
#include "worker/stager/stage_task.h"

#include <stdlib.h>

#include "common/base/mem.h"

struct stage_task *stage_task_make(const struct order_stage *x, int64_t seq)
{
    struct stage_task *t = mem_alloc(sizeof *t);

    *t = (struct stage_task){ .wanted = { x->set, x->is_doubted, seq },
                              .cache_size_bytes = x->cache_size_bytes,
                              .project = mem_strdup(x->project),
                              .share = mem_strdup(x->share),
                              .drive = mem_strdup(x->drive) };
    return t;
}

struct stage_task *stage_task_make_expected(const struct order_expect *x, const struct dataset *set,
                                            int64_t seq)
{
    const struct order_stage as = {
        *set, x->project, x->share, x->drive, x->cache_size_bytes, false
    };
    struct stage_task *t = stage_task_make(&as, seq);

    t->is_expected = true;
    return t;
}

void stage_task_free(struct stage_task *t)
{
    free(t->project);
    free(t->share);
    free(t->drive);
    free(t);
}

void stage_tasks_free(struct stage_task **tasks)
{
    while (*tasks != NULL) {
        struct stage_task *t = *tasks;

        *tasks = t->next;
        stage_task_free(t);
    }
}

/* What it is to be brought from may be other packs by now. */
void stage_task_renew(struct stage_task *t, const struct order_stage *x, int64_t seq)
{
    struct stage_task *newer = stage_task_make(x, seq), older = *t;

    newer->wanted.is_doubted |= older.wanted.is_doubted;
    newer->next = older.next;
    *t = *newer;
    *newer = older;
    stage_task_free(newer);
}

struct stage_task *stage_task_find(struct stage_task *t, const struct digest *tree)
{
    while (t != NULL && !digest_equal(&t->wanted.set.tree, tree))
        t = t->next;
    return t;
}
