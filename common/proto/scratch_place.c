/* SPDX-License-Identifier: MIT */
/* scratch_place.c - which local folder a worker takes for scratch, and whether it is safe there */

#include "common/proto/scratch_place.h"

#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

char *scratch_place_user(void)
{
    const struct passwd *account = getpwuid(geteuid());

    return account != NULL && path_is_portable_name(account->pw_name)
               ? mem_strdup(account->pw_name)
               : mem_printf("%u", (unsigned)geteuid());
}

/* ---- what others may do ---- */

/* Whether files of this uid may be root's: in a user namespace without root (rootless containers)
 * those of root, as of all uids that are not mapped, show the overflow uid. */
static bool may_be_root(uid_t uid)
{
    unsigned inside, outside, n, unmapped = 65534;
    struct buf map = { 0 }, overflow = { 0 };
    bool may = uid == 0;

    if (!may && io_read_file("/proc/self/uid_map", 4096, &map, NULL) == 0 &&
        io_read_file("/proc/sys/kernel/overflowuid", 64, &overflow, NULL) == 0 &&
        sscanf(buf_text(&overflow), "%u", &unmapped) == 1 &&
        sscanf(buf_text(&map), "%u %u %u", &inside, &outside, &n) == 3)
        may = uid == unmapped && !(inside == 0 && outside == 0 && n == UINT32_MAX);
    buf_free(&map);
    buf_free(&overflow);
    return may;
}

static int check_folder(const char *path, const char *user, struct err *e)
{
    struct stat st;
    bool is_others, is_open, is_named;

    if (stat(path, &st) < 0)
        return err_sys(e, "scratch: %s", path);
    is_named = user != NULL && strcmp(path_basename(path), user) == 0;
    is_others = st.st_uid != geteuid() && (is_named ? st.st_uid != 0 : !may_be_root(st.st_uid));
    is_open = (st.st_mode & (user == NULL ? S_IWGRP | S_IWOTH : S_IWOTH)) != 0;
    if (is_others && (user == NULL || is_open || is_named))
        return err_set(e, ERR_DENIED,
                       "%s belongs to uid %u: it must be root's or the user's, or scratch: must "
                       "name another folder",
                       path, (unsigned)st.st_uid);
    if (!is_others && is_open && (st.st_mode & S_ISVTX) == 0)
        return err_set(e, ERR_DENIED,
                       "others may rename what lies in %s: close it with chmod +t %s, or let "
                       "scratch: name another folder",
                       path, path);
    return 0;
}

int scratch_place_check(const char *path, const char *user, struct err *e)
{
    char *at = path_real(path, e), *above;
    int rc = at == NULL ? -1 : check_folder(at, user, e);

    while (rc == 0 && strcmp(at, "/") != 0) { /* all the way up */
        above = path_dirname(at);
        free(at);
        at = above;
        rc = check_folder(at, user, e);
    }
    free(at);
    return rc;
}

/* ---- which folder ---- */

const char *scratch_place_choose(const char *user)
{
    const char *const candidates[] = { getenv("SLURM_TMPDIR"), getenv("SCRATCH"), getenv("TMPDIR"),
                                       "/tmp", "/var/tmp" };
    const char *last_resort = NULL;

    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        const char *folder = candidates[i];

        if (folder == NULL || folder[0] != '/' || access(folder, W_OK | X_OK) < 0 ||
            scratch_place_check(folder, user, NULL) < 0)
            continue;
        if (!fs_is_network(folder) && !fs_is_memory(folder))
            return folder;
        if (last_resort == NULL)
            last_resort = folder;
    }
    return last_resort;
}
