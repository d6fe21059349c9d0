/* SPDX-License-Identifier: MIT */
/* account.c - who a user of ludwigd's is on this machine: matched by name */

#include "common/base/account.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/path.h"

enum { ROOM_AT_FIRST_BYTES = 1024, ROOM_AT_MOST_BYTES = 1024 * 1024, GROUPS_AT_MOST = 65536 };

/* 0 with found NULL when there is none; what it says lies in *room. */
static int ask(const char *name, struct passwd *entry, char **room, struct passwd **found,
               struct err *e)
{
    int rc = ERANGE;

    for (size_t n = ROOM_AT_FIRST_BYTES; rc == ERANGE && n <= ROOM_AT_MOST_BYTES; n *= 2) {
        *room = mem_resize(*room, n, 1);
        rc = getpwnam_r(name, entry, *room, n, found);
    }
    /* What these mean is left to the database: "not found" for some. */
    if (rc == 0 || rc == ENOENT || rc == ESRCH || rc == EBADF || rc == EPERM)
        return 0;
    errno = rc;
    return err_sys(e, "look for user %s", name);
}

static int find_groups(struct account *a, struct err *e)
{
    int n = 64;

    for (int room = n; room <= GROUPS_AT_MOST; room *= 2) {
        n = room;
        a->groups = mem_resize(a->groups, (size_t)room, sizeof *a->groups);
        /* Systems differ in whose numbers they are, and not in their size. */
        if (getgrouplist(a->name, a->gid, (void *)a->groups, &n) >= 0) {
            a->n_groups = (size_t)n;
            return 0;
        }
    }
    return err_set(e, ERR_FAILED, "user %s has more than %d groups", a->name, GROUPS_AT_MOST);
}

static int check(const char *name, const struct passwd *p, int64_t min_uid, struct err *e)
{
    if (p == NULL)
        return err_set(e, ERR_NOT_FOUND, "there is no user %s on this machine", name);
    if (!path_is_portable_name(name))
        return err_set(e, ERR_DENIED, "user '%s' is refused: no folder can have that name", name);
    if ((int64_t)p->pw_uid < min_uid)
        return err_set(e, ERR_DENIED,
                       "user %s is refused: its uid %u is below min_uid, which is %" PRId64 " here",
                       name, (unsigned)p->pw_uid, min_uid);
    return 0;
}

int account_find(const char *name, int64_t min_uid, struct account *a, struct err *e)
{
    struct passwd entry, *p = NULL;
    char *room = NULL;
    int rc = ask(name, &entry, &room, &p, e);

    *a = (struct account){ .name = NULL };
    if (rc == 0)
        rc = check(name, p, min_uid, e);
    if (rc == 0) {
        *a = (struct account){ .name = mem_strdup(name),
                               .uid = p->pw_uid,
                               .gid = p->pw_gid,
                               .home = mem_strdup(p->pw_dir),
                               .shell = mem_strdup(p->pw_shell) };
        rc = find_groups(a, e);
    }
    if (rc < 0)
        account_free(a);
    free(room);
    return rc;
}

void account_free(struct account *a)
{
    free(a->name);
    free(a->groups);
    free(a->home);
    free(a->shell);
    *a = (struct account){ .name = NULL };
}

bool account_is_own_name(const char *name)
{
    const struct passwd *p = getpwuid(geteuid());
    char *number = mem_printf("#%u", (unsigned)geteuid());
    bool is_own = strcmp(name, number) == 0 || (p != NULL && strcmp(name, p->pw_name) == 0);

    free(number);
    return is_own;
}
