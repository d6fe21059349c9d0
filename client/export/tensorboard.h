/* SPDX-License-Identifier: MIT */
/*
 * tensorboard.h - writes a sweep as event files of TensorBoard: results --tensorboard
 *
 * A job becomes a run: DIR/7.13/events.out.tfevents.TIME.ludwig, with the job's series as scalars,
 * and its parameters for the HPARAMS tab.
 */
#ifndef LUDWIG_CLIENT_EXPORT_TENSORBOARD_H
#define LUDWIG_CLIENT_EXPORT_TENSORBOARD_H

#include "client/results/gather.h"

/* Appends a record of a TFRecord file. */
void tensorboard_add_record(struct buf *out, const struct buf *content);
int tensorboard_write(struct gathered *g, const char *dir, struct err *e);

#endif
