/* SPDX-License-Identifier: MIT */
/*
 * registry.h - attempts that this agent was given and has not yet settled, on disk
 *
 * A journal that is only appended to.  Additions are kept in memory until
 * registry_flush, which writes them with one write(2); a record that was torn by a
 * kill or a full disk is cut off at the next start.  The file is not synced: after a
 * reboot everything in it is lost anyway, and the boot id in its first record
 * tells.
 */
#ifndef LUDWIG_WORKER_AGENT_REGISTRY_H
#define LUDWIG_WORKER_AGENT_REGISTRY_H

#include "worker/base/child_protocol.h"

struct registry;

/* Resources that a process was given: as long as it may live, no other process gets them. */
struct given {
    struct token process; /* an attempt's, or a batch's */
    bool is_shared;       /* a batch's */
    const char *user;     /* the owner */
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes;
    struct list cpus; /* struct number */
    struct list gpus; /* struct gpu_entry */
    bool in_slurm;    /* no gpus: all that Slurm gave */
};

/* Called for the journal's records, in their order; arguments last until the call returns.  boot
 * and assigned may be NULL. */
struct registry_events {
    void (*boot)(void *context, const char *boot_id);
    /* order is in the arena, which is the receiver's from here on.  is_stale: from before the
     * machine's restart. */
    void (*assigned)(void *context, struct arena *a, const struct order *order, bool is_stale);
    void (*given)(void *context, const struct given *g);
    /* An attempt, or the process of a batch. */
    void (*gone)(void *context, const struct token *token);
};

/* Opens or creates the file and calls events for its records. */
struct registry *registry_open(const char *path, const struct registry_events *events,
                               void *context, struct err *e);
void registry_close(struct registry *r); /* NULL is fine; what was not flushed is dropped */
/* Calls events for the records of another agent's file, and changes nothing. */
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
/* Whether the file is large and mostly about attempts that are gone, or has something to be forgotten. */
bool registry_is_wasteful(const struct registry *r);

/* Writes the file anew: the boot id, and what add says with registry_assigned and _given. */
int registry_rewrite(struct registry *r, const char *boot_id,
                     int (*add)(void *context, struct registry *r, struct err *e), void *context,
                     struct err *e);

#endif
