/* SPDX-License-Identifier: MIT */
/*
 * child_protocol.h - messages between the agent and its children
 *
 * The same frames and tables as between machines (common/proto/message.h), over a
 * socket pair or, for a runner that outlived its agent, the socket in its folder.
 *
 * docs/internals/agent-children.md says which child takes and sends which messages.
 *
 * A child ends when its connection to the agent ends; a runner first lets its job finish.
 */
#ifndef LUDWIG_WORKER_BASE_CHILD_PROTOCOL_H
#define LUDWIG_WORKER_BASE_CHILD_PROTOCOL_H

#include "common/proto/proto.h"
#include "worker/base/env_recipe.h"

/*
 * constant, name, direction: 1 to a child, 2 to the agent.  T: the body is the token of an attempt
 * or a batch.  N: the body says nothing.  X: struct order_NAME or note_NAME.
 */
#define ORDERS(X, T, N)             \
    X(ORDER_RUN, run, 1)            \
    X(ORDER_STOP, stop, 1)          \
    X(ORDER_PREEMPT, preempt, 1)    \
    X(NOTE_HELLO, hello, 2)         \
    X(NOTE_STARTED, started, 2)     \
    X(NOTE_ENDED, ended, 2)         \
    X(ORDER_STAGE, stage, 1)        \
    X(NOTE_STAGED, staged, 2)       \
    X(ORDER_RELEASE, release, 1)    \
    X(NOTE_CACHED, cached, 2)       \
    X(ORDER_EXPECT, expect, 1)      \
    N(NOTE_EXPECTED, expected, 2)   \
    X(ORDER_RESTORE, restore, 1)    \
    X(NOTE_RESTORED, restored, 2)   \
    X(ORDER_LOOK, look, 1)          \
    X(NOTE_FOUND, found, 2)         \
    X(ORDER_WATCH, watch, 1)        \
    T(ORDER_PUBLISH, publish, 1)    \
    X(NOTE_GREW, grew, 2)           \
    X(NOTE_PUBLISHED, published, 2) \
    T(ORDER_WITHDRAW, withdraw, 1)  \
    T(NOTE_WITHDRAWN, withdrawn, 2) \
    T(ORDER_DISCARD, discard, 1)    \
    T(NOTE_DISCARDED, discarded, 2) \
    X(ORDER_SETTLE, settle, 1)      \
    X(NOTE_SETTLED, settled, 2)     \
    T(ORDER_REAP, reap, 1)          \
    X(NOTE_REAPED, reaped, 2)       \
    X(ORDER_FINISH, finish, 1)      \
    X(NOTE_FINISHED, finished, 2)   \
    N(ORDER_SURVEY, survey, 1)      \
    X(NOTE_REMAINS, remains, 2)     \
    N(NOTE_SURVEYED, surveyed, 2)   \
    X(ORDER_PACK, pack, 1)          \
    X(NOTE_PACKED, packed, 2)       \
    X(NOTE_SHARE, share, 2)         \
    X(NOTE_ACCOUNT, account, 2)     \
    X(NOTE_GPUS, gpus, 2)

enum order_type {
#define X(constant, name, direction) constant,
    ORDERS(X, X, X)
#undef X
        ORDER_COUNT
};

/* The body of an N message. */
struct order_nothing {
    bool all; /* always true */
};

extern const struct protocol orders;

/* For a child: reads the body of an order, whose strings live in the wire's arena.  types: those
 * that the child takes, ended by -1; ERR_PROTOCOL: the order is none of them, or is malformed. */
int child_order_body(const struct wire *w, const struct envelope *m, const int *types, void *body,
                     struct err *e);

/*
 * Everything about one attempt: in ORDER_RUN, in the registry, and as the file
 * "order" in its job folder, so that any later process can go on with it.
 */
struct order {
    struct assignment assignment;
    struct sweep_work work;
    const char *server_id;
    const char *share;   /* the share as this machine sees it */
    struct list cpus;    /* struct number: its processors; empty: not pinned */
    struct list gpus;    /* struct gpu_entry: what CUDA_VISIBLE_DEVICES names */
    bool in_slurm;       /* leave CUDA_VISIBLE_DEVICES alone unless gpus says otherwise */
    bool for_another;    /* our account runs the job; its owner reaches files by their group */
    struct digest built; /* the tree of the environment that is built here; zero: there is none */
};

/* The same without the values that were passed from a shell, which no file in a job's folder has: only
 * the process that starts the job needs them. */
struct order order_without_passed(const struct order *o);

/* The trees that the order's job needs, from 0 on: source and data, then an environment that is built, of
 * which only "tree" is set; false: there are no more. */
bool order_tree(const struct order *o, size_t i, struct dataset *set);
bool order_needs_tree(const struct order *o, const struct digest *tree);

