/* SPDX-License-Identifier: MIT */
/*
 * proto.h - every message between clients, ludwigd and workers
 *
 * Each message has a row here (constant, number, name, sender, answer) and a struct msg_NAME; the
 * field tables are in proto.c.  docs/internals/protocol.md describes the messages; a test compares
 * it with the rows.
 */
#ifndef LUDWIG_COMMON_PROTO_PROTO_H
#define LUDWIG_COMMON_PROTO_PROTO_H

#include "common/proto/jobspec.h"
#include "common/proto/message.h"
#include "common/proto/notify.h"
#include "common/proto/search.h"
#include "common/proto/states.h"

enum {
    PROTO_VERSION = 1,
    SMALL_FRAME_MAX_BYTES = 4 * 1024 * 1024, /* the largest frame that ludwigd takes from any peer;
                                                trusted accounts' workers: FRAME_MAX_BYTES */
    PAGE_MAX = 500,
    REPORTS_MAX = 512,
    GPU_IDS_MAX_BYTES = 1000,                  /* names of the GPUs that one job has */
    REPORTS_ABOUT_MAX_BYTES = 2 * 1024 * 1024, /* of one message's reports: fit a small frame */
    HAND_MAX = 512,
    TARGETS_MAX = 1000,
    REFUSED_MAX = 1000,
    NODE_POOLS_MAX = 100,
    HOLDS_MAX = 1000,
    DONE_OTHERWISE_MAX = 100000,  /* done_otherwise looks at this many new jobs of a submit */
    TAGS_MAX = 50,                /* tags of a sweep */
    MEASURED_MAX = 1000,          /* reported values in a message */
    REUSED_TOLD_MAX = 20000,      /* reused jobs of a submit that the client is told of */
    EXPECTED_MAX = 1001,          /* datasets of msg_expect: the source and the data of a sweep */
    PEEK_BYTES_MAX = 1024 * 1024, /* bytes of a file, or of a folder's names, in one answer */
    PEEK_ENTRIES_MAX = 4000       /* entries of a folder in one answer */
};

enum proto_flags {
    FROM_CLIENT = 1,
    FROM_WORKER = 2,
    FROM_SERVER = 4,
    CHANGES = 8 /* changes the database: has a request id, under which its answer is kept */
};

/* constant, number, name, sender, answer (-1: none).  The numbers are stored in databases
 * (request.type): a number keeps its meaning for good, and a new row takes the next number. */

/* Messages to ludwigd, where handle_NAME (server/conn/handler.h) takes each message. */
#define MESSAGES_TO_SERVER(X)                                                    \
    X(MSG_HELLO, 2, hello, FROM_CLIENT | FROM_WORKER, MSG_WELCOME)               \
    X(MSG_OPEN_PROJECT, 4, open_project, FROM_CLIENT, MSG_PROJECT_OPEN)          \
    X(MSG_SUBMIT_BEGIN, 6, submit_begin, FROM_CLIENT | CHANGES, MSG_SUBMIT_OPEN) \
    X(MSG_SUBMIT_CHUNK, 8, submit_chunk, FROM_CLIENT, MSG_SUBMIT_TAKEN)          \
    X(MSG_SUBMIT_END, 10, submit_end, FROM_CLIENT | CHANGES, MSG_SUBMITTED)      \
    X(MSG_CANCEL, 12, cancel, FROM_CLIENT | CHANGES, MSG_CHANGED)                \
    X(MSG_RETRY, 13, retry, FROM_CLIENT | CHANGES, MSG_CHANGED)                  \
    X(MSG_PAUSE, 14, pause, FROM_CLIENT | CHANGES, MSG_CHANGED)                  \
    X(MSG_RESUME, 15, resume, FROM_CLIENT | CHANGES, MSG_CHANGED)                \
    X(MSG_DRAIN, 17, drain, FROM_CLIENT | CHANGES, MSG_DRAINED)                  \
    X(MSG_PREVIEW, 19, preview, FROM_CLIENT, MSG_PREVIEWED)                      \
    X(MSG_GET_SWEEPS, 21, get_sweeps, FROM_CLIENT, MSG_SWEEP_PAGE)               \
    X(MSG_GET_JOBS, 23, get_jobs, FROM_CLIENT, MSG_JOB_PAGE)                     \
    X(MSG_GET_RESULTS, 25, get_results, FROM_CLIENT, MSG_RESULT_PAGE)            \
    X(MSG_GET_NODES, 27, get_nodes, FROM_CLIENT, MSG_NODE_PAGE)                  \
    X(MSG_GET_USAGE, 29, get_usage, FROM_CLIENT, MSG_USAGE_PAGE)                 \
    X(MSG_GET_DATA, 31, get_data, FROM_CLIENT, MSG_DATA_PAGE)                    \
    X(MSG_PACK_SHARE, 33, pack_share, FROM_CLIENT, MSG_SHARE_PACKED)             \
    X(MSG_ASK_WHY, 35, ask_why, FROM_CLIENT, MSG_WHY)                            \
    X(MSG_SUBSCRIBE, 37, subscribe, FROM_CLIENT, MSG_CHANGES)                    \
    X(MSG_SHUTDOWN, 39, shutdown, FROM_CLIENT, MSG_OK)                           \
    X(MSG_REGISTER, 40, register, FROM_WORKER, MSG_REGISTERED)                   \
    X(MSG_TOOK, 43, took, FROM_WORKER, -1)                                       \
    X(MSG_REPORT, 44, report, FROM_WORKER, MSG_VERDICTS)                         \
    X(MSG_LOG_GREW, 49, log_grew, FROM_WORKER, -1)                               \
    X(MSG_LOAD, 51, load, FROM_WORKER, -1)                                       \
    X(MSG_HOLDS, 52, holds, FROM_WORKER, -1)                                     \
    X(MSG_PACKED, 55, packed, FROM_WORKER, -1)                                   \
    X(MSG_RETIRING, 58, retiring, FROM_WORKER, -1)                               \
    X(MSG_ALIVE, 59, alive, FROM_WORKER, MSG_OK)                                 \
    X(MSG_REMOVE, 60, remove, FROM_CLIENT | CHANGES, MSG_REMOVED)                \
    X(MSG_LABEL, 62, label, FROM_CLIENT | CHANGES, MSG_OK)                       \
    X(MSG_REPRODUCE, 63, reproduce, FROM_CLIENT | CHANGES, MSG_REPRODUCED)       \
    X(MSG_ORDER, 65, order, FROM_CLIENT | CHANGES, MSG_CHANGED)                  \
    X(MSG_SHRINK, 66, shrink, FROM_CLIENT | CHANGES, MSG_OK)                     \
    X(MSG_MEASURED, 67, measured, FROM_WORKER, MSG_OK)                           \
    X(MSG_ADVICE, 70, advice, FROM_WORKER, -1)                                   \
    X(MSG_GET_ADVICE, 71, get_advice, FROM_CLIENT, MSG_ADVICE_PAGE)              \
    X(MSG_GET_SAVED, 73, get_saved, FROM_CLIENT, MSG_SAVED)                      \
    X(MSG_SAVED_READ, 76, saved_read, FROM_WORKER, -1)                           \
    X(MSG_GET_WORK, 77, get_work, FROM_CLIENT, MSG_GOT_WORK)

