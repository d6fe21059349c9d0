/* SPDX-License-Identifier: MIT */
/*
 * permission.h - what somebody who is connected may do
 */
#ifndef LUDWIG_SERVER_CONN_PERMISSION_H
#define LUDWIG_SERVER_CONN_PERMISSION_H

#include "server/base/server.h"
#include "server/conn/conn.h"

/* Whose things (a sweep of owner's) this connection may look into or change. */
struct owner {
    int64_t uid;
    const char *user; /* as the database has it */
};
int may_see(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e);
int may_change(const struct conn *c, const struct owner *owner, int64_t sweep, struct err *e);
/* May this worker be given jobs of that uid? */
bool may_run(const struct server *sv, const struct conn *c, uid_t uid);
/* Uids below min_uid are the system's: ludwigd's own may submit, no other. */
int may_submit(const struct conf *conf, const struct conn *c, struct err *e);

#endif
