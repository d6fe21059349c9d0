/* SPDX-License-Identifier: MIT */
/*
 * slurmstate.h - what Slurm says about a pilot, and what that means for the pilot and its jobs
 *
 * One table has every state of a job and another every reason for which a job waits, from Slurm
 * 21.08 on; a test compares docs/slurm.md with both.  Slurm's word is a hint: a restarted slurmctld
 * may give an id to another job or show a finished job as running, and accounting lags.  The
 * pilot's worker outranks Slurm, and the share decides which attempt published.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMSTATE_H
#define LUDWIG_SERVER_SLURM_SLURMSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/proto/states.h"

/* Columns: phase of a pilot, its number in the database (never changed), its name, its meaning. */
#define PILOT_PHASES(X)                                                                       \
    X(PILOT_UNCLEAR, 0, "unclear", "nobody says: asked again, and nothing is decided")        \
    X(PILOT_WAITS, 1, "waits", "it begins by itself")                                         \
    X(PILOT_LIMITED, 2, "limited", "it begins when a limit or its partition allows it again") \
    X(PILOT_HELD, 3, "held", "somebody holds it, and has to release it")                      \
    X(PILOT_STUCK, 4, "stuck", "Slurm holds it after a failure: it is cancelled")             \
    X(PILOT_NEVER, 5, "never",                                                                \
      "it cannot begin as it is: it is cancelled, and the user is told why")                  \
    X(PILOT_STARTS, 6, "starts", "it has its nodes")                                          \
    X(PILOT_RUNS, 7, "runs", "its worker can take jobs")                                      \
    X(PILOT_STOPPED, 8, "stopped", "its processes stand still")                               \
    X(PILOT_ENDS, 9, "ends", "its processes are being ended")                                 \
    X(PILOT_ENDED, 10, "ended", "there is nothing of it any more")

/* What becomes of jobs that the pilot has not reported on: the word, its meaning. */
#define PILOT_JOBS(X)                                                      \
    X(JOBS_STAY, "stay", "they go on, or there are none")                  \
    X(JOBS_LEASE, "lease", "it may still work at them: the lease decides") \
    X(JOBS_BACK, "back", "they are lost, for the cause that is given")

/* Whether another pilot may take the pilot's place: the word, its meaning. */
#define PILOT_NEXTS(X)                                                             \
    X(NEXT_NONE, "none", "there is this one, or the user has to change something") \
    X(NEXT_NOW, "now", "at once")                                                  \
    X(NEXT_LATER, "later", "with back-off, as it may end in the same way")

/*
 * Columns: state, Slurm's name, the pilot's phase, what becomes of its jobs, for which cause, the
 * next pilot, the meaning.  For a PENDING job the reason says more.
 */