/* Messages from ludwigd. */
#define MESSAGES_FROM_SERVER(X)                              \
    X(MSG_OK, 0, ok, FROM_SERVER, -1)                        \
    X(MSG_ERROR, 1, error, FROM_SERVER, -1)                  \
    X(MSG_WELCOME, 3, welcome, FROM_SERVER, -1)              \
    X(MSG_PROJECT_OPEN, 5, project_open, FROM_SERVER, -1)    \
    X(MSG_SUBMIT_OPEN, 7, submit_open, FROM_SERVER, -1)      \
    X(MSG_SUBMIT_TAKEN, 9, submit_taken, FROM_SERVER, -1)    \
    X(MSG_SUBMITTED, 11, submitted, FROM_SERVER, -1)         \
    X(MSG_CHANGED, 16, changed, FROM_SERVER, -1)             \
    X(MSG_DRAINED, 18, drained, FROM_SERVER, -1)             \
    X(MSG_PREVIEWED, 20, previewed, FROM_SERVER, -1)         \
    X(MSG_SWEEP_PAGE, 22, sweep_page, FROM_SERVER, -1)       \
    X(MSG_JOB_PAGE, 24, job_page, FROM_SERVER, -1)           \
    X(MSG_RESULT_PAGE, 26, result_page, FROM_SERVER, -1)     \
    X(MSG_NODE_PAGE, 28, node_page, FROM_SERVER, -1)         \
    X(MSG_USAGE_PAGE, 30, usage_page, FROM_SERVER, -1)       \
    X(MSG_DATA_PAGE, 32, data_page, FROM_SERVER, -1)         \
    X(MSG_SHARE_PACKED, 34, share_packed, FROM_SERVER, -1)   \
    X(MSG_WHY, 36, why, FROM_SERVER, -1)                     \
    X(MSG_CHANGES, 38, changes, FROM_SERVER, -1)             \
    X(MSG_REGISTERED, 41, registered, FROM_SERVER, -1)       \
    X(MSG_HAND, 42, hand, FROM_SERVER, MSG_TOOK)             \
    X(MSG_VERDICTS, 45, verdicts, FROM_SERVER, -1)           \
    X(MSG_STOP_ATTEMPTS, 46, stop_attempts, FROM_SERVER, -1) \
    X(MSG_RECALL, 47, recall, FROM_SERVER, -1)               \
    X(MSG_FOLLOW_LOG, 48, follow_log, FROM_SERVER, -1)       \
    X(MSG_ASK_LOAD, 50, ask_load, FROM_SERVER, -1)           \
    X(MSG_EXPECT, 53, expect, FROM_SERVER, -1)               \
    X(MSG_PACK, 54, pack, FROM_SERVER, -1)                   \
    X(MSG_LEAVE, 56, leave, FROM_SERVER, -1)                 \
    X(MSG_RETIRE, 57, retire, FROM_SERVER, -1)               \
    X(MSG_REMOVED, 61, removed, FROM_SERVER, -1)             \
    X(MSG_REPRODUCED, 64, reproduced, FROM_SERVER, -1)       \
    X(MSG_STOP_EARLY, 68, stop_early, FROM_SERVER, -1)       \
    X(MSG_ADVISE, 69, advise, FROM_SERVER, -1)               \
    X(MSG_ADVICE_PAGE, 72, advice_page, FROM_SERVER, -1)     \
    X(MSG_SAVED, 74, saved, FROM_SERVER, -1)                 \
    X(MSG_READ_SAVED, 75, read_saved, FROM_SERVER, -1)       \
    X(MSG_GOT_WORK, 78, got_work, FROM_SERVER, -1)

#define MESSAGES(X) MESSAGES_TO_SERVER(X) MESSAGES_FROM_SERVER(X)

enum msg_type {
#define X(constant, number, ...) constant = (number),
    MESSAGES(X)
#undef X
#define X(...) +1
        MSG_COUNT = MESSAGES(X)
#undef X
};

extern const struct protocol proto; /* messages[MSG_COUNT] */

struct msg_ok {
    bool well; /* always true */
};

struct msg_error {
    int kind; /* enum err_kind */
    const char *text;
};

