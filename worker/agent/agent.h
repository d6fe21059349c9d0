/* SPDX-License-Identifier: MIT */
/*
 * agent.h - the state of an agent, the event loop of a worker: it talks to ludwigd, decides what
 * starts, and keeps runners, stager and publisher at work
 *
 * The agent never opens the share, a dataset or a scratch folder, and never blocks.  It may be
 * killed at any point: the next agent finds all that this one knew in the registry, in the folders
 * on scratch, and from the runners, which keep running.
 */
#ifndef LUDWIG_WORKER_AGENT_AGENT_H
#define LUDWIG_WORKER_AGENT_AGENT_H

#include <uv.h>

#include "worker/agent/attempts.h"
#include "worker/agent/measures.h"
#include "worker/agent/outbox.h"
#include "worker/agent/registry.h"
#include "worker/agent/runners.h"
#include "worker/agent/server_link.h"
#include "worker/agent/strangers.h"
#include "worker/agent/user.h"
#include "worker/base/conf.h"
#include "worker/base/folders.h"
#include "worker/base/options.h"
#include "worker/node/gpu.h"
#include "worker/node/node.h"
#include "worker/node/slurmjob.h"

struct flow_peeks;
struct pilot_end;

enum agent_end { AGENT_GOES_ON, AGENT_LEAVES, AGENT_FAILS, AGENT_STARTS_ANEW };

struct agent {
    uv_loop_t loop;
    struct conf conf;
    struct node node;
    struct slurm_job slurm;      /* the Slurm job, of a pilot only */
    struct pilot_end *pilot_end; /* of a pilot only; see pilot_end.h */
    struct folders folders;
    struct token worker;      /* the worker's id, the same over restarts */
    struct token incarnation; /* the id of this process */
    enum agent_end end;
    struct err why; /* set with AGENT_FAILS */

    /* State that belongs to one ludwigd, set once its id is known; see runtime_dir.h */
    char *server_id;
    char *share; /* the name of its share (share.h) */
    char *drive; /* name of the whole drive; with `projects:`, share is a folder on it */
    int home_fd; /* the folder <runtime>/<server id>; -1: id not known yet */
    int lock_fd;
    int scratch_lock_fd; /* lock: no other agent works for this server on this scratch */
    struct registry *registry;

    struct ring users;
    const struct user_events *user_events;
    struct ring packings;     /* struct packing, see flow_pack.c */
    struct flow_peeks *peeks; /* see flow_peek.c */
    struct attempts attempts;
    struct slots *slots;
    struct gpu_list gpus;
    struct outbox outbox;
    struct measures measures;
    struct runners runners;
    struct strangers strangers;
    struct child_question gpu_question; /* see gpus.h */
    uint64_t gpus_answered_at;
    void (*on_gpus_known)(struct agent *ag);
    struct server_link *link;
    struct child_question share_question; /* is ludwigd's share mounted here? */
    char *told_user, *told_server, *told_share, *told_projects; /* from the last welcome */

    bool changes_uid;  /* each job runs as its owner */
    bool is_in_slurm;  /* a pilot, or a worker that a user started inside a Slurm job */
    bool lacks_groups; /* the agent cannot make control groups for jobs, and is not in Slurm */
    bool gpus_can_be_asked;
    bool gpus_are_seen;     /* a driver listed GPUs at the start */
    bool is_gpu_use_due;    /* ludwigd asked for the use of the GPUs; the answer is pending */
    bool is_gpu_look_due;   /* the next answer decides which GPUs are offered */
    uint64_t gpu_use_ms;    /* delay until the use of the jobs' GPUs is looked at again */
    bool are_jobs_due;      /* the next answer is passed to runners whose jobs have GPUs */
    bool gpus_are_wanted;   /* ask again as soon as the child asked last is gone */
    bool is_registry_stuck; /* the registry cannot be written: nothing is sent until it can */
    bool is_greeted;        /* ludwigd has sent its welcome */
    bool is_welcome;        /* and the agent knows where ludwigd's share is */
    bool is_registered;     /* and ludwigd knows which attempts the agent holds */
    bool is_register_due;   /* the agent registers again at the end of this turn */
    bool is_late;           /* a runner of an earlier agent has not said in time what it runs */
    bool is_resolving;      /* all runners of an earlier agent have said so, or are gone */
    bool is_adopted;        /* adoption is over */
    bool may_start;         /* ludwigd said which attempts it no longer wants, or is unreachable */

    struct ring
        events; /* of attempts and of batches' processes, that wait; see worker/flow/phases.h */
    struct ring young;   /* attempts that started just now: their logs are watched a moment later */
    struct ring settled; /* attempts to discard once the registry records that they are gone */
    struct ring orphans; /* batches whose processes are being killed */
    uint64_t orphan_ms;
    struct ring foreign_attempts; /* running ones of a ludwigd that is gone, see flow_recover.c */

    uv_signal_t sigchld, sigterm, sigint;
    uv_prepare_t prepare;
    /* See disk_room.h; times by the loop's clock */
    int64_t told_disk_bytes; /* the room on scratch that ludwigd was told last */
    uint64_t room_asked_until, shed_until;

    uv_timer_t orphan_timer, young_timer, adopt_timer, write_timer, gpu_timer, gpu_use_timer,
        disk_timer;
};

/* Returns a new agent with its loop initialised; NULL with e set on error. */
struct agent *agent_create(struct err *e);
/* Closes the agent's handles and loop.  Runners with jobs go on; all other children end when their
 * connections close. */
void agent_close(struct agent *ag);
void agent_free(struct agent *ag);

/* Ends the agent's loop with this result, which the first call decides.  agent_fail copies why. */
void agent_stop(struct agent *ag, enum agent_end end);
void agent_fail(struct agent *ag, const struct err *why);

#endif
