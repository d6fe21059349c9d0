/* SPDX-License-Identifier: MIT */
/*
 * selector.h - the words for sweeps and jobs: 7, 7.13, 7.1-40, last, last.13
 */
#ifndef LUDWIG_CLIENT_SELECTOR_H
#define LUDWIG_CLIENT_SELECTOR_H

#include "client/opt.h"
#include "client/rpc.h"
#include "common/proto.h"

/* Sweep 0 stands for the last one. */
int selector_parse(const char *text, struct target *t, struct err *e);

/* Whether all words are some, so that mistakes are told before the server is asked. */
int selector_check(const struct opt_words *words, struct err *e);

/* Parses and, for "last", asks the server. */
int selector_sweep(struct rpc *rpc, const char *text, int64_t *sweep, struct err *e);
int selector_job(struct rpc *rpc, const char *text, struct target *t, struct err *e);
int selector_targets(struct rpc *rpc, const struct opt_words *words, struct arena *a,
                     struct list *targets, struct err *e);

#endif
