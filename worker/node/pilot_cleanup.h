/* SPDX-License-Identifier: MIT */
/*
 * pilot_cleanup.h - removes the folders of killed pilots on this machine
 *
 * A pilot's first process holds a lock in each of its folders as long as it lives, and a pilot that
 * leaves removes them.  If it could not, the next worker of the same user here does, be it a pilot
 * or not, or `ludwig doctor --clean`: the jobs that the pilot ran were lost and run again; results
 * that it did not publish are published first.  Only locks say which pilots are alive.
 */
#ifndef LUDWIG_WORKER_NODE_PILOT_CLEANUP_H
#define LUDWIG_WORKER_NODE_PILOT_CLEANUP_H

#include "worker/base/folders.h"

/* Makes the folder if need be, locks it and returns a descriptor, which keeps the lock while it is
 * open.  -1 with e set: after 2 s another process still has it, or there can be no lock. */
int pilot_cleanup_claim(const char *folder, struct err *e);

/* How leftovers are treated. */
struct pilot_cleanup {
    bool only_looks; /* removes nothing */
    /* Brings results from the folder to the share; -1 with e set: not now.  NULL: it has none. */
    int (*publish)(const char *folder, const char *address, struct err *e);
    const char *address; /* passed to publish */
    /* Called for each folder that was removed or, with only_looks, would be; may be NULL. */
    void (*tell)(const char *folder);
};

/* Removes the folders whose paths are prefix and the id of a Slurm job, and in which no process
 * holds a lock: neither a pilot nor an agent or runner, whose locks lie up to two folders deeper.
 * A folder whose results cannot be published stays for two weeks. */
void pilot_cleanup_remove(const char *prefix, const struct pilot_cleanup *how);

/* Starts a child that does so for pilots_scratch and pilots_runtime, and does not wait for it. */
void pilot_cleanup_start(const struct folders *p, const char *address);
/* Does so in this process; scratch: the setting of config.yaml, or NULL. */
int pilot_cleanup_here(const char *scratch, const struct pilot_cleanup *how, struct err *e);
/* The child, --leftovers SCRATCH RUNTIME ADDRESS: the two prefixes, and the address for publish. */
int pilot_cleanup_main(int argc, char **argv, const struct pilot_cleanup *how);

#endif
