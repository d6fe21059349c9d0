/* SPDX-License-Identifier: MIT */
/*
 * share_probe.h - asks a child whether ludwigd's share is to be seen on this machine as well
 *
 * It may lie on a network file system that hangs, which must not stop the agent.
 */
#ifndef LUDWIG_WORKER_AGENT_SHARE_PROBE_H
#define LUDWIG_WORKER_AGENT_SHARE_PROBE_H

#include <uv.h>

#include "common/proto/chan.h"

struct share_probe {
    uv_loop_t *loop;
    void (*answered)(void *context, bool is_here);
    void *context;
    struct chan *chan; /* NULL: nobody is asked */
    pid_t pid;         /* 0: none */
    uv_timer_t timer;
    struct arena *arena;
};

void share_probe_init(struct share_probe *x, uv_loop_t *loop,
                      void (*answered)(void *context, bool is_here), void *context);
void share_probe_close(struct share_probe *x);
/* answered follows, perhaps before this returns; who does not answer does not see it. */
void share_probe_start(struct share_probe *x, const char *path, const char *server_id);
/* A child of ours ended; true if it was this one. */
bool share_probe_reaped(struct share_probe *x, pid_t pid);

/* Whether the folder's .ludwig/id names that server.  Waits for the file system. */
bool share_is_of(const char *path, const char *server_id);
/* --share PATH SERVER_ID: answers with one NOTE_SHARE. */
int share_probe_main(int argc, char **argv);

#endif
