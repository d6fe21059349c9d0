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

/* A pool whose pilots failed, and is left alone for a while. */
struct backoff {
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

enum { SUBMISSIONS_MAX = 8 }; /* at once, one of a user */

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
    struct look *look;
    struct submission *submissions[SUBMISSIONS_MAX]; /* under way; NULL: none */
    struct pilot_key *keys;
    size_t n_keys, keys_capacity;
    struct arena *arena; /* holds what was read when `think` last ran */
    struct pilot_rows rows;
    int64_t begun_at_ms, thought_at_ms, forgotten_at_ms;
    int64_t look_at_ms, looked_at_ms, look_every_ms; /* look_at_ms 0: no look is due */
    int64_t looked_to; /* last row of a look that had no room for more; 0: it had all rows */
    int64_t away_ends_ms, away_failures; /* Slurm did not answer: no command before away_ends_ms */
    char *away_why;
    struct backoff *backoffs;
    size_t n_backoffs, backoffs_capacity;
    /* Pilots to cancel, as they are not needed or can never start: owner and id of each, each with
     * a NUL.  The owner "" is ludwigd's own account. */
    struct buf cancel;
    size_t cancelling_bytes; /* length of cancel when the scancel under way began */
};

/* ---- pilot_calls.c ---- */

/* Runs a Slurm command for which the caller took a token; NULL with e set if that fails. */
struct slurm_call *pilots_run(struct pilots *p, const struct slurm_command *command,
                              slurm_done_fn done, void *context, struct err *e);
/* Takes a token and runs the command; NULL with e set also when there is no token (ERR_BUSY). */
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
/* Adds the row's job in Slurm to those that the next scancel ends. */
void pilots_cancel(struct pilots *p, const struct pilot_row *row, const char *job);

/* Slurm does not answer: all commands wait, longer each time.  why NULL: Slurm answers again. */
void pilots_away(struct pilots *p, const char *why);
/* Whether a failed submission shows that Slurm answers nobody.  was_run: sbatch was run.  is_own:
 * as ludwigd's account; sbatch of another user, who can stop it and have it say anything, tells of
 * that user's pool alone, until a command of ludwigd's own fails, too. */
bool pilots_are_all_away(enum slurm_failure failure, bool was_run, bool is_own);
/* A pilot of the pool failed: the pool waits, longer each time.  has_died: after Slurm took it. */
void pilots_back_off(struct pilots *p, int64_t pool, bool has_died, const char *why);
/* Slurm has accepted a pilot of the pool: ends a back-off unless accepted pilots died. */
void pilots_submitted(struct pilots *p, int64_t pool);
/* Slurm refused the row's array as too many pilots: backs off, and half as many are tried next. */
void pilots_full(struct pilots *p, const struct pilot_row *row, const char *why);
/* Whether the pool backs off now; plans p->think for the end of that. */
bool pilots_is_backing_off(struct pilots *p, int64_t pool, uid_t uid);
/* The pool's backoff; NULL: nothing is wrong with its pilots. */
struct backoff *pilots_find_backoff(struct pilots *p, int64_t pool);

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

/* A user whose sbatch, account or home hangs delays only that user's own pilots. */

/* Whether none of that user's submissions is under way, and fewer than SUBMISSIONS_MAX in all. */
bool submission_may_begin(const struct pilots *p, uid_t uid);
/* In a turn: submits, after the turn, all pilots whose rows have this row's token.  Call it only if
 * submission_may_begin and there is a token for sbatch. */
int submission_begin(struct pilots *p, const struct pilot_row *row, struct err *e);
/* Whether the row's pilot is being submitted: until that is over nothing is known of it. */
bool submission_has(const struct pilots *p, const struct pilot_row *row);
void submissions_drop(struct pilots *p);

/* ---- pilot_endpoint.c ---- */

/* Whether reach_endpoints can be called without reach_ask before. */
bool reach_is_known(const struct pilots *p, uid_t uid);
/* Starts a process that makes or checks the user's key (pilotkey.h); done has to give the result to
 * reach_take, whatever it is.  NULL with e set when nothing could be started. */
struct slurm_call *reach_ask(struct pilots *p, const struct account *account, const char *rights,
                             slurm_done_fn done, void *context, struct err *e);
void reach_take(struct pilots *p, const struct account *account, struct slurm_result *result);
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
