/* SPDX-License-Identifier: MIT */
/*
 * runners_life.h - one runner's folder, process and connection; for runners.c alone
 */
#ifndef LUDWIG_WORKER_AGENT_RUNNERS_LIFE_H
#define LUDWIG_WORKER_AGENT_RUNNERS_LIFE_H

#include "worker/agent/runners.h"

struct runner {
    struct ring ring;
    struct ring idle;
    struct runners *all;
    char *name; /* runner.N */
    char *user; /* whose jobs it runs, as in struct owner */
    char *cage; /* see cage.h; NULL: it is in none */
    int dir_fd;
    pid_t pid;            /* 0: not a child of ours, or reaped */
    struct chan *chan;    /* NULL: being looked for, or leaving */
    struct batch *batch;  /* NULL: none, or not known */
    struct token process; /* what it runs; zero: nothing */
    uint64_t idle_since;
    bool is_unknown;  /* adopted, and has not said what it runs */
    bool is_leaving;  /* idle, told to go */
    uv_timer_t check; /* while it is not known whether it lives */
    uint64_t check_ms;
};

/* What comes over its connection; runners.c. */
extern const struct chan_events runner_chan_events;

/* Makes folder, lock, process and connection. */
struct runner *runner_start(struct runners *rs, const struct owner *owner, struct err *e);
/* Lets go of it, whether it lives or not. */
void runner_forget(struct runner *r);
/* There is no connection: is it gone, or does it listen again?  Looks until one is certain. */
void runner_look_for(struct runner *r);

#endif
