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
/* "the 24 jobs of this project that ended before used at most 1.2 GiB of the 8 GiB asked for:
 * resources: {memory: 2GiB} would do", if at least 3 jobs ran and r asks for over 3 times what they
 * used (and 512 MiB or 15 minutes more); else nothing. */
void describe_unused(struct buf *out, const struct resources *r, int64_t ran_jobs,
                     int64_t max_rss_bytes, int64_t longest_ms);
/* "node1, @lab" or "none" */
void describe_nodes(struct buf *out, const struct spec *s);
/* "short, long (account lab)" */
void describe_pools(struct buf *out, const struct spec *s);
/* Advises resources: {time: ...} where pilots would ask for the partition's default time: nothing
 * if there is a time:, no pool, or a pool with an option of sbatch in extra:, which may set it. */
void describe_pilots_time(struct buf *out, const struct spec *s);
/* "8 configurations to a process" */
void describe_batch(struct buf *out, const struct jobspec *w);
/* "up to 2 times after failed or oom" */
void describe_retry(struct buf *out, const struct retry *r);
/* "what is like 5 that failed is held"; nothing for the default. */
void describe_guard(struct buf *out, const struct guard_policy *g);
/* "what has not improved loss for 10 epochs"; also for reps: {race: ...}. */
void describe_stop(struct buf *out, const struct stop_policy *p, const struct ranking *ranking);
/* "SIGUSR1, then 1 min to end; copied every 10 min" */
void describe_checkpoint(struct buf *out, const struct checkpoint *c);
/* "WANDB_API_KEY, from this shell; no listing shows its value" */
void describe_passed(struct buf *out, const struct jobspec *w);

/* of "CPU": "about 40 s of CPU time (0.011 CPU-hours)"; from an hour on "about 12.5 CPU-hours" */
void describe_time(struct buf *out, double hours, const char *of);

#endif
