/* SPDX-License-Identifier: MIT */
/*
 * pilot_cleanup.h - removes the folders of killed pilots on this machine
 *
 * A pilot's folders are its own as long as its first process lives, which holds a lock in each; a
 * pilot that leaves removes them.  If it could not, the next worker of the same user here does, be
 * it a pilot or not, and `ludwig doctor --clean`: the pilot's running jobs were lost and run again;
 * results that it did not publish any more are published first.  Locks alone say which pilots are
 * alive.
 */
#ifndef LUDWIG_WORKER_NODE_PILOT_CLEANUP_H
#define LUDWIG_WORKER_NODE_PILOT_CLEANUP_H

#include "worker/base/folders.h"

/* Takes the folder, which it makes if need be, for as long as the returned descriptor is open.  -1
 * with e set: another process has the folder, or there are no locks on its file system. */
int pilot_cleanup_claim(const char *folder, struct err *e);

/* What is done about a leftover. */
struct pilot_cleanup {
    bool only_looks; /* nothing is removed */
    /* Brings what has ended well in the folder to the share; -1 with e set: it could not. */
    int (*publish)(const char *folder, const char *address, struct err *e);
    const char *address; /* for publish */
    /* Hears of each folder that was removed, or would be; NULL: nobody does. */
    void (*tell)(const char *folder);
};

/* Removes the folders whose paths are the prefix and the id of a Slurm job, and that no process
 * holds: neither the pilot nor an agent or a runner of its, whose locks may lie two folders
 * deeper.  A folder whose results cannot be published stays for two weeks. */
void pilot_cleanup_remove(const char *prefix, const struct pilot_cleanup *how);

/* Does so for both prefixes in a process of its own, which is not waited for. */
void pilot_cleanup_start(const struct folders *p, const char *address);
/* Does so at once, when a user asks for it; scratch: as config.yaml has it, or NULL. */
int pilot_cleanup_here(const char *scratch, const struct pilot_cleanup *how, struct err *e);
/* --leftovers SCRATCH RUNTIME ADDRESS: the two prefixes, and what publish is given. */
int pilot_cleanup_main(int argc, char **argv, const struct pilot_cleanup *how);

#endif
