/* SPDX-License-Identifier: MIT */
/*
 * ssh_login_key.h - logging in by keys: those in files, their certificates, and the agent's
 */
#ifndef LUDWIG_COMMON_SSH_SSH_LOGIN_KEY_H
#define LUDWIG_COMMON_SSH_SSH_LOGIN_KEY_H

#include "common/ssh/ssh_login.h"

/* One after the other, until the server takes one or wants no more keys. */
enum login_outcome login_try_keys(struct login *l, struct err *e);
/* Whether there are keys, and all can be shown without anybody being asked for a passphrase. */
bool login_keys_lie_open(struct login *l);

#endif
