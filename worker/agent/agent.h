/* SPDX-License-Identifier: MIT */
/*
 * agent.h - the event loop of a worker, and its state: it talks to ludwigd, decides what starts,
 * and keeps runners, stager and publisher at work
 *
 * The agent never opens the share, a dataset or a scratch folder, and nothing in it waits.  It may
 * be killed at any point: all that it knows, the next agent finds in the registry, in the folders
 * on scratch and with the runners, which go on.
 */
#ifndef LUDWIG_WORKER_AGENT_AGENT_H
#define LUDWIG_WORKER_AGENT_AGENT_H

#include <uv.h>

#include "worker/agent/attempts.h"
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

struct pilot_end;

enum agent_end { AGENT_GOES_ON, AGENT_LEAVES, AGENT_FAILS, AGENT_STARTS_ANEW };

struct agent {
    uv_loop_t loop;
    struct conf conf;
    struct node node;
    struct slurm_job slurm;      /* of a pilot */
    struct pilot_end *pilot_end; /* likewise; see pilot_end.h */
    struct folders folders;
    struct token worker;      /* its id, the same over restarts */
    struct token incarnation; /* this process */
    enum agent_end end;
    struct err why; /* AGENT_FAILS */

    /* of one server, once its id is known; see runtime_dir.h */
    char *server_id;
    char *share; /* its name (share.h) */
    char *drive; /* the same of all of the drive, whatever projects: says */
    int home_fd; /* <runtime>/<server id>; -1: not known yet */
    int lock_fd;
    int scratch_lock_fd; /* no other agent works for this server on this scratch */
    struct registry *registry;

    struct ring users;
    const struct user_events *user_events;
    struct ring passes; /* see flow_pack.c */
    struct attempts attempts;
    struct slots *slots;
    struct gpu_list gpus;
    struct outbox outbox;
    struct runners runners;
    struct strangers strangers;
    struct child_question gpu_question; /* see gpus.h */
    uint64_t gpus_answered_at;
    void (*on_gpus_known)(struct agent *ag);
    struct server_link *link;
    struct child_question share_question; /* whether ludwigd's share is mounted here */
    char *told_user, *told_server, *told_share, *told_projects; /* by the last welcome */

    bool changes_uid;  /* each job runs as its owner */
    bool is_in_slurm;  /* a pilot, or a worker that a user started inside a Slurm job */
    bool lacks_groups; /* a fact: it can make no control groups for jobs, and is not in Slurm */
    bool gpus_can_be_asked;
    bool gpus_are_wanted;   /* they are asked for again as soon as the last child is gone */
    bool is_registry_stuck; /* the registry cannot be written: nothing is sent meanwhile */
    bool is_greeted;        /* ludwigd has said welcome, */
    bool is_welcome;        /* we know where its share is, */
    bool is_registered;     /* and what we hold */
    bool is_register_due;   /* that has changed: ludwigd is told at the end of this turn */
    bool is_late;           /* a runner that an earlier agent left does not say what it has */
    bool is_resolving;      /* all such runners have said it, or are gone */
    bool is_adopted;        /* what an earlier agent left has been looked through */
    bool may_start;         /* ludwigd said what it no longer wants, or cannot be asked */

    struct ring
        events; /* of attempts and batches that wait for their turn; see worker/flow/phases.h */
    struct ring young;   /* attempts that started a moment ago: their logs can wait */
    struct ring settled; /* attempts to be discarded once the registry says they are gone */
    struct ring orphans; /* batches whose processes are being killed */
    uint64_t orphan_ms;
    struct ring foreign_attempts; /* running ones of a server that is gone, see flow_recover.c */

    uv_signal_t sigchld, sigterm, sigint;
    uv_prepare_t prepare;
    uv_timer_t orphan_timer, young_timer, adopt_timer, write_timer, gpu_timer;
};

/* A new one, whose loop is ready; NULL with e set. */
struct agent *agent_create(struct err *e);
/* Closes its handles on the loop.  Runners with jobs go on; all other children end when their
 * connections do. */
void agent_close(struct agent *ag);
void agent_free(struct agent *ag);

/* Ends the agent's loop. */
void agent_stop(struct agent *ag, enum agent_end end);
void agent_fail(struct agent *ag, const struct err *why);

#endif
