/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h - the address of a ludwigd
 *
 *   unix:/path/server.sock                          a socket of this machine
 *   unix:/path/server.sock?boot=ID                  a socket of the machine with this boot id alone
 * ssh://[user@]host[:port][/path/server.sock]  a socket of another machine, through its sshd
 * ssh://[user@]host[:port]?keys=/folder  the same with a key that may only run the bridge
 * share:/path  by files on its share, mounted at this path
 *
 * ludwigd makes those with a ? and the last one for its pilots.  folder has `key` and `known_hosts`
 * (ENDPOINT_KNOWN_AS), and nothing else is used: no configuration of ssh's, no agent.
 *
 * host may be an alias of ~/.ssh/config, an IPv4 address or an IPv6 one in brackets.
 */
#ifndef LUDWIG_COMMON_PROTO_ENDPOINT_H
#define LUDWIG_COMMON_PROTO_ENDPOINT_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/base/mem.h"

#define ENDPOINT_FORMS "unix:/path/server.sock or ssh://[user@]host[:port][/path/server.sock]"

/* The host's name in the known_hosts of such a folder, whatever the address calls it. */
#define ENDPOINT_KNOWN_AS "ludwigd"

enum endpoint_kind { ENDPOINT_UNIX, ENDPOINT_SSH, ENDPOINT_SHARE };

struct endpoint {
    enum endpoint_kind kind;
    const char *text; /* as it was written */
    const char *user; /* NULL: from ssh's configuration */
    /* ENDPOINT_SSH: a name or alias.  ENDPOINT_UNIX: the boot id of the machine whose socket it is;
     * NULL: any.  ENDPOINT_SHARE: NULL. */
    const char *host;
    int port;         /* 0: from ssh's configuration */
    const char *path; /* of the socket or share, absolute; NULL: the usual paths on the server */
    const char *keys; /* the folder of an ENDPOINT_SSH; NULL: from ssh's configuration */
    uid_t server_uid; /* of an ENDPOINT_UNIX: whose server is believed besides root's and our own;
                       * 0: nobody's.  Not part of the text: it comes from the configuration */
};

/* Texts live in a.  -1 with ERR_USAGE and what is wrong with text.  A user or host that a shell or
 * ssh's options could misread is refused, as both may end up in a ProxyCommand. */
int endpoint_parse(struct endpoint *ep, const char *text, struct arena *a, struct err *e);

#endif
