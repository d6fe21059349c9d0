/* SPDX-License-Identifier: MIT */
/* temp_file.h - a temporary file without a name, which goes with whoever has it open */
#ifndef LUDWIG_CLIENT_UTIL_TEMP_FILE_H
#define LUDWIG_CLIENT_UTIL_TEMP_FILE_H

#include "common/base/err.h"

/* $TMPDIR if that is an absolute path, else /var/tmp, else /tmp. */
const char *temp_file_folder(void);
/* There; to read and write.  -1: it cannot be made. */
int temp_file_open(struct err *e);

#endif
