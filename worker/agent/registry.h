/* SPDX-License-Identifier: MIT */
/*
 * registry.h - the journal, on disk, of attempts that the agent was given and has not yet settled
 *
 * Records are appended only.  They are kept in memory until registry_flush, which writes them with
 * one write(2); a record that was torn by a kill or a full disk is cut off at the next start.  The
 * file is not synced: after a reboot all attempts in it are lost anyway; the boot id in its first
 * record shows that.
 */
#ifndef LUDWIG_WORKER_AGENT_REGISTRY_H
#define LUDWIG_WORKER_AGENT_REGISTRY_H

#include "worker/base/child_protocol.h"

struct registry;

/* The resources that a process has; no other process gets them as long as it may live. */
struct given {
    struct token process; /* token of an attempt or of a shared batch */
    bool is_shared;       /* process is a shared batch's */
    const char *user;     /* the owner */
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes;
    struct list cpus; /* struct number */
    struct list gpus; /* struct gpu_entry */
    bool in_slurm;    /* in Slurm; then an empty gpus means all GPUs that Slurm gave */
};

/* Called for the journal's records in their order; arguments are valid until the call returns.
 * boot and assigned may be NULL. */
struct registry_events {
    void (*boot)(void *context, const char *boot_id);
    /* order lies in arena a, which is the receiver's from here on.  is_stale: the attempt was given
     * before the machine was restarted. */
    void (*assigned)(void *context, struct arena *a, const struct order *order, bool is_stale);
    void (*given)(void *context, const struct given *g);
    /* An attempt, or the process of a batch, is gone. */
    void (*gone)(void *context, const struct token *token);
};

/* Opens or creates the file and calls events for its records; NULL with e set on error. */
struct registry *registry_open(const char *path, const struct registry_events *events,
                               void *context, struct err *e);
void registry_close(struct registry *r); /* NULL is fine; what was not flushed is dropped */
/* Calls events for the records of another agent's file, without changing it. */
int registry_scan(const char *path, const struct registry_events *events, void *context,
                  struct err *e);

int registry_assigned(struct registry *r, const struct order *order, bool is_stale, struct err *e);
int registry_given(struct registry *r, const struct given *g, struct err *e);
int registry_gone(struct registry *r, const struct token *token, struct err *e);
/* Writes the added records.  On error none is in the file; they wait for the next flush, */
int registry_flush(struct registry *r, struct err *e);
/* unless they are dropped. */
void registry_drop(struct registry *r);

/* Marks the file to be rewritten soon: it has what a shell passed to an attempt that is gone. */
void registry_forget(struct registry *r);
/* Whether to rewrite the file: registry_forget marked it, or it is large and mostly out of date. */
bool registry_is_wasteful(const struct registry *r);

/* Replaces the file by a new one with the boot id and the records that add makes by
 * registry_assigned and registry_given; on error the old one stays. */
int registry_rewrite(struct registry *r, const char *boot_id,
                     int (*add)(void *context, struct registry *r, struct err *e), void *context,
                     struct err *e);

#endif
