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
    /* What the command starts, as a shell here finds it: "python3", "/usr/bin/python3".  NULL: it names no
     * program that PATH has to find, or a container has it. */
    const char *program, *program_path;
};

/* Fills j; its texts live in a. */
void first_job_find(const struct submit_request *o, struct arena *a, struct first_job *j);

#endif
