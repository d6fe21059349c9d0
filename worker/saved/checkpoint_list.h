/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_list.h - the checkpoints of a job that lie on the share
 *
 *   .ludwig/checkpoints/param_003/NAME.a2.5/       the fifth copy while attempt 2 ran
 *   .ludwig/checkpoints/param_003/NAME.a2/         what it left at its end
 *   .ludwig/checkpoints/param_003/.NAME.a2.TOKEN/  on its way there
 *   .ludwig/checkpoints/param_003/.NAME.a2.5.TOKEN/  being removed
 *
 * What has its name is whole.  A newer one gets its name before an older one loses its
 * own, so that there always is one.
 */
#ifndef LUDWIG_WORKER_SAVED_CHECKPOINT_LIST_H
#define LUDWIG_WORKER_SAVED_CHECKPOINT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/share/share.h"

#define CHECKPOINT_LIST_AT_END INT64_MAX

struct checkpoint_list {
    int64_t attempt;
    int64_t number; /* of its copies; CHECKPOINT_LIST_AT_END: the last one */
};

void checkpoint_list_add_name(struct buf *out, const char *job_name,
                              const struct checkpoint_list *k);
/* On its way to any of the attempt's names. */
void checkpoint_list_add_temporary(struct buf *out, const char *job_name, int64_t attempt,
                                   const struct token *token);
/* By attempt, then by number: below, equal or above 0. */
int checkpoint_list_compare(const struct checkpoint_list *x, const struct checkpoint_list *y);

/* The newest one up to this; 1, 0 when there is none, -1 with e set.  d: .../param_003. */
int checkpoint_list_newest(const struct share_dir *d, const char *job_name,
                           const struct checkpoint_list *up_to, struct checkpoint_list *newest,
                           struct err *e);

/* Gives a whole one its name; what has that name already makes room. */
int checkpoint_list_name(const struct share_dir *d, const char *temporary, const char *job_name,
                         const struct checkpoint_list *as, const char *token_hex, struct err *e);

/* Removes all that is older, and what attempts up to this one left half-made. */
int checkpoint_list_remove_older(const struct share_dir *d, const char *job_name,
                                 const struct checkpoint_list *than, int64_t attempt,
                                 const char *token_hex, struct err *e);
int checkpoint_list_remove_all(const struct share_dir *d, const char *job_name,
                               const char *token_hex, struct err *e);

#endif
