/* SPDX-License-Identifier: MIT */
/* handle_pilot.c - what the workers of pilots say of themselves */

#include "common/log.h"
#include "server/conn.h"
#include "server/server.h"

/* What it changes is in memory alone: a worker that connects anew says it again. */
int handle_retiring(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_retiring *req = request;

    (void)sv, (void)reply;
    if (ask->conn->worker == 0)
        return err_set(e, ERR_PROTOCOL, "register first");
    ask->conn->is_retiring = true;
    log_event(LOG_INFO, "retiring", "worker", "%lld", (long long)ask->conn->worker, "why", "%s",
              req->reason, "is_over", "%s", req->is_over ? "yes" : "no", NULL);
    return 0;
}
