/* SPDX-License-Identifier: MIT */
/*
 * account.h - the account of one of ludwigd's users on this machine, found by name, and how root's
 * process becomes that user for good
 *
 * The user database may take seconds to answer or hang (LDAP, NIS), so a child asks it.
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

/* Fills *a, which the caller frees with account_free.  ERR_NOT_FOUND: no account has this name.
 * ERR_DENIED: the account may run no jobs, as its uid is below min_uid or nobody's, or its name
 * cannot be a folder's.  After any other error a later try may succeed. */
int account_find(const char *name, int64_t min_uid, struct account *a, struct err *e);
void account_free(struct account *a);

/* The uid of the account, or of "#1234", which an account without a name is called.  May wait for
 * the user database.  ERR_NOT_FOUND: no account has this name. */
int account_uid(const char *name, uid_t *uid, struct err *e);

/* Whether the name is that of this process's own account, here or for ludwigd ("#1234"). */
bool account_is_own_name(const char *name);

/* "UID:GID:GROUP,GROUP,...", which tells a child which account to become.  Caller frees. */
char *account_rights(const struct account *a);

/*
 * Takes the uid, gid and groups of text (from account_rights) in place of root's, the real,
 * effective and saved ones, and so drops all capabilities.  Other processes of that user cannot
 * look into this process then, as it was root's: no debugger, no /proc/PID/mem.
 */
int account_become(const char *text, struct err *e);

#endif
