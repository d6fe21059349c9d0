/* SPDX-License-Identifier: MIT */
/*
 * pilots_internal.h - between the files of pilots.h alone
 */
#ifndef LUDWIG_SERVER_PILOT_PILOTS_INTERNAL_H
#define LUDWIG_SERVER_PILOT_PILOTS_INTERNAL_H

#include "common/base/account.h"
#include "server/base/thread_task.h"
#include "server/base/turn.h"
#include "server/pilot/pilot_plan.h"
#include "server/pilot/pilots.h"
#include "server/queue/pilot_rows.h"
#include "server/slurm/slurmargs.h"
#include "server/slurm/slurmcall.h"
#include "server/slurm/slurmfailure.h"
#include "server/slurm/slurmread.h"

struct slurm_accounts {
    struct slurm_answer assocs, qos, users;
};

/* A user, and what their pilots ask for; NULL: nothing. */
struct limits_of {
    const char *user, *account, *qos;
    const char *partition, *partition_qos;
};

/* Limits; SLURM_NONE and size 0: none. */
struct pilot_limits {
    int64_t submit;          /* jobs that may wait or run */
    int64_t run;             /* jobs that may run at once */
    const char *submit_what; /* "MaxSubmitJobs of account lab", in the arena */
    const char *run_what;
    struct plan_size size; /* of one pilot, or of all together */
    int64_t group_cpus;    /* all together */
    int64_t max_time_ms;
};

/* Questions to Slurm; from SITE_ASSOCS on about accounts.  SITE_PARTITIONS is for their QOS. */
enum site_question {
    SITE_CONFIG,
    SITE_NODES,
    SITE_ASSOCS,
    SITE_QOS,
    SITE_USERS,
    SITE_PARTITIONS,
    SITE_QUESTIONS
};

/* Slurm's description of itself.  Texts are in its arena. */
struct site {
    struct arena *arena; /* NULL: Slurm was not asked yet */
    int64_t asked_at_ms; /* of the monotonic clock */
    bool lacks_accounts; /* answers about accounts are missing: it is soon asked again */
    struct slurm_config config;
    struct slurm_answer partitions, nodes;
    struct slurm_accounts accounts; /* empty where there is no accounting */
    struct slurm_call *asking[SITE_QUESTIONS];
};

/* A pool that failed is left alone for a while. */
struct rest {
    int64_t pool;
    int64_t failures;
    int64_t ends_ms; /* of the monotonic clock */
    char *why;       /* "has failed" */
    bool has_died;   /* Slurm had accepted the pilot */
    /* Slurm took no more: submit fewer next time, and sooner if one of this user's pilots ends. */
    int64_t most;    /* 0: Slurm has room */
    int64_t n_there; /* pilots of that user then */
};

/* How a user's pilots reach ludwigd through this machine's sshd. */
struct pilot_key {
    uid_t uid;
    char *endpoints; /* with commas between; "": they cannot */
    int64_t ends_ms; /* of the monotonic clock: then the key is asked for again */
};

struct submission; /* pilot_submit.c */
struct look;       /* pilot_poll.c */

struct pilots {
    struct server *sv;
    uv_timer_t *timer;  /* frees itself when closed */
    turn_work_fn think; /* of pilots.c: chooses what is done next */
    struct slurm_budget budget;
    struct site site, coming; /* coming: answers so far; replaces site when complete */
    bool has_pools;
    bool lets_go; /* jobs were cancelled: some pilots may have nothing left to do */
    bool is_busy; /* one of the following is under way */
    struct slurm_call *call;
    struct thread_task *aside;
    struct submission *submission;
    struct look *look;
    void (*reach_done)(void *context); /* while a key is asked for */
    void *reach_context;
    const struct account *reach_account;
    struct pilot_key *keys;
    size_t n_keys, keys_capacity;
    struct arena *arena; /* holds what was read when p last thought */
    struct pilot_rows rows;
    int64_t begun_at_ms, thought_at_ms, forgotten_at_ms;
    int64_t look_at_ms, looked_at_ms, look_every_ms; /* look_at_ms 0: there is nothing to look at */
    int64_t looked_to; /* the last row of a look that had no room for more; 0: no rows are left */
    int64_t away_ends_ms, away_failures; /* Slurm does not answer: nothing before that time */
    char *away_why;
    struct rest *rests;
    size_t n_rests, rests_capacity;
    struct buf cancel; /* ids of pilots that are not needed, or that never start, each with a NUL */
};

/* ---- pilot_calls.c ---- */

/* Runs a command of Slurm's: NULL when it could not be started or there is no token for it. */
struct slurm_call *pilots_begin(struct pilots *p, const struct slurm_command *command,
                                slurm_done_fn done, void *context, struct err *e);
/* The same for p->call, one at a time: 0 or -1.  done is to set p->call to NULL. */
int pilots_call(struct pilots *p, const struct slurm_command *command, slurm_done_fn done,
                void *context, struct err *e);
/* The environment of sbatch and its jobs; user NULL: of a command whose output is read. */
char **pilots_env(const struct slurm_user *user, struct arena *a);
/* A step is over; p thinks about the next one. */
void pilots_next(struct pilots *p);
/* The same after work that did not keep p busy. */
void pilots_think(struct pilots *p);
/* p thinks at that time, of the monotonic clock, if not sooner. */
void pilots_think_at(struct pilots *p, int64_t at_ms);
/* p looks at waiting pilots in so many ms at the latest. */
void pilots_look_in(struct pilots *p, int64_t ms);
/* One was submitted: what can never start is to be told at once, however lately it was looked. */
void pilots_look_soon(struct pilots *p);
/* The job is cancelled soon. */
void pilots_cancel(struct pilots *p, const char *job);

