/* SPDX-License-Identifier: MIT */
/* permission.h - which sweeps a connection may see, change, run and submit */
#ifndef LUDWIG_SERVER_CONN_PERMISSION_H
#define LUDWIG_SERVER_CONN_PERMISSION_H

#include "server/base/server.h"
#include "server/conn/conn.h"

/* The owner of a sweep, as the database has it. */
struct owner {
    int64_t uid;
    const char *user;
};
/* The owner and admins may see and change a sweep: 0, else -1 with ERR_DENIED. */
int may_see(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e);
int may_change(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e);
/* Whether this worker is given jobs of all users, not only of its own account. */
bool serves_all(const struct server *sv, const struct conn *c);
/* Whether this worker may be given jobs of that uid. */
bool may_run(const struct server *sv, const struct conn *c, uid_t uid);
/* ERR_DENIED for uids below min_uid, which are the system's, except ludwigd's own. */
int may_submit(const struct conf *conf, const struct conn *c, struct err *e);

#endif
