/* SPDX-License-Identifier: MIT */
/* identity.c - from a uid to a name, and to groups */
#include "server/base/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/io.h"

/* Finds a user by name or, if name is NULL, by uid.  The entry's texts live in *room, which the
 * caller frees; NULL when there is no such user. */
static struct passwd *find_user(const char *name, uid_t uid, struct passwd *entry, char **room)
{
    size_t n = 1024;
    struct passwd *found = NULL;

    *room = mem_alloc(n);
    while ((name != NULL ? getpwnam_r(name, entry, *room, n, &found)
                         : getpwuid_r(uid, entry, *room, n, &found)) == ERANGE) {
        n *= 2;
        *room = mem_resize(*room, n, 1);
    }
    return found;
}

char *identity_user_name(uid_t uid)
{
    struct passwd entry;
    char *room;
    struct passwd *found = find_user(NULL, uid, &entry, &room);
    char *name = found != NULL ? mem_strdup(found->pw_name) : mem_printf("#%u", uid);

    free(room);
    return name;
}

bool identity_find_user(const char *name, uid_t *uid)
{
    struct passwd entry;
    char *room;
    struct passwd *found = find_user(name, 0, &entry, &room);

    if (found != NULL)
        *uid = found->pw_uid;
    free(room);
    return found != NULL;
}

/* ---- groups ---- */

int identity_primary_group(uid_t uid, gid_t *gid, struct err *e)
{
    struct passwd entry;
    char *room;
    struct passwd *found = find_user(NULL, uid, &entry, &room);

    if (found != NULL)
        *gid = found->pw_gid;
    free(room);
    return found != NULL ? 0 : err_set(e, ERR_DENIED, "uid %u is not known here", uid);
}

void identity_groups(uid_t uid, struct groups *groups)
{
    struct passwd entry;
    char *room;
    struct passwd *found = find_user(NULL, uid, &entry, &room);
    int n = 32, room_for = 0;

    *groups = (struct groups){ 0 };
    while (found != NULL && n > room_for) {
        room_for = n;
        groups->items = mem_resize(groups->items, (size_t)n, sizeof(gid_t));
        if (getgrouplist(found->pw_name, found->pw_gid, groups->items, &n) >= 0)
            groups->n = (size_t)n;
    }
    free(room);
}

int identity_group(const char *name, gid_t *gid, struct err *e)
{
    size_t n = 1024;
    char *room = mem_alloc(n);
    struct group entry;
    struct group *found = NULL;

    while (getgrnam_r(name, &entry, room, n, &found) == ERANGE) {
        n *= 2;
        room = mem_resize(room, n, 1);
    }
    if (found != NULL)
        *gid = found->gr_gid;
    free(room);
    return found != NULL ? 0 : err_set(e, ERR_USAGE, "there is no group '%s'", name);
}

int identity_peer_groups(int fd, gid_t gid, struct groups *groups)
{
    socklen_t size_bytes = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size_bytes) < 0 && errno != ERANGE)
        return -1;
    groups->items = mem_alloc(size_bytes + sizeof(gid_t));
    groups->items[0] = gid;
    groups->n = 1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups->items + 1, &size_bytes) == 0)
        groups->n += size_bytes / sizeof(gid_t);
    return 0;
}

/* ---- admins, workers' users ---- */

static bool is_listed(const struct list *users, const char *user)
{
    const char *const *items = users->items;

    for (size_t i = 0; i < users->n; i++)
        if (strcmp(items[i], user) == 0)
            return true;
    return false;
}

bool identity_is_admin(const struct conf *conf, uid_t uid, const char *user)
{
    return uid == 0 || uid == geteuid() || is_listed(&conf->admins, user);
}

bool identity_is_worker_user(const struct conf *conf, const char *user)
{
    return is_listed(&conf->worker_users, user);
}

bool identity_is_known(uid_t uid)
{
    struct buf text = { 0 };
    uid_t overflow_uid = 65534;

    if (io_read_file("/proc/sys/kernel/overflowuid", 64, &text, NULL) == 0)
        overflow_uid = (uid_t)strtoul(buf_text(&text), NULL, 10);
    buf_free(&text);
    return uid == geteuid() || uid != overflow_uid;
}
