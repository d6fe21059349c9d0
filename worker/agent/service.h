/* SPDX-License-Identifier: MIT */
/*
 * service.h - a child that does one kind of work for all attempts of a user: stager, publisher, ...
 *
 * It is started when needed, and again, later each time, when it dies.  A lock ensures that there
 * are never two, not even beside one that an earlier agent left and that hangs.
 */
#ifndef LUDWIG_WORKER_AGENT_SERVICE_H
#define LUDWIG_WORKER_AGENT_SERVICE_H

#include <uv.h>

#include "common/proto/chan.h"
#include "worker/base/child_protocol.h"
#include "worker/base/child_start.h"

struct user;

struct service_events {
    /* A new child runs: send it all its work. */
    void (*up)(struct user *u);
    /* Takes a message of the child; re: the number of the order that it answers.  false: the child
     * must not send this type; it is killed. */
    bool (*take)(struct user *u, int type, const void *body, int64_t re);
};

struct service {
    const char *name;          /* "stager": in the log and in its lock's name */
    const char *mode;          /* CHILD_STAGER, ... */
    const struct owner *owner; /* the user for whom it works; the caller's */
    const char *address;       /* ludwigd's address, for sftplink.h; NULL: the child needs none */
    int extra_fd;              /* passed as CHILD_LISTEN_FD; 0, -1: nothing; the caller's */
    int dir_fd;                /* the folder of the lock; the caller's */
    uv_loop_t *loop;
    const struct service_events *events;
    struct user *user;
    struct chan *chan; /* NULL: there is no child */
    pid_t pid;         /* 0: none */
    uv_timer_t retry;
    uint64_t delay_ms;
    unsigned n_deaths; /* deaths of the child in a row; reset by the code that sees work done */
    struct arena *arena;
    bool is_needed;
    bool is_resting; /* the child was told to leave */
    bool is_closed;
};

/* s must be all zeroes; the caller then sets name, mode, owner, dir_fd, events and user. */
void service_init(struct service *s, uv_loop_t *loop);
void service_close(struct service *s);
/* Starts the child if it is not there; events.up follows, perhaps before this returns. */
void service_need(struct service *s);
/* The owner's scratch is known now: starts the child if it is needed. */
void service_go_on(struct service *s);
/* Sends the message and returns its number if the child is there; else starts the child, so that
 * events.up sends its work, and returns -1. */
int64_t service_send(struct service *s, int type, const void *body);
/* There is no more work: lets the child leave. */
void service_rest(struct service *s);
/* A child of the agent ended; returns true if it was this one. */
bool service_reaped(struct service *s, pid_t pid);

#endif
