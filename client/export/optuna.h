/* SPDX-License-Identifier: MIT */
/*
 * optuna.h - writes a sweep as a study of Optuna: results --optuna
 *
 * The file has the format of Optuna's JournalFileStorage, which Optuna 3.1 and later,
 * optuna-dashboard and its page in a browser read: a line of JSON for each operation.  A
 * configuration becomes a trial; its value is the mean of the measure that ranks, its intermediate
 * values are the means of its series.  A trial without a finite mean failed, waits or runs.
 */
#ifndef LUDWIG_CLIENT_EXPORT_OPTUNA_H
#define LUDWIG_CLIENT_EXPORT_OPTUNA_H

#include "client/results/gather.h"

/* Appends the lines.  g->ranked_by is a measure. */
void optuna_add(struct buf *out, struct gathered *g);
/* Writes the lines; path "-": to stdout.  ERR_USAGE if no measure ranks. */
int optuna_write(struct gathered *g, const char *path, struct err *e);

#endif
