/* SPDX-License-Identifier: MIT */
/*
 * child_protocol.h - messages between the agent and its children
 *
 * They use the frames and tables of messages between machines (common/proto/message.h), over a
 * socket pair or, where a runner has outlived its agent, over the socket in the runner's folder.
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
 * Rows: constant, name, direction (1 to a child, 2 to the agent).  The body of an X row is a struct
 * order_NAME or note_NAME, that of a T row a struct token_entry with the token of an attempt or
 * batch, that of an N row a struct order_nothing.
 */
#define ORDERS(X, T, N)                \
    X(ORDER_RUN, run, 1)               \
    X(ORDER_STOP, stop, 1)             \
    X(ORDER_PREEMPT, preempt, 1)       \
    X(ORDER_STOP_EARLY, stop_early, 1) \
    X(NOTE_HELLO, hello, 2)            \
    X(NOTE_STARTED, started, 2)        \
    X(NOTE_ENDED, ended, 2)            \
    X(NOTE_MEASURED, measured, 2)      \
    X(ORDER_STAGE, stage, 1)           \
    X(NOTE_STAGED, staged, 2)          \
    X(ORDER_RELEASE, release, 1)       \
    X(NOTE_CACHED, cached, 2)          \
    X(ORDER_EXPECT, expect, 1)         \
    N(NOTE_EXPECTED, expected, 2)      \
    X(ORDER_RESTORE, restore, 1)       \
    X(NOTE_RESTORED, restored, 2)      \
    X(ORDER_LOOK, look, 1)             \
    X(NOTE_FOUND, found, 2)            \
    X(ORDER_WATCH, watch, 1)           \
    T(ORDER_PUBLISH, publish, 1)       \
    X(NOTE_GREW, grew, 2)              \
    X(NOTE_PUBLISHED, published, 2)    \
    T(ORDER_WITHDRAW, withdraw, 1)     \
    T(NOTE_WITHDRAWN, withdrawn, 2)    \
    T(ORDER_DISCARD, discard, 1)       \
    T(NOTE_DISCARDED, discarded, 2)    \
    X(ORDER_SETTLE, settle, 1)         \
    X(NOTE_SETTLED, settled, 2)        \
    T(ORDER_REAP, reap, 1)             \
    X(NOTE_REAPED, reaped, 2)          \
    X(ORDER_FINISH, finish, 1)         \
    X(NOTE_FINISHED, finished, 2)      \
    N(ORDER_SURVEY, survey, 1)         \
    X(NOTE_REMAINS, remains, 2)        \
    N(NOTE_SURVEYED, surveyed, 2)      \
    X(ORDER_PACK, pack, 1)             \
    X(NOTE_PACKED, packed, 2)          \
    X(NOTE_SHARE, share, 2)            \
    X(NOTE_ACCOUNT, account, 2)        \
    X(NOTE_GPUS, gpus, 2)              \
    X(ORDER_ADVISE, advise, 1)         \
    X(NOTE_ADVICE, advice, 2)          \
    X(ORDER_PEEK, peek, 1)             \
    X(NOTE_PEEKED, peeked, 2)          \
    X(ORDER_SEE_GPUS, see_gpus, 1)     \
    N(ORDER_MEASURE, measure, 1)       \
    X(NOTE_DISK, disk, 2)              \
    X(ORDER_SHED, shed, 1)             \
    X(ORDER_ROOM, room, 1)

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

/* For a child: reads the body of an order into *body; its strings live in the wire's arena.  types:
 * the types that the child takes, ended by -1.  ERR_PROTOCOL: another type, or a malformed body. */
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
    const char *share;   /* the share's path on this machine, or its name over SFTP (share.h) */
    struct list cpus;    /* struct number: the job's processors; empty: not pinned */
    struct list gpus;    /* struct gpu_entry: for CUDA_VISIBLE_DEVICES */
    bool in_slurm;       /* leave CUDA_VISIBLE_DEVICES alone unless gpus says otherwise */
    bool for_another;    /* our account runs the job; its owner reaches files by their group */
    struct digest built; /* the tree of the environment that is built here; zero: none is built */
};

