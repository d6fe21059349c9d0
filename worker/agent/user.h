/* SPDX-License-Identifier: MIT */
/*
 * user.h - the users whose jobs this agent runs, and what it keeps for each of them
 *
 * Each user has children, a scratch folder, a cache and worries of their own, so that a user
 * whose share hangs or whose scratch is full keeps no other waiting.  A worker that runs jobs as
 * itself has one user for them all.
 *
 *   unknown ─▶ asked ─▶ known ─nothing to do─▶ unknown
 *                └─────▶ refused ─asked again, later─▶ known
 */
#ifndef LUDWIG_WORKER_AGENT_USER_H
#define LUDWIG_WORKER_AGENT_USER_H

#include "worker/agent/attempts.h"
#include "worker/agent/cache_news.h"
#include "worker/agent/child_question.h"
#include "worker/agent/service.h"
#include "worker/base/child_start.h"
#include "worker/base/conf.h"

struct agent;

/* A tree that jobs of this user need: whether it lies in the cache, or is on its way there. */
enum tree_state { TREE_UNKNOWN, TREE_ASKED, TREE_THERE, TREE_LATER };

struct tree {
    struct dataset set;
    enum tree_state state;
    char *project; /* whose packs hold it */
    char *share;
    uint64_t due_at;   /* LATER: by the loop's clock */
    uint64_t delay_ms; /* LATER */
    bool is_held;      /* the stager takes it for used, until it is released */
    bool is_doubted;   /* a file may have been changed: the next order says so */
    bool is_guarded;   /* THERE: we are told of changes in it */
    uint64_t looked_at;
    int64_t order_seq; /* of the newest order: answers to earlier ones do not count */
};

/* Datasets of a job that may come, which the stager brings when it has time. */
struct expected {
    char *project;
    struct dataset *sets;
    size_t n;    /* 0: nothing is expected, or it is over */
    int64_t seq; /* of the order; 0: the stager is not there yet */
};

enum user_state { USER_UNKNOWN, USER_ASKED, USER_KNOWN, USER_REFUSED };

struct user;

/* Events of a user; the agent has them when the first user is made. */
struct user_events {
    void (*named)(struct user *u, uid_t uid); /* before its stager may start */
    void (*known)(struct user *u);
    void (*refused)(struct user *u);
    bool (*is_busy)(const struct user *u); /* with more than is looked at here */
    void (*gone)(struct user *u);          /* nothing of it is used after this */
    const struct service_events *stager, *publisher, *janitor, *packer;
};

struct user {
    struct ring ring; /* among the agent's */
    struct agent *agent;
    char *name; /* as ludwigd says; NULL: any user, and the jobs run as ourselves */
    enum user_state state;
    char *why;                     /* REFUSED: none of its jobs can run here */
    bool is_gone;                  /* REFUSED: jobs that did run cannot be looked after, either */
    struct owner owner;            /* the rights of its children, and their folder */
    struct child_question account; /* asks for its account */
    uv_timer_t account_timer;      /* when that is asked again */
    uint64_t account_delay_ms;
    uv_timer_t rest_timer;

    struct service stager;
    struct service publisher;
    struct service janitor;
    struct service packer;
    struct tree *trees;
    size_t n_trees, trees_capacity;
    bool is_check_due; /* whether jobs are ready: when no event is left */
    uv_timer_t staging_timer;
    struct expected expected;
    struct cache_news cached;
    int guard_fd; /* inotify of the user's: changes of trees that jobs use; -1: there is none */
    uv_poll_t guard;

    uint64_t pause_ms; /* the last attempts could not be started: the pause since; or 0 */
    char *pause_why;
    uv_timer_t pause_timer;

    bool is_surveying;        /* what lies on its scratch is being listed */
    bool is_surveyed;         /* it was */
    size_t n_foreign;         /* that the survey has named so far */
    uv_timer_t janitor_timer; /* the janitor leaves when there is nothing more to ask */
    uv_timer_t survey_timer;

    struct token *leftovers; /* without an owner, still on scratch: to be discarded */
    size_t n_leftovers, n_leftovers_sent, leftovers_capacity;
};

/* The address at which publishers and stagers reach the share's files over SSH, or "". */
const char *user_share_address(const struct conf *c);
/* Makes a user whose children run as ourselves, with this scratch folder. */
struct user *user_create_self(struct agent *ag, const char *scratch);
/* The user of this name, NULL: not said; made when there is none. */
struct user *user_of(struct agent *ag, const char *name);
/* Makes users for whom earlier agents ran jobs: they may have left something. */
void user_recall_all(struct agent *ag);
/* The first of its attempts behind this one, NULL: of all; NULL when there is none.  No attempt may
 * be removed meanwhile. */
struct attempt *user_next(const struct user *u, const struct attempt *after);

/* The attempt with this token, if it is one of this user's; else NULL. */
struct attempt *user_attempt(const struct user *u, const struct token *token);

/* Asks for the user's account if that is not known; sooner or later events.known or refused
 * follows. */
void user_lookup(struct user *u);

/* Leftovers on the user's scratch are listed until the publisher says that they are gone: a new
 * publisher may have to be asked. */
void user_add_leftover(struct user *u, const struct token *token);
void user_discard_leftovers(struct user *u);
void user_forget_leftover(struct user *u, const struct token *token);

/* The user may have nothing to do any more: then its children leave after a while. */
void user_may_rest(struct user *u);
/* Closes what it has on the loop; its memory lasts until user_free. */
void user_close(struct user *u);
void user_free(struct user *u);

/* A child of ours ended; true if it was one of the user's. */
bool user_reaped(struct user *u, pid_t pid);

#endif
