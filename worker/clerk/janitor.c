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

/* ---- what became of attempts ---- */

static int tell_settled(struct janitor *c, int64_t re, const struct order_settle *x,
                        const struct token *token, bool has_begun, struct err *e)
{
    struct arena *a = arena_create();
    struct note_settled note;
    int rc;

    scratch_state_settle(&c->scratch, x, token, a, &note);
    note.has_begun = has_begun;
    rc = tell(c, re, NOTE_SETTLED, &note, e);
    arena_destroy(a);
    return rc;
}

static int take_settle(struct janitor *c, const struct envelope *m, struct err *e)
{
    const struct token_entry *tokens;
    struct order_settle x;
    bool has_begun;
    int rc = 0;

    if (message_body(&orders, m, c->wire.arena, &x, e) < 0)
        return -1;
    tokens = x.tokens.items;
    has_begun = scratch_state_has_begun(&c->scratch, &x);
    if (!token_is_zero(&x.process))
        rc = tell_settled(c, m->seq, &x, &x.process, has_begun, e);
    for (size_t i = 0; rc == 0 && i < x.tokens.n; i++)
        rc = tell_settled(c, m->seq, &x, &tokens[i].token, has_begun, e);
    return rc;
}

static int take_reap(struct janitor *c, const struct envelope *m, struct err *e)
{
    struct note_reaped note = { .left = 0 };
    struct order_reap x;

    if (message_body(&orders, m, c->wire.arena, &x, e) < 0)
        return -1;
    note.token = x.token;
    note.left = (int64_t)reap_kill(&x.token);
    return tell(c, m->seq, NOTE_REAPED, &note, e);
}

static int take_finish(struct janitor *c, const struct envelope *m, struct err *e)
{
    struct note_finished note = { .has_ended = false };
    struct order_finish x;

    if (message_body(&orders, m, c->wire.arena, &x, e) < 0)
        return -1;
    note.token = x.token;
    note.has_ended = scratch_state_finish(&c->scratch, &x);
    return tell(c, m->seq, NOTE_FINISHED, &note, e);
}

/* ---- all there is ---- */

static void tell_remains(void *context, const struct note_remains *note)
{
    struct janitor *c = context;

    if (c->why.kind == ERR_NONE)
        (void)tell(c, 0, NOTE_REMAINS, note, &c->why);
}

static int take_survey(struct janitor *c, const struct envelope *m, struct err *e)
{
    struct note_surveyed note = { .all = true };

    scratch_state_survey(&c->scratch, tell_remains, c);
    if (c->why.kind != ERR_NONE) {
        *e = c->why;
        return -1;
    }
    return tell(c, m->seq, NOTE_SURVEYED, &note, e);
}

/* ---- the loop ---- */

static int take_order(struct janitor *c, const struct envelope *m, struct err *e)
{
    switch (m->type) {
    case ORDER_SETTLE: return take_settle(c, m, e);
    case ORDER_REAP: return take_reap(c, m, e);
    case ORDER_FINISH: return take_finish(c, m, e);
    case ORDER_SURVEY: return take_survey(c, m, e);
    default:
        return err_set(e, ERR_PROTOCOL, "order %s is not for a clerk",
                       orders.messages[m->type].name);
    }
}

static int serve(struct janitor *c, struct err *e)
{
    struct envelope m;
    int rc;

    while ((rc = wire_receive(&c->wire, &m, e)) == 1)
        if (take_order(c, &m, e) < 0)
            return -1;
    return rc;
}

int janitor_main(int argc, char **argv)
{
    struct janitor c = { .why = { 0 } };
    struct err e = { 0 };
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
    rc = serve(&c, &e);
    wire_close(&c.wire);
    scratch_close(&c.scratch);
    return rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("clerk", &e) : 0;
}