#define SLURM_STATES(X)                                                                          \
    X(SLURM_PENDING, "PENDING", PILOT_WAITS, JOBS_STAY, CAUSE_NONE, NEXT_NONE,                   \
      "waits for resources")                                                                     \
    X(SLURM_CONFIGURING, "CONFIGURING", PILOT_STARTS, JOBS_STAY, CAUSE_NONE, NEXT_NONE,          \
      "its nodes are being made ready")                                                          \
    X(SLURM_POWER_UP_NODE, "POWER_UP_NODE", PILOT_STARTS, JOBS_STAY, CAUSE_NONE, NEXT_NONE,      \
      "its nodes are being switched on")                                                         \
    X(SLURM_RUNNING, "RUNNING", PILOT_RUNS, JOBS_STAY, CAUSE_NONE, NEXT_NONE, "runs")            \
    X(SLURM_RESIZING, "RESIZING", PILOT_RUNS, JOBS_STAY, CAUSE_NONE, NEXT_NONE,                  \
      "runs, and its size is being changed")                                                     \
    X(SLURM_SIGNALING, "SIGNALING", PILOT_RUNS, JOBS_STAY, CAUSE_NONE, NEXT_NONE,                \
      "runs, and is being signalled")                                                            \
    X(SLURM_SUSPENDED, "SUSPENDED", PILOT_STOPPED, JOBS_LEASE, CAUSE_NONE, NEXT_NONE,            \
      "was suspended, and others have its processors")                                           \
    X(SLURM_STOPPED, "STOPPED", PILOT_STOPPED, JOBS_LEASE, CAUSE_NONE, NEXT_NONE,                \
      "was stopped, and keeps its processors")                                                   \
    X(SLURM_COMPLETING, "COMPLETING", PILOT_ENDS, JOBS_STAY, CAUSE_NONE, NEXT_NONE,              \
      "its processes are being ended")                                                           \
    X(SLURM_STAGE_OUT, "STAGE_OUT", PILOT_ENDS, JOBS_STAY, CAUSE_NONE, NEXT_NONE,                \
      "its files are being brought back")                                                        \
    X(SLURM_UPDATE_DB, "UPDATE_DB", PILOT_ENDS, JOBS_STAY, CAUSE_NONE, NEXT_NONE,                \
      "its end is being accounted for")                                                          \
    X(SLURM_COMPLETED, "COMPLETED", PILOT_ENDED, JOBS_BACK, CAUSE_PREEMPTED, NEXT_NOW,           \
      "has ended, with exit code 0")                                                             \
    X(SLURM_CANCELLED, "CANCELLED", PILOT_ENDED, JOBS_BACK, CAUSE_PREEMPTED, NEXT_LATER,         \
      "was cancelled, by its user or an admin")                                                  \
    X(SLURM_FAILED, "FAILED", PILOT_ENDED, JOBS_BACK, CAUSE_NODE_LOST, NEXT_LATER,               \
      "has failed: its log says more")                                                           \
    X(SLURM_TIMEOUT, "TIMEOUT", PILOT_ENDED, JOBS_BACK, CAUSE_WALLTIME, NEXT_NOW,                \
      "has reached the end of its time")                                                         \
    X(SLURM_DEADLINE, "DEADLINE", PILOT_ENDED, JOBS_BACK, CAUSE_PREEMPTED, NEXT_LATER,           \
      "has reached its deadline")                                                                \
    X(SLURM_PREEMPTED, "PREEMPTED", PILOT_ENDED, JOBS_BACK, CAUSE_PREEMPTED, NEXT_NOW,           \
      "had to make room for others")                                                             \
    X(SLURM_NODE_FAIL, "NODE_FAIL", PILOT_ENDED, JOBS_BACK, CAUSE_NODE_LOST, NEXT_NOW,           \
      "its node has failed")                                                                     \
    X(SLURM_BOOT_FAIL, "BOOT_FAIL", PILOT_ENDED, JOBS_BACK, CAUSE_NODE_LOST, NEXT_LATER,         \
      "its node did not boot")                                                                   \
    X(SLURM_LAUNCH_FAILED, "LAUNCH_FAILED", PILOT_ENDED, JOBS_BACK, CAUSE_NODE_LOST, NEXT_LATER, \
      "its node could not start it")                                                             \
    X(SLURM_RECONFIG_FAIL, "RECONFIG_FAIL", PILOT_ENDED, JOBS_BACK, CAUSE_NODE_LOST, NEXT_LATER, \
      "its node could not be configured")                                                        \
    X(SLURM_OUT_OF_MEMORY, "OUT_OF_MEMORY", PILOT_ENDED, JOBS_BACK, CAUSE_PREEMPTED, NEXT_LATER, \
      "one of its jobs took more memory than all of it had")                                     \
    X(SLURM_REQUEUED, "REQUEUED", PILOT_WAITS, JOBS_BACK, CAUSE_PREEMPTED, NEXT_NONE,            \
      "was put back into the queue")                                                             \
    X(SLURM_EXPEDITING, "EXPEDITING", PILOT_WAITS, JOBS_BACK, CAUSE_PREEMPTED, NEXT_NONE,        \
      "was put back to the front of the queue")                                                  \
    X(SLURM_REQUEUE_FED, "REQUEUE_FED", PILOT_WAITS, JOBS_BACK, CAUSE_PREEMPTED, NEXT_NONE,      \
      "was put back into the queue of its federation")                                           \
    X(SLURM_REQUEUE_HOLD, "REQUEUE_HOLD", PILOT_STUCK, JOBS_BACK, CAUSE_PREEMPTED, NEXT_LATER,   \
      "was put back into the queue, and is held there")                                          \
    X(SLURM_SPECIAL_EXIT, "SPECIAL_EXIT", PILOT_STUCK, JOBS_BACK, CAUSE_PREEMPTED, NEXT_LATER,   \
      "was put back into the queue for its exit code, and is held there")                        \
    X(SLURM_RESV_DEL_HOLD, "RESV_DEL_HOLD", PILOT_NEVER, JOBS_STAY, CAUSE_NONE, NEXT_NONE,       \
      "is held, as its reservation was deleted")                                                 \
    X(SLURM_REVOKED, "REVOKED", PILOT_ENDED, JOBS_LEASE, CAUSE_NONE, NEXT_LATER,                 \
      "was started by another cluster of its federation")

