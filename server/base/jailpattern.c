/* SPDX-License-Identifier: MIT */
/* jailpattern.c - "/srv/sftp/%u/ludwig/server.sock" is told from a path, checked and taken apart */
#include "server/base/jailpattern.h"

#include <string.h>

#include "common/base/mem.h"
#include "common/base/path.h"

#define ANY_USER "/%u/"

bool jailpattern_is(const char *socket)
{
    return strchr(socket, '%') != NULL;
}

int jailpattern_check(const char *socket, struct err *e)
{
    const char *any = strstr(socket, ANY_USER);

    if (any != NULL && any != socket && strchr(any + 3, '%') == NULL &&
        memchr(socket, '%', (size_t)(any - socket)) == NULL &&
        path_is_inside(any + strlen(ANY_USER)))
        return 0;
    return err_set(e, ERR_USAGE,
                   "sockets: '%s': %%u stands for a user's folder, once, as in"
                   " /srv/sftp/%%u/ludwig/server.sock",
                   socket);
}

void jailpattern_split(const char *pattern, char **dir, char **below)
{
    const char *any = strstr(pattern, ANY_USER);

    *dir = mem_strndup(pattern, (size_t)(any - pattern));
    *below = mem_strdup(any + strlen(ANY_USER));
}
