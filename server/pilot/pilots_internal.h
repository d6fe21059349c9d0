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
#include "server/slurm/slurmread.h"

struct slurm_accounts {
    struct slurm_answer assocs, qos, users;
};

/* Whose pilots, and what is asked for; NULL: nothing. */
struct limits_of {
    const char *user, *account, *qos;
    const char *partition, *partition_qos;
};

/* SLURM_NONE and size 0: none. */
struct pilot_limits {
    int64_t submit;          /* jobs that may be there, waiting or running */
    int64_t run;             /* that may run at once */
    const char *submit_what; /* "MaxSubmitJobs of account lab", in the arena */
    const char *run_what;
    struct plan_size size; /* that one may have, or all together */
    int64_t group_cpus;    /* all together */
    int64_t max_time_ms;
};

/* From SITE_ASSOCS on: what accounts allow.  SITE_PARTITIONS says their QOS. */
enum site_question {
    SITE_CONFIG,
    SITE_NODES,
    SITE_ASSOCS,
    SITE_QOS,
    SITE_USERS,
    SITE_PARTITIONS,
    SITE_QUESTIONS
};

/* What Slurm says of itself.  Texts are in its arena. */
struct site {
    struct arena *arena; /* NULL: it was not asked yet */
    int64_t asked_at_ms; /* of the monotonic clock */
    bool lacks_accounts; /* which there are: it is soon asked again */
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
    bool has_died;   /* Slurm had accepted it */
    /* As many as may be had were submitted: fewer next time, and sooner if one of its user's ends. */
    int64_t most;    /* 0: it is not that */
    int64_t n_there; /* pilots of that user then */
};

/* How a user's pilots come through this machine's sshd. */
struct pilot_key {
    uid_t uid;
    char *endpoints; /* with commas between; "": they do not */
    int64_t ends_ms; /* of the monotonic clock: asked for again */
};

struct submission; /* pilot_submit.c */
struct look;       /* pilot_poll.c */

struct pilots {
    struct server *sv;
    uv_timer_t *timer;  /* frees itself when closed */
    turn_work_fn think; /* of pilots.c: chooses what is done next */
    struct slurm_budget budget;
    struct site site, coming; /* coming: what is being asked, and takes the other's place then */
    bool has_pools;
    bool lets_go; /* something was cancelled: some may have nothing left to do */
    bool is_busy; /* one of these goes on */
    struct slurm_call *call;
    struct thread_task *aside;
    struct submission *submission;
    struct look *look;
    void (*reach_done)(void *context); /* while a key is asked for */
    void *reach_context;
    const struct account *reach_account;
    struct pilot_key *keys;
    size_t n_keys, keys_capacity;
    struct arena *arena; /* of what was read when it was last thought about */
    struct pilot_rows rows;
    int64_t thought_at_ms, forgotten_at_ms;
    int64_t look_at_ms, looked_at_ms, look_every_ms; /* look_at_ms 0: there is nothing to look at */
    int64_t looked_to; /* the last row of a look that had no room for more; 0: all were looked at */
    int64_t away_ends_ms, away_failures; /* Slurm does not answer: not before then */
    char *away_why;
    struct rest *rests;
    size_t n_rests, rests_capacity;
    struct buf cancel; /* ids of pilots that nobody needs, or that never start, each with a NUL */
};

/* ---- pilot_calls.c ---- */

/* Runs a command of Slurm's: NULL when it could not be started or there is no token for it. */
struct slurm_call *pilots_begin(struct pilots *p, const struct slurm_command *command,
                                slurm_done_fn done, void *context, struct err *e);
/* The same for the one that goes on at a time, p->call: 0 or -1.  done is to set p->call to NULL. */
int pilots_call(struct pilots *p, const struct slurm_command *command, slurm_done_fn done,
                void *context, struct err *e);
/* The environment of sbatch, and of what it starts; user NULL: of a command whose output is read. */
char **pilots_env(const struct slurm_user *user, struct arena *a);
/* What went on is over; p thinks about what comes next. */
void pilots_next(struct pilots *p);
/* The same of what did not keep p busy. */
void pilots_think(struct pilots *p);
/* At that time, of the monotonic clock, if not sooner. */
void pilots_think_at(struct pilots *p, int64_t at_ms);
/* Look not later than that. */
void pilots_look_in(struct pilots *p, int64_t ms);
/* It is cancelled soon. */
void pilots_cancel(struct pilots *p, const char *job);

