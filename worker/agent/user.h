/* SPDX-License-Identifier: MIT */
/*
 * user.h - the users whose jobs this agent runs, and what it keeps for each of them
 *
 * Each user has children, a scratch folder, a cache and delays of their own, so that a user whose
 * share hangs or whose scratch is full holds up no other user.  A worker that runs all jobs as
 * itself has one struct user for all of them.
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

/* A tree that jobs of the user need: LATER means that the stager failed and is asked again. */
enum tree_state { TREE_UNKNOWN, TREE_ASKED, TREE_THERE, TREE_LATER };

struct tree {
    struct dataset set;
    enum tree_state state;
    char *project; /* the project whose packs hold the tree */
    char *share;
    uint64_t due_at;   /* LATER: when to ask again, by the loop's clock */
    uint64_t delay_ms; /* LATER: the last delay */
    bool is_held;      /* the stager was asked for it, and keeps it until it is released */
    bool is_doubted;   /* a file in it may have been changed: the next order says so */
    bool is_guarded;   /* THERE: guard_fd tells of changes in it */
    uint64_t looked_at;
    int64_t order_seq; /* number of the newest order: answers to earlier ones are ignored */
};

/* Datasets of a job that ludwigd may give next; the stager brings them when it has time. */
struct expected {
    char *project;
    struct dataset *sets;
    size_t n;    /* 0: nothing is expected, or the stager is done */
    int64_t seq; /* number of the order; 0: not sent yet, as the stager is not there */
};

enum user_state { USER_UNKNOWN, USER_ASKED, USER_KNOWN, USER_REFUSED };

struct user;

/* What happens to users; agent.user_events must be set before the first user is made. */
struct user_events {
    void (*named)(struct user *u, uid_t uid); /* its uid is known; before its stager starts */
    void (*known)(struct user *u);
    void (*refused)(struct user *u);
    bool (*is_busy)(const struct user *u); /* has it work that user.c does not know of? */
    void (*gone)(struct user *u);          /* the user is about to be freed */
    const struct service_events *stager, *publisher, *janitor, *packer;
};

struct user {
    struct ring ring; /* in agent.users */
    struct agent *agent;
    char *name; /* as ludwigd says; NULL: all users, whose jobs run as the agent's own user */
    enum user_state state;
    char *why;          /* REFUSED: why none of its jobs can run here */
    bool is_gone;       /* REFUSED: nor can anything be done about jobs that ran here before */
    struct owner owner; /* the rights of its children, and its scratch */
    struct child_question account; /* asks for the user's account on this machine */
    uv_timer_t account_timer;      /* asks for the account again */
    uint64_t account_delay_ms;
    uv_timer_t rest_timer;

    struct service stager;
    struct service publisher;
    struct service janitor;
    struct service packer;
    struct tree *trees;
    size_t n_trees, trees_capacity;
    bool is_check_due; /* check which batches are ready, once no event is left */
    uv_timer_t staging_timer;
    struct expected expected;
    struct cache_news cached;
    int guard_fd; /* inotify: changes in trees that jobs use; -1: there is none */
    uv_poll_t guard;

    uint64_t pause_ms; /* pause since the last attempts could not be started; 0: no failure */
    char *pause_why;
    uv_timer_t pause_timer;

    bool is_surveying;        /* the janitor is listing what lies on its scratch */
    bool is_surveyed;         /* the janitor has done so */
    size_t n_foreign;         /* attempts of other servers that the survey has named so far */
    uv_timer_t janitor_timer; /* lets the janitor leave when there is nothing more to ask */
    uv_timer_t survey_timer;

    struct token *leftovers; /* attempts on scratch that nobody holds: to be discarded */
    size_t n_leftovers, n_leftovers_sent, leftovers_capacity;
};

/* Returns the address at which publishers and stagers reach the share's files over SSH, or "". */
const char *user_share_address(const struct conf *c);
/* Makes the user whose children run as the agent's own user, with this scratch folder. */
struct user *user_create_self(struct agent *ag, const char *scratch);
/* Returns the user of this name, which is NULL if ludwigd did not say it; makes it if need be. */
struct user *user_of(struct agent *ag, const char *name);
/* Makes and looks up all users for whom earlier agents ran jobs: those may have left something. */
void user_recall_all(struct agent *ag);
/* Returns the user's next attempt behind `after` (NULL: its first); NULL: there is none.  Between
 * two calls no attempt may be removed. */
struct attempt *user_next(const struct user *u, const struct attempt *after);

/* Returns the attempt with this token if it is the user's; else NULL. */
struct attempt *user_attempt(const struct user *u, const struct token *token);

/* Asks for the user's account if it is unknown; events.known or events.refused follows, perhaps
 * before this returns. */
void user_lookup(struct user *u);

/* Leftovers on the user's scratch are listed until the publisher says that they are gone, as a new
 * publisher must be asked again.  user_discard_leftovers sends those that were not sent yet. */
void user_add_leftover(struct user *u, const struct token *token);
void user_discard_leftovers(struct user *u);
void user_forget_leftover(struct user *u, const struct token *token);

/* The user may have nothing to do any more: if so a minute later, its children leave. */
void user_may_rest(struct user *u);
/* Closes the user's children; the agent closes its timers; memory lasts until user_free. */
void user_close(struct user *u);
void user_free(struct user *u);

/* A child of the agent ended; returns true if it was one of the user's. */
bool user_reaped(struct user *u, pid_t pid);

#endif
