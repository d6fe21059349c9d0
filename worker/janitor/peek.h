/* SPDX-License-Identifier: MIT */
/*
 * peek.h - reads what a running job has saved so far, for its owner
 *
 * The child gives one answer, with the rights of the job's user.  Nothing that a job may have made
 * in its folder leads the child elsewhere or keeps it waiting: it follows no symlink, and opens
 * only plain files and folders.
 */
#ifndef LUDWIG_WORKER_JANITOR_PEEK_H
#define LUDWIG_WORKER_JANITOR_PEEK_H

#include "worker/base/child_protocol.h"

/* --peek SCRATCH: takes one ORDER_PEEK, and answers with one NOTE_PEEKED. */
int peek_main(int argc, char **argv);

/* Fills in the answer *to, which lies in the arena; an error is an answer, too. */
void peek_look(const char *scratch, const struct order_peek *x, struct arena *a,
               struct peek_found *to);

#endif
