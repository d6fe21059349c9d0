/* SPDX-License-Identifier: MIT */
/*
 * dryrun.h - shows what a submit would do
 *
 * It sends no files and starts no server.  It asks a server that can be reached which jobs are done
 * already and who owns the project; without one the output says that this is not known.
 */
#ifndef LUDWIG_CLIENT_SUBMIT_DRYRUN_H
#define LUDWIG_CLIENT_SUBMIT_DRYRUN_H

#include "client/submit/submit_request.h"

enum dryrun_form {
    DRYRUN_SHORT,
    DRYRUN_FILES, /* with the name of each source file */
    DRYRUN_JSON   /* with all configurations */
};

/* Prints to stdout.  Fails with ERR_DENIED where the submit would be refused. */
int dryrun(const struct submit_request *o, enum dryrun_form form, struct err *e);

#endif
