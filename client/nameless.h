/* SPDX-License-Identifier: MIT */
/* nameless.h - a temporary file without a name, which goes with whoever has it open */
#ifndef LUDWIG_CLIENT_NAMELESS_H
#define LUDWIG_CLIENT_NAMELESS_H

#include "common/err.h"

/* In $TMPDIR, else in /var/tmp, else in /tmp; to read and write.  -1: it cannot be made. */
int nameless_open(struct err *e);

#endif
