/* SPDX-License-Identifier: MIT */
/* scratch_place.h - which local folder a worker takes for scratch, and whether it is safe there */
#ifndef LUDWIG_COMMON_PROTO_SCRATCH_PLACE_H
#define LUDWIG_COMMON_PROTO_SCRATCH_PLACE_H

#include "common/base/err.h"

/*
 * Refuses path if other users could rename or replace our entries in it or in a folder above it.
 * user NULL: only root and our user may have that right.  Else the owner of such a folder and its
 * group may have it, too, but a folder with the name of user must belong to that user or to root.
 */
int scratch_place_check(const char *path, const char *user, struct err *e);

/* Returns the name that folders of this process's user carry: the name of the account, or the uid
 * where the account has none or its name cannot be a file's.  The caller frees it. */
char *scratch_place_user(void);

/*
 * Returns the folder that a worker takes where the setting scratch: names none: the first one of
 * $SLURM_TMPDIR, $SCRATCH, $TMPDIR, /tmp and /var/tmp that can be written into, that
 * scratch_place_check() does not refuse, and that is on a local disk; else the first one on a
 * network or in memory; else NULL.  The caller must not free it.
 */
const char *scratch_place_choose(const char *user);

#endif
