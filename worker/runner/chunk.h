/* SPDX-License-Identifier: MIT */
/*
 * chunk.h - the jobs of a batch, as their one process is told them
 *
 * A list of maps, in $LUDWIG_CHUNK: job ("7.13"), param_name, job_name, rep, seed,
 * restart, params, and the paths param2val, save_path and checkpoint.
 */
#ifndef LUDWIG_WORKER_RUNNER_CHUNK_H
#define LUDWIG_WORKER_RUNNER_CHUNK_H

#include "worker/base/child_protocol.h"

size_t chunk_count(const struct order_run *run);
/* The first is that of run->order. */
const struct assignment *chunk_at(const struct order_run *run, size_t i);

/* Everything in a; run_path: the folder with the attempts' folders. */
int chunk_make(const struct order_run *run, const char *run_path, struct arena *a,
               struct value *chunk, struct err *e);
/* ERR_USAGE when the command is not the same for all. */
int chunk_check_command(const char *command, const struct value *chunk, struct err *e);

#endif
