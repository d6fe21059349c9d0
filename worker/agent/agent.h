/* SPDX-License-Identifier: MIT */
/*
 * agent.h - what the event loop of a worker is made of: it talks to ludwigd, decides what starts, and
 * keeps runners, stager and publisher at it
 *
 * It never opens the share, a dataset or a scratch folder, and nothing in it waits.  It may be killed at any
 * point: whatever it knows, the next one finds in the registry, in the folders on scratch
 * and with the runners, which go on.
 */
#ifndef LUDWIG_WORKER_AGENT_AGENT_H
#define LUDWIG_WORKER_AGENT_AGENT_H

#include <uv.h>

#include "worker/agent/attempts.h"
#include "worker/agent/gpu_poll.h"
#include "worker/agent/outbox.h"
#include "worker/agent/registry.h"
#include "worker/agent/runners.h"
#include "worker/agent/server_link.h"
#include "worker/agent/share_probe.h"
#include "worker/base/conf.h"
#include "worker/base/folders.h"
#include "worker/base/options.h"
#include "worker/node/node.h"
#include "worker/node/slurmjob.h"

struct pilot_end;
struct user_events;

enum agent_end { AGENT_GOES_ON, AGENT_LEAVES, AGENT_FAILS, AGENT_STARTS_ANEW };

struct agent {
    uv_loop_t loop;
    struct conf conf;
    struct node node;
    struct slurm_job slurm;   /* of a pilot */
    struct pilot_end *retire; /* likewise */
    struct folders folders;
    struct token worker;      /* who we are, over restarts */
    struct token incarnation; /* this process */
    enum agent_end end;
    struct err why; /* AGENT_FAILS */

    /* of one server, once its id is known; see home.c */
    char *server_id;
    char *share; /* its name (share.h) */
    char *drive; /* the same of all of the drive, whatever projects: says */
    int home_fd; /* <runtime>/<server id>; -1: not known yet */
    int lock_fd;
    int scratch_lock_fd; /* nobody else works for this server on this scratch */
    struct registry *registry;

    struct ring users;
    const struct user_events *user_events;
    struct ring passes; /* see flow_pack.c */
    struct attempts attempts;
    struct slots *slots;
    struct gpu_list gpus;
    struct outbox outbox;
    struct runners runners;
    struct gpu_poll gpuwatch;
    struct server_link *link;
    struct share_probe share_ask;
    char *told_user, *told_server, *told_share, *told_projects; /* by the last welcome */

    bool changes_uid; /* each job runs as its owner */
    bool gpus_can_be_asked;
    bool is_registry_stuck; /* it cannot be written: nothing is sent meanwhile */
    bool is_greeted;        /* ludwigd has said welcome, */
    bool is_welcome;        /* we know where its share is, */
    bool is_registered;     /* and what we hold */
    bool is_late;           /* a runner that an earlier agent left does not say what it has */
    bool is_resolving;      /* they all said, or are gone */
    bool is_adopted;        /* what an earlier agent left has been looked through */
    bool may_start;         /* ludwigd said what it no longer wants, or cannot be asked */

    size_t n_asked;      /* attempts of which a clerk is yet to say what became of them */
    struct ring young;   /* attempts that started a moment ago: their logs can wait */
    struct ring orphans; /* batches whose processes are being killed */
    uint64_t orphan_ms;
    struct ring strangers; /* running attempts of a server that is gone, see strangers.c */
    struct token *settled; /* to be discarded once the registry says they are gone */
    size_t n_settled, settled_capacity;

    uv_signal_t sigchld, sigterm, sigint;
    uv_prepare_t prepare;
    uv_timer_t orphan_timer, young_timer, adopt_timer, write_timer;
};

/* agent.c - it comes to an end */
void agent_fail(struct agent *ag, const struct err *why);
void agent_stop(struct agent *ag, enum agent_end end);

/* register.c - tells ludwigd what we are and hold, if it is there and we know */
void agent_register(struct agent *ag);

/* home.c - the folder of one server: lock, registry, children's locks */
int runtime_dir_settle(struct agent *ag, const char *server_id, struct err *e);
/* The id of the server that was last met at this address; NULL when none was. Caller frees. */
char *runtime_dir_last_server(const struct agent *ag);
int runtime_dir_remember_server(const struct agent *ag, struct err *e);
/* Of a server that no address leads to any more, and that no agent works for. */
bool runtime_dir_is_abandoned(const struct agent *ag, const char *server_id);
/* One of its runners lives. */
bool runtime_dir_has_runner(const struct agent *ag, const char *server_id);
/* What that server's registry says the process was given; the lists become the slot's. */
bool runtime_dir_find_given(const struct agent *ag, const char *server_id,
                            const struct token *process, struct slot_item *slot);
int runtime_dir_read_worker_id(struct agent *ag, struct err *e);
int runtime_dir_compact(struct agent *ag, struct err *e);

/* serve.c - what ludwigd says */
extern const struct server_link_events serve_events;
void server_messages_share(void *context, bool is_here);

/* gpus.c - which GPUs are offered to jobs */
void gpus_start(struct agent *ag); /* lifecycle_ready follows */
size_t gpus_offered(const struct agent *ag);
bool gpus_are_known(const struct agent *ag);

#endif
