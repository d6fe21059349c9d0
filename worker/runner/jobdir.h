/* SPDX-License-Identifier: MIT */
/*
 * jobdir.h - an attempt's folder on scratch while it runs
 *
 *   run/<token>/order                the attempt, for any process that goes on with it
 *   run/<token>/work/                private, writable copy of the source: where it runs
 *   run/<token>/save/                what it saves, moved to the share at the end
 *   run/<token>/tmp/                 its TMPDIR
 *   run/<token>/checkpoint/          files for the job's next attempt: those of the one before,
 *                                    if they were brought here (checkpoints/<token>), or none
 *   run/<token>/data/NAME            links to cache/<digest>, if it has data
 *   run/<token>/param2val.json, .yaml, .msgpack
 *   log/<token>                      what it prints
 */
#ifndef LUDWIG_WORKER_RUNNER_JOBDIR_H
#define LUDWIG_WORKER_RUNNER_JOBDIR_H

#include "worker/base/scratch.h"

struct jobdir {
    int fd;
    int work_fd;
    int log_fd; /* O_APPEND */
};

/* Makes the folder, from a spare one if there is any.  A job that shares its process
 * (order_is_mate) has only its own files: no work/, tmp/, data/, and work_fd -1; the process of a
 * batch has these and the chunk, which is then given as params, in chunk.json and chunk.msgpack.
 * On failure (scratch is full, a cache entry is gone) the beginnings stay. */
int jobdir_make(struct jobdir *d, const struct scratch *s, struct spares *spares,
                const struct order *o, const struct value *params, struct err *e);
void jobdir_close(struct jobdir *d);
/* Removes what only the running job needed, as much as it can; folders that are empty stay, and
 * its checkpoint. */
int jobdir_shed(const struct scratch *s, const char *token_hex, struct err *e);

#endif