/* Returns o without the values that were passed from a shell: only the process that starts the job
 * needs them, and they must not get into a file in the job's folder. */
struct order order_without_passed(const struct order *o);

/* Sets *set to the i-th tree that the job needs and returns true; false: the job needs no more.
 * Source and data come first, then an environment that is built here (only "tree" is set). */
bool order_tree(const struct order *o, size_t i, struct dataset *set);
bool order_needs_tree(const struct order *o, const struct digest *tree);

struct number {
    int64_t number;
};

struct gpu_entry {
    const char *id; /* index or UUID */
};

/*
 * The process of a batch has an order of its own, that of its first job with the batch's token, and
 * the folder run/<batch>.  Each job of the batch has an order and a folder as well.
 */
bool order_is_process(const struct order *o); /* whether o is that of a batch's process */
/* Whether the attempt may begin with a checkpoint. */
bool order_goes_on(const struct order *o);
/* The most bytes of the attempt's log; 0: no limit, as for jobs of a batch, which print to one. */
int64_t order_log_max_bytes(const struct order *o);
bool order_is_mate(const struct order *o); /* whether o is that of a job in a batch */

/* Start the job in run/<token>/ on scratch; the cache has all trees that it needs. */
struct order_run {
    struct order order;
    struct list mates; /* struct assignment: the other jobs that the process works through */
};

/* End the attempt: send SIGTERM and, after the grace, SIGKILL to all that it started; the outcome
 * says event cancel.  The process of a batch ends only when it has no other job left. */
struct order_stop {
    struct token token;
    int64_t grace_ms;
};

/* Take the process off this machine: ask it to save its state, then end it. */
struct order_preempt {
    struct token token; /* of the process */
    int cause;          /* enum cause */
    const char *reason;
    int64_t budget_ms; /* until its last process is gone; nullable: as long as it may take */
};

/* Stop the job early: as ORDER_PREEMPT, but the outcome says event stop, and the job has its whole
 * grace. */
struct order_stop_early {
    struct token token;
    const char *reason;
};

/* The first message of a runner on every connection: which process it runs, if any. */
struct note_hello {
    int64_t pid;
    struct token token; /* of the process: an attempt's, or a batch's; zero: idle */
    int64_t started_at;
    struct list mates; /* struct token_entry: attempts of a batch that have not ended */
};

/* The process has started; token: an attempt's or a batch's. */
struct note_started {
    struct token token;
    int64_t at;
};

/* The values that the job reported since the last note, or, to a new agent, from its start; sent
 * only where the sweep asks for them. */
struct note_measured {
    struct list values; /* struct measured */
};

/* The attempt has ended, and its outcome lies in ended/<token>/outcome.  With a batch's token,
 * after the notes of its attempts: its process has ended. */
struct note_ended {
    struct token token;
    const char *trouble; /* why it could not be started, if that is this machine's fault */
};

/* Write these lines to the standard input of the advisor that the runner runs. */
struct order_advise {
    struct token token;
    const char *text;
};

/* How busy the GPUs of the runner's job are at this moment, and which processes compute on them. */
struct order_see_gpus {
    struct token token;
    struct list gpus;      /* struct gpu_use */
    struct list processes; /* struct gpu_user: processes whose GPU memory is known */
};

struct gpu_user {
    int64_t pid, used_bytes;
};

/* A line that the advisor wrote, or is_ready: it has taken all that it was passed (msg_advice). */
struct note_advice {
    struct token token;
    const char *line;
    bool is_ready;
};

/* How much the process's files take on scratch, if it asked for disk or after ORDER_MEASURE. */
struct note_disk {
    struct token token; /* of the process */
    int64_t used_bytes;
};

/* End the process, which fills room on scratch that is promised to others. */
struct order_shed {
    struct token token; /* of the process */
    const char *reason;
};

/* Remove unused trees from the cache until this many bytes are free on scratch. */
struct order_room {
    int64_t bytes;
};

