/* SPDX-License-Identifier: MIT */
/*
 * spool.h - temporary files, and what was read once, to be looked at several times
 *
 * A copy without a name in $TMPDIR, mapped: standard input can be one, nobody changes it between
 * one look and the next, and memory does not grow with it.
 */
#ifndef LUDWIG_CLIENT_UTIL_SPOOL_H
#define LUDWIG_CLIENT_UTIL_SPOOL_H

#include "common/base/buf.h"
#include "common/base/err.h"

#define SPOOL_STDIN "<stdin>"

/* $TMPDIR if that is an absolute path, else /var/tmp, else /tmp. */
const char *temp_file_folder(void);
/* A file without a name there, to read and write, which goes when it is closed.  -1: it cannot be
 * made. */
int temp_file_open(struct err *e);

struct spool {
    struct bytes text; /* with a NUL behind it */
};

/* Takes the file, or standard input for "-", to its end.  ERR_USAGE: it cannot be read. */
int spool_read(struct spool *s, const char *path, struct err *e);
void spool_free(struct spool *s); /* also zero-initialised */
/* What messages call it. */
const char *spool_name(const char *path);

#endif
