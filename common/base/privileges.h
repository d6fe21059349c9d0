/* SPDX-License-Identifier: MIT */
/*
 * privileges.h - a process that was root becomes a user, for good
 */
#ifndef LUDWIG_COMMON_BASE_PRIVILEGES_H
#define LUDWIG_COMMON_BASE_PRIVILEGES_H

#include "common/base/account.h"

/* "UID:GID:GROUP,GROUP,...": as a child is told whom to become.  Caller frees. */
char *privileges_text(const struct account *a);

/*
 * Takes the user's uid, gid and groups in place of ours, in every form the kernel knows of
 * them, and all capabilities go.  Nobody else of that user can look into this process then, as
 * it was root's: no debugger, no /proc/PID/mem.
 */
int privileges_take(const char *text, struct err *e);

#endif
