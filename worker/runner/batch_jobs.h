/* SPDX-License-Identifier: MIT */
/*
 * batch_jobs.h - the jobs that one process works through, as its runner keeps them
 *
 *   open ─reported, or its process ended─▶ ended ─outcome written─▶ saved
 *
 * A mate is published as soon as it is reported, while the process goes on with the
 * others.  The output of the process since the report before is the mate's log.
 * When the process ends, the jobs that it did not report end: it was at the first, which
 * has its outcome; the others never began, and are given back.  So every process
 * ends at least one job.
 */
#ifndef LUDWIG_WORKER_RUNNER_BATCH_JOBS_H
#define LUDWIG_WORKER_RUNNER_BATCH_JOBS_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/data/value.h"
#include "worker/base/child_protocol.h"
#include "worker/base/scratch.h"

/* ---- the chunk ---- */

/*
 * The description of a batch's jobs for its process:
 * a list of maps, in $LUDWIG_CHUNK: job ("7.13"), param_name, job_name, rep, seed,
 * restart, params, and the paths param2val, save_path and checkpoint.
 */
size_t chunk_count(const struct order_run *run);
/* All of the chunk lies in a; run_path: the folder with the attempts' folders. */
int chunk_make(const struct order_run *run, const char *run_path, struct arena *a,
               struct value *chunk, struct err *e);
/* ERR_USAGE when the command is not the same for all. */
int chunk_check_command(const char *command, const struct value *chunk, struct err *e);

/* ---- reports ---- */

/*
 * The process appends JSON to $LUDWIG_METRICS in its folder, itself or by `ludwig report`:
 *
 *   {"job": "7.13", "accuracy": 0.9, "step": 3}
 *   {"job": "7.13", "done": true}        {"job": "7.13", "failed": "no such file"}
 *
 * Everything else in there is passed over.  A file that became shorter, or another
 * one in its place, is read from its beginning.
 */
/* One line of reports, valid until follow_fn returns; sweep 0: the line names no job. */
struct follow_report {
    const struct value *line; /* the whole line: a map */
    int64_t sweep, job;
    bool is_done, has_failed; /* not both */
    const char *reason;       /* has_failed: why; NULL if the line does not say */
    struct bytes measures;    /* the other members, as a line of JSON; empty: none */
    uint64_t log_inode;       /* the log had this many bytes when the line was written; */
    int64_t log_size_bytes;   /* -1: the line does not say */
};

typedef void (*follow_fn)(void *context, const struct follow_report *r);

struct follow {
    int dir_fd;
    int inotify_fd; /* for poll(2); -1: none, look every now and then */
    uint64_t inode;
    int64_t offset; /* where reading goes on */
    struct buf line;
    bool is_too_long; /* the line being read is too long */
    struct arena *arena;
    bool takes_all; /* also lines that name no job are passed to each */
    follow_fn each;
    void *context;
};

/* Begins to follow; owns dir_fd, the process's folder. */
void follow_open(struct follow *f, int dir_fd, follow_fn each, void *context);
void follow_close(struct follow *f); /* also of one that is all zeroes */

/* Makes the next look begin with the first line again. */
void follow_again(struct follow *f);

/* Reads some of the new lines; returns whether there are more. */
bool follow_look(struct follow *f);
/* Takes the last line, which may lack its end. */
void follow_end(struct follow *f);

/* Takes all lines that are left once no process writes any more, for 10 s at most. */
void follow_rest(struct follow *f);

/* Takes bytes as follow_look does. */
void follow_feed(struct follow *f, const char *bytes, size_t n);

/* ---- the jobs ---- */

enum mate_state { MATE_OPEN, MATE_ENDED, MATE_SAVED };

struct mate {
    struct token token;
    char hex[TOKEN_HEX];
    int64_t job;
    enum mate_state state;
    bool is_stopped; /* it was cancelled */
    struct outcome outcome;
    char *reason;          /* the outcome's, or NULL */
    int64_t not_before_ms; /* ENDED: when to save it, by the monotonic clock */
};

struct batch_jobs {
    struct mate *items;
    size_t n; /* 0: there is no batch */
    const struct scratch *scratch;
    struct token token; /* token of the process */
    char hex[TOKEN_HEX];
    int64_t sweep;
    struct mate *last;   /* the mate reported last; NULL: none was */
    int64_t since_ms;    /* when that was reported, or the process started */
    int64_t log_offset;  /* the process's log up to here is in the mates' logs */
    int64_t cpu_ms;      /* processor time that is in the mates' outcomes */
    int64_t used_cpu_ms; /* by processes that were waited for, at the last look */
    struct outcome gpus; /* only its GPU members: the use up to the last report */
    bool is_running;
    bool has_more; /* there are lines to be read at once */
    struct follow follow;
};

/* From here to batch_jobs_free there is a batch; s must live as long. *process is the order of its
 * process. */
void batch_jobs_begin(struct batch_jobs *m, const struct scratch *s, const struct order_run *run,
                      struct order *process);
/* Makes their folders in run/; the batch's own is made with the process. */
int batch_jobs_make_folders(const struct batch_jobs *m, struct spares *spares,
                            const struct order_run *run, const struct value *chunk, struct err *e);
/* The process runs: follows what it reports. */
void batch_jobs_follow(struct batch_jobs *m, int64_t started_at);
void batch_jobs_free(struct batch_jobs *m);

/* Lists the jobs that are not saved; room for all in list.  Returns how many. */
size_t batch_jobs_list(const struct batch_jobs *m, struct token_entry *list);

/* Marks the job with this token as cancelled. */
void batch_jobs_stop(struct batch_jobs *m, const struct token *token);
/* For diskwatch.h: the folder of the i-th job that is not saved. */
const char *batch_jobs_folder(void *mates, size_t i);
/* Whether all open jobs are cancelled, so that the process must end. */
bool batch_jobs_are_unwanted(const struct batch_jobs *m);

/* For poll(2), -1: none. */
int batch_jobs_fd(const struct batch_jobs *m);
/* How long until something is to be looked at or saved; -1 for never. */
int batch_jobs_wait_ms(const struct batch_jobs *m);
/* Takes in what the process reported; call it when batch_jobs_fd is readable, or the wait is over.
 * process: what is known of it so far. */
void batch_jobs_look(struct batch_jobs *m, const struct outcome *process);

/* Ends all jobs without having begun them, for the same reason. */
void batch_jobs_refuse(struct batch_jobs *m, int event, const char *reason);
/* The process has ended with this outcome: ends the jobs that are still open. */
void batch_jobs_over(struct batch_jobs *m, const struct outcome *process);

/* The next job to be saved, NULL: none now. */
struct mate *batch_jobs_due(struct batch_jobs *m);
/* Writes its outcome and moves its folder to ended/. */
int batch_jobs_save(struct batch_jobs *m, struct mate *mate, struct err *e);
bool batch_jobs_are_saved(const struct batch_jobs *m);

#endif
