/* SPDX-License-Identifier: MIT */
/*
 * sftp_server_exec.h - replaces this program by OpenSSH's SFTP server
 */
#ifndef LUDWIG_CLIENT_SESSION_SFTP_SERVER_EXEC_H
#define LUDWIG_CLIENT_SESSION_SFTP_SERVER_EXEC_H

#include <stdbool.h>

#include "common/base/err.h"

/* Whether $SSH_ORIGINAL_COMMAND of a forced command is a request for SFTP.  NULL is fine. */
bool sftp_server_exec_is_meant(const char *original_command);
/* Becomes the SFTP server, found in the usual places of systems; a path in the request is ignored,
 * as the client is not trusted.  Returns only when that fails: -1 with e set. */
int sftp_server_exec_become(struct err *e);

#endif
