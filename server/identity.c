/* SPDX-License-Identifier: MIT */
/* identity.c - from a uid to a name and to rights */
#include "server/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io.h"

char *identity_user_name(uid_t uid)
{
    size_t n = 1024;
    char *room = mem_alloc(n);
    struct passwd entry;
    struct passwd *found = NULL;
    char *name;

    while (getpwuid_r(uid, &entry, room, n, &found) == ERANGE) {
        n *= 2;
        room = mem_resize(room, n, 1);
    }
    name = found != NULL ? mem_strdup(found->pw_name) : mem_printf("#%u", uid);
    free(room);
    return name;
}

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

bool identity_may_run(const struct server *sv, const struct conn *c, uid_t uid)
{
    return c->uid == uid || is_listed(&sv->conf.worker_users, c->user);
}

static uid_t overflow_uid(void)
{
    const uid_t usual = 65534;
    struct buf text = { 0 };
    uid_t uid = usual;

    if (io_read_file("/proc/sys/kernel/overflowuid", 64, &text, NULL) == 0)
        uid = (uid_t)strtoul(buf_text(&text), NULL, 10);
    buf_free(&text);
    return uid;
}

bool identity_is_known(uid_t uid)
{
    return uid == geteuid() || uid != overflow_uid();
}

static bool owns(const struct conn *c, int64_t owner)
{
    return c->is_admin || (int64_t)c->uid == owner;
}

static int refuse(int64_t owner, int64_t sweep, const char *what, struct err *e)
{
    char *user = identity_user_name((uid_t)owner);

    err_set(e, ERR_DENIED, "sweep %" PRId64 " belongs to %s; %s", sweep, user, what);
    free(user);
    return -1;
}

int identity_may_see(const struct conn *c, int64_t owner, int64_t sweep, struct err *e)
{
    return owns(c, owner) ? 0 : refuse(owner, sweep, "you may see only how far it is", e);
}

int identity_may_change(const struct conn *c, int64_t owner, int64_t sweep, struct err *e)
{
    return owns(c, owner) ? 0 : refuse(owner, sweep, "you may not change it", e);
}

int identity_may_submit(const struct conf *conf, const struct conn *c, struct err *e)
{
    if (c->uid == geteuid() || (int64_t)c->uid >= conf->min_uid)
        return 0;
    return err_set(e, ERR_DENIED,
                   "jobs of %s are not run here: its uid %u is below min_uid (%" PRId64 ")",
                   c->user, c->uid, conf->min_uid);
}
