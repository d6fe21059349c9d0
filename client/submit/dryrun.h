/* SPDX-License-Identifier: MIT */
/*
 * dryrun.h - what a submit would do
 *
 * Nothing is sent or started.  A server that answers is asked what is done already and
 * whose project it is; without one that is not known, which is said.
 */
#ifndef LUDWIG_CLIENT_SUBMIT_DRYRUN_H
#define LUDWIG_CLIENT_SUBMIT_DRYRUN_H

#include "client/submit/submit_request.h"

/* For people; json: all configurations, too.  ERR_DENIED: submit would be refused. */
int dryrun(const struct submit_request *o, bool json, struct err *e);

#endif
