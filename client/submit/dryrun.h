/* SPDX-License-Identifier: MIT */
/*
 * dryrun.h - shows what a submit would do
 *
 * Nothing is sent or started.  A server that answers is asked which jobs are done already and who
 * owns the project; without a server the output says that this is not known.
 */
#ifndef LUDWIG_CLIENT_SUBMIT_DRYRUN_H
#define LUDWIG_CLIENT_SUBMIT_DRYRUN_H

#include "client/submit/submit_request.h"

/* Prints for people, or with json as JSON, with all configurations.  ERR_DENIED: a submit would be
 * refused. */
int dryrun(const struct submit_request *o, bool json, struct err *e);

#endif
