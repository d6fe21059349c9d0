/* SPDX-License-Identifier: MIT */
/*
 * jobdir.h - an attempt's folder on scratch while it runs
 *
 *   run/<token>/order                the attempt, for whoever goes on with it
 *   run/<token>/work/                private, writable copy of the source: where it runs
 *   run/<token>/save/                what it saves, moved to the share at the end
 *   run/<token>/tmp/                 its TMPDIR
 *   run/<token>/data/NAME            links to cache/<digest>, if it has data
 *   run/<token>/param2val.json, .yaml, .msgpack
 *   log/<token>                      what it prints
 */
#ifndef LUDWIG_WORKER_JOBDIR_H
#define LUDWIG_WORKER_JOBDIR_H

#include "worker/spare.h"

struct jobdir {
    int fd;
    int work_fd;
    int log_fd; /* O_APPEND */
};

/* Makes it, of a spare one if there is; on failure (scratch is full, a cache entry is gone) the
 * beginnings stay. */
int jobdir_make(struct jobdir *d, const struct scratch *s, struct spares *spares,
                const struct order *o, const struct value *params, struct err *e);
void jobdir_close(struct jobdir *d);
/* Removes what only the running job needed, as much as it can; folders that are empty stay. */
int jobdir_shed(const struct scratch *s, const char *token_hex, struct err *e);

#endif
