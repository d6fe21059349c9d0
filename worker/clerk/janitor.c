/* SPDX-License-Identifier: MIT */
/* janitor.c - looks after one user's scratch folder for the agent, which never opens it */

#include "worker/clerk/janitor.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "worker/base/child_start.h"
#include "worker/base/reap.h"
#include "worker/clerk/scratch_state.h"

struct janitor {
    struct scratch scratch;
    struct wire wire;
    struct err why; /* of a note that could not be sent */
};

static int tell(struct janitor *c, int64_t re, int type, const void *body, struct err *e)
{
    return wire_send(&c->wire, type, re, NULL, body, e) < 0 ? -1 : 0;
}

static void tell_remains(void *context, const struct note_remains *note)
{
    struct janitor *c = context;

    if (c->why.kind == ERR_NONE)
        (void)tell(c, 0, NOTE_REMAINS, note, &c->why);
}

/* What became of attempts. */
static int tell_settled(struct janitor *c, const struct order_settle *x, int64_t re, struct err *e)
{
    const struct token_entry *tokens = x->tokens.items;
    bool has_begun = scratch_state_has_begun(&c->scratch, x),
         has_process = !token_is_zero(&x->process);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < has_process + x->tokens.n; i++) {
        const struct token *token =
            has_process && i == 0 ? &x->process : &tokens[i - has_process].token;
        struct arena *a = arena_create();
        struct note_settled note;

        scratch_state_settle(&c->scratch, x, token, a, &note);
        note.has_begun = has_begun;
        rc = tell(c, re, NOTE_SETTLED, &note, e);
        arena_destroy(a);
    }
    return rc;
}

static int take_order(struct janitor *c, const struct envelope *m, struct err *e)
{
    union {
        struct order_settle settle;
        struct order_reap reap;
        struct order_finish finish;
        struct order_survey survey;
    } x;
    struct note_reaped reaped;
    struct note_finished finished;
    struct note_surveyed surveyed = { .all = true };

    if (m->type != ORDER_SETTLE && m->type != ORDER_REAP && m->type != ORDER_FINISH &&
        m->type != ORDER_SURVEY)
        return err_set(e, ERR_PROTOCOL, "order %s is not for a janitor",
                       orders.messages[m->type].name);
    if (message_body(&orders, m, c->wire.arena, &x, e) < 0)
        return -1;
    switch (m->type) {
    case ORDER_SETTLE: return tell_settled(c, &x.settle, m->seq, e);
    case ORDER_REAP:
        reaped = (struct note_reaped){ x.reap.token, (int64_t)reap_kill(&x.reap.token) };
        return tell(c, m->seq, NOTE_REAPED, &reaped, e);
    case ORDER_FINISH:
        finished =
            (struct note_finished){ x.finish.token, scratch_state_finish(&c->scratch, &x.finish) };
        return tell(c, m->seq, NOTE_FINISHED, &finished, e);
    default:
        scratch_state_survey(&c->scratch, tell_remains, c);
        if (c->why.kind != ERR_NONE) {
            *e = c->why;
            return -1;
        }
        return tell(c, m->seq, NOTE_SURVEYED, &surveyed, e);
    }
}

int janitor_main(int argc, char **argv)
{
    struct janitor c = { .why = { 0 } };
    struct err e = { 0 };
    struct envelope m;
    int rc;

    if (argc != 2 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--clerk SCRATCH, absolute");
        return child_fail("clerk", &e);
    }
    umask(077);
    if (child_begin(&e) < 0)
        return child_fail("clerk", &e);
    scratch_look(&c.scratch, argv[1]);
    wire_init(&c.wire, CHILD_CHANNEL_FD, &orders);
    while ((rc = wire_receive(&c.wire, &m, &e)) == 1)
        if (take_order(&c, &m, &e) < 0) {
            rc = -1;
            break;
        }
    wire_close(&c.wire);
    scratch_close(&c.scratch);
    return rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("clerk", &e) : 0;
}
