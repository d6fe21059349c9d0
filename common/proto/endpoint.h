/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h - the address of a ludwigd
 *
 *   unix:/path/server.sock                       a socket of this machine
 *   unix:/path/server.sock?boot=ID               the same, only on the machine with this boot id
 *   ssh://[user@]host[:port][/path/server.sock]  a socket of another machine, through its sshd
 *   ssh://[user@]host[:port]?keys=/folder        the same, with a key that may only run the bridge
 *   share:/path                                  by files on ludwigd's share, mounted at this path
 *
 * ludwigd gives its pilots addresses with ?boot=, with ?keys=, and of share:.  The folder of ?keys=
 * has the files `key` and `known_hosts` (ENDPOINT_KNOWN_AS); ssh uses neither its configuration nor
 * an agent then.
 *
 * host may be an alias of ~/.ssh/config, an IPv4 address, or an IPv6 address in brackets.
 */
#ifndef LUDWIG_COMMON_PROTO_ENDPOINT_H
#define LUDWIG_COMMON_PROTO_ENDPOINT_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/base/mem.h"

#define ENDPOINT_FORMS "unix:/path/server.sock or ssh://[user@]host[:port][/path/server.sock]"

/* The host's name in known_hosts of a ?keys= folder, whatever name the address has. */
#define ENDPOINT_KNOWN_AS "ludwigd"

enum endpoint_kind { ENDPOINT_UNIX, ENDPOINT_SSH, ENDPOINT_SHARE };

struct endpoint {
    enum endpoint_kind kind;
    const char *text; /* the address as it was written */
    const char *user; /* NULL: from ssh's configuration */
    /* ENDPOINT_SSH: a name or alias.  ENDPOINT_UNIX: the boot id of the machine whose socket it is;
     * NULL: any.  ENDPOINT_SHARE: NULL. */
    const char *host;
    int port;         /* 0: from ssh's configuration */
    const char *path; /* of the socket or share, absolute; NULL: the usual paths on the server */
    const char *keys; /* ENDPOINT_SSH: the folder of ?keys=; NULL: ssh's configuration is used */
    uid_t server_uid; /* ENDPOINT_UNIX: a user whose server is trusted, besides root's and our own;
                       * 0: none.  The configuration sets it, it is not part of text */
};

/* Parses text into *ep, whose texts are in the arena.  -1 with ERR_USAGE and what is wrong.  A user
 * or host that a shell or ssh could misread is refused, as both may get into a ProxyCommand. */
int endpoint_parse(struct endpoint *ep, const char *text, struct arena *a, struct err *e);

#endif
