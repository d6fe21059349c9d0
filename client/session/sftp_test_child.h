/* SPDX-License-Identifier: MIT */
/*
 * sftp_test_child.h - for tests: an SFTP server of this machine instead of one behind SSH
 *
 * Only in builds with LUDWIG_TEST_HOOKS, and there when $LUDWIG_TEST_SFTP names a command.
 */
#ifndef LUDWIG_CLIENT_SESSION_SFTP_TEST_CHILD_H
#define LUDWIG_CLIENT_SESSION_SFTP_TEST_CHILD_H

#include <stdbool.h>

#include "common/base/err.h"

bool sftp_test_child_is_wanted(void);
/* A descriptor connected to its standard input and output. */
int sftp_test_child_start(struct err *e);

#endif