/* Slurm does not answer: everything waits, longer each time.  why NULL: Slurm answers. */
void pilots_away(struct pilots *p, const char *why);
/* Something is wrong with this pool's pilots: it waits, longer each time. */
void pilots_rest(struct pilots *p, int64_t pool, bool has_died, const char *why);
/* Slurm has accepted a pilot of the pool. */
void pilots_submitted(struct pilots *p, int64_t pool);
/* Slurm refused row and the others of its array: they were too many. */
void pilots_full(struct pilots *p, const struct pilot_row *row, const char *why);
/* Whether the pool rests; p thinks again when the rest is over. */
bool pilots_rests(struct pilots *p, int64_t pool, uid_t uid);
/* The pool's rest; NULL: nothing is wrong with its pilots. */
struct rest *pilots_resting(struct pilots *p, int64_t pool);

/* ---- pilot_grow.c ---- */

struct pool_demand {
    int64_t pool;
    uid_t uid;
    const char *user, *project;
    struct slurm_pool spec;
    struct plan_demand *items;
    size_t n, capacity;
};

struct demands {
    struct pool_demand *items;
    size_t n, capacity;
};

int demands_read(struct server *sv, struct arena *a, struct demands *to, struct err *e);
void demands_free(struct demands *d);
/* The demand for a pool; NULL: no jobs wait for it. */
const struct pool_demand *demand_in(const struct demands *d, int64_t pool);

/* Numbers of pilots, waiting or running; of_account, of_partition: of that user. */
struct pilots_there {
    int64_t of_pool, of_account, of_partition;
};

struct pilots_there pilots_there(const struct pilots *p, const struct pilot_owner *of);
/* 1 when pilots were added: think again, and submit them. */
int plan_more(struct pilots *p, const struct demands *all, struct err *e);

/* ---- pilots.c ---- */

/* Cancels together pilots that did not begin and have no jobs left for them; pilots for which there
 * is no room come next time. */
int cancel_unneeded(struct pilots *p, const struct demands *all, struct err *e);

/* ---- pilot_trouble.c ---- */

/* What keeps each pool from pilots is written down where it has changed, and told to who waits. */
int pool_troubles_write(struct pilots *p, struct err *e);

/* ---- slurm_site.c ---- */

/* Asks Slurm, beside whatever else goes on; p thinks when it is answered. */
void site_ask(struct pilots *p);
/* Slurm was asked, and not too long ago for its answers to be used. */
bool site_is_known(const struct pilots *p);
/* Slurm need not be asked again yet. */
bool site_is_fresh(const struct pilots *p);
/* Slurm is to be asked. */
bool site_is_old(const struct pilots *p);
void site_forget(struct site *s);
/* The sweep's own settings, completed by the site's configuration. */
struct slurm_pool site_spec(const struct conf *conf, const struct slurm_pool *from);
/* The limits that accounts and QOS set for that user in that pool. */
struct pilot_limits site_limits(const struct pilots *p, const char *user,
                                const struct slurm_pool *pool, struct arena *a);
/* The pool's partition, as far as it is known and that user may have it. */
struct plan_partition site_partition(const struct pilots *p, const char *user,
                                     const struct slurm_pool *pool);

/* ---- pilot_limits.c ---- */

/*
 * Limits that accounts and QOS set for a user's pilots: a pure function of sacctmgr's output.  A
 * limit of the partition's QOS counts before one of the job's QOS, and that before one of the
 * association; limits of groups all count.  Usage by other users of a group is not known: Slurm
 * itself refuses pilots then, or lets them wait.
 */
struct pilot_limits pilot_limits(const struct slurm_accounts *all, const struct limits_of *of,
                                 struct arena *a);

/* Whether any QOS has a limit of those above: if none has, partitions' QOS do not matter. */
bool limits_any_qos(const struct slurm_accounts *all);

/* Narrows the partition to what a user with these limits may have. */
void limits_narrow(const struct pilot_limits *limits, struct plan_partition *partition);

/* ---- pilot_submit.c ---- */

/* Submits the pilots whose rows have this one's token. */
void submission_begin(struct pilots *p, const struct pilot_row *row);
void submission_drop(struct pilots *p);

/* ---- pilot_endpoint.c ---- */

/* Whether reach_endpoints can be called without reach_ask. */
bool reach_is_known(const struct pilots *p, uid_t uid);
/* Has the user's key made, or looked after; done is called afterwards, whatever came of it, unless
 * -1 with e set.  account has to last until then. */
int reach_ask(struct pilots *p, const struct account *account, const char *rights,
              void (*done)(void *context), void *context, struct err *e);
/* Addresses with commas between, in the order in which a pilot tries them. */
const char *reach_endpoints(const struct pilots *p, uid_t uid, struct arena *a);
void reach_forget(struct pilots *p);

/* ---- pilot_poll.c ---- */

/* Looks at the rows of p that are due. */
void look_begin(struct pilots *p);
bool look_is_wanted(struct pilots *p, const struct pilot_row *row);
/* Whether Slurm has given its id to another job. */
bool look_is_other(const struct pilot_row *row, const struct slurm_job *job);
/* A job of row's array, whose submission was not answered; NULL: Slurm has none of it. */
const struct slurm_job *look_for_submitted(const struct slurm_answer *jobs,
                                           const struct pilot_row *row);
void look_drop(struct pilots *p);

#endif
