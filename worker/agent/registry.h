/* SPDX-License-Identifier: MIT */
/*
 * registry.h - what this agent was given and has not yet settled, on disk
 *
 * A journal that is only appended to.  What is added is kept in memory until
 * registry_flush, which writes it with one write(2); a record that was torn by a
 * kill or a full disk is cut off at the next start.  It is not synced: after a
 * reboot everything in it is lost anyway, and the boot id in its first record
 * tells.
 */
#ifndef LUDWIG_WORKER_AGENT_REGISTRY_H
#define LUDWIG_WORKER_AGENT_REGISTRY_H

#include "worker/base/child_protocol.h"

struct registry;

/* A process was given these: as long as it may live, nobody else gets them. */
struct given {
    struct token process; /* an attempt's, or a batch's */
    bool is_shared;       /* a batch's */
    const char *user;     /* whose it is */
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes;
    struct list cpus; /* struct number */
    struct list gpus; /* struct gpu_entry */
    bool in_slurm;    /* no gpus: all that Slurm gave */
};

/* What the journal says, in its order; what they are told lasts until they return.  boot and assigned
 * may be NULL. */
struct registry_events {
    void (*boot)(void *context, const char *boot_id);
    /* order is in the arena, which is the receiver's from here on.  is_stale: of a time before the
     * machine was restarted */
    void (*assigned)(void *context, struct arena *a, const struct order *order, bool is_stale);
    void (*given)(void *context, const struct given *g);
    /* An attempt, or the process of a batch. */
    void (*gone)(void *context, const struct token *token);
};

/* Opens or creates the file and tells what it says. */
struct registry *registry_open(const char *path, const struct registry_events *events,
                               void *context, struct err *e);
void registry_close(struct registry *r); /* NULL is fine; what was not flushed is dropped */
/* Tells what another's file says, and changes nothing. */
int registry_scan(const char *path, const struct registry_events *events, void *context,
                  struct err *e);

int registry_assigned(struct registry *r, const struct order *order, bool is_stale, struct err *e);
int registry_given(struct registry *r, const struct given *g, struct err *e);
int registry_gone(struct registry *r, const struct token *token, struct err *e);
/* Nothing was written when it fails; what was added waits for the next time, */
int registry_flush(struct registry *r, struct err *e);
/* unless it is dropped. */
void registry_drop(struct registry *r);

/* What was passed from a shell to an attempt that is gone is not to stay in the file. */
void registry_forget(struct registry *r);
/* Large, and mostly about attempts that are gone, or with something to be forgotten. */
bool registry_is_wasteful(const struct registry *r);

/* Writes the file anew: the boot id, and what add says with registry_assigned and _given. */
int registry_rewrite(struct registry *r, const char *boot_id,
                     int (*add)(void *context, struct registry *r, struct err *e), void *context,
                     struct err *e);

#endif
