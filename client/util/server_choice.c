/* SPDX-License-Identifier: MIT */
/* server_choice.c - which server is meant */
#include <stdlib.h>
#include <string.h>

#include "client/util/server_choice.h"
#include "client/util/unixsocket.h"
#include "common/proto/envvars.h"

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
    struct endpoint *to = &choice->endpoint;
    const char *address;
    size_t i = 0, n = sizeof places / sizeof places[0];
    int result;

    *choice = (struct server_choice){ .embedded = true };
    while (i < n && (places[i].address == NULL || places[i].address[0] == '\0'))
        i++;
    if (i == n)
        return 0;
    *choice = (struct server_choice){ .from = places[i].from };
    address = places[i].address;
    result = endpoint_parse(to, address, a, e);
    if (result == 0 && to->kind == ENDPOINT_UNIX && strlen(to->path) > unixsocket_path_max())
        result = err_set(e, ERR_USAGE, "%s: the path of a socket has at most %zu bytes", address,
                         unixsocket_path_max());
    else if (result == 0 && to->kind == ENDPOINT_SHARE)
        result = err_set(e, ERR_USAGE, "'%s': only pilots work by files on the share (write %s)",
                         address, ENDPOINT_FORMS);
    return result < 0 ? err_wrap(e, "%s", places[i].from) : 0;
}