/* Findings for which Slurm has no state: a name of our own, and the other columns as above. */
#define SLURM_ABSENCES(X)                                                                  \
    X(SLURM_UNKNOWN_JOB, "unknown job", PILOT_ENDED, JOBS_LEASE, CAUSE_NONE, NEXT_NOW,     \
      "is not known to Slurm any more")                                                    \
    X(SLURM_OTHER_JOB, "other job", PILOT_ENDED, JOBS_LEASE, CAUSE_NONE, NEXT_NOW,         \
      "is gone: Slurm has given its id to another job")                                    \
    X(SLURM_NO_ACCOUNTING, "no accounting", PILOT_ENDED, JOBS_LEASE, CAUSE_NONE, NEXT_NOW, \
      "has left the queue, and no accounting says how it ended")                           \
    X(SLURM_NO_ANSWER, "no answer", PILOT_UNCLEAR, JOBS_LEASE, CAUSE_NONE, NEXT_NONE,      \
      "may be there: Slurm does not answer")                                               \
    X(SLURM_NEW_STATE, "unknown state", PILOT_UNCLEAR, JOBS_LEASE, CAUSE_NONE, NEXT_NONE,  \
      "is in a state that this ludwig does not know")                                      \
    X(SLURM_KILLED, "killed", PILOT_ENDED, JOBS_BACK, CAUSE_PREEMPTED, NEXT_LATER,         \
      "was killed, as happens when its jobs take more memory than it has")

/* Columns: reason, with * for any text; phase of the pilot; in words.  The first match counts. */
#define SLURM_REASONS(X)                                                                           \
    X("None", PILOT_WAITS, "Slurm did not look at it yet")                                         \
    X("Priority", PILOT_WAITS, "others come first")                                                \
    X("Resources", PILOT_WAITS, "the resources are in use")                                        \
    X("SchedDefer", PILOT_WAITS, "the scheduler did not look at it yet")                           \
    X("BeginTime", PILOT_WAITS, "its begin lies ahead; a requeued job waits two minutes")          \
    X("Dependency", PILOT_WAITS, "it waits for another job")                                       \
    X("DependencyNeverSatisfied", PILOT_NEVER, "it waits for a job that did not end as it had to") \
    X("JobArrayTaskLimit", PILOT_WAITS, "as many of its array run as may at once")                 \
    X("Licenses", PILOT_WAITS, "the licences are in use")                                          \
    X("Reservation", PILOT_WAITS, "its reservation has not begun")                                 \
    X("ReservationDeleted", PILOT_NEVER, "its reservation was deleted")                            \
    X("ReservationInvalid", PILOT_NEVER, "its reservation is not valid")                           \
    X("Prolog", PILOT_WAITS, "its node's prolog runs")                                             \
    X("Cleaning", PILOT_WAITS, "what an earlier run has left is being cleaned up")                 \
    X("FedJobLock", PILOT_WAITS, "its federation decides where it runs")                           \
    X("PowerNotAvail", PILOT_WAITS, "there is not enough power")                                   \
    X("PowerReserved", PILOT_WAITS, "the power is reserved")                                       \
    X("BurstBufferResources", PILOT_WAITS, "the burst buffer is in use")                           \
    X("BurstBufferStageIn", PILOT_WAITS, "its files are being brought to the burst buffer")        \
    X("BurstBufferOperation", PILOT_STUCK, "its burst buffer has failed")                          \
    X("Constraints", PILOT_WAITS, "no node with its constraint is there at the moment")            \
    X("ReqNodeNotAvail*", PILOT_WAITS, "the nodes that it asks for are away or reserved")          \
    X("Nodes required for job are *", PILOT_WAITS,                                                 \
      "the nodes that it asks for are away or reserved")                                           \
    X("NodeDown", PILOT_WAITS, "the nodes that it asks for are down")                              \
    X("FrontEndDown", PILOT_WAITS, "the front end is down")                                        \
    X("PartitionDown", PILOT_LIMITED, "the partition is down")                                     \
    X("PartitionInactive", PILOT_LIMITED, "the partition is inactive")                             \
    X("PartitionTimeLimit", PILOT_NEVER, "it asks for more time than the partition allows")        \
    X("PartitionNodeLimit", PILOT_NEVER,                                                           \
      "it asks for more nodes than the partition allows or has")                                   \
    X("PartitionConfig", PILOT_NEVER, "the partition has nothing like what it asks for")           \
    X("BadConstraints", PILOT_NEVER, "no node has what its constraint asks for")                   \
    X("MaxMemPerLimit", PILOT_NEVER, "it asks for more memory than the partition allows")          \
    X("AccountNotAllowed", PILOT_NEVER, "its account may not use the partition")                   \
    X("Job's account not permitted*", PILOT_NEVER, "its account may not use the partition")        \
    X("QOSNotAllowed", PILOT_NEVER, "its QOS may not be used in the partition")                    \
    X("Job's QOS not permitted*", PILOT_NEVER, "its QOS may not be used in the partition")         \
    X("InvalidAccount", PILOT_NEVER, "its account is not valid")                                   \
    X("InvalidQOS", PILOT_NEVER, "its QOS is not valid")                                           \
    X("DeadLine", PILOT_NEVER, "its deadline has passed")                                          \
    X("JobHeldUser", PILOT_HELD, "its user holds it: scontrol release")                            \
    X("JobHeldAdmin", PILOT_HELD, "an admin holds it")                                             \
    X("JobHoldMaxRequeue", PILOT_STUCK, "it was put back into the queue too often")                \
    X("*requeued held", PILOT_STUCK, "it could not be started, and is held")                       \
    X("job requeued in held state", PILOT_STUCK, "it was put back into the queue, and is held")    \
    X("SystemFailure", PILOT_STUCK, "Slurm itself has failed")                                     \
    X("JobLaunchFailure", PILOT_STUCK, "it could not be started")                                  \
    X("AssocMax*PerJob*", PILOT_NEVER, "it is larger than its user's jobs may be")                 \
    X("AssocMax*PerNode*", PILOT_NEVER, "it is larger than its user's jobs may be")                \
    X("QOSMax*PerJob*", PILOT_NEVER, "it is larger than its QOS allows")                           \
    X("QOSMax*PerNode*", PILOT_NEVER, "it is larger than its QOS allows")                          \
    X("QOSMin*", PILOT_NEVER, "it is smaller than its QOS asks for")                               \
    X("*Max*PerUser*", PILOT_LIMITED, "its user has as much as may be had at once")                \
    X("Max*PerAccount", PILOT_LIMITED, "its account has as much as may be had at once")            \
    X("*MaxSubmitJob*", PILOT_LIMITED, "as many jobs are submitted as may be")                     \
    X("AssocMaxJobsLimit", PILOT_LIMITED, "as many jobs run as its user may have at once")         \
    X("AssocGrp*", PILOT_LIMITED, "its account has as much as may be had")                         \
    X("QOSGrp*", PILOT_LIMITED, "its QOS has as much as may be had")                               \
    X("QOSUsageThreshold", PILOT_LIMITED, "more of its QOS was used than is its share")            \
    X("AccountingPolicy", PILOT_LIMITED, "a limit of its account or QOS is reached")               \
    X("Association*Limit", PILOT_LIMITED, "a limit of its account is reached")                     \
    X("QOS*Limit", PILOT_LIMITED, "a limit of its QOS is reached")

