/* SPDX-License-Identifier: MIT */
/* server_choice.c - which server is meant */
#include <stdlib.h>
#include <string.h>

#include "client/util/server_choice.h"
#include "client/util/unixsocket.h"
#include "common/proto/envvars.h"

static int parse(struct endpoint *ep, const char *address, struct arena *a, struct err *e)
{
    if (endpoint_parse(ep, address, a, e) < 0)
        return -1;
    if (ep->kind == ENDPOINT_UNIX && strlen(ep->path) > unixsocket_path_max())
        return err_set(e, ERR_USAGE, "%s: the path of a socket has at most %zu bytes", address,
                       unixsocket_path_max());
    if (ep->kind == ENDPOINT_SHARE)
        return err_set(e, ERR_USAGE, "'%s': only pilots work by files on the share (write %s)",
                       address, ENDPOINT_FORMS);
    return 0;
}

int server_choice_make(struct server_choice *choice, const char *option, const struct conf *c,
                       struct arena *a, struct err *e)
{
    const struct {
        const char *from;
        const char *address;
    } places[] = {
        { "--server", option },
        { user_envvars[ENV_SERVER].name, getenv(user_envvars[ENV_SERVER].name) },
        { "config.yaml: server", c->server },
    };

    *choice = (struct server_choice){ .embedded = true };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].address == NULL || places[i].address[0] == '\0')
            continue;
        *choice = (struct server_choice){ .from = places[i].from };
        if (parse(&choice->endpoint, places[i].address, a, e) < 0)
            return err_wrap(e, "%s", places[i].from);
        return 0;
    }
    return 0;
}