/* Slurm does not answer: everything waits, longer each time.  NULL: it does. */
void pilots_away(struct pilots *p, const char *why);
/* Something is wrong with this pool's pilots: it waits, longer each time. */
void pilots_rest(struct pilots *p, int64_t pool, bool has_died, const char *why);
/* Slurm has accepted one. */
void pilots_submitted(struct pilots *p, int64_t pool);
/* It and the others of its array were too many. */
void pilots_full(struct pilots *p, const struct pilot_row *row, const char *why);
/* Not now; it is thought about again when it is over. */
bool pilots_rests(struct pilots *p, int64_t pool, uid_t uid);
/* NULL: nothing is wrong with them. */
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
/* NULL: nothing waits for it. */
const struct pool_demand *demand_in(const struct demands *d, int64_t pool);

/* Pilots, waiting or running; of_account, of_partition: of that user. */
struct pilots_there {
    int64_t of_pool, of_account, of_partition;
};

struct pilots_there pilots_there(const struct pilots *p, const struct pilot_owner *of);
/* 1 when some were added: think again, and submit them. */
int plan_more(struct pilots *p, const struct demands *all, struct err *e);

/* ---- pilots.c ---- */

/* Those that did not begin, and have nothing left for them, are cancelled together; what there is
 * no room for comes next time. */
int cancel_unneeded(struct pilots *p, const struct demands *all, struct err *e);

/* ---- slurm_site.c ---- */

/* Beside whatever else goes on; p thinks when it is answered. */
void site_ask(struct pilots *p);
/* It was asked, and not too long ago to be used. */
bool site_is_known(const struct pilots *p);
/* What it said is not to be asked again yet. */
bool site_is_fresh(const struct pilots *p);
/* It is to be asked. */
bool site_is_old(const struct pilots *p);
void site_forget(struct site *s);
/* What the site's configuration adds to what the sweep says. */
struct slurm_pool site_spec(const struct conf *conf, const struct slurm_pool *from);
/* What accounts and QOS allow that user in that pool. */
struct pilot_limits site_limits(const struct pilots *p, const char *user,
                                const struct slurm_pool *pool, struct arena *a);
/* What is known of a pool's partition, as far as that user may have it. */
struct plan_partition site_partition(const struct pilots *p, const char *user,
                                     const struct slurm_pool *pool);

/* ---- pilot_limits.c ---- */

/*
 * What accounts and QOS allow a user's pilots: a pure function of what sacctmgr says.  A limit of
 * the partition's QOS counts before one of the job's QOS, and that before one of the association;
 * those of groups all count.  What others of a group have is not known: Slurm itself refuses then,
 * or lets wait.
 */
struct pilot_limits pilot_limits(const struct slurm_accounts *all, const struct limits_of *of,
                                 struct arena *a);

/* Has any QOS a limit of those above?  Where none has, it is all the same which one a partition
 * has. */
bool limits_any_qos(const struct slurm_accounts *all);

/* The partition as it is for somebody with these limits. */
void limits_narrow(const struct pilot_limits *limits, struct plan_partition *partition);

/* ---- pilot_submit.c ---- */

/* Those rows that have this one's token. */
void submission_begin(struct pilots *p, const struct pilot_row *row);
void submission_drop(struct pilots *p);

/* ---- pilot_endpoint.c ---- */

/* Nothing has to be asked before reach_endpoints. */
bool reach_is_known(const struct pilots *p, uid_t uid);
/* Has the user's key made, or looked after; done follows, whatever came of it, unless -1 with e
 * set. account has to last until then. */
int reach_ask(struct pilots *p, const struct account *account, const char *rights,
              void (*done)(void *context), void *context, struct err *e);
/* Addresses with commas between, in the order in which a pilot tries them. */
const char *reach_endpoints(const struct pilots *p, uid_t uid, struct arena *a);
void reach_forget(struct pilots *p);

/* ---- pilot_poll.c ---- */

/* At the rows of p that are to be looked at. */
void look_begin(struct pilots *p);
bool look_is_wanted(struct pilots *p, const struct pilot_row *row);
/* Has Slurm given its id to another job? */
bool look_is_other(const struct pilot_row *row, const struct slurm_job *job);
/* One of the array that row is of, whose submission was not answered; NULL: Slurm has none of it. */
const struct slurm_job *look_for_submitted(const struct slurm_answer *jobs,
                                           const struct pilot_row *row);
void look_drop(struct pilots *p);

#endif
