/* SPDX-License-Identifier: MIT */
/*
 * jobjson.h - job.json, which lies with every result and names its attempt
 *
 * "token" is always its first member: the attempt whose result this is.
 */
#ifndef LUDWIG_WORKER_SAVED_JOBJSON_H
#define LUDWIG_WORKER_SAVED_JOBJSON_H

#include "worker/base/child_protocol.h"
#include "worker/saved/metrics.h"
#include "worker/saved/saved.h"

struct jobjson {
    const struct order *order;
    const struct outcome *outcome;
    const char *host;
    const struct saved *saved;
    const struct metrics *metrics;
};

void jobjson_add(struct buf *out, const struct jobjson *j);

/* Reads the token of the result in the folder and returns 1; 0: it has no job.json, or one that we
 * did not write; -1 with e set. */
int jobjson_read_token(const struct share_dir *at, const char *folder, struct token *token,
                       struct err *e);

#endif
