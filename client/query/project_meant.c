/* SPDX-License-Identifier: MIT */
/* project_meant.c - which project a user means by a name */
#include "client/query/project_meant.h"

#include <string.h>

#include "common/data/msgpack.h"

int project_meant(struct rpc *rpc, const char **name, struct arena *a, struct err *e)
{
    struct msg_preview request = { .project = *name, .reps = 1, .reuse = REUSE_NONE };
    struct msg_previewed answer;
    struct buf none = { 0 };
    struct err why = { 0 };
    size_t n = strlen(*name);
    int rc;

    mp_add_list(&none, 0);
    request.configs = buf_bytes(&none);
    rc = rpc_call(rpc, MSG_PREVIEW, &request, &answer, &why);
    buf_free(&none);
    if (rc < 0 && why.kind != ERR_USAGE && why.kind != ERR_DENIED)
        return err_set(e, why.kind, "%s", why.text);
    /* Without an owner the project does not exist yet: another user's is meant. */
    if (rc < 0 || answer.project == NULL || answer.owner == NULL)
        return 0;
    if (strncmp(answer.project, *name, n) != 0 ||
        (answer.project[n] != '\0' && answer.project[n] != '.'))
        return err_set(e, ERR_PROTOCOL, "the server takes project '%s' for '%s', which is another",
                       *name, answer.project);
    *name = arena_strdup(a, answer.project);
    return 0;
}