/* A pilot's Slurm job, as its worker reports it. */
struct pilot_claim {
    struct token token;    /* the token that ludwigd gave the pilot; zero: no pilot */
    const char *slurm_job; /* "17"; of an array "17_3" */
    int64_t ends_at_ms;    /* when the Slurm job's time ends, by the worker's clock; 0: not known */
};

struct msg_hello {
    int64_t version;     /* PROTO_VERSION of the sender */
    const char *program; /* "ludwig", "ludwig-worker" */
    const char *host;
    const char *user_label; /* the person's name in a shared account; it grants no rights */
    struct pilot_claim pilot;
};

struct msg_welcome {
    int64_t version;
    const char *server_id;
    const char *server_version;
    const char *user; /* the peer's account, from the kernel */
    int64_t uid;
    bool admin;           /* the peer may do what admins may */
    const char *share;    /* the share's path on ludwigd's machine */
    const char *projects; /* folder below the share to which paths are relative; NULL: the share */
    bool makes_projects;  /* ludwigd makes a new project's folder; false: the client has to */
    bool is_open;         /* messages are files that others may read: send nothing secret */
};

/* Which done jobs a submit reuses: jobs with the same parameters and work, jobs with the same
 * parameters and any work, or none.  The numbers are stored in databases (sweep.reuse). */
enum reuse { REUSE_ALL = 0, REUSE_PARAMS = 1, REUSE_NONE = 2, REUSE_COUNT };
extern const char *const reuse_names[REUSE_COUNT];

/* Makes ludwigd choose the project's name and make its folder, before the client uploads anything
 * to it.  May be sent again. */
struct msg_open_project {
    const char *project;
    bool private_project; /* only its owner may read it */
    bool wants_pilots;    /* a sweep with partitions follows: ludwigd may ask Slurm about them */
    struct list
        begins; /* struct msg_submit_begin: none, or the submit that will follow, as far as it
                             is known; without the values of passed */
};

/* Orders the client to make a folder that ludwigd cannot make. */
struct folder_order {
    int64_t mode;  /* 0: the folder exists, and the client does nothing */
    int64_t group; /* a gid; SCHEMA_NONE: any group */
};

struct msg_project_open {
    struct folder_order folder;
    const char *project; /* the project's name: NAME.USER if another user has a project NAME */
};

struct msg_submit_begin {
    const char *project;
    bool private_project;
    const char *name; /* the sweep's; may be NULL */
    int64_t reps;
    int64_t priority;    /* -1000..1000; the user's sweeps with a larger one come first */
    int64_t max_running; /* so many of its processes run at once; 0: any number */
    int reuse;           /* enum reuse */
    struct list nodes;   /* const char *: node names and @groups; empty: any node */
    bool no_nodes;       /* the sweep file has nodes: [], so no node but pilots runs the jobs */
    struct list pools;   /* struct slurm_pool; empty: no Slurm */
    struct retry retry;
    struct guard_policy guard;
    struct stop_policy stop;
    struct ranking ranking;
    struct list search; /* struct search: one if an advisor searches, else none */
    struct list notify; /* struct notify: one if the owner is notified of events, else none */
    struct jobspec work;
    struct list
        passed; /* struct env_entry: the values of work.passed, which ludwigd tells no client */
};

struct msg_submit_open {
    int64_t sweep;
    struct folder_order folder; /* the client makes it before submit_end */
};

/* A configuration of a chunk whose first replication runs before other jobs. */
struct early_config {
    int64_t at;    /* index in the chunk, from 0 */
    bool all_reps; /* all its replications run before other jobs */
};

/* Sends the next configurations of a sweep.  With each chunk the chain, which submit_end checks,
 * becomes the SHA-256 of the chain so far (zeroes at first) and the chunk's bytes.  If the sweep
 * has an advisor, the configurations are random ones, which are used when the advisor is late. */
struct msg_submit_chunk {
    int64_t sweep;
    int64_t index;        /* 0, 1, 2, ... */
    struct bytes configs; /* msgpack array of param2vals (maps) */
    struct list early;    /* struct early_config, in ascending order */
};

/* A job that is done already, and is not run again if its result still lies on the share. */
struct reused_job {
    int64_t id;           /* opaque */
    const char *run_path; /* folder of its result, relative to the share */
};

struct msg_submit_taken {
    int64_t index;
    struct list reused; /* struct reused_job: of this chunk; REUSED_TOLD_MAX at most in a sweep */
};

/* A job that ludwigd wanted to reuse, but whose result is not on the share. */
struct gone_job {
    int64_t id; /* the id of its struct reused_job */
};

struct msg_submit_end {
    int64_t sweep;
    int64_t configs;     /* number of configurations sent */
    struct digest chain; /* the chain after the last chunk */
    struct list gone;    /* struct gone_job: reused jobs that have to run again */
};

struct msg_submitted {
    int64_t sweep;
    const char *project;
    int64_t configs;
    int64_t reps;
    int64_t jobs;   /* configs x reps; repeated configurations count once */
    int64_t reused; /* how many of the jobs are done already */
    int64_t queued; /* how many of the jobs are new */
    int64_t
        done_otherwise;  /* of the first DONE_OTHERWISE_MAX new jobs, done before with other work */
    const char *done_in; /* that work's environment, in words, if only that differs; else NULL */
    const char *note;    /* NULL, or why no connected worker can run the new jobs */
    /* How many jobs wait for the result of the same job, queued or running in another sweep. */
    int64_t followed;
    int64_t followed_first, followed_last; /* the first and the last of these other sweeps */
    int64_t ran_jobs;                      /* jobs of this project that were done before */
    int64_t max_rss_bytes; /* most memory that one of ran_jobs held, failed attempts included */
    int64_t longest_ms;    /* the time that the longest of these jobs and attempts ran */
};

