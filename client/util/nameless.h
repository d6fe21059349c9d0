/* SPDX-License-Identifier: MIT */
/* nameless.h - a temporary file without a name, which goes with whoever has it open */
#ifndef LUDWIG_CLIENT_UTIL_NAMELESS_H
#define LUDWIG_CLIENT_UTIL_NAMELESS_H

#include "common/base/err.h"

/* $TMPDIR if that is an absolute path, else /var/tmp, else /tmp. */
const char *nameless_folder(void);
/* There; to read and write.  -1: it cannot be made. */
int nameless_open(struct err *e);

#endif
