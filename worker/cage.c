/* SPDX-License-Identifier: MIT */
/* cage.c - a control group for a runner and all that it starts */

#include "worker/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/digest.h"
#include "worker/cgroup.h"

static int write_to(const char *folder, const char *name, const char *text)
{
    char *path = path_join(folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc = -1;

    if (fd >= 0) {
        rc = io_write_all(fd, text, strlen(text));
        close(fd);
    }
    free(path);
    return rc;
}

static bool can_kill(const char *folder)
{
    char *path = path_join(folder, "cgroup.kill");
    bool can = access(path, W_OK) == 0;

    free(path);
    return can;
}

static bool fill(const char *path, pid_t pid)
{
    char *number;
    bool is_in;

    if (mkdir(path, 0755) < 0)
        return false;
    number = mem_printf("%lld", (long long)pid);
    is_in = can_kill(path) && write_to(path, "cgroup.procs", number) == 0;
    if (!is_in)
        (void)rmdir(path);
    free(number);
    return is_in;
}

/* Below our own group, unless that is everybody's.  Whoever remembers the name must not come upon
 * another one of it. */
static char *name_one(void)
{
    char hex[TOKEN_HEX], *path = NULL;
    struct cgroup own;
    struct token name;

    cgroup_find(&own, "", CGROUP_V2);
    if (own.folder != NULL && strlen(own.folder) > own.top) {
        token_make(&name);
        token_hex(&name, hex);
        path = mem_printf("%s/ludwig-%s", own.folder, hex);
    }
    cgroup_free(&own);
    return path;
}

char *cage_make(pid_t pid)
{
    char *path = name_one();

    if (path != NULL && fill(path, pid))
        return path;
    free(path);
    return NULL;
}

static bool is_removed(const char *path)
{
    return rmdir(path) == 0 || errno != EBUSY;
}

bool cage_end(const char *path)
{
    if (is_removed(path))
        return true;
    (void)write_to(path, "cgroup.kill", "1");
    return is_removed(path);
}