struct number {
    int64_t number;
};

struct gpu_entry {
    const char *id; /* index or UUID */
};

/*
 * With batch: a process runs under an order of its own, that of its first job with the batch's
 * token, in the folder run/<batch>.  Each of its jobs has order and folder of its own as well.
 */
bool order_is_process(const struct order *o); /* of a process for several jobs */
bool order_is_mate(const struct order *o);    /* of a job that shares its process */

/* The job is started in scratch run/<token>/; everything it needs is in the cache. */
struct order_run {
    struct order order;
    struct list mates; /* struct assignment: the other jobs that the process works through */
};

/* End the attempt: SIGTERM, grace, SIGKILL to all it started; the outcome says event cancel. A
 * shared process ends when it has no other job left. */
struct order_stop {
    struct token token;
    int64_t grace_ms;
};

/* The process loses its place: ask it to save its state, then end it. */
struct order_preempt {
    struct token token; /* of the process */
    int cause;          /* enum cause */
    const char *reason;
    int64_t budget_ms; /* until its last process is gone; nullable: as long as it may take */
};

/* First word of a runner on every connection: what it is running, if anything. */
struct note_hello {
    int64_t pid;
    struct token token; /* of the process: an attempt's, or a batch's; zero: idle */
    int64_t started_at;
    struct list mates; /* struct token_entry: a batch's attempts that have not ended */
};

/* token: of the process */
struct note_started {
    struct token token;
    int64_t at;
};

/* The outcome lies in ended/<token>/outcome; of a batch's token, after those of its attempts:
 * its process has ended. */
struct note_ended {
    struct token token;
    const char *trouble; /* why it could not be started, if that is this machine's fault */
};

/*
 * Settings in worker.yaml for children: they go whole from struct conf with the orders to the code
 * that needs them.  A new setting is a member here, its row in settings_fields and its row in
 * conf_keys.
 */
struct settings {
    int64_t cache_size_bytes; /* of all trees in the cache together; 0: not limited */
};

/* Bring this dataset of the project into the cache, or look whether it is there as it should be.
 * The dataset stays there until it is released. */
struct order_stage {
    struct dataset set;
    struct env_recipe recipe; /* with a tool: build this environment instead, as that tree */
    const char *project;
    const char *share; /* where projects lie, */
    const char *drive; /* and all of the drive: see share.h */
    struct settings settings;
    bool is_doubted; /* a file may have been changed: look at every file */
};

struct note_staged {
    struct digest tree;
    const char *error; /* NULL: the tree is there, or why it cannot be built is; else one line */
    bool retry;        /* the share was away: ask again later */
    bool is_guarded;   /* changes in the tree show at the descriptor CHILD_GUARD_FD */
};

/* No job uses the tree any more: it may go when there is no room. */
struct order_release {
    struct digest tree;
    bool is_doubted; /* a job may have changed it */
};

/* A tree in the cache. */
struct note_cached {
    struct digest tree;
    int64_t files, bytes;
    bool is_gone; /* the tree is no more */
};

/* Bring these when there is nothing else to bring, as a job that needs them is likely to come.  The
 * order replaces earlier ones. */
struct order_expect {
    struct list sets; /* struct dataset */
    const char *project;
    const char *share; /* as in order_stage */
    const char *drive;
    struct settings settings;
};

/* Bring the files that earlier attempts of this job left in their checkpoint folder to
 * checkpoints/<token> on scratch. */
struct order_restore {
    struct token token;
    const char *share;
    const char *project;
    const char *param_name;
    const char *job_name;
    int64_t attempt; /* only checkpoints of attempts before this one */
};

struct note_restored {
    struct token token;
    const char *error; /* NULL: the checkpoint is there, or there is none; else ask again later */
};

/* Has an attempt of this job published already? */
struct order_look {
    struct token token; /* of the attempt that asks */
    const char *share;
    const char *run_path; /* relative to the share */
};

struct note_found {
    struct token token;
    bool found;
    struct token winner;
};

/* The attempt runs: ship its log (log/<token> on scratch) from now on. */
struct order_watch {
    struct token token;
    const char *share;
    const char *log_path; /* relative to the share */
    int64_t every_ms;     /* copy its checkpoint to the share this often; 0: only at its end */
    bool tells;           /* send note_grew whenever the log's length on the share has changed */
};

struct note_grew {
    struct token token;
    int64_t size_bytes;
};

/* published/<token>/report holds the report for ludwigd, so that it can be sent again. */
struct note_published {
    struct report report;
    const char *error; /* NULL: published.  Else why not yet: it will be tried again */
};

/* Where an attempt lies on scratch. */
enum place { PLACE_NOWHERE, PLACE_RUN, PLACE_ENDED, PLACE_PUBLISHED, PLACE_COUNT };

