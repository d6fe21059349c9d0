/* SPDX-License-Identifier: MIT */
/* path.c - names and paths, never in fixed buffers */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/mem.h"
#include "common/base/path.h"

enum { PORTABLE_NAME_MAX_BYTES = 200 };

static size_t length_without_slashes(const char *path, size_t n)
{
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

/* A slash at the beginning of name is dropped, so that it does not lead out of dir. */
char *path_join(const char *dir, const char *name)
{
    size_t n = strlen(dir);

    if (n == 0)
        return mem_strdup(name);
    name += strspn(name, "/");
    if (*name == '\0')
        return mem_strdup(dir);
    return mem_printf("%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

char *path_dirname(const char *path)
{
    size_t n = length_without_slashes(path, strlen(path));

    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n == 0)
        return mem_strdup(".");
    return mem_strndup(path, length_without_slashes(path, n));
}

const char *path_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool is_plain_component(const char *s, size_t n)
{
    return n > 0 && !(n == 1 && s[0] == '.') && !(n == 2 && s[0] == '.' && s[1] == '.');
}

bool path_is_inside(const char *path)
{
    for (;;) {
        size_t n = strcspn(path, "/");

        if (!is_plain_component(path, n))
            return false;
        if (path[n] == '\0')
            return true;
        path += n + 1;
    }
}

/* Whether DOS kept the name for a device; Windows keeps "con.txt" as well. */
static bool is_device_name(const char *name)
{
    static const char *const devices[] = { "con", "prn", "aux", "nul" };
    static const char *const numbered[] = { "com", "lpt" };
    size_t n = strcspn(name, ".");

    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (n == 3 && strncasecmp(name, devices[i], 3) == 0)
            return true;
    for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++)
        if (n == 4 && strncasecmp(name, numbered[i], 3) == 0 && name[3] >= '0' && name[3] <= '9')
            return true;
    return false;
}

bool path_is_portable_name(const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > PORTABLE_NAME_MAX_BYTES)
        return false;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        if (*c < ' ' || *c == 0x7f || strchr("/\\:*?\"<>|", *c) != NULL)
            return false;
    if (name[0] == ' ' || name[n - 1] == ' ' || name[n - 1] == '.')
        return false;
    return !is_device_name(name);
}

char *path_real(const char *path, struct err *e)
{
    char *real = realpath(path, NULL);

    if (real == NULL)
        err_sys(e, "%s", path);
    return real;
}

char *path_expand_home(const char *path)
{
    const char *home = getenv("HOME");

    if (path[0] != '~' || (path[1] != '\0' && path[1] != '/'))
        return mem_strdup(path);
    if (home == NULL || home[0] == '\0')
        return mem_strdup(path);
    return path_join(home, path + 1);
}
