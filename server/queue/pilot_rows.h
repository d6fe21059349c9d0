/* SPDX-License-Identifier: MIT */
/*
 * pilot_rows.h - pools and their pilots, as the database has them
 *
 * A pool is one of a user's ways to get pilots: what an entry of a sweep's slurm: says.  All of it
 * runs inside a turn.
 */
#ifndef LUDWIG_SERVER_QUEUE_PILOT_ROWS_H
#define LUDWIG_SERVER_QUEUE_PILOT_ROWS_H

#include "server/conn/conn.h"
#include "server/base/server.h"
#include "server/slurm/slurmstate.h"

/* Texts are in the arena it was read into. */
struct pilot_row {
    int64_t id, pool;
    int64_t sweep;       /* for which it was made */
    struct token token;  /* of all of its array */
    int64_t task, tasks; /* of an array of so many; 1: it is no array */
    const char *name, *comment;
    const char *project; /* in whose folder its log lies */
    int64_t cpus, gpus, memory_bytes, time_ms;
    enum pilot_phase phase;
    const char *words;              /* why it waits; NULL: not known */
    bool was_asked;                 /* sbatch was begun, */
    int64_t slurm_id;               /* and answered; 0: it did not */
    int64_t submitted_s;            /* as Slurm has it; 0: it was not looked at */
    int64_t worker;                 /* 0: none has come yet */
    int64_t created_at, started_at; /* started_at: its worker came; 0: not yet */
    uid_t uid;
    const char *user;
    struct slurm_pool spec;
};

struct pilot_rows {
    struct pilot_row *items;
    size_t n;
};

/* Those of a sweep. */
struct sweep_pools {
    const int64_t *items;
    size_t n;
};

int sweep_pools_read(struct server *sv, int64_t sweep, struct arena *a, struct sweep_pools *pools,
                     struct err *e);
bool sweep_pools_have(const struct sweep_pools *pools, int64_t pool);
/* Of the bytes in a pool's row. */
int pool_read(struct bytes bytes, struct arena *a, struct slurm_pool *pool, struct err *e);
/* Slurm will not have pilots there for jobs such as that sweep's, as people are told. */
int pool_refuse(struct server *sv, int64_t pool, int64_t sweep, const char *why, struct err *e);

/* Of all users: those that Slurm may have. */
int pilots_count(struct server *sv, int64_t *waiting, int64_t *running, struct err *e);
/* All that have not ended, in the order in which they were made. */
int pilot_rows_live(struct server *sv, struct arena *a, struct pilot_rows *rows, struct err *e);
/* 1, 0 when there is none, -1.  Of the first one also what has ended: it was thought so at
 * least. */
int pilot_row_by_token(struct server *sv, const struct token *token, int64_t task, struct arena *a,
                       struct pilot_row *row, struct err *e);
int pilot_row_of_worker(struct server *sv, int64_t worker, struct arena *a, struct pilot_row *row,
                        struct err *e);
int pilot_row_end(struct server *sv, int64_t pilot, const char *words, struct err *e);
/* "17" or "17_3"; in the arena. */
const char *pilot_row_job(const struct pilot_row *row, struct arena *a);
/* Where its output goes, below the projects. */
const char *pilot_row_log(const struct pilot_row *row, struct arena *a);

/* Which jobs can end before their pilot's time does. */

/* For what comes after a job has ended: its results, and the pilot's own end. */
enum { PILOT_MARGIN_MS = 30 * 1000 };

/* What is known of how long a job takes; 0: it is not. */
struct pilot_need {
    int64_t time_ms; /* as its sweep declares it */
    int64_t mean_ms; /* of those that have ended */
};

/* How long one may take, its results included; 0: not known. */
int64_t pilot_need_ms(const struct pilot_need *need);
/* Can such a job end, and be published, before the pilot's time does? */
bool pilot_has_time(const struct conn *c, const struct pilot_need *need, int64_t now_ms);

#endif