/* Asks where the attempts lie that no runner has.  Of those in run/ the ones with an outcome are
 * moved to ended/ first. */
struct order_settle {
    struct token process; /* of a batch; zero: of none */
    struct list tokens;   /* struct token_entry: its attempts */
    bool is_stale;        /* from before the machine's restart: nothing may have ended */
    bool only_look;       /* a runner may have them after all: nothing is moved */
};

/* Sent for the process, if there is one, then for each attempt. */
struct note_settled {
    struct token token;
    int place;           /* enum place */
    bool has_begun;      /* the process, or one of the attempts, has left something */
    struct list reports; /* struct report: that of a published one, if it could be read */
};

struct note_reaped {
    struct token token;
    int64_t left; /* killed, but perhaps not gone yet: ask again */
};

/* End the attempt as its runner would have, if it left a checkpoint, or has failed or was cancelled. */
struct order_finish {
    struct token token;
    int event; /* enum attempt_event */
    int cause; /* enum cause */
    const char *reason;
    int64_t started_at;
};

struct note_finished {
    struct token token;
    bool has_ended; /* the attempt lies in ended/ */
};

struct note_remains {
    struct token token;
    int place;             /* NOWHERE: only a log or a checkpoint */
    const char *server_id; /* NULL: not known */
    bool is_old;           /* long untouched: if no server is known, it is a leftover */
};

/* Pack the folder or file `path` of the shared drive into the project's packs. */
struct order_pack {
    struct token token;
    const char *share; /* where projects lie, and */
    const char *drive; /* all of the drive: both mounted */
    const char *project;
    const char *path; /* relative to the drive */
    bool only_here;   /* no other machine will read it */
};

struct note_packed {
    struct token token;
    bool is_over;
    int64_t files, bytes; /* so far */
    struct dataset set;   /* once it is over and has not failed */
    const char *error;    /* why it failed; NULL: it did not */
};

/* Whether ludwigd's share is seen here under the same path. */
struct note_share {
    bool is_here;
};

/* The machine's GPUs, in the lines of gpu.h. */
struct note_gpus {
    const char *lines;
};

/* The account of a user on this machine, and where their scratch folder lies. */
struct note_account {
    const char *error;  /* NULL, or why none of their jobs can run here */
    bool is_final;      /* that will be so for a while; else ask again soon */
    const char *rights; /* that the user's children take, see privileges.h */
    int64_t uid;
    const char *home;
    const char *shell;
    const char *scratch;
};

/* The file "outcome" in ended/<token>/, written by the runner. */
struct outcome {
    int event;          /* EV_DONE (exit 0), EV_FAIL, EV_CANCEL, EV_LOSE */
    int cause;          /* enum cause; of EV_LOSE only preemptions are known here */
    int64_t exit_code;  /* nullable */
    int64_t signal;     /* nullable */
    const char *reason; /* NULL, or in words: "time limit of 2 h reached" */
    int64_t started_at;
    int64_t ended_at;
    int64_t max_rss_bytes;
    int64_t cpu_ms;
};

extern const struct schema settings_schema, order_schema, outcome_schema, number_schema,
    gpu_entry_schema;
enum { ORDER_CPUS_MAX = 4096, ORDER_GPUS_MAX = 1024 };

/* File names on scratch, said once.  <scratch>/{run,ended,published}/<token>/... */
#define SCRATCH_RUN       "run"
#define SCRATCH_ENDED     "ended"
#define SCRATCH_PUBLISHED "published"
#define SCRATCH_LOG       "log"   /* <scratch>/log/<token>: what the job prints */
#define SCRATCH_CACHE     "cache" /* <scratch>/cache/<digest>: staged trees, read-only */
#define CACHE_FAILED \
    ".failed"                     /* <scratch>/cache/.<digest>.failed: why an environment cannot be
                                  built, a line, and the end of what its tool printed */
#define SCRATCH_BIN         "bin" /* in the jobs' PATH: ludwig */
#define SCRATCH_PACKING     "packing"     /* findings of ludwig about folders of the share */
#define SCRATCH_CHECKPOINTS "checkpoints" /* .../<token>: left by an earlier attempt */
#define JOB_ORDER           "order"
#define JOB_OUTCOME         "outcome"
#define JOB_REPORT          "report"
#define JOB_WORK            "work"
#define JOB_SAVE            "save"
#define JOB_DATA            "data"
#define JOB_METRICS         "metrics"
#define JOB_CHECKPOINT      "checkpoint"
#define JOB_PARAM2VAL       "param2val" /* .json .yaml .msgpack */
#define JOB_CHUNK           "chunk"     /* .json .msgpack: in a batch's folder */

#endif
