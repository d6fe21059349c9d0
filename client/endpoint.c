/* SPDX-License-Identifier: MIT */
/* endpoint.c - which server to talk to */
#include <stdlib.h>
#include <string.h>

#include "client/endpoint.h"
#include "client/unixsocket.h"
#include "common/envvars.h"

static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

int endpoint_parse(struct endpoint *ep, const char *address, struct arena *a, struct err *e)
{
    const char *path = after(address, "unix:");

    if (after(address, "ssh://") != NULL)
        return err_set(e, ERR_USAGE, "%s: this version cannot reach a server over SSH yet",
                       address);
    if (path == NULL || path[0] != '/')
        return err_set(e, ERR_USAGE,
                       "'%s' is no address of a server (write unix:/path/server.sock)", address);
    if (strlen(path) > unixsocket_path_max())
        return err_set(e, ERR_USAGE, "%s: the path of a socket has at most %zu bytes", address,
                       unixsocket_path_max());
    ep->socket_path = arena_strdup(a, path);
    return 0;
}

int endpoint_find(struct endpoint *ep, const char *option, const struct conf *c, struct arena *a,
                  struct err *e)
{
    const struct {
        const char *from;
        const char *address;
    } places[] = {
        { "--server", option },
        { user_envvars[ENV_SERVER].name, getenv(user_envvars[ENV_SERVER].name) },
        { "config.yaml: server", c->server },
    };

    *ep = (struct endpoint){ .embedded = true };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].address == NULL || places[i].address[0] == '\0')
            continue;
        *ep = (struct endpoint){ .from = places[i].from };
        if (endpoint_parse(ep, places[i].address, a, e) < 0)
            return err_wrap(e, "%s", places[i].from);
        return 0;
    }
    return 0;
}
