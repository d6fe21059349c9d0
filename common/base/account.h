/* SPDX-License-Identifier: MIT */
/*
 * account.h - who a user of ludwigd's is on this machine, matched by name, and how a process that was
 * root becomes it, for good
 *
 * Asking the user database may take seconds or hang (LDAP, NIS), so a child asks.
 */
#ifndef LUDWIG_COMMON_BASE_ACCOUNT_H
#define LUDWIG_COMMON_BASE_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/err.h"

struct account {
    char *name;
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* all of them */
    size_t n_groups;
    char *home; /* as the database says; it may not exist here */
    char *shell;
};

/* ERR_NOT_FOUND: nobody has this name.  ERR_DENIED: no jobs are run for it, as its uid is below
 * min_uid or its name cannot be a folder's.  Anything else may be better the next time. */
int account_find(const char *name, int64_t min_uid, struct account *a, struct err *e);
void account_free(struct account *a);

/* Is it what this process's own account is called, here or by ludwigd ("#1234")? */
bool account_is_own_name(const char *name);

/* "UID:GID:GROUP,GROUP,...": as a child is told whom to become.  Caller frees. */
char *account_rights(const struct account *a);

/*
 * Takes the user's uid, gid and groups in place of ours, in every form the kernel knows of
 * them, and all capabilities go.  Nobody else of that user can look into this process then, as
 * it was root's: no debugger, no /proc/PID/mem.
 */
int account_become(const char *text, struct err *e);

#endif
