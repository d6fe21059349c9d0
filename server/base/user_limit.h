/* SPDX-License-Identifier: MIT */
/* user_limit.h - checks the limits of each user (limits: in ludwigd.yaml) */
#ifndef LUDWIG_SERVER_BASE_USER_LIMIT_H
#define LUDWIG_SERVER_BASE_USER_LIMIT_H

#include <stdint.h>
#include <sys/types.h>

#include "server/base/server.h"
#include "server/db/db.h"

struct user_limit {
    const char *key, *what; /* words of the error: "queued_jobs", "jobs queued", */
    const char *advice;     /* and "wait until some have begun" */
    int64_t limit;          /* 0: no limit */
    enum sql_name count;    /* the statement that counts what the user with the given uid has */
};

/* Checks whether the user may have n_more; ERR_BUSY, which says what to do, above the limit. */
int user_limit_check(const struct server *sv, uid_t uid, const struct user_limit *l, int64_t n_more,
                     struct err *e);

/* The limit of queued jobs, for requests that queue some: submit, and retry. */
struct user_limit user_limit_queued(const struct server *sv);

#endif
