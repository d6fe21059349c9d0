/* SPDX-License-Identifier: MIT */
/*
 * pilots_internal.h - what the files behind pilots.h share; `p` is ludwigd's one struct pilots
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

/* A user, and what that user's pilots name; NULL: nothing named. */
struct limits_of {
    const char *user, *account, *qos;
    const char *partition, *partition_qos;
};

/* Limits; SLURM_NONE and size 0: none. */
struct pilot_limits {
    int64_t submit;          /* how many jobs may wait or run */
    int64_t run;             /* how many jobs may run at once */
    const char *submit_what; /* which limit that is: "MaxSubmitJobs of account lab", in the arena */
    const char *run_what;
    struct plan_size size; /* for one pilot, or for all together */
    int64_t group_cpus;    /* for all together */
    int64_t max_time_ms;
};

/* Questions to Slurm.  SITE_ASSOCS, SITE_QOS and SITE_USERS ask sacctmgr about accounts and their
 * limits; SITE_PARTITIONS asks which QOS each partition has, which sets limits as well. */
enum site_question {
    SITE_CONFIG,
    SITE_NODES,
    SITE_ASSOCS,
    SITE_QOS,
    SITE_USERS,
    SITE_PARTITIONS,
    SITE_QUESTIONS
};

/* How Slurm describes itself; texts are in the struct's arena. */
struct site {
    struct arena *arena; /* NULL: Slurm was not asked yet */
    int64_t asked_at_ms; /* of the monotonic clock */
    bool lacks_accounts; /* answers about accounts are missing: Slurm is soon asked again */
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
    bool has_died;   /* the pilot failed after Slurm had accepted it */
    /* Slurm took no more pilots: submit fewer next time, and sooner if one of this user's ends. */
    int64_t most;    /* how many to submit at most next time; 0: Slurm has room */
    int64_t n_there; /* how many pilots the user had then */
};

/* How a user's pilots reach ludwigd through this machine's sshd. */
struct pilot_key {
    uid_t uid;
    char *endpoints; /* addresses with commas between; "": pilots cannot reach ludwigd */
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
    bool is_busy; /* a look or a scancel is under way, as `call` */
    struct slurm_call *call;
    struct thread_task *aside;
    struct submission *submission;
    struct look *look;
    void (*reach_done)(void *context); /* while a key is asked for */
    void *reach_context;
    const struct account *reach_account;
    struct pilot_key *keys;
    size_t n_keys, keys_capacity;
    struct arena *arena; /* holds what was read when `think` last ran */
    struct pilot_rows rows;
    int64_t begun_at_ms, thought_at_ms, forgotten_at_ms;
    int64_t look_at_ms, looked_at_ms, look_every_ms; /* look_at_ms 0: no look is due */
    int64_t looked_to; /* last row of a look that had no room for more; 0: it had all rows */
    int64_t away_ends_ms, away_failures; /* Slurm did not answer: no command before away_ends_ms */
    char *away_why;
    struct rest *rests;
    size_t n_rests, rests_capacity;
    struct buf cancel; /* ids of pilots that are not needed, or that never start, each with a NUL */
};

/* ---- pilot_calls.c ---- */

/* Runs a command of Slurm's: NULL when it could not be started or there is no token for it. */
struct slurm_call *pilots_begin(struct pilots *p, const struct slurm_command *command,
                                slurm_done_fn done, void *context, struct err *e);
/* The same, with the call in p->call, of which there is one at a time; done has to reset it to
 * NULL.  Returns 0 or -1. */
int pilots_call(struct pilots *p, const struct slurm_command *command, slurm_done_fn done,
                void *context, struct err *e);
/* The environment of a user's sbatch and its jobs; user NULL: of a command whose output is read. */
char **pilots_env(const struct slurm_user *user, struct arena *a);
/* Ends the step that kept p busy, and runs p->think as turn work. */
void pilots_next(struct pilots *p);
/* Runs p->think as turn work, while p may be busy. */
void pilots_think(struct pilots *p);
/* Runs p->think at at_ms of the monotonic clock, or sooner if that is planned already. */
void pilots_think_at(struct pilots *p, int64_t at_ms);
/* Plans a look at waiting pilots in `ms`, but not within PILOTS_LOOK_EVERY_MS of the last look. */
void pilots_look_in(struct pilots *p, int64_t ms);
/* After a submission: plans a look in PILOTS_LOOK_FIRST_MS, even if the last look was a moment ago,
 * so that users hear at once of a pilot that can never start. */
void pilots_look_soon(struct pilots *p);
/* The job is cancelled soon. */
void pilots_cancel(struct pilots *p, const char *job);

