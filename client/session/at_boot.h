/* SPDX-License-Identifier: MIT */
/*
 * at_boot.h - has the user's own server started again after a reboot
 *
 * `ludwig up` is run by a unit of the user's own where systemd runs, else by a line in the user's
 * crontab.  The functions say on stderr what they did.
 */
#ifndef LUDWIG_CLIENT_SESSION_AT_BOOT_H
#define LUDWIG_CLIENT_SESSION_AT_BOOT_H

#include "common/base/err.h"

int at_boot_begin(struct err *e);
/* Undoes at_boot_begin; fine where there is nothing to undo. */
int at_boot_end(struct err *e);

#endif
