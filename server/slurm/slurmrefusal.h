/* SPDX-License-Identifier: MIT */
/*
 * slurmrefusal.h - why a command of Slurm's failed: is it the user's to change, or does it pass
 *
 * A pure function of what the command said.  Slurm's own words are shown either way.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMREFUSAL_H
#define LUDWIG_SERVER_SLURM_SLURMREFUSAL_H

#include "common/base/mem.h"
#include "server/slurm/slurmcall.h"

enum slurm_failure {
    SLURM_WELL,    /* it did not fail */
    SLURM_AWAY,    /* it passes: tried again, with back-off */
    SLURM_FULL,    /* none is taken for now, as there are many, or the partition is closed: again */
    SLURM_REFUSED, /* what was asked for cannot be: not tried again */
    SLURM_NOT_HERE, /* there is no Slurm here, or it has no configuration */
    SLURM_NO_SUCH_JOB
};

/* The texts, a part of what is said, and what it means.  The first counts; what fits none passes, so
 * that nothing is lost.  "Unspecified error" is the no of a site's own job_submit plugin. */
#define SLURM_FAILURES(X)                                                         \
    X("Unable to contact slurm controller", SLURM_AWAY)                           \
    X("Socket timed out on send/recv", SLURM_AWAY)                                \
    X("Zero Bytes were transmitted", SLURM_AWAY)                                  \
    X("Slurm temporarily unable to accept job", SLURM_AWAY)                       \
    X("backup controller in standby mode", SLURM_AWAY)                            \
    X("Unable to establish controller machine", SLURM_NOT_HERE)                   \
    X("Could not establish a configuration source", SLURM_NOT_HERE)               \
    X("Unable to process configuration file", SLURM_NOT_HERE)                     \
    X("resolve_ctls_from_dns_srv", SLURM_NOT_HERE)                                \
    X("QOSMaxSubmitJobPerUserLimit", SLURM_FULL)                                  \
    X("QOSGrpSubmitJobsLimit", SLURM_FULL)                                        \
    X("AssocMaxSubmitJobLimit", SLURM_FULL)                                       \
    X("AssocGrpSubmitJobsLimit", SLURM_FULL)                                      \
    X("MaxSubmitJobsPerAccount", SLURM_FULL)                                      \
    X("Job violates accounting/QOS policy", SLURM_REFUSED)                        \
    X("Invalid job id specified", SLURM_NO_SUCH_JOB)                              \
    X("Invalid partition name specified", SLURM_REFUSED)                          \
    X("invalid partition specified", SLURM_REFUSED)                               \
    X("No partition specified", SLURM_REFUSED)                                    \
    X("Invalid account or account/partition combination", SLURM_REFUSED)          \
    X("Invalid qos specification", SLURM_REFUSED)                                 \
    X("Invalid feature specification", SLURM_REFUSED)                             \
    X("Invalid generic resource", SLURM_REFUSED)                                  \
    X("Invalid Trackable RESource", SLURM_REFUSED)                                \
    X("Invalid job array specification", SLURM_REFUSED)                           \
    X("Invalid node name specified", SLURM_REFUSED)                               \
    X("Invalid license specification", SLURM_REFUSED)                             \
    X("Invalid wckey specification", SLURM_REFUSED)                               \
    X("Invalid time specified", SLURM_REFUSED)                                    \
    X("Requested node configuration is not available", SLURM_REFUSED)             \
    X("Requested nodes not in this partition", SLURM_REFUSED)                     \
    X("Requested partition configuration not available", SLURM_REFUSED)           \
    X("Requested time limit is invalid", SLURM_REFUSED)                           \
    X("Requested reservation", SLURM_REFUSED)                                     \
    X("Requested GRES option unsupported", SLURM_REFUSED)                         \
    X("Time limit specification required", SLURM_REFUSED)                         \
    X("Node count specification invalid", SLURM_REFUSED)                          \
    X("More processors requested than permitted", SLURM_REFUSED)                  \
    X("Memory specification can not be satisfied", SLURM_REFUSED)                 \
    X("Memory required by task is not available", SLURM_REFUSED)                  \
    X("User's group not permitted to use this partition", SLURM_REFUSED)          \
    X("Required partition not available", SLURM_FULL)                             \
    X("Access/permission denied", SLURM_REFUSED)                                  \
    X("Unspecified error", SLURM_REFUSED)                                         \
    X("Pathname of a file, directory or other parameter too long", SLURM_REFUSED) \
    X("unrecognized option", SLURM_REFUSED)                                       \
    X("option requires an argument", SLURM_REFUSED)                               \
    X("is ambiguous", SLURM_REFUSED)                                              \
    X("doesn't allow an argument", SLURM_REFUSED)                                 \
    X("are mutually exclusive", SLURM_REFUSED)                                    \
    X("Invalid --", SLURM_REFUSED)                                                \
    X("only permitted by root user", SLURM_REFUSED)

enum slurm_failure slurm_failure_of(const struct slurm_result *result);

/* In one line, without "sbatch: error: " and its like; in the arena. */
char *slurm_failure_words(const struct slurm_result *result, struct arena *a);

#endif
