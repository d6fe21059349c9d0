/* SPDX-License-Identifier: MIT */
/*
 * at_boot.h - a server of one's own that comes back after a reboot
 *
 * A unit of the user's own where systemd runs, else a line in the user's crontab; `ludwig up` is what both
 * run.  Both say on stderr what they did.
 */
#ifndef LUDWIG_CLIENT_SESSION_AT_BOOT_H
#define LUDWIG_CLIENT_SESSION_AT_BOOT_H

#include "common/base/err.h"

int at_boot_begin(struct err *e);
/* Undoes that; fine where there is nothing to undo. */
int at_boot_end(struct err *e);

#endif
