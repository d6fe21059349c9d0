/* SPDX-License-Identifier: MIT */
/*
 * describe.h - says in words what a sweep file asks for
 *
 * Each function appends a text as in the example above it; keys that the file lacks add nothing.
 */
#ifndef LUDWIG_CLIENT_SPEC_DESCRIBE_H
#define LUDWIG_CLIENT_SPEC_DESCRIBE_H

#include "client/spec/spec.h"
#include "common/base/buf.h"

/* "2 CPUs, 1 GPU, 4 GiB of memory, at most 2 h" */
void describe_resources(struct buf *out, const struct resources *r);
/* "node1, @lab" or "none" */
void describe_nodes(struct buf *out, const struct spec *s);
/* "short, long (account lab)" */
void describe_pools(struct buf *out, const struct spec *s);
/* "8 configurations to a process" */
void describe_batch(struct buf *out, const struct jobspec *w);
/* "up to 2 times after failed or oom" */
void describe_retry(struct buf *out, const struct retry *r);
/* "what is like 5 that failed is held"; nothing for the default. */
void describe_guard(struct buf *out, const struct guard_policy *g);
/* "SIGUSR1, then 1 min to end; copied every 10 min" */
void describe_checkpoint(struct buf *out, const struct checkpoint *c);
/* "WANDB_API_KEY, from this shell; no listing shows its value" */
void describe_passed(struct buf *out, const struct jobspec *w);

/* of "CPU": "about 40 s of CPU time (0.011 CPU-hours)"; from an hour on "about 12.5 CPU-hours" */
void describe_time(struct buf *out, double hours, const char *of);

#endif
