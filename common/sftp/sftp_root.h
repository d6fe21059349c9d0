/* SPDX-License-Identifier: MIT */
/*
 * sftp_root.h - finds the shared drive's path in a server's SFTP
 *
 * A user jailed to the drive, or to a folder above it, sees another path than ludwigd does.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_ROOT_H
#define LUDWIG_COMMON_SFTP_SFTP_ROOT_H

#include "common/base/mem.h"
#include "common/sftp/sftp.h"

/*
 * share: the drive's absolute path for ludwigd.  Candidates are this path and each of its ends (""
 * is the last: a jail that is the drive).  Gives the longest with the mark of server_id (see
 * shareid.h), else the longest whose .ludwig/id has server_id, else such a folder at the top.  Of
 * two candidates of which one lies in the other it gives the outer one, as users of the drive could
 * have made the inner one.  The path is in a; NULL with e set: ERR_NOT_FOUND when there is none.
 */
const char *sftp_root_find(struct sftp *s, const char *share, const char *server_id,
                           struct arena *a, struct err *e);

#endif