/*
 * Settings of worker.yaml for children: orders carry the whole struct from struct conf to the code
 * that needs it.  A new setting needs a member here, a row in settings_fields and a row in
 * conf_keys.
 */
struct settings {
    int64_t cache_size_bytes; /* of all trees in the cache together; 0: not limited */
    int64_t promised_bytes; /* no setting: what stays free on scratch for jobs that asked for it */
};

/* Bring this dataset of the project into the cache, or check it if the cache has it.  The cache
 * keeps the dataset until ORDER_RELEASE. */
struct order_stage {
    struct dataset set;
    struct env_recipe recipe; /* if it has a tool: build this environment, as the tree of set */
    const char *project;
    const char *share; /* the folder with the projects, */
    const char *drive; /* and the whole drive: see share.h */
    struct settings settings;
    bool is_doubted; /* a file may have been changed: look at every file */
};

struct note_staged {
    struct digest tree;
    const char *error; /* one line; NULL: the cache has the tree, or why it cannot be built */
    bool retry;        /* the share was away: ask again later */
    bool is_guarded;   /* changes in the tree show at the descriptor CHILD_GUARD_FD */
};

/* No job uses the tree any more: it may be removed to make room. */
struct order_release {
    struct digest tree;
    bool is_doubted; /* a job may have changed it */
};

/* A tree in the cache. */
struct note_cached {
    struct digest tree;
    int64_t files, bytes;
    bool is_gone; /* the tree was removed */
};

/* Bring these datasets when there is nothing else to bring: a job that needs them is likely to
 * come.  The order replaces earlier ones of its kind. */
struct order_expect {
    struct list sets; /* struct dataset */
    const char *project;
    const char *share; /* as in order_stage */
    const char *drive;
    struct settings settings;
};

/* Bring the newest checkpoint that earlier attempts of this job left to checkpoints/<token> on
 * scratch; if there is none, a checkpoint of the job `from`, from which this one goes on. */
struct order_restore {
    struct token token;
    const char *share;
    const char *project;
    const char *param_name;
    const char *job_name;
    int64_t attempt; /* only checkpoints of attempts before this one */
    struct checkpoint_origin from;
};

struct note_restored {
    struct token token;
    const char *error; /* NULL: the checkpoint is there, or there is none */
    bool retry;        /* with an error: ask again later; else it will never be there */
};

/* Look whether an attempt of this job has published already. */
struct order_look {
    struct token token; /* of the attempt in question */
    const char *share;
    const char *run_path; /* relative to the share */
};

struct note_found {
    struct token token;
    bool found;
    struct token winner;
};

/* The attempt runs: copy what its log (log/<token> on scratch) gains to the share from now on. */
struct order_watch {
    struct token token;
    const char *share;
    const char *log_path; /* relative to the share */
    int64_t attempt;
    int64_t every_ms;  /* copy its checkpoint to the share this often; 0: only at its end */
    int64_t max_bytes; /* of its log; 0: no limit */
    bool tells;        /* send note_grew whenever the log's length on the share has changed */
};

struct note_grew {
    struct token token;
    int64_t size_bytes;
};

/* How publishing an attempt went.  published/<token>/report keeps the report for ludwigd. */
struct note_published {
    struct report report;
    const char *error; /* why not yet: the publisher will try again; NULL: it is published */
};

/* Where an attempt lies on scratch. */
enum place { PLACE_NOWHERE, PLACE_RUN, PLACE_ENDED, PLACE_PUBLISHED, PLACE_COUNT };

/* Say where these attempts lie, which no runner has.  First move those of run/ that have an outcome
 * to ended/. */
struct order_settle {
    struct token process; /* the batch's; zero: the attempts are in none */
    struct list tokens;   /* struct token_entry: the attempts */
    bool is_stale;        /* from before the machine's restart: nothing may have ended */
    bool only_look;       /* a runner may have them after all: move nothing */
};

/* Sent for the batch's process, if there is one, then for each attempt. */
struct note_settled {
    struct token token;
    int place;           /* enum place */
    bool has_begun;      /* a folder of the process or of one of the attempts is there */
    struct list reports; /* struct report: one if it is published and the report can be read */
};

