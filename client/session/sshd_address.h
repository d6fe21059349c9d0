/* SPDX-License-Identifier: MIT */
/*
 * sshd_address.h - whether the user's own server shall run an sshd, and where that listens
 *
 * Kept in the state folder, as whatever command starts the server next has to know.
 */
#ifndef LUDWIG_CLIENT_SESSION_SSHD_ADDRESS_H
#define LUDWIG_CLIENT_SESSION_SSHD_ADDRESS_H

#include <stdbool.h>

#include "common/base/err.h"

/* As ludwigd.yaml's sshd: listen; NULL: none.  The caller frees it. */
char *sshd_address_listen(const char *state);
/* NULL: none. */
int sshd_address_set(const char *state, const char *listen, struct err *e);
/* The folder of its files; the caller frees it. */
char *sshd_address_dir(const char *state);
/* Whether a process of this user's listens on that port of this machine, within that time. */
bool sshd_address_listens(int port, int timeout_ms);

#endif