/* Jobs first to last of a sweep; first and last 0: the whole sweep. */
struct target {
    int64_t sweep;
    int64_t first;
    int64_t last;
};

struct msg_cancel {
    struct list targets; /* struct target */
    bool drain;          /* running jobs may finish, but are not tried again */
};

/* Queues jobs again that failed, or were cancelled or stopped. */
struct msg_retry {
    struct list targets;
    struct list
        states; /* const char *: any of "failed", "cancelled", "stopped"; empty: the first two */
    struct list passed; /* struct env_entry: replaces values that the submit passed */
};

/* Keeps waiting jobs from being handed out until they are resumed; running jobs go on.  A target
 * that is a whole sweep pauses the sweep, also for jobs that are retried later. */
struct msg_pause {
    struct list targets;
};

/* Resumes paused jobs.  A target that is a whole sweep resumes the sweep and all of its jobs. */
struct msg_resume {
    struct list targets;
};

/* Puts jobs that are not over to the front of their sweep's queue, or to its end (behind). */
struct msg_order {
    struct list targets;
    bool behind;
};

/* Limits how many processes of a sweep run at once; running processes go on. */
struct msg_shrink {
    int64_t sweep;
    int64_t slots; /* 0: as many as there is room for */
};

struct msg_changed {
    int64_t jobs;     /* number of jobs changed */
    int64_t searches; /* after cancel: number of advisors that are not asked any more */
};

/* Runs a job once more in a sweep of its own, with the same source, data, command, parameters,
 * replication and thus seed, in whatever state the job is. */
struct msg_reproduce {
    int64_t sweep, job;
    struct list passed; /* struct env_entry: replaces values that the submit passed */
};

struct msg_reproduced {
    int64_t sweep; /* the new sweep; the job has number 1 in it */
};

/* The steps of removing jobs: ludwigd checks that they are over (look), no longer reuses them
 * (begin) and, after the client has removed their files, deletes them (end).  A target that is a
 * whole sweep is removed with its jobs. */
enum remove_step { REMOVE_LOOK, REMOVE_BEGIN, REMOVE_END, REMOVE_STEP_COUNT };
extern const char *const remove_step_names[REMOVE_STEP_COUNT];

struct msg_remove {
    struct list targets;
    int step; /* enum remove_step */
};

/* Changes a sweep's name, note and tags.  A NULL name or note stays as it is; "" removes it. */
struct msg_label {
    int64_t sweep;
    const char *name;
    const char *note;
    struct list tags;   /* const char *: tags to add */
    struct list untags; /* const char *: tags to remove */
};

struct msg_removed {
    int64_t jobs; /* number of jobs of the targets */
};

/* Drains nodes: they get no more jobs; running jobs finish.  Only a node's user and admins may. */
struct msg_drain {
    struct list nodes; /* const char *: names and @groups */
    bool undo;         /* the nodes get jobs again */
};

struct msg_drained {
    int64_t nodes;   /* number of nodes changed */
    int64_t running; /* number of jobs that still run there */
};

/* Asks what a submit of these configurations would reuse and follow; changes nothing.  The client
 * sends one for each chunk. */
struct msg_preview {
    const char *project;
    int64_t reps;
    int reuse;            /* enum reuse */
    struct digest work;   /* jobspec_digest */
    struct bytes configs; /* msgpack array of param2vals */
    bool tells_reused;    /* the answer also lists the reused jobs */
};

struct msg_previewed {
    const char *project; /* the project's name, as in project_open */
    const char *owner;   /* the project's owner; NULL: the project is new */
    bool is_own;         /* the user who asks may submit to it */
    int64_t reused;      /* jobs of these configurations that are done already */
    int64_t ran_jobs;    /* jobs of this project, in all sweeps, that are done */
    int64_t ran_ms;      /* the time that ran_jobs took altogether */
    int64_t followed;    /* jobs that would follow others of the project, queued or running */
    int64_t followed_first, followed_last; /* the first and the last of these sweeps */
    int64_t unfinished; /* sweeps of the project that are not over; 0: nothing can be followed */
    int64_t max_rss_bytes, longest_ms; /* of ran_jobs, as in submitted */
    struct list jobs; /* struct reused_job: the reused jobs, REUSED_TOLD_MAX at most */
};

struct sweep_info {
    int64_t sweep;
    const char *project;
    const char *name;
    const char *user;
    int state; /* enum sweep_state */
    int64_t priority;
    int64_t configs;
    int64_t reps;
    int64_t reused;
    struct job_counts jobs;
    int64_t submitted_at; /* ms since 1970, like all times in messages */
    int64_t ended_at;
    int64_t mean_ms; /* mean time that a done job of the sweep ran; 0: not known */
    struct ranking ranking;
    const char *refused; /* Slurm's reason to refuse pilots for the sweep; NULL: none are refused */
    int64_t
        last_job; /* the highest number of a job, some of which may be gone; 0: none or not known */
    const char
        *note; /* what its owner wrote on it; NULL: nothing.  tags: "good,paper", or NULL: none */
    const char *tags;
    const char
        *held; /* why jobs are held, or the advisor paused it, and what then; NULL: neither is so */
    int64_t slots; /* most processes of it that run at once; 0: as many as there is room for */
    const char *advisor; /* what its advisor is doing, in words; NULL: it has none */
    const char *notice;  /* why a notification was not delivered; NULL: all were */
};

struct msg_get_sweeps {
    int64_t sweep;  /* only this sweep; 0: all, newest first */
    int64_t before; /* only sweeps with lower numbers; 0: from the newest on */
    int64_t limit;
};

