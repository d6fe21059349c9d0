/* SPDX-License-Identifier: MIT */
/* active_env.c - environments of Python and others that are active in this shell */
#include <stdlib.h>
#include <string.h>

#include "client/util/active_env.h"
#include "common/base/buf.h"

const struct active_maker active_makers[ACTIVE_MAKERS] = {
    { "venv", "VIRTUAL_ENV", "pyvenv.cfg" },
    { "conda", "CONDA_PREFIX", "conda-meta" },
};

bool active_env_is_below(const char *path, size_t n, const char *folder)
{
    size_t m = strlen(folder);

    while (m > 1 && folder[m - 1] == '/')
        m--;
    return m > 0 && n >= m && strncmp(path, folder, m) == 0 && (n == m || path[m] == '/');
}

char *active_env_path_without(void)
{
    const char *path = getenv("PATH");
    struct buf left = { 0 };

    if (path == NULL)
        return NULL;
    while (*path != '\0') {
        size_t n = strcspn(path, ":");
        bool is_active = false;

        for (size_t i = 0; i < ACTIVE_MAKERS; i++) {
            const char *folder = getenv(active_makers[i].variable);

            is_active |= folder != NULL && folder[0] == '/' && active_env_is_below(path, n, folder);
        }
        if (!is_active)
            buf_printf(&left, "%s%.*s", left.n > 0 ? ":" : "", (int)n, path);
        path += n + (path[n] == ':');
    }
    return buf_take(&left);
}
