/* SPDX-License-Identifier: MIT */
/*
 * jobdir.h - an attempt's folder on scratch while it runs
 *
 *   run/<token>/order                the attempt's order, for any process that goes on with it
 *   run/<token>/work/                private, writable copy of the source; the command runs here
 *   run/<token>/save/                files that the job saves, moved to the share at the end
 *   run/<token>/tmp/                 the job's TMPDIR
 *   run/<token>/checkpoint/          files for the job's next attempt; begins with those of an
 *                                    earlier one, if the stager brought any (checkpoints/<token>)
 *   run/<token>/data/NAME            links to cache/<digest>, if the job has data
 *   run/<token>/param2val.json, .yaml, .msgpack
 *   log/<token>                      what the job prints
 */
#ifndef LUDWIG_WORKER_RUNNER_JOBDIR_H
#define LUDWIG_WORKER_RUNNER_JOBDIR_H

#include "worker/base/scratch.h"

/* Open folder and files; -1: closed. */
struct jobdir {
    int fd;
    int work_fd;
    int log_fd; /* for writing, with O_APPEND */
};

/* Makes the folder, from a spare one if there is any, and opens *d.  A job that shares its process
 * (order_is_mate) gets only its own files: no work/, tmp/, data/, and work_fd is -1.  The process
 * of a batch gets these, and the chunk, which is given as params, in chunk.json and chunk.msgpack.
 * On failure (scratch is full, a cache entry is gone) what was made so far stays on scratch. */
int jobdir_make(struct jobdir *d, const struct scratch *s, struct spares *spares,
                const struct order *o, const struct value *params, struct err *e);
void jobdir_close(struct jobdir *d);
/* Removes work/ and tmp/, which only a running job needs, as far as it can; empty ones stay. */
int jobdir_shed(const struct scratch *s, const char *token_hex, struct err *e);

#endif