struct msg_sweep_page {
    struct list sweeps; /* struct sweep_info */
    bool more;
    int64_t slurm_calls; /* Slurm commands run in the last hour; nullable: no use of Slurm */
    int64_t pilots_waiting, pilots_running; /* numbers of pilots in Slurm's queue */
};

struct job_info {
    const char *job; /* "7.13" */
    const char *param_name;
    const char *job_name;
    int64_t rep;
    int state; /* enum job_state */
    int64_t attempt;
    const char *node;
    const char *partition;
    int64_t exit_code; /* nullable */
    int64_t signal;    /* nullable */
    const char *cause; /* one of cause_names; NULL: nothing went wrong */
    const char *reason;
    int64_t queued_at;
    int64_t started_at;
    int64_t ended_at;
    struct value params;
    const char *run_path; /* relative to the share */
    const char *log_path;
    const char *follows;      /* "6.2": the job of another sweep whose result it waits for */
    const char *metrics_path; /* file of its reported metrics; NULL if it has a result */
    int64_t max_rss_bytes;    /* the most memory that a process of it held; nullable */
    double cpu_seconds;       /* processor time of all its processes; nullable */
    int64_t memory_bytes;     /* memory that it asks for; nullable: it asks for none */
    int64_t time_ms;          /* its time limit; nullable: it has none */
    int64_t gpu_memory_bytes; /* the most memory of its GPUs that it used; nullable */
    double gpu_percent;       /* how busy its GPUs were on average; nullable */
    const char *resumed;      /* why it went on after it had been stopped early; NULL: it did not */
    const char *gpu_ids; /* its node's GPUs that it has or had: "0,2"; NULL: none, or unknown */
};

struct msg_get_jobs {
    int64_t sweep;
    int64_t after; /* only jobs with higher numbers in the sweep; 0: from the first on */
    int64_t last;  /* the last job number wanted; 0: no end */
    int64_t limit;
    struct list states; /* const char *: only jobs in these states; empty: all */
};

struct msg_job_page {
    struct list jobs; /* struct job_info */
    int64_t next;     /* "after" for the next page; 0: this is the last page */
};

struct job_result {
    const char *job;
    const char *param_name;
    int64_t rep;
    int state;
    struct value params;
    struct list metrics;      /* struct metric */
    const char *run_path;     /* relative to the share; NULL: not done */
    const char *reason;       /* why it failed */
    const char *metrics_path; /* this and the next four: as in struct job_info */
    int64_t max_rss_bytes;    /* nullable */
    double cpu_seconds;       /* nullable */
    int64_t gpu_memory_bytes; /* nullable */
    double gpu_percent;       /* nullable */
};

/* Asks for results of the sweep's jobs and of jobs of earlier sweeps that it reused. */
struct msg_get_results {
    int64_t sweep;
    int64_t after; /* opaque; 0: from the first */
    int64_t limit;
};

struct msg_result_page {
    struct list results; /* struct job_result */
    int64_t next;
};

/* The kind of a worker's machine: the user's own, a node of the lab, inside a Slurm job. */
enum node_kind { NODE_LOCAL, NODE_PLAIN, NODE_SLURM, NODE_KIND_COUNT };
extern const char *const node_kind_names[NODE_KIND_COUNT];
/* -1 for an unknown name. */
int node_kind_parse(const char *name);

/* A tree in the cache of a worker. */
struct held_tree {
    struct digest tree;
    int64_t bytes;
    const char *user; /* only this user's jobs can use the tree; NULL: all users' jobs can */
};

/* How a GPU is used; each member is nullable, as a driver may not tell it. */
struct gpu_use {
    int64_t percent; /* the part of the last moment in which the GPU was busy */
    int64_t used_bytes, memory_bytes;
};

struct node_info {
    const char *node;
    const char *kind;  /* one of node_kind_names */
    const char *state; /* "up", "drained", "lost" */
    double cpus;
    int64_t gpus;
    double gpus_free;       /* GPUs that no job of ludwig's uses */
    struct list gpu_models; /* const char *: of each GPU, where it is known */
    int64_t memory;         /* bytes */
    double load;            /* the load average of the last minute; nullable */
    int64_t running;
    struct list jobs;  /* const char *: "7.13", the first of the running jobs */
    struct list users; /* const char *: users of these jobs */
    const char *user;
    int64_t held_bytes; /* size of the trees in its cache */
    int64_t held;       /* number of these trees */
    struct list holds;  /* struct held_tree: the largest of these trees */
    /* Why the asker's jobs, or for an admin any user's, cannot start there now; NULL: they can. */
    const char *refused;
    bool lacks_groups; /* its worker can make no control groups for jobs */
    bool
        is_one_account; /* all users' jobs run as the account of its worker, and can read its key */
    struct list gpu_use;     /* struct gpu_use: one for each of gpu_models; none: not known */
    struct list gpus_unused; /* const char *: "GPU 1: WHY", GPUs that jobs may not use now */
    int64_t disk;            /* bytes of its scratch that jobs may ask for; 0: not known */
};

struct msg_get_nodes {
    int64_t limit;
};

/* A Slurm partition that sweeps of the user name, but that gets no pilots for them, and why. */
struct pool_trouble {
    const char *partition;
    const char *user;
    const char *why;
};

/* Pilots that were submitted together and have not started. */
struct pilots_waiting {
    const char *partition;
    const char *user;
    int64_t slurm_job; /* 0: the Slurm job's number is not known yet */
    int64_t pilots;    /* number of these pilots */
    const char *why;   /* why they wait, with Slurm's reason; NULL: Slurm was not asked yet */
};

struct msg_node_page {
    struct list nodes;
    int64_t asked;      /* number of workers that were asked for their load: ask again soon */
    struct list pools;  /* struct pool_trouble: of the user, or for an admin of all users */
    struct list pilots; /* struct pilots_waiting: of the same users */
};

