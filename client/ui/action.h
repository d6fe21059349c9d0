/* SPDX-License-Identifier: MIT */
/*
 * action.h - carries out the changes that the live page requests, as the commands do
 *
 * The page sends JSON of one of these forms:
 *
 *     {"do": "cancel", "targets": ["7.1-40,50"], "finish": true}   like cancel --drain
 *     {"do": "retry", "targets": ["7.1-40,50"], "stopped": true}   like retry --stopped
 *     {"do": "pause", "targets": ["7.1-40,50"]}                    also resume
 *     {"do": "drain", "nodes": ["hoff"]}                           also undrain
 */
#ifndef LUDWIG_CLIENT_UI_ACTION_H
#define LUDWIG_CLIENT_UI_ACTION_H

#include "client/session/rpc.h"

struct action {
    int verb;            /* index in the table verbs in action.c */
    struct list targets; /* struct target, in order, each job once */
    struct list nodes;   /* const char * */
    bool finish;         /* for cancel: running jobs may finish */
    bool stopped;        /* for retry: retry jobs that were stopped early */
};

/* Reads the page's JSON; texts and lists live in the arena.  Returns 0, or -1 with e set to
 * ERR_USAGE if the JSON has none of the forms above. */
int action_read(struct bytes json, struct arena *a, struct action *action, struct err *e);
/* Makes the change and appends {"v":1,"jobs":N,"said":"3 jobs cancelled"} or, for drain and
 * undrain, {"v":1,"nodes":N,"running":N,"said":"..."}.  Returns 0, or -1 with e set. */
int action_do(struct rpc *rpc, const struct action *action, struct buf *out, struct err *e);

#endif
