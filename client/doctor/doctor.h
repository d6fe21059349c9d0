/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - the table of what `ludwig doctor` looks at
 *
 * A check is a row: its name, the question that it answers, and the function that says what it
 * found and what to do.  Rows run in their order.  Nothing is started or changed.
 */
#ifndef LUDWIG_CLIENT_DOCTOR_DOCTOR_H
#define LUDWIG_CLIENT_DOCTOR_DOCTOR_H

#include "client/doctor/finding.h"

#define DOCTOR_CHECKS(X)                                                     \
    X(config, "are the configuration files well?")                           \
    X(server, "which server is meant, and does it answer?")                  \
    X(ssh, "how does SSH get to the server's machine?")                      \
    X(way, "which way do connections take there?")                           \
    X(sshd, "does the sshd of the user's own server listen?")                \
    X(pilots, "which keys has ludwigd let in for its pilots?")               \
    X(version, "are client and server of one version?")                      \
    X(identity, "as whom does the server know the user?")                    \
    X(workers, "which workers are up?")                                      \
    X(gpus, "which GPUs do they offer?")                                     \
    X(sftp, "is the share seen over SFTP, with room in it?")                 \
    X(share, "is the share seen on this machine, with room in it?")          \
    X(projects, "may the user write into projects?")                         \
    X(owners, "whose are the files that the user makes there?")              \
    X(clock, "do the clocks of the share and of this machine agree?")        \
    X(leftovers, "are there half-made results?")                             \
    X(state, "is the state folder of the user's own server on a good disk?") \
    X(scratch, "is there scratch for jobs on this machine?")                 \
    X(programs, "are the programs here that jobs may need?")

/* doctor_server.c (config to gpus), doctor_share.c (sftp to leftovers), doctor_machine.c */
#define X(name, question) void check_##name(struct doctor *d); /* question */
DOCTOR_CHECKS(X)
#undef X

/* Runs all checks; their findings are in d. */
void doctor_run(struct doctor *d);

#endif
