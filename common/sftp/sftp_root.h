/* SPDX-License-Identifier: MIT */
/*
 * sftp_root.h - where a server's SFTP shows the shared drive
 *
 * A user jailed to the drive, or to a folder above it, sees another path than ludwigd does.
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_ROOT_H
#define LUDWIG_COMMON_SFTP_SFTP_ROOT_H

#include "common/base/mem.h"
#include "common/sftp/sftp.h"

/*
 * share: the drive as ludwigd sees it, an absolute path.  Of it and each of its ends ("" is the
 * last: a jail that is the drive) the longest with the mark of server_id (see shareid.h), else whose
 * .ludwig/id names it, or else a folder at the top.  In a; NULL with e set: ERR_NOT_FOUND when there is none.
 */
const char *sftp_root_find(struct sftp *s, const char *share, const char *server_id,
                           struct arena *a, struct err *e);

#endif
