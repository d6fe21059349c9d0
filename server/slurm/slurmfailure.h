/* SPDX-License-Identifier: MIT */
/*
 * slurmfailure.h - why a Slurm command failed, judged by what it printed
 *
 * One table has every text that decides something; a test compares docs/slurm.md with it.  Slurm
 * prints the same from 21.08 to 25.11; where a text changed, both forms are here.  A text in no row
 * concerns the one request that it answers, and nothing else.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMFAILURE_H
#define LUDWIG_SERVER_SLURM_SLURMFAILURE_H

#include "common/base/mem.h"
#include "server/slurm/slurmcall.h"

enum slurm_failure {
    SLURM_WELL,     /* the command succeeded */
    SLURM_AWAY,     /* Slurm does not answer anything: all commands wait, longer each time */
    SLURM_NOT_NOW,  /* this request has to wait, for others to end or a partition to open */
    SLURM_REFUSED,  /* Slurm can never grant this request: it is not tried again */
    SLURM_UNCLEAR,  /* it failed for an unknown reason: this request is tried again later */
    SLURM_NOT_HERE, /* there is no Slurm here, or it has no configuration: as SLURM_AWAY */
    SLURM_NO_SUCH_JOB
};

/*
 * Columns: a part of the text, what it means, where Slurm has it from.  The first row that fits
 * counts.  ESLURM_ and SLURM_ are names in Slurm's slurm_errno.h.  "reason" is one of its
 * job_state_reason texts, which come before ESLURM_ACCOUNTING_POLICY and say more.  "sbatch": the
 * command itself prints it.
 */
