/* SPDX-License-Identifier: MIT */
/*
 * first_job.h - what the first job of a sweep would run
 */
#ifndef LUDWIG_CLIENT_SUBMIT_FIRST_JOB_H
#define LUDWIG_CLIENT_SUBMIT_FIRST_JOB_H

#include "client/submit/submit_request.h"

struct first_job {
    const char *command; /* with its placeholders filled in */
    struct list unused;  /* const char *: parameters that the command does not name */
    /* reader, as "sh -c", interprets the value of the parameter read_again after the shell did,
     * which changes some value's meaning.  NULL: there is no such parameter. */
    const char *reader, *read_again;
    /* The command's first Python, else its first program, and where PATH here has it: "python3",
     * "/usr/bin/python3".  NULL: PATH has none of its programs, or jobs run in a container. */
    const char *program, *program_path;
};

/* Fills j; its texts live in a. */
void first_job_find(const struct submit_request *o, struct arena *a, struct first_job *j);

#endif
