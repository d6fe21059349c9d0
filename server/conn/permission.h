/* SPDX-License-Identifier: MIT */
/*
 * permission.h - the rights of a connection
 */
#ifndef LUDWIG_SERVER_CONN_PERMISSION_H
#define LUDWIG_SERVER_CONN_PERMISSION_H

#include "server/base/server.h"
#include "server/conn/conn.h"

/* The owner of a sweep.  may_see and may_change: 0 if the connection may, else -1 with e set. */
struct owner {
    int64_t uid;
    const char *user; /* as the database has it */
};
int may_see(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e);
int may_change(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e);
/* Is this worker given jobs of all users, not only of its own account? */
bool serves_all(const struct server *sv, const struct conn *c);
/* May this worker be given jobs of that uid? */
bool may_run(const struct server *sv, const struct conn *c, uid_t uid);
/* Uids below min_uid are the system's: of these only ludwigd's own may submit. */
int may_submit(const struct conf *conf, const struct conn *c, struct err *e);

#endif
