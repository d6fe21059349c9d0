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

enum dryrun_form {
    DRYRUN_SHORT,
    DRYRUN_FILES, /* with the name of each file that goes along */
    DRYRUN_JSON   /* with all configurations */
};

/* ERR_DENIED: submit would be refused. */
int dryrun(const struct submit_request *o, enum dryrun_form form, struct err *e);

#endif
