/* SPDX-License-Identifier: MIT */
/*
 * shareroot.h - where the shared drive lies for whoever is logged in over SFTP
 *
 * What is /srv/data/lab to ludwigd is the same for most, but /data/lab, /lab or / to one
 * who is jailed in a folder above it or in itself.  It is where .ludwig/id names the server.
 */
#ifndef LUDWIG_COMMON_SHAREROOT_H
#define LUDWIG_COMMON_SHAREROOT_H

#include "common/sftp.h"

/* share: as ludwigd sees it.  The caller frees the path, which is absolute.  NULL with e set:
 * ERR_NOT_FOUND with where it was looked for, ERR_UNREACHABLE when the connection is broken. */
char *shareroot_find(struct sftp *s, const char *share, const char *server_id, struct err *e);

#endif
