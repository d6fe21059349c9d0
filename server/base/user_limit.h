/* SPDX-License-Identifier: MIT */
/*
 * user_limit.h - how much one user may have of something: limits: of ludwigd.yaml
 */
#ifndef LUDWIG_SERVER_BASE_USER_LIMIT_H
#define LUDWIG_SERVER_BASE_USER_LIMIT_H

#include <stdint.h>
#include <sys/types.h>

#include "server/base/server.h"
#include "server/db/db.h"

struct user_limit {
    const char *key, *what; /* "queued_jobs", "jobs queued" */
    const char *advice;     /* "wait until some have begun" */
    int64_t limit;          /* 0: none */
    enum sql_name count;    /* the statement that counts what the user with a uid has */
};

/* ERR_BUSY with what to do, if n_more on top of what the user has are more than the limit. */
int user_limit_check(const struct server *sv, uid_t uid, const struct user_limit *l, int64_t n_more,
                     struct err *e);

/* Of jobs that are queued: by submit, or again by retry. */
struct user_limit user_limit_queued(const struct server *sv);

#endif
