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

enum { PROC_MAX_BYTES = 4 * 1024 * 1024 };

/* ---- our own group ---- */

static char *read_text(const char *path)
{
    struct buf text = { 0 };

    if (io_read_file(path, PROC_MAX_BYTES, &text, NULL) < 0)
        buf_free(&text);
    return buf_take(&text);
}

/* In the line "0::/PATH"; NULL: there is none, or it is everybody's. */
static const char *find_group(char *groups)
{
    char *rest;

    for (char *line = strtok_r(groups, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "0::/", 4) == 0)
            return line[4] == '\0' ? NULL : line + 3;
    return NULL;
}

/* "ID PARENT DEVICE ROOT POINT OPTIONS [TAGS...] - cgroup2 ...", where all of it is mounted. */
static const char *mount_point(char *line)
{
    char *rest, *word = strtok_r(line, " ", &rest);
    const char *root = NULL, *point = NULL;

    for (int i = 0; word != NULL && strcmp(word, "-") != 0; i++) {
        if (i == 3)
            root = word;
        if (i == 4)
            point = word;
        word = strtok_r(NULL, " ", &rest);
    }
    word = word == NULL ? NULL : strtok_r(NULL, " ", &rest);
    return word != NULL && point != NULL && strcmp(word, "cgroup2") == 0 && strcmp(root, "/") == 0
               ? point
               : NULL;
}

static const char *find_mount(char *mounts)
{
    const char *point = NULL;
    char *rest;

    for (char *line = strtok_r(mounts, "\n", &rest); line != NULL && point == NULL;
         line = strtok_r(NULL, "\n", &rest))
        point = mount_point(line);
    return point;
}

static char *own_group(void)
{
    char *groups = read_text("/proc/self/cgroup"), *mounts = read_text("/proc/self/mountinfo");
    const char *group = find_group(groups), *mount = find_mount(mounts);
    char *path = group == NULL || mount == NULL ? NULL : mem_printf("%s%s", mount, group);

    free(groups);
    free(mounts);
    return path;
}

/* ---- one below it ---- */

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

/* Whoever remembers it must not come upon another one of that name. */
char *cage_make(pid_t pid)
{
    char *own = own_group(), *path;
    char hex[TOKEN_HEX];
    struct token name;

    if (own == NULL)
        return NULL;
    token_make(&name);
    token_hex(&name, hex);
    path = mem_printf("%s/ludwig-%s", own, hex);
    free(own);
    if (fill(path, pid))
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