#define SLURM_FAILURES(X)                                                                          \
    X("Unable to contact slurm controller", SLURM_AWAY, "SLURMCTLD_COMMUNICATIONS_*")              \
    X("Communication connection failure", SLURM_AWAY, "SLURM_COMMUNICATIONS_CONNECTION_ERROR")     \
    X("Message send failure", SLURM_AWAY, "SLURM_COMMUNICATIONS_SEND_ERROR")                       \
    X("Message receive failure", SLURM_AWAY, "SLURM_COMMUNICATIONS_RECEIVE_ERROR")                 \
    X("Communication shutdown failure", SLURM_AWAY, "SLURM_COMMUNICATIONS_SHUTDOWN_ERROR")         \
    X("Connection timed out", SLURM_AWAY, "SLURM_COMMUNICATIONS_*_TIMEOUT")                        \
    X("Socket timed out on send/recv", SLURM_AWAY, "SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT")           \
    X("Zero Bytes were transmitted", SLURM_AWAY, "SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT")          \
    X("Rate limit exceeded", SLURM_AWAY, "SLURMCTLD_COMMUNICATIONS_BACKOFF, _HARD_DROP")           \
    X("backup controller in standby mode", SLURM_AWAY, "ESLURM_IN_STANDBY_MODE")                   \
    X("Controller is in standby mode", SLURM_AWAY, "ESLURM_IN_STANDBY_USE_BACKUP")                 \
    X("Protocol authentication error", SLURM_AWAY, "SLURM_PROTOCOL_AUTHENTICATION_ERROR")          \
    X("uthentication credential", SLURM_AWAY, "ESLURM_AUTH_CRED_INVALID, ESLURM_AUTH_EXPIRED")     \
    X("Munge encode failed", SLURM_AWAY, "auth/munge")                                             \
    X("System submissions disabled", SLURM_AWAY, "ESLURM_SUBMISSIONS_DISABLED")                    \
    X("Incompatible versions of client and server", SLURM_NOT_HERE,                                \
      "SLURM_PROTOCOL_VERSION_ERROR")                                                              \
    X("Unable to establish controller machine", SLURM_NOT_HERE, "slurm.conf")                      \
    X("Could not establish a configuration source", SLURM_NOT_HERE, "slurm.conf")                  \
    X("Unable to process configuration file", SLURM_NOT_HERE, "slurm.conf")                        \
    X("resolve_ctls_from_dns_srv", SLURM_NOT_HERE, "slurm.conf")                                   \
    X("Invalid job id specified", SLURM_NO_SUCH_JOB, "ESLURM_INVALID_JOB_ID")                      \
    X("PerJob", SLURM_REFUSED, "reason: QOSMaxCpuPerJobLimit, AssocMaxWallDurationPerJobLimit...") \
    X("PerNode", SLURM_REFUSED, "reason: QOSMaxMemoryPerNode...")                                  \
    X("QOSMin", SLURM_REFUSED, "reason: QOSMinGRES...")                                            \
    X("AssocMax", SLURM_NOT_NOW, "reason: AssocMaxSubmitJobLimit...")                              \
    X("AssocGrp", SLURM_NOT_NOW, "reason: AssocGrpSubmitJobsLimit, AssocGrpCpuLimit...")           \
    X("QOSMax", SLURM_NOT_NOW, "reason: QOSMaxSubmitJobPerUserLimit, QOSMaxCpuPerUserLimit...")    \
    X("QOSGrp", SLURM_NOT_NOW, "reason: QOSGrpSubmitJobsLimit, QOSGrpCpuLimit...")                 \
    X("PerAccount", SLURM_NOT_NOW, "reason: MaxSubmitJobsPerAccount...")                           \
    X("QOSUsageThreshold", SLURM_NOT_NOW, "reason")                                                \
    X("breached requested QOS usage threshold", SLURM_NOT_NOW, "ESLURM_QOS_THRES")                 \
    X("Required partition not available", SLURM_NOT_NOW, "ESLURM_PARTITION_NOT_AVAIL")             \
    X("Partition in DOWN state", SLURM_NOT_NOW, "ESLURM_PARTITION_DOWN")                           \
    X("Requested partition configuration not available now", SLURM_NOT_NOW,                        \
      "ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE")                                                  \
    X("Required node not available", SLURM_NOT_NOW, "ESLURM_NODE_NOT_AVAIL")                       \
    X("Requested nodes are busy", SLURM_NOT_NOW, "ESLURM_NODES_BUSY")                              \
    X("Licenses currently unavailable", SLURM_NOT_NOW, "ESLURM_LICENSES_UNAVAILABLE")              \
    X("Requested reservation is in use", SLURM_NOT_NOW, "ESLURM_RESERVATION_BUSY")                 \
    X("Requested reservation not usable now", SLURM_NOT_NOW, "ESLURM_RESERVATION_NOT_USABLE")      \
    X("due to maintenance reservation", SLURM_NOT_NOW, "ESLURM_RESERVATION_MAINT")                 \
    X("Burst Buffer resource limit exceeded", SLURM_NOT_NOW, "ESLURM_BURST_BUFFER_LIMIT")          \
    X("Max powered up nodes reached", SLURM_NOT_NOW, "ESLURM_MAX_POWERED_NODES")                   \
    X("MaxJobCount limit reached", SLURM_NOT_NOW, "ESLURM_MAX_JOB_COUNT, 24.05 and later")         \
    X("Unable to create job record, try again", SLURM_NOT_NOW,                                     \
      "ESLURM_ERROR_ON_DESC_TO_RECORD_COPY, before 24.05")                                         \
    X("Slurm job queue full", SLURM_NOT_NOW, "sbatch, which asks again and again")                 \
    X("Job creation temporarily disabled", SLURM_NOT_NOW, "sbatch, which asks again and again")    \
    X("Slurm temporarily unable to accept job", SLURM_NOT_NOW,                                     \
      "sbatch, which asks again and again")                                                        \
    X("Resource temporarily unavailable", SLURM_NOT_NOW, "EAGAIN")                                 \
    X("Job violates accounting/QOS policy", SLURM_REFUSED, "ESLURM_ACCOUNTING_POLICY")             \
    X("Invalid partition name specified", SLURM_REFUSED, "ESLURM_INVALID_PARTITION_NAME")          \
    X("invalid partition specified", SLURM_REFUSED, "sbatch")                                      \
    X("No partition specified", SLURM_REFUSED, "ESLURM_DEFAULT_PARTITION_NOT_SET")                 \
    X("Multiple partition job request not supported", SLURM_REFUSED, "ESLURM_PARTITION_ASSOC")     \
    X("Invalid account or account/partition combination", SLURM_REFUSED, "ESLURM_INVALID_ACCOUNT") \
    X("Invalid or unknown association", SLURM_REFUSED, "ESLURM_INVALID_ASSOC")                     \
    X("User's group not permitted to use this partition", SLURM_REFUSED,                           \
      "ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP")                                               \
    X("Invalid qos specification", SLURM_REFUSED, "ESLURM_INVALID_QOS")                            \
    X("Invalid QOS specification", SLURM_REFUSED, "ESLURM_INVALID_RELATIVE_QOS")                   \
    X("Invalid feature specification", SLURM_REFUSED, "ESLURM_INVALID_FEATURE")                    \
    X("Invalid preferred feature specification", SLURM_REFUSED, "ESLURM_INVALID_PREFER")           \
    X("nvalid generic resource", SLURM_REFUSED, "ESLURM_INVALID_GRES")                             \
    X("Duplicate generic resource", SLURM_REFUSED, "ESLURM_DUPLICATE_GRES")                        \
    X("Invalid GRES", SLURM_REFUSED, "ESLURM_INVALID_GRES_TYPE")                                   \
    X("Requested GRES option unsupported", SLURM_REFUSED, "ESLURM_UNSUPPORTED_GRES")               \
    X("Insufficient GRES available", SLURM_REFUSED, "ESLURM_INSUFFICIENT_GRES")                    \
    X("RestrictedCoresPerGPU", SLURM_REFUSED, "ESLURM_RES_CORES_PER_GPU_*")                        \
    X("Invalid Trackable RESource", SLURM_REFUSED, "ESLURM_INVALID_TRES")                          \
    X("Invalid job array specification", SLURM_REFUSED, "ESLURM_INVALID_ARRAY")                    \
    X("nvalid node name specified", SLURM_REFUSED, "ESLURM_INVALID_NODE_NAME")                     \
    X("Invalid license specification", SLURM_REFUSED, "ESLURM_INVALID_LICENSES")                   \
    X("Invalid wckey specification", SLURM_REFUSED, "ESLURM_INVALID_WCKEY")                        \
    X("Invalid time specified", SLURM_REFUSED, "ESLURM_INVALID_TIME_VALUE")                        \
    X("Requested time limit is invalid", SLURM_REFUSED, "ESLURM_INVALID_TIME_LIMIT")               \
    X("Invalid time-min specification", SLURM_REFUSED, "ESLURM_INVALID_TIME_MIN_LIMIT")            \
    X("Time limit specification required", SLURM_REFUSED, "ESLURM_MISSING_TIME_LIMIT")             \
    X("Requested node configuration is not available", SLURM_REFUSED,                              \
      "ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE")                                                  \
    X("Requested nodes not in this partition", SLURM_REFUSED,                                      \
      "ESLURM_REQUESTED_NODES_NOT_IN_PARTITION")                                                   \
    X("Requested topology configuration", SLURM_REFUSED,                                           \
      "ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE")                                                  \
    X("Access denied to requested reservation", SLURM_REFUSED, "ESLURM_RESERVATION_ACCESS")        \
    X("Requested reservation is invalid", SLURM_REFUSED, "ESLURM_RESERVATION_INVALID")             \
    X("Node count specification invalid", SLURM_REFUSED, "ESLURM_INVALID_NODE_COUNT")              \
    X("CPU count specification invalid", SLURM_REFUSED, "ESLURM_INVALID_CPU_COUNT")                \
    X("Task count specification invalid", SLURM_REFUSED, "ESLURM_BAD_TASK_COUNT")                  \
    X("More processors requested than permitted", SLURM_REFUSED, "ESLURM_TOO_MANY_REQUESTED_CPUS") \
    X("Job size specification needs to be provided", SLURM_REFUSED,                                \
      "ESLURM_JOB_MISSING_SIZE_SPECIFICATION")                                                     \
    X("Memory specification can not be satisfied", SLURM_REFUSED, "sbatch")                        \
    X("Memory required by task is not available", SLURM_REFUSED, "ESLURM_INVALID_TASK_MEMORY")     \
    X("Only batch jobs are accepted", SLURM_REFUSED, "ESLURM_BATCH_ONLY")                          \
    X("Job dependency problem", SLURM_REFUSED, "ESLURM_DEPENDENCY")                                \
    X("Burst Buffer permission denied", SLURM_REFUSED, "ESLURM_BURST_BUFFER_PERMISSION")           \
    X("Burst Buffer request invalid", SLURM_REFUSED, "ESLURM_INVALID_BURST_BUFFER_REQUEST")        \
    X("Invalid mcs_label specified", SLURM_REFUSED, "ESLURM_INVALID_MCS_LABEL")                    \
    X("Invalid cluster name", SLURM_REFUSED, "ESLURM_INVALID_CLUSTER_NAME")                        \
    X("Requested operation not supported", SLURM_REFUSED, "ESLURM_NOT_SUPPORTED")                  \
    X("Requested operation is presently disabled", SLURM_REFUSED, "ESLURM_DISABLED")               \
    X("Access/permission denied", SLURM_REFUSED, "ESLURM_ACCESS_DENIED")                           \
    X("Unspecified error", SLURM_REFUSED, "SLURM_ERROR: the no of a site's job_submit plugin")     \
    X("cli_filter plugin terminated with error", SLURM_REFUSED, "sbatch: a site's cli_filter")     \
    X("Pathname of a file, directory or other parameter too long", SLURM_REFUSED,                  \
      "ESLURM_PATHNAME_TOO_LONG")                                                                  \
    X("Invalid user id", SLURM_REFUSED, "ESLURM_USER_ID_MISSING")                                  \
    X("unrecognized option", SLURM_REFUSED, "sbatch")                                              \
    X("option requires an argument", SLURM_REFUSED, "sbatch")                                      \
    X("is ambiguous", SLURM_REFUSED, "sbatch")                                                     \
    X("doesn't allow an argument", SLURM_REFUSED, "sbatch")                                        \
    X("are mutually exclusive", SLURM_REFUSED, "sbatch")                                           \
    X("Invalid --", SLURM_REFUSED, "sbatch")                                                       \
    X("invalid number of", SLURM_REFUSED, "sbatch")                                                \
    X("only permitted by root user", SLURM_REFUSED, "sbatch")

/* Judges a finished command.  One that was killed because it took too long counts as SLURM_AWAY,
 * unless it had printed what it waits for. */
enum slurm_failure slurm_failure_of(const struct slurm_result *result);
/* Slurm's own words in one line, without "sbatch: error: " and the like; in the arena. */
char *slurm_failure_words(const struct slurm_result *result, struct arena *a);

#endif