/* A tree that sweeps of the project have named. */
struct dataset_info {
    const char *project;
    const char *owner; /* the project's owner */
    const char *name;  /* the tree's name in the newest of these sweeps; NULL: it is the source */
    struct dataset set;
    int64_t added_at;   /* when the first sweep that names it was submitted */
    int64_t used_at;    /* when the newest such sweep was submitted */
    int64_t sweep;      /* the newest such sweep */
    int64_t unfinished; /* such sweeps that are not over, open submits included */
    struct list nodes;  /* const char *: nodes that hold it, as far as their workers have told */
};

/* Asks for the data of the user's projects, for an admin of all projects, or of one project that
 * the user may read. */
struct msg_get_data {
    const char *project; /* NULL: all */
    int64_t after;       /* opaque; 0: from the first */
    int64_t limit;
};

struct msg_data_page {
    struct list data; /* struct dataset_info */
    int64_t next;     /* "after" for the next page; 0: this is the last page */
};

/* Packs a tree that lies on the share already, for sweeps of the project.  Several requests for the
 * same tree at once wait for the same packing. */
struct msg_pack_share {
    const char *project;
    const char *path; /* of a folder or a file, relative to the shared drive */
    int64_t pass;     /* pass of the last answer; 0: the packing under way, or a new one */
    int64_t seen;     /* seen of the last answer: wait for news after it; 0: answer at once */
};

enum packing_state { PACKING_WAITING, PACKING_RUNNING, PACKING_DONE, PACKING_STATE_COUNT };
extern const char *const packing_state_names[PACKING_STATE_COUNT];

struct msg_share_packed {
    int64_t pass;
    int64_t seen;
    int state;          /* enum packing_state; a failed packing is answered by an error */
    const char *node;   /* the node that packs */
    const char *reason; /* WAITING: why it waits; NULL: a worker is about to get it */
    int64_t files;      /* RUNNING: read so far */
    int64_t bytes;      /* RUNNING: read so far */
    struct dataset set; /* DONE */
};

/* The usage of a sweep's attempts so far, including those without a result. */
struct usage_info {
    int64_t sweep;
    const char *project;
    const char *name;
    const char *user;
    int64_t submitted_at;
    int64_t attempts;      /* attempts that ran and have ended */
    double hours;          /* time that the attempts ran, added up */
    double cpu_hours;      /* hours x processors of the attempt, added up */
    double gpu_hours;      /* hours x GPUs of the attempt, added up */
    double busy_cpu_hours; /* processor time that the attempts used */
    /* Hours x processors, or GPUs, of the sweep's pilots, also while they had no job. */
    double pilot_cpu_hours;
    double pilot_gpu_hours;
    double ended_hours; /* the part of hours of ended attempts, which the members below are about */
    double memory_gib_hours;      /* memory that an attempt asked for x its hours, added up */
    double used_memory_gib_hours; /* the most memory that an attempt held x its hours, added up */
    double limit_hours;           /* the attempts' time limits, added up; 0: they had none */
    int64_t max_rss_bytes;        /* the most memory that an attempt held */
    double max_hours;             /* time that the longest attempt ran */
    int64_t gpu_memory_bytes; /* the most memory of its GPUs that one attempt used; 0: not known */
    double seen_gpu_hours;    /* the part of gpu_hours for which the GPUs' use is known */
    double busy_gpu_hours;    /* how busy the GPUs were then: an hour at 50 percent counts 0.5 */
};

struct msg_get_usage {
    int64_t before; /* 0: from the newest sweep */
    int64_t since;  /* only sweeps submitted at this moment or later; 0: all */
    int64_t limit;
};

struct msg_usage_page {
    struct list rows; /* struct usage_info, newest first */
    bool more;
};

struct msg_ask_why {
    int64_t sweep;
    int64_t job;
};

struct msg_why {
    struct job_info job;
    struct list lines; /* const char *: why the job does not run, or how it ended */
};

/* Makes ludwigd push the sweep's summary and each job that changed after the cursor, now and
 * later. */
struct msg_subscribe {
    int64_t sweep;
    int64_t job;    /* only this job of the sweep; 0: all */
    int64_t cursor; /* 0: from the beginning; -1: from now on */
    bool jobs;      /* false: summaries only */
    bool log;       /* if job is set: also the length of its log on the share */
};

struct msg_changes {
    int64_t cursor; /* cursor for the next subscribe */
    bool more;      /* another page follows at once */
    struct sweep_info sweep;
    struct list jobs;  /* struct job_info */
    int64_t log_bytes; /* of the newest attempt's log, on the share; 0: not known, or empty */
};

struct msg_shutdown {
    bool workers; /* this user's workers on ludwigd's machine end, too */
};

/* An attempt that a worker holds. */
struct held {
    struct token token;
    int state; /* enum attempt_state */
    int64_t started_at;
};

/* Tells that the worker can run none of this user's jobs for now. */
struct refusal {
    const char *user; /* "": no user's jobs */
    const char *reason;
};

struct msg_register {
    struct token worker;      /* the worker's id, which stays the same after a restart */
    struct token incarnation; /* the agent's id, which is new after each restart */
    const char *boot_id;
    const char *node;
    const char *kind;
    int64_t cpus_milli;
    int64_t gpus;
    struct list gpu_models;  /* const char *: of each GPU, "" where it is not known */
    struct list gpus_unused; /* const char *: "GPU 1: WHY", GPUs that jobs may not use now */
    int64_t memory_bytes;
    bool own_jobs_only;   /* it has no mounted share, so it publishes only as its own account */
    bool lacks_groups;    /* it has no control groups: processes of a job may outlive the job */
    bool is_one_account;  /* all jobs run as the account that the worker runs as */
    bool reads_saved;     /* the worker knows the message read_saved */
    int64_t disk_bytes;   /* scratch that its jobs, all together, may ask for; 0: not known */
    struct list attempts; /* struct held: all attempts that the worker holds */
    struct list refused;  /* struct refusal */
    int64_t said_at;      /* the time of sending, by the worker's clock like its other times */
};

