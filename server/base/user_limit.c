/* SPDX-License-Identifier: MIT */
/* user_limit.c - compares what a user has with the limits of ludwigd.yaml */

#include "server/base/user_limit.h"

#include <inttypes.h>

#include "server/db/db.h"

int user_limit_check(const struct server *sv, uid_t uid, const struct user_limit *l, int64_t n_more,
                     struct err *e)
{
    int64_t n = 0;

    if (l->limit == 0)
        return 0;
    if (db_get(sv->db, e, l->count, "i>i", (int64_t)uid, &n) < 0)
        return -1;
    if (n + n_more <= l->limit)
        return 0;
    return err_set(e, ERR_BUSY,
                   "you have %" PRId64 " %s, and one user may have %" PRId64
                   " (limits: %s in ludwigd.yaml); %s, or ask an admin for more",
                   n, l->what, l->limit, l->key, l->advice);
}

struct user_limit user_limit_queued(const struct server *sv)
{
    return (struct user_limit){ "queued_jobs", "jobs queued", "wait until some have begun",
                                sv->conf.queued_jobs, SQL_QUEUED_OF_USER };
}
