/* SPDX-License-Identifier: MIT */
/*
 * job_change.h - commands that change jobs, and say how many they changed
 *
 * Many jobs are changed only after a question, if there is somebody to be asked.
 */
#ifndef LUDWIG_CLIENT_CMD_JOB_CHANGE_H
#define LUDWIG_CLIENT_CMD_JOB_CHANGE_H

#include <stdbool.h>

#include "client/term/command.h"
#include "common/proto/proto.h"

/* What all of these commands take. */
struct job_change_options {
    const char *where;
    const char *user;
    bool yes, json, quiet;
};

/* clang-format off */

/* Rows for a struct that has them as its member "change". */
#define JOB_CHANGE_OPTIONS(structure)                                                           \
    { "where", 0, OPT_STR, "TEST", offsetof(structure, change.where), 0, 0,                 \
      "only jobs for which TEST holds, as 'lr > 0.01 and state = failed'" },                \
    { "user", 0, OPT_STR, "USER", offsetof(structure, change.user), 0, 0,                   \
      "with last and all: this user's sweeps (for admins)" },                               \
    { "yes", 'y', OPT_FLAG, NULL, offsetof(structure, change.yes), 0, 0,                    \
      "do not ask, however many jobs there are" },                                          \
    { "json", 0, OPT_FLAG, NULL, offsetof(structure, change.json), 0, 0, "print JSON" },    \
    { "quiet", 'q', OPT_FLAG, NULL, offsetof(structure, change.quiet), 0, 0,                \
      "say nothing when all goes well" }

/* clang-format on */

struct change {
    enum msg_type type;
    void *request;    /* its message; it begins with the targets, which change_jobs fills in */
    unsigned states;  /* bits: 1 << enum job_state of the jobs that it changes */
    const char *verb; /* "cancel" */
    const char *done; /* what was done to the jobs: "cancelled" */
    const char *idle; /* what no job does when there is nothing to change: "waits or runs" */
};

/* To the jobs that the arguments name. */
int change_jobs(struct cli *cli, const struct job_change_options *o, const struct change *c,
                struct err *e);

#endif
