/* SPDX-License-Identifier: MIT */
/*
 * spool.h - temporary files, and copies of inputs that are read several times
 *
 * A copy is a mapped file without a name in $TMPDIR: so standard input can be read several times,
 * no other process changes it meanwhile, and memory does not grow with it.
 */
#ifndef LUDWIG_CLIENT_UTIL_SPOOL_H
#define LUDWIG_CLIENT_UTIL_SPOOL_H

#include "common/base/buf.h"
#include "common/base/err.h"

#define SPOOL_STDIN "<stdin>"

/* Returns $TMPDIR if that is an absolute path, else /var/tmp, else /tmp. */
const char *temp_file_folder(void);
/* Opens a new file without a name there, which vanishes when it is closed; -1 with e set. */
int temp_file_open(struct err *e);

struct spool {
    struct bytes text; /* a NUL follows it */
};

/* Copies the file, or standard input for "-", to its end.  ERR_USAGE: it cannot be read. */
int spool_read(struct spool *s, const char *path, struct err *e);
/* Copies a text that is in memory. */
int spool_text(struct spool *s, const char *text, size_t n, struct err *e);
void spool_free(struct spool *s); /* a zero-initialised s is fine */
/* Returns what messages call the file at path. */
const char *spool_name(const char *path);

#endif
