/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h - the address of a ludwigd
 *
 *   unix:/path/server.sock                          a socket of this machine
 *   ssh://[user@]host[:port][/path/server.sock]     one of another, through its sshd
 *   ssh://[user@]host[:port]?keys=/folder           the same with a key that may run the bridge alone
 *   share:/path                                     by files on its share, which is mounted there
 *
 * The last two are made by ludwigd for its pilots.  folder has `key` and `known_hosts`
 * (ENDPOINT_KNOWN_AS), and nothing else is asked: no configuration of ssh's, no agent.
 *
 * host may be an alias of ~/.ssh/config, an IPv4 address or an IPv6 one in brackets.
 */
#ifndef LUDWIG_COMMON_PROTO_ENDPOINT_H
#define LUDWIG_COMMON_PROTO_ENDPOINT_H

#include "common/base/err.h"
#include "common/base/mem.h"

#define ENDPOINT_FORMS "unix:/path/server.sock or ssh://[user@]host[:port][/path/server.sock]"

/* What a host is called in the known_hosts of such a folder, whatever name led to it. */
#define ENDPOINT_KNOWN_AS "ludwigd"

enum endpoint_kind { ENDPOINT_UNIX, ENDPOINT_SSH, ENDPOINT_SHARE };

struct endpoint {
    enum endpoint_kind kind;
    const char *text; /* as it was written */
    const char *user; /* NULL: as ssh's configuration says; the host and port likewise */
    const char *host; /* NULL for others than ENDPOINT_SSH */
    int port;         /* 0: as ssh's configuration says */
    const char *path; /* of the socket or share, absolute; NULL: looked for on the other side */
    const char *keys; /* the folder of an ENDPOINT_SSH; NULL: as ssh's configuration says */
};

/* Texts live in a.  -1 with ERR_USAGE and what is wrong with text.  A user or host that a shell or
 * ssh's options could misread is refused, as both may end up in a ProxyCommand. */
int endpoint_parse(struct endpoint *ep, const char *text, struct arena *a, struct err *e);

#endif