struct note_reaped {
    struct token token;
    int64_t left; /* how many processes were killed; ask again until it is 0 */
};

/* Write the attempt's outcome in place of its runner and move it to ended/, if it failed, was
 * cancelled or left a checkpoint. */
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

/* An attempt of which something lies on scratch: one of the answers to ORDER_SURVEY. */
struct note_remains {
    struct token token;
    int place;             /* enum place; PLACE_NOWHERE: only a log or a checkpoint */
    const char *server_id; /* whose attempt it is; NULL: not known */
    bool is_old;           /* long untouched: a leftover, if server_id is not known */
};

/* Pack the folder or file `path` of the shared drive into the project's packs. */
struct order_pack {
    struct token token;
    const char *share; /* the folder with the projects, and */
    const char *drive; /* the whole drive: both mounted */
    const char *project;
    const char *path; /* relative to the drive */
    bool only_here;   /* no other machine will read it */
};

struct note_packed {
    struct token token;
    bool is_over;
    int64_t files, bytes; /* read so far */
    struct dataset set;   /* the result, once is_over without error */
    const char *error;    /* why packing failed; NULL: it did not */
};

/* Whether ludwigd's share lies under the same path on this machine. */
struct note_share {
    bool is_here;
};

/* Read a place below the save folder of an attempt that runs, or has just ended. */
struct order_peek {
    struct token token;
    struct peek_at at;
};

struct note_peeked {
    struct peek_found found;
};

/* The machine's GPUs, as the lines that gpu.h describes. */
struct note_gpus {
    const char *lines;
};

/* The account of a user on this machine, and where their scratch folder lies. */
struct note_account {
    const char *error;  /* NULL, or why none of their jobs can run here */
    bool is_final;      /* the error will last for a while; else ask again soon */
    const char *rights; /* for the user's children, see account_rights() */
    int64_t uid;
    const char *home;
    const char *shell;
    const char *scratch;
};

/* The file "outcome" in ended/<token>/, written by the runner. */
struct outcome {
    int event;          /* EV_DONE (exit 0), EV_FAIL, EV_CANCEL, EV_LOSE */
    int cause;          /* enum cause; of EV_LOSE the runner knows only preemptions */
    int64_t exit_code;  /* nullable */
    int64_t signal;     /* nullable */
    const char *reason; /* NULL, or in words: "time limit of 2 h reached" */
    int64_t started_at;
    int64_t ended_at;
    int64_t max_rss_bytes;
    int64_t cpu_ms;
    /* The most memory that the job had on all its GPUs together, and how busy they were on average
     * in percent; each with its number of samples, 0: there are none. */
    int64_t gpu_looks, gpu_memory_bytes, gpu_busy_looks;
    double gpu_percent;
};

extern const struct schema settings_schema, order_schema, outcome_schema, number_schema,
    gpu_entry_schema;
enum { ORDER_CPUS_MAX = 4096, ORDER_GPUS_MAX = 1024, GPU_USERS_MAX = 4096 };

/* File names on scratch: <scratch>/{run,ended,published}/<token>/... */
#define SCRATCH_RUN       "run"
#define SCRATCH_ENDED     "ended"
#define SCRATCH_PUBLISHED "published"
#define SCRATCH_LOG       "log"   /* <scratch>/log/<token>: what the job prints */
#define SCRATCH_CACHE     "cache" /* <scratch>/cache/<digest>: staged trees, read-only */
#define CACHE_FAILED \
    ".failed"                     /* <scratch>/cache/.<digest>.failed: a line, why an environment
                                  cannot be built, and the end of what its tool printed */
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
#define JOB_EARLIER         "metrics.earlier" /* what earlier attempts reported */
#define JOB_CHECKPOINT      "checkpoint"
#define JOB_PARAM2VAL       "param2val" /* .json .yaml .msgpack */
#define JOB_CHUNK           "chunk"     /* .json .msgpack: in a batch's folder */

#endif