/* Slurm does not answer: all commands wait, longer each time.  why NULL: Slurm answers again. */
void pilots_away(struct pilots *p, const char *why);
/* Something is wrong with this pool's pilots: it waits, longer each time. */
void pilots_rest(struct pilots *p, int64_t pool, bool has_died, const char *why);
/* Slurm has accepted a pilot of the pool. */
void pilots_submitted(struct pilots *p, int64_t pool);
/* Slurm refused the row's array as too many pilots: backs off, and half as many are tried next. */
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
/* The demand for the pool; NULL: no jobs wait for it. */
const struct pool_demand *demand_in(const struct demands *d, int64_t pool);

/* How many pilots wait or run: in the pool, and of its user in the pool's account and partition. */
struct pilots_there {
    int64_t of_pool, of_account, of_partition;
};

struct pilots_there pilots_there(const struct pilots *p, const struct pilot_owner *of);
/* Adds rows for pilots that the queue needs: 1 when p->think has to submit new ones, 0, -1. */
int plan_more(struct pilots *p, const struct demands *all, struct err *e);

/* ---- pilots.c ---- */

/* Ends pilots that have not begun and whose pools have no jobs, as far as p->cancel has room. */
int cancel_unneeded(struct pilots *p, const struct demands *all, struct err *e);

/* ---- pilot_trouble.c ---- */

/* Records what keeps each pool from getting pilots, where that changed, and tells subscribers. */
int pool_troubles_write(struct pilots *p, struct err *e);

/* ---- slurm_site.c ---- */

/* Asks Slurm all questions, beside whatever else goes on; runs p->think when they are answered. */
void site_ask(struct pilots *p);
/* Whether Slurm's answers are there and recent enough for use. */
bool site_is_known(const struct pilots *p);
/* Whether the answers are so recent that Slurm need not be asked again. */
bool site_is_fresh(const struct pilots *p);
/* Whether it is time to ask Slurm. */
bool site_is_old(const struct pilots *p);
void site_forget(struct site *s);
/* The sweep's own settings, completed by the site's configuration. */
struct slurm_pool site_spec(const struct conf *conf, const struct slurm_pool *from);
/* The limits that accounts and QOS set for that user in that pool. */
struct pilot_limits site_limits(const struct pilots *p, const char *user,
                                const struct slurm_pool *pool, struct arena *a);
/* The pool's partition as far as it is known, narrowed to what that user may have. */
struct plan_partition site_partition(const struct pilots *p, const char *user,
                                     const struct slurm_pool *pool);

/* ---- pilot_limits.c ---- */

/*
 * Limits that accounts and QOS set for a user's pilots: a pure function of sacctmgr's output.  A
 * limit of the partition's QOS outranks one of the job's QOS, and that one of the association;
 * limits of groups all count.  What other users of a group use is not known: then Slurm itself
 * refuses pilots or lets them wait.
 */
struct pilot_limits pilot_limits(const struct slurm_accounts *all, const struct limits_of *of,
                                 struct arena *a);

/* Whether any QOS has one of these limits; if none has, the partitions' QOS do not matter. */
bool limits_any_qos(const struct slurm_accounts *all);

/* Narrows the partition to what a user with these limits may have. */
void limits_narrow(const struct pilot_limits *limits, struct plan_partition *partition);

/* ---- pilot_submit.c ---- */

/* Submits the pilots whose rows have this one's token. */
void submission_begin(struct pilots *p, const struct pilot_row *row);
void submission_drop(struct pilots *p);

/* ---- pilot_endpoint.c ---- */

/* Whether reach_endpoints can be called without reach_ask before. */
bool reach_is_known(const struct pilots *p, uid_t uid);
/* Has the user's key made, or looked after; done is called afterwards, whatever came of it, unless
 * -1 with e set.  account has to last until then. */
int reach_ask(struct pilots *p, const struct account *account, const char *rights,
              void (*done)(void *context), void *context, struct err *e);
/* Addresses with commas between, in the order in which a pilot tries them. */
const char *reach_endpoints(const struct pilots *p, uid_t uid, struct arena *a);
void reach_forget(struct pilots *p);

/* ---- pilot_poll.c ---- */

/* Asks Slurm about those of p->rows that are due. */
void look_begin(struct pilots *p);
bool look_is_wanted(struct pilots *p, const struct pilot_row *row);
/* Whether Slurm's job with the row's id is not the row's pilot. */
bool look_is_other(const struct pilot_row *row, const struct slurm_job *job);
/* Finds the job in Slurm of a row whose sbatch gave no answer; NULL: Slurm has none. */
const struct slurm_job *look_for_submitted(const struct slurm_answer *jobs,
                                           const struct pilot_row *row);
void look_drop(struct pilots *p);

#endif
