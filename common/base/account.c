/* SPDX-License-Identifier: MIT */
/* account.c - the account of one of ludwigd's users, and how root's process becomes that user */

#include "common/base/account.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/path.h"

enum { ROOM_AT_FIRST_BYTES = 1024, ROOM_AT_MOST_BYTES = 1024 * 1024, GROUPS_AT_MOST = 65536 };
/* Linux shows it for owners that it cannot name (overflowuid), NFS gives root's files to it. */
enum { NOBODYS_UID = 65534 };

static int find_groups(struct account *a, struct err *e)
{
    int n = 64;

    for (int room = n; room <= GROUPS_AT_MOST; room *= 2) {
        n = room;
        a->groups = mem_resize(a->groups, (size_t)room, sizeof *a->groups);
        /* The item's type is gid_t on Linux and int on macOS; both have the same size. */
        if (getgrouplist(a->name, a->gid, (void *)a->groups, &n) >= 0) {
            a->n_groups = (size_t)n;
            return 0;
        }
    }
    return err_set(e, ERR_FAILED, "user %s has more than %d groups", a->name, GROUPS_AT_MOST);
}

int account_find(const char *name, int64_t min_uid, struct account *a, struct err *e)
{
    struct passwd entry, *p = NULL;
    char *room = NULL;
    int rc = ERANGE;

    *a = (struct account){ .name = NULL };
    for (size_t n = ROOM_AT_FIRST_BYTES; rc == ERANGE && n <= ROOM_AT_MOST_BYTES; n *= 2) {
        room = mem_resize(room, n, 1);
        rc = getpwnam_r(name, &entry, room, n, &p);
    }
    /* Some databases answer "not found" with one of these numbers, see getpwnam(3). */
    if (rc != 0 && rc != ENOENT && rc != ESRCH && rc != EBADF && rc != EPERM) {
        errno = rc;
        rc = err_sys(e, "look for user %s", name);
    } else if (p == NULL) {
        rc = err_set(e, ERR_NOT_FOUND, "there is no user %s on this machine", name);
    } else if (!path_is_portable_name(name)) {
        rc = err_set(e, ERR_DENIED, "user '%s' is refused: no folder can have that name", name);
    } else if ((int64_t)p->pw_uid < min_uid) {
        rc = err_set(e, ERR_DENIED,
                     "user %s is refused: its uid %u is below min_uid, which is %" PRId64 " here",
                     name, (unsigned)p->pw_uid, min_uid);
    } else if (p->pw_uid == NOBODYS_UID) {
        rc = err_set(e, ERR_DENIED,
                     "user %s is refused: its uid %u stands for all users that are not known", name,
                     (unsigned)p->pw_uid);
    } else {
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

int account_uid(const char *name, uid_t *uid, struct err *e)
{
    const struct passwd *p;
    char *end;
    unsigned long long number;

    if (name[0] == '#' && name[1] >= '0' && name[1] <= '9') {
        errno = 0;
        number = strtoull(name + 1, &end, 10);
        if (errno != 0 || *end != '\0' || number >= (uid_t)-1)
            return err_set(e, ERR_NOT_FOUND, "'%s' is no uid", name);
        *uid = (uid_t)number;
        return 0;
    }
    errno = 0;
    p = getpwnam(name);
    /* Some databases answer "not found" with one of these numbers, see getpwnam(3). */
    if (p == NULL && errno != 0 && errno != ENOENT && errno != ESRCH && errno != EBADF &&
        errno != EPERM)
        return err_sys(e, "look for user %s", name);
    if (p == NULL)
        return err_set(e, ERR_NOT_FOUND, "there is no user %s on this machine", name);
    *uid = p->pw_uid;
    return 0;
}

bool account_is_own_name(const char *name)
{
    const struct passwd *p = getpwuid(geteuid());
    char *number = mem_printf("#%u", (unsigned)geteuid());
    bool is_own = strcmp(name, number) == 0 || (p != NULL && strcmp(name, p->pw_name) == 0);

    free(number);
    return is_own;
}

/* ---- becoming a user ---- */

char *account_rights(const struct account *a)
{
    struct buf text = { 0 };

    buf_printf(&text, "%u:%u:", (unsigned)a->uid, (unsigned)a->gid);
    for (size_t i = 0; i < a->n_groups; i++)
        buf_printf(&text, "%s%u", i > 0 ? "," : "", (unsigned)a->groups[i]);
    return buf_take(&text);
}

#ifdef __linux__
/* Reads a number and the end character behind it; refuses (uid_t)-1, the kernel's "no change". */
static int take_id(const char **at, char end, unsigned *id)
{
    char *after;
    unsigned long number;

    if (**at < '0' || **at > '9')
        return -1;
    errno = 0;
    number = strtoul(*at, &after, 10);
    if (errno != 0 || number >= (unsigned)-1 || *after != end)
        return -1;
    *id = (unsigned)number;
    *at = after + (end != '\0');
    return 0;
}

int account_become(const char *text, struct err *e)
{
    const char *at = text;
    unsigned uid = 0, gid = 0, id = 0;
    gid_t *groups = NULL;
    size_t n_groups = 0, capacity = 0;
    bool is_sound = take_id(&at, ':', &uid) == 0 && take_id(&at, ':', &gid) == 0;
    bool has_more = is_sound && *at != '\0';
    int rc;

    while (is_sound && has_more) {
        has_more = strchr(at, ',') != NULL;
        is_sound = take_id(&at, has_more ? ',' : '\0', &id) == 0;
        mem_grow((void **)&groups, &capacity, n_groups, sizeof *groups);
        groups[n_groups++] = id;
    }
    /* The uid comes last: without it, the process may change nothing any more. */
    if (!is_sound)
        rc = err_set(e, ERR_USAGE, "'%.80s' says nobody's rights", text);
    else if (setgroups(n_groups, groups) < 0)
        rc = err_sys(e, "take the groups of uid %u", uid);
    else if (setresgid(gid, gid, gid) < 0)
        rc = err_sys(e, "become gid %u", gid);
    else if (setresuid(uid, uid, uid) < 0)
        rc = err_sys(e, "become uid %u", uid);
    else if (uid != 0 && (setuid(0) == 0 || (gid != 0 && setgid(0) == 0)))
        rc = err_set(e, ERR_DENIED, "uid %u could become root again", uid);
    else
        rc = 0;
    free(groups);
    if (rc < 0)
        return -1;
    /* The user must not have root's session keyring.  Without keyrings there is none to leave. */
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return err_sys(e, "close this process to others");
    return chdir("/") < 0 ? err_sys(e, "enter /") : 0;
}
#else
int account_become(const char *text, struct err *e)
{
    return err_set(e, ERR_FAILED, "to become %.80s takes Linux", text);
}
#endif
