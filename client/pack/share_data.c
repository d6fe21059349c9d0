/* SPDX-License-Identifier: MIT */
/* share_data.c - data that lie on the shared drive already */
#include <string.h>

#include "client/pack/share_data.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "common/base/units.h"

/* Once for each state, as it may take long. */
static void note_state(const char *path, const struct msg_share_packed *p)
{
    struct buf name = { 0 };

    safe_text_add_harmless(&name, path, strlen(path), "");
    if (p->state == PASS_WAITING)
        output_note("%s waits to be packed: %s", buf_text(&name), p->reason);
    else if (p->state == PASS_RUNNING)
        output_note("%s is being packed on %s", buf_text(&name), p->node == NULL ? "?" : p->node);
    buf_free(&name);
}

static int pack(struct rpc *rpc, const char *project, const char *path, struct dataset *set,
                struct err *e)
{
    struct msg_pack_share request = { .project = project, .path = path };
    struct msg_share_packed packed;
    int noted = PASS_DONE;

    for (;;) {
        if (rpc_call(rpc, MSG_PACK_SHARE, &request, &packed, e) < 0)
            return safe_text_make_harmless(e);
        if (packed.state == PASS_DONE)
            break;
        if (packed.state != noted && (packed.state == PASS_RUNNING || packed.reason != NULL)) {
            note_state(path, &packed);
            noted = packed.state;
        }
        request.pass = packed.pass;
        request.seen = packed.seen;
    }
    *set = packed.set;
    return 0;
}

int share_data_pack(struct rpc *rpc, const struct spec *s, struct inputs *c, struct err *e)
{
    const struct spec_data *data = s->data.items;

    for (size_t i = 0; i < s->data.n; i++)
        if (data[i].share != NULL && pack(rpc, s->project, data[i].share, &c->data[i].set, e) < 0)
            return -1;
    return 0;
}