struct msg_registered {
    int64_t lease_ms;
    struct list stop; /* struct token_entry: held attempts that the worker has to drop */
};

struct token_entry {
    struct token token;
};

/* A checkpoint of another job of the project, from which a job goes on. */
struct checkpoint_origin {
    const char *param_name; /* the other job's configuration; NULL: there is no other job */
    const char *job_name;   /* NULL: that configuration left no checkpoint */
    int64_t attempt;
};

struct assignment {
    struct token token;
    int64_t sweep;
    int64_t job;     /* number within the sweep */
    int64_t attempt; /* from 1 */
    const char *param_name;
    const char *job_name;
    int64_t rep;
    int64_t seed;
    int64_t restart;     /* LUDWIG_RESTART */
    struct bytes params; /* msgpack map */
    struct token batch;  /* the attempt whose process also runs this one; zero: it has its own */
    bool advises;        /* this is no job but the sweep's advisor, which takes no slot */
    bool notifies;       /* with advises: this is a notification; its failure is not published */
    struct checkpoint_origin from; /* used if no earlier attempt of the job left a checkpoint */
};

struct sweep_work {
    int64_t sweep;
    const char *project;
    const char *user; /* the owner of the jobs */
    struct jobspec work;
    struct live_policy live;
};

/* Hands jobs to a worker. */
struct msg_hand {
    int64_t hand;            /* the hand's number */
    struct list sweeps;      /* struct sweep_work: all sweeps of the assignments */
    struct list assignments; /* struct assignment */
};

/* Tells that the worker has recorded the hand. */
struct msg_took {
    int64_t hand;
};

struct report {
    struct token token;
    int64_t seq; /* number among the reports of this attempt, from 1 */
    int event;   /* enum attempt_event */
    int64_t at;  /* when the event happened */
    int64_t started_at;
    int64_t ended_at;
    int64_t exit_code; /* nullable */
    int64_t signal;    /* nullable */
    int64_t max_rss_bytes;
    int64_t cpu_ms;
    int cause; /* enum cause; set with the events fail and lose */
    const char *reason;
    const char *run_path; /* folder of its files, relative to the share */
    struct token winner;  /* with supersede: the attempt that has published */
    struct list metrics;  /* struct metric */
    bool has_checkpoint;  /* its checkpoint lies on the share */
    /* gpu_memory_bytes: the most memory of its GPUs that it used, in gpu_looks samples.
     * gpu_percent: how busy they were on average, in gpu_busy_looks samples.  0 samples: not
     * known. */
    int64_t gpu_looks, gpu_memory_bytes, gpu_busy_looks;
    double gpu_percent;
    const char *gpu_ids; /* its GPUs, as in CUDA_VISIBLE_DEVICES: "0,2"; NULL: none */
};

struct msg_report {
    struct list reports; /* struct report */
    int64_t said_at;     /* the time of sending, by the worker's clock like its other times */
};

struct verdict_entry {
    struct token token;
    int64_t seq;
    int verdict; /* enum verdict */
};

struct msg_verdicts {
    struct list verdicts; /* struct verdict_entry */
};

/* Orders the worker to end attempts and to remove their files. */
struct msg_stop_attempts {
    struct list tokens; /* struct token_entry */
};

/* Asks the worker to give back attempts that have not started; the worker reports each of them. */
struct msg_recall {
    struct list tokens; /* struct token_entry */
};

/* Asks for the machine's load. */
struct msg_ask_load {
    bool now; /* always true */
};

struct msg_load {
    int64_t load_milli;  /* the load average of the last minute; nullable: not known */
    struct list gpu_use; /* struct gpu_use: of each GPU, in the order of registration */
    bool asks_gpus;      /* the worker still asks the GPUs' drivers: another msg_load follows */
};

/* Tells whether a client follows this attempt's log.  While one does, the worker sends log_grew: at
 * once, and each time the log on the share has grown. */
struct msg_follow_log {
    struct token token;
    bool on;
};

struct msg_log_grew {
    struct token token;
    int64_t size_bytes;
};

/* Sends lines for the standard input of the sweep's advisor, which the worker runs as this attempt.
 * ludwigd sends more lines when the advisor has got these (is_ready of msg_advice). */
struct msg_advise {
    struct token token;
    const char *text; /* whole lines */
};

/* Tells that the advisor has written a line, or that it has got all lines that were sent. */
struct msg_advice {
    struct token token;
    const char *line; /* without its line feed; NULL: none */
    bool is_ready;    /* the advisor has got all lines that were sent */
};

/* The kind of a line in an advisor's record: from ludwigd to the advisor, from the advisor to
 * ludwigd, or a note of ludwigd's.  The numbers are stored in databases (advice.dir). */
enum advice_dir { ADVICE_DOWN, ADVICE_UP, ADVICE_NOTE, ADVICE_DIR_COUNT };
extern const char *const advice_dir_names[ADVICE_DIR_COUNT];

struct advice_line {
    int64_t seq;
    int dir; /* enum advice_dir */
    const char *body;
};

/* Asks for the record of a sweep's advisor. */
struct msg_get_advice {
    int64_t sweep;
    int64_t after; /* only lines with a higher seq; 0: from the first on */
};

struct msg_advice_page {
    struct list lines;   /* struct advice_line */
    int64_t next;        /* "after" for the next page; 0: this is the last page */
    const char *advisor; /* the advisor's command */
};

struct digest_entry {
    struct digest digest;
};

