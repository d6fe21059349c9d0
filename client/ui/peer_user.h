/* SPDX-License-Identifier: MIT */
/* peer_user.h - finds which user of this machine a connection to 127.0.0.1 comes from */
#ifndef LUDWIG_CLIENT_UI_PEER_USER_H
#define LUDWIG_CLIENT_UI_PEER_USER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>

/* Asks the kernel which user has opened the other end of a TCP connection on this machine.  peer:
 * address of the other end, own: of this end.  Returns false if the kernel does not say, as outside
 * Linux. */
bool peer_user_find(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *uid);

#endif
