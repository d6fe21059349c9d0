/* SPDX-License-Identifier: MIT */
/*
 * pilot_rows.h - rows of pilots and pools, and whether a job fits into a pilot's time
 *
 * A pool is one of a user's ways to get pilots: an entry of a sweep's slurm:.  For use in a turn.
 */
#ifndef LUDWIG_SERVER_QUEUE_PILOT_ROWS_H
#define LUDWIG_SERVER_QUEUE_PILOT_ROWS_H

#include "server/conn/conn.h"
#include "server/base/server.h"
#include "server/queue/retry.h"
#include "server/slurm/slurmstate.h"

/* A pilot's row; its texts are in the arena given to the reading function. */
struct pilot_row {
    int64_t id, pool;
    int64_t sweep;       /* the sweep that the pilot was made for */
    struct grown grown;  /* what those jobs of the sweep ask for; zeros: as the sweep */
    struct token token;  /* shared by the pilots of an array */
    int64_t task, tasks; /* its number in an array of `tasks` pilots; tasks 1: no array */
    const char *name, *comment;
    const char *project; /* project of the sweep that the pilot was made for */
    int64_t cpus, gpus, memory_bytes, time_ms;
    enum pilot_phase phase;
    const char *words;              /* why the pilot waits; NULL: not known */
    bool was_asked;                 /* ludwigd has begun an sbatch for it */
    int64_t slurm_id;               /* id that sbatch answered; 0: no answer came */
    int64_t submitted_s;            /* submit time as Slurm tells it; 0: not looked up yet */
    int64_t worker;                 /* row of the pilot's worker; 0: none has come yet */
    int64_t created_at, started_at; /* started_at: when its worker came; 0: not yet */
    uid_t uid;
    const char *user;
    struct slurm_pool spec;
};

struct pilot_rows {
    struct pilot_row *items;
    size_t n;
};

/* Rows of a sweep's pools. */
struct sweep_pools {
    const int64_t *items;
    size_t n;
};

int sweep_pools_read(struct server *sv, int64_t sweep, struct arena *a, struct sweep_pools *pools,
                     struct err *e);
bool sweep_pools_have(const struct sweep_pools *pools, int64_t pool);
/* Decodes the specification in a pool's row; its texts are in the arena. */
int pool_read(struct bytes bytes, struct arena *a, struct slurm_pool *pool, struct err *e);
/* Records that Slurm refuses the pool's pilots for jobs that ask for the same as those that this
 * pilot was made for; users are shown why. */
int pool_refuse(struct server *sv, const struct pilot_row *row, const char *why, struct err *e);

/* Counts pilots of all users that Slurm may know: without a worker so far (*waiting), with one. */
int pilots_count(struct server *sv, int64_t *waiting, int64_t *running, struct err *e);
/* Rows of all pilots that have not ended, in the order in which they were made. */
int pilot_rows_live(struct server *sv, struct arena *a, struct pilot_rows *rows, struct err *e);
/* Return 1, 0 when there is no such pilot, -1.  pilot_row_by_token also finds pilots that have
 * ended, or are believed to have. */
int pilot_row_by_token(struct server *sv, const struct token *token, int64_t task, struct arena *a,
                       struct pilot_row *row, struct err *e);
int pilot_row_of_worker(struct server *sv, int64_t worker, struct arena *a, struct pilot_row *row,
                        struct err *e);
/* Adds the pilot's time since this was last called to its sweep's counters. */
int pilot_row_count_time(struct server *sv, int64_t pilot, struct err *e);
int pilot_row_end(struct server *sv, int64_t pilot, const char *words, struct err *e);
/* The pilot's job in Slurm, "17" or "17_3", in the arena. */
const char *pilot_row_job(const struct pilot_row *row, struct arena *a);
/* The id in "17" or "17_3", as a pilot's worker claims it; 0: no id that Slurm's commands take. */
int64_t pilot_row_claimed_id(const char *slurm_job, struct arena *a);
/* Path of the pilot's output below the share, in the arena. */
const char *pilot_row_log(const struct pilot_row *row, struct arena *a);

/* Time kept free at a pilot's end, to publish the last results and to end the pilot. */
enum { PILOT_MARGIN_MS = 30 * 1000 };

/* A job's run time; 0: not known. */
struct pilot_need {
    int64_t time_ms; /* as the sweep declares it */
    int64_t mean_ms; /* of the sweep's ended jobs */
};

/* How long a job may take until it is published: its time or twice its mean; 0: not known. */
int64_t pilot_need_ms(const struct pilot_need *need);
/* Whether such a job can end and be published before the time of c's pilot is over. */
bool pilot_has_time(const struct conn *c, const struct pilot_need *need, int64_t now_ms);

#endif