/* Tells which trees lie complete in a cache of the worker: all of them after the worker has
 * registered, later only changes.  There is no answer, and a wrong entry costs only time. */
struct msg_holds {
    const char *user;  /* owner of the cache; NULL: the cache serves all users' jobs */
    bool all;          /* this message replaces all earlier ones about this cache */
    struct list trees; /* struct held_tree: trees that the cache has now; their user is ignored */
    struct list gone;  /* struct digest_entry: trees that the cache no longer has */
};

/* Tells that a job that needs these datasets will probably come next, so that the worker may fetch
 * missing datasets ahead.  There is no answer; a new message replaces the last one. */
struct msg_expect {
    const char *user;
    const char *project;
    struct list sets; /* struct dataset */
};

/* A request for a file or folder below a running job's save folder ($LUDWIG_SAVE_PATH). */
struct peek_at {
    const char *path;  /* relative to the save folder; NULL: that folder */
    int64_t offset;    /* of a file: the first byte wanted */
    int64_t max_bytes; /* of a file: how many bytes are wanted; 0: only its size */
    const char *after; /* of a folder: only entries whose names sort after this one; NULL: all */
};

enum peek_type { PEEK_FILE, PEEK_FOLDER, PEEK_LINK, PEEK_OTHER, PEEK_TYPE_COUNT };
extern const char *const peek_type_names[PEEK_TYPE_COUNT];

struct peek_entry {
    const char *name;
    int type; /* enum peek_type */
    int64_t size_bytes;
    int64_t modified_at;
};

/* The answer to a peek_at.  With an error the other members are empty. */
struct peek_found {
    int error_kind;    /* enum err_kind; ERR_NONE: there is no error */
    const char *error; /* what is wrong with the path, in one line */
    int type;          /* PEEK_FILE or PEEK_FOLDER */
    int64_t size_bytes;
    int64_t modified_at;
    struct bytes content; /* of a file, from the offset on; perhaps fewer bytes than wanted */
    struct list entries;  /* struct peek_entry: of a folder, in the order of strcmp */
    bool more;            /* entries follow that were not sent */
};

/* Asks for a file or folder that a running job has saved so far. */
struct msg_get_saved {
    int64_t sweep, job;
    struct peek_at at;
};

struct msg_saved {
    const char *node;
    int64_t attempt;
    struct peek_found found;
};

/* Passes msg_get_saved to the worker of the running attempt, which answers with saved_read and the
 * same number. */
struct msg_read_saved {
    int64_t number;
    struct token token; /* the attempt's token */
    struct peek_at at;
};

struct msg_saved_read {
    int64_t number;
    struct peek_found found;
};

/* Asks for a sweep's work, as workers get it. */
struct msg_get_work {
    int64_t sweep;
};

struct msg_got_work {
    struct sweep_work work; /* without the values that were passed from a shell */
};

/* Asks the worker to pack a tree for its owner.  The worker sends packed several times. */
struct msg_pack {
    struct token token; /* the packing's token, which packed has, too */
    const char *project;
    const char *path; /* relative to the shared drive */
    const char *user;
    bool only_here; /* only this machine runs the user's jobs, so local files may stay in place */
};

struct msg_packed {
    struct token token;
    bool is_over;
    int64_t files;      /* read so far */
    int64_t bytes;      /* read so far */
    struct dataset set; /* set when the packing is over without an error */
    const char *error;  /* why the packing failed; NULL: it did not */
};

/* Orders the worker to end its agent.  Running jobs go on, and the next agent takes them over. */
struct msg_leave {
    const char *reason;
};

/* Orders a pilot to take no more jobs, and to end when all its results are published. */
struct msg_retire {
    const char *reason;
};

/* Tells that a pilot takes no more jobs: it is idle, its time ends, Slurm wants its place, or
 * ludwigd ordered it. */
struct msg_retiring {
    const char *reason;
    bool is_over;    /* the pilot has no job left, and ends */
    bool gives_back; /* the pilot ends its jobs, and gives back jobs that are not done */
};

/* A value of the sweep's metric that a job reported. */
struct measured {
    struct token token; /* the attempt's token */
    int64_t step;
    double value;
};

/* Sends the values that jobs of sweeps with live_policy.tells reported since the last such message,
 * in the order of reporting, at most once a second.  Values may be sent again, also after the
 * answer: a value that ludwigd has already changes nothing. */
struct msg_measured {
    struct list values; /* struct measured */
};

/* Orders the worker to stop a job early: the worker asks the job to save its state, ends it, and
 * publishes what it saved. */
struct msg_stop_early {
    struct token token;
    const char *reason;
};

/* A worker sends this every proto_alive_every_ms, so that ludwigd notices when it is gone. */
struct msg_alive {
    bool well;
};

/* The time between two msg_alive of a worker: a quarter of the lease, so that a few may be late,
 * and 20 seconds at most. */
int64_t proto_alive_every_ms(int64_t lease_ms);
/* The time without any message after which a worker may be gone: two msg_alive did not come. */
int64_t proto_silent_after_ms(int64_t lease_ms);

extern const struct schema checkpoint_origin_schema;
extern const struct schema folder_order_schema, sweep_info_schema, job_info_schema,
    job_result_schema, node_info_schema, held_schema, token_entry_schema, assignment_schema,
    sweep_work_schema, report_schema, verdict_entry_schema, target_schema, job_counts_schema,
    submitted_schema, usage_info_schema, held_tree_schema, pool_trouble_schema, dataset_info_schema,
    digest_entry_schema, pilot_claim_schema, reused_job_schema, gone_job_schema,
    early_config_schema, measured_value_schema, advice_line_schema, peek_at_schema,
    peek_entry_schema, peek_found_schema, gpu_use_schema, pilots_waiting_schema;

#endif
