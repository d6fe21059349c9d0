/* SPDX-License-Identifier: MIT */
/*
 * sftp_server_exec.h - OpenSSH's SFTP server in the place of this program
 */
#ifndef LUDWIG_CLIENT_SESSION_SFTP_SERVER_EXEC_H
#define LUDWIG_CLIENT_SESSION_SFTP_SERVER_EXEC_H

#include <stdbool.h>

#include "common/base/err.h"

/* Whether a command, as sshd tells a forced one of it, is a request for SFTP.  NULL is fine. */
bool sftp_server_exec_is_meant(const char *original_command);
/* Becomes it, from those places where systems have it: the request itself names none, as
 * whoever asks may write anything there.  Returns only when it cannot: -1 with e set. */
int sftp_server_exec_become(struct err *e);

#endif
