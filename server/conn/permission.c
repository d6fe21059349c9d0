/* SPDX-License-Identifier: MIT */
/* permission.c - compares a connection's user with the owner of a sweep or job */
#include "server/conn/permission.h"

#include <inttypes.h>
#include <unistd.h>

#include "server/base/identity.h"

static bool owns(const struct conn *c, int64_t owner)
{
    return c->is_admin || (int64_t)c->uid == owner;
}

static int refuse_sweep(const struct owner *owner, int64_t sweep, const char *what, struct err *e)
{
    return err_set(e, ERR_DENIED, "sweep %" PRId64 " belongs to %s; %s", sweep, owner->user, what);
}

int may_see(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e)
{
    return owns(c, owner->uid) ? 0
                               : refuse_sweep(owner, sweep, "you may see only how far it is", e);
}

int may_change(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e)
{
    return owns(c, owner->uid) ? 0 : refuse_sweep(owner, sweep, "you may not change it", e);
}

bool serves_all(const struct server *sv, const struct conn *c)
{
    return !c->own_jobs_only && identity_is_worker_user(&sv->conf, c->user);
}

bool may_run(const struct server *sv, const struct conn *c, uid_t uid)
{
    return c->uid == uid || serves_all(sv, c);
}

int may_submit(const struct conf *conf, const struct conn *c, struct err *e)
{
    if (c->uid == geteuid() || (int64_t)c->uid >= conf->min_uid)
        return 0;
    return err_set(e, ERR_DENIED,
                   "jobs of %s are not run here: its uid %u is below min_uid (%" PRId64 ")",
                   c->user, c->uid, conf->min_uid);
}