enum pilot_phase {
#define X(name, number, ...) name = (number),
    PILOT_PHASES(X)
#undef X
        PILOT_PHASE_COUNT
};

enum pilot_jobs {
#define X(name, ...) name,
    PILOT_JOBS(X)
#undef X
};

enum pilot_next {
#define X(name, ...) name,
    PILOT_NEXTS(X)
#undef X
};

enum slurm_state {
#define X(name, ...) name,
    SLURM_STATES(X) SLURM_ABSENCES(X)
#undef X
        SLURM_STATE_COUNT
};

/* What a command says about one job. */
enum slurm_said {
    SLURM_SAID_NOTHING, /* the command was not run, or did not answer */
    SLURM_HAS_NONE,     /* it knows no such job */
    SLURM_SAYS          /* it has a row for the job */
};

enum pilot_worker {
    WORKER_NEVER, /* the pilot's worker never connected, or its lease is over */
    WORKER_THERE, /* the worker is connected */
    WORKER_AWAY   /* the worker was connected, and its lease still runs */
};

/* What was seen of a pilot.  Texts are Slurm's own, of any content; NULL: none. */
struct slurm_seen {
    enum slurm_said squeue;
    const char *state, *reason;
    bool is_other; /* squeue's job is not ours, by its name, comment or submit time */
    bool has_accounting;
    enum slurm_said sacct;
    const char *ended; /* sacct's state, as in "CANCELLED by 1000" */
    int64_t signal;    /* the signal that ended it; 0 or less: none */
    bool is_other_ended;
    enum pilot_worker worker;
};

struct slurm_meaning {
    enum slurm_state state;
    enum pilot_phase phase;
    enum pilot_jobs jobs;
    enum cause cause; /* why the jobs are lost; CAUSE_NONE unless jobs is JOBS_BACK */
    enum pilot_next next;
    const char *words; /* from a table: "waits for resources" */
};

/* A pure function of what was seen. */
struct slurm_meaning slurm_judge(const struct slurm_seen *seen);

/* Reads "CANCELLED by 1000", "PENDING", "NODE_FAIL+"; SLURM_NEW_STATE: the state is not known. */
enum slurm_state slurm_state_parse(const char *text);
const char *slurm_state_name(enum slurm_state state);

#endif
