/* SPDX-License-Identifier: MIT */
/*
 * jobplan.h - what is executed for an order: its words and its environment
 */
#ifndef LUDWIG_WORKER_RUNNER_JOBPLAN_H
#define LUDWIG_WORKER_RUNNER_JOBPLAN_H

#include "common/data/value.h"
#include "worker/base/job_spawn.h"
#include "worker/runner/jobenv.h"

/* Fills in program, words, shell and env; all of it is in a. Failures are the job's own fault, or
 * its machine lacks what runs containers. */
int jobplan_make(struct job_spawn *p, const struct order *o, const struct value *params,
                 const char *scratch, const struct jobenv_user *user, struct arena *a,
                 struct err *e);

#endif
