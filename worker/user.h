/* SPDX-License-Identifier: MIT */
/*
 * user.h - those whose jobs this agent runs, and what it keeps for each of them
 *
 * Each has children, a scratch folder, a cache and worries of its own, so that one whose
 * share hangs or whose scratch is full keeps nobody else waiting.  A worker that cannot
 * change its uid has one user for all jobs: itself.
 */
#ifndef LUDWIG_WORKER_USER_H
#define LUDWIG_WORKER_USER_H

#include "worker/attempts.h"
#include "worker/children.h"
#include "worker/service.h"
#include "worker/staging.h"

struct agent;

struct user {
    struct ring ring; /* among the agent's */
    struct agent *agent;
    char *name;         /* as ludwigd says; NULL: anybody, and the jobs run as ourselves */
    struct owner owner; /* with whose rights its children run, and where */
    struct service stager;
    struct service publisher;
    struct service clerk;
    struct staging staging;
    uv_timer_t staging_timer;

    uint64_t pause_ms; /* the last attempts could not be started: the pause since; or 0 */
    uv_timer_t pause_timer;

    bool is_surveying;      /* what lies on its scratch is being listed */
    bool is_surveyed;       /* it was */
    size_t n_strangers;     /* that the list has named so far */
    uv_timer_t clerk_timer; /* the clerk leaves when there is nothing more to ask */
    uv_timer_t survey_timer;

    struct token *leftovers; /* nobody's any more, still on scratch: to be discarded */
    size_t n_leftovers, n_leftovers_sent, leftovers_capacity;
};

/* Whose children run as ourselves, with this scratch folder. */
struct user *user_create_self(struct agent *ag, const char *scratch);
/* The user of this name; made when there is none. */
struct user *user_of(struct agent *ag, const char *name);
/* Closes what it has on the loop; its memory lasts until user_free. */
void user_close(struct user *u);
void user_free(struct user *u);
/* A child of ours ended; true if it was one of these. */
bool user_reaped(struct user *u, pid_t pid);

#endif
